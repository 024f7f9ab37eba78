//! Chat Completions: OpenAI's, and that of every server which speaks it.
//!
//! Source: OpenAI API reference, "Chat"; the servers' own documentation where they differ (vLLM,
//! Ollama, OpenRouter, Groq, Together, DeepSeek, Mistral, xAI, Azure). Every detail that only some of
//! them send is optional.

mod body;
mod completion;
mod errors;
mod limits;
mod reply;
pub mod stream;
mod usage;

use self::{
    body::{body, output_field_of},
    reply::read_reply,
    stream::CompletionStream,
};
pub(super) use self::{errors::meaning, limits::limits};
use super::{
    Rejection,
    dialect::{Assembler, Dialect, Facts, MaxTokensField},
    families::family,
    tokens::Tokenizer,
    wire::{
        body::posted,
        transport::{HttpResponse, KeyHeader},
    },
};
use crate::domain::{Question, Reply, Wire};

/// OpenAI, and every server that speaks its Chat Completions.
pub static FACTS: Facts = Facts {
    name: "openai",
    base_url: "https://api.openai.com/v1",
    key_variable: "OPENAI_API_KEY",
    key_header: KeyHeader { name: "authorization", prefix: "Bearer " },
    cache_fields: &[],
    tokenizer: Tokenizer::Characters,
    counting: None,
    make: |facts, settings| {
        let field = settings.max_tokens_field.unwrap_or_else(|| output_field_of(settings.base_url));
        Box::new(OpenAi { facts, max_tokens_field: field })
    },
};

/// The fields that limit the output.
const OUTPUT_FIELDS: [&str; 2] = ["max_completion_tokens", "max_tokens"];

/// Chat Completions.
#[derive(Debug)]
pub struct OpenAi {
    facts: &'static Facts,
    max_tokens_field: MaxTokensField,
}

impl Dialect for OpenAi {
    fn facts(&self) -> &'static Facts {
        self.facts
    }

    fn wire(&self, question: &Question) -> Wire {
        let body = body(question, self.max_tokens_field);
        let largest = family(question.model.as_str()).and_then(|family| family.max_output);
        posted("/chat/completions".to_owned(), &body, &OUTPUT_FIELDS, largest)
    }

    fn read(&self, response: &HttpResponse) -> Result<Reply, Rejection> {
        read_reply(response)
    }

    fn assembler(&self) -> Box<dyn Assembler> {
        Box::new(CompletionStream::default())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::{
        domain::Parameters,
        providers::{dialect::DialectSettings, test_question::question},
    };

    #[test]
    fn the_wire_form_is_the_body_in_its_order() {
        let mut question = question();
        let extra = json!({"seed": 3, "max_tokens": 9}).as_object().unwrap().clone();
        let parameters = Parameters { max_tokens: Some(5), stream: true, extra, ..Parameters::default() };
        question.parameters = Arc::new(parameters);
        let settings = DialectSettings { base_url: FACTS.base_url, max_tokens_field: None };
        let wire = (FACTS.make)(&FACTS, &settings).wire(&question);
        let body = concat!(
            r#"{"model":"m-1","messages":[{"role":"user","content":"hello"}],"max_completion_tokens":5,"#,
            r#""stream":true,"stream_options":{"include_usage":true},"seed":3,"max_tokens":9}"#
        );
        assert_eq!(wire.body, body);
        assert_eq!((wire.path.as_str(), wire.streamed), ("/chat/completions", true));
        assert_eq!(wire.headers, []);
        assert_eq!(wire.bounds.output, Some(9), "the larger of the two");
    }
}
