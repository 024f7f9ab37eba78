//! How an endpoint is asked, as the configuration says it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::AnswerPointers;
use crate::domain::HttpMethod;

/// How an endpoint is asked. It holds the names of secrets, never their values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HttpAppSettings {
    /// The method.
    pub method: HttpMethod,
    /// Headers whose values are no secrets.
    pub headers: BTreeMap<String, String>,
    /// Headers whose values are in these environment variables.
    pub env_headers: BTreeMap<String, String>,
    /// The body: JSON whose texts are templates; `None` sends none.
    pub body: Option<Value>,
    /// Where in the answer what stands.
    pub answer: AnswerPointers,
}
