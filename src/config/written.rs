//! The experiment file as written: every key optional, nothing resolved.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{gates::WrittenGates, prices::WrittenPrice, stop::StopSettings};
use crate::{
    domain::{AnswerKeeping, HttpMethod, PassIf},
    providers::{AnswerPointers, ExecMode, ExitCodes, Kind, MaxTokensField, SimulatedTarget},
    queue::{Limits, RetryPolicy},
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenExperiment {
    pub(super) name: Option<String>,
    pub(super) golden: Option<PathBuf>,
    pub(super) repeats: Option<u32>,
    pub(super) seed: Option<u64>,
    #[serde(default)]
    pub(super) graders: Vec<WrittenGrader>,
    pub(super) pass_if: Option<PassIf>,
    pub(super) max_cost_usd: Option<f64>,
    pub(super) retrieval_k: Option<u32>,
    pub(super) store: Option<PathBuf>,
    pub(super) reuse: Option<bool>,
    pub(super) store_answers: Option<AnswerKeeping>,
    pub(super) prices: Option<PathBuf>,
    pub(super) stop: Option<StopSettings>,
    #[serde(default)]
    pub(super) prompt: WrittenPrompt,
    #[serde(default)]
    pub(super) target: Vec<WrittenTarget>,
    #[serde(default)]
    pub(super) provider: BTreeMap<String, WrittenProvider>,
    #[serde(default)]
    pub(super) grader: BTreeMap<String, Map<String, Value>>,
    #[serde(default)]
    pub(super) price: Vec<WrittenPrice>,
    #[serde(default)]
    pub(super) gates: WrittenGates,
}

/// A grader's name, or one written out.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum WrittenGrader {
    Named(String),
    Inline(Map<String, Value>),
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenPrompt {
    pub(super) system: Option<String>,
    pub(super) system_file: Option<PathBuf>,
    pub(super) user: Option<String>,
    pub(super) user_file: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenTarget {
    pub(super) name: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    pub(super) prompt: Option<WrittenPrompt>,
    pub(super) max_tokens: Option<u32>,
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    #[serde(default)]
    pub(super) stop: Vec<String>,
    #[serde(default)]
    pub(super) stream: bool,
    pub(super) cache: Option<Value>,
    #[serde(default)]
    pub(super) extra: Map<String, Value>,
    pub(super) outputs: Option<PathBuf>,
    pub(super) simulate: Option<SimulatedTarget>,
    pub(super) reuse: Option<bool>,
    // Of an application.
    pub(super) max_cost_per_answer_usd: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenProvider {
    pub(super) kind: Option<Kind>,
    pub(super) base_url: Option<String>,
    pub(super) api_key_env: Option<String>,
    pub(super) max_tokens_field: Option<MaxTokensField>,
    pub(super) limits: Option<Limits>,
    #[serde(default)]
    pub(super) timeouts: WrittenTimeouts,
    pub(super) retry: Option<RetryPolicy>,
    // Of a program.
    pub(super) command: Option<WrittenCommand>,
    pub(super) shell: Option<bool>,
    pub(super) mode: Option<ExecMode>,
    pub(super) workers: Option<u32>,
    pub(super) trials_per_worker: Option<u32>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) env: Option<Vec<String>>,
    pub(super) exit_codes: Option<ExitCodes>,
    pub(super) max_output_kb: Option<u32>,
    pub(super) max_memory_mb: Option<u64>,
    // Of an endpoint.
    pub(super) url: Option<String>,
    pub(super) method: Option<HttpMethod>,
    pub(super) headers: Option<BTreeMap<String, WrittenHeader>>,
    pub(super) body: Option<Value>,
    pub(super) answer: Option<AnswerPointers>,
}

/// A program with its arguments, or a text for the shell.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum WrittenCommand {
    Shell(String),
    Program(Vec<String>),
}

/// A header's value, or the variable that holds it.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum WrittenHeader {
    Value(String),
    Variable { env: String },
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenTimeouts {
    pub(super) connect_s: Option<f64>,
    pub(super) attempt_s: Option<f64>,
    pub(super) trial_s: Option<f64>,
    pub(super) idle_s: Option<f64>,
}
