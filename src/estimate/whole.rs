//! The whole estimate of an experiment: target by target, and in total.

use serde::Serialize;

use super::{
    Range,
    cost::{self, Dollars},
    detect::{self, Assumptions, Detectable, Spread},
    history::{Basis, History, TargetHistory},
    output::{OutputTokens, SegmentOutput, output_tokens},
    record::TargetRecord,
    tokens::{InputTokens, input_tokens},
    wall_time::{Answers, CacheUse, Job, PLAYED, Played, play},
};
use crate::{
    config::{Experiment, ProviderKind, Target},
    domain::TargetPos,
    queue::Limits,
    stats::special::normal_quantile,
};

/// The version of the JSON shape.
const SCHEMA_VERSION: u32 = 1;

/// Requests that are played for one account's interval, all replays together.
const BUDGET_OF_EVENTS: usize = 120_000;

/// The shortest prefix that providers cache, in tokens, and for how long, in seconds.
const PROVIDER_CACHE: (f64, f64) = (1_024.0, 300.0);

/// What may be set for an estimate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Variances in the place of those of earlier runs.
    pub assumptions: Option<Assumptions>,
}

/// What a run will take and tell.
#[derive(Clone, Debug, Serialize)]
pub struct Estimate {
    /// The version of this shape.
    pub schema_version: u32,
    /// The experiment.
    pub experiment: String,
    /// Cases that will be asked.
    pub cases: usize,
    /// Clusters they form.
    pub clusters: usize,
    /// Repeats a case, on average.
    pub repeats: f64,
    /// One entry a target, in the experiment's order.
    pub targets: Vec<TargetEstimate>,
    /// All targets together.
    pub total: Totals,
    /// What is not known and what was assumed, one sentence each.
    pub notes: Vec<String>,
}

/// All targets together.
#[derive(Clone, Debug, Serialize)]
pub struct Totals {
    /// Requests, repeated attempts included.
    pub requests: Range,
    /// Input tokens.
    pub input_tokens: Range,
    /// Output tokens.
    pub output_tokens: Range,
    /// Dollars; `None` when a target has no price.
    pub cost_usd: Option<Range>,
    /// Seconds from the first request to the last answer.
    pub wall_seconds: Range,
    /// Dollars, were every answer as long as it may be.
    pub cost_ceiling_usd: Option<f64>,
    /// Dollars by the providers' batch interfaces; `None` when a target has none.
    pub cost_batch_usd: Option<Range>,
    /// The largest of the targets' smallest detectable differences between two sides, as a fraction.
    pub detectable_difference: Option<f64>,
    /// What holds the slowest account back.
    pub binding_limit: Option<BindingLimit>,
}

/// One target.
#[derive(Clone, Debug, Serialize)]
pub struct TargetEstimate {
    /// Its name.
    pub name: String,
    /// Its account.
    pub provider: String,
    /// Its model.
    pub model: String,
    /// What the estimate rests on.
    pub basis: Basis,
    /// Earlier runs it rests on, the latest first.
    pub past_runs: Vec<String>,
    /// Earlier cases it rests on.
    pub past_cases: usize,
    /// Earlier answers it rests on.
    pub past_trials: usize,
    /// Requests, repeated attempts included.
    pub requests: Range,
    /// Input tokens, cached ones included.
    pub input_tokens: Range,
    /// Who counted them.
    pub tokenizer: &'static str,
    /// Whether earlier runs corrected the count.
    pub tokenizer_corrected: bool,
    /// Input tokens written to a cache.
    pub cache_write_tokens: f64,
    /// Input tokens read from a cache.
    pub cache_read_tokens: f64,
    /// Output tokens.
    pub output_tokens: Range,
    /// Output by segment.
    pub segments: Vec<SegmentOutput>,
    /// Dollars, as the experiment is set up; `None` without a price.
    pub cost_usd: Option<Range>,
    /// Dollars, were every answer as long as it may be and nothing cached.
    pub cost_ceiling_usd: Option<f64>,
    /// Dollars live, without any cache.
    pub cost_live_usd: Option<Range>,
    /// Dollars by the batch interface; `None` where it takes no half price.
    pub cost_batch_usd: Option<Range>,
    /// Dollars with what all requests begin with cached; `None` where that cannot be.
    pub cost_cached_usd: Option<Range>,
    /// Seconds until its last answer.
    pub wall_seconds: Range,
    /// The smallest detectable difference.
    pub detectable_difference: Detectable,
    /// What holds its account back.
    pub binding_limit: Option<BindingLimit>,
    /// How earlier estimates of this target fared.
    pub record: Option<TargetRecord>,
}

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

/// Estimates a run of `experiment`. Sends nothing.
pub fn estimate(experiment: &Experiment, history: &History, options: &Options) -> Estimate {
    let inputs: Vec<InputTokens> = each_target(experiment)
        .map(|target| input_tokens(experiment, target, &history.targets[target.index()]))
        .collect();
    let outputs: Vec<OutputTokens> = each_target(experiment)
        .map(|target| output_tokens(experiment, target, &history.targets[target.index()]))
        .collect();
    let accounts: Vec<Account> = (0..experiment.settings.providers.len())
        .map(|provider| Account::of(experiment, history, provider, &inputs, &outputs))
        .collect();
    let samples: u64 = experiment.cases.iter().map(|planned| u64::from(planned.repeats)).sum();
    let repeats = samples as f64 / experiment.cases.len().max(1) as f64;
    let targets: Vec<TargetEstimate> = each_target(experiment)
        .map(|target| {
            let account = &accounts[experiment.targets[target.index()].provider];
            let spread = detect::spread(experiment, history, target, options.assumptions);
            let parts = Parts {
                history: &history.targets[target.index()],
                input: &inputs[target.index()],
                output: &outputs[target.index()],
                account,
                samples,
                spread,
                repeats,
            };
            parts.put_together(experiment, target)
        })
        .collect();
    let notes = notes(experiment, &targets);
    let total = totals(&targets, &accounts);
    Estimate {
        schema_version: SCHEMA_VERSION,
        experiment: experiment.settings.name.clone(),
        cases: experiment.cases.len(),
        clusters: clusters(experiment),
        repeats,
        targets,
        total,
        notes,
    }
}

fn each_target(experiment: &Experiment) -> impl Iterator<Item = TargetPos> + use<> {
    (0..experiment.targets.len()).map(TargetPos::at)
}

/// The clusters that the cases form.
fn clusters(experiment: &Experiment) -> usize {
    let names: std::collections::HashSet<&str> =
        experiment.cases.iter().map(|planned| planned.case.cluster_or_id()).collect();
    names.len()
}

struct Parts<'a> {
    history: &'a TargetHistory,
    input: &'a InputTokens,
    output: &'a OutputTokens,
    account: &'a Account,
    samples: u64,
    spread: Spread,
    repeats: f64,
}

impl Parts<'_> {
    fn put_together(self, experiment: &Experiment, place: TargetPos) -> TargetEstimate {
        let target = &experiment.targets[place.index()];
        let within = self.account.targets.iter().position(|&at| at == place).expect("the account has it");
        let cache = self.account.cache(within);
        let dollars = cost::dollars(experiment, place, self.input, self.output, cache);
        let used = cache.filter(|cache| cache.is_set_up).unwrap_or_default();
        let cases = experiment.cases.len() as u64;
        let repeats = u32::try_from(super::tokens::whole(self.repeats)).unwrap_or(u32::MAX).max(1);
        let requests = self.samples as f64 * self.history.attempts_per_trial;
        let part = |of: fn(&Dollars) -> Range| dollars.as_ref().map(of);
        TargetEstimate {
            name: target.name.to_string(),
            provider: target.settings.provider.to_string(),
            model: target.settings.model.to_string(),
            basis: self.output.basis,
            past_runs: self.history.runs.clone(),
            past_cases: self.output.past_cases,
            past_trials: self.output.past_trials,
            requests: Range {
                low: self.samples as f64,
                mid: requests.round(),
                high: (self.samples as f64 + 2.0 * (requests - self.samples as f64)).round(),
            },
            input_tokens: self.input.total,
            tokenizer: self.input.tokenizer.name(),
            tokenizer_corrected: self.input.corrected,
            cache_write_tokens: used.writes * self.input.shared_prefix,
            cache_read_tokens: used.reads * self.input.shared_prefix,
            output_tokens: self.output.total,
            segments: self.output.segments.clone(),
            cost_usd: part(|dollars| dollars.expected),
            cost_ceiling_usd: dollars.as_ref().map(|dollars| dollars.ceiling),
            cost_live_usd: part(|dollars| dollars.live),
            cost_batch_usd: dollars.as_ref().and_then(|dollars| dollars.batch),
            cost_cached_usd: dollars.as_ref().and_then(|dollars| dollars.cached),
            wall_seconds: self.account.ended(within),
            detectable_difference: self.spread.detectable(cases, repeats),
            binding_limit: self.account.binding.clone(),
            record: None,
        }
    }
}

/// One account, played.
struct Account {
    /// Its targets' positions.
    targets: Vec<TargetPos>,
    /// One play a replicate, the expected latencies in the first.
    plays: Vec<Played>,
    /// With all latencies at their bounds, where no earlier run tells them.
    bounds: Option<(Played, Played)>,
    binding: Option<BindingLimit>,
    set_up: Vec<bool>,
    possible: Vec<bool>,
}

impl Account {
    fn of(
        experiment: &Experiment,
        history: &History,
        provider: usize,
        inputs: &[InputTokens],
        outputs: &[OutputTokens],
    ) -> Self {
        let targets: Vec<TargetPos> = each_target(experiment)
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
        account.plays =
            (0..replays).map(|replay| run(&limits, &answers, seed.wrapping_add(replay))).collect();
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
        let name = experiment.settings.providers[provider].name.to_string();
        account.binding = Some(binding(name, &limits, |limits| run(limits, &answers, seed)));
        account
    }

    fn cache(&self, within: usize) -> Option<CacheUse> {
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

    fn wall(&self) -> Range {
        self.range(|played| played.wall_s)
    }

    fn ended(&self, within: usize) -> Range {
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
    let rounds = 1..=deepest;
    rounds
        .flat_map(|repeat| {
            let asked = experiment.cases.iter().enumerate();
            let asked = asked.filter(move |(_, planned)| planned.repeats >= repeat);
            asked.flat_map(|(case, _)| {
                targets.iter().enumerate().map(move |(within, &target)| Job {
                    target: within,
                    input: inputs[target.index()].per_case[case],
                    max_output: f64::from(experiment.targets[target.index()].output_limit()),
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
    if settings.kind == ProviderKind::Simulator {
        let own = experiment
            .targets
            .iter()
            .filter(|target| target.provider == provider)
            .filter_map(|target| target.settings.simulate.requests_per_minute);
        let own = own.fold(f64::INFINITY, f64::min);
        if own.is_finite() && limits.requests_per_minute.is_none() {
            limits.requests_per_minute = Some(super::tokens::whole(own).max(1));
        }
    }
    limits
}

/// Latencies that are known without an earlier run: a simulator's and a replay's.
fn own_latencies(
    experiment: &Experiment,
    target: TargetPos,
    mean_output: f64,
) -> Vec<super::history::PastTrial> {
    let target = &experiment.targets[target.index()];
    let at = |latency_ms: f64| super::history::PastTrial { latency_ms, output: mean_output };
    match experiment.settings.providers[target.provider].kind {
        ProviderKind::Simulator => {
            let latency = &target.settings.simulate.latency_ms;
            let quantile = |step: u32| {
                let p = (f64::from(step) + 0.5) / 50.0;
                at(latency.at(normal_quantile(p), p))
            };
            (0..50).map(quantile).collect()
        }
        ProviderKind::Replay => vec![at(0.0)],
        _ => vec![],
    }
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
    match experiment.settings.providers[target.provider].kind {
        ProviderKind::Simulator => match target.settings.simulate.cache {
            Some(cache) if input.shared_prefix >= cache.min_tokens as f64 => (true, Some(cache.ttl_s)),
            _ => (false, None),
        },
        ProviderKind::Replay | ProviderKind::Exec | ProviderKind::Http => (false, None),
        ProviderKind::Anthropic => {
            let parameters = &target.settings.parameters;
            let asked = parameters.cache.is_some() || parameters.extra.contains_key("cache_control");
            ((asked || history.cache_read_share > 0.0) && can, can.then_some(ttl))
        }
        ProviderKind::Openai => {
            let asked = target.settings.parameters.cache.is_some();
            ((asked || history.cache_read_share > 0.0) && can, can.then_some(ttl))
        }
    }
}

/// Doubles one limit after the other and sees which saves most.
fn binding(provider: String, limits: &Limits, run: impl Fn(&Limits) -> Played) -> BindingLimit {
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
            "max_in_flight",
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

fn totals(targets: &[TargetEstimate], accounts: &[Account]) -> Totals {
    let sum = |of: fn(&TargetEstimate) -> Range| targets.iter().map(of).fold(Range::default(), Range::plus);
    let money = |of: fn(&TargetEstimate) -> Option<Range>| -> Option<Range> {
        targets.iter().map(of).try_fold(Range::default(), |sum, part| Some(sum.plus(part?)))
    };
    let walls: Vec<Range> = accounts.iter().map(Account::wall).collect();
    let slowest = |of: fn(&Range) -> f64| walls.iter().map(of).fold(0.0, f64::max);
    let slowest_account = accounts.iter().max_by(|a, b| a.wall().mid.total_cmp(&b.wall().mid));
    Totals {
        requests: sum(|target| target.requests),
        input_tokens: sum(|target| target.input_tokens),
        output_tokens: sum(|target| target.output_tokens),
        cost_usd: money(|target| target.cost_usd),
        wall_seconds: Range {
            low: slowest(|wall| wall.low),
            mid: slowest(|wall| wall.mid),
            high: slowest(|wall| wall.high),
        },
        cost_ceiling_usd: targets.iter().map(|target| target.cost_ceiling_usd).sum(),
        cost_batch_usd: money(|target| target.cost_batch_usd),
        detectable_difference: targets
            .iter()
            .map(|target| target.detectable_difference.paired)
            .reduce(f64::max),
        binding_limit: slowest_account.and_then(|account| account.binding.clone()),
    }
}

fn notes(experiment: &Experiment, targets: &[TargetEstimate]) -> Vec<String> {
    let mut notes = vec![];
    for (target, of) in experiment.targets.iter().zip(targets) {
        if target.price.is_none() {
            notes.push(format!(
                "no price for model `{}`: the dollars of `{}` are unknown (add a `[[price]]` row)",
                target.settings.model, target.name
            ));
        }
        match of.basis {
            Basis::Nothing => notes.push(format!(
                "no earlier run of `{}`: its output is a share of `max_tokens`, with wide bounds",
                target.name
            )),
            Basis::SameModel => notes.push(format!(
                "no earlier run of `{}`: other runs of model `{}` stand in, with wider bounds",
                target.name, target.settings.model
            )),
            Basis::SameTarget if of.past_cases < 30 => notes.push(format!(
                "only {} earlier cases of `{}`: an order of magnitude",
                of.past_cases, target.name
            )),
            Basis::SameTarget => {}
        }
    }
    for provider in &experiment.settings.providers {
        let limits = &provider.queue.limits;
        let unknown = limits.requests_per_minute.is_none()
            && limits.input_tokens_per_minute.is_none()
            && limits.output_tokens_per_minute.is_none()
            && limits.tokens_per_minute.is_none();
        if unknown && provider.kind.is_remote() {
            notes.push(format!(
                "limits of provider `{}` are unknown: only `max_in_flight` = {} is counted with",
                provider.name, limits.max_in_flight
            ));
        }
    }
    notes
}
