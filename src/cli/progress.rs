//! The progress display: lines on stderr, drawn while a run goes on.

use std::{
    io::{IsTerminal, stderr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use tokio::{sync::oneshot, task::JoinHandle, time};

use crate::{
    app::{Ledger, Listener, QueueWork},
    domain::text::visible,
    report::RunProgress,
};

/// How often the lines are drawn on a terminal.
const REDRAW: Duration = Duration::from_millis(100);

/// How often a plain line is written where there is no terminal.
const PLAIN: Duration = Duration::from_secs(10);

/// A run's progress on stderr. Quiet: listens and shows nothing.
pub(super) struct Progress {
    state: Arc<Mutex<RunProgress>>,
    finish: oneshot::Sender<()>,
    drawing: JoinHandle<()>,
}

impl Progress {
    /// Begins to draw.
    pub(super) fn show(work: Vec<QueueWork>, ledger: Ledger, quiet: bool) -> Self {
        let display = Display::new(work.len(), quiet);
        let state = Arc::new(Mutex::new(RunProgress::new(work, ledger)));
        let (finish, finished) = oneshot::channel();
        let drawing = tokio::spawn(draw(display, Arc::clone(&state), finished));
        Self { state, finish, drawing }
    }

    /// Who is to be told what happens in the run.
    pub(super) fn listener(&self) -> Listener {
        let state = Arc::clone(&self.state);
        Box::new(move |event| locked(&state).note(event, Instant::now()))
    }

    /// Draws how it ended.
    pub(super) async fn finish(self) {
        // A display that broke off has nothing to draw any more.
        let _ = self.finish.send(());
        let _ = self.drawing.await;
    }
}

/// The lines are whole whatever happened to another holder of the lock.
fn locked(state: &Mutex<RunProgress>) -> MutexGuard<'_, RunProgress> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn draw(display: Display, state: Arc<Mutex<RunProgress>>, mut finished: oneshot::Receiver<()>) {
    let lines = || locked(&state).lines(Instant::now());
    let mut ticks = time::interval(display.interval());
    ticks.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        tokio::select! {
            ended = &mut finished => {
                if ended.is_ok() {
                    display.draw(&lines(), ProgressBar::finish_with_message);
                }
                return;
            }
            _ = ticks.tick() => display.draw(&lines(), ProgressBar::set_message),
        }
    }
}

enum Display {
    Terminal { _all: MultiProgress, lines: Vec<ProgressBar> },
    Plain,
    Quiet,
}

impl Display {
    fn new(queues: usize, quiet: bool) -> Self {
        if quiet {
            return Self::Quiet;
        }
        if !stderr().is_terminal() {
            return Self::Plain;
        }
        let all = MultiProgress::new();
        let style = ProgressStyle::with_template("{msg}").expect("the template is valid");
        let line = || all.add(ProgressBar::new_spinner().with_style(style.clone()));
        let lines = (0..=queues).map(|_| line()).collect();
        Self::Terminal { _all: all, lines }
    }

    fn interval(&self) -> Duration {
        match self {
            Self::Terminal { .. } => REDRAW,
            Self::Plain | Self::Quiet => PLAIN,
        }
    }

    /// Shows the lines; `show` says how a terminal's line takes its text.
    fn draw(&self, texts: &[String], show: fn(&ProgressBar, String)) {
        match self {
            Self::Terminal { lines, .. } => {
                lines.iter().zip(texts).for_each(|(line, text)| show(line, visible(text)));
            }
            Self::Plain => super::output::note(&texts.join("\n")),
            Self::Quiet => {}
        }
    }
}
