//! The example application of `config/app.toml`, at hand in the same binary: `examples/help-desk-bot`.

#[path = "../../examples/help-desk-bot/bot.rs"]
mod bot;

use std::{env, process::ExitCode};

/// Answers questions, when a runner started this program for that.
pub(super) fn if_asked_to() -> Option<ExitCode> {
    let mut arguments = env::args().skip(1);
    (arguments.next()? == "help-desk-bot").then(|| bot::main(arguments))
}
