//! Adapters: latency, medians, ratios, projections and retrieval.

use caseload::stats::{self, Clusters, Estimable, Level, Query, SampleTable};
use serde_json::{Map, Value, json};

use super::{add_reason, array, clusters, integer, number, numbers, pair, reason, size, value};

fn order_interval(order: &stats::OrderInterval) -> Value {
    json!({
        "rank_lo": order.rank_low,
        "rank_hi": order.rank_high,
        "lo": order.low,
        "hi": order.high,
        "coverage": order.coverage,
    })
}

pub(super) fn latency(input: &Value) -> Value {
    let values = numbers(input, "x");
    let clusters = clusters(&input["clusters"], values.len());
    let levels = [Level::P50, Level::P90, Level::P95, Level::P99];
    let names = ["p50", "p90", "p95", "p99"];
    let result = stats::quantiles(&values, &clusters, &levels, number(input, "conf")).expect("good input");
    let mut fields = Map::new();
    for (place, name) in names.into_iter().enumerate() {
        let quantile = result.as_ref().map(|quantiles| quantiles[place]);
        let answer = match quantile {
            Err(why) => json!({
                "nearest_rank": null, "type7": null, "reason": reason(*why),
            }),
            Ok(quantile) => {
                let mut answer = json!({
                    "nearest_rank": quantile.nearest_rank,
                    "type7": quantile.type_7,
                    "order_ci": order_interval(&quantile.order),
                });
                answer["woodruff"] = match quantile.woodruff {
                    Ok(woodruff) => json!({
                        "se_cdf": woodruff.se_share,
                        "df": woodruff.df,
                        "p_lo": woodruff.level_low,
                        "p_hi": woodruff.level_high,
                        "lo": woodruff.low,
                        "hi": woodruff.high,
                    }),
                    Err(why) => json!({
                        "se_cdf": null, "df": null, "p_lo": null, "p_hi": null, "lo": null,
                        "hi": null, "reason": reason(why),
                    }),
                };
                answer
            }
        };
        fields.insert(name.to_owned(), answer);
    }
    Value::Object(fields)
}

pub(super) fn paired_medians(input: &Value) -> Value {
    let (candidate, baseline) = (numbers(input, "candidate"), numbers(input, "baseline"));
    let (seed, replicates) = (integer(input, "seed"), size(input, "replicates"));
    let result = stats::paired_medians(&candidate, &baseline, seed, replicates, number(input, "conf"))
        .expect("good input");
    match result {
        Ok(result) => json!({
            "median_of_differences": result.median_of_differences,
            "order_ci": order_interval(&result.order),
            "sign_test": result.sign_test,
            "zeros": result.zeros,
            "difference_of_medians": result.difference_of_medians,
            "difference_of_medians_percentile_ci": pair(result.difference_interval),
        }),
        Err(why) => json!({
            "median_of_differences": null, "sign_test": null, "zeros": 0,
            "difference_of_medians": null,
            "difference_of_medians_percentile_ci": [null, null], "reason": reason(why),
        }),
    }
}

pub(super) fn ratio(input: &Value) -> Value {
    let (y, x) = (numbers(input, "y"), numbers(input, "x"));
    let clusters = clusters(&input["clusters"], y.len());
    let result = stats::ratio(&y, &x, &clusters, number(input, "conf")).expect("good input");
    let spread = result.and_then(|result| result.spread);
    let mut fields = json!({
        "ratio": value(result.map(|result| result.ratio)),
        "se": value(spread.map(|spread| spread.se)),
        "df": value(spread.map(|spread| spread.df)),
        "ci": pair(spread.map(|spread| spread.interval)),
        "fieller": pair(spread.and_then(|spread| spread.fieller)),
        "fieller_g": value(spread.map(|spread| spread.fieller_g)),
    });
    add_reason(&mut fields, spread.err());
    fields
}

pub(super) fn projection(input: &Value) -> Value {
    if input["segments"].is_object() {
        return stratified_projection(input);
    }
    let result = match projected(input, size(input, "k"), number(input, "conf")) {
        Ok(result) => result,
        Err(why) => return json!({ "total": null, "pi": [null, null], "reason": reason(why) }),
    };
    let spread = result.spread;
    let mut fields = json!({
        "total": result.total,
        "mean_per_sample": result.mean_per_sample,
        "var_mean_part": value(spread.map(|spread| spread.variance_of_mean)),
        "var_future_part": value(spread.map(|spread| spread.variance_of_future)),
        "se_pred": value(spread.map(|spread| spread.se)),
        "df": value(spread.map(|spread| spread.df)),
        "components_split": spread.ok().map(|spread| spread.components_split),
        "pi": pair(spread.map(|spread| spread.prediction)),
        "ci_expected": pair(spread.map(|spread| spread.expected)),
    });
    add_reason(&mut fields, spread.err());
    fields
}

fn projected(input: &Value, k: usize, confidence: f64) -> Estimable<stats::Projection> {
    let pilot: SampleTable = array(input, "samples")
        .iter()
        .map(|case| {
            let costs = case.as_array().expect("samples of a case");
            costs.iter().map(|cost| cost.as_f64().expect("a cost")).collect::<Vec<_>>()
        })
        .collect();
    let pilot = pilot.as_samples().expect("good input");
    let clusters = clusters(&input["clusters"], pilot.n_cases());
    stats::project_total(pilot, &clusters, size(input, "n_cases"), k, confidence).expect("good input")
}

fn stratified_projection(input: &Value) -> Value {
    let (k, confidence) = (size(input, "k"), number(input, "conf"));
    let strata: Estimable<Vec<stats::Projection>> = input["segments"]
        .as_object()
        .expect("segments by name")
        .values()
        .map(|segment| projected(segment, k, confidence))
        .collect();
    let sum = strata.and_then(|strata| stats::add_strata(&strata, confidence).expect("good input"));
    let spread = sum.as_ref().map_err(|&why| why).and_then(|sum| sum.spread);
    let mut fields = json!({
        "total": value(sum.as_ref().map(|sum| sum.total).map_err(|&why| why)),
        "se_pred": value(spread.map(|spread| spread.se)),
        "df": value(spread.map(|spread| spread.df)),
        "pi": pair(spread.map(|spread| spread.prediction)),
        "ci_expected": pair(spread.map(|spread| spread.expected)),
    });
    add_reason(&mut fields, spread.err());
    fields
}

/// What a query retrieved, and its documents with their grades.
type Row = (Vec<String>, Vec<(String, f64)>);

pub(super) fn retrieval(input: &Value) -> Value {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let rows: Vec<Row> = array(input, "queries")
        .iter()
        .map(|query| {
            let relevant = query["relevant"].as_object().expect("grades by document");
            (
                array(query, "retrieved").iter().map(text).collect(),
                relevant.iter().map(|(id, grade)| (id.clone(), grade.as_f64().expect("a grade"))).collect(),
            )
        })
        .collect();
    let queries: Vec<Query<'_, String>> =
        rows.iter().map(|(retrieved, relevant)| Query { retrieved, relevant }).collect();
    let clusters = Clusters::singletons(queries.len());
    let result = stats::retrieval(&queries, &clusters, size(input, "k"), 0.95).expect("good input");
    let metric = |metric: &stats::MetricMean| {
        json!({
            "mean": value(metric.mean),
            "se": value(metric.se),
            "per_query": metric.per_query,
        })
    };
    let mut hit_rate = metric(&result.hit_rate);
    hit_rate["wilson"] = pair(result.hit_rate_interval);
    json!({
        "n_scored": result.n_scored,
        "n_skipped": result.n_skipped,
        "hit_rate": hit_rate,
        "recall": metric(&result.recall),
        "mrr": metric(&result.reciprocal_rank),
        "ndcg": metric(&result.ndcg),
        "ndcg_exp": metric(&result.ndcg_exponential),
    })
}
