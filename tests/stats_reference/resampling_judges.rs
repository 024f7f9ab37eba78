//! Adapters: resampling, judges, latency, cost, projection and retrieval.

use serde_json::Value;

/// The expected fields of a procedure of this group; `None` for another group's.
pub(super) fn compute(_procedure: &str, _input: &Value) -> Option<Value> {
    None
}
