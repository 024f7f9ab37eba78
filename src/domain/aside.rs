//! Runs that measure nothing by themselves: they stand aside of those that do.

/// What a run beside the measurements is for. Its experiment is named after the one that it belongs to,
/// and no other experiment may be named so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aside {
    /// Flipped cases asked again: selected for having differed.
    Confirmation,
    /// A run against a mock server: what it answers means nothing.
    Rehearsal,
}

impl Aside {
    const ALL: [Self; 2] = [Self::Confirmation, Self::Rehearsal];

    /// What the name of its experiment ends with.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Confirmation => "-confirm",
            Self::Rehearsal => "-rehearsal",
        }
    }

    /// The name of such an experiment beside `experiment`.
    pub fn beside(self, experiment: &str) -> String {
        format!("{experiment}{}", self.suffix())
    }

    /// What runs of `experiment` are for, by its name; `None` where they measure.
    pub fn of(experiment: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|aside| experiment.ends_with(aside.suffix()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_what_a_run_is_for() {
        assert_eq!(Aside::of(&Aside::Confirmation.beside("nightly")), Some(Aside::Confirmation));
        assert_eq!(Aside::of(&Aside::Rehearsal.beside("nightly")), Some(Aside::Rehearsal));
        assert_eq!(Aside::of("nightly"), None);
        assert_eq!(Aside::of("confirm-2"), None);
    }
}
