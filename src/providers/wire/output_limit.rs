//! The limit of output that a body says.

use serde_json::{Map, Value};

/// What servers call a limit of output, without `_` and in lower case: Chat Completions, Messages, vLLM,
/// llama.cpp, Ollama (in `options`), Gemini (in `generationConfig`), Bedrock, Hugging Face.
const NAMES: [&str; 10] = [
    "maxtokens",
    "maxcompletiontokens",
    "maxoutputtokens",
    "maxnewtokens",
    "maxtokenstosample",
    "maxtokencount",
    "maxgenlen",
    "maxlength",
    "numpredict",
    "npredict",
];

/// The most tokens of output that `body` allows, whichever of its limits the server obeys: `fields` are
/// those of the protocol. `None` where none of these is said, or any limit is not one that every server
/// reads alike: no whole number above 0.
///
/// A limit that another protocol knows, at the top or in an object there, may be obeyed, too, and may be
/// ignored: it raises what is said, and never says it alone. `null` is how a field is left out.
pub(super) fn said_output(body: &Map<String, Value>, fields: &[&str]) -> Option<u64> {
    let inner = body.values().filter_map(Value::as_object).flatten();
    let foreign = body.iter().filter(|(name, _)| !fields.contains(&name.as_str())).chain(inner);
    let foreign = foreign.filter(|(name, _)| is_limit(name)).map(|(_, value)| value);
    let own = largest(fields.iter().filter_map(|field| body.get(*field)))?;
    let most = own.max(largest(foreign)?);
    (own > 0).then_some(most)
}

/// The largest of these limits, 0 without any; `None` where one cannot be read.
fn largest<'a>(limits: impl Iterator<Item = &'a Value>) -> Option<u64> {
    let read = |limit: &Value| limit.as_u64().filter(|tokens| *tokens > 0);
    limits.filter(|limit| !limit.is_null()).try_fold(0, |most, limit| Some(read(limit)?.max(most)))
}

fn is_limit(name: &str) -> bool {
    let letters = || name.bytes().filter(|letter| *letter != b'_').map(|letter| letter.to_ascii_lowercase());
    NAMES.iter().any(|known| letters().eq(known.bytes()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(body: Value) -> Option<u64> {
        said_output(body.as_object().unwrap(), &["max_tokens", "max_completion_tokens"])
    }

    #[test]
    fn of_several_limits_the_largest_may_be_the_one_that_is_obeyed() {
        assert_eq!(said(json!({"max_tokens": 10})), Some(10));
        assert_eq!(said(json!({"max_tokens": 10, "max_completion_tokens": 50_000})), Some(50_000));
        assert_eq!(said(json!({"max_tokens": 10, "max_completion_tokens": null})), Some(10));
        assert_eq!(said(json!({"max_tokens": 10, "n_predict": 50_000})), Some(50_000));
        assert_eq!(said(json!({"max_tokens": 10, "options": {"num_predict": 50_000}})), Some(50_000));
        assert_eq!(said(json!({"max_tokens": 10, "generationConfig": {"maxOutputTokens": 9}})), Some(10));
    }

    /// `50000.0` beside 10 was ignored: $9.00 of a cent.
    #[test]
    fn a_limit_that_cannot_be_read_leaves_unknown_what_is_said() {
        for limit in [
            json!(50_000.0),
            json!(5e4),
            json!("50000"),
            json!("all"),
            json!(-1),
            json!(0),
            json!(true),
            json!({"of": 3}),
            json!([3]),
            json!(1e30),
        ] {
            assert_eq!(said(json!({"max_tokens": limit})), None, "{limit} alone");
            assert_eq!(said(json!({"max_tokens": 10, "max_completion_tokens": limit})), None, "{limit}");
            assert_eq!(said(json!({"max_tokens": limit, "max_completion_tokens": 10})), None, "{limit}");
            assert_eq!(said(json!({"max_tokens": 10, "maxNewTokens": limit})), None, "{limit}, foreign");
            let inner = json!({"max_tokens": 10, "options": {"num_predict": limit}});
            assert_eq!(said(inner), None, "{limit}, inside");
        }
    }

    #[test]
    fn what_the_protocol_does_not_know_says_nothing_alone() {
        assert_eq!(said(json!({"max_new_tokens": 10, "options": {"num_predict": 10}})), None);
        assert_eq!(said(json!({"max_tokens": null})), None);
        assert_eq!(said(json!({})), None);
    }

    /// What is asked is no setting: neither a text nor an answer's schema.
    #[test]
    fn only_settings_are_limits() {
        let schema = json!({"properties": {"max_tokens": {"type": "integer"}, "name": {"maxLength": 200}}});
        let format = json!({"type": "json_schema", "json_schema": {"schema": schema}});
        let messages = json!([{"role": "user", "content": "max_tokens", "max_tokens": "x"}]);
        assert_eq!(
            said(json!({"max_tokens": 10, "response_format": format, "messages": messages})),
            Some(10)
        );
    }
}
