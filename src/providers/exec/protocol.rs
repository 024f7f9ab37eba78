//! What is written to a program, and how its answer is read.

use serde_json::{Map, Value, json};

use crate::domain::text::beginning;
use crate::{
    domain::{Metered, Question, Reply, Retrieved},
    providers::{told_cost, usage_object},
};

/// The question as one line of JSON, its newline included.
pub(super) fn question(id: &str, question: &Question) -> Vec<u8> {
    let case = &question.asked.case;
    let question = json!({
        "id": id,
        "target": question.asked.by,
        "case": case.id,
        "repeat": question.asked.repeat,
        "seed": question.seed,
        "input": case.input,
        "message": case.input.last_user_message(),
        "context": case.context,
        "prompt": {"system": question.prompt.system.as_deref(), "messages": question.prompt.messages},
    });
    let mut line = question.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Why an output is no answer.
#[derive(Debug, PartialEq)]
pub(super) enum NoAnswer {
    /// It is not what the protocol says.
    Malformed(String),
    /// The program itself says that it cannot answer this trial.
    Declared(String),
}

/// The answer of a process that ran for one trial: an object with `output` (or `error`), else the
/// whole text.
pub(super) fn whole_output(bytes: &[u8]) -> Result<Reply, NoAnswer> {
    let text = utf8(bytes)?;
    if text.trim().is_empty() {
        return Err(NoAnswer::Malformed("it wrote no answer".to_owned()));
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) if fields.contains_key("output") || fields.contains_key("error") => {
            reply(&fields)
        }
        _ => Ok(Reply::answered(text.trim_end_matches(['\n', '\r']))),
    }
}

/// One line of a long-lived program: the id that it answers, and the answer.
pub(super) fn answer_line(bytes: &[u8]) -> Result<(String, Result<Reply, NoAnswer>), NoAnswer> {
    let text = utf8(bytes)?;
    let fields: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
        let start = beginning(text, 60);
        NoAnswer::Malformed(format!("it wrote a line that is no JSON object ({error}): `{start}`"))
    })?;
    let id = match fields.get("id") {
        Some(Value::String(id)) => id.clone(),
        Some(_) => return Err(NoAnswer::Malformed("the `id` of its answer is not a text".to_owned())),
        None => return Err(NoAnswer::Malformed("its answer has no `id`".to_owned())),
    };
    Ok((id, reply(&fields)))
}

/// What a program wrote, without the mark that some systems put before UTF-8.
fn utf8(bytes: &[u8]) -> Result<&str, NoAnswer> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        NoAnswer::Malformed(format!("its answer is not UTF-8 (byte {at} is {:#04x})", bytes[at]))
    })
}

fn reply(fields: &Map<String, Value>) -> Result<Reply, NoAnswer> {
    let field = |name: &str| fields.get(name).filter(|value| !value.is_null());
    if let Some(error) = field("error") {
        return Err(NoAnswer::Declared(error.as_str().map_or_else(|| error.to_string(), str::to_owned)));
    }
    let text = match fields.get("output") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => return Err(NoAnswer::Malformed(format!("its `output` is {other}, not a text"))),
        None => return Err(NoAnswer::Malformed("its answer has no `output`".to_owned())),
    };
    let retrieved = field("retrieved").map(Retrieved::list_from).transpose();
    let retrieved = retrieved.map_err(|why| NoAnswer::Malformed(format!("its `retrieved`{why}")))?;
    Ok(Reply {
        retrieved,
        reported_cost: field("cost_usd").and_then(told_cost),
        metered: field("usage").map_or_else(Metered::default, usage_object),
        model: field("model").and_then(Value::as_str).map(str::to_owned),
        meta: field("meta").cloned(),
        ..Reply::answered(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::test_question::question as asked;

    fn malformed(result: Result<Reply, NoAnswer>) -> String {
        match result {
            Err(NoAnswer::Malformed(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_question_is_one_line_with_all_that_the_case_gives() {
        let line = question("case-1#1.0", &asked());
        assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
        let value: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(value["id"], "case-1#1.0");
        assert_eq!(
            (&value["case"], &value["repeat"], &value["seed"]),
            (&json!("case-1"), &json!(1), &json!(7))
        );
        assert_eq!(value["prompt"]["messages"][0]["content"], "hello");
        assert_eq!(value.get("expected"), None, "what is expected is nobody's business");
    }

    #[test]
    fn plain_text_and_objects_are_answers() {
        assert_eq!(whole_output("14 days ü\n".as_bytes()).unwrap().text, "14 days ü");
        assert_eq!(whole_output(b"{\"total\": 3}\n").unwrap().text, "{\"total\": 3}");
        let told = br#"{"output": "x", "retrieved": [{"doc": "a"}], "cost_usd": 0.25, "model": "m",
                        "usage": {"input_tokens": 5, "output": 2}, "meta": {"trace": 1}}"#;
        let reply = whole_output(told).unwrap();
        assert_eq!(reply.text, "x");
        assert_eq!(reply.retrieved.unwrap()[0].doc, "a");
        assert_eq!(reply.reported_cost.unwrap().to_string(), "0.25");
        let usage = reply.metered.usage.unwrap();
        assert_eq!((usage.input_uncached, usage.output, reply.model.as_deref()), (5, 2, Some("m")));
        assert_eq!(reply.meta.unwrap()["trace"], 1);
    }

    #[test]
    fn an_answer_is_not_lost_for_what_it_says_of_its_cost() {
        let cost = |told: &str| {
            let answer = format!(r#"{{"output": "x", "cost_usd": {told}}}"#);
            whole_output(answer.as_bytes()).unwrap().reported_cost.map(|cost| cost.to_string())
        };
        assert_eq!(cost("0.0036000000000000003").as_deref(), Some("0.0036"));
        assert_eq!(cost("-1"), None);
    }

    #[test]
    fn what_is_no_answer_is_named() {
        assert_eq!(malformed(whole_output(b" \n")), "it wrote no answer");
        assert!(malformed(whole_output(b"ab\xffc")).contains("byte 2 is 0xff"));
        assert!(malformed(whole_output(br#"{"output": 3}"#)).contains("`output` is 3"));
        assert!(malformed(whole_output(br#"{"output": "x", "retrieved": [{}]}"#)).contains("`retrieved`[0]"));
        assert_eq!(whole_output(br#"{"error": "no index"}"#), Err(NoAnswer::Declared("no index".to_owned())));
        for line in [&b"hello"[..], b"{\"output\": \"x\"}", b"[1]", b"{\"id\": 3}", b"\xff"] {
            assert!(answer_line(line).is_err(), "{line:?}");
        }
        assert!(answer_line(br#"{"id": "a#1.0"}"#).unwrap().1.is_err());
    }
}
