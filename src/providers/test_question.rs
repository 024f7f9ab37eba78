//! A question for the tests of this floor, and how it is asked.

use std::sync::Arc;

use serde_json::Value;

use super::{Provider, Rejection};
use crate::domain::{
    Asked, Begun, Case, Examples, Fingerprint, Input, Message, Parameters, PassIf, Prompt, Question, Repeat,
    Reply, Role,
};

/// Target `t`, model `m-1`, case `case-1`, repeat 1, one user message `hello`.
pub(super) fn question() -> Question {
    let case = Case {
        id: "case-1".into(),
        split: None,
        added: None,
        owner: None,
        source: None,
        segment: Default::default(),
        cluster: None,
        weight: 1.0,
        input: Input::Text("hello".to_owned()),
        context: Value::Null,
        expected: Value::Null,
        graders: vec![],
        repeats: None,
        pass_if: PassIf::default(),
        examples: Examples::default(),
        meta: Value::Null,
        fingerprint: Fingerprint::of(b"case-1"),
    };
    Question {
        model: "m-1".into(),
        prompt: Prompt {
            system: None,
            messages: vec![Message { role: Role::User, content: "hello".into() }],
        },
        parameters: Arc::new(Parameters::default()),
        asked: Asked { by: "t".into(), case: Arc::new(case), repeat: Repeat::FIRST },
        seed: 7,
    }
}

/// What `provider` makes of `question`.
pub(crate) async fn ask(provider: &dyn Provider, question: &Question) -> Result<Reply, Rejection> {
    ask_telling(provider, question, &Begun::default()).await
}

/// The same, telling when the answer begins.
pub(crate) async fn ask_telling(
    provider: &dyn Provider,
    question: &Question,
    begun: &Begun,
) -> Result<Reply, Rejection> {
    let (outgoing, _) = provider.prepare(question.clone());
    provider.send(&outgoing, begun).await
}
