//! A provider's token counts as disjoint parts.
//!
//! Providers define "input" differently: Anthropic leaves out what was read from and written to the
//! cache, OpenAI's prompt contains both. The parts here never overlap, and a count that is negative,
//! absurd or at odds with another is never mended: the usage is then unknown, flagged and kept raw.

use serde_json::Value;

use crate::domain::{Metered, Usage, UsageFlag};

/// More tokens than any answer has: beyond it a count is nonsense, and sums stay far from overflow.
const MAX_COUNT: u64 = 1 << 40;

/// Numbers that contradict each other or are not counts at all.
struct Contradiction;

/// Reads the `usage` of an Anthropic message.
///
/// The prompt is the sum of three fields: `input_tokens` (what follows the last cache hit or write),
/// `cache_read_input_tokens` and `cache_creation_input_tokens`; `output_tokens` includes thinking.
/// Cache writes whose lifetime is not told are taken as five minutes, the default.
pub fn anthropic_usage(usage: &Value) -> Metered {
    metered(usage, anthropic_parts(usage))
}

/// Reads the `usage` of a chat completion by OpenAI or a compatible server.
///
/// `prompt_tokens` contains what was read from and written to the cache; `completion_tokens`
/// contains reasoning, except with xAI, where `total_tokens` proves that it does not. `model` is the
/// name that the provider returned: OpenRouter reports Claude's cache writes in OpenAI's field, and
/// they do not live for OpenAI's thirty minutes.
pub fn openai_usage(usage: &Value, model: Option<&str>) -> Metered {
    metered(usage, openai_parts(usage, model))
}

fn metered(raw: &Value, parts: Result<Option<(Usage, Option<UsageFlag>)>, Contradiction>) -> Metered {
    match parts {
        Ok(None) => Metered::default(),
        Ok(Some((usage, flag))) => Metered { usage: Some(usage), flag, raw: flag.map(|_| raw.to_string()) },
        Err(Contradiction) => {
            Metered { usage: None, flag: Some(UsageFlag::Contradictory), raw: Some(raw.to_string()) }
        }
    }
}

fn anthropic_parts(usage: &Value) -> Result<Option<(Usage, Option<UsageFlag>)>, Contradiction> {
    let (Some(input), Some(output)) = (count(usage, "/input_tokens")?, count(usage, "/output_tokens")?)
    else {
        return Ok(None);
    };
    let written = count(usage, "/cache_creation_input_tokens")?;
    let five_minutes = count(usage, "/cache_creation/ephemeral_5m_input_tokens")?;
    let one_hour = count(usage, "/cache_creation/ephemeral_1h_input_tokens")?;
    let (cache_write_5m, cache_write_1h, flag) = match (five_minutes, one_hour) {
        (None, None) => {
            let written = written.unwrap_or(0);
            (written, 0, (written > 0).then_some(UsageFlag::LifetimeAssumed))
        }
        (five_minutes, one_hour) => {
            let (five_minutes, one_hour) = (five_minutes.unwrap_or(0), one_hour.unwrap_or(0));
            if written.is_some_and(|written| written != five_minutes + one_hour) {
                return Err(Contradiction);
            }
            (five_minutes, one_hour, None)
        }
    };
    let reasoning = count(usage, "/output_tokens_details/thinking_tokens")?;
    if reasoning.is_some_and(|reasoning| reasoning > output) {
        return Err(Contradiction);
    }
    let usage = Usage {
        input_uncached: input,
        cache_read: count(usage, "/cache_read_input_tokens")?.unwrap_or(0),
        cache_write_5m,
        cache_write_30m: 0,
        cache_write_1h,
        output,
        reasoning,
    };
    Ok(Some((usage, flag)))
}

fn openai_parts(
    usage: &Value,
    model: Option<&str>,
) -> Result<Option<(Usage, Option<UsageFlag>)>, Contradiction> {
    let (Some(prompt), Some(completion)) =
        (count(usage, "/prompt_tokens")?, count(usage, "/completion_tokens")?)
    else {
        return Ok(None);
    };
    // DeepSeek has its own pair of fields, and the common one beside it.
    let hit = count(usage, "/prompt_cache_hit_tokens")?;
    let miss = count(usage, "/prompt_cache_miss_tokens")?;
    if let (Some(hit), Some(miss)) = (hit, miss)
        && hit + miss != prompt
    {
        return Err(Contradiction);
    }
    let cached = count(usage, "/prompt_tokens_details/cached_tokens")?;
    if let (Some(hit), Some(cached)) = (hit, cached)
        && hit != cached
    {
        return Err(Contradiction);
    }
    let cache_read = cached.or(hit).unwrap_or(0);
    let written = count(usage, "/prompt_tokens_details/cache_write_tokens")?.unwrap_or(0);
    let input_uncached = prompt.checked_sub(cache_read + written).ok_or(Contradiction)?;

    let reasoning = count(usage, "/completion_tokens_details/reasoning_tokens")?;
    let output = match count(usage, "/total_tokens")? {
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
    let is_claude = model.is_some_and(|model| model.contains("claude"));
    let (cache_write_5m, cache_write_30m) = if is_claude { (written, 0) } else { (0, written) };
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

/// The count at `pointer`; `None` when it is absent or null.
fn count(usage: &Value, pointer: &str) -> Result<Option<u64>, Contradiction> {
    match usage.pointer(pointer) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(count) if count <= MAX_COUNT => Ok(Some(count)),
            _ => Err(Contradiction),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn known(metered: &Metered) -> Usage {
        metered.usage.expect("the usage is known")
    }

    #[test]
    fn anthropics_three_input_fields_are_disjoint() {
        let metered = anthropic_usage(&json!({
            "input_tokens": 40, "cache_read_input_tokens": 5000, "cache_creation_input_tokens": 900,
            "cache_creation": {"ephemeral_5m_input_tokens": 600, "ephemeral_1h_input_tokens": 300},
            "output_tokens": 77, "output_tokens_details": {"thinking_tokens": 60}, "service_tier": "standard",
        }));
        let expected = Usage {
            input_uncached: 40,
            cache_read: 5_000,
            cache_write_5m: 600,
            cache_write_1h: 300,
            output: 77,
            reasoning: Some(60),
            ..Usage::default()
        };
        assert_eq!(metered, Metered::from(expected));
        assert_eq!(expected.input_total(), 5_940);
    }

    /// litellm issue 9812: these writes were once paid as input too, $0.091311 instead of $0.054399.
    #[test]
    fn writes_without_a_lifetime_are_five_minutes_and_flagged() {
        let raw = json!({"input_tokens": 3, "cache_creation_input_tokens": 12304,
                         "cache_read_input_tokens": 0, "output_tokens": 550});
        let metered = anthropic_usage(&raw);
        assert_eq!(known(&metered).cache_write_5m, 12_304);
        assert_eq!(known(&metered).input_uncached, 3);
        assert_eq!(known(&metered).reasoning, None);
        assert_eq!(metered.flag, Some(UsageFlag::LifetimeAssumed));
        assert_eq!(metered.raw, Some(raw.to_string()));
    }

    #[test]
    fn nothing_written_needs_no_lifetime() {
        let metered = anthropic_usage(&json!({"input_tokens": 3, "cache_creation_input_tokens": 0,
            "cache_creation": null, "output_tokens": 5}));
        assert_eq!(metered.flag, None);
    }

    #[test]
    fn openais_prompt_contains_reads_and_writes() {
        let read = json!({"prompt_tokens": 1149, "completion_tokens": 353,
                          "prompt_tokens_details": {"cached_tokens": 1024}});
        let usage = known(&openai_usage(&read, None));
        assert_eq!((usage.input_uncached, usage.cache_read, usage.output), (125, 1_024, 353));

        let written = json!({"prompt_tokens": 5000, "completion_tokens": 20, "total_tokens": 5020,
            "prompt_tokens_details": {"cached_tokens": 2048, "cache_write_tokens": 2900},
            "completion_tokens_details": {"reasoning_tokens": 8}});
        assert_eq!(
            openai_usage(&written, Some("gpt-5.6-sol")),
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
        let metered = openai_usage(&usage, Some("anthropic/claude-opus-5"));
        assert_eq!((known(&metered).cache_write_5m, known(&metered).cache_write_30m), (640, 0));
        assert_eq!(metered.flag, Some(UsageFlag::LifetimeAssumed));
    }

    #[test]
    fn xais_reasoning_stands_outside_the_completion() {
        let usage = json!({"prompt_tokens": 50, "completion_tokens": 7, "total_tokens": 157,
                           "completion_tokens_details": {"reasoning_tokens": 100}});
        let usage = known(&openai_usage(&usage, Some("grok-4.5")));
        assert_eq!((usage.output, usage.reasoning), (107, Some(100)));
    }

    #[test]
    fn deepseeks_hits_and_misses_are_the_prompt() {
        let usage = json!({"prompt_tokens": 600, "completion_tokens": 7, "total_tokens": 607,
                           "prompt_cache_hit_tokens": 512, "prompt_cache_miss_tokens": 88});
        let usage = known(&openai_usage(&usage, Some("deepseek-v4-flash")));
        assert_eq!((usage.input_uncached, usage.cache_read), (88, 512));
    }

    #[test]
    fn what_is_not_said_is_unknown() {
        for usage in [json!(null), json!({}), json!({"prompt_tokens": 5}), json!([]), json!("none")] {
            assert_eq!(openai_usage(&usage, None), Metered::default(), "{usage}");
            assert_eq!(anthropic_usage(&usage), Metered::default(), "{usage}");
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
            assert_eq!(openai_usage(&usage, None), expected);
        }
        let usage = json!({"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 5,
            "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 1}});
        assert_eq!(anthropic_usage(&usage).flag, Some(UsageFlag::Contradictory));
    }

    fn any_count() -> impl Strategy<Value = Value> {
        prop_oneof![
            (0_u64..3_000).prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            Just(Value::Null),
            any::<f64>().prop_map(Value::from),
        ]
    }

    proptest! {
        #[test]
        fn the_parts_of_openais_prompt_add_up_to_it(
            prompt in any_count(), completion in any_count(), cached in any_count(),
            written in any_count(), reasoning in any_count(), total in any_count(), hit in any_count(),
        ) {
            let raw = json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total,
                "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
                "completion_tokens_details": {"reasoning_tokens": reasoning}, "prompt_cache_hit_tokens": hit});
            let metered = openai_usage(&raw, None);
            if let Some(usage) = metered.usage {
                prop_assert_eq!(Some(usage.input_total()), prompt.as_u64());
                prop_assert!(usage.reasoning.is_none_or(|reasoning| reasoning <= usage.output));
            }
            prop_assert_eq!(metered.flag.is_some(), metered.raw.is_some());
        }

        #[test]
        fn the_parts_of_anthropics_prompt_add_up_to_it(
            input in 0_u64..5_000, read in 0_u64..5_000, five in 0_u64..5_000, hour in 0_u64..5_000,
            output in any_count(),
        ) {
            let raw = json!({"input_tokens": input, "cache_read_input_tokens": read, "output_tokens": output,
                "cache_creation": {"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour}});
            if let Some(usage) = anthropic_usage(&raw).usage {
                prop_assert_eq!(usage.input_total(), input + read + five + hour);
            }
        }
    }
}
