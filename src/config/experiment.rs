//! An experiment made ready: cases chosen, graders and templates compiled, recordings read.

use std::{collections::HashSet, sync::Arc};

use jiff::civil::Date;
use rayon::prelude::*;

use super::{
    settings::Settings,
    target::{Target, ready_targets},
};
use crate::{
    domain::{
        Asked, AskerPos, Bounds, Call, Case, CaseId, CasePos, Cost, Demand, Fault, Faults, Price, Prompt,
        Purpose, Question, Repeat, TargetName, TargetPos, TrialKey, Walk,
    },
    golden::GoldenSet,
    grading::{Grader, GraderCache},
    providers::{BodyTemplate, Provider, estimate_input_tokens},
    store::RequestHash,
};

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
        mut settings: Settings,
        prices: Vec<Vec<Price>>,
        cases: Vec<Arc<Case>>,
        whole: Option<&GoldenSet>,
    ) -> Result<Self, Faults> {
        // An account that no target asks needs no key and has no queue.
        let Settings { targets, providers, .. } = &mut settings;
        providers.retain(|provider| targets.iter().any(|target| target.provider == provider.name));
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

    /// The question of one trial.
    pub fn question(&self, target: TargetPos, case: CasePos, repeat: Repeat) -> Question {
        let planned = &self.cases[case.index()];
        let target = &self.targets[target.index()];
        self.asked(target, &planned.case, target.prompt(&planned.case), repeat)
    }

    fn asked(&self, target: &Target, case: &Arc<Case>, prompt: Prompt, repeat: Repeat) -> Question {
        Question {
            model: target.settings.model.clone(),
            prompt,
            parameters: Arc::clone(&target.parameters),
            asked: Asked { by: target.name.clone(), case: Arc::clone(case), repeat },
            seed: trial_seed(self.settings.seed, &target.name, &case.id, repeat),
        }
    }

    /// The call that asks `question` for a trial, as `provider` sends it. `hash` is the question's.
    pub fn call(
        &self,
        provider: &dyn Provider,
        key: TrialKey,
        first_attempt: u32,
        question: Question,
        hash: Option<RequestHash>,
    ) -> Call {
        let target = &self.targets[key.target.index()];
        let (seed, input) = (question.seed, estimate_input_tokens(&question.prompt));
        let (outgoing, bounds) = provider.prepare(question);
        Call {
            purpose: Purpose::Trial(key),
            asker: AskerPos(key.target.0),
            outgoing,
            worst: target.worst_case(bounds),
            demand: Demand { input, output: bounds.reserved_output() },
            first_attempt,
            walk: Walk::default(),
            seed,
            hash,
        }
    }

    /// The most that one attempt of a target can be billed for, by its first case.
    pub fn bounds(&self, target: TargetPos) -> Bounds {
        let ask = || self.question(target, CasePos(0), Repeat::FIRST);
        if self.cases.is_empty() { Bounds::default() } else { self.targets[target.index()].bounds(&ask()) }
    }

    /// The most output tokens that one attempt of a target can be billed for; `None` where nobody can say.
    pub fn most_output(&self, target: TargetPos) -> Option<u64> {
        let target_of = &self.targets[target.index()];
        if let Some(outputs) = &target_of.outputs {
            return Some(outputs.most_output());
        }
        // A model is told the same limit in every case.
        let differing = if target_of.kind.is_simulated() { self.cases.len() } else { 1 };
        let questions = (0..self.cases.len().min(differing))
            .map(|case| self.question(target, CasePos::at(case), Repeat::FIRST));
        let outputs = questions.map(|question| target_of.bounds(&question).output);
        outputs.collect::<Option<Vec<u64>>>()?.into_iter().max()
    }

    /// The most that one attempt of a trial can cost; `None` where nobody can say.
    pub fn worst_case(&self, target: TargetPos, case: CasePos) -> Option<Cost> {
        let target_of = &self.targets[target.index()];
        target_of.worst_case(target_of.bounds(&self.question(target, case, Repeat::FIRST)))
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
                            let question = self.asked(target, case, prompt, Repeat::FIRST);
                            if let Some(body) = &body
                                && let Err(error) = body.render(&question)
                            {
                                return Some(
                                    fault(error.to_string())
                                        .with_hint("add the field to the case or mend the template"),
                                );
                            }
                            let demand = target.demand(&question);
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

impl Experiment {
    /// A budget can only be kept where the most that an answer can cost is known, and what goes on the
    /// wire decides that. Asked wherever something is about to be spent, before a run is made for it.
    /// `begins`: when the first price of a target's model will hold, where that is known and to come.
    ///
    /// # Errors
    /// Every target of which nobody can say what it may cost.
    pub fn check_budget(&self, begins: &[Option<Date>]) -> Result<(), Faults> {
        if self.settings.max_cost.is_none() || self.cases.is_empty() {
            return Ok(());
        }
        let targets = (0..self.targets.len()).map(TargetPos::at);
        let unknown = targets.filter(|&target| self.worst_case(target, CasePos(0)).is_none());
        Faults(unknown.map(|target| self.without_worst_case(target, begins)).collect()).none_or(())
    }

    fn without_worst_case(&self, at: TargetPos, begins: &[Option<Date>]) -> Fault {
        let target = &self.targets[at.index()];
        let (name, model) = (&target.name, &target.settings.model);
        let begins = begins.get(at.index()).copied().flatten();
        let before = begins.map(|day| format!(" before {day}")).unwrap_or_default();
        let (what, hint) = if target.kind.is_application() {
            (
                format!("nobody can say what an answer of application `{name}` may cost at most"),
                "say it as the target's `max_cost_per_answer_usd`, or run without a budget".to_owned(),
            )
        } else if target.prices.standard().is_none() {
            (
                format!("model `{model}` has no price{before}"),
                format!("add a `[[price]]` row for `{model}`, or run without a budget"),
            )
        } else {
            (
                format!("nobody can say how long an answer of target `{name}` can be"),
                "set `max_tokens` and leave it out of `extra`, or run without a budget".to_owned(),
            )
        };
        let message = format!("{what}, so the budget `max_cost_usd` cannot be kept");
        Fault::of_file(&self.settings.name, message).at(format!("target `{name}`")).with_hint(hint)
    }
}

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
