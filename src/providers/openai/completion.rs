//! The typed form that nearly every answer has: reading it costs a quarter of reading just any JSON.

use serde::{Deserialize, de::IgnoredAny};

use super::usage::Counts;
use crate::domain::{Metered, Outcome, Reply};

#[derive(Debug, Deserialize)]
struct Completion {
    id: Option<String>,
    model: Option<String>,
    system_fingerprint: Option<String>,
    choices: Vec<Choice>,
    usage: Option<Counts>,
    error: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    message: Message,
    finish_reason: Option<String>,
    error: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct Message {
    content: Option<String>,
    refusal: Option<String>,
}

/// The reply in a completion without anything odd about it, and the id it gives itself; `None`: it is
/// to be looked at more closely.
pub(super) fn plain_reply(body: &[u8]) -> Option<(Reply, Option<String>)> {
    // All of it is text, also where nobody looks.
    let completion: Completion = serde_json::from_str(std::str::from_utf8(body).ok()?).ok()?;
    let choice = completion.choices.into_iter().next()?;
    let stop_reason = choice.finish_reason;
    if completion.error.is_some() || choice.error.is_some() || stop_reason.as_deref() == Some("error") {
        return None;
    }
    let metered = match completion.usage {
        Some(counts) => counts.plain(completion.model.as_deref())?,
        None => Metered::default(),
    };
    let Message { content, refusal } = choice.message;
    let refusal = refusal.filter(|refusal| !refusal.is_empty());
    let outcome = outcome(refusal.as_deref(), stop_reason.as_deref());
    let text = if outcome == Outcome::Refused { refusal } else { content };
    let reply = Reply {
        outcome,
        text: text.unwrap_or_default(),
        stop_reason,
        metered,
        model: completion.model,
        system_fingerprint: completion.system_fingerprint,
        ..Reply::answered("")
    };
    Some((reply, completion.id))
}

/// How an answer ended.
pub(super) fn outcome(refusal: Option<&str>, stop_reason: Option<&str>) -> Outcome {
    match (refusal, stop_reason) {
        (_, Some("content_filter")) => Outcome::Filtered,
        // The finish reason of a refusal is an ordinary `stop`.
        (Some(_), _) => Outcome::Refused,
        (None, Some("length" | "model_length")) => Outcome::Truncated,
        // `stop`, `tool_calls`, `function_call`, and what servers have invented beside.
        (None, _) => Outcome::Answered,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::providers::openai::reply::{error_within, id, read_completion};

    fn some(values: impl IntoIterator<Item = Value>) -> impl Strategy<Value = Value> {
        prop::sample::select(values.into_iter().collect::<Vec<_>>())
    }

    fn text() -> impl Strategy<Value = Value> {
        some([
            json!("yes"),
            json!(""),
            json!("stop"),
            json!("error"),
            Value::Null,
            json!(7),
            json!([{"type": "text"}]),
        ])
    }

    prop_compose! {
        fn message()(content in text(), refusal in text()) -> Value {
            json!({"role": "assistant", "content": content, "refusal": refusal})
        }
    }

    prop_compose! {
        fn choice()(
            message in prop_oneof![9 => message(), 1 => text()],
            finish in some(["stop", "length", "content_filter", "error"].map(Value::from)),
            error in prop_oneof![9 => Just(Value::Null), 1 => text()],
        ) -> Value {
            json!({"index": 0, "message": message, "finish_reason": finish, "error": error})
        }
    }

    prop_compose! {
        fn completion()(
            id in text(),
            model in prop_oneof![Just(json!("anthropic/claude-opus-5")), text()],
            fingerprint in text(),
            choices in prop::collection::vec(choice(), 0..3),
            counts in prop::collection::vec(
                some([json!(0), json!(3), json!(5), json!(8), json!(-1), json!(1.5), json!(1_u64 << 41), Value::Null]),
                6,
            ),
            error in prop_oneof![9 => Just(Value::Null), 1 => text()],
        ) -> Value {
            let usage = json!({
                "prompt_tokens": counts[0], "completion_tokens": counts[1], "total_tokens": counts[2],
                "prompt_tokens_details": {"cached_tokens": counts[3], "cache_write_tokens": counts[4]},
                "completion_tokens_details": {"reasoning_tokens": counts[5]},
            });
            json!({"id": id, "model": model, "system_fingerprint": fingerprint, "choices": choices,
                   "usage": usage, "error": error, "created": 1})
        }
    }

    proptest! {
        #[test]
        fn what_is_plain_reads_the_same_as_any_json(body in completion()) {
            if let Some((reply, named)) = plain_reply(body.to_string().as_bytes()) {
                prop_assert!(error_within(&body).is_none());
                prop_assert_eq!(Some(reply), read_completion(&body).ok());
                prop_assert_eq!(named, id(&body));
            }
        }
    }

    #[test]
    fn an_ordinary_answer_is_plain_and_an_odd_one_is_not() {
        let ordinary = json!({"id": "c", "model": "m", "choices": [
            {"message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}});
        let (reply, _) = plain_reply(ordinary.to_string().as_bytes()).unwrap();
        assert_eq!((reply.outcome, reply.text.as_str()), (Outcome::Answered, "yes"));
        for (at, odd) in [
            ("/usage/total_tokens", json!(9)),
            ("/usage/prompt_tokens", json!("5")),
            ("/choices/0/message/content", json!([{"type": "text", "text": "yes"}])),
            ("/choices/0/message", Value::Null),
            ("/choices/0/finish_reason", json!("error")),
            ("/choices", json!([])),
        ] {
            let mut body = ordinary.clone();
            *body.pointer_mut(at).unwrap() = odd;
            assert!(plain_reply(body.to_string().as_bytes()).is_none(), "{at}");
        }
    }
}
