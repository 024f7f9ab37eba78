//! What a number in an answer is read as.

use super::ratio::Ratio;

/// What a token is worth.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::grading) enum Reading {
    /// A number.
    Plain(Ratio),
    /// A number with letters right behind it that are no known unit, such as `42abc`.
    Glued(Ratio, String),
    /// A bound or a guess: `<42`, `~42`, `42+`.
    Bound,
    /// A range, a date, a time or a version; the numbers in it.
    Compound(Vec<Ratio>),
    /// An expression that is not worked out, such as `10+x`; the numbers in it.
    Expression(Vec<Ratio>),
}

impl Reading {
    /// The numbers that stand in it.
    pub(in crate::grading) fn parts(&self) -> Vec<Ratio> {
        match self {
            Self::Plain(value) => vec![value.clone()],
            Self::Compound(parts) | Self::Expression(parts) => parts.clone(),
            Self::Glued(..) | Self::Bound => vec![],
        }
    }
}
