//! One process a trial.

use std::{pin::pin, process::ExitStatus, time::Duration};

use tokio::{io::AsyncWriteExt, process::Child, time::timeout};

use super::{
    failure::failed,
    launch::Launch,
    output::{Tail, TooLarge, last_line, read_all},
    protocol::{self, NoAnswer},
    supervisor::Ending,
};
use crate::{
    domain::{ErrorClass, FailureKind, Reply},
    providers::Rejection,
};

/// What a program writes may be held open by a process that left the group: nobody waits for that one.
const SETTLE_WAIT: Duration = Duration::from_millis(500);

/// Starts the program with `question` on its standard input and reads its answer.
pub(super) async fn ask(launch: &Launch, question: &[u8]) -> Result<Reply, Rejection> {
    let mut child = launch.start()?;
    let stderr = Tail::default();
    let following = tokio::spawn(stderr.clone().follow(child.stderr.take().expect("it is piped")));
    let limit = launch.settings.timeout();
    // The supervisor's input stays open as long as the answer is waited for: when this function is
    // left, however it is left, the supervisor ends the program.
    let mut hold = child.stdin.take().expect("it is piped");
    let output = async {
        let head = format!("{}\n", question.len());
        // A supervisor that could not start the program no longer reads.
        let _ = hold.write_all(&[head.as_bytes(), question].concat()).await;
        let mut output = vec![];
        let status = read_to_its_end(&mut child, launch.settings.max_output_bytes, &mut output).await?;
        Ok((output, status))
    };
    let ended = timeout(limit, output).await;
    if let Ok(Ok(_)) = ended {
        let _ = timeout(SETTLE_WAIT, following).await;
    }
    let (text, ending) = stderr.take();
    match ended {
        Err(_) => Err(timed_out(launch, text)),
        Ok(Err(TooLarge)) => Err(flooded(launch, text)),
        Ok(Ok((output, Some(status)))) if status.success() && ending.is_none() => {
            answered(protocol::whole_output(&output), text)
        }
        Ok(Ok((_, status))) => Err(ended_badly(launch, status, ending, text)),
    }
}

/// Puts what the program writes into `output` until it has ended, and gives its status.
async fn read_to_its_end(
    child: &mut Child,
    limit: usize,
    output: &mut Vec<u8>,
) -> Result<Option<ExitStatus>, TooLarge> {
    let stdout = child.stdout.take().expect("it is piped");
    let mut reading = pin!(read_all(stdout, limit, output));
    tokio::select! {
        biased;
        read = &mut reading => {
            read?;
            Ok(child.wait().await.ok())
        }
        // All that it started and that stayed with it is gone, too: what is still to read is in the pipe.
        status = child.wait() => {
            if let Ok(read) = timeout(SETTLE_WAIT, reading).await {
                read?;
            }
            Ok(status.ok())
        }
    }
}

/// What a program's own words come to.
pub(super) fn answered(read: Result<Reply, NoAnswer>, stderr: Option<String>) -> Result<Reply, Rejection> {
    match read {
        Ok(reply) => Ok(Reply { stderr, ..reply }),
        Err(NoAnswer::Malformed(why)) => Err(failed(ErrorClass::Retry, FailureKind::Malformed, why, stderr)),
        Err(NoAnswer::Declared(why)) => {
            Err(failed(ErrorClass::ThisTrial, FailureKind::Application, why, stderr))
        }
    }
}

pub(super) fn timed_out(launch: &Launch, stderr: Option<String>) -> Rejection {
    let message = format!("no answer within {} s", launch.settings.timeout_s);
    failed(ErrorClass::Retry, FailureKind::Timeout, message, stderr)
}

pub(super) fn flooded(launch: &Launch, stderr: Option<String>) -> Rejection {
    let message = format!("it wrote more than {} bytes", launch.settings.max_output_bytes);
    failed(ErrorClass::Retry, FailureKind::TooLarge, message, stderr)
}

/// What follows from the end of a program that gave no answer.
pub(super) fn ended_badly(
    launch: &Launch,
    status: Option<ExitStatus>,
    ending: Option<Ending>,
    stderr: Option<String>,
) -> Rejection {
    let code = status.and_then(|status| status.code());
    let (class, what) = match ending {
        Some(Ending::NotStarted(why)) => (ErrorClass::StopQueue, format!("it cannot be started: {why}")),
        Some(Ending::Signal(number)) => (ErrorClass::Retry, format!("it was ended by signal {number}")),
        Some(Ending::Memory(megabytes)) => {
            (ErrorClass::Retry, format!("it used more than {megabytes} MB of memory"))
        }
        None => match code {
            Some(0) => (ErrorClass::Retry, "it ended without an answer".to_owned()),
            Some(code) => {
                (launch.settings.exit_codes.class(Some(code)), format!("it ended with exit code {code}"))
            }
            None => (ErrorClass::Retry, "it ended".to_owned()),
        },
    };
    let message = format!("{what}{}", last_line(stderr.as_deref()));
    failed(class, FailureKind::Application, message, stderr)
}

/// The status of a process that has ended or is about to.
pub(super) async fn status_of(child: &mut Child) -> Option<ExitStatus> {
    timeout(SETTLE_WAIT, child.wait()).await.ok()?.ok()
}

/// Waits a moment for a standard error to end.
pub(super) async fn settle(following: tokio::task::JoinHandle<()>) {
    let _ = timeout(SETTLE_WAIT, following).await;
}
