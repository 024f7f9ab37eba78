//! Where something stands: rows and positions that cannot be taken for each other.
//!
//! Each is the bare number in JSON, in the store and on the screen; in the code a swap does not compile.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! position {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, out)
            }
        }
    };
}

macro_rules! index {
    ($($name:ident($inner:ty)),*) => {
        $(impl $name {
            /// The position in a list from which this one was made.
            ///
            /// # Panics
            /// The list has more entries than positions of this kind; files of that size are refused.
            pub fn at(index: usize) -> Self {
                Self(<$inner>::try_from(index).expect("lists with positions are bounded"))
            }

            /// The place in a list.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        })*
    };
}

position! {
    /// A run's row in its store.
    RunRow(i64)
}
position! {
    /// A target's position in its experiment, from 0.
    TargetPos(u32)
}
position! {
    /// A case's position in its run's golden set, from 0.
    CasePos(u32)
}
position! {
    /// Which time a case is asked of one target, from 1.
    Repeat(u32)
}
position! {
    /// A grader's position in its run, from 0.
    GraderPos(u32)
}
position! {
    /// A price row's position in its run, from 0.
    PricePos(u16)
}
position! {
    /// The position of one who asks, from 0: the targets first, then the judges. What halts, and what
    /// is priced.
    AskerPos(u32)
}

index! { TargetPos(u32), CasePos(u32), GraderPos(u32), PricePos(u16), AskerPos(u32) }

impl Repeat {
    /// The first time.
    pub const FIRST: Self = Self(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_its_bare_number_in_json_and_on_the_screen() {
        assert_eq!(serde_json::to_string(&(RunRow(7), Repeat::FIRST, PricePos(3))).unwrap(), "[7,1,3]");
        assert_eq!(serde_json::from_str::<CasePos>("12").unwrap(), CasePos(12));
        assert_eq!(format!("{:>3}", TargetPos(2)), "  2");
    }

    #[test]
    fn a_position_finds_its_place_again() {
        assert_eq!(CasePos::at(5).index(), 5);
        assert!(GraderPos::at(2) < GraderPos::at(3));
    }
}
