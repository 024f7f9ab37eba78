//! `cache` of a target as it is written.

use serde_json::Value;

use crate::domain::{CacheLifetime, CachePoint, PromptCache, nearest};

/// Reads `"system"`, `"history"`, or `{ at = "system", ttl = "1h" }`.
///
/// # Errors
/// What is wrong with it, in one sentence.
pub(super) fn read(written: &Value) -> Result<PromptCache, String> {
    match written {
        Value::String(at) => Ok(PromptCache { at: point(at)?, lifetime: CacheLifetime::default() }),
        Value::Object(table) => {
            if let Some(other) = table.keys().find(|key| !matches!(key.as_str(), "at" | "ttl")) {
                return Err(format!("there is no `{other}` here; expected `at` and `ttl`"));
            }
            let text = |key| table.get(key).map(|value| value.as_str().ok_or(value));
            let at = match text("at") {
                Some(Ok(at)) => point(at)?,
                Some(Err(other)) => return Err(unexpected_point(&other.to_string())),
                None => {
                    return Err(
                        "no `at` is named; expected `at = \"system\"` or `at = \"history\"`".to_owned()
                    );
                }
            };
            let lifetime = match text("ttl") {
                None | Some(Ok("5m")) => CacheLifetime::FiveMinutes,
                Some(Ok("1h")) => CacheLifetime::OneHour,
                Some(Ok(other)) => return Err(format!("`ttl` is `{other}`, expected `5m` or `1h`")),
                Some(Err(other)) => return Err(format!("`ttl` is `{other}`, expected `5m` or `1h`")),
            };
            Ok(PromptCache { at, lifetime })
        }
        other => Err(unexpected_point(&other.to_string())),
    }
}

fn point(name: &str) -> Result<CachePoint, String> {
    match name {
        "system" => Ok(CachePoint::System),
        "history" => Ok(CachePoint::History),
        other => Err(unexpected_point(other)),
    }
}

fn unexpected_point(found: &str) -> String {
    let meant = nearest(found, ["system", "history"]).map(|name| format!(" (did you mean `{name}`?)"));
    format!("found `{found}`, expected `system` or `history`{}", meant.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_or_a_table_says_what_is_cached_and_for_how_long() {
        let cache = |at, lifetime| Ok(PromptCache { at, lifetime });
        use CacheLifetime::{FiveMinutes, OneHour};
        assert_eq!(read(&json!("system")), cache(CachePoint::System, FiveMinutes));
        assert_eq!(read(&json!("history")), cache(CachePoint::History, FiveMinutes));
        assert_eq!(read(&json!({"at": "system"})), cache(CachePoint::System, FiveMinutes));
        assert_eq!(read(&json!({"at": "history", "ttl": "1h"})), cache(CachePoint::History, OneHour));
    }

    #[test]
    fn everything_else_is_a_fault_that_says_what_is_expected() {
        for (written, part) in [
            (json!("sytem"), "did you mean `system`?"),
            (json!(true), "found `true`, expected `system` or `history`"),
            (json!({"ttl": "1h"}), "no `at` is named"),
            (json!({"at": 3}), "found `3`"),
            (json!({"at": "system", "ttl": "2h"}), "`ttl` is `2h`, expected `5m` or `1h`"),
            (json!({"at": "system", "ttl": 5}), "`ttl` is `5`"),
            (json!({"at": "system", "lifetime": "1h"}), "there is no `lifetime` here"),
        ] {
            let message = read(&written).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
    }
}
