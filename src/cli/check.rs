//! `caseload check`: everything that can be known to fail before a request is sent.

use clap::Args;

use super::{
    error::CliError,
    exit_status::ExitStatus,
    experiment_arguments::{ExperimentArgs, Ready},
    output,
};
use crate::{
    config::{self, CachedParts},
    domain::{Cost, TargetPos},
    report::{count, dollars},
};

/// Check an experiment without sending anything
///
/// Reads the experiment, the golden set, templates, prices and recorded outputs, tests each case's
/// graders against its own examples, and looks whether the keys are set. All faults are told at once.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    experiment: ExperimentArgs,

    /// Do not ask for keys (where the golden set is checked and nothing will be run)
    #[arg(long)]
    no_keys: bool,
}

/// Does `caseload check`.
pub(super) fn check(arguments: &CheckArgs) -> Result<ExitStatus, CliError> {
    let ready = arguments.experiment.read(true)?;
    if !arguments.no_keys {
        config::missing_keys(&ready.experiment.settings.providers).none_or(())?;
    }
    output::data(&summary(&ready))?;
    Ok(ExitStatus::Success)
}

fn summary(ready: &Ready) -> String {
    let experiment = &ready.experiment;
    let settings = &experiment.settings;
    let examples: usize = experiment
        .cases
        .iter()
        .map(|planned| planned.case.examples.pass.len() + planned.case.examples.fail.len())
        .sum();
    let mut text = format!(
        "{}: fine\n  golden set  {} · {} cases, {} asked · {} examples agree with their graders\n",
        settings.name,
        ready.golden.path.display(),
        count(ready.golden.cases.len() as u64),
        count(experiment.cases.len() as u64),
        count(examples as u64),
    );
    for (position, target) in experiment.targets.iter().enumerate() {
        let price = match target.prices.standard() {
            Some(price) => {
                let million = |cost: Cost| cost.times(1_000_000).map(dollars).unwrap_or_default();
                format!(
                    "{} in, {} out per million tokens ({}, {})",
                    million(price.rates.input),
                    million(price.rates.output),
                    price.source,
                    price.effective_from
                )
            }
            None => "no price: the cost will be unknown".to_owned(),
        };
        text.push_str(&format!("  target      {} · {} · {price}\n", target.name, target.settings.model));
        if let Some(parts) = experiment.cached_parts(TargetPos::at(position)) {
            text.push_str(&cache_lines(&parts));
        }
    }
    let budget = settings.max_cost.map_or_else(|| "none".to_owned(), dollars);
    text.push_str(&format!("  trials      {} · budget {budget}\n", count(experiment.trials())));
    text
}

/// What is asked to be cached, and where the provider will silently not do so.
fn cache_lines(parts: &CachedParts) -> String {
    let [least, most] = parts.tokens;
    let size = if least == most { count(most) } else { format!("{} to {}", count(least), count(most)) };
    let mut text = format!(
        "  cache       {} for {} · {} different, about {size} tokens\n",
        parts.cache.at.as_str(),
        parts.cache.lifetime.as_str(),
        count(parts.prefixes as u64),
    );
    if let (Some(minimum), true) = (parts.minimum, parts.too_small > 0) {
        text.push_str(&format!(
            "              ! {} of them seem to be below the model's {} tokens: nothing is cached there\n",
            count(parts.too_small as u64),
            count(minimum),
        ));
    }
    if parts.without > 0 {
        text.push_str(&format!(
            "              ! {} cases have no text in that part\n",
            count(parts.without as u64)
        ));
    }
    text
}
