//! What is wrong with a file, said once and well.

use std::{fmt, path::PathBuf};

/// One fault of an input file: where, what was found, what was expected, and the likely fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1; `None` when the fault is the whole file's.
    pub line: Option<usize>,
    /// The column in characters, from 1, where it is known.
    pub column: Option<usize>,
    /// The case or target concerned, and the field, such as ``case `a`, `expected.answer` ``.
    pub place: Option<String>,
    /// What was found and what was expected: lower case, no final period.
    pub message: String,
    /// The likely fix, if there is one.
    pub hint: Option<String>,
}

impl Fault {
    /// A fault of the whole file.
    pub fn of_file(file: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        Self { file: file.into(), line: None, column: None, place: None, message: message.into(), hint: None }
    }

    /// A fault on one line.
    pub fn on_line(file: impl Into<PathBuf>, line: usize, message: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::of_file(file, message) }
    }

    /// The same, naming the place within the line.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// The same, with the likely fix.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// `file:line:column: place: message`, and the hint on a line of its own.
impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(out, ":{line}")?;
            if let Some(column) = self.column {
                write!(out, ":{column}")?;
            }
        }
        if let Some(place) = &self.place {
            write!(out, ": {place}")?;
        }
        write!(out, ": {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(out, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// All faults found in one go; never empty when it is an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// `Ok(value)` when there is no fault.
    ///
    /// # Errors
    /// All faults, when there is one.
    pub fn none_or<T>(self, value: T) -> Result<T, Self> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Self {
        Self(vec![fault])
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            if index > 0 {
                out.write_str("\n")?;
            }
            write!(out, "{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

/// The candidate nearest to a mistyped `word`, when one is near enough to be meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.chars().count() / 4)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_reads_as_place_message_and_hint() {
        let fault = Fault::on_line("golden/a.jsonl", 12, "unknown field")
            .at("case `x`, `expcted`")
            .with_hint("did you mean `expected`?");
        assert_eq!(
            fault.to_string(),
            "golden/a.jsonl:12: case `x`, `expcted`: unknown field\n  hint: did you mean `expected`?"
        );
    }

    #[test]
    fn only_a_near_word_is_suggested() {
        let fields = ["expected", "context", "input"];
        assert_eq!(nearest("expcted", fields), Some("expected"));
        assert_eq!(nearest("zebra", fields), None);
    }
}
