//! Cases for the tests of simulated models.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::domain::{Case, CaseId, Examples, Fingerprint, Input, PassIf};

/// The case `id`, which asks `question <id>` and has two right and two wrong examples.
pub(crate) fn case(id: &str) -> Case {
    Case {
        id: CaseId::from(id),
        split: None,
        added: None,
        owner: None,
        source: None,
        segment: BTreeMap::new().into(),
        cluster: None,
        weight: 1.0,
        input: Input::Text(format!("question {id}")),
        context: Value::Null,
        expected: Value::Null,
        graders: vec![],
        repeats: None,
        pass_if: PassIf::default(),
        examples: Examples {
            pass: vec![format!("right {id}"), format!("quite right {id}")],
            fail: vec![format!("wrong {id}"), format!("quite wrong {id}")],
        },
        meta: Value::Null,
        fingerprint: Fingerprint::of(id.as_bytes()),
    }
}

/// The same in a cluster.
pub(crate) fn clustered(id: &str, cluster: &str) -> Case {
    Case { cluster: Some(cluster.to_owned()), ..case(id) }
}
