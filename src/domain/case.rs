//! A case: one line of a golden set.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CaseId, Fingerprint, GraderSpec, Input, PassIf, shared};

/// Which part of a golden set a case belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// Cases that prompts may be tuned on.
    Tuning,
    /// Cases kept back for the decision.
    HeldOut,
    /// Cases taken from live traffic.
    Live,
}

impl Split {
    /// The name as files and tables write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tuning => "tuning",
            Self::HeldOut => "held-out",
            Self::Live => "live",
        }
    }
}

/// Where a case came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The trace in which it was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// When it was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captured_at: Option<String>,
    /// Why it is worth keeping, where that is not obvious.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_kept: Option<String>,
}

/// Answers that a case's graders must accept, and tempting ones that they must not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Examples {
    /// Right answers.
    pub pass: Vec<String>,
    /// Wrong answers.
    pub fail: Vec<String>,
}

/// One case as it is meant: the experiment's defaults are in place and its graders are resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Unique within the golden set.
    pub id: CaseId,
    /// Which part of the set it belongs to, if the line says so.
    pub split: Option<Split>,
    /// When it entered the set.
    pub added: Option<String>,
    /// Who answers for it.
    pub owner: Option<String>,
    /// Where it came from.
    pub source: Option<Box<Source>>,
    /// Named slices it belongs to; shared by cases that have the same.
    #[serde(with = "shared::arc")]
    pub segment: Arc<BTreeMap<String, String>>,
    /// What it shares with other cases; `None`: it is a cluster of its own.
    pub cluster: Option<String>,
    /// Its weight in the weighted mean; finite and not negative.
    pub weight: f64,
    /// What is asked.
    pub input: Input,
    /// What the application knew: account, frozen time, retrieved chunks; `Null` when absent.
    pub context: Value,
    /// What graders compare with; `Null` when absent.
    pub expected: Value,
    /// The graders that all must pass, parameters resolved.
    pub graders: Vec<GraderSpec>,
    /// How often it is asked, if not as often as the experiment says.
    pub repeats: Option<u32>,
    /// From its repeats to its verdict.
    pub pass_if: PassIf,
    /// Answers to test its graders with.
    pub examples: Examples,
    /// Free notes; no grader reads them.
    pub meta: Value,
    /// Hash over what can change its result: input, context, expected, graders, `pass_if`, cluster
    /// and weight.
    pub fingerprint: Fingerprint,
}

/// Segments of many cases, each different map kept once: a map of three short texts takes as much
/// memory as all the rest of a small case.
#[derive(Debug, Default)]
pub struct SharedSegments(HashSet<Arc<BTreeMap<String, String>>>);

impl SharedSegments {
    /// The map that equals `segment`.
    pub fn share(&mut self, segment: Arc<BTreeMap<String, String>>) -> Arc<BTreeMap<String, String>> {
        if let Some(known) = self.0.get(&segment) {
            return Arc::clone(known);
        }
        self.0.insert(Arc::clone(&segment));
        segment
    }
}

impl Case {
    /// The cluster it counts in: its own id where the line names none.
    pub fn cluster_or_id(&self) -> &str {
        self.cluster.as_deref().unwrap_or(self.id.as_str())
    }
}
