//! From a finished JSON body to what is sent.

use serde_json::{Map, Value};

use super::output_limit::said_output;
use crate::domain::{Bounds, HttpMethod, Wire};

/// The request that posts `body` to `path`. What may be billed is read from the body as it is sent, so
/// that what an experiment adds to it counts, too: `output_fields` are the fields that limit the output
/// in this protocol, and `largest_output` is the most that the model can give.
pub(in crate::providers) fn posted(
    path: String,
    body: &Map<String, Value>,
    output_fields: &[&str],
    largest_output: Option<u64>,
) -> Wire {
    let said_output = said_output(body, output_fields);
    let streamed = body.get("stream") == Some(&Value::Bool(true));
    let body = serde_json::to_vec(body).expect("a JSON object can be written");
    let bounds =
        Bounds { input: Some(body.len() as u64), output: said_output.or(largest_output), said_output };
    Wire {
        method: HttpMethod::Post,
        path,
        query: vec![],
        headers: vec![],
        body: body.into(),
        streamed,
        bounds,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_goes_on_the_wire_decides_what_may_be_billed() {
        let bounds = |body: Value, largest| {
            let wire = posted("/x".into(), body.as_object().unwrap(), &["max_tokens", "max_more"], largest);
            assert_eq!(wire.bounds.input, Some(wire.body.len() as u64));
            (wire.bounds.output, wire.bounds.said_output)
        };
        assert_eq!(bounds(json!({"max_tokens": 10}), None), (Some(10), Some(10)));
        assert_eq!(
            bounds(json!({"max_tokens": 10, "max_more": 50_000}), Some(99)),
            (Some(50_000), Some(50_000))
        );
        assert_eq!(bounds(json!({"max_tokens": null}), Some(99)), (Some(99), None));
        assert_eq!(bounds(json!({"max_tokens": 10, "max_more": 5e4}), Some(99)), (Some(99), None));
        assert_eq!(bounds(json!({"max_tokens": "all"}), None), (None, None));
    }
}
