//! The frontier of cost and detectable difference as an SVG.

use std::fmt::Write;

use super::frontier_text::Scale;
use crate::estimate::{design::DesignRow, frontier::price};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 56.0;

/// A picture of `rows` (of [`frontier`](crate::estimate::frontier::frontier)), `now` marked; both
/// axes are logarithmic. Every point carries its design as a title.
pub fn frontier_svg(rows: &[DesignRow], now: &DesignRow) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>Cost against the smallest detectable difference</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    let Some(scale) = Scale::of(rows, now) else {
        svg.push_str("<text x=\"80\" y=\"80\">no design to plot</text>\n</svg>\n");
        return svg;
    };
    let at = |row: &DesignRow| {
        let (x, y) = scale.place(row);
        (LEFT + x * (WIDTH - LEFT - RIGHT), TOP + (1.0 - y) * (HEIGHT - TOP - BOTTOM))
    };
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let _ = writeln!(
        svg,
        "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#444\"/>\n\
         <text x=\"{LEFT}\" y=\"24\">smallest detectable difference (points), power 80 % at 5 %</text>"
    );
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let value = |(low, high): (f64, f64)| (low + share * (high - low)).exp();
        let (x, y) = (LEFT + share * (right - LEFT), TOP + (1.0 - share) * (bottom - TOP));
        let label = if scale.dollars {
            format!("${:.2}", value(scale.x))
        } else {
            format!("{:.2} h", value(scale.x))
        };
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#ddd\"/>\n\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{:.2}</text>",
            bottom + 18.0,
            LEFT - 8.0,
            y + 4.0,
            value(scale.y) * 100.0
        );
    }
    let line: Vec<String> = rows.iter().map(at).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#2563a8\" stroke-width=\"1.5\"/>",
        line.join(" ")
    );
    for row in rows {
        let _ = writeln!(svg, "{}", dot(at(row), "#2563a8", 3.0, row));
    }
    let _ = writeln!(svg, "{}", dot(at(now), "#c0392b", 6.0, now));
    let unit = if scale.dollars { "dollars" } else { "hours" };
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{unit} (the red dot is the design as it stands)</text>\n</svg>",
        (LEFT + right) / 2.0,
        HEIGHT - 14.0
    );
    svg
}

fn dot((x, y): (f64, f64), colour: &str, radius: f64, row: &DesignRow) -> String {
    format!(
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{colour}\"><title>{} cases × {}: {:.4}, sees {:.2} \
         points</title></circle>",
        row.cases,
        row.repeats,
        price(row),
        row.detectable_difference * 100.0
    )
}
