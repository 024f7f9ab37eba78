//! What dialects read alike from a response that is no answer.

use reqwest::header::HeaderMap;

use super::{
    HttpResponse,
    classify::{Meaning, may_be_billed, with_servers_word},
    error_body::ErrorBody,
    retry_after::retry_after,
};
use crate::{
    domain::{Failure, LimitReport, Metered, Outcome, Reply},
    providers::Rejection,
};

/// The text of a header.
pub(in crate::providers) fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

/// An error as what it means: a reply when a policy withheld the answer, else a rejection.
pub(in crate::providers) fn error_reply(
    response: &HttpResponse,
    error: &ErrorBody,
    meaning: Meaning,
) -> Result<Reply, Rejection> {
    let (class, kind) = match meaning {
        Meaning::Failed(class, kind) => (class, kind),
        Meaning::Filtered => {
            let code = if error.is_moderated { Some("moderation") } else { error.code.as_deref() };
            return Ok(Reply {
                outcome: Outcome::Filtered,
                stop_reason: code.map(str::to_owned),
                ..Reply::answered("")
            });
        }
    };
    let class = with_servers_word(class, header(&response.headers, "x-should-retry").as_deref());
    Err(Rejection::from(Failure {
        class,
        kind,
        message: message(error),
        status: Some(response.status),
        retry_after: if class.is_retryable() {
            retry_after(&response.headers, response.received_at)
        } else {
            None
        },
        may_be_billed: may_be_billed(response.status),
    }))
}

/// The sentence, and the code where it says more.
fn message(error: &ErrorBody) -> String {
    let code = error.code.as_deref().filter(|code| code.parse::<u16>().is_err());
    match (error.message.trim(), code) {
        ("", None) => error.kind.clone().unwrap_or_else(|| "no reason given".to_owned()),
        ("", Some(code)) => code.to_owned(),
        (message, Some(code)) if !message.contains(code) => format!("{message} ({code})"),
        (message, _) => message.to_owned(),
    }
}

/// Puts what the headers told beside a reply or a rejection.
pub(in crate::providers) fn with_headers(
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
pub(in crate::providers) fn with_usage(
    read: Result<Reply, Rejection>,
    metered: Metered,
) -> Result<Reply, Rejection> {
    match read {
        Ok(reply) => Ok(Reply { metered, ..reply }),
        Err(rejection) => Err(Rejection { metered, ..rejection }),
    }
}

#[cfg(test)]
pub(in crate::providers) mod tests {
    use std::time::SystemTime;

    use reqwest::header::HeaderMap;

    use super::*;
    use crate::domain::{ErrorClass, FailureKind};

    /// A response of this status, with `name: value` headers.
    pub(in crate::providers) fn response(status: u16, headers: &[(&str, &str)], body: &str) -> HttpResponse {
        let headers: HeaderMap = headers
            .iter()
            .map(|&(name, value)| {
                (name.parse::<reqwest::header::HeaderName>().unwrap(), value.parse().unwrap())
            })
            .collect();
        let body = body.to_owned().into_bytes().into();
        HttpResponse { status, headers, body, received_at: SystemTime::UNIX_EPOCH }
    }

    fn rejected(response: &HttpResponse, class: ErrorClass) -> Failure {
        let error = ErrorBody::read(&response.body);
        let meaning = Meaning::Failed(class, FailureKind::RateLimit);
        error_reply(response, &error, meaning).unwrap_err().failure
    }

    #[test]
    fn the_wait_is_told_only_where_there_is_something_to_wait_for() {
        let response = response(429, &[("retry-after", "5")], "");
        assert_eq!(rejected(&response, ErrorClass::RetrySlow).retry_after.unwrap().as_secs(), 5);
        assert_eq!(rejected(&response, ErrorClass::StopQueue).retry_after, None);
    }

    #[test]
    fn the_message_is_the_sentence_and_its_code() {
        let message = |body: &str| rejected(&response(400, &[], body), ErrorClass::ThisTrial).message;
        assert_eq!(message(r#"{"error":{"message":"no","code":"bad_image"}}"#), "no (bad_image)");
        assert_eq!(message(r#"{"error":{"message":"no","code":400}}"#), "no");
        assert_eq!(message(r#"{"error":{"type":"api_error"}}"#), "api_error");
        assert_eq!(message(""), "no reason given");
    }

    #[test]
    fn the_servers_no_ends_a_trial() {
        let response = response(500, &[("x-should-retry", "false")], "{}");
        assert_eq!(rejected(&response, ErrorClass::Retry).class, ErrorClass::ThisTrial);
    }
}
