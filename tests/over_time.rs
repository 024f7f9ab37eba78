//! Runs over time: `trend`, `flaky` and `confirm`, through the real program.

use serde_json::{Value, json};

use crate::support::Project;

/// An experiment of two simulated targets: `old` gets most cases right, `new` few.
fn project(cases: usize) -> Project {
    let experiment = "name = \"nightly\"\ngolden = \"golden.jsonl\"\nrepeats = 3\nseed = 7\n\n\
        [[target]]\nname = \"old\"\nprovider = \"s\"\nmodel = \"m-1\"\nmax_tokens = 50\n\
        simulate = { skill = 0.97, difficulty_spread = 0.1, latency_ms = { mean = 1, jitter = 0 } }\n\n\
        [[target]]\nname = \"new\"\nprovider = \"s\"\nmodel = \"m-2\"\nmax_tokens = 50\n\
        simulate = { skill = 0.05, difficulty_spread = 0.1, latency_ms = { mean = 1, jitter = 0 } }\n\n\
        [provider.s]\nkind = \"simulator\"\n\n\
        [[price]]\nmodel = \"m-1\"\neffective_from = 2020-01-01\nsource = \"made up\"\n\
        usd_per_mtok = { input = 1.00, output = 5.00 }\n\n\
        [[price]]\nmodel = \"m-2\"\neffective_from = 2020-01-01\nsource = \"made up\"\n\
        usd_per_mtok = { input = 2.00, output = 10.00 }\n";
    Project::new().with_cases(cases).with("e.toml", experiment)
}

fn run(project: &Project, arguments: &[&str]) {
    let all = [&["run", "e.toml", "--quiet"], arguments].concat();
    project.caseload(&all).exits(0);
}

#[test]
fn a_trend_marks_what_was_changed_and_where_the_pass_rate_fell() {
    let project = project(40);
    for seed in ["1", "2", "3"] {
        run(&project, &["--seed", seed, "--target", "old"]);
    }
    for seed in ["4", "5", "6"] {
        let skill = "target.old.simulate.skill=0.3";
        run(&project, &["--seed", seed, "--target", "old", "--set", skill, "--set", "target.old.model=m-2"]);
    }
    let trend = project.caseload(&["trend", "nightly", "--json"]).exits(0).json();
    assert_eq!((&trend["schema_version"], &trend["experiment"]), (&json!(1), &json!("nightly")));
    let target = &trend["targets"][0];
    let runs = target["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 6);
    assert_eq!((&runs[0]["trials"], &runs[0]["not_measured"]), (&json!(120), &json!(0)));
    assert!(runs[0]["pass_rate"]["low"].as_f64() < runs[0]["pass_rate"]["point"].as_f64());
    let marked: Vec<bool> = runs.iter().map(|run| run["changed"] != json!([])).collect();
    assert_eq!(marked, [false, false, false, true, false, false]);
    assert_eq!(runs[3]["changed"][0], json!({"kind": "model", "what": "m-1 -> m-2"}));
    let change = &target["change_point"];
    assert_eq!((&change["from_run"], &change["found"]), (&json!("nightly-4"), &json!(true)), "{change}");
    assert_eq!(change["looks"], 15);
    let text = project.caseload(&["trend", "night", "--target", "old", "--last", "4"]).exits(0);
    let text = text.stdout_has("nightly-3").stdout_has("m-1 -> m-2").stdout_has("the pass rate fell by");
    assert!(
        !text.stdout.contains("nightly-2") && text.stdout.lines().all(|line| line.chars().count() <= 100)
    );
}

#[test]
fn the_ledger_lists_coin_flips_and_dead_cases() {
    let project = project(12);
    for seed in ["1", "2", "3", "4"] {
        run(&project, &["--seed", seed, "--set", "target.new.simulate.skill=0.5"]);
    }
    let ledger = project.caseload(&["flaky", "--json"]).exits(0).json();
    let [old, new] = [&ledger["targets"][0], &ledger["targets"][1]];
    assert_eq!((&old["target"], &new["target"]), (&json!("old"), &json!("new")));
    let count = |target: &Value, key: &str| target[key].as_u64().unwrap();
    for target in [old, new] {
        let kinds = ["always_pass", "always_fail", "coin_flips", "flaky", "measured_once"];
        assert_eq!(kinds.map(|kind| count(target, kind)).iter().sum::<u64>(), 12);
        assert_eq!(target["ledger"].as_array().unwrap().len(), 12);
        assert_eq!(target["ledger"][0]["trials"], 12);
    }
    assert!(count(new, "coin_flips") > count(old, "coin_flips"), "{ledger}");
    let text = project.caseload(&["flaky", "nightly-1", "--target", "new"]).exits(0).stdout_has("coin flip");
    assert!(text.stdout.lines().all(|line| line.chars().count() <= 100), "{}", text.stdout);
}

#[test]
fn an_experiment_or_target_that_is_not_there_is_told_with_what_is() {
    let project = project(4);
    run(&project, &["--limit", "1"]);
    for command in ["trend", "flaky"] {
        project.caseload(&[command, "nigthly"]).exits(2).stderr_has("did you mean `nightly`?");
        project.caseload(&[command, "weekly"]).exits(2).stderr_has("this store has `nightly`");
        project.caseload(&[command, "--target", "odl"]).exits(2).stderr_has("did you mean `old`?");
    }
    project.caseload(&["trend", "--last", "0"]).exits(2);
}

#[test]
fn flips_are_asked_again_on_both_sides_and_judged_by_fresh_answers_alone() {
    let project = project(8);
    run(&project, &[]);
    let confirm = ["confirm", "nightly-1:old", "nightly-1:new", "--quiet"];
    let said = project.caseload(&[&confirm[..], &["--repeats", "6", "--json"]].concat()).exits(0).json();
    let flips = said["flips"].as_array().unwrap();
    assert!(flips.len() >= 5, "{said}");
    assert!(flips.iter().all(|flip| flip["direction"] == "broke"));
    assert!(flips.iter().all(|flip| flip["baseline"]["measured"] == 6 && flip["candidate"]["measured"] == 6));
    assert!(flips.iter().filter(|flip| flip["confirmed"] == "confirmed").count() >= 4, "{said}");

    // Two runs of their own, with the flipped cases alone; the first answers stay what they were.
    let runs: i64 = project.sql("SELECT count(*) FROM run WHERE experiment = 'nightly-confirm'");
    assert_eq!(runs, 2);
    let asked: i64 = project.sql("SELECT count(*) FROM trial_view WHERE run LIKE 'nightly-confirm-%'");
    assert_eq!(asked, 2 * 6 * i64::try_from(flips.len()).unwrap());
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial_view WHERE run = 'nightly-1'"), 2 * 8 * 3);
    let stored: i64 = project.sql("SELECT count(*) FROM confirmation WHERE confirmed = 'confirmed'");
    assert!(stored >= 4);
    let fresh: i64 = project.sql("SELECT count(DISTINCT seed) FROM run");
    assert_eq!(fresh, 3, "every run draws anew");

    // Judging again asks nothing, and says the same.
    let again = project.caseload(&[&confirm[..3], &["--judge", "--json"]].concat()).exits(0).json();
    assert_eq!(again["flips"], said["flips"]);
    project.caseload(&[&confirm[..3], &["--judge"]].concat()).exits(0).stdout_has("flips asked again");
    // Nobody asks until the answers suit: they stay until their runs are deleted.
    let refused = project.caseload(&[&confirm[..], &["--repeats", "2"]].concat()).exits(2);
    refused.stderr_has("asked again already").stderr_has("runs delete nightly-confirm-1 nightly-confirm-2");
    // The trend of the experiment does not count them.
    let trend = project.caseload(&["trend", "nightly", "--json"]).exits(0).json();
    assert_eq!(trend["targets"][0]["runs"].as_array().unwrap().len(), 1);
    project.caseload(&["runs", "delete", "nightly-confirm-1", "nightly-confirm-2"]).exits(0);
    project.caseload(&[&confirm[..], &["--repeats", "4"]].concat()).exits(0);
}

#[test]
fn after_a_confirmation_the_latest_run_is_still_the_one_that_measured() {
    let project = project(8);
    run(&project, &[]);
    run(&project, &["--seed", "8"]);
    project.caseload(&["confirm", "nightly-2:old", "nightly-2:new", "--quiet", "--repeats", "4"]).exits(0);
    let compared = ["compare", "latest~1:old", "latest:new", "--json"];
    let said = project.caseload(&compared).json();
    assert_eq!(
        (&said["sides"][0]["run"], &said["sides"][1]["run"]),
        (&json!("nightly-1"), &json!("nightly-2"))
    );
    assert_eq!(project.caseload(&["show", "--json"]).json()["run"]["id"], "nightly-2");
    project.caseload(&["resume", "latest"]).exits(0).stderr_has("nothing to ask");
    for over_time in ["trend", "flaky"] {
        assert_eq!(project.caseload(&[over_time, "--json"]).exits(0).json()["experiment"], "nightly");
    }
    project.caseload(&["show", "latest~2"]).exits(2).stderr_has("no run is called `latest~2`");
    project.caseload(&["runs", "delete", "nightly-1", "nightly-2"]).exits(0);
    project.caseload(&["show"]).exits(2).stderr_has("name one: `nightly-confirm-2`, `nightly-confirm-1`");
    project.caseload(&["show", "nightly-confirm-1"]).exits(0);
    project.caseload(&["run", "e.toml", "--quiet"]).exits(0);
    let taken =
        std::fs::read_to_string(project.path("e.toml")).unwrap().replace("\"nightly\"", "\"n-confirm\"");
    project.write("taken.toml", &taken);
    project.caseload(&["check", "taken.toml"]).exits(2).stderr_has("`latest` passes over");
}

#[test]
fn a_confirmation_stops_at_its_budget_and_can_go_on() {
    let project = project(8);
    run(&project, &[]);
    let confirm = ["confirm", "nightly-1:old", "nightly-1:new"];
    let stopped = project.caseload(&[&confirm[..], &["--max-cost", "0.00001", "--quiet"]].concat());
    stopped.exits(4).stderr_has("caseload resume nightly-confirm-1").stderr_has("--judge");
    project.caseload(&[&confirm[..], &["--judge"]].concat()).exits(0).stdout_has("confirmed 0");
}

#[test]
fn what_cannot_be_confirmed_is_told_before_anything_is_asked() {
    let project = project(4).with("results/baseline.json", "{}");
    run(&project, &[]);
    let refused = |arguments: &[&str], message: &str| {
        project.caseload(&[&["confirm"], arguments].concat()).exits(2).stderr_has(message);
    };
    refused(&["nightly-1:old", "nightly-1:odd"], "has no target `odd`");
    refused(&["nightly-1", "nightly-1:new"], "several targets");
    refused(&["baseline", "nightly-1:new"], "cannot be asked again");
    refused(&["nightly-1:old", "nightly-1:new", "--judge"], "never asked again");
    refused(&["nightly-1:old", "nightly-1:new", "--repeats", "0"], "--repeats");
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM run"), 1);
    run(&project, &["--target", "old"]);
    refused(&["nightly-1:old", "nightly-1:old"], "both sides are");
}
