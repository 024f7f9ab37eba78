//! `caseload show`: a run's scorecard, its failures, or one case.

use clap::Args;

use super::{
    error::CliError,
    exit_status::ExitStatus,
    output,
    session::{self, print_scorecard},
    store_argument::StoreArgument,
};
use crate::{
    app::{self, RunDetail, find_run::find_run, gain::account},
    domain::CaseId,
    report::{account_text, case_text, failures_text},
};

/// Show a run: its scorecard, what failed, or one case
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The run: its name, the beginning of it, `latest` or `latest~1`
    #[arg(default_value = "latest")]
    run: String,

    /// List the trials that were wrong or not measured, with the reason
    #[arg(long, conflicts_with = "case")]
    failures: bool,

    /// Show one case: every answer, its scores and attempts
    #[arg(long, value_name = "ID")]
    case: Option<String>,

    /// End with what the run and its gates say, as `run` does
    ///
    /// Only gates that need no other side are judged: `caseload compare` judges all of them.
    #[arg(long)]
    gate: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgument,
}

/// Does `caseload show`.
pub(super) fn show(arguments: &ShowArgs) -> Result<ExitStatus, CliError> {
    let store = arguments.store.open()?;
    let detail = find_run(&store, &arguments.run)?;
    if let Some(case) = &arguments.case {
        let case = app::show::case(&store, &detail, &CaseId::from(case.as_str()))?;
        output::either(arguments.json, &case, || case_text(&case))?;
    } else if arguments.failures {
        let failures = app::failures::failures(&store, &detail)?;
        output::either(arguments.json, &failures, || failures_text(&failures))?;
    } else {
        print_scorecard(&store, detail.row.id, arguments.json)?;
        if !arguments.json {
            let account = account_text(&account(&store, &detail)?);
            if !account.is_empty() {
                output::data(&format!("\n{account}"))?;
            }
            output::note(&next_steps(&detail, &arguments.store.flag()));
        }
    }
    if arguments.gate {
        let gates = session::judge(&store, detail.row.id, arguments.json)?;
        return Ok(session::worse(ExitStatus::of_run(detail.row.status), gates));
    }
    Ok(ExitStatus::Success)
}

fn next_steps(detail: &RunDetail, store: &str) -> String {
    let name = &detail.row.name;
    format!(
        "next:\n  caseload show {name} --failures{store}\n  caseload show {name} --case ID{store}\n  \
         caseload export {name}{store}"
    )
}
