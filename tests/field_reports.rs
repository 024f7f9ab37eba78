//! What users of other tools ran into, as behaviour of this one: the whole program against a scripted
//! server. The same on a paused clock is in the queue's own tests.

use std::{
    collections::HashSet,
    sync::Mutex,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    experiment,
    support::{Answer, Project, Stub},
};

fn question(body: &Value) -> String {
    body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
}

fn right(body: &Value) -> String {
    format!("It is right {}.", question(body).rsplit(' ').next().unwrap())
}

fn chat(body: &Value) -> Answer {
    Answer::chat(&right(body))
}

/// A chat answer with that usage.
fn chat_with_usage(body: &Value, usage: Value) -> Answer {
    let mut answer: Value = serde_json::from_str(&chat(body).body).unwrap();
    answer["usage"] = usage;
    Answer::json(&answer)
}

/// A message of Anthropic's with that usage.
fn message(usage: &Value) -> Answer {
    Answer::json(&json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude",
        "content": [{"type": "text", "text": "It is right 0."}],
        "stop_reason": "end_turn", "stop_sequence": null, "usage": usage,
    }))
}

fn price(model: &str, rates: &str) -> String {
    format!(
        "[[price]]\nmodel = \"{model}\"\neffective_from = 2026-01-01\nsource = \"test\"\n\
         usd_per_mtok = {{ {rates} }}\n"
    )
}

const QUICK: &str = "retry = { base_delay_ms = 5 }\n";

/// promptfoo 7727: a quota that is gone until tomorrow was retried as if it meant "slow down".
#[test]
fn an_exhausted_quota_stops_the_run_at_once_and_the_next_day_goes_on() {
    let gone = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let is_gone = gone.clone();
    let stub = Stub::new(move |_, body| {
        if is_gone.load(std::sync::atomic::Ordering::SeqCst) {
            Answer::error(429, "insufficient_quota", "You exceeded your current quota")
        } else {
            chat(body)
        }
    });
    let text = experiment(&stub.url(), "") + "limits = { max_in_flight = 8 }\n";
    let project = Project::new().with_cases(100).with("e.toml", &text);
    let began = Instant::now();
    let run = project.caseload(&["run", "e.toml", "--json"]).exits(6);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert!(stub.count() <= 8, "{} requests", stub.count());
    assert_eq!(run.json()["targets"][0]["not_measured"], json!({"pending": 100}));
    gone.store(false, std::sync::atomic::Ordering::SeqCst);
    let before = stub.count();
    let card = project.caseload(&["resume", "latest", "--json"]).exits(0).json();
    assert_eq!((stub.count() - before, &card["targets"][0]["graded"]), (100, &json!(100)));
}

/// promptfoo 7727: turning retries off was not obeyed.
#[test]
fn without_retries_an_ordinary_429_is_one_request_a_case() {
    let stub = Stub::new(|_, _| Answer::error(429, "rate_limit_exceeded", "slow down"));
    let text = experiment(&stub.url(), "") + "retry = { max_retries = 0, base_delay_ms = 1 }\n";
    let project = Project::new().with_cases(20).with("e.toml", &text);
    project.caseload(&["run", "e.toml"]).exits(3);
    assert_eq!(stub.count(), 20);
}

/// promptfoo 1970: a 429 without a readable body became "cannot read property of undefined".
#[test]
fn a_429_with_any_body_is_repeated_and_the_log_names_provider_status_and_wait() {
    let refused = Mutex::new(HashSet::new());
    let stub = Stub::new(move |_, body| {
        let number: usize = question(body).rsplit(' ').next().unwrap().parse().unwrap();
        if number.is_multiple_of(3) && refused.lock().unwrap().insert(number) {
            let body = if number.is_multiple_of(2) { "" } else { "<html>slow down</html>" };
            let refusal = Answer {
                status: 429,
                body: body.to_owned(),
                ..chat(&json!({"messages": [{"content": "x"}]}))
            };
            return refusal.header("retry-after-ms", "20");
        }
        chat(body)
    });
    let text = experiment(&stub.url(), "") + QUICK;
    let project = Project::new().with_cases(30).with("e.toml", &text);
    let run = project.caseload(&["run", "e.toml", "--json", "-v"]).exits(0);
    assert_eq!(run.json()["targets"][0]["graded"], 30);
    let line = run.stderr.lines().find(|line| line.contains("will be repeated")).unwrap();
    assert!(line.contains("provider=p") && line.contains("429") && line.contains("wait="), "{line}");
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial WHERE attempts = 2"), 10);
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial WHERE attempts = 1"), 20);
}

/// phoenix 14312: a call that always timed out was put back without counting as a try.
#[test]
fn a_call_that_always_times_out_is_asked_three_times_and_has_failed() {
    let stub = Stub::new(|_, body| chat(body).after(Duration::from_secs(10)));
    let text = experiment(&stub.url(), "")
        + "timeouts = { attempt_s = 1 }\nretry = { max_retries = 2, base_delay_ms = 50 }\n";
    let project = Project::new().with_cases(1).with("e.toml", &text);
    let began = Instant::now();
    let run = project.caseload(&["run", "e.toml"]).exits(3).stdout_has("0 graded, 1 not measured (timeout)");
    assert!(began.elapsed() < Duration::from_millis(3 * 1_000 + 150 + 1_500), "{:?}", run.stderr);
    assert_eq!(stub.count(), 3);
    let ended = "SELECT outcome || ' ' || failure_kind || ' ' || attempts FROM trial";
    assert_eq!(project.sql::<String>(ended), "failed timeout 3");
}

/// The same with a limit for the whole trial: no attempt and no wait goes beyond it.
#[test]
fn a_trial_ends_at_its_own_time_limit_whatever_its_attempts_may_take() {
    let stub = Stub::new(|_, body| chat(body).after(Duration::from_secs(10)));
    let text = experiment(&stub.url(), "")
        + "timeouts = { attempt_s = 1, trial_s = 1.5 }\nretry = { max_retries = 8, base_delay_ms = 1 }\n";
    let project = Project::new().with_cases(1).with("e.toml", &text);
    let began = Instant::now();
    project.caseload(&["run", "e.toml"]).exits(3);
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    assert_eq!(stub.count(), 2);
    let took: f64 = project.sql("SELECT sum(duration_ms) + sum(backoff_ms) FROM attempt");
    assert!((1_400.0..1_700.0).contains(&took), "{took}");
}

/// phoenix 16376: one passing 429 ended a whole synchronous evaluation.
#[test]
fn a_passing_429_is_survived_at_any_concurrency() {
    for in_flight in [1, 32] {
        let stub = Stub::new(|number, body| match number {
            0 => Answer::error(429, "rate_limit_exceeded", "slow down").header("retry-after-ms", "10"),
            _ => chat(body),
        });
        let text =
            experiment(&stub.url(), "") + &format!("limits = {{ max_in_flight = {in_flight} }}\n") + QUICK;
        let project = Project::new().with_cases(1).with("e.toml", &text);
        project.caseload(&["run", "e.toml"]).exits(0);
        assert_eq!(project.sql::<String>("SELECT outcome || ' ' || attempts FROM trial"), "answered 2");
    }
}

/// phoenix 9411: the client library's own retries multiplied with the harness's.
#[test]
fn three_retries_are_four_requests_and_never_more() {
    let stub = Stub::new(|_, _| Answer::error(503, "server_error", "unavailable"));
    let text = experiment(&stub.url(), "") + "retry = { max_retries = 3, base_delay_ms = 5 }\n";
    let project = Project::new().with_cases(1).with("e.toml", &text);
    project.caseload(&["run", "e.toml"]).exits(3);
    assert_eq!(stub.count(), 4);
}

/// mlflow 11694: a request that could never fit was sent, and failed.
#[test]
fn a_case_larger_than_a_minutes_limit_is_refused_beforehand_with_its_id_and_size() {
    let stub = Stub::new(|_, body| chat(body));
    let text = experiment(&stub.url(), "") + "limits = { input_tokens_per_minute = 1000 }\n";
    let long =
        json!({"id": "novel", "input": "word ".repeat(4_000), "graders": [{"kind": "words", "all": ["x"]}]});
    let project = Project::new().with("golden.jsonl", &format!("{long}\n")).with("e.toml", &text);
    let run = project.caseload(&["run", "e.toml"]).exits(2).stderr_has("novel");
    run.stderr_has("input tokens is larger than the limit of 1000 a minute");
    assert_eq!(stub.count(), 0);
}

/// inspect_ai 2558: users know their requests a minute and could not enter them.
#[test]
fn requests_a_minute_are_kept_to_without_a_single_refusal() {
    let times = std::sync::Arc::new(Mutex::new(vec![]));
    let seen = times.clone();
    let stub = Stub::new(move |_, body| {
        seen.lock().unwrap().push(Instant::now());
        chat(body)
    });
    let text = experiment(&stub.url(), "") + "limits = { requests_per_minute = 1200 }\n";
    let project = Project::new().with_cases(60).with("e.toml", &text);
    project.caseload(&["run", "e.toml"]).exits(0);
    let times = times.lock().unwrap();
    // Twenty a second, and one second's worth at once.
    let took = *times.last().unwrap() - times[0];
    assert!(took > Duration::from_millis(1_900) && took < Duration::from_millis(3_500), "{took:?}");
    for (at, start) in times.iter().enumerate() {
        let within = times[at..].iter().filter(|time| **time - *start < Duration::from_secs(1)).count();
        assert!(within <= 42, "{within} in one second");
    }
}

/// SWE-bench_Pro-os 78: runs ended by rate limits were scored as the model's failures.
#[test]
fn trials_lost_to_rate_limits_are_not_measured_and_the_reason_is_named() {
    let stub = Stub::new(|_, body| {
        if ["question 3", "question 7"].contains(&question(body).as_str()) {
            Answer::error(429, "rate_limit_exceeded", "slow down").header("retry-after-ms", "5")
        } else {
            chat(body)
        }
    });
    let text = experiment(&stub.url(), "") + "retry = { max_retries = 2, base_delay_ms = 5 }\n";
    let project = Project::new().with_cases(10).with("e.toml", &text);
    let run = project.caseload(&["run", "e.toml"]).exits(3);
    let run = run.stdout_has("8 graded, 2 not measured (rate limit)");
    run.stdout_has("between 80.0 % and 100.0 % whatever they would have been");
    let card = project.caseload(&["show", "--json"]).exits(0).json();
    assert_eq!(card["targets"][0]["pass_rate"]["point"], 1.0);
    assert_eq!(card["targets"][0]["pass_rate_bounds"], json!([0.8, 1.0]));
    assert_eq!(card["targets"][0]["failures"], json!({"rate_limit": 2}));
}

/// promptfoo 2049: results were held in memory. The full size is 50,000 cases of 60 KB.
#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_answers() {
    let filler = "words without end ".repeat(3_400);
    let stub = Stub::new(move |_, body| Answer::chat(&format!("{} {filler}", right(body))));
    let text = experiment(&stub.url(), "") + "limits = { max_in_flight = 16 }\n";
    let project = Project::new().with_cases(1_200).with("e.toml", &text);
    let mut peaks = vec![];
    for arguments in [&["run", "e.toml", "--quiet"][..], &["export", "latest"]] {
        let mut child = project.start(arguments);
        let mut out = child.stdout.take().unwrap();
        let reader = std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()).unwrap());
        let status = format!("/proc/{}/status", child.id());
        let mut peak_kb = 0_u64;
        while child.try_wait().unwrap().is_none() {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next());
            peak_kb = peak_kb.max(peak.map_or(0, |peak| peak.parse().unwrap()));
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(child.wait().unwrap().success());
        peaks.push((peak_kb, reader.join().unwrap()));
    }
    let [(run_kb, _), (export_kb, exported)] = peaks[..] else { panic!("two commands") };
    assert!(exported > 72_000_000, "{exported} bytes exported");
    assert!(run_kb < 110_000 && export_kb < 60_000, "peaks: run {run_kb} kB, export {export_kb} kB");
}

/// inspect_ai 4703: one-hour cache writes were billed at the five-minute rate.
#[test]
fn one_hour_cache_writes_have_their_own_price_and_an_unknown_lifetime_is_approximate() {
    let rates =
        "input = 3.00, cache_read = 0.30, cache_write_5m = 3.75, cache_write_1h = 6.00, output = 15.00";
    let tokens = |five: u64, hour: u64| {
        json!({
            "input_tokens": 100, "cache_creation_input_tokens": five + hour, "cache_read_input_tokens": 200,
            "cache_creation": {"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour},
            "output_tokens": 50,
        })
    };
    let mut without = tokens(700, 0);
    without.as_object_mut().unwrap().remove("cache_creation");
    let cases = [(tokens(0, 700), "0.00531", 0), (tokens(300, 400), "0.004635", 0), (without, "0.003735", 1)];
    for (usage, cost, approximate) in cases {
        let stub = Stub::new(move |_, _| message(&usage));
        let text = format!(
            "name = \"test\"\ngolden = \"golden.jsonl\"\n[[target]]\nname = \"a\"\nprovider = \"anthropic\"\n\
             model = \"claude\"\n[provider.anthropic]\nbase_url = \"{}\"\napi_key_env = \"TEST_KEY\"\n{}",
            stub.url(),
            price("claude", rates)
        );
        let project = Project::new().with_cases(1).with("e.toml", &text);
        let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
        let target = &card["targets"][0];
        assert_eq!(
            (&target["cost_usd"], &target["cost_approximate_trials"]),
            (&json!(cost), &json!(approximate))
        );
    }
}

/// langsmith-sdk 1858: subtracting cached reads from a count that never held them went below zero.
#[test]
fn contradictory_usage_is_kept_raw_flagged_and_priced_as_unknown() {
    let stub = Stub::new(|_, body| {
        let details = json!({"cached_tokens": 400});
        chat_with_usage(
            body,
            json!({"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": details}),
        )
    });
    let text = experiment(&stub.url(), "") + &price("m", "input = 2.50, cache_read = 1.25, output = 10.00");
    let project = Project::new().with_cases(1).with("e.toml", &text);
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    assert_eq!(card["targets"][0]["cost_usd"], Value::Null);
    assert_eq!(card["targets"][0]["cost_unknown_trials"], 1);
    assert_eq!(project.sql::<String>("SELECT usage_flag FROM trial"), "contradictory");
    assert!(project.sql::<String>("SELECT usage_raw FROM trial").contains("400"));
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial WHERE input_uncached < 0"), 0);
}

/// The same of Anthropic's convention, where cached reads stand beside the input.
#[test]
fn reads_beside_the_input_are_added_and_never_subtracted() {
    let stub = Stub::new(|_, _| {
        message(&json!({"input_tokens": 19, "cache_read_input_tokens": 39_000, "output_tokens": 5}))
    });
    let text = format!(
        "name = \"test\"\ngolden = \"golden.jsonl\"\n[[target]]\nname = \"a\"\nprovider = \"anthropic\"\n\
         model = \"claude\"\n[provider.anthropic]\nbase_url = \"{}\"\napi_key_env = \"TEST_KEY\"\n",
        stub.url()
    );
    let project = Project::new().with_cases(1).with("e.toml", &text);
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    let usage = &card["targets"][0]["usage"];
    assert_eq!((&usage["input_uncached"], &usage["cache_read"]), (&json!(19), &json!(39_000)));
}

/// deepeval 2722 and 2752: one provider always cost 0, another lost the price the user typed in.
#[test]
fn a_price_that_is_not_known_is_never_zero_and_the_users_own_is_used() {
    let stub = Stub::new(|_, body| {
        let number: usize = question(body).rsplit(' ').next().unwrap().parse().unwrap();
        let usage = json!({"prompt_tokens": 1_000, "completion_tokens": 500});
        chat_with_usage(body, if number < 3 { Value::Null } else { usage })
    });
    let unpriced = Project::new().with_cases(4).with("e.toml", &experiment(&stub.url(), ""));
    unpriced.caseload(&["run", "e.toml"]).exits(0).stdout_has("unknown: no price for `m`");
    assert_eq!(unpriced.sql::<i64>("SELECT count(*) FROM trial WHERE cost_picodollars IS NOT NULL"), 0);
    let sent = stub.count();
    let budgeted = ["run", "e.toml", "--max-cost", "1"];
    unpriced.caseload(&budgeted).exits(2).stderr_has("has no price");
    assert_eq!(stub.count(), sent);

    let text = experiment(&stub.url(), "") + &price("m", "input = 3.00, output = 6.00");
    let priced = Project::new().with_cases(4).with("e.toml", &text);
    let shown = priced.caseload(&["run", "e.toml"]).exits(0);
    shown.stdout_has("at least $0.006; 3 answers unpriced").stdout_has("≥ $0.006");
}

/// lmms-eval 1101: spend was noticed when the money was gone. An attempt that timed out may be billed.
#[test]
fn attempts_that_may_be_billed_count_at_their_worst_and_so_do_they_at_a_resume() {
    let stub = Stub::new(|_, body| chat(body).after(Duration::from_secs(5)));
    let text = experiment(&stub.url(), "max_cost_usd = 1.00")
        + "limits = { max_in_flight = 1 }\ntimeouts = { attempt_s = 0.05 }\n\
           retry = { max_retries = 100, base_delay_ms = 1, max_delay_ms = 1 }\n"
        + &price("m", "input = 500, output = 5000");
    // At worst 50 output tokens at $0.005, and a byte of input at least a token: $0.26 to $0.30.
    let project = Project::new().with_cases(10).with("e.toml", &text);
    project.caseload(&["run", "e.toml"]).exits(4);
    assert_eq!(stub.count(), 3);
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM attempt"), 3);
    project.caseload(&["resume", "latest"]).exits(4);
    assert_eq!(stub.count(), 3, "a resume knows what may have been billed");
}

/// empirical 166: latency included the failed tries and the waits between them.
#[test]
fn latency_is_the_answered_attempts_own_and_waits_stand_beside_it() {
    let stub = Stub::new(|number, body| match number {
        0 => Answer::error(429, "rate_limit_exceeded", "slow down")
            .header("retry-after-ms", "1000")
            .after(Duration::from_millis(200)),
        _ => chat(body).after(Duration::from_millis(600)),
    });
    let project = Project::new().with_cases(1).with("e.toml", &(experiment(&stub.url(), "") + QUICK));
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    let p50 = card["targets"][0]["latency_ms"]["p50"].as_f64().unwrap();
    assert!((590.0..700.0).contains(&p50), "{p50}");
    let waited: f64 = project.sql("SELECT backoff_wait_ms FROM trial");
    assert!((990.0..1_150.0).contains(&waited), "{waited}");
    assert_eq!(project.sql::<i64>("SELECT attempts FROM trial"), 2);
}

/// A wait of a day is not slept in silence: the run says until when, and a resume goes on.
#[test]
fn a_wait_of_a_day_ends_the_run_with_the_time_when_it_could_go_on() {
    for (wait, until) in
        [("86400", "(local time)"), ("Fri, 31 Dec 9999 23:59:59 GMT", "end of the year 9999 or later")]
    {
        let stub = Stub::new(move |_, _| {
            Answer::error(429, "rate_limit_exceeded", "slow down").header("retry-after", wait)
        });
        let project = Project::new().with_cases(20).with("e.toml", &experiment(&stub.url(), ""));
        let began = Instant::now();
        let run = project.caseload(&["run", "e.toml"]).exits(3).stderr_has("it could go on at ");
        run.stderr_has(until).stderr_has("caseload resume test-1");
        assert!(began.elapsed() < Duration::from_secs(5));
        assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial"), 0);
    }
}
