//! One account of a run, played: how long its targets take, what they find cached and what holds them
//! back.

use rayon::prelude::*;
use serde::Serialize;

use super::{
    Range,
    history::{History, PastTrial, TargetHistory},
    input::InputTokens,
    output::OutputTokens,
    range::whole,
    wall_time::{Answers, CacheUse, Job, PLAYED, Played, play},
};
use crate::{
    config::{Experiment, Target},
    domain::TargetPos,
    queue::Limits,
    stats::special::normal_quantile,
};

/// Requests that are played for one account's interval, all replays together.
const BUDGET_OF_EVENTS: usize = 120_000;

/// The shortest prefix that providers cache, in tokens, and for how long, in seconds.
const PROVIDER_CACHE: (f64, f64) = (1_024.0, 300.0);

/// What holds an account back.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BindingLimit {
    /// The account.
    pub provider: String,
    /// Which setting, such as `requests_per_minute`; `latency` when no limit holds it back.
    pub limit: &'static str,
    /// What it is set to; `None` for `latency`.
    pub value: Option<u64>,
    /// Wall time as it is, in seconds.
    pub wall_seconds: f64,
    /// Wall time were it twice as high, in seconds.
    pub wall_seconds_if_doubled: f64,
}

/// One account, played.
pub(super) struct Account {
    /// Its targets' positions.
    pub(super) targets: Vec<TargetPos>,
    /// One play a replicate, the expected latencies in the first.
    plays: Vec<Played>,
    /// With all latencies at their bounds, where no earlier run tells them.
    bounds: Option<(Played, Played)>,
    pub(super) binding: Option<BindingLimit>,
    set_up: Vec<bool>,
    possible: Vec<bool>,
}

impl Account {
    pub(super) fn of(
        experiment: &Experiment,
        history: &History,
        provider: usize,
        inputs: &[InputTokens],
        outputs: &[OutputTokens],
    ) -> Self {
        let targets: Vec<TargetPos> = (0..experiment.targets.len())
            .map(TargetPos::at)
            .filter(|&target| experiment.targets[target.index()].provider == provider)
            .collect();
        let mut account =
            Self { targets, plays: vec![], bounds: None, binding: None, set_up: vec![], possible: vec![] };
        if account.targets.is_empty() {
            return account;
        }
        let samples: u64 = experiment.cases.iter().map(|planned| u64::from(planned.repeats)).sum();
        let total = samples * account.targets.len() as u64;
        let jobs = jobs(experiment, &account.targets, inputs);
        let limits = limits(experiment, provider);
        let mut answers = vec![];
        for &target in &account.targets {
            let (set_up, ttl) =
                caching(experiment, target, &inputs[target.index()], &history.targets[target.index()]);
            account.set_up.push(set_up);
            account.possible.push(ttl.is_some());
            let past = &history.targets[target.index()];
            let mean_output = outputs[target.index()].total.mid / samples.max(1) as f64;
            let own = own_latencies(experiment, target, mean_output);
            let known = if past.trials.is_empty() { own.as_slice() } else { past.trials.as_slice() };
            let mut of_target = Answers::new(known, past.attempts_per_trial, mean_output);
            of_target.cache_ttl_s = ttl;
            of_target.warm_up = experiment.targets[target.index()].settings.parameters.cache.is_some();
            of_target.cached_prefix = if set_up { inputs[target.index()].shared_prefix } else { 0.0 };
            answers.push(of_target);
        }
        let run = |limits: &Limits, answers: &[Answers], seed: u64| {
            play(limits, jobs.iter().copied(), total, answers, seed)
        };
        let replays = (BUDGET_OF_EVENTS / jobs.len().max(1)).clamp(5, 40) as u64;
        let seed = experiment.settings.seed;
        let replay = |replay: u64| run(&limits, &answers, seed.wrapping_add(replay));
        account.plays = (0..replays).into_par_iter().map(replay).collect();
        let guessed = account.targets.iter().any(|&target| {
            history.targets[target.index()].trials.is_empty()
                && own_latencies(experiment, target, 1.0).is_empty()
        });
        if guessed {
            let at = |factor: f64| {
                let scaled: Vec<Answers> = answers.iter().map(|answers| answers.slower(factor)).collect();
                run(&limits, &scaled, seed)
            };
            account.bounds = Some((at(1.0 / 3.0), at(3.0)));
        }
        let settings = &experiment.settings.providers[provider];
        // A program has as many places as its workers take trials.
        let places =
            if settings.kind.is_program() { "workers × trials_per_worker" } else { "max_in_flight" };
        let name = settings.name.to_string();
        account.binding = Some(binding(name, places, &limits, |limits| run(limits, &answers, seed)));
        account
    }

    pub(super) fn cache(&self, within: usize) -> Option<CacheUse> {
        let plays = || self.plays.iter().map(|played| played.cache[within]);
        let n = self.plays.len() as f64;
        let mean = |of: fn(CacheUse) -> f64| plays().map(of).sum::<f64>() / n;
        let writes = mean(|used| used.writes);
        let squares: f64 = plays().map(|used| (used.writes - writes).powi(2)).sum();
        let used = CacheUse {
            writes,
            reads: mean(|used| used.reads),
            spread: (squares / (n - 1.0).max(1.0)).sqrt(),
            is_set_up: self.set_up[within],
        };
        self.possible[within].then_some(used)
    }

    pub(super) fn wall(&self) -> Range {
        self.range(|played| played.wall_s)
    }

    pub(super) fn ended(&self, within: usize) -> Range {
        self.range(|played| played.ended_s[within])
    }

    fn range(&self, of: impl Fn(&Played) -> f64) -> Range {
        let mut values: Vec<f64> = self.plays.iter().map(&of).collect();
        if values.is_empty() {
            return Range::default();
        }
        values.sort_by(f64::total_cmp);
        let mid = values[values.len() / 2];
        let (low, high) = match &self.bounds {
            Some((fast, slow)) => (of(fast), of(slow)),
            None => (values[0], values[values.len() - 1]),
        };
        // Never surer than a few per cent: machines and networks have their own luck.
        Range { low: low.min(mid * 0.97), mid, high: high.max(mid * 1.03 + 0.2) }
    }
}

/// The requests of an account in the order in which a run sends them, as many as are played.
fn jobs(experiment: &Experiment, targets: &[TargetPos], inputs: &[InputTokens]) -> Vec<Job> {
    let deepest = experiment.cases.iter().map(|planned| planned.repeats).max().unwrap_or(0);
    let reserved = |&target: &TargetPos| experiment.bounds(target).reserved_output() as f64;
    let reserved: &[f64] = &targets.iter().map(reserved).collect::<Vec<f64>>();
    let rounds = 1..=deepest;
    rounds
        .flat_map(|repeat| {
            let asked = experiment.cases.iter().enumerate();
            let asked = asked.filter(move |(_, planned)| planned.repeats >= repeat);
            asked.flat_map(|(case, _)| {
                targets.iter().enumerate().map(move |(within, &target)| Job {
                    target: within,
                    input: inputs[target.index()].per_case[case],
                    max_output: reserved[within],
                })
            })
        })
        .take(PLAYED)
        .collect()
}

/// An account's limits; a simulated one's own are known, too.
fn limits(experiment: &Experiment, provider: usize) -> Limits {
    let settings = &experiment.settings.providers[provider];
    let mut limits = settings.queue.limits.clone();
    if settings.kind.is_simulated() {
        let own = experiment
            .targets
            .iter()
            .filter(|target| target.provider == provider)
            .filter_map(|target| target.settings.simulate.requests_per_minute);
        let own = own.fold(f64::INFINITY, f64::min);
        if own.is_finite() && limits.requests_per_minute.is_none() {
            limits.requests_per_minute = Some(whole(own).max(1));
        }
    }
    limits
}

/// Latencies that are known without an earlier run: a simulator's and a replay's.
fn own_latencies(experiment: &Experiment, target: TargetPos, mean_output: f64) -> Vec<PastTrial> {
    let target = &experiment.targets[target.index()];
    let at = |latency_ms: f64| PastTrial { latency_ms, output: mean_output };
    let kind = experiment.settings.providers[target.provider].kind;
    if kind.is_simulated() {
        let latency = &target.settings.simulate.latency_ms;
        let quantile = |step: u32| {
            let p = (f64::from(step) + 0.5) / 50.0;
            at(latency.at(normal_quantile(p), p))
        };
        return (0..50).map(quantile).collect();
    }
    if kind.is_recorded() { vec![at(0.0)] } else { vec![] }
}

/// Whether the experiment caches what all requests begin with, and for how long it could be cached.
fn caching(
    experiment: &Experiment,
    target: TargetPos,
    input: &InputTokens,
    history: &TargetHistory,
) -> (bool, Option<f64>) {
    let target: &Target = &experiment.targets[target.index()];
    let (least, ttl) = PROVIDER_CACHE;
    let can = input.shared_prefix >= least;
    let kind = experiment.settings.providers[target.provider].kind;
    if kind.is_simulated() {
        return match target.settings.simulate.cache {
            Some(cache) if input.shared_prefix >= cache.min_tokens as f64 => (true, Some(cache.ttl_s)),
            _ => (false, None),
        };
    }
    if !kind.is_remote() {
        return (false, None);
    }
    let asked = kind.asks_for_cache(&target.settings.parameters);
    ((asked || history.cache_read_share > 0.0) && can, can.then_some(ttl))
}

/// Doubles one limit after the other and sees which saves most.
fn binding(
    provider: String,
    places: &'static str,
    limits: &Limits,
    run: impl Fn(&Limits) -> Played,
) -> BindingLimit {
    let now = run(limits).wall_s;
    let twice = |limit: Option<u64>| limit.map(|limit| limit.saturating_mul(2));
    let raised = [
        (
            "requests_per_minute",
            limits.requests_per_minute,
            Limits { requests_per_minute: twice(limits.requests_per_minute), ..limits.clone() },
        ),
        (
            "input_tokens_per_minute",
            limits.input_tokens_per_minute,
            Limits { input_tokens_per_minute: twice(limits.input_tokens_per_minute), ..limits.clone() },
        ),
        (
            "output_tokens_per_minute",
            limits.output_tokens_per_minute,
            Limits { output_tokens_per_minute: twice(limits.output_tokens_per_minute), ..limits.clone() },
        ),
        (
            "tokens_per_minute",
            limits.tokens_per_minute,
            Limits { tokens_per_minute: twice(limits.tokens_per_minute), ..limits.clone() },
        ),
        (
            places,
            Some(u64::from(limits.max_in_flight)),
            Limits { max_in_flight: limits.max_in_flight.saturating_mul(2), ..limits.clone() },
        ),
    ];
    let mut best = BindingLimit {
        provider,
        limit: "latency",
        value: None,
        wall_seconds: now,
        wall_seconds_if_doubled: now,
    };
    for (limit, value, raised) in raised.into_iter().filter(|(_, value, _)| value.is_some()) {
        let wall = run(&raised).wall_s;
        // Less than 3 % is the luck of the draw.
        if wall < best.wall_seconds_if_doubled * 0.97 {
            best = BindingLimit { limit, value, wall_seconds_if_doubled: wall, ..best };
        }
    }
    best
}
