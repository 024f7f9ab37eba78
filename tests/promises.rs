//! What the documentation promises, as somebody new to it would try it.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::json;

use crate::support::Project;

/// A simulated experiment over eight cases: `good` passes nearly always, `poor` rarely.
fn simulated(top: &str, end: &str) -> Project {
    let target = |name: &str, skill: f64| {
        format!("[[target]]\nname = \"{name}\"\nprovider = \"sim\"\nsimulate = {{ skill = {skill}, latency_ms = 0 }}\n")
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
