//! An HTTP endpoint of any shape as a provider: a templated JSON body out, JSON pointers into the
//! answer.
//!
//! Transport, status codes, waits and secrets are those of the other providers.

mod body;
mod pointers;
mod settings;

use std::time::SystemTime;

use reqwest::Method;
use secrecy::SecretString;
use serde_json::Value;

pub use self::{
    body::{BodyError, BodyTemplate},
    pointers::{AnswerPointers, PassagePointers},
    settings::{HttpAppSettings, HttpMethod},
};
use super::{
    Rejection,
    wire::{
        HttpError, HttpSettings, classify,
        error_body::ErrorBody,
        limit_headers::openai_limits,
        response::{error_reply, header, with_headers},
        transport::{HttpResponse, Transport},
    },
};
use crate::domain::{ErrorClass, Failure, FailureKind, Reply, Request};

/// An HTTP endpoint that answers.
pub struct HttpApp {
    transport: Transport,
    method: Method,
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
            transport: Transport::new(&http, path, &[], None)?,
            method: settings.method.into(),
            body: settings.body.as_ref().map(BodyTemplate::compile).transpose()?,
            answer: settings.answer.clone(),
        })
    }

    /// Asks once.
    ///
    /// # Errors
    /// No answer came back, or one in which a pointer points nowhere.
    pub async fn send(&self, request: &Request) -> Result<Reply, Rejection> {
        let body = self.body.as_ref().map(|body| body.render(request)).transpose().map_err(|error| {
            Rejection::from(Failure::new(ErrorClass::ThisTrial, FailureKind::BadRequest, error.to_string()))
        })?;
        let response = self.transport.send(&self.method, body.as_ref()).await?;
        let request_id =
            ["x-request-id", "request-id"].iter().find_map(|name| header(&response.headers, name));
        let limits = openai_limits(&response.headers);
        with_headers(self.read(&response, SystemTime::now()), request_id, limits)
    }

    fn read(&self, response: &HttpResponse, now: SystemTime) -> Result<Reply, Rejection> {
        let secrets = self.transport.secrets();
        if !(200..300).contains(&response.status) {
            let error = ErrorBody::read(&response.body);
            let asks_to_wait = response.headers.contains_key("retry-after");
            let meaning = classify::openai(response.status, &error, asks_to_wait);
            return error_reply(response, &error, meaning, secrets, now);
        }
        let text = std::str::from_utf8(&response.body)
            .map_err(|_| malformed(response.status, "the answer is not UTF-8"))?;
        // An endpoint that repeats a header must not make the answer a place where it is kept.
        let text = secrets.conceal(text);
        let answer = serde_json::from_str::<Value>(&text);
        self.answer
            .read(&text, answer.as_ref().ok())
            .map_err(|why| malformed(response.status, &secrets.hide(&why)))
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
