//! Runs held against each other: over time, case by case.

mod flaky;
mod history;
mod trend;

pub use self::{
    flaky::{FlakyCase, FlakyLedger, FlakyTarget, Steadiness, flaky_target},
    history::{CaseCounts, History, HistoryCase, HistoryRun},
    trend::{Change, ChangeKind, ChangePoint, Share, TrendRun, TrendTarget, trend_target},
};
