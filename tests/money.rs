//! From a provider's usage to dollars, through the whole program: lifetimes, contradictions, unknowns.

use std::{process::Child, thread::sleep, time::Duration};

use serde_json::{Value, json};

use crate::support::{Answer, Project, Signal, Stub, signal};

/// The number at the end of the question in a request of either dialect.
fn question(body: &Value) -> usize {
    let last = body["messages"].as_array().unwrap().last().unwrap();
    last["content"].as_str().unwrap().rsplit(' ').next().unwrap().parse().unwrap()
}

/// An Anthropic answer with this usage.
fn message(usage: &Value) -> Answer {
    Answer::json(&json!({"type": "message", "model": "m", "stop_reason": "end_turn", "usage": usage,
                         "content": [{"type": "text", "text": "It is right 0."}]}))
}

fn experiment(url: &str, provider: &str, prices: &str) -> String {
    let path = if provider == "openai" { "/v1" } else { "" };
    format!(
        "name = \"test\"\ngolden = \"golden.jsonl\"\n\
         [[target]]\nname = \"t\"\nprovider = \"{provider}\"\nmodel = \"m\"\n\
         [provider.{provider}]\nbase_url = \"{url}{path}\"\napi_key_env = \"TEST_KEY\"\n{prices}"
    )
}

/// Dollars per million tokens.
fn prices(rates: &str) -> String {
    format!(
        "[[price]]\nmodel = \"m\"\neffective_from = 2026-01-01\nsource = \"test\"\n\
         usd_per_mtok = {{ {rates} }}\n"
    )
}

/// inspect_ai issue 4703 paid an hour's writes at the five-minute rate; langsmith-sdk issue 1858 took
/// reads from a count that never held them.
#[test]
fn every_lifetime_has_its_price_and_contradictions_have_none() {
    let stub = Stub::new(|_, body| {
        let split = |short: u64, long: u64| {
            json!({"input_tokens": 100, "cache_creation_input_tokens": 700, "cache_read_input_tokens": 200,
                   "cache_creation": {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long},
                   "output_tokens": 50})
        };
        message(&match question(body) {
            // $0.00531, $0.004635, and $0.003735 by an assumption.
            0 => split(0, 700),
            1 => split(300, 400),
            2 => json!({"input_tokens": 100, "cache_creation_input_tokens": 700,
                        "cache_read_input_tokens": 200, "output_tokens": 50}),
            // $0.011907.
            3 => json!({"input_tokens": 19, "cache_read_input_tokens": 39_000, "output_tokens": 10}),
            _ => split(3, 4),
        })
    });
    let rates =
        "input = 3.00, cache_read = 0.30, cache_write_5m = 3.75, cache_write_1h = 6.00, output = 15.00";
    let text = experiment(&stub.url(), "anthropic", &prices(rates));
    let project = Project::new().with_cases(5).with("e.toml", &text);
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    let target = &card["targets"][0];
    assert_eq!(target["cost_usd"], "0.025587");
    assert_eq!((&target["cost_unknown_trials"], &target["cost_approximate_trials"]), (&json!(1), &json!(1)));
    assert_eq!(
        (&target["usage"]["cache_write_1h"], &target["usage"]["cache_write_5m"]),
        (&json!(1_100), &json!(1_000))
    );
    assert_eq!(target["usage_unknown"], 1);
    assert_eq!(target["cache"]["tokens_read"], 39_600);
    let raw: String = project.sql("SELECT usage_raw FROM trial WHERE usage_flag = 'contradictory'");
    assert!(raw.contains("\"ephemeral_5m_input_tokens\":3"), "{raw}");
    project
        .caseload(&["show"])
        .stdout_has("at least $0.025587; 1 answers unpriced; approximate for 1 answers");
}

/// deepeval pull request 2722: a provider always cost 0 dollars, a typed-in price was dropped.
#[test]
fn an_unknown_price_is_unknown_and_a_typed_one_is_used() {
    let stub = Stub::new(|_, body| {
        let mut answer: Value = serde_json::from_str(&Answer::chat("It is right 0.").body).unwrap();
        answer["usage"] = match question(body) {
            0 => json!({"prompt_tokens": 1_000, "completion_tokens": 500, "total_tokens": 1_500}),
            _ => json!({"prompt_tokens": 100, "completion_tokens": 1,
                        "prompt_tokens_details": {"cached_tokens": 400}}),
        };
        Answer::json(&answer)
    });
    let unpriced = experiment(&stub.url(), "openai", "");
    let project = Project::new().with_cases(2).with("e.toml", &unpriced);
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    let target = &card["targets"][0];
    assert_eq!((&target["cost_usd"], &target["cost_unknown_trials"]), (&Value::Null, &json!(2)));
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial WHERE cost_picodollars IS NULL"), 2);
    project.caseload(&["show"]).stdout_has("unknown: no price for `m`");

    project.write("e.toml", &experiment(&stub.url(), "openai", &prices("input = 3.00, output = 6.00")));
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    let target = &card["targets"][0];
    assert_eq!((&target["cost_usd"], &target["cost_unknown_trials"]), (&json!("0.006"), &json!(1)));
}

/// An OpenAI experiment with a budget, at $1 and $2,000 a million tokens.
fn budgeted(url: &str, limit: &str, target: &str) -> String {
    experiment(url, "openai", &prices("input = 1.00, output = 2000.00"))
        .replace("[[target]]", &format!("max_cost_usd = {limit}\n[[target]]"))
        .replace("model = \"m\"\n[provider", &format!("model = \"m\"\n{target}\n[provider"))
}

/// `max_tokens = 10` beside `extra = { max_tokens = 50000 }` paid $20.00 of a cent.
#[test]
fn what_extra_sends_decides_what_an_answer_may_cost() {
    for field in ["max_tokens", "max_completion_tokens"] {
        let stub = Stub::new(|_, _| Answer::chat("It is right 0."));
        let target = format!("max_tokens = 10\nextra = {{ {field} = 50000 }}");
        let text = budgeted(&stub.url(), "0.01", &target);
        let project = Project::new().with_cases(3).with("e.toml", &text);
        project.caseload(&["run", "e.toml"]).exits(4);
        assert_eq!(stub.count(), 0, "an answer of 50,000 tokens costs $100.00");
        let estimate = project.caseload(&["estimate", "e.toml", "--json"]).exits(0).json();
        let ceiling = estimate["total"]["cost_ceiling_usd"].as_f64().unwrap();
        assert!((300.0..300.01).contains(&ceiling), "three answers of 50,000 tokens: {ceiling}");
    }
}

/// `50000.0` beside 10 was taken for nothing: $9.00 of a cent.
#[test]
fn a_budget_is_refused_where_nobody_can_say_how_long_an_answer_is() {
    for extra in [
        "max_tokens = \"all\"",
        "max_completion_tokens = 50000.0",
        "max_completion_tokens = \"50000\"",
        "options = { num_predict = -1 }",
    ] {
        let stub = Stub::new(|_, _| Answer::chat("It is right 0."));
        let text = budgeted(&stub.url(), "0.01", &format!("max_tokens = 10\nextra = {{ {extra} }}"));
        let project = Project::new().with_cases(3).with("e.toml", &text);
        project
            .caseload(&["run", "e.toml"])
            .exits(2)
            .stderr_has("nobody can say how long an answer of target `t` can be")
            .stderr_has("set `max_tokens`");
        assert_eq!(stub.count(), 0, "{extra}");
    }
}

#[test]
fn a_budget_is_kept_by_what_the_model_or_the_request_says_of_the_longest_answer() {
    for (model, target) in [("gpt-4o", ""), ("m", "extra = { max_completion_tokens = 100 }")] {
        let stub = Stub::new(|_, _| Answer::chat("It is right 0."));
        let text = budgeted(&stub.url(), "100.00", target).replace("\"m\"", &format!("\"{model}\""));
        let project = Project::new().with_cases(2).with("e.toml", &text);
        project.caseload(&["run", "e.toml"]).exits(0);
        assert_eq!(stub.count(), 2, "{model}");
    }
    let stub = Stub::new(|_, _| Answer::chat("It is right 0."));
    let project = Project::new().with_cases(2).with("e.toml", &budgeted(&stub.url(), "100.00", ""));
    project.caseload(&["run", "e.toml"]).exits(2).stderr_has("how long an answer of target `t` can be");
}

/// A program of 1,024 tokens at most, as nobody had promised, spent $1.80 of $0.05.
#[test]
fn a_budget_over_an_application_holds_by_what_the_experiment_says_of_its_answers() {
    let text = |target: &str| {
        format!(
            "name = \"test\"\ngolden = \"golden.jsonl\"\nMAX\n[[target]]\nname = \"bot\"\nprovider = \"p\"\n{target}\n\
             [provider.p]\nkind = \"exec\"\nshell = true\ncommand = 'read -r line; echo 14'\n\
             workers = 1\n{}",
            prices("input = 1.00, output = 2000.00").replace("\"m\"", "\"bot\"")
        )
    };
    let unbounded = text("max_tokens = 10").replace("MAX", "");
    let project = Project::new().with_cases(3).with("e.toml", &unbounded);
    let estimate = project.caseload(&["estimate", "e.toml", "--json"]).exits(0).json();
    assert_eq!(estimate["total"]["cost_ceiling_usd"], Value::Null);

    project.write("e.toml", &text("max_tokens = 10").replace("MAX", "max_cost_usd = 0.05"));
    let refused = project.caseload(&["run", "e.toml"]).exits(2);
    refused
        .stderr_has("what an answer of application `bot` may cost at most")
        .stderr_has("max_cost_per_answer_usd");

    project.write("e.toml", &text("max_cost_per_answer_usd = 0.02").replace("MAX", "max_cost_usd = 0.05"));
    // Nobody tells what the answers cost, so each counts as what it may.
    project.caseload(&["run", "e.toml"]).exits(4);
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial WHERE outcome = 'answered'"), 2);
}

/// A target without `max_tokens` had a "ceiling" at 1,024 tokens.
#[test]
fn without_max_tokens_the_ceiling_is_the_models_own_or_unknown() {
    let stub = Stub::new(|_, _| Answer::chat("It is right 0."));
    let rates = prices("input = 1.00, output = 2000.00");
    for (model, ceiling) in [("gpt-4o", Some(2.0 * 16_384.0 * 0.002)), ("m", None)] {
        let text = experiment(&stub.url(), "openai", &rates).replace("\"m\"", &format!("\"{model}\""));
        let project = Project::new().with_cases(2).with("e.toml", &text);
        let estimate = project.caseload(&["estimate", "e.toml", "--json"]).exits(0).json();
        let told = estimate["total"]["cost_ceiling_usd"].as_f64();
        match ceiling {
            Some(ceiling) => assert!((told.unwrap() - ceiling).abs() < 0.001, "{told:?}"),
            None => {
                assert_eq!(told, None);
                project.caseload(&["estimate", "e.toml"]).exits(0).stdout_has("unknown");
            }
        }
    }
}

/// $0.7042 of attempts that failed after they were billed stood nowhere beside "cost $0.0055".
#[test]
fn what_failed_attempts_cost_stands_beside_the_cost_of_the_answers() {
    let stub = Stub::new(|number, _| {
        let answer = Answer::chat("It is right 0.");
        let failed = answer.body.replace("\"finish_reason\":\"stop\"", "\"finish_reason\":\"error\"");
        if number == 0 { Answer { body: failed, ..answer } } else { answer }
    });
    let text = experiment(&stub.url(), "openai", &prices("input = 1.00, output = 2000.00"));
    let project = Project::new().with_cases(2).with("e.toml", &text);
    let ran = project.caseload(&["run", "e.toml"]).exits(0);
    ran.stderr_has("spent $0.0300").stdout_has("$0.03003 with the attempts that failed");
    let card = project.caseload(&["show", "--json"]).exits(0).json();
    let target = &card["targets"][0];
    assert_eq!((&target["attempts"], &target["failed_attempts"]), (&json!(3), &json!(1)));
    assert_eq!((&target["cost_usd"], &target["attempts_cost_usd"]), (&json!("0.02002"), &json!("0.03003")));
}

#[test]
fn why_a_cost_is_unknown_is_what_is_missing() {
    let stub = Stub::new(|_, _| {
        let mut answer: Value = serde_json::from_str(&Answer::chat("It is right 0.").body).unwrap();
        answer.as_object_mut().unwrap().remove("usage");
        Answer::json(&answer)
    });
    let rates = prices("input = 3.00, output = 6.00");
    for (rates, why) in
        [(rates.as_str(), "no answer told a usage that can be priced"), ("", "no price for `m`")]
    {
        let project = Project::new().with_cases(2).with("e.toml", &experiment(&stub.url(), "openai", rates));
        project.caseload(&["run", "e.toml"]).exits(0).stdout_has(&format!("unknown: {why}"));
    }
}

/// Copies of answers without a price were "asked then for $0.00".
#[test]
fn what_copies_cost_once_is_unknown_where_nobody_knew() {
    let stub = Stub::new(|_, _| Answer::chat("It is right 0."));
    let text = experiment(&stub.url(), "openai", "").replace("model = \"m\"", "model = \"m\"\nreuse = true");
    let project = Project::new().with_cases(2).with("e.toml", &text);
    project.caseload(&["run", "e.toml"]).exits(0);
    project.caseload(&["run", "e.toml"]).exits(0).stdout_has("asked then at an unknown cost");
    let card = project.caseload(&["show", "--json"]).exits(0).json();
    let target = &card["targets"][0];
    assert_eq!((&target["reused_trials"], &target["reused_unknown_trials"]), (&json!(2), &json!(2)));
    assert_eq!(target["reused_original_cost_usd"], Value::Null);
}

/// What was stopped at once was forgotten when its trial was answered later: $1.64 of $0.50 after nine
/// interrupts.
#[test]
fn a_cancelled_attempt_counts_in_what_is_spent_for_ever() {
    let slow = |number: usize| if number < 2 { Duration::from_secs(20) } else { Duration::ZERO };
    let stub = Stub::new(move |number, _| Answer::chat("It is right 0.").after(slow(number)));
    let text = budgeted(&stub.url(), "0.50", "max_tokens = 50")
        .replace("[[price]]", "limits = { max_in_flight = 2 }\n[[price]]");
    let project = Project::new().with_cases(60).with("e.toml", &text);
    let child = project.start(&["run", "e.toml", "--quiet"]);
    assert_eq!(stopped_at_once(child, || stub.count() == 2), Some(130));
    for _ in 0..4 {
        project.caseload(&["resume", "latest", "--quiet"]).exits(4);
    }
    // Each of the two may have cost $0.10 for 50 tokens; an answer costs 5 tokens.
    let billed = 2.0 * 0.10 + (stub.count() - 2) as f64 * 0.01;
    assert!((0.30..=0.50).contains(&billed), "${billed} billed");
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial WHERE outcome = 'cancelled'"), 0);
    let kept = "SELECT count(*) FROM attempt WHERE kind = 'cancelled' AND may_be_billed AND cost_picodollars IS NULL";
    assert_eq!(project.sql::<i64>(kept), 2);
    let by_row = "SELECT count(*) FROM trial WHERE outcome = 'answered' AND price = 0 AND tariff IS NULL";
    assert_eq!(project.sql::<i64>(by_row), i64::try_from(stub.count() - 2).unwrap());
}

/// Nine times in a row what flies is stopped at once; the server may bill each of those questions at its
/// worst. Once that would pass the cap nothing more is sent, and the store tells every one of them.
#[test]
fn however_often_a_run_is_stopped_at_once_it_never_passes_its_cap() {
    let stub = Stub::new(|_, _| Answer::chat("It is right 0.").after(Duration::from_secs(20)));
    let text = budgeted(&stub.url(), "0.50", "max_tokens = 50")
        .replace("[[price]]", "limits = { max_in_flight = 2 }\n[[price]]");
    let project = Project::new().with_cases(60).with("e.toml", &text);
    let mut codes = vec![];
    for interrupt in 0..9 {
        let words =
            if interrupt == 0 { ["run", "e.toml", "--quiet"] } else { ["resume", "latest", "--quiet"] };
        let before = stub.count();
        codes.push(stopped_at_once(project.start(&words), || stub.count() > before));
    }
    // A little above $0.10 at worst for each question: four fit, and a fifth would pass the cap.
    assert_eq!(codes, [[Some(130); 2].as_slice(), &[Some(4); 7]].concat());
    assert_eq!(stub.count(), 4);
    let kept = "SELECT count(*) FROM attempt WHERE kind = 'cancelled' AND may_be_billed AND cost_picodollars IS NULL";
    assert_eq!(project.sql::<i64>(kept), 4);
}

/// Interrupts a run twice once `flies` holds; gives its exit code. One that ends by itself is let be.
fn stopped_at_once(mut child: Child, flies: impl Fn() -> bool) -> Option<i32> {
    while !flies() {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        sleep(Duration::from_millis(1));
    }
    // What is on its way out when the first question arrives is sent by then.
    sleep(Duration::from_millis(200));
    for _ in 0..2 {
        signal(&child, Signal::INT);
        sleep(Duration::from_millis(100));
    }
    child.wait().unwrap().code()
}
