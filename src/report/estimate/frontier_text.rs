//! The frontier of cost and detectable difference in a terminal.

use crate::estimate::{design::DesignRow, frontier::price};

const WIDTH: usize = 72;
const HEIGHT: usize = 16;

/// A plot of `rows` (of [`frontier`](crate::estimate::frontier::frontier)), `now` marked; both axes
/// are logarithmic.
pub(super) fn frontier_text(rows: &[DesignRow], now: &DesignRow) -> String {
    let Some(scale) = Scale::of(rows, now) else { return "no design to plot\n".to_owned() };
    let mut cells = vec![vec![' '; WIDTH]; HEIGHT];
    let mut mark = |row: &DesignRow, sign: char| {
        let (x, y) = scale.place(row);
        cells[place(1.0 - y, HEIGHT)][place(x, WIDTH)] = sign;
    };
    rows.iter().for_each(|row| mark(row, '·'));
    mark(now, 'X');
    let label = |at: usize| match at {
        0 => format!("{:7.2}", scale.y.1.exp() * 100.0),
        _ if at == HEIGHT - 1 => format!("{:7.2}", scale.y.0.exp() * 100.0),
        _ => " ".repeat(7),
    };
    let unit = if scale.dollars { ("$", "") } else { ("", " hours") };
    let mut text = String::from("smallest detectable difference (points); X is the design as it stands\n");
    for (at, line) in cells.into_iter().enumerate() {
        let line: String = line.into_iter().collect();
        text.push_str(format!("{} │{line}", label(at)).trim_end());
        text.push('\n');
    }
    let left = format!("{}{:.4}{}", unit.0, scale.x.0.exp(), unit.1);
    let right = format!("{}{:.4}{}", unit.0, scale.x.1.exp(), unit.1);
    text.push_str(&format!("{} └{}\n", " ".repeat(7), "─".repeat(WIDTH)));
    text.push_str(&format!("{}{left}{right:>width$}\n", " ".repeat(9), width = WIDTH - left.chars().count()));
    text
}

fn place(share: f64, cells: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a few cells")]
    let at = (share.clamp(0.0, 1.0) * (cells - 1) as f64).round() as usize;
    at
}

/// The logarithms of both axes' ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) x: (f64, f64),
    pub(super) y: (f64, f64),
    pub(super) dollars: bool,
}

impl Scale {
    /// The scale that shows all of them; `None` when there is nothing to show.
    pub(super) fn of(rows: &[DesignRow], now: &DesignRow) -> Option<Self> {
        let all =
            || rows.iter().chain([now]).filter(|row| price(row) > 0.0 && row.detectable_difference > 0.0);
        let ends = |of: fn(&DesignRow) -> f64| {
            let logs = all().map(move |row| of(row).ln());
            let (low, high) = logs
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), log| (low.min(log), high.max(log)));
            (low.is_finite() && high.is_finite()).then_some((low, high))
        };
        Some(Self {
            x: ends(price)?,
            y: ends(|row| row.detectable_difference)?,
            dollars: now.cost_usd.is_some(),
        })
    }

    /// Where a design stands, as shares of both axes.
    pub(super) fn place(&self, row: &DesignRow) -> (f64, f64) {
        let share = |value: f64, (low, high): (f64, f64)| {
            if high > low && value > 0.0 { (value.ln() - low) / (high - low) } else { 0.5 }
        };
        (share(price(row), self.x), share(row.detectable_difference, self.y))
    }
}
