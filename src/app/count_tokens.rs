//! A few prompts counted by the provider itself correct the estimate of all.

use super::{AppError, estimate::Estimating};
use crate::{
    config,
    domain::{CasePos, Repeat, TargetName, TargetPos},
    estimate::history::InputRatio,
    providers::TokenCounter,
};

/// Prompts that are counted a target.
const COUNTED: usize = 20;

/// A target whose prompts were counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedTarget {
    /// Its name.
    pub target: TargetName,
    /// Prompts that were counted.
    pub prompts: usize,
}

impl Estimating<'_> {
    /// Corrects the estimate of every target whose provider counts by counts of its own prompts; these are sent.
    ///
    /// # Errors
    /// A key is missing, or the provider does not count.
    pub async fn count_tokens(&mut self) -> Result<Vec<CountedTarget>, AppError> {
        let mut counted = vec![];
        for place in (0..self.experiment.targets.len()).map(TargetPos::at) {
            let target = &self.experiment.targets[place.index()];
            let provider = &self.experiment.settings.providers[target.provider];
            if !provider.kind.counts_tokens() {
                continue;
            }
            config::missing_keys(std::slice::from_ref(provider)).none_or(())?;
            let counter = config::token_counter(provider).map_err(AppError::usage)?;
            let (ratio, prompts) = self.ratio(&counter, place).await?;
            counted
                .push(CountedTarget { target: self.experiment.targets[place.index()].name.clone(), prompts });
            self.history.targets[place.index()].input_ratio = ratio;
        }
        Ok(counted)
    }

    /// Real over counted tokens of a sample of prompts, and how many those are.
    async fn ratio(
        &self,
        counter: &TokenCounter,
        place: TargetPos,
    ) -> Result<(Option<InputRatio>, usize), AppError> {
        let experiment = &self.experiment;
        let target = &experiment.targets[place.index()];
        let tokenizer = target.tokenizer();
        let step = experiment.cases.len().div_ceil(COUNTED).max(1);
        let (mut real, mut counted) = (vec![], vec![]);
        for case in (0..experiment.cases.len()).step_by(step) {
            let question = experiment.question(place, CasePos::at(case), Repeat::FIRST);
            let tokens = counter.count(&question).await.map_err(|rejection| {
                let message = format!("the prompts of `{}` cannot be counted: {rejection}", target.name);
                AppError::hinted(message, "leave out `--count-tokens`")
            })?;
            real.push(tokens as f64);
            counted.push(tokenizer.count(&question.prompt) as f64);
        }
        Ok((InputRatio::of(&real, &counted), real.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{designs::Wanted, testing::Stored};

    #[tokio::test]
    async fn targets_of_others_are_not_counted_and_nothing_is_sent() {
        let stored = Stored::empty("");
        let mut estimating = Estimating::new(stored.ready(), None, Wanted::default()).unwrap();
        assert_eq!(estimating.count_tokens().await.unwrap(), []);
        assert!(estimating.history.targets.iter().all(|target| target.input_ratio.is_none()));
    }
}
