//! A golden set as it is meant.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use crate::domain::{Case, Fault, Fingerprint, GraderSpec, PassIf};

/// What the experiment supplies for lines that do not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseDefaults {
    /// The graders of a case that names none.
    pub graders: Vec<GraderSpec>,
    /// The graders that the experiment defines, by the name under which a case may call them.
    pub named: BTreeMap<String, GraderSpec>,
    /// The rule of a case that has none of its own.
    pub pass_if: PassIf,
}

/// A frozen list of cases, in the order of the file.
#[derive(Clone, Debug)]
pub struct GoldenSet {
    /// The file that it was read from.
    pub path: PathBuf,
    /// Its cases; never empty, ids unique.
    pub cases: Vec<Arc<Case>>,
    /// Hash over every case's id and fingerprint; the order of the lines does not matter.
    pub fingerprint: Fingerprint,
    /// The line on which each case stands.
    pub(super) lines: Vec<usize>,
}

impl GoldenSet {
    /// A fault of the case at `index` of [`cases`](Self::cases), naming its line, its id and, unless
    /// it is empty, the field concerned.
    ///
    /// # Panics
    /// When the set has no such case.
    pub fn fault(&self, index: usize, field: &str, message: impl Into<String>) -> Fault {
        let id = &self.cases[index].id;
        let place = if field.is_empty() { format!("case `{id}`") } else { format!("case `{id}`, `{field}`") };
        Fault::on_line(&self.path, self.lines[index], message).at(place)
    }
}
