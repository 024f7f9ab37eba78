//! The error body in every shape that servers give it.

use serde_json::Value;

/// What an error body says. Nothing in it is trusted to be free of secrets yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorBody {
    /// The sentence for people; empty when there is none.
    pub message: String,
    /// `error.type`.
    pub kind: Option<String>,
    /// `error.code`, numbers as text.
    pub code: Option<String>,
    /// `error.param`: the field that is wrong.
    pub param: Option<String>,
    /// `error.details.error_code` (Anthropic's spend limit).
    pub detail_code: Option<String>,
    /// Whether moderation reasons are given (OpenRouter).
    pub is_moderated: bool,
}

impl ErrorBody {
    /// Reads the body of a response with an error status, JSON or not.
    pub fn read(body: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => Self::of(&value).unwrap_or_else(|| Self::bare(value.to_string())),
            Err(_) => Self::bare(text_of_page(&String::from_utf8_lossy(body))),
        }
    }

    /// The error in a JSON body; `None` when it holds none.
    ///
    /// Anthropic, OpenAI and most others have `{"error": {…}}`, old Ollama `{"error": "…"}`, old vLLM
    /// the fields at the top beside `"object": "error"`, and FastAPI servers (Mistral, vLLM)
    /// `{"detail": …}`. xAI has a text in `error` and the code beside it; Gemini's compatible door
    /// puts all of it into a list.
    pub fn of(body: &Value) -> Option<Self> {
        let body = body.get(0).unwrap_or(body);
        match body.get("error") {
            Some(error @ Value::Object(_)) => return Some(Self::fields(error)),
            Some(Value::String(message)) => {
                return Some(Self { message: message.clone(), ..Self::fields(body) });
            }
            _ => {}
        }
        if body.get("object").and_then(Value::as_str) == Some("error") {
            return Some(Self::fields(body));
        }
        match body.get("detail") {
            Some(Value::String(message)) => Some(Self::bare(message)),
            Some(Value::Array(faults)) => Some(Self::of_validation(faults)),
            _ => body.get("message").and_then(Value::as_str).map(|_| Self::fields(body)),
        }
    }

    /// The error's own number where that is an HTTP error status: servers write it there when the
    /// response had begun with 200, Azure also as text.
    pub fn status(&self) -> Option<u16> {
        self.code.as_deref()?.parse().ok().filter(|status| (400..600).contains(status))
    }

    /// Whether `code` or `kind` is this word.
    pub fn is(&self, word: &str) -> bool {
        self.code.as_deref() == Some(word) || self.kind.as_deref() == Some(word)
    }

    fn bare(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    fn fields(error: &Value) -> Self {
        let text = |pointer: &str| match error.pointer(pointer) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        let mut message = text("/message").unwrap_or_default();
        // An aggregator's own sentence says nothing; the provider's behind it does.
        if let Some(upstream) = text("/metadata/raw").filter(|raw| raw.len() > 2) {
            message = format!("{message}: {upstream}");
        }
        Self {
            message,
            kind: text("/type"),
            code: text("/code"),
            param: text("/param"),
            detail_code: text("/details/error_code"),
            is_moderated: error.pointer("/metadata/reasons").is_some_and(Value::is_array),
        }
    }

    /// FastAPI's list of faults: the first names the field.
    fn of_validation(faults: &[Value]) -> Self {
        let place = |fault: &Value| {
            let steps: Vec<String> = fault.get("loc")?.as_array()?.iter().map(plain).collect();
            Some(steps.strip_prefix(&["body".to_owned()]).unwrap_or(&steps).join("."))
        };
        let sentences: Vec<String> = faults
            .iter()
            .map(|fault| {
                let what = fault.get("msg").map_or_else(|| fault.to_string(), plain);
                place(fault).map_or_else(|| what.clone(), |place| format!("{place}: {what}"))
            })
            .collect();
        Self {
            message: sentences.join("; "),
            kind: Some("validation_error".to_owned()),
            param: faults.first().and_then(place).filter(|place| !place.is_empty()),
            ..Self::default()
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A page's text without its tags: a gateway's error page holds a sentence in a lot of markup.
fn text_of_page(page: &str) -> String {
    if !page.trim_start().starts_with('<') {
        return page.to_owned();
    }
    let mut text = String::new();
    let mut is_tag = false;
    for character in page.chars() {
        match character {
            '<' => is_tag = true,
            '>' => {
                is_tag = false;
                text.push(' ');
            }
            _ if !is_tag => text.push(character),
            _ => {}
        }
    }
    format!("a web page instead of JSON: {}", text.trim())
}

/// An error of these words; an empty one is left out.
#[cfg(test)]
pub(in crate::providers) fn error(kind: &str, code: &str, param: &str, message: &str) -> ErrorBody {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    ErrorBody {
        message: message.to_owned(),
        kind: text(kind),
        code: text(code),
        param: text(param),
        ..ErrorBody::default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(body: &str) -> String {
        ErrorBody::read(body.as_bytes()).message
    }

    #[test]
    fn every_shape_of_an_error_is_read() {
        for (body, expected) in [
            (r#"{"type":"error","error":{"type":"api_error","message":"a"}}"#, "a"),
            (r#"{"error":{"message":"b","type":null,"code":500}}"#, "b"),
            (r#"{"error":"c"}"#, "c"),
            (r#"{"code":"bad","error":"c2"}"#, "c2"),
            (r#"[{"error":{"code":400,"message":"c3"}}]"#, "c3"),
            (r#"{"object":"error","message":"d","code":400}"#, "d"),
            (r#"{"detail":"e"}"#, "e"),
            (r#"{"detail":[{"loc":["body","top_p"],"msg":"f"}]}"#, "top_p: f"),
            (r#"{"message":"g","type":"t"}"#, "g"),
            (r#"{"error":{"message":"h","metadata":{"raw":"upstream"}}}"#, "h: upstream"),
            ("plain words", "plain words"),
            ("<html><title>502</title><p>Bad</html>", "a web page instead of JSON: 502  Bad"),
            ("[1]", "[1]"),
            ("", ""),
        ] {
            assert_eq!(message(body), expected, "{body}");
        }
    }

    #[test]
    fn a_code_may_be_a_number_or_its_text() {
        let status = |body: &str| ErrorBody::read(body.as_bytes()).status();
        assert_eq!(status(r#"{"error":{"code":429}}"#), Some(429));
        assert_eq!(status(r#"{"error":{"code":"503"}}"#), Some(503));
        assert_eq!(status(r#"{"error":{"code":"slow_down"}}"#), None);
        assert_eq!(status(r#"{"error":{"code":200}}"#), None);
    }

    #[test]
    fn a_validation_list_names_its_field() {
        let body = ErrorBody::read(br#"{"detail":[{"loc":["body","messages",0,"content"],"msg":"no"}]}"#);
        assert_eq!(body.param.as_deref(), Some("messages.0.content"));
    }

    proptest! {
        #[test]
        fn no_body_panics(body in prop::collection::vec(any::<u8>(), 0..200)) {
            ErrorBody::read(&body);
        }
    }
}
