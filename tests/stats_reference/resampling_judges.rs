//! Adapters: resampling, judges, latency, cost, projection and retrieval.

use std::collections::HashMap;

use caseload::stats::{
    self, Clusters, Estimable, Interval, JudgeCounts, JudgedCounts, Labels, NotEstimable, Observation,
};
use serde_json::{Value, json};

mod measures;

/// The expected fields of a procedure of this group; `None` for another group's.
pub(super) fn compute(procedure: &str, input: &Value) -> Option<Value> {
    Some(match procedure {
        "g_bootstrap" => bootstrap(input),
        "g_signflip" => sign_flip(input),
        "l_confseq" => confidence_sequence(input),
        "m_agreement" => agreement(input),
        "m_rogan_gladen" => rogan_gladen(input),
        "m_ppi" => ppi(input),
        "m_krippendorff" => krippendorff(input),
        "n_latency" => measures::latency(input),
        "n_paired_medians" => measures::paired_medians(input),
        "n_ratio" => measures::ratio(input),
        "o_projection" => measures::projection(input),
        "p_retrieval" => measures::retrieval(input),
        _ => return None,
    })
}

fn number(input: &Value, field: &str) -> f64 {
    input[field].as_f64().unwrap_or_else(|| panic!("`{field}` is a number"))
}

fn integer(input: &Value, field: &str) -> u64 {
    input[field].as_u64().unwrap_or_else(|| panic!("`{field}` is a whole number"))
}

fn size(input: &Value, field: &str) -> usize {
    usize::try_from(integer(input, field)).expect("a size fits")
}

fn array<'a>(input: &'a Value, field: &str) -> &'a [Value] {
    input[field].as_array().unwrap_or_else(|| panic!("`{field}` is an array"))
}

fn numbers(input: &Value, field: &str) -> Vec<f64> {
    array(input, field).iter().map(|value| value.as_f64().expect("a number")).collect()
}

/// Clusters of labels of any JSON type; `null` makes every case its own.
fn clusters(labels: &Value, n_cases: usize) -> Clusters {
    let Some(labels) = labels.as_array() else {
        return Clusters::singletons(n_cases);
    };
    let mut known: HashMap<String, u32> = HashMap::new();
    let numbered: Vec<u32> = labels
        .iter()
        .map(|label| {
            let next = u32::try_from(known.len()).expect("few clusters");
            *known.entry(label.to_string()).or_insert(next)
        })
        .collect();
    Clusters::from_labels(&numbered)
}

fn value(estimable: Estimable<f64>) -> Value {
    estimable.ok().into()
}

fn pair(interval: Estimable<Interval>) -> Value {
    let ends = interval.ok();
    json!([ends.map(|interval| interval.low), ends.map(|interval| interval.high)])
}

fn reason(reason: NotEstimable) -> Value {
    reason.code().into()
}

fn bootstrap(input: &Value) -> Value {
    let scores = numbers(input, "scores");
    let clusters = clusters(&input["clusters"], scores.len());
    let (seed, replicates) = (integer(input, "seed"), size(input, "replicates"));
    let result = stats::cluster_bootstrap(&scores, &clusters, seed, replicates, number(input, "conf"))
        .expect("good input");
    let result = match result {
        Ok(result) => result,
        Err(why) => {
            let nothing = json!([null, null]);
            return json!({
                "estimate": null, "replicates_first5": [], "boot_mean": null, "boot_se": null,
                "percentile": nothing, "below": null, "ties": null, "bca": nothing,
                "bca_levels": nothing, "z0": null, "acceleration": null, "reason": reason(why),
            });
        }
    };
    let bca = result.bca;
    let mut fields = json!({
        "estimate": result.estimate,
        "replicates_first5": result.replicates.iter().take(5).collect::<Vec<_>>(),
        "boot_mean": result.mean,
        "boot_se": value(result.se),
        "percentile": pair(result.percentile),
        "below": result.standing.below,
        "ties": result.standing.ties,
        "z0": value(bca.map(|bca| bca.z0)),
        "acceleration": value(bca.map(|bca| bca.acceleration)),
        "bca_levels": pair(bca.map(|bca| Interval { low: bca.levels.0, high: bca.levels.1 })),
        "bca": pair(bca.map(|bca| bca.interval)),
    });
    add_reason(&mut fields, bca.err());
    fields
}

fn add_reason(fields: &mut Value, why: Option<NotEstimable>) {
    if let Some(why) = why {
        fields["reason"] = reason(why);
    }
}

fn sign_flip(input: &Value) -> Value {
    let differences = numbers(input, "d");
    let clusters = clusters(&input["clusters"], differences.len());
    let (seed, replicates) = (integer(input, "seed"), size(input, "replicates"));
    match stats::sign_flip_test(&differences, &clusters, seed, replicates).expect("good input") {
        Ok(result) => json!({
            "diff": result.difference,
            "clusters": result.clusters,
            "active_clusters": result.active_clusters,
            "p_exact": result.p_exact,
            "hits": result.hits,
            "p_monte_carlo": result.p_monte_carlo,
        }),
        Err(why) => json!({
            "diff": null, "clusters": 0, "active_clusters": 0, "p_exact": null, "hits": null,
            "p_monte_carlo": null, "reason": reason(why),
        }),
    }
}

fn confidence_sequence(input: &Value) -> Value {
    let (values, observation) = if input["x"].is_array() {
        (numbers(input, "x"), Observation::Score)
    } else if input["d"].is_array() {
        (numbers(input, "d"), Observation::Difference)
    } else {
        let frame = stats::ClusterFrame {
            largest_cluster: size(input, "m_max"),
            clusters_total: size(input, "clusters_total"),
            cases_total: size(input, "cases_total"),
        };
        (numbers(input, "totals"), Observation::ClusterTotal(frame))
    };
    let (confidence, truncation) = (1.0 - number(input, "alpha"), number(input, "c"));
    let looks = stats::confidence_sequence(&values, observation, confidence, truncation).expect("good input");
    let at: Vec<usize> = array(input, "at")
        .iter()
        .map(|at| usize::try_from(at.as_u64().expect("a place")).expect("a place"))
        .collect();
    let each = |field: fn(&stats::Look) -> f64| -> Vec<f64> {
        at.iter().map(|&place| field(&looks[place - 1])).collect()
    };
    json!({
        "at": at,
        "lower": each(|look| look.current.low),
        "upper": each(|look| look.current.high),
        "running_lower": each(|look| look.running_low),
        "running_upper": each(|look| look.running_high),
    })
}

fn agreement(input: &Value) -> Value {
    let table: Vec<Vec<u64>> = array(input, "table")
        .iter()
        .map(|row| {
            let row = row.as_array().expect("a row");
            row.iter().map(|count| count.as_u64().expect("a count")).collect()
        })
        .collect();
    let confidence = number(input, "conf");
    let result = stats::agreement(&table, confidence).expect("good input");
    let (kappa, ac1) = (result.kappa, result.ac1);
    let mut fields = json!({
        "n": result.n,
        "agreement": value(result.agreement),
        "agreement_wilson": pair(result.agreement_interval),
        "kappa": value(kappa.map(|kappa| kappa.value)),
        "kappa_se": value(kappa.map(|kappa| kappa.se)),
        "kappa_se0": value(kappa.map(|kappa| kappa.se_if_zero)),
        "kappa_ci": pair(kappa.map(|kappa| kappa.interval)),
        "ac1": value(ac1.map(|ac1| ac1.value)),
        "ac1_se": value(ac1.and_then(|ac1| ac1.se)),
        "ac1_ci": pair(ac1.and_then(|ac1| ac1.interval)),
    });
    add_reason(&mut fields, kappa.err());
    if table.len() == 2 {
        let counts = JudgeCounts {
            true_pass: table[1][1],
            false_pass: table[0][1],
            true_fail: table[0][0],
            false_fail: table[1][0],
        };
        let quality = stats::judge_quality(counts, confidence).expect("good input");
        for (name, share) in [
            ("sensitivity", quality.sensitivity),
            ("specificity", quality.specificity),
            ("precision", quality.precision),
            ("npv", quality.negative_predictive_value),
            ("judge_pass", quality.judge_pass),
            ("human_pass", quality.human_pass),
        ] {
            fields[name] = value(share.value);
            fields[format!("{name}_wilson")] = pair(share.interval);
        }
    }
    fields
}

fn rogan_gladen(input: &Value) -> Value {
    let counts = JudgedCounts {
        judge_pass: integer(input, "judge_pass"),
        judged: integer(input, "n_judged"),
        true_pass: integer(input, "tp"),
        human_pass: integer(input, "n_human_pass"),
        true_fail: integer(input, "tn"),
        human_fail: integer(input, "n_human_fail"),
    };
    let result = stats::rogan_gladen(counts, number(input, "conf")).expect("good input");
    let rate = result.corrected;
    // The reference clips each limit on its own side only.
    let wald = rate.map(|rate| (rate.wald.low.max(0.0), rate.wald.high.min(1.0))).ok();
    let mut fields = json!({
        "youden": value(result.youden),
        "estimate_raw": value(rate.map(|rate| rate.raw)),
        "estimate": value(rate.map(|rate| rate.estimate)),
        "se": value(rate.map(|rate| rate.se)),
        "ci": [wald.map(|wald| wald.0), wald.map(|wald| wald.1)],
        "ci_lang_reiczigel": pair(rate.and_then(|rate| rate.interval)),
    });
    add_reason(&mut fields, rate.err());
    fields
}

fn ppi(input: &Value) -> Value {
    let (human, judge_on_human) = (numbers(input, "human"), numbers(input, "judge_on_human"));
    let judge_rest = numbers(input, "judge_rest");
    let all = input["clusters_human"].as_array().map(|human| {
        let labels = [human.as_slice(), array(input, "clusters_rest")].concat();
        clusters(&Value::Array(labels), 0)
    });
    let labels = Labels {
        human: &human,
        judge_on_human: &judge_on_human,
        judge_rest: &judge_rest,
        clusters: all.as_ref(),
    };
    let result = match stats::ppi(labels, number(input, "conf")).expect("good input") {
        Ok(result) => result,
        Err(why) => return json!({ "estimate": null, "reason": reason(why) }),
    };
    let mut fields = json!({
        "lambda": result.lambda,
        "estimate": result.estimate,
        "classical": result.human_only,
        "judge_only": value(result.judge_only),
        "clusters": all.as_ref().map(Clusters::len),
    });
    let spread = match result.spread {
        Ok(spread) => spread,
        Err(why) => {
            add_reason(&mut fields, Some(why));
            for name in ["ci", "ci_clustered"] {
                fields[name] = json!([null, null]);
            }
            return fields;
        }
    };
    let clustered = spread.plain_clustered.unwrap_or(Err(NotEstimable::NoData));
    let augmented = spread.augmented;
    let augmented_clustered = augmented.clustered.unwrap_or(Err(NotEstimable::NoData));
    let more = json!({
        "se": spread.se,
        "se_ppi_py": spread.se_population,
        "ci": pair(Ok(spread.plain)),
        "classical_se": spread.human_only_se,
        "gain_ess": value(spread.gain),
        "se_clustered": value(clustered.map(|clustered| clustered.se)),
        "ci_clustered": pair(clustered.map(|clustered| clustered.interval)),
        "augmented": {
            "lambda": augmented.lambda,
            "centre": augmented.centre,
            "se": augmented.se,
            "ci": pair(Ok(augmented.interval)),
            "se_clustered": value(augmented_clustered.map(|clustered| clustered.se)),
            "ci_clustered": pair(augmented_clustered.map(|clustered| clustered.interval)),
        },
    });
    extend(&mut fields, more);
    fields
}

fn extend(fields: &mut Value, more: Value) {
    let (Value::Object(fields), Value::Object(more)) = (fields, more) else {
        panic!("both are objects");
    };
    fields.extend(more);
}

fn krippendorff(input: &Value) -> Value {
    let mut known: HashMap<String, u32> = HashMap::new();
    let units: Vec<Vec<Option<u32>>> = array(input, "units")
        .iter()
        .map(|unit| {
            let ratings = unit.as_array().expect("a unit is an array");
            ratings
                .iter()
                .map(|rating| {
                    let next = u32::try_from(known.len()).expect("few categories");
                    (!rating.is_null()).then(|| *known.entry(rating.to_string()).or_insert(next))
                })
                .collect()
        })
        .collect();
    let result = stats::krippendorff_alpha(&units);
    let mut fields = json!({
        "alpha_nominal": value(result.alpha),
        "pairable_values": result.pairable_values,
    });
    add_reason(&mut fields, result.alpha.err());
    fields
}
