//! `caseload estimate`: dollars, hours and what will be seen, before anything is sent.

use std::{fs, path::PathBuf};

use clap::Args;

use super::{error::CliError, exit_status::ExitStatus, experiment_arguments::ExperimentArgs, output};
use crate::{
    app::{
        Ready,
        count_tokens::CountedTarget,
        designs::Wanted,
        estimate::{self, Estimating},
    },
    report::{frontier_svg, planned_text},
};

/// Say what a run would cost, how long it would take and what it could see; nothing is sent
///
/// Rests on the earlier runs of the store, where there are any: a `caseload pilot` of a few cases is
/// enough.
#[derive(Debug, Args)]
pub(super) struct EstimateArgs {
    #[command(flatten)]
    experiment: ExperimentArgs,

    #[command(flatten)]
    design: DesignArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What to look for among designs.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct DesignArgs {
    /// Estimate so many cases like those there are: a part of them, or more of the same kind
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    cases: Option<u32>,

    /// Print cases × repeats against dollars, hours and detectable difference
    #[arg(long)]
    grid: bool,

    /// Find the cheapest design that sees a difference of so many points
    #[arg(long, value_name = "POINTS")]
    detect: Option<f64>,

    /// Find the design that sees most for so many dollars
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,

    /// Find the design that sees most in so many hours
    #[arg(long, value_name = "HOURS")]
    hours: Option<f64>,

    /// What writing one more case costs, in dollars
    #[arg(long, value_name = "USD", default_value = "0")]
    case_cost: f64,

    /// Plan with this variance of the difference in difficulty in the place of a measured one
    #[arg(long, value_name = "VARIANCE")]
    omega2: Option<f64>,

    /// Plan with this variance within a case in the place of a measured one
    #[arg(long, value_name = "VARIANCE")]
    sigma2: Option<f64>,

    /// Plot cost against detectable difference: an SVG into this file, and here
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    /// Count a few prompts with Claude's free counting endpoint (needs the key; sends those prompts)
    #[arg(long)]
    count_tokens: bool,
}

/// Does `caseload estimate`.
pub(super) fn estimate(arguments: &EstimateArgs) -> Result<ExitStatus, CliError> {
    let ready = arguments.experiment.read()?;
    print(ready, &arguments.design, arguments.json)
}

/// Does `caseload run --dry-run`.
pub(super) fn dry_run(ready: Ready, json: bool) -> Result<ExitStatus, CliError> {
    print(ready, &DesignArgs::default(), json)
}

fn print(ready: Ready, arguments: &DesignArgs, json: bool) -> Result<ExitStatus, CliError> {
    let wanted = arguments.wanted();
    wanted.check()?;
    let earlier = estimate::earlier_runs(&ready.store)?;
    if let Some(error) = &earlier.passed_over {
        output::note(&format!("note: earlier runs are not looked at: {error}"));
    }
    let mut estimating = Estimating::new(ready, earlier.store.as_ref(), wanted)?;
    if arguments.count_tokens {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        for CountedTarget { target, prompts } in runtime.block_on(estimating.count_tokens())? {
            output::note(&format!("note: {prompts} prompts of `{target}` were counted by the provider"));
        }
    }
    let planned = estimating.plan()?;
    if let Some(path) = &arguments.plot {
        fs::write(path, frontier_svg(&planned.frontier, &planned.now))
            .map_err(|error| CliError::usage(format!("failed to write `{}`: {error}", path.display())))?;
    }
    output::either(json, &planned, || planned_text(&planned, arguments.plot.is_some()))?;
    Ok(ExitStatus::Success)
}

impl DesignArgs {
    fn wanted(&self) -> Wanted {
        let Self { cases, grid, detect, budget, hours, case_cost, omega2, sigma2, .. } = *self;
        Wanted { cases, grid, detect, budget, hours, case_cost, omega2, sigma2 }
    }
}
