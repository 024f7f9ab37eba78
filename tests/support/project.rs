//! A project in a temporary folder, and the program run in it.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use rusqlite::{Connection, types::FromSql};
use serde_json::Value;
use tempfile::TempDir;

/// A folder with an experiment and a golden set.
pub struct Project {
    folder: TempDir,
}

/// How a command ended.
pub struct Finished {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// The JSON on stdout.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not JSON ({error}):\n{}\n{}", self.stdout, self.stderr))
    }

    /// The same, having ended with `code`.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\nstdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn stderr_has(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "`{text}` is not in stderr:\n{}", self.stderr);
        self
    }

    #[track_caller]
    pub fn stdout_has(self, text: &str) -> Self {
        assert!(self.stdout.contains(text), "`{text}` is not in stdout:\n{}", self.stdout);
        self
    }
}

impl Project {
    /// An empty project.
    pub fn new() -> Self {
        Self { folder: TempDir::new().expect("a temporary folder can be made") }
    }

    /// The same with a file in it.
    #[must_use]
    pub fn with(self, path: &str, content: &str) -> Self {
        self.write(path, content);
        self
    }

    /// The same with `golden.jsonl`: cases `c0`, `c1`, … that ask `question N` and expect `right N`;
    /// every four of them form a cluster.
    #[must_use]
    pub fn with_cases(self, count: usize) -> Self {
        let lines: Vec<String> = (0..count).map(case_line).collect();
        self.with("golden.jsonl", &(lines.join("\n") + "\n"))
    }

    pub fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder can be made");
        fs::write(path, content).expect("a file can be written");
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub fn store(&self) -> PathBuf {
        self.path("store.db")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_caseload"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("CASELOAD_STORE", self.store())
            .env("TEST_KEY", "sk-test-123")
            .env("TZ", "UTC")
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .env_remove("ANTHROPIC_API_KEY")
            .env_remove("COLUMNS")
            .env_remove("CASELOAD_LOG")
            .env_remove("OPENAI_API_KEY")
            .env("NO_PROXY", "127.0.0.1,localhost")
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    #[track_caller]
    pub fn caseload(&self, arguments: &[&str]) -> Finished {
        self.caseload_with(&[], arguments)
    }

    /// The same with these variables set.
    #[track_caller]
    pub fn caseload_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Finished {
        let mut command = self.command(arguments);
        let output = command.envs(variables.iter().copied()).output().expect("the program can be started");
        Finished {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
        }
    }

    /// How the program ends when nobody reads what it prints.
    #[track_caller]
    pub fn caseload_into_nobody(&self, arguments: &[&str]) -> i32 {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program can be started");
        drop(child.stdout.take());
        child.wait().expect("it ends").code().unwrap_or(-1)
    }

    /// Starts the program and leaves it running.
    pub fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be started")
    }

    /// One value from the store.
    #[track_caller]
    pub fn sql<T: FromSql>(&self, query: &str) -> T {
        let connection = Connection::open(self.store()).expect("the store can be opened");
        connection.query_row(query, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{query}: {error}"))
    }

    /// What the `sqlite3` shell answers, as a person would ask it: one JSON object a row.
    #[track_caller]
    pub fn sqlite3(&self, query: &str) -> Vec<Value> {
        let output = Command::new("sqlite3").arg("-json").arg(self.store()).arg(query).output();
        let output = output.expect("the sqlite3 shell is installed (tests/all does that)");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{query}\n{stderr}");
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }

    /// Whether `secret` stands anywhere in the store's files.
    pub fn store_holds(&self, secret: &str) -> bool {
        ["store.db", "store.db-wal"].iter().any(|name| {
            let bytes = fs::read(self.path(name)).unwrap_or_default();
            bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
        })
    }
}

/// The line of case `number`.
fn case_line(number: usize) -> String {
    serde_json::json!({
        "id": format!("c{number}"),
        "cluster": format!("k{}", number / 4),
        "input": format!("question {number}"),
        "expected": {"must_contain": [format!("right {number}")]},
        "graders": [{"kind": "words"}],
        "examples": {"pass": [format!("It is right {number}.")], "fail": ["It is wrong."]},
    })
    .to_string()
}
