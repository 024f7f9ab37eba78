//! The gates of a run that need no other side, judged by `run`, `resume` and `show --gate`.

use super::{compare::status, error::CliError, exit_status::ExitStatus, output};
use crate::{
    compare::{GateResult, Side, Verdict, frozen_gates, judge_side},
    domain::{RunRow, TargetPos},
    report::gates_text,
    store::Store,
};

/// Judges them for every target of a run, prints what they say and gives what the process ends with.
/// With JSON on stdout they are told on stderr.
pub(super) fn judge(store: &Store, run: RunRow, json: bool) -> Result<ExitStatus, CliError> {
    let detail = store.run_detail(run)?;
    if detail.gates.is_none() {
        return Ok(ExitStatus::Success);
    }
    let mut all: Vec<GateResult> = vec![];
    for (position, target) in (0..).map(TargetPos).zip(&detail.targets) {
        let side = Side::read(store, &detail, position)?;
        let results = judge_side(&frozen_gates(&side)?, &side);
        let text = gates_text(&results);
        if text.is_empty() {
            continue;
        }
        let of = if detail.targets.len() > 1 { format!("{}: ", target.name) } else { String::new() };
        if json {
            output::note(&format!("{of}{text}"));
        } else {
            output::data(&format!("\n{of}{text}"))?;
        }
        all.extend(results);
    }
    Ok(status(Verdict::of(&all)))
}

/// What a run ends with: its own state first, then its gates.
pub(super) fn worse(run: ExitStatus, gates: ExitStatus) -> ExitStatus {
    if run == ExitStatus::Success { gates } else { run }
}
