//! The sections of applications of one's own: programs and HTTP endpoints.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, is_separator},
};

use secrecy::SecretString;
use serde_json::Value;

use super::{
    literal_secrets,
    reading::Reading,
    settings::ProviderSettings,
    written::{WrittenCommand, WrittenHeader, WrittenProvider},
};
use crate::{
    domain::Fault,
    providers::{
        BodyTemplate, Exec, ExecMode, ExecSettings, HttpApp, HttpAppSettings, HttpSettings, Kind, Provider,
        exec::find_program, openai, tells_of_a_secret,
    },
    queue::{QueueSettings, RetryPolicy},
};

/// What a program sees of the environment where the experiment does not say.
const DEFAULT_ENV: [&str; 5] = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"];

/// The longest answer of a program where the experiment does not say.
const MAX_OUTPUT_KB: u32 = 4 * 1024;

/// The longest time for a program's answer where the experiment does not say, in seconds.
const EXEC_TIMEOUT_S: f64 = 60.0;

/// A program's own limit comes first, so that its standard error is kept with the attempt.
const QUEUE_PATIENCE_S: f64 = 5.0;

/// What a section says of an application; at most one of them.
#[derive(Debug, Default)]
pub(super) struct Application {
    pub(super) exec: Option<ExecSettings>,
    pub(super) http: Option<HttpAppSettings>,
}

impl Reading<'_> {
    /// The application of a section, and what it means for the section's queue.
    pub(super) fn application(
        &mut self,
        place: &str,
        written: &WrittenProvider,
        kind: Kind,
        queue: &mut QueueSettings,
    ) -> Application {
        self.keys_of_others(place, written, kind);
        Application {
            exec: kind.is_program().then(|| self.exec(place, written, queue)),
            http: kind.is_endpoint().then(|| self.http_app(place, written)),
        }
    }

    /// Keys that belong to another kind of provider than the section's.
    fn keys_of_others(&mut self, place: &str, written: &WrittenProvider, kind: Kind) {
        let exec = [
            ("command", written.command.is_some()),
            ("shell", written.shell.is_some()),
            ("mode", written.mode.is_some()),
            ("workers", written.workers.is_some()),
            ("trials_per_worker", written.trials_per_worker.is_some()),
            ("cwd", written.cwd.is_some()),
            ("env", written.env.is_some()),
            ("exit_codes", written.exit_codes.is_some()),
            ("max_output_kb", written.max_output_kb.is_some()),
            ("max_memory_mb", written.max_memory_mb.is_some()),
        ];
        let http = [
            ("url", written.url.is_some()),
            ("method", written.method.is_some()),
            ("headers", written.headers.is_some()),
            ("body", written.body.is_some()),
            ("answer", written.answer.is_some()),
        ];
        let models = [
            ("base_url", written.base_url.is_some()),
            ("api_key_env", written.api_key_env.is_some()),
            ("max_tokens_field", written.max_tokens_field.is_some()),
        ];
        let foreign = |keys: &[(&'static str, bool)]| -> Vec<&'static str> {
            keys.iter().filter(|(_, given)| *given).map(|(key, _)| *key).collect()
        };
        let mut told = vec![];
        if !kind.is_program() {
            told.extend(foreign(&exec).into_iter().map(|key| (key, "exec")));
        }
        if !kind.is_endpoint() {
            told.extend(foreign(&http).into_iter().map(|key| (key, "http")));
        }
        if kind.is_application() {
            told.extend(foreign(&models).into_iter().map(|key| (key, openai::FACTS.name)));
        }
        for (key, owner) in told {
            let message = format!("`{key}` belongs to `kind = \"{owner}\"`, and this is `{kind}`");
            self.fault(&format!("{place}.{key}"), message);
        }
    }

    fn exec(&mut self, place: &str, written: &WrittenProvider, queue: &mut QueueSettings) -> ExecSettings {
        let mode = written.mode.unwrap_or_default();
        let workers = self.at_least_one(place, "workers", written.workers, default_workers());
        let each = self.at_least_one(place, "trials_per_worker", written.trials_per_worker, 1);
        if each > 1 && mode == ExecMode::PerTrial {
            let place = format!("{place}.trials_per_worker");
            self.fault(&place, "one process a trial has one trial; expected `mode = \"persistent\"`");
        }
        // A trial beyond that would only wait inside the provider, as if the program were slow.
        let most = workers.saturating_mul(each);
        let asked = written.limits.as_ref().map_or(most, |limits| limits.max_in_flight);
        queue.limits.max_in_flight = asked.min(most);
        if written.retry.is_none() {
            queue.retry =
                RetryPolicy { max_retries: 2, base_delay_ms: 100, max_delay_ms: 2_000, ..queue.retry };
        }
        if written.timeouts.attempt_s.is_none() {
            queue.attempt_timeout_s = EXEC_TIMEOUT_S;
        }
        let shell = written.shell.unwrap_or(false);
        let command = self.command(place, written.command.as_ref(), shell);
        if let Some(word) = literal_secrets::in_command(&command, shell) {
            self.hinted(
                &format!("{place}.command"),
                format!("a secret ({word}) would be stored with every run"),
                "let the program read it: `env = [\"PATH\", \"MY_KEY\"]` and set that variable",
            );
        }
        let output_kb = self.at_least_one(place, "max_output_kb", written.max_output_kb, MAX_OUTPUT_KB);
        ExecSettings {
            command,
            shell,
            mode,
            workers,
            cwd: self.beside(written.cwd.as_deref().unwrap_or_else(|| Path::new("."))),
            env: written.env.clone().unwrap_or_else(|| DEFAULT_ENV.map(str::to_owned).into()),
            exit_codes: written.exit_codes.clone().unwrap_or_default(),
            max_output_bytes: output_kb as usize * 1024,
            max_memory_mb: written.max_memory_mb,
            timeout_s: queue.attempt_timeout_s,
        }
    }

    fn at_least_one(&mut self, place: &str, key: &str, written: Option<u32>, default: u32) -> u32 {
        if written == Some(0) {
            self.fault(&format!("{place}.{key}"), "found 0, expected at least 1");
        }
        written.unwrap_or(default).max(1)
    }

    fn command(&mut self, place: &str, written: Option<&WrittenCommand>, shell: bool) -> Vec<String> {
        let path = format!("{place}.command");
        match (written, shell) {
            (None, _) => {
                self.hinted(
                    place,
                    "no `command` is named",
                    "add a line such as `command = [\"my-bot\", \"--json\"]`",
                );
                vec![]
            }
            (Some(WrittenCommand::Shell(text)), true) => vec![text.clone()],
            (Some(WrittenCommand::Shell(_)), false) => {
                self.hinted(
                    &path,
                    "found a text, expected a list of the program and its arguments",
                    "write `command = [\"my-bot\", \"--json\"]`, or set `shell = true`",
                );
                vec![]
            }
            (Some(WrittenCommand::Program(_)), true) => {
                self.fault(&path, "found a list, expected one text, since `shell` is true");
                vec![]
            }
            (Some(WrittenCommand::Program(words)), false) => {
                let mut words = words.clone();
                match words.first_mut() {
                    None => self.fault(&path, "the list is empty; expected a program"),
                    // A bare name is looked for; a path is relative to the file, like every other.
                    Some(program) if program.contains(is_separator) => {
                        *program = self.program_beside(program);
                    }
                    Some(_) => {}
                }
                words
            }
        }
    }

    /// A program by its path beside the file. It stays a path, also where one name is left of it
    /// (`config/../bot`): a bare name would be looked for elsewhere.
    fn program_beside(&self, path: &str) -> String {
        let path = self.beside(Path::new(path));
        let bare = path.components().count() == 1;
        if bare { Path::new(".").join(path) } else { path }.display().to_string()
    }

    fn http_app(&mut self, place: &str, written: &WrittenProvider) -> HttpAppSettings {
        match &written.url {
            None => self.hinted(
                place,
                "no `url` is named",
                "add a line such as `url = \"http://localhost:8000/ask\"`",
            ),
            Some(url) => self.check_url(&format!("{place}.url"), url),
        }
        let method = written.method.unwrap_or_default();
        if let Some(body) = &written.body
            && let Err(error) = BodyTemplate::compile(body)
        {
            self.fault(&format!("{place}.body"), error.to_string());
        }
        self.check_sendable(&format!("{place}.body"));
        let hint = "send it as a header: `headers = { authorization = { env = \"MY_VARIABLE\" } }`";
        self.check_literal_secrets(
            &format!("{place}.body"),
            written.body.as_ref().unwrap_or(&Value::Null),
            hint,
        );
        let answer = written.answer.clone().unwrap_or_default();
        for (key, message) in answer.faults() {
            self.fault(&format!("{place}.answer.{key}"), message);
        }
        let (mut headers, mut env_headers) = (BTreeMap::new(), BTreeMap::new());
        for (name, value) in written.headers.iter().flatten() {
            match value {
                WrittenHeader::Variable { env } => {
                    env_headers.insert(name.clone(), env.clone());
                }
                WrittenHeader::Value(_) if tells_of_a_secret(name) => self.hinted(
                    &format!("{place}.headers.{name}"),
                    "a secret would be stored with every run",
                    format!("write `{name} = {{ env = \"MY_VARIABLE\" }}` and set that variable"),
                ),
                WrittenHeader::Value(value) => {
                    headers.insert(name.clone(), value.clone());
                }
            }
        }
        HttpAppSettings { method, headers, env_headers, body: written.body.clone(), answer }
    }

    fn check_url(&mut self, path: &str, url: &str) {
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        let Some(rest) = rest.filter(|rest| !rest.is_empty()) else {
            return self.fault(path, format!("`{url}` is not an http(s) address"));
        };
        let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
        let host = address.split('/').next().unwrap_or_default();
        if host.contains('@')
            || query.split('&').any(|part| tells_of_a_secret(part.split('=').next().unwrap_or("")))
        {
            // The address itself is not repeated: it may hold a secret.
            self.hinted(
                path,
                "the address holds a user name or a key",
                "send it as a header: `headers = { authorization = { env = \"MY_VARIABLE\" } }`",
            );
        }
    }
}

fn default_workers() -> u32 {
    std::thread::available_parallelism().map_or(2, |cores| u32::try_from(cores.get()).unwrap_or(2))
}

/// What this machine lacks for an application: its program or its working folder.
pub(super) fn lacks(provider: &ProviderSettings) -> Vec<Fault> {
    let place = |key: &str| format!("`provider.{}.{key}`", provider.name);
    let mut faults = vec![];
    if let Some(exec) = &provider.exec
        && let Err(why) = find_program(exec)
    {
        faults.push(Fault::of_file("environment", why).at(place("command")));
    }
    if let Some(exec) = &provider.exec
        && !exec.cwd.is_dir()
    {
        let message = format!("the working folder `{}` does not exist", exec.cwd.display());
        faults.push(Fault::of_file("environment", message).at(place("cwd")));
    }
    faults
}

/// The queue's settings: a program watches its own time, and the queue only in case it does not.
pub(super) fn queue_settings(provider: &ProviderSettings) -> QueueSettings {
    let mut queue = provider.queue.clone();
    if provider.exec.is_some() {
        queue.attempt_timeout_s += QUEUE_PATIENCE_S;
    }
    queue
}

/// The application itself.
pub(super) fn provider(settings: &ProviderSettings, http: HttpSettings) -> Result<Box<dyn Provider>, String> {
    if let Some(exec) = &settings.exec {
        return Ok(Box::new(Exec::new(exec.clone())?));
    }
    let Some(app) = &settings.http else {
        return Err("the section says nothing of an application".to_owned());
    };
    let value = |(header, variable): (&String, &String)| {
        let value = env::var(variable).map_err(|_| format!("the variable `{variable}` is not set"))?;
        Ok((header.clone(), SecretString::from(value.trim())))
    };
    let secret = app.env_headers.iter().map(value).collect::<Result<Vec<_>, String>>()?;
    let headers = app.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let http = HttpSettings { headers, ..http };
    let app = HttpApp::new(app, http, secret).map_err(|error| error.to_string())?;
    Ok(Box::new(app))
}
