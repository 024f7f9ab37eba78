//! What planned and unmeasured trials do to a headline, on sides made by hand and by chance.

#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small numbers"
)]

use super::*;
use crate::compare::{difference::Counts, pairing::Pairing};

/// The verdict seen from the other side.
fn mirrored(verdict: &str) -> &str {
    match verdict {
        "better" => "worse",
        "worse" => "better",
        same => same,
    }
}

fn compared(a: &Side, b: &Side) -> Comparison {
    compare(a, b, &options(Gates::default())).unwrap()
}

/// The headline alone, at a fraction of the time.
fn headline(a: &Side, b: &Side) -> Difference {
    let Pairing { matched, .. } = Pairing::of(a, b, false).unwrap();
    Counts::of(a, b, &matched).difference_by(9).0
}

/// A side of `cases` whose trials pass with probability `rate` and are measured with probability `kept`
/// where they pass, `kept_wrong` where they fail.
fn drawn(rng: &mut SplitMix64, label: &str, cases: usize, repeats: u32, odds: [f64; 3]) -> Side {
    let [rate, kept, kept_wrong] = odds;
    let mut yes = |odds: f64| (rng.below(1_000_000) as f64) < odds * 1e6;
    let counts: Vec<(u32, u32)> = (0..cases)
        .map(|_| {
            (0..repeats).fold((0, 0), |(passes, measured), _| {
                let pass = yes(rate);
                let kept = u32::from(yes(if pass { kept } else { kept_wrong }));
                (passes + kept * u32::from(pass), measured + kept)
            })
        })
        .collect();
    side(label, repeats, &counts)
}

/// A random world: small or large, alike or not, with few or many trials missing, by chance or not.
fn world(seed: u64) -> [Side; 2] {
    let mut rng = SplitMix64::stream(seed, 0);
    let mut of = |values: &[f64]| values[rng.below(values.len())];
    let (cases, repeats) = (of(&[5.0, 40.0, 120.0]) as usize, of(&[1.0, 2.0, 4.0]) as u32);
    let odds = [(); 2].map(|()| {
        let kept = of(&[1.0, 0.99, 0.95, 0.7]);
        [of(&[0.2, 0.6, 0.65, 0.95]), kept, kept * of(&[1.0, 1.0, 0.8, 0.0])]
    });
    let [a, b] = odds;
    [drawn(&mut rng, "a", cases, repeats, a), drawn(&mut rng, "b", cases, repeats, b)]
}

/// The side with its missing trials answered, each right with probability `rate`.
fn answered(rng: &mut SplitMix64, side: &Side, rate: f64) -> Side {
    let mut whole = side.clone();
    for case in &mut whole.cases {
        for _ in 0..case.missing() {
            case.count.add((rng.below(1_000) as f64) < rate * 1e3);
        }
    }
    whole
}

fn mirror_and_never_turn(worlds: u64) {
    let mut claims = 0;
    for seed in 0..worlds {
        let [a, b] = world(seed);
        let (there, back) = (headline(&a, &b), headline(&b, &a));
        assert_eq!(there.verdict, mirrored(back.verdict), "world {seed}");
        let point = |way: Amount| way.point.map(|point| (point * 1e9).round() + 0.0);
        if let (Some(there), Some(back)) = (there.if_missing, back.if_missing) {
            assert_eq!(there.trials, back.trials);
            let turned = point(back.for_candidate).map(|point| 0.0 - point);
            assert_eq!(point(there.against_candidate), turned, "world {seed}");
        }
        claims += u64::from(there.verdict != "undetermined" && there.if_missing.is_some());
        let mut rng = SplitMix64::stream(seed, 1);
        for rates in [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.5, 0.5]] {
            let (a, b) = (answered(&mut rng, &a, rates[0]), answered(&mut rng, &b, rates[1]));
            let whole = headline(&a, &b).verdict;
            let opposite = whole == "better" && there.verdict == "worse"
                || whole == "worse" && there.verdict == "better";
            assert!(!opposite, "world {seed}: {} with missing trials, {whole} with answers", there.verdict);
        }
    }
    println!("{worlds} worlds, {claims} claims in spite of missing trials");
    assert!(claims * 50 > worlds, "only {claims} of {worlds} worlds with missing trials allow a claim");
}

#[test]
fn both_orders_mirror_and_no_answer_of_a_missing_trial_turns_the_headline() {
    mirror_and_never_turn(60);
}

#[test]
#[ignore = "500 worlds: cargo test --lib -- --ignored five_hundred_worlds"]
fn five_hundred_worlds_mirror_and_are_never_turned() {
    mirror_and_never_turn(500);
}

/// Identical targets; seven of eight wrong answers of the candidate come back filtered.
fn informative(seed: u64) -> [Side; 2] {
    let mut rng = SplitMix64::stream(seed, 2);
    let a = drawn(&mut rng, "a", 60, 4, [0.6, 1.0, 1.0]);
    [a, drawn(&mut rng, "b", 60, 4, [0.6, 1.0, 0.125])]
}

#[test]
fn wrong_answers_that_are_filtered_make_nothing_better() {
    let [a, b] = informative(1);
    let comparison = compared(&a, &b);
    assert!(comparison.difference.low.unwrap() > 0.2, "as measured it is far better");
    assert_eq!(comparison.difference.verdict, "undetermined");
    let said = &comparison.words;
    assert!(said.starts_with("cannot tell: +") && said.contains("`caseload resume`"), "{said}");
    assert!(said.contains("trials that were not measured leave anything from −"), "{said}");
    assert!(comparison.flips.rows.iter().all(|row| row.mark != Mark::Real), "{:?}", comparison.flips.rows);
}

/// All that were missing were wrong: taken against the candidate, what is left is a test at 2.5 %.
#[test]
#[ignore = "1,000 nights: cargo test --lib -- --ignored informative_missingness"]
fn informative_missingness_says_better_no_oftener_than_chance_and_worse_never() {
    let nights: Vec<&str> = (0..1_000)
        .map(|seed| {
            let [a, b] = informative(seed);
            headline(&a, &b).verdict
        })
        .collect();
    let said = |verdict| nights.iter().filter(|said| **said == verdict).count();
    println!("1,000 nights: {} better, {} worse", said("better"), said("worse"));
    assert!(said("better") <= 35);
    assert_eq!(said("worse"), 0);
}

/// 220 pairs of which six broke, and four more without an answer of the candidate, which the baseline
/// has right or wrong.
fn six_broke_four_missing(right: u32) -> [Side; 2] {
    let counts = |of: [(u32, u32); 3]| -> Vec<(u32, u32)> {
        [vec![of[0]; 6], vec![of[1]; 214], vec![of[2]; 4]].concat()
    };
    let a = counts([(1, 1), (1, 1), (right, 1)]);
    [side("a", 1, &a), side("b", 1, &counts([(0, 1), (1, 1), (0, 0)]))]
}

#[test]
fn what_cannot_tell_in_one_order_cannot_tell_in_the_other() {
    let [a, b] = six_broke_four_missing(0);
    let (there, back) = (compared(&a, &b), compared(&b, &a));
    assert_eq!([there.difference.verdict, back.difference.verdict], ["undetermined"; 2]);
    for words in [&there.words, &back.words] {
        assert!(words.starts_with("cannot tell: ") && words.contains("the 4 trials"), "{words}");
    }
    // What the baseline has right cannot be fixed.
    let [a, b] = six_broke_four_missing(1);
    let (there, back) = (compared(&a, &b), compared(&b, &a));
    assert_eq!([there.difference.verdict, back.difference.verdict], ["worse", "better"]);
}

#[test]
fn a_claim_in_spite_of_missing_trials_is_as_large_as_they_allow() {
    let mut counts = vec![(1, 1); 200];
    counts[..60].fill((0, 1));
    let whole = side("b", 1, &counts);
    counts[199] = (0, 0);
    let holed = side("b", 1, &counts);
    let a = side("a", 1, &[(1, 1); 200]);
    let (all, but_one) = (compared(&a, &whole), compared(&a, &holed));
    assert_eq!((all.difference.verdict, but_one.difference.verdict), ("worse", "worse"));
    assert!(all.difference.if_missing.is_none());
    let missing = but_one.difference.if_missing.unwrap();
    assert_eq!((missing.trials, missing.for_candidate.point), (1, Some(-0.3)));
    // At least: by the interval that is kindest to the candidate.
    let least = format!("at least {:.1}", -missing.for_candidate.high.unwrap() * 100.0);
    assert!(but_one.words.ends_with(&least), "{} {least}", but_one.words);
}

#[test]
fn no_difference_is_only_claimed_within_what_missing_trials_allow() {
    let mut counts = vec![(3, 3); 400];
    let a = side("a", 3, &counts);
    assert!(compared(&a, &side("b", 3, &counts)).words.starts_with("no difference larger than 0.7 points"));
    counts[..3].fill((2, 2));
    let said = compared(&a, &side("b", 3, &counts)).words;
    assert!(said.starts_with("no difference larger than 1 points"), "{said}");
}

#[test]
fn graders_and_slices_hold_both_ways_too() {
    let [mut a, mut b] = six_broke_four_missing(0);
    for side in [&mut a, &mut b] {
        for case in &mut side.cases {
            case.hard = case.count;
            case.segment.insert("intent".to_owned(), "refund".to_owned());
        }
        let counts = side.cases.iter().map(|case| case.count).collect();
        let (name, kind, version) = ("json".to_owned(), "json".to_owned(), "1".to_owned());
        side.graders.push(SideGrader { name, hard: true, kind, version, counts });
    }
    let comparison = compared(&a, &b);
    let differences = [
        &comparison.segments[0].difference,
        &comparison.graders[0].difference,
        comparison.structural.as_ref().unwrap(),
    ];
    for difference in differences {
        assert_eq!(difference.verdict, "undetermined");
        assert_eq!(difference.if_missing.unwrap().trials, 4);
    }
}

#[test]
fn a_grader_has_no_missing_trials_in_cases_that_are_not_its_own() {
    let [mut a, mut b] = [side("a", 1, &[(1, 1); 20]), side("b", 1, &[(1, 1); 20])];
    for side in [&mut a, &mut b] {
        side.cases[0].hard = Count { measured: 1, passes: 1 };
    }
    let structural = compared(&a, &b).structural.unwrap();
    assert_eq!((structural.n_cases, structural.if_missing), (1, None));
}

#[test]
fn hard_failures_are_not_told_where_a_case_was_measured_nowhere_and_none_are_where_no_grader_is_hard() {
    let gates = Gates { no_new_hard_failures: true, ..Gates::default() };
    let mut counts = [(2, 2); 10];
    counts[3] = (0, 0);
    let [mut a, mut b] = [side("a", 2, &counts), side("b", 2, &counts)];
    let said = |a: &Side, b: &Side| {
        let comparison = compare(a, b, &options(gates.clone())).unwrap();
        gate(&comparison, "no_new_hard_failures").verdict
    };
    assert_eq!(said(&a, &b), GateVerdict::Pass);
    for side in [&mut a, &mut b] {
        side.cases[0].hard = Count { measured: 2, passes: 2 };
    }
    assert_eq!(said(&a, &b), GateVerdict::CannotTell);
}
