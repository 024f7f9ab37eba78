//! Between the runner and a program: whatever becomes of the runner, nothing is left behind.
//!
//! The runner starts this program itself as a supervisor, which starts the other program in a process
//! group of its own. The supervisor's standard input is the runner's hold on it: when it ends (the
//! runner is done, gave the trial up, was interrupted or was killed), the whole group is ended. When
//! the program ends by itself, whatever it started goes with it. A process that leaves the group on
//! purpose (`setsid`) is out of reach.

use std::{
    ffi::OsString,
    io::{self, BufRead, BufReader, Write},
    process::{ChildStdin, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use super::settings::{ExecMode, ExecSettings};

/// The hidden command by which this program becomes a supervisor.
pub const COMMAND: &str = "__supervise";

/// How long a program may take to end by itself once its input has ended.
const GRACE: Duration = Duration::from_millis(1_000);

/// How often the memory is looked at.
const MEMORY_EVERY: Duration = Duration::from_millis(50);

/// Stands before the supervisor's own word on the standard error.
const MARK: &str = "\u{1}caseload supervisor: ";

/// The exit code when the program could not be started.
const CANNOT_START: u8 = 127;

/// What a supervisor was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orders {
    /// How its input comes: in one piece of known length, or as long as it lasts.
    pub mode: ExecMode,
    /// The most resident memory of the program, in MiB.
    pub max_memory_mb: Option<u64>,
    /// The program and its arguments.
    pub command: Vec<OsString>,
}

/// How a program ended, where its exit code does not say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It was ended by a signal.
    Signal(i32),
    /// It needed more memory than it may have.
    Memory(u64),
    /// It could not be started.
    NotStarted(String),
}

impl Ending {
    /// The supervisor's word at the end of a standard error, apart from the program's own.
    pub(super) fn split_from(stderr: &str) -> (&str, Option<Self>) {
        let Some(at) = stderr.rfind(MARK) else { return (stderr, None) };
        let word = stderr[at + MARK.len()..].trim_end();
        let ending = match word.split_once(' ') {
            Some(("signal", number)) => number.parse().ok().map(Self::Signal),
            Some(("memory", megabytes)) => megabytes.parse().ok().map(Self::Memory),
            Some(("start", why)) => Some(Self::NotStarted(why.to_owned())),
            _ => None,
        };
        (&stderr[..at], ending)
    }

    fn word(&self) -> String {
        match self {
            Self::Signal(number) => format!("{MARK}signal {number}\n"),
            Self::Memory(megabytes) => format!("{MARK}memory {megabytes}\n"),
            Self::NotStarted(why) => format!("{MARK}start {why}\n"),
        }
    }
}

/// What the runner puts before the program's own command.
pub(super) fn arguments(settings: &ExecSettings) -> Vec<OsString> {
    let mode = match settings.mode {
        ExecMode::PerTrial => "once",
        ExecMode::Persistent => "lines",
    };
    let memory = settings.max_memory_mb.map_or_else(|| "-".to_owned(), |megabytes| megabytes.to_string());
    vec![COMMAND.into(), mode.into(), memory.into()]
}

impl Orders {
    /// Reads what stands after [`COMMAND`]; `None` when this is no order of a runner.
    pub fn read(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let mode = match arguments.next()?.to_str()? {
            "once" => ExecMode::PerTrial,
            "lines" => ExecMode::Persistent,
            _ => return None,
        };
        let memory = arguments.next()?;
        let max_memory_mb = match memory.to_str()? {
            "-" => None,
            number => Some(number.parse().ok()?),
        };
        let command: Vec<OsString> = arguments.collect();
        (!command.is_empty()).then_some(Self { mode, max_memory_mb, command })
    }
}

/// Runs the program to its end, or to the end of the standard input; gives the exit code.
pub fn supervise(orders: &Orders) -> u8 {
    // The payload is taken in whole before the program runs, so that the runner never waits for it.
    let mut input = BufReader::new(io::stdin());
    let payload = match orders.mode {
        ExecMode::PerTrial => match read_payload(&mut input) {
            Ok(payload) => payload,
            // The runner is gone already.
            Err(_) => return 0,
        },
        ExecMode::Persistent => vec![],
    };
    let mut command = Command::new(&orders.command[0]);
    command.args(&orders.command[1..]).stdin(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return tell(&Ending::NotStarted(error.to_string()), CANNOT_START),
    };
    let stdin = child.stdin.take().expect("its input is piped");
    let group = Group { id: child.id(), is_over: Arc::default() };
    let over_memory = Arc::new(AtomicBool::new(false));
    watch_input(orders.mode, input, payload, stdin, group.clone());
    if let Some(limit) = orders.max_memory_mb {
        watch_memory(limit, group.clone(), Arc::clone(&over_memory));
    }
    group.wait_for_leader();
    let status = group.end_with(|| child.wait());
    match (status, orders.max_memory_mb) {
        (_, Some(limit)) if over_memory.load(Ordering::SeqCst) => tell(&Ending::Memory(limit), 1),
        (Ok(status), _) => exit_code(status),
        (Err(_), _) => 1,
    }
}

/// `LENGTH\n`, and so many bytes.
fn read_payload(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut head = String::new();
    input.read_line(&mut head)?;
    let length: usize = head.trim().parse().map_err(|_| io::ErrorKind::InvalidData)?;
    let mut payload = vec![0; length];
    input.read_exact(&mut payload)?;
    Ok(payload)
}

/// Hands the input over, and ends the group when the runner lets go.
fn watch_input(
    mode: ExecMode,
    mut input: BufReader<io::Stdin>,
    payload: Vec<u8>,
    mut stdin: ChildStdin,
    group: Group,
) {
    thread::spawn(move || match mode {
        ExecMode::PerTrial => {
            // A program that does not read all of its input is free not to.
            thread::spawn(move || stdin.write_all(&payload));
            let _ = io::copy(&mut input, &mut io::sink());
            group.kill();
        }
        ExecMode::Persistent => {
            pass_on(&mut input, &mut stdin);
            drop(stdin);
            thread::sleep(GRACE);
            group.kill();
        }
    });
}

/// Copies as it comes. Where the program no longer reads, the rest is read all the same: the end of
/// the input is what matters.
fn pass_on(input: &mut BufReader<io::Stdin>, stdin: &mut ChildStdin) {
    let mut is_read = true;
    loop {
        let Ok(bytes) = input.fill_buf() else { return };
        let length = bytes.len();
        if length == 0 {
            return;
        }
        is_read = is_read && stdin.write_all(bytes).is_ok();
        input.consume(length);
    }
}

fn watch_memory(limit_mb: u64, group: Group, over: Arc<AtomicBool>) {
    thread::spawn(move || {
        while let Some(resident_mb) = resident_mb(group.id) {
            if resident_mb > limit_mb {
                over.store(true, Ordering::SeqCst);
                group.kill();
                return;
            }
            thread::sleep(MEMORY_EVERY);
        }
    });
}

/// The resident memory of a process, as Linux tells it; `None` where it does not or no longer.
fn resident_mb(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes / 1024)
}

/// The program's process group. Its number may be given to others once it is over.
#[derive(Clone)]
struct Group {
    id: u32,
    is_over: Arc<Mutex<bool>>,
}

impl Group {
    fn kill(&self) {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_over {
            self.signal();
        }
    }

    /// Ends what the leader left behind and collects it: from then on the number is free.
    fn end_with<T>(&self, collect: impl FnOnce() -> T) -> T {
        let mut is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        self.signal();
        *is_over = true;
        collect()
    }

    #[cfg(unix)]
    fn signal(&self) {
        if let Some(id) = self.pid() {
            // A group that is gone already needs no signal.
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
    }

    #[cfg(unix)]
    fn pid(&self) -> Option<rustix::process::Pid> {
        rustix::process::Pid::from_raw(i32::try_from(self.id).ok()?)
    }

    /// Waits for the leader's end without collecting it, so that its number stays its own.
    #[cfg(unix)]
    fn wait_for_leader(&self) {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let Some(id) = self.pid() else { return };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(id), options), Err(rustix::io::Errno::INTR)) {}
    }

    #[cfg(not(unix))]
    fn signal(&self) {}

    #[cfg(not(unix))]
    fn wait_for_leader(&self) {}
}

fn exit_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(number) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let code = 128 + (number & 0x7f);
        return tell(&Ending::Signal(number), u8::try_from(code).unwrap_or(u8::MAX));
    }
    status.code().and_then(|code| u8::try_from(code & 0xff).ok()).unwrap_or(1)
}

fn tell(ending: &Ending, code: u8) -> u8 {
    // Nobody may be listening any more.
    let _ = io::stderr().write_all(ending.word().as_bytes());
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_come_back_as_they_were_given() {
        let settings = ExecSettings {
            command: vec!["x".into()],
            shell: false,
            mode: ExecMode::Persistent,
            workers: 1,
            cwd: ".".into(),
            env: vec![],
            exit_codes: Default::default(),
            max_output_bytes: 1,
            max_memory_mb: Some(64),
            timeout_s: 1.0,
        };
        let mut given = arguments(&settings);
        given.extend(["/bin/x".into(), "-a".into()]);
        assert_eq!(given[0], COMMAND);
        let orders = Orders::read(given.into_iter().skip(1)).unwrap();
        assert_eq!((orders.mode, orders.max_memory_mb), (ExecMode::Persistent, Some(64)));
        assert_eq!(orders.command, ["/bin/x", "-a"]);
        assert_eq!(Orders::read(["once".into(), "-".into()].into_iter()), None);
    }

    #[test]
    fn the_supervisors_word_is_told_apart_from_the_programs() {
        for ending in [Ending::Signal(11), Ending::Memory(64), Ending::NotStarted("no such file".into())] {
            let stderr = format!("own words\n{}", ending.word());
            assert_eq!(Ending::split_from(&stderr), ("own words\n", Some(ending)));
        }
        assert_eq!(Ending::split_from("only words"), ("only words", None));
    }
}
