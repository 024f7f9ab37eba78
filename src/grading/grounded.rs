//! `grounded`: what the answer quotes stands in the input or the context.
//!
//! A quotation is what stands between quotation marks of one kind and has at least 12 characters.
//! Case, white space, kinds of quotation marks and punctuation at its ends do not count; an ellipsis
//! in it leaves something out. An answer without quotations passes. Where the application
//! told what it retrieved, that stands for `context.retrieved`. No parameters.

use serde_json::Value;

use super::{
    finding::Finding,
    fold::{fold_case, fold_spacing, fold_unicode},
    parameters::Parameters,
};
use crate::domain::text::quoted;
use crate::domain::{Case, Retrieved};

/// Raised whenever the same answer may get another verdict.
pub(super) const VERSION: u32 = 1;

/// Shorter spans are single words or names, not quotations.
const SHORTEST: usize = 12;

/// A mark that nothing closes within so many characters opens no quotation.
const LONGEST: usize = 1000;

#[derive(Debug)]
pub(super) struct Grounded;

impl Grounded {
    pub(super) fn compile(parameters: Parameters<'_>) -> Result<Self, Vec<String>> {
        parameters.finish(Self)
    }

    pub(super) fn grade(&self, answer: &str, case: &Case, retrieved: Option<&[Retrieved]>) -> Finding {
        let quotations = quotations(answer);
        if quotations.is_empty() {
            return Finding::pass();
        }
        let mut source = case.input.full_text();
        match (retrieved, &case.context) {
            (None, context) => collect_texts(context, &mut source),
            (Some(own), context) => {
                own.iter().for_each(|passage| push_line(&passage.text, &mut source));
                let fields = context.as_object().into_iter().flatten();
                let others = fields.filter(|(name, _)| *name != "retrieved");
                others.for_each(|(_, value)| collect_texts(value, &mut source));
            }
        }
        let source = comparable(&source);
        match quotations.into_iter().find(|quotation| !stands_in(quotation, &source)) {
            Some(invented) => {
                Finding::fail(format!("quotes {}, which is in neither input nor context", quoted(invented)))
            }
            None => Finding::pass(),
        }
    }
}

/// Every quotation that is long enough, in order.
fn quotations(text: &str) -> Vec<&str> {
    let mut found = vec![];
    let mut rest = text;
    let mut before = None;
    while let Some((at, open)) = rest.char_indices().find(|(_, c)| matches!(c, '“' | '„' | '«' | '»' | '"'))
    {
        let previous = rest[..at].chars().next_back().or(before);
        let inside = &rest[at + open.len_utf8()..];
        // A straight mark right behind a letter or digit closes something, or stands for inches.
        let opens = open != '"' || !previous.is_some_and(char::is_alphanumeric);
        match closing(inside, open).filter(|_| opens) {
            Some(end) => {
                let span = inside[..end].trim();
                if span.chars().count() >= SHORTEST {
                    found.push(span);
                }
                let close = inside[end..].chars().next().map_or(0, char::len_utf8);
                rest = &inside[end + close..];
                before = None;
            }
            None => {
                rest = inside;
                before = Some(open);
            }
        }
    }
    found
}

/// Where the mark stands that closes `open`; a quotation ends with its paragraph.
fn closing(inside: &str, open: char) -> Option<usize> {
    let closes: &[char] = match open {
        '“' => &['”'],
        '„' => &['“', '”'],
        '«' => &['»'],
        '»' => &['«'],
        _ => &['"'],
    };
    let mut previous = ' ';
    for (at, c) in inside.char_indices().take(LONGEST) {
        if closes.contains(&c) {
            return Some(at);
        }
        if c == '\n' && previous == '\n' {
            return None;
        }
        previous = c;
    }
    None
}

fn stands_in(quotation: &str, source: &str) -> bool {
    let folded = comparable(quotation).replace("[...]", "…").replace("[…]", "…").replace("...", "…");
    let mut from = 0;
    folded.split('…').all(|piece| {
        let piece =
            piece.trim_matches(|c: char| c.is_whitespace() || matches!(c, '.' | ',' | ';' | ':' | '!' | '?'));
        match source[from..].find(piece) {
            Some(at) => {
                from += at + piece.len();
                true
            }
            None => false,
        }
    })
}

/// Every text in a JSON value, one a line.
fn collect_texts(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => push_line(text, out),
        Value::Array(values) => values.iter().for_each(|value| collect_texts(value, out)),
        Value::Object(object) => object.values().for_each(|value| collect_texts(value, out)),
        _ => {}
    }
}

fn push_line(text: &str, out: &mut String) {
    out.push('\n');
    out.push_str(text);
}

pub(super) fn comparable(text: &str) -> String {
    fold_spacing(&fold_case(&fold_unicode(text)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{
        domain::{
            Input,
            Verdict::{Fail, Pass},
        },
        grading::testing::{case, verdict},
    };

    #[test]
    fn every_quotation_stands_in_input_or_context() {
        let mut case = case(Value::Null);
        case.input = Input::Text("What does “it’s free of\u{a0}charge” mean?".into());
        case.context =
            json!({"retrieved": [{"doc": "plans", "text": "The label is free\nin Germany and in Austria."}]});
        for (answer, wanted) in [
            ("No quotation, only \"a word\".", Pass),
            ("It says \"The label is free in Germany\".", Pass),
            ("„the label is free in germany,“ steht dort", Pass),
            ("« The label is … in Austria »", Pass),
            ("“Austria and in … The label is free”", Fail),
            ("You wrote \"it's free of charge.\"", Pass),
            ("“The label is free in France”", Fail),
            ("A 5\" screen and a 7\" screen are on sale", Pass),
            ("“The label is free”, “which is never true”", Fail),
        ] {
            let (found, reason) = verdict("grounded", json!({}), answer, &case);
            assert_eq!(found, wanted, "{answer}: {reason}");
        }
        assert_eq!(verdict("grounded", json!({}), &"“".repeat(5_000), &case).0, Pass);
        let (_, reason) = verdict("grounded", json!({}), "It is \"a lifetime warranty\".", &case);
        assert_eq!(reason, "quotes `a lifetime warranty`, which is in neither input nor context");
    }
}
