//! Version 1: what caseload 0.1 wrote, without a version. It stays readable for ever.
//!
//! 0.1 left out what an earlier build of it did not know yet, and took the default of its own time. Those
//! defaults are kept here as they were then, whatever they become.

use serde_json::{Value, json};

/// A run's configuration as version 2 writes it.
pub(super) fn upgrade_run(config: &mut Value) {
    // 0.1 froze the row in force, or null.
    let prices = config.get_mut("prices").and_then(Value::as_array_mut);
    for rows in prices.into_iter().flatten() {
        *rows = match rows.take() {
            Value::Null => json!([]),
            row => json!([row]),
        };
    }
    let Some(settings) = config.get_mut("settings") else { return };
    fill(settings, &json!({ "store_answers": "full", "gates": {}, "retrieval_k": 5 }));
    each(settings, "targets", upgrade_target);
    each(settings, "providers", upgrade_provider);
    if let Some(stop) = settings.get_mut("stop") {
        fill(stop, &json!({ "margin": 0.0, "gate": "not-worse" }));
    }
}

/// A target's settings as version 2 writes them.
pub(super) fn upgrade_target(target: &mut Value) {
    let simulate = json!({
        "skill": 0.8,
        "difficulty_spread": 0.5,
        "cluster_correlation": 0.3,
        "shared_difficulty": 0.7,
        "latency_ms": { "mean": 0.0 },
        "tokens": { "chars_per_token": 4.0, "output_sd": 0.0 },
        "refusal_rate": 0.0,
        "truncation_rate": 0.0,
        "filter_rate": 0.0,
        "errors": {
            "server": 0.0,
            "overloaded": 0.0,
            "dropped": 0.0,
            "timeout": 0.0,
            "rate_limit": 0.0,
            "malformed": 0.0,
            "bad_request": 0.0,
        },
        "burst_s": 1.0,
    });
    fill(target, &json!({ "parameters": { "stream": false }, "simulate": simulate, "reuse": false }));
}

fn upgrade_provider(provider: &mut Value) {
    let limits = json!({
        "max_in_flight": 64,
        "burst_s": 1.0,
        "output_reserved": false,
        "cache_reads_count": true,
        "shared": true,
    });
    let retry =
        json!({ "max_retries": 8, "base_delay_ms": 500, "max_delay_ms": 60_000, "max_elapsed_s": 1_800 });
    let queue = json!({
        "limits": limits,
        "retry": retry,
        "attempt_timeout_s": 600.0,
        "max_wait_s": 600.0,
        "breaker_failures": 50,
        "breaker_after_s": 30.0,
    });
    fill(provider, &json!({ "queue": queue }));
    if let Some(exec) = provider.get_mut("exec") {
        fill(exec, &json!({ "exit_codes": { "retry": [], "trial": [], "stop": [] } }));
    }
    if let Some(http) = provider.get_mut("http") {
        let passage = json!({ "doc": "/doc", "chunk": "/chunk", "text": "/text", "score": "/score" });
        fill(http, &json!({ "answer": { "text": "", "passage": passage } }));
    }
}

fn each(settings: &mut Value, list: &str, upgrade: fn(&mut Value)) {
    let members = settings.get_mut(list).and_then(Value::as_array_mut);
    members.into_iter().flatten().for_each(upgrade);
}

/// Puts the entries of `defaults` that `value` lacks into it, at every depth.
fn fill(value: &mut Value, defaults: &Value) {
    let (Value::Object(value), Value::Object(defaults)) = (value, defaults) else { return };
    for (key, default) in defaults {
        match value.get_mut(key) {
            Some(own) => fill(own, default),
            None => {
                value.insert(key.clone(), default.clone());
            }
        }
    }
}
