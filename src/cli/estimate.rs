//! `caseload estimate`: dollars, hours and what will be seen, before anything is sent.

use std::{fs, path::PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::{
    error::CliError,
    exit_status::ExitStatus,
    experiment_arguments::{ExperimentArgs, Ready},
    output,
};
use crate::{
    config::Experiment,
    domain::{RunRow, TargetPos},
    estimate::{
        self, Assumptions, Estimate, History, Options, Spread,
        design::{self, DesignRow, Impossible, Prices},
        frontier::frontier,
        held,
        repeats::{RepeatGain, repeat_gain},
        sample,
    },
    evidence::Evidence,
    report::{
        designs_text, estimate_text, frontier_svg, frontier_text, held_text, repeat_gain_text,
        segment_needs_text,
    },
    stats::variance_components,
    store::{RunCase, RunDetail, Store, StoreError},
};

/// Undecided cases that are named.
const NAMED: usize = 5;

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
    let ready = arguments.experiment.read(false)?;
    print(ready, &arguments.design, arguments.json)
}

/// Does `caseload run --dry-run`.
pub(super) fn dry_run(ready: Ready, json: bool) -> Result<ExitStatus, CliError> {
    print(ready, &DesignArgs::default(), json)
}

fn print(ready: Ready, arguments: &DesignArgs, json: bool) -> Result<ExitStatus, CliError> {
    arguments.check()?;
    let Ready { mut experiment, store, .. } = ready;
    let store = open(&store)?;
    let there_are = experiment.cases.len() as u64;
    if let Some(cases) = arguments.cases {
        resize(&mut experiment, cases as usize);
    }
    let mut history = match &store {
        Some(store) => History::read(store, &experiment, &[])?,
        None => History::nothing(&experiment),
    };
    if arguments.count_tokens {
        super::count_tokens::correct(&experiment, &mut history)?;
    }
    let options = Options { assumptions: arguments.assumptions() };
    let mut estimate = estimate::estimate(&experiment, &history, &options);
    if let Some(store) = &store {
        add_records(store, &mut estimate)?;
    }
    let prices = prices(&estimate, there_are, arguments.case_cost);
    let spread = &widest(&estimate);
    let plans = Plans::make(arguments, &experiment, &prices, spread, estimate.repeats)?;
    let gains = gains(&history, &estimate);
    let now = prices.row(spread, estimate.cases as u64, whole_repeats(estimate.repeats));
    let designs = frontier(&prices, spread);
    if let Some(path) = &arguments.plot {
        fs::write(path, frontier_svg(&designs, &now)).map_err(|error| CliError::Usage {
            message: format!("failed to write `{}`: {error}", path.display()),
            hint: None,
        })?;
    }
    let text = if json {
        let mut whole = serde_json::to_value(&estimate).expect("an estimate is plain data");
        whole["designs"] = plans.json();
        whole["repeat_gains"] = json!(gains.iter().map(Gain::json).collect::<Vec<_>>());
        serde_json::to_string_pretty(&whole).expect("an estimate is plain data")
    } else {
        let mut text = estimate_text(&estimate);
        text.push_str(&plans.text());
        if !gains.is_empty() {
            text.push_str("\nwhere repeats would help (the next run's, never this one's by its outcomes)\n");
        }
        gains.iter().for_each(|gain| text.push_str(&gain.text()));
        if arguments.plot.is_some() {
            text.push('\n');
            text.push_str(&frontier_text(&designs, &now));
        }
        text
    };
    output::data(&text)?;
    Ok(ExitStatus::Success)
}

impl DesignArgs {
    /// Numbers that no plan can be made with.
    fn check(&self) -> Result<(), CliError> {
        let numbers = [
            ("--budget", self.budget),
            ("--hours", self.hours),
            ("--case-cost", Some(self.case_cost)),
            ("--omega2", self.omega2),
            ("--sigma2", self.sigma2),
            ("--detect", self.detect),
        ];
        match numbers.into_iter().find(|(_, number)| number.is_some_and(|n| !n.is_finite() || n < 0.0)) {
            Some((name, Some(number))) => Err(CliError::Usage {
                message: format!("`{name} {number}` cannot be planned with"),
                hint: Some("expected a number of 0 or more".to_owned()),
            }),
            _ => Ok(()),
        }
    }

    fn assumptions(&self) -> Option<Assumptions> {
        if self.omega2.is_none() && self.sigma2.is_none() {
            return None;
        }
        let usual = Assumptions::default();
        Some(Assumptions {
            omega2: self.omega2.unwrap_or(usual.omega2),
            sigma2: self.sigma2.unwrap_or(usual.sigma2),
        })
    }
}

/// The store, if there is one that can be read as it is.
fn open(path: &std::path::Path) -> Result<Option<Store>, CliError> {
    match Store::open_to_read(path) {
        Ok(store) => Ok(Some(store)),
        Err(StoreError::Missing { .. }) => Ok(None),
        Err(error @ StoreError::Older { .. }) => {
            output::note(&format!("note: earlier runs are not looked at: {error}"));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// The estimate of a run that is about to begin, as the store keeps it.
pub(super) fn at_start(
    store: &Store,
    experiment: &Experiment,
    run: RunRow,
    pilot: bool,
) -> Result<Value, CliError> {
    let history = History::read(store, experiment, &[run])?;
    let estimate = estimate::estimate(experiment, &history, &Options::default());
    let mut value = serde_json::to_value(&estimate).expect("an estimate is plain data");
    value["pilot"] = json!(pilot);
    Ok(value)
}

/// Fewer cases: a stratified sample. More: the same ones again, as if there were more of their kind.
fn resize(experiment: &mut Experiment, wanted: usize) {
    let there_are = experiment.cases.len();
    if wanted < there_are {
        let sample = sample::stratified_sample(&experiment.cases, wanted, experiment.settings.seed);
        experiment.cases = sample.into_iter().map(|at| experiment.cases[at].clone()).collect();
    } else {
        for at in 0..wanted - there_are {
            experiment.cases.push(experiment.cases[at % there_are].clone());
        }
    }
}

fn add_records(store: &Store, estimate: &mut Estimate) -> Result<(), CliError> {
    let experiment = estimate.experiment.clone();
    for target in &mut estimate.targets {
        target.record = held::record(store, &experiment, &target.name)?;
    }
    Ok(())
}

fn whole_repeats(repeats: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, as meant")]
    let repeats = repeats.round() as u32;
    repeats.max(1)
}

/// What one more sample takes, from an estimate of all of them.
fn prices(estimate: &Estimate, there_are: u64, usd_a_case: f64) -> Prices {
    let samples = (estimate.cases as f64 * estimate.repeats).max(1.0);
    Prices {
        usd_a_sample: estimate.total.cost_usd.map(|cost| cost.mid / samples),
        usd_a_case,
        seconds_a_sample: estimate.total.wall_seconds.mid / samples,
        seconds_at_start: 0.0,
        cases: there_are,
        cluster_size: estimate.cases as f64 / estimate.clusters.max(1) as f64,
    }
}

/// The spread of the target that sees least.
fn widest(estimate: &Estimate) -> Spread {
    let of = |target: &estimate::TargetEstimate| target.detectable_difference.paired;
    let widest = estimate.targets.iter().max_by(|a, b| of(a).total_cmp(&of(b)));
    widest.expect("an experiment has a target").detectable_difference.spread.clone()
}

/// The designs that were asked for.
#[derive(Debug, Default)]
struct Plans {
    grid: Vec<DesignRow>,
    cheapest: Option<(f64, DesignRow)>,
    clusters: Option<u64>,
    segments: Vec<design::SegmentNeed>,
    /// Title and designs: with the cases there are, and with new ones.
    best: Vec<(String, DesignRow)>,
}

impl Plans {
    fn make(
        arguments: &DesignArgs,
        experiment: &Experiment,
        prices: &Prices,
        spread: &Spread,
        repeats: f64,
    ) -> Result<Self, CliError> {
        let mut plans = Self::default();
        if arguments.grid {
            plans.grid = prices.grid(spread);
        }
        if let Some(points) = arguments.detect {
            let delta = points / 100.0;
            let row = prices.cheapest(spread, delta).map_err(impossible)?;
            plans.clusters = design::clusters_needed(spread, delta, row.repeats, prices.cluster_size);
            let sizes = segment_sizes(experiment);
            let sizes = sizes.iter().map(|((key, value), cases)| (key.as_str(), value.as_str(), *cases));
            plans.segments = design::segment_needs(spread, sizes, delta, whole_repeats(repeats));
            plans.cheapest = Some((points, row));
        }
        let there_are = Some(prices.cases);
        if let Some(budget) = arguments.budget {
            let row = |most| prices.for_budget(spread, budget, most).map_err(impossible);
            plans.best.push((format!("best for ${budget} with the cases there are"), row(there_are)?));
            plans.best.push((format!("best for ${budget} with new cases"), row(None)?));
        }
        if let Some(hours) = arguments.hours {
            let row = |most| prices.for_hours(spread, hours, most).map_err(impossible);
            plans.best.push((format!("best in {hours} hours with the cases there are"), row(there_are)?));
            plans.best.push((format!("best in {hours} hours with new cases"), row(None)?));
        }
        Ok(plans)
    }

    fn json(&self) -> Value {
        let best = self.best.iter().map(|(title, row)| json!({ "title": title, "design": row }));
        json!({
            "grid": self.grid,
            "cheapest": self.cheapest.as_ref().map(|(points, row)| json!({ "points": points, "design": row })),
            "clusters_needed": self.clusters,
            "segments": self.segments,
            "best": best.collect::<Vec<_>>(),
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if !self.grid.is_empty() {
            text.push('\n');
            text.push_str(&designs_text("cases × repeats", &self.grid));
        }
        if let Some((points, row)) = &self.cheapest {
            text.push('\n');
            let title = format!("cheapest design that sees {points} points");
            text.push_str(&designs_text(&title, std::slice::from_ref(row)));
            if let Some(clusters) = self.clusters.filter(|clusters| *clusters < 50) {
                text.push_str(&format!("  with so few clusters the t test needs {clusters} of them\n"));
            }
        }
        if !self.segments.is_empty() {
            text.push('\n');
            text.push_str(&segment_needs_text(&self.segments));
        }
        for (title, row) in &self.best {
            text.push('\n');
            text.push_str(&designs_text(title, std::slice::from_ref(row)));
        }
        text
    }
}

fn impossible(error: Impossible) -> CliError {
    CliError::Usage { message: error.message, hint: error.nearest }
}

type Sizes = std::collections::BTreeMap<(String, String), u64>;

fn segment_sizes(experiment: &Experiment) -> Sizes {
    let mut sizes = Sizes::new();
    for planned in &experiment.cases {
        for (key, value) in planned.case.segment.iter() {
            *sizes.entry((key.clone(), value.clone())).or_default() += 1;
        }
    }
    sizes
}

/// What repeats would gain one target.
struct Gain {
    name: String,
    gain: RepeatGain,
    undecided: Vec<String>,
}

impl Gain {
    fn text(&self) -> String {
        let named = &self.undecided[..self.undecided.len().min(NAMED)];
        repeat_gain_text(&self.name, &self.gain, named, self.undecided.len())
    }

    fn json(&self) -> Value {
        json!({ "target": self.name, "gain": self.gain, "undecided_cases": self.undecided })
    }
}

/// Where earlier runs have repeats, what one more would gain.
fn gains(history: &History, estimate: &Estimate) -> Vec<Gain> {
    let of = |(target, past): (&estimate::TargetEstimate, &estimate::TargetHistory)| {
        let spread = &target.detectable_difference.spread;
        let repeated = past.cases.iter().any(|case| case.scores.len() > 1);
        if spread.assumed || !repeated {
            return None;
        }
        let undecided = past.cases.iter().filter(|case| {
            let passes: f64 = case.scores.iter().sum();
            0.0 < passes && passes < case.scores.len() as f64
        });
        let undecided = undecided.filter_map(|case| case.id.as_ref().map(ToString::to_string)).collect();
        let repeats = whole_repeats(estimate.repeats);
        let gain = repeat_gain(spread.between, spread.within, estimate.cases as u64, repeats)?;
        Some(Gain { name: target.name.clone(), gain, undecided })
    };
    estimate.targets.iter().zip(&history.targets).filter_map(of).collect()
}

/// Prints below a scorecard what was estimated against what came, and where repeats would help.
pub(super) fn print_account(store: &Store, detail: &RunDetail) -> Result<(), CliError> {
    let mut text = String::new();
    if let Some(held) = held::held(store, &detail.row)? {
        text.push_str(&held_text(&held));
    }
    let mut cases = vec![];
    store.for_each_case::<StoreError>(detail.row.id, |case| {
        cases.push(case);
        Ok(())
    })?;
    for (position, target) in (0..).map(TargetPos).zip(&detail.targets) {
        let planned = cases.iter().map(|case: &RunCase| case.repeats);
        let evidence = Evidence::read_lean(store, detail.row.id, position, planned)?;
        let counts = evidence.counts();
        let repeats = counts.iter().map(|count| count.measured).max().unwrap_or(0);
        let undecided = cases.iter().zip(&counts).filter(|(_, count)| count.is_flaky());
        let undecided = undecided.map(|(case, _)| case.id.to_string()).collect();
        let scores = evidence.samples(&cases);
        let components = scores.samples().ok().and_then(|samples| variance_components(&samples).ok());
        let Some(components) = components.filter(|_| repeats > 1) else { continue };
        let (Ok(between), Ok(within)) = (components.between, components.within) else { continue };
        if let Some(gain) = repeat_gain(between, within, components.n as u64, repeats) {
            let name = target.name.to_string();
            text.push_str(&Gain { name, gain, undecided }.text());
        }
    }
    if !text.is_empty() {
        output::data(&format!("\n{text}"))?;
    }
    Ok(())
}
