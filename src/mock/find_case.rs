//! Which case a request asks: found by the text of its last user message.

use std::{collections::HashMap, sync::Arc};

use crate::domain::Case;

/// The length of the anchors by which a case's message is found inside a longer text, in bytes.
const ANCHOR: usize = 8;

/// The cases by what they ask.
#[derive(Debug)]
pub(super) struct Book {
    cases: Vec<Arc<Case>>,
    by_text: HashMap<String, usize>,
    /// Messages of at least [`ANCHOR`] bytes by their first ones; the longest first.
    by_anchor: HashMap<[u8; ANCHOR], Vec<usize>>,
    /// A bit for each pair of bytes that some anchor begins with: most places of a text need no look-up.
    beginnings: Vec<bool>,
    /// Shorter messages, the longest first.
    short: Vec<usize>,
}

impl Book {
    /// Of cases that ask the same the first is found; cases without a user message never are.
    pub(super) fn new(cases: Vec<Arc<Case>>) -> Self {
        let mut book = Self {
            by_text: HashMap::with_capacity(cases.len()),
            by_anchor: HashMap::new(),
            beginnings: vec![false; 1 << 16],
            short: vec![],
            cases,
        };
        for (index, case) in book.cases.iter().enumerate() {
            let text = case.input.last_user_message();
            if text.is_empty() || book.by_text.contains_key(text) {
                continue;
            }
            book.by_text.insert(text.to_owned(), index);
            match text.as_bytes().first_chunk::<ANCHOR>() {
                Some(anchor) => {
                    book.beginnings[beginning(anchor[0], anchor[1])] = true;
                    book.by_anchor.entry(*anchor).or_default().push(index);
                }
                None => book.short.push(index),
            }
        }
        let cases = &book.cases;
        let shortness = |index: &usize| std::cmp::Reverse(message(cases, *index).len());
        book.short.sort_by_key(shortness);
        for indices in book.by_anchor.values_mut() {
            indices.sort_by_key(shortness);
        }
        book
    }

    pub(super) fn len(&self) -> usize {
        self.cases.len()
    }

    pub(super) fn case(&self, index: usize) -> &Case {
        &self.cases[index]
    }

    /// The case whose message is `text`, else the one with the longest message that `text`
    /// contains (a template wraps it).
    pub(super) fn find(&self, text: &str) -> Option<usize> {
        if let Some(index) = self.by_text.get(text) {
            return Some(*index);
        }
        let bytes = text.as_bytes();
        let mut longest: Option<usize> = None;
        for (at, window) in bytes.windows(ANCHOR).enumerate() {
            if !self.beginnings[beginning(window[0], window[1])] {
                continue;
            }
            let found = self.by_anchor.get(window).and_then(|indices| {
                indices.iter().find(|&&index| bytes[at..].starts_with(message(&self.cases, index).as_bytes()))
            });
            if let Some(&found) = found
                && longest.is_none_or(|longest| self.length(found) > self.length(longest))
            {
                longest = Some(found);
            }
        }
        longest
            .or_else(|| self.short.iter().copied().find(|&index| text.contains(message(&self.cases, index))))
    }

    fn length(&self, index: usize) -> usize {
        message(&self.cases, index).len()
    }
}

fn message(cases: &[Arc<Case>], index: usize) -> &str {
    cases[index].input.last_user_message()
}

fn beginning(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::Input, providers::simulator::test_cases::case};

    #[test]
    fn a_case_is_found_by_its_message_or_by_a_text_around_it() {
        let asks = ["What is 2+2?", "What is 2+2? And 3+3?", "Hi", "Where is Köln?", "What is 2+2?"];
        let cases = asks.iter().enumerate().map(|(i, text)| {
            let mut case = case(&i.to_string());
            case.input = Input::Text((*text).to_owned());
            Arc::new(case)
        });
        let book = Book::new(cases.collect());
        for (text, found) in [
            ("What is 2+2?", Some(0)),
            ("Answer briefly: What is 2+2? Thanks.", Some(0)),
            ("Q: What is 2+2? And 3+3?", Some(1)),
            ("»Where is Köln?«", Some(3)),
            ("Hi there", Some(2)),
            ("What is 5+5?", None),
            ("", None),
        ] {
            assert_eq!(book.find(text), found, "{text}");
        }
    }
}
