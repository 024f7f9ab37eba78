//! Recorded outputs as a provider: no request is sent, no time passes.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
};

mod file;

use futures_util::future::{BoxFuture, ready};

use super::{
    Provider, Rejection,
    provider::{handed_over, question_of, said_output},
};
use crate::domain::{
    Begun, Bounds, CaseId, ErrorClass, Failure, FailureKind, Fault, Faults, Metered, ModelId, Outcome,
    Outgoing, Question, Repeat, Reply, ReplyLatency, Retrieved, TargetName, Usage, nearest,
};

/// So many unknown ids get a hint; with more, the wrong golden set is more likely than a slip.
const MAX_HINTS: usize = 20;

/// One recorded output.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedOutput {
    /// The line of the file, from 1.
    pub line: usize,
    /// The answer.
    pub output: String,
    /// How it ended: answered, truncated, refused or filtered.
    pub outcome: Outcome,
    /// Its tokens, if they were recorded.
    pub usage: Option<Usage>,
    /// How long it took when it was recorded, in milliseconds.
    pub latency_ms: Option<f64>,
    /// The model that gave it.
    pub model: Option<ModelId>,
    /// What was retrieved for it, if that was recorded.
    pub retrieved: Option<Vec<Retrieved>>,
}

/// The recorded outputs of one target, by case and repeat (from 1).
#[derive(Clone, Debug, Default)]
pub struct ReplayOutputs {
    pub(super) file: PathBuf,
    pub(super) rows: HashMap<CaseId, HashMap<Repeat, RecordedOutput>>,
}

impl ReplayOutputs {
    /// The output of this case's repeat.
    pub fn get(&self, case: &CaseId, repeat: Repeat) -> Option<&RecordedOutput> {
        self.rows.get(case)?.get(&repeat)
    }

    /// What the recorded answer to `question` counts as: what it was told to have used, else nothing,
    /// since nobody is asked.
    pub fn bounds(&self, question: &Question) -> Bounds {
        let recorded = self.get(&question.asked.case.id, question.asked.repeat);
        let usage = recorded.and_then(|recorded| recorded.usage).unwrap_or_default();
        Bounds {
            input: Some(usage.input_total()),
            output: Some(usage.output),
            said_output: said_output(question),
        }
    }

    /// The output tokens of the longest of them, as far as that was recorded.
    pub fn most_output(&self) -> u64 {
        let usages = self.rows.values().flat_map(HashMap::values).filter_map(|recorded| recorded.usage);
        usages.map(|usage| usage.output).max().unwrap_or_default()
    }

    /// How many outputs there are.
    pub fn len(&self) -> usize {
        self.rows.values().map(HashMap::len).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// What is wrong with these outputs for a golden set of which `asked` are asked so many times
    /// each: ids that the whole set (`all_ids`, where it is at hand) lacks, and trials that have no
    /// output of their own.
    ///
    /// Outputs of cases that are in the set but not asked for are fine.
    pub fn check(
        &self,
        all_ids: Option<&HashSet<CaseId>>,
        asked: impl Iterator<Item = (CaseId, u32)>,
    ) -> Faults {
        let mut faults = all_ids.map(|all_ids| self.unknown_ids(all_ids)).unwrap_or_default();
        faults.extend(asked.filter_map(|(case, repeats)| self.missing(&case, repeats)));
        Faults(faults)
    }

    fn unknown_ids(&self, all_ids: &HashSet<CaseId>) -> Vec<Fault> {
        let mut unknown: Vec<(usize, &CaseId)> = self
            .rows
            .iter()
            .filter(|(case, _)| !all_ids.contains(*case))
            .filter_map(|(case, repeats)| Some((repeats.values().map(|row| row.line).min()?, case)))
            .collect();
        unknown.sort();
        let fault = |(index, (line, case)): (usize, (usize, &CaseId))| {
            let fault = Fault::on_line(&self.file, line, "the golden set has no case of this id")
                .at(format!("case `{case}`"));
            let near = if index < MAX_HINTS { nearest(case.as_str(), sorted(all_ids)) } else { None };
            match near {
                Some(near) => fault.with_hint(format!("did you mean `{near}`?")),
                None => fault,
            }
        };
        unknown.into_iter().enumerate().map(fault).collect()
    }

    fn missing(&self, case: &CaseId, repeats: u32) -> Option<Fault> {
        let missing: Vec<String> = (1..=repeats)
            .map(Repeat)
            .filter(|&repeat| self.get(case, repeat).is_none())
            .map(|repeat| repeat.to_string())
            .collect();
        if missing.is_empty() {
            return None;
        }
        let message = match (self.rows.contains_key(case), missing.as_slice()) {
            (false, _) => "no recorded output".to_owned(),
            (true, [one]) => format!("no recorded output for repeat {one} of {repeats}"),
            (true, several) => format!("no recorded output for repeats {} of {repeats}", several.join(", ")),
        };
        let fault = Fault::of_file(&self.file, message).at(format!("case `{case}`"));
        Some(if self.rows.contains_key(case) {
            fault
                .with_hint("a line without `repeat` is repeat 1; each further repeat needs a line of its own")
        } else {
            fault
        })
    }
}

/// In order, so that the same hint is given every time.
fn sorted(ids: &HashSet<CaseId>) -> impl Iterator<Item = &str> {
    let mut ids: Vec<&str> = ids.iter().map(CaseId::as_str).collect();
    ids.sort_unstable();
    ids.into_iter()
}

/// Recorded outputs, by target.
#[derive(Debug, Default)]
pub struct Replay {
    /// Each target's outputs.
    pub outputs: HashMap<TargetName, Arc<ReplayOutputs>>,
}

impl Provider for Replay {
    fn prepare(&self, question: Question) -> (Outgoing, Bounds) {
        let bounds = self.outputs.get(&question.asked.by).map(|outputs| outputs.bounds(&question));
        handed_over(question, bounds.unwrap_or_default())
    }

    fn send<'a>(
        &'a self,
        outgoing: &'a Outgoing,
        _begun: &'a Begun,
    ) -> BoxFuture<'a, Result<Reply, Rejection>> {
        Box::pin(ready(self.answer(question_of(outgoing))))
    }
}

impl Replay {
    /// The recorded answer to `question`.
    ///
    /// # Errors
    /// When none was recorded; [`ReplayOutputs::check`] finds that before a run begins.
    pub fn answer(&self, question: &Question) -> Result<Reply, Rejection> {
        let recorded = self
            .outputs
            .get(&question.asked.by)
            .and_then(|outputs| outputs.get(&question.asked.case.id, question.asked.repeat));
        let Some(recorded) = recorded else {
            let message = format!(
                "no recorded output of target `{}` for case `{}`, repeat {}",
                question.asked.by, question.asked.case.id, question.asked.repeat
            );
            return Err(Failure::new(ErrorClass::ThisTrial, FailureKind::Application, message).into());
        };
        Ok(Reply {
            outcome: recorded.outcome,
            metered: recorded.usage.map_or_else(Metered::default, Metered::from),
            model: recorded.model.as_ref().map(ToString::to_string),
            latency: recorded.latency_ms.map_or(ReplyLatency::Unknown, ReplyLatency::Known),
            retrieved: recorded.retrieved.clone(),
            ..Reply::answered(recorded.output.clone())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::providers::test_question::question;

    fn outputs(text: &str) -> ReplayOutputs {
        ReplayOutputs::read("outputs.jsonl", text.as_bytes()).unwrap()
    }

    fn ids(ids: &[&str]) -> HashSet<CaseId> {
        ids.iter().map(|&id| CaseId::from(id)).collect()
    }

    fn check(outputs: &ReplayOutputs, all: &[&str], asked: &[(&str, u32)]) -> String {
        outputs.check(Some(&ids(all)), asked.iter().map(|&(id, repeats)| (id.into(), repeats))).to_string()
    }

    #[test]
    fn a_recorded_answer_is_given_as_it_was() {
        let outputs = outputs(
            "{\"id\":\"case-1\",\"output\":\"a\"}\n\
             {\"id\":\"case-1\",\"repeat\":2,\"output\":\"b\",\"outcome\":\"truncated\",\"latency_ms\":12.5,\
             \"model\":\"m-1\",\"usage\":{\"input\":3,\"output\":4}}\n",
        );
        let mut question = question();
        let replay = Replay { outputs: [(question.asked.by.clone(), Arc::new(outputs))].into() };

        let untimed = Reply { latency: ReplyLatency::Unknown, ..Reply::answered("a") };
        assert_eq!(replay.answer(&question), Ok(untimed));

        question.asked.repeat = Repeat(2);
        let usage = Usage { input_uncached: 3, output: 4, ..Usage::default() };
        let expected = Reply {
            outcome: Outcome::Truncated,
            metered: usage.into(),
            model: Some("m-1".to_owned()),
            latency: ReplyLatency::Known(12.5),
            ..Reply::answered("b")
        };
        assert_eq!(replay.answer(&question), Ok(expected));

        question.asked.repeat = Repeat(3);
        let failure = replay.answer(&question).unwrap_err().failure;
        assert_eq!((failure.class, failure.kind), (ErrorClass::ThisTrial, FailureKind::Application));
        let mut other = (*question.asked.case).clone();
        other.id = "case-2".into();
        question.asked.case = Arc::new(other);
        assert!(replay.answer(&question).is_err());
    }

    #[test]
    fn outputs_that_fit_the_golden_set_are_no_fault() {
        let outputs = outputs("{\"id\":\"a\",\"output\":\"x\"}\n{\"id\":\"b\",\"output\":\"x\"}");
        assert_eq!(check(&outputs, &["a", "b", "c"], &[("a", 1)]), "");
        assert_eq!(outputs.len(), 2);
    }

    #[test]
    fn an_id_that_the_golden_set_lacks_is_named_with_its_line() {
        let outputs =
            outputs("{\"id\":\"refund-1\",\"output\":\"x\"}\n{\"id\":\"refnd-2\",\"output\":\"x\"}");
        assert_eq!(
            check(&outputs, &["refund-1", "refund-2"], &[]),
            "outputs.jsonl:2: case `refnd-2`: the golden set has no case of this id\n  hint: did you mean \
             `refund-2`?"
        );
    }

    #[test]
    fn every_repeat_needs_an_output_of_its_own() {
        let outputs =
            outputs("{\"id\":\"a\",\"output\":\"x\"}\n{\"id\":\"b\",\"output\":\"x\",\"repeat\":2}");
        let told = check(&outputs, &["a", "b", "c"], &[("a", 3), ("b", 2), ("c", 2)]);
        let lines: Vec<&str> = told.lines().filter(|line| !line.starts_with("  hint")).collect();
        assert_eq!(
            lines,
            [
                "outputs.jsonl: case `a`: no recorded output for repeats 2, 3 of 3",
                "outputs.jsonl: case `b`: no recorded output for repeat 1 of 2",
                "outputs.jsonl: case `c`: no recorded output",
            ]
        );
    }
}
