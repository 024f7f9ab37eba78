//! The signals that ask a session to end.

use crate::app::Shutdown;

/// The signals that ask to end, heard from when they are first listened to.
#[cfg(unix)]
pub(super) struct Signals {
    interrupt: Stream,
    terminate: Stream,
    hang_up: Stream,
}

/// `None` for a signal that is not heard.
#[cfg(unix)]
type Stream = Option<tokio::signal::unix::Signal>;

#[cfg(unix)]
impl Signals {
    /// Listens, within a runtime. A hang-up is heard unless whoever started the program said that it is
    /// to outlive its terminal (`nohup`).
    pub(super) fn listen() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let stream = |kind| signal(kind).ok();
        Self {
            interrupt: stream(SignalKind::interrupt()),
            terminate: stream(SignalKind::terminate()),
            hang_up: if hang_up_is_ignored() { None } else { stream(SignalKind::hangup()) },
        }
    }

    /// Waits for the next one that can mean `wish`. A hang-up never means *now*: of one closed terminal
    /// the kernel and the shell both tell, and after one SIGTERM some supervisors add one.
    pub(super) async fn next(&mut self, wish: Shutdown) {
        let never = &mut None;
        let hang_up = if wish == Shutdown::Now { never } else { &mut self.hang_up };
        tokio::select! {
            () = arrives(&mut self.interrupt) => {}
            () = arrives(&mut self.terminate) => {}
            () = arrives(hang_up) => {}
        }
    }
}

#[cfg(unix)]
async fn arrives(stream: &mut Stream) {
    if let Some(stream) = stream
        && stream.recv().await.is_some()
    {
        return;
    }
    std::future::pending().await
}

/// Whether the program was started with SIGHUP ignored. Listening to it would undo that. Where the system
/// does not tell, it is not.
#[cfg(unix)]
fn hang_up_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (rustix::process::Signal::HUP.as_raw() - 1) & 1 == 1
}

/// Ctrl-C alone, where there is no other.
#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    /// Listens, within a runtime.
    pub(super) fn listen() -> Self {
        Self
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self, _: Shutdown) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
