//! What a template may name of a case.

use minijinja::value::Serde;
use serde_json::Value;

use crate::domain::{Case, Prompt, Question};

/// What the template of a prompt may name: `id`, `input`, `message`, `history`, `segment` and
/// `context`. What a case lacks stays undefined, so that naming it is a fault.
pub fn case_values(case: &Case) -> minijinja::Value {
    minijinja::Value::from_pairs(pairs(case))
}

/// What the template of a request's body may name: the same, the rendered `prompt` (`system`,
/// `messages`, and `text`, its last message), `seed`, `repeat` and the target's `model`.
pub(super) fn question_values(question: &Question) -> minijinja::Value {
    let mut values = pairs(&question.asked.case);
    values.push(("prompt", prompt(&question.prompt)));
    values.push(("seed", minijinja::Value::from(question.seed)));
    values.push(("repeat", minijinja::Value::from(question.asked.repeat.0)));
    values.push(("model", minijinja::Value::from(question.model.as_str())));
    minijinja::Value::from_pairs(values)
}

fn pairs(case: &Case) -> Vec<(&'static str, minijinja::Value)> {
    let mut values = vec![
        ("id", minijinja::Value::from(case.id.as_str())),
        ("input", minijinja::Value::from(Serde(&case.input))),
        ("message", minijinja::Value::from(case.input.last_user_message())),
        ("history", minijinja::Value::from(Serde(case.input.history()))),
        ("segment", minijinja::Value::from(Serde(&*case.segment))),
    ];
    if case.context != Value::Null {
        values.push(("context", minijinja::Value::from(Serde(&case.context))));
    }
    values
}

fn prompt(prompt: &Prompt) -> minijinja::Value {
    let text = prompt.messages.last().map_or("", |message| message.content.text());
    minijinja::Value::from_pairs([
        ("system", minijinja::Value::from(prompt.system.as_deref())),
        ("messages", minijinja::Value::from(Serde(&prompt.messages))),
        ("text", minijinja::Value::from(text)),
    ])
}
