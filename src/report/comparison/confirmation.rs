//! What fresh answers said of flips, on the screen.

use std::fmt::Write;

use crate::domain::text::{one_line, visible};
use crate::{
    compare::{Confirmed, ConfirmedFlip, Count},
    report::{format::count, table::Table},
};

/// Longest id of a case.
const ID_WIDTH: usize = 44;

/// The flips that were asked again, the confirmed ones first.
pub fn confirmation_text(sides: [&str; 2], flips: &[ConfirmedFlip]) -> String {
    let number = |said: Confirmed| count(flips.iter().filter(|flip| flip.confirmed == said).count() as u64);
    let mut text = format!(
        "{} against {}: {} flips asked again\n\n  confirmed {}, not confirmed {}, cannot tell {}\n",
        visible(sides[1]),
        visible(sides[0]),
        count(flips.len() as u64),
        number(Confirmed::Confirmed),
        number(Confirmed::NotConfirmed),
        number(Confirmed::CannotTell)
    );
    let mut table = Table::new(2, ["case", "flip", "baseline", "candidate", "p", "q", "says"]).left(&[1, 6]);
    let share = |count: Count| format!("{}/{}", count.passes, count.measured);
    let p = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |p| format!("{p:.4}"));
    for said in [Confirmed::Confirmed, Confirmed::CannotTell, Confirmed::NotConfirmed] {
        for flip in flips.iter().filter(|flip| flip.confirmed == said) {
            table.row([
                one_line(flip.case.as_str(), ID_WIDTH),
                flip.direction.as_str().to_owned(),
                share(flip.baseline),
                share(flip.candidate),
                p(flip.p),
                p(flip.q),
                said.as_str().to_owned(),
            ]);
        }
    }
    if !table.is_empty() {
        let _ = write!(text, "\n{}", table.text());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Direction;

    #[test]
    fn confirmed_flips_stand_first() {
        let flip = |case: &str, confirmed, q| ConfirmedFlip {
            case: case.into(),
            direction: Direction::Broke,
            baseline: Count { passes: 8, measured: 8 },
            candidate: Count { passes: 0, measured: 8 },
            confirmed,
            p: Some(0.000_1),
            q,
        };
        let flips = [
            flip("c1", Confirmed::NotConfirmed, None),
            flip("c2\u{1b}[31m", Confirmed::Confirmed, Some(0.000_2)),
        ];
        insta::assert_snapshot!(confirmation_text(["nightly-12", "nightly-13"], &flips));
    }
}
