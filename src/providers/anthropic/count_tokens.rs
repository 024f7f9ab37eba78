//! Claude's own count of a prompt's tokens: free, but limited in requests, so a sample is asked.
//!
//! Source: Anthropic API reference, "Count Message tokens".

use secrecy::SecretString;
use serde_json::Value;

use super::{FACTS, body, posted_with_version, read_reply, version_prefix};
use crate::{
    domain::Request,
    providers::{
        Rejection,
        dialect::DialectSettings,
        wire::{HttpError, HttpSettings, transport::Transport},
    },
};

/// What a prompt is made of. The endpoint refuses what only shapes the answer.
const COUNTED_FIELDS: [&str; 6] = ["model", "system", "messages", "tools", "tool_choice", "thinking"];

/// The counting endpoint of one account.
#[derive(Debug)]
pub struct TokenCounter {
    path: String,
    transport: Transport,
}

impl TokenCounter {
    /// Sets up the connections; sends nothing.
    ///
    /// # Errors
    /// When the base URL, a header or the key cannot be used.
    pub fn new(http: &HttpSettings, key: &SecretString) -> Result<Self, HttpError> {
        let settings = DialectSettings { base_url: &http.base_url, max_tokens_field: None };
        let path = format!("{}/messages/count_tokens", version_prefix(&settings));
        Ok(Self { path, transport: Transport::new(http, Some((FACTS.key_header, key)))? })
    }

    /// The input tokens of a request, as they would be charged.
    ///
    /// # Errors
    /// A [`Rejection`] when no count came back.
    pub async fn count(&self, request: &Request) -> Result<u64, Rejection> {
        let mut body = body(request);
        body.retain(|name, _| COUNTED_FIELDS.contains(&name.as_str()));
        let sent = self.transport.send(&posted_with_version(self.path.clone(), &body)).await;
        let response = match sent {
            Ok(response) => response,
            Err(failure) => return self.rejected(failure.into()),
        };
        if !(200..300).contains(&response.status) {
            let told = read_reply(&response).err();
            return self.rejected(told.unwrap_or_else(|| Rejection::malformed("the count is not there")));
        }
        let counted = serde_json::from_slice::<Value>(&response.body).ok();
        counted
            .and_then(|body| body["input_tokens"].as_u64())
            .ok_or_else(|| Rejection::malformed("the count is not there"))
    }

    fn rejected(&self, rejection: Rejection) -> Result<u64, Rejection> {
        self.transport.secrets().conceal_all(Err(rejection)).map(|_| 0)
    }
}
