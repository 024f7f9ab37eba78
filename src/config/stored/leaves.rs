//! The inner parts of version 2, field by field as they stand in the store.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    config::stop::{StopGate, StopSettings},
    domain::{HttpMethod, Parameters, PromptCache},
    providers::{
        AnswerPointers, ExecMode, ExecSettings, ExitCodes, HttpAppSettings, SimulatedTarget,
        http_app::PassagePointers,
        simulator::{CacheSettings, ErrorRates, Latency, Tokens},
    },
    queue::{Limits, QueueSettings, RetryPolicy},
};

#[derive(Serialize, Deserialize)]
#[serde(remote = "Parameters", deny_unknown_fields)]
pub(super) struct Requests {
    max_tokens: Option<u32>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    stop: Vec<String>,
    stream: bool,
    cache: Option<PromptCache>,
    extra: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "StopSettings", deny_unknown_fields)]
pub(super) struct Stop {
    against: String,
    margin: f64,
    gate: StopGate,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "QueueSettings", deny_unknown_fields)]
pub(super) struct Queue {
    #[serde(with = "AccountLimits")]
    limits: Limits,
    #[serde(with = "Retry")]
    retry: RetryPolicy,
    attempt_timeout_s: f64,
    trial_timeout_s: Option<f64>,
    max_wait_s: f64,
    breaker_failures: u32,
    breaker_after_s: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Limits", deny_unknown_fields)]
struct AccountLimits {
    requests_per_minute: Option<u64>,
    input_tokens_per_minute: Option<u64>,
    output_tokens_per_minute: Option<u64>,
    tokens_per_minute: Option<u64>,
    max_in_flight: u32,
    burst_s: f64,
    output_reserved: bool,
    cache_reads_count: bool,
    shared: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "RetryPolicy", deny_unknown_fields)]
struct Retry {
    max_retries: u32,
    base_delay_ms: u64,
    max_delay_ms: u64,
    max_elapsed_s: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ExecSettings", deny_unknown_fields)]
pub(super) struct Exec {
    command: Vec<String>,
    shell: bool,
    mode: ExecMode,
    workers: u32,
    cwd: PathBuf,
    env: Vec<String>,
    #[serde(with = "Codes")]
    exit_codes: ExitCodes,
    max_output_bytes: usize,
    max_memory_mb: Option<u64>,
    timeout_s: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ExitCodes", deny_unknown_fields)]
struct Codes {
    retry: Vec<i32>,
    trial: Vec<i32>,
    stop: Vec<i32>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "HttpAppSettings", deny_unknown_fields)]
pub(super) struct Http {
    method: HttpMethod,
    headers: BTreeMap<String, String>,
    env_headers: BTreeMap<String, String>,
    body: Option<Value>,
    #[serde(with = "Answer")]
    answer: AnswerPointers,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "AnswerPointers", deny_unknown_fields)]
struct Answer {
    text: String,
    retrieved: Option<String>,
    #[serde(with = "Passage")]
    passage: PassagePointers,
    usage: Option<String>,
    cost: Option<String>,
    model: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "PassagePointers", deny_unknown_fields)]
struct Passage {
    doc: String,
    chunk: String,
    text: String,
    score: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "SimulatedTarget", deny_unknown_fields)]
pub(super) struct Simulated {
    skill: f64,
    difficulty_spread: f64,
    cluster_correlation: f64,
    shared_difficulty: f64,
    #[serde(with = "LatencyMs")]
    latency_ms: Latency,
    #[serde(with = "TokenCounts")]
    tokens: Tokens,
    cache: Option<CacheSettings>,
    refusal_rate: f64,
    truncation_rate: f64,
    filter_rate: f64,
    #[serde(with = "Errors")]
    errors: ErrorRates,
    requests_per_minute: Option<f64>,
    burst_s: f64,
    model: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Latency", deny_unknown_fields)]
struct LatencyMs {
    mean: f64,
    p95: Option<f64>,
    jitter: Option<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Tokens", deny_unknown_fields)]
struct TokenCounts {
    chars_per_token: f64,
    input: Option<u64>,
    output_mean: Option<f64>,
    output_sd: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ErrorRates", deny_unknown_fields)]
struct Errors {
    server: f64,
    overloaded: f64,
    dropped: f64,
    timeout: f64,
    rate_limit: f64,
    malformed: f64,
    bad_request: f64,
}
