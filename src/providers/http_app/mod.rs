//! An HTTP endpoint of any shape as a provider: a templated JSON body out, JSON pointers into the
//! answer.
//!
//! Transport, status codes, waits and secrets are those of the other providers.

mod body;
mod pointers;
mod settings;

use futures_util::future::BoxFuture;
use secrecy::SecretString;
use serde_json::Value;

pub use self::{
    body::{BodyError, BodyTemplate},
    pointers::{AnswerPointers, PassagePointers},
    settings::HttpAppSettings,
};
use super::{
    Provider, Rejection, openai,
    provider::{bounds_of_application, handed_over, question_of},
    wire::{
        HttpError, HttpSettings,
        error_body::ErrorBody,
        response::{error_reply, header, with_headers},
        transport::{HttpResponse, Transport},
    },
};
use crate::domain::{
    Begun, Bounds, ErrorClass, Failure, FailureKind, HttpMethod, Outgoing, Question, Reply, Wire,
};

/// An HTTP endpoint that answers.
pub struct HttpApp {
    transport: Transport,
    method: HttpMethod,
    path: &'static str,
    body: Option<BodyTemplate>,
    answer: AnswerPointers,
}

impl std::fmt::Debug for HttpApp {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "HttpApp({:?})", self.transport)
    }
}

/// Why an endpoint could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum HttpAppError {
    /// Its address or a header cannot be used.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// Its body's template is not valid.
    #[error(transparent)]
    Body(#[from] BodyError),
}

impl Provider for HttpApp {
    fn prepare(&self, question: Question) -> (Outgoing, Bounds) {
        let bounds = bounds_of_application(&question);
        handed_over(question, bounds)
    }

    fn send<'a>(
        &'a self,
        outgoing: &'a Outgoing,
        _begun: &'a Begun,
    ) -> BoxFuture<'a, Result<Reply, Rejection>> {
        Box::pin(self.answer(question_of(outgoing)))
    }
}

impl HttpApp {
    /// Sets up the connections. `http` says where and how patiently; `secret_headers` are those whose
    /// values come from the environment.
    ///
    /// # Errors
    /// An address, a header or a template that cannot be used.
    pub fn new(
        settings: &HttpAppSettings,
        http: HttpSettings,
        secret_headers: Vec<(String, SecretString)>,
    ) -> Result<Self, HttpAppError> {
        let path = if http.base_url.ends_with('/') { "/" } else { "" };
        let http = HttpSettings { secret_headers, ..http };
        Ok(Self {
            transport: Transport::new(&http, None)?,
            method: settings.method,
            path,
            body: settings.body.as_ref().map(BodyTemplate::compile).transpose()?,
            answer: settings.answer.clone(),
        })
    }

    /// Asks once.
    ///
    /// # Errors
    /// No answer came back, or one in which a pointer points nowhere.
    pub async fn answer(&self, question: &Question) -> Result<Reply, Rejection> {
        // Made here and not beforehand: a body that cannot be made from its case fails that trial alone, and
        // what is handed over stays the question. Each attempt's comes out the same.
        let body = self.body.as_ref().map(|body| body.render(question)).transpose().map_err(|error| {
            Rejection::from(Failure::new(ErrorClass::ThisTrial, FailureKind::BadRequest, error.to_string()))
        })?;
        let read = match self.transport.send(&self.wire(body.as_ref())).await {
            Ok(response) => {
                let request_id =
                    ["x-request-id", "request-id"].iter().find_map(|name| header(&response.headers, name));
                let limits = openai::limits(&response.headers);
                with_headers(self.read(&response), request_id, limits)
            }
            Err(failure) => Err(failure.into()),
        };
        self.transport.secrets().conceal_all(read)
    }

    fn wire(&self, body: Option<&Value>) -> Wire {
        Wire {
            method: self.method,
            path: self.path.to_owned(),
            query: vec![],
            headers: vec![],
            body: body.map(Value::to_string).unwrap_or_default().into(),
            streamed: false,
            bounds: Bounds::default(),
        }
    }

    fn read(&self, response: &HttpResponse) -> Result<Reply, Rejection> {
        if !(200..300).contains(&response.status) {
            let error = ErrorBody::read(&response.body);
            let asks_to_wait = response.headers.contains_key("retry-after");
            let meaning = openai::meaning(response.status, &error, asks_to_wait);
            return error_reply(response, &error, meaning);
        }
        let text = std::str::from_utf8(&response.body)
            .map_err(|_| malformed(response.status, "the answer is not UTF-8"))?;
        let answer = serde_json::from_str::<Value>(text);
        self.answer.read(text, answer.as_ref().ok()).map_err(|why| malformed(response.status, &why))
    }
}

/// An answer that is not as the experiment says. The next one will hardly be otherwise, so it is not
/// asked for again; it was probably paid for.
fn malformed(status: u16, message: &str) -> Rejection {
    Rejection::from(Failure {
        status: Some(status),
        may_be_billed: true,
        ..Failure::new(ErrorClass::ThisTrial, FailureKind::Malformed, message)
    })
}
