//! No key survives, however a server writes it and wherever; and nothing else is lost.

use std::time::Duration;

use base64::{Engine, engine::general_purpose};
use proptest::{prelude::*, sample::Index};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{Secrets, escapes::unescaped};
use crate::{
    domain::HttpMethod,
    providers::{
        AnswerPointers, HttpApp, HttpAppSettings, HttpModel, HttpSettings, Kind, Provider,
        http_app::PassagePointers,
        test_question::{ask, question},
        wire::test_server::{TestServer, Then, ok},
    },
};

const KEY: &str = "k3y/Of+my~Own-9f8e7d6c5b4a==";

fn concealed(key: &str, text: &str) -> String {
    let mut text = text.to_owned();
    Secrets::new([SecretString::from(key)]).conceal(&mut text);
    text
}

fn percent(key: &str) -> String {
    key.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The ways in which servers write a key.
fn written(key: &str, way: usize) -> String {
    let special = |c: char| !c.is_ascii_alphanumeric();
    let each = |escape: &dyn Fn(char) -> String| key.chars().map(escape).collect::<String>();
    match way {
        0 => key.to_owned(),
        1 => each(&|c| if special(c) { format!("%{:02X}", u32::from(c)) } else { c.to_string() }),
        2 => percent(key).to_lowercase(),
        3 => percent(key).replace('%', "%25"),
        4 => each(&|c| format!("\\u{:04x}", u32::from(c))),
        5 => key.replace('/', "\\/"),
        6 => each(&|c| if special(c) { format!("&#{};", u32::from(c)) } else { c.to_string() }),
        7 => key.bytes().map(|byte| format!("{byte:02x}")).collect(),
        8 => key.to_uppercase(),
        9 => general_purpose::STANDARD.encode(key),
        10 => general_purpose::URL_SAFE_NO_PAD.encode(format!("u:{key}")),
        11 => general_purpose::STANDARD.encode(format!("user:{key} and more")),
        _ => percent(&general_purpose::STANDARD.encode(format!("x{key}"))),
    }
}

const WAYS: usize = 13;

fn keys() -> impl Strategy<Value = String> {
    // No run of letters alone, or of digits alone, that could be a word.
    "([a-z][0-9A-Z][-_.~+/=]?){8,20}"
}

proptest! {
    #[test]
    fn no_way_to_write_a_key_is_kept(
        key in keys(), way in 0..WAYS, before in "[ä\"\\\\ x]{0,5}", after in "[ä\"\\\\ x]{0,5}",
    ) {
        let kept = concealed(&key, &format!("{before} {} {after}", written(&key, way)));
        prop_assert!(kept.contains("[hidden]"), "{}", kept);
        let plain = unescaped(&kept).map_or(kept.clone(), |plain| plain.text).to_lowercase();
        let key = key.to_lowercase();
        prop_assert!(!plain.contains(&key[..8]) && !plain.contains(&key[key.len() - 8..]), "{}", kept);
        // Of an encoded text at most the characters remain that the key shares with its neighbours.
        prop_assert!(kept.len() <= before.len() + after.len() + "[hidden]".len() + 32, "{}", kept);
    }

    #[test]
    fn a_key_that_was_cut_is_hidden_from_eight_characters_on(key in keys(), least in any::<Index>()) {
        let length = 8 + least.index(key.len() - 8);
        prop_assert_eq!(concealed(&key, &format!("({}…)", &key[..length])), "([hidden]…)");
        let end = &key[key.len() - length..];
        prop_assert_eq!(concealed(&key, &format!("(…{end})")), "(…[hidden])");
        prop_assert_eq!(concealed(&key, &format!("({end}{key})")), "([hidden])");
    }

    #[test]
    fn a_text_that_knows_no_key_stays_as_it_is(text in any::<String>(), key in keys()) {
        prop_assert_eq!(concealed(&key, &text), text);
    }
}

#[test]
fn innocent_text_is_not_taken_for_a_part_of_a_key() {
    for (key, text) in [
        ("sk-ant-api03-Ab3dEf6hIj9l", "keys begin with sk-ant-api03-, those of others with sk-proj-"),
        ("sk-proj-Ab3dEf6hIj9lMn", "write sk-proj-… or sk-proj-xyz"),
        ("password1234", "your password is password"),
        ("Database-x7Kq9Zr2", "Database migrations, database"),
        ("x7Kq9Zr2-production", "in production"),
        ("1234567890-Ab", "call 123456789"),
        ("Ab-1234567890", "call 34567890 now"),
        ("mushroom", "mushrooms? no: mushroo"),
    ] {
        let kept = concealed(key, text);
        let whole = text.to_lowercase().contains(key);
        assert_eq!(kept == text, !whole, "{kept}");
    }
}

/// What of the key may stand nowhere, in small letters.
fn tells_of_the_key(shown: &str) -> bool {
    let plain = unescaped(shown).map_or(shown.to_owned(), |plain| plain.text).to_lowercase();
    let key = KEY.to_lowercase();
    let encoded = general_purpose::STANDARD.encode(KEY).to_lowercase();
    [&key[..8], &key[key.len() - 8..], &encoded[..12]].iter().any(|part| plain.contains(part))
}

/// A body in which every text that is read says the key.
fn body(kind: &str, key: &str) -> Value {
    match kind {
        "anthropic" => json!({"id": key, "type": "message", "role": "assistant", "model": key,
            "content": [{"type": "text", "text": format!("it is {key}")}], "stop_reason": key,
            "usage": {"input_tokens": 9, "output_tokens": key}}),
        "openai" => json!({"id": key, "model": key, "system_fingerprint": key,
            "choices": [{"index": 0, "message": {"content": format!("it is {key}")}, "finish_reason": key}],
            "usage": {"prompt_tokens": 9, "completion_tokens": key}}),
        _ => {
            json!({"text": format!("it is {key}"), "model": key, "usage": {"input_tokens": 9, "output_tokens": key},
            "sources": [{"doc": key, "chunk": key, "text": key}], "cost": key})
        }
    }
}

fn sender(kind: &str, base_url: &str) -> Box<dyn Provider> {
    let http = HttpSettings::new(base_url);
    let key = SecretString::from(KEY);
    if let Some(facts) = Kind::from_name(kind).and_then(Kind::facts) {
        return Box::new(HttpModel::new(facts, &http, Some(&key), None).unwrap());
    }
    let pointer = |name: &str| Some(format!("/{name}"));
    let answer = AnswerPointers {
        text: "/text".to_owned(),
        retrieved: pointer("sources"),
        passage: PassagePointers::default(),
        usage: pointer("usage"),
        cost: None,
        model: pointer("model"),
    };
    let settings = HttpAppSettings {
        method: HttpMethod::Post,
        headers: Default::default(),
        env_headers: Default::default(),
        body: None,
        answer,
    };
    let secret = vec![("x-key".to_owned(), SecretString::from(format!("Bearer {KEY}")))];
    Box::new(HttpApp::new(&settings, http, secret).unwrap())
}

/// What a reply or a rejection says to whoever keeps or prints it.
async fn told(kind: &str, streamed: bool, pieces: Vec<(Duration, Vec<u8>)>) -> String {
    let server = TestServer::slowly(pieces, Then::Close);
    let mut question = question();
    std::sync::Arc::make_mut(&mut question.parameters).stream = streamed;
    let told = ask(&*sender(kind, &server.base_url), &question).await;
    format!("{told:?}")
}

#[tokio::test]
async fn no_provider_keeps_a_key_that_its_server_repeats_in_answers_headers_and_errors() {
    for kind in ["anthropic", "openai", "http"] {
        for way in 0..WAYS {
            let key = written(KEY, way);
            let header = format!("request-id: {key}\r\nx-request-id: {key}\r\n");
            let body = body(kind, &key).to_string();
            let shown = told(kind, false, vec![(Duration::ZERO, ok(&header, body.as_bytes()))]).await;
            assert!(shown.contains("[hidden]") && !tells_of_the_key(&shown), "{kind} {way}: {shown}");
            let refused = json!({"error": {"type": key, "code": key, "message": format!("no {key}")}, "request_id": key});
            for status in [400, 401, 429, 500] {
                let refused = refused.to_string();
                let answer = format!(
                    "HTTP/1.1 {status} No\r\n{header}content-length: {}\r\n\r\n{refused}",
                    refused.len()
                );
                let shown = told(kind, false, vec![(Duration::ZERO, answer.into_bytes())]).await;
                assert!(shown.contains("[hidden]") && !tells_of_the_key(&shown), "{kind} {way}: {shown}");
            }
        }
    }
}

fn stream(kind: &str, one: &str, other: &str) -> String {
    let event = |data: Value| {
        let name = data["type"].as_str().map(|name| format!("event: {name}\n")).unwrap_or_default();
        format!("{name}data: {data}\n\n")
    };
    let events = match kind {
        "anthropic" => vec![
            json!({"type": "message_start", "message": {"id": "m", "model": format!("{one}{other}"), "content": [],
                   "usage": {"input_tokens": 9, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": one}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": other}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": format!("{one}{other}")}, "usage": {"output_tokens": 4}}),
            json!({"type": "message_stop"}),
        ],
        _ => vec![
            json!({"id": "c", "model": format!("{one}{other}"), "choices": [{"index": 0, "delta": {"content": one}}]}),
            json!({"id": "c", "choices": [{"index": 0, "delta": {"content": other}}]}),
            json!({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": format!("{one}{other}")}]}),
        ],
    };
    events.into_iter().map(event).collect()
}

/// The key is cut between two events; the bytes are cut between two packets, or end there.
#[tokio::test]
async fn a_stream_keeps_no_key_wherever_it_is_cut() {
    for kind in ["anthropic", "openai"] {
        for cut in (1..KEY.len()).step_by(3) {
            let (one, other) = KEY.split_at(cut);
            let body = stream(kind, one, other).into_bytes();
            let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_vec();
            let at = body.len() * cut / KEY.len();
            let begun = (Duration::ZERO, [head, body[..at].to_vec()].concat());
            let rest = (Duration::from_millis(2), body[at..].to_vec());
            for pieces in [vec![begun.clone(), rest], vec![begun]] {
                let shown = told(kind, true, pieces).await;
                assert!(!tells_of_the_key(&shown), "{kind} {cut}: {shown}");
            }
        }
    }
}
