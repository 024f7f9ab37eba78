//! How often the tests and intervals for special situations are wrong, in simulated runs: looking at
//! a run before it ends, clusters in a comparison, and a judge in place of humans.

use caseload::stats::{
    Clusters, ConfidenceSequence, DEFAULT_TRUNCATION, Labels, Observation, ppi, sign_flip_test, sign_test,
    wilson,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const Z: f64 = 1.959_963_984_540_054;

fn passes(rng: &mut Pcg64, chance: f64) -> f64 {
    f64::from(u8::from(rng.random::<f64>() < chance))
}

/// The share of `runs` runs in which `is_wrong` holds.
fn share_of(runs: u32, mut is_wrong: impl FnMut() -> bool) -> f64 {
    let wrong = (0..runs).filter(|_| is_wrong()).count();
    wrong as f64 / f64::from(runs)
}

#[test]
fn a_confidence_sequence_may_be_looked_at_after_every_case_and_wilson_may_not() {
    let (truth, cases, mut wilson_wrong) = (0.9, 500, 0_u32);
    let mut rng = Pcg64::seed_from_u64(1);
    let missed = share_of(400, || {
        let mut sequence =
            ConfidenceSequence::new(Observation::Score, 0.95, DEFAULT_TRUNCATION).expect("valid");
        let (mut passed, mut wilson_missed) = (0, false);
        for seen in 1..=cases {
            let score = passes(&mut rng, truth);
            sequence.push(score).expect("a score");
            passed += u64::from(score == 1.0);
            let fixed = wilson(passed, seen, Z).expect("valid").expect("there are data");
            wilson_missed |= seen >= 20 && !fixed.contains(truth);
        }
        wilson_wrong += u32::from(wilson_missed);
        !sequence.running().is_some_and(|interval| interval.contains(truth))
    });
    assert!(missed <= 0.05, "the sequence missed the truth in {missed} of the runs");
    assert!(wilson_wrong >= 400 / 5, "Wilson missed it in {wilson_wrong} of 400 runs");
}

/// Two equal targets; within a document their differences have one sign, which is chance.
#[test]
fn the_sign_flip_test_keeps_its_level_with_clusters_and_the_sign_test_does_not() {
    let labels: Vec<u32> = (0..300).map(|case| case / 10).collect();
    let clusters = Clusters::from_labels(&labels);
    let mut rng = Pcg64::seed_from_u64(2);
    let mut ignoring_clusters = 0_u32;
    let mut seed = 0;
    let found = share_of(600, || {
        let mut differences = Vec::with_capacity(labels.len());
        while differences.len() < labels.len() {
            let leaning = 2.0 * passes(&mut rng, 0.5) - 1.0;
            differences.extend((0..10).map(|_| leaning * passes(&mut rng, 0.2)));
        }
        let count = |sign: f64| differences.iter().filter(|&&d| d == sign).count() as u64;
        ignoring_clusters += u32::from(sign_test(count(1.0), count(-1.0)).p_exact <= 0.05);
        seed += 1;
        let test = sign_flip_test(&differences, &clusters, seed, 199).expect("valid");
        test.expect("there are data").p() <= 0.05
    });
    // Three Monte Carlo standard errors of 600 runs at 5 %.
    assert!(found <= 0.05 + 0.027, "{found} of the runs found a difference");
    assert!(ignoring_clusters > 60, "{ignoring_clusters} of 600 when clusters are ignored");
}

/// 30 labels, 1,000 further verdicts of a good judge: its own share is far off, PPI++ is not.
#[test]
fn a_judged_pass_rate_covers_the_truth_with_few_labels() {
    let (truth, sensitivity, specificity) = (0.8, 0.9, 0.85);
    let mut rng = Pcg64::seed_from_u64(3);
    let (mut plain, mut judge_alone) = (0_u32, 0_u32);
    let missed = share_of(1_000, || {
        let mut case = || {
            let human = passes(&mut rng, truth);
            let chance = if human == 1.0 { sensitivity } else { 1.0 - specificity };
            (human, passes(&mut rng, chance))
        };
        let (human, judge_on_human): (Vec<f64>, Vec<f64>) = (0..30).map(|_| case()).unzip();
        let judge_rest: Vec<f64> = (0..1_000).map(|_| case().1).collect();
        let labels = Labels {
            human: &human,
            judge_on_human: &judge_on_human,
            judge_rest: &judge_rest,
            clusters: None,
        };
        let result = ppi(labels, 0.95).expect("valid").expect("there are labels");
        let passed = judge_rest.iter().filter(|&&verdict| verdict == 1.0).count() as u64;
        let alone = wilson(passed, 1_000, Z).expect("valid").expect("there are data");
        judge_alone += u32::from(alone.contains(truth));
        plain += u32::from(result.spread.is_ok_and(|spread| spread.plain.contains(truth)));
        !result.printed.interval.is_ok_and(|interval| interval.contains(truth))
    });
    assert!(missed <= 0.05, "{missed}");
    assert!(plain < 950, "the plain interval covered {plain} of 1000: no pseudo-labels needed?");
    assert!(judge_alone < 100, "the judge alone covered {judge_alone} of 1000");
}
