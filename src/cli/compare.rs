//! `caseload compare`: two sides (or several) case by case, and what the gates say.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use jiff::{Timestamp, tz::TimeZone};

use super::{
    compare_case,
    compare_forms::{self, Form},
    error::CliError,
    exit_status::ExitStatus,
    output,
    store_argument::StoreArgument,
};
use crate::{
    compare::{
        CompareError, Comparison, Options, Side, SideSource, Verdict, compare, compare_all, read_sides,
    },
    config,
    domain::CaseId,
    report::{comparison_text, matrix_text},
    store::Store,
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

impl From<CompareError> for CliError {
    fn from(error: CompareError) -> Self {
        match error {
            CompareError::Store(error) => Self::Store(error),
            CompareError::Faults(faults) => Self::Faults(faults),
            error => Self::usage(error.to_string()),
        }
    }
}

/// Does `caseload compare`.
pub(super) fn compare_sides(arguments: &CompareArgs) -> Result<ExitStatus, CliError> {
    let sources = find(&arguments.sides, &arguments.store)?;
    let mut options = Options {
        allow_grader_change: arguments.allow_grader_change,
        gates: arguments.gates.as_deref().map(config::read_gates).transpose()?,
        confirmed: std::collections::HashMap::new(),
        today: TimeZone::UTC.to_datetime(Timestamp::now()).date(),
    };
    let sides = read_sides(&sources, &arguments.store.store)?;
    if let Some(case) = &arguments.case {
        return show_case(arguments, &sides, &CaseId::from(case.as_str()));
    }
    let format = if arguments.json { Format::Json } else { arguments.format };
    if let [a, b] = sides.as_slice() {
        options.confirmed = compare_forms::confirmed(&arguments.store, [a, b])?;
        let comparison = compare(a, b, &options)?;
        let text = match format.form() {
            Some(form) => compare_forms::written(form, &arguments.store, &sides, &[&comparison])?,
            None => printed(&comparison, format, arguments.list),
        };
        output::data(&text)?;
        return Ok(status(comparison.verdict));
    }
    let matrix = compare_all(&sides, &options)?;
    let rows: Vec<&Comparison> = matrix.rows.iter().map(|row| &row.comparison).collect();
    output::data(&match format.form() {
        Some(form) => compare_forms::written(form, &arguments.store, &sides, &rows)?,
        None if format == Format::Json => {
            serde_json::to_string_pretty(&matrix).expect("a matrix is plain data")
        }
        None => matrix_text(&matrix),
    })?;
    Ok(status(matrix.verdict))
}

impl Format {
    /// The form that others read, if it is one.
    fn form(self) -> Option<Form> {
        match self {
            Self::Text | Self::Json => None,
            Self::Markdown => Some(Form::Markdown),
            Self::Junit => Some(Form::Junit),
            Self::Csv => Some(Form::Csv),
            Self::Github => Some(Form::Github),
        }
    }
}

fn printed(comparison: &Comparison, format: Format, list: bool) -> String {
    if format == Format::Json {
        return serde_json::to_string_pretty(comparison).expect("a comparison is plain data");
    }
    comparison_text(comparison, list)
}

/// What the process ends with: what the gates say, never that a run is incomplete.
pub(super) fn status(verdict: Verdict) -> ExitStatus {
    match verdict {
        Verdict::Pass | Verdict::NoGates => ExitStatus::Success,
        Verdict::Fail => ExitStatus::GateFailed,
        Verdict::CannotTell => ExitStatus::CannotTell,
    }
}

/// Finds the sides; the store is opened only when one of them is in it.
pub(super) fn find(texts: &[String], argument: &StoreArgument) -> Result<Vec<SideSource>, CliError> {
    let mut store: Option<Store> = None;
    let mut sources: Vec<SideSource> = vec![];
    for text in texts {
        let source = match SideSource::baseline(text) {
            Some(baseline) => baseline,
            None => {
                let opened = match store.take() {
                    Some(store) => store,
                    None => argument.open()?,
                };
                SideSource::find(store.insert(opened), text)?
            }
        };
        if sources.iter().any(|other| other.is_same(&source)) {
            return Err(CompareError::SameSide { label: text.clone() }.into());
        }
        sources.push(source);
    }
    Ok(sources)
}

fn show_case(arguments: &CompareArgs, sides: &[Side], case: &CaseId) -> Result<ExitStatus, CliError> {
    let store = arguments.store.open()?;
    let mut answers = vec![];
    for side in sides {
        answers.push(compare_case::read(&store, side, case)?);
    }
    compare_case::check_known(&answers, sides, case)?;
    let json = arguments.json || arguments.format == Format::Json;
    let text = if json { compare_case::json(case, &answers) } else { compare_case::text(case, &answers) };
    output::data(&text)?;
    Ok(ExitStatus::Success)
}
