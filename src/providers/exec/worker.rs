//! A long-lived process: questions go in by the line, answers come back in any order.

use std::{
    collections::{HashMap, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{
    io::{AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout},
    sync::{Notify, mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};

use super::{
    failure::failed,
    launch::Launch,
    once,
    output::{Tail, TooLarge, next_line},
    protocol::{self, NoAnswer},
};
use crate::{
    domain::{ErrorClass, FailureKind, Reply},
    providers::Rejection,
};

/// So many of the newest answers are remembered, to know one that comes twice.
const REMEMBERED: usize = 256;

/// One long-lived process. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Worker {
    questions: mpsc::UnboundedSender<Vec<u8>>,
    shared: Arc<Shared>,
}

/// What the tasks of a worker share.
#[derive(Debug)]
struct Shared {
    launch: Arc<Launch>,
    state: Mutex<State>,
    stderr: Tail,
    /// Told when the process is to be given up.
    stop: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Who waits for which answer.
    waiting: HashMap<String, oneshot::Sender<Result<Reply, Rejection>>>,
    /// The newest answers, by id and content.
    answered: VecDeque<(String, u64)>,
    is_over: bool,
}

impl Worker {
    /// Starts the process and the tasks that write to it and read from it.
    pub(super) fn start(launch: &Arc<Launch>) -> Result<Self, Rejection> {
        let mut child = launch.start()?;
        let stdin = child.stdin.take().expect("it is piped");
        let stdout = child.stdout.take().expect("it is piped");
        let stderr = child.stderr.take().expect("it is piped");
        let shared = Arc::new(Shared {
            launch: Arc::clone(launch),
            state: Mutex::default(),
            stderr: Tail::default(),
            stop: Notify::new(),
        });
        let (questions, receiver) = mpsc::unbounded_channel();
        let following = tokio::spawn(shared.stderr.clone().follow(stderr));
        tokio::spawn(write(receiver, stdin, Arc::clone(&shared)));
        tokio::spawn(read(child, stdout, following, Arc::clone(&shared)));
        Ok(Self { questions, shared })
    }

    /// Whether it can still be asked.
    pub(super) fn is_alive(&self) -> bool {
        !self.shared.state().is_over
    }

    /// Asks, and waits for the answer of that id. Who stops waiting gives the process up: it hangs.
    pub(super) async fn ask(&self, id: String, question: Vec<u8>) -> Result<Reply, Rejection> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut state = self.shared.state();
            if state.is_over {
                return Err(died("it ended before it could be asked"));
            }
            state.waiting.insert(id.clone(), sender);
        }
        let guard = GiveUp { shared: &self.shared, id: Some(id) };
        // A writer that is gone means a process that is gone: its reader will say so.
        let _ = self.questions.send(question);
        match timeout(self.shared.launch.settings.timeout(), receiver).await {
            Ok(answer) => {
                guard.done();
                answer.unwrap_or_else(|_| Err(died("it was given up")))
            }
            Err(_) => {
                let (stderr, _) = self.shared.stderr.take();
                Err(once::timed_out(&self.shared.launch, stderr))
            }
        }
    }
}

/// Gives a process up when whoever waits for it leaves without an answer.
struct GiveUp<'a> {
    shared: &'a Shared,
    id: Option<String>,
}

impl GiveUp<'_> {
    fn done(mut self) {
        self.id = None;
    }
}

impl Drop for GiveUp<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            self.shared.state().waiting.remove(&id);
            self.shared.end(|| died("it was restarted, since it hung on another trial"));
        }
    }
}

fn died(message: &str) -> Rejection {
    failed(ErrorClass::Retry, FailureKind::Application, message, None)
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one line of the process in.
    ///
    /// # Errors
    /// What is wrong with it; the process is then not to be trusted any more.
    fn take_in(&self, line: &[u8]) -> Result<(), String> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let (id, read) = protocol::answer_line(line).map_err(|error| match error {
            NoAnswer::Malformed(why) | NoAnswer::Declared(why) => why,
        })?;
        let mut state = self.state();
        let content = hash(line);
        let Some(waiter) = state.waiting.remove(&id) else {
            return match state.answered.iter().find(|(known, _)| *known == id) {
                // The same answer twice does no harm.
                Some((_, known)) if *known == content => Ok(()),
                Some(_) => Err(format!("it answered `{id}` twice, and differently")),
                None => Err(format!("it answered `{id}`, which was not asked")),
            };
        };
        if state.answered.len() == REMEMBERED {
            state.answered.pop_front();
        }
        state.answered.push_back((id, content));
        let is_alone = state.waiting.is_empty();
        drop(state);
        // With several trials under way nobody knows whose words these are; they go to the first.
        let stderr = if is_alone { self.stderr.take().0 } else { None };
        // Whoever no longer waits has been told.
        let _ = waiter.send(once::answered(read, stderr));
        Ok(())
    }

    /// Gives the process up: nothing more is asked of it, and all who wait are told why.
    fn end(&self, why: impl Fn() -> Rejection) {
        let waiting = {
            let mut state = self.state();
            state.is_over = true;
            std::mem::take(&mut state.waiting)
        };
        for waiter in waiting.into_values() {
            let _ = waiter.send(Err(why()));
        }
        self.stop.notify_one();
    }
}

fn hash(line: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    hasher.finish()
}

/// Writes questions until there are no more or the process is given up; then its input ends, and with
/// it the supervisor's patience.
async fn write(mut questions: mpsc::UnboundedReceiver<Vec<u8>>, mut stdin: ChildStdin, shared: Arc<Shared>) {
    let asking = async {
        while let Some(question) = questions.recv().await {
            if stdin.write_all(&question).await.is_err() {
                // It is gone; the reader says how.
                break;
            }
        }
    };
    tokio::select! {
        () = asking => {}
        () = shared.stop.notified() => {}
    }
}

/// Reads answers until the process ends or breaks the protocol.
async fn read(mut child: Child, stdout: ChildStdout, following: JoinHandle<()>, shared: Arc<Shared>) {
    let mut stdout = BufReader::with_capacity(64 * 1024, stdout);
    let launch = &shared.launch;
    let limit = launch.settings.max_output_bytes;
    let broken = loop {
        match next_line(&mut stdout, limit).await {
            Ok(Some(line)) => {
                if let Err(why) = shared.take_in(&line) {
                    break Some(Broken::Protocol(why));
                }
            }
            Ok(None) => break None,
            Err(TooLarge) => break Some(Broken::Flood),
        }
    };
    // Nothing more is asked from here on, while it is found out how the process ended.
    shared.state().is_over = true;
    match broken {
        Some(Broken::Protocol(why)) => {
            let (stderr, _) = shared.stderr.take();
            shared.end(|| failed(ErrorClass::Retry, FailureKind::Malformed, &why, stderr.clone()));
        }
        Some(Broken::Flood) => {
            let (stderr, _) = shared.stderr.take();
            shared.end(|| once::flooded(launch, stderr.clone()));
        }
        None => {
            let status = once::status_of(&mut child).await;
            once::settle(following).await;
            let (stderr, ending) = shared.stderr.take();
            shared.end(|| once::ended_badly(launch, status, ending.clone(), stderr.clone()));
        }
    }
    // Without a reader a flood ends by itself.
    drop(stdout);
    let _ = child.wait().await;
}

/// Why a process is not to be trusted any more.
enum Broken {
    Protocol(String),
    Flood,
}
