//! Adapters: special functions, random numbers, means, proportions, pairs, flips and power.

use caseload::stats::{SplitMix64, special};
use serde_json::{Value, json};

/// The expected fields of a procedure of this group; `None` for another group's.
pub(super) fn compute(procedure: &str, input: &Value) -> Option<Value> {
    Some(match procedure {
        "g_rng" => random_numbers(input),
        "q_special" => special_function(input),
        _ => return None,
    })
}

fn number(input: &Value, field: &str) -> f64 {
    input[field]
        .as_f64()
        .unwrap_or_else(|| panic!("`{field}` is a number"))
}

fn random_numbers(input: &Value) -> Value {
    let seed = input["seed"]
        .as_str()
        .and_then(|text| text.parse().ok())
        .expect("a seed as text");
    let mut main = SplitMix64::new(seed);
    let mut third = SplitMix64::stream(seed, 3);
    let mut first = SplitMix64::stream(seed, 0);
    json!({
        "first4": (0..4).map(|_| main.next_u64().to_string()).collect::<Vec<_>>(),
        "stream3_first3": (0..3).map(|_| third.next_u64().to_string()).collect::<Vec<_>>(),
        "stream0_below10_first8": (0..8).map(|_| first.below(10)).collect::<Vec<_>>(),
    })
}

fn special_function(input: &Value) -> Value {
    let of = |field: &str| number(input, field);
    let value = match input["fn"].as_str().expect("a function's name") {
        "norm_cdf" => special::normal_cdf(of("x")),
        "norm_ppf" => special::normal_quantile(of("p")),
        "t_cdf" => special::student_cdf(of("x"), Some(of("df"))),
        "t_ppf" => special::student_quantile(of("p"), Some(of("df"))),
        "beta_cdf" => special::beta_cdf(of("a"), of("b"), of("x")),
        "beta_ppf" => special::beta_quantile(of("a"), of("b"), of("p")),
        "chi2_sf_1df" => special::chi_square_1_sf(of("x")),
        other => panic!("special function `{other}` is not known"),
    };
    json!({ "value": value })
}
