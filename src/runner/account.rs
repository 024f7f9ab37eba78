//! One account's trials on their way to its lane: made and not started, held, or to be asked again.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use tokio::{sync::mpsc, time::Instant};

use super::{
    plan::{PlannedTrial, TrialPlan},
    source::Source,
    warm_up::{Entry, Prefix, WarmUp},
};
use crate::{
    config::Experiment,
    domain::{
        AskerPos, Begun, Call, ProviderName, Purpose, RunRow, Settlement, StopReason, TargetPos, TrialKey,
        Walk,
    },
    queue::ProviderQueue,
};

/// Where answers tell that they have begun: the account's position, and the prefix that they write.
pub(super) type Begins = mpsc::UnboundedSender<(usize, Prefix)>;

/// One account, as the coordinator knows it.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) name: ProviderName,
    pub(super) queue: Arc<ProviderQueue>,
    /// Trials that wait until a prefix they share is in the provider's cache.
    pub(super) warm_up: WarmUp,
    /// Calls handed to its lane.
    pub(super) in_flight: usize,
    /// Trials whose earlier answers are being looked for.
    pub(super) looking: usize,
    /// Trials that ended and are not yet committed.
    pub(super) uncommitted: usize,
    /// Calls that the budget did not yet admit, or for which no earlier answer was found.
    made: VecDeque<Made>,
    /// Trials that came back since the budget has no room to repeat them yet.
    again: Vec<PlannedTrial>,
    /// The prefixes of calls that are under way.
    prefixes: HashMap<TrialKey, Cached>,
}

/// A call that is made and not started.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) call: Arc<Call>,
    /// Its prefix in the provider's cache, where its target asks for one.
    cached: Option<Cached>,
}

#[derive(Clone, Copy, Debug)]
struct Cached {
    prefix: Prefix,
    lifetime: Duration,
}

/// What an account is to start next.
#[derive(Debug)]
pub(super) enum Next {
    /// A call that is made.
    Made(Made),
    /// A trial that was seen before.
    Known(PlannedTrial),
    /// A trial that comes from the plan: an earlier run may have its answer.
    New(PlannedTrial),
}

impl Next {
    pub(super) fn target(&self) -> TargetPos {
        match self {
            Self::Made(made) => trial(&made.call).target,
            Self::Known(planned) | Self::New(planned) => planned.target,
        }
    }
}

impl Account {
    pub(super) fn new(name: ProviderName, queue: Arc<ProviderQueue>) -> Self {
        Self {
            name,
            queue,
            warm_up: WarmUp::default(),
            in_flight: 0,
            looking: 0,
            uncommitted: 0,
            made: VecDeque::new(),
            again: vec![],
            prefixes: HashMap::new(),
        }
    }

    /// What is to start next: what was made or seen before goes before what `source` has.
    pub(super) fn next(&mut self, source: &mut Source, plan: &TrialPlan) -> Option<Next> {
        if let Some(made) = self.made.pop_front() {
            return Some(Next::Made(made));
        }
        let known = self.warm_up.released().or_else(|| self.again.pop());
        if known.is_none() && !self.warm_up.is_full() {
            return source.next(plan).map(Next::New);
        }
        known.map(Next::Known)
    }

    /// The call of a trial.
    pub(super) fn make(&self, experiment: &Experiment, run: RunRow, planned: PlannedTrial) -> Made {
        let PlannedTrial { target, case, repeat, first_attempt, walk } = planned;
        let question = experiment.question(target, case, repeat);
        let cached = question.parameters.cache.and_then(|cache| {
            let part = question.prompt.cached_prefix(&question.model, cache.at)?;
            Some(Cached { prefix: Prefix { target, part }, lifetime: cache.lifetime.duration() })
        });
        let hash = experiment.request_hash(target, &question);
        let key = TrialKey { run, target, case, repeat };
        let call = experiment.call(self.queue.provider(), key, first_attempt, question, hash);
        Made { call: Arc::new(Call { walk, ..call }), cached }
    }

    /// Who is told when the call's answer begins; `None`: the trial is held until another has written
    /// its prefix to the cache.
    pub(super) fn enter(&mut self, at: usize, made: &Made, begins: &Begins) -> Option<Begun> {
        let Some(Cached { prefix, lifetime }) = made.cached else { return Some(Begun::NOBODY) };
        match self.warm_up.ask(prefix, trial(&made.call), lifetime, Instant::now()) {
            Entry::Held => None,
            Entry::Follow => Some(Begun::NOBODY),
            Entry::Lead => {
                let begins = begins.clone();
                Some(Begun::new(move || {
                    // The run may have ended meanwhile.
                    let _ = begins.send((at, prefix));
                }))
            }
        }
    }

    /// Keeps a call until the budget has room for it.
    pub(super) fn put_back(&mut self, made: Made) {
        self.made.push_front(made);
    }

    /// Notes that a call is handed to its lane.
    pub(super) fn take_off(&mut self, made: Made) -> Arc<Call> {
        self.in_flight += 1;
        self.send_off(made)
    }

    /// Notes that an earlier answer is being looked for.
    pub(super) fn look_up(&mut self, made: Made) -> Arc<Call> {
        self.looking += 1;
        self.send_off(made)
    }

    fn send_off(&mut self, made: Made) -> Arc<Call> {
        if let Some(cached) = made.cached {
            self.prefixes.insert(trial_key(&made.call), cached);
        }
        made.call
    }

    /// Notes that the look for an earlier answer has ended; where none was found, the call is asked.
    pub(super) fn looked_up(&mut self, call: &Arc<Call>, is_found: bool) {
        self.looking -= 1;
        let cached = self.prefixes.remove(&trial_key(call));
        if !is_found {
            self.made.push_back(Made { call: Arc::clone(call), cached });
        }
    }

    /// Notes that a call is back: those go that wait for its prefix, or another one leads.
    pub(super) fn land(&mut self, call: &Call, settlement: &Settlement) {
        self.in_flight -= 1;
        let key = trial_key(call);
        let Some(Cached { prefix, .. }) = self.prefixes.remove(&key) else { return };
        match settlement {
            Settlement::Ended(settled) if settled.reply.is_some() => self.warm_up.warmed(prefix),
            Settlement::Returned { .. } | Settlement::Postponed { .. } if self.has_stopped(key.target) => {
                self.warm_up.forget_target(key.target);
            }
            _ => self.warm_up.failed(prefix, trial(call)),
        }
    }

    /// Keeps a trial, for which `made` attempts were made, until the budget has room to go on with its
    /// `walk`.
    pub(super) fn ask_again(&mut self, call: &Call, made: usize, walk: Walk) {
        let made = u32::try_from(made).expect("retries are few");
        self.again.push(PlannedTrial { first_attempt: call.first_attempt + made, walk, ..trial(call) });
    }

    /// Why the whole queue has stopped, if it has.
    pub(super) fn stopped(&self) -> Option<StopReason> {
        self.queue.stopped()
    }

    fn has_stopped(&self, target: TargetPos) -> bool {
        self.stopped().is_some() || self.queue.asker_stopped(asker(target)).is_some()
    }
}

/// Targets are the first askers.
pub(super) fn asker(target: TargetPos) -> AskerPos {
    AskerPos(target.0)
}

/// The trial that a call was made for.
pub(super) fn trial_key(call: &Call) -> TrialKey {
    let Purpose::Trial(key) = call.purpose;
    key
}

/// The same as it was planned.
fn trial(call: &Call) -> PlannedTrial {
    let TrialKey { target, case, repeat, .. } = trial_key(call);
    PlannedTrial { target, case, repeat, first_attempt: call.first_attempt, walk: call.walk }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        domain::{CasePos, Repeat, Reply},
        runner::{
            fixtures::{EXPERIMENT_OF_TESTS, queue},
            source::Cursor,
        },
    };

    fn account() -> Account {
        Account::new("q".into(), queue(4, |_| (Duration::ZERO, Ok(Reply::answered("yes")))))
    }

    fn planned(target: u32, case: u32) -> PlannedTrial {
        let (target, case) = (TargetPos(target), CasePos(case));
        PlannedTrial { target, case, repeat: Repeat::FIRST, first_attempt: 1, walk: Walk::default() }
    }

    fn make(account: &Account, planned: PlannedTrial) -> Made {
        account.make(&EXPERIMENT_OF_TESTS, RunRow(1), planned)
    }

    fn returned() -> Settlement {
        Settlement::Returned { attempts: vec![] }
    }

    #[test]
    fn what_is_made_goes_before_what_is_released_before_what_came_back_before_what_is_new() {
        let plan = TrialPlan::new(3, vec![1; 6]);
        let mut source = Source::Plan(Cursor::new(vec![TargetPos(2)]));
        let mut account = account();
        let (begins, _begun) = mpsc::unbounded_channel();
        let leader = make(&account, planned(2, 5));
        assert!(account.enter(0, &leader, &begins).is_some());
        assert!(account.enter(0, &make(&account, planned(2, 4)), &begins).is_none(), "held");
        let leader = account.take_off(leader);
        account.put_back(make(&account, planned(2, 3)));
        let walk = Walk { retries: 2, ..Walk::default() };
        account.ask_again(&make(&account, planned(2, 2)).call, 2, walk);
        // The leader comes back without an answer: the one that was held leads in its place.
        account.land(&leader, &returned());
        let mut order = vec![];
        for _ in 0..4 {
            order.push(match account.next(&mut source, &plan).unwrap() {
                Next::Made(made) => ("made", trial(&made.call)),
                Next::Known(planned) => ("known", planned),
                Next::New(planned) => ("new", planned),
            });
        }
        let again = PlannedTrial { first_attempt: 3, walk, ..planned(2, 2) };
        let expected =
            [("made", planned(2, 3)), ("known", planned(2, 4)), ("known", again), ("new", planned(2, 0))];
        assert_eq!(order, expected);
        assert_eq!(account.in_flight, 0);
    }

    #[test]
    fn a_call_whose_earlier_answer_is_not_found_keeps_its_prefix() {
        let mut account = account();
        let (begins, mut begun) = mpsc::unbounded_channel();
        let made = make(&account, planned(2, 0));
        let call = account.look_up(made);
        assert_eq!(account.looking, 1);
        account.looked_up(&call, false);
        let plan = TrialPlan::new(3, vec![1]);
        let next = account.next(&mut Source::Plan(Cursor::new(vec![])), &plan);
        let Some(Next::Made(made)) = next else { panic!("{next:?}") };
        account.enter(7, &made, &begins).unwrap().tell();
        assert_eq!(begun.try_recv().unwrap().0, 7);
        assert!(account.prefixes.is_empty());
    }

    #[test]
    fn what_was_found_is_done_with() {
        let mut account = account();
        let made = make(&account, planned(1, 0));
        assert!(made.call.hash.is_some() && made.cached.is_none());
        let call = account.look_up(made);
        account.looked_up(&call, true);
        let plan = TrialPlan::new(3, vec![1]);
        assert!(account.next(&mut Source::Plan(Cursor::new(vec![])), &plan).is_none());
    }
}
