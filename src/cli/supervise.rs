//! Not a command for people: this program as the supervisor of a program under test.

use std::{env, process::ExitCode};

use crate::app::supervisor::{COMMAND, Orders, supervise};

/// Supervises, when a runner started this program for that.
///
/// Before the command line is read: what follows is another program's, and a trial waits for it.
pub(super) fn if_asked_to() -> Option<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    if arguments.next()? != COMMAND {
        return None;
    }
    let orders = Orders::read(arguments)?;
    Some(ExitCode::from(supervise(&orders)))
}
