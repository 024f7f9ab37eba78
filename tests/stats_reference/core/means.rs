//! Proportions, means, clusters, strata, weights and repeats.

use caseload::stats::{
    self, Clusters, EffectiveWilson, Estimable, Method, NotEstimable, SampleTable, Samples,
};
use serde_json::{Map, Value, json};

use super::{clusters, finite, number, numbers, or_null, pair, whole};

pub(super) fn proportion(input: &Value) -> Value {
    let (k, n, conf) = (whole(input, "k"), whole(input, "n"), number(input, "conf"));
    let z = stats::two_sided_z(conf).expect("a confidence");
    let one_sided = input["z_one_sided"].as_f64().unwrap_or(z);
    json!({
        "p": if n == 0 { Value::Null } else { json!(k as f64 / n as f64) },
        "wilson": pair(stats::wilson(k, n, z).expect("counts")),
        "wilson_one_sided": pair(stats::wilson(k, n, one_sided).expect("counts")),
        "clopper_pearson": pair(stats::clopper_pearson(k, n, conf).expect("counts")),
        "jeffreys": pair(stats::jeffreys(k, n, conf).expect("counts")),
        "uniform_beta": pair(stats::uniform_beta(k, n, conf).expect("counts")),
    })
}

pub(super) fn mean(input: &Value) -> Value {
    let conf = number(input, "conf");
    let summary = stats::mean_summary(&numbers(&input["scores"])).expect("finite scores");
    json!({
        "n": summary.n,
        "mean": or_null(summary.mean),
        "var": or_null(summary.variance),
        "se": or_null(summary.se),
        "se_bernoulli": summary.se_bernoulli.map(finite),
        "ci_z": pair(summary.z_interval(conf).expect("a confidence")),
        "ci_t": pair(summary.t_interval(conf).expect("a confidence")),
        "df": or_null(summary.df()),
    })
}

pub(super) fn clustered(input: &Value) -> Value {
    let scores = numbers(&input["scores"]);
    let clusters = clusters(&input["clusters"], scores.len());
    let conf = number(input, "conf");
    let mut answer = clustered_fields(&scores, &clusters, conf);
    let samples = Samples::one_per_case(&scores).expect("finite scores");
    if samples.are_binary() {
        answer.extend(wilson_field(&samples, &clusters, conf));
    }
    Value::Object(answer)
}

/// Every field of the clustered mean of `scores`.
fn clustered_fields(scores: &[f64], clusters: &Clusters, conf: f64) -> Map<String, Value> {
    let mean = stats::clustered_mean(scores, clusters).expect("scores fit their clusters");
    let interval = |interval| pair(Result::expect(interval, "a confidence"));
    let mut answer = object(json!({
        "n": mean.n,
        "clusters": mean.n_clusters,
        "mean": or_null(mean.mean),
        "cluster_sizes_max": mean.largest_cluster,
        "kish_clusters": or_null(mean.kish_clusters),
        "largest_share": or_null(mean.largest_share),
        "se_naive": or_null(mean.se_naive),
        "se_cr0": or_null(mean.se_cr0),
        "se_miller_eq4": or_null(mean.se_miller_eq4),
        "se_cr1": or_null(mean.se_cr1),
        "se_cr2": or_null(mean.se_cr2),
        "df_bm": or_null(mean.df_bm),
        "df_ik": or_null(mean.df_ik),
        "icc": or_null(mean.icc),
        "deff": or_null(mean.deff),
        "n_eff": or_null(mean.n_eff),
        "ci_cr0_z": interval(mean.cr0_z_interval(conf)),
        "ci_cr1_t": interval(mean.cr1_t_interval(conf)),
        "ci_cr2_bm": interval(mean.cr2_bm_interval(conf)),
        "ci_cr2_ik": interval(mean.cr2_ik_interval(conf)),
    }));
    answer.extend(reason(mean.se_cr2));
    answer
}

/// The `reason` of a value that is not estimable.
fn reason(value: Estimable<f64>) -> Option<(String, Value)> {
    value.err().map(|reason| ("reason".into(), json!(reason.code())))
}

fn wilson_field(samples: &Samples<'_>, clusters: &Clusters, conf: f64) -> Option<(String, Value)> {
    let wilson = stats::wilson_effective_n(samples, clusters, conf).expect("0/1 scores");
    wilson.ok().map(|wilson| ("wilson".into(), wilson_json(&wilson)))
}

fn wilson_json(wilson: &EffectiveWilson) -> Value {
    json!({
        "method": match wilson.method {
            Method::Wilson => "wilson",
            Method::WilsonEffectiveN => "wilson_effective_n",
            other => panic!("`{other}` is no Wilson interval"),
        },
        "deff_hat": or_null(wilson.deff_hat),
        "deff_max": finite(wilson.deff_max),
        "carriers": wilson.carriers,
        "deff_used": finite(wilson.deff_used),
        "n_eff": finite(wilson.n_eff),
        "df": wilson.df.map(finite),
        "quantile": finite(wilson.quantile),
        "lo": finite(wilson.interval.low),
        "hi": finite(wilson.interval.high),
    })
}

pub(super) fn weighted(input: &Value) -> Value {
    let scores = numbers(&input["scores"]);
    let clusters = clusters(&input["clusters"], scores.len());
    let weights = numbers(&input["weights"]);
    let mean = stats::weighted_mean(&scores, &weights, &clusters, number(input, "conf"))
        .expect("weights fit their scores");
    let mut answer = object(json!({
        "mean": or_null(mean.mean),
        "se_cr1": or_null(mean.se),
        "clusters": mean.n_clusters,
        "df": or_null(mean.df),
        "kish_n": or_null(mean.kish_n),
        "ci": pair(mean.interval),
    }));
    answer.extend(reason(mean.se));
    Value::Object(answer)
}

pub(super) fn stratified(input: &Value) -> Value {
    let scores = numbers(&input["scores"]);
    let clusters = clusters(&input["clusters"], scores.len());
    let names: Vec<&String> = input["shares"].as_object().expect("shares").keys().collect();
    let shares: Vec<f64> = names.iter().map(|name| number(&input["shares"], name)).collect();
    let segments = input["segments"].as_array().expect("a segment per case");
    let strata: Vec<usize> = segments
        .iter()
        .map(|segment| {
            let at = names.iter().position(|name| Some(name.as_str()) == segment.as_str());
            at.expect("a segment with a share")
        })
        .collect();
    let mean = stats::stratified_mean(&scores, &strata, &clusters, &shares, number(input, "conf"))
        .expect("strata fit their shares");
    let per_segment: Map<String, Value> = names
        .iter()
        .zip(&mean.strata)
        .map(|(name, stratum)| {
            let mut fields = object(json!({
                "n": stratum.n,
                "mean": or_null(stratum.mean),
                "se_cr2": or_null(stratum.se_cr2),
                "df_ik": or_null(stratum.df_ik),
            }));
            fields.extend(reason(stratum.se_cr2));
            ((*name).clone(), Value::Object(fields))
        })
        .collect();
    let mut answer = object(json!({
        "per_segment": per_segment,
        "estimate": or_null(mean.mean),
        "se": or_null(mean.se),
        "df": or_null(mean.df),
        "ci": pair(mean.interval),
        "se_linearised_cr1": or_null(mean.se_linearised_cr1),
    }));
    answer.extend(reason(mean.se));
    Value::Object(answer)
}

pub(super) fn repeats(input: &Value) -> Value {
    let rows = input["samples"].as_array().expect("samples of each case");
    let table: SampleTable = rows.iter().map(numbers).collect();
    let samples = table.as_samples().expect("finite scores");
    let conf = number(input, "conf");
    let means = samples.case_means().expect("no case is empty");
    let parts = stats::variance_components(&samples).expect("no case is empty");
    let of_means = stats::mean_summary(&means).expect("finite means");
    let pooled = stats::mean_summary(samples.scores()).expect("finite scores");

    let se_by_k: Map<String, Value> = [1, 2, 3, 5, 10]
        .iter()
        .map(|&k| (k.to_string(), or_null(parts.se_at(Some(k)))))
        .chain([("inf".to_owned(), or_null(parts.se_at(None)))])
        .collect();
    let split = parts.between.and_then(|between| Ok((between, parts.within?)));
    let cut = |k| split.and_then(|(b, w)| stats::variance_cut(b, w, k).expect("variances"));
    let cuts: Map<String, Value> =
        [2, 3, 5, 6, 10].iter().map(|&k| (k.to_string(), or_null(cut(k)))).collect();
    let enough = |inflation| {
        let k = split.and_then(|(between, within)| {
            stats::repeats_for_inflation(between, within, inflation).expect("variances")
        });
        k.map_or(Value::Null, |k| json!(k))
    };
    let range = samples.k_range();
    let mut answer = object(json!({
        "n": means.len(),
        "samples": samples.n_samples(),
        "k_min": range.map(|range| range.0),
        "k_max": range.map(|range| range.1),
        "question_means": means,
        "mean": or_null(of_means.mean),
        "pooled_mean": or_null(pooled.mean),
        "se_pooled_wrong": or_null(pooled.se),
        "var_question_means": or_null(parts.variance_of_means),
        "se": or_null(of_means.se),
        "within": or_null(parts.within),
        "noise": or_null(parts.noise),
        "between_raw": or_null(parts.between_raw),
        "between": or_null(parts.between),
        "se_by_k": se_by_k,
        "variance_cut_vs_k1": cuts,
        "icc_samples": or_null(parts.icc_of_samples()),
        "k_for_inflation_0.05": enough(0.05),
        "k_for_inflation_0.1": enough(0.1),
    }));
    answer.extend(reason(of_means.se));
    if !input["clusters"].is_null() {
        let clusters = clusters(&input["clusters"], means.len());
        answer.insert("clustered".into(), Value::Object(clustered_fields(&means, &clusters, conf)));
        if samples.are_binary() {
            answer.extend(wilson_field(&samples, &clusters, conf));
        }
    }
    if means.is_empty() {
        answer.insert("reason".into(), json!(NotEstimable::NoData.code()));
    }
    Value::Object(answer)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => panic!("{other} is no object"),
    }
}
