//! `cites`: the answer cites what was retrieved, and among it what it should.
//!
//! A citation is an id in brackets, `[plans]`, `[plans#2]` or `[plans, billing]`. All cited ids must be
//! a `doc` or `chunk` of what the application retrieved or, where it did not tell, of `context.retrieved`;
//! all of `expected.must_cite` must be cited, and at least one of `expected.sources`. A chunk that is cited cites its document too. No parameters.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    expected,
    finding::Finding,
    parameters::{Parameters, texts_of},
};
use crate::domain::text::{quoted, quoted_list};
use crate::domain::{Case, Retrieved};

/// Raised whenever the same answer may get another verdict.
pub(super) const VERSION: u32 = 1;

/// Neither the case nor the application says what was retrieved.
const NOTHING_RETRIEVED: &str = "needs `context.retrieved`, a list of what was retrieved";

#[derive(Debug)]
pub(super) struct Cites;

/// What a case says about citations.
struct Wanted<'a> {
    /// Documents and chunks that were retrieved: each chunk with its document.
    retrieved: Vec<(Option<&'a str>, Option<&'a str>)>,
    all: Vec<String>,
    any: Vec<String>,
}

impl Cites {
    pub(super) fn compile(parameters: Parameters<'_>) -> Result<Self, Vec<String>> {
        parameters.finish(Self)
    }

    /// A case without passages of its own lacks nothing: an application may tell what it retrieved.
    pub(super) fn lacks(&self, case: &Case) -> Option<String> {
        Wanted::of(case, None).err().filter(|lack| lack != NOTHING_RETRIEVED)
    }

    pub(super) fn grade(&self, answer: &str, case: &Case, retrieved: Option<&[Retrieved]>) -> Finding {
        let wanted = match Wanted::of(case, retrieved) {
            Ok(wanted) => wanted,
            Err(lack) => return Finding::unscored(lack),
        };
        let cited = citations(answer);
        if cited.is_empty() {
            return Finding::fail("cites nothing");
        }
        if let Some(invented) = cited.iter().find(|id| !wanted.is_retrieved(id)) {
            return Finding::fail(format!("cites {}, which was not retrieved", quoted(invented)));
        }
        let covered = wanted.covered_by(&cited);
        let missing: Vec<&str> =
            wanted.all.iter().map(String::as_str).filter(|id| !covered.contains(id)).collect();
        if !missing.is_empty() {
            return Finding::fail(format!("does not cite {}", quoted_list(missing)));
        }
        if !wanted.any.is_empty() && !wanted.any.iter().any(|id| covered.contains(id.as_str())) {
            let any = quoted_list(wanted.any.iter().map(String::as_str));
            return Finding::fail(format!("cites {}, none of {any}", quoted_list(cited)));
        }
        Finding::pass()
    }
}

impl<'a> Wanted<'a> {
    /// What the case wants, and what was retrieved: what the application told, else what the case
    /// gives. An application that did not find a source has failed; a case whose own passages lack it
    /// is at fault itself.
    fn of(case: &'a Case, told: Option<&'a [Retrieved]>) -> Result<Self, String> {
        let retrieved: Option<Vec<_>> = match told {
            Some(told) => Some(
                told.iter().map(|passage| (Some(passage.doc.as_str()), passage.chunk.as_deref())).collect(),
            ),
            None => given(case),
        };
        let all = expected::texts(case, "must_cite")?.unwrap_or_default();
        let any = match expected::bare(case) {
            Some(value) => texts_of(value).ok_or("a bare `expected` is not a list of ids")?,
            None => expected::texts(case, "sources")?.unwrap_or_default(),
        };
        if all.is_empty() && any.is_empty() {
            return Err("needs `expected.sources` or `expected.must_cite`".to_owned());
        }
        let retrieved = retrieved.ok_or(NOTHING_RETRIEVED)?;
        let wanted = Self { retrieved, all, any };
        if told.is_some() {
            return Ok(wanted);
        }
        let out_of_reach = wanted.all.iter().find(|id| !wanted.is_retrieved(id));
        if let Some(id) = out_of_reach {
            return Err(format!("{} must be cited but is not in `context.retrieved`", quoted(id)));
        }
        if !wanted.any.is_empty() && !wanted.any.iter().any(|id| wanted.is_retrieved(id)) {
            return Err("none of `expected.sources` is in `context.retrieved`".to_owned());
        }
        Ok(wanted)
    }

    fn is_retrieved(&self, id: &str) -> bool {
        self.retrieved.iter().any(|(doc, chunk)| *doc == Some(id) || *chunk == Some(id))
    }

    /// The cited ids, and the documents of cited chunks.
    fn covered_by<'b>(&'b self, cited: &[&'b str]) -> HashSet<&'b str> {
        let mut covered: HashSet<&str> = cited.iter().copied().collect();
        for (doc, chunk) in &self.retrieved {
            if let (Some(doc), Some(chunk)) = (doc, chunk)
                && cited.contains(chunk)
            {
                covered.insert(doc);
            }
        }
        covered
    }
}

/// The passages that the case itself gives.
fn given(case: &Case) -> Option<Vec<(Option<&str>, Option<&str>)>> {
    Some(case.context.get("retrieved")?.as_array()?.iter().map(ids_of).collect())
}

/// The ids of a passage's document and of itself.
fn ids_of(passage: &Value) -> (Option<&str>, Option<&str>) {
    match passage {
        Value::String(id) => (Some(id.as_str()), None),
        other => (other.get("doc").and_then(Value::as_str), other.get("chunk").and_then(Value::as_str)),
    }
}

/// The ids in brackets: no spaces within an id, and neither links nor check boxes.
fn citations(text: &str) -> Vec<&str> {
    let mut cited = vec![];
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        rest = &rest[open + 1..];
        let Some(end) = rest.find([']', '[']) else { break };
        if rest[end..].starts_with('[') {
            rest = &rest[end..];
            continue;
        }
        let (inside, behind) = (&rest[..end], &rest[end + 1..]);
        rest = behind;
        if behind.starts_with('(') {
            continue;
        }
        let ids: Vec<&str> = inside.split([',', ';']).map(str::trim).collect();
        let is_id = |id: &&str| !id.contains(char::is_whitespace) && id.contains(char::is_alphanumeric);
        if ids.iter().all(is_id) {
            cited.extend(ids);
        }
    }
    cited
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{
        domain::{
            Case,
            Verdict::{Fail, Pass, Unscored},
        },
        grading::testing::{case, verdict},
    };

    fn retrieved(expected: Value) -> Case {
        let mut case = case(expected);
        case.context = json!({"retrieved": [
            {"doc": "plans", "chunk": "plans#1", "text": ""},
            {"doc": "billing", "chunk": "billing#3", "text": ""},
            {"doc": "returns", "chunk": "returns#2", "text": ""},
        ]});
        case
    }

    #[test]
    fn what_is_cited_was_retrieved_and_is_what_should_be() {
        let sources = json!({"sources": ["plans", "billing"]});
        let must = json!({"must_cite": ["plans#1", "billing"]});
        for (answer, expected, wanted) in [
            ("It is so [plans].", &sources, Pass),
            ("It is so [plans#1; returns].", &sources, Pass),
            ("See [returns].", &sources, Fail),
            ("It is so [plans] [invented].", &sources, Fail),
            ("It is so.", &sources, Fail),
            ("[a link](https://example.org), [ ] and [see below]", &sources, Fail),
            ("So [plans#1][billing#3].", &must, Pass),
            ("So [plans, billing].", &must, Fail),
        ] {
            let (found, reason) = verdict("cites", json!({}), answer, &retrieved(expected.clone()));
            assert_eq!(found, wanted, "{answer}: {reason}");
        }
    }

    #[test]
    fn the_offender_is_named() {
        let reason =
            |answer| verdict("cites", json!({}), answer, &retrieved(json!({"sources": ["plans"]}))).1;
        assert_eq!(reason("[plans] and [nope]"), "cites `nope`, which was not retrieved");
        assert_eq!(reason("[billing]"), "cites `billing`, none of `plans`");
        assert_eq!(reason("nothing"), "cites nothing");
    }

    #[test]
    fn a_case_that_no_citation_can_satisfy_is_unscored() {
        for expected in [json!({}), json!({"sources": ["other"]}), json!({"must_cite": ["other"]})] {
            assert_eq!(verdict("cites", json!({}), "[plans]", &retrieved(expected)).0, Unscored);
        }
        assert_eq!(verdict("cites", json!({}), "[plans]", &case(json!({"sources": ["plans"]}))).0, Unscored);
    }
}
