//! A provider's own count of a prompt's tokens: free, but limited in requests, so a sample is asked.

use secrecy::SecretString;

use super::{
    Rejection,
    dialect::{Counting, DialectSettings, Facts},
    wire::{HttpError, HttpSettings, transport::Transport},
};
use crate::domain::Question;

/// The counting endpoint of one account.
#[derive(Debug)]
pub struct TokenCounter {
    counting: Counting,
    base_url: String,
    transport: Transport,
}

impl TokenCounter {
    /// Sets up the connections; sends nothing.
    ///
    /// # Errors
    /// When the base URL, a header or the key cannot be used.
    pub fn new(
        facts: &Facts,
        counting: Counting,
        http: &HttpSettings,
        key: &SecretString,
    ) -> Result<Self, HttpError> {
        let transport = Transport::new(http, Some((facts.key_header, key)))?;
        Ok(Self { counting, base_url: http.base_url.clone(), transport })
    }

    /// The input tokens of a request, as they would be charged.
    ///
    /// # Errors
    /// A [`Rejection`] when no count came back.
    pub async fn count(&self, question: &Question) -> Result<u64, Rejection> {
        let settings = DialectSettings { base_url: &self.base_url, max_tokens_field: None };
        let wire = (self.counting.wire)(&settings, question);
        let counted = match self.transport.send(&wire).await {
            Ok(response) => (self.counting.read)(&response),
            Err(failure) => Err(failure.into()),
        };
        counted.map_err(|rejection| self.transport.secrets().conceal_rejection(rejection))
    }
}
