//! A comparison on the screen: at most 100 columns, readable without colour.

use std::fmt::Write;

use crate::domain::text::{one_line, visible};
use crate::{
    compare::{
        Amount, Comparison, Confirmed, Count, Difference, FlipRow, GateVerdict, Matrix, Quantity, Verdict,
    },
    report::{
        format::{count, dollars, milliseconds, percent, wrapped},
        table::Table,
    },
};

/// Flips that are shown before the rest is only counted.
const SHOWN_FLIPS: usize = 20;

/// The comparison as text. `list`: name every case that was left out, and every flip.
pub(super) fn comparison_text(comparison: &Comparison, list: bool) -> String {
    let mut text = heading(comparison, list);
    let _ = writeln!(text, "\n{}\n", verdict_line(comparison));
    text.push_str(&quantities(comparison));
    text.push('\n');
    text.push_str(&evidence(comparison));
    text.push('\n');
    text.push_str(&flips(comparison, list));
    for part in [slices(comparison), graders(comparison), gates(comparison), sign_offs(comparison)] {
        if !part.is_empty() {
            text.push('\n');
            text.push_str(&part);
        }
    }
    for note in &comparison.notes {
        text.push_str(&wrapped("note: ", note));
    }
    for change in &comparison.grader_changes {
        text.push_str(&wrapped("note: ", &format!("graders differ: {}", visible(change))));
    }
    text
}

/// Several candidates with one baseline, a line each.
pub(super) fn matrix_text(matrix: &Matrix) -> String {
    let Some(first) = matrix.rows.first() else { return String::new() };
    let baseline = &first.comparison.sides[0];
    let mut text = format!("A  {} ({})\n\n", visible(&baseline.label), visible(&baseline.model));
    let mut table = Table::new(
        0,
        [
            "candidate",
            "pairs",
            "pass rate",
            "B − A",
            "95 % interval",
            "p (Holm)",
            "fixed",
            "broke",
            "cost",
            "gates",
        ],
    );
    for row in &matrix.rows {
        let comparison = &row.comparison;
        table.row([
            one_line(&comparison.sides[1].label, 26),
            count(comparison.pairs as u64),
            optional(comparison.difference.candidate, percent),
            optional(comparison.difference.point, signed),
            ends(comparison.difference.low, comparison.difference.high, signed),
            optional(row.p_adjusted, p_value),
            count(comparison.flips.fixed.len() as u64),
            count(comparison.flips.broke.len() as u64),
            optional(comparison.cost.increase.point, in_percent),
            verdict_word(comparison.verdict).to_owned(),
        ]);
    }
    text.push_str(&table.text());
    for row in &matrix.rows {
        let _ = write!(
            text,
            "\n{}",
            wrapped(&format!("{}: ", one_line(&row.comparison.sides[1].label, 40)), &row.comparison.words)
        );
        for gate in row.comparison.gates.iter().filter(|gate| gate.verdict != GateVerdict::Pass) {
            let label = format!("  {} {}: ", gate.verdict.as_str(), gate.name);
            text.push_str(&wrapped(&label, &visible(&gate.why)));
        }
    }
    text
}

fn heading(comparison: &Comparison, list: bool) -> String {
    let mut text = String::new();
    for (letter, side) in ["A", "B"].iter().zip(&comparison.sides) {
        let _ = writeln!(text, "{letter}  {} · {}", one_line(&side.label, 60), one_line(&side.model, 30));
        let missing: Vec<String> = side
            .not_measured
            .iter()
            .map(|(reason, trials)| format!("{} {}", count(*trials), reason.replace('_', " ")))
            .collect();
        if !missing.is_empty() {
            let graded = format!("{} of {} trials graded", count(side.graded), count(side.trials));
            text.push_str(&wrapped("   ", &format!("{graded}; not measured: {}", missing.join(", "))));
        }
    }
    let left_out = &comparison.left_out;
    let lists = [
        ("new", &left_out.new),
        ("gone", &left_out.gone),
        ("changed", &left_out.changed),
        ("not measured", &left_out.not_measured),
    ];
    let counts: Vec<String> = lists
        .iter()
        .filter(|(_, ids)| !ids.is_empty())
        .map(|(name, ids)| format!("{} {name}", count(ids.len() as u64)))
        .collect();
    let fingerprint: String = comparison.sides[1].golden_fingerprint.chars().take(12).collect();
    let _ = writeln!(
        text,
        "golden set {} ({fingerprint}) · {} cases compared{}",
        one_line(&comparison.sides[1].golden_name, 40),
        count(comparison.pairs as u64),
        if counts.is_empty() { String::new() } else { format!("; left out: {}", counts.join(", ")) }
    );
    for (name, ids) in lists.iter().filter(|_| list) {
        for id in *ids {
            let _ = writeln!(text, "  {name}: {}", visible(id.as_str()));
        }
    }
    text
}

fn verdict_line(comparison: &Comparison) -> String {
    match comparison.verdict {
        Verdict::NoGates => comparison.words.clone(),
        verdict => format!("{} · {}", verdict_word(verdict), comparison.words),
    }
}

fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "PASS",
        Verdict::Fail => "FAIL",
        Verdict::CannotTell => "CANNOT TELL",
        Verdict::NoGates => "no gates",
    }
}

fn quantities(comparison: &Comparison) -> String {
    let mut table = Table::new(0, ["", "A", "B", "B − A", "95 % interval", "p"]);
    let difference = &comparison.difference;
    let rates = comparison.sides.each_ref().map(|side| &side.pass_rate);
    table.row(difference_row("pass rate", difference));
    table.row([
        "  95 % interval".to_owned(),
        ends(rates[0].low, rates[0].high, bare_percent),
        ends(rates[1].low, rates[1].high, bare_percent),
        String::new(),
        String::new(),
        String::new(),
    ]);
    if let Some(structural) = &comparison.structural {
        table.row(difference_row("structural graders", structural));
    }
    if let Some(retrieval) = &comparison.retrieval {
        table.row(quantity_row("retrieval hit rate", &retrieval.hit_rate, share));
        table.row(quantity_row("retrieval recall", &retrieval.recall, share));
    }
    cost_rows(&mut table, comparison);
    let cost = &comparison.cost;
    if cost.input_tokens.baseline.is_some() {
        table.row(quantity_row("input tokens", &cost.input_tokens, tokens));
        table.row([
            "  from a cache".to_owned(),
            optional(cost.cached_share[0], percent),
            optional(cost.cached_share[1], percent),
            String::new(),
            String::new(),
            String::new(),
        ]);
        table.row(quantity_row("output tokens", &cost.output_tokens, tokens));
    }
    if comparison.latency_ms.p50.baseline.is_some() {
        table.row(quantity_row("latency p50", &comparison.latency_ms.p50, time));
        table.row(quantity_row("latency p95", &comparison.latency_ms.p95, time));
    }
    table.text()
}

/// What an answer costs, by how much that differs, and what all cost.
fn cost_rows(table: &mut Table, comparison: &Comparison) {
    let cost = &comparison.cost;
    if cost.per_case_usd.baseline.is_some() {
        table.row(quantity_row("cost an answer", &cost.per_case_usd, |usd| signed_text(usd, dollar_text)));
    }
    if cost.increase.point.is_some() {
        table.row([
            "  relative".to_owned(),
            String::new(),
            String::new(),
            optional(cost.increase.point, in_percent),
            amount_ends(&cost.increase, signed),
            String::new(),
        ]);
    }
    if cost.total_usd.iter().any(Option::is_some) {
        table.row([
            "cost in all".to_owned(),
            optional(cost.total_usd[0], dollars),
            optional(cost.total_usd[1], dollars),
            optional(comparison.total_increase(), in_percent),
            String::new(),
            String::new(),
        ]);
    }
}

fn in_percent(share: f64) -> String {
    format!("{} %", signed(share))
}

/// What is shown of a number: plain, or with its sign.
#[derive(Clone, Copy)]
enum Shown {
    Plain(f64),
    Signed(f64),
}

fn quantity_row(name: &str, quantity: &Quantity, show: impl Fn(Shown) -> String) -> [String; 6] {
    let difference = &quantity.difference;
    let with_sign = |value| show(Shown::Signed(value));
    [
        name.to_owned(),
        optional(quantity.baseline, |value| show(Shown::Plain(value))),
        optional(quantity.candidate, |value| show(Shown::Plain(value))),
        optional(difference.point, with_sign),
        ends(difference.low, difference.high, with_sign),
        String::new(),
    ]
}

/// A share as a percentage, a difference of shares in points.
fn share(shown: Shown) -> String {
    match shown {
        Shown::Plain(value) => percent(value),
        Shown::Signed(value) => signed(value),
    }
}

fn signed_text(shown: Shown, text: impl Fn(f64) -> String) -> String {
    match shown {
        Shown::Plain(value) => text(value),
        Shown::Signed(value) => {
            let shown = text(value.abs());
            let sign = match () {
                // What rounds to nothing has no sign.
                () if !shown.contains(|digit: char| ('1'..='9').contains(&digit)) => "",
                () if value < 0.0 => "−",
                () => "+",
            };
            format!("{sign}{shown}")
        }
    }
}

fn dollar_text(usd: f64) -> String {
    match usd {
        // Half a millionth of a dollar is still a price.
        _ if usd > 0.0 && usd < 0.0001 => format!("${usd:.9}"),
        _ if usd < 0.01 => format!("${usd:.6}"),
        _ => format!("${usd:.4}"),
    }
}

fn tokens(shown: Shown) -> String {
    signed_text(shown, |value| format!("{value:.0}"))
}

fn time(shown: Shown) -> String {
    signed_text(shown, milliseconds)
}

fn difference_row(name: &str, difference: &Difference) -> [String; 6] {
    [
        name.to_owned(),
        optional(difference.baseline, percent),
        optional(difference.candidate, percent),
        optional(difference.point, signed),
        ends(difference.low, difference.high, signed),
        optional(difference.p, p_value),
    ]
}

fn evidence(comparison: &Comparison) -> String {
    let difference = &comparison.difference;
    let in_points = |share: f64| format!("{:.2} points", share * 100.0);
    let mut text = String::new();
    let mut line = |label: &str, value: String| text.push_str(&wrapped(&format!("{label:12}"), &value));
    if let Some(se) = difference.se {
        let is_clustered = difference.n_clusters < difference.n_cases;
        let naive = difference
            .se_naive
            .filter(|_| is_clustered)
            .map(|se| format!("; ignoring clusters {}", in_points(se)));
        // The unpaired error knows no clusters: beside a clustered one it must say so.
        let ignoring = if is_clustered { "ignoring the pairing, too, " } else { "unpaired it would be " };
        let unpaired = difference.se_unpaired.map(|se| format!("; {ignoring}{}", in_points(se)));
        line(
            "std error",
            format!(
                "{} (paired, CR2){}{}",
                in_points(se),
                naive.unwrap_or_default(),
                unpaired.unwrap_or_default()
            ),
        );
    }
    line(
        "rests on",
        format!(
            "{} cases in {} clusters, {} trials; interval: {}{}",
            count(difference.n_cases as u64),
            count(difference.n_clusters as u64),
            count(difference.n_trials as u64),
            difference.method,
            difference.p_method.map(|name| format!("; p: {}", name.replace('_', " "))).unwrap_or_default()
        ),
    );
    if let Some(least) = comparison.power.detectable {
        line("can see", format!("{} with 80 % probability", in_points(least)));
    }
    text
}

fn flips(comparison: &Comparison, list: bool) -> String {
    let flips = &comparison.flips;
    let chance = flips
        .expected_by_chance
        .map(|expected| format!("; single answers would flip in {expected:.1} cases by chance"))
        .unwrap_or_default();
    let summary = format!(
        "fixed {}, broke {}; still passes {}, still fails {}; sign test (McNemar, exact) p = {}, mid-p {}{chance}",
        count(flips.fixed.len() as u64),
        count(flips.broke.len() as u64),
        count(flips.still_passes as u64),
        count(flips.still_fails as u64),
        p_value(flips.mcnemar_p),
        p_value(flips.mcnemar_mid_p),
    );
    let mut text = wrapped(&format!("{:12}", "flips"), &summary);
    let shown = if list { flips.rows.len() } else { SHOWN_FLIPS.min(flips.rows.len()) };
    if shown > 0 {
        let mut table = Table::new(2, ["case", "", "A", "B", "", ""]).left(&[1, 4, 5]);
        for row in &flips.rows[..shown] {
            table.row([
                one_line(row.id.as_str(), 40),
                row.direction.as_str().to_owned(),
                passes(row.baseline),
                passes(row.candidate),
                mark(row),
                remarks(row),
            ]);
        }
        text.push_str(&table.text());
    }
    let more = flips.rows.len() - shown;
    if more > 0 {
        let _ = writeln!(text, "  and {} more; --list names them all", count(more as u64));
    }
    text
}

fn passes(passed: Count) -> String {
    format!("{}/{}", passed.passes, passed.measured)
}

fn mark(row: &FlipRow) -> String {
    match row.q {
        Some(q) if row.mark == crate::compare::Mark::Real => format!("real (q {})", p_value(q)),
        _ => row.mark.as_str().to_owned(),
    }
}

fn remarks(row: &FlipRow) -> String {
    let mut remarks = vec![];
    if row.hard {
        remarks.push("hard".to_owned());
    }
    #[expect(clippy::float_cmp, reason = "a weight of exactly 1 is the default")]
    if row.weight != 1.0 {
        remarks.push(format!("weight {}", row.weight));
    }
    match row.confirmed {
        Some(Confirmed::Confirmed) => remarks.push("confirmed".to_owned()),
        Some(Confirmed::NotConfirmed) => remarks.push("not confirmed".to_owned()),
        Some(Confirmed::CannotTell) => remarks.push("fresh answers cannot tell".to_owned()),
        None => {}
    }
    if row.signed_off.is_some() {
        remarks.push("signed off".to_owned());
    }
    remarks.join(", ")
}

fn slices(comparison: &Comparison) -> String {
    if comparison.splits.is_empty() && comparison.segments.is_empty() {
        return String::new();
    }
    let mut table = Table::new(0, ["part", "cases", "A", "B", "B − A", "95 % interval", "p (Holm)"]);
    for slice in comparison.splits.iter().chain(&comparison.segments) {
        let difference = &slice.difference;
        table.row([
            one_line(&format!("{}={}", slice.key, slice.value), 34),
            count(difference.n_cases as u64),
            optional(difference.baseline, percent),
            optional(difference.candidate, percent),
            optional(difference.point, signed),
            ends(difference.low, difference.high, signed),
            optional(slice.p_adjusted, p_value),
        ]);
    }
    table.text()
}

fn graders(comparison: &Comparison) -> String {
    if comparison.graders.is_empty() {
        return String::new();
    }
    let mut table = Table::new(0, ["grader", "cases", "A", "B", "B − A", "95 % interval", "p"]);
    for grader in &comparison.graders {
        let difference = &grader.difference;
        let hard = if grader.hard { " (hard)" } else { "" };
        table.row([
            format!("{}{hard}", one_line(&grader.name, 30)),
            count(difference.n_cases as u64),
            optional(difference.baseline, percent),
            optional(difference.candidate, percent),
            optional(difference.point, signed),
            ends(difference.low, difference.high, signed),
            optional(difference.p, p_value),
        ]);
    }
    table.text()
}

fn gates(comparison: &Comparison) -> String {
    gates_text(&comparison.gates)
}

/// What gates say: one a paragraph, the figure that decided and what would decide.
pub fn gates_text(gates: &[crate::compare::GateResult]) -> String {
    let mut text = String::new();
    for gate in gates {
        let edited = if gate.edited { " (edited since the run began)" } else { "" };
        let label = format!("{:11}  {:23} ", gate.verdict.as_str(), gate.name);
        text.push_str(&wrapped(&label, &format!("{}{edited}", visible(&gate.why))));
        if let Some(what) = &gate.would_decide {
            text.push_str(&wrapped(&format!("{:37}", ""), &format!("would decide: {what}")));
        }
    }
    if text.is_empty() { text } else { format!("gates\n{text}") }
}

fn sign_offs(comparison: &Comparison) -> String {
    let mut text = String::new();
    for one in &comparison.sign_offs {
        let what = format!(
            "{} {} · {} · until {} · {}",
            visible(one.case.as_str()),
            one.direction.as_str(),
            visible(&one.who),
            one.until,
            visible(&one.why)
        );
        text.push_str(&wrapped(&format!("{:11}  ", one.state), &what));
    }
    if text.is_empty() { text } else { format!("sign-offs\n{text}") }
}

fn optional<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), show)
}

fn ends(low: Option<f64>, high: Option<f64>, show: impl Fn(f64) -> String) -> String {
    match (low, high) {
        (None, None) => "–".to_owned(),
        (low, high) => format!("{} to {}", optional(low, &show), optional(high, &show)),
    }
}

fn amount_ends(amount: &Amount, show: impl Fn(f64) -> String) -> String {
    ends(amount.low, amount.high, show)
}

/// A difference of shares in points.
fn signed(share: f64) -> String {
    format!("{:+.1}", share * 100.0).replace('-', "−")
}

fn bare_percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

fn p_value(p: f64) -> String {
    if p < 0.0001 { "<0.0001".to_owned() } else { format!("{p:.4}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::Cost, report::comparison::fixture};

    #[test]
    fn a_comparison_reads_as_before() {
        insta::assert_snapshot!(comparison_text(&fixture::comparison(), true));
    }

    /// It stood beside the totals and was of the pairs' means: `$0.0376  $0.005304  +0.0 %`.
    #[test]
    fn what_stands_beside_the_totals_is_of_the_totals() {
        let mut comparison = fixture::comparison();
        comparison.cost.total_usd = [376, 53].map(|cost| Some(Cost::from_picodollars(cost * 100_000_000)));
        comparison.cost.increase = Amount { point: Some(0.0), low: Some(0.0), high: Some(0.0) };
        let row = |comparison: &Comparison| {
            let text = comparison_text(comparison, false);
            text.lines().find(|line| line.starts_with("cost in all")).unwrap().to_owned()
        };
        assert!(row(&comparison).contains("−85.9 %"), "{}", row(&comparison));
        comparison.sides[0].cost_unknown_trials = 1;
        assert!(!row(&comparison).contains('%'), "{}", row(&comparison));
    }

    #[test]
    fn its_json_has_the_shape_that_is_documented() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&fixture::comparison()).unwrap());
    }
}
