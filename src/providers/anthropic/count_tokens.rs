//! Claude's own count of a prompt's tokens: free, but limited in requests, so a sample is asked.
//!
//! Source: Anthropic API reference, "Count Message tokens".

use secrecy::ExposeSecret;
use serde_json::Value;

use super::AnthropicSettings;
use crate::{
    domain::Request,
    providers::{
        Rejection,
        wire::{HttpError, transport::Transport},
    },
};

/// The counting endpoint of one account.
#[derive(Debug)]
pub struct TokenCounter {
    http: Transport,
}

impl TokenCounter {
    /// Sets up the connections; sends nothing.
    ///
    /// # Errors
    /// When the base URL, a header or the key cannot be used.
    pub fn new(settings: &AnthropicSettings) -> Result<Self, HttpError> {
        let base = settings.http.base_url.trim().trim_end_matches('/');
        let path = if base.ends_with("/v1") { "/messages/count_tokens" } else { "/v1/messages/count_tokens" };
        let fixed = [("anthropic-version", "2023-06-01")];
        let key = ("x-api-key", settings.key.expose_secret().to_owned(), &settings.key);
        Ok(Self { http: Transport::new(&settings.http, path, &fixed, Some(key))? })
    }

    /// The input tokens of a request, as they would be charged.
    ///
    /// # Errors
    /// A [`Rejection`] when no count came back.
    pub async fn count(&self, request: &Request) -> Result<u64, Rejection> {
        let mut body = super::to_wire(request);
        if let Some(fields) = body.as_object_mut() {
            // The endpoint takes what the prompt is made of, and refuses what only shapes the answer.
            fields.retain(|name, _| {
                ["model", "system", "messages", "tools", "tool_choice", "thinking"].contains(&name.as_str())
            });
        }
        let response = self.http.post(&body).await?;
        if (200..300).contains(&response.status) {
            let counted = serde_json::from_slice::<Value>(&response.body).ok();
            return counted
                .and_then(|body| body["input_tokens"].as_u64())
                .ok_or_else(|| Rejection::malformed("the count is not there"));
        }
        match super::read_reply(&response, self.http.secrets(), std::time::SystemTime::now()) {
            Err(rejection) => Err(rejection),
            Ok(_) => Err(Rejection::malformed("the count is not there")),
        }
    }
}
