//! How a run's queues ran, on the screen.

use std::fmt::Write;

use crate::{
    domain::{ConcurrencyRecord, PauseRecord, QueueRecord},
    report::format::{count, milliseconds},
};

/// How many values of the concurrency limit are written out.
const SHOWN: usize = 8;

/// One block a queue: what was learnt, how concurrency went, the pauses.
pub(super) fn queue_text(records: &[QueueRecord]) -> String {
    records.iter().map(block).collect()
}

fn block(record: &QueueRecord) -> String {
    let mut text = format!("\nqueue {}\n", record.provider);
    let mut line = |label: &str, value: String| {
        let _ = writeln!(text, "  {label:12}{value}");
    };
    if !record.learnt.is_empty() {
        let limits = record.learnt.iter().map(|(name, limit)| {
            format!("{} {}/min", count(*limit), name.trim_end_matches("_per_minute").replace('_', " "))
        });
        line("learnt", limits.collect::<Vec<_>>().join(", "));
    }
    line("in flight", concurrency(&record.concurrency));
    if !record.pauses.is_empty() {
        line("pauses", pauses(&record.pauses));
    }
    if record.most_members > 1 {
        line("shared", format!("by up to {} processes of this machine", record.most_members));
    }
    text
}

/// `32 → 64 → 128; 2 halvings, lowest 16`.
fn concurrency(steps: &[ConcurrencyRecord]) -> String {
    let limits: Vec<String> = steps.iter().map(|step| step.limit.to_string()).collect();
    let path = match limits.len() {
        0 => "not recorded".to_owned(),
        1 => format!("at most {}", limits[0]),
        all if all <= SHOWN => limits.join(" → "),
        all => {
            let (first, last) = (&limits[..SHOWN / 2], &limits[all - SHOWN / 2..]);
            format!("{} → … → {} ({} changes)", first.join(" → "), last.join(" → "), count(all as u64 - 1))
        }
    };
    let halvings = steps.iter().filter(|step| step.why == "halved").count();
    let lowest = steps.iter().map(|step| step.limit).min().filter(|_| halvings > 0);
    match lowest {
        Some(lowest) => {
            let plural = if halvings == 1 { "" } else { "s" };
            format!("{path}; {halvings} halving{plural}, lowest {lowest}")
        }
        None => path,
    }
}

fn pauses(pauses: &[PauseRecord]) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a time for the eye")]
    let shown = |millis: u64| milliseconds(millis as f64);
    let all = pauses.iter().fold(0_u64, |sum, pause| sum.saturating_add(pause.wait_ms));
    let longest = pauses.iter().map(|pause| pause.wait_ms).max().unwrap_or_default();
    let mut text = match pauses {
        [one] => format!("1, of {}", shown(one.wait_ms)),
        _ => format!("{}, {} in all, the longest {}", pauses.len(), shown(all), shown(longest)),
    };
    let told = pauses.iter().filter(|pause| pause.shared).count();
    if told > 0 {
        let _ = write!(text, "; {told} told by another process");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn step(limit: u32, why: &str) -> ConcurrencyRecord {
        ConcurrencyRecord { at_ms: 0, limit, why: why.to_owned() }
    }

    #[test]
    fn a_queues_record_reads_in_a_few_lines() {
        let record = QueueRecord {
            provider: "acme".into(),
            learnt: BTreeMap::from([("requests_per_minute".to_owned(), 4_000)]),
            concurrency: vec![step(32, "start"), step(64, "doubled"), step(32, "halved")],
            pauses: [1_000, 4_000].map(|wait_ms| PauseRecord { at_ms: 0, wait_ms, shared: true }).to_vec(),
            most_members: 2,
        };
        assert_eq!(
            queue_text(&[record]),
            "\nqueue acme\n  learnt      4,000 requests/min\n  in flight   32 → 64 → 32; 1 halving, lowest 32\n  \
             pauses      2, 5.00 s in all, the longest 4.00 s; 2 told by another process\n  \
             shared      by up to 2 processes of this machine\n"
        );
    }

    #[test]
    fn a_long_history_is_shortened_in_the_middle() {
        let steps: Vec<_> = (0..100).map(|limit| step(100 + limit, "one_more")).collect();
        let expected = "100 → 101 → 102 → 103 → … → 196 → 197 → 198 → 199 (99 changes)";
        assert_eq!(concurrency(&steps), expected);
    }
}
