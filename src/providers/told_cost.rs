//! The cost that an application tells of its own answer.

use serde_json::Value;

use crate::domain::Cost;

/// Reads dollars as a number or its text, rounded to the nearest picodollar: a program that adds floats
/// tells more digits than there are. What is no amount (below 0, no number, beyond all that can be
/// counted) counts as not told: the answer is not lost for it.
pub(super) fn told_cost(value: &Value) -> Option<Cost> {
    match value {
        Value::String(text) => Cost::rounded(text.trim()),
        Value::Number(number) => Cost::rounded(&number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(value: Value) -> Option<String> {
        told_cost(&value).map(|cost| cost.to_string())
    }

    /// `0.0001 * 36` made a paid answer malformed.
    #[test]
    fn a_cost_is_rounded_to_what_money_is_counted_in() {
        for (value, cost) in [
            (json!(0.1 + 0.2), "0.30"),
            (json!(0.0001 * 36.0), "0.0036"),
            (json!(0.0000095), "0.0000095"),
            (json!(1e-7), "0.0000001"),
            (json!(3.6e-3), "0.0036"),
            (json!(5e-13), "0.000000000001"),
            (json!(4e-13), "0.00"),
            (json!(-0.0), "0.00"),
            (json!(0), "0.00"),
            (json!(12), "12.00"),
            (json!("0.0036"), "0.0036"),
            (json!(" 0.0036000000000000003 "), "0.0036"),
            (json!("9000000.000000000001"), "9000000.000000000001"),
        ] {
            assert_eq!(told(value.clone()).as_deref(), Some(cost), "{value}");
        }
    }

    #[test]
    fn what_is_no_amount_is_not_told() {
        for value in [
            json!(-1),
            json!(-1e-20),
            json!("NaN"),
            json!("inf"),
            json!("-Infinity"),
            json!(1e7),
            json!(1e300),
            json!("1e400"),
            json!("$1"),
            json!(""),
            json!(true),
            json!({"usd": 1}),
            json!(null),
        ] {
            assert_eq!(told(value.clone()), None, "{value}");
        }
    }
}
