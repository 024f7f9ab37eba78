//! Bad weather, from end to end: errors, drops, silences and kills, against the mock server.

use std::{
    path::Path,
    process::Child,
    sync::Arc,
    thread::sleep,
    time::{Duration, Instant},
};

use caseload::{
    domain::Case,
    golden::{self, CaseDefaults},
    mock::{FaultRates, MockLatency, MockServer, MockSettings, MockStats},
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tokio::runtime::Runtime;

use crate::support::Project;

/// A mock server on threads of its own.
struct Server {
    mock: MockServer,
    _runtime: Runtime,
}

impl Server {
    fn start(project: &Project, settings: MockSettings) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let mock =
            runtime.block_on(MockServer::start(settings, cases(&project.path("golden.jsonl")))).unwrap();
        Self { mock, _runtime: runtime }
    }

    fn stats(&self) -> MockStats {
        self.mock.stats()
    }
}

fn cases(path: &Path) -> Vec<Arc<Case>> {
    golden::load(path, &CaseDefaults::default()).unwrap().cases
}

/// An experiment named `test` whose provider speaks `dialect`; retries wait a few milliseconds only.
fn experiment(dialect: &str, server: &Server, max_in_flight: u32) -> String {
    let path = if dialect == "openai" { "/v1" } else { "" };
    format!(
        "name = \"test\"\ngolden = \"golden.jsonl\"\n\
         [[target]]\nname = \"t\"\nprovider = \"p\"\nmodel = \"m\"\nmax_tokens = 50\n\
         [provider.p]\nkind = \"{dialect}\"\nbase_url = \"{}{path}\"\napi_key_env = \"TEST_KEY\"\n\
         limits = {{ max_in_flight = {max_in_flight} }}\n\
         timeouts = {{ attempt_s = 20, idle_s = 2 }}\n\
         retry = {{ max_retries = 12, base_delay_ms = 10, max_delay_ms = 100 }}\n",
        server.mock.url()
    )
}

/// 5 % of answers 500 or 529, 2 % of connections dropped, a 429 now and then, some silences and
/// nonsense: nothing is lost, and every attempt is recorded.
#[test]
fn a_thousand_cases_in_rough_weather_lose_no_trial_in_either_dialect() {
    for dialect in ["anthropic", "openai"] {
        let project = Project::new().with_cases(1_000);
        let faults = FaultRates {
            server_error: 0.025,
            overloaded: 0.025,
            dropped: 0.02,
            rate_limited: 0.002,
            malformed: 0.005,
            stalled: 0.005,
            slow: 0.0,
        };
        let latency = MockLatency { mean_ms: 20.0, jitter_ms: 20.0 };
        let server =
            Server::start(&project, MockSettings { seed: 7, faults, latency, ..MockSettings::default() });
        project.write("e.toml", &experiment(dialect, &server, 64));
        let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
        let stats = server.stats();

        assert_eq!(
            (&card["targets"][0]["graded"], &card["targets"][0]["not_measured"]),
            (&1_000.into(), &serde_json::json!({}))
        );
        assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial"), 1_000);
        assert_eq!(
            project.sql::<i64>("SELECT count(DISTINCT case_position) FROM trial WHERE outcome = 'answered'"),
            1_000
        );
        assert_eq!(
            project.sql::<i64>("SELECT sum(attempts) FROM trial"),
            project.sql::<i64>("SELECT count(*) FROM attempt")
        );
        // Every request is an attempt, and what came back of each is what the server sent.
        let attempts = project.sql::<i64>("SELECT count(*) FROM attempt");
        assert_eq!(u64::try_from(attempts).unwrap(), stats.requests, "{stats:?}");
        for (status, sql) in [
            (429, "SELECT count(*) FROM attempt WHERE status = 429"),
            (500, "SELECT count(*) FROM attempt WHERE status = 500"),
            (
                if dialect == "openai" { 503 } else { 529 },
                "SELECT count(*) FROM attempt WHERE status IN (503, 529)",
            ),
        ] {
            let seen = stats.by_status.get(&status).copied().unwrap_or(0);
            assert!(seen > 0, "the weather has no {status}: {stats:?}");
            assert_eq!(u64::try_from(project.sql::<i64>(sql)).unwrap(), seen, "{status}");
        }
        assert!(stats.dropped > 0 && stats.stalled > 0 && stats.malformed > 0, "{stats:?}");
        assert_eq!(stats.answered, 1_000);
    }
}

/// `kill -9` at twenty random moments under load, resumed each time.
#[test]
fn twenty_kills_leave_no_double_row_and_repay_at_most_what_was_in_flight() {
    const KILLS: u64 = 20;
    const MAX_IN_FLIGHT: u32 = 16;
    let project = Project::new().with_cases(1_200);
    let latency = MockLatency { mean_ms: 20.0, jitter_ms: 15.0 };
    let server = Server::start(&project, MockSettings { latency, ..MockSettings::default() });
    project.write("e.toml", &experiment("openai", &server, MAX_IN_FLIGHT));
    let mut draw = Pcg64Mcg::seed_from_u64(20);
    let trials = "SELECT count(*) FROM trial";
    let mut stored = 0;
    for kill in 0..KILLS {
        let before = server.stats();
        let arguments: &[&str] =
            if kill == 0 { &["run", "e.toml", "-q"] } else { &["resume", "latest", "-q"] };
        let mut child = project.start(arguments);
        wait_for_requests(&server, before.requests + draw.random_range(1..60), &mut child);
        sleep(Duration::from_micros(draw.random_range(0..20_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        settled(&server);

        assert_eq!(project.sql::<String>("PRAGMA integrity_check"), "ok", "after kill {kill}");
        let now_stored = project.sql::<i64>(trials);
        let answered = i64::try_from(server.stats().requests - before.requests).unwrap();
        let lost = answered - (now_stored - stored);
        assert!(lost <= i64::from(2 * MAX_IN_FLIGHT), "kill {kill}: {lost} requests are asked again");
        stored = now_stored;
    }
    assert!(stored < 1_200, "the run ended before the last kill");
    project.caseload(&["resume", "latest", "-q"]).exits(0);
    assert_eq!(project.sql::<i64>(trials), 1_200);
    assert_eq!(project.sql::<i64>("SELECT count(DISTINCT case_position) FROM trial"), 1_200);
    let repaid = server.stats().requests - 1_200;
    assert!(repaid <= KILLS * u64::from(2 * MAX_IN_FLIGHT), "{repaid} requests beyond one a trial");
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM score"), 1_200);
    let requests = server.stats().requests;
    project.caseload(&["resume", "latest", "-q"]).exits(0);
    assert_eq!(server.stats().requests, requests, "a finished run is asked nothing");
}

/// At 200 answers a second, and with room for many more: what was answered and is paid again is what
/// came in the hundredth of a second before the kill, not a whole commit of rows or all that there is
/// room for.
#[test]
fn a_kill_repays_beside_what_flies_only_what_came_in_the_last_moment() {
    const KILLS: u64 = 9;
    let project = Project::new().with_cases(1_000);
    let latency = MockLatency { mean_ms: 10.0, jitter_ms: 0.0 };
    let server = Server::start(&project, MockSettings { latency, ..MockSettings::default() });
    let limits = "limits = { max_in_flight = 64";
    let slow = experiment("openai", &server, 64)
        .replace(limits, &format!("{limits}, requests_per_minute = 12000, burst_s = 0.01"));
    project.write("e.toml", &slow);
    let mut stored = 0;
    let mut lost = vec![];
    for kill in 0..KILLS {
        let before = server.stats();
        let arguments: &[&str] =
            if kill == 0 { &["run", "e.toml", "-q"] } else { &["resume", "latest", "-q"] };
        let mut child = project.start(arguments);
        wait_for_requests(&server, before.requests + 50 + kill, &mut child);
        child.kill().unwrap();
        child.wait().unwrap();
        settled(&server);
        let now_stored = project.sql::<i64>("SELECT count(*) FROM trial");
        let answered = i64::try_from(server.stats().answered - before.answered).unwrap();
        lost.push(answered - (now_stored - stored));
        stored = now_stored;
    }
    lost.sort_unstable();
    // Two at that rate; a disk that is slow to commit, or a busy machine, adds a few.
    let typical = lost[lost.len() / 2];
    assert!(typical <= 16, "answers that each kill cost: {lost:?}");
}

fn wait_for_requests(server: &Server, wanted: u64, child: &mut Child) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while server.stats().requests < wanted {
        assert!(child.try_wait().unwrap().is_none(), "the program ended by itself");
        assert!(Instant::now() < deadline, "no request within 30 s: {:?}", server.stats());
        sleep(Duration::from_millis(1));
    }
}

/// Waits until the server has noticed that its client is gone.
fn settled(server: &Server) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while server.stats().in_flight > 0 && Instant::now() < deadline {
        sleep(Duration::from_millis(2));
    }
}

/// A nightly run in one command: no key, no store left behind, and it says that it is a rehearsal.
#[test]
fn a_rehearsal_needs_no_key_and_leaves_nothing_behind() {
    let project = Project::new().with_cases(60).with(
        "nightly.toml",
        "name = \"nightly\"\ngolden = \"golden.jsonl\"\nrepeats = 2\nstore = \"store.db\"\n\
         [[target]]\nname = \"a\"\nprovider = \"anthropic\"\nmodel = \"claude-sonnet-5\"\nmax_tokens = 50\n\
         [[target]]\nname = \"o\"\nprovider = \"openai\"\nmodel = \"gpt-5.4\"\nmax_tokens = 50\n\
         [provider.anthropic]\nlimits = { requests_per_minute = 60, max_in_flight = 8 }\n\
         [provider.openai]\nlimits = { max_in_flight = 8 }\n",
    );
    let arguments = ["rehearse", "nightly.toml", "--speed", "60", "--weather", "fair"];
    let told = project.caseload(&[&arguments[..], &["--json"]].concat()).exits(0).json();
    assert_eq!((&told["schema_version"], &told["rehearsal"]), (&1.into(), &true.into()));
    assert_eq!((&told["trials"], &told["failed"], &told["pending"]), (&240.into(), &0.into(), &0.into()));
    assert!(told["cost_usd"].is_string(), "{told}");
    // 119 requests behind the first one, one a second, in sixtieths of the time.
    let wall = told["run_wall_s"].as_f64().unwrap();
    assert!(wall >= 119.0, "{wall}");
    assert!(!project.store().exists());
    project.caseload(&arguments).exits(0).stdout_has("REHEARSAL of nightly").stdout_has("nothing was paid");
}

#[test]
fn what_is_offline_anyway_needs_no_rehearsal() {
    let project = Project::new().with_cases(2).with(
        "e.toml",
        "name = \"e\"\ngolden = \"golden.jsonl\"\n[[target]]\nname = \"s\"\nprovider = \"simulator\"\nmodel = \"m\"\n",
    );
    project
        .caseload(&["rehearse", "e.toml"])
        .exits(2)
        .stderr_has("no target of the experiment is reached over the network")
        .stderr_has("hint: ");
    project.caseload(&["rehearse", "e.toml", "--speed", "0"]).exits(2).stderr_has("expected 1 to 1000");
}
