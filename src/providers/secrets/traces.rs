//! What a secret looks like where it is repeated: as it is, encoded, or in part.

use std::ops::Range;

use aho_corasick::AhoCorasick;
use base64::{Engine, engine::general_purpose};
use secrecy::{ExposeSecret, SecretString};

use super::escapes::unescaped;

/// A part of a secret with fewer characters than this says too little of it, and may stand in any text.
const LEAST_PART: usize = 8;

/// What keys of a kind all begin with. It is no secret, and people write about it.
const PUBLIC_BEGINNINGS: [&str; 5] = ["sk-ant-api03-", "sk-proj-", "sk-svcacct-", "sk-or-v1-", "github_pat_"];

/// So many characters behind a public beginning make it the beginning of one key.
const BEYOND_PUBLIC: usize = 4;

/// One way in which a secret is written. It is found whole, by its beginning and by its end.
#[derive(Clone)]
struct Trace {
    form: SecretString,
    /// The fewest characters at its beginning, and at its end, that are taken for it.
    least: [usize; 2],
}

/// All ways in which secrets are written.
#[derive(Clone)]
pub(super) struct Traces {
    traces: Vec<Trace>,
    /// Finds the beginning (`2n`) and the end (`2n + 1`) of trace `n`.
    parts: AhoCorasick,
}

impl Traces {
    pub(super) fn of(secrets: &[SecretString]) -> Self {
        let traces: Vec<Trace> =
            secrets.iter().flat_map(|secret| Trace::all(secret.expose_secret())).collect();
        let parts = traces.iter().flat_map(|trace| {
            let form = trace.form.expose_secret().as_bytes();
            [&form[..trace.least[0]], &form[form.len() - trace.least[1]..]]
        });
        let parts = AhoCorasick::builder().ascii_case_insensitive(true).build(parts);
        Self { parts: parts.expect("a few short texts are not too many"), traces }
    }

    /// Where in `text` secrets or parts of them stand: in order, and apart from each other.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = self.find_plain(text).collect();
        if let Some(plain) = unescaped(text) {
            found.extend(self.find_plain(&plain.text).map(|at| plain.from[at.start]..plain.from[at.end]));
        }
        found.sort_by_key(|at| at.start);
        let mut apart: Vec<Range<usize>> = vec![];
        for at in found {
            match apart.last_mut() {
                Some(last) if at.start <= last.end => last.end = last.end.max(at.end),
                _ => apart.push(at),
            }
        }
        apart
    }

    fn find_plain<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        self.parts.find_overlapping_iter(text).map(move |part| {
            let (trace, is_end) =
                (&self.traces[part.pattern().as_usize() / 2], part.pattern().as_usize() % 2 == 1);
            let (form, least) = (trace.form.expose_secret().as_bytes(), trace.least[usize::from(is_end)]);
            let more = if is_end {
                let before = text.as_bytes()[..part.start()].iter().rev();
                alike(form[..form.len() - least].iter().rev(), before)
            } else {
                alike(form[least..].iter(), text.as_bytes()[part.end()..].iter())
            };
            let (start, end) =
                if is_end { (part.start() - more, part.end()) } else { (part.start(), part.end() + more) };
            whole_characters(text, start, end)
        })
    }
}

impl Trace {
    /// A secret as it is, in hexadecimal digits, and in both alphabets of base64: wherever in an encoded
    /// text it begins, its bytes then fall into one of three patterns.
    fn all(secret: &str) -> Vec<Self> {
        let least = [least_beginning(secret), least_end(secret)];
        let trace = |form: String, least: [usize; 2]| Self { form: form.into(), least };
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        let mut traces = vec![trace(secret.to_owned(), least), trace(hex, least.map(|part| 2 * part))];
        for (engine, shift) in [general_purpose::STANDARD_NO_PAD, general_purpose::URL_SAFE_NO_PAD]
            .iter()
            .flat_map(|engine| (0..3).map(move |shift| (engine, shift)))
        {
            let encoded = engine.encode([&vec![0; shift], secret.as_bytes()].concat());
            // Only characters of which each bit is the secret's own.
            let form = &encoded[(shift * 8).div_ceil(6)..(shift + secret.len()) * 8 / 6];
            traces.push(trace(form.to_owned(), least.map(|part| (part * 8 / 6).min(form.len()))));
        }
        traces
    }
}

/// The fewest bytes at the beginning of `secret` that can be no word and not the beginning of every key.
fn least_beginning(secret: &str) -> usize {
    let public = PUBLIC_BEGINNINGS.iter().find(|public| secret.starts_with(**public));
    let least = public.map_or(LEAST_PART, |public| LEAST_PART.max(public.len() + BEYOND_PUBLIC));
    let ends = secret.char_indices().map(|(start, character)| start + character.len_utf8());
    ends.skip(least - 1).find(|end| !is_word(&secret[..*end])).unwrap_or(secret.len())
}

/// The fewest bytes at its end that can be no word.
fn least_end(secret: &str) -> usize {
    let starts = secret.char_indices().rev().map(|(start, _)| start).skip(LEAST_PART - 1);
    secret.len() - starts.into_iter().find(|start| !is_word(&secret[*start..])).unwrap_or(0)
}

/// Whether a text may be a word or a number of a text that knows nothing of any secret.
fn is_word(text: &str) -> bool {
    let behind_first = text.chars().skip(1);
    text.chars().all(|c| c.is_ascii_digit())
        || text.chars().all(char::is_uppercase)
        || text.starts_with(char::is_alphabetic) && behind_first.clone().all(char::is_lowercase)
}

/// How many bytes of two texts are alike from their beginnings on, capital or not.
fn alike<'a>(one: impl Iterator<Item = &'a u8>, other: impl Iterator<Item = &'a u8>) -> usize {
    one.zip(other).take_while(|(one, other)| one.eq_ignore_ascii_case(other)).count()
}

/// A range that cuts no character in two.
fn whole_characters(text: &str, mut start: usize, mut end: usize) -> Range<usize> {
    while !text.is_char_boundary(start) {
        start += 1;
    }
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    start..end
}
