//! The user's word to stop.

/// How far the user wants a run to go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shutdown {
    /// To its end.
    #[default]
    No,
    /// Start nothing new, finish what is in flight.
    Drain,
    /// Stop now; what is in flight is cancelled.
    Now,
}
