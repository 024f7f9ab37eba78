//! The whole queue against a scripted provider, on a paused clock.

mod limits;
mod pressure;
mod steering;
mod stops;
mod trials;

use std::{collections::BTreeMap, sync::Arc};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinHandle,
};

use crate::domain::{
    Asked, Bounds, Case, CasePos, Demand, Examples, Fingerprint, Input, Outgoing, Parameters, PassIf, Prompt,
    Question, Repeat, RunRow, TargetPos, TrialKey,
};

use super::super::{Limits, RetryPolicy};
use super::*;

/// Plays an answer for each request: how long it takes and what it is.
type Script = dyn Fn(Sent) -> (Duration, Result<Reply, Rejection>) + Send + Sync;

/// A request as the transport saw it.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// Which request of all it is, from 0.
    nth: usize,
    /// Which request of its case it is, from 0.
    nth_of_case: usize,
    target: u32,
    case: u32,
    /// When, in milliseconds since the stage was set.
    at_ms: u64,
}

struct Scripted {
    origin: Instant,
    script: Box<Script>,
    sent: Mutex<Vec<Sent>>,
}

impl Scripted {
    fn play(&self, question: &Question) -> (Duration, Result<Reply, Rejection>) {
        let mut log = self.sent.lock().unwrap();
        let target = question.asked.by.as_str().parse().unwrap();
        let case = question.asked.case.id.as_str().parse().unwrap();
        let same = |sent: &&Sent| (sent.target, sent.case) == (target, case);
        let nth_of_case = log.iter().filter(same).count();
        let at_ms = u64::try_from(self.origin.elapsed().as_millis()).unwrap();
        let sent = Sent { nth: log.len(), nth_of_case, target, case, at_ms };
        log.push(sent);
        (self.script)(sent)
    }
}

impl Answering for Scripted {
    async fn answer(&self, question: &Question) -> Result<Reply, Rejection> {
        let (took, answer) = self.play(question);
        sleep(took).await;
        answer
    }
}

/// What a double of these tests does; [`Double`] makes a provider of it.
trait Answering: Send + Sync + 'static {
    fn answer(&self, question: &Question) -> impl Future<Output = Result<Reply, Rejection>> + Send;
}

/// A double that the test keeps an eye on.
struct Double<T>(Arc<T>);

impl<T: Answering> Provider for Double<T> {
    fn prepare(&self, question: Question) -> (Outgoing, Bounds) {
        (Outgoing::Question(Box::new(question)), Bounds::default())
    }

    fn send<'a>(&'a self, outgoing: &'a Outgoing, _: &'a Begun) -> BoxFuture<'a, Result<Reply, Rejection>> {
        Box::pin(self.0.answer(outgoing.as_question().unwrap()))
    }
}

/// A queue, its scripted provider and what it told.
struct Stage {
    queue: Arc<ProviderQueue>,
    provider: Arc<Scripted>,
    events: UnboundedReceiver<RunEvent>,
}

impl Stage {
    fn set(
        settings: QueueSettings,
        script: impl Fn(Sent) -> (Duration, Result<Reply, Rejection>) + Send + Sync + 'static,
    ) -> Self {
        assert_eq!(settings.faults(), Vec::<String>::new());
        let (sender, events) = unbounded_channel();
        let provider =
            Scripted { origin: Instant::now(), script: Box::new(script), sent: Mutex::new(vec![]) };
        let provider = Arc::new(provider);
        Self { queue: queue(&provider, settings, sender), provider, events }
    }

    fn hand_over(&self, target: u32, case: u32, demand: Demand) -> JoinHandle<Settlement> {
        let queue = self.queue.clone();
        tokio::spawn(async move { queue.settle(&call(target, case, demand), Hooks::NONE).await })
    }

    /// Hands over `cases` at once and waits for the end of all.
    async fn run(&self, cases: u32, demand: Demand) -> Vec<Settlement> {
        let handles: Vec<_> = (0..cases).map(|case| self.hand_over(0, case, demand)).collect();
        let mut settlements = vec![];
        for handle in handles {
            settlements.push(handle.await.unwrap());
        }
        settlements
    }

    async fn run_one(&self) -> Settled {
        ended(self.run(1, Demand::default()).await.remove(0))
    }

    fn sent(&self) -> Vec<Sent> {
        self.provider.sent.lock().unwrap().clone()
    }

    fn start_times_ms(&self) -> Vec<u64> {
        self.sent().iter().map(|sent| sent.at_ms).collect()
    }

    fn events(&mut self) -> Vec<RunEvent> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }

    /// What an attempt that failed told: its number, and how long its call then waited.
    fn failures(&mut self) -> Vec<(u32, Option<Duration>)> {
        let told = |event| match event {
            RunEvent::AttemptFailed { attempt, retry_in, .. } => Some((attempt, retry_in)),
            _ => None,
        };
        self.events().into_iter().filter_map(told).collect()
    }
}

/// A queue before a double.
fn queue<T: Answering>(
    provider: &Arc<T>,
    settings: QueueSettings,
    events: UnboundedSender<RunEvent>,
) -> Arc<ProviderQueue> {
    let provider = Box::new(Double(Arc::clone(provider)));
    Arc::new(ProviderQueue::new("account".into(), provider, settings, 1, events))
}

fn call(target: u32, case: u32, demand: Demand) -> Call {
    let key =
        TrialKey { run: RunRow(1), target: TargetPos(target), case: CasePos(case), repeat: Repeat::FIRST };
    Call {
        purpose: Purpose::Trial(key),
        asker: AskerPos(target),
        outgoing: Outgoing::Question(Box::new(question(target, case))),
        worst: None,
        demand,
        first_attempt: 1,
        walk: Walk::default(),
        seed: 1,
        hash: None,
    }
}

fn question(target: u32, case: u32) -> Question {
    let case = Case {
        id: case.to_string().into(),
        split: None,
        added: None,
        owner: None,
        source: None,
        segment: BTreeMap::new().into(),
        cluster: None,
        weight: 1.0,
        input: Input::Text("?".into()),
        context: Value::Null,
        expected: Value::Null,
        graders: vec![],
        repeats: None,
        pass_if: PassIf::default(),
        examples: Examples::default(),
        meta: Value::Null,
        fingerprint: Fingerprint::of(b""),
    };
    Question {
        model: "model".into(),
        prompt: Prompt::default(),
        parameters: Arc::new(Parameters::default()),
        asked: Asked { by: target.to_string().into(), case: Arc::new(case), repeat: Repeat::FIRST },
        seed: 1,
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn settings() -> QueueSettings {
    QueueSettings::default()
}

fn in_flight(max_in_flight: u32) -> QueueSettings {
    QueueSettings { limits: Limits { max_in_flight, ..Limits::default() }, ..settings() }
}

fn retries(max_retries: u32, settings: QueueSettings) -> QueueSettings {
    QueueSettings { retry: RetryPolicy { max_retries, ..settings.retry }, ..settings }
}

fn yes() -> Result<Reply, Rejection> {
    Ok(Reply::answered("yes"))
}

fn no(
    class: ErrorClass,
    kind: FailureKind,
    status: u16,
    retry_after: Option<Duration>,
) -> Result<Reply, Rejection> {
    let failure = Failure { status: Some(status), retry_after, ..Failure::new(class, kind, "no") };
    Err(Rejection { request_id: Some("req-1".into()), ..Rejection::from(failure) })
}

fn too_many(retry_after: Option<Duration>) -> Result<Reply, Rejection> {
    no(ErrorClass::RetrySlow, FailureKind::RateLimit, 429, retry_after)
}

fn unavailable() -> Result<Reply, Rejection> {
    no(ErrorClass::Retry, FailureKind::Server, 503, None)
}

fn unauthorized() -> Result<Reply, Rejection> {
    no(ErrorClass::StopQueue, FailureKind::Authentication, 401, None)
}

#[track_caller]
fn ended(settlement: Settlement) -> Settled {
    match settlement {
        Settlement::Ended(settled) => *settled,
        other => panic!("it did not end: {other:?}"),
    }
}

fn returned(settlements: &[Settlement]) -> usize {
    settlements.iter().filter(|settlement| matches!(settlement, Settlement::Returned { .. })).count()
}

fn answered(settlements: &[Settlement]) -> usize {
    settlements
        .iter()
        .filter(|settlement| {
            matches!(settlement, Settlement::Ended(settled) if settled.outcome == Outcome::Answered)
        })
        .count()
}

/// The most starts in any window of a minute.
fn most_in_a_minute(starts_ms: &[u64]) -> usize {
    let within = |from: u64| starts_ms.iter().filter(|at| (from..from + 60_000).contains(at)).count();
    starts_ms.iter().map(|from| within(*from)).max().unwrap_or(0)
}
