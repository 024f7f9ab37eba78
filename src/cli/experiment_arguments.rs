//! An experiment on the command line: its file, what is put over it, and its reading.

use std::{path::PathBuf, sync::Arc};

use clap::Args;
use jiff::{Timestamp, tz::TimeZone};

use super::error::CliError;
use crate::{
    config::{self, Experiment, Overrides, Plan, Settings},
    domain::{Case, Cost, Fault, Faults, Shard, Split},
    golden::{self, Filter, GoldenSet, Selection},
    grading,
};

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

impl Ready {
    /// The experiment that this one is a shard of, if it is one.
    pub(super) fn whole(&self) -> Result<Option<Experiment>, CliError> {
        let settings = &self.experiment.settings;
        if settings.shard.is_none() {
            return Ok(None);
        }
        let prices = self.experiment.targets.iter().map(|target| target.prices.standard().cloned()).collect();
        let cases = self.selected.clone();
        Ok(Some(Experiment::prepare(settings.clone(), prices, cases, Some(&self.golden))?))
    }
}
