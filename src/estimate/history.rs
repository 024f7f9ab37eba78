//! What earlier runs say of a target: tokens, times and verdicts, case by case.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::{
    config::{Experiment, PromptTemplate, Target, TargetSettings, target_settings},
    domain::{CaseId, Fingerprint, RunRow, TargetPos},
    evidence::{is_answer, measured},
    providers::Tokenizer,
    stats::SplitMix64,
    store::{Detail, ListedRun, RunCase, Store, StoreError, TrialRow},
};

/// The latest earlier runs of a target that are read.
const RUNS: usize = 5;

/// No further run is read once so many trials are at hand.
const ENOUGH_TRIALS: usize = 40_000;

/// Prompts of an earlier run that are rendered and counted again, to see how far counting is off.
const RATIO_CASES: usize = 200;

/// What an estimate rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Earlier runs of the same target of the same experiment.
    SameTarget,
    /// Earlier runs of the same model under another name or in another experiment.
    SameModel,
    /// No earlier run.
    Nothing,
}

/// One case as earlier runs measured it.
#[derive(Clone, Debug, Default)]
pub struct PastCase {
    /// Its id.
    pub id: Option<CaseId>,
    /// Its fingerprint then.
    pub fingerprint: Option<Fingerprint>,
    /// Its cluster.
    pub cluster: String,
    /// Its segments.
    pub segment: BTreeMap<String, String>,
    /// Output tokens of each answer.
    pub outputs: Vec<f64>,
    /// Input tokens of each answer.
    pub inputs: Vec<f64>,
    /// 1 for each pass, 0 for each failure.
    pub scores: Vec<f64>,
}

/// How real input tokens compare with counted ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputRatio {
    /// Real over counted.
    pub ratio: f64,
    /// Its standard error over cases.
    pub se: f64,
}

impl InputRatio {
    /// R = Σ real / Σ counted over cases; `None` without any.
    ///
    /// Source: Cochran (1977), Sampling Techniques, ch. 6 (ratio estimator, linearised variance).
    pub fn of(real: &[f64], counted: &[f64]) -> Option<Self> {
        let (sum_real, sum_counted) = (real.iter().sum::<f64>(), counted.iter().sum::<f64>());
        if sum_counted <= 0.0 || sum_real <= 0.0 {
            return None;
        }
        let (n, ratio) = (real.len() as f64, sum_real / sum_counted);
        let squares: f64 =
            real.iter().zip(counted).map(|(real, counted)| (real - ratio * counted).powi(2)).sum();
        let se = if n > 1.0 { (squares / (n - 1.0) / n).sqrt() / (sum_counted / n) } else { 0.25 * ratio };
        Some(Self { ratio, se })
    }
}

/// One answered trial: how long it took and what it wrote.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PastTrial {
    /// The successful attempt's own time, in milliseconds.
    pub latency_ms: f64,
    /// Output tokens.
    pub output: f64,
}

/// What earlier runs say of one target.
#[derive(Clone, Debug)]
pub struct TargetHistory {
    /// Whose runs they are.
    pub basis: Basis,
    /// Their names, the latest first.
    pub runs: Vec<String>,
    /// Case by case.
    pub cases: Vec<PastCase>,
    /// Answered trials.
    pub trials: Vec<PastTrial>,
    /// Requests made for each trial that ended, on average.
    pub attempts_per_trial: f64,
    /// How real input tokens compare with counted ones.
    pub input_ratio: Option<InputRatio>,
    /// Whether the prompts were those of today, so that the input of a known case is known.
    pub same_prompts: bool,
    /// Input tokens read from a cache, as a share of all.
    pub cache_read_share: f64,
}

impl TargetHistory {
    /// What is known of a target that was never asked.
    pub fn nothing() -> Self {
        Self {
            basis: Basis::Nothing,
            runs: vec![],
            cases: vec![],
            trials: vec![],
            attempts_per_trial: 1.0,
            input_ratio: None,
            same_prompts: false,
            cache_read_share: 0.0,
        }
    }
}

/// What earlier runs say, target by target in the experiment's order.
#[derive(Clone, Debug)]
pub struct History {
    /// One entry a target.
    pub targets: Vec<TargetHistory>,
}

impl History {
    /// That of an experiment without earlier runs.
    pub fn nothing(experiment: &Experiment) -> Self {
        Self { targets: experiment.targets.iter().map(|_| TargetHistory::nothing()).collect() }
    }

    /// Reads it from the store; runs in `without` do not count.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn read(store: &Store, experiment: &Experiment, without: &[RunRow]) -> Result<Self, StoreError> {
        let mut runs = store.list_runs()?;
        runs.retain(|run| !without.contains(&run.id));
        let targets =
            experiment.targets.iter().map(|target| read_target(store, experiment, target, &runs)).collect();
        Ok(Self { targets: targets_of(targets)? })
    }
}

fn targets_of(found: Vec<Result<TargetHistory, StoreError>>) -> Result<Vec<TargetHistory>, StoreError> {
    found.into_iter().collect()
}

fn read_target(
    store: &Store,
    experiment: &Experiment,
    target: &Target,
    runs: &[ListedRun],
) -> Result<TargetHistory, StoreError> {
    for basis in [Basis::SameTarget, Basis::SameModel] {
        let found = gather(store, experiment, target, runs, basis)?;
        if !found.cases.is_empty() {
            return Ok(found);
        }
    }
    Ok(TargetHistory::nothing())
}

fn gather(
    store: &Store,
    experiment: &Experiment,
    target: &Target,
    runs: &[ListedRun],
    basis: Basis,
) -> Result<TargetHistory, StoreError> {
    let mut history = TargetHistory { basis, ..TargetHistory::nothing() };
    let mut places: HashMap<(CaseId, Fingerprint), usize> = HashMap::new();
    let mut counts = Counts::default();
    for run in runs {
        if history.runs.len() == RUNS || history.trials.len() >= ENOUGH_TRIALS {
            break;
        }
        let same_experiment = run.experiment == experiment.settings.name;
        if basis == Basis::SameTarget && !same_experiment {
            continue;
        }
        let targets = store.targets(run.id)?;
        let matches = |then: &crate::store::NewTarget| {
            then.model == target.settings.model && (basis == Basis::SameModel || then.name == target.name)
        };
        let Some((position, then)) = (0..).map(TargetPos).zip(&targets).find(|(_, then)| matches(then))
        else {
            continue;
        };
        let mut cases = vec![];
        store.for_each_case::<StoreError>(run.id, |case| {
            cases.push(case);
            Ok(())
        })?;
        let before = counts.ended;
        store.for_each_trial_row(run.id, position, Detail::Full, |trial| {
            if is_answer(trial) {
                let case = &cases[trial.case.index()];
                let place = *places.entry((case.id.clone(), case.fingerprint)).or_insert_with(|| {
                    history.cases.push(past_case(case));
                    history.cases.len() - 1
                });
                counts.note(trial);
                history.note(place, trial);
            }
        })?;
        if counts.ended == before {
            continue;
        }
        if history.runs.is_empty() {
            let settings = target_settings(&then.config).ok();
            history.same_prompts = settings.as_ref().is_some_and(|settings| {
                settings.system == target.settings.system && settings.user == target.settings.user
            });
            let tokenizer = target.tokenizer();
            history.input_ratio = match settings {
                Some(settings) => input_ratio(store, run.id, &settings, tokenizer, &history.cases)?,
                None => None,
            };
        }
        history.runs.push(run.name.to_string());
    }
    if counts.ended > 0 {
        history.attempts_per_trial = counts.attempts as f64 / counts.ended as f64;
    }
    if counts.input > 0 {
        history.cache_read_share = counts.cache_read as f64 / counts.input as f64;
    }
    Ok(history)
}

/// What earlier answers took together.
#[derive(Default)]
struct Counts {
    ended: u64,
    attempts: u64,
    cache_read: u64,
    input: u64,
}

impl Counts {
    fn note(&mut self, trial: &TrialRow) {
        self.ended += 1;
        self.attempts += u64::from(trial.attempts.unwrap_or(1).max(1));
        if let Some(usage) = trial.usage {
            self.cache_read += usage.cache_read;
            self.input += usage.input_total();
        }
    }
}

impl TargetHistory {
    /// Takes in an answer to the case at `place`.
    fn note(&mut self, place: usize, trial: &TrialRow) {
        let past = &mut self.cases[place];
        if let Some(usage) = trial.usage {
            past.outputs.push(usage.output as f64);
            past.inputs.push(usage.input_total() as f64);
            if let Some(latency_ms) = trial.latency_ms {
                self.trials.push(PastTrial { latency_ms, output: usage.output as f64 });
            }
        }
        past.scores.extend(measured(trial).map(|passed| f64::from(u8::from(passed))));
    }
}

/// A case of which no answer was noted yet.
fn past_case(case: &RunCase) -> PastCase {
    PastCase {
        id: Some(case.id.clone()),
        fingerprint: Some(case.fingerprint),
        cluster: case.cluster.clone(),
        segment: case.segment.clone(),
        ..PastCase::default()
    }
}

/// Renders prompts of an earlier run as it rendered them, counts them, and sets that against what
/// the provider counted.
fn input_ratio(
    store: &Store,
    run: RunRow,
    settings: &TargetSettings,
    tokenizer: Tokenizer,
    cases: &[PastCase],
) -> Result<Option<InputRatio>, StoreError> {
    let Ok(template) = PromptTemplate::compile(settings.system.clone(), settings.user.clone()) else {
        return Ok(None);
    };
    let mut places: Vec<usize> = (0..cases.len()).filter(|&at| !cases[at].inputs.is_empty()).collect();
    if places.len() > RATIO_CASES {
        let mut rng = SplitMix64::new(1);
        for at in 0..RATIO_CASES {
            let other = at + rng.below(places.len() - at);
            places.swap(at, other);
        }
        places.truncate(RATIO_CASES);
    }
    let (mut real, mut counted) = (vec![], vec![]);
    for at in places {
        let Some(id) = &cases[at].id else { continue };
        let Some(case) = store.whole_case(run, id)? else { continue };
        let Ok(prompt) = template.render(&case) else { continue };
        real.push(cases[at].inputs.iter().sum::<f64>() / cases[at].inputs.len() as f64);
        counted.push(tokenizer.count(&prompt) as f64);
    }
    Ok(InputRatio::of(&real, &counted))
}
