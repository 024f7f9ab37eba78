//! Repeats in theory, power, budgets and pass@k.

use caseload::stats::{self, Budget, Comparison, Estimable};
use serde_json::{Map, Value, json};

use super::{finite, number, numbers, or_null, whole};

pub(super) fn repeats_in_theory(input: &Value) -> Value {
    let (between, within) = (number(input, "between"), number(input, "within"));
    let cuts: Map<String, Value> = [2, 3, 4, 5, 6, 10]
        .iter()
        .map(|&k| {
            let cut = stats::variance_cut(between, within, k).expect("variances");
            (k.to_string(), or_null(cut))
        })
        .collect();
    let mut answer = json!({"between": between, "within": within, "variance_cut": cuts});
    if let (Some(case), Some(sample)) = (input["cost_case"].as_f64(), input["cost_sample"].as_f64()) {
        let k_star = stats::optimal_repeats(between, within, case, sample).expect("costs");
        answer["k_star"] = or_null(k_star);
    }
    answer
}

pub(super) fn power(input: &Value) -> Value {
    let repeats = |field: &str| u32::try_from(whole(input, field)).expect("few repeats");
    let (delta, power) = (number(input, "delta"), number(input, "power"));
    let plan = Comparison {
        omega2: number(input, "omega2"),
        sigma2_candidate: number(input, "sigma2_a"),
        sigma2_baseline: number(input, "sigma2_b"),
        k_candidate: repeats("k_a"),
        k_baseline: repeats("k_b"),
        deff: number(input, "deff"),
        alpha: number(input, "alpha"),
        one_sided: whole(input, "sides") == 1,
    };
    // The reference's clusters hold 4 cases where there is a design effect, and 1 where not.
    let cluster_size =
        input["cluster_size_for_t"].as_f64().unwrap_or(if plan.deff > 1.0 { 4.0 } else { 1.0 });
    let clusters = plan.clusters_needed(delta, power, cluster_size).expect("a plan");
    json!({
        "n_raw": finite(plan.cases_needed_raw(delta, power).expect("a plan")),
        "n": plan.cases_needed(delta, power).expect("a plan"),
        "mde_at_198": finite(plan.detectable_difference(198, power).expect("a plan")),
        "mde_at_1000": finite(plan.detectable_difference(1000, power).expect("a plan")),
        "power_at_300": finite(plan.two_sided_power(300, delta).expect("a plan")),
        "clusters_t_adjusted": clusters.map_or(Value::Null, |clusters| json!(clusters)),
        "cluster_size_for_t": cluster_size,
    })
}

pub(super) fn connor(input: &Value) -> Value {
    let (p, delta) = (number(input, "p_discordant"), number(input, "delta"));
    let (alpha, power) = (number(input, "alpha"), number(input, "power"));
    let plan = Comparison {
        omega2: p - delta * delta,
        sigma2_candidate: 0.0,
        sigma2_baseline: 0.0,
        k_candidate: 1,
        k_baseline: 1,
        deff: 1.0,
        alpha,
        one_sided: false,
    };
    json!({
        "n_connor": finite(stats::connor_pairs(p, delta, alpha, power).expect("a plan")),
        "n_miller_k1": finite(plan.cases_needed_raw(delta, power).expect("a plan")),
    })
}

pub(super) fn budget(input: &Value) -> Value {
    let of = |field: &str| number(input, field);
    let budget = Budget {
        budget: of("budget"),
        cost_case: of("cost_case"),
        n_free: 0,
        cost_sample: of("cost_sample"),
        between: of("between"),
        within: of("within"),
        k_max: u32::try_from(whole(input, "k_max")).expect("few repeats"),
        n_max: input["n_max"].as_u64(),
    };
    let design = stats::best_design(&budget).expect("a budget").ok();
    let k_star = stats::optimal_repeats(budget.between, budget.within, budget.cost_case, budget.cost_sample);
    json!({
        "k_star": or_null(k_star.expect("costs")),
        "n": design.map(|design| design.n),
        "k": design.map(|design| design.k),
        "se": design.map(|design| finite(design.se)),
    })
}

type AtK = fn(u64, u64, u64) -> Result<Estimable<f64>, stats::StatsError>;

const AT_K: [(&str, AtK); 3] = [
    ("pass_at_k", stats::pass_at_k),
    ("pass_hat_k", stats::pass_hat_k),
    ("majority_at_k", stats::majority_at_k),
];

pub(super) fn pass_at_k(input: &Value) -> Value {
    if !input["answers"].is_null() {
        return plurality(input);
    }
    if !input["counts"].is_null() {
        return data_set(input);
    }
    let (n, c, k) = (whole(input, "n"), whole(input, "c"), whole(input, "k"));
    let value = |at_k: AtK| or_null(at_k(n, c, k).expect("counts"));
    AT_K.iter().map(|&(name, at_k)| (name.to_owned(), value(at_k))).collect()
}

/// The mean over cases; a case with fewer samples than k is left out.
fn data_set(input: &Value) -> Value {
    let counts = input["counts"].as_array().expect("counts of each case");
    let mut answer = Map::new();
    for k in numbers(&input["ks"]) {
        for (name, at_k) in AT_K {
            let values: Vec<f64> = counts
                .iter()
                .filter_map(|case| {
                    let k = format!("{k}").parse().expect("a whole k");
                    at_k(whole(case, "n"), whole(case, "c"), k).expect("counts").ok()
                })
                .collect();
            let summary = stats::mean_summary(&values).expect("finite values");
            let fields = json!({
                "mean": or_null(summary.mean),
                "se": or_null(summary.se),
                "n": values.len(),
                "dropped": counts.len() - values.len(),
            });
            answer.insert(format!("{name}_{k}"), fields);
        }
    }
    Value::Object(answer)
}

fn plurality(input: &Value) -> Value {
    let answers = input["answers"].as_array().expect("answers");
    let mut classes: Vec<&Value> = vec![];
    let mut class_of = |answer| {
        let at = classes.iter().position(|&class| class == answer).unwrap_or_else(|| {
            classes.push(answer);
            classes.len() - 1
        });
        u32::try_from(at).expect("few classes")
    };
    let indices: Vec<u32> = answers.iter().map(&mut class_of).collect();
    let correct = class_of(&input["correct"]);
    let k = usize::try_from(whole(input, "k")).expect("a small k");
    let seed = input["seed"].as_u64().unwrap_or(0);
    let share = stats::plurality_at_k(&indices, correct, k, 9999, seed).expect("a positive k");
    json!({ "plurality_at_k": or_null(share) })
}
