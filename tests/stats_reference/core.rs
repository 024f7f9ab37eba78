//! Adapters: special functions, random numbers, means, proportions, pairs, flips and planning.

use std::collections::HashMap;

use caseload::stats::{Clusters, Estimable, Interval, SplitMix64, special};
use serde_json::{Value, json};

mod means;
mod pairs;
mod planning;

/// The expected fields of a procedure of this group; `None` for another group's.
pub(super) fn compute(procedure: &str, input: &Value) -> Option<Value> {
    Some(match procedure {
        "a_proportion" => means::proportion(input),
        "b_mean" => means::mean(input),
        "c_clustered" => means::clustered(input),
        "c_stratified" => means::stratified(input),
        "c_weighted" => means::weighted(input),
        "d_repeats" => means::repeats(input),
        "d_theory" => planning::repeats_in_theory(input),
        "e_paired" => pairs::paired(input),
        "f_flips" => pairs::flips(input),
        "f_flips_repeats" => pairs::flips_with_repeats(input),
        "g_rng" => random_numbers(input),
        "h_budget" => planning::budget(input),
        "h_connor" => planning::connor(input),
        "h_power" => planning::power(input),
        "i_passk" => planning::pass_at_k(input),
        "j_multiplicity" => pairs::multiplicity(input),
        "k_noninferiority" => pairs::noninferiority(input),
        "q_special" => special_function(input),
        _ => return None,
    })
}

fn number(input: &Value, field: &str) -> f64 {
    input[field].as_f64().unwrap_or_else(|| panic!("`{field}` is a number"))
}

fn whole(input: &Value, field: &str) -> u64 {
    input[field].as_u64().unwrap_or_else(|| panic!("`{field}` is a whole number"))
}

fn numbers(input: &Value) -> Vec<f64> {
    let list = input.as_array().expect("a list of numbers");
    list.iter().map(|value| value.as_f64().expect("a number")).collect()
}

/// A finite number as JSON. NaN would turn into a null that looks like "not estimable".
#[track_caller]
fn finite(value: f64) -> Value {
    assert!(value.is_finite(), "{value} is not a result");
    json!(value)
}

/// The value, or null with its reason left out.
#[track_caller]
fn or_null(value: Estimable<f64>) -> Value {
    value.map_or(Value::Null, finite)
}

#[track_caller]
fn pair(interval: Estimable<Interval>) -> Value {
    interval.map_or(json!([null, null]), |ends| json!([finite(ends.low), finite(ends.high)]))
}

/// Clusters from labels of any JSON type; null makes each of `n` cases a cluster of its own.
fn clusters(labels: &Value, n: usize) -> Clusters {
    let Some(labels) = labels.as_array() else {
        return Clusters::singletons(n);
    };
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let indices: Vec<u32> = labels
        .iter()
        .enumerate()
        .map(|(case, label)| {
            // A case without a cluster is a cluster of its own.
            let name = if label.is_null() { format!("own cluster of {case}") } else { label.to_string() };
            let next = u32::try_from(numbers.len()).expect("few clusters");
            *numbers.entry(name).or_insert(next)
        })
        .collect();
    Clusters::from_labels(&indices)
}

fn random_numbers(input: &Value) -> Value {
    let seed = input["seed"].as_str().and_then(|text| text.parse().ok()).expect("a seed as text");
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
        "t_cdf" => special::student_cdf(of("x"), input["df"].as_f64()),
        "t_ppf" => special::student_quantile(of("p"), input["df"].as_f64()),
        "beta_cdf" => special::beta_cdf(of("a"), of("b"), of("x")),
        "beta_ppf" => special::beta_quantile(of("a"), of("b"), of("p")),
        "chi2_sf_1df" => special::chi_square_1_sf(of("x")),
        other => panic!("special function `{other}` is not known"),
    };
    json!({ "value": finite(value) })
}
