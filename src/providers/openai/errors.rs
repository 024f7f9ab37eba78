//! What an error of OpenAI or a compatible server means.
//!
//! Source: OpenAI's guide "Error codes", extended by what compatible servers document.

use crate::{
    domain::{ErrorClass, FailureKind},
    providers::wire::{
        classify::{Meaning, by_status, is_context_too_long},
        error_body::ErrorBody,
    },
};

use ErrorClass::{Retry, RetrySlow, StopQueue, StopTarget, ThisTrial};
use FailureKind::{
    Authentication, BadParameter, Billing, ContextTooLong, Overloaded, Quota, RateLimit, Server, UnknownModel,
};
use Meaning::{Failed, Filtered};

/// What an error means. `asks_to_wait`: the response has a `retry-after`.
pub(in crate::providers) fn meaning(status: u16, error: &ErrorBody, asks_to_wait: bool) -> Meaning {
    let message = error.message.to_lowercase();
    if is_policy(status, error) {
        return Filtered;
    }
    let (class, kind) = match error.code.as_deref() {
        Some("invalid_api_key" | "account_deactivated") => (StopQueue, Authentication),
        Some(
            "credit_balance_exhausted"
            | "organization_spend_limit_exceeded"
            | "project_spend_limit_exceeded"
            | "billing_not_active"
            | "billing_hard_limit_reached",
        ) => (StopQueue, Billing),
        Some("insufficient_quota" | "organization_usage_limit_exceeded") => (StopQueue, Quota),
        _ if error.is("insufficient_quota") => (StopQueue, Quota),
        Some("model_not_found" | "DeploymentNotFound") => (StopTarget, UnknownModel),
        Some("context_length_exceeded") => (ThisTrial, ContextTooLong),
        // Larger than a whole minute's limit: no wait makes it fit.
        Some("rate_limit_exceeded") if message.contains("request too large") => (ThisTrial, ContextTooLong),
        Some("rate_limit_exceeded" | "slow_down") => (RetrySlow, RateLimit),
        Some("server_is_overloaded" | "capacity_exceeded") => (RetrySlow, Overloaded),
        Some("server_error") => (Retry, Server),
        Some("unsupported_parameter" | "unknown_parameter") => (StopTarget, BadParameter),
        Some("unsupported_value" | "invalid_value") if !is_about_the_case(error) => {
            (StopTarget, BadParameter)
        }
        _ => match status {
            400 | 422 if is_context_too_long(&message) => (ThisTrial, ContextTooLong),
            // xAI and Gemini answer a wrong key so.
            400 if names_the_key(&message) => (StopQueue, Authentication),
            400 | 422 if error.param.is_some() && !is_about_the_case(error) => (StopTarget, BadParameter),
            // With a wait it is the budget of what is in flight; without one the money is gone.
            402 if asks_to_wait => (RetrySlow, RateLimit),
            404 if message.contains("model") => (StopTarget, UnknownModel),
            498 | 503 => (RetrySlow, Overloaded),
            _ => by_status(status),
        },
    };
    Failed(class, kind)
}

/// A policy's verdict on this one prompt.
fn is_policy(status: u16, error: &ErrorBody) -> bool {
    const CODES: [&str; 6] = [
        "invalid_prompt",
        "content_policy_violation",
        "cyber_policy",
        "bio_policy",
        "content_filter",
        "ResponsibleAIPolicyViolation",
    ];
    CODES.iter().any(|code| error.code.as_deref() == Some(code)) || (status == 403 && error.is_moderated)
}

/// Whether the field that is wrong holds the case's own text. A role that the model does not take is
/// in every request alike.
fn is_about_the_case(error: &ErrorBody) -> bool {
    error.param.as_deref().is_some_and(|param| {
        let field = param.split(['.', '[']).next().unwrap_or_default();
        matches!(field, "" | "messages" | "prompt" | "input") && !param.ends_with(".role")
    })
}

fn names_the_key(message: &str) -> bool {
    ["incorrect api key", "invalid api key", "api key not valid"].iter().any(|text| message.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::wire::error_body::error;
    use FailureKind::{BadRequest, Timeout};

    #[test]
    fn codes_decide_before_the_status() {
        for (status, kind, code, param, message, class, failure) in [
            (401, "invalid_request_error", "invalid_api_key", "", "", StopQueue, Authentication),
            (403, "", "unsupported_country", "", "", StopQueue, Authentication),
            (429, "insufficient_quota", "insufficient_quota", "", "", StopQueue, Quota),
            (429, "insufficient_quota", "credit_balance_exhausted", "", "", StopQueue, Billing),
            (429, "insufficient_quota", "", "", "", StopQueue, Quota),
            (429, "tokens", "rate_limit_exceeded", "", "limit reached", RetrySlow, RateLimit),
            (429, "", "slow_down", "", "", RetrySlow, RateLimit),
            (429, "", "429", "", "", RetrySlow, RateLimit),
            (429, "tokens", "rate_limit_exceeded", "", "Request too large for m", ThisTrial, ContextTooLong),
            (404, "", "model_not_found", "", "", StopTarget, UnknownModel),
            (400, "", "model_not_found", "model", "", StopTarget, UnknownModel),
            (404, "", "DeploymentNotFound", "", "", StopTarget, UnknownModel),
            (404, "", "", "", "model 'x' not found, try pulling it first", StopTarget, UnknownModel),
            (404, "", "", "", "404 page not found", StopTarget, BadRequest),
            (400, "", "context_length_exceeded", "messages", "", ThisTrial, ContextTooLong),
            (400, "", "400", "", "maximum context length is 8 tokens", ThisTrial, ContextTooLong),
            (400, "", "unsupported_parameter", "max_tokens", "", StopTarget, BadParameter),
            (400, "", "unsupported_value", "temperature", "", StopTarget, BadParameter),
            (400, "", "unsupported_value", "messages[0].role", "", StopTarget, BadParameter),
            (400, "", "unsupported_value", "", "", StopTarget, BadParameter),
            (400, "", "invalid_value", "reasoning_effort", "", StopTarget, BadParameter),
            (400, "", "", "", "Incorrect API key provided: xa***9", StopQueue, Authentication),
            (400, "", "invalid_value", "messages[3].content[0].type", "", ThisTrial, BadRequest),
            (400, "", "decimal_below_min_value", "temperature", "", StopTarget, BadParameter),
            (400, "", "", "", "could not read it", ThisTrial, BadRequest),
            (422, "", "", "top_p", "", StopTarget, BadParameter),
            (422, "", "", "messages.0.content", "", ThisTrial, BadRequest),
            (402, "", "", "", "Insufficient Balance", StopQueue, Billing),
            (408, "", "", "", "", Retry, Timeout),
            (409, "", "", "", "", Retry, Server),
            (413, "", "", "", "", ThisTrial, ContextTooLong),
            (498, "", "capacity_exceeded", "", "", RetrySlow, Overloaded),
            (500, "server_error", "", "", "", Retry, Server),
            (502, "", "", "", "", Retry, Server),
            (503, "", "server_is_overloaded", "", "", RetrySlow, Overloaded),
            (503, "", "", "", "", RetrySlow, Overloaded),
            (504, "", "", "", "", Retry, Timeout),
        ] {
            let error = error(kind, code, param, message);
            assert_eq!(meaning(status, &error, false), Failed(class, failure), "{status} {error:?}");
        }
    }

    #[test]
    fn a_policys_verdict_is_a_result() {
        for code in
            ["invalid_prompt", "content_policy_violation", "cyber_policy", "bio_policy", "content_filter"]
        {
            assert_eq!(meaning(400, &error("", code, "prompt", ""), false), Filtered, "{code}");
        }
        let moderated = ErrorBody { is_moderated: true, ..error("", "403", "", "flagged") };
        assert_eq!(meaning(403, &moderated, false), Filtered);
        assert_eq!(meaning(403, &error("", "403", "", ""), false), Failed(StopQueue, Authentication));
    }

    #[test]
    fn a_402_that_asks_to_wait_passes() {
        assert_eq!(meaning(402, &error("", "402", "", ""), true), Failed(RetrySlow, RateLimit));
    }
}
