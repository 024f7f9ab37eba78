//! How a program is run, as the configuration says it.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use crate::domain::ErrorClass;

/// How trials come to a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecMode {
    /// One process a trial: the question on its standard input, the answer on its standard output.
    #[default]
    PerTrial,
    /// Long-lived processes that read one question a line and write one answer a line.
    Persistent,
}

/// What a program's exit code means. A code that is not named, and a signal, is passing trouble: the
/// trial is asked again, as often as the retry policy allows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExitCodes {
    /// Passing trouble: ask again.
    pub retry: Vec<i32>,
    /// This trial has failed; its neighbours go on.
    pub trial: Vec<i32>,
    /// Every trial would fail alike: the queue stops.
    pub stop: Vec<i32>,
}

impl ExitCodes {
    /// What follows from a code.
    pub(super) fn class(&self, code: Option<i32>) -> ErrorClass {
        match code {
            Some(code) if self.stop.contains(&code) => ErrorClass::StopQueue,
            Some(code) if self.trial.contains(&code) => ErrorClass::ThisTrial,
            _ => ErrorClass::Retry,
        }
    }
}

/// How a program is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecSettings {
    /// The program and its arguments; with `shell`, one text for the shell.
    pub command: Vec<String>,
    /// Whether a shell reads the command.
    pub shell: bool,
    /// How trials come to it.
    pub mode: ExecMode,
    /// Processes at once.
    pub workers: u32,
    /// Its working folder.
    pub cwd: PathBuf,
    /// The only environment variables that it sees.
    pub env: Vec<String>,
    /// What its exit codes mean.
    pub exit_codes: ExitCodes,
    /// The longest answer, in bytes.
    pub max_output_bytes: usize,
    /// The most resident memory of one process, in megabytes of 2²⁰ bytes (Linux only).
    pub max_memory_mb: Option<u64>,
    /// The longest time for one answer, in seconds.
    pub timeout_s: f64,
}

impl ExecSettings {
    pub(super) fn timeout(&self) -> Duration {
        Duration::from_secs_f64(self.timeout_s)
    }
}
