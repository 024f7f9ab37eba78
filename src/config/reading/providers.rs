//! The accounts: their sections, and the defaults of their kinds.

use super::Reading;
use crate::{
    config::{
        settings::ProviderSettings,
        written::{WrittenExperiment, WrittenProvider},
    },
    providers::{Facts, Kind},
    queue::QueueSettings,
};

/// The longest wait for a connection where the experiment does not say, in seconds.
const CONNECT_S: f64 = 10.0;

/// The longest wait between two bytes of an answer where the experiment does not say, in seconds. An
/// answer that is not streamed is silent until it is complete.
const IDLE_S: f64 = 600.0;

impl Reading<'_> {
    /// The accounts that targets use: those with a section, and those named after their kind.
    pub(super) fn providers(&mut self, written: &WrittenExperiment) -> Vec<ProviderSettings> {
        let mut names: Vec<&str> = vec![];
        for target in &written.target {
            if let Some(name) = target.provider.as_deref()
                && !names.contains(&name)
                && (written.provider.contains_key(name) || Kind::from_name(name).is_some())
            {
                names.push(name);
            }
        }
        let unnamed = WrittenProvider::default();
        let used = names.into_iter().map(|name| (name, written.provider.get(name).unwrap_or(&unnamed)));
        used.filter_map(|(name, provider)| self.provider(name, provider)).collect()
    }

    fn provider(&mut self, name: &str, written: &WrittenProvider) -> Option<ProviderSettings> {
        let place = format!("provider.{name}");
        let Some(kind) = written.kind.or_else(|| Kind::from_name(name)) else {
            self.hinted(&place, "no `kind` is named", "add a line such as `kind = \"openai\"`");
            return None;
        };
        self.check_name("provider", name);
        let timeouts = written.timeouts;
        for (key, seconds) in [("connect_s", timeouts.connect_s), ("idle_s", timeouts.idle_s)] {
            if seconds.is_some_and(|seconds| !(seconds > 0.0 && seconds <= 86_400.0)) {
                self.fault(&format!("{place}.timeouts.{key}"), "expected seconds above 0 and up to a day");
            }
        }
        let mut queue = self.queue(&place, written);
        let application = self.application(&place, written, kind, &mut queue);
        let mut base_url =
            written.base_url.clone().or_else(|| kind.facts().map(|facts| facts.base_url.to_owned()));
        if let Some(url) = &base_url {
            self.check_base_url(&place, url);
        }
        if kind.is_endpoint() {
            base_url = written.url.clone();
        }
        Some(ProviderSettings {
            name: name.into(),
            kind,
            api_key_env: self.key_variable(written, kind),
            base_url,
            max_tokens_field: written.max_tokens_field,
            queue,
            connect_s: timeouts.connect_s.unwrap_or(CONNECT_S),
            idle_s: timeouts.idle_s.unwrap_or(IDLE_S),
            exec: application.exec,
            http: application.http,
        })
    }

    fn queue(&mut self, place: &str, written: &WrittenProvider) -> QueueSettings {
        let defaults = QueueSettings::default();
        let queue = QueueSettings {
            limits: written.limits.clone().unwrap_or_default(),
            retry: written.retry.unwrap_or_default(),
            attempt_timeout_s: written.timeouts.attempt_s.unwrap_or(defaults.attempt_timeout_s),
            trial_timeout_s: written.timeouts.trial_s,
            ..defaults
        };
        for message in queue.faults() {
            self.fault(place, message);
        }
        queue
    }

    fn check_base_url(&mut self, place: &str, url: &str) {
        let path = format!("{place}.base_url");
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        match rest {
            None | Some("") => self.fault(&path, format!("`{url}` is not an http(s) address")),
            Some(_) if url.ends_with("/chat/completions") || url.ends_with("/messages") => self.hinted(
                &path,
                format!("`{url}` names the endpoint itself"),
                "give the part before it, such as `https://api.openai.com/v1`",
            ),
            Some(rest) if rest.contains('@') || rest.contains('?') => {
                // The address itself is not repeated: it may hold a secret.
                self.hinted(
                    &path,
                    "the address holds a user name or a query",
                    "keys belong in `api_key_env`",
                );
            }
            Some(_) => {}
        }
    }

    /// A server elsewhere than the dialect's own gets a key only where the experiment says which.
    fn key_variable(&self, written: &WrittenProvider, kind: Kind) -> Option<String> {
        let is_own = |facts: &&Facts| {
            written.base_url.as_deref().is_none_or(|url| server_of(url) == server_of(facts.base_url))
        };
        let default = || kind.facts().filter(is_own).map(|facts| facts.key_variable.to_owned());
        written.api_key_env.clone().or_else(default).filter(|name| !name.is_empty())
    }
}

/// Scheme, host and port of an address.
fn server_of(url: &str) -> String {
    url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/").to_ascii_lowercase()
}
