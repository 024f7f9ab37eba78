//! From the experiment file as written to the experiment as it is meant: defaults in place, files read,
//! names resolved, every fault told at once.

mod graders;
mod providers;
mod targets;

use std::{
    env,
    path::{Path, PathBuf},
};

use jiff::civil::Date;
use serde_json::Value;

use super::{
    document::{Document, NAME_AN_EXPERIMENT, beside},
    gates, literal_secrets,
    prices::{self, PriceTable},
    settings::{Settings, default_retrieval_k},
    stop::StopSettings,
    written::WrittenExperiment,
};
use crate::{
    domain::{
        Aside, Cost, Fault, Faults, MoneyError, Price, Shard,
        text::{is_unseen, quoted},
    },
    golden::Selection,
};

/// The store where neither the command line, the environment nor the experiment names one.
pub const DEFAULT_STORE: &str = "results/caseload.db";

/// The environment variable that names the store.
pub const STORE_VARIABLE: &str = "CASELOAD_STORE";

/// What the command line puts over the experiment file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `key=value` entries of the file.
    pub set: Vec<String>,
    /// How often a case is asked.
    pub repeats: Option<u32>,
    /// The seed.
    pub seed: Option<u64>,
    /// The only targets to run.
    pub targets: Vec<String>,
    /// What may be spent at most.
    pub max_cost: Option<Cost>,
    /// The store.
    pub store: Option<PathBuf>,
    /// Which cases to ask.
    pub selection: Selection,
    /// The only part of them to ask.
    pub shard: Option<Shard>,
}

impl Overrides {
    /// The flags of what is put over the file and would make another run of it: of no effect on one that
    /// has begun. The budget is none of them.
    pub fn frozen_flags(&self) -> Vec<&'static str> {
        let Self { set, repeats, seed, targets, max_cost: _, store: _, selection, shard } = self;
        let Selection { filters, split, limit } = selection;
        let given = [
            ("--set", !set.is_empty()),
            ("--repeats", repeats.is_some()),
            ("--seed", seed.is_some()),
            ("--target", !targets.is_empty()),
            ("--filter", !filters.is_empty()),
            ("--split", split.is_some()),
            ("--limit", limit.is_some()),
            ("--shard", shard.is_some()),
        ];
        given.into_iter().filter_map(|(flag, is_given)| is_given.then_some(flag)).collect()
    }
}

/// An experiment file, read and understood.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What a run freezes.
    pub settings: Settings,
    /// The price of each target, in their order.
    pub prices: Vec<Vec<Price>>,
    /// From when on each has one, where it has none today.
    pub price_begins: Vec<Option<Date>>,
    /// Where the run is stored.
    pub store: PathBuf,
}

/// Reads the experiment in `file` with `overrides` over it; prices are those in force on `today`.
///
/// # Errors
/// Every fault of the file and of the files it names, but for the golden set and recorded outputs.
pub fn read(file: &Path, overrides: &Overrides, today: Date) -> Result<Plan, Faults> {
    understand(Document::open(file, NAME_AN_EXPERIMENT)?, overrides, today)
}

/// The same of an experiment in `text`; `name` stands for its file in faults, and paths are relative to
/// it.
///
/// # Errors
/// As [`read`].
pub fn read_text(text: &str, name: &Path, overrides: &Overrides, today: Date) -> Result<Plan, Faults> {
    understand(Document::parse(name, text)?, overrides, today)
}

fn understand(mut document: Document, overrides: &Overrides, today: Date) -> Result<Plan, Faults> {
    let mut faults = Faults::default();
    for assignment in &overrides.set {
        if let Err(fault) = document.set(assignment) {
            faults.0.extend(fault.0);
        }
    }
    let (written, typed) = document.read::<WrittenExperiment>();
    faults.0.extend(typed.0);
    let Some(written) = written else { return Err(faults) };
    let reading = Reading { document: &document, overrides, faults };
    reading.plan(written, today)
}

/// The reading of one file: collects faults while it resolves.
pub(super) struct Reading<'a> {
    document: &'a Document,
    overrides: &'a Overrides,
    faults: Faults,
}

impl Reading<'_> {
    fn plan(mut self, mut written: WrittenExperiment, today: Date) -> Result<Plan, Faults> {
        let table = self.price_table(&written);
        let named_graders = self.named_graders(&written.grader);
        let graders = self.default_graders(&written.graders, &named_graders);
        let providers = self.providers(&written);
        let targets = self.targets(&written, &providers);
        let golden = self.golden(written.golden.as_ref());
        let settings = Settings {
            name: self.name(written.name.as_deref()),
            golden,
            repeats: self.repeats(written.repeats),
            seed: self.overrides.seed.or(written.seed).unwrap_or(1),
            pass_if: written.pass_if.unwrap_or_default(),
            graders,
            named_graders,
            max_cost: self.max_cost(written.max_cost_usd),
            selection: self.overrides.selection.clone(),
            stop: written.stop.clone(),
            shard: self.overrides.shard,
            store_answers: written.store_answers.unwrap_or_default(),
            targets,
            providers,
            gates: gates::meant(self.document, std::mem::take(&mut written.gates), &mut self.faults),
            retrieval_k: self.retrieval_k(written.retrieval_k),
        };
        let prices: Vec<Vec<Price>> =
            settings.targets.iter().map(|target| table.since(&target.model, today)).collect();
        let price_begins: Vec<Option<Date>> =
            settings.targets.iter().map(|target| table.begins(&target.model, today)).collect();
        if let Some(message) = settings.stop.as_ref().and_then(StopSettings::fault) {
            self.fault("stop.margin", message);
        }
        let store = self.store(written.store);
        self.faults.none_or(Plan { settings, prices, price_begins, store })
    }

    /// What goes out as JSON holds nothing that JSON has no word for.
    pub(super) fn check_sendable(&mut self, path: &str) {
        self.faults.0.extend(self.document.beyond_json(path));
    }

    pub(super) fn fault(&mut self, path: &str, message: impl Into<String>) {
        let fault = self.document.fault(path, message);
        self.faults.0.push(fault);
    }

    /// Secrets that stand in the file itself.
    pub(super) fn check_literal_secrets(&mut self, path: &str, value: &Value, hint: &str) {
        for path in literal_secrets::in_value(value, path) {
            self.hinted(&path, "a secret would be stored with every run", hint);
        }
    }

    /// A name is shown on screens and in files of many kinds: nothing in it may be unseen.
    pub(super) fn check_name(&mut self, path: &str, name: &str) {
        if let Some(unseen) = name.chars().find(|&c| is_unseen(c)) {
            let code = u32::from(unseen);
            self.fault(path, format!("the name {} has U+{code:04X}, which cannot be seen", quoted(name)));
        }
    }

    pub(super) fn hinted(&mut self, path: &str, message: impl Into<String>, hint: impl Into<String>) {
        let fault = self.document.fault(path, message).with_hint(hint);
        self.faults.0.push(fault);
    }

    /// A path of the file, relative to the file itself.
    pub(super) fn beside(&self, path: &Path) -> PathBuf {
        beside(self.document.file(), path)
    }

    fn name(&mut self, name: Option<&str>) -> String {
        let stem = self.document.file().file_stem().and_then(|stem| stem.to_str()).unwrap_or("experiment");
        let name = name.unwrap_or(stem);
        let plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
        if name.is_empty() || !name.chars().all(plain) {
            self.hinted(
                "name",
                format!("`{name}` cannot name runs"),
                "use letters, digits, `-`, `_` and `.`",
            );
        } else if let Some(aside) = Aside::of(name) {
            self.hinted(
                "name",
                format!(
                    "`{name}` ends as the runs of `confirm` and `rehearse` do, which `latest` passes over"
                ),
                format!("name it without `{}` at its end", aside.suffix()),
            );
        }
        name.to_owned()
    }

    fn golden(&mut self, golden: Option<&PathBuf>) -> PathBuf {
        match golden {
            Some(path) => self.beside(path),
            None => {
                let fault = Fault::of_file(self.document.file(), "no golden set is named")
                    .at("`golden`")
                    .with_hint("add a line such as `golden = \"../golden/help-desk.jsonl\"`");
                self.faults.0.push(fault);
                PathBuf::new()
            }
        }
    }

    fn repeats(&mut self, written: Option<u32>) -> u32 {
        let repeats = self.overrides.repeats.or(written).unwrap_or(1);
        if repeats == 0 {
            self.fault("repeats", "0 repeats ask nothing; expected at least 1");
        }
        repeats
    }

    fn retrieval_k(&mut self, written: Option<u32>) -> u32 {
        if written == Some(0) {
            self.fault("retrieval_k", "found 0, expected at least 1");
        }
        written.unwrap_or_else(default_retrieval_k)
    }

    fn max_cost(&mut self, written: Option<f64>) -> Option<Cost> {
        if self.overrides.max_cost.is_some() {
            return self.overrides.max_cost;
        }
        self.cost("max_cost_usd", written?)
    }

    /// Dollars as an experiment writes them.
    pub(super) fn cost(&mut self, path: &str, dollars: f64) -> Option<Cost> {
        let read = dollars.to_string().parse();
        read.map_err(|error: MoneyError| self.fault(path, error.to_string())).ok()
    }

    fn store(&self, written: Option<PathBuf>) -> PathBuf {
        let from_variable = || env::var_os(STORE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        let overridden = self.overrides.store.clone().or_else(from_variable);
        overridden
            .or_else(|| written.map(|path| self.beside(&path)))
            .unwrap_or_else(|| PathBuf::from(DEFAULT_STORE))
    }

    fn price_table(&mut self, written: &WrittenExperiment) -> PriceTable {
        let mut table = PriceTable::shipped();
        if let Some(path) = &written.prices {
            match PriceTable::open(&self.beside(path)) {
                Ok(own) => table.override_with(own),
                Err(faults) => self.faults.0.extend(faults.0),
            }
        }
        table.override_with(prices::priced(self.document, &written.price, &mut self.faults));
        table
    }
}
