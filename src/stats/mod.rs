//! Statistics: pure functions over slices of numbers and cluster indices.
//!
//! Three nested levels: a *cluster* (document, ticket thread) holds *cases* (questions), a case
//! holds *samples* (repeats of the same question). Cases are weighted equally, whatever their
//! number of samples; samples of one case are never treated as independent.
//!
//! Nothing here knows the project: which outcome counts as a failure, which cases may be compared
//! and what a gate demands is decided by the floors above. What cannot be estimated is a named
//! state ([`NotEstimable`]), never 0 or NaN; contradictory arguments are a [`StatsError`].

pub mod special;
pub mod sums;

mod clusters;
mod error;
mod estimate;
mod rng;
mod samples;

pub use clusters::Clusters;
pub use error::StatsError;
pub use estimate::{Estimable, Estimate, Interval, Method, NotEstimable};
pub use rng::SplitMix64;
pub use samples::{SampleTable, Samples};
