//! An experiment made ready: cases chosen, graders and templates compiled, recordings read.

use std::{collections::HashSet, path::Path, sync::Arc};

use rayon::prelude::*;

use super::{
    prompt::PromptTemplate,
    provider_kind::ProviderKind,
    settings::{Settings, TargetSettings},
};
use crate::{
    domain::{
        Begun, Case, CaseId, CasePos, Cost, Fault, Faults, Parameters, Price, Prompt, Repeat, Request,
        TargetName, TargetPos,
    },
    golden::GoldenSet,
    grading::{Grader, GraderCache},
    providers::{BodyTemplate, ReplayOutputs, estimate_input_tokens},
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
    /// What it costs; `None` when that is not known.
    pub price: Option<Price>,
    /// Recorded outputs, for a replay.
    pub outputs: Option<Arc<ReplayOutputs>>,
    parameters: Arc<Parameters>,
    template: Arc<PromptTemplate>,
}

/// A case to be asked, with its graders.
#[derive(Clone, Debug)]
pub struct PlannedCase {
    /// The case.
    pub case: Arc<Case>,
    /// Its graders, compiled; shared among cases with the same.
    pub graders: Arc<[Arc<Grader>]>,
    /// How often it is asked of every target.
    pub repeats: u32,
}

/// An experiment made ready to run.
#[derive(Debug)]
pub struct Experiment {
    /// What a run freezes.
    pub settings: Settings,
    /// What is under test.
    pub targets: Vec<Target>,
    /// The cases, in the golden set's order.
    pub cases: Vec<PlannedCase>,
}

impl Experiment {
    /// Makes `settings` ready for `cases` (the selected ones of `whole`, where the whole set is at
    /// hand). Everything that can be known to fail before a request is sent is found here.
    ///
    /// # Errors
    /// Every fault of graders, templates, recordings and sizes.
    pub fn prepare(
        settings: Settings,
        prices: Vec<Option<Price>>,
        cases: Vec<Arc<Case>>,
        whole: Option<&GoldenSet>,
    ) -> Result<Self, Faults> {
        let mut faults = Faults::default();
        let cases = plan_cases(&settings, cases, &mut faults);
        let targets = ready_targets(&settings, prices, &mut faults);
        let experiment = Self { settings, targets, cases };
        experiment.check_recordings(whole, &mut faults);
        experiment.check_prompts(&mut faults);
        faults.none_or(experiment)
    }

    /// How many trials are planned.
    pub fn trials(&self) -> u64 {
        let per_target: u64 = self.cases.iter().map(|planned| u64::from(planned.repeats)).sum();
        per_target * self.targets.len() as u64
    }

    /// The request of one trial.
    pub fn request(&self, target: TargetPos, case: CasePos, repeat: Repeat) -> Request {
        let planned = &self.cases[case.index()];
        let target = &self.targets[target.index()];
        self.asked(target, &planned.case, target.prompt(&planned.case), repeat)
    }

    fn asked(&self, target: &Target, case: &Arc<Case>, prompt: Prompt, repeat: Repeat) -> Request {
        Request {
            target: target.name.clone(),
            model: target.settings.model.clone(),
            prompt,
            parameters: Arc::clone(&target.parameters),
            case: Arc::clone(case),
            repeat,
            seed: trial_seed(self.settings.seed, &target.name, &case.id, repeat),
            begun: Begun::default(),
        }
    }

    /// The rendered prompt of a case.
    pub fn prompt(&self, target: TargetPos, case: CasePos) -> Prompt {
        self.targets[target.index()].prompt(&self.cases[case.index()].case)
    }

    fn check_recordings(&self, whole: Option<&GoldenSet>, faults: &mut Faults) {
        let selected = || self.cases.iter().map(|planned| planned.case.id.clone());
        let known: HashSet<CaseId> = match whole {
            Some(set) => set.cases.iter().map(|case| case.id.clone()).collect(),
            None => selected().collect(),
        };
        for outputs in self.targets.iter().filter_map(|target| target.outputs.as_ref()) {
            let asked = self.cases.iter().map(|planned| (planned.case.id.clone(), planned.repeats));
            // A resume no longer has the whole set at hand: ids beyond it were checked at the start.
            let found = outputs.check(whole.is_some().then_some(&known), asked);
            faults.0.extend(found.0);
        }
    }

    /// Renders every prompt once: a template that names what a case lacks, or a trial larger than a
    /// whole minute's limit, is told before anything is sent.
    fn check_prompts(&self, faults: &mut Faults) {
        for target in &self.targets {
            let provider = &self.settings.providers[target.provider];
            let body = provider.http.as_ref().and_then(|http| http.body.as_ref());
            let body = body.and_then(|body| BodyTemplate::compile(body).ok());
            let found: Vec<Fault> = self
                .cases
                .par_iter()
                .filter_map(|planned| {
                    let case = &planned.case;
                    let place = format!("target `{}`, case `{}`", target.name, case.id);
                    let fault =
                        |message: String| Fault::of_file(&self.settings.golden, message).at(place.clone());
                    match target.template.render(case) {
                        Err(error) => Some(
                            fault(error.to_string())
                                .with_hint("add the field to the case or mend the template"),
                        ),
                        Ok(prompt) => {
                            if let Some(body) = &body
                                && let Err(error) =
                                    body.render(&self.asked(target, case, prompt.clone(), Repeat::FIRST))
                            {
                                return Some(
                                    fault(error.to_string())
                                        .with_hint("add the field to the case or mend the template"),
                                );
                            }
                            let demand = target.demand(&prompt);
                            let fits = provider.queue.limits.check_fits(demand.input, demand.output);
                            fits.err().map(|error| fault(format!("{error}")))
                        }
                    }
                })
                .collect();
            faults.0.extend(found);
        }
    }
}

impl Target {
    /// The rendered prompt of a case.
    fn prompt(&self, case: &Case) -> Prompt {
        self.template.render(case).expect("every prompt was rendered once when the experiment was made ready")
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
        let turns = prompt.messages.iter().map(|message| message.content.len() + PER_MESSAGE);
        let input: usize = texts.chain(turns).sum();
        let output = self.parameters.max_tokens.unwrap_or(DEFAULT_OUTPUT_TOKENS);
        self.price.as_ref()?.worst_case(input as u64, u64::from(output))
    }
}

/// Tokens that a protocol puts around each message, at most.
const PER_MESSAGE: usize = 16;

fn plan_cases(settings: &Settings, cases: Vec<Arc<Case>>, faults: &mut Faults) -> Vec<PlannedCase> {
    let mut cache = GraderCache::default();
    let mut planned = Vec::with_capacity(cases.len());
    for case in cases {
        let compiled: Result<Arc<[_]>, Vec<String>> =
            case.graders.iter().map(|spec| cache.get(spec)).collect();
        match compiled {
            Ok(graders) => {
                if graders.is_empty() {
                    let fault = Fault::of_file(&settings.golden, "the case has no grader")
                        .at(format!("case `{}`", case.id))
                        .with_hint("name `graders` in the case or, for all, in the experiment");
                    faults.0.push(fault);
                }
                let repeats = case.repeats.unwrap_or(settings.repeats);
                planned.push(PlannedCase { case, graders, repeats });
            }
            Err(messages) => faults.0.extend(messages.into_iter().map(|message| {
                Fault::of_file(&settings.golden, message).at(format!("case `{}`, `graders`", case.id))
            })),
        }
    }
    planned
}

fn ready_targets(settings: &Settings, prices: Vec<Option<Price>>, faults: &mut Faults) -> Vec<Target> {
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
            price,
            outputs: recorded_outputs(kind, target.outputs.as_deref(), faults),
            parameters: Arc::new(target.parameters.clone()),
            template: Arc::new(template),
        });
    }
    targets
}

fn recorded_outputs(
    kind: ProviderKind,
    path: Option<&Path>,
    faults: &mut Faults,
) -> Option<Arc<ReplayOutputs>> {
    if kind != ProviderKind::Replay {
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

/// The seed of one trial's draws: the same whatever the order in which trials are asked.
fn trial_seed(seed: u64, target: &TargetName, case: &CaseId, repeat: Repeat) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.update(target.as_str().as_bytes());
    hasher.update(&[0]);
    hasher.update(case.as_str().as_bytes());
    hasher.update(&repeat.0.to_le_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(first)
}
