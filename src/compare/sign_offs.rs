//! Sign-offs: flips that somebody has allowed, by name, with a reason and an end.

use std::{collections::HashSet, path::Path};

use jiff::civil::Date;
use serde::Deserialize;

use super::comparison::{Direction, SignOffUse};
use crate::{
    config::Document,
    domain::{CaseId, Fault, Faults, nearest},
};

/// One sign-off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignOff {
    /// The case.
    pub case: CaseId,
    /// The direction it allows.
    pub direction: Direction,
    /// Who allowed it.
    pub who: String,
    /// Why.
    pub why: String,
    /// The last day on which it holds.
    pub until: Date,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    sign_off: Vec<WrittenSignOff>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSignOff {
    case: Option<String>,
    direction: Option<String>,
    who: Option<String>,
    why: Option<String>,
    until: Option<String>,
}

impl SignOff {
    /// Reads a file of `[[sign_off]]` tables.
    ///
    /// # Errors
    /// The file is not there, or every fault of it: a missing or empty field, a date that is none, a case
    /// that is not among `known`.
    pub fn read(file: &Path, known: &HashSet<&CaseId>) -> Result<Vec<Self>, Faults> {
        if !file.exists() {
            return Err(missing(file).into());
        }
        Self::of(&Document::open(file, "`gates.sign_offs` names it, relative to the experiment file")?, known)
    }

    fn of(document: &Document, known: &HashSet<&CaseId>) -> Result<Vec<Self>, Faults> {
        let (written, mut faults) = document.read::<Written>();
        let mut sign_offs = vec![];
        for (at, entry) in written.unwrap_or_default().sign_off.iter().enumerate() {
            match meant(document, at, entry, known) {
                Ok(sign_off) => sign_offs.push(sign_off),
                Err(found) => faults.0.extend(found.0),
            }
        }
        faults.none_or(sign_offs)
    }
}

fn meant(
    document: &Document,
    at: usize,
    entry: &WrittenSignOff,
    known: &HashSet<&CaseId>,
) -> Result<SignOff, Faults> {
    let mut faults = Faults::default();
    let place = |field: &str| format!("sign_off[{at}].{field}");
    let mut needed = |field: &str, value: &Option<String>, example: &str| match value.as_deref() {
        Some(text) if !text.trim().is_empty() => text.to_owned(),
        _ => {
            let fault = document.fault(&place(field), format!("a sign-off needs `{field}`"));
            faults.0.push(fault.with_hint(format!("add a line such as `{field} = \"{example}\"`")));
            String::new()
        }
    };
    let case = needed("case", &entry.case, "refund-3");
    let direction = needed("direction", &entry.direction, "broke");
    let who = needed("who", &entry.who, "ada@example.com");
    let why = needed("why", &entry.why, "the old answer was wrong, ticket 123");
    let until = needed("until", &entry.until, "2027-03-31");
    let case = CaseId::from(case);
    if !case.as_str().is_empty() && !known.contains(&case) {
        let fault = document.fault(&place("case"), format!("there is no case `{case}`"));
        faults.0.push(match nearest(case.as_str(), known.iter().map(|id| id.as_str())) {
            Some(near) => fault.with_hint(format!("did you mean `{near}`?")),
            None => fault.with_hint("take the sign-off out, or correct the id"),
        });
    }
    let way = match direction.as_str() {
        "fixed" => Direction::Fixed,
        "broke" | "" => Direction::Broke,
        other => {
            let message = format!("found `{other}`, expected `broke` or `fixed`");
            faults.0.push(document.fault(&place("direction"), message));
            Direction::Broke
        }
    };
    let date: Date = match until.parse() {
        Ok(date) => date,
        Err(_) => {
            if !until.is_empty() {
                let message = format!("`{until}` is not a date such as `2027-03-31`");
                faults.0.push(document.fault(&place("until"), message));
            }
            Date::MAX
        }
    };
    faults.none_or(SignOff { case, direction: way, who, why, until: date })
}

/// What became of each sign-off, given the flips there are and the day it is.
pub(super) fn uses(
    sign_offs: &[SignOff],
    flipped: &HashSet<(&CaseId, Direction)>,
    today: Date,
) -> Vec<SignOffUse> {
    sign_offs
        .iter()
        .map(|sign_off| SignOffUse {
            case: sign_off.case.clone(),
            direction: sign_off.direction,
            who: sign_off.who.clone(),
            why: sign_off.why.clone(),
            until: sign_off.until.to_string(),
            state: match () {
                () if sign_off.until < today => "expired",
                () if flipped.contains(&(&sign_off.case, sign_off.direction)) => "used",
                () => "unused",
            },
        })
        .collect()
}

/// The fault of a sign-off file that an experiment names and that is not there.
fn missing(file: &Path) -> Fault {
    Fault::of_file(file, "the gates name this file of sign-offs and it is not there")
        .with_hint("make it, empty if nothing is signed off, or take `sign_offs` out of `[gates]`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<SignOff>, String> {
        let (known, document) =
            (CaseId::from("refund-3"), Document::parse(Path::new("s.toml"), text).unwrap());
        SignOff::of(&document, &HashSet::from([&known])).map_err(|faults| faults.to_string())
    }

    #[test]
    fn a_sign_off_says_who_why_and_until_when() {
        let whole = "[[sign_off]]\ncase = \"refund-3\"\ndirection = \"broke\"\nwho = \"ada\"\n\
                     why = \"was wrong\"\nuntil = \"2027-03-31\"\n";
        let sign_offs = read(whole).unwrap();
        assert_eq!(sign_offs[0].until, jiff::civil::date(2027, 3, 31));
        let id = CaseId::from("refund-3");
        let flipped = HashSet::from([(&id, Direction::Broke)]);
        let state = |day| uses(&sign_offs, &flipped, day)[0].state;
        assert_eq!(state(jiff::civil::date(2027, 3, 31)), "used");
        assert_eq!(state(jiff::civil::date(2027, 4, 1)), "expired");
        assert_eq!(uses(&sign_offs, &HashSet::new(), jiff::civil::date(2027, 1, 1))[0].state, "unused");
    }

    #[test]
    fn what_is_missing_or_unknown_is_told_in_one_go() {
        let told =
            read("[[sign_off]]\ncase = \"refund-4\"\ndirection = \"up\"\nuntil = \"soon\"\n").unwrap_err();
        for part in [
            "did you mean `refund-3`?",
            "needs `who`",
            "needs `why`",
            "found `up`, expected `broke` or `fixed`",
            "`soon` is not a date",
        ] {
            assert!(told.contains(part), "{part} is not in {told}");
        }
    }
}
