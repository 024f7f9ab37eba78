//! A neutral request: what is asked, before a dialect puts it into its own words.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Begun, Case, ModelId, Prompt, PromptCache, Repeat, TargetName};

/// What a target sets for all its requests. What is `None` is not sent: new models reject sampling
/// fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// The most output tokens an answer may have.
    pub max_tokens: Option<u32>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Texts at which the model stops.
    pub stop: Vec<String>,
    /// Whether answers are streamed.
    #[serde(default)]
    pub stream: bool,
    /// What the provider is asked to cache.
    #[serde(default)]
    pub cache: Option<PromptCache>,
    /// Merged into the request body last; wins over every other field.
    pub extra: Map<String, Value>,
}

/// One question on its way to a provider.
#[derive(Clone, Debug)]
pub struct Request {
    /// The target under test: recorded outputs and simulators answer by target.
    pub target: TargetName,
    /// The model asked.
    pub model: ModelId,
    /// What is asked.
    pub prompt: Prompt,
    /// The target's settings.
    pub parameters: Arc<Parameters>,
    /// The case behind it: recorded outputs, simulators and programs answer by case.
    pub case: Arc<Case>,
    /// Which repeat it is, counted from 1.
    pub repeat: Repeat,
    /// The seed of this trial's draws (simulated answers, jitter).
    pub seed: u64,
    /// Told when a streamed answer begins.
    pub begun: Begun,
}
