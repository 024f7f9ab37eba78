//! Tests of whole comparisons, on sides made by hand.
