//! A model behind HTTP: a dialect and the connections of one account.

use std::fmt;

use secrecy::SecretString;

use super::{
    HttpError, HttpSettings, Rejection,
    dialect::{Dialect, DialectSettings, Facts, MaxTokensField},
    wire::{
        streamed::{Arrived, Step},
        transport::Transport,
    },
};
use crate::domain::{Begun, Reply, Request, Wire};

/// A model behind HTTP, whatever its protocol: the only place from which models are asked.
pub struct HttpModel {
    dialect: Box<dyn Dialect>,
    transport: Transport,
}

impl fmt::Debug for HttpModel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "HttpModel({}, {:?})", self.dialect.facts().name, self.transport)
    }
}

impl HttpModel {
    /// Sets up the connections; sends nothing. A server of one's own often needs no `key`.
    ///
    /// # Errors
    /// When the base URL, a header or the key cannot be used.
    pub fn new(
        facts: &'static Facts,
        http: &HttpSettings,
        key: Option<&SecretString>,
        max_tokens_field: Option<MaxTokensField>,
    ) -> Result<Self, HttpError> {
        let settings = DialectSettings { base_url: &http.base_url, max_tokens_field };
        Ok(Self {
            dialect: (facts.make)(facts, &settings),
            transport: Transport::new(http, key.map(|key| (facts.key_header, key)))?,
        })
    }

    /// Asks once.
    ///
    /// # Errors
    /// A [`Rejection`] when no answer came back.
    pub async fn send(&self, request: &Request) -> Result<Reply, Rejection> {
        let wire = self.dialect.wire(request);
        let read = self.ask(&wire, &request.begun).await;
        self.transport.secrets().conceal_all(read)
    }

    async fn ask(&self, wire: &Wire, begun: &Begun) -> Result<Reply, Rejection> {
        if !wire.streamed {
            return self.dialect.read(&self.transport.send(wire).await?);
        }
        let mut assembler = self.dialect.assembler();
        let take = |event: &_| {
            let step = assembler.take(event);
            if matches!(step, Step::Begun | Step::Text) {
                begun.tell();
            }
            step
        };
        match self.transport.stream(wire, take).await? {
            Arrived::Streamed(streamed) => assembler.finish(&streamed),
            Arrived::Whole(response) => self.dialect.read(&response),
        }
    }
}
