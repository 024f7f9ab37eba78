//! Secrets written into an experiment: they would be stored with every run, so they are refused.
//!
//! A secret is known by its name (`api_key`, `Authorization`, `--token`) or by its own beginning (`Bearer `,
//! `sk-`). What only names one (`max_tokens`, `prompt_cache_key`, `--key-file`) is none.

use serde_json::Value;

/// Names that are those of secrets, with `_` for every other mark.
const NAMES: [&str; 10] = [
    "api_key",
    "apikey",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "password",
    "passwd",
    "secret",
    "token",
];

/// How keys begin, and how many characters one has at least.
const BEGINNINGS: [&str; 7] = ["sk-", "sk_", "gsk_", "xai-", "hf_", "ghp_", "github_pat_"];
const LEAST_KEY: usize = 16;

/// Where in `value` secrets stand, as paths below `path`.
pub(super) fn in_value(value: &Value, path: &str) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            let below = |(name, value): (&String, &Value)| {
                let path = format!("{path}.{name}");
                let is_named = is_name(name) && value.as_str().is_some_and(is_literal);
                if is_named { vec![path] } else { in_value(value, &path) }
            };
            fields.iter().flat_map(below).collect()
        }
        Value::Array(values) => values
            .iter()
            .enumerate()
            .flat_map(|(at, value)| in_value(value, &format!("{path}[{at}]")))
            .collect(),
        Value::String(text) if is_key(text) => vec![path.to_owned()],
        _ => vec![],
    }
}

/// The first word of a command before a secret, or with one in it: `--api-key`, `API_KEY`.
pub(super) fn in_command(command: &[String], shell: bool) -> Option<String> {
    let words: Vec<&str> = if shell {
        command.iter().flat_map(|text| text.split_whitespace()).collect()
    } else {
        command.iter().map(String::as_str).collect()
    };
    let next = words.iter().skip(1).map(Some).chain([None]);
    words.iter().zip(next).find_map(|(word, next)| {
        let word = word.trim_matches(['"', '\'']);
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let is_flag = name.starts_with('-');
        let value = value.or(next.copied().filter(|next| is_flag && !next.starts_with('-')));
        let is_named = (is_flag || word.contains('=')) && is_name(name) && value.is_some_and(is_literal);
        // A header in one word: `Authorization: Bearer …`.
        let is_header = word.split_once(':').is_some_and(|(name, value)| is_name(name) && is_literal(value));
        let is_secret = is_named || is_header || is_key(word);
        is_secret.then(|| if is_named { name.to_owned() } else { "a key".to_owned() })
    })
}

/// Whether a field, a header, a flag or a variable of that name holds a secret.
fn is_name(name: &str) -> bool {
    let name = name.trim_start_matches('-').to_ascii_lowercase().replace(['-', '.', ' '], "_");
    NAMES.iter().any(|known| {
        name.strip_suffix(known).is_some_and(|before| before.is_empty() || before.ends_with('_'))
    })
}

/// Whether a value stands for itself, and not for a variable or a template.
fn is_literal(value: &str) -> bool {
    let value = value.trim().trim_matches(['"', '\'']);
    !value.is_empty() && !value.contains('$') && !value.contains("{{")
}

fn is_key(text: &str) -> bool {
    let text = text.trim();
    let bearer = text.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("bearer "));
    let is_one_word = !text.contains(char::is_whitespace) && text.len() >= LEAST_KEY;
    bearer && is_literal(&text[7..]) && !text[7..].contains(' ')
        || is_one_word && BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_known_by_its_name_or_its_beginning() {
        for (value, path) in [
            (json!({"api_key": "abc"}), Some("extra.api_key")),
            (json!({"extra_headers": {"Authorization": "abc"}}), Some("extra.extra_headers.Authorization")),
            (json!({"extra_headers": {"X-Api-Key": "abc"}}), Some("extra.extra_headers.X-Api-Key")),
            (json!({"tools": [{"auth": {"access_token": "abc"}}]}), Some("extra.tools[0].auth.access_token")),
            (json!({"user": "sk-proj-abcdefghijklm"}), Some("extra.user")),
            (json!({"list": ["Bearer abc"]}), Some("extra.list[0]")),
            (json!({"max_tokens": 5, "prompt_cache_key": "desk", "tokenizer": "o200k"}), None),
            (json!({"api_key": null, "token": 5, "secret": ""}), None),
            (json!({"user": "sk-8", "stop": "Bearer of bad news", "author": "x"}), None),
            (json!({"password": "{{ context.password }}"}), None),
        ] {
            assert_eq!(
                in_value(&value, "extra"),
                path.map(str::to_owned).into_iter().collect::<Vec<_>>(),
                "{value}"
            );
        }
    }

    #[test]
    fn a_command_with_a_secret_is_known_by_the_word_before_it() {
        for (command, shell, found) in [
            (&["bot", "--api-key=abc"][..], false, Some("--api-key")),
            (&["bot", "--token", "abc"], false, Some("--token")),
            (&["curl", "-H", "Authorization: Bearer abc"], false, Some("a key")),
            (&["bot", "sk-ant-api03-abcdef"], false, Some("a key")),
            (&["API_KEY=abc bot"], true, Some("API_KEY")),
            (&["bot --password 'abc'"], true, Some("--password")),
            (&["bot --token \"$TOKEN\" --api-key=$KEY"], true, None),
            (&["bot", "--max-tokens=5", "--key-file", "k.pem", "--token"], false, None),
            (&["bot", "--token", "--json", "token"], false, None),
            (&["curl -H \"Authorization: Bearer $KEY\" http://x"], true, None),
        ] {
            let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(in_command(&command, shell).as_deref(), found, "{command:?}");
        }
    }
}
