//! A scorecard on the screen: at most 100 columns, readable without colour.

use std::fmt::Write;

use super::queues::queue_text;
use crate::{
    domain::Cost,
    evidence::{CacheCard, GraderCard, Percentiles, Rate, RetrievalCard, Scorecard, Slice, TargetCard},
    report::{
        format::{count, dollars, milliseconds, percent, wrapped},
        table::Table,
    },
};

/// The scorecard as text.
pub fn scorecard_text(card: &Scorecard) -> String {
    let mut text = heading(card);
    text.push('\n');
    text.push_str(&summary(card));
    for target in &card.targets {
        text.push('\n');
        text.push_str(&details(target));
    }
    text.push_str(&queue_text(&card.queues));
    text
}

fn heading(card: &Scorecard) -> String {
    let run = &card.run;
    let wall = run.wall_s.map(|seconds| format!(" · {}", milliseconds(seconds * 1e3))).unwrap_or_default();
    let mut text = format!("run {} · {}{wall}\n", run.id, run.status);
    let fingerprint: String = run.golden_fingerprint.chars().take(12).collect();
    let _ = writeln!(text, "golden set {} ({fingerprint}) · seed {}", run.golden_name, run.seed);
    if let Some(reason) = &run.stop_reason {
        text.push_str(&wrapped("stopped: ", reason));
    }
    text
}

fn summary(card: &Scorecard) -> String {
    let mut table = Table::new(0, ["target", "pass rate", "95 % interval", "graded", "cost", "p50", "p95"]);
    for target in &card.targets {
        table.row([
            target.name.clone(),
            target.pass_rate.as_ref().map_or_else(|| "not measured".to_owned(), |rate| percent(rate.point)),
            target.pass_rate.as_ref().map(interval).unwrap_or_default(),
            format!("{}/{}", count(target.graded), count(target.trials)),
            cost(target),
            target.latency_ms.p50.map_or_else(|| "–".to_owned(), milliseconds),
            target.latency_ms.p95.map_or_else(|| "–".to_owned(), milliseconds),
        ]);
    }
    table.text()
}

/// `84.9 to 90.4`, in per cent.
fn interval(rate: &Rate) -> String {
    match (rate.low, rate.high) {
        (Some(low), Some(high)) => format!("{:.1} to {:.1}", low * 100.0, high * 100.0),
        _ => "not estimable".to_owned(),
    }
}

fn cost(target: &TargetCard) -> String {
    match target.cost_usd {
        None => "unknown".to_owned(),
        Some(Cost::ZERO) if target.cost_unknown_trials > 0 => "unknown".to_owned(),
        Some(cost) if target.cost_unknown_trials > 0 => format!("≥ {}", dollars(cost)),
        Some(cost) => dollars(cost),
    }
}

fn details(target: &TargetCard) -> String {
    let mut text = format!("{} · {} · {}\n", target.name, target.provider, target.model);
    let mut line = |label: &str, value: String| {
        let _ = writeln!(text, "  {label:12}{value}");
    };
    for value in pass_rate_lines(target) {
        line("pass rate", value);
    }
    for value in weighted_lines(target) {
        line("weighted", value);
    }
    line("measured", measured(target));
    for value in missing_lines(target) {
        line("", value);
    }
    line("cases", case_line(target));
    line("tokens", tokens(target));
    if let Some(cache) = &target.cache {
        line("cache", cache_line(cache));
    }
    line("cost", cost_line(target));
    if let Some(value) = attempts_cost_line(target) {
        line("", value);
    }
    if target.reused_trials > 0 {
        line("reused", reused_line(target));
    }
    line("latency", latency_line(&target.latency_ms, &target.queue_wait_ms));
    if let (Some(p50), Some(p95)) = (target.first_token_ms.p50, target.first_token_ms.p95) {
        let [p50, p95] = [p50, p95].map(milliseconds);
        line(
            "first token",
            format!("p50 {p50}, p95 {p95}; of {} streamed answers", count(target.first_token_ms.n as u64)),
        );
    }
    line("attempts", attempts_line(target));
    for value in target.retrieval.iter().flat_map(retrieval_lines) {
        line("retrieval", value);
    }
    let tables = [
        slice_table("split", &target.splits),
        segment_table(&target.segments),
        retrieval_table(target),
        grader_table(&target.graders),
    ];
    for table in tables.into_iter().filter(|table| !table.is_empty()) {
        text.push('\n');
        text.push_str(&table);
    }
    text
}

fn pass_rate_lines(target: &TargetCard) -> Vec<String> {
    let Some(rate) = &target.pass_rate else { return vec!["nothing was graded".to_owned()] };
    let mut lines =
        vec![format!("{} ({}, 95 %), {}", percent(rate.point), interval(rate), standard_error(rate))];
    lines.push(format!(
        "{}: {} cases in {} clusters, {} trials{}",
        rate.method,
        count(rate.n_cases as u64),
        count(rate.n_clusters as u64),
        count(rate.n_trials as u64),
        rate.n_effective.map(|n| format!(", worth {n:.0} independent ones")).unwrap_or_default()
    ));
    if let (Some(naive), Some(effect)) = (rate.se_naive, rate.design_effect) {
        lines.push(format!("naive standard error {:.2} points, design effect {effect:.2}", naive * 100.0));
    }
    lines.extend(rate.warnings.iter().map(|code| format!("! {}", warning_sentence(code))));
    blank_after_first(lines)
}

fn standard_error(rate: &Rate) -> String {
    match (rate.se, rate.se_reason) {
        (Some(se), _) => format!("standard error {:.2} points", se * 100.0),
        (None, reason) => {
            format!("standard error not estimable ({})", reason.unwrap_or("unknown").replace('_', " "))
        }
    }
}

fn weighted_lines(target: &TargetCard) -> Vec<String> {
    let line = |rate: &Rate| {
        format!(
            "{} ({}, 95 %), {}; by the cases' weights",
            percent(rate.point),
            interval(rate),
            standard_error(rate)
        )
    };
    target.weighted_pass_rate.iter().map(line).collect()
}

/// What a warning's code says to a reader.
fn warning_sentence(code: &str) -> String {
    match code {
        "few_cases" => "fewer than 30 cases: the interval is wide for a reason".to_owned(),
        "few_clusters" => {
            "fewer than 30 clusters: the interval rests on few independent observations".to_owned()
        }
        "low_df" => "fewer than 4 degrees of freedom".to_owned(),
        "dominant_cluster" => "one cluster holds more than a fifth of the cases".to_owned(),
        "few_informative_clusters" => "fewer than 10 clusters carry a failure (or a pass)".to_owned(),
        "ceiling" => "above 98 %: this set can hardly tell good targets apart".to_owned(),
        "unequal_k" => "cases were measured different numbers of times".to_owned(),
        other => other.replace('_', " "),
    }
}

/// The label stands before the first line only.
fn blank_after_first(lines: Vec<String>) -> Vec<String> {
    match lines.split_first() {
        Some((first, rest)) => {
            let indented = rest.iter().map(|line| format!("\n{:14}{line}", ""));
            vec![format!("{first}{}", indented.collect::<String>())]
        }
        None => lines,
    }
}

fn measured(target: &TargetCard) -> String {
    let missing = target.trials.saturating_sub(target.graded);
    if missing == 0 {
        return format!("{} of {} trials", count(target.graded), count(target.trials));
    }
    format!("{} graded, {} not measured ({})", count(target.graded), count(missing), reasons(target))
}

/// Why trials were not measured, failed ones by what they failed of: `rate limit`, or
/// `pending 4, rate limit 2`.
fn reasons(target: &TargetCard) -> String {
    let others = target.not_measured.iter().filter(|(reason, _)| **reason != "failed");
    let reasons: Vec<(String, u64)> =
        others.chain(&target.failures).map(|(reason, number)| (reason.replace('_', " "), *number)).collect();
    match reasons.as_slice() {
        [(reason, _)] => reason.clone(),
        _ => {
            let counted = reasons.iter().map(|(reason, number)| format!("{reason} {}", count(*number)));
            counted.collect::<Vec<_>>().join(", ")
        }
    }
}

fn missing_lines(target: &TargetCard) -> Vec<String> {
    let mut lines = vec![];
    if target.graded < target.trials
        && let Some([low, high]) = target.pass_rate_bounds
    {
        lines.push(format!("between {} and {} whatever they would have been", percent(low), percent(high)));
    }
    lines
}

fn case_line(target: &TargetCard) -> String {
    format!(
        "{} of {} pass by their own rule; {} flaky (neither always nor never right)",
        count(target.cases_passed as u64),
        count(target.cases_measured as u64),
        count(target.flaky_cases as u64)
    )
}

fn tokens(target: &TargetCard) -> String {
    let usage = &target.usage;
    let mut text = format!(
        "input {} (uncached {}, cache read {}, cache write {}), output {}",
        count(usage.input_total()),
        count(usage.input_uncached),
        count(usage.cache_read),
        count(usage.cache_writes()),
        count(usage.output)
    );
    if let Some(reasoning) = usage.reasoning {
        let _ = write!(text, " ({} reasoning)", count(reasoning));
    }
    if target.usage_unknown > 0 {
        let _ = write!(text, "; {} answers without usage", count(target.usage_unknown));
    }
    text
}

fn cache_line(cache: &CacheCard) -> String {
    let mut text = format!(
        "hit rate {} ({} tokens read, {} written)",
        percent(cache.hit_rate),
        count(cache.tokens_read),
        count(cache.tokens_written)
    );
    match cache.saved_usd.as_deref().map(|saved| (saved, saved.strip_prefix('-'))) {
        Some((_, Some(lost))) => {
            let _ = write!(text, "; ${lost} dearer than without a cache");
        }
        Some((saved, None)) => {
            let _ = write!(text, "; saved ${saved} against no caching");
        }
        None => text.push_str("; what it saved is unknown"),
    }
    text
}

fn cost_line(target: &TargetCard) -> String {
    let mut text = match target.cost_usd {
        None if target.cost_unknown_trials == 0 => "nothing was answered".to_owned(),
        Some(cost) if cost > Cost::ZERO || target.cost_unknown_trials == 0 => {
            at_least(cost, target.cost_unknown_trials)
        }
        // Beside nothing but copies, which cost nothing.
        _ => format!("unknown: {}", unpriced_since(target)),
    };
    if target.cost_approximate_trials > 0 {
        let _ = write!(text, "; approximate for {} answers", count(target.cost_approximate_trials));
    }
    if target.attempts_perhaps_billed > 0 {
        let _ = write!(text, "; {} lost attempts may be billed too", count(target.attempts_perhaps_billed));
    }
    text
}

/// Why no answer has a known cost.
fn unpriced_since(target: &TargetCard) -> String {
    match target.model.as_str() {
        model if !target.has_price => format!("no price for `{model}`"),
        _ if target.usage_unknown >= target.cost_unknown_trials => {
            "no answer told a usage that can be priced".to_owned()
        }
        model => format!("the price of `{model}` does not cover all that was used"),
    }
}

/// The cost of all attempts, where it is known to be another than that of the answers.
fn attempts_cost_line(target: &TargetCard) -> Option<String> {
    let cost = target.attempts_cost_usd.filter(|cost| Some(*cost) != target.cost_usd)?;
    let is_bound = target.cost_unknown_trials + target.attempts_perhaps_billed > 0;
    let at_least = if is_bound { "at least " } else { "" };
    Some(format!("{at_least}${cost} with the attempts that failed"))
}

/// What is known of a cost while that of `unknown` answers is not.
fn at_least(cost: Cost, unknown: u64) -> String {
    match unknown {
        0 => format!("${cost}"),
        _ => format!("at least ${cost}; {} answers unpriced", count(unknown)),
    }
}

fn reused_line(target: &TargetCard) -> String {
    let then = target.reused_original_cost_usd.map_or_else(
        || "at an unknown cost".to_owned(),
        |cost| format!("for {}", at_least(cost, target.reused_unknown_trials)),
    );
    format!("{} answers of earlier runs, asked then {then}; outside the latency", count(target.reused_trials))
}

fn latency_line(latency: &Percentiles, wait: &Percentiles) -> String {
    let (Some(p50), Some(p95)) = (latency.p50, latency.p95) else { return "not measured".to_owned() };
    let range = |[low, high]: [Option<f64>; 2]| {
        let end = |value: Option<f64>| value.map_or_else(|| "?".to_owned(), milliseconds);
        format!("({} to {})", end(low), end(high))
    };
    let waits = wait.p95.map(|p95| format!("; queue wait p95 {}", milliseconds(p95))).unwrap_or_default();
    format!(
        "p50 {} {}, p95 {} {}{waits}",
        milliseconds(p50),
        range(latency.p50_interval),
        milliseconds(p95),
        range(latency.p95_interval)
    )
}

fn attempts_line(target: &TargetCard) -> String {
    format!("{}, {} of them failed", count(target.attempts), count(target.failed_attempts))
}

/// Hit rate and recall, and whether failures are the search's or the answer's.
fn retrieval_lines(card: &RetrievalCard) -> Vec<String> {
    let figure = |name: &str, rate: &Option<Rate>| {
        let shown = rate.as_ref().map(|rate| format!("{} ({})", percent(rate.point), interval(rate)));
        format!("{name}@{} {}", card.k, shown.unwrap_or_else(|| "not measured".to_owned()))
    };
    let mut lines = vec![format!(
        "{}, {}; {} cases",
        figure("hit rate", &card.hit_rate),
        figure("recall", &card.recall),
        count(card.cases as u64)
    )];
    if let Some(facts) = &card.fact_recall {
        lines.push(format!(
            "{}; {} cases that label facts",
            figure("fact recall", &card.fact_recall),
            count(facts.n_cases as u64)
        ));
    }
    let two = &card.two_by_two;
    lines.push(format!(
        "found: {} right, {} wrong (the answer) · not found: {} right, {} wrong (the search)",
        count(two.hit_pass),
        count(two.hit_fail),
        count(two.miss_pass),
        count(two.miss_fail)
    ));
    if card.trials_without_sources > 0 {
        lines.push(format!(
            "{} trials of cases without sources are left out",
            count(card.trials_without_sources)
        ));
    }
    blank_after_first(lines)
}

fn retrieval_table(target: &TargetCard) -> String {
    let Some(card) = &target.retrieval else { return String::new() };
    let (hit, recall) = (format!("hit rate@{}", card.k), format!("recall@{}", card.k));
    let mut table = Table::new(2, ["retrieval", "cases", &hit, &recall]);
    let splits = target.splits.iter().map(|slice| (slice.value.clone(), slice));
    let segments = target.segments.iter().map(|slice| (format!("{}={}", slice.key, slice.value), slice));
    for (name, slice) in splits.chain(segments) {
        if let Some(part) = &slice.retrieval {
            table.row([name, count(part.cases as u64), percent(part.hit_rate), percent(part.recall)]);
        }
    }
    if table.is_empty() { String::new() } else { table.text() }
}

fn slice_table(heading: &str, slices: &[Slice]) -> String {
    let mut table = Table::new(2, [heading, "cases", "clusters", "graded", "pass rate", "95 % interval"]);
    for slice in slices {
        table.row(slice_row(slice, slice.value.clone()));
    }
    if table.is_empty() { String::new() } else { table.text() }
}

fn segment_table(segments: &[Slice]) -> String {
    let mut table = Table::new(2, ["segment", "cases", "clusters", "graded", "pass rate", "95 % interval"]);
    for slice in segments {
        table.row(slice_row(slice, format!("{}={}", slice.key, slice.value)));
    }
    if table.is_empty() { String::new() } else { table.text() }
}

fn slice_row(slice: &Slice, name: String) -> [String; 6] {
    [
        name,
        count(slice.cases as u64),
        count(slice.clusters as u64),
        count(slice.graded),
        slice.pass_rate.as_ref().map_or_else(|| "–".to_owned(), |rate| percent(rate.point)),
        slice.pass_rate.as_ref().map(interval).unwrap_or_default(),
    ]
}

fn grader_table(graders: &[GraderCard]) -> String {
    let mut table = Table::new(2, ["grader", "cases", "graded", "unscored", "pass rate", "95 % interval"]);
    for grader in graders {
        let hard = if grader.hard { " (hard)" } else { "" };
        table.row([
            format!("{}{hard}", grader.name),
            count(grader.cases as u64),
            count(grader.graded),
            count(grader.unscored),
            grader.pass_rate.as_ref().map_or_else(|| "–".to_owned(), |rate| percent(rate.point)),
            grader.pass_rate.as_ref().map(interval).unwrap_or_default(),
        ]);
    }
    if table.is_empty() { String::new() } else { table.text() }
}
