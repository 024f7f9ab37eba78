//! Intervals and tests by drawing again, from a seed.

pub(super) mod bootstrap;
pub(super) mod sign_flip;

pub use self::{
    bootstrap::{
        Bca, Bootstrap, DEFAULT_REPLICATES, Standing, bootstrap_intervals, cluster_bootstrap, resample,
    },
    sign_flip::{SignFlip, sign_flip_test},
};
