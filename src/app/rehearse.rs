//! An experiment's run against mock servers with its providers' limits; no key is needed and nothing is paid.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
};

use serde::Serialize;

use super::{
    AppError, Ready, Session,
    mock_servers::{Conditions, RehearsedProvider, Servers, Weather, redirect},
};
use crate::{
    domain::{Aside, Cost, RunRow, RunStatus},
    evidence::{Scorecard, TargetCard},
    runner::RunSummary,
    store::Store,
};

/// The version of the JSON shape.
const SCHEMA_VERSION: u32 = 1;

/// A rehearsal that goes on: its servers answer as long as it lives.
pub struct Rehearsing {
    experiment: String,
    conditions: Conditions,
    run: RunRow,
    store: PathBuf,
    servers: Servers,
    /// Goes with the rehearsal.
    _folder: Option<TemporaryFolder>,
}

/// Starts the servers, leads every account that is reached over the network there, and makes the run.
/// `keep`: in the experiment's own store; else in one that goes with the rehearsal.
///
/// # Errors
/// No account is reached over the network, a server cannot be started, or the store not be written.
pub fn begin(
    mut ready: Ready,
    conditions: Conditions,
    keep: bool,
) -> Result<(Session, Rehearsing), AppError> {
    let folder = (!keep).then(TemporaryFolder::new).transpose()?;
    if let Some(folder) = &folder {
        ready.store = folder.0.join("rehearsal.db");
    }
    let experiment = ready.experiment.settings.name.clone();
    ready.experiment.settings.name = Aside::Rehearsal.beside(&experiment);
    let servers = redirect(&mut ready, conditions)?;
    let session = Session::begin(ready)?;
    let (run, store) = (session.run(), session.store_path().to_owned());
    Ok((session, Rehearsing { experiment, conditions, run, store, servers, _folder: folder }))
}

/// What a rehearsal came to.
#[derive(Debug, Serialize)]
pub struct Rehearsal {
    /// The version of this shape.
    pub schema_version: u32,
    /// Always: no provider was asked.
    pub rehearsal: bool,
    /// The experiment.
    pub experiment: String,
    /// The run.
    pub run: String,
    /// Where it stands.
    pub status: &'static str,
    /// How much time was compressed.
    pub speed: f64,
    /// What the provider's day was like.
    pub weather: Weather,
    /// Trials planned.
    pub trials: u64,
    /// Trials that ended as failed.
    pub failed: u64,
    /// Trials that were not done.
    pub pending: u64,
    /// What the rehearsal took, in seconds.
    pub wall_s: f64,
    /// What a run would take: the rehearsal's time uncompressed, in seconds.
    pub run_wall_s: f64,
    /// Requests sent.
    pub requests: u64,
    /// Requests beyond one a trial.
    pub retries: u64,
    /// What the run would cost; `None` when a model has no price.
    pub cost_usd: Option<Cost>,
    /// What each account's server saw.
    pub providers: Vec<RehearsedProvider>,
}

impl Rehearsing {
    /// What a rehearsal that ended so came to, and its scorecard, whose pass rates mean nothing.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn end(self, summary: &RunSummary) -> Result<(Rehearsal, Scorecard), AppError> {
        let store = Store::open_to_read(&self.store)?;
        let card = Scorecard::read(&store, &store.run_detail(self.run)?)?;
        Ok((self.rehearsal(summary, &card), card))
    }

    fn rehearsal(&self, summary: &RunSummary, card: &Scorecard) -> Rehearsal {
        let sum = |of: fn(&TargetCard) -> u64| card.targets.iter().map(of).sum::<u64>();
        let (requests, trials) = (sum(|target| target.attempts), sum(|target| target.trials));
        let priced = card.targets.iter().all(|target| target.cost_unknown_trials == 0);
        let costs = card.targets.iter().map(|target| target.cost_usd);
        let wall_s = summary.wall.as_secs_f64();
        let speed = self.conditions.speed;
        Rehearsal {
            schema_version: SCHEMA_VERSION,
            rehearsal: true,
            experiment: self.experiment.clone(),
            run: card.run.id.clone(),
            status: RunStatus::as_str(summary.status),
            speed,
            weather: self.conditions.weather,
            trials,
            failed: sum(|target| target.not_measured.get("failed").copied().unwrap_or(0)),
            pending: summary.pending,
            wall_s,
            run_wall_s: wall_s * speed,
            requests,
            retries: requests.saturating_sub(trials - summary.pending),
            cost_usd: if priced { costs.sum() } else { None },
            providers: self.servers.seen(speed),
        }
    }
}

/// A folder that goes when it is dropped.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> Result<Self, AppError> {
        let path = env::temp_dir().join(format!("caseload-rehearsal-{}", process::id()));
        fs::create_dir_all(&path).map_err(|error| AppError::usage(error.to_string()))?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // What cannot be removed is the system's to clear away.
        let _ = remove(&self.0);
    }
}

fn remove(folder: &Path) -> std::io::Result<()> {
    fs::remove_dir_all(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::{Stored, work};

    fn conditions() -> Conditions {
        Conditions { speed: 60.0, weather: Weather::Calm, latency_ms: 60.0, jitter_ms: 0.0 }
    }

    fn remote() -> Stored {
        Stored::empty("[provider.simulator]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n")
    }

    #[test]
    fn a_rehearsal_sends_every_trial_to_its_own_server_and_leaves_nothing_behind() {
        let stored = remote();
        let (session, rehearsing) = begin(stored.ready(), conditions(), false).unwrap();
        let folder = session.store_path().parent().unwrap().to_owned();
        let summary = work(session);
        let (rehearsal, card) = rehearsing.end(&summary).unwrap();
        assert_eq!((rehearsal.experiment.as_str(), rehearsal.trials, rehearsal.requests), ("test", 32, 32));
        assert_eq!((rehearsal.status, card.targets.len()), ("complete", 2));
        assert_eq!(rehearsal.providers[0].server.requests, 32);
        assert!(!folder.exists() && !stored.path().exists());
    }

    #[test]
    fn what_runs_offline_needs_no_rehearsal() {
        let error = begin(Stored::empty("").ready(), conditions(), true).err().unwrap().to_string();
        assert!(error.starts_with("no target of the experiment is reached over the network"), "{error}");
    }
}
