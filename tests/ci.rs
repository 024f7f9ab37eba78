//! `docs/ci.md`: every command in it runs, and every workflow file is whole.

use std::fs;

use crate::support::Project;

fn page() -> String {
    fs::read_to_string("docs/ci.md").unwrap()
}

/// The commands of the page's code blocks: each without what the shell does around it.
fn commands() -> Vec<Vec<String>> {
    // A workflow notes the run's name in a variable; here it is the latest of both targets.
    let page = page().replace("\\\n", " ").replace("\"$RUN:", "latest:").replace("candidate\"", "candidate");
    let page = page.replace("today\"", "today");
    let mut inside = false;
    let mut commands = vec![];
    for line in page.lines() {
        if line.starts_with("```") {
            inside = !inside;
        }
        let line = line.trim().trim_start_matches("- run: ").trim_start_matches("- ");
        for part in line.split("||").flat_map(|part| part.split(';')).map(str::trim).filter(|_| inside) {
            let Some(rest) = part.strip_prefix("caseload ") else { continue };
            let words = rest.split_whitespace().take_while(|word| !word.starts_with('>'));
            commands.push(words.map(ToOwned::to_owned).collect());
        }
    }
    commands
}

/// The shipped experiment's shape, played by the simulator.
const EXPERIMENT: &str = "name = \"model-upgrade\"\ngolden = \"../golden.jsonl\"\nrepeats = 2\n\n\
    [[target]]\nname = \"today\"\nprovider = \"s\"\nmodel = \"m-1\"\nmax_tokens = 50\n\
    simulate = { skill = 0.9, latency_ms = { mean = 1, jitter = 0 } }\n\n\
    [[target]]\nname = \"candidate\"\nprovider = \"s\"\nmodel = \"m-1\"\nmax_tokens = 50\n\
    simulate = { skill = 0.4, latency_ms = { mean = 1, jitter = 0 } }\n\n\
    [provider.s]\nkind = \"simulator\"\n\n\
    [[price]]\nmodel = \"m-1\"\neffective_from = 2020-01-01\nsource = \"made up\"\n\
    usd_per_mtok = { input = 1.00, output = 5.00 }\n";

#[test]
fn every_command_of_the_page_runs() {
    let project = Project::new().with_cases(12).with("config/model-upgrade.toml", EXPERIMENT);
    let store = project.store().display().to_string();
    project.caseload(&["run", "config/model-upgrade.toml", "--quiet"]).exits(0);
    let commands = commands();
    assert!(commands.len() > 15, "{commands:?}");
    for command in commands {
        // Whatever store a workflow names, here all look at one.
        let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
        if let Some(at) = words.iter().position(|word| *word == "--store") {
            words[at + 1] = &store;
        }
        // The nightly comparison follows a run of both targets.
        if words.contains(&"latest:candidate") {
            project.caseload(&["run", "config/model-upgrade.toml", "--quiet"]).exits(0);
        }
        let done = project.caseload(&words);
        assert!([0, 1, 5].contains(&done.code), "{words:?}: {}\n{}", done.code, done.stderr);
        assert!(!done.stdout.is_empty() || words[0] == "baseline", "{words:?} printed nothing");
    }
}

#[test]
fn every_form_of_a_comparison_is_what_it_says() {
    let project = Project::new().with_cases(12).with("config/model-upgrade.toml", EXPERIMENT);
    project.caseload(&["run", "config/model-upgrade.toml", "--quiet"]).exits(0);
    let compared = |form: &str| {
        project.caseload(&["compare", "latest:today", "latest:candidate", "--format", form]).exits(0).stdout
    };
    let comment = compared("markdown");
    assert!(
        comment.starts_with("<!-- caseload:compare model-upgrade:candidate -->\n## No gates: "),
        "{comment}"
    );
    assert!(comment.contains("<summary>Broke: ") && comment.contains("  - is: "), "{comment}");
    let junit = compared("junit");
    assert!(junit.starts_with("<?xml") && junit.matches("<testcase ").count() == 12, "{junit}");
    assert!(junit.contains("<failure "), "{junit}");
    assert_eq!(compared("csv").lines().count(), 13);
    assert!(compared("github").lines().all(|line| line.starts_with("::")));
    let three = ["compare", "latest:today", "latest:candidate", "model-upgrade-1:today", "--format", "csv"];
    project.caseload(&three).exits(2);
}
