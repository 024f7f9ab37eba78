//! Steering a queue from outside while it works: the user's ceilings and pauses, the share of an
//! account that other processes use too, and the record of how it went.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
};

use tokio::{
    sync::watch,
    task::spawn_blocking,
    time::{MissedTickBehavior, interval},
};

use crate::domain::{ConcurrencyRecord, LiveLimits, QueueControl, QueueRecord, RunEvent};

use super::{
    LearntLimits, ProviderQueue,
    shared_account::{BEAT, Company, Membership},
};

impl ProviderQueue {
    /// Begins with so many on the wire instead of slowly, since the account is known to take them. To be
    /// called before the first call.
    pub fn start_at(&self, limit: u32) {
        self.line.start_at(limit);
    }

    /// Keeps to other ceilings from now on. What the server's headers tell still lowers them.
    pub fn set_limits(&self, limits: &LiveLimits) {
        if let Some(max) = limits.max_in_flight {
            self.max_in_flight.send_replace(max.max(1));
        }
        self.line.set_limits(limits);
    }

    /// Starts nothing new until [`go_on`](Self::go_on); what is in flight goes on.
    pub fn pause(&self) {
        self.line.hold(true);
    }

    /// Ends the user's pause.
    pub fn go_on(&self) {
        self.line.hold(false);
    }

    /// Does what the user asks, and tells it.
    pub fn steer(&self, control: QueueControl) {
        self.set_limits(&control.limits);
        if control.paused {
            self.pause()
        } else {
            self.go_on()
        }
        tracing::info!(provider = %self.name, ?control, "the user steers the queue");
        self.tell(RunEvent::Steered { provider: self.name.clone(), control });
    }

    /// The most requests on the wire at once, as the user last set it.
    pub fn max_in_flight(&self) -> u32 {
        *self.max_in_flight.borrow()
    }

    /// Tells whenever that is set anew.
    pub fn watch_max_in_flight(&self) -> watch::Receiver<u32> {
        self.max_in_flight.subscribe()
    }

    /// How the queue ran so far.
    pub fn record(&self) -> QueueRecord {
        let (pauses, most_members) = self.line.history();
        let steps = self.line.concurrency_history().into_iter().map(|step| ConcurrencyRecord {
            at_ms: step.elapsed_ms,
            limit: step.limit,
            why: step.why.as_str().to_owned(),
        });
        QueueRecord {
            provider: self.name.clone(),
            learnt: named(self.line.learnt()),
            concurrency: steps.collect(),
            pauses,
            most_members,
        }
    }
}

impl ProviderQueue {
    /// Shares the account with the other processes of this machine that name the same `folder`, for
    /// as long as the queue lives. Nothing happens, and no file is made, while no limit is known.
    /// To be called within tokio, before the first trial.
    pub fn share_account(self: &Arc<Self>, folder: PathBuf) {
        if self.line.has_rates() {
            self.join(&folder);
        }
        tokio::spawn(keep_up(Arc::downgrade(self), folder));
    }

    fn join(&self, folder: &Path) {
        match Membership::join(folder) {
            Ok((membership, company)) => {
                // Only this task ever joins.
                let _ = self.membership.set(Arc::new(membership));
                self.line.share(company.members, !company.is_seen);
                self.note(company);
            }
            Err(error) => {
                tracing::warn!(provider = %self.name, %error, folder = %folder.display(),
                    "the account is not shared with other processes");
            }
        }
    }

    fn note(&self, company: Company) {
        if let Some(wait) = company.wait
            && self.line.pause_with_others(wait)
        {
            tracing::info!(provider = %self.name, ?wait, "another process on the account pauses");
            self.tell(RunEvent::Paused { provider: self.name.clone(), wait });
        }
    }
}

/// Renews a queue's membership until the queue is gone.
async fn keep_up(queue: Weak<ProviderQueue>, folder: PathBuf) {
    let mut ticks = interval(BEAT);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut known: Option<(u32, bool)> = None;
    // The first tick is at once.
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let Some(queue) = queue.upgrade() else { return };
        let Some(membership) = queue.membership.get().cloned() else {
            if queue.line.has_rates() {
                queue.join(&folder);
                if queue.membership.get().is_none() {
                    return;
                }
            }
            continue;
        };
        // Files are no business of the threads that wait for answers.
        let Ok(beat) = spawn_blocking(move || membership.beat()).await else { return };
        match beat {
            Ok(company) => {
                queue.note(company);
                // Whoever has begun does not stop for one who joins: that one waits.
                let now = (company.members, queue.line.is_joining() && !company.is_seen);
                if known != Some(now) {
                    tracing::info!(provider = %queue.name, members = company.members,
                        "processes that share the account");
                    queue.line.share(now.0, now.1);
                }
                known = Some(now);
            }
            // As alone as before: the others count this process out within seconds.
            Err(error) => tracing::warn!(provider = %queue.name, %error, "the account's folder is gone"),
        }
    }
}

fn named(learnt: LearntLimits) -> BTreeMap<String, u64> {
    let LearntLimits { per_minute, tokens } = learnt;
    [
        ("requests_per_minute", per_minute.requests),
        ("input_tokens_per_minute", per_minute.input),
        ("output_tokens_per_minute", per_minute.output),
        ("tokens_per_minute", tokens),
    ]
    .into_iter()
    .filter_map(|(name, limit)| Some((name.to_owned(), limit?)))
    .collect()
}
