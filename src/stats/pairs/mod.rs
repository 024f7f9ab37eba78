//! Two sides of the same cases: differences, flips, margins.

pub(super) mod difference;
pub(super) mod flips;
pub(super) mod flips_repeats;
pub(super) mod noninferiority;
pub(super) mod paired;
pub(super) mod paired_medians;

pub use self::{
    difference::{DifferenceVerdict, PairedDifference, paired_difference},
    flips::{FlipCounts, SignTest, count_flips, expected_flips_by_chance, sign_test},
    flips_repeats::{
        CaseFlip, CaseStatus, CaseTest, RepeatedCase, RepeatedFlips, repeated_flips, smallest_fisher_p,
    },
    noninferiority::{MarginTest, MarginVerdict, against_margin, margin_test},
    paired::{EffectiveDifference, PairedSummary, Pairing, bonett_price, paired_summary},
    paired_medians::{PairedMedians, paired_medians},
};
