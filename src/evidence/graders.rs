//! What each grader said of one target's answers, and what the hard ones said together.

use super::case::Count;
use crate::{
    domain::{CasePos, Repeat, RunRow, TargetPos, Verdict},
    store::{GraderRow, ScoreRow, Store, StoreError},
};

/// One grader's scores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraderEvidence {
    /// Which grader.
    pub grader: GraderRow,
    /// How often it scored and passed each case, by position; empty when it said nothing.
    pub cases: Vec<Count>,
    /// Trials that it could not score.
    pub unscored: u64,
}

/// All graders of one target.
#[derive(Debug, Default)]
pub struct Graders {
    /// Grader by grader, by position.
    pub each: Vec<GraderEvidence>,
    /// Repeats of each case that all hard graders scored, and how many passed all of them.
    pub hard: Vec<Count>,
    open: Option<HardRepeat>,
}

/// The repeat whose hard scores are being read.
#[derive(Clone, Copy, Debug)]
struct HardRepeat {
    case: CasePos,
    repeat: Repeat,
    scored: bool,
    passed: bool,
}

impl Graders {
    /// Reads the scores of the target at `target`, of a run with so many cases.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn read(store: &Store, run: RunRow, target: TargetPos, cases: usize) -> Result<Self, StoreError> {
        let mut graders = Self::of(store.graders(run)?, cases);
        store.for_each_score_row(run, target, |score| graders.note(score))?;
        graders.close();
        Ok(graders)
    }

    fn of(graders: Vec<GraderRow>, cases: usize) -> Self {
        let silent = |grader| GraderEvidence { grader, cases: vec![], unscored: 0 };
        Self {
            each: graders.into_iter().map(silent).collect(),
            hard: vec![Count::default(); cases],
            open: None,
        }
    }

    fn note(&mut self, score: ScoreRow) {
        let grader = &mut self.each[score.grader.index()];
        if grader.cases.is_empty() {
            grader.cases = vec![Count::default(); self.hard.len()];
        }
        match score.verdict {
            Verdict::Unscored => grader.unscored += 1,
            verdict => grader.cases[score.case.index()].add(verdict == Verdict::Pass),
        }
        if grader.grader.hard {
            self.note_hard(score);
        }
    }

    fn note_hard(&mut self, score: ScoreRow) {
        let ScoreRow { case, repeat, verdict, .. } = score;
        if self.open.is_some_and(|open| (open.case, open.repeat) != (case, repeat)) {
            self.close();
        }
        let open = self.open.get_or_insert(HardRepeat { case, repeat, scored: true, passed: true });
        open.scored &= verdict != Verdict::Unscored;
        open.passed &= verdict == Verdict::Pass;
    }

    fn close(&mut self) {
        if let Some(done) = self.open.take().filter(|done| done.scored) {
            self.hard[done.case.index()].add(done.passed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::GraderPos;

    fn grader(position: u32, hard: bool) -> GraderRow {
        GraderRow {
            position: GraderPos(position),
            name: format!("g{position}").as_str().into(),
            hard,
            kind: None,
            version: None,
        }
    }

    fn read(scores: &[(u32, u32, u32, Verdict)]) -> Graders {
        let mut graders = Graders::of(vec![grader(0, true), grader(1, true), grader(2, false)], 2);
        for &(case, repeat, grader, verdict) in scores {
            let (case, repeat, grader) = (CasePos(case), Repeat(repeat), GraderPos(grader));
            graders.note(ScoreRow { case, repeat, grader, verdict });
        }
        graders.close();
        graders
    }

    #[test]
    fn each_grader_counts_what_it_scored() {
        let graders = read(&[
            (0, 1, 0, Verdict::Pass),
            (0, 1, 2, Verdict::Fail),
            (1, 1, 0, Verdict::Unscored),
            (1, 1, 2, Verdict::Pass),
        ]);
        let count = |measured, passes| Count { measured, passes };
        assert_eq!(graders.each[0].cases, [count(1, 1), count(0, 0)]);
        assert_eq!(graders.each[0].unscored, 1);
        assert!(graders.each[1].cases.is_empty(), "it said nothing");
        assert_eq!(graders.each[2].cases, [count(1, 0), count(1, 1)]);
    }

    #[test]
    fn a_repeat_is_right_by_the_hard_graders_when_all_of_them_pass_it() {
        let graders = read(&[
            (0, 1, 0, Verdict::Pass),
            (0, 1, 1, Verdict::Pass),
            (0, 2, 0, Verdict::Pass),
            (0, 2, 1, Verdict::Fail),
            (0, 2, 2, Verdict::Pass),
            (1, 1, 0, Verdict::Pass),
            (1, 1, 1, Verdict::Unscored),
        ]);
        assert_eq!(graders.hard, [Count { measured: 2, passes: 1 }, Count::default()]);
    }
}
