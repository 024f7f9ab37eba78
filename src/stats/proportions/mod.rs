//! Proportions of independent trials: intervals, and passing within k tries.

pub(super) mod pass_at_k;
pub(super) mod proportion;

pub use self::{
    pass_at_k::{majority_at_k, pass_at_k, pass_hat_k, plurality_at_k},
    proportion::{
        clopper_pearson, clopper_pearson_lower_limit, jeffreys, two_sided_t, two_sided_z, uniform_beta,
        wilson,
    },
};
