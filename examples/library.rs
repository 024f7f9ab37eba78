//! caseload as a library: a golden set in memory, a run of it, and what its comparison says.
//!
//! ```sh
//! cargo run --example library
//! ```

#![allow(clippy::print_stdout, unreachable_pub, reason = "an example prints its result and is tested")]

use std::path::Path;

use caseload::app::{AppError, Overrides, Ready, Session, Shutdown, compare, find_run, run};
use tokio::sync::watch;

const EXPERIMENT: &str = r#"
name = "sums"
golden = "in-memory.jsonl"
repeats = 3
graders = [{ kind = "exact" }]
gates = { non_inferiority_margin = 0.05 }

[[target]]
name = "old"
provider = "simulator"
model = "m-1"
simulate = { skill = 0.6 }

[[target]]
name = "new"
provider = "simulator"
model = "m-2"
simulate = { skill = 0.9 }
"#;

/// Runs the experiment into the store at `path`, compares both targets and says how that went.
pub async fn run_and_compare(path: &Path) -> Result<String, AppError> {
    let case = |n: u32| {
        let sum = n + n;
        format!(
            r#"{{"id": "c{n}", "input": "{n} + {n}?", "expected": "{sum}", "examples": {{"pass": ["{sum}"]}}}}"#
        )
    };
    let golden = (0..200).map(case).collect::<Vec<_>>().join("\n");
    let overrides = Overrides { store: Some(path.to_owned()), ..Overrides::default() };
    let session: Session = run::begin(Ready::from_text(EXPERIMENT, &golden, &overrides)?)?;
    let (_stop, shutdown) = watch::channel(Shutdown::No);
    let summary = session.work(vec![], shutdown).await?;

    let sides = vec!["latest:old".to_owned(), "latest:new".to_owned()];
    let wanted = compare::Wanted { sides, ..compare::Wanted::default() };
    let compared = compare::compare(Some(&find_run::open_to_read(path)?), &wanted)?;
    let points = compared.comparisons()[0].difference.point.unwrap_or_default() * 100.0;
    Ok(format!("{} trials: {points:+.1} points, {:?}", summary.ended, compared.verdict()))
}

#[tokio::main]
async fn main() -> Result<(), AppError> {
    println!("{}", run_and_compare(&std::env::temp_dir().join("caseload-library.db")).await?);
    Ok(())
}
