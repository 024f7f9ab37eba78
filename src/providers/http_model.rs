//! A model behind HTTP: a dialect and the connections of one account.

use std::fmt;

use futures_util::future::BoxFuture;
use secrecy::SecretString;

use super::{
    HttpError, HttpSettings, Provider, Rejection,
    dialect::{Dialect, DialectSettings, Facts, MaxTokensField},
    wire::{
        streamed::{Arrived, Step},
        transport::Transport,
    },
};
use crate::domain::{Begun, Bounds, Outgoing, Question, Reply, Wire};

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

impl Provider for HttpModel {
    fn prepare(&self, question: Question) -> (Outgoing, Bounds) {
        let wire = self.dialect.wire(&question);
        let bounds = wire.bounds;
        (Outgoing::Wire(wire), bounds)
    }

    fn send<'a>(
        &'a self,
        outgoing: &'a Outgoing,
        begun: &'a Begun,
    ) -> BoxFuture<'a, Result<Reply, Rejection>> {
        let wire = outgoing.as_wire().expect("a model is handed the bytes that its dialect made");
        Box::pin(async move {
            let read = self.ask(wire, begun).await;
            self.transport.secrets().conceal_all(read)
        })
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
