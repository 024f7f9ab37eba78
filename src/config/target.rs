//! A target made ready: its template compiled, its recordings read, what a trial of it asks and may cost.

use std::{path::Path, sync::Arc};

use super::{
    prompt::PromptTemplate,
    settings::{Settings, TargetSettings},
};
use crate::{
    domain::{Case, Cost, Fault, Faults, Parameters, Price, Prompt, TargetName},
    providers::{Kind, ReplayOutputs, Tokenizer, estimate_input_tokens},
    queue::TokenDemand,
};

/// Output tokens reserved for a trial whose target sets no limit.
const DEFAULT_OUTPUT_TOKENS: u32 = 1_024;

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
    /// What it costs; `None` when that is not known.
    pub price: Option<Price>,
    /// Recorded outputs, for a replay.
    pub outputs: Option<Arc<ReplayOutputs>>,
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

    /// What a trial with this prompt asks of the account's token limits.
    pub fn demand(&self, prompt: &Prompt) -> TokenDemand {
        let output = self.parameters.max_tokens.unwrap_or(DEFAULT_OUTPUT_TOKENS);
        TokenDemand { input: estimate_input_tokens(prompt), output: u64::from(output) }
    }

    /// The most output tokens that an answer may have.
    pub fn output_limit(&self) -> u32 {
        self.parameters.max_tokens.unwrap_or(DEFAULT_OUTPUT_TOKENS)
    }

    /// The most that one attempt with this prompt can cost: a token has at least one byte.
    pub fn worst_case(&self, prompt: &Prompt) -> Option<Cost> {
        let texts = prompt.system.iter().map(|text| text.len());
        let turns = prompt.messages.iter().map(|message| message.content.text().len() + PER_MESSAGE);
        let input: usize = texts.chain(turns).sum();
        let output = self.parameters.max_tokens.unwrap_or(DEFAULT_OUTPUT_TOKENS);
        self.price.as_ref()?.worst_case(input as u64, u64::from(output))
    }
}

/// Tokens that a protocol puts around each message, at most.
const PER_MESSAGE: usize = 16;

pub(super) fn ready_targets(
    settings: &Settings,
    prices: Vec<Option<Price>>,
    faults: &mut Faults,
) -> Vec<Target> {
    let mut targets = vec![];
    for (target, price) in settings.targets.iter().zip(prices) {
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
        let kind = settings.providers[provider].kind;
        targets.push(Target {
            name: target.name.clone(),
            settings: target.clone(),
            provider,
            kind,
            price,
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
