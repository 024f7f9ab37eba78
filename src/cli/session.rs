//! One session of a run: from the queues to the scorecard. `run` and `resume` share it.

use clap::{
    Args,
    builder::{PathBufValueParser, TypedValueParser},
};
use tokio::sync::watch;

use super::{
    compare::status, error::CliError, exit_status::ExitStatus, output, progress::Progress, signals::Signals,
};
use crate::{
    app::{
        self, AppError, EventFile, Listener, RunSummary, Session, Shutdown, Store,
        find_run::{open_to_read, store_flag},
        gates::{self, JudgedTarget},
        show,
    },
    domain::{RunEvent, RunRow, RunStatus},
    report::{count, duration, gates_text, left_text, scorecard_text, wrapped},
};

/// What a session shows.
#[derive(Clone, Debug, Args)]
pub(super) struct Screen {
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,

    /// Show no progress
    #[arg(short, long)]
    pub(super) quiet: bool,

    /// Append what happens to this file: a line of JSON an event, as docs/json.md lists them
    #[arg(long, value_name = "FILE", value_parser = PathBufValueParser::new().try_map(EventFile::open))]
    pub(super) events: Option<EventFile>,
}

/// Works on the run until it is done or must stop, and prints its scorecard.
pub(super) fn work(session: Session, screen: &Screen) -> Result<ExitStatus, CliError> {
    let (name, store) = (session.name().clone(), session.store_path().to_owned());
    let run = session.run();
    let (status, _) = work_on(session, screen)?;
    let (flag, left) = (store_flag(&store), app::resume::left(&open_to_read(&store)?, run)?);
    output::note(&format!(
        "next:{}\n  caseload show {name} --failures{flag}\n  caseload export {name}{flag}",
        left_text(left, &name, &flag)
    ));
    Ok(status)
}

/// The same without telling what could be done next.
pub(super) fn work_on(session: Session, screen: &Screen) -> Result<(ExitStatus, RunSummary), CliError> {
    let (run, store) = (session.run(), session.store_path().to_owned());
    let summary = ask_to_the_end(session, screen)?;
    let store = open_to_read(&store)?;
    let status = conclude(&store, run, summary.status, screen.json)?;
    tell_stops(&summary);
    Ok((status, summary))
}

/// Prints a run's scorecard and what its own gates say, and gives what the process ends with: the run's
/// own state first, then its gates.
pub(super) fn conclude(
    store: &Store,
    run: RunRow,
    status: RunStatus,
    json: bool,
) -> Result<ExitStatus, CliError> {
    print_scorecard(store, run, json)?;
    Ok(worse(ExitStatus::of_run(status), judge(store, run, json)?))
}

/// Works on the run until it is done or must stop, and prints nothing but its progress.
pub(super) fn ask_to_the_end(session: Session, screen: &Screen) -> Result<RunSummary, CliError> {
    // One thread waits for the network, beside that of the store's writer: work handed from one thread to
    // another costs more than most of the work itself. Graders that take long have threads of their own.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let summary = runtime.block_on(async {
        let progress = Progress::show(session.queues(), session.ledger(), screen.quiet || screen.json);
        let mut listeners = vec![progress.listener(), Box::new(tell_lock) as Listener];
        if let Some(file) = &screen.events {
            listeners.push(file.listener(&session, output::note)?);
        }
        let summary = session.work(listeners, interrupts()).await;
        if matches!(summary, Ok(_) | Err(AppError::Run(_))) {
            progress.finish().await;
        }
        summary
    })?;
    // A second Ctrl-C may leave a lookup or a connection behind: nothing waits for it.
    runtime.shutdown_background();
    Ok(summary)
}

/// Tells that the store is locked, also where no progress is shown.
fn tell_lock(event: &RunEvent) {
    if let RunEvent::StoreLocked { answers, patience } = event {
        output::note(&format!(
            "the store is locked by another process: {} answers wait to be stored, for at most {}; Ctrl-C \
             twice gives them up",
            count(*answers),
            duration(*patience)
        ));
    }
}

/// Tells why a session ended before all was done.
pub(super) fn tell_stops(summary: &RunSummary) {
    for reason in &summary.stops {
        output::note(wrapped("stopped: ", &reason.to_string()).trim_end());
    }
}

/// Prints what the run's own gates say and gives what the process ends with. With JSON on stdout they
/// are told on stderr.
pub(super) fn judge(store: &Store, run: RunRow, json: bool) -> Result<ExitStatus, CliError> {
    let judged = gates::judge(store, run)?;
    for JudgedTarget { target, results } in &judged.targets {
        let of = if judged.several { format!("{target}: ") } else { String::new() };
        let text = gates_text(results);
        if json {
            output::note(&format!("{of}{text}"));
        } else {
            output::data(&format!("\n{of}{text}"))?;
        }
    }
    Ok(status(judged.verdict))
}

/// What a run ends with: its own state first, then its gates.
pub(super) fn worse(run: ExitStatus, gates: ExitStatus) -> ExitStatus {
    if run == ExitStatus::Success { gates } else { run }
}

/// Prints a run's scorecard to stdout.
pub(super) fn print_scorecard(store: &Store, run: RunRow, json: bool) -> Result<(), CliError> {
    if json {
        output::json(&show::run(store, run)?)?;
    } else {
        output::data(&scorecard_text(&show::scorecard(store, run)?))?;
    }
    Ok(())
}

/// The first Ctrl-C, SIGTERM or hang-up asks to finish what is in flight, the second Ctrl-C or SIGTERM to
/// stop now.
fn interrupts() -> watch::Receiver<Shutdown> {
    let (sender, receiver) = watch::channel(Shutdown::No);
    // From now on, so that a signal that comes between the two wishes is the second.
    let mut signals = Signals::listen();
    tokio::spawn(async move {
        for wish in [Shutdown::Drain, Shutdown::Now] {
            signals.next(wish).await;
            let note = match wish {
                Shutdown::Drain => "stopping: nothing new is started; Ctrl-C again stops at once",
                _ => "stopping at once",
            };
            output::note(note);
            if sender.send(wish).is_err() {
                return;
            }
        }
    });
    receiver
}
