//! The experiment as it is meant: what a run freezes.
//!
//! A resume takes [`Settings`] from the store and not from the file, which may have been edited since;
//! what they look like there stands in [`stored`](super::stored).

use std::{collections::BTreeMap, path::PathBuf};

use super::{gates::Gates, stop::StopSettings};
use crate::{
    domain::{AnswerKeeping, Cost, GraderSpec, ModelId, Parameters, PassIf, ProviderName, Shard, TargetName},
    golden::{CaseDefaults, Selection},
    providers::{ExecSettings, HttpAppSettings, Kind, MaxTokensField, SimulatedTarget},
    queue::QueueSettings,
};

/// One rate-limited account.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderSettings {
    /// Its name in the experiment.
    pub name: ProviderName,
    /// How it is spoken to.
    pub kind: Kind,
    /// Where it is reached; `None` for what needs no network.
    pub base_url: Option<String>,
    /// The environment variable that holds its key; `None` when it needs none.
    pub api_key_env: Option<String>,
    /// The request field for the output limit, where it is not the dialect's own.
    pub max_tokens_field: Option<MaxTokensField>,
    /// Its limits, and how patiently failed attempts are repeated.
    pub queue: QueueSettings,
    /// The longest wait for a connection, in seconds.
    pub connect_s: f64,
    /// The longest wait between two bytes of an answer, in seconds.
    pub idle_s: f64,
    /// How a program is run.
    pub exec: Option<ExecSettings>,
    /// How an endpoint of one's own is asked.
    pub http: Option<HttpAppSettings>,
}

/// One target: what is under test.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetSettings {
    /// Its name in the experiment.
    pub name: TargetName,
    /// The account it uses.
    pub provider: ProviderName,
    /// The model asked.
    pub model: ModelId,
    /// What is set for all its requests.
    pub parameters: Parameters,
    /// The template of the system prompt.
    pub system: Option<String>,
    /// The template of the user message; `None` sends the message as it is.
    pub user: Option<String>,
    /// Recorded outputs, for a replay.
    pub outputs: Option<PathBuf>,
    /// How the simulator plays it.
    pub simulate: SimulatedTarget,
    /// Whether answers of earlier runs to identical requests are used again.
    pub reuse: bool,
    /// The most that one answer of an application costs; `None` where the experiment does not say.
    pub max_cost_per_answer: Option<Cost>,
}

/// A whole experiment as it is meant.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The experiment's name; its runs are numbered under it.
    pub name: String,
    /// The golden set's file.
    pub golden: PathBuf,
    /// How often a case is asked, unless it says otherwise itself.
    pub repeats: u32,
    /// The seed of every draw.
    pub seed: u64,
    /// From a case's repeats to its verdict, unless it says otherwise itself.
    pub pass_if: PassIf,
    /// The graders of cases that name none.
    pub graders: Vec<GraderSpec>,
    /// The graders that cases may name.
    pub named_graders: BTreeMap<String, GraderSpec>,
    /// What may be spent at most.
    pub max_cost: Option<Cost>,
    /// Which cases of the set are asked.
    pub selection: Selection,
    /// When the run may end before all trials are done.
    pub stop: Option<StopSettings>,
    /// The only part of the selected cases that is asked; `None`: all of them.
    pub shard: Option<Shard>,
    /// What the store keeps of the answers.
    pub store_answers: AnswerKeeping,
    /// What is under test.
    pub targets: Vec<TargetSettings>,
    /// The accounts that the targets use.
    pub providers: Vec<ProviderSettings>,
    /// The gates; absent in runs begun before there were any.
    pub gates: Gates,
    /// The cut-off of retrieval scores.
    pub retrieval_k: u32,
}

pub(super) fn default_retrieval_k() -> u32 {
    5
}

impl Settings {
    /// What the golden set's loader needs to know.
    pub fn case_defaults(&self) -> CaseDefaults {
        CaseDefaults {
            graders: self.graders.clone(),
            named: self.named_graders.clone(),
            pass_if: self.pass_if,
        }
    }
}
