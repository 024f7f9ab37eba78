//! Steering a run that another process works on.

use std::path::Path;

use serde::Serialize;

use super::{
    AppError,
    find_run::{find_run, open_to_write, store_flag},
};
use crate::{
    config::Frozen,
    domain::{LiveLimits, PerDimension, ProviderName, QueueControl, RunId, RunStatus, nearest},
    store::{RunDetail, Store},
};

/// The version of the JSON shape.
const SCHEMA_VERSION: u32 = 1;

/// What the queues of a run are asked for now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Steered {
    /// The version of this shape.
    pub schema_version: u32,
    /// The run.
    pub run: RunId,
    /// The queues that were meant.
    pub queues: Vec<SteeredQueue>,
}

/// What one queue is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SteeredQueue {
    /// Its account.
    pub provider: ProviderName,
    /// Whether it starts nothing new.
    pub paused: bool,
    /// Limits in the place of the experiment's.
    pub limits: SteeredLimits,
}

/// Limits that a queue is to keep to; `None` leaves one as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SteeredLimits {
    /// The most requests on the wire at once.
    pub max_in_flight: Option<u32>,
    /// Requests a minute.
    pub requests_per_minute: Option<u64>,
    /// Input tokens a minute.
    pub input_tokens_per_minute: Option<u64>,
    /// Output tokens a minute.
    pub output_tokens_per_minute: Option<u64>,
}

impl SteeredQueue {
    fn new((provider, control): (ProviderName, QueueControl)) -> Self {
        let LiveLimits { max_in_flight, per_minute } = control.limits;
        let limits = SteeredLimits {
            max_in_flight,
            requests_per_minute: per_minute.requests,
            input_tokens_per_minute: per_minute.input,
            output_tokens_per_minute: per_minute.output,
        };
        Self { provider, paused: control.paused, limits }
    }

    /// The same as the queue takes it.
    pub fn control(&self) -> QueueControl {
        let SteeredLimits {
            max_in_flight,
            requests_per_minute: requests,
            input_tokens_per_minute: input,
            output_tokens_per_minute: output,
        } = self.limits;
        let per_minute = PerDimension { requests, input, output };
        QueueControl { paused: self.paused, limits: LiveLimits { max_in_flight, per_minute } }
    }
}

/// Changes what the queues of a running run are asked for: those of `providers`, or all where none is
/// named. The process that works on it takes it in within half a second.
///
/// # Errors
/// There is no such run or provider, nobody works on the run, or the store cannot be written.
pub fn steer(
    path: &Path,
    run: &str,
    providers: &[String],
    change: impl Fn(QueueControl) -> QueueControl,
) -> Result<Steered, AppError> {
    let mut store = open_to_write(path)?;
    let detail = meant(&store, run)?;
    check_is_running(&store, &detail)?;
    let providers = chosen(&detail, providers)?;
    let controls = store.steer(detail.row.id, &providers, change)?;
    let queues = controls.into_iter().map(SteeredQueue::new);
    Ok(Steered { schema_version: SCHEMA_VERSION, run: detail.row.name, queues: queues.collect() })
}

/// The run that `text` means. The latest one to steer is the latest that runs, whatever it is for.
fn meant(store: &Store, text: &str) -> Result<RunDetail, AppError> {
    if text == "latest" {
        for run in store.list_runs()? {
            if run.status == RunStatus::Running && store.is_worked_on(run.id)? {
                return Ok(store.run_detail(run.id)?);
            }
        }
    }
    find_run(store, text)
}

fn check_is_running(store: &Store, detail: &RunDetail) -> Result<(), AppError> {
    if store.is_worked_on(detail.row.id)? {
        return Ok(());
    }
    let (name, flag) = (&detail.row.name, store_flag(store.path()));
    Err(AppError::hinted(
        format!("run `{name}` is not running: there is nothing to steer"),
        format!("`caseload runs{flag}` lists the runs; `caseload resume {name}{flag}` goes on with this one"),
    ))
}

/// The run's queues that are meant: those named, else all.
fn chosen(detail: &RunDetail, named: &[String]) -> Result<Vec<ProviderName>, AppError> {
    let frozen = Frozen::of_stored(&detail.config).map_err(|error| {
        AppError::usage(format!("the settings of run `{}` cannot be read: {error}", detail.row.name))
    })?;
    let all: Vec<ProviderName> =
        frozen.settings.providers.into_iter().map(|provider| provider.name).collect();
    for name in named {
        if !all.iter().any(|known| known.as_str() == name) {
            let known: Vec<&str> = all.iter().map(ProviderName::as_str).collect();
            let message =
                format!("run `{}` has no provider `{name}`; it has {}", detail.row.name, known.join(", "));
            let hint = nearest(name, known).map(|near| format!("did you mean `{near}`?"));
            return Err(AppError::Usage { message, hint });
        }
    }
    let is_meant =
        |provider: &ProviderName| named.is_empty() || named.iter().any(|name| name == provider.as_str());
    Ok(all.into_iter().filter(is_meant).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{run, testing::Stored};

    fn pause(control: QueueControl) -> QueueControl {
        QueueControl { paused: true, ..control }
    }

    #[test]
    fn a_running_run_is_steered_queue_by_queue() {
        let stored = Stored::empty("");
        let session = run::begin(stored.ready()).unwrap();
        let steered = steer(&stored.path(), "latest", &[], pause).unwrap();
        assert_eq!(steered.run, *session.name());
        assert_eq!(steered.queues.len(), 1);
        assert!(steered.queues[0].paused);
        let named = ["simulater".to_owned()];
        let error = steer(&stored.path(), "latest", &named, pause).unwrap_err().to_string();
        assert!(error.ends_with("it has simulator\n  hint: did you mean `simulator`?"), "{error}");
    }

    #[test]
    fn a_run_on_which_nobody_works_is_not_steered() {
        let error = steer(&Stored::new().path(), "latest", &[], pause).unwrap_err().to_string();
        assert!(error.starts_with("run `test-1` is not running: there is nothing to steer"), "{error}");
    }
}
