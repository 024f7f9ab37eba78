//! An estimate with the designs that were asked for, and what is told of it below a scorecard.

use super::{
    frontier_text::frontier_text,
    text::{designs_text, estimate_text, held_text, repeat_gain_text, segment_needs_text},
};
use crate::app::{
    designs::Designs,
    estimate::Planned,
    gain::{Account, Gain},
};

/// Undecided cases that are named.
const NAMED: usize = 5;

/// The estimate, the designs, what repeats would gain; `plot`: the frontier, too.
pub fn planned_text(planned: &Planned, plot: bool) -> String {
    let mut text = estimate_text(&planned.estimate);
    text.push_str(&all_designs_text(&planned.designs));
    if !planned.repeat_gains.is_empty() {
        text.push_str("\nwhere repeats would help (the next run's, never this one's by its outcomes)\n");
    }
    text.extend(planned.repeat_gains.iter().map(gain_text));
    if plot {
        text.push('\n');
        text.push_str(&frontier_text(&planned.frontier, &planned.now));
    }
    text
}

/// What was estimated against what came, and where repeats would help; empty where nothing is to say.
pub fn account_text(account: &Account) -> String {
    let mut text = account.held.as_ref().map(held_text).unwrap_or_default();
    text.extend(account.gains.iter().map(gain_text));
    text
}

fn all_designs_text(designs: &Designs) -> String {
    let mut text = String::new();
    if !designs.grid.is_empty() {
        text.push('\n');
        text.push_str(&designs_text("cases × repeats", &designs.grid));
    }
    if let Some(cheapest) = &designs.cheapest {
        text.push('\n');
        let title = format!("cheapest design that sees {} points", cheapest.points);
        text.push_str(&designs_text(&title, std::slice::from_ref(&cheapest.design)));
        if let Some(clusters) = designs.clusters_needed.filter(|clusters| *clusters < 50) {
            text.push_str(&format!("  with so few clusters the t test needs {clusters} of them\n"));
        }
    }
    if !designs.segments.is_empty() {
        text.push('\n');
        text.push_str(&segment_needs_text(&designs.segments));
    }
    for best in &designs.best {
        text.push('\n');
        text.push_str(&designs_text(&best.title, std::slice::from_ref(&best.design)));
    }
    text
}

fn gain_text(gain: &Gain) -> String {
    let undecided = &gain.undecided_cases;
    repeat_gain_text(&gain.target, &gain.gain, &undecided[..undecided.len().min(NAMED)], undecided.len())
}
