//! What commands print, as one text: command, exit code, stdout, stderr.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::support::Project;

/// What every command in turn prints and how it ends; each is words with spaces between them.
pub(super) fn of(project: &Project, commands: &[&str]) -> String {
    commands.iter().map(|command| entry(project, command, str::to_owned)).collect()
}

/// The same where the command itself did what takes time: instants and durations are replaced.
pub(super) fn timeless(project: &Project, commands: &[&str]) -> String {
    commands.iter().map(|command| entry(project, command, without_times)).collect()
}

fn entry(project: &Project, command: &str, put: fn(&str) -> String) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    let finished = project.caseload(&words);
    let code = finished.code;
    let mut text = format!("$ caseload {command}\nexit {code}\n");
    for (name, said) in [("stdout", finished.stdout), ("stderr", finished.stderr)] {
        if !said.is_empty() {
            text.push_str(&format!("--- {name}\n{}", put(&said)));
            if !said.ends_with('\n') {
                text.push_str("(no newline)\n");
            }
        }
    }
    text.replace(&project.path("").display().to_string(), "[project]/") + "\n"
}

/// Keys whose values hang on the clock.
const TIMES: [&str; 14] = [
    "latency_ms",
    "first_token_ms",
    "queue_wait_ms",
    "backoff_wait_ms",
    "backoff_ms",
    "duration_ms",
    "wall_s",
    "wall_seconds",
    "started_at",
    "finished_at",
    "created_at",
    "queues",
    "retry_after_ms",
    "observed",
];

/// A text without its times: JSON, JSON lines or a screen.
fn without_times(text: &str) -> String {
    if let Ok(whole) = serde_json::from_str::<Value>(text) {
        return serde_json::to_string_pretty(&blanked(whole)).expect("a value is JSON") + "\n";
    }
    text.lines().map(|line| line_without_times(line) + "\n").collect()
}

fn line_without_times(line: &str) -> String {
    static DURATION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b\d[\d,.]* (ms|s|min|h)\b").unwrap());
    static INSTANT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\b(\d\d)?\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?Z?)?").unwrap());
    static INTERVAL: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\[time\] \((\[time\]|\?) to (\[time\]|\?)\)").unwrap());
    static GAP: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(\S) {2,}").unwrap());
    match serde_json::from_str::<Value>(line) {
        Ok(value @ Value::Object(_)) => blanked(value).to_string(),
        _ => {
            let line = INSTANT.replace_all(line, "[when]");
            let line = DURATION.replace_all(&line, "[time]");
            // Whether an interval of times has ends hangs on them.
            let line = INTERVAL.replace_all(&line, "[time] (interval)");
            // The width of a column hangs on its times.
            GAP.replace_all(&line, "$1  ").into_owned()
        }
    }
}

fn blanked(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, value)| {
                let is_time = TIMES.contains(&key.as_str()) && !value.is_null();
                let value = if is_time { Value::from("[time]") } else { blanked(value) };
                (key, value)
            })
            .collect(),
        Value::Array(values) => values.into_iter().map(blanked).collect(),
        other => other,
    }
}

/// Holds `text` against the snapshot `name` beside this file.
macro_rules! holds {
    ($name:expr, $text:expr) => {
        insta::with_settings!({
            snapshot_path => "snapshots",
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!($name, $text);
        });
    };
}
pub(super) use holds;
