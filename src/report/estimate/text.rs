//! An estimate on the screen: at most 100 columns, readable without colour.

use std::time::Duration;

use crate::{
    estimate::{
        Basis, BindingLimit, Estimate, Range, TargetEstimate,
        design::{DesignRow, SegmentNeed},
        held::{Held, HeldRun, TargetRecord},
        repeats::RepeatGain,
    },
    report::{
        format::{count, duration, percent, wrapped},
        table::Table,
    },
};

/// The estimate as text.
pub(super) fn estimate_text(estimate: &Estimate) -> String {
    let mut text = format!(
        "estimate of {} · {} cases in {} clusters × {} repeats × {} targets · nothing was sent\n\n",
        estimate.experiment,
        count(estimate.cases as u64),
        count(estimate.clusters as u64),
        short(estimate.repeats),
        estimate.targets.len(),
    );
    let mut table = Table::new(
        0,
        ["target", "requests", "input", "output", "low", "expected", "high", "ceiling", "time"],
    );
    for target in &estimate.targets {
        table.row(figures(
            target.name.clone(),
            [target.requests, target.input_tokens, target.output_tokens, target.wall_seconds],
            target.cost_usd,
            target.cost_ceiling_usd,
        ));
    }
    if estimate.targets.len() > 1 {
        let total = &estimate.total;
        table.row(figures(
            "total".to_owned(),
            [total.requests, total.input_tokens, total.output_tokens, total.wall_seconds],
            total.cost_usd,
            total.cost_ceiling_usd,
        ));
    }
    text.push_str(&table.text());
    for target in &estimate.targets {
        text.push('\n');
        text.push_str(&details(target));
    }
    if !estimate.notes.is_empty() {
        text.push('\n');
    }
    for note in &estimate.notes {
        text.push_str(&wrapped("note: ", note));
    }
    text
}

fn figures(
    name: String,
    [requests, input, output, wall]: [Range; 4],
    cost: Option<Range>,
    ceiling: Option<f64>,
) -> [String; 9] {
    let money = |of: fn(Range) -> f64| cost.map_or_else(|| "unknown".to_owned(), |cost| usd(of(cost)));
    [
        name,
        number(requests.mid),
        number(input.mid),
        number(output.mid),
        money(|cost| cost.low),
        money(|cost| cost.mid),
        money(|cost| cost.high),
        ceiling.map_or_else(|| "unknown".to_owned(), usd),
        seconds(wall.mid),
    ]
}

fn details(target: &TargetEstimate) -> String {
    let mut text = format!("{} · {} · {}\n", target.name, target.provider, target.model);
    let mut line = |label: &str, value: String| {
        text.push_str(&wrapped(&format!("  {label:12}"), &value));
    };
    line("rests on", basis(target));
    if let Some(record) = &target.record {
        line("record", record_text(record));
    }
    let corrected = if target.tokenizer_corrected { ", corrected by what was charged" } else { "" };
    line("input", format!("{} tokens ({}{corrected})", between(target.input_tokens), target.tokenizer));
    if target.cache_read_tokens > 0.0 || target.cache_write_tokens > 0.0 {
        line(
            "cache",
            format!(
                "{} tokens written, {} read",
                number(target.cache_write_tokens),
                number(target.cache_read_tokens)
            ),
        );
    }
    line("output", format!("{} tokens", between(target.output_tokens)));
    line("dollars", ways_to_pay(target));
    let wall = target.wall_seconds;
    line("time", format!("{} ({} to {})", seconds(wall.mid), seconds(wall.low), seconds(wall.high)));
    if let Some(binding) = &target.binding_limit {
        line("", binding_text(binding));
    }
    let detectable = &target.detectable_difference;
    let careful = detectable.paired_careful.map(|careful| format!(" (careful: {})", points(careful)));
    line(
        "sees",
        format!(
            "{} between two sides{}; {} from a fixed number",
            points(detectable.paired),
            careful.unwrap_or_default(),
            points(detectable.one_run)
        ),
    );
    line("", format!("80 % power, 5 %; variances {}", detectable.spread.source));
    text
}

fn basis(target: &TargetEstimate) -> String {
    let runs = target.past_runs.first().map(String::as_str).unwrap_or_default();
    let more = target.past_runs.len().saturating_sub(1);
    let runs = if more > 0 { format!("{runs} and {more} more") } else { runs.to_owned() };
    let size =
        format!("{} cases, {} answers", count(target.past_cases as u64), count(target.past_trials as u64));
    match target.basis {
        Basis::SameTarget => format!("earlier runs of this target: {runs} ({size})"),
        Basis::SameModel => format!("earlier runs of this model: {runs} ({size})"),
        Basis::Nothing if target.past_runs.is_empty() => "no earlier run: wide bounds".to_owned(),
        Basis::Nothing => format!("verdicts of earlier runs: {runs}; they told no tokens: wide bounds"),
    }
}

fn record_text(record: &TargetRecord) -> String {
    let estimates = if record.estimates == 1 {
        "the last estimate of this target was".to_owned()
    } else {
        format!("the last {} estimates of this target were", record.estimates)
    };
    format!(
        "{estimates} off by {} ({}) at the median; {} of {} inside the interval",
        percent(record.median_off),
        record.of,
        record.inside,
        record.estimates
    )
}

fn ways_to_pay(target: &TargetEstimate) -> String {
    let Some(live) = target.cost_live_usd else { return "unknown: the model has no price".to_owned() };
    let other = |label: &str, cost: Option<Range>| {
        cost.map_or_else(|| format!(" · {label} –"), |cost| format!(" · {label} {}", usd(cost.mid)))
    };
    format!(
        "live {}{}{} · ceiling {}",
        usd(live.mid),
        other("batch", target.cost_batch_usd),
        other("cached", target.cost_cached_usd),
        target.cost_ceiling_usd.map_or_else(|| "unknown".to_owned(), usd)
    )
}

fn binding_text(binding: &BindingLimit) -> String {
    match binding.value {
        Some(value) => format!(
            "`{}` = {} of `{}` holds it back: twice as much would take {}",
            binding.limit,
            count(value),
            binding.provider,
            seconds(binding.wall_seconds_if_doubled)
        ),
        None => format!("no limit of `{}` holds it back, only its latency", binding.provider),
    }
}

/// Designs as a table.
pub(super) fn designs_text(title: &str, rows: &[DesignRow]) -> String {
    let mut table =
        Table::new(2, ["cases", "new", "clusters", "repeats", "cost", "time", "std. error", "sees (points)"]);
    for row in rows {
        table.row([
            count(row.cases),
            count(row.new_cases),
            count(row.clusters),
            row.repeats.to_string(),
            row.cost_usd.map_or_else(|| "unknown".to_owned(), usd),
            seconds(row.hours * 3600.0),
            format!("{:.2}", row.se * 100.0),
            format!("{:.2}", row.detectable_difference * 100.0),
        ]);
    }
    format!("{title}\n{}", table.text())
}

/// What segments lack, as a table.
pub(super) fn segment_needs_text(needs: &[SegmentNeed]) -> String {
    let mut table = Table::new(2, ["segment", "cases", "needed", "new", "sees (points)"]);
    for need in needs {
        table.row([
            format!("{}={}", need.key, need.value),
            count(need.cases),
            count(need.needed),
            count(need.needed.saturating_sub(need.cases)),
            format!("{:.2}", need.detectable_difference * 100.0),
        ]);
    }
    format!("to see it within a segment alone\n{}", table.text())
}

/// Where repeats would help, in a few lines.
pub(super) fn repeat_gain_text(
    name: &str,
    gain: &RepeatGain,
    undecided: &[String],
    undecided_count: usize,
) -> String {
    let gains = format!(
        "{name}: one more repeat of every case narrows the standard error from {:.2} to {:.2} points;\n  \
         the same money on {} more cases, to {:.2}.",
        gain.se_now * 100.0,
        gain.se_one_more_repeat * 100.0,
        count(gain.more_cases),
        gain.se_more_cases * 100.0,
    );
    let label = match undecided_count {
        0 => return format!("{gains} No case is undecided.\n"),
        1 => "  1 case is undecided: ".to_owned(),
        several => format!("  {} cases are undecided: ", count(several as u64)),
    };
    let more = if undecided_count > undecided.len() { ", …" } else { "" };
    format!("{gains}\n{}", wrapped(&label, &format!("{}{more}", undecided.join(", "))))
}

/// A finished run against its estimate.
pub(super) fn held_text(held: &HeldRun) -> String {
    let mut table = Table::new(2, ["estimated against real", "low", "expected", "high", "real", "off", ""]);
    let mut row = |label: String, held: Option<Held>, show: fn(f64) -> String| {
        let Some(held) = held else { return };
        table.row([
            label,
            show(held.estimated.low),
            show(held.estimated.mid),
            show(held.estimated.high),
            show(held.real),
            held.off.map_or_else(|| "–".to_owned(), |off| format!("{:+.1} %", off * 100.0)),
            if held.inside { "inside" } else { "outside" }.to_owned(),
        ]);
    };
    for target in &held.targets {
        row(format!("{} · input tokens", target.name), target.input_tokens, number);
        row(format!("{} · output tokens", target.name), target.output_tokens, number);
        row(format!("{} · dollars", target.name), target.cost_usd, usd);
    }
    row("time".to_owned(), held.wall_seconds, seconds);
    if table.is_empty() { String::new() } else { table.text() }
}

fn between(range: Range) -> String {
    if range.low == range.high {
        return number(range.mid);
    }
    format!("{} ({} to {})", number(range.mid), number(range.low), number(range.high))
}

fn number(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, as meant")]
    let whole = value.round() as u64;
    count(whole)
}

/// Dollars in three significant digits at least.
fn usd(value: f64) -> String {
    match value {
        0.0 => "$0".to_owned(),
        _ if value < 0.01 => format!("${value:.6}"),
        _ if value < 1.0 => format!("${value:.4}"),
        _ => format!("${value:.2}"),
    }
}

fn seconds(value: f64) -> String {
    duration(Duration::from_secs_f64(value.clamp(0.0, 1e12)))
}

fn points(fraction: f64) -> String {
    format!("{:.2} points", fraction * 100.0)
}

fn short(value: f64) -> String {
    if (value - value.round()).abs() < 1e-9 { format!("{value:.0}") } else { format!("{value:.2}") }
}
