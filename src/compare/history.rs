//! One target over its runs: what each run measured of each case.

use std::collections::HashMap;

use serde_json::Value;

use super::error::CompareError;
use crate::{
    config::comparable_target,
    domain::{CaseId, Cost, Fingerprint, PassIf, RunId, TargetPos, UnixMillis},
    evidence::Evidence,
    store::{ListedRun, NewGrader, Returned, Store, StoreError},
};

/// A target over its runs, the oldest first.
///
/// A case is the same in two runs when its id and its fingerprint are: what was changed since is
/// another case.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The target's name.
    pub target: String,
    /// Every case that occurs, once.
    pub cases: Vec<HistoryCase>,
    /// The runs that have the target.
    pub runs: Vec<HistoryRun>,
}

/// A case of a history.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryCase {
    /// Its id.
    pub id: CaseId,
    /// What it was made of.
    pub fingerprint: Fingerprint,
    /// The cluster it counts in.
    pub cluster: String,
    /// From its repeats to its verdict.
    pub pass_if: PassIf,
}

/// How often a case was measured and passed in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaseCounts {
    /// Its index in [`History::cases`].
    pub case: usize,
    /// Repeats planned.
    pub planned: u32,
    /// Repeats measured.
    pub measured: u32,
    /// Repeats that passed.
    pub passes: u32,
}

/// One run of a history.
#[derive(Clone, Debug)]
pub struct HistoryRun {
    /// Its name.
    pub run: RunId,
    /// When it began.
    pub created_at: UnixMillis,
    /// Where it stands.
    pub status: &'static str,
    /// The golden set's fingerprint.
    pub golden_fingerprint: Fingerprint,
    /// The graders with their versions.
    pub graders: Vec<NewGrader>,
    /// The account that was asked.
    pub provider: String,
    /// The model that was asked for.
    pub model: String,
    /// All of the target's settings, as the run froze them.
    pub settings: Value,
    /// What the provider said answered.
    pub returned: Vec<Returned>,
    /// The counts of its cases, in golden-set order.
    pub counts: Vec<CaseCounts>,
    /// Known cost of its answers.
    pub cost: Cost,
    /// Answers whose cost is known.
    pub priced: u64,
    /// Answers whose cost is not known.
    pub unpriced: u64,
    /// The successful attempts' own times, in milliseconds.
    pub latency_ms: Vec<f64>,
}

impl HistoryRun {
    /// Trials planned.
    pub fn planned(&self) -> u64 {
        self.counts.iter().map(|counts| u64::from(counts.planned)).sum()
    }

    /// Trials measured.
    pub fn measured(&self) -> u64 {
        self.counts.iter().map(|counts| u64::from(counts.measured)).sum()
    }
}

impl History {
    /// Reads the history of `target` over those of `runs` that have it; `runs` stand the oldest first.
    ///
    /// # Errors
    /// The store or what it keeps of a run's settings cannot be read.
    pub fn read(store: &Store, runs: &[ListedRun], target: &str) -> Result<Self, CompareError> {
        let mut history = Self { target: target.to_owned(), ..Self::default() };
        let mut known: HashMap<(CaseId, Fingerprint), usize> = HashMap::new();
        for row in runs {
            let detail = store.run_detail(row.id)?;
            let found =
                (0..).map(TargetPos).zip(&detail.targets).find(|(_, found)| found.name.as_str() == target);
            let Some((position, found)) = found else { continue };
            let mut counts = vec![];
            store.for_each_case::<StoreError>(row.id, |case| {
                let next = history.cases.len();
                let index = *known.entry((case.id.clone(), case.fingerprint)).or_insert(next);
                if index == next {
                    history.cases.push(HistoryCase {
                        id: case.id,
                        fingerprint: case.fingerprint,
                        cluster: case.cluster,
                        pass_if: case.pass_if,
                    });
                }
                counts.push(CaseCounts { case: index, planned: case.repeats, measured: 0, passes: 0 });
                Ok(())
            })?;
            let planned = counts.iter().map(|counts| counts.planned);
            let evidence = Evidence::read_lean(store, row.id, position, planned)?;
            for (counts, case) in counts.iter_mut().zip(&evidence.cases) {
                (counts.measured, counts.passes) = (case.count.measured, case.count.passes);
            }
            history.runs.push(HistoryRun {
                run: row.name.clone(),
                created_at: row.created_at,
                status: row.status.as_str(),
                golden_fingerprint: row.golden_fingerprint,
                graders: detail.graders.clone(),
                provider: found.provider.to_string(),
                model: found.model.to_string(),
                settings: comparable_target(&found.config)
                    .map_err(|source| CompareError::StoredSettings { run: row.name.to_string(), source })?,
                returned: store.returned(row.id, position)?,
                counts,
                cost: evidence.answers_cost,
                priced: evidence.priced,
                unpriced: evidence.unpriced,
                latency_ms: evidence.latency.ms,
            });
        }
        Ok(history)
    }

    /// A cluster index for each case, by its label.
    pub(super) fn cluster_labels(&self) -> Vec<u32> {
        let mut known: HashMap<&str, u32> = HashMap::new();
        let label = |case| {
            let case: &HistoryCase = case;
            let next = u32::try_from(known.len()).expect("a set has fewer clusters than u32 can count");
            *known.entry(case.cluster.as_str()).or_insert(next)
        };
        self.cases.iter().map(label).collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// A history of cases `c0`, `c1`, … each a cluster of its own, from each run's passes of `repeats`.
    pub(in crate::compare) fn history(repeats: u32, runs: &[Vec<u32>]) -> History {
        let longest = runs.iter().map(Vec::len).max().unwrap_or(0);
        let case = |number: usize| HistoryCase {
            id: format!("c{number}").as_str().into(),
            fingerprint: Fingerprint::of(&number.to_le_bytes()),
            cluster: format!("c{number}"),
            pass_if: PassIf::Majority,
        };
        let run = |(number, passes): (usize, &Vec<u32>)| HistoryRun {
            run: RunId::from(format!("nightly-{}", number + 1)),
            created_at: UnixMillis(86_400_000 * i64::try_from(number).unwrap()),
            status: "complete",
            golden_fingerprint: Fingerprint::of(b"golden"),
            graders: vec![],
            provider: "acme".to_owned(),
            model: "m-1".to_owned(),
            settings: json!({"model": "m-1", "parameters": {"temperature": 0}, "system": "Be brief."}),
            returned: vec![],
            counts: (0..)
                .zip(passes)
                .map(|(case, &passes)| CaseCounts { case, planned: repeats, measured: repeats, passes })
                .collect(),
            cost: Cost::ZERO,
            priced: 0,
            unpriced: 0,
            latency_ms: vec![],
        };
        History {
            target: "large".to_owned(),
            cases: (0..longest).map(case).collect(),
            runs: runs.iter().enumerate().map(run).collect(),
        }
    }
}
