//! How far raters, a judge and people agree, and what a judge's errors do to a rate.

pub(super) mod judge_quality;
pub(super) mod kappa;
pub(super) mod krippendorff;
pub(super) mod ppi;
pub(super) mod rogan_gladen;

pub use self::{
    judge_quality::{JudgeCounts, JudgeQuality, Share, judge_quality},
    kappa::{Ac1, Agreement, Kappa, agreement, agreement_table},
    krippendorff::{Krippendorff, KrippendorffInterval, krippendorff_alpha, krippendorff_interval},
    ppi::{Augmented, ClusteredSpread, Labels, Ppi, PpiSpread, ppi},
    rogan_gladen::{CorrectedRate, JudgedCounts, RoganGladen, rogan_gladen},
};
