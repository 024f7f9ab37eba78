//! Where repeats would help: what one more repeat of every case gains against more cases.
//!
//! The advice is for the next run: repeats chosen by the outcomes that they are then counted with
//! would bias every number.

use serde::Serialize;

/// What one more repeat of every case is worth, from one target's verdicts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RepeatGain {
    /// Variance between cases.
    pub between: f64,
    /// Mean variance within a case.
    pub within: f64,
    /// Cases.
    pub cases: u64,
    /// Repeats now.
    pub repeats: u32,
    /// The standard error now, clusters left aside.
    pub se_now: f64,
    /// With one more repeat of every case.
    pub se_one_more_repeat: f64,
    /// With as many more cases for the same number of requests.
    pub se_more_cases: f64,
    /// How many cases that is.
    pub more_cases: u64,
}

/// The gain of one more repeat; `None` without a case.
pub fn repeat_gain(between: f64, within: f64, cases: u64, repeats: u32) -> Option<RepeatGain> {
    if cases == 0 || repeats == 0 {
        return None;
    }
    let (n, k) = (cases as f64, f64::from(repeats));
    let se = |n: f64, k: f64| ((between + within / k) / n).sqrt();
    // n requests for one more repeat ask n/k more cases as often as these.
    let more = n / k;
    Some(RepeatGain {
        between,
        within,
        cases,
        repeats,
        se_now: se(n, k),
        se_one_more_repeat: se(n, k + 1.0),
        se_more_cases: se(n + more, k),
        more_cases: super::range::whole(more),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_never_beat_cases_of_the_same_price() {
        for (between, within) in [(0.0, 0.2), (0.1, 0.1), (0.2, 0.0)] {
            for repeats in 1..6 {
                let gain = repeat_gain(between, within, 100, repeats).unwrap();
                assert!(gain.se_more_cases <= gain.se_one_more_repeat + 1e-12);
                assert!(gain.se_one_more_repeat <= gain.se_now + 1e-12);
            }
        }
        assert_eq!(repeat_gain(0.1, 0.1, 0, 1), None);
    }
}
