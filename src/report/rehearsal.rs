//! What a rehearsal came to, on the screen.

use std::{collections::BTreeMap, time::Duration};

use super::{
    format::{count, dollars, duration},
    table::Table,
};
use crate::app::rehearse::Rehearsal;

/// The rehearsal of an experiment.
pub fn rehearsal_text(rehearsal: &Rehearsal) -> String {
    let seconds = |time: f64| duration(Duration::from_secs_f64(time));
    let mut text = format!(
        "\nREHEARSAL of {}: a mock server answered; no provider was asked and nothing was paid.\n\
         The pass rates above are the simulator's and mean nothing.\n\n",
        rehearsal.experiment
    );
    let wall = if rehearsal.speed > 1.0 {
        let run = seconds(rehearsal.run_wall_s);
        format!("{} at {}× speed; a run would take about {run}", seconds(rehearsal.wall_s), rehearsal.speed)
    } else {
        seconds(rehearsal.wall_s)
    };
    let cost = rehearsal.cost_usd.map_or_else(
        || "unknown: a model has no price".to_owned(),
        |cost| format!("{} at the prices of its models", dollars(cost)),
    );
    let (lost, pending) = (count(rehearsal.failed), count(rehearsal.pending));
    for (name, value) in [
        ("trials", format!("{}, of which failed {lost}, pending {pending}", count(rehearsal.trials))),
        ("wall time", wall),
        ("requests", format!("{}, of which retries {}", count(rehearsal.requests), count(rehearsal.retries))),
        ("cost", cost),
    ] {
        text.push_str(&format!("  {name:<10} {value}\n"));
    }
    let headings =
        ["provider", "requests", "a minute", "allowed", "at once", "429", "5xx", "dropped", "stalled"];
    let mut table = Table::new(2, headings);
    for provider in &rehearsal.providers {
        let stats = &provider.server;
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.0}"));
        table.row([
            provider.name.clone(),
            count(stats.requests),
            number(provider.requests_per_minute),
            number(provider.allowed_per_minute),
            count(stats.max_in_flight),
            count(provider.refused_429),
            count(server_errors(&stats.by_status)),
            count(stats.dropped),
            count(stats.stalled),
        ]);
    }
    text.push('\n');
    text.push_str(&table.text());
    text
}

fn server_errors(by_status: &BTreeMap<u16, u64>) -> u64 {
    by_status.range(500..).map(|(_, count)| count).sum()
}
