//! The token counts of a completion.

use serde::Deserialize;
use serde_json::Value;

use crate::{
    domain::{CacheLifetime, Metered, Usage, UsageFlag},
    providers::{
        families::family,
        wire::counts::{Contradiction, Parts, count, metered},
    },
};

/// The counts that a `usage` may tell.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Counts {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    total_tokens: Option<u64>,
    /// DeepSeek has its own pair of fields, and the common one beside it.
    prompt_cache_hit_tokens: Option<u64>,
    prompt_cache_miss_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl Counts {
    fn of(usage: &Value) -> Result<Self, Contradiction> {
        let prompt_tokens = count(usage, "/prompt_tokens")?;
        let completion_tokens = count(usage, "/completion_tokens")?;
        if prompt_tokens.is_none() || completion_tokens.is_none() {
            return Ok(Self::default());
        }
        Ok(Self {
            prompt_tokens,
            completion_tokens,
            total_tokens: count(usage, "/total_tokens")?,
            prompt_cache_hit_tokens: count(usage, "/prompt_cache_hit_tokens")?,
            prompt_cache_miss_tokens: count(usage, "/prompt_cache_miss_tokens")?,
            prompt_tokens_details: Some(PromptDetails {
                cached_tokens: count(usage, "/prompt_tokens_details/cached_tokens")?,
                cache_write_tokens: count(usage, "/prompt_tokens_details/cache_write_tokens")?,
            }),
            completion_tokens_details: Some(CompletionDetails {
                reasoning_tokens: count(usage, "/completion_tokens_details/reasoning_tokens")?,
            }),
        })
    }

    /// What they come to where nothing is odd about them: then nothing has to be kept raw.
    pub(super) fn plain(self, model: Option<&str>) -> Option<Metered> {
        let PromptDetails { cached_tokens, cache_write_tokens } =
            self.prompt_tokens_details.unwrap_or_default();
        let CompletionDetails { reasoning_tokens } = self.completion_tokens_details.unwrap_or_default();
        let counts = [
            self.prompt_tokens,
            self.completion_tokens,
            self.total_tokens,
            self.prompt_cache_hit_tokens,
            self.prompt_cache_miss_tokens,
            cached_tokens,
            cache_write_tokens,
            reasoning_tokens,
        ];
        if counts.into_iter().flatten().any(|count| count > Usage::MAX_COUNT) {
            return None;
        }
        match self.parts(model) {
            Ok(Some((usage, None))) => Some(usage.into()),
            _ => None,
        }
    }

    fn parts(self, model: Option<&str>) -> Parts {
        let (Some(prompt), Some(completion)) = (self.prompt_tokens, self.completion_tokens) else {
            return Ok(None);
        };
        let PromptDetails { cached_tokens: cached, cache_write_tokens } =
            self.prompt_tokens_details.unwrap_or_default();
        let hit = self.prompt_cache_hit_tokens;
        if let (Some(hit), Some(miss)) = (hit, self.prompt_cache_miss_tokens)
            && hit + miss != prompt
        {
            return Err(Contradiction);
        }
        if let (Some(hit), Some(cached)) = (hit, cached)
            && hit != cached
        {
            return Err(Contradiction);
        }
        let cache_read = cached.or(hit).unwrap_or(0);
        let written = cache_write_tokens.unwrap_or(0);
        let input_uncached = prompt.checked_sub(cache_read + written).ok_or(Contradiction)?;
        let reasoning = self.completion_tokens_details.unwrap_or_default().reasoning_tokens;
        let output = match self.total_tokens {
            // Some servers leave the total at zero.
            None | Some(0) => completion,
            Some(total) if total == prompt + completion => completion,
            Some(total) if total == prompt + completion + reasoning.unwrap_or(0) => {
                completion + reasoning.unwrap_or(0)
            }
            Some(_) => return Err(Contradiction),
        };
        if reasoning.is_some_and(|reasoning| reasoning > output) {
            return Err(Contradiction);
        }
        let lifetime = model.and_then(family).and_then(|family| family.cache_writes);
        let is_short = lifetime == Some(CacheLifetime::FiveMinutes);
        let (cache_write_5m, cache_write_30m) = if is_short { (written, 0) } else { (0, written) };
        let flag = (cache_write_5m > 0).then_some(UsageFlag::LifetimeAssumed);
        let usage = Usage {
            input_uncached,
            cache_read,
            cache_write_5m,
            cache_write_30m,
            cache_write_1h: 0,
            output,
            reasoning,
        };
        Ok(Some((usage, flag)))
    }
}

/// Reads the `usage` of a chat completion by OpenAI or a compatible server.
///
/// `prompt_tokens` contains what was read from and written to the cache; `completion_tokens`
/// contains reasoning, except with xAI, where `total_tokens` proves that it does not. `model` is the
/// name that the provider returned: OpenRouter reports Claude's cache writes in OpenAI's field, and
/// they do not live for OpenAI's thirty minutes.
pub(super) fn usage(usage: &Value, model: Option<&str>) -> Metered {
    metered(usage, Counts::of(usage).and_then(|counts| counts.parts(model)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{usage as counted, *};
    use crate::providers::wire::counts::any_count;

    fn known(metered: &Metered) -> Usage {
        metered.usage.expect("the usage is known")
    }

    #[test]
    fn the_prompt_contains_reads_and_writes() {
        let read = json!({"prompt_tokens": 1149, "completion_tokens": 353,
                          "prompt_tokens_details": {"cached_tokens": 1024}});
        let usage = known(&counted(&read, None));
        assert_eq!((usage.input_uncached, usage.cache_read, usage.output), (125, 1_024, 353));

        let written = json!({"prompt_tokens": 5000, "completion_tokens": 20, "total_tokens": 5020,
            "prompt_tokens_details": {"cached_tokens": 2048, "cache_write_tokens": 2900},
            "completion_tokens_details": {"reasoning_tokens": 8}});
        assert_eq!(
            counted(&written, Some("gpt-5.6-sol")),
            Metered::from(Usage {
                input_uncached: 52,
                cache_read: 2_048,
                cache_write_30m: 2_900,
                output: 20,
                reasoning: Some(8),
                ..Usage::default()
            })
        );
    }

    #[test]
    fn claudes_writes_behind_an_aggregator_are_not_openais() {
        let usage = json!({"prompt_tokens": 700, "completion_tokens": 4,
                           "prompt_tokens_details": {"cache_write_tokens": 640}});
        let metered = counted(&usage, Some("anthropic/claude-opus-5"));
        assert_eq!((known(&metered).cache_write_5m, known(&metered).cache_write_30m), (640, 0));
        assert_eq!(metered.flag, Some(UsageFlag::LifetimeAssumed));
    }

    #[test]
    fn xais_reasoning_stands_outside_the_completion() {
        let usage = json!({"prompt_tokens": 50, "completion_tokens": 7, "total_tokens": 157,
                           "completion_tokens_details": {"reasoning_tokens": 100}});
        let usage = known(&counted(&usage, Some("grok-4.5")));
        assert_eq!((usage.output, usage.reasoning), (107, Some(100)));
    }

    #[test]
    fn deepseeks_hits_and_misses_are_the_prompt() {
        let usage = json!({"prompt_tokens": 600, "completion_tokens": 7, "total_tokens": 607,
                           "prompt_cache_hit_tokens": 512, "prompt_cache_miss_tokens": 88});
        let usage = known(&counted(&usage, Some("deepseek-v4-flash")));
        assert_eq!((usage.input_uncached, usage.cache_read), (88, 512));
    }

    #[test]
    fn what_is_not_said_is_unknown() {
        for usage in [json!(null), json!({}), json!({"prompt_tokens": 5}), json!([]), json!("none")] {
            assert_eq!(counted(&usage, None), Metered::default(), "{usage}");
        }
    }

    #[test]
    fn contradictory_counts_are_kept_raw_and_never_mended() {
        for usage in [
            json!({"prompt_tokens": 125, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 1024}}),
            json!({"prompt_tokens": -1, "completion_tokens": 1}),
            json!({"prompt_tokens": 1.5, "completion_tokens": 1}),
            json!({"prompt_tokens": "7", "completion_tokens": 1}),
            json!({"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 99}),
            json!({"prompt_tokens": 10, "completion_tokens": 1, "completion_tokens_details": {"reasoning_tokens": 5}}),
            json!({"prompt_tokens": 10, "completion_tokens": 1, "prompt_cache_hit_tokens": 3,
                   "prompt_cache_miss_tokens": 3}),
            json!({"prompt_tokens": 18_446_744_073_709_551_615_u64, "completion_tokens": 1}),
        ] {
            let expected =
                Metered { usage: None, flag: Some(UsageFlag::Contradictory), raw: Some(usage.to_string()) };
            assert_eq!(counted(&usage, None), expected);
        }
    }

    proptest! {
        #[test]
        fn the_parts_of_the_prompt_add_up_to_it(
            prompt in any_count(), completion in any_count(), cached in any_count(),
            written in any_count(), reasoning in any_count(), total in any_count(), hit in any_count(),
        ) {
            let raw = json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total,
                "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
                "completion_tokens_details": {"reasoning_tokens": reasoning}, "prompt_cache_hit_tokens": hit});
            let metered = counted(&raw, None);
            if let Some(usage) = metered.usage {
                prop_assert_eq!(Some(usage.input_total()), prompt.as_u64());
                prop_assert!(usage.reasoning.is_none_or(|reasoning| reasoning <= usage.output));
            }
            prop_assert_eq!(metered.flag.is_some(), metered.raw.is_some());
        }
    }
}
