//! What the documentation promises, as somebody new to it would try it.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::json;

use crate::support::Project;

/// A simulated experiment over eight cases: `good` passes nearly always, `poor` rarely.
fn simulated(top: &str, end: &str) -> Project {
    let target = |name: &str, skill: f64| {
        format!(
            "[[target]]\nname = \"{name}\"\nprovider = \"sim\"\nmodel = \"m\"\nmax_tokens = 50\n\
             simulate = {{ skill = {skill}, latency_ms = {{ mean = 1, jitter = 0 }} }}\n"
        )
    };
    let text = format!(
        "name = \"test\"\ngolden = \"golden.jsonl\"\n{top}\n{}{}[provider.sim]\nkind = \"simulator\"\n{end}\n",
        target("good", 0.95),
        target("poor", 0.3)
    );
    Project::new().with_cases(8).with("e.toml", &text)
}

#[test]
fn a_program_with_a_slash_is_never_another_of_that_name_on_path() {
    let program = |says: &str| format!("#!/bin/sh\nread -r line\necho \"{says}\"\n");
    let text = |command: &str, rest: &str| {
        format!(
            "golden = \"../golden.jsonl\"\n[[target]]\nname = \"bot\"\nprovider = \"p\"\n[provider.p]\n\
             kind = \"exec\"\ncommand = [\"{command}\"]\n{rest}\n"
        )
    };
    let project = Project::new()
        .with_cases(2)
        .with("bot.sh", &program("the right program"))
        .with("path/bot.sh", &program("the wrong program"))
        .with("path/only-here.sh", &program("the wrong program"))
        .with("config/e.toml", &text("../bot.sh", "cwd = \"..\""))
        .with("config/none.toml", &text("../only-here.sh", ""));
    for path in ["bot.sh", "path/bot.sh", "path/only-here.sh"] {
        fs::set_permissions(project.path(path), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", project.path("path").display());
    project.caseload_with(&[("PATH", &path)], &["run", "config/e.toml", "-q"]).exits(0);
    let exported = project.caseload(&["export", "latest"]).exits(0).stdout;
    assert_eq!(exported.matches("the right program").count(), 2, "{exported}");
    project
        .caseload_with(&[("PATH", &path)], &["check", "config/none.toml"])
        .exits(2)
        .stderr_has("only-here.sh` does not exist");
}

#[test]
fn a_gate_that_failed_fails_again_wherever_the_run_is_looked_at() {
    let project = simulated("repeats = 2", "[gates]\nmin_pass_rate = 0.99");
    project.caseload(&["run", "e.toml", "-q"]).exits(1);
    project
        .caseload(&["resume", "latest", "-q"])
        .exits(1)
        .stderr_has("nothing to ask")
        .stdout_has("fail         min_pass_rate");
    project.caseload(&["show", "--gate"]).exits(1);
    project.caseload(&["show", "--failures", "--gate"]).exits(1).stdout_has("fail         min_pass_rate");
    let shown = project.caseload(&["show", "--json", "--gate"]).exits(1).json();
    assert_eq!((&shown["verdict"], &shown["gates"][1]["target"]), (&json!("fail"), &json!("poor")));
    assert_eq!(shown["gates"][1]["results"][0]["name"], "min_pass_rate");
    let cut = project.caseload_into_nobody(&["show", "--gate"]);
    assert_eq!(cut, 1, "that nobody reads changes nothing");
}

#[test]
fn confirmed_flips_decide_a_budget_for_real_ones() {
    let project = simulated("repeats = 1", "[gates]\nflip_budget = { count = 0, which = \"real\" }");
    project.caseload(&["run", "e.toml", "-q"]).exits(0);
    let compare = ["compare", "latest:good", "latest:poor"];
    project.caseload(&compare).exits(5).stdout_has("`caseload confirm`");
    project.caseload(&["confirm", "latest:good", "latest:poor", "--repeats", "12", "-q"]).exits(0);
    project.caseload(&compare).exits(1).stdout_has("real broke, at most 0 allowed");
}

#[test]
fn answers_that_were_not_kept_are_not_said_to_be_the_same() {
    let project = simulated("store_answers = \"hash\"", "");
    project.caseload(&["run", "e.toml", "-q"]).exits(0);
    let shown = project.caseload(&["compare", "latest:good", "latest:poor", "--case", "c1"]).exits(0).stdout;
    assert!(shown.contains("(not kept)") && !shown.contains("the answers are the same"), "{shown}");
}

#[test]
fn only_accounts_that_are_asked_need_a_key() {
    let text = |key: &str| {
        format!(
            "golden = \"golden.jsonl\"\n[[target]]\nname = \"sim\"\nprovider = \"sim\"\nmodel = \"m\"\n\
             [[target]]\nname = \"far\"\nprovider = \"far\"\nmodel = \"m\"\n\
             [provider.sim]\nkind = \"simulator\"\n[provider.far]\nkind = \"openai\"\n\
             base_url = \"http://127.0.0.1:9/v1\"\napi_key_env = \"{key}\"\n\
             [provider.unused]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key_env = \"UNUSED_KEY\"\n"
        )
    };
    let project = Project::new().with_cases(2).with("e.toml", &text("NO_SUCH_KEY"));
    project.caseload(&["check", "e.toml", "--target", "sim"]).exits(0);
    project.caseload(&["run", "e.toml", "--target", "sim", "-q"]).exits(0);
    let error = project.caseload(&["check", "e.toml"]).exits(2).stderr_has("NO_SUCH_KEY").stderr;
    assert!(!error.contains("UNUSED_KEY"), "{error}");
}

#[test]
fn a_replay_reads_an_export() {
    let project = simulated("repeats = 2", "");
    project.caseload(&["run", "e.toml", "-q"]).exits(0);
    let replay = "name = \"again\"\ngolden = \"golden.jsonl\"\nrepeats = 2\n[[target]]\nname = \"t\"\n\
                  provider = \"r\"\nmodel = \"m\"\noutputs = \"out.jsonl\"\n[provider.r]\nkind = \"replay\"\n";
    project.write("r.toml", replay);
    project.write("out.jsonl", &project.caseload(&["export", "test-1"]).exits(0).stdout);
    project.caseload(&["check", "r.toml"]).exits(2).stderr_has("`caseload export RUN --target good`");
    let one = project.caseload(&["export", "test-1", "--target", "poor"]).exits(0).stdout;
    project.write("out.jsonl", &one);
    let then = project.caseload(&["show", "test-1", "--json"]).exits(0).json();
    let again = project.caseload(&["run", "r.toml", "--json"]).exits(0).json();
    assert_eq!(again["targets"][0]["pass_rate"]["point"], then["targets"][1]["pass_rate"]["point"]);
}

#[test]
fn hints_name_runs_in_full_and_stores_as_a_shell_reads_them() {
    let project = simulated("", "");
    let store = ["--store", "sp ace/a'b.db"];
    let run = project.caseload(&["run", "e.toml", "-q", store[0], store[1]]).exits(0);
    assert!(run.stderr.contains(r"--store 'sp ace/a'\''b.db'"), "{}", run.stderr);
}

#[test]
fn where_a_plain_resume_asks_nothing_the_hint_says_what_does() {
    let project = simulated("", "");
    let text = fs::read_to_string(project.path("e.toml")).unwrap();
    let failing = text.replace("skill", "errors = { bad_request = 0.5 }, skill");
    project.write("e.toml", &failing);
    let hint = "caseload resume test-1 --failed";
    let run = project.caseload(&["run", "e.toml", "-q"]).exits(3).stderr_has(hint);
    assert!(!run.stderr.replace(hint, "").contains("caseload resume"), "{}", run.stderr);
    project.caseload(&["resume", "test-1", "-q"]).exits(3).stderr_has(hint);
}
