//! One rehearsal: a pilot feeds an estimate, a run follows, and the two are compared. Everything is
//! in this process: the simulator behind the real queues, on a clock that leaps from event to event.

use std::{fs, path::Path, sync::Arc};

use caseload::{
    config::{self, Experiment, Overrides},
    domain::{CasePos, Repeat, RunRow, Settlement, TargetPos, Tariff, TrialKey, UnixMillis},
    estimate::{
        Basis, History, Options, Range, TargetHistory, estimate,
        history::{InputRatio, PastCase, PastTrial},
        sample::stratified_sample,
    },
    golden,
    queue::Hooks,
};
use jiff::civil::Date;
use tokio::{sync::mpsc, task::JoinSet, time::Instant};

/// What holds a set-up back.
pub const SETUPS: [(&str, &str, &str); 3] = [
    ("rate-limited", "limits = { requests_per_minute = 600, max_in_flight = 64 }", ""),
    ("concurrency-limited", "limits = { max_in_flight = 16 }", ""),
    (
        "cached",
        "limits = { requests_per_minute = 1200, max_in_flight = 48 }",
        ", cache = { min_tokens = 1024 }",
    ),
];

/// What was estimated, and what came.
#[derive(Clone, Copy, Debug)]
pub struct Rehearsal {
    /// Dollars, estimated.
    pub cost: Range,
    /// Dollars, real.
    pub real_cost: f64,
    /// Seconds, estimated.
    pub wall: Range,
    /// Seconds, real.
    pub real_wall: f64,
}

const CASES: usize = 400;

/// Writes an experiment of 400 cases × 2 into `folder`.
pub fn write_project(folder: &Path, (name, limits, cache): (&str, &str, &str)) {
    let lines: Vec<String> = (0..CASES)
        .map(|case| {
            let words = "why does the counter stop ".repeat(1 + case % 7);
            format!(
                r#"{{"id":"c{case}","input":"{words}{case}?","segment":{{"kind":"{}"}},"graders":[{{"kind":"words"}}],"expected":{{"must_contain":["yes"]}},"examples":{{"pass":["yes"],"fail":["no"]}}}}"#,
                ["short", "long"][case % 2]
            )
        })
        .collect();
    fs::write(folder.join("golden.jsonl"), lines.join("\n")).expect("a file can be written");
    let system = "Answer from the articles only. ".repeat(280);
    let text = format!(
        "name = \"{name}\"\ngolden = \"golden.jsonl\"\nrepeats = 2\n[prompt]\nsystem = \"{system}\"\n\
         [[target]]\nname = \"t\"\nprovider = \"p\"\nmodel = \"m\"\nmax_tokens = 600\n\
         simulate = {{ latency_ms = {{ mean = 800, p95 = 2000 }}, tokens = {{ output_mean = 120, output_sd = 40 }}{cache} }}\n\
         [provider.p]\nkind = \"simulator\"\n{limits}\n\
         [[price]]\nmodel = \"m\"\neffective_from = 2026-01-01\nsource = \"made up\"\n\
         usd_per_mtok = {{ input = 3.00, cache_read = 0.30, cache_write_5m = 3.75, output = 15.00 }}\n"
    );
    fs::write(folder.join("e.toml"), text).expect("a file can be written");
}

fn read(folder: &Path, seed: u64) -> Experiment {
    let overrides = Overrides { seed: Some(seed), ..Overrides::default() };
    let plan = config::read(&folder.join("e.toml"), &overrides, Date::constant(2026, 6, 1));
    let plan = plan.expect("the experiment is in order");
    let (set, faults) = golden::load_sound(&plan.settings.golden, &plan.settings.case_defaults());
    faults.none_or(()).expect("the golden set is in order");
    let cases = golden::select(&set, &plan.settings.selection).expect("there are cases");
    Experiment::prepare(plan.settings, plan.prices, cases, Some(&set)).expect("the experiment can be run")
}

struct Asked {
    case: CasePos,
    usage: caseload::domain::Usage,
    latency_ms: f64,
    cost: f64,
}

/// Asks `trials` through the account's queue; how long it took, in seconds of the leaping clock.
fn ask(experiment: &Experiment, trials: &[(CasePos, Repeat)]) -> (Vec<Asked>, f64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime can be made").block_on(async {
        let (events, _listener) = mpsc::unbounded_channel();
        let queues = config::connect(experiment, &events).expect("a simulator needs no key");
        let queue = Arc::clone(&queues[0]);
        let began = Instant::now();
        let mut tasks = JoinSet::new();
        for &(case, repeat) in trials {
            let question = experiment.question(TargetPos(0), case, repeat);
            let queue = Arc::clone(&queue);
            let key = TrialKey { run: RunRow(1), target: TargetPos(0), case, repeat };
            let call = experiment.call(queue.provider(), key, 1, question, None);
            tasks.spawn(async move { (case, queue.settle(&call, Hooks::NONE).await) });
        }
        let mut asked = vec![];
        while let Some(ended) = tasks.join_next().await {
            let (case, settlement) = ended.expect("no task panics");
            let Settlement::Ended(settled) = settlement else { panic!("the queue stopped") };
            let usage = settled.reply.as_ref().and_then(|reply| reply.metered.usage).expect("usage is told");
            let priced = experiment.targets[0].prices.of(&usage, Tariff::Standard, UnixMillis::now());
            let cost = priced.map_or(0.0, |(_, cost)| cost.dollars());
            asked.push(Asked { case, usage, latency_ms: settled.latency_ms.unwrap_or_default(), cost });
        }
        (asked, began.elapsed().as_secs_f64())
    })
}

/// What a pilot of 60 cases × 3 tells.
fn pilot(experiment: &Experiment) -> History {
    let sample = stratified_sample(&experiment.cases, 60, experiment.settings.seed);
    let trials: Vec<(CasePos, Repeat)> = (1..=3)
        .map(Repeat)
        .flat_map(|repeat| sample.iter().map(move |&case| (CasePos::at(case), repeat)))
        .collect();
    let (asked, _) = ask(experiment, &trials);
    let mut history = TargetHistory { basis: Basis::SameTarget, ..TargetHistory::nothing() };
    history.runs.push("pilot".to_owned());
    for &case in &sample {
        let own = || asked.iter().filter(|asked| asked.case.index() == case);
        let of = &experiment.cases[case].case;
        history.cases.push(PastCase {
            id: Some(of.id.clone()),
            fingerprint: Some(of.fingerprint),
            cluster: of.cluster_or_id().to_owned(),
            segment: of.segment.as_ref().clone(),
            outputs: own().map(|asked| asked.usage.output as f64).collect(),
            inputs: own().map(|asked| asked.usage.input_total() as f64).collect(),
            scores: vec![],
        });
    }
    let trial = |asked: &Asked| PastTrial { latency_ms: asked.latency_ms, output: asked.usage.output as f64 };
    history.trials = asked.iter().map(trial).collect();
    let tokenizer = experiment.targets[0].tokenizer();
    let real: Vec<f64> = history.cases.iter().map(|case| case.inputs[0]).collect();
    let counted: Vec<f64> = sample
        .iter()
        .map(|&case| tokenizer.count(&experiment.prompt(TargetPos(0), CasePos::at(case))) as f64)
        .collect();
    history.input_ratio = InputRatio::of(&real, &counted);
    History { targets: vec![history] }
}

/// One rehearsal of the project in `folder`, all drawn with `seed`.
pub fn rehearse(folder: &Path, seed: u64) -> Rehearsal {
    let history = pilot(&read(folder, seed));
    let experiment = read(folder, seed + 1_000_000);
    let estimated = estimate(&experiment, &history, &Options::default());
    let trials: Vec<(CasePos, Repeat)> = (1..=2)
        .map(Repeat)
        .flat_map(|repeat| (0..CASES).map(move |case| (CasePos::at(case), repeat)))
        .collect();
    let (asked, real_wall) = ask(&experiment, &trials);
    Rehearsal {
        cost: estimated.total.cost_usd.expect("the model has a price"),
        real_cost: asked.iter().map(|asked| asked.cost).sum(),
        wall: estimated.total.wall_seconds,
        real_wall,
    }
}

/// The median of the relative distances of real wall times from the estimated ones.
pub fn median_wall_off(rehearsals: &[Rehearsal]) -> f64 {
    let off = |rehearsal: &Rehearsal| (rehearsal.real_wall / rehearsal.wall.mid - 1.0).abs();
    let mut all: Vec<f64> = rehearsals.iter().map(off).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// How many real costs lie in their intervals.
pub fn costs_inside(rehearsals: &[Rehearsal]) -> usize {
    rehearsals.iter().filter(|rehearsal| rehearsal.cost.contains(rehearsal.real_cost)).count()
}
