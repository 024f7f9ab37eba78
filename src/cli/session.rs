//! One session of a run: from the queues to the scorecard. `run` and `resume` share it.

use std::{path::PathBuf, sync::Arc};

use clap::Args;
use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::{
    early_stop,
    error::CliError,
    exit_status::ExitStatus,
    output, own_gates,
    progress::{self, QueueProgress},
    store_argument,
};
use crate::{
    config::{self, Experiment},
    domain::{Cost, RunId, RunRow, TargetPos, TrialKey},
    estimate::held,
    report::{Scorecard, scorecard_text},
    runner::{self, RunParts, RunSummary, Shutdown, TrialPlan},
    store::{CreatedRun, RunClaim, Store, StoreWriter},
};

/// What a session shows.
#[derive(Clone, Debug, Args)]
pub(super) struct Screen {
    /// Print the scorecard as JSON
    #[arg(long)]
    pub(super) json: bool,

    /// Show no progress
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// A run that is ready to be worked on.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) run: RunRow,
    pub(super) name: RunId,
    pub(super) claim: RunClaim,
    pub(super) experiment: Experiment,
    pub(super) plan: TrialPlan,
    /// What earlier sessions spent.
    pub(super) spent: Cost,
    /// Failed trials of earlier sessions that this one does not ask again.
    pub(super) failed: u64,
    pub(super) store_path: PathBuf,
}

impl Prepared {
    /// A new run, of which nothing is done yet.
    pub(super) fn new(created: CreatedRun, experiment: Experiment, store_path: PathBuf) -> Self {
        let plan = empty_plan(&experiment);
        Self {
            run: created.id,
            name: created.name,
            claim: created.claim,
            experiment,
            plan,
            spent: Cost::ZERO,
            failed: 0,
            store_path,
        }
    }
}

/// The plan of an experiment of which nothing is done yet.
pub(super) fn empty_plan(experiment: &Experiment) -> TrialPlan {
    let targets = u32::try_from(experiment.targets.len()).expect("targets are few");
    TrialPlan::new(targets, experiment.cases.iter().map(|planned| planned.repeats).collect())
}

/// Works on the run until it is done or must stop, and prints its scorecard.
pub(super) fn work(prepared: Prepared, store: Store, screen: &Screen) -> Result<ExitStatus, CliError> {
    let (name, store_path) = (prepared.name.clone(), prepared.store_path.clone());
    let (status, summary) = work_on(prepared, store, screen)?;
    output::note(&next_steps(&name, &summary, &store_path));
    Ok(status)
}

/// The same without telling what could be done next.
pub(super) fn work_on(
    prepared: Prepared,
    store: Store,
    screen: &Screen,
) -> Result<(ExitStatus, RunSummary), CliError> {
    let (run, store_path) = (prepared.run, prepared.store_path.clone());
    let summary = ask_to_the_end(prepared, store, screen)?;
    let store = Store::open_read_only(&store_path)?;
    print_scorecard(&store, run, screen.json)?;
    let gates = own_gates::judge(&store, run, screen.json)?;
    for reason in &summary.stops {
        output::note(&format!("stopped: {reason}"));
    }
    Ok((own_gates::worse(ExitStatus::of_run(summary.status), gates), summary))
}

/// Works on the run until it is done or must stop, and prints nothing but its progress.
pub(super) fn ask_to_the_end(
    prepared: Prepared,
    store: Store,
    screen: &Screen,
) -> Result<RunSummary, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let summary = runtime.block_on(ask(prepared, store, screen))?;
    // A second Ctrl-C may leave a lookup or a connection behind: nothing waits for it.
    runtime.shutdown_background();
    Ok(summary)
}

/// Prints a run's scorecard to stdout.
pub(super) fn print_scorecard(store: &Store, run: RunRow, json: bool) -> Result<(), CliError> {
    let detail = store.run_detail(run)?;
    let card = Scorecard::read(store, &detail)?;
    let text = if json {
        let mut whole = serde_json::to_value(&card).expect("a scorecard is plain data");
        whole["estimated_against_real"] = json!(held::held(store, &detail.row)?);
        serde_json::to_string_pretty(&whole).expect("a scorecard is plain data")
    } else {
        scorecard_text(&card)
    };
    Ok(output::data(&text)?)
}

async fn ask(prepared: Prepared, store: Store, screen: &Screen) -> Result<RunSummary, CliError> {
    let (events, event_receiver) = mpsc::unbounded_channel();
    let (committed, committed_receiver) = mpsc::unbounded_channel::<Vec<TrialKey>>();
    let queues = config::connect(&prepared.experiment, &events)?;
    let display = progress::show(queue_progress(&prepared), event_receiver, screen.quiet || screen.json);
    let early_stop = early_stop::of(&store, prepared.run, &prepared.experiment, &prepared.plan)?;
    store.clear_controls(prepared.run)?;
    let named = prepared.experiment.settings.providers.iter().zip(&queues);
    let weak = named.map(|(provider, queue)| (provider.name.clone(), Arc::downgrade(queue)));
    let controls = Store::open_read_only(store.path())?;
    tokio::spawn(runner::follow_controls(controls, prepared.run, weak.collect()));
    let reuses = prepared.experiment.targets.iter().any(|target| target.settings.reuse);
    let earlier = reuses.then(|| Store::open_read_only(store.path())).transpose()?;
    let rows = store.prices(prepared.run)?;
    let prices = prepared.experiment.targets.iter().map(|target| target.prices.numbered(&rows)).collect();
    let writer = StoreWriter::start(store, prepared.claim, Some(committed))?;
    let parts = RunParts {
        run: prepared.run,
        experiment: Arc::new(prepared.experiment),
        plan: prepared.plan,
        queues,
        early_stop,
        prices,
        spent: prepared.spent,
        earlier,
        failed: prepared.failed,
        writer,
        committed: committed_receiver,
        events,
    };
    let summary = runner::run(parts, interrupts()).await;
    // The run and its queues are gone, and with them the events: the display ends by itself.
    let _ = display.await;
    Ok(summary?)
}

/// The first Ctrl-C (or SIGTERM) asks to finish what is in flight, the second to stop now.
fn interrupts() -> watch::Receiver<Shutdown> {
    let (sender, receiver) = watch::channel(Shutdown::No);
    tokio::spawn(async move {
        for wish in [Shutdown::Drain, Shutdown::Now] {
            interrupted().await;
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

#[cfg(unix)]
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

#[cfg(not(unix))]
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn queue_progress(prepared: &Prepared) -> Vec<QueueProgress> {
    let experiment = &prepared.experiment;
    let per_target: u64 = experiment.cases.iter().map(|planned| u64::from(planned.repeats)).sum();
    let providers = experiment.settings.providers.iter().enumerate();
    providers
        .map(|(at, provider)| {
            let targets: Vec<TargetPos> = (0..)
                .map(TargetPos)
                .zip(&experiment.targets)
                .filter(|(_, target)| target.provider == at)
                .map(|(t, _)| t)
                .collect();
            let total = per_target * targets.len() as u64;
            QueueProgress::new(provider.name.clone(), total, total - prepared.plan.pending_of(&targets))
        })
        .collect()
}

fn next_steps(name: &RunId, summary: &RunSummary, store: &std::path::Path) -> String {
    let store = store_argument::flag(store);
    let mut text = String::from("next:");
    if ExitStatus::of_run(summary.status) != ExitStatus::Success {
        text.push_str(&format!("\n  caseload resume {name}{store}"));
        if summary.pending > 0 {
            text.push_str(&format!("    ({} trials to do)", crate::report::count(summary.pending)));
        }
    }
    text.push_str(&format!("\n  caseload show {name} --failures{store}\n  caseload export {name}{store}"));
    text
}
