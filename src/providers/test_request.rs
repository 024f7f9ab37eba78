//! A request for the tests of this floor.

use std::sync::Arc;

use serde_json::Value;

use crate::domain::{
    Case, Examples, Fingerprint, Input, Message, Parameters, PassIf, Prompt, Repeat, Request, Role,
};

/// Target `t`, model `m-1`, case `case-1`, repeat 1, one user message `hello`.
pub(super) fn request() -> Request {
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
    Request {
        target: "t".into(),
        model: "m-1".into(),
        prompt: Prompt {
            system: None,
            messages: vec![Message { role: Role::User, content: "hello".into() }],
        },
        parameters: Arc::new(Parameters::default()),
        case: Arc::new(case),
        repeat: Repeat::FIRST,
        seed: 7,
        begun: Default::default(),
    }
}
