//! An experiment on the command line: its file, what is put over it, and its reading.

use std::path::PathBuf;

use clap::Args;

use crate::{
    app::{AppError, Filter, Overrides, Ready, Selection},
    domain::{Cost, Shard, Split},
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
    pub(super) max_cost: Option<Cost>,

    /// Put the run into this store
    ///
    /// Without it the store is the one that `CASELOAD_STORE` names, else the experiment's own `store`, else
    /// results/caseload.db.
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

impl ExperimentArgs {
    /// What is put over the file.
    pub(super) fn overrides(&self) -> Overrides {
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

    /// Reads the experiment, its golden set and all else it names; every fault in one go.
    pub(super) fn read(&self) -> Result<Ready, AppError> {
        Ready::read(&self.experiment, &self.overrides())
    }
}
