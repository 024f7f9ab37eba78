//! What follows when a call is back: its trial is priced, stored and soon graded, or goes back.

use std::sync::Arc;

use super::Coordinator;
use crate::{
    domain::{Attempt, Call, Outcome, Purpose, RunEvent, Settlement, TrialEnd, TrialKey, TrialRecord},
    runner::{
        account::trial_key,
        error::RunError,
        lane::{Landed, Landing},
        record,
    },
    spend::{Prices, Reservation},
    store::{Reusable, Write},
};

impl Coordinator<'_> {
    pub(super) async fn on_landed(&mut self, landed: Landed) -> Result<(), RunError> {
        let Landed { call, reservation, landing } = landed;
        let key = trial_key(&call);
        let at = self.work.experiment.targets[key.target.index()].provider;
        let account = &mut self.work.accounts[at];
        match landing {
            Landing::NotFound => account.looked_up(&call, false),
            Landing::Earlier(reusable) => {
                account.looked_up(&call, true);
                let provider = account.name.clone();
                self.tell(RunEvent::Queued { provider, call: call.purpose });
                let record = record::reused(key, call.first_attempt, &reusable);
                self.on_ended(at, record, vec![]).await?;
                self.note_asked(&call, Some(reusable)).await?;
            }
            Landing::Settled(settlement) => {
                account.land(&call, &settlement);
                self.on_settled(at, &call, settlement, reservation).await?;
            }
        }
        Ok(())
    }

    async fn on_settled(
        &mut self,
        at: usize,
        call: &Arc<Call>,
        settlement: Settlement,
        reservation: Option<Reservation>,
    ) -> Result<(), RunError> {
        let key = trial_key(call);
        match settlement {
            Settlement::Ended(settled) => {
                let (record, attempts) = record::priced(key, call.first_attempt, *settled, self.prices(key));
                settle(reservation, &attempts);
                if record.outcome == Outcome::Cancelled {
                    return self.on_cancelled(at, record, attempts).await;
                }
                self.on_ended(at, record, attempts).await?;
                self.note_asked(call, None).await
            }
            Settlement::Returned { attempts } => self.on_returned(at, key, attempts, reservation).await,
            Settlement::Postponed { attempts, walk } => {
                self.work.accounts[at].ask_again(call, attempts.len(), walk);
                self.on_returned(at, key, attempts, reservation).await
            }
        }
    }

    /// A trial that stays to be done; what was sent for it all the same is settled and stored.
    async fn on_returned(
        &mut self,
        at: usize,
        key: TrialKey,
        mut attempts: Vec<Attempt>,
        reservation: Option<Reservation>,
    ) -> Result<(), RunError> {
        self.prices(key).put_on(&mut attempts);
        settle(reservation, &attempts);
        self.write_attempts(key, attempts).await?;
        self.note_halt(at, key.target);
        self.tell_returned(at, key);
        Ok(())
    }

    async fn on_ended(
        &mut self,
        at: usize,
        record: TrialRecord,
        attempts: Vec<Attempt>,
    ) -> Result<(), RunError> {
        let key = record.key;
        self.work.plan.mark_done(key.target, key.case, key.repeat);
        self.work.progress.note_end(record.outcome);
        self.work.accounts[at].uncommitted += 1;
        let is_graded = record.outcome.is_graded(&record.answer);
        let ungraded = is_graded.then(|| self.ungraded(key, record.answer.clone(), record.retrieved.clone()));
        if let (None, Some(stop)) = (&ungraded, &mut self.work.early_stop) {
            stop.ended(key.target, key.case, None);
        }
        self.uncommitted.insert(key, (at, ungraded));
        self.tell_end(at, &record);
        self.write(Write::Trial(Box::new(record), attempts)).await
    }

    /// A trial that was cancelled in flight stays to be done; what was sent for it may be billed.
    async fn on_cancelled(
        &mut self,
        at: usize,
        record: TrialRecord,
        attempts: Vec<Attempt>,
    ) -> Result<(), RunError> {
        self.tell_returned(at, record.key);
        self.write(Write::Trial(Box::new(record), attempts)).await
    }

    fn tell_end(&self, at: usize, record: &TrialRecord) {
        let end = TrialEnd {
            outcome: record.outcome,
            failure: record.failure.as_ref().map(|failure| failure.kind),
            source: record.source,
            attempts: record.attempts,
            usage: record.metered.usage,
            cost: record.cost,
            latency_ms: record.latency_ms,
        };
        let provider = self.work.accounts[at].name.clone();
        self.tell(RunEvent::Ended { provider, call: Purpose::Trial(record.key), end });
    }

    fn tell_returned(&self, at: usize, key: TrialKey) {
        let provider = self.work.accounts[at].name.clone();
        self.tell(RunEvent::Returned { provider, call: Purpose::Trial(key) });
    }

    async fn write_attempts(&mut self, key: TrialKey, attempts: Vec<Attempt>) -> Result<(), RunError> {
        for attempt in attempts {
            self.write(Write::Attempt { key, attempt: Box::new(attempt) }).await?;
        }
        Ok(())
    }

    /// Where answers may be used again: what was asked, and the earlier answer that was given.
    async fn note_asked(&mut self, call: &Call, reused: Option<Box<Reusable>>) -> Result<(), RunError> {
        match call.hash {
            Some(hash) => self.write(Write::Asked { key: trial_key(call), hash, reused }).await,
            None => Ok(()),
        }
    }

    fn prices(&self, key: TrialKey) -> &Prices {
        &self.work.prices[key.target.index()]
    }
}

/// Settles what was reserved with what the attempts came to.
fn settle(reservation: Option<Reservation>, attempts: &[Attempt]) {
    if let Some(reservation) = reservation {
        reservation.settle(attempts);
    }
}
