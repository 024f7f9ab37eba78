//! The fault matrix of `docs/reliability.md`: each fault against the whole program, and what was lost.
//!
//! ```sh
//! cargo bench --bench fault_matrix
//! ```

#![expect(clippy::print_stdout, reason = "the rows are what it is for")]

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use caseload::{
    golden::{self, CaseDefaults},
    mock::{FaultRates, MockLatency, MockServer, MockSettings, MockStats},
};
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;

const CASES: u64 = 1_000;
const IN_FLIGHT: u32 = 64;

/// One fault: what it is, how the server shows it, and what the program does about it.
struct Fault {
    name: &'static str,
    server: MockSettings,
    /// Further entries of the account's limits.
    limits: &'static str,
    done: &'static str,
    /// Killed so many times on its way, and resumed.
    kills: u32,
}

fn rates(set: impl FnOnce(&mut FaultRates)) -> MockSettings {
    let mut faults = FaultRates::default();
    set(&mut faults);
    MockSettings { faults, ..calm() }
}

fn calm() -> MockSettings {
    MockSettings {
        seed: 1,
        latency: MockLatency { mean_ms: 50.0, jitter_ms: 25.0 },
        slow_s: 1.0,
        ..MockSettings::default()
    }
}

fn matrix() -> Vec<Fault> {
    let fault = |name, server, done| Fault { name, server, limits: "", done, kills: 0 };
    vec![
        fault("nothing", calm(), "-"),
        fault("5 % answered 500", rates(|rates| rates.server_error = 0.05), "asked again after back-off"),
        fault(
            "5 % answered 529 or 503",
            rates(|rates| rates.overloaded = 0.05),
            "asked again after back-off",
        ),
        fault(
            "2 % of connections dropped",
            rates(|rates| rates.dropped = 0.02),
            "asked again on another connection",
        ),
        fault("2 % cut short or HTML", rates(|rates| rates.malformed = 0.02), "asked again"),
        fault(
            "1 % silent for ever",
            rates(|rates| rates.stalled = 0.01),
            "given up after `idle_s` (here 2 s), asked again",
        ),
        fault(
            "1 % silent for 1 s",
            MockSettings { stall_s: Some(1.0), ..rates(|rates| rates.stalled = 0.01) },
            "waited for",
        ),
        fault("2 % begin 1 s late", rates(|rates| rates.slow = 0.02), "waited for"),
        fault(
            "0.3 % a 429, `retry-after: 1`",
            rates(|rates| rates.rate_limited = 0.003),
            "the queue pauses as told, once an episode",
        ),
        Fault {
            limits: "requests_per_minute = 6000, ",
            ..fault(
                "6,000 requests a minute, configured",
                MockSettings { requests_per_minute: Some(6_000.0), ..calm() },
                "sent at that rate",
            )
        },
        fault(
            "6,000 requests a minute, not configured",
            MockSettings { requests_per_minute: Some(6_000.0), ..calm() },
            "learnt from the headers",
        ),
        fault(
            "400,000 input tokens a minute, not configured",
            MockSettings {
                input_tokens_per_minute: Some(400_000.0),
                tokens_per_minute: Some(500_000.0),
                ..calm()
            },
            "learnt from the headers",
        ),
        fault(
            "all of it: 5 % 500 or 529, 2 % dropped, now and then a 429",
            rates(|rates| {
                rates.server_error = 0.025;
                rates.overloaded = 0.025;
                rates.dropped = 0.02;
                rates.rate_limited = 0.002;
            }),
            "as above",
        ),
        Fault {
            kills: 5,
            ..fault("`kill -9`, five times", calm(), "resumed: what was in flight is asked again")
        },
    ]
}

fn main() {
    let runtime = Runtime::new().expect("a runtime can be started");
    println!(
        "| fault | dialect | what is done | requests | extra | recorded attempts | lost | double rows | wall s |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for fault in matrix() {
        for dialect in ["anthropic", "openai"] {
            let rehearsed = Rehearsed::of(&runtime, &fault, dialect);
            let (stats, wall) = (&rehearsed.stats, rehearsed.wall);
            println!(
                "| {} | {dialect} | {} | {} | {} | {} | {} | {} | {:.1} |",
                fault.name,
                fault.done,
                stats.requests,
                stats.requests - CASES,
                rehearsed.attempts,
                rehearsed.lost,
                rehearsed.double,
                wall.as_secs_f64(),
            );
        }
    }
}

/// What came of one fault.
struct Rehearsed {
    stats: MockStats,
    wall: Duration,
    attempts: i64,
    lost: i64,
    double: i64,
}

impl Rehearsed {
    fn of(runtime: &Runtime, fault: &Fault, dialect: &str) -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("golden.jsonl"), golden()).expect("a golden set can be written");
        let cases = golden::load(&path("golden.jsonl"), &CaseDefaults::default()).expect("it is sound").cases;
        let server =
            runtime.block_on(MockServer::start(fault.server.clone(), cases)).expect("a port is free");
        let tail = if dialect == "openai" { "/v1" } else { "" };
        let text = format!(
            "name = \"faults\"\ngolden = \"golden.jsonl\"\n[[target]]\nname = \"t\"\nprovider = \"p\"\nmodel = \"m\"\n\
             max_tokens = 60\n[provider.p]\nkind = \"{dialect}\"\nbase_url = \"{}{tail}\"\napi_key_env = \"FAULTS_KEY\"\n\
             limits = {{ {}max_in_flight = {IN_FLIGHT} }}\ntimeouts = {{ idle_s = 2 }}\n",
            server.url(),
            fault.limits
        );
        fs::write(path("faults.toml"), text).expect("an experiment can be written");

        let begun = Instant::now();
        for kill in 0..fault.kills {
            let mut child =
                program(&folder, if kill == 0 { RUN } else { RESUME }).spawn().expect("it starts");
            let before = server.stats().requests;
            while server.stats().requests < before + 120 {
                sleep(Duration::from_millis(1));
            }
            child.kill().expect("it runs");
            child.wait().expect("it was started");
        }
        let last = if fault.kills > 0 { RESUME } else { RUN };
        let status = program(&folder, last).status().expect("it starts");
        let wall = begun.elapsed();
        assert!(status.success(), "{}: {status}", fault.name);

        let store = Connection::open(path("store.db")).expect("the store can be opened");
        let number =
            |sql: &str| -> i64 { store.query_row(sql, [], |row| row.get(0)).expect("the store can be read") };
        let answered = number("SELECT count(DISTINCT case_position) FROM trial WHERE outcome <> 'failed'");
        Self {
            stats: server.stats(),
            wall,
            attempts: number("SELECT count(*) FROM attempt"),
            lost: i64::try_from(CASES).expect("few cases") - answered,
            double: number("SELECT count(*) FROM trial")
                - number("SELECT count(DISTINCT case_position) FROM trial"),
        }
    }
}

const RUN: &[&str] = &["run", "faults.toml", "-q"];
const RESUME: &[&str] = &["resume", "latest", "-q"];

fn program(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(PathBuf::from(env!("CARGO_BIN_EXE_caseload")));
    command
        .args(arguments)
        .current_dir(folder.path())
        .env("CASELOAD_STORE", folder.path().join("store.db"))
        .env("FAULTS_KEY", "none")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn golden() -> String {
    let line = |number: u64| {
        json!({
            "id": format!("c{number}"),
            "input": format!("question {number}"),
            "expected": {"must_contain": [format!("right {number}")]},
            "graders": [{"kind": "words"}],
            "examples": {"pass": [format!("It is right {number}.")], "fail": ["It is wrong."]},
        })
    };
    (0..CASES).map(|number| line(number).to_string() + "\n").collect()
}
