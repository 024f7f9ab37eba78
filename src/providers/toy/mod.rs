//! A protocol that nobody speaks: it shows what a new dialect takes, and that no other file knows.
//!
//! `POST /toy` with `{"model", "say": [[who, what], …], "most"?, "stream"?}`; the answer is
//! `{"said", "why", "tokens": [in, out]}`, streamed as bits `{"bit"}` and the same without `said` at the
//! end; an error is `{"wrong"}`.
//!
//! What it takes beside this folder is its file in the mock (`mock/toy.rs`) and four lines without logic:
//! it is named in `providers/mod.rs` and `mock/mod.rs`, and listed in `providers/kind.rs` and
//! `mock/dialect.rs`. No other file changes; `tests/architecture.rs` counts them. A dialect whose models
//! have limits or caches of their own adds them to `providers/families.rs`.

use serde_json::{Map, Value, json};

use super::{
    Rejection,
    dialect::{Assembler, Dialect, Facts},
    parameters::merge,
    tokens::Tokenizer,
    wire::{
        body::posted,
        classify::{Meaning, by_status},
        counts::{count, metered},
        error_body::ErrorBody,
        response::{error_reply, header, with_headers},
        sse::SseEvent,
        streamed::{Step, Streamed, ended_early},
        transport::{HttpResponse, KeyHeader},
    },
};
use crate::domain::{LimitReport, Metered, Outcome, Question, Reply, Role, Usage, Wire};

/// Toy.
pub(super) static FACTS: Facts = Facts {
    name: "toy",
    base_url: "https://toy.invalid",
    key_variable: "TOY_API_KEY",
    key_header: KeyHeader { name: "authorization", prefix: "Bearer " },
    cache_fields: &[],
    tokenizer: Tokenizer::Characters,
    counting: None,
    make: |facts, _| Box::new(Toy { facts }),
};

#[derive(Debug)]
struct Toy {
    facts: &'static Facts,
}

impl Dialect for Toy {
    fn facts(&self) -> &'static Facts {
        self.facts
    }

    fn wire(&self, question: &Question) -> Wire {
        let parameters = &question.parameters;
        let system = question.prompt.system.iter().map(|text| json!(["system", &**text]));
        let turns = question.prompt.messages.iter().map(|message| {
            json!([if message.role == Role::Assistant { "model" } else { "user" }, message.content])
        });
        let mut body = Map::new();
        body.insert("model".into(), question.model.as_str().into());
        body.insert("say".into(), system.chain(turns).collect());
        if let Some(most) = parameters.max_tokens {
            body.insert("most".into(), most.into());
        }
        if parameters.stream {
            body.insert("stream".into(), true.into());
        }
        merge(&mut body, &parameters.extra);
        posted("/toy".to_owned(), &body, &["most"], None)
    }

    fn read(&self, response: &HttpResponse) -> Result<Reply, Rejection> {
        let read = match serde_json::from_slice::<Value>(&response.body) {
            Ok(body) if body.get("wrong").is_none() => answer(&body, body["said"].as_str()),
            _ => wrong(response),
        };
        told_beside(read, response)
    }

    fn assembler(&self) -> Box<dyn Assembler> {
        Box::new(Bits::default())
    }
}

/// An answer as far as it has come.
#[derive(Default)]
struct Bits {
    text: String,
    end: Option<Value>,
}

impl Assembler for Bits {
    fn take(&mut self, event: &SseEvent) -> Step {
        let Ok(data) = serde_json::from_str::<Value>(&event.data) else { return Step::Waiting };
        match data["bit"].as_str() {
            Some(bit) => {
                self.text.push_str(bit);
                Step::Text
            }
            None => {
                self.end = Some(data);
                Step::Ended
            }
        }
    }

    fn finish(self: Box<Self>, streamed: &Streamed) -> Result<Reply, Rejection> {
        let read = match &self.end {
            Some(end) if end.get("wrong").is_none() => answer(end, Some(&self.text)),
            Some(end) => Err(Rejection {
                text: self.text.clone(),
                ..Rejection::malformed(end["wrong"].as_str().unwrap_or_default())
            }),
            None => Err(ended_early(streamed, &self.text, Metered::default())),
        };
        let read = read.map(|reply| Reply { first_token_ms: streamed.first_token_ms, ..reply });
        told_beside(read, &streamed.head)
    }
}

fn answer(body: &Value, said: Option<&str>) -> Result<Reply, Rejection> {
    let Some(said) = said else { return Err(Rejection::malformed("the answer has no `said`")) };
    let why = body["why"].as_str();
    let tokens = |at: &str| count(body, at).map(Option::unwrap_or_default);
    let parts = tokens("/tokens/0").and_then(|input_uncached| {
        let output = tokens("/tokens/1")?;
        Ok(Some((Usage { input_uncached, output, ..Usage::default() }, None)))
    });
    Ok(Reply {
        outcome: if why == Some("most") { Outcome::Truncated } else { Outcome::Answered },
        stop_reason: why.map(str::to_owned),
        metered: metered(&body["tokens"], parts),
        ..Reply::answered(said)
    })
}

fn wrong(response: &HttpResponse) -> Result<Reply, Rejection> {
    let text = serde_json::from_slice::<Value>(&response.body).unwrap_or_default();
    let message = text["wrong"].as_str().unwrap_or_default().to_owned();
    let (class, kind) = by_status(response.status);
    let error = ErrorBody { message, ..ErrorBody::default() };
    error_reply(response, &error, Meaning::Failed(class, kind))
}

fn told_beside(read: Result<Reply, Rejection>, response: &HttpResponse) -> Result<Reply, Rejection> {
    with_headers(read, header(&response.headers, "toy-id"), LimitReport::default())
}
