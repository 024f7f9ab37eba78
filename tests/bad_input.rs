//! Bad input: every fault told at once with its place, exit 2, nothing sent.

use crate::support::{Answer, Project, Stub};

#[test]
fn ten_faults_of_a_golden_set_are_told_in_one_go_and_nothing_is_sent() {
    let stub = Stub::new(|_, _| Answer::chat("x"));
    let lines = [
        r#"{"id": "a", "input": "fine"}"#,
        r#"{"id": "a", "input": "the id again"}"#,
        r#"{"id": "b", "inptu": "a typo"}"#,
        r#"{"id": "c"}"#,
        r#"{"id": "d", "input": "q", "split": "heldout"}"#,
        r#"{"id": "e", "input": "q", "weight": -1}"#,
        r#"{"id": "f", "input": "q", "repeats": 0}"#,
        r#"{"id": "g", "input": "q", "graders": [{"kind": "wordz"}]}"#,
        r#"{"id": "h", "input": {"messages": []}}"#,
        r#"{"id": "i", "input": "q""#,
        r#"{"id": "", "input": "q"}"#,
    ];
    let project = Project::new()
        .with("golden.jsonl", &lines.join("\n"))
        .with("e.toml", &crate::experiment(&stub.url(), "graders = [{ kind = \"words\", all = [\"x\"] }]"));
    let finished = project.caseload(&["run", "e.toml"]).exits(2);
    for line in 2..=11 {
        assert!(
            finished.stderr.contains(&format!("golden.jsonl:{line}")),
            "line {line}:\n{}",
            finished.stderr
        );
    }
    assert!(finished.stderr.contains("did you mean `input`?"), "{}", finished.stderr);
    assert!(finished.stderr.contains("did you mean `held-out`?"), "{}", finished.stderr);
    assert!(finished.stderr.contains("did you mean `words`?"), "{}", finished.stderr);
    assert_eq!(stub.count(), 0);
    assert!(!project.store().exists(), "nothing is written either");
}

#[test]
fn faults_of_an_experiment_name_file_line_and_fix() {
    let project = Project::new().with_cases(2).with(
        "e.toml",
        "golden = \"golden.jsonl\"\nreapeats = 3\n[[target]]\nname = \"a\"\nprovider = \"simulater\"\nmodel = \"m\"\n\
         [[target]]\nname = \"a\"\nprovider = \"simulator\"\n\
         [provider.simulator]\nkind = \"simulator\"\nlimits = { max_in_flight = 0 }\n",
    );
    project
        .caseload(&["run", "e.toml"])
        .exits(2)
        .stderr_has("e.toml:2: `reapeats`")
        .stderr_has("did you mean `repeats`?")
        .stderr_has("e.toml:5: `target[0].provider`: there is no provider `simulater`")
        .stderr_has("did you mean `simulator`?")
        .stderr_has("two targets are named `a`")
        .stderr_has("no `model` is named")
        .stderr_has("`limits.max_in_flight` is 0");
}

#[test]
fn a_template_that_names_what_a_case_lacks_is_refused_before_anything_is_sent() {
    let stub = Stub::new(|_, _| Answer::chat("x"));
    let project = Project::new().with_cases(3).with(
        "e.toml",
        &crate::experiment(&stub.url(), "prompt = { user = \"{{ context.plan }} {{ message }}\" }"),
    );
    project.caseload(&["run", "e.toml"]).exits(2).stderr_has("case `c0`").stderr_has("`context.plan`");
    assert_eq!(stub.count(), 0);
}

#[test]
fn an_unset_key_is_named_and_nothing_is_sent() {
    let project = Project::new().with_cases(1).with(
        "e.toml",
        "golden = \"golden.jsonl\"\n[[target]]\nname = \"t\"\nprovider = \"anthropic\"\nmodel = \"claude-opus-5\"\n",
    );
    project.caseload(&["run", "e.toml"]).exits(2).stderr_has("`ANTHROPIC_API_KEY` is not set");
    project.caseload(&["check", "e.toml"]).exits(2).stderr_has("`ANTHROPIC_API_KEY` is not set");
    project.caseload(&["check", "e.toml", "--no-keys"]).exits(0);
}

#[test]
fn a_trial_larger_than_a_whole_minute_is_refused_with_its_id_and_size() {
    let stub = Stub::new(|_, _| Answer::chat("x"));
    let extra = "[provider.p.limits]\ninput_tokens_per_minute = 3\n";
    let project = Project::new().with_cases(1).with("e.toml", &(crate::experiment(&stub.url(), "") + extra));
    project
        .caseload(&["run", "e.toml"])
        .exits(2)
        .stderr_has("case `c0`")
        .stderr_has("larger than the limit of 3");
    assert_eq!(stub.count(), 0);
}

#[test]
fn a_replay_file_is_checked_against_the_golden_set() {
    let outputs = "{\"id\": \"c0\", \"output\": \"x\"}\n{\"id\": \"c0\", \"output\": \"y\"}\n\
                   {\"id\": \"nobody\", \"output\": \"z\"}\n";
    let experiment = "golden = \"golden.jsonl\"\nrepeats = 2\n[[target]]\nname = \"t\"\nprovider = \"replay\"\n\
                      model = \"m\"\noutputs = \"outputs.jsonl\"\n";
    let project = Project::new().with_cases(2).with("outputs.jsonl", outputs).with("e.toml", experiment);
    project.caseload(&["run", "e.toml"]).exits(2).stderr_has("outputs.jsonl:2");
    project.write(
        "outputs.jsonl",
        "{\"id\": \"c0\", \"output\": \"x\"}\n{\"id\": \"nobody\", \"output\": \"z\"}\n",
    );
    project
        .caseload(&["run", "e.toml"])
        .exits(2)
        .stderr_has("`nobody`")
        .stderr_has("`c0`")
        .stderr_has("`c1`");
}

#[test]
fn a_store_that_cannot_be_written_fails_before_the_first_request() {
    let stub = Stub::new(|_, _| Answer::chat("x"));
    let project = Project::new().with_cases(1).with("e.toml", &crate::experiment(&stub.url(), ""));
    project
        .caseload(&["run", "e.toml", "--store", "/proc/nowhere/s.db"])
        .exits(2)
        .stderr_has("/proc/nowhere");
    assert_eq!(stub.count(), 0);
}

#[test]
fn a_budget_on_a_model_without_a_price_is_refused() {
    let stub = Stub::new(|_, _| Answer::chat("x"));
    let project =
        Project::new().with_cases(1).with("e.toml", &crate::experiment(&stub.url(), "max_cost_usd = 1.0"));
    project.caseload(&["run", "e.toml"]).exits(2).stderr_has("no price").stderr_has("[[price]]");
    assert_eq!(stub.count(), 0);
}

#[test]
fn an_unknown_run_is_told_with_the_candidates() {
    let stub = Stub::new(|_, _| Answer::chat("It is right 0."));
    let project = Project::new().with_cases(1).with("e.toml", &crate::experiment(&stub.url(), ""));
    project.caseload(&["show"]).exits(2).stderr_has("store");
    project.caseload(&["run", "e.toml"]).exits(0);
    project.caseload(&["show", "tset-1"]).exits(2).stderr_has("test-1");
    project.caseload(&["show", "latest", "--case", "c9"]).exits(2).stderr_has("no case `c9`");
}

#[test]
fn values_that_cannot_be_sent_and_prices_that_stand_twice_are_refused_with_their_lines() {
    let price = |day: &str| {
        format!(
            "[[price]]\nmodel = \"m\"\neffective_from = {day}\nsource = \"x\"\nusd_per_mtok = {{ input = 1, output = 1 }}\n"
        )
    };
    let sane = crate::experiment("http://127.0.0.1:1", "");
    let odd =
        sane.replace("max_tokens = 50", "max_tokens = 50\nextra = { f = nan, deep = { day = 2026-01-01 } }");
    let project =
        Project::new().with_cases(2).with("e.toml", &(odd + &price("2026-01-01") + &price("2026-01-01")));
    project
        .caseload(&["check", "e.toml"])
        .exits(2)
        .stderr_has("`target[0].extra.f`: JSON has no such value")
        .stderr_has("`target[0].extra.deep.day`: JSON has no such value")
        .stderr_has("`m` has a row from 2026-01-01 on line 16 already")
        .stderr_has("3 faults");

    project.write("e.toml", &(sane + &price("2999-01-01")));
    project
        .caseload(&["check", "e.toml"])
        .exits(0)
        .stdout_has("no price before 2999-01-01: the cost will be unknown");
    project
        .caseload(&["check", "e.toml", "--set", "max_cost_usd=1"])
        .exits(2)
        .stderr_has("model `m` has no price before 2999-01-01, so the budget");
}

#[test]
fn a_key_that_cannot_be_meant_as_it_is_stops_check_and_run_before_anything_is_sent() {
    let text = "name = \"e\"\ngolden = \"golden.jsonl\"\ngraders = [{ kind = \"words\", any = [\"x\"] }]\n\
        [[target]]\nname = \"t\"\nprovider = \"openai\"\nmodel = \"m\"\n";
    let project = Project::new().with_cases(1).with("e.toml", text);
    for (key, told) in [
        ("", "the variable `OPENAI_API_KEY` is empty"),
        ("\"sk-of-mine\"", "the variable `OPENAI_API_KEY` holds quotation marks"),
        ("Bearer sk-of-mine", "the variable `OPENAI_API_KEY` holds `Bearer` before the key"),
        ("sk-of mine", "the variable `OPENAI_API_KEY` holds white space"),
    ] {
        for command in ["check", "run"] {
            let ended = project.caseload_with(&[("OPENAI_API_KEY", key)], &[command, "e.toml"]);
            let ended = ended.exits(2).stderr_has(told);
            assert!(!ended.stderr.contains("of-mine"), "{}", ended.stderr);
        }
    }
    let short = project.caseload_with(&[("OPENAI_API_KEY", "abc")], &["check", "e.toml"]).exits(0);
    short.stdout_has("the value of `OPENAI_API_KEY` is shorter than 8 characters: too short to be hidden");
}

#[test]
fn a_name_with_what_cannot_be_seen_is_refused_and_its_fault_shows_nothing_raw() {
    let project = Project::new().with_cases(1);
    for (name, code) in [
        ("\\u001b[31mred", "U+001B"),
        ("a\\u202eb", "U+202E"),
        ("a\\u00ADb", "U+00AD"),
        ("\\U000E0041", "U+E0041"),
    ] {
        let text = format!(
            "name = \"e\"\ngolden = \"golden.jsonl\"\ngraders = [\"{name}\"]\n\
             [grader.\"{name}\"]\nkind = \"words\"\nany = [\"x\"]\n\
             [[target]]\nname = \"{name}\"\nprovider = \"{name}\"\nmodel = \"m{name}\"\n\
             [provider.\"{name}\"]\nkind = \"simulator\"\n"
        );
        project.write("e.toml", &text);
        let said = project.caseload(&["check", "e.toml"]).exits(2).stderr;
        assert_eq!(said.matches(&format!("{code}, which cannot be seen")).count(), 4, "{said}");
        assert!(!said.contains(['\u{1b}', '\u{202e}', '\u{ad}', '\u{e0041}']), "{said:?}");
    }
}

/// A gateway is not the provider: who speaks its protocol need not know its keys.
#[test]
fn a_server_of_ones_own_gets_the_key_that_is_named_and_no_other() {
    let text = |server: &str| {
        format!(
            "name = \"e\"\ngolden = \"golden.jsonl\"\ngraders = [{{ kind = \"words\", any = [\"x\"] }}]\n\
             [[target]]\nname = \"t\"\nprovider = \"p\"\nmodel = \"m\"\nmax_tokens = 9\n\
             [provider.p]\n{server}\n"
        )
    };
    let project = Project::new().with_cases(1);
    for (server, needs) in [
        ("kind = \"anthropic\"\nbase_url = \"https://gateway.example/anthropic\"", None),
        ("kind = \"openai\"\nbase_url = \"https://gateway.example/v1\"", None),
        ("kind = \"anthropic\"\nbase_url = \"https://api.anthropic.com.example\"", None),
        ("kind = \"anthropic\"\nbase_url = \"https://API.anthropic.com/v1/\"", Some("ANTHROPIC_API_KEY")),
        ("kind = \"openai\"\nbase_url = \"https://api.openai.com/v1\"", Some("OPENAI_API_KEY")),
        ("kind = \"openai\"", Some("OPENAI_API_KEY")),
    ] {
        project.write("e.toml", &text(server));
        let checked = project.caseload(&["check", "e.toml"]);
        match needs {
            None => drop(checked.exits(0)),
            Some(variable) => drop(checked.exits(2).stderr_has(&format!("`{variable}` is not set"))),
        }
    }
    for (url, is_open) in [
        ("http://gateway.example/v1", true),
        ("http://10.0.0.7:8000/v1", true),
        ("http://[2001:db8::1]/v1", true),
        ("https://gateway.example/v1", false),
        ("http://localhost:8000/v1", false),
        ("http://127.0.0.9/v1", false),
        ("http://[::1]:80/v1", false),
    ] {
        let named = format!("kind = \"openai\"\nbase_url = \"{url}\"\napi_key_env = \"TEST_KEY\"");
        project.write("e.toml", &text(&named));
        let said = project.caseload(&["check", "e.toml"]).exits(0).stdout;
        assert_eq!(said.contains("over plain http"), is_open, "{url}: {said}");
    }
}

#[test]
fn a_price_file_that_is_not_there_is_told_with_where_it_is_looked_for() {
    let text = format!("prices = \"none.toml\"\n{}", crate::experiment("http://127.0.0.1:9", ""));
    let project = Project::new().with_cases(1).with("e.toml", &text);
    project.caseload(&["check", "e.toml"]).exits(2).stderr_has("`prices` names it, relative to");
}

#[test]
fn a_secret_written_into_the_experiment_is_refused_wherever_it_stands() {
    let project = Project::new().with_cases(1);
    let head = "name = \"e\"\ngolden = \"golden.jsonl\"\ngraders = [{ kind = \"words\", any = [\"x\"] }]\n\
                [[target]]\nname = \"t\"\nprovider = \"p\"\nmodel = \"m\"\n";
    let model = "[provider.p]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n";
    for section in [
        format!("extra = {{ api_key = \"s3cret-word\" }}\n{model}"),
        format!("extra = {{ extra_headers = {{ Authorization = \"s3cret-word\" }} }}\n{model}"),
        "[provider.p]\nkind = \"exec\"\ncommand = [\"cat\", \"--api-key=s3cret-word\"]\n".to_owned(),
        "[provider.p]\nkind = \"exec\"\nshell = true\ncommand = \"API_KEY=s3cret-word cat\"\n".to_owned(),
        "[provider.p]\nkind = \"http\"\nurl = \"http://127.0.0.1:9\"\nbody = { auth = { password = \"s3cret-word\" } }\n"
            .to_owned(),
    ] {
        project.write("e.toml", &format!("{head}{section}"));
        for command in ["check", "run"] {
            let said = project.caseload(&[command, "e.toml"]).exits(2).stderr_has("would be stored with every run");
            assert!(!said.stderr.contains("s3cret-word"), "{}", said.stderr);
        }
    }
    assert!(!project.store().exists());
}
