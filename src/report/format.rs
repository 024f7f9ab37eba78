//! Numbers as people read them.

use std::time::Duration;

use crate::domain::Cost;

/// The widest line of a screen.
const WIDTH: usize = 100;

/// `1234567` as `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A share of one as a percentage with one decimal: `0.8792` is `87.9 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A duration in the two units that matter: `850 ms`, `2.00 s`, `1 min 35 s`, `3 h 07 min`, `2 d 4 h`.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let whole = seconds.round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rounded duration is whole"
    )]
    let whole = whole as u64;
    match whole {
        _ if seconds < 0.9995 => format!("{:.0} ms", seconds * 1e3),
        _ if seconds < 9.995 => format!("{seconds:.2} s"),
        _ if seconds < 59.95 => format!("{seconds:.1} s"),
        0..3_600 => format!("{} min {:02} s", whole / 60, whole % 60),
        3_600..86_400 => format!("{} h {:02} min", whole / 3_600, whole % 3_600 / 60),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3_600),
    }
}

/// Milliseconds as a duration.
pub fn milliseconds(milliseconds: f64) -> String {
    duration(Duration::from_secs_f64((milliseconds / 1e3).clamp(0.0, 1e12)))
}

/// Dollars for a table: four significant digits below a cent, cents from a hundred dollars on.
pub fn dollars(cost: Cost) -> String {
    let amount = cost.dollars();
    match amount {
        _ if cost == Cost::ZERO => "$0".to_owned(),
        _ if amount < 0.01 => format!("${amount:.6}"),
        _ if amount < 100.0 => format!("${amount:.4}"),
        _ => format!("${amount:.2}"),
    }
}

/// `text` after `label`, broken between words at the screen's width; further lines are indented as far.
pub fn wrapped(label: &str, text: &str) -> String {
    let indent = label.chars().count();
    let room = WIDTH.saturating_sub(indent).max(20);
    let mut lines: Vec<String> = vec![];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let separator = format!("\n{}", " ".repeat(indent));
    format!("{label}{}\n", lines.join(&separator))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_between_words_below_where_it_begins() {
        assert_eq!(wrapped("why  ", "all is well"), "why  all is well\n");
        let text = wrapped("why  ", &"word ".repeat(25));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [format!("why  {}", ["word"; 19].join(" ")), format!("     {}", ["word"; 6].join(" "))]
        );
    }

    #[test]
    fn counts_are_grouped_by_thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(count(number), text);
        }
    }

    #[test]
    fn durations_show_the_two_units_that_matter() {
        for (seconds, text) in [
            (0.0, "0 ms"),
            (0.85, "850 ms"),
            (0.9996, "1.00 s"),
            (12.34, "12.3 s"),
            (59.96, "1 min 00 s"),
            (95.0, "1 min 35 s"),
            (11_220.0, "3 h 07 min"),
            (187_200.0, "2 d 4 h"),
        ] {
            assert_eq!(duration(Duration::from_secs_f64(seconds)), text);
        }
    }
}
