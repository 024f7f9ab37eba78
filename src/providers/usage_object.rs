//! The token counts that an application tells of its own answer.

use serde::Deserialize;
use serde_json::Value;

use crate::domain::{Metered, Usage, UsageFlag};

/// Counts by the names of this project, or by those of the two large providers.
#[derive(Deserialize)]
struct Told {
    #[serde(alias = "input", alias = "input_tokens", alias = "prompt_tokens")]
    input_uncached: u64,
    #[serde(default)]
    cache_read: u64,
    #[serde(default)]
    cache_write_5m: u64,
    #[serde(default)]
    cache_write_30m: u64,
    #[serde(default)]
    cache_write_1h: u64,
    #[serde(alias = "output_tokens", alias = "completion_tokens")]
    output: u64,
    reasoning: Option<u64>,
}

/// Reads `{"input", "output", "cache_read", "reasoning", …}`. What cannot be read is kept as it is and
/// counts as unknown: the answer is not lost for it.
pub(super) fn usage_object(value: &Value) -> Metered {
    let told = Told::deserialize(value).ok().map(|told| Usage {
        input_uncached: told.input_uncached,
        cache_read: told.cache_read,
        cache_write_5m: told.cache_write_5m,
        cache_write_30m: told.cache_write_30m,
        cache_write_1h: told.cache_write_1h,
        output: told.output,
        reasoning: told.reasoning,
    });
    match told.filter(Usage::is_plausible) {
        Some(usage) => usage.into(),
        None => Metered { usage: None, flag: Some(UsageFlag::Contradictory), raw: Some(value.to_string()) },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_are_read_by_any_of_their_names() {
        for told in [
            json!({"input": 5, "output": 2}),
            json!({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}),
            json!({"input_tokens": 5, "output_tokens": 2}),
        ] {
            let usage = usage_object(&told).usage.unwrap();
            assert_eq!((usage.input_uncached, usage.output), (5, 2), "{told}");
        }
    }

    #[test]
    fn counts_that_make_no_sense_are_unknown_and_kept() {
        for told in [
            json!({"output": 2}),
            json!({"input": -1, "output": 2}),
            json!({"input": 1, "output": 1, "reasoning": 5}),
            json!({"input": 1_u64 << 41, "output": 1}),
            json!({"input": u64::MAX, "cache_read": 1, "output": u64::MAX}),
            json!({"input": 1, "cache_write_1h": u64::MAX, "output": 1}),
            json!("9"),
        ] {
            let metered = usage_object(&told);
            assert_eq!((metered.usage, metered.raw), (None, Some(told.to_string())));
        }
    }
}
