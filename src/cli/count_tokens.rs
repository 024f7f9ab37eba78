//! `--count-tokens`: a few prompts counted by the provider itself correct the estimate of all.

use super::{error::CliError, output};
use crate::{
    config::{self, Experiment},
    domain::{CasePos, Repeat, TargetPos},
    estimate::{History, history::InputRatio},
};

/// Prompts that are counted a target.
const COUNTED: usize = 20;

/// Corrects the history of every target whose provider counts by counts of its own prompts.
pub(super) fn correct(experiment: &Experiment, history: &mut History) -> Result<(), CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for (place, target) in (0..).map(TargetPos).zip(&experiment.targets) {
        let provider = &experiment.settings.providers[target.provider];
        if !provider.kind.counts_tokens() {
            continue;
        }
        config::missing_keys(std::slice::from_ref(provider)).none_or(())?;
        let counter = config::token_counter(provider).map_err(CliError::usage)?;
        let tokenizer = target.tokenizer();
        let step = experiment.cases.len().div_ceil(COUNTED).max(1);
        let (mut real, mut counted) = (vec![], vec![]);
        for case in (0..experiment.cases.len()).step_by(step) {
            let question = experiment.question(place, CasePos::at(case), Repeat::FIRST);
            let tokens = runtime.block_on(counter.count(&question)).map_err(|rejection| CliError::Usage {
                message: format!("the prompts of `{}` cannot be counted: {rejection}", target.name),
                hint: Some("leave out `--count-tokens`".to_owned()),
            })?;
            real.push(tokens as f64);
            counted.push(tokenizer.count(&question.prompt) as f64);
        }
        output::note(&format!(
            "note: {} prompts of `{}` were counted by the provider",
            real.len(),
            target.name
        ));
        history.targets[place.index()].input_ratio = InputRatio::of(&real, &counted);
    }
    Ok(())
}
