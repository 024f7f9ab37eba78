//! An answer as a stream of server-sent events, one a word, in either dialect.

use jiff::Timestamp;

use super::{
    anthropic,
    exchange::{Answer, quoted},
    openai,
};
use crate::domain::Outcome;

/// The words of a text, each with the space behind it: together they are the text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

/// Anthropic's: `message_start`, the text in a block's deltas, `message_delta` with the final numbers,
/// `message_stop`; a `ping` may stand anywhere.
pub(super) fn anthropic(answer: &Answer<'_>) -> Vec<String> {
    let event = |kind: &str, rest: &str| {
        let comma = if rest.is_empty() { "" } else { "," };
        format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{comma}{rest}}}\n\n")
    };
    let mut events = vec![event(
        "message_start",
        &format!(
            concat!(
                r#""message":{{"id":"msg_mock{number:010}","type":"message","role":"assistant","#,
                r#""model":{model},"content":[],"stop_reason":null,"stop_sequence":null,"usage":{usage}}}"#,
            ),
            number = answer.number,
            model = quoted(answer.model),
            usage = anthropic::usage(&answer.usage, 1.min(answer.usage.output)),
        ),
    )];
    if !answer.text.is_empty() {
        events.push(event("content_block_start", r#""index":0,"content_block":{"type":"text","text":""}"#));
        events.push(event("ping", ""));
        for word in words(answer.text) {
            let delta = format!(r#""index":0,"delta":{{"type":"text_delta","text":{}}}"#, quoted(word));
            events.push(event("content_block_delta", &delta));
        }
        events.push(event("content_block_stop", r#""index":0"#));
    }
    let (stop_reason, details) = anthropic::stop(answer.outcome);
    events.push(event(
        "message_delta",
        &format!(
            concat!(
                r#""delta":{{"stop_reason":"{stop_reason}","stop_sequence":null,"stop_details":{details}}},"#,
                r#""usage":{usage}"#,
            ),
            stop_reason = stop_reason,
            details = details,
            usage = anthropic::usage(&answer.usage, answer.usage.output),
        ),
    ));
    events.push(event("message_stop", ""));
    events
}

/// OpenAI's: chunks of the answer, the last with its finish reason, one without choices for the tokens
/// where they are asked for, `[DONE]`.
pub(super) fn openai(answer: &Answer<'_>, with_usage: bool) -> Vec<String> {
    let head = format!(
        concat!(
            r#""id":"chatcmpl-mock{number:010}","object":"chat.completion.chunk","created":{created},"#,
            r#""model":{model},"service_tier":"default","system_fingerprint":"fp_mock""#,
        ),
        number = answer.number,
        created = Timestamp::now().as_second(),
        model = quoted(answer.model),
    );
    // Other chunks say that they have none where one is going to tell them.
    let no_usage = if with_usage { r#","usage":null"# } else { "" };
    let chunk = |delta: &str, finish_reason: &str| {
        format!(
            concat!(
                r#"data: {{{head},"choices":[{{"index":0,"delta":{{{delta}}},"logprobs":null,"#,
                r#""finish_reason":{finish_reason}}}]{no_usage}}}"#,
                "\n\n"
            ),
            head = head,
            delta = delta,
            finish_reason = finish_reason,
            no_usage = no_usage,
        )
    };
    let (field, finish_reason) = match answer.outcome {
        Outcome::Truncated => ("content", r#""length""#),
        Outcome::Refused => ("refusal", r#""stop""#),
        Outcome::Filtered => ("content", r#""content_filter""#),
        Outcome::Answered | Outcome::Failed | Outcome::Cancelled => ("content", r#""stop""#),
    };
    let mut events = vec![chunk(r#""role":"assistant","content":"","refusal":null"#, "null")];
    for word in words(answer.text) {
        events.push(chunk(&format!(r#""{field}":{}"#, quoted(word)), "null"));
    }
    events.push(chunk("", finish_reason));
    if with_usage {
        let usage = openai::usage(&answer.usage);
        events.push(format!("data: {{{head},\"choices\":[],\"usage\":{usage}}}\n\n"));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::domain::Usage;

    fn answer(text: &str) -> Answer<'_> {
        let usage = Usage { input_uncached: 5, cache_read: 7, output: 3, ..Usage::default() };
        Answer { number: 4, model: "m", outcome: Outcome::Truncated, text, usage }
    }

    /// The JSON behind `data:`; `Null` where there is none.
    fn data(event: &str) -> Value {
        let line = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        assert!(event.ends_with("\n\n"), "{event:?}");
        serde_json::from_str(line).unwrap_or_default()
    }

    #[test]
    fn anthropic_streams_the_text_in_deltas_and_the_numbers_last() {
        let events = anthropic(&answer("two \"words\""));
        let names: Vec<&str> = events.iter().map(|event| event.split(['\n', ' ']).nth(1).unwrap()).collect();
        assert_eq!(
            names,
            [
                "message_start",
                "content_block_start",
                "ping",
                "content_block_delta",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop"
            ]
        );
        assert_eq!(data(&events[0])["message"]["usage"]["cache_read_input_tokens"], 7);
        assert_eq!(data(&events[4])["delta"]["text"], "\"words\"");
        let last = data(&events[6]);
        assert_eq!(
            (&last["delta"]["stop_reason"], &last["usage"]["output_tokens"]),
            (&"max_tokens".into(), &3.into())
        );
        assert_eq!(anthropic(&answer("")).len(), 3);
    }

    #[test]
    fn openai_streams_chunks_and_tells_tokens_when_asked() {
        let events = openai(&answer("two words"), true);
        assert_eq!(events.last().unwrap(), "data: [DONE]\n\n");
        let text: String = events
            .iter()
            .filter_map(|event| Some(data(event)["choices"][0]["delta"]["content"].as_str()?.to_owned()))
            .collect();
        assert_eq!(text, "two words");
        assert_eq!(data(&events[3])["choices"][0]["finish_reason"], "length");
        let usage = data(&events[4]);
        assert_eq!((&usage["choices"], &usage["usage"]["total_tokens"]), (&Value::Array(vec![]), &15.into()));
        assert_eq!(openai(&answer("two words"), false).len(), events.len() - 1);
    }
}
