//! Every command that the README shows, run as a reader would run it.

use std::{fs, path::Path};

use crate::support::Project;

/// The lines of the README's console blocks, without the prompt.
fn commands() -> Vec<String> {
    let readme = fs::read_to_string("README.md").unwrap();
    let lines = readme.lines().filter_map(|line| line.strip_prefix("$ "));
    lines.map(ToOwned::to_owned).collect()
}

/// A copy of what a clone has beside the sources.
fn clone() -> Project {
    let project = Project::new();
    for folder in ["config", "golden", "golden/help-desk", "results"] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                project.write(path.to_str().unwrap(), &fs::read_to_string(&path).unwrap());
            }
        }
    }
    project
}

#[test]
fn every_command_of_the_readme_runs() {
    let project = clone();
    for command in commands() {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words.as_slice() {
            ["cargo", "run", "--release", "--", arguments @ ..] | ["caseload", arguments @ ..] => {
                let finished = project.caseload(arguments);
                // The comparisons that it shows are refused by the gates.
                let code = i32::from(arguments[0] == "compare");
                assert_eq!(finished.code, code, "{command}\n{}\n{}", finished.stdout, finished.stderr);
                if arguments == ["run", "config/demo.toml"] {
                    shows_what_the_readme_shows(&finished.stdout);
                }
            }
            // It runs this very test; that it is there and can be executed must do.
            ["tests/all"] => assert!(Path::new("tests/all").exists()),
            _ => panic!("`{command}` stands in the README and no test knows how to run it"),
        }
    }
}

/// The README's picture of a scorecard is what the demo prints, but for how long it took.
#[track_caller]
fn shows_what_the_readme_shows(stdout: &str) {
    let readme = fs::read_to_string("README.md").unwrap();
    let picture = readme.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let untimed = |line: &str| {
        line.split(" · complete").next().unwrap().split("; queue wait").next().unwrap().to_owned()
    };
    for (shown, printed) in picture.lines().zip(stdout.lines()) {
        assert_eq!(untimed(shown), untimed(printed), "the README's scorecard is not what the demo prints");
    }
}

#[test]
fn the_demo_shows_both_scorecards_and_a_second_run_is_a_new_one() {
    let project = clone();
    let quick = ["run", "config/demo.toml", "--limit", "30", "--repeats", "2"];
    project
        .caseload(&quick)
        .exits(0)
        .stdout_has("demo-1")
        .stdout_has("made-up-large")
        .stdout_has("made-up-small");
    project.caseload(&quick).exits(0).stdout_has("demo-2");
    let before: i64 = project.sql("SELECT count(*) FROM attempt");
    project.caseload(&["resume", "demo-2"]).exits(0).stderr_has("nothing to ask");
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM attempt"), before);
}

#[test]
fn every_shipped_experiment_is_sound() {
    let project = clone();
    for entry in fs::read_dir("config").unwrap() {
        let path = entry.unwrap().path();
        // Prices and sign-offs stand beside the experiments and are none.
        if fs::read_to_string(&path).unwrap().contains("[[target]]") {
            project.caseload(&["check", path.to_str().unwrap(), "--no-keys"]).exits(0);
        }
    }
}

#[test]
fn every_line_of_a_screen_fits_a_hundred_columns() {
    let project = clone();
    let quick = ["run", "config/demo.toml", "--limit", "40", "--repeats", "2"];
    let finished = project.caseload(&quick).exits(0);
    for line in finished.stdout.lines().chain(finished.stderr.lines()) {
        assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
    }
}
