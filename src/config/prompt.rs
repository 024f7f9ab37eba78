//! Prompt templates: from a case to what is sent.

use std::sync::Arc;

use minijinja::{Environment, UndefinedBehavior, context};

use crate::{
    domain::{Case, Input, Message, Prompt, Role},
    providers::case_values,
};

/// The templates of one target. In them a case's `input`, `message` (the last user message),
/// `history`, `context`, `segment` and `id` can be named; what it expects cannot.
#[derive(Debug)]
pub struct PromptTemplate {
    environment: Environment<'static>,
    system: Option<System>,
    has_user: bool,
}

/// A system prompt that is the same for all cases is rendered once and shared.
#[derive(Debug)]
enum System {
    Same(Arc<str>),
    PerCase,
}

/// Why a template does not do.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// The template is not valid.
    #[error("template `{part}`: {}", reason(source))]
    Template {
        /// `system` or `user`.
        part: &'static str,
        /// What the template engine says.
        source: minijinja::Error,
    },

    /// The template names something that the case does not have.
    #[error("template `{part}` names `{field}`, which the case does not have")]
    Missing {
        /// `system` or `user`.
        part: &'static str,
        /// The field, such as `context.account.plan`.
        field: String,
    },

    /// The template cannot be filled with the case.
    #[error("template `{part}`: {}", reason(source))]
    Render {
        /// `system` or `user`.
        part: &'static str,
        /// What the template engine says.
        source: minijinja::Error,
    },
}

/// The engine's words with the line, in one line.
fn reason(error: &minijinja::Error) -> String {
    let detail = error.detail().map_or_else(|| error.kind().to_string(), ToOwned::to_owned);
    match error.line() {
        Some(line) => format!("{detail} (line {line} of the template)"),
        None => detail,
    }
}

impl PromptTemplate {
    /// Compiles the templates; a `user` of `None` sends the last user message as it is.
    ///
    /// # Errors
    /// [`PromptError::Template`] when one is not valid.
    pub fn compile(system: Option<String>, user: Option<String>) -> Result<Self, PromptError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        let has_user = user.is_some();
        let parts = [("system", system), ("user", user)];
        for (part, text) in parts {
            let Some(text) = text else { continue };
            environment
                .add_template_owned(part, text)
                .map_err(|source| PromptError::Template { part, source })?;
        }
        let system = match environment.get_template("system") {
            Err(_) => None,
            Ok(template) if template.undeclared_variables(false).is_empty() => {
                let rendered = template
                    .render(context! {})
                    .map_err(|source| PromptError::Template { part: "system", source })?;
                Some(System::Same(rendered.into()))
            }
            Ok(_) => Some(System::PerCase),
        };
        Ok(Self { environment, system, has_user })
    }

    /// The prompt of `case`: system, history, and the rendered user message; a conversation is sent
    /// as it is, its own system turn standing before the template's.
    ///
    /// # Errors
    /// [`PromptError::Render`] when a template names a field that the case lacks.
    pub fn render(&self, case: &Case) -> Result<Prompt, PromptError> {
        let mut system = match &self.system {
            None => None,
            Some(System::Same(text)) => Some(Arc::clone(text)),
            Some(System::PerCase) => Some(self.render_part("system", case)?.into()),
        };
        let messages = match &case.input {
            Input::Conversation { messages } => {
                let (own_system, turns): (Vec<&Message>, Vec<&Message>) =
                    messages.iter().partition(|message| message.role == Role::System);
                if !own_system.is_empty() {
                    let texts: Vec<&str> = own_system.iter().map(|turn| turn.content.text()).collect();
                    system = Some(texts.join("\n\n").into());
                }
                turns.into_iter().cloned().collect()
            }
            Input::Text(_) | Input::Turn { .. } => {
                let content = if self.has_user {
                    self.render_part("user", case)?
                } else {
                    case.input.last_user_message().to_owned()
                };
                let mut messages = case.input.history().to_vec();
                messages.push(Message { role: Role::User, content: content.into() });
                messages
            }
        };
        Ok(Prompt { system: system.filter(|text| !text.is_empty()), messages })
    }

    fn render_part(&self, part: &'static str, case: &Case) -> Result<String, PromptError> {
        let template = self.environment.get_template(part).expect("the part was compiled");
        let values = case_values(case);
        template.render(&values).map_err(|source| match missing_field(&template, &values) {
            Some(field) => PromptError::Missing { part, field },
            None => PromptError::Render { part, source },
        })
    }
}

/// The first field, by name, that the template uses and the case does not have.
fn missing_field(template: &minijinja::Template<'_, '_>, values: &minijinja::Value) -> Option<String> {
    let mut fields: Vec<String> = template.undeclared_variables(true).into_iter().collect();
    fields.sort();
    fields.into_iter().find(|field| {
        let walk = field.split('.').try_fold(values.clone(), |value, key| value.get_attr(key));
        walk.map_or(true, |value| value.is_undefined())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::domain::{Examples, Fingerprint, PassIf};

    fn case(input: Input, context: Value) -> Case {
        Case {
            id: "a".into(),
            split: None,
            added: None,
            owner: None,
            source: None,
            segment: std::sync::Arc::new([("intent".to_owned(), "billing".to_owned())].into()),
            cluster: None,
            weight: 1.0,
            input,
            context,
            expected: Value::String("secret".into()),
            graders: vec![],
            repeats: None,
            pass_if: PassIf::Majority,
            examples: Examples::default(),
            meta: Value::Null,
            fingerprint: Fingerprint::of(b""),
        }
    }

    fn template(system: &str, user: &str) -> PromptTemplate {
        PromptTemplate::compile(Some(system.to_owned()), Some(user.to_owned())).unwrap()
    }

    #[test]
    fn a_prompt_is_system_history_and_the_rendered_message() {
        let earlier = Message { role: Role::Assistant, content: "Hello.".into() };
        let input = Input::Turn { message: "How?".into(), history: vec![earlier.clone()] };
        let prompt =
            template("Be {{ segment.intent }}.", "Q: {{ message }}").render(&case(input, json!({}))).unwrap();
        assert_eq!(prompt.system.as_deref(), Some("Be billing."));
        assert_eq!(prompt.messages, [earlier, Message { role: Role::User, content: "Q: How?".into() }]);
    }

    #[test]
    fn a_conversation_is_sent_as_it_is() {
        let turn = |role, content: &str| Message { role, content: content.into() };
        let input =
            Input::Conversation { messages: vec![turn(Role::System, "Own rules."), turn(Role::User, "Hi")] };
        let prompt = template("Others.", "{{ message }}!").render(&case(input, Value::Null)).unwrap();
        assert_eq!(prompt.system.as_deref(), Some("Own rules."));
        assert_eq!(prompt.messages, [turn(Role::User, "Hi")]);
    }

    #[test]
    fn a_field_that_the_case_lacks_is_named() {
        let error = template("x", "{{ message }} {{ context.account.plan }}")
            .render(&case(Input::Text("q".into()), json!({"account": {}})))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "template `user` names `context.account.plan`, which the case does not have"
        );
    }

    #[test]
    fn what_is_expected_cannot_leak_into_a_prompt() {
        let case = case(Input::Text("q".into()), Value::Null);
        assert!(template("x", "{{ expected }}").render(&case).is_err());
    }

    #[test]
    fn a_broken_template_is_refused_with_its_line() {
        let error = PromptTemplate::compile(None, Some("ok\n{{ message".into())).unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
