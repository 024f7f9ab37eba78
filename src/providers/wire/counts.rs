//! A provider's token counts as disjoint parts: what is the same for all.
//!
//! Providers define "input" differently (each dialect's `usage`): Anthropic leaves out what was read
//! from and written to the cache, OpenAI's prompt contains both. The parts here never overlap, and a
//! count that is negative, absurd or at odds with another is never mended: the usage is then unknown,
//! flagged and kept raw.

use serde_json::Value;

use crate::domain::{Metered, Usage, UsageFlag};

/// Numbers that contradict each other or are not counts at all.
pub(in crate::providers) struct Contradiction;

/// What a dialect read of a `usage`: its parts, perhaps flagged; `None` when it tells no counts.
pub(in crate::providers) type Parts = Result<Option<(Usage, Option<UsageFlag>)>, Contradiction>;

/// The parts with their flag, and the raw numbers beside them where they are flagged.
pub(in crate::providers) fn metered(raw: &Value, parts: Parts) -> Metered {
    match parts {
        Ok(None) => Metered::default(),
        Ok(Some((usage, flag))) => Metered { usage: Some(usage), flag, raw: flag.map(|_| raw.to_string()) },
        Err(Contradiction) => {
            Metered { usage: None, flag: Some(UsageFlag::Contradictory), raw: Some(raw.to_string()) }
        }
    }
}

/// The count at `pointer`; `None` when it is absent or null.
pub(in crate::providers) fn count(usage: &Value, pointer: &str) -> Result<Option<u64>, Contradiction> {
    match usage.pointer(pointer) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(count) if count <= Usage::MAX_COUNT => Ok(Some(count)),
            _ => Err(Contradiction),
        },
    }
}

/// Any number that a server might tell.
#[cfg(test)]
pub(in crate::providers) fn any_count() -> impl proptest::strategy::Strategy<Value = Value> {
    use proptest::prelude::*;
    prop_oneof![
        (0_u64..3_000).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        Just(Value::Null),
        any::<f64>().prop_map(Value::from),
    ]
}
