//! What identifies a request, so that an earlier answer to the same one can be used again.

use serde_json::{Map, Value, json};

use super::Experiment;
use crate::{
    domain::{Question, TargetPos},
    store::RequestHash,
};

impl Experiment {
    /// Whether a target may use answers of earlier runs again.
    pub fn reuses(&self, target: TargetPos) -> bool {
        let target = &self.targets[target.index()];
        target.settings.reuse && target.kind.is_seen_whole()
    }

    /// The hash of a trial's request, where its target's answers may be used again: BLAKE3 over the
    /// provider's kind and address, the model, the prompt, every parameter and the repeat. `None`
    /// where the target does not reuse answers, only plays recorded ones, or is an application.
    pub fn request_hash(&self, target: TargetPos, question: &Question) -> Option<RequestHash> {
        if !self.reuses(target) {
            return None;
        }
        let target = &self.targets[target.index()];
        let provider = &self.settings.providers[target.provider];
        let mut whole = json!({
            "version": 1,
            "kind": provider.kind,
            "base_url": provider.base_url.as_deref().map(|url| url.trim_end_matches('/')),
            "max_tokens_field": provider.max_tokens_field,
            "model": question.model,
            "system": question.prompt.system.as_deref(),
            "messages": question.prompt.messages,
            "parameters": *question.parameters,
            "repeat": question.asked.repeat,
        });
        if provider.kind.is_simulated() {
            // It answers by case and seed, and not by what is asked.
            let own = json!([
                target.name,
                target.settings.simulate,
                question.asked.case.fingerprint.to_string(),
                question.seed
            ]);
            whole["simulator"] = own;
        }
        Some(*blake3::hash(canonical(whole).to_string().as_bytes()).as_bytes())
    }
}

/// The same value with the keys of every object in order: how a file happens to be written makes no
/// other request.
fn canonical(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<(String, Value)> = object.into_iter().collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(
                entries.into_iter().map(|(key, value)| (key, canonical(value))).collect::<Map<_, _>>(),
            )
        }
        Value::Array(values) => Value::Array(values.into_iter().map(canonical).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_keys_makes_no_other_request() {
        let [a, b] = [json!({"x": 1, "y": [{"p": 1, "q": 2}]}), json!({"y": [{"q": 2, "p": 1}], "x": 1})];
        assert_ne!(a.to_string(), b.to_string());
        assert_eq!(canonical(a).to_string(), canonical(b).to_string());
    }
}
