//! What a number in an answer is read as.

/// What a token is worth.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::grading) enum Reading {
    /// A number.
    Plain(f64),
    /// A number with letters right behind it, such as `42kg`.
    Glued(f64, String),
    /// A bound or a guess: `<42`, `~42`, `42+`.
    Bound,
    /// A range, a date, a time or a version; the numbers in it.
    Compound(Vec<f64>),
    /// An expression that is not worked out, such as `10+x`; the numbers in it.
    Expression(Vec<f64>),
}

impl Reading {
    /// The numbers that stand in it.
    pub(in crate::grading) fn parts(&self) -> Vec<f64> {
        match self {
            Self::Plain(value) => vec![*value],
            Self::Compound(parts) | Self::Expression(parts) => parts.clone(),
            Self::Glued(..) | Self::Bound => vec![],
        }
    }
}
