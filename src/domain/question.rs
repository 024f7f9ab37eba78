//! A neutral question: what is asked, before a dialect puts it into its own words.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Case, ModelId, Prompt, PromptCache, Repeat, TargetName, shared};

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

/// One question in neutral form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The model asked.
    pub model: ModelId,
    /// What is asked.
    pub prompt: Prompt,
    /// The target's settings.
    #[serde(with = "shared::arc")]
    pub parameters: Arc<Parameters>,
    /// By whom it is asked, and of what.
    pub asked: Asked,
    /// The seed of this trial's draws (simulated answers, jitter).
    pub seed: u64,
}

/// By whom a question is asked, and of what. It never goes to a model: recorded outputs, simulators and
/// programs answer by it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The target under test.
    pub by: TargetName,
    /// The case behind it.
    #[serde(with = "shared::arc")]
    pub case: Arc<Case>,
    /// Which repeat it is, counted from 1.
    pub repeat: Repeat,
}
