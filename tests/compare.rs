//! Comparisons from end to end: two real runs, gates frozen with them, a committed baseline.

use serde_json::{Value, json};

use crate::{
    experiment,
    support::{Answer, Project, Stub},
};

/// Answers each question right unless its number is among `wrong` for the model that is asked.
fn stub(wrong: fn(&str, usize) -> bool) -> Stub {
    Stub::new(move |_, body| {
        let messages = body["messages"].as_array().expect("a chat request has messages");
        let question = messages.last().expect("one at least")["content"].as_str().expect("text");
        let number: usize = question.rsplit(' ').next().expect("a number").parse().expect("a number");
        let model = body["model"].as_str().expect("a model");
        let word = if wrong(model, number) { "wrong" } else { "right" };
        Answer::chat(&format!("It is {word} {number}."))
    })
}

/// The experiment with a second target `u` whose model is `n`, and `gates`.
fn two_targets(url: &str, gates: &str) -> String {
    let target = "[[target]]\nname = \"u\"\nprovider = \"p\"\nmodel = \"n\"\nmax_tokens = 50\n";
    format!("{}\n{target}\n{gates}", experiment(url, ""))
}

fn compared(project: &Project, sides: &[&str], code: i32) -> Value {
    project.caseload(&[&["compare"], sides, &["--json"]].concat()).exits(code).json()
}

fn verdict_of<'v>(comparison: &'v Value, gate: &str) -> &'v Value {
    let gates = comparison["gates"].as_array().expect("gates");
    &gates.iter().find(|one| one["name"] == gate).expect("the gate was judged")["verdict"]
}

#[test]
fn two_targets_of_a_run_are_compared_case_by_case() {
    let stub = stub(|model, number| if model == "m" { number == 2 } else { number == 5 || number == 6 });
    let project = Project::new().with_cases(8).with("e.toml", &two_targets(&stub.url(), ""));
    project.caseload(&["run", "e.toml"]).exits(0);
    let comparison = compared(&project, &["latest:t", "latest:u"], 0);
    assert_eq!(comparison["schema_version"], 1);
    assert_eq!(comparison["pairs"], 8);
    assert_eq!(comparison["flips"]["fixed"], json!(["c2"]));
    assert_eq!(comparison["flips"]["broke"], json!(["c5", "c6"]));
    assert_eq!(comparison["flips"]["still_passes"], 5);
    assert_eq!(comparison["flips"]["mcnemar_p"], 1.0);
    assert_eq!(comparison["difference"]["point"], -0.125);
    assert_eq!(comparison["difference"]["n_clusters"], 2);
    assert_eq!(comparison["verdict"], "no_gates");
    project
        .caseload(&["compare", "latest:t", "latest:u", "--case", "c5"])
        .exits(0)
        .stdout_has("It is [-right-]{+wrong+} 5.")
        .stdout_has("1/1 passed");
    let screen = project.caseload(&["compare", "latest:t", "latest:u"]).exits(0);
    assert!(screen.stdout.lines().all(|line| line.chars().count() <= 100), "{}", screen.stdout);
}

#[test]
fn gates_are_those_the_run_was_started_with_and_edits_are_told() {
    let stub = stub(|model, number| model == "n" && number < 8);
    let gates = "[gates]\nflip_budget = 20\nmax_p95_latency_ms = 60000\n";
    let project = Project::new().with_cases(40).with("e.toml", &two_targets(&stub.url(), gates));
    project.caseload(&["run", "e.toml"]).exits(0).stdout_has("max_p95_latency_ms");
    let comparison = compared(&project, &["latest:t", "latest:u"], 0);
    assert_eq!(comparison["verdict"], "pass");
    // The file is edited after the run: its gates are only used when asked for, and are told as such.
    project.write("e.toml", &two_targets(&stub.url(), "[gates]\nflip_budget = 2\n"));
    assert_eq!(compared(&project, &["latest:t", "latest:u"], 0)["verdict"], "pass");
    let edited = compared(&project, &["latest:t", "latest:u", "--gates", "e.toml"], 1);
    assert_eq!(verdict_of(&edited, "flip_budget"), "fail");
    assert_eq!(edited["gates_edited"], json!(["flip_budget", "max_p95_latency_ms"]));
    assert_eq!(edited["gates"][0]["edited"], true);
}

#[test]
fn a_signed_flip_does_not_count_and_a_bad_sign_off_is_refused() {
    let stub = stub(|model, number| model == "n" && number == 3);
    let gates = "[gates]\nflip_budget = 0\nsign_offs = \"s.toml\"\n";
    let signed = "[[sign_off]]\ncase = \"c3\"\ndirection = \"broke\"\nwho = \"ada\"\nwhy = \"was wrong\"\n\
                  until = \"2999-12-31\"\n";
    let project = Project::new().with_cases(8).with("e.toml", &two_targets(&stub.url(), gates));
    project.write("s.toml", "");
    project.caseload(&["run", "e.toml"]).exits(0);
    let sides = ["compare", "latest:t", "latest:u"];
    std::fs::remove_file(project.path("s.toml")).unwrap();
    project.caseload(&sides).exits(2).stderr_has("s.toml: the gates name this file");
    project.write("s.toml", "");
    project.caseload(&sides).exits(1).stdout_has("1 broke, at most 0 allowed");
    project.write("s.toml", signed);
    project.caseload(&sides).exits(0).stdout_has("signed off").stdout_has("used");
    project.write("s.toml", &signed.replace("2999", "2001"));
    project.caseload(&sides).exits(1).stdout_has("expired");
    project.write("s.toml", &signed.replace("c3", "c33").replace("who = \"ada\"\n", ""));
    project.caseload(&sides).exits(2).stderr_has("did you mean `c3`?").stderr_has("needs `who`");
}

#[test]
fn what_is_wrong_with_sign_offs_is_told_before_anything_is_asked() {
    let stub = stub(|_, _| false);
    let gates = "[gates]\nflip_budget = 0\nsign_offs = \"s.toml\"\n";
    let project = Project::new().with_cases(8).with("e.toml", &two_targets(&stub.url(), gates));
    for command in ["check", "run", "pilot", "estimate", "rehearse"] {
        project.caseload(&[command, "e.toml"]).exits(2).stderr_has("s.toml: the gates name this file");
    }
    let entry = |case: &str, until: &str| {
        format!(
            "[[sign_off]]\ncase = \"{case}\"\ndirection = \"broke\"\nwho = \"ada\"\nwhy = \"x\"\nuntil = \"{until}\"\n"
        )
    };
    for (text, told) in [
        (entry("c33", "2999-12-31"), "did you mean `c3`?"),
        (entry("c3", "soon"), "`soon` is not a date"),
        ("[[sign_off]]\ncase = \"c3\"\n".to_owned(), "needs `who`"),
        ("[[signoff]]\n".to_owned(), "did you mean `sign_off`?"),
        ("not toml".to_owned(), "s.toml:1"),
    ] {
        project.write("s.toml", &text);
        project.caseload(&["check", "e.toml"]).exits(2).stderr_has(told);
        project.caseload(&["run", "e.toml"]).exits(2).stderr_has(told);
    }
    assert_eq!(stub.count(), 0);
    // One that has expired is told by the comparison: it is no fault of the experiment.
    project.write("s.toml", &entry("c3", "2001-12-31"));
    project.caseload(&["check", "e.toml"]).exits(0);
    // A case that is not selected is a case all the same.
    project.write("s.toml", &entry("c7", "2999-12-31"));
    project.caseload(&["check", "e.toml", "--limit", "4"]).exits(0);
}

#[test]
fn a_committed_baseline_needs_no_database_of_the_old_run() {
    let old = stub(|_, number| number == 1);
    let project = Project::new().with_cases(8).with("e.toml", &experiment(&old.url(), ""));
    project.caseload(&["run", "e.toml"]).exits(0);
    project.caseload(&["baseline", "set", "latest"]).exits(0).stderr_has("is the baseline: 8 cases");
    std::fs::remove_file(project.store()).unwrap();
    let new = stub(|_, number| number == 2);
    project.write("e.toml", &experiment(&new.url(), ""));
    project.caseload(&["run", "e.toml"]).exits(0);
    let comparison = compared(&project, &["baseline", "latest"], 0);
    assert_eq!(comparison["flips"]["fixed"], json!(["c1"]));
    assert_eq!(comparison["flips"]["broke"], json!(["c2"]));
    let file = std::fs::read_to_string(project.path("results/baseline.json")).unwrap();
    project.write("later.json", &file.replace("\"caseload_baseline\": 1", "\"caseload_baseline\": 9"));
    project.caseload(&["compare", "later.json", "latest"]).exits(2).stderr_has("update caseload");
}

#[test]
fn a_gate_that_unmeasured_trials_could_turn_gives_exit_code_5() {
    let stub = Stub::new(|_, body| {
        let question = body["messages"][0]["content"].as_str().expect("text").to_owned();
        let number: usize = question.rsplit(' ').next().expect("a number").parse().expect("a number");
        if body["model"] == "n" && number.is_multiple_of(10) {
            return Answer::error(400, "context_length_exceeded", "the prompt is too long");
        }
        Answer::chat(&format!("It is right {number}."))
    });
    let gates = "[gates]\nnon_inferiority_margin = 0.05\n";
    let project = Project::new().with_cases(100).with("e.toml", &two_targets(&stub.url(), gates));
    project.caseload(&["run", "e.toml"]).exits(3);
    let comparison = compared(&project, &["latest:t", "latest:u"], 5);
    assert_eq!(verdict_of(&comparison, "non_inferiority_margin"), "cannot_tell");
    assert_eq!(comparison["left_out"]["not_measured"].as_array().map(Vec::len), Some(10));
}

#[test]
fn what_cannot_be_compared_is_told_with_a_remedy() {
    let stub = stub(|_, _| false);
    let project = Project::new().with_cases(4).with("e.toml", &two_targets(&stub.url(), ""));
    project.caseload(&["run", "e.toml"]).exits(0);
    let told = |arguments: &[&str], text: &str| {
        project.caseload(&[&["compare"], arguments].concat()).exits(2).stderr_has(text);
    };
    told(&["latest", "latest:u"], "name one: `test-1:t`, `test-1:u`");
    told(&["latest:x", "latest:u"], "it has `test-1:t`, `test-1:u`");
    told(&["latest:t", "latest:t"], "both sides are `latest:t`");
    told(&["tset-1:t", "latest:u"], "did you mean `test-1`?");
    told(&["baseline", "latest:u"], "caseload baseline set RUN");
    told(&["latest:t", "latest:u", "--case", "c9"], "no side has a case `c9`");
    project.write(
        "e.toml",
        &two_targets(&stub.url(), "[gates]\nflip_budgt = 1\nnon_inferiority_margin = -0.1\n"),
    );
    project
        .caseload(&["check", "e.toml"])
        .exits(2)
        .stderr_has("did you mean `flip_budget`?")
        .stderr_has("write 0.1");
}
