//! What is known of model families, whoever serves them.
//!
//! What a row does not tell nobody has told; what nobody asks is not kept, since nothing would find it
//! wrong. Sources: `[A-DOC]` Anthropic's pages "Models overview",
//! "Prompt caching" and "Token counting"; `[O-DOC]` OpenAI's guides "Prompt caching" and "Reasoning";
//! `[LL]` litellm's `model_prices_and_context_window.json`; `[TT]` tiktoken-rs.

use super::tokens::Tokenizer;
use crate::domain::CacheLifetime;

/// What is known of one family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Family {
    /// How the names of its models begin.
    pub begins: &'static [&'static str],
    /// The most tokens that an answer can have.
    pub max_output: Option<u64>,
    /// The fewest tokens that are cached; below it a marker is silently ignored.
    pub cache_minimum: Option<u64>,
    /// How long what is written to the cache lives where a usage does not tell.
    pub cache_writes: Option<CacheLifetime>,
    /// Who counts its tokens.
    pub tokenizer: Option<Tokenizer>,
    /// Where this stands, and when it was read.
    pub source: &'static str,
}

const UNKNOWN: Family = Family {
    begins: &[],
    max_output: None,
    cache_minimum: None,
    cache_writes: None,
    tokenizer: None,
    source: "",
};

const CLAUDE: Family = Family {
    cache_writes: Some(CacheLifetime::FiveMinutes),
    tokenizer: Some(Tokenizer::ClaudeCharacters),
    ..UNKNOWN
};

const GPT: Family = Family { cache_minimum: Some(1_024), ..UNKNOWN };

/// Of two rows that fit, the first holds.
static FAMILIES: &[Family] = &[
    Family {
        begins: &["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"],
        source: "[A-DOC] 2026-10: limits and minimum not told",
        ..CLAUDE
    },
    Family {
        begins: &["claude-opus-5", "claude-fable-5", "claude-mythos-5"],
        max_output: Some(128_000),
        cache_minimum: Some(512),
        source: "[LL] 2026-07-24; minimum of Opus 5 [A-DOC] 2026-09",
        ..CLAUDE
    },
    Family { begins: &["claude-sonnet-5"], cache_minimum: Some(1_024), source: "[A-DOC] 2026-09", ..CLAUDE },
    Family {
        begins: &["claude-opus-4-5", "claude-haiku-4-5"],
        max_output: Some(64_000),
        cache_minimum: Some(4_096),
        source: "[LL] 2026-07-24; minimum [A-DOC] 2026-09",
        ..CLAUDE
    },
    Family {
        begins: &["claude-opus-4-6"],
        max_output: Some(128_000),
        cache_minimum: Some(4_096),
        source: "[LL] 2026-07-24; minimum [A-DOC] 2026-09",
        ..CLAUDE
    },
    Family { begins: &["claude-opus-4-7"], cache_minimum: Some(2_048), source: "[A-DOC] 2026-09", ..CLAUDE },
    Family {
        begins: &["claude-opus-4-8"],
        cache_minimum: Some(1_024),
        source: "minimum: litellm's documentation 2026-10-07, where [LL] 2026-07-24 has 2,048",
        ..CLAUDE
    },
    Family {
        begins: &["claude-sonnet-4", "claude-opus-4"],
        cache_minimum: Some(1_024),
        source: "[A-DOC] 2026-09",
        ..CLAUDE
    },
    Family { begins: &["claude"], source: "[A-DOC] 2026-09: the tokenizer is common to all", ..CLAUDE },
    Family {
        begins: &["gpt-4o", "chatgpt-4o"],
        max_output: Some(16_384),
        tokenizer: Some(Tokenizer::O200k),
        source: "[LL] 2026-07-24; [TT] 0.11.0",
        ..GPT
    },
    Family {
        begins: &["gpt-4.1"],
        max_output: Some(32_768),
        tokenizer: Some(Tokenizer::O200k),
        source: "[LL] 2026-07-24; [TT] 0.11.0",
        ..GPT
    },
    Family {
        begins: &["gpt-5", "gpt-6"],
        max_output: Some(128_000),
        tokenizer: Some(Tokenizer::O200k),
        source: "[LL] 2026-07-24 for 5.x, the largest of the family; 6.x taken to be alike (unsure)",
        ..GPT
    },
    Family {
        begins: &["o1", "o3", "o4"],
        max_output: Some(100_000),
        tokenizer: Some(Tokenizer::O200k),
        source: "[LL] 2026-07-24; [O-DOC] 2026-09; [TT] 0.11.0",
        ..GPT
    },
    Family { begins: &["gpt-"], source: "[O-DOC] 2026-09: the minimum is the same for all", ..GPT },
];

/// The family of a model; an aggregator's prefix (`anthropic/`, `us.anthropic.`) is not looked at.
pub fn family(model: &str) -> Option<&'static Family> {
    let bare = model.rsplit('/').next().unwrap_or(model);
    let bare = bare.split_once("anthropic.").map_or(bare, |(_, rest)| rest);
    FAMILIES.iter().find(|family| family.begins.iter().any(|name| bare.starts_with(name)))
}

/// The fewest tokens that a model caches, where its provider says; below it a marker is silently
/// ignored.
pub fn cache_minimum(model: &str) -> Option<u64> {
    family(model)?.cache_minimum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_row_that_fits_holds() {
        for (model, minimum) in [
            ("claude-opus-5-5", None),
            ("claude-opus-5-20260601", Some(512)),
            ("claude-opus-4-5-20251101", Some(4_096)),
            ("claude-opus-4-7", Some(2_048)),
            ("claude-opus-4-1", Some(1_024)),
            ("claude-sonnet-5", Some(1_024)),
            ("claude-3-opus", None),
            ("gpt-4-turbo", Some(1_024)),
            ("o3-mini", Some(1_024)),
            ("llama-4", None),
        ] {
            assert_eq!(cache_minimum(model), minimum, "{model}");
        }
    }

    #[test]
    fn who_serves_a_model_makes_no_other_family() {
        let own = family("claude-opus-5").unwrap();
        for model in ["anthropic/claude-opus-5", "us.anthropic.claude-opus-5-v1:0"] {
            assert_eq!(family(model), Some(own), "{model}");
        }
        assert_eq!(family("openai/gpt-4o-mini").unwrap().max_output, Some(16_384));
    }

    #[test]
    fn every_row_tells_its_source_and_is_met() {
        for row in FAMILIES {
            assert!(!row.source.is_empty(), "{row:?}");
            for name in row.begins {
                assert_eq!(family(name), Some(row), "{name} is hidden by an earlier row");
            }
        }
    }
}
