//! A target made ready: its template compiled, its recordings read, what a trial of it asks and may cost.

use std::{path::Path, sync::Arc};

use super::{
    prompt::PromptTemplate,
    settings::{Settings, TargetSettings},
};
use crate::{
    domain::{
        Bounds, Case, Cost, Demand, Fault, Faults, Parameters, Price, Prompt, Question, TargetName, Tariff,
        UnixMillis,
    },
    providers::{Dialect, Kind, ReplayOutputs, Tokenizer, bounds_by_prompt, estimate_input_tokens},
    spend::Prices,
};

/// Output tokens reserved for a trial whose target sets no limit.
const DEFAULT_OUTPUT_TOKENS: u64 = 1_024;

/// A target made ready to ask.
#[derive(Debug)]
pub struct Target {
    /// Its name.
    pub name: TargetName,
    /// Its settings.
    pub settings: TargetSettings,
    /// The position of its account in [`Settings::providers`].
    pub provider: usize,
    /// How that account is spoken to.
    pub kind: Kind,
    /// What it costs.
    pub prices: Prices,
    /// Recorded outputs, for a replay.
    pub outputs: Option<Arc<ReplayOutputs>>,
    /// What puts its questions into words, where it is a model.
    dialect: Option<Box<dyn Dialect>>,
    pub(super) parameters: Arc<Parameters>,
    pub(super) template: Arc<PromptTemplate>,
}

impl Target {
    /// The rendered prompt of a case.
    pub(super) fn prompt(&self, case: &Case) -> Prompt {
        self.template.render(case).expect("every prompt was rendered once when the experiment was made ready")
    }

    /// Who counts the tokens of its prompts before they are asked.
    pub fn tokenizer(&self) -> Tokenizer {
        self.kind.tokenizer(self.settings.model.as_str())
    }

    /// The most that one attempt with this question can be billed for.
    pub(super) fn bounds(&self, question: &Question) -> Bounds {
        match &self.dialect {
            Some(dialect) => dialect.wire(question).bounds,
            None => bounds_by_prompt(question),
        }
    }

    /// What a question asks of the account's token limits, before it is put into words.
    pub(super) fn demand(&self, question: &Question) -> Demand {
        // Only what is added to a request can say another limit than the target's own.
        let said_output = match self.parameters.extra.is_empty() {
            true => self.parameters.max_tokens.map(u64::from),
            false => self.bounds(question).said_output,
        };
        demand(estimate_input_tokens(&question.prompt), said_output)
    }

    /// The most that one attempt within these bounds can cost; `None` where nobody can say.
    pub(super) fn worst_case(&self, bounds: Bounds) -> Option<Cost> {
        self.prices.worst(bounds, Tariff::Standard, UnixMillis::now())
    }
}

/// What a prompt of so many tokens asks of the account's limits, where the request says this limit of
/// output.
pub(super) fn demand(input: u64, said_output: Option<u64>) -> Demand {
    Demand { input, output: said_output.unwrap_or(DEFAULT_OUTPUT_TOKENS) }
}

/// The output tokens that an answer within these bounds is taken to have at most: as many as its request
/// says, else as is usual.
pub fn reserved_output(bounds: Bounds) -> u64 {
    bounds.said_output.unwrap_or(DEFAULT_OUTPUT_TOKENS)
}

pub(super) fn ready_targets(
    settings: &Settings,
    prices: Vec<Vec<Price>>,
    faults: &mut Faults,
) -> Vec<Target> {
    let mut targets = vec![];
    for (target, prices) in settings.targets.iter().zip(prices) {
        let template = match PromptTemplate::compile(target.system.clone(), target.user.clone()) {
            Ok(template) => template,
            Err(error) => {
                let place = format!("target `{}`, `prompt`", target.name);
                faults.0.push(Fault::of_file(&settings.name, error.to_string()).at(place));
                continue;
            }
        };
        let provider = settings.providers.iter().position(|provider| provider.name == target.provider);
        let provider = provider.expect("every target's provider was resolved");
        let account = &settings.providers[provider];
        let kind = account.kind;
        targets.push(Target {
            name: target.name.clone(),
            settings: target.clone(),
            provider,
            kind,
            prices: Prices::of_model(prices),
            dialect: kind.dialect(account.base_url.as_deref(), account.max_tokens_field),
            outputs: recorded_outputs(kind, target.outputs.as_deref(), faults),
            parameters: Arc::new(target.parameters.clone()),
            template: Arc::new(template),
        });
    }
    targets
}

fn recorded_outputs(kind: Kind, path: Option<&Path>, faults: &mut Faults) -> Option<Arc<ReplayOutputs>> {
    if !kind.is_recorded() {
        return None;
    }
    match ReplayOutputs::load(path?) {
        Ok(outputs) => Some(Arc::new(outputs)),
        Err(found) => {
            faults.0.extend(found.0);
            None
        }
    }
}
