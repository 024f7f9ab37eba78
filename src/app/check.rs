//! Everything that can be known to fail before a request is sent.

use std::path::PathBuf;

use jiff::civil::Date;

use super::{AppError, Ready, early_stop};
use crate::{
    config::{self, CachedParts},
    domain::{Cost, ModelId, Price, TargetName, TargetPos},
};

/// An experiment in which nothing is wrong.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Its name.
    pub name: String,
    /// Its golden set.
    pub golden: PathBuf,
    /// Cases of that.
    pub golden_cases: usize,
    /// Cases that are asked.
    pub cases: usize,
    /// Examples that agree with their graders.
    pub examples: usize,
    /// Its targets.
    pub targets: Vec<CheckedTarget>,
    /// Trials that are planned.
    pub trials: u64,
    /// What may be spent at most.
    pub max_cost: Option<Cost>,
    /// What is allowed of its keys and yet worth a word.
    pub warnings: Vec<String>,
}

/// One target of it.
#[derive(Clone, Debug)]
pub struct CheckedTarget {
    /// Its name.
    pub name: TargetName,
    /// Its model.
    pub model: ModelId,
    /// What it costs, where that is known.
    pub price: Option<Price>,
    /// Whether it is an application, which may tell the cost of each answer.
    pub tells_cost: bool,
    /// From when on it costs that, where it is not known what it costs today.
    pub price_begins: Option<Date>,
    /// What it asks to be cached.
    pub cached: Option<CachedParts>,
}

/// What there is to say of an experiment that was read; `keys`: looks whether the keys are set.
///
/// # Errors
/// Every key that is missing, or the baseline of an early stop cannot be had.
pub fn check(ready: &Ready, keys: bool) -> Result<Checked, AppError> {
    let experiment = &ready.experiment;
    let settings = &experiment.settings;
    let mut warnings = vec![];
    if keys {
        config::missing_keys(&settings.providers).none_or(())?;
        warnings = ready.key_warnings();
    }
    early_stop::check(&ready.store, experiment)?;
    let examples =
        |planned: &config::PlannedCase| planned.case.examples.pass.len() + planned.case.examples.fail.len();
    let targets = experiment.targets.iter().enumerate().map(|(position, target)| CheckedTarget {
        name: target.name.clone(),
        model: target.settings.model.clone(),
        price: target.prices.standard().cloned(),
        tells_cost: settings.providers[target.provider].kind.is_application(),
        price_begins: ready.price_begins[position],
        cached: experiment.cached_parts(TargetPos::at(position)),
    });
    Ok(Checked {
        name: settings.name.clone(),
        golden: ready.golden.path.clone(),
        golden_cases: ready.golden.cases.len(),
        cases: experiment.cases.len(),
        examples: experiment.cases.iter().map(examples).sum(),
        targets: targets.collect(),
        trials: experiment.trials(),
        max_cost: settings.max_cost,
        warnings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::Stored;

    #[test]
    fn cases_examples_targets_and_trials_are_counted() {
        let stored =
            Stored::empty("max_cost_usd = 1\n[[price]]\nmodel = \"m-good\"\ninput_usd_per_mtok = 1\n");
        assert!(Ready::read_and_try_examples(&stored.experiment(), &stored.overrides()).is_err());
        let stored = Stored::empty("");
        let ready = Ready::read_and_try_examples(&stored.experiment(), &stored.overrides()).unwrap();
        let checked = check(&ready, true).unwrap();
        assert_eq!((checked.name.as_str(), checked.golden_cases, checked.cases), ("test", 8, 8));
        assert_eq!((checked.examples, checked.targets.len(), checked.trials), (16, 2, 32));
        assert!(checked.targets[0].price.is_none() && checked.max_cost.is_none());
    }
}
