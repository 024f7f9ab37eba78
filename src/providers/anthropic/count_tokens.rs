//! Claude's own count of a prompt's tokens.
//!
//! Source: Anthropic API reference, "Count Message tokens".

use serde_json::Value;

use super::{
    body::{body, posted_with_version, version_prefix},
    reply::read_reply,
};
use crate::{
    domain::{Question, Wire},
    providers::{
        Rejection,
        dialect::{Counting, DialectSettings},
        wire::HttpResponse,
    },
};

/// How Anthropic counts.
pub(super) const COUNTING: Counting = Counting { wire, read };

/// What a prompt is made of. The endpoint refuses what only shapes the answer.
const COUNTED_FIELDS: [&str; 6] = ["model", "system", "messages", "tools", "tool_choice", "thinking"];

fn wire(settings: &DialectSettings<'_>, question: &Question) -> Wire {
    let mut body = body(question);
    body.retain(|name, _| COUNTED_FIELDS.contains(&name.as_str()));
    posted_with_version(format!("{}/messages/count_tokens", version_prefix(settings)), &body, None)
}

fn read(response: &HttpResponse) -> Result<u64, Rejection> {
    let missing = || Rejection::malformed("the count is not there");
    if !(200..300).contains(&response.status) {
        return Err(read_reply(response).err().unwrap_or_else(missing));
    }
    let counted = serde_json::from_slice::<Value>(&response.body).ok();
    counted.and_then(|body| body["input_tokens"].as_u64()).ok_or_else(missing)
}
