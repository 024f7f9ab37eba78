//! What the stored trials of a run say, read once: all that counts, prices or times them is a view.

mod scorecard;
mod target;

pub use self::{
    scorecard::{
        CacheCard, GraderCard, Percentiles, Rate, RetrievalCard, RetrievalSlice, Scorecard, Slice,
        TargetCard, TwoByTwo,
    },
    target::{GraderMeasurements, Measurements},
};
