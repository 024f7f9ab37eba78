//! What both dialects read alike from a response that is no answer.

use std::time::SystemTime;

use reqwest::header::HeaderMap;

use super::{
    Rejection, Secrets,
    classify::{Meaning, may_be_billed, with_servers_word},
    error_body::ErrorBody,
    http::HttpResponse,
    retry_after::retry_after,
};
use crate::domain::{Failure, LimitReport, Metered, Outcome, Reply};

/// The text of a header.
pub(super) fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

/// An error as what it means: a reply when a policy withheld the answer, else a rejection.
pub(super) fn error_reply(
    response: &HttpResponse,
    error: &ErrorBody,
    meaning: Meaning,
    secrets: &Secrets,
    now: SystemTime,
) -> Result<Reply, Rejection> {
    let (class, kind) = match meaning {
        Meaning::Failed(class, kind) => (class, kind),
        Meaning::Filtered => {
            let code = error.code.as_deref().unwrap_or("filtered");
            return Ok(Reply {
                outcome: Outcome::Filtered,
                stop_reason: Some(secrets.hide(code)),
                ..Reply::answered("")
            });
        }
    };
    let class = with_servers_word(class, header(&response.headers, "x-should-retry").as_deref());
    Err(Rejection::from(Failure {
        class,
        kind,
        message: message(error, secrets),
        status: Some(response.status),
        retry_after: if class.is_retryable() { retry_after(&response.headers, now) } else { None },
        may_be_billed: may_be_billed(response.status),
    }))
}

/// The sentence, and the code where it says more.
fn message(error: &ErrorBody, secrets: &Secrets) -> String {
    let word = error.code.as_deref().filter(|code| code.parse::<u16>().is_err()).or(error.kind.as_deref());
    let text = match (error.message.trim(), word) {
        ("", None) => "no reason given".to_owned(),
        ("", Some(word)) => word.to_owned(),
        (message, None) => message.to_owned(),
        (message, Some(word)) if message.contains(word) => message.to_owned(),
        (message, Some(word)) => format!("{message} ({word})"),
    };
    secrets.hide(&text)
}

/// Puts what the headers told beside a reply or a rejection.
pub(super) fn with_headers(
    read: Result<Reply, Rejection>,
    request_id: Option<String>,
    limits: LimitReport,
) -> Result<Reply, Rejection> {
    match read {
        Ok(reply) => Ok(Reply { request_id, limits, ..reply }),
        Err(rejection) => Err(Rejection { request_id, limits, ..rejection }),
    }
}

/// The same rejection with the tokens that were counted all the same.
pub(super) fn with_usage(read: Result<Reply, Rejection>, metered: Metered) -> Result<Reply, Rejection> {
    match read {
        Ok(reply) => Ok(Reply { metered, ..reply }),
        Err(rejection) => Err(Rejection { metered, ..rejection }),
    }
}
