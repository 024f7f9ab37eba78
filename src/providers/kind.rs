//! Which kinds of provider there are, and what each takes for granted.

use std::{fmt, sync::LazyLock};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, EnumAccess, VariantAccess, Visitor},
};

use super::{
    anthropic,
    dialect::{Dialect, DialectSettings, Facts, MaxTokensField},
    families, openai,
    tokens::Tokenizer,
};
use crate::domain::Parameters;

/// The providers of models: the one list of dialects.
static MODELS: &[&Facts] = &[
    &anthropic::FACTS,
    &openai::FACTS,
    #[cfg(test)]
    &super::toy::FACTS,
];

/// How a provider is spoken to.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A model behind HTTP.
    Model(&'static Facts),
    /// Recorded outputs.
    Replay,
    /// The seeded simulator.
    Simulator,
    /// A program of one's own.
    Exec,
    /// An HTTP endpoint of one's own.
    Http,
}

impl Kind {
    const OTHERS: [Self; 4] = [Self::Replay, Self::Simulator, Self::Exec, Self::Http];

    fn all() -> impl Iterator<Item = Self> {
        MODELS.iter().copied().map(Self::Model).chain(Self::OTHERS)
    }

    /// The kind of that name: what `provider = "anthropic"` means without a section of its own.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name() == name)
    }

    /// The names that mean a provider without a section of its own; an application has no such.
    pub fn names_without_section() -> impl Iterator<Item = &'static str> {
        Self::all().filter(|kind| !kind.is_application()).map(Self::name)
    }

    /// The name as the experiment writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model(facts) => facts.name,
            Self::Replay => "replay",
            Self::Simulator => "simulator",
            Self::Exec => "exec",
            Self::Http => "http",
        }
    }

    /// What is known of a provider of models.
    pub fn facts(self) -> Option<&'static Facts> {
        match self {
            Self::Model(facts) => Some(facts),
            _ => None,
        }
    }

    /// What puts questions to an account's models into words.
    pub fn dialect(
        self,
        base_url: Option<&str>,
        max_tokens_field: Option<MaxTokensField>,
    ) -> Option<Box<dyn Dialect>> {
        let facts = self.facts()?;
        let base_url = base_url.unwrap_or(facts.base_url);
        Some((facts.make)(facts, &DialectSettings { base_url, max_tokens_field }))
    }

    /// Whether it is an application of one's own: it has no model that could be asked for.
    pub fn is_application(self) -> bool {
        self.is_program() || self.is_endpoint()
    }

    /// Whether it is a program of one's own.
    pub fn is_program(self) -> bool {
        matches!(self, Self::Exec)
    }

    /// Whether it is an HTTP endpoint of one's own.
    pub fn is_endpoint(self) -> bool {
        matches!(self, Self::Http)
    }

    /// Whether answers were recorded before.
    pub fn is_recorded(self) -> bool {
        matches!(self, Self::Replay)
    }

    /// Whether answers are made up.
    pub fn is_simulated(self) -> bool {
        matches!(self, Self::Simulator)
    }

    /// Whether all that an answer hangs on is seen from here, so that one to the same question stands for
    /// another: an application has its code and its index, and a recording is none.
    pub fn is_seen_whole(self) -> bool {
        !self.is_recorded() && !self.is_application()
    }

    /// Whether a model is asked over the network.
    pub fn is_remote(self) -> bool {
        self.facts().is_some()
    }

    /// Whether a target with these parameters asks for its prompts to be cached.
    pub fn asks_for_cache(self, parameters: &Parameters) -> bool {
        let Some(facts) = self.facts() else { return false };
        parameters.cache.is_some()
            || facts.cache_fields.iter().any(|field| parameters.extra.contains_key(*field))
    }

    /// Whether the provider itself counts a prompt's tokens before it is asked.
    pub fn counts_tokens(self) -> bool {
        self.facts().is_some_and(|facts| facts.counting.is_some())
    }

    /// Who counts the tokens of `model` before it is asked.
    pub fn tokenizer(self, model: &str) -> Tokenizer {
        let Some(facts) = self.facts() else { return Tokenizer::Characters };
        families::family(model).and_then(|family| family.tokenizer).unwrap_or(facts.tokenizer)
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Kind {}

impl fmt::Debug for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| Kind::all().map(Kind::name).collect());

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("ProviderKind", &NAMES, OneOf)
    }
}

/// Reads a kind as an enum without fields is read, so that faults are told alike.
struct OneOf;

impl<'de> Visitor<'de> for OneOf {
    type Value = Kind;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("enum ProviderKind")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Kind, A::Error> {
        let (name, variant) = data.variant::<String>()?;
        variant.unit_variant()?;
        Kind::from_name(&name).ok_or_else(|| de::Error::unknown_variant(&name, &NAMES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_by_its_name() {
        for kind in Kind::all() {
            assert_eq!(Kind::from_name(kind.name()), Some(kind));
            let written = serde_json::to_string(&kind).unwrap();
            assert_eq!(written, format!("\"{kind}\""));
            assert_eq!(serde_json::from_str::<Kind>(&written).unwrap(), kind);
        }
        assert_eq!(Kind::from_name("antropic"), None);
    }

    #[test]
    fn whatever_needs_no_section_is_proposed_for_a_slip() {
        let names: Vec<_> = Kind::names_without_section().collect();
        assert!(MODELS.iter().all(|facts| names.contains(&facts.name)) && names.contains(&"replay"));
        assert!(!names.contains(&"exec") && !names.contains(&"http"));
    }

    #[test]
    fn an_unknown_kind_is_told_with_all_that_are_known() {
        let error = serde_json::from_str::<Kind>("\"antropic\"").unwrap_err().to_string();
        assert!(error.starts_with("unknown variant `antropic`, expected one of `anthropic`, `openai`, "));
        assert!(error.contains("`replay`, `simulator`, `exec`, `http`"), "{error}");
    }

    #[test]
    fn only_a_known_family_is_counted_by_its_own_tokenizer() {
        for (kind, model, tokenizer) in [
            ("openai", "gpt-5-mini", Tokenizer::O200k),
            ("openai", "openai/gpt-4.1", Tokenizer::O200k),
            ("openai", "gpt-4-turbo", Tokenizer::Characters),
            ("openai", "llama-4", Tokenizer::Characters),
            ("anthropic", "claude-opus-5", Tokenizer::ClaudeCharacters),
            ("anthropic", "a-new-one", Tokenizer::ClaudeCharacters),
            ("simulator", "gpt-5", Tokenizer::Characters),
        ] {
            assert_eq!(Kind::from_name(kind).unwrap().tokenizer(model), tokenizer, "{kind} {model}");
        }
    }
}
