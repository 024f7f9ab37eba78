//! Estimates, pilots and early stops from end to end.

use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{Answer, Project, Stub};

#[path = "../examples/estimate_accuracy/play.rs"]
mod play;

/// A chat answer of 1,000 input tokens and as many output tokens as `output` says of the request's
/// number.
fn metered(output: impl Fn(usize) -> u64 + Send + Sync + 'static) -> Stub {
    Stub::new(move |number, _| {
        let mut answer: Value = serde_json::from_str(&Answer::chat("It is right 0.").body).unwrap();
        answer["usage"] = json!({ "prompt_tokens": 1000, "completion_tokens": output(number) });
        Answer::json(&answer)
    })
}

fn priced(url: &str, top: &str) -> String {
    format!(
        "name = \"test\"\ngolden = \"golden.jsonl\"\n{top}\n[[target]]\nname = \"t\"\nprovider = \"p\"\n\
         model = \"m\"\nmax_tokens = 400\n[provider.p]\nkind = \"openai\"\nbase_url = \"{url}/v1\"\n\
         limits = {{ requests_per_minute = 60000 }}\n\
         [[price]]\nmodel = \"m\"\neffective_from = 2026-01-01\nsource = \"test\"\nbatch_half = true\n\
         usd_per_mtok = {{ input = 3.00, cache_read = 0.30, cache_write_5m = 3.75, output = 15.00 }}\n"
    )
}

/// https://github.com/promptfoo/promptfoo/issues/1864
#[test]
fn what_a_run_will_cost_is_told_before_it_is_paid_and_held_against_what_it_did() {
    let stub = metered(|number| 60 + (number as u64 * 37) % 81);
    let project = Project::new().with_cases(500).with("e.toml", &priced(&stub.url(), "repeats = 4"));
    project.caseload(&["run", "e.toml", "--repeats", "1"]).exits(0);
    let sent = stub.count();
    let estimate = project.caseload(&["estimate", "e.toml", "--json"]).exits(0).json();
    assert_eq!(stub.count(), sent, "an estimate sends nothing");
    let total = &estimate["total"];
    assert_eq!(estimate["schema_version"], 1);
    assert_eq!(total["requests"]["mid"], 2000.0);
    assert_eq!(total["input_tokens"], json!({ "low": 2e6, "mid": 2e6, "high": 2e6 }));
    let mid = total["cost_usd"]["mid"].as_f64().unwrap();
    assert!((mid - 9.00).abs() < 0.05, "{mid}");
    assert!((total["cost_ceiling_usd"].as_f64().unwrap() - 18.0).abs() < 1e-9);
    assert!((total["cost_batch_usd"]["mid"].as_f64().unwrap() - mid / 2.0).abs() < 1e-9);
    assert!(
        total["cost_usd"]["low"].as_f64().unwrap() < 9.0 && total["cost_usd"]["high"].as_f64().unwrap() > 9.0
    );
    project.caseload(&["run", "e.toml"]).exits(0);
    project.caseload(&["show"]).exits(0).stdout_has("t · dollars").stdout_has("inside");
    project
        .caseload(&["estimate", "e.toml"])
        .exits(0)
        .stdout_has("the last 2 estimates of this target were off by")
        .stdout_has("requests");
}

#[test]
fn a_pilot_is_a_part_of_the_run_that_is_not_paid_again() {
    let stub = metered(|_| 100);
    let project = Project::new().with_cases(40).with("e.toml", &priced(&stub.url(), "repeats = 2"));
    let pilot = ["pilot", "e.toml", "--cases", "6", "--repeats", "3", "--max-cost", "1"];
    let rest = "caseload resume test-1    (the rest: 68 trials, no budget)";
    project.caseload(&pilot).exits(0).stderr_has(rest);
    assert_eq!(stub.count(), 18);
    project
        .caseload(&["estimate", "e.toml"])
        .exits(0)
        .stdout_has("earlier runs of this target: test-1 (6 cases, 18 answers)");
    let with = ["run", "e.toml", "--continue", "--repeats", "5", "--limit", "3"];
    project.caseload(&with).exits(0).stderr_has("began with, without --repeats, --limit");
    assert_eq!(stub.count(), 18 + 34 * 2);
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM run"), 1);
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial"), 18 + 34 * 2);
    let new = project.caseload(&["run", "e.toml", "--continue", "--limit", "1"]).exits(0);
    new.stderr_has("no run of `test` is to be gone on with: a new one begins");
}

#[test]
fn a_dry_run_sends_nothing_and_says_what_is_not_known() {
    let stub = metered(|_| 100);
    let project = Project::new()
        .with_cases(8)
        .with("e.toml", &crate::experiment(&stub.url(), "").replace("max_tokens = 50", "max_tokens = 400"));
    project
        .caseload(&["run", "e.toml", "--dry-run"])
        .exits(0)
        .stdout_has("no price for model `m`")
        .stdout_has("no earlier run of `t`")
        .stdout_has("limits of provider `p` are unknown");
    let json = project.caseload(&["run", "e.toml", "--dry-run", "--json"]).exits(0).json();
    assert_eq!(json["total"]["cost_usd"], Value::Null);
    assert_eq!(json["notes"].as_array().unwrap().len(), 3);
    assert_eq!(stub.count(), 0);
}

#[test]
fn millers_worked_design_comes_out_of_detect_3() {
    let project = Project::new().with_cases(8).with("e.toml", &priced("http://127.0.0.1:9", ""));
    let json = project.caseload(&["estimate", "e.toml", "--detect", "3", "--json"]).exits(0).json();
    let design = &json["designs"]["cheapest"]["design"];
    assert_eq!((&design["cases"], &design["repeats"]), (&json!(969), &json!(1)));
    let svg = project.path("plot.svg");
    project
        .caseload(&["estimate", "e.toml", "--grid", "--budget", "50", "--hours", "8", "--plot", "plot.svg"])
        .exits(0)
        .stdout_has("cases × repeats")
        .stdout_has("best for $50 with new cases")
        .stdout_has("X is the design as it stands");
    assert!(std::fs::read_to_string(svg).unwrap().starts_with("<svg"));
}

#[test]
fn an_impossible_wish_is_refused_with_the_nearest_design() {
    let project = Project::new().with_cases(8).with("e.toml", &priced("http://127.0.0.1:9", ""));
    project
        .caseload(&["estimate", "e.toml", "--detect", "0"])
        .exits(2)
        .stderr_has("hint: the 8 cases there are");
    project
        .caseload(&["estimate", "e.toml", "--budget", "0.0001"])
        .exits(2)
        .stderr_has("hint: the smallest design, 2 cases asked once, costs");
    project.caseload(&["estimate", "e.toml", "--budget=-1"]).exits(2).stderr_has("cannot be planned with");
}

#[test]
fn a_hundred_thousand_cases_are_estimated_in_seconds() {
    let text = priced("http://127.0.0.1:9", "repeats = 3").replace("model = \"m\"", "model = \"gpt-5.4\"");
    let project = Project::new().with_cases(100_000).with("e.toml", &text);
    let began = Instant::now();
    project.caseload(&["estimate", "e.toml"]).exits(0).stdout_has("o200k tokenizer");
    // Five seconds in a release build; this one is not optimised and shares its processor.
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
}

#[test]
fn a_decided_comparison_ends_the_run_and_says_what_it_saved() {
    let simulated = |name: &str, skill: f64| {
        format!(
            "[[target]]\nname = \"{name}\"\nprovider = \"s\"\nmodel = \"m\"\n\
             simulate = {{ skill = {skill}, latency_ms = {{ mean = 5 }} }}\n"
        )
    };
    let text = format!(
        "name = \"test\"\ngolden = \"golden.jsonl\"\n{}{}[stop]\nagainst = \"old\"\nmargin = 2\n\
         [provider.s]\nkind = \"simulator\"\nlimits = {{ max_in_flight = 8 }}\n",
        simulated("old", 0.95),
        simulated("new", 0.30),
    );
    let project = Project::new().with_cases(1_200).with("e.toml", &text);
    let finished = project.caseload(&["run", "e.toml", "--quiet"]).exits(0);
    assert!(finished.stderr.contains("decided early: `new`: worse after"), "{}", finished.stderr);
    let asked = project.sql::<i64>("SELECT count(*) FROM trial");
    assert!(asked < 2_000, "{asked}");
    project.caseload(&["show"]).exits(0).stdout_has("were saved");
    // What was left is not missing, and the decision is no gate.
    project.caseload(&["resume", "latest", "--quiet"]).exits(0).stderr_has("decided early");
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial"), asked);
    project.caseload(&["show", "--gate"]).exits(0);
    let other = text.replace("against = \"old\"", "against = \"none\"");
    project.write("other.toml", &other);
    for command in ["check", "run"] {
        let refused = project.caseload(&[command, "other.toml"]).exits(2);
        refused.stderr_has("`stop.against` is `none`: no target").stderr_has("the targets are `old`, `new`");
    }
}

#[test]
fn estimates_hold_against_a_few_rehearsals_of_every_set_up() {
    for setup in play::SETUPS {
        let project = Project::new();
        play::write_project(&project.path(""), setup);
        let folder = project.path("");
        let rehearsals: Vec<_> = (1..=5).map(|seed| play::rehearse(&folder, seed)).collect();
        assert!(play::costs_inside(&rehearsals) >= 4, "{}: {rehearsals:?}", setup.0);
        let off = play::median_wall_off(&rehearsals);
        assert!(off < 0.10, "{}: {off} {rehearsals:?}", setup.0);
    }
}
