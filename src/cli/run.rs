//! `caseload run`: a new run of an experiment.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use clap::Args;
use jiff::{Timestamp, tz::TimeZone};
use serde_json::json;

use super::{
    early_stop,
    error::CliError,
    estimate,
    exit_status::ExitStatus,
    resume,
    session::{self, Prepared, Screen},
};
use crate::{
    config::{self, Experiment, Overrides, Plan, Settings},
    domain::{Case, CaseId, Cost, Fault, Faults, Fingerprint, Shard, Split},
    golden::{self, Filter, GoldenSet, Selection},
    grading,
    store::{NewGrader, NewRun, NewTarget, Store},
};

/// Run an experiment: ask, store, grade, and print the scorecard
///
/// Asks every case of the golden set of every target, as often as the experiment says, through the
/// queues of its providers. Everything is stored as it arrives: whatever happens, `caseload resume`
/// goes on where it stopped.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) experiment: ExperimentArgs,

    /// Send nothing; print what `caseload estimate` prints
    #[arg(long)]
    dry_run: bool,

    /// Go on with the experiment's latest run (a pilot, say) where that is not done
    #[arg(long = "continue")]
    go_on: bool,

    #[command(flatten)]
    screen: Screen,
}

/// An experiment and what to put over it.
#[derive(Clone, Debug, Args)]
pub(super) struct ExperimentArgs {
    /// The experiment file, such as `config/demo.toml`
    pub(super) experiment: PathBuf,

    /// Ask each case this many times
    ///
    /// More repeats narrow the interval of a target that answers differently each time; cost grows in
    /// proportion. A case's own `repeats` wins.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repeats: Option<u32>,

    /// Ask only the first N of the selected cases
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,

    /// Ask only cases with this, such as `segment.intent=billing` or `id=refund-1`; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    filter: Vec<Filter>,

    /// Ask only cases of this split: tuning, held-out or live
    #[arg(long, value_parser = parse_split)]
    split: Option<Split>,

    /// Ask only this part of the cases, such as `3/8`; `caseload store merge` joins the parts
    ///
    /// Whole clusters go to one part, by a hash of their names. The parts of one experiment, run on
    /// several machines, merge into the run that one machine would have made.
    #[arg(long, value_name = "N/OF")]
    shard: Option<Shard>,

    /// Draw with this seed
    #[arg(long)]
    seed: Option<u64>,

    /// Ask only this target; may be repeated
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,

    /// Stop before more than this could be spent, in dollars
    #[arg(long, value_name = "USD")]
    max_cost: Option<Cost>,

    /// Put the run into this store
    #[arg(long, value_name = "FILE")]
    pub(super) store: Option<PathBuf>,

    /// Override one entry of the experiment file, such as `target.small.max_tokens=256`
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

fn parse_split(text: &str) -> Result<Split, String> {
    [Split::Tuning, Split::HeldOut, Split::Live]
        .into_iter()
        .find(|split| split.as_str() == text)
        .ok_or_else(|| "expected tuning, held-out or live".to_owned())
}

/// What a pilot sets for itself alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct PilotsOwn {
    pub(super) repeats: Option<u32>,
    pub(super) max_cost: Option<Cost>,
}

impl ExperimentArgs {
    /// The arguments of the whole run, and what its pilot has for itself.
    pub(super) fn without_pilots_own(&self) -> (Self, PilotsOwn) {
        let own = PilotsOwn { repeats: self.repeats, max_cost: self.max_cost };
        (Self { repeats: None, max_cost: None, ..self.clone() }, own)
    }

    fn overrides(&self) -> Overrides {
        Overrides {
            set: self.set.clone(),
            repeats: self.repeats,
            seed: self.seed,
            targets: self.target.clone(),
            max_cost: self.max_cost,
            store: self.store.clone(),
            shard: self.shard,
            selection: Selection {
                filters: self.filter.clone(),
                split: self.split,
                limit: self.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
            },
        }
    }

    /// Reads the experiment, its golden set and all else it names; every fault in one go. `examples`:
    /// tests each case's graders against its own examples, too.
    pub(super) fn read(&self, examples: bool) -> Result<Ready, CliError> {
        let today = TimeZone::UTC.to_datetime(Timestamp::now()).date();
        let plan = config::read(&self.experiment, &self.overrides(), today)?;
        let Plan { settings, prices, store } = plan;
        let (golden, mut faults) = golden::load_sound(&settings.golden, &settings.case_defaults());
        let found = if examples {
            grading::check_set(&golden, |_| false)
        } else {
            grading::check_graders(&golden, |_| false)
        };
        faults.0.extend(found.0);
        faults.0.sort_by_key(|fault| fault.line);
        faults.none_or(())?;
        let selected = golden::select(&golden, &settings.selection)?;
        let cases = of_shard(&selected, &settings)?;
        let experiment = Experiment::prepare(settings, prices, cases, Some(&golden))?;
        Ok(Ready { experiment, golden, selected, store })
    }
}

/// An experiment that could be run.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) experiment: Experiment,
    pub(super) golden: GoldenSet,
    /// The cases that are asked by all shards together.
    pub(super) selected: Vec<Arc<Case>>,
    pub(super) store: PathBuf,
}

/// The selected cases that this part of the experiment asks.
fn of_shard(selected: &[Arc<Case>], settings: &Settings) -> Result<Vec<Arc<Case>>, Faults> {
    let Some(shard) = settings.shard else { return Ok(selected.to_vec()) };
    let cases: Vec<Arc<Case>> =
        selected.iter().filter(|case| shard.holds(case.cluster_or_id())).cloned().collect();
    if cases.is_empty() {
        let fault =
            Fault::of_file(&settings.golden, format!("shard {shard} holds no cluster of the selection"))
                .with_hint("divide it into fewer shards");
        return Err(fault.into());
    }
    Ok(cases)
}

/// Does `caseload run`.
pub(super) fn run(arguments: &RunArgs) -> Result<ExitStatus, CliError> {
    let ready = arguments.experiment.read(false)?;
    if arguments.dry_run {
        return estimate::dry_run(ready, arguments.screen.json);
    }
    if arguments.go_on
        && let Some(unfinished) = resume::unfinished(&ready.store, &ready.experiment.settings.name)?
    {
        return resume::go_on(&unfinished, ready.store, &arguments.screen);
    }
    config::missing_keys(&ready.experiment.settings.providers).none_or(())?;
    let mut store = Store::open(&ready.store)?;
    early_stop::check(&store, &ready.experiment)?;
    let created = create_run(&mut store, &ready)?;
    let estimated = estimate::at_start(&store, &ready.experiment, created.id, false)?;
    store.add_estimate(created.id, &estimated)?;
    // The cases end with the run's experiment: the scorecard is made from the store.
    let Ready { experiment, golden, store: path, selected } = ready;
    drop((golden, selected));
    let prepared = Prepared::new(created, experiment, path);
    session::work(prepared, store, &arguments.screen)
}

/// Makes the run's rows in the store.
pub(super) fn create_run(store: &mut Store, ready: &Ready) -> Result<crate::store::CreatedRun, CliError> {
    let settings = &ready.experiment.settings;
    let path = settings.golden.display().to_string();
    let name =
        settings.golden.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let origin = GoldenOrigin {
        fingerprint: ready.golden.fingerprint,
        path: &path,
        name: &name,
        selected: &ready.selected,
    };
    store_run(store, &ready.experiment, origin)
}

/// Where a run's cases come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct GoldenOrigin<'a> {
    /// The whole golden set's fingerprint.
    pub(super) fingerprint: Fingerprint,
    /// Its file.
    pub(super) path: &'a str,
    /// Its name.
    pub(super) name: &'a str,
    /// The cases that are asked by all shards together.
    pub(super) selected: &'a [Arc<Case>],
}

/// Makes the run of an experiment in the store; nothing is asked yet.
pub(super) fn store_run(
    store: &mut Store,
    experiment: &Experiment,
    golden: GoldenOrigin<'_>,
) -> Result<crate::store::CreatedRun, CliError> {
    let settings = &experiment.settings;
    let frozen = json!({
        "settings": settings,
        "prices": experiment.targets.iter().map(|target| &target.price).collect::<Vec<_>>(),
    });
    let targets: Vec<NewTarget> = experiment
        .targets
        .iter()
        .map(|target| NewTarget {
            name: target.name.clone(),
            provider: target.settings.provider.clone(),
            model: target.settings.model.clone(),
            config: json!(target.settings),
        })
        .collect();
    let prices: Vec<_> = experiment.targets.iter().filter_map(|target| target.price.clone()).collect();
    let gates = (!settings.gates.is_empty()).then(|| json!(settings.gates));
    let graders = graders_of(golden.selected);
    let places: HashMap<&CaseId, u32> = golden.selected.iter().map(|case| &case.id).zip(0..).collect();
    let golden_positions: Vec<u32> =
        experiment.cases.iter().map(|planned| places[&planned.case.id]).collect();
    let new = NewRun {
        experiment: &settings.name,
        seed: settings.seed,
        golden_fingerprint: golden.fingerprint,
        golden_path: golden.path,
        golden_name: golden.name,
        config: &frozen,
        gates: gates.as_ref(),
        graders: &graders,
        targets: &targets,
        prices: &prices,
        tool_version: env!("CARGO_PKG_VERSION"),
        git_commit: None,
        store_answers: settings.store_answers,
        shard: settings.shard,
        golden_positions: &golden_positions,
    };
    let cases = experiment.cases.iter().map(|planned| (&*planned.case, planned.repeats));
    Ok(store.create_run(&new, cases)?)
}

/// Every grader that a case names, once, with the version of its rules.
fn graders_of(cases: &[Arc<Case>]) -> Vec<NewGrader> {
    let versions = grading::grader_versions();
    let mut graders: Vec<NewGrader> = vec![];
    for spec in cases.iter().flat_map(|case| &case.graders) {
        if graders.iter().any(|known| known.name == spec.name && known.hard == spec.hard) {
            continue;
        }
        graders.push(NewGrader {
            name: spec.name.clone(),
            hard: spec.hard,
            kind: spec.kind.clone(),
            version: versions.get(spec.kind.as_str()).map(ToString::to_string).unwrap_or_default(),
        });
    }
    graders
}
