//! The whole comparison of two sides, or of several with the first.

use std::collections::{HashMap, HashSet};

use jiff::civil::Date;

use super::{
    comparison::{
        Amount, Comparison, Confirmed, Difference, Direction, Matrix, MatrixRow, SCHEMA_VERSION, SideInfo,
        Verdict,
    },
    cost::{cost, retrieval},
    difference::{self, Counts, DEFAULT_AIM},
    error::CompareError,
    flips::flips,
    gates::{Paired, covers, judge_side},
    latency::latency,
    pairing::Pairing,
    side::Side,
    sign_offs::{self, SignOff},
};
use crate::{
    config::{Gates, gates_of_stored},
    domain::CaseId,
    stats::{self, Clusters, SampleTable},
};

/// How two sides are to be compared.
#[derive(Clone, Debug)]
pub struct Options {
    /// Compare although graders of the same name differ.
    pub allow_grader_change: bool,
    /// Gates of a file; `None` takes those the candidate's run was started with.
    pub gates: Option<Gates>,
    /// What fresh answers said of flips.
    pub confirmed: HashMap<CaseId, Confirmed>,
    /// The day on which sign-offs must hold.
    pub today: Date,
}

/// Compares `b`, the candidate, with `a`, the baseline.
///
/// # Errors
/// The sides are not comparable, or the file of sign-offs is wrong.
pub fn compare(a: &Side, b: &Side, options: &Options) -> Result<Comparison, CompareError> {
    let Pairing { matched, left_out, grader_changes } = Pairing::of(a, b, options.allow_grader_change)?;
    let frozen = frozen_gates(b)?;
    let gates = options.gates.as_ref().unwrap_or(&frozen);
    let gates_edited = if b.gates.is_some() { frozen.differences(gates) } else { vec![] };
    let sign_offs = read_sign_offs(gates, a, b)?;

    let counts = Counts::of(a, b, &matched);
    let (difference, paired) = counts.difference();
    let aim = gates.non_inferiority_margin.map_or(DEFAULT_AIM, |margin| margin.margin);
    let power = difference::power(&paired, aim);
    let mut flips = flips(a, b, &matched);
    let uses = {
        let flipped: HashSet<(&CaseId, Direction)> =
            flips.rows.iter().map(|row| (&row.id, row.direction)).collect();
        sign_offs::uses(&sign_offs, &flipped, options.today)
    };
    for row in &mut flips.rows {
        row.confirmed = options.confirmed.get(&row.id).copied();
        let signed =
            |one: &&super::SignOffUse| one.case == row.id && one.direction == row.direction && holds(one);
        row.signed_off = uses.iter().find(signed).map(|one| format!("{}: {}", one.who, one.why));
    }
    let cost = cost(a, b, &matched);
    let mut results = Paired {
        a,
        b,
        matched: &matched,
        cost: &cost,
        power: &power,
        signed: uses
            .iter()
            .filter(|one| covers(one.direction) && one.state != "expired")
            .map(|one| one.case.clone())
            .collect(),
        confirmed: &options.confirmed,
    }
    .judge(gates);
    results.extend(judge_side(gates, b));
    for result in &mut results {
        result.edited = gates_edited.iter().any(|name| name == result.name);
    }
    Ok(Comparison {
        schema_version: SCHEMA_VERSION,
        sides: [
            info(a, matched.iter().map(|pair| pair.a), &counts.cluster),
            info(b, matched.iter().map(|pair| pair.b), &counts.cluster),
        ],
        pairs: difference.n_cases,
        words: difference::words(&difference, &power),
        notes: notes(&difference, &flips),
        splits: difference::splits(b, &matched, &counts),
        segments: difference::segments(b, &matched, &counts),
        graders: difference::graders(a, b, &matched, &counts),
        structural: difference::structural(a, b, &matched, &counts),
        latency_ms: latency(a, b, &matched),
        retrieval: retrieval(a, b, &matched),
        verdict: Verdict::of(&results),
        left_out,
        difference,
        power,
        flips,
        cost,
        gates: results,
        gates_edited,
        sign_offs: uses,
        grader_changes,
    })
}

/// Compares every side but the first with the first; p-values are adjusted over the candidates.
///
/// # Errors
/// As [`compare`], for each candidate.
pub fn compare_all(sides: &[Side], options: &Options) -> Result<Matrix, CompareError> {
    let Some((baseline, candidates)) = sides.split_first() else {
        return Ok(Matrix { schema_version: SCHEMA_VERSION, rows: vec![], verdict: Verdict::NoGates });
    };
    let compared: Vec<Comparison> =
        candidates.iter().map(|side| compare(baseline, side, options)).collect::<Result<_, _>>()?;
    let p_values: Vec<Option<f64>> = compared.iter().map(|one| one.difference.p).collect();
    let adjusted = stats::holm(&p_values).expect("p-values lie between 0 and 1");
    let gates: Vec<_> = compared.iter().flat_map(|one| one.gates.clone()).collect();
    let rows = adjusted.into_iter().zip(compared);
    Ok(Matrix {
        schema_version: SCHEMA_VERSION,
        rows: rows.map(|(p_adjusted, comparison)| MatrixRow { p_adjusted, comparison }).collect(),
        verdict: Verdict::of(&gates),
    })
}

/// The gates a side's run was started with.
///
/// # Errors
/// They are not gates as this version knows them.
pub fn frozen_gates(side: &Side) -> Result<Gates, CompareError> {
    side.gates.as_ref().map_or_else(
        || Ok(Gates::default()),
        |gates| {
            gates_of_stored(gates)
                .map_err(|source| CompareError::FrozenGates { run: side.run.clone(), source })
        },
    )
}

fn holds(one: &super::SignOffUse) -> bool {
    one.state != "expired"
}

fn read_sign_offs(gates: &Gates, a: &Side, b: &Side) -> Result<Vec<SignOff>, CompareError> {
    let Some(file) = &gates.sign_offs else { return Ok(vec![]) };
    let known: HashSet<&CaseId> = a.cases.iter().chain(&b.cases).map(|case| &case.id).collect();
    Ok(SignOff::read(file, &known)?)
}

fn info(side: &Side, positions: impl Iterator<Item = usize>, clusters: &[u32]) -> SideInfo {
    let totals = &side.totals;
    let mut table = SampleTable::default();
    let mut labels = vec![];
    for (at, cluster) in positions.zip(clusters) {
        let count = side.cases[at].count;
        if count.measured > 0 {
            let passes = std::iter::repeat_n(1.0, count.passes as usize);
            let fails = std::iter::repeat_n(0.0, (count.measured - count.passes) as usize);
            table.push_case(passes.chain(fails));
            labels.push(*cluster);
        }
    }
    let samples = table.as_samples().expect("scores are 0 or 1");
    let rate = stats::pass_rate(&samples, &Clusters::from_labels(&labels), difference::CONFIDENCE)
        .expect("scores are 0 or 1 and every case was measured");
    let estimate = rate.estimate.ok();
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more than a float")]
    let cached = totals.cached_tokens as f64 / totals.input_tokens as f64;
    SideInfo {
        label: side.label.clone(),
        run: side.run.clone(),
        target: side.target.clone(),
        model: side.model.clone(),
        golden_name: side.golden_name.clone(),
        golden_fingerprint: side.golden_fingerprint.to_string(),
        cases: side.cases.len(),
        trials: totals.planned,
        graded: totals.graded,
        not_measured: totals.not_measured.clone(),
        pass_rate: Amount {
            point: estimate.as_ref().map(|estimate| estimate.point),
            low: estimate.as_ref().and_then(stats::Estimate::low),
            high: estimate.as_ref().and_then(stats::Estimate::high),
        },
        cost_usd: totals.cost_usd,
        cost_unknown_trials: totals.cost_unknown,
        cached_share: (totals.input_tokens > 0).then_some(cached),
        output_tokens: totals.output_tokens,
        latency_ms: totals.latency_ms,
    }
}

fn notes(difference: &Difference, flips: &super::Flips) -> Vec<String> {
    let mut notes = vec![];
    if difference.n_clusters < difference.n_cases {
        let effect = difference.design_effect.map(|deff| format!(", design effect {deff:.2}"));
        notes.push(format!(
            "{} cases form {} clusters{}: the flips' sign test ignores them, the difference's p-value does not",
            difference.n_cases,
            difference.n_clusters,
            effect.unwrap_or_default()
        ));
    }
    if let Some(missing) = &difference.if_missing {
        let point =
            |way: &Amount| way.point.map_or_else(|| "nothing known".to_owned(), difference::signed_points);
        notes.push(format!(
            "{} planned trials were not measured, and not measured is not wrong: all against the candidate the \
             difference were {}, all for it {}; what is said above holds both ways, or says that it cannot tell",
            missing.trials,
            point(&missing.against_candidate),
            point(&missing.for_candidate),
        ));
    }
    if flips.repeats_too_few && flips.rows.iter().any(|row| row.mark == super::Mark::WithinNoise) {
        notes.push(
            "the repeats are too few to name any single flip real: `caseload confirm` asks them again"
                .to_owned(),
        );
    }
    notes
}

/// What the gates say, without the rest of a comparison: for simulations.
#[cfg(test)]
pub(super) fn judge_pair(a: &Side, b: &Side, gates: &Gates) -> Vec<super::GateResult> {
    let Pairing { matched, .. } = Pairing::of(a, b, false).expect("simulated sides are comparable");
    let paired = Paired {
        a,
        b,
        matched: &matched,
        cost: &cost(a, b, &matched),
        power: &super::Power::default(),
        signed: HashSet::new(),
        confirmed: &HashMap::new(),
    };
    let mut results = paired.judge(gates);
    results.extend(judge_side(gates, b));
    results
}
