//! `--events FILE`: what happens in a run, appended to a file as lines of JSON.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{AppError, Listener, Session, event_line::Names};
use crate::domain::{RunEvent, UnixMillis, text::visible_json};

/// How long a line waits at most until it is in the file.
const FLUSH: Duration = Duration::from_secs(1);

/// How many bytes wait at most.
const FULL: usize = 64 * 1024;

/// A file that events are appended to.
#[derive(Clone, Debug)]
pub struct EventFile {
    path: PathBuf,
    file: Arc<File>,
}

/// What the thread that writes is told: when something happened, and what.
type Told = (UnixMillis, RunEvent);

impl EventFile {
    /// Opens the file, or makes it; what it holds stays.
    ///
    /// # Errors
    /// It cannot be written, its folder is not there, or it is `-`: on stdout there is the result.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        if path == Path::new("-") {
            let why = "stdout has the result; name a file, or a pipe such as /dev/stderr";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let mut file = OpenOptions::new().append(true).create(true).open(&path)?;
        if ends_within_a_line(&path)? {
            file.write_all(b"\n")?;
        }
        Ok(Self { path, file: Arc::new(file) })
    }

    /// A listener that appends what happens in the session, until it is dropped: then all is written.
    ///
    /// A file that cannot be written any more stops no run: `failed` is told so, once, and nothing more
    /// is written.
    ///
    /// # Errors
    /// The thread that writes cannot be started.
    pub fn listener(
        &self,
        session: &Session,
        failed: impl FnOnce(&str) + Send + 'static,
    ) -> Result<Listener, AppError> {
        let (sender, events) = mpsc::channel();
        let names = Names::of(session);
        let mut lines = Lines { file: Arc::clone(&self.file), waiting: vec![], due: None };
        let path = self.path.clone();
        let write = move || {
            if let Err(error) = lines.write_all(&names, &events) {
                failed(&format!("{}: {error}; no more events are written", path.display()));
            }
        };
        let thread = thread::Builder::new().name("events".to_owned()).spawn(write);
        let thread = thread.map_err(|error| AppError::usage(format!("events cannot be written: {error}")))?;
        let writing = Writing { events: Some(sender), thread: Some(thread) };
        Ok(Box::new(move |event| writing.tell(event)))
    }
}

/// The way to the thread that writes.
struct Writing {
    events: Option<mpsc::Sender<Told>>,
    thread: Option<JoinHandle<()>>,
}

impl Writing {
    fn tell(&self, event: &RunEvent) {
        if let Some(events) = &self.events {
            // Where the file has failed, nobody listens any more.
            let _ = events.send((UnixMillis::now(), event.clone()));
        }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.events = None;
        if let Some(thread) = self.thread.take() {
            // If it panicked there is nothing left to write.
            let _ = thread.join();
        }
    }
}

/// Lines on their way to the file.
struct Lines {
    file: Arc<File>,
    waiting: Vec<u8>,
    /// When what waits is to be written.
    due: Option<Instant>,
}

impl Lines {
    /// Writes what is told until nobody tells anything any more.
    fn write_all(&mut self, names: &Names, events: &mpsc::Receiver<Told>) -> io::Result<()> {
        loop {
            let told = match self.due {
                Some(due) => events.recv_timeout(due.saturating_duration_since(Instant::now())),
                None => events.recv().map_err(Into::into),
            };
            match told {
                Ok((at, event)) => self.take(names, at, &event)?,
                Err(mpsc::RecvTimeoutError::Timeout) => self.flush()?,
                Err(mpsc::RecvTimeoutError::Disconnected) => return self.flush(),
            }
        }
    }

    fn take(&mut self, names: &Names, at: UnixMillis, event: &RunEvent) -> io::Result<()> {
        let line = serde_json::to_string(&names.line(at, event))?;
        self.waiting.extend_from_slice(visible_json(&line).as_bytes());
        self.waiting.push(b'\n');
        if self.waiting.len() >= FULL || is_urgent(event) {
            return self.flush();
        }
        self.due.get_or_insert_with(|| Instant::now() + FLUSH);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.due = None;
        let written = self.file.write_all(&self.waiting);
        self.waiting.clear();
        written
    }
}

/// Whether it is news of the whole run: rare, and waited for.
fn is_urgent(event: &RunEvent) -> bool {
    matches!(
        event,
        RunEvent::RunStarted { .. }
            | RunEvent::Paused { .. }
            | RunEvent::Steered { .. }
            | RunEvent::Stopped(_)
            | RunEvent::StoreLocked { .. }
            | RunEvent::RunFinished { .. }
    )
}

/// Whether whoever wrote last was cut off: the next line is then to begin anew.
fn ends_within_a_line(path: &Path) -> io::Result<bool> {
    let whole = path.metadata()?;
    if !whole.is_file() || whole.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::Mutex};

    use serde_json::Value;
    use tokio::{runtime::Runtime, sync::watch};

    use super::*;
    use crate::app::{RunSummary, Shutdown, run, testing::Stored};

    /// Works on a session whose events go to the file; what was said of the file.
    fn work(stored: &Stored, path: &Path) -> (RunSummary, Vec<String>) {
        let session = run::begin(stored.ready()).unwrap();
        let said = Arc::new(Mutex::new(vec![]));
        let heard = Arc::clone(&said);
        let failed = move |why: &str| heard.lock().unwrap().push(why.to_owned());
        let listener = EventFile::open(path.to_owned()).unwrap().listener(&session, failed).unwrap();
        let (_stop, shutdown) = watch::channel(Shutdown::No);
        let summary = Runtime::new().unwrap().block_on(session.work(vec![listener], shutdown)).unwrap();
        let said = said.lock().unwrap().clone();
        (summary, said)
    }

    fn events(path: &PathBuf) -> Vec<Value> {
        fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_second_run_is_appended_and_a_line_that_was_cut_off_stands_alone() {
        let stored = Stored::empty("");
        let path = stored.beside("events.jsonl");
        assert_eq!(work(&stored, &path).1, Vec::<String>::new());
        // Started and finished, and of each of 32 trials: queued, sent, ended, graded.
        assert_eq!(events(&path).len(), 2 + 4 * 32);
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{whole}{{\"at\":")).unwrap();
        work(&stored, &path);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(&format!("{whole}{{\"at\":\n{{\"at\":")));
        assert_eq!(text.lines().filter(|line| line.contains("\"run\":\"test-2\"")).count(), 2 + 4 * 32);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_said_once_and_stops_no_run() {
        let stored = Stored::empty("");
        let (summary, said) = work(&stored, Path::new("/dev/full"));
        assert_eq!(summary.ended, 32);
        let [said] = said.as_slice() else { panic!("{said:?}") };
        assert!(said.starts_with("/dev/full: No space left on device"), "{said}");
    }

    #[test]
    fn a_file_that_cannot_be_written_is_told_at_once() {
        let stored = Stored::empty("");
        assert!(EventFile::open(stored.beside("nowhere/events.jsonl")).is_err());
        assert!(EventFile::open("-".into()).unwrap_err().to_string().starts_with("stdout has the result"));
        assert!(!stored.beside("nowhere").exists());
    }
}
