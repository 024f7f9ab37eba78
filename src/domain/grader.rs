//! What a grader was told: its kind and parameters, as data.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::GraderName;

/// A grader as a case or an experiment names it, before it is compiled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraderSpec {
    /// The name its scores are reported under: as defined in the experiment, else its kind.
    pub name: GraderName,
    /// Which grader it is, such as `words`.
    pub kind: String,
    /// Structural: a failure is a hard failure.
    #[serde(default)]
    pub hard: bool,
    /// Its own parameters.
    #[serde(default)]
    pub parameters: Map<String, Value>,
}
