//! The committed baseline: one side as a small, sorted JSON file, one case a line.

use std::{collections::BTreeMap, fs, path::Path};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    error::CompareError,
    side::{Count, Side, SideCase, SideGrader, SideTotals},
};
use crate::domain::{CaseId, Fingerprint, PassIf, Split};

/// The version of the file's shape.
const FORMAT: u32 = 1;

/// All of the file but its cases.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    caseload_baseline: u32,
    run: String,
    target: String,
    model: String,
    golden_name: String,
    golden_fingerprint: String,
    graders: Vec<GraderHead>,
    gates: Option<Value>,
    totals: SideTotals,
}

#[derive(Debug, Serialize, Deserialize)]
struct GraderHead {
    name: String,
    hard: bool,
    kind: String,
    version: String,
}

/// One case of the file. What is usual is left out.
#[derive(Debug, Serialize, Deserialize)]
struct CaseLine {
    fingerprint: String,
    verdict: Option<bool>,
    passes: u32,
    measured: u32,
    planned: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    hard: Count,
    #[serde(default, skip_serializing_if = "is_default")]
    pass_if: PassIf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    split: Option<Split>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<String>,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    weight: f64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    segment: BTreeMap<String, String>,
    /// Passes and measured repeats by grader position.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    graders: BTreeMap<usize, [u32; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input_tokens: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_tokens: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latency_ms: Option<f64>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn one() -> f64 {
    1.0
}

#[expect(
    clippy::float_cmp,
    clippy::trivially_copy_pass_by_ref,
    reason = "the default is exactly 1; serde passes a reference"
)]
fn is_one(value: &f64) -> bool {
    *value == 1.0
}

impl Side {
    /// This side as a baseline file: cases sorted by id, one a line, so that a change of one case is a
    /// change of one line.
    pub fn to_baseline(&self) -> String {
        let head = Head {
            caseload_baseline: FORMAT,
            run: self.run.clone(),
            target: self.target.clone(),
            model: self.model.clone(),
            golden_name: self.golden_name.clone(),
            golden_fingerprint: self.golden_fingerprint.to_string(),
            graders: self
                .graders
                .iter()
                .map(|grader| GraderHead {
                    name: grader.name.clone(),
                    hard: grader.hard,
                    kind: grader.kind.clone(),
                    version: grader.version.clone(),
                })
                .collect(),
            gates: self.gates.clone(),
            totals: self.totals.clone(),
        };
        let head = serde_json::to_string_pretty(&head).expect("a baseline's head is plain data");
        let mut order: Vec<usize> = (0..self.cases.len()).collect();
        order.sort_unstable_by(|&one, &other| self.cases[one].id.cmp(&self.cases[other].id));
        let lines: Vec<String> = order
            .into_iter()
            .map(|at| {
                let id = serde_json::to_string(self.cases[at].id.as_str()).expect("an id is text");
                let line = serde_json::to_string(&self.line(at)).expect("a case's counts are plain data");
                format!("    {id}: {line}")
            })
            .collect();
        let head = head.trim_end().strip_suffix('}').expect("an object ends so").trim_end();
        format!("{head},\n  \"cases\": {{\n{}\n  }}\n}}\n", lines.join(",\n"))
    }

    fn line(&self, at: usize) -> CaseLine {
        let case = &self.cases[at];
        let graders = self.graders.iter().enumerate();
        CaseLine {
            fingerprint: case.fingerprint.to_string(),
            verdict: case.verdict(),
            passes: case.count.passes,
            measured: case.count.measured,
            planned: case.planned,
            hard: case.hard,
            pass_if: case.pass_if,
            split: case.split,
            cluster: (case.cluster != case.id.as_str()).then(|| case.cluster.clone()),
            weight: case.weight,
            segment: case.segment.clone(),
            graders: graders
                .filter_map(|(position, grader)| Some((position, *grader.counts.get(at)?)))
                .filter(|(_, count)| count.measured > 0)
                .map(|(position, count)| (position, [count.passes, count.measured]))
                .collect(),
            // To the picodollar: what is finer is the rounding of a mean.
            cost_usd: case.cost_usd.map(|usd| (usd * 1e12).round() / 1e12),
            input_tokens: case.input_tokens,
            output_tokens: case.output_tokens,
            latency_ms: case.latency_ms.map(|latency| (latency * 10.0).round() / 10.0),
        }
    }

    /// Reads a baseline file.
    ///
    /// # Errors
    /// It cannot be read, is no baseline, or was written by a later version.
    pub(super) fn read_baseline(file: &Path) -> Result<Self, CompareError> {
        let text = fs::read_to_string(file)
            .map_err(|source| CompareError::BaselineUnreadable { path: file.to_owned(), source })?;
        let shape = |message: String| CompareError::BaselineShape { path: file.to_owned(), message };
        let mut whole: Value = serde_json::from_str(&text).map_err(|error| shape(error.to_string()))?;
        let version = whole.get("caseload_baseline").and_then(Value::as_u64);
        match version {
            None => return Err(shape("it has no `caseload_baseline`".to_owned())),
            Some(found) if found > u64::from(FORMAT) => {
                return Err(CompareError::BaselineNewer { path: file.to_owned(), found, known: FORMAT });
            }
            Some(_) => {}
        }
        let cases = whole.get_mut("cases").map(Value::take).unwrap_or_default();
        let cases: BTreeMap<String, CaseLine> = serde_path_to_error::deserialize(cases)
            .map_err(|error| shape(format!("`cases.{}`: {}", error.path(), error.inner())))?;
        let head: Head = serde_path_to_error::deserialize(whole)
            .map_err(|error| shape(format!("`{}`: {}", error.path(), error.inner())))?;
        Self::assemble(head, cases, shape)
    }

    /// The side that a baseline's head and cases tell; `shape` words what contradicts itself there.
    fn assemble(
        head: Head,
        cases: BTreeMap<String, CaseLine>,
        shape: impl Fn(String) -> CompareError,
    ) -> Result<Self, CompareError> {
        let bad_print = |text: &str| shape(format!("`{text}` is not a fingerprint"));
        let mut graders: Vec<SideGrader> = head
            .graders
            .into_iter()
            .map(|grader| SideGrader {
                name: grader.name,
                hard: grader.hard,
                kind: grader.kind,
                version: grader.version,
                counts: vec![],
            })
            .collect();
        let n = cases.len();
        let mut side_cases = Vec::with_capacity(n);
        for (at, (id, line)) in cases.into_iter().enumerate() {
            if line.passes > line.measured || line.hard.passes > line.hard.measured {
                return Err(shape(format!("case `{id}` passes more often than it was measured")));
            }
            for (position, [passes, measured]) in line.graders {
                let known = graders.get_mut(position).filter(|_| passes <= measured);
                let grader = known.ok_or_else(|| shape(format!("case `{id}` has a wrong grader count")))?;
                if grader.counts.is_empty() {
                    grader.counts = vec![Count::default(); n];
                }
                grader.counts[at] = Count { measured, passes };
            }
            side_cases.push(SideCase {
                fingerprint: fingerprint(&line.fingerprint).ok_or_else(|| bad_print(&line.fingerprint))?,
                split: line.split,
                cluster: line.cluster.unwrap_or_else(|| id.clone()),
                weight: line.weight,
                segment: line.segment,
                pass_if: line.pass_if,
                planned: line.planned,
                count: Count { measured: line.measured, passes: line.passes },
                hard: line.hard,
                cost_usd: line.cost_usd,
                input_tokens: line.input_tokens,
                output_tokens: line.output_tokens,
                latency_ms: line.latency_ms,
                retrieval: None,
                id: CaseId::from(id),
            });
        }
        Ok(Self {
            label: "baseline".to_owned(),
            run: head.run,
            target: head.target,
            model: head.model,
            stored: None,
            created_at: None,
            golden_fingerprint: fingerprint(&head.golden_fingerprint)
                .ok_or_else(|| bad_print(&head.golden_fingerprint))?,
            golden_name: head.golden_name,
            gates: head.gates,
            cases: side_cases,
            graders,
            totals: head.totals,
        })
    }
}

/// A fingerprint from its 64 hexadecimal digits.
fn fingerprint(text: &str) -> Option<Fingerprint> {
    blake3::Hash::from_hex(text).ok().map(|hash| Fingerprint::from(*hash.as_bytes()))
}
