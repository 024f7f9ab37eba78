//! Held to account: what was estimated against what came.

use serde::Serialize;
use serde_json::Value;

use super::Range;
use crate::{
    domain::{RunRow, RunStatus, TargetPos},
    evidence::Evidence,
    store::{ListedRun, Store, StoreError},
};

/// The latest estimates that a record looks back on.
const LOOKED_BACK: usize = 20;

/// One number: estimated and real.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Held {
    /// What was estimated.
    pub estimated: Range,
    /// What came.
    pub real: f64,
    /// (real − estimated)/estimated; `None` when nothing was estimated.
    pub off: Option<f64>,
    /// Whether it lies in the estimate's interval.
    pub inside: bool,
}

/// One target of a finished run, held against its estimate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeldTarget {
    /// Its name.
    pub name: String,
    /// Input tokens.
    pub input_tokens: Option<Held>,
    /// Output tokens.
    pub output_tokens: Option<Held>,
    /// Dollars.
    pub cost_usd: Option<Held>,
}

/// A finished run, held against its estimate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeldRun {
    /// Target by target.
    pub targets: Vec<HeldTarget>,
    /// Seconds from its beginning to its end.
    pub wall_seconds: Option<Held>,
}

/// How earlier estimates of one target fared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetRecord {
    /// What is compared: `cost`, or `output tokens` where no price is known.
    pub of: &'static str,
    /// Estimates that can be held against a finished run.
    pub estimates: usize,
    /// The median of how far they were off, without sign, as a fraction.
    pub median_off: f64,
    /// How many held the real number in their interval.
    pub inside: usize,
}

/// Holds a run against the estimate made at its start; `None` without one, while trials are to do, or
/// when the run is a shard.
///
/// # Errors
/// The store cannot be read.
pub fn held(store: &Store, run: &ListedRun) -> Result<Option<HeldRun>, StoreError> {
    if run.status != RunStatus::Complete || run.stop_reason.is_some() {
        return Ok(None);
    }
    let Some(estimate) = store.estimate_of(run.id)? else { return Ok(None) };
    let mut planned = vec![];
    store.for_each_case::<StoreError>(run.id, |case| {
        planned.push(case.repeats);
        Ok(())
    })?;
    // A shard is estimated as a part of its whole run, and held to it once that is put together.
    if estimate["cases"].as_u64() != Some(planned.len() as u64) {
        return Ok(None);
    }
    let mut targets = vec![];
    for (position, target) in (0..).map(TargetPos).zip(store.targets(run.id)?) {
        let Some(estimated) = estimate["targets"].get(position.index()) else { continue };
        let real = real(store, run.id, position, &planned)?;
        targets.push(HeldTarget {
            name: target.name.to_string(),
            input_tokens: compare(&estimated["input_tokens"], real.input),
            output_tokens: compare(&estimated["output_tokens"], real.output),
            cost_usd: compare(&estimated["cost_usd"], real.dollars),
        });
    }
    // A pilot's time says nothing of the whole plan's.
    let is_pilot = estimate["pilot"].as_bool() == Some(true);
    let wall = run.finished_at.map(|end| (end.0 - run.created_at.0) as f64 / 1e3).filter(|_| !is_pilot);
    Ok(Some(HeldRun { targets, wall_seconds: compare(&estimate["total"]["wall_seconds"], wall) }))
}

/// The record of a target over the latest finished runs of its experiment; `None` without one.
///
/// # Errors
/// The store cannot be read.
pub fn record(store: &Store, experiment: &str, target: &str) -> Result<Option<TargetRecord>, StoreError> {
    let (mut costs, mut outputs): (Vec<Held>, Vec<Held>) = (vec![], vec![]);
    for run in store.list_runs()?.iter().filter(|run| run.experiment == experiment) {
        if outputs.len() == LOOKED_BACK {
            break;
        }
        let Some(held) = held(store, run)? else { continue };
        if let Some(held) = held.targets.into_iter().find(|held| held.name == target) {
            costs.extend(held.cost_usd);
            outputs.extend(held.output_tokens);
        }
    }
    let (of, held) = if costs.is_empty() { ("output tokens", outputs) } else { ("cost", costs) };
    let mut off: Vec<f64> = held.iter().filter_map(|held| held.off).map(f64::abs).collect();
    if off.is_empty() {
        return Ok(None);
    }
    off.sort_by(f64::total_cmp);
    let middle = off.len() / 2;
    let median_off = if off.len() % 2 == 1 { off[middle] } else { (off[middle - 1] + off[middle]) / 2.0 };
    let inside = held.iter().filter(|held| held.inside).count();
    Ok(Some(TargetRecord { of, estimates: held.len(), median_off, inside }))
}

struct Real {
    input: Option<f64>,
    output: Option<f64>,
    dollars: Option<f64>,
}

/// What a target's answers really took, failed attempts paid, too; `None` where an answer's part is not
/// known.
fn real(store: &Store, run: RunRow, target: TargetPos, planned: &[u32]) -> Result<Real, StoreError> {
    let evidence = Evidence::read_lean(store, run, target, planned.iter().copied())?;
    let attempts = store.attempt_totals(run, target)?;
    let tokens = (evidence.usage_unknown == 0).then_some(evidence.usage);
    Ok(Real {
        input: tokens.map(|usage| usage.input_total() as f64),
        output: tokens.map(|usage| usage.output as f64),
        dollars: (evidence.unpriced == 0).then(|| evidence.attempts_cost(&attempts).dollars()),
    })
}

fn compare(estimated: &Value, real: Option<f64>) -> Option<Held> {
    let estimated: Range = serde_json::from_value(estimated.clone()).ok()?;
    let real = real?;
    Some(Held {
        estimated,
        real,
        off: (estimated.mid > 0.0).then(|| (real - estimated.mid) / estimated.mid),
        inside: estimated.contains(real),
    })
}
