//! From the verdicts of a case's repeats to the case's own.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How many of a case's repeats must pass for the case to pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassIf {
    /// All of them.
    Every,
    /// At least one.
    Any,
    /// More than half.
    #[default]
    Majority,
    /// At least this many.
    AtLeast(u32),
}

impl PassIf {
    /// Whether a case with `passes` of `measured` repeats right passes; `None` when nothing was
    /// measured.
    pub fn verdict(self, passes: u32, measured: u32) -> Option<bool> {
        if measured == 0 {
            return None;
        }
        Some(match self {
            Self::Every => passes == measured,
            Self::Any => passes > 0,
            Self::Majority => 2 * u64::from(passes) > u64::from(measured),
            Self::AtLeast(wanted) => passes >= wanted,
        })
    }
}

impl fmt::Display for PassIf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every => out.write_str("every"),
            Self::Any => out.write_str("any"),
            Self::Majority => out.write_str("majority"),
            Self::AtLeast(wanted) => write!(out, "at least {wanted}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_counts_the_measured_repeats_only() {
        for (pass_if, passes, measured, expected) in [
            (PassIf::Every, 5, 5, Some(true)),
            (PassIf::Every, 4, 5, Some(false)),
            (PassIf::Any, 1, 5, Some(true)),
            (PassIf::Any, 0, 5, Some(false)),
            (PassIf::Majority, 3, 5, Some(true)),
            (PassIf::Majority, 2, 4, Some(false)),
            (PassIf::AtLeast(2), 2, 5, Some(true)),
            (PassIf::AtLeast(2), 1, 5, Some(false)),
            (PassIf::Every, 0, 0, None),
        ] {
            assert_eq!(pass_if.verdict(passes, measured), expected, "{pass_if} {passes}/{measured}");
        }
    }

    #[test]
    fn pass_if_reads_as_it_is_documented() {
        let read = |text| serde_json::from_str::<PassIf>(text).unwrap();
        assert_eq!(read(r#""every""#), PassIf::Every);
        assert_eq!(read(r#"{"at_least": 3}"#), PassIf::AtLeast(3));
    }
}
