//! What the tests of the output formats share: two sides, their comparison, and hostile answers.

use std::collections::BTreeMap;

use crate::{
    compare::{
        Amount, Comparison, CostComparison, Count, Difference, Direction, FlipAnswers, FlipRow, Flips,
        GateResult, GateVerdict, LatencyComparison, LeftOut, Mark, Power, Quantity, SCHEMA_VERSION, Side,
        SideCase, SideInfo, SideTotals, SliceDifference, Verdict,
    },
    domain::{CaseId, Fingerprint, PassIf, Split},
};

/// Everything at once that a format could take for its own.
pub(super) const HOSTILE: &str = "a|b ``` `x` <script>alert(1)</script><img src=x onerror=y> </details> \
    \u{1b}[31mred\u{1b}[0m @team #1 [click](http://x.invalid) www.x.invalid\r\n## Pass\n::error::owned\n\
    --> ]]> &amp; 100 %";

fn case(id: &str, passes: u32) -> SideCase {
    SideCase {
        id: id.into(),
        fingerprint: Fingerprint::of(id.as_bytes()),
        split: Some(Split::HeldOut),
        cluster: format!("ticket-{id}"),
        weight: 1.0,
        segment: BTreeMap::new(),
        pass_if: PassIf::Majority,
        planned: 5,
        count: Count { measured: 5, passes },
        hard: Count::default(),
        cost_usd: Some(0.0012),
        input_tokens: Some(120.0),
        output_tokens: Some(40.0),
        latency_ms: Some(900.0),
        retrieval: None,
    }
}

fn side(label: &str, cases: Vec<SideCase>) -> Side {
    Side {
        label: label.to_owned(),
        run: label.to_owned(),
        target: "large".to_owned(),
        model: "opus-5".to_owned(),
        stored: None,
        golden_fingerprint: Fingerprint::of(b"golden"),
        golden_name: "help-desk".to_owned(),
        created_at: None,
        gates: None,
        cases,
        graders: vec![],
        totals: SideTotals::default(),
    }
}

/// Passes of five on the two sides, by case.
const PASSES: [(&str, u32, u32); 5] = [("c0", 5, 5), ("c1", 5, 0), ("c2", 0, 5), ("c3", 3, 2), ("c4", 0, 1)];

/// Two sides of five shared cases, one that is gone, one that is new, and one that was not measured.
pub(super) fn sides() -> [Side; 2] {
    let mut before: Vec<SideCase> = PASSES.iter().map(|(id, before, _)| case(id, *before)).collect();
    let mut after: Vec<SideCase> = PASSES.iter().map(|(id, _, after)| case(id, *after)).collect();
    before.extend([case("gone", 5), case("unmeasured", 5)]);
    after.extend([case("new", 5), SideCase { count: Count::default(), ..case("unmeasured", 0) }]);
    [side("nightly-12", before), side("nightly-13", after)]
}

fn flip(id: &str, direction: Direction, passes: (u32, u32), mark: Mark) -> FlipRow {
    FlipRow {
        id: id.into(),
        direction,
        baseline: Count { measured: 5, passes: passes.0 },
        candidate: Count { measured: 5, passes: passes.1 },
        mark,
        q: (mark == Mark::Real).then_some(0.012),
        hard: mark == Mark::Real && direction == Direction::Broke,
        weight: 1.0,
        cluster: format!("ticket-{id}"),
        segment: BTreeMap::new(),
        signed_off: None,
        confirmed: None,
    }
}

fn info(side: &Side, rate: f64) -> SideInfo {
    SideInfo {
        label: side.label.clone(),
        run: side.run.clone(),
        target: side.target.clone(),
        model: side.model.clone(),
        golden_name: side.golden_name.clone(),
        golden_fingerprint: side.golden_fingerprint.to_string(),
        cases: side.cases.len(),
        trials: 35,
        graded: 30,
        not_measured: BTreeMap::new(),
        pass_rate: Amount { point: Some(rate), low: Some(rate - 0.1), high: Some(rate + 0.1) },
        cost_usd: Some("0.042".parse().unwrap()),
        cost_unknown_trials: 0,
        cached_share: Some(0.4),
        output_tokens: 1_400,
        latency_ms: crate::compare::Percentiles::default(),
    }
}

/// What the gates of [`comparison`] say.
fn gates() -> Vec<GateResult> {
    vec![
        GateResult {
            name: "no_new_hard_failures",
            verdict: GateVerdict::Fail,
            why: "1 new hard failure: c1".to_owned(),
            would_decide: None,
            edited: false,
        },
        GateResult {
            name: "non_inferiority_margin",
            verdict: GateVerdict::CannotTell,
            why: "-31.0 to +15.0 points against a margin of 2.0".to_owned(),
            would_decide: Some("about 970 more cases".to_owned()),
            edited: true,
        },
    ]
}

/// The comparison of [`sides`].
pub(super) fn comparison() -> Comparison {
    let [baseline, candidate] = sides();
    let difference = Difference {
        point: Some(-0.08),
        low: Some(-0.31),
        high: Some(0.15),
        p: Some(0.51),
        n_cases: 5,
        verdict: "undetermined",
        ..Difference::default()
    };
    let rows = vec![
        flip("c1", Direction::Broke, (5, 0), Mark::Real),
        flip("c3", Direction::Broke, (3, 2), Mark::WithinNoise),
        flip("c2", Direction::Fixed, (0, 5), Mark::Real),
    ];
    Comparison {
        schema_version: SCHEMA_VERSION,
        sides: [info(&baseline, 0.52), info(&candidate, 0.44)],
        pairs: 5,
        left_out: LeftOut {
            new: vec!["new".into()],
            gone: vec!["gone".into()],
            changed: vec![],
            not_measured: vec!["unmeasured".into()],
        },
        difference: difference.clone(),
        words: "cannot tell: 3 points would need about 970 more cases".to_owned(),
        power: Power::default(),
        flips: Flips {
            fixed: vec!["c2".into()],
            broke: vec!["c1".into(), "c3".into()],
            still_passes: 1,
            still_fails: 1,
            sign_test_p: 1.0,
            mcnemar_p: 1.0,
            mcnemar_mid_p: 0.75,
            expected_by_chance: None,
            repeats_too_few: false,
            rows,
        },
        splits: vec![],
        segments: vec![SliceDifference {
            key: "intent".to_owned(),
            value: "billing".to_owned(),
            difference,
            p_adjusted: Some(0.9),
        }],
        graders: vec![],
        structural: None,
        cost: CostComparison {
            per_case_usd: Quantity {
                baseline: Some(0.0012),
                candidate: Some(0.0014),
                difference: Amount { point: Some(0.0002), low: Some(0.0001), high: Some(0.0003) },
                n: 5,
                method: "clustered_t",
            },
            ..CostComparison::default()
        },
        latency_ms: LatencyComparison::default(),
        retrieval: None,
        gates: gates(),
        gates_edited: vec!["non_inferiority_margin".to_owned()],
        sign_offs: vec![],
        grader_changes: vec![],
        verdict: Verdict::Fail,
        notes: vec![],
    }
}

/// The id of flip `number`: long, and as hostile as an id can be.
fn hostile_id(number: usize) -> CaseId {
    format!("case-{number:05}|<b>`@team`").as_str().into()
}

/// A comparison of 20,000 cases with this many flips, every second one broken.
pub(super) fn with_flips(flips: usize) -> Comparison {
    let rows: Vec<FlipRow> = (0..flips)
        .map(|number| {
            let broke = number % 2 == 0;
            let direction = if broke { Direction::Broke } else { Direction::Fixed };
            let passes = if broke { (5, 0) } else { (0, 5) };
            FlipRow { id: hostile_id(number), ..flip("c", direction, passes, Mark::Real) }
        })
        .collect();
    let of = |direction| {
        rows.iter().filter(|row| row.direction == direction).map(|row| row.id.clone()).collect::<Vec<_>>()
    };
    let flips = Flips { fixed: of(Direction::Fixed), broke: of(Direction::Broke), ..comparison().flips };
    Comparison { pairs: 20_000, flips: Flips { rows, ..flips }, ..comparison() }
}

/// The sides of [`with_flips`], of the flipped cases and one that holds.
pub(super) fn sides_with_flips(flips: usize) -> [Side; 2] {
    let passes = |number: usize, before: bool| if number % 2 == usize::from(!before) { 5 } else { 0 };
    let cases = |before: bool| {
        let flipped = (0..flips).map(|number| case(hostile_id(number).as_str(), passes(number, before)));
        flipped.chain([case("holds", 5)]).collect()
    };
    [side("nightly-12", cases(true)), side("nightly-13", cases(false))]
}

/// Hostile answers of the first flips of [`with_flips`].
pub(super) fn hostile_answers() -> BTreeMap<CaseId, FlipAnswers> {
    let answers = |baseline: &str| FlipAnswers {
        baseline: baseline.to_owned(),
        candidate: HOSTILE.to_owned(),
        reason: format!("words: `{HOSTILE}`"),
    };
    (0..200)
        .map(|number| {
            (hostile_id(number), answers(if number == 0 { "=cmd()|' /C calc'!A0" } else { "\t@SUM(1)" }))
        })
        .collect()
}
