//! Tests of whole comparisons, on sides made by hand.

use std::collections::{BTreeMap, HashMap};

use jiff::civil::date;

use super::*;
use crate::{
    config::{CountedFlips, FlipBudget, Gates, Margin, MinPassRate, RateOn},
    domain::{CaseId, Fingerprint, PassIf},
    stats::SplitMix64,
};

mod missing;

/// A side whose cases `c0`, `c1`, … have these counts (passes, measured) of `planned` repeats.
fn side(label: &str, planned: u32, counts: &[(u32, u32)]) -> Side {
    let cases: Vec<SideCase> = counts
        .iter()
        .enumerate()
        .map(|(at, &(passes, measured))| SideCase {
            id: CaseId::from(format!("c{at}")),
            fingerprint: Fingerprint::of(&at.to_le_bytes()),
            split: None,
            cluster: format!("c{at}"),
            weight: 1.0,
            segment: BTreeMap::new(),
            pass_if: PassIf::Majority,
            planned,
            count: Count { measured, passes },
            hard: Count::default(),
            cost_usd: Some(0.001),
            input_tokens: Some(100.0),
            output_tokens: Some(20.0),
            latency_ms: Some(500.0),
            retrieval: None,
        })
        .collect();
    let totals = SideTotals {
        planned: u64::from(planned) * counts.len() as u64,
        graded: counts.iter().map(|(_, measured)| u64::from(*measured)).sum(),
        ..SideTotals::default()
    };
    Side {
        label: label.to_owned(),
        run: label.to_owned(),
        target: "t".to_owned(),
        model: "m".to_owned(),
        stored: None,
        golden_fingerprint: Fingerprint::of(b"set"),
        golden_name: "set".to_owned(),
        created_at: None,
        gates: None,
        cases,
        graders: vec![],
        totals,
    }
}

fn verdicts(label: &str, verdicts: &[u32]) -> Side {
    let counts: Vec<(u32, u32)> = verdicts.iter().map(|pass| (*pass, 1)).collect();
    side(label, 1, &counts)
}

fn options(gates: Gates) -> Options {
    Options {
        allow_grader_change: false,
        gates: Some(gates),
        confirmed: HashMap::new(),
        today: date(2027, 1, 1),
    }
}

/// The gates of `config/model-upgrade.toml`.
fn shipped_gates() -> Gates {
    let gates = crate::config::read_gates(std::path::Path::new("config/model-upgrade.toml")).unwrap();
    assert_eq!(gates.non_inferiority_margin, Some(Margin { margin: 0.02, confidence: 0.95 }));
    assert_eq!(gates.flip_budget.map(|budget| budget.which), Some(CountedFlips::Real));
    gates
}

fn gate<'c>(comparison: &'c Comparison, name: &str) -> &'c GateResult {
    comparison.gates.iter().find(|gate| gate.name == name).expect("the gate was judged")
}

#[test]
fn five_cases_of_which_one_was_fixed() {
    let comparison = compare(
        &verdicts("a", &[1, 1, 0, 0, 1]),
        &verdicts("b", &[1, 1, 1, 0, 1]),
        &options(Gates::default()),
    )
    .unwrap();
    let difference = &comparison.difference;
    assert!((difference.point.unwrap() - 0.2).abs() < 1e-12);
    assert!((difference.se.unwrap() - 0.2).abs() < 1e-12);
    assert_eq!(comparison.flips.fixed, [CaseId::from("c2")]);
    assert!(comparison.flips.broke.is_empty());
    assert_eq!((comparison.flips.still_passes, comparison.flips.still_fails), (3, 1));
    assert_eq!(comparison.verdict, Verdict::NoGates);
}

#[test]
fn eight_fixed_and_two_broken_are_no_proof() {
    let a: Vec<u32> = (0..20).map(|at| u32::from(!(0..8).contains(&at))).collect();
    let b: Vec<u32> = (0..20).map(|at| u32::from(!(8..10).contains(&at))).collect();
    let comparison = compare(&verdicts("a", &a), &verdicts("b", &b), &options(Gates::default())).unwrap();
    assert_eq!((comparison.flips.fixed.len(), comparison.flips.broke.len()), (8, 2));
    assert!((comparison.flips.mcnemar_p - 0.109_375).abs() < 1e-12);
    assert_eq!(comparison.flips.sign_test_p, comparison.flips.mcnemar_p);
    assert_eq!(comparison.difference.p, Some(comparison.flips.mcnemar_p));
}

#[test]
fn real_flips_are_told_from_noise() {
    let a = side("a", 8, &[(8, 8), (8, 8), (5, 8), (0, 8)]);
    let b = side("b", 8, &[(0, 8), (8, 8), (4, 8), (8, 8)]);
    let comparison = compare(&a, &b, &options(Gates::default())).unwrap();
    let rows: Vec<(&str, Direction, Mark)> =
        comparison.flips.rows.iter().map(|row| (row.id.as_str(), row.direction, row.mark)).collect();
    assert_eq!(
        rows,
        [
            ("c0", Direction::Broke, Mark::Real),
            ("c3", Direction::Fixed, Mark::Real),
            ("c2", Direction::Broke, Mark::WithinNoise),
        ]
    );
}

#[test]
fn what_is_not_on_both_sides_is_listed_and_not_counted() {
    let a = verdicts("a", &[1, 1, 1, 1]);
    let mut b = side("b", 1, &[(1, 1), (1, 1), (0, 0), (1, 1)]);
    b.cases[0].id = CaseId::from("new");
    b.cases[1].fingerprint = Fingerprint::of(b"edited");
    let comparison = compare(&a, &b, &options(Gates::default())).unwrap();
    assert_eq!(comparison.left_out.new, [CaseId::from("new")]);
    assert_eq!(comparison.left_out.gone, [CaseId::from("c0")]);
    assert_eq!(comparison.left_out.changed, [CaseId::from("c1")]);
    assert_eq!(comparison.left_out.not_measured, [CaseId::from("c2")]);
    assert_eq!(comparison.pairs, 1);
}

#[test]
fn graders_of_other_versions_do_not_compare() {
    let grader = |version: &str| SideGrader {
        name: "words".to_owned(),
        hard: false,
        kind: "words".to_owned(),
        version: version.to_owned(),
        counts: vec![],
    };
    let (mut a, mut b) = (verdicts("a", &[1, 0]), verdicts("b", &[1, 1]));
    a.graders.push(grader("1"));
    b.graders.push(grader("2"));
    let told = compare(&a, &b, &options(Gates::default())).unwrap_err().to_string();
    assert!(told.contains("not comparable") && told.contains("`words` has version 1"), "{told}");
    let allowed = Options { allow_grader_change: true, ..options(Gates::default()) };
    assert_eq!(compare(&a, &b, &allowed).unwrap().grader_changes.len(), 1);
}

#[test]
fn a_gate_that_missing_trials_could_turn_cannot_tell() {
    let gates =
        Gates { min_pass_rate: Some(MinPassRate { rate: 0.85, on: RateOn::Point }), ..shipped_gates() };
    let gates = Gates { sign_offs: None, ..gates };
    let whole: Vec<(u32, u32)> = (0..200).map(|at| (if at % 10 == 0 { 0 } else { 3 }, 3)).collect();
    // Every tenth case has no trial: 10 % of all trials were not measured.
    let holed: Vec<(u32, u32)> =
        whole.iter().enumerate().map(|(at, counts)| if at % 10 == 5 { (0, 0) } else { *counts }).collect();
    let comparison = compare(&side("a", 3, &whole), &side("b", 3, &holed), &options(gates.clone())).unwrap();
    assert_eq!(comparison.verdict, Verdict::CannotTell);
    for name in ["non_inferiority_margin", "min_pass_rate"] {
        assert_eq!(gate(&comparison, name).verdict, GateVerdict::CannotTell, "{name}");
        assert!(gate(&comparison, name).why.contains("60 trials"), "{}", gate(&comparison, name).why);
    }
    let same = compare(&side("a", 3, &whole), &side("b", 3, &whole), &options(gates)).unwrap();
    assert_eq!(same.verdict, Verdict::Pass, "{:?}", same.gates);
}

#[test]
fn a_margin_fails_when_inferior_and_cannot_tell_when_inconclusive() {
    let margin =
        Gates { non_inferiority_margin: Some(Margin { margin: 0.02, confidence: 0.95 }), ..Gates::default() };
    let with = |passes: usize| {
        let b: Vec<u32> = (0..400).map(|at| u32::from(at < passes)).collect();
        let comparison =
            compare(&verdicts("a", &[1; 400]), &verdicts("b", &b), &options(margin.clone())).unwrap();
        gate(&comparison, "non_inferiority_margin").clone()
    };
    assert_eq!(with(400).verdict, GateVerdict::Pass);
    let inconclusive = with(394);
    assert_eq!(inconclusive.verdict, GateVerdict::CannotTell);
    assert!(inconclusive.would_decide.is_some_and(|what| what.contains("more cases")));
    assert_eq!(with(370).verdict, GateVerdict::Fail);
}

#[test]
fn hard_failures_of_every_repeat_fail_and_single_ones_cannot_tell() {
    let gates = Gates { no_new_hard_failures: true, ..Gates::default() };
    let with = |planned, hard: u32| {
        let mut sides =
            [side("a", planned, &[(planned, planned); 30]), side("b", planned, &[(planned, planned); 30])];
        for side in &mut sides {
            for case in &mut side.cases {
                case.hard = Count { measured: planned, passes: planned };
            }
        }
        sides[1].cases[7].hard.passes = hard;
        let comparison = compare(&sides[0], &sides[1], &options(gates.clone())).unwrap();
        gate(&comparison, "no_new_hard_failures").verdict
    };
    assert_eq!(with(3, 3), GateVerdict::Pass);
    assert_eq!(with(3, 0), GateVerdict::Fail);
    assert_eq!(with(3, 2), GateVerdict::Pass);
    assert_eq!(with(1, 0), GateVerdict::CannotTell);
}

#[test]
fn fresh_answers_decide_a_flip_budget_that_asks_for_them() {
    let gates = Gates {
        flip_budget: Some(FlipBudget { count: 0, which: CountedFlips::All, confirmed: true }),
        ..Gates::default()
    };
    let (a, b) = (verdicts("a", &[1; 20]), verdicts("b", &[[0; 1].as_slice(), &[1; 19]].concat()));
    for (fresh, expected) in [
        (None, GateVerdict::CannotTell),
        (Some(Confirmed::CannotTell), GateVerdict::CannotTell),
        (Some(Confirmed::NotConfirmed), GateVerdict::Pass),
        (Some(Confirmed::Confirmed), GateVerdict::Fail),
    ] {
        let mut options = options(gates.clone());
        options.confirmed.extend(fresh.map(|fresh| (CaseId::from("c0"), fresh)));
        let comparison = compare(&a, &b, &options).unwrap();
        assert_eq!(gate(&comparison, "flip_budget").verdict, expected, "{fresh:?}");
    }
}

#[test]
fn several_candidates_share_a_baseline_and_holms_adjustment() {
    let a: Vec<u32> = (0..100).map(|at| u32::from(at >= 30)).collect();
    let better: Vec<u32> = (0..100).map(|at| u32::from(at >= 20)).collect();
    let sides = [verdicts("a", &a), verdicts("b", &better), verdicts("c", &a)];
    let matrix = compare_all(&sides, &options(Gates::default())).unwrap();
    let first = &matrix.rows[0];
    assert_eq!(first.p_adjusted, first.comparison.difference.p.map(|p| 2.0 * p));
    assert_eq!(matrix.rows[1].comparison.difference.point, Some(0.0));
}

#[test]
fn a_baseline_file_comes_back_as_it_was_and_a_later_one_is_refused() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("baseline.json");
    let mut own = side("baseline", 3, &[(3, 3), (1, 2), (0, 0)]);
    own.cases[1].segment.insert("intent".to_owned(), "refund | ```".to_owned());
    own.cases[1].cluster = "k".to_owned();
    own.graders.push(SideGrader {
        name: "json".to_owned(),
        hard: true,
        kind: "json".to_owned(),
        version: "1".to_owned(),
        counts: vec![Count { measured: 3, passes: 2 }, Count::default(), Count::default()],
    });
    let text = own.to_baseline();
    std::fs::write(&file, &text).unwrap();
    assert_eq!(Side::read_baseline(&file).unwrap(), own);
    assert!(text.lines().any(|line| line.starts_with("    \"c1\": {")), "{text}");
    let later = text.replace("\"caseload_baseline\": 1", "\"caseload_baseline\": 2");
    std::fs::write(&file, later).unwrap();
    let told = Side::read_baseline(&file).unwrap_err().to_string();
    assert!(told.contains("written in version 2"), "{told}");
}

/// One night: every case asked `repeats` times on both sides, with these true rates of each case.
fn night(seed: u64, cases: usize, repeats: u32, rates: [&dyn Fn(usize) -> f64; 2]) -> [Side; 2] {
    let mut rng = SplitMix64::stream(seed, 0);
    let mut draw = |rate: f64| {
        #[expect(clippy::cast_precision_loss, reason = "53 bits make a uniform float")]
        let uniform = (rng.below(1 << 53)) as f64 / (1_u64 << 53) as f64;
        u32::from(uniform < rate)
    };
    let mut one = |label: &str, rate: &dyn Fn(usize) -> f64| {
        let counts: Vec<(u32, u32)> =
            (0..cases).map(|at| ((0..repeats).map(|_| draw(rate(at))).sum(), repeats)).collect();
        let mut own = side(label, repeats, &counts);
        for case in &mut own.cases {
            case.hard = case.count;
        }
        own
    };
    [one("a", rates[0]), one("b", rates[1])]
}

/// What the shipped gates say of so many nights.
fn judged_nights(
    nights: u64,
    cases: usize,
    repeats: u32,
    rates: [&dyn Fn(usize) -> f64; 2],
) -> Vec<Vec<GateResult>> {
    let gates = Gates { sign_offs: None, ..shipped_gates() };
    (0..nights)
        .map(|seed| {
            let [a, b] = night(seed, cases, repeats, rates);
            assemble::judge_pair(&a, &b, &gates)
        })
        .collect()
}

/// How many of `nights` fail the shipped gates.
fn failing_nights(nights: u64, cases: usize, repeats: u32, rates: [f64; 2]) -> usize {
    let judged = judged_nights(nights, cases, repeats, [&|_| rates[0], &|_| rates[1]]);
    judged.iter().filter(|results| Verdict::of(results) == Verdict::Fail).count()
}

/// How often a case is answered right, by its number.
type RateOfCase = &'static dyn Fn(usize) -> f64;

/// Nights of identical targets with flaky cases: at most one of twenty fails, and every gate that cannot
/// tell says what would decide.
fn flaky_nights(nights: u64) {
    let worlds: [(&str, u32, RateOfCase); 4] = [
        ("200 cases at 90 %, twice", 2, &|_| 0.9),
        ("200 cases, 30 at 60 %, three times", 3, &|at| if at < 30 { 0.6 } else { 1.0 }),
        ("200 cases, a third at 60 %, three times", 3, &|at| if at % 3 == 0 { 0.6 } else { 1.0 }),
        ("200 cases, a third at 60 %, the others at 97 %, five times", 5, &|at| {
            if at % 3 == 0 { 0.6 } else { 0.97 }
        }),
    ];
    for (name, repeats, rate) in worlds {
        let judged = judged_nights(nights, 200, repeats, [rate, rate]);
        let is = |wanted| judged.iter().filter(|results| Verdict::of(results) == wanted).count() as u64;
        let (fail, pass) = (is(Verdict::Fail), is(Verdict::Pass));
        println!("{name}: {fail} of {nights} nights fail, {pass} pass, the others cannot tell");
        assert!(fail * 20 <= nights, "{name}: {fail} of {nights} nights fail");
        let silent =
            |result: &&GateResult| result.verdict == GateVerdict::CannotTell && result.would_decide.is_none();
        assert_eq!(judged.iter().flatten().find(silent), None, "{name}");
    }
}

#[test]
fn flaky_cases_of_identical_targets_seldom_fail_the_shipped_gates() {
    flaky_nights(20);
}

#[test]
#[ignore = "300 nights: cargo test --lib -- --ignored --nocapture three_hundred_nights"]
fn flaky_cases_fail_at_most_a_twentieth_of_three_hundred_nights() {
    flaky_nights(300);
}

#[test]
fn many_new_hard_failures_of_which_none_is_shown_cannot_tell_and_a_shown_one_fails() {
    let gates = Gates { no_new_hard_failures: true, ..Gates::default() };
    let with = |repeats: u32, broken: usize, passes: u32| {
        let mut counts = vec![(repeats, repeats); 40];
        let mut sides = [side("a", repeats, &counts), side("b", repeats, &counts)];
        counts[..broken].fill((passes, repeats));
        sides[1] = side("b", repeats, &counts);
        for case in sides.iter_mut().flat_map(|side| &mut side.cases) {
            case.hard = case.count;
        }
        let comparison = compare(&sides[0], &sides[1], &options(gates.clone())).unwrap();
        gate(&comparison, "no_new_hard_failures").clone()
    };
    let many = with(3, 20, 2);
    assert_eq!(many.verdict, GateVerdict::CannotTell);
    assert!(many.would_decide.unwrap().contains("caseload confirm"), "{}", many.why);
    assert_eq!(with(1, 20, 0).verdict, GateVerdict::CannotTell);
    assert_eq!(with(3, 2, 2).verdict, GateVerdict::Pass);
    assert_eq!(with(8, 1, 0).verdict, GateVerdict::Fail);
    assert_eq!(with(8, 20, 0).verdict, GateVerdict::Fail);
}

/// Of 1,000 nights; `CASELOAD_NIGHTS` sets another number.
fn nights() -> u64 {
    std::env::var("CASELOAD_NIGHTS").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

#[test]
fn two_identical_targets_seldom_fail_the_shipped_gates() {
    let nights = nights();
    for repeats in [1, 3] {
        let failing = failing_nights(nights, 200, repeats, [0.99, 0.99]);
        println!("identical, {repeats} repeats: {failing} of {nights} nights fail");
        assert!(failing as u64 * 20 < nights, "{failing} of {nights} nights fail, {repeats} repeats");
    }
}

#[test]
fn a_target_that_is_six_points_worse_fails_the_shipped_gates() {
    let nights = (nights() / 6).max(10);
    let failing = failing_nights(nights, 1_000, 3, [0.85, 0.79]);
    println!("six points worse: {failing} of {nights} nights fail");
    assert!(failing as u64 * 10 >= nights * 9, "{failing} of {nights} nights fail");
}
