//! How a provider is spoken to, and what each kind takes for granted.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a provider is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Chat Completions API, and every server compatible with it.
    Openai,
    /// Recorded outputs.
    Replay,
    /// The seeded simulator.
    Simulator,
    /// A program of one's own.
    Exec,
    /// An HTTP endpoint of one's own.
    Http,
}

impl ProviderKind {
    /// The kind of that name: what `provider = "anthropic"` means without a section of its own.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        serde_json::from_value(Value::String(name.to_owned())).ok()
    }

    /// Where it is reached, unless the experiment says otherwise.
    pub(super) fn default_base_url(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::Openai => Some("https://api.openai.com/v1"),
            Self::Replay | Self::Simulator | Self::Exec | Self::Http => None,
        }
    }

    /// The variable that holds its key, unless the experiment says otherwise.
    pub(super) fn default_key_variable(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Openai => Some("OPENAI_API_KEY"),
            Self::Replay | Self::Simulator | Self::Exec | Self::Http => None,
        }
    }

    /// Whether it is an application of one's own: it has no model that could be asked for.
    pub fn is_application(self) -> bool {
        matches!(self, Self::Exec | Self::Http)
    }

    /// Whether answers come over the network.
    pub fn is_remote(self) -> bool {
        self.default_base_url().is_some()
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(out)
    }
}
