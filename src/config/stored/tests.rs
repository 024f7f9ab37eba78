use std::path::Path;

use jiff::civil::date;
use serde_json::{Value, json};

use super::{super::Overrides, *};
use crate::domain::Cost;

/// A configuration as 0.1 wrote it, whole.
const WRITTEN_BY_0_1: &str = include_str!("tests/run_of_0_1.json");

fn of_0_1() -> Value {
    serde_json::from_str(WRITTEN_BY_0_1).unwrap()
}

fn shipped(file: &str) -> Frozen {
    let plan = crate::config::read(Path::new(file), &Overrides::default(), date(2026, 12, 1)).unwrap();
    Frozen { settings: plan.settings, prices: plan.prices }
}

#[test]
fn a_configuration_of_0_1_and_the_same_written_anew_mean_the_same() {
    let old = Frozen::of_stored(&of_0_1()).unwrap();
    let anew = old.to_stored();
    assert_eq!(anew["version"], 2);
    assert_eq!(Frozen::of_stored(&anew).unwrap(), old);
    assert!(is_one_run(&of_0_1(), &anew));
}

#[test]
fn what_is_stored_means_what_was_meant() {
    for file in ["config/demo.toml", "config/app.toml", "config/model-upgrade.toml"] {
        let frozen = shipped(file);
        assert_eq!(Frozen::of_stored(&frozen.to_stored()).unwrap(), frozen, "{file}");
        for target in &frozen.settings.targets {
            assert_eq!(target_settings(&stored_target(target)).unwrap(), *target, "{file}");
        }
    }
}

#[test]
fn what_an_early_0_1_left_out_has_the_default_of_its_time() {
    let mut early = of_0_1();
    let settings = early["settings"].as_object_mut().unwrap();
    for later in ["stop", "shard", "store_answers", "gates", "retrieval_k"] {
        settings.shift_remove(later);
    }
    let target = settings["targets"][0].as_object_mut().unwrap();
    target.shift_remove("reuse");
    target["parameters"].as_object_mut().unwrap().shift_remove("stream");
    target["simulate"] = json!({ "skill": 0.9 });
    let queue = settings["providers"][0]["queue"].as_object_mut().unwrap();
    queue["limits"] = json!({ "requests_per_minute": 60 });
    queue.shift_remove("retry");
    let frozen = Frozen::of_stored(&early).unwrap().settings;
    assert_eq!((frozen.retrieval_k, frozen.shard, frozen.stop.is_none()), (5, None, true));
    assert!(frozen.gates.is_empty() && !frozen.targets[0].reuse && !frozen.targets[0].parameters.stream);
    let limits = &frozen.providers[0].queue.limits;
    assert_eq!((limits.requests_per_minute, limits.max_in_flight, limits.shared), (Some(60), 64, true));
    assert_eq!(frozen.providers[0].queue.retry.max_retries, 8);
}

#[test]
fn a_target_of_0_1_differs_in_nothing_from_itself_stored_today() {
    let old = &of_0_1()["settings"]["targets"][0];
    let anew = stored_target(&target_settings(old).unwrap());
    assert_eq!(comparable_target(old).unwrap(), comparable_target(&anew).unwrap());
}

#[test]
fn shards_are_of_one_run_whatever_their_version_and_the_golden_sets_place() {
    let (mut one, mut other) = (of_0_1(), Frozen::of_stored(&of_0_1()).unwrap().to_stored());
    one["settings"]["shard"] = json!("1/2");
    other["settings"]["shard"] = json!("2/2");
    other["settings"]["golden"] = json!("/elsewhere/golden.jsonl");
    other["settings"]["max_cost"] = json!(Cost::ZERO);
    assert!(is_one_run(&one, &other));
    assert_eq!(whole(&other)["settings"]["shard"], Value::Null);
    other["settings"]["repeats"] = json!(99);
    assert!(!is_one_run(&one, &other));
}

#[test]
fn a_later_version_is_told_as_one() {
    let mut later = of_0_1();
    later["version"] = json!(3);
    let error = Frozen::of_stored(&later).unwrap_err().to_string();
    assert_eq!(error, "they are of version 3, and this caseload reads versions 1 to 2");
}

#[test]
fn a_field_that_is_not_known_is_not_passed_over() {
    let mut odd = Frozen::of_stored(&of_0_1()).unwrap().to_stored();
    odd["settings"]["targets"][0]["simulate"]["mood"] = json!(1);
    assert!(Frozen::of_stored(&odd).unwrap_err().to_string().contains("mood"));
}

/// Names that a stored run has for ever: where this changes, older runs need a way to be read.
#[test]
fn every_part_is_stored_under_the_names_that_earlier_runs_have() {
    let text = r#"
        golden = "g.jsonl"
        graders = [{ kind = "number", take = "last" }]
        [gates]
        non_inferiority_margin = { margin = 0.02, confidence = 0.9 }
        flip_budget = { count = 1, which = "real", confirmed = true }
        min_pass_rate = { rate = 0.9, on = "lower" }
        [stop]
        against = "a"
        gate = "different"
        [[target]]
        name = "a"
        provider = "simulator"
        model = "m"
        cache = { at = "history", ttl = "1h" }
        simulate = { cache = { min_tokens = 9 } }
        [[target]]
        name = "bot"
        provider = "bot"
        max_cost_per_answer_usd = 0.05
        [provider.bot]
        kind = "exec"
        command = ["bot"]
        workers = 2
        mode = "persistent"
        [[price]]
        model = "m"
        effective_from = 2026-01-01
        source = "list"
        usd_per_mtok = { input = 1.0, output = 2.0 }
    "#;
    let plan = crate::config::read_text(text, Path::new("e.toml"), &Overrides::default(), date(2026, 12, 1));
    let plan = plan.unwrap();
    let stored = Frozen { settings: plan.settings, prices: plan.prices }.to_stored();
    insta::assert_snapshot!(serde_json::to_string_pretty(&stored).unwrap());
}
