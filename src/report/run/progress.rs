//! How far a run is: one line a queue and one in total.

use std::time::{Duration, Instant};

use crate::{
    app::{Ledger, QueueWork},
    domain::{Cost, Outcome, ProviderName, QueueControl, RunEvent},
    report::{
        format::{count, dollars, duration},
        run::control::control_text,
    },
};

/// How far a run is: events in, lines out.
#[derive(Clone, Debug)]
pub struct RunProgress {
    queues: Vec<QueueProgress>,
    started: Instant,
    ended: u64,
    ledger: Ledger,
    cost_unknown: bool,
}

/// What one queue has to do and has done.
#[derive(Clone, Debug)]
struct QueueProgress {
    name: ProviderName,
    /// Trials of all its targets.
    total: u64,
    /// Trials done, in earlier sessions too.
    done: u64,
    /// Trials that ended in this session.
    ended: u64,
    in_flight: u64,
    retries: u64,
    failed: u64,
    paused_until: Option<Instant>,
    /// What the user asks of it, once that is anything.
    control: Option<QueueControl>,
}

impl RunProgress {
    /// Nothing was asked yet of `work`.
    pub fn new(work: Vec<QueueWork>, ledger: Ledger) -> Self {
        let queues = work.into_iter().map(QueueProgress::new).collect();
        Self { queues, started: Instant::now(), ended: 0, ledger, cost_unknown: false }
    }

    /// An event at `now`.
    pub fn note(&mut self, event: &RunEvent, now: Instant) {
        match event {
            RunEvent::Queued { provider, .. } => self.with(provider, |queue| queue.in_flight += 1),
            RunEvent::Returned { provider, .. } => self.with(provider, |queue| queue.in_flight -= 1),
            RunEvent::AttemptFailed { provider, retry_in: Some(_), .. } => {
                self.with(provider, |queue| queue.retries += 1);
            }
            RunEvent::Paused { provider, wait } => {
                self.with(provider, |queue| queue.paused_until = now.checked_add(*wait));
            }
            RunEvent::Ended { provider, end, .. } => {
                self.ended += 1;
                self.cost_unknown |= end.cost.is_none() && end.outcome != Outcome::Failed;
                self.with(provider, |queue| {
                    queue.in_flight -= 1;
                    queue.done += 1;
                    queue.ended += 1;
                    queue.failed += u64::from(end.outcome == Outcome::Failed);
                });
            }
            RunEvent::Steered { provider, control } => {
                self.with(provider, |queue| queue.control = Some(*control));
            }
            _ => {}
        }
    }

    fn with(&mut self, provider: &ProviderName, change: impl FnOnce(&mut QueueProgress)) {
        if let Some(queue) = self.queues.iter_mut().find(|queue| queue.name == *provider) {
            change(queue);
        }
    }

    /// One line a queue, then the total.
    pub fn lines(&self, now: Instant) -> Vec<String> {
        let elapsed = now.saturating_duration_since(self.started).as_secs_f64().max(1e-3);
        let width = self.queues.iter().map(|queue| queue.name.as_str().len()).max().unwrap_or(0).max(5);
        let mut lines: Vec<String> =
            self.queues.iter().map(|queue| queue.line(width, elapsed, now)).collect();
        lines.push(self.total_line(width, elapsed));
        lines
    }

    fn total_line(&self, width: usize, elapsed: f64) -> String {
        let total: u64 = self.queues.iter().map(|queue| queue.total).sum();
        let done: u64 = self.queues.iter().map(|queue| queue.done).sum();
        #[expect(clippy::cast_precision_loss, reason = "an estimate for the eye")]
        let remaining_s = (total - done) as f64 * elapsed / self.ended.max(1) as f64;
        let eta = match (self.ended, total - done) {
            (_, 0) => "done".to_owned(),
            (0, _) => "ETA unknown".to_owned(),
            _ => format!("ETA {}", duration(Duration::from_secs_f64(remaining_s.min(1e9)))),
        };
        // Within a limit what is not known counts at its worst.
        let spent = match (self.ledger.limit(), self.cost_unknown, self.ledger.spent()) {
            (Some(limit), _, spent) => format!("{} of {}", dollars(spent), dollars(limit)),
            (None, true, Cost::ZERO) => "unknown".to_owned(),
            (None, true, spent) => format!("at least {}", dollars(spent)),
            (None, false, spent) => dollars(spent),
        };
        format!(
            "{:width$}  {:>15}  {eta}  spent {spent}",
            "total",
            format!("{}/{}", count(done), count(total))
        )
    }
}

impl QueueProgress {
    fn new(work: QueueWork) -> Self {
        Self {
            name: work.provider,
            total: work.total,
            done: work.done,
            ended: 0,
            in_flight: 0,
            retries: 0,
            failed: 0,
            paused_until: None,
            control: None,
        }
    }

    fn line(&self, width: usize, elapsed: f64, now: Instant) -> String {
        #[expect(clippy::cast_precision_loss, reason = "a rate for the eye")]
        let rate = self.ended as f64 / elapsed;
        let mut line = format!(
            "{:width$}  {:>15}  {rate:.1}/s  in flight {}  retries {}",
            self.name,
            format!("{}/{}", count(self.done), count(self.total)),
            self.in_flight,
            self.retries
        );
        if self.failed > 0 {
            line.push_str(&format!("  failed {}", self.failed));
        }
        if let Some(left) = self.paused_until.and_then(|until| until.checked_duration_since(now)) {
            line.push_str(&format!("  paused {}", duration(left)));
        }
        if let Some(control) = self.control.filter(|control| *control != QueueControl::default()) {
            line.push_str(&format!("  {}", control_text(&control)));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ErrorClass, Failure, FailureKind, event_samples};

    #[test]
    fn the_lines_tell_rate_flight_retries_pause_eta_and_what_is_spent() {
        let provider = ProviderName::from("anthropic");
        let work = QueueWork { provider: provider.clone(), total: 1_000, done: 0 };
        // Attempts that failed were paid, too: no trial's cost tells of them.
        let spent: Cost = "0.1548".parse().unwrap();
        let mut progress = RunProgress::new(vec![work.clone()], Ledger::new(None, spent));
        let start = progress.started;
        let call = event_samples::call();
        for _ in 0..100 {
            progress.note(&RunEvent::Queued { provider: provider.clone(), call }, start);
        }
        for _ in 0..50 {
            progress.note(
                &RunEvent::Ended { provider: provider.clone(), call, end: event_samples::end() },
                start,
            );
        }
        let wait = Duration::from_secs(7);
        for retry_in in [Some(wait), None] {
            let failure = Failure::new(ErrorClass::Retry, FailureKind::Server, "x");
            let provider = provider.clone();
            progress.note(&RunEvent::AttemptFailed { provider, call, attempt: 1, failure, retry_in }, start);
        }
        progress.note(&RunEvent::Paused { provider, wait }, start);
        assert_eq!(
            progress.lines(start + Duration::from_secs(5)),
            [
                "anthropic         50/1,000  10.0/s  in flight 50  retries 1  paused 2.00 s",
                "total             50/1,000  ETA 1 min 35 s  spent $0.1548",
            ]
        );
        let limited =
            RunProgress::new(vec![work], Ledger::new(Some(Cost::from_picodollars(200_000_000_000)), spent));
        assert!(limited.lines(start)[1].ends_with("spent $0.1548 of $0.2000"), "{:?}", limited.lines(start));
    }
}
