//! What the store keeps of a case's content: the form that is written, and the one that is read.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::StoreError;
use crate::domain::{Case, Examples, GraderSpec, Input, PassIf};

/// All of a case that can change its result: what its fingerprint is made of.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct CaseContent {
    /// What is asked.
    pub input: Input,
    /// What the application knew; `Null` when absent.
    pub context: Value,
    /// What graders compare with; `Null` when absent.
    pub expected: Value,
    /// The graders that all must pass.
    pub graders: Vec<GraderSpec>,
    /// From its repeats to its verdict.
    pub pass_if: PassIf,
    /// The cluster it names.
    pub cluster: Option<String>,
    /// Its weight.
    pub weight: f64,
    /// Answers to test its graders with; not part of its fingerprint, but simulated answers are
    /// drawn from them.
    #[serde(default)]
    pub examples: Examples,
}

impl CaseContent {
    /// What is left of a case that was forgotten.
    pub(super) fn forgotten() -> Self {
        Self {
            input: Input::Text(String::new()),
            context: Value::Null,
            expected: Value::Null,
            graders: vec![],
            pass_if: PassIf::default(),
            cluster: None,
            weight: 1.0,
            examples: Examples::default(),
        }
    }

    /// Whether it was forgotten ([`Store::forget`](super::Store::forget)).
    pub fn is_forgotten(&self) -> bool {
        // A case that is asked has a grader.
        self.graders.is_empty()
    }
}

/// [`CaseContent`] on its way into the store, without copies.
#[derive(Serialize)]
struct ContentOf<'a> {
    input: &'a Input,
    context: &'a Value,
    expected: &'a Value,
    graders: &'a [GraderSpec],
    pass_if: PassIf,
    cluster: Option<&'a str>,
    weight: f64,
    examples: &'a Examples,
}

/// A case's content as the store keeps it.
pub(super) fn content_json(case: &Case) -> Result<String, StoreError> {
    let content = ContentOf {
        input: &case.input,
        context: &case.context,
        expected: &case.expected,
        graders: &case.graders,
        pass_if: case.pass_if,
        cluster: case.cluster.as_deref(),
        weight: case.weight,
        examples: &case.examples,
    };
    serde_json::to_string(&content).map_err(|source| StoreError::Json { what: "a case", source })
}
