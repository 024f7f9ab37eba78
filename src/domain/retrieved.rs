//! What an application retrieved before it answered, and what that was worth.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One passage that an application retrieved, as it told it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Retrieved {
    /// The document it is from.
    pub doc: String,
    /// The passage's own id, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<String>,
    /// Its text; empty when the application told only ids.
    #[serde(default)]
    pub text: String,
    /// How well it matched, on the application's own scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// What one answer's retrieval was worth at a cut-off.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RetrievalScore {
    /// The cut-off: so many distinct documents, and so many distinct passages, were looked at.
    pub k: u32,
    /// Whether one of the case's sources was retrieved.
    pub hit: bool,
    /// Share of the case's sources that were retrieved, in 0..=1.
    pub recall: f64,
    /// Share of the case's labelled facts that stand in a retrieved passage of a source, in 0..=1;
    /// `None` when the case labels no facts.
    pub fact_recall: Option<f64>,
}

impl Retrieved {
    /// The passages in a JSON list of `{"doc", "chunk", "text", "score"}`: a bare text is a document's
    /// id, ids may be whole numbers, and a passage without `doc` is of the document before the `#` of
    /// its `chunk`. Fields that are not named here are passed over.
    ///
    /// # Errors
    /// What is wrong with the first passage that is not one, with its place in the list.
    pub fn list_from(value: &Value) -> Result<Vec<Self>, String> {
        let Value::Array(entries) = value else { return Err("expected a list of passages".to_owned()) };
        let read = |(at, entry): (usize, &Value)| Self::read(entry).map_err(|why| format!("[{at}]{why}"));
        entries.iter().enumerate().map(read).collect()
    }

    fn read(entry: &Value) -> Result<Self, String> {
        if let Some(doc) = id_of(entry) {
            return Ok(Self { doc, chunk: None, text: String::new(), score: None });
        }
        let Value::Object(fields) = entry else {
            return Err(": expected an object with `doc`, `chunk`, `text` and `score`".to_owned());
        };
        let field = |name: &str| fields.get(name).filter(|value| !value.is_null());
        let id = |name: &str| match field(name) {
            None => Ok(None),
            Some(value) => id_of(value).map(Some).ok_or_else(|| format!(".{name}: expected an id")),
        };
        let chunk = id("chunk")?;
        let of_chunk = || chunk.as_deref().map(|chunk| chunk.split('#').next().unwrap_or(chunk).to_owned());
        let doc = id("doc")?.or_else(of_chunk).ok_or(": expected a `doc` or a `chunk`")?;
        let text = match field("text") {
            None => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(_) => return Err(".text: expected a text".to_owned()),
        };
        let score = match field("score") {
            None => None,
            Some(value) => Some(value.as_f64().ok_or(".score: expected a number")?),
        };
        Ok(Self { doc, chunk, text, score })
    }

    /// Whether `id` names this passage or its document.
    pub fn is_named(&self, id: &str) -> bool {
        self.doc == id || self.chunk.as_deref() == Some(id)
    }
}

/// An id: a text, or a whole number as its text.
fn id_of(value: &Value) -> Option<String> {
    match value {
        Value::String(id) if !id.is_empty() => Some(id.clone()),
        Value::Number(id) if id.is_i64() || id.is_u64() => Some(id.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn passages_are_read_in_the_forms_that_applications_have() {
        let told = json!([
            {"doc": "plans", "chunk": "plans#2", "text": "25 hives", "score": 3.5, "page": 4},
            {"doc": 7, "text": null},
            {"chunk": "refunds#1"},
            "billing",
        ]);
        let read = Retrieved::list_from(&told).unwrap();
        let docs: Vec<&str> = read.iter().map(|passage| passage.doc.as_str()).collect();
        assert_eq!(docs, ["plans", "7", "refunds", "billing"]);
        assert_eq!((read[0].chunk.as_deref(), read[0].score), (Some("plans#2"), Some(3.5)));
        assert!(read[0].is_named("plans") && read[0].is_named("plans#2") && !read[0].is_named("2"));
    }

    #[test]
    fn what_is_no_passage_is_named_with_its_place() {
        for (told, reason) in [
            (json!({"doc": "a"}), "expected a list of passages"),
            (json!(["a", 1.5]), "[1]: expected an object with `doc`, `chunk`, `text` and `score`"),
            (json!([{"text": "x"}]), "[0]: expected a `doc` or a `chunk`"),
            (json!([{"doc": "a", "score": "high"}]), "[0].score: expected a number"),
            (json!([{"doc": {}}]), "[0].doc: expected an id"),
            (json!([{"doc": "a", "text": 3}]), "[0].text: expected a text"),
        ] {
            assert_eq!(Retrieved::list_from(&told).unwrap_err(), reason);
        }
    }
}
