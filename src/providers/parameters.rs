//! Settings of a target that no dialect could serve, told before anything is sent.

use serde_json::{Map, Value};

use crate::domain::Parameters;

/// What is wrong with `parameters`, one sentence a fault; empty when nothing is.
///
/// Only what would spoil every answer is a fault here. What a model itself rejects (a temperature,
/// say) is the provider's to tell.
pub fn check_parameters(parameters: &Parameters) -> Vec<String> {
    let mut faults = vec![];
    if parameters.max_tokens == Some(0) {
        faults.push("`max_tokens` is 0: no answer could have any text".to_owned());
    }
    for (name, value) in [("temperature", parameters.temperature), ("top_p", parameters.top_p)] {
        if value.is_some_and(|value| !value.is_finite()) {
            faults.push(format!("`{name}` is not a finite number"));
        }
    }
    let extra = &parameters.extra;
    if extra.get("stream").is_some_and(|stream| !matches!(stream, Value::Bool(false) | Value::Null)) {
        faults.push(
            "`extra.stream` is the target's own `stream`: write `stream = true` there instead".to_owned(),
        );
    }
    if extra.get("n").is_some_and(|n| n.as_u64() != Some(1) && !n.is_null()) {
        faults.push(
            "`extra.n` asks for several answers to one request, of which only one would be kept: use repeats"
                .to_owned(),
        );
    }
    for name in ["messages", "model"] {
        if extra.contains_key(name) {
            faults.push(format!("`extra.{name}` would replace the `{name}` of every request: remove it"));
        }
    }
    faults
}

/// Merges `extra` into `body`: objects deeply, everything else replaced.
pub(super) fn merge(body: &mut Map<String, Value>, extra: &Map<String, Value>) {
    for (name, value) in extra {
        match (body.get_mut(name), value) {
            (Some(Value::Object(inner)), Value::Object(more)) => merge(inner, more),
            (Some(old), new) => *old = new.clone(),
            (None, new) => {
                body.insert(name.clone(), new.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with_extra(extra: Value) -> Parameters {
        Parameters { extra: extra.as_object().unwrap().clone(), ..Parameters::default() }
    }

    #[test]
    fn what_would_spoil_every_answer_is_a_fault() {
        for extra in
            [json!({"stream": true}), json!({"n": 3}), json!({"messages": []}), json!({"model": "m"})]
        {
            assert_eq!(check_parameters(&with_extra(extra.clone())).len(), 1, "{extra}");
        }
        let parameters =
            Parameters { max_tokens: Some(0), temperature: Some(f64::NAN), ..Parameters::default() };
        assert_eq!(check_parameters(&parameters).len(), 2);
    }

    #[test]
    fn ordinary_settings_are_no_fault() {
        assert_eq!(check_parameters(&Parameters::default()), Vec::<String>::new());
        let extra = json!({"stream": false, "n": 1, "reasoning_effort": "low", "seed": 7});
        assert_eq!(check_parameters(&with_extra(extra)), Vec::<String>::new());
    }

    #[test]
    fn extra_wins_and_objects_merge() {
        let mut body = json!({"a": {"x": 1, "y": 2}, "b": 1, "c": [1]}).as_object().unwrap().clone();
        merge(
            &mut body,
            json!({"a": {"y": 3, "z": 4}, "b": {"q": 1}, "c": [2], "d": 5}).as_object().unwrap(),
        );
        assert_eq!(
            Value::Object(body),
            json!({"a": {"x": 1, "y": 3, "z": 4}, "b": {"q": 1}, "c": [2], "d": 5})
        );
    }
}
