//! How responses are read: text, outcome, usage, class. One response a case, from a local server.
//!
//! `responses/` has one file a response: `.json` a body, `.sse` a stream, `.http` the whole response.
//! They are made by hand from what providers document and are no recordings.

use std::{fs, path::PathBuf};

use rusqlite::Connection;
use serde_json::json;

use super::{
    server::{Arrived, Server, ok},
    transcript::{self, holds},
};
use crate::support::Project;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/guards/responses")
}

/// The names of all responses that end in `ending`, Anthropic's or all others.
fn names(of_anthropic: bool, ending: &str) -> Vec<String> {
    let files = fs::read_dir(folder()).expect("the folder is there");
    let mut names: Vec<String> = files
        .map(|file| file.expect("it can be read").file_name().into_string().expect("its name is text"))
        .filter(|name| name.ends_with(ending) && name.starts_with("anthropic__") == of_anthropic)
        .collect();
    names.sort();
    names
}

/// The response named in the request.
fn respond(request: &Arrived) -> Vec<u8> {
    let file = fs::read_dir(folder()).expect("the folder is there").find_map(|file| {
        let name = file.ok()?.file_name().into_string().ok()?;
        request.body.contains(&format!("please: {name}")).then_some(name)
    });
    let file = file.expect("every request names a response");
    let text = fs::read_to_string(folder().join(&file)).expect("the response is text");
    match file.rsplit('.').next() {
        Some("json") => ok("application/json", &text),
        Some("sse") => ok("text/event-stream", &text),
        _ => {
            let (head, body) = text.split_once("\n\n").expect("an empty line ends the head");
            let head = head.lines().filter(|line| !line.starts_with("content-length"));
            let head: String = head.map(|line| format!("{line}\r\n")).collect();
            format!("{head}connection: close\r\n\r\n{body}").into_bytes()
        }
    }
}

/// A project that asks for the responses `names`, one a case.
fn project(url: &str, of_anthropic: bool, streamed: bool, names: &[String]) -> Project {
    let golden: String = names
        .iter()
        .map(|name| {
            let graders = json!([{"kind": "words", "all": ["x"]}]);
            format!("{}\n", json!({"id": name, "input": format!("please: {name}"), "graders": graders}))
        })
        .collect();
    let (kind, path) = if of_anthropic { ("anthropic", "") } else { ("openai", "/v1") };
    let text = format!(
        "name = \"r\"\ngolden = \"golden.jsonl\"\n[[target]]\nname = \"t\"\nprovider = \"p\"\nmodel = \"m\"\n\
         stream = {streamed}\n[provider.p]\nkind = \"{kind}\"\nbase_url = \"{url}{path}\"\napi_key_env = \"TEST_KEY\"\n\
         limits = {{ max_in_flight = 1 }}\nretry = {{ max_retries = 0 }}\n"
    );
    Project::new().with("golden.jsonl", &golden).with("e.toml", &text)
}

/// What is kept of the answers to `names`.
fn read(of_anthropic: bool, streamed: bool, names: &[String]) -> String {
    let server = Server::new(respond);
    let project = project(&server.url(), of_anthropic, streamed, names);
    project.caseload(&["run", "e.toml", "-q"]);
    transcript::timeless(&project, &["export latest"])
}

#[test]
fn bodies_are_read_as_before() {
    holds!("reads_anthropic_json", read(true, false, &names(true, ".json")));
    holds!("reads_openai_json", read(false, false, &names(false, ".json")));
}

#[test]
fn streams_are_read_as_before() {
    holds!("reads_anthropic_sse", read(true, true, &names(true, ".sse")));
    holds!("reads_openai_sse", read(false, true, &names(false, ".sse")));
}

/// What became of each response in a run of its own, since some of them stop a run.
fn one_by_one(of_anthropic: bool) -> String {
    let server = Server::new(respond);
    let url = server.url();
    let one = |name: &String| {
        let project = project(&url, of_anthropic, false, std::slice::from_ref(name));
        let finished = project.caseload(&["run", "e.toml", "-q"]);
        let attempts = attempts(&project);
        let exported = transcript::timeless(&project, &["export latest"]);
        format!("{name}: exit {}\n{}{attempts}{exported}\n", finished.code, finished.stderr)
    };
    names(of_anthropic, ".http").iter().map(one).collect()
}

/// What each request came to, also where the trial is still to be asked.
fn attempts(project: &Project) -> String {
    let connection = Connection::open(project.store()).unwrap();
    let mut statement = connection
        .prepare(
            "SELECT json_object('status', status, 'class', class, 'kind', kind, 'retry_after_ms', retry_after_ms,
                'may_be_billed', may_be_billed, 'message', message) FROM attempt_view",
        )
        .unwrap();
    let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    rows.map(|row| row.unwrap() + "\n").collect()
}

#[test]
fn responses_of_anthropic_are_judged_as_before() {
    holds!("reads_anthropic_http", one_by_one(true));
}

#[test]
fn responses_of_chat_servers_are_judged_as_before() {
    holds!("reads_openai_http", one_by_one(false));
}
