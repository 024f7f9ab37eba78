//! Which part of a prompt the provider is asked to keep, and for how long.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Fingerprint, ModelId, Prompt, Role};

/// Where the part of a prompt that is to be cached ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CachePoint {
    /// Behind the system prompt.
    System,
    /// Behind the turns before the last message; behind the system prompt where there are none.
    History,
}

impl CachePoint {
    /// The name as the experiment file writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::History => "history",
        }
    }
}

/// How long the provider keeps it after its last use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheLifetime {
    /// Five minutes.
    #[default]
    #[serde(rename = "5m")]
    FiveMinutes,
    /// One hour; writing costs more.
    #[serde(rename = "1h")]
    OneHour,
}

impl CacheLifetime {
    /// The name as providers write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FiveMinutes => "5m",
            Self::OneHour => "1h",
        }
    }

    /// The same as a time.
    pub fn duration(self) -> Duration {
        match self {
            Self::FiveMinutes => Duration::from_secs(300),
            Self::OneHour => Duration::from_secs(3_600),
        }
    }
}

/// What a target asks to be cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptCache {
    /// Up to where.
    pub at: CachePoint,
    /// For how long.
    pub lifetime: CacheLifetime,
}

impl Prompt {
    /// How many messages stand within the part up to `at`, beside the system prompt.
    pub fn cached_messages(&self, at: CachePoint) -> usize {
        match at {
            CachePoint::System => 0,
            CachePoint::History => self.messages.len().saturating_sub(1),
        }
    }

    /// A fingerprint of the part up to `at`, for this model: requests in which it is the same read
    /// what one of them wrote. `None` when that part has no text.
    pub fn cached_prefix(&self, model: &ModelId, at: CachePoint) -> Option<Fingerprint> {
        let turns = &self.messages[..self.cached_messages(at)];
        let system = self.system.as_deref().unwrap_or_default();
        if system.is_empty() && turns.is_empty() {
            return None;
        }
        let role = |role| match role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let mut hasher = blake3::Hasher::new();
        let parts = [("model", model.as_str()), ("system", system)];
        let turns = turns.iter().map(|turn| (role(turn.role), turn.content.text()));
        for (name, part) in parts.into_iter().chain(turns) {
            // Lengths keep neighbours apart: `ab` + `c` is not `a` + `bc`.
            hasher.update(name.as_bytes());
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Some(Fingerprint::from(*hasher.finalize().as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Message;

    fn prompt(system: &str, turns: &[&str]) -> Prompt {
        let message = |text: &&str| Message { role: Role::User, content: (*text).into() };
        Prompt { system: Some(system.into()), messages: turns.iter().map(message).collect() }
    }

    #[test]
    fn the_last_message_is_never_part_of_it() {
        let model = ModelId::from("m");
        for at in [CachePoint::System, CachePoint::History] {
            let prefix = |turns: &[&str]| prompt("rules", turns).cached_prefix(&model, at);
            assert_eq!(prefix(&["one"]), prefix(&["two"]));
            assert_ne!(prefix(&["one"]), prompt("other rules", &["one"]).cached_prefix(&model, at));
        }
    }

    #[test]
    fn history_counts_only_where_it_is_asked_for() {
        let model = ModelId::from("m");
        let prefix = |turns: &[&str], at| prompt("rules", turns).cached_prefix(&model, at);
        assert_eq!(prefix(&["a", "q"], CachePoint::System), prefix(&["b", "q"], CachePoint::System));
        assert_ne!(prefix(&["a", "q"], CachePoint::History), prefix(&["b", "q"], CachePoint::History));
        assert_ne!(
            prefix(&["ab", "c", "q"], CachePoint::History),
            prefix(&["a", "bc", "q"], CachePoint::History)
        );
    }

    #[test]
    fn nothing_is_cached_where_there_is_no_text_before_the_question() {
        let bare = Prompt { system: None, ..prompt("", &["q"]) };
        assert_eq!(bare.cached_prefix(&"m".into(), CachePoint::System), None);
        assert_eq!(bare.cached_prefix(&"m".into(), CachePoint::History), None);
    }
}
