//! Runs from end to end: the real program, real HTTP, a real SQLite file.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    experiment,
    support::{Answer, Project, Signal, Stub, signal},
};

/// The right answer to the question in a chat request.
fn right(body: &Value) -> String {
    let messages = body["messages"].as_array().expect("a chat request has messages");
    let question = messages.last().expect("one at least")["content"].as_str().expect("text");
    format!("It is right {}.", question.rsplit(' ').next().expect("a number"))
}

fn answers() -> Stub {
    Stub::new(|_, body| Answer::chat(&right(body)))
}

#[test]
fn a_run_asks_grades_stores_and_prints_the_scorecard() {
    let stub = Stub::new(|_, body| {
        let text = right(body);
        Answer::chat(if text.contains("right 3.") { "It is wrong." } else { &text })
    });
    let project = Project::new().with_cases(8).with("e.toml", &experiment(&stub.url(), "repeats = 2"));
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    assert_eq!(card["schema_version"], 1);
    assert_eq!(card["run"]["id"], "test-1");
    let target = &card["targets"][0];
    assert_eq!((&target["cases"], &target["clusters"]), (&json!(8), &json!(2)));
    assert_eq!((&target["trials"], &target["graded"]), (&json!(16), &json!(16)));
    assert_eq!(target["pass_rate"]["point"], 0.875);
    assert_eq!(target["pass_rate_bounds"], json!([0.875, 0.875]));
    assert_eq!(target["not_measured"], json!({}));
    assert_eq!(target["usage"]["input_uncached"], 160);
    assert_eq!(target["cost_usd"], Value::Null);
    let request = &stub.requests()[0];
    assert_eq!(request.path, "/v1/chat/completions");
    assert_eq!(request.headers["authorization"], "Bearer sk-test-123");
    assert_eq!(request.body["max_tokens"], 50);
    assert!(!project.store_holds("sk-test-123"), "the key is in the store");
}

#[test]
fn a_second_run_is_a_new_run_and_resuming_a_finished_one_sends_nothing() {
    let stub = answers();
    let project = Project::new().with_cases(4).with("e.toml", &experiment(&stub.url(), ""));
    project.caseload(&["run", "e.toml"]).exits(0);
    project.caseload(&["run", "e.toml"]).exits(0).stdout_has("test-2");
    assert_eq!(stub.count(), 8);
    project.caseload(&["resume", "latest"]).exits(0);
    project.caseload(&["resume", "test-1"]).exits(0);
    assert_eq!(stub.count(), 8);
    project.caseload(&["runs"]).exits(0).stdout_has("test-1").stdout_has("test-2");
}

#[test]
fn usage_is_priced_to_the_picodollar_in_both_dialects() {
    let stub = Stub::new(|_, body| {
        if body.get("system").is_some() || body["model"] == "claude" {
            Answer::json(&json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": "claude",
                "content": [{"type": "text", "text": "It is right 0."}],
                "stop_reason": "end_turn", "stop_sequence": null,
                "usage": {
                    "input_tokens": 100, "cache_creation_input_tokens": 700, "cache_read_input_tokens": 200,
                    "cache_creation": {"ephemeral_5m_input_tokens": 700, "ephemeral_1h_input_tokens": 0},
                    "output_tokens": 50,
                },
            }))
        } else {
            let mut answer: Value = serde_json::from_str(&Answer::chat("It is right 0.").body).unwrap();
            answer["usage"] = json!({
                "prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050,
                "prompt_tokens_details": {"cached_tokens": 400},
            });
            Answer::json(&answer)
        }
    });
    let text = format!(
        "name = \"test\"\ngolden = \"golden.jsonl\"\n\
         [[target]]\nname = \"a\"\nprovider = \"anthropic\"\nmodel = \"claude\"\n\
         [[target]]\nname = \"o\"\nprovider = \"openai\"\nmodel = \"gpt\"\n\
         [provider.anthropic]\nbase_url = \"{0}\"\napi_key_env = \"TEST_KEY\"\n\
         [provider.openai]\nbase_url = \"{0}/v1\"\napi_key_env = \"TEST_KEY\"\n\
         [[price]]\nmodel = \"claude\"\neffective_from = 2026-01-01\nsource = \"test\"\n\
         usd_per_mtok = {{ input = 3.00, cache_read = 0.30, cache_write_5m = 3.75, output = 15.00 }}\n\
         [[price]]\nmodel = \"gpt\"\neffective_from = 2026-01-01\nsource = \"test\"\n\
         usd_per_mtok = {{ input = 2.50, cache_read = 1.25, output = 10.00 }}\n",
        stub.url()
    );
    let project = Project::new().with_cases(1).with("e.toml", &text);
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    let [anthropic, openai] = [&card["targets"][0], &card["targets"][1]];
    assert_eq!(anthropic["cost_usd"], "0.003735");
    assert_eq!(anthropic["usage"]["cache_write_5m"], 700);
    assert_eq!(openai["cost_usd"], "0.0025");
    assert_eq!(openai["usage"]["input_uncached"], 600);
    assert_eq!(openai["usage"]["cache_read"], 400);
    project
        .caseload(&["show"])
        .exits(0)
        .stdout_has("input 1,000 (uncached 100, cache read 200, cache write 700)");
}

#[test]
fn a_wrong_key_ends_the_run_at_once_with_everything_pending() {
    let stub = Stub::new(|_, _| {
        Answer::error(401, "invalid_api_key", "Incorrect API key provided: sk-test-123.")
            .after(Duration::from_millis(20))
    });
    let text = experiment(&stub.url(), "") + "limits = { max_in_flight = 8 }\n";
    let project = Project::new().with_cases(500).with("e.toml", &text);
    let began = Instant::now();
    let finished = project.caseload(&["run", "e.toml", "-vv"]).exits(6);
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(stub.count() <= 8, "{} requests", stub.count());
    assert!(!finished.stdout.contains("sk-test-123") && !finished.stderr.contains("sk-test-123"));
    assert!(!project.store_holds("sk-test-123"));
    let card = project.caseload(&["show", "--json"]).exits(0).json();
    assert_eq!(card["targets"][0]["not_measured"], json!({"pending": 500}));
    assert_eq!(finished.stderr.matches("refuses every request").count(), 1, "{}", finished.stderr);
}

#[test]
fn an_unknown_model_stops_its_target_and_not_its_neighbour() {
    let stub = Stub::new(|_, body| {
        if body["model"] == "gone" {
            Answer::error(404, "model_not_found", "The model `gone` does not exist")
        } else {
            Answer::chat(&right(body))
        }
    });
    let text = experiment(&stub.url(), "").replace(
        "[provider.p]",
        "[[target]]\nname = \"gone\"\nprovider = \"p\"\nmodel = \"gone\"\n\n[provider.p]",
    );
    let project = Project::new().with_cases(40).with("e.toml", &text);
    project.caseload(&["run", "e.toml"]).exits(6).stderr_has("target `gone` is refused");
    let card = project.caseload(&["show", "--json"]).json();
    assert_eq!(card["targets"][0]["graded"], 40);
    assert_eq!(card["targets"][1]["not_measured"], json!({"pending": 40}));
}

#[test]
fn no_trial_is_lost_to_server_errors_and_every_attempt_is_recorded() {
    let tries = std::sync::Mutex::new(std::collections::HashMap::<String, usize>::new());
    let stub = Stub::new(move |_, body| {
        let text = right(body);
        let mut tries = tries.lock().unwrap();
        let tried = tries.entry(text.clone()).or_default();
        *tried += 1;
        // Every third case fails twice before it is answered.
        let number: usize = text.trim_end_matches('.').rsplit(' ').next().unwrap().parse().unwrap();
        if number.is_multiple_of(3) && *tried < 3 {
            return Answer::error(
                if number.is_multiple_of(2) { 500 } else { 503 },
                "server_error",
                "try again",
            );
        }
        Answer::chat(&text)
    });
    let text = experiment(&stub.url(), "") + "retry = { base_delay_ms = 5 }\n";
    let project = Project::new().with_cases(30).with("e.toml", &text);
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    assert_eq!(card["targets"][0]["graded"], 30);
    assert_eq!(card["targets"][0]["attempts"], 50);
    assert_eq!(stub.count(), 50);
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM attempt"), 50);
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM attempt WHERE status IN (500, 503)"), 20);
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial WHERE attempts = 3"), 10);
}

#[test]
fn without_retries_a_refused_trial_costs_one_request_and_is_not_measured() {
    let stub = Stub::new(|_, body| {
        if right(body).contains("right 0.") {
            Answer::error(500, "server_error", "no")
        } else {
            Answer::chat(&right(body))
        }
    });
    let text = experiment(&stub.url(), "") + "retry = { max_retries = 0 }\n";
    let project = Project::new().with_cases(10).with("e.toml", &text);
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(3).json();
    assert_eq!(stub.count(), 10);
    assert_eq!(card["targets"][0]["graded"], 9);
    assert_eq!(card["targets"][0]["not_measured"], json!({"failed": 1}));
    assert_eq!(card["targets"][0]["pass_rate"]["point"], 1.0);
    assert_eq!(card["targets"][0]["pass_rate_bounds"], json!([0.9, 1.0]));
    // The reason has passed (or not): a resume asks the one trial again, and its attempts go on.
    project.caseload(&["resume", "latest"]).exits(3);
    assert_eq!(stub.count(), 11);
    assert_eq!(project.sql::<i64>("SELECT max(number) FROM attempt"), 2);
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial"), 10);
}

#[test]
fn a_trial_that_fails_for_its_own_reason_is_asked_again_only_on_request() {
    let stub = Stub::new(|_, body| {
        if right(body).contains("right 0.") {
            Answer::error(400, "context_length_exceeded", "maximum context length is 5 tokens")
        } else {
            Answer::chat(&right(body))
        }
    });
    let project = Project::new().with_cases(5).with("e.toml", &experiment(&stub.url(), ""));
    project.caseload(&["run", "e.toml"]).exits(3);
    assert_eq!(stub.count(), 5);
    project.caseload(&["resume", "latest"]).exits(3);
    assert_eq!(stub.count(), 5);
    project.caseload(&["resume", "latest", "--failed"]).exits(3);
    assert_eq!(stub.count(), 6);
}

#[test]
fn never_more_in_flight_than_allowed() {
    let stub = Stub::new(|_, body| Answer::chat(&right(body)).after(Duration::from_millis(10)));
    let text = experiment(&stub.url(), "") + "limits = { max_in_flight = 3 }\n";
    let project = Project::new().with_cases(60).with("e.toml", &text);
    project.caseload(&["run", "e.toml"]).exits(0);
    assert!(stub.most_open() <= 3, "{} open at once", stub.most_open());
}

#[test]
fn a_case_may_ask_for_more_repeats_than_the_experiment() {
    let stub = answers();
    let project = Project::new().with_cases(3).with("e.toml", &experiment(&stub.url(), ""));
    let more = r#"{"id": "m", "input": "question 7", "repeats": 10, "graders": [{"kind": "words", "all": ["right 7"]}]}"#;
    let golden = std::fs::read_to_string(project.path("golden.jsonl")).unwrap();
    project.write("golden.jsonl", &format!("{golden}{more}\n"));
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    assert_eq!(stub.count(), 13);
    assert_eq!(card["targets"][0]["trials"], 13);
    assert_eq!(card["targets"][0]["pass_rate"]["point"], 1.0);
}

#[test]
fn cases_with_the_same_prompt_and_targets_with_the_same_model_are_kept_apart() {
    let stub = Stub::new(|_, _| Answer::chat("x"));
    let line =
        |id| format!(r#"{{"id": "{id}", "input": "same", "graders": [{{"kind": "words", "all": ["x"]}}]}}"#);
    let text = experiment(&stub.url(), "").replace(
        "[provider.p]",
        "[[target]]\nname = \"u\"\nprovider = \"p\"\nmodel = \"m\"\nmax_tokens = 50\n\n[provider.p]",
    );
    let golden = [line("a"), line("b"), line("c")].join("\n");
    let project = Project::new().with("golden.jsonl", &golden).with("e.toml", &text);
    project.caseload(&["run", "e.toml"]).exits(0);
    assert_eq!(stub.count(), 6);
    assert_eq!(project.sql::<i64>("SELECT count(DISTINCT target || case_id || repeat) FROM trial_view"), 6);
}

#[test]
fn a_killed_run_resumes_with_what_is_missing_and_ends_like_an_unbroken_one() {
    let (cases, kill_after, in_flight) = (1_000, 400, 20);
    let stub = Stub::new(|_, body| Answer::chat(&right(body)).after(Duration::from_millis(5)));
    let text = experiment(&stub.url(), "") + &format!("limits = {{ max_in_flight = {in_flight} }}\n");
    let project = Project::new().with_cases(cases).with("e.toml", &text);
    let mut child = project.start(&["run", "e.toml", "--quiet"]);
    while stub.count() < kill_after {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let before = stub.count();
    let stored = usize::try_from(project.sql::<i64>("SELECT count(*) FROM trial")).unwrap();
    assert!(before - stored <= 2 * in_flight, "{before} sent, {stored} stored");
    project.caseload(&["runs"]).exits(0).stdout_has("interrupted");

    let card = project.caseload(&["resume", "latest", "--json"]).exits(0).json();
    assert_eq!(stub.count() - before, cases - stored);
    assert_eq!(project.sql::<String>("PRAGMA integrity_check"), "ok");
    let unbroken = Project::new().with_cases(cases).with("e.toml", &text);
    let expected = unbroken.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    for figure in ["graded", "pass_rate", "usage", "cost_usd", "segments", "graders", "not_measured"] {
        assert_eq!(card["targets"][0][figure], expected["targets"][0][figure], "{figure}");
    }
    let sent = stub.count();
    project.caseload(&["resume", "latest"]).exits(0);
    assert_eq!(stub.count(), sent);
}

#[test]
fn the_first_interrupt_finishes_what_flies_and_prints_how_to_go_on() {
    let stub = Stub::new(|_, body| Answer::chat(&right(body)).after(Duration::from_millis(20)));
    let text = experiment(&stub.url(), "") + "limits = { max_in_flight = 4 }\n";
    let project = Project::new().with_cases(400).with("e.toml", &text);
    let child = project.start(&["run", "e.toml", "--quiet"]);
    while stub.count() < 40 {
        std::thread::sleep(Duration::from_millis(1));
    }
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("caseload resume test-1"), "{stderr}");
    let stored = usize::try_from(project.sql::<i64>("SELECT count(*) FROM trial")).unwrap();
    assert_eq!(stored, stub.count(), "an answer that was paid for is not stored");
    assert!(stored < 400);
    project.caseload(&["resume", "latest", "--quiet"]).exits(0);
    assert_eq!(stub.count(), 400);
}

#[test]
fn a_second_interrupt_stops_at_once_and_leaves_the_store_sound() {
    let stub = Stub::new(|_, body| Answer::chat(&right(body)).after(Duration::from_secs(5)));
    let text = experiment(&stub.url(), "") + "limits = { max_in_flight = 4 }\n";
    let project = Project::new().with_cases(50).with("e.toml", &text);
    let mut child = project.start(&["run", "e.toml", "--quiet"]);
    while stub.count() < 4 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let began = Instant::now();
    for _ in 0..2 {
        signal(&child, Signal::INT);
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(began.elapsed() < Duration::from_secs(4), "it waited for what was in flight");
    assert_eq!(project.sql::<String>("PRAGMA integrity_check"), "ok");
    // What was in flight may have been paid: it is recorded as cancelled, and asked again.
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial WHERE outcome = 'cancelled'"), 4);
    let may_be_billed = "SELECT count(*) FROM attempt WHERE kind = 'cancelled' AND may_be_billed AND cost_picodollars IS NULL";
    assert_eq!(project.sql::<i64>(may_be_billed), 4);
    let card = project.caseload(&["show", "--json"]).exits(0).json();
    assert_eq!(card["targets"][0]["not_measured"], json!({"cancelled": 4, "pending": 46}));
}

#[test]
fn spending_never_passes_the_budget_and_the_rest_is_resumable() {
    let open_cost = AtomicUsize::new(0);
    let stub = Stub::new(move |_, body| {
        open_cost.fetch_add(1, Ordering::SeqCst);
        Answer::chat(&right(body)).after(Duration::from_millis(2))
    });
    let text = experiment(&stub.url(), "max_cost_usd = 1.00")
        + "limits = { max_in_flight = 8 }\n[[price]]\nmodel = \"m\"\neffective_from = 2026-01-01\nsource = \"test\"\n\
           usd_per_mtok = { input = 500, output = 5000 }\n";
    // A call costs 10 × 0.0005 + 5 × 0.005 = 0.03; at worst 50 output tokens.
    let project = Project::new().with_cases(200).with("e.toml", &text);
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(4).json();
    let spent: f64 = card["targets"][0]["cost_usd"].as_str().unwrap().parse().unwrap();
    assert!(spent <= 1.0 && spent > 0.6, "{spent} spent");
    assert_eq!(card["run"]["status"], "budget");
    let sent = stub.count();
    project.caseload(&["resume", "latest"]).exits(4);
    assert_eq!(stub.count(), sent, "the money is spent: a resume asks nothing");
}

/// A server whose answers cost $0.03 each, at worst $0.255, and an experiment of 40 cases with a budget.
fn costly(budget: &str) -> (Stub, Project) {
    let stub = answers();
    let text = experiment(&stub.url(), budget)
        + "limits = { max_in_flight = 2 }\n[[price]]\nmodel = \"m\"\neffective_from = 2026-01-01\nsource = \"test\"\n\
           usd_per_mtok = { input = 500, output = 5000 }\n";
    (stub, Project::new().with_cases(40).with("e.toml", &text))
}

#[test]
fn a_run_that_stopped_at_its_budget_goes_on_with_a_higher_one_and_keeps_it() {
    for go_on in [&["resume", "latest"][..], &["run", "e.toml", "--continue"]] {
        let (stub, project) = costly("max_cost_usd = 0.50");
        let stopped = project.caseload(&["run", "e.toml", "--quiet"]).exits(4);
        stopped.stderr_has("caseload resume test-1 --max-cost USD").stderr_has("more than $0.5000 in all");
        let before = stub.count();
        assert!((1..16).contains(&before), "{before}");
        let higher = project.caseload(&[go_on, &["--max-cost", "0.8", "--quiet"]].concat()).exits(4);
        higher.stderr_has("`test-1` may spend $0.8000 in all").stderr_has("more than $0.8000 in all");
        let between = stub.count();
        assert!(before < between && between < 27, "{before} {between}");
        project.caseload(&["resume", "latest", "--quiet"]).exits(4);
        assert_eq!(stub.count(), between, "the budget is the one it was last given");
        project.caseload(&[go_on, &["--max-cost", "3", "--quiet"]].concat()).exits(0);
        assert_eq!((stub.count(), project.sql::<i64>("SELECT count(*) FROM run")), (40, 1));
        let kept: String = project.sql("SELECT config ->> '$.settings.max_cost' FROM run");
        assert_eq!(kept, "3.00");
        // Nothing is left to ask: what it may spend is not changed any more.
        project.caseload(&["resume", "latest", "--max-cost", "9"]).exits(0).stderr_has("nothing to ask");
        assert_eq!(project.sql::<String>("SELECT config ->> '$.settings.max_cost' FROM run"), kept);
    }
}

#[test]
fn a_run_without_a_budget_takes_one_and_a_lower_one_stops_it() {
    let (stub, project) = costly("");
    let pilot = ["pilot", "e.toml", "--cases", "4", "--quiet"];
    project.caseload(&pilot).exits(0);
    project.caseload(&["resume", "latest", "--max-cost", "0.1", "--quiet"]).exits(4);
    assert_eq!(stub.count(), 4, "$0.12 were spent before");
    project.caseload(&["resume", "latest", "--max-cost", "nothing"]).exits(2);
    project.caseload(&["resume", "latest", "--max-cost", "-1"]).exits(2);
    project.caseload(&["resume", "latest", "--max-cost", "2", "--quiet"]).exits(0);
    assert_eq!(stub.count(), 40);
}

#[test]
fn the_documented_queries_give_the_scorecards_figures_exactly() {
    let stub = Stub::new(|number, body| {
        let wrong = number.is_multiple_of(3);
        Answer::chat(&if wrong { "It is wrong.".to_owned() } else { right(body) })
    });
    let text = experiment(&stub.url(), "repeats = 3")
        + "[[price]]\nmodel = \"m\"\neffective_from = 2026-01-01\nsource = \"test\"\n\
           usd_per_mtok = { input = 0.30, output = 2.50 }\n";
    let project = Project::new().with_cases(50).with("e.toml", &text);
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    let target = &card["targets"][0];
    let schema = std::fs::read_to_string("docs/schema.md").unwrap();
    let rows: Vec<Value> = schema
        .split("```sql\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap().replace("nightly-1", "test-1"))
        .filter_map(|query| project.sqlite3(&query).into_iter().next())
        .collect();
    let figure =
        |name: &str| rows.iter().find_map(|row| row.get(name)).unwrap_or_else(|| panic!("no `{name}`"));
    let rate = figure("pass_rate").as_f64().unwrap();
    assert!((rate - target["pass_rate"]["point"].as_f64().unwrap()).abs() < 1e-12);
    let cost = figure("cost_picodollars").as_i64().unwrap();
    assert_eq!(caseload::domain::Cost::from_picodollars(cost).to_string(), target["cost_usd"]);
    assert_eq!(figure("input_total"), &target["usage"]["input_uncached"]);
    assert_eq!(figure("output"), &target["usage"]["output"]);
    // Older shells print the last digits of a real number inexactly; the value is the same row.
    let p95_ms = figure("p95_ms").as_f64().unwrap();
    assert!((p95_ms - target["latency_ms"]["p95"].as_f64().unwrap()).abs() < 1e-12 * p95_ms);
}

#[test]
fn stored_answers_are_graded_again_without_a_request() {
    let stub = answers();
    let project = Project::new().with_cases(5).with("e.toml", &experiment(&stub.url(), "repeats = 2"));
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    let again = project.caseload(&["grade", "latest", "--json"]).exits(0).stderr_has("10 answers").json();
    assert_eq!(card["targets"][0]["pass_rate"], again["targets"][0]["pass_rate"]);
    assert_eq!(stub.count(), 10);
}

#[test]
fn an_export_is_in_golden_set_order_and_can_be_replayed() {
    let stub = Stub::new(|number, body| {
        // Later requests are answered first.
        Answer::chat(&right(body)).after(Duration::from_millis(30_u64.saturating_sub(number as u64)))
    });
    let project = Project::new().with_cases(30).with("e.toml", &experiment(&stub.url(), ""));
    project.caseload(&["run", "e.toml"]).exits(0);
    let export = project.caseload(&["export", "latest"]).exits(0).stdout;
    let ids: Vec<String> = export
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned())
        .collect();
    let expected: Vec<String> = (0..30).map(|number| format!("c{number}")).collect();
    assert_eq!(ids, expected);
}

#[test]
fn failures_and_single_cases_are_shown_with_their_reasons_and_harmlessly() {
    let stub = Stub::new(|_, _| Answer::chat("It is \u{1b}[31mwrong\u{1b}[0m."));
    let project = Project::new().with_cases(2).with("e.toml", &experiment(&stub.url(), ""));
    project.caseload(&["run", "e.toml"]).exits(0);
    let shown = project.caseload(&["show", "--failures"]).exits(0).stdout_has("c1").stdout_has("right 1");
    assert!(!shown.stdout.contains('\u{1b}'));
    let shown = project.caseload(&["show", "--case", "c0"]).exits(0).stdout_has("\\u{1b}[31mwrong");
    assert!(!shown.stdout.contains('\u{1b}'));
}

#[test]
fn truncated_and_refused_answers_are_outcomes_and_are_asked_once() {
    let stub = Stub::new(|_, body| {
        let mut answer: Value = serde_json::from_str(&Answer::chat("").body).unwrap();
        let text = right(body);
        let choice = &mut answer["choices"][0];
        if text.contains("right 0.") {
            choice["finish_reason"] = json!("length");
            choice["message"]["content"] = Value::Null;
        } else if text.contains("right 1.") {
            choice["message"]["content"] = Value::Null;
            choice["message"]["refusal"] = json!("I can't help with that.");
        } else if text.contains("right 2.") {
            choice["finish_reason"] = json!("content_filter");
        } else {
            choice["message"]["content"] = json!(text);
        }
        Answer::json(&answer)
    });
    let project = Project::new().with_cases(4).with("e.toml", &experiment(&stub.url(), ""));
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    assert_eq!(stub.count(), 4);
    let target = &card["targets"][0];
    assert_eq!(target["not_measured"], json!({"filtered": 1, "truncated": 1}));
    assert_eq!(target["graded"], 2);
    assert_eq!(target["pass_rate"]["point"], 0.5);
}

#[test]
fn the_same_seed_gives_the_same_simulated_numbers() {
    let text = "name = \"sim\"\ngolden = \"golden.jsonl\"\nrepeats = 3\n[[target]]\nname = \"t\"\n\
                provider = \"simulator\"\nmodel = \"m\"\nsimulate = { skill = 0.7 }\n";
    let rates: Vec<Value> = ["1", "1", "2"]
        .iter()
        .map(|seed| {
            let project = Project::new().with_cases(60).with("e.toml", text);
            let card = project.caseload(&["run", "e.toml", "--seed", seed, "--json"]).exits(0).json();
            assert_eq!(card["run"]["seed"].to_string(), **seed);
            card["targets"][0]["pass_rate"].clone()
        })
        .collect();
    assert_eq!(rates[0], rates[1]);
    assert_ne!(rates[0], rates[2]);
}

#[test]
fn filters_limits_and_overrides_choose_what_is_asked() {
    let stub = answers();
    let project = Project::new().with_cases(20).with("e.toml", &experiment(&stub.url(), "repeats = 2"));
    let arguments = ["run", "e.toml", "--limit", "3", "--repeats", "1", "--set", "target.t.max_tokens=7"];
    project.caseload(&arguments).exits(0);
    let asked: HashSet<String> = stub.requests().iter().map(|request| right(&request.body)).collect();
    assert_eq!(
        asked,
        HashSet::from(["It is right 0.", "It is right 1.", "It is right 2."].map(String::from))
    );
    assert_eq!(stub.requests()[0].body["max_tokens"], 7);
    project.caseload(&["run", "e.toml", "--filter", "id=c7"]).exits(0);
    assert_eq!(stub.count(), 5);
}

#[test]
fn a_429_in_any_shape_is_waited_out_and_costs_no_trial() {
    let stub = Stub::new(|number, body| {
        if number % 3 == 2 {
            let html = Answer { status: 429, body: "<html>slow down</html>".into(), ..Answer::chat("") };
            return html.header("retry-after-ms", "20");
        }
        Answer::chat(&right(body))
    });
    let text = experiment(&stub.url(), "") + "retry = { base_delay_ms = 5 }\n";
    let project = Project::new().with_cases(30).with("e.toml", &text);
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    assert_eq!(card["targets"][0]["graded"], 30);
    assert!(project.sql::<i64>("SELECT count(*) FROM attempt WHERE status = 429") > 5);
}

#[test]
fn a_resume_with_nothing_to_ask_leaves_the_time_that_the_run_took() {
    let stub = Stub::new(|_, _| Answer::chat("x"));
    let project = Project::new().with_cases(4).with("e.toml", &crate::experiment(&stub.url(), ""));
    project.caseload(&["run", "e.toml", "-q"]).exits(0);
    let change = |sql: &str| {
        rusqlite::Connection::open(project.store()).unwrap().execute_batch(sql).unwrap();
    };
    let finished = || project.sql::<i64>("SELECT finished_at FROM run");
    change("UPDATE run SET status = 'interrupted', finished_at = created_at + 7000");
    let before = finished();
    project.caseload(&["resume", "latest"]).exits(0).stderr_has("nothing to ask");
    assert_eq!((project.sql::<String>("SELECT status FROM run").as_str(), finished()), ("complete", before));
    // Nobody was left to say when: with its last trial.
    change("UPDATE run SET status = 'running', finished_at = NULL");
    project.caseload(&["resume", "latest"]).exits(0);
    assert_eq!(finished(), project.sql::<i64>("SELECT max(finished_at) FROM trial"));
}

#[test]
fn a_mark_before_an_answers_json_is_read_over() {
    let stub = Stub::new(|_, _| {
        let answer = Answer::chat("It is right 0.");
        Answer { body: format!("\u{feff}{}", answer.body), ..answer }
    });
    let project = Project::new().with_cases(1).with("e.toml", &crate::experiment(&stub.url(), ""));
    project.caseload(&["run", "e.toml", "-q"]).exits(0).stdout_has("100.0 %");
    assert_eq!(stub.count(), 1);
}
