//! A trend and a flake ledger on the screen.

use std::fmt::Write;

use super::{
    format::{count, dollars, milliseconds, percent},
    table::Table,
};
use crate::compare::{
    Change, ChangePoint, FlakyCase, FlakyLedger, FlakyTarget, Steadiness, TrendRun, TrendTarget,
};
use crate::domain::text::one_line;

/// Longest text of a mark on one line.
const MARK_WIDTH: usize = 64;

/// Longest name of a run.
const RUN_WIDTH: usize = 18;

/// Longest id of a case in the ledger's table.
const ID_WIDTH: usize = 36;

/// The trend of an experiment's targets.
pub fn trend_text(experiment: &str, targets: &[TrendTarget]) -> String {
    let mut text = String::new();
    for target in targets {
        if !text.is_empty() {
            text.push('\n');
        }
        let runs = target.runs.len();
        let _ =
            writeln!(text, "{experiment} · {} · {} run{}\n", target.target, count(runs as u64), plural(runs));
        text.push_str(&run_table(target));
        text.push_str(&marks(target));
        let _ = write!(text, "\n{}", change(target));
    }
    text
}

fn plural(number: usize) -> &'static str {
    if number == 1 { "" } else { "s" }
}

fn run_table(target: &TrendTarget) -> String {
    let headings = ["run", "began (UTC)", "pass rate", "95 % interval", "missing", "cost", "p50", "p95", ""];
    let mut table = Table::new(0, headings).left(&[1, 8]);
    for run in &target.runs {
        let rate = run.pass_rate.as_ref();
        let milliseconds = |value: Option<f64>| value.map(milliseconds).unwrap_or_else(|| "–".to_owned());
        table.row([
            one_line(&run.run, RUN_WIDTH),
            run.created_at.chars().take(16).collect::<String>().replace('T', " ").split_off(2),
            rate.map_or_else(|| "–".to_owned(), |rate| percent(rate.point)),
            rate.map(|rate| interval(rate.low, rate.high)).unwrap_or_default(),
            count(run.not_measured),
            cost(run),
            milliseconds(run.latency_p50_ms),
            milliseconds(run.latency_p95_ms),
            if run.changed.is_empty() { String::new() } else { "*".to_owned() },
        ]);
    }
    table.text()
}

fn interval(low: Option<f64>, high: Option<f64>) -> String {
    let end =
        |value: Option<f64>| value.map_or_else(|| "?".to_owned(), |value| format!("{:.1}", value * 100.0));
    format!("{} to {}", end(low), end(high))
}

fn cost(run: &TrendRun) -> String {
    match run.cost_usd {
        None => "unknown".to_owned(),
        Some(cost) if run.cost_unknown_trials > 0 => format!("≥ {}", dollars(cost)),
        Some(cost) => dollars(cost),
    }
}

/// What answered at first, and what was changed at which run.
fn marks(target: &TrendTarget) -> String {
    let mut text = String::new();
    if let Some(first) = target.runs.first() {
        let _ = writeln!(text, "\n  asked for `{}`{}", first.model, answered(first));
    }
    let mut table = Table::new(2, ["changed at", "what", "from -> to"]).left(&[1, 2]);
    for run in &target.runs {
        for Change { kind, what } in &run.changed {
            table.row([one_line(&run.run, RUN_WIDTH), kind.as_str().to_owned(), one_line(what, MARK_WIDTH)]);
        }
    }
    if !table.is_empty() {
        let _ = write!(text, "\n{}", table.text());
    }
    text
}

/// The models that a run's answers came from, by the provider's own word.
fn answered(run: &TrendRun) -> String {
    let names: Vec<String> = run
        .returned
        .iter()
        .filter(|returned| returned.model.is_some() || returned.fingerprint.is_some())
        .map(|returned| {
            let model = returned.model.as_deref().unwrap_or("?");
            let fingerprint = returned.fingerprint.as_ref().map(|text| format!(" ({text})"));
            format!("`{}`", one_line(&format!("{model}{}", fingerprint.unwrap_or_default()), 48))
        })
        .collect();
    match names.as_slice() {
        [] => ", the provider names no model in its answers".to_owned(),
        [one] => format!(", answered by {one}"),
        [one, more @ ..] => format!(", answered by {one} and {} more", more.len()),
    }
}

fn change(target: &TrendTarget) -> String {
    let Some(change) = &target.change_point else {
        return "change: cannot tell, no two runs share a measured case\n".to_owned();
    };
    let ChangePoint { from_run, before, after, cases, looks, p_adjusted, .. } = change;
    let p = if *p_adjusted < 0.0001 { "p < 0.0001".to_owned() } else { format!("p = {p_adjusted:.4}") };
    let rests = format!("{p} with {looks} look{} accounted for", plural(*looks));
    if !change.found {
        return format!("change: none to point out; the clearest, at {from_run}, has {rests}\n");
    }
    let direction = if after < before { "fell" } else { "rose" };
    let points = 100.0 * (after - before).abs();
    let kinds: Vec<&str> = change.coincides_with.iter().map(|kind| kind.as_str()).collect();
    let why = if kinds.is_empty() {
        "nothing that is recorded was changed there".to_owned()
    } else {
        format!("changed there: {}", kinds.join(", "))
    };
    format!(
        "change: the pass rate {direction} by {points:.1} points from {from_run} on ({} -> {}, over {} cases)\n  \
         {rests}; {why}\n",
        percent(*before),
        percent(*after),
        count(*cases as u64)
    )
}

/// The flake ledger, each target's first `limit` cases in full.
pub fn flaky_text(ledger: &FlakyLedger, limit: usize) -> String {
    let mut text = String::new();
    for target in &ledger.targets {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&flaky_target_text(&ledger.experiment, target, limit));
    }
    text
}

fn flaky_target_text(experiment: &str, target: &FlakyTarget, limit: usize) -> String {
    let left_out = match target.runs_left_out {
        0 => String::new(),
        out => format!("; {} left out: other settings or graders than the latest", count(out as u64)),
    };
    let runs = target.runs.len();
    let mut text = format!(
        "{experiment} · {} · {} cases over {} run{}{left_out}\n\n",
        target.target,
        count(target.cases as u64),
        count(runs as u64),
        plural(runs)
    );
    for (label, number) in [
        ("always pass", target.always_pass),
        ("always fail", target.always_fail),
        ("coin flips", target.coin_flips),
        ("flaky", target.flaky),
        ("measured once", target.measured_once),
    ] {
        let _ = writeln!(text, "  {label:15}{:>9}", count(number as u64));
    }
    let _ = writeln!(
        text,
        "  {:15}{:>9}  standard error that repeats alone leave in the pass rate",
        "repeat noise",
        format!("{:.2} pp", 100.0 * target.repeat_noise)
    );
    let unsteady = |case: &&FlakyCase| matches!(case.kind, Steadiness::CoinFlip | Steadiness::Flaky);
    let cases: Vec<&FlakyCase> = target.ledger.iter().filter(unsteady).collect();
    let headings =
        ["more repeats help most", "is", "passes", "rate", "95 % interval", "verdict changes", "noise"];
    let mut table = Table::new(2, headings).left(&[1]);
    for case in cases.iter().take(limit) {
        table.row([
            one_line(&case.case, ID_WIDTH),
            case.kind.as_str().to_owned(),
            format!("{}/{}", case.passes, case.trials),
            format!("{:.0} %", 100.0 * case.probability),
            format!("{:.0} to {:.0}", 100.0 * case.low, 100.0 * case.high),
            count(case.verdict_changes as u64),
            percent(case.noise_share),
        ]);
    }
    if !table.is_empty() {
        let _ = write!(text, "\n{}", table.text());
    }
    if cases.len() > limit {
        let _ = writeln!(text, "  … and {} more (--limit N, --json)", count((cases.len() - limit) as u64));
    }
    let failing: Vec<String> = target
        .ledger
        .iter()
        .filter(|case| case.kind == Steadiness::AlwaysFail)
        .take(limit)
        .map(|case| format!("  {} 0/{}\n", one_line(&case.case, ID_WIDTH), case.trials))
        .collect();
    if !failing.is_empty() {
        let _ = write!(
            text,
            "\n  always fail (a right answer that nobody gives, or a wrong expectation)\n{}",
            failing.concat()
        );
        if target.always_fail > limit {
            let _ = writeln!(text, "  … and {} more", count((target.always_fail - limit) as u64));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{ChangeKind, Share};

    fn run(number: u32, rate: f64, changed: Vec<Change>) -> TrendRun {
        TrendRun {
            run: format!("nightly-{number}"),
            created_at: format!("2026-11-{number:02}T03:00:00.000Z"),
            status: "complete",
            pass_rate: Some(Share {
                point: rate,
                low: Some(rate - 0.03),
                high: Some(rate + 0.03),
                n_cases: 349,
            }),
            trials: 1745,
            not_measured: 3,
            cost_usd: Some("1.2345".parse().unwrap()),
            cost_unknown_trials: 0,
            latency_p50_ms: Some(850.0),
            latency_p95_ms: Some(1_900.0),
            model: "opus-5".to_owned(),
            returned: vec![],
            changed,
        }
    }

    #[test]
    fn a_trend_reads_without_colour_in_100_columns() {
        let mark = Change { kind: ChangeKind::Prompt, what: "system template".to_owned() };
        let target = TrendTarget {
            target: "large".to_owned(),
            runs: vec![run(1, 0.871, vec![]), run(2, 0.802, vec![mark])],
            change_point: Some(ChangePoint {
                from_run: "nightly-2".to_owned(),
                before: 0.871,
                after: 0.802,
                cases: 349,
                p: 0.0004,
                looks: 1,
                p_adjusted: 0.0004,
                found: true,
                coincides_with: vec![ChangeKind::Prompt],
            }),
        };
        let text = trend_text("nightly", &[target]);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        insta::assert_snapshot!(text);
    }
}
