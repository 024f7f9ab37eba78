//! What stands in the environment variables that hold keys: looked at here, shown nowhere.

use std::env::{self, VarError};

use super::settings::ProviderSettings;
use crate::{
    domain::{Fault, Faults},
    providers::{LEAST_SECRET_CHARS, tells_of_a_secret, unencrypted_host},
};

/// A variable whose value goes with the requests of an account.
struct Variable<'a> {
    name: &'a str,
    /// The experiment's entry that names it.
    place: String,
    /// Whether it is the account's key, which is sent behind a scheme of the provider's own.
    is_key: bool,
}

/// The variables of an account that are sent.
fn sent(provider: &ProviderSettings) -> impl Iterator<Item = Variable<'_>> {
    let place = |entry: &str| format!("`provider.{}.{entry}`", provider.name);
    let key = provider.api_key_env.as_deref();
    let key = key.map(|name| Variable { name, place: place("api_key_env"), is_key: true });
    let headers = provider.http.iter().flat_map(|http| &http.env_headers);
    let headers = headers.map(move |(header, name)| Variable {
        name,
        place: place(&format!("headers.{header}")),
        is_key: false,
    });
    key.into_iter().chain(headers)
}

/// Faults of variables that are sent: not set, empty, or holding what is no key.
pub(super) fn faults(providers: &[ProviderSettings]) -> Faults {
    let wrong = |variable: Variable<'_>| {
        let what = if variable.is_key { "the key of that account" } else { "the value of that header" };
        let hint = format!("export {}=… with {what}", variable.name);
        let why = why_wrong(env::var(variable.name).as_deref(), variable.is_key)?;
        let fault = Fault::of_file("environment", format!("the variable `{}` {why}", variable.name));
        Some(fault.at(variable.place).with_hint(hint))
    };
    Faults(providers.iter().flat_map(sent).filter_map(wrong).collect())
}

/// Why a value cannot be meant as it is. White space around it is no fault: it is not sent.
fn why_wrong(value: Result<&str, &VarError>, is_key: bool) -> Option<&'static str> {
    let value = match value {
        Ok(value) => value.trim(),
        Err(VarError::NotPresent) => return Some("is not set"),
        Err(VarError::NotUnicode(_)) => return Some("holds bytes that are no text"),
    };
    let scheme = value.split_once(char::is_whitespace).map(|(scheme, _)| scheme);
    if value.is_empty() {
        Some("is empty")
    } else if value.starts_with(['"', '\'', '`']) || value.ends_with(['"', '\'', '`']) {
        Some("holds quotation marks around its value")
    } else if value.chars().any(char::is_control) {
        Some("holds a line end or another control character")
    } else if !is_key {
        None
    } else if scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer")) {
        Some("holds `Bearer` before the key, which is put there anyway")
    } else if value.contains(char::is_whitespace) {
        Some("holds white space within the key")
    } else if !value.is_ascii() {
        Some("holds characters that no key has")
    } else {
        None
    }
}

/// What is allowed and yet worth a word: keys too short to be hidden, and keys on their way unencrypted.
pub fn key_warnings(providers: &[ProviderSettings]) -> Vec<String> {
    let mut warnings = vec![];
    for provider in providers {
        let programs = provider.exec.iter().flat_map(|exec| &exec.env).map(String::as_str);
        let programs = programs.filter(|name| tells_of_a_secret(name));
        for name in sent(provider).map(|variable| variable.name).chain(programs) {
            let length = env::var(name).map_or(0, |value| value.trim().chars().count());
            if (1..LEAST_SECRET_CHARS).contains(&length) {
                warnings.push(format!(
                    "the value of `{name}` is shorter than {LEAST_SECRET_CHARS} characters: too short to be \
                     hidden where it is repeated"
                ));
            }
        }
        let host = provider.base_url.as_deref().and_then(unencrypted_host);
        if let (Some(host), true) = (host, sent(provider).next().is_some()) {
            warnings.push(format!(
                "`provider.{}`: its key goes to `{host}` over plain http, for all on the way to read",
                provider.name
            ));
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_cannot_be_meant_as_it_is_is_named() {
        for (value, key, header) in [
            ("sk-1234", None, None),
            (" sk-1234\n", None, None),
            ("-", None, None),
            ("", Some("is empty"), Some("is empty")),
            (" \n", Some("is empty"), Some("is empty")),
            ("\"sk-1\"", Some("quotation marks"), Some("quotation marks")),
            ("'sk-1", Some("quotation marks"), Some("quotation marks")),
            ("Bearer sk-1", Some("`Bearer` before the key"), None),
            ("bearer\tsk-1", Some("control character"), Some("control character")),
            ("sk 1", Some("white space within"), None),
            ("sk-1\nsk-2", Some("a line end"), Some("a line end")),
            ("sk-…", Some("characters that no key has"), None),
            ("“sk-1”", Some("characters that no key has"), None),
            ("sk-1\u{200b}", Some("characters that no key has"), None),
        ] {
            for (is_key, told) in [(true, key), (false, header)] {
                let why = why_wrong(Ok(value), is_key);
                assert_eq!(why.is_some(), told.is_some(), "{value:?} {why:?}");
                assert!(why.unwrap_or_default().contains(told.unwrap_or_default()), "{value:?} {why:?}");
            }
        }
        assert_eq!(why_wrong(Err(&VarError::NotPresent), true), Some("is not set"));
    }
}
