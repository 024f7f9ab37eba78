//! Which cases of a golden set a run takes.

use std::{collections::BTreeSet, fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

use super::GoldenSet;
use crate::domain::{Case, Fault, Faults, Split, nearest};

/// How many candidates an error lists.
const LISTED: usize = 10;

/// What to take of a golden set; the default is all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// Filters on the same field are alternatives; those on different fields must all hold.
    pub filters: Vec<Filter>,
    /// Only this split.
    pub split: Option<Split>,
    /// At most so many cases, the first in the order of the file.
    pub limit: Option<usize>,
}

/// One condition on a case, written `segment.intent=billing`, `split=live` or `id=a-1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// The field, such as `segment.intent`, `split` or `id`.
    pub field: String,
    /// The value that it must have.
    pub value: String,
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (field, value) = text.split_once('=').ok_or_else(|| {
            format!("`{text}` is not a filter; write `segment.key=value`, `split=name` or `id=name`")
        })?;
        let (field, value) = (field.trim(), value.trim());
        let known = matches!(field, "id" | "split")
            || field.strip_prefix("segment.").is_some_and(|key| !key.is_empty());
        if !known {
            return Err(format!("unknown filter `{field}`; filters are `segment.key`, `split` and `id`"));
        }
        Ok(Self { field: field.to_owned(), value: value.to_owned() })
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}={}", self.field, self.value)
    }
}

impl Filter {
    /// What the case has in this filter's field.
    fn value_in<'a>(&self, case: &'a Case) -> Option<&'a str> {
        match self.field.as_str() {
            "id" => Some(case.id.as_str()),
            "split" => case.split.map(Split::as_str),
            field => {
                let key = field.strip_prefix("segment.")?;
                case.segment.get(key).map(String::as_str)
            }
        }
    }
}

/// The cases that `selection` takes, in the order of the file.
///
/// # Errors
/// Every filter that names a field or value that no case has (with the nearest that exist), or that
/// nothing is left.
pub fn select(set: &GoldenSet, selection: &Selection) -> Result<Vec<Arc<Case>>, Faults> {
    let mut filters = selection.filters.clone();
    if let Some(split) = selection.split {
        // A split of its own narrows further filters on it instead of widening them.
        filters.retain(|filter| filter.field != "split" || filter.value == split.as_str());
        filters.push(Filter { field: "split".to_owned(), value: split.as_str().to_owned() });
    }
    let unknown: Vec<Fault> = filters.iter().filter_map(|filter| unknown_name(set, filter)).collect();
    Faults(unknown).none_or(())?;
    let taken: Vec<Arc<Case>> = set
        .cases
        .iter()
        .filter(|case| {
            filters.iter().all(|filter| {
                filters
                    .iter()
                    .filter(|other| other.field == filter.field)
                    .any(|other| other.value_in(case) == Some(&other.value))
            })
        })
        .take(selection.limit.unwrap_or(usize::MAX))
        .cloned()
        .collect();
    if taken.is_empty() {
        let fault = Fault::of_file(&set.path, "the selection leaves no case")
            .with_hint("loosen a filter or the limit");
        return Err(fault.into());
    }
    Ok(taken)
}

/// The fault of a filter that names what no case has.
fn unknown_name(set: &GoldenSet, filter: &Filter) -> Option<Fault> {
    let values: BTreeSet<&str> = set.cases.iter().filter_map(|case| filter.value_in(case)).collect();
    if values.contains(filter.value.as_str()) {
        return None;
    }
    let (wrong, message, candidates) = match filter.field.strip_prefix("segment.") {
        Some(key) if values.is_empty() => {
            let keys = set.cases.iter().flat_map(|case| case.segment.keys().map(String::as_str)).collect();
            (key, format!("no case has a segment `{key}`"), keys)
        }
        _ => (filter.value.as_str(), format!("no case has `{}` = `{}`", filter.field, filter.value), values),
    };
    let hint = match nearest(wrong, candidates.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if candidates.is_empty() => "no case has any".to_owned(),
        None => format!("there is {}", listed(&candidates)),
    };
    Some(Fault::of_file(&set.path, message).at(format!("filter `{filter}`")).with_hint(hint))
}

/// The first few candidates, and how many more there are.
fn listed(candidates: &BTreeSet<&str>) -> String {
    let shown: Vec<String> =
        candidates.iter().take(LISTED).map(|candidate| format!("`{candidate}`")).collect();
    match candidates.len().saturating_sub(LISTED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::golden::{CaseDefaults, read};

    fn set() -> GoldenSet {
        let text = r#"
{"id":"a","input":"x","split":"tuning","segment":{"intent":"billing","locale":"de"}}
{"id":"b","input":"x","split":"held-out","segment":{"intent":"returns","locale":"de"}}
{"id":"c","input":"x","split":"held-out","segment":{"intent":"billing","locale":"en"}}
{"id":"d","input":"x"}"#;
        read(text.as_bytes(), Path::new("set.jsonl"), &CaseDefaults::default()).unwrap()
    }

    fn taken(filters: &[&str], split: Option<Split>, limit: Option<usize>) -> Result<String, String> {
        let filters = filters.iter().map(|filter| filter.parse().unwrap()).collect();
        select(&set(), &Selection { filters, split, limit })
            .map(|cases| cases.iter().map(|case| case.id.as_str()).collect())
            .map_err(|fault| fault.to_string())
    }

    #[test]
    fn filters_on_one_field_are_alternatives_and_on_different_fields_conditions() {
        for (filters, split, limit, ids) in [
            (&[][..], None, None, "abcd"),
            (&["segment.intent=billing"], None, None, "ac"),
            (&["segment.intent=billing", "segment.locale=de"], None, None, "a"),
            (&["id=d", "id=a"], None, None, "ad"),
            (&["split=held-out"], None, None, "bc"),
            (&["split=held-out", "split=tuning"], Some(Split::Tuning), None, "a"),
            (&["segment.locale=de"], None, Some(1), "a"),
            (&[], None, Some(9), "abcd"),
        ] {
            assert_eq!(taken(filters, split, limit).as_deref(), Ok(ids), "{filters:?}");
        }
    }

    #[test]
    fn an_unknown_name_is_an_error_with_candidates() {
        let message = |filter| taken(&[filter], None, None).unwrap_err();
        assert_eq!(
            message("segment.intnet=billing"),
            "set.jsonl: filter `segment.intnet=billing`: no case has a segment `intnet`\n  hint: did you mean `intent`?"
        );
        assert_eq!(
            message("segment.locale=french"),
            "set.jsonl: filter `segment.locale=french`: no case has `segment.locale` = `french`\n  hint: there is `de`, `en`"
        );
        assert!(message("split=live").contains("there is `held-out`, `tuning`"));
        assert!(taken(&[], None, Some(0)).unwrap_err().contains("leaves no case"));
        assert!("owner=x".parse::<Filter>().is_err());
        assert!("billing".parse::<Filter>().is_err());
    }
}
