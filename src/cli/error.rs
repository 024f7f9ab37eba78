//! Why a command could not do what was asked.

use std::io;

use super::exit_status::ExitStatus;
use crate::app::AppError;

/// Why a command could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// What was asked for could not be done.
    #[error(transparent)]
    App(#[from] AppError),
    /// Something could not be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl CliError {
    /// A fault of usage without a hint.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        AppError::usage(message).into()
    }

    /// A fault of usage with the likely fix.
    pub(super) fn hinted(message: impl Into<String>, hint: impl Into<String>) -> Self {
        AppError::hinted(message, hint).into()
    }

    /// Whether it only says that nobody reads our output any more.
    pub(super) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// What the process ends with.
    pub(super) fn exit_status(&self) -> ExitStatus {
        match self {
            Self::App(AppError::Run(_)) => ExitStatus::Incomplete,
            Self::App(_) | Self::Io(_) => ExitStatus::UsageError,
        }
    }

    /// The whole message: every fault, or the error and its causes, one a line.
    pub(super) fn message(&self) -> String {
        match self {
            Self::App(AppError::Faults(faults)) => {
                let count = faults.0.len();
                let lines: Vec<String> = faults.0.iter().map(|fault| format!("error: {fault}")).collect();
                let summary =
                    if count > 1 { format!("\n{count} faults; nothing was sent") } else { String::new() };
                format!("{}{summary}", lines.join("\n"))
            }
            error => {
                let mut text = format!("error: {error}");
                let mut cause = std::error::Error::source(error);
                while let Some(inner) = cause {
                    let inner_text = inner.to_string();
                    if !text.contains(&inner_text) {
                        text.push_str(&format!("\n  because: {inner_text}"));
                    }
                    cause = inner.source();
                }
                text
            }
        }
    }
}
