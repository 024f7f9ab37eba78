//! Asking a provider to keep a part of the prompt.
//!
//! Source: Anthropic's and OpenAI's guides on prompt caching.

use serde_json::{Value, json};

use crate::domain::{CacheLifetime, PromptCache, Request};

/// The fewest tokens that a model caches, where its provider says; below it a marker is silently
/// ignored. Anthropic's by model, as its guide lists them; OpenAI's is the same for all.
pub fn cache_minimum(model: &str) -> Option<u64> {
    let starts = |names: &[&str]| names.iter().any(|name| model.starts_with(name));
    if starts(&["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"]) {
        return None;
    }
    if starts(&["claude-opus-5", "claude-fable-5", "claude-mythos-5"]) {
        Some(512)
    } else if starts(&["claude-opus-4-5", "claude-opus-4-6", "claude-haiku-4-5"]) {
        Some(4_096)
    } else if starts(&["claude-opus-4-7"]) {
        Some(2_048)
    } else if starts(&["claude-sonnet-5", "claude-sonnet-4", "claude-opus-4", "gpt-", "o1", "o3", "o4"]) {
        Some(1_024)
    } else {
        None
    }
}

/// Anthropic's marker: everything up to the block that bears it is cached.
pub(super) fn cache_control(cache: PromptCache) -> Value {
    match cache.lifetime {
        CacheLifetime::FiveMinutes => json!({"type": "ephemeral"}),
        CacheLifetime::OneHour => json!({"type": "ephemeral", "ttl": CacheLifetime::OneHour.as_str()}),
    }
}

/// OpenAI's routing hint: requests with the same key meet the same cache. It says nothing but that
/// their cached parts are the same.
pub(super) fn prompt_cache_key(request: &Request) -> Option<String> {
    let cache = request.parameters.cache?;
    let prefix = request.prompt.cached_prefix(&request.model, cache.at)?;
    Some(format!("caseload-{prefix:.32}"))
}
