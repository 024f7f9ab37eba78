//! What a protocol is: facts about its provider, and pure functions between neutral and wire form.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    Rejection,
    tokens::Tokenizer,
    wire::{
        HttpResponse,
        sse::SseEvent,
        streamed::{Step, Streamed},
        transport::KeyHeader,
    },
};
use crate::domain::{Question, Reply, Wire};

/// What is known of a provider beforehand.
#[derive(Debug)]
pub struct Facts {
    /// Its name, as an experiment writes it.
    pub name: &'static str,
    /// Where it is reached, unless the experiment says otherwise.
    pub base_url: &'static str,
    /// The variable that holds its key, unless the experiment says otherwise.
    pub key_variable: &'static str,
    /// The header that carries the key.
    pub key_header: KeyHeader,
    /// Fields of a target's `extra` that ask for its prompts to be cached.
    pub cache_fields: &'static [&'static str],
    /// Who counts the tokens of a model of no known family.
    pub tokenizer: Tokenizer,
    /// How the provider itself counts a prompt's tokens, if it does.
    pub counting: Option<Counting>,
    /// Makes its dialect for an account.
    pub make: fn(&'static Facts, &DialectSettings<'_>) -> Box<dyn Dialect>,
}

impl Facts {
    /// The path at which the API stands on its server.
    pub fn base_path(&self) -> &'static str {
        let address = self.base_url.split_once("://").map_or(self.base_url, |(_, address)| address);
        address.find('/').map_or("", |at| &address[at..])
    }
}

/// How a provider counts: pure, as a dialect is.
#[derive(Clone, Copy, Debug)]
pub struct Counting {
    /// The request as it is sent.
    pub wire: fn(&DialectSettings<'_>, &Question) -> Wire,
    /// Reads the count.
    pub read: fn(&HttpResponse) -> Result<u64, Rejection>,
}

/// What an account sets for its dialect.
#[derive(Clone, Copy, Debug)]
pub struct DialectSettings<'a> {
    /// Where the server stands.
    pub base_url: &'a str,
    /// The field for the limit of output tokens; `None`: by the server.
    pub max_tokens_field: Option<MaxTokensField>,
}

/// The field in which a server takes the limit of output tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// The older name, which most compatible servers know alone.
    MaxTokens,
    /// OpenAI's name: its reasoning models reject the older one.
    MaxCompletionTokens,
}

impl MaxTokensField {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

/// A protocol: pure, without key, clock and network. It is made for each account, so it may own what
/// that account sets.
pub trait Dialect: Send + Sync + fmt::Debug {
    /// What is known of the provider.
    fn facts(&self) -> &'static Facts;

    /// The request as it is sent.
    fn wire(&self, question: &Question) -> Wire;

    /// Reads a whole response; a line of a batch is given as one.
    ///
    /// # Errors
    /// A [`Rejection`] when it holds no answer. An answer that was truncated, refused or filtered is a
    /// reply. Nothing in either is free of the account's secrets yet: that is the sender's to see to.
    fn read(&self, response: &HttpResponse) -> Result<Reply, Rejection>;

    /// Puts one streamed answer together.
    fn assembler(&self) -> Box<dyn Assembler>;
}

/// A streamed answer as far as it has come.
pub trait Assembler: Send {
    /// Takes the next event.
    fn take(&mut self, event: &SseEvent) -> Step;

    /// The answer, or why there is none.
    ///
    /// # Errors
    /// A [`Rejection`] when the stream told an error, ended before its answer did, or was none.
    fn finish(self: Box<Self>, streamed: &Streamed) -> Result<Reply, Rejection>;
}
