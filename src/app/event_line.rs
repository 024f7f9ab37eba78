//! The lines of `--events`: what happens in a run, in words that need no store to be read.
//!
//! Nobody's own words are in them, neither a prompt nor an answer nor a provider's message (which may
//! quote either): those are in the store, under the trial that a line names.

use std::{sync::Arc, time::Duration};

use serde::Serialize;

use super::Session;
use crate::domain::{
    Case, Cost, ErrorClass, Failure, FailureKind, Purpose, QueueControl, RunEvent, RunId, RunStatus,
    StopReason, TargetName, TrialEnd, UnixMillis, Verdict,
};

/// The version of the JSON shape.
const SCHEMA_VERSION: u32 = 1;

/// The names behind a run's positions.
#[derive(Clone, Debug)]
pub struct Names {
    run: RunId,
    targets: Vec<TargetName>,
    cases: Vec<Arc<Case>>,
}

impl Names {
    /// Those of the session's run.
    pub fn of(session: &Session) -> Self {
        let experiment = &session.experiment;
        Self {
            run: session.name().clone(),
            targets: experiment.targets.iter().map(|target| target.name.clone()).collect(),
            cases: experiment.cases.iter().map(|planned| Arc::clone(&planned.case)).collect(),
        }
    }

    /// An event that happened `at` then, as a line tells it.
    pub fn line<'a>(&'a self, at: UnixMillis, event: &'a RunEvent) -> EventLine<'a> {
        EventLine { at: at.to_string(), run: self.run.as_str(), what: self.what(at, event) }
    }

    fn what<'a>(&'a self, at: UnixMillis, event: &'a RunEvent) -> What<'a> {
        let named = |call: &Purpose| self.call(*call);
        match event {
            RunEvent::RunStarted { experiment, planned, to_do } => What::RunStarted {
                schema_version: SCHEMA_VERSION,
                experiment,
                planned: *planned,
                to_do: *to_do,
            },
            RunEvent::Queued { provider, call } => {
                What::Queued { provider: provider.as_str(), call: named(call) }
            }
            RunEvent::Sent { provider, call, attempt } => {
                What::Sent { provider: provider.as_str(), call: named(call), attempt: *attempt }
            }
            RunEvent::AttemptFailed { provider, call, attempt, failure, retry_in } => What::AttemptFailed {
                provider: provider.as_str(),
                call: named(call),
                attempt: *attempt,
                class: failure.class,
                kind: failure.kind,
                http_status: failure.status,
                may_be_billed: failure.may_be_billed,
                retry_in_ms: retry_in.map(millis),
            },
            RunEvent::Paused { provider, wait } => What::Paused {
                provider: provider.as_str(),
                wait_ms: millis(*wait),
                until: after(at, *wait).to_string(),
            },
            RunEvent::Steered { provider, control } => What::steered(provider.as_str(), control),
            RunEvent::Ended { provider, call, end } => {
                What::Ended { provider: provider.as_str(), call: named(call), end }
            }
            RunEvent::Returned { provider, call } => {
                What::Returned { provider: provider.as_str(), call: named(call) }
            }
            RunEvent::Graded { call, verdict } => What::Graded { call: named(call), verdict: *verdict },
            RunEvent::Stopped(reason) => What::Stopped(Stop::of(reason)),
            RunEvent::StoreLocked { answers, patience } => {
                What::StoreLocked { answers: *answers, patience_ms: millis(*patience) }
            }
            RunEvent::RunFinished { status, ended, failed, pending, wall } => What::RunFinished {
                status: *status,
                ended: *ended,
                failed: *failed,
                pending: *pending,
                wall_ms: millis(*wall),
            },
        }
    }

    fn call(&self, purpose: Purpose) -> CallName<'_> {
        let Purpose::Trial(key) = purpose;
        CallName::Trial {
            target: self.targets[key.target.index()].as_str(),
            case: self.cases[key.case.index()].id.as_str(),
            repeat: key.repeat.0,
        }
    }
}

/// One line: what happened, in which run, and when.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventLine<'a> {
    at: String,
    run: &'a str,
    #[serde(flatten)]
    what: What<'a>,
}

/// A call by the names that its experiment gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "purpose", rename_all = "snake_case")]
enum CallName<'a> {
    Trial { target: &'a str, case: &'a str, repeat: u32 },
}

/// What happened: one variant an event, and the fields that belong to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum What<'a> {
    RunStarted {
        schema_version: u32,
        experiment: &'a str,
        planned: u64,
        to_do: u64,
    },
    Queued {
        provider: &'a str,
        #[serde(flatten)]
        call: CallName<'a>,
    },
    Sent {
        provider: &'a str,
        #[serde(flatten)]
        call: CallName<'a>,
        attempt: u32,
    },
    AttemptFailed {
        provider: &'a str,
        #[serde(flatten)]
        call: CallName<'a>,
        attempt: u32,
        class: ErrorClass,
        kind: FailureKind,
        http_status: Option<u16>,
        may_be_billed: bool,
        retry_in_ms: Option<u64>,
    },
    Paused {
        provider: &'a str,
        wait_ms: u64,
        until: String,
    },
    Steered {
        provider: &'a str,
        paused: bool,
        max_in_flight: Option<u32>,
        requests_per_minute: Option<u64>,
        input_tokens_per_minute: Option<u64>,
        output_tokens_per_minute: Option<u64>,
    },
    Ended {
        provider: &'a str,
        #[serde(flatten)]
        call: CallName<'a>,
        #[serde(flatten)]
        end: &'a TrialEnd,
    },
    Returned {
        provider: &'a str,
        #[serde(flatten)]
        call: CallName<'a>,
    },
    Graded {
        #[serde(flatten)]
        call: CallName<'a>,
        verdict: Verdict,
    },
    Stopped(Stop<'a>),
    StoreLocked {
        answers: u64,
        patience_ms: u64,
    },
    RunFinished {
        status: RunStatus,
        ended: u64,
        failed: u64,
        pending: u64,
        wall_ms: u64,
    },
}

impl<'a> What<'a> {
    fn steered(provider: &'a str, control: &QueueControl) -> Self {
        let per_minute = control.limits.per_minute;
        Self::Steered {
            provider,
            paused: control.paused,
            max_in_flight: control.limits.max_in_flight,
            requests_per_minute: per_minute.requests,
            input_tokens_per_minute: per_minute.input,
            output_tokens_per_minute: per_minute.output,
        }
    }
}

/// What stopped and why; what does not belong to the reason is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct Stop<'a> {
    reason: &'static str,
    provider: Option<&'a str>,
    target: Option<&'a str>,
    kind: Option<FailureKind>,
    http_status: Option<u16>,
    until: Option<String>,
    spent_usd: Option<Cost>,
    limit_usd: Option<Cost>,
    summary: Option<&'a str>,
}

impl<'a> Stop<'a> {
    fn of(reason: &'a StopReason) -> Self {
        let of_provider = |provider, reason| Self { reason, provider: Some(provider), ..Self::default() };
        let of_target = |target, reason| Self { reason, target: Some(target), ..Self::default() };
        match reason {
            StopReason::QueueRefused { provider, failure } => {
                of_provider(provider.as_str(), "queue_refused").after(failure)
            }
            StopReason::TargetRefused { target, failure } => {
                of_target(target.as_str(), "target_refused").after(failure)
            }
            StopReason::Breaker { provider, failure, .. } => {
                of_provider(provider.as_str(), "breaker").after(failure)
            }
            StopReason::WaitTooLong { provider, until, .. } => {
                Self { until: Some(until.to_string()), ..of_provider(provider.as_str(), "wait_too_long") }
            }
            StopReason::Budget { spent, limit } => {
                Self { reason: "budget", spent_usd: Some(*spent), limit_usd: Some(*limit), ..Self::default() }
            }
            StopReason::Unbounded { target } => of_target(target.as_str(), "unbounded"),
            StopReason::Decided { summary } => {
                Self { reason: "decided", summary: Some(summary), ..Self::default() }
            }
            StopReason::Interrupted => Self { reason: "interrupted", ..Self::default() },
        }
    }

    fn after(self, failure: &Failure) -> Self {
        Self { kind: Some(failure.kind), http_status: failure.status, ..self }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn after(at: UnixMillis, wait: Duration) -> UnixMillis {
    UnixMillis(at.0.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests;
