//! Signals to a program under test, sent by the system itself: a slim machine has no `kill` command.

use std::process::Child;

use rustix::process::{Pid, kill_process};

pub use rustix::process::Signal;

/// Sends `signal` to `child`, which has not been waited for.
pub fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("a child that was not waited for can be signalled");
}
