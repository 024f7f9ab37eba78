//! `caseload confirm`: ask the flipped cases of a comparison again, on both sides.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use clap::Args;
use jiff::{Timestamp, tz::TimeZone};
use serde_json::json;

use super::{
    compare::find,
    error::CliError,
    exit_status::ExitStatus,
    new_run::{GoldenOrigin, store_run},
    output,
    session::{self, Prepared, Screen},
    store_argument::StoreArgument,
    stored_experiment::frozen,
};
use crate::{
    compare::{
        ConfirmedFlip, Count, Flipped, FreshCase, Options, Side, SideSource, compare, judge_fresh, read_sides,
    },
    config::{self, Experiment, Frozen, Gates},
    domain::{Case, CaseId, Cost, RunId, RunRow, RunStatus, TargetPos},
    report::{confirmation_text, count},
    stats::SplitMix64,
    store::{Confirmation, ConfirmationSides, ConfirmedCase, CreatedRun, RunDetail, Store, StoreError},
};

/// The version of the JSON shape.
const SCHEMA_VERSION: u32 = 1;

/// What is added to an experiment's name for the runs that confirm its flips.
const SUFFIX: &str = "-confirm";

/// Ask the flipped cases of a comparison again, on both sides, and judge each flip by that alone
///
/// The first answers were selected for differing, so they prove nothing. What the fresh ones say is
/// stored beside the comparison: `compare` shows it, and `flip_budget = { confirmed = true }` counts
/// by it. The fresh answers are runs of their own, named after the experiment with `-confirm`.
#[derive(Debug, Args)]
pub(super) struct ConfirmArgs {
    /// The baseline: a run, or RUN:TARGET
    #[arg(value_name = "A")]
    baseline: String,

    /// The candidate: a run, or RUN:TARGET
    #[arg(value_name = "B")]
    candidate: String,

    /// Ask each flipped case this many times on each side
    ///
    /// Below 4 no flip can be confirmed, and the more flips there are the more it takes: 8 are enough
    /// for several hundred.
    #[arg(long, value_name = "M", default_value = "8", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: u32,

    /// Stop before more than this could be spent, in dollars, on both sides together
    #[arg(long, value_name = "USD")]
    max_cost: Option<Cost>,

    /// Ask nothing: judge the fresh answers that are stored, such as after `caseload resume`
    #[arg(long, conflicts_with_all = ["repeats", "max_cost"])]
    judge: bool,

    /// Confirm although graders of the same name differ between the sides
    #[arg(long)]
    allow_grader_change: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Show no progress
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    store: StoreArgument,
}

/// One side with what is needed to ask it again.
#[derive(Debug)]
struct Source {
    detail: RunDetail,
    target: TargetPos,
}

/// Does `caseload confirm`.
pub(super) fn confirm(arguments: &ConfirmArgs) -> Result<ExitStatus, CliError> {
    let mut store = arguments.store.open_to_write()?;
    let texts = [arguments.baseline.clone(), arguments.candidate.clone()];
    let found = find(&texts, &arguments.store)?;
    let found = found.into_iter().map(stored).collect::<Result<Vec<_>, _>>()?;
    let sources = <[Source; 2]>::try_from(found).expect("two sides were asked for");
    let wanted =
        sources.each_ref().map(|source| SideSource::Stored(Box::new(source.detail.clone()), source.target));
    let sides = read_sides(&wanted, &arguments.store.store)?;
    let [a, b] = <[Side; 2]>::try_from(sides).expect("two sides were asked for");
    let flips = flips(&a, &b, arguments.allow_grader_change)?;
    let of = |source: &Source| (source.detail.row.id, source.target);
    let pair = ConfirmationSides { a: of(&sources[0]), b: of(&sources[1]) };
    if flips.is_empty() {
        return nothing_flipped(arguments, [&a, &b]);
    }
    if arguments.judge {
        let Some(known) = store.confirmation(pair)? else {
            return Err(CliError::Usage {
                message: "the flips of these two sides were never asked again".to_owned(),
                hint: Some("run it without --judge".to_owned()),
            });
        };
        judge_and_print(arguments, &mut store, pair, known.fresh_runs, [&a, &b], &flips)?;
        return Ok(ExitStatus::Success);
    }
    let shares = budgets(arguments.max_cost, [&a, &b], &flips);
    let mut prepared = vec![];
    // Fresh draws on each side, each time that it is asked again.
    let earlier = store.list_runs()?.len() as u64;
    for ((source, budget), draw) in sources.iter().zip(shares).zip(earlier..) {
        let experiment = again(&store, source, &flips, arguments.repeats, budget, draw)?;
        config::missing_keys(&experiment.settings.providers).none_or(())?;
        prepared.push(experiment);
    }
    let runs = create(&mut store, &sources, &prepared)?;
    let fresh_runs = [runs[0].id, runs[1].id];
    // Stored before anything is asked: whatever happens, `--judge` finds the two runs.
    judge(&mut store, pair, fresh_runs, &flips)?;
    let trials: u64 = prepared.iter().map(Experiment::trials).sum();
    output::note(&format!(
        "asking {} flipped cases {} times on each side: {} trials",
        count(flips.len() as u64),
        arguments.repeats,
        count(trials)
    ));
    let names: Vec<RunId> = runs.iter().map(|run| run.name.clone()).collect();
    let status = ask(arguments, runs, prepared)?;
    judge_and_print(arguments, &mut store, pair, fresh_runs, [&a, &b], &flips)?;
    if status != RunStatus::Complete {
        let store = arguments.store.flag();
        output::note(&format!(
            "next:\n  caseload resume {}{store}\n  caseload resume {}{store}\n  caseload confirm {} {} --judge{store}",
            names[0], names[1], arguments.baseline, arguments.candidate
        ));
    }
    Ok(ExitStatus::of_run(status))
}

/// A side that can be asked again.
fn stored(side: SideSource) -> Result<Source, CliError> {
    match side {
        SideSource::Stored(detail, target) => Ok(Source { detail: *detail, target }),
        SideSource::Baseline(file) => Err(CliError::Usage {
            message: format!("{}: a committed baseline cannot be asked again", file.display()),
            hint: Some("name the run it was made from, or another run of the store".to_owned()),
        }),
    }
}

/// The flips of the comparison, the same as `compare` lists.
fn flips(a: &Side, b: &Side, allow_grader_change: bool) -> Result<Vec<Flipped>, CliError> {
    let options = Options {
        allow_grader_change,
        gates: Some(Gates::default()),
        confirmed: HashMap::new(),
        today: TimeZone::UTC.to_datetime(Timestamp::now()).date(),
    };
    let comparison = compare(a, b, &options)?;
    let rows = comparison.flips.rows.into_iter();
    Ok(rows.map(|row| Flipped { id: row.id, direction: row.direction }).collect())
}

fn nothing_flipped(arguments: &ConfirmArgs, sides: [&Side; 2]) -> Result<ExitStatus, CliError> {
    if arguments.json {
        print(arguments, sides, &[])?;
    } else {
        output::data("no case flipped: there is nothing to confirm")?;
    }
    Ok(ExitStatus::Success)
}

/// What each side may spend: the whole, in proportion to what the flipped cases cost at first; by
/// halves where that is not known.
fn budgets(max_cost: Option<Cost>, sides: [&Side; 2], flips: &[Flipped]) -> [Option<Cost>; 2] {
    let Some(whole) = max_cost else { return [None, None] };
    let ids: HashSet<&CaseId> = flips.iter().map(|flip| &flip.id).collect();
    let cost = |side: &Side| -> Option<f64> {
        side.cases.iter().filter(|case| ids.contains(&case.id)).map(|case| case.cost_usd).sum()
    };
    let share = match (cost(sides[0]), cost(sides[1])) {
        (Some(a), Some(b)) if a + b > 0.0 => a / (a + b),
        _ => 0.5,
    };
    #[expect(clippy::cast_precision_loss, reason = "a budget is split, and its parts add up to it")]
    #[expect(clippy::cast_possible_truncation, reason = "a share of the whole is no larger than it")]
    let first = Cost::from_picodollars((whole.picodollars() as f64 * share) as i64).min(whole);
    [Some(first), Some(whole.saturating_sub(first))]
}

/// The experiment that asks one side's flipped cases again, with the settings its run froze; `draw`
/// numbers its draws among those of the same seed.
fn again(
    store: &Store,
    source: &Source,
    flips: &[Flipped],
    repeats: u32,
    max_cost: Option<Cost>,
    draw: u64,
) -> Result<Experiment, CliError> {
    let Frozen { mut settings, prices } = frozen(&source.detail)?;
    let at = source.target.index();
    let target = settings.targets.swap_remove(at);
    if target.outputs.is_some() {
        return Err(CliError::Usage {
            message: format!("target `{}` replays recorded outputs: it has no fresh answers", target.name),
            hint: Some("confirm runs of a target that can be asked".to_owned()),
        });
    }
    settings.providers.retain(|provider| provider.name == target.provider);
    settings.targets = vec![target];
    settings.name = format!("{}{SUFFIX}", source.detail.row.experiment);
    settings.repeats = repeats;
    settings.max_cost = max_cost;
    settings.gates = Gates::default();
    settings.shard = None;
    settings.seed = SplitMix64::stream(settings.seed, draw).next_u64();
    let ids: HashSet<&CaseId> = flips.iter().map(|flip| &flip.id).collect();
    let mut cases: Vec<Arc<Case>> = vec![];
    store.for_each_whole_case::<StoreError>(source.detail.row.id, |mut case| {
        if ids.contains(&case.id) {
            case.repeats = Some(repeats);
            cases.push(Arc::new(case));
        }
        Ok(())
    })?;
    let price = prices.into_iter().nth(at).flatten();
    Ok(Experiment::prepare(settings, vec![price], cases, None)?)
}

fn create(
    store: &mut Store,
    sources: &[Source; 2],
    experiments: &[Experiment],
) -> Result<Vec<CreatedRun>, CliError> {
    let mut runs = vec![];
    for (source, experiment) in sources.iter().zip(experiments) {
        let row = &source.detail.row;
        let selected: Vec<Arc<Case>> =
            experiment.cases.iter().map(|planned| Arc::clone(&planned.case)).collect();
        let origin = GoldenOrigin {
            fingerprint: row.golden_fingerprint,
            path: &source.detail.golden_path,
            name: &row.golden_name,
            selected: &selected,
        };
        runs.push(store_run(store, experiment, origin)?);
    }
    Ok(runs)
}

/// Asks both sides, one after the other; how that ended, by the side that did worse.
fn ask(
    arguments: &ConfirmArgs,
    runs: Vec<CreatedRun>,
    experiments: Vec<Experiment>,
) -> Result<RunStatus, CliError> {
    let screen = Screen { json: arguments.json, quiet: arguments.quiet };
    let mut status = RunStatus::Complete;
    for (run, experiment) in runs.into_iter().zip(experiments) {
        if !matches!(status, RunStatus::Complete | RunStatus::Incomplete) {
            break;
        }
        let store = arguments.store.open_to_write()?;
        let prepared = Prepared::new(run, experiment, arguments.store.store.clone());
        let summary = session::ask_to_the_end(prepared, store, &screen)?;
        for reason in &summary.stops {
            output::note(&format!("stopped: {reason}"));
        }
        if summary.status != RunStatus::Complete {
            status = summary.status;
        }
    }
    Ok(status)
}

/// Judges the flips by what is stored of their fresh answers, and stores that.
fn judge(
    store: &mut Store,
    pair: ConfirmationSides,
    fresh_runs: [RunRow; 2],
    flips: &[Flipped],
) -> Result<Vec<ConfirmedFlip>, CliError> {
    let mut counts: Vec<HashMap<CaseId, Count>> = vec![];
    for run in fresh_runs {
        let side = Side::read(store, &store.run_detail(run)?, TargetPos(0))?;
        counts.push(side.cases.into_iter().map(|case| (case.id, case.count)).collect());
    }
    let count = |side: usize, id: &CaseId| counts[side].get(id).copied().unwrap_or_default();
    let fresh: Vec<FreshCase> = flips
        .iter()
        .map(|flip| FreshCase {
            flip: flip.clone(),
            baseline: count(0, &flip.id),
            candidate: count(1, &flip.id),
        })
        .collect();
    let judged = judge_fresh(&fresh).expect("no case passes more often than it was asked");
    let cases = judged
        .iter()
        .map(|flip| ConfirmedCase {
            case: flip.case.clone(),
            direction: flip.direction.as_str().to_owned(),
            a: (flip.baseline.passes, flip.baseline.measured),
            b: (flip.candidate.passes, flip.candidate.measured),
            confirmed: flip.confirmed.as_str().to_owned(),
            p: flip.p,
            q: flip.q,
        })
        .collect();
    store.store_confirmation(pair, &Confirmation { fresh_runs, cases })?;
    Ok(judged)
}

fn judge_and_print(
    arguments: &ConfirmArgs,
    store: &mut Store,
    pair: ConfirmationSides,
    fresh_runs: [RunRow; 2],
    sides: [&Side; 2],
    flips: &[Flipped],
) -> Result<(), CliError> {
    let judged = judge(store, pair, fresh_runs, flips)?;
    print(arguments, sides, &judged)
}

fn print(arguments: &ConfirmArgs, sides: [&Side; 2], judged: &[ConfirmedFlip]) -> Result<(), CliError> {
    let labels = sides.map(|side| side.label.as_str());
    let text = if arguments.json {
        let whole = json!({ "schema_version": SCHEMA_VERSION, "sides": labels, "flips": judged });
        serde_json::to_string_pretty(&whole).expect("a confirmation is plain data")
    } else {
        confirmation_text(labels, judged)
    };
    Ok(output::data(&text)?)
}
