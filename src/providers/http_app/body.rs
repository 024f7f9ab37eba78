//! The body of a request: JSON in which every text is a template.

use minijinja::{Environment, Expression, UndefinedBehavior};
use serde_json::Value;

use crate::{domain::Question, providers::case_values::question_values};

/// A body's template. A text that is one expression and nothing else (`"{{ context.account }}"`)
/// becomes the value itself, whatever its type; every other one becomes a text.
#[derive(Debug)]
pub struct BodyTemplate {
    environment: Environment<'static>,
    body: Value,
}

/// Why a body cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// A text is no valid template.
    #[error("`body{place}` is no valid template: {}", reason(source))]
    Template {
        /// Where in the body it stands, as a JSON pointer.
        place: String,
        /// What the template engine says.
        source: minijinja::Error,
    },
    /// A template names what the case does not have.
    #[error("`body{place}` cannot be filled with the case: {}", reason(source))]
    Render {
        /// Where in the body it stands, as a JSON pointer.
        place: String,
        /// What the template engine says.
        source: minijinja::Error,
    },
}

fn reason(error: &minijinja::Error) -> String {
    error.detail().map_or_else(|| error.kind().to_string(), ToOwned::to_owned)
}

impl BodyTemplate {
    /// Checks every template of `body`.
    ///
    /// # Errors
    /// The first that is not valid.
    pub fn compile(body: &Value) -> Result<Self, BodyError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        check(&environment, body, "")?;
        Ok(Self { environment, body: body.clone() })
    }

    /// The body of one request.
    ///
    /// # Errors
    /// A template names what the case does not have.
    pub fn render(&self, question: &Question) -> Result<Value, BodyError> {
        self.fill(&self.body, &question_values(question), "")
    }

    fn fill(&self, body: &Value, values: &minijinja::Value, place: &str) -> Result<Value, BodyError> {
        let render = |source| BodyError::Render { place: place.to_owned(), source };
        Ok(match body {
            Value::String(text) => match whole_expression(text) {
                Some(expression) => {
                    let expression: Expression<'_, '_> =
                        self.environment.compile_expression(expression).map_err(render)?;
                    let value = expression.eval(values).map_err(render)?;
                    if value.is_undefined() {
                        let missing = minijinja::Error::new(
                            minijinja::ErrorKind::UndefinedError,
                            format!("there is no {text}"),
                        );
                        return Err(render(missing));
                    }
                    serde_json::to_value(&value).map_err(|error| {
                        render(minijinja::Error::new(
                            minijinja::ErrorKind::BadSerialization,
                            error.to_string(),
                        ))
                    })?
                }
                None => self.environment.render_str(text, values).map_err(render)?.into(),
            },
            Value::Array(entries) => {
                let filled = entries.iter().enumerate();
                filled
                    .map(|(at, entry)| self.fill(entry, values, &format!("{place}/{at}")))
                    .collect::<Result<_, _>>()?
            }
            Value::Object(fields) => {
                let filled = fields.iter().map(|(name, entry)| {
                    Ok((name.clone(), self.fill(entry, values, &format!("{place}/{name}"))?))
                });
                Value::Object(filled.collect::<Result<_, BodyError>>()?)
            }
            other => other.clone(),
        })
    }
}

fn check(environment: &Environment<'_>, body: &Value, place: &str) -> Result<(), BodyError> {
    match body {
        Value::String(text) => {
            let checked = match whole_expression(text) {
                Some(expression) => environment.compile_expression(expression).map(drop),
                None => environment.template_from_str(text).map(drop),
            };
            checked.map_err(|source| BodyError::Template { place: place.to_owned(), source })
        }
        Value::Array(entries) => {
            let mut entries = entries.iter().enumerate();
            entries.try_for_each(|(at, entry)| check(environment, entry, &format!("{place}/{at}")))
        }
        Value::Object(fields) => {
            let mut fields = fields.iter();
            fields.try_for_each(|(name, entry)| check(environment, entry, &format!("{place}/{name}")))
        }
        _ => Ok(()),
    }
}

/// What stands in `{{ … }}` when a text is that and nothing else.
fn whole_expression(text: &str) -> Option<&str> {
    let inside = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!inside.contains("{{") && !inside.contains("}}")).then(|| inside.trim())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::{
        domain::{Asked, Case},
        providers::test_question::question,
    };

    fn asked() -> Question {
        let question = question();
        let context = json!({"account": {"plan": "keeper", "hives": 3}});
        let case = Case { context, ..(*question.asked.case).clone() };
        Question { asked: Asked { case: Arc::new(case), ..question.asked.clone() }, ..question }
    }

    #[test]
    fn texts_are_filled_and_whole_expressions_keep_their_type() {
        let body = json!({
            "question": "{{ message }}",
            "note": "case {{ id }}, try {{ repeat }}",
            "account": "{{ context.account }}",
            "turns": ["{{ prompt.messages }}", 5, null, true],
            "top_k": 5,
        });
        let filled = BodyTemplate::compile(&body).unwrap().render(&asked()).unwrap();
        assert_eq!(
            filled,
            json!({
                "question": "hello",
                "note": "case case-1, try 1",
                "account": {"plan": "keeper", "hives": 3},
                "turns": [[{"role": "user", "content": "hello"}], 5, null, true],
                "top_k": 5,
            })
        );
    }

    #[test]
    fn a_template_that_cannot_be_filled_names_its_place() {
        let error = BodyTemplate::compile(&json!({"a": ["{{ message"]})).unwrap_err();
        assert!(error.to_string().starts_with("`body/a/0` is no valid template"), "{error}");
        for body in [json!({"a": "{{ context.nobody }}"}), json!({"a": "x {{ context.nobody }}"})] {
            let error = BodyTemplate::compile(&body).unwrap().render(&asked()).unwrap_err();
            assert!(error.to_string().starts_with("`body/a` cannot be filled"), "{error}");
        }
    }
}
