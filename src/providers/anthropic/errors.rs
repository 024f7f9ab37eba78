//! What an error of the Messages API means.
//!
//! Source: Anthropic API reference, "Errors" and "Rate limits".

use crate::{
    domain::{ErrorClass, FailureKind},
    providers::wire::{
        classify::{Meaning, by_status, is_context_too_long},
        error_body::ErrorBody,
    },
};

use ErrorClass::{Retry, RetrySlow, StopQueue, StopTarget, ThisTrial};
use FailureKind::{
    Authentication, BadParameter, BadRequest, Billing, ContextTooLong, Dropped, Overloaded, RateLimit,
    Server, Timeout, UnknownModel,
};
use Meaning::Failed;

/// What an error means.
pub(super) fn meaning(status: u16, error: &ErrorBody) -> Meaning {
    let message = error.message.to_lowercase();
    let (class, kind) = match error.kind.as_deref() {
        Some("authentication_error" | "permission_error") => (StopQueue, Authentication),
        Some("billing_error") => (StopQueue, Billing),
        Some("not_found_error") if message.contains("model") => (StopTarget, UnknownModel),
        Some("not_found_error") => (StopTarget, BadRequest),
        Some("rate_limit_error") if is_spend_limit(error, &message) => (StopQueue, Billing),
        Some("rate_limit_error") => (RetrySlow, RateLimit),
        Some("overloaded_error") => (Retry, Overloaded),
        Some("api_error") => (Retry, Server),
        Some("timeout_error") => (Retry, Timeout),
        Some("conflict_error") => (Retry, Server),
        Some("request_too_large") => (ThisTrial, ContextTooLong),
        Some("invalid_request_error") => invalid_request(error, &message),
        _ if status == 400 => invalid_request(error, &message),
        _ => by_status(status),
    };
    Failed(class, kind)
}

/// Three sentences, all of them money: the organisation's limit, a limit the user has set, and the
/// older one about credit.
fn is_spend_limit(error: &ErrorBody, message: &str) -> bool {
    error.detail_code.as_deref() == Some("enforced_spend_limit_reached")
        || (message.contains("you have reached your") && message.contains("usage limits"))
        || message.contains("credit balance is too low")
}

fn invalid_request(error: &ErrorBody, message: &str) -> (ErrorClass, FailureKind) {
    if is_spend_limit(error, message) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::wire::error_body::error;

    #[test]
    fn types_decide() {
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
            assert_eq!(meaning(status, &error(kind, "", "", "x")), Failed(class, failure), "{status} {kind}");
        }
    }

    #[test]
    fn sentences_decide_about_a_400() {
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
            assert_eq!(meaning(400, &error), Failed(class, kind), "{message}");
        }
    }

    #[test]
    fn spend_limit_hides_in_a_429() {
        let mut capped = error("rate_limit_error", "", "", "Access returns on 1 May.");
        assert_eq!(meaning(429, &capped), Failed(RetrySlow, RateLimit));
        capped.detail_code = Some("enforced_spend_limit_reached".to_owned());
        assert_eq!(meaning(429, &capped), Failed(StopQueue, Billing));
    }

    #[test]
    fn a_404_is_about_the_model_when_it_says_so() {
        let missing = |message| meaning(404, &error("not_found_error", "", "", message));
        assert_eq!(missing("model: claude-x"), Failed(StopTarget, UnknownModel));
        assert_eq!(missing("Not found"), Failed(StopTarget, BadRequest));
    }
}
