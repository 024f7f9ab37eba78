//! What a user asks of a running run's queues, in words.

use crate::{
    domain::{LiveLimits, QueueControl},
    report::format::count,
};

/// What is asked of a queue, in words: `paused by you`, `at most 32 in flight, 500 requests/min`.
pub fn control_text(control: &QueueControl) -> String {
    let LiveLimits { max_in_flight, per_minute } = control.limits;
    let rate = |limit: Option<u64>, what: &str| limit.map(|limit| format!("{} {what}/min", count(limit)));
    let parts: Vec<String> = [
        control.paused.then(|| "paused by you".to_owned()),
        max_in_flight.map(|limit| format!("at most {limit} in flight")),
        rate(per_minute.requests, "requests"),
        rate(per_minute.input, "input tokens"),
        rate(per_minute.output, "output tokens"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() { "goes on".to_owned() } else { parts.join(", ") }
}
