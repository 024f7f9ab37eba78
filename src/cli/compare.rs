//! `caseload compare`: two sides (or several) case by case, and what the gates say.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{error::CliError, exit_status::ExitStatus, output, store_argument::StoreArgument};
use crate::{
    app::{
        Store, Verdict,
        compare::{self, Wanted, need_store},
        compare_case::compare_case,
    },
    domain::CaseId,
    report::{Form, compared_case_text, written},
};

/// Compare two sides case by case: what got better, what broke, what it costs, may it ship
///
/// A is the baseline, B the candidate; every difference is B − A. A side is a run (`nightly-12`,
/// `latest`, `latest~1`), one target of a run (`latest:opus-5`), `baseline` (the committed
/// results/baseline.json) or another baseline file. With more than two sides, each is compared with
/// the first.
#[derive(Debug, Args)]
pub(super) struct CompareArgs {
    /// The sides: the baseline first
    #[arg(required = true, num_args = 2.., value_name = "SIDE")]
    sides: Vec<String>,

    /// Print JSON: the same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Print in this form
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Name every case that was left out, and every flip
    #[arg(long)]
    list: bool,

    /// Show both answers to one case side by side, with the scores' reasons and what differs
    #[arg(long, value_name = "ID")]
    case: Option<String>,

    /// Judge by the gates of this experiment file, not by those the candidate's run was started with
    ///
    /// A gate that differs from the one the run was started with is reported as edited.
    #[arg(long, value_name = "FILE")]
    gates: Option<PathBuf>,

    /// Compare although graders of the same name have different versions
    ///
    /// The difference may then be the graders' and not the targets'.
    #[arg(long)]
    allow_grader_change: bool,

    #[command(flatten)]
    store: StoreArgument,
}

/// The forms in which a comparison is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a terminal, at most 100 columns
    Text,
    /// For machines
    Json,
    /// A pull-request comment: the verdict first, the flips folded, below what GitHub takes
    Markdown,
    /// JUnit XML: a test case per golden case, regressions as failures
    Junit,
    /// A row a case, for spreadsheets; text that one would run begins with '
    Csv,
    /// Annotations of a GitHub Actions workflow
    Github,
}

impl Format {
    fn form(self, list: bool) -> Form {
        match self {
            Self::Text => Form::Text { list },
            Self::Json => Form::Json,
            Self::Markdown => Form::Markdown,
            Self::Junit => Form::Junit,
            Self::Csv => Form::Csv,
            Self::Github => Form::Github,
        }
    }
}

/// Does `caseload compare`.
pub(super) fn compare_sides(arguments: &CompareArgs) -> Result<ExitStatus, CliError> {
    let store = need_store(&arguments.sides).then(|| arguments.store.open()).transpose()?;
    let wanted = Wanted {
        sides: arguments.sides.clone(),
        gates: arguments.gates.clone(),
        allow_grader_change: arguments.allow_grader_change,
    };
    let format = if arguments.json { Format::Json } else { arguments.format };
    if let Some(case) = &arguments.case {
        return show_case(arguments, store, &CaseId::from(case.as_str()), format == Format::Json);
    }
    let form = format.form(arguments.list);
    let compared = compare::compare(store.as_ref(), &wanted)?;
    let answers = compared.answers(store.as_ref(), form.answers())?;
    output::document(&written(form, &compared, &answers)?)?;
    Ok(status(compared.verdict()))
}

/// What the process ends with: what the gates say, never that a run is incomplete.
pub(super) fn status(verdict: Verdict) -> ExitStatus {
    match verdict {
        Verdict::Pass | Verdict::NoGates => ExitStatus::Success,
        Verdict::Fail => ExitStatus::GateFailed,
        Verdict::CannotTell => ExitStatus::CannotTell,
    }
}

fn show_case(
    arguments: &CompareArgs,
    store: Option<Store>,
    case: &CaseId,
    json: bool,
) -> Result<ExitStatus, CliError> {
    let sides = compare::sides(store.as_ref(), &arguments.sides)?;
    let store = store.map_or_else(|| arguments.store.open(), Ok)?;
    let compared = compare_case(&store, &sides, case)?;
    output::either(json, &compared, || compared_case_text(&compared))?;
    Ok(ExitStatus::Success)
}
