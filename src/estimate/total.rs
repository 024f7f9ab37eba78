//! The whole estimate of an experiment: target by target, and in total.

use serde::Serialize;

use super::{
    Range,
    account::{Account, BindingLimit},
    cost::{self, Dollars},
    detect::{self, Assumptions, Detectable, Spread},
    held::TargetRecord,
    history::{Basis, History, TargetHistory},
    input::{InputTokens, input_tokens},
    notes::notes,
    output::{OutputTokens, SegmentOutput, output_tokens},
    range::whole,
};
use crate::{config::Experiment, domain::TargetPos};

/// The version of the JSON shape.
const SCHEMA_VERSION: u32 = 1;

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
    let notes = notes(experiment, history, &outputs);
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
        let repeats = u32::try_from(whole(self.repeats)).unwrap_or(u32::MAX).max(1);
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
            cost_ceiling_usd: dollars.as_ref().and_then(|dollars| dollars.ceiling),
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
