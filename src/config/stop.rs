//! `[stop]`: when a run may end before all trials are done.

use serde::{Deserialize, Serialize};

/// Stop when the comparison with a baseline is decided either way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopSettings {
    /// What is compared with: another target of the experiment, or an earlier run.
    pub against: String,
    /// How many points worse a target may be and still pass; 0 by default. Without meaning for the
    /// gate `different`.
    #[serde(default)]
    pub margin: f64,
    /// What decides.
    #[serde(default)]
    pub gate: StopGate,
}

/// What decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopGate {
    /// Whether a target is worse than the baseline by more than the margin.
    #[default]
    NotWorse,
    /// Whether there is a difference in either direction.
    Different,
}

impl StopSettings {
    /// What is wrong with it.
    pub fn fault(&self) -> Option<String> {
        let fine = self.margin.is_finite() && (0.0..100.0).contains(&self.margin);
        (!fine).then(|| format!("`stop.margin` is {}, expected points from 0 to below 100", self.margin))
    }
}
