//! What a provider's error means for the run.
//!
//! The tables are the providers' own (Anthropic: API reference, "Errors" and "Rate limits"; OpenAI:
//! guide "Error codes"), extended by what compatible servers document. A text decides only where
//! the status and the code leave it open. Where it stays open the narrower class is taken: a trial
//! that fails alone costs one refused request, a target stopped by mistake costs a night.

use crate::domain::{ErrorClass, FailureKind};

use super::error_body::ErrorBody;

/// What an error means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A policy withheld the answer: a result of this trial, not an error.
    Filtered,
    /// A failure.
    Failed(ErrorClass, FailureKind),
}

use ErrorClass::{Retry, RetrySlow, StopQueue, StopTarget, ThisTrial};
use FailureKind::{
    Authentication, BadParameter, BadRequest, Billing, ContextTooLong, Dropped, Overloaded, Quota, RateLimit,
    Server, Timeout, UnknownModel,
};
use Meaning::{Failed, Filtered};

/// What an error of the Messages API means.
pub fn anthropic(status: u16, error: &ErrorBody) -> Meaning {
    let message = error.message.to_lowercase();
    let (class, kind) = match error.kind.as_deref() {
        Some("authentication_error" | "permission_error") => (StopQueue, Authentication),
        Some("billing_error") => (StopQueue, Billing),
        Some("not_found_error") if message.contains("model") => (StopTarget, UnknownModel),
        Some("not_found_error") => (StopTarget, BadRequest),
        Some("rate_limit_error") if is_anthropic_spend_limit(error, &message) => (StopQueue, Billing),
        Some("rate_limit_error") => (RetrySlow, RateLimit),
        Some("overloaded_error") => (Retry, Overloaded),
        Some("api_error") => (Retry, Server),
        Some("timeout_error") => (Retry, Timeout),
        Some("conflict_error") => (Retry, Server),
        Some("request_too_large") => (ThisTrial, ContextTooLong),
        Some("invalid_request_error") => anthropic_invalid_request(error, &message),
        _ if status == 400 => anthropic_invalid_request(error, &message),
        _ => by_status(status),
    };
    Failed(class, kind)
}

/// Three sentences, all of them money: the organisation's limit, a limit the user has set, and the
/// older one about credit.
fn is_anthropic_spend_limit(error: &ErrorBody, message: &str) -> bool {
    error.detail_code.as_deref() == Some("enforced_spend_limit_reached")
        || (message.contains("you have reached your") && message.contains("usage limits"))
        || message.contains("credit balance is too low")
}

fn anthropic_invalid_request(error: &ErrorBody, message: &str) -> (ErrorClass, FailureKind) {
    if is_anthropic_spend_limit(error, message) {
        (StopQueue, Billing)
    } else if is_context_too_long(message) {
        (ThisTrial, ContextTooLong)
    } else if message.contains("not valid json") && message.contains("unexpected end") {
        // The upload broke on its way.
        (Retry, Dropped)
    } else if names_a_setting(message) {
        (StopTarget, BadParameter)
    } else {
        (ThisTrial, BadRequest)
    }
}

/// Whether a sentence is about a setting that all requests of a target share. One about `messages`
/// is about the case.
fn names_a_setting(message: &str) -> bool {
    const SETTINGS: [&str; 12] = [
        "temperature",
        "top_p",
        "top_k",
        "thinking",
        "max_tokens",
        "stop_sequences",
        "output_config",
        "effort",
        "service_tier",
        "tool_choice",
        "model",
        "deprecated",
    ];
    const REJECTIONS: [&str; 4] =
        ["unsupported", "not supported", "does not support", "extra inputs are not permitted"];
    !message.trim_start_matches(['`', '"', '\'']).starts_with("messages")
        && (SETTINGS.iter().any(|setting| has_word(message, setting))
            || REJECTIONS.iter().any(|rejection| message.contains(rejection)))
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|character: char| !character.is_alphanumeric() && character != '_').any(|part| part == word)
}

fn is_context_too_long(message: &str) -> bool {
    [
        "prompt is too long",
        "maximum context length",
        "exceed context limit",
        "exceeds the context",
        "context length exceeded",
        "context window",
        "context size",
        "maximum model length",
    ]
    .iter()
    .any(|text| message.contains(text))
}

/// What an error of OpenAI or a compatible server means. `asks_to_wait`: the response has a
/// `retry-after`.
pub fn openai(status: u16, error: &ErrorBody, asks_to_wait: bool) -> Meaning {
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

/// What the status alone says.
fn by_status(status: u16) -> (ErrorClass, FailureKind) {
    match status {
        401 | 403 | 407 => (StopQueue, Authentication),
        402 => (StopQueue, Billing),
        404 | 405 | 410 => (StopTarget, BadRequest),
        408 | 504 | 524 => (Retry, Timeout),
        409 | 425 => (Retry, Server),
        413 => (ThisTrial, ContextTooLong),
        429 => (RetrySlow, RateLimit),
        503 | 529 => (Retry, Overloaded),
        500..=599 => (Retry, Server),
        _ => (ThisTrial, BadRequest),
    }
}

/// The class after the server's own word on repeating (`x-should-retry`). It decides between trying
/// again and giving this trial up; what stops a target or a queue stops it all the same.
pub fn with_servers_word(class: ErrorClass, should_retry: Option<&str>) -> ErrorClass {
    match (should_retry, class) {
        (Some("false"), Retry | RetrySlow) => ThisTrial,
        (Some("true"), ThisTrial) => Retry,
        _ => class,
    }
}

/// Whether the provider may have worked, and so bill, although this status came back: a gateway that
/// gave up waiting does not stop the model behind it.
pub fn may_be_billed(status: u16) -> bool {
    matches!(status, 200..=299 | 408 | 499 | 502 | 504 | 524)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: &str, code: &str, param: &str, message: &str) -> ErrorBody {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        ErrorBody {
            message: message.to_owned(),
            kind: text(kind),
            code: text(code),
            param: text(param),
            ..ErrorBody::default()
        }
    }

    #[test]
    fn anthropics_types_decide() {
        for (status, kind, class, failure) in [
            (401, "authentication_error", StopQueue, Authentication),
            (402, "billing_error", StopQueue, Billing),
            (403, "permission_error", StopQueue, Authentication),
            (409, "conflict_error", Retry, Server),
            (413, "request_too_large", ThisTrial, ContextTooLong),
            (429, "rate_limit_error", RetrySlow, RateLimit),
            (500, "api_error", Retry, Server),
            (504, "timeout_error", Retry, Timeout),
            (529, "overloaded_error", Retry, Overloaded),
            (200, "overloaded_error", Retry, Overloaded),
            (529, "", Retry, Overloaded),
            (502, "", Retry, Server),
            (418, "", ThisTrial, BadRequest),
        ] {
            assert_eq!(
                anthropic(status, &error(kind, "", "", "x")),
                Failed(class, failure),
                "{status} {kind}"
            );
        }
    }

    #[test]
    fn anthropics_sentences_decide_about_a_400() {
        for (message, class, kind) in [
            (
                "You have reached your specified API usage limits. Access returns on 1 May.",
                StopQueue,
                Billing,
            ),
            ("You have reached your specified workspace API usage limits.", StopQueue, Billing),
            ("Your credit balance is too low to access the API.", StopQueue, Billing),
            ("prompt is too long: 210000 tokens > 200000 maximum", ThisTrial, ContextTooLong),
            ("input length and `max_tokens` exceed context limit: 9 + 8 > 10", ThisTrial, ContextTooLong),
            ("The request body is not valid JSON: unexpected end of data", Retry, Dropped),
            ("temperature: only the default is accepted", StopTarget, BadParameter),
            ("`top_k` cannot be set with this model", StopTarget, BadParameter),
            ("thinking.type: `enabled` is not accepted", StopTarget, BadParameter),
            ("max_tokens: 99999 > 64000, which is the maximum allowed", StopTarget, BadParameter),
            ("This model does not support effort level 'max'.", StopTarget, BadParameter),
            ("foo: Extra inputs are not permitted", StopTarget, BadParameter),
            ("messages.2.content: text is required by this model", ThisTrial, BadRequest),
            ("messages: at least one message is required", ThisTrial, BadRequest),
            ("image exceeds 5 MB maximum", ThisTrial, BadRequest),
            ("remodelled text", ThisTrial, BadRequest),
        ] {
            let error = error("invalid_request_error", "", "", message);
            assert_eq!(anthropic(400, &error), Failed(class, kind), "{message}");
        }
    }

    #[test]
    fn anthropics_spend_limit_hides_in_a_429() {
        let mut capped = error("rate_limit_error", "", "", "Access returns on 1 May.");
        assert_eq!(anthropic(429, &capped), Failed(RetrySlow, RateLimit));
        capped.detail_code = Some("enforced_spend_limit_reached".to_owned());
        assert_eq!(anthropic(429, &capped), Failed(StopQueue, Billing));
    }

    #[test]
    fn anthropics_404_is_about_the_model_when_it_says_so() {
        let missing = |message| anthropic(404, &error("not_found_error", "", "", message));
        assert_eq!(missing("model: claude-x"), Failed(StopTarget, UnknownModel));
        assert_eq!(missing("Not found"), Failed(StopTarget, BadRequest));
    }

    #[test]
    fn openais_codes_decide_before_the_status() {
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
            assert_eq!(openai(status, &error, false), Failed(class, failure), "{status} {error:?}");
        }
    }

    #[test]
    fn a_policys_verdict_is_a_result() {
        for code in
            ["invalid_prompt", "content_policy_violation", "cyber_policy", "bio_policy", "content_filter"]
        {
            assert_eq!(openai(400, &error("", code, "prompt", ""), false), Filtered, "{code}");
        }
        let moderated = ErrorBody { is_moderated: true, ..error("", "403", "", "flagged") };
        assert_eq!(openai(403, &moderated, false), Filtered);
        assert_eq!(openai(403, &error("", "403", "", ""), false), Failed(StopQueue, Authentication));
    }

    #[test]
    fn a_402_that_asks_to_wait_passes() {
        assert_eq!(openai(402, &error("", "402", "", ""), true), Failed(RetrySlow, RateLimit));
    }

    #[test]
    fn the_servers_word_decides_about_repeating_only() {
        for (word, before, after) in [
            (Some("false"), Retry, ThisTrial),
            (Some("false"), RetrySlow, ThisTrial),
            (Some("false"), StopQueue, StopQueue),
            (Some("true"), ThisTrial, Retry),
            (Some("true"), StopTarget, StopTarget),
            (Some("maybe"), Retry, Retry),
            (None, RetrySlow, RetrySlow),
        ] {
            assert_eq!(with_servers_word(before, word), after, "{word:?} {before:?}");
        }
    }
}
