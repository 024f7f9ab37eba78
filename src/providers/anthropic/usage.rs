//! The token counts of a message.

use serde_json::Value;

use crate::{
    domain::{Metered, Usage, UsageFlag},
    providers::wire::counts::{Contradiction, Parts, count, metered},
};

/// Reads the `usage` of a message.
///
/// The prompt is the sum of three fields: `input_tokens` (what follows the last cache hit or write),
/// `cache_read_input_tokens` and `cache_creation_input_tokens`; `output_tokens` includes thinking.
/// Cache writes whose lifetime is not told are taken as five minutes, the default.
pub(super) fn usage(usage: &Value) -> Metered {
    metered(usage, parts(usage))
}

fn parts(usage: &Value) -> Parts {
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
    fn the_three_input_fields_are_disjoint() {
        let metered = counted(&json!({
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
        let metered = counted(&raw);
        assert_eq!(known(&metered).cache_write_5m, 12_304);
        assert_eq!(known(&metered).input_uncached, 3);
        assert_eq!(known(&metered).reasoning, None);
        assert_eq!(metered.flag, Some(UsageFlag::LifetimeAssumed));
        assert_eq!(metered.raw, Some(raw.to_string()));
    }

    #[test]
    fn nothing_written_needs_no_lifetime() {
        let metered = counted(&json!({"input_tokens": 3, "cache_creation_input_tokens": 0,
            "cache_creation": null, "output_tokens": 5}));
        assert_eq!(metered.flag, None);
    }

    #[test]
    fn what_is_not_said_is_unknown() {
        for usage in [json!(null), json!({}), json!({"input_tokens": 5}), json!([]), json!("none")] {
            assert_eq!(counted(&usage), Metered::default(), "{usage}");
        }
    }

    #[test]
    fn contradictory_counts_are_kept_raw_and_never_mended() {
        let usage = json!({"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 5,
            "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 1}});
        assert_eq!(counted(&usage).flag, Some(UsageFlag::Contradictory));
    }

    proptest! {
        #[test]
        fn the_parts_of_the_prompt_add_up_to_it(
            input in 0_u64..5_000, read in 0_u64..5_000, five in 0_u64..5_000, hour in 0_u64..5_000,
            output in any_count(),
        ) {
            let raw = json!({"input_tokens": input, "cache_read_input_tokens": read, "output_tokens": output,
                "cache_creation": {"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour}});
            if let Some(usage) = counted(&raw).usage {
                prop_assert_eq!(usage.input_total(), input + read + five + hour);
            }
        }
    }
}
