//! Why a command could not do what was asked.

use std::io;

use super::exit_status::ExitStatus;
use crate::{domain::Faults, runner::RunError, store::StoreError};

/// Why a command could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Files or arguments are wrong.
    #[error("{0}")]
    Faults(#[from] Faults),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A run broke off.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Something could not be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Anything else that the user can mend, with the likely fix.
    #[error("{message}{}", hint_line(hint.as_deref()))]
    Usage {
        /// What is wrong.
        message: String,
        /// The likely fix.
        hint: Option<String>,
    },
}

fn hint_line(hint: Option<&str>) -> String {
    hint.map(|hint| format!("\n  hint: {hint}")).unwrap_or_default()
}

impl CliError {
    /// A fault of usage without a hint.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), hint: None }
    }

    /// Whether it only says that nobody reads our output any more.
    pub(super) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// What the process ends with.
    pub(super) fn exit_status(&self) -> ExitStatus {
        match self {
            Self::Run(_) => ExitStatus::Incomplete,
            Self::Faults(_) | Self::Store(_) | Self::Io(_) | Self::Usage { .. } => ExitStatus::UsageError,
        }
    }

    /// The whole message: every fault, or the error and its causes, one a line.
    pub(super) fn message(&self) -> String {
        match self {
            Self::Faults(faults) => {
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
