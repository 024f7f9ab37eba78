//! What is sent, byte for byte: request lines, headers in their order, bodies with their keys in order.

use serde_json::json;

use super::{
    server::{Arrived, Server, ok},
    transcript::holds,
};
use crate::support::Project;

/// Cases of every form of input.
fn golden() -> String {
    let cases = [
        json!({"id": "plain", "input": "What is asked?", "context": {"account": "A-1"}}),
        json!({
            "id": "history", "context": {"account": null},
            "input": {
                "message": "And then?",
                "history": [{"role": "user", "content": "First?"}, {"role": "assistant", "content": "This."}],
            },
        }),
        json!({
            "id": "messages", "context": {"account": {"plan": "Keeper", "since": 2024}},
            "input": {"messages": [
                {"role": "system", "content": "Within."},
                {"role": "user", "content": "Hello"},
                {"role": "assistant", "content": "Hello, too"},
                {"role": "user", "content": "Now?"},
            ]},
        }),
        json!({"id": "signs", "input": "é 日本 \"quoted\" \\ / \u{1}\t\n<b>&</b> \u{2028} 🙂", "context": {"account": 7}}),
    ];
    cases.iter().map(|case| format!("{case}\n")).collect()
}

/// Targets of every setting; `{}` is their provider.
const TARGETS: &str = r#"
[[target]]
name = "bare"
provider = "{}"
model = "m-1"

[[target]]
name = "full"
provider = "{}"
model = "m-1"
max_tokens = 50
temperature = 0.5
top_p = 0.9
stop = ["END", "\n\n"]
extra = { seed = 3, metadata = { user = "u-1", tags = ["a", 1, 2.5, true] }, service_tier = "default" }

[target.prompt]
system = "Answer for {{ context.account }}."
user = "Case {{ id }}: {{ message }}"

[[target]]
name = "whole"
provider = "{}"
model = "m-1"
temperature = 1.0
max_tokens = 9
extra = { max_tokens = 99, max_completion_tokens = 98, temperature = 0 }

[target.prompt]
system = "Be brief."

[[target]]
name = "streamed"
provider = "{}"
model = "m-1"
stream = true
extra = { stream_options = { include_obfuscation = false } }

[[target]]
name = "long"
provider = "{}"
model = "m-1"
max_tokens = 30000

[[target]]
name = "cached"
provider = "{}"
model = "m-1"
cache = "system"

[target.prompt]
system = "A long system prompt."

[[target]]
name = "cached-history"
provider = "{}"
model = "m-1"
cache = { at = "history", ttl = "1h" }
"#;

/// An answer in the dialect of the request's path, streamed where that is asked.
fn answer(request: &Arrived) -> Vec<u8> {
    let is_messages = request.head.contains("/messages");
    let is_streamed = request.body.contains("\"stream\":true");
    match (is_messages, is_streamed) {
        (true, false) => ok(
            "application/json",
            r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}"#,
        ),
        (true, true) => ok(
            "text/event-stream",
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n\
             event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"x\"}}\n\n\
             event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
             event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\n\
             event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        ),
        (false, false) => ok(
            "application/json",
            r#"{"id":"c-1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#,
        ),
        (false, true) => ok(
            "text/event-stream",
            "data: {\"id\":\"c-1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n\
             data: {\"id\":\"c-1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,\"total_tokens\":2}}\n\n\
             data: [DONE]\n\n",
        ),
    }
}

/// A project whose experiment has `targets` and the provider `section`; each case is asked once.
fn project(targets: &str, section: &str) -> Project {
    let text = format!(
        "name = \"wire\"\ngolden = \"golden.jsonl\"\nseed = 11\ngraders = [{{ kind = \"words\", all = [\"x\"] }}]\n{targets}\n\
         [provider.p]\n{section}\n"
    );
    Project::new().with("golden.jsonl", &golden()).with("e.toml", &text)
}

/// What arrives when all `targets` ask all cases of a provider whose section is `section`, in which
/// `URL` is the server's address.
#[track_caller]
fn sent(targets: &str, section: &str) -> Vec<String> {
    let server = Server::new(answer);
    let section = format!("{}\nlimits = {{ max_in_flight = 1 }}", section.replace("URL", &server.url()));
    let project = project(&targets.replace("{}", "p"), &section);
    project.caseload(&["run", "e.toml", "-q"]).exits(0);
    server.texts()
}

/// The bare target alone.
fn bare() -> String {
    TARGETS
        .split("[[target]]")
        .nth(1)
        .map(|section| format!("[[target]]{section}"))
        .expect("one stands first")
}

#[test]
fn messages_are_sent_as_before() {
    let section = "kind = \"anthropic\"\nbase_url = \"URL\"\napi_key_env = \"TEST_KEY\"";
    holds!("wire_anthropic", sent(TARGETS, section).concat());
}

#[test]
fn chat_completions_are_sent_as_before() {
    let section = "kind = \"openai\"\nbase_url = \"URL/v1\"\napi_key_env = \"TEST_KEY\"";
    holds!("wire_openai", sent(TARGETS, section).concat());
}

#[test]
fn addresses_keys_and_output_fields_are_as_before() {
    let targets = bare().replace("\"m-1\"", "\"m-1\"\nmax_tokens = 5");
    let first = |section: &str| {
        let is_plain = |text: &String| text.contains("What is asked?");
        sent(&targets, section).into_iter().find(is_plain).expect("every case is asked")
    };
    let text: String = [
        "kind = \"anthropic\"\nbase_url = \"URL/\"\napi_key_env = \"TEST_KEY\"",
        "kind = \"anthropic\"\nbase_url = \"URL/v1\"\napi_key_env = \"TEST_KEY\"",
        "kind = \"anthropic\"\nbase_url = \"URL/gateway/anthropic\"\napi_key_env = \"TEST_KEY\"",
        "kind = \"openai\"\nbase_url = \"URL/v1/\"",
        "kind = \"openai\"\nbase_url = \"URL/openai/v1\"\napi_key_env = \"TEST_KEY\"",
        "kind = \"openai\"\nbase_url = \"URL\"\nmax_tokens_field = \"max_completion_tokens\"",
        "kind = \"openai\"\nbase_url = \"URL\"\nmax_tokens_field = \"max_tokens\"",
    ]
    .map(first)
    .concat();
    holds!("wire_addresses", text);
}

#[test]
fn a_retry_sends_the_same_bytes() {
    let server = Server::new(|request| {
        let is_first = !TRIED.swap(true, std::sync::atomic::Ordering::SeqCst);
        if is_first {
            return b"HTTP/1.1 500 Internal Server Error\r\nconnection: close\r\n\r\n".to_vec();
        }
        answer(request)
    });
    let section = format!(
        "kind = \"openai\"\nbase_url = \"{}\"\nlimits = {{ max_in_flight = 1 }}\nretry = {{ base_delay_ms = 1 }}",
        server.url()
    );
    let project = project(&bare().replace("{}", "p"), &section);
    project.caseload(&["run", "e.toml", "-q", "--limit", "1"]).exits(0);
    let arrived = server.arrived();
    assert_eq!(arrived.len(), 2);
    assert_eq!((&arrived[0].head, &arrived[0].body), (&arrived[1].head, &arrived[1].body));
}

/// Whether the first request of `a_retry_sends_the_same_bytes` has come.
static TRIED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

#[test]
fn tokens_are_counted_as_before() {
    let server = Server::new(|_| ok("application/json", r#"{"input_tokens": 12}"#));
    let section =
        format!("kind = \"anthropic\"\nbase_url = \"{}\"\napi_key_env = \"TEST_KEY\"", server.url());
    let project = project(&TARGETS.replace("{}", "p"), &section);
    project.caseload(&["estimate", "e.toml", "--count-tokens", "--target", "full", "--limit", "1"]).exits(0);
    holds!("wire_count_tokens", server.texts().concat());
}

#[test]
fn endpoints_are_asked_as_before() {
    let targets = "[[target]]\nname = \"bot\"\nprovider = \"p\"\n";
    let common = "kind = \"http\"\nurl = \"URL/ask?team=desk\"\nheaders = { authorization = { env = \"TEST_KEY\" }, x-team = \"desk\" }\nanswer = { text = \"/choices/0/message/content\" }\n";
    let body = "body = { question = \"{{ message }}\", account = \"{{ context.account }}\", turns = \"{{ prompt.messages }}\", said = \"for {{ id }}\", seed = \"{{ seed }}\", repeat = \"{{ repeat }}\", model = \"{{ model }}\", fixed = [1, true, null_is = \"no\"] }";
    let body = body.replace(", null_is = \"no\"", "");
    let text = [
        sent(targets, &format!("{common}{body}")),
        sent(targets, &format!("{common}method = \"PUT\"\n{body}")),
        sent(targets, &format!("{common}method = \"GET\"")),
    ]
    .concat()
    .concat();
    holds!("wire_endpoint", text);
}

#[cfg(unix)]
#[test]
fn programs_are_asked_as_before() {
    use std::{fs, os::unix::fs::PermissionsExt};
    let targets = "repeats = 2\n[[target]]\nname = \"bot\"\nprovider = \"p\"\n[target.prompt]\nsystem = \"Be brief.\"\n";
    let number = regex::Regex::new(r#"("id":"[a-z]+#\d\.)\d+""#).unwrap();
    let mut text = String::new();
    for (mode, script) in [
        (
            "per_trial",
            "cat >> asked; env | grep -v -e ^PWD= -e ^PATH= -e ^HOME= -e ^LANG= -e ^LC_ALL= -e ^TMPDIR= -e ^_= -e ^SHLVL= -e ^OLDPWD= | sort >> asked; echo x",
        ),
        (
            "persistent",
            "while read -r line; do printf '%s\\n' \"$line\" >> asked; rest=${line#*\\\"id\\\":\\\"}; echo \"{\\\"id\\\":\\\"${rest%%\\\"*}\\\",\\\"output\\\":\\\"x\\\"}\"; done",
        ),
    ] {
        let section = format!("kind = \"exec\"\ncommand = [\"./bot.sh\"]\nmode = \"{mode}\"\nworkers = 1");
        let project = project(targets, &section).with("bot.sh", &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(project.path("bot.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        project.caseload(&["run", "e.toml", "-q"]).exits(0);
        let asked = fs::read_to_string(project.path("asked")).unwrap();
        // Which of them was started first may vary.
        let asked = number.replace_all(&asked, "$1[n]\"");
        let mut lines: Vec<&str> = asked.lines().collect();
        lines.sort_unstable();
        text.push_str(&format!("{mode}\n{}\n", lines.join("\n")));
    }
    holds!("wire_program", text);
}
