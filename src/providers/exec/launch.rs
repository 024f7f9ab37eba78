//! From settings to a supervised process.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use secrecy::SecretString;
use tokio::process::{Child, Command};

use super::{settings::ExecSettings, supervisor};
use crate::{
    domain::{ErrorClass, Failure, FailureKind},
    providers::{Rejection, Secrets, tells_of_a_secret},
};

/// A program made ready to be started.
pub(super) struct Launch {
    pub(super) settings: ExecSettings,
    /// This program, which supervises the other.
    own_program: PathBuf,
    arguments: Vec<OsString>,
    cwd: PathBuf,
    pub(super) secrets: Secrets,
}

impl std::fmt::Debug for Launch {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Launch({:?})", self.settings.command)
    }
}

impl Launch {
    pub(super) fn new(settings: ExecSettings) -> Result<Self, String> {
        let program = find_program(&settings)?;
        let cwd = absolute(&settings.cwd)?;
        if !cwd.is_dir() {
            return Err(format!("the working folder `{}` does not exist", settings.cwd.display()));
        }
        let own_program = env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
        let mut arguments = supervisor::arguments(&settings);
        arguments.push(program.into());
        if settings.shell {
            arguments.push("-c".into());
            arguments.extend(settings.command.iter().map(OsString::from));
        } else {
            arguments.extend(settings.command.iter().skip(1).map(OsString::from));
        }
        let secret = |name: &String| Some(SecretString::from(env::var(name).ok()?));
        let secrets = settings.env.iter().filter(|name| tells_of_a_secret(name)).filter_map(secret);
        Ok(Self { own_program, arguments, cwd, secrets: Secrets::new(secrets), settings })
    }

    /// Starts the program below its supervisor, in a process group of their own: a Ctrl-C at the
    /// terminal reaches the runner alone, which then lets them finish.
    pub(super) fn start(&self) -> Result<Child, Rejection> {
        let mut command = Command::new(&self.own_program);
        command
            .args(&self.arguments)
            .current_dir(&self.cwd)
            .env_clear()
            .envs(self.settings.env.iter().filter_map(|name| Some((name, env::var_os(name)?))))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        command.process_group(0);
        command.spawn().map_err(|error| {
            let message = format!("`{}` cannot be started: {error}", self.settings.command[0]);
            Rejection::from(Failure::new(ErrorClass::StopQueue, FailureKind::Application, message))
        })
    }
}

/// Where the program of a command stands: a path as it is, a bare name beside this program first and
/// then on `PATH`; with a shell, the shell.
///
/// # Errors
/// There is none, or it cannot be executed.
pub fn find_program(settings: &ExecSettings) -> Result<PathBuf, String> {
    let first = settings.command.first().map(String::as_str).unwrap_or_default();
    let name = if settings.shell { "sh" } else { first };
    if name.is_empty() {
        return Err("`command` names no program".to_owned());
    }
    if Path::new(name).components().count() > 1 {
        let path = absolute(Path::new(name))?;
        return runnable(&path).map(|()| path);
    }
    let beside = env::current_exe().ok().and_then(|own| Some(own.parent()?.to_owned()));
    let on_path = env::var_os("PATH").unwrap_or_default();
    let folders = beside.into_iter().chain(env::split_paths(&on_path));
    let mut refused = None;
    for folder in folders {
        let path = folder.join(format!("{name}{}", env::consts::EXE_SUFFIX));
        match runnable(&path) {
            Ok(()) => return absolute(&path),
            Err(why) if path.is_file() => refused = refused.or(Some(why)),
            Err(_) => {}
        }
    }
    Err(refused.unwrap_or_else(|| format!("there is no program `{name}` beside caseload or on PATH")))
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("`{}`: {error}", path.display()))
}

fn runnable(path: &Path) -> Result<(), String> {
    let metadata = fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("the program `{}` does not exist", path.display()),
        _ => format!("the program `{}`: {error}", path.display()),
    })?;
    if !metadata.is_file() {
        return Err(format!("`{}` is not a program", path.display()));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if metadata.permissions().mode() & 0o111 == 0 {
            return Err(format!("the program `{}` is not executable (try `chmod +x`)", path.display()));
        }
    }
    Ok(())
}
