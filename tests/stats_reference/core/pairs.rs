//! Paired differences, flips, multiplicity and margins.

use caseload::stats::{self, CaseStatus, NotEstimable, PairedSummary, RepeatedCase, SampleTable};
use serde_json::{Map, Value, json};

use super::{clusters, finite, number, numbers, or_null, pair, whole};

pub(super) fn paired(input: &Value) -> Value {
    let cases = input["cases"].as_array().expect("cases");
    let side = |name: &str| -> SampleTable {
        cases.iter().map(|case| case.get(name).map_or(vec![], numbers)).collect()
    };
    let (candidate, baseline) = (side("a"), side("b"));
    let (candidate, baseline) =
        (candidate.as_samples().expect("scores"), baseline.as_samples().expect("scores"));
    let labels: Value = cases.iter().map(|case| case["cluster"].clone()).collect();
    let clusters = clusters(&labels, cases.len());
    let paired = stats::paired_summary(&candidate, &baseline, &clusters).expect("sides of equal length");
    let conf = number(input, "conf");
    let ids =
        |indices: &[usize]| -> Value { indices.iter().map(|&case| cases[case]["id"].clone()).collect() };
    let mut answer = json!({
        "n_both": paired.pairing.both.len(),
        "only_a": ids(&paired.pairing.only_candidate),
        "only_b": ids(&paired.pairing.only_baseline),
        "neither": ids(&paired.pairing.neither),
        "mean_a_all": or_null(paired.mean_candidate_all),
        "mean_b_all": or_null(paired.mean_baseline_all),
        "mean_a": or_null(paired.mean_candidate),
        "mean_b": or_null(paired.mean_baseline),
        "diff": or_null(paired.diff),
        "var_a": or_null(paired.var_candidate),
        "var_b": or_null(paired.var_baseline),
        "var_d": or_null(paired.var_diff),
        "cov": or_null(paired.cov),
        "corr": or_null(paired.corr),
        "corr_latent": or_null(paired.corr_latent),
        "se_a": or_null(paired.se_candidate),
        "se_b": or_null(paired.se_baseline),
        "se_paired": or_null(paired.se_paired),
        "se_unpaired": or_null(paired.se_unpaired),
        "variance_reduction": or_null(paired.variance_reduction),
        "t": or_null(paired.t()),
        "p_t": or_null(paired.p_t()),
        "p_z": or_null(paired.p_z()),
        "ci_t": pair(paired.t_interval(conf).expect("a confidence")),
        "noise_a": or_null(paired.noise_candidate),
        "noise_b": or_null(paired.noise_baseline),
        "omega2_raw": or_null(paired.omega2_raw),
        "omega2": or_null(paired.omega2),
    });
    if let Err(reason) = paired.se_paired {
        answer["reason"] = json!(reason.code());
    }
    if !paired.differences.is_empty() {
        answer["clustered"] = clustered_block(&paired, conf);
        answer["bonett_price"] = bonett_price_block(&paired, conf);
    }
    answer
}

fn clustered_block(paired: &PairedSummary, conf: f64) -> Value {
    let mean = &paired.clustered;
    let test = mean.t_test();
    let mut block = json!({
        "clusters": mean.n_clusters,
        "se_cr0": or_null(mean.se_cr0),
        "se_cr1": or_null(mean.se_cr1),
        "se_cr2": or_null(mean.se_cr2),
        "df_bm": or_null(mean.df_bm),
        "df_ik": or_null(mean.df_ik),
        "deff": or_null(mean.deff),
        "ci_cr2_ik": pair(mean.cr2_ik_interval(conf).expect("a confidence")),
        "t": or_null(test.map(|(t, _)| t)),
        "p": or_null(test.map(|(_, p)| p)),
    });
    if let Err(reason) = mean.se_cr2 {
        block["reason"] = json!(reason.code());
    }
    block
}

fn bonett_price_block(paired: &PairedSummary, conf: f64) -> Value {
    // Differences beyond [-1, 1] have no such interval.
    let Ok(answer) = stats::bonett_price(&paired.differences, &paired.clusters, conf) else {
        return Value::Null;
    };
    let effective = answer.expect("there are pairs");
    json!({
        "carriers": effective.carriers,
        "deff_hat": or_null(effective.deff_hat),
        "deff_max": finite(effective.deff_max),
        "deff_used": finite(effective.deff_used),
        "n_eff": finite(effective.n_eff),
        "quantile": finite(effective.quantile),
        "df": effective.df.map(finite),
        "lo": finite(effective.interval.low),
        "hi": finite(effective.interval.high),
    })
}

pub(super) fn flips(input: &Value) -> Value {
    let mut answer = Map::new();
    let (fixed, broke) = if input["fixed"].is_null() {
        let verdicts =
            |side: &str| -> Vec<bool> { numbers(&input[side]).iter().map(|&score| score == 1.0).collect() };
        let counts =
            stats::count_flips(&verdicts("baseline"), &verdicts("candidate")).expect("sides of equal length");
        for (name, count) in [
            ("still_pass", counts.still_pass),
            ("fixed", counts.fixed),
            ("broke", counts.broke),
            ("still_fail", counts.still_fail),
        ] {
            answer.insert(name.into(), json!(count));
        }
        (counts.fixed, counts.broke)
    } else {
        (whole(input, "fixed"), whole(input, "broke"))
    };
    let test = stats::sign_test(fixed, broke);
    for (name, value) in [
        ("discordant", json!(test.discordant)),
        ("p_exact", finite(test.p_exact)),
        ("p_mid", finite(test.p_mid)),
        ("chi2", or_null(test.chi_square)),
        ("p_chi2", or_null(test.p_chi_square)),
        ("chi2_cc", or_null(test.chi_square_corrected)),
        ("p_chi2_cc", or_null(test.p_chi_square_corrected)),
    ] {
        answer.insert(name.into(), value);
    }
    Value::Object(answer)
}

pub(super) fn flips_with_repeats(input: &Value) -> Value {
    let cases = input["cases"].as_array().expect("cases");
    let counts: Vec<RepeatedCase> = cases
        .iter()
        .map(|case| RepeatedCase {
            base_pass: whole(case, "base_pass"),
            base_k: whole(case, "base_k"),
            cand_pass: whole(case, "cand_pass"),
            cand_k: whole(case, "cand_k"),
        })
        .collect();
    let q = input["q"].as_f64().unwrap_or(0.05);
    let flips = stats::repeated_flips(&counts, q).expect("passes within samples");
    let per_case: Vec<Value> = cases
        .iter()
        .zip(&flips.cases)
        .map(|(case, flip)| {
            let Ok(test) = flip.test else {
                let status = flip.status.code();
                return json!({"id": case["id"], "status": status, "reason": status});
            };
            json!({
                "id": case["id"],
                "shift": finite(test.shift),
                "prob_worse": finite(test.prob_worse),
                "p_worse": finite(test.p_worse),
                "p_better": finite(test.p_better),
                "p_two": finite(test.p_two),
                "p_min_worse": finite(test.p_min_worse),
                "p_min_better": finite(test.p_min_better),
                "q_worse": test.q_worse.map(finite),
                "q_better": test.q_better.map(finite),
                "status": flip.status.code(),
            })
        })
        .collect();
    let statuses: Map<String, Value> = CaseStatus::ALL
        .iter()
        .map(|&status| (status.code().to_owned(), json!(flips.count(status))))
        .collect();
    json!({
        "per_case": per_case,
        "counts": statuses,
        "tests_worse": flips.tests_worse,
        "tests_better": flips.tests_better,
    })
}

pub(super) fn multiplicity(input: &Value) -> Value {
    let p_values: Vec<Option<f64>> =
        input["p"].as_array().expect("p values").iter().map(Value::as_f64).collect();
    let holm = stats::holm(&p_values).expect("probabilities");
    let bh = stats::benjamini_hochberg(&p_values).expect("probabilities");
    let rejected = |adjusted: &[Option<f64>]| -> Vec<Value> {
        adjusted.iter().map(|p| p.map_or(Value::Null, |p| json!(stats::at_most(p, 0.05)))).collect()
    };
    json!({
        "holm": holm.iter().map(|p| p.map(finite)).collect::<Vec<_>>(),
        "bh": bh.iter().map(|p| p.map(finite)).collect::<Vec<_>>(),
        "reject_holm_05": rejected(&holm),
        "reject_bh_05": rejected(&bh),
    })
}

pub(super) fn noninferiority(input: &Value) -> Value {
    let (diff, se, df) = if input["candidate"].is_null() {
        let of = |field: &str| input[field].as_f64().ok_or(NotEstimable::NoData);
        (of("diff"), of("se"), input["df"].as_f64())
    } else {
        let pairs = numbers(&input["candidate"]);
        let differences: Vec<f64> =
            pairs.iter().zip(numbers(&input["baseline"])).map(|(a, b)| a - b).collect();
        let summary = stats::mean_summary(&differences).expect("finite scores");
        (summary.mean, summary.se, summary.df().ok())
    };
    let alpha = number(input, "alpha");
    let test = stats::margin_test(diff, se, df, number(input, "delta"), alpha).expect("a margin");
    json!({
        "diff": or_null(diff),
        "se": or_null(se),
        "df": df.map(finite),
        "p_noninferior": or_null(test.p_noninferior),
        "p_not_superior_by_delta": or_null(test.p_not_superior),
        "p_tost": or_null(test.p_tost),
        "lower_bound": or_null(test.lower_bound),
        "ci": pair(test.interval),
        "verdict": test.verdict.code(),
    })
}
