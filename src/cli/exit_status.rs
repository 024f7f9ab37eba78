//! How the process ends.

use std::process::ExitCode;

use crate::domain::RunStatus;

/// How the process ends. `main` alone turns this into a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// The command did what was asked, and every gate holds.
    Success = 0,
    /// A gate fails.
    GateFailed = 1,
    /// Arguments, configuration or golden set are wrong; no request was sent.
    UsageError = 2,
    /// Trials are pending or failed; `caseload resume` continues.
    Incomplete = 3,
    /// Stopped by the budget; `caseload resume` continues.
    Budget = 4,
    /// The evidence does not decide a gate.
    CannotTell = 5,
    /// A provider refused a queue or a target; `caseload resume` continues once that is mended.
    Refused = 6,
    /// Interrupted; what was paid is stored, `caseload resume` continues.
    Interrupted = 130,
}

impl ExitStatus {
    /// What a run in this state ends with.
    pub fn of_run(status: RunStatus) -> Self {
        match status {
            RunStatus::Complete => Self::Success,
            RunStatus::Running | RunStatus::Incomplete => Self::Incomplete,
            RunStatus::Budget => Self::Budget,
            RunStatus::Refused => Self::Refused,
            RunStatus::Interrupted => Self::Interrupted,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "every code is below 256")]
        #[expect(clippy::cast_sign_loss, reason = "no code is negative")]
        let code = status as i32 as u8;
        Self::from(code)
    }
}
