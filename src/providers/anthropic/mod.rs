//! The Messages API of Anthropic.
//!
//! Source: Anthropic API reference, "Messages" and "Errors"; header `anthropic-version: 2023-06-01`.

mod body;
mod count_tokens;
mod errors;
mod limits;
mod reply;
pub mod stream;
mod usage;

use self::{
    body::{body, posted_with_version, version_prefix},
    reply::read_reply,
    stream::MessageStream,
};
use super::{
    Rejection,
    dialect::{Assembler, Dialect, Facts},
    families::family,
    tokens::Tokenizer,
    wire::transport::{HttpResponse, KeyHeader},
};
use crate::domain::{Question, Reply, Wire};

/// Anthropic.
pub static FACTS: Facts = Facts {
    name: "anthropic",
    base_url: "https://api.anthropic.com",
    key_variable: "ANTHROPIC_API_KEY",
    key_header: KeyHeader { name: "x-api-key", prefix: "" },
    cache_fields: &["cache_control"],
    tokenizer: Tokenizer::ClaudeCharacters,
    counting: Some(count_tokens::COUNTING),
    make: |facts, settings| Box::new(Anthropic { facts, prefix: version_prefix(settings) }),
};

/// Anthropic's Messages API.
#[derive(Debug)]
pub struct Anthropic {
    facts: &'static Facts,
    prefix: &'static str,
}

impl Dialect for Anthropic {
    fn facts(&self) -> &'static Facts {
        self.facts
    }

    fn wire(&self, question: &Question) -> Wire {
        let largest = family(question.model.as_str()).and_then(|family| family.max_output);
        posted_with_version(format!("{}/messages", self.prefix), &body(question), largest)
    }

    fn read(&self, response: &HttpResponse) -> Result<Reply, Rejection> {
        read_reply(response)
    }

    fn assembler(&self) -> Box<dyn Assembler> {
        Box::new(MessageStream::default())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        domain::{Bounds, Parameters},
        providers::{dialect::DialectSettings, test_question::question},
    };

    fn dialect(base_url: &str) -> Box<dyn Dialect> {
        (FACTS.make)(&FACTS, &DialectSettings { base_url, max_tokens_field: None })
    }

    #[test]
    fn the_wire_form_is_the_body_in_its_order_and_the_version() {
        let mut question = question();
        let parameters = Parameters { temperature: Some(0.5), stream: true, ..Parameters::default() };
        question.parameters = Arc::new(parameters);
        question.prompt.system = Some("Be brief.".into());
        let wire = dialect("https://api.anthropic.com/").wire(&question);
        let body = concat!(
            r#"{"model":"m-1","max_tokens":1024,"system":"Be brief.","#,
            r#""messages":[{"role":"user","content":"hello"}],"temperature":0.5,"stream":true}"#
        );
        assert_eq!(wire.body, body);
        assert_eq!((wire.path.as_str(), wire.streamed), ("/v1/messages", true));
        assert_eq!(wire.headers, [("anthropic-version".to_owned(), "2023-06-01".to_owned())]);
        let (input, output) = (Some(body.len() as u64), Some(1_024));
        assert_eq!(wire.bounds, Bounds { input, output, said_output: output });
        assert_eq!(dialect("https://proxy/v1/").wire(&question).path, "/messages");
    }
}
