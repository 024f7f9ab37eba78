//! Version 2: the shape that is written today.
//!
//! The settings are listed here a second time on purpose: one that gets another name or another default
//! in the experiment file keeps its name and its value in the store. What other floors and the store itself
//! already write in one lasting form is taken over as it is: [`Gates`], [`Selection`], [`GraderSpec`],
//! [`Price`], and in [`leaves`](super::leaves) `PromptCache`, `StopGate`, `ExecMode` and the simulator's
//! `CacheSettings`. Their names on disk are theirs, so one that is renamed there needs `serde(alias)` or a
//! version 3 here; the tests read each of them as it is written today.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::leaves::{Exec, Http, Queue, Requests, Simulated, Stop};
use crate::{
    config::{
        gates::Gates,
        settings::{ProviderSettings, Settings, TargetSettings},
        stop::StopSettings,
    },
    domain::{
        AnswerKeeping, Cost, GraderSpec, ModelId, Parameters, PassIf, Price, ProviderName, Shard, TargetName,
    },
    golden::Selection,
    providers::{ExecSettings, HttpAppSettings, Kind, MaxTokensField, SimulatedTarget},
    queue::QueueSettings,
};

/// A run's configuration.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredRun {
    pub(super) settings: StoredSettings,
    pub(super) prices: Vec<Vec<Price>>,
}

/// Its experiment.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredSettings {
    name: String,
    golden: PathBuf,
    repeats: u32,
    seed: u64,
    pass_if: PassIf,
    graders: Vec<GraderSpec>,
    named_graders: BTreeMap<String, GraderSpec>,
    max_cost: Option<Cost>,
    selection: Selection,
    stop: Option<StoredStop>,
    shard: Option<Shard>,
    store_answers: AnswerKeeping,
    targets: Vec<StoredTarget>,
    providers: Vec<StoredProvider>,
    gates: Gates,
    retrieval_k: u32,
}

/// One target.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredTarget {
    name: TargetName,
    provider: ProviderName,
    model: ModelId,
    #[serde(with = "Requests")]
    parameters: Parameters,
    system: Option<String>,
    user: Option<String>,
    outputs: Option<PathBuf>,
    #[serde(with = "Simulated")]
    simulate: SimulatedTarget,
    reuse: bool,
    max_cost_per_answer: Option<Cost>,
}

/// One account.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredProvider {
    name: ProviderName,
    kind: Kind,
    base_url: Option<String>,
    api_key_env: Option<String>,
    max_tokens_field: Option<MaxTokensField>,
    #[serde(with = "Queue")]
    queue: QueueSettings,
    connect_s: f64,
    idle_s: f64,
    exec: Option<StoredExec>,
    http: Option<StoredHttp>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredStop(#[serde(with = "Stop")] StopSettings);

#[derive(Debug, Serialize, Deserialize)]
struct StoredExec(#[serde(with = "Exec")] ExecSettings);

#[derive(Debug, Serialize, Deserialize)]
struct StoredHttp(#[serde(with = "Http")] HttpAppSettings);

impl From<Settings> for StoredSettings {
    fn from(settings: Settings) -> Self {
        let Settings {
            name,
            golden,
            repeats,
            seed,
            pass_if,
            graders,
            named_graders,
            max_cost,
            selection,
            stop,
            shard,
            store_answers,
            targets,
            providers,
            gates,
            retrieval_k,
        } = settings;
        Self {
            name,
            golden,
            repeats,
            seed,
            pass_if,
            graders,
            named_graders,
            max_cost,
            selection,
            stop: stop.map(StoredStop),
            shard,
            store_answers,
            targets: targets.into_iter().map(StoredTarget::from).collect(),
            providers: providers.into_iter().map(StoredProvider::from).collect(),
            gates,
            retrieval_k,
        }
    }
}

impl From<StoredSettings> for Settings {
    fn from(stored: StoredSettings) -> Self {
        Self {
            name: stored.name,
            golden: stored.golden,
            repeats: stored.repeats,
            seed: stored.seed,
            pass_if: stored.pass_if,
            graders: stored.graders,
            named_graders: stored.named_graders,
            max_cost: stored.max_cost,
            selection: stored.selection,
            stop: stored.stop.map(|StoredStop(stop)| stop),
            shard: stored.shard,
            store_answers: stored.store_answers,
            targets: stored.targets.into_iter().map(TargetSettings::from).collect(),
            providers: stored.providers.into_iter().map(ProviderSettings::from).collect(),
            gates: stored.gates,
            retrieval_k: stored.retrieval_k,
        }
    }
}

impl From<TargetSettings> for StoredTarget {
    fn from(settings: TargetSettings) -> Self {
        let TargetSettings {
            name,
            provider,
            model,
            parameters,
            system,
            user,
            outputs,
            simulate,
            reuse,
            max_cost_per_answer,
        } = settings;
        Self {
            name,
            provider,
            model,
            parameters,
            system,
            user,
            outputs,
            simulate,
            reuse,
            max_cost_per_answer,
        }
    }
}

impl From<StoredTarget> for TargetSettings {
    fn from(stored: StoredTarget) -> Self {
        let StoredTarget {
            name,
            provider,
            model,
            parameters,
            system,
            user,
            outputs,
            simulate,
            reuse,
            max_cost_per_answer,
        } = stored;
        Self {
            name,
            provider,
            model,
            parameters,
            system,
            user,
            outputs,
            simulate,
            reuse,
            max_cost_per_answer,
        }
    }
}

impl From<ProviderSettings> for StoredProvider {
    fn from(settings: ProviderSettings) -> Self {
        let ProviderSettings {
            name,
            kind,
            base_url,
            api_key_env,
            max_tokens_field,
            queue,
            connect_s,
            idle_s,
            exec,
            http,
        } = settings;
        let (exec, http) = (exec.map(StoredExec), http.map(StoredHttp));
        Self { name, kind, base_url, api_key_env, max_tokens_field, queue, connect_s, idle_s, exec, http }
    }
}

impl From<StoredProvider> for ProviderSettings {
    fn from(stored: StoredProvider) -> Self {
        let StoredProvider {
            name,
            kind,
            base_url,
            api_key_env,
            max_tokens_field,
            queue,
            connect_s,
            idle_s,
            exec,
            http,
        } = stored;
        let (exec, http) = (exec.map(|StoredExec(exec)| exec), http.map(|StoredHttp(http)| http));
        Self { name, kind, base_url, api_key_env, max_tokens_field, queue, connect_s, idle_s, exec, http }
    }
}
