//! Who answers: a room a dialect, wire format <-> neutral request, reply and failure.
//!
//! A [`Dialect`] is pure: neutral question to wire form, response to reply. [`HttpModel`] puts it around
//! the shared transport ([`wire`]), so that everything but the transport is tested without a network.
//! What an error means for the run is decided here, once ([`wire::classify`] and each dialect's table);
//! waiting, limiting and asking again is the queue's.

pub mod anthropic;
mod case_values;
pub mod dialect;
pub mod exec;
pub mod families;
pub mod http_app;
mod http_model;
mod kind;
pub mod openai;
mod parameters;
mod provider;
mod rejection;
pub mod replay;
mod secrets;
pub mod simulator;
#[cfg(test)]
pub(crate) mod test_question;
mod told_cost;
mod token_counter;
pub mod tokens;
#[cfg(test)]
mod toy;
mod usage_object;
pub mod wire;

pub use self::{
    case_values::case_values,
    dialect::{Dialect, Facts, MaxTokensField},
    exec::{Exec, ExecMode, ExecSettings, ExitCodes},
    families::{Family, cache_minimum, family},
    http_app::{AnswerPointers, BodyTemplate, HttpApp, HttpAppSettings},
    http_model::HttpModel,
    kind::Kind,
    parameters::check_parameters,
    provider::{Provider, bounds_of_application},
    rejection::Rejection,
    replay::{Replay, ReplayOutputs},
    secrets::{LEAST_SECRET_CHARS, Secrets},
    simulator::{SimulatedTarget, Simulator, SimulatorSettings},
    token_counter::TokenCounter,
    tokens::{Tokenizer, estimate_input_tokens, tokens_of},
    wire::{HttpError, HttpResponse, HttpSettings, tells_of_a_secret, unencrypted_host},
};

use self::{told_cost::told_cost, usage_object::usage_object};

#[cfg(test)]
mod tests {
    use axum::{
        Json, Router,
        http::{HeaderMap, StatusCode},
        routing::post,
    };
    use secrecy::SecretString;
    use serde_json::{Value, json};

    use super::{
        test_question::{ask, question},
        *,
    };
    use crate::domain::{ErrorClass, FailureKind, Outcome};

    /// A server that answers each dialect at its own path with the key and the body it was sent.
    async fn echo_server() -> String {
        let anthropic = |headers: HeaderMap, Json(body): Json<Value>| async move {
            let key = if headers["x-api-key"] == "key-1" { "the key" } else { "another key" };
            let version = headers["anthropic-version"].to_str().unwrap().to_owned();
            let text = format!("{key} {version} {}", body["messages"][0]["content"]);
            Json(
                json!({"type": "message", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
                        "usage": {"input_tokens": 9, "output_tokens": 3}}),
            )
        };
        let openai = |headers: HeaderMap, Json(body): Json<Value>| async move {
            let key = match headers.get("authorization") {
                Some(key) if key == "Bearer key-1" => "the key",
                Some(_) => "another key",
                None => "no key",
            };
            let text = format!("{key} {}", body["messages"][0]["content"]);
            Json(json!({"choices": [{"message": {"content": text}, "finish_reason": "length"}]}))
        };
        let echo_key = |headers: HeaderMap| async move {
            let key = headers["authorization"].to_str().unwrap().to_owned();
            let error = json!({"error": {"message": format!("Incorrect API key provided: {key}"),
                                         "code": "invalid_api_key"}});
            (StatusCode::UNAUTHORIZED, Json(error))
        };
        let app = Router::new()
            .route("/v1/messages", post(anthropic))
            .route("/v1/chat/completions", post(openai))
            .route("/strict/chat/completions", post(echo_key));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        url
    }

    fn openai(base_url: String, key: Option<&str>) -> HttpModel {
        let key = key.map(SecretString::from);
        let model = HttpModel::new(&openai::FACTS, &HttpSettings::new(base_url), key.as_ref(), None);
        model.unwrap()
    }

    #[tokio::test]
    async fn anthropic_is_asked_at_its_path_whatever_the_base_url_ends_with() {
        let url = echo_server().await;
        for end in ["", "/", "/v1", "/v1/"] {
            let http = HttpSettings::new(format!("{url}{end}"));
            let model = HttpModel::new(&anthropic::FACTS, &http, Some(&"key-1".into()), None).unwrap();
            let reply = ask(&model, &question()).await.unwrap();
            assert_eq!(reply.text, "the key 2023-06-01 \"hello\"");
            assert_eq!(reply.metered.usage.unwrap().input_total(), 9);
        }
    }

    #[tokio::test]
    async fn a_compatible_server_is_asked_with_or_without_a_key() {
        let url = echo_server().await;
        for (end, key, text) in
            [("/v1", Some("key-1"), "the key \"hello\""), ("/v1/", None, "no key \"hello\"")]
        {
            let reply = ask(&openai(format!("{url}{end}"), key), &question()).await.unwrap();
            assert_eq!((reply.outcome, reply.text.as_str()), (Outcome::Truncated, text));
        }
    }

    #[tokio::test]
    async fn a_key_that_the_server_repeats_is_not_told_on() {
        let provider = openai(format!("{}/strict", echo_server().await), Some("my-own-key"));
        let rejection = ask(&provider, &question()).await.unwrap_err();
        assert_eq!(rejection.failure.class, ErrorClass::StopQueue);
        assert_eq!(rejection.failure.kind, FailureKind::Authentication);
        let shown = format!("{rejection} {rejection:?} {provider:?}");
        assert!(!shown.contains("my-own-key"), "{shown}");
    }
}
