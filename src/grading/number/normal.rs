//! One way of writing for the many ways in which numbers are written: ASCII digits, a plain minus,
//! TeX replaced by what it shows.

use std::sync::LazyLock;

use regex::{Captures, Regex};

static FRACTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"([0-9]?)\\[dt]?frac\s*\{\s*([^{}]*?)\s*\}\s*\{\s*([^{}]*?)\s*\}")
        .expect("the pattern is right")
});

static COMMAND: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\\([a-zA-Z]+)").expect("the pattern is right"));

/// The characters of `text`, so written.
pub(super) fn normalised(text: &str) -> Vec<char> {
    let shown = if text.contains('\\') || text.contains("{,}") { without_tex(text) } else { text.to_owned() };
    shown
        .chars()
        .filter(|c| !matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{ad}'))
        .map(plain)
        .collect()
}

fn without_tex(text: &str) -> String {
    let text = FRACTION.replace_all(text, |found: &Captures<'_>| {
        let space = if found[1].is_empty() { "" } else { " " };
        format!("{}{space}{}/{}", &found[1], &found[2], &found[3])
    });
    let text = text.replace("{,}", ",").replace("\\!", "").replace("^{\\circ}", "°").replace("^\\circ", "°");
    let text = text.replace("\\,", "\u{2009}").replace("\\;", "\u{2009}").replace("\\ ", " ");
    let text = text.replace("\\%", "%").replace("\\$", "$").replace("\\{", "{").replace("\\}", "}");
    let shown = COMMAND.replace_all(&text, |found: &Captures<'_>| {
        match &found[1] {
            "times" | "cdot" | "ast" => "×",
            "div" => "÷",
            "pm" => "±",
            "approx" | "sim" | "simeq" => "≈",
            "le" | "leq" | "leqslant" | "lt" => "≤",
            "ge" | "geq" | "geqslant" | "gt" => "≥",
            "ne" | "neq" => "≠",
            "to" | "rightarrow" | "implies" => "→",
            _ => return found[0].to_owned(),
        }
        .to_owned()
    });
    shown.into_owned()
}

fn plain(c: char) -> char {
    match c {
        '\u{2212}' | '\u{fe63}' | '\u{ff0d}' | '\u{2010}' | '\u{2011}' => '-',
        '’' | '‘' => '\'',
        '％' | '٪' | '﹪' => '%',
        '．' | '٫' => '.',
        '٬' => ',',
        '＋' => '+',
        '＝' => '=',
        '＜' => '<',
        '＞' => '>',
        '～' | '˜' => '~',
        '⁄' | '∕' => '/',
        other => ascii_digit(other),
    }
}

/// The zeros of the scripts whose decimal digits are read.
const ZEROS: [char; 16] = ['٠', '۰', '०', '০', '੦', '૦', '୦', '௦', '౦', '೦', '൦', '๐', '໐', '༠', '၀', '０'];

fn ascii_digit(c: char) -> char {
    if c.is_ascii() {
        return c;
    }
    let value =
        ZEROS.iter().find_map(|zero| u32::from(c).checked_sub(u32::from(*zero)).filter(|value| *value < 10));
    value.and_then(|value| char::from_digit(value, 10)).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_signs_and_tex_have_one_form() {
        for (text, plain) in [
            (r"\frac{1}{2}", "1/2"),
            (r"3\dfrac{ 1 }{2}", "3 1/2"),
            (r"1{,}234", "1,234"),
            (r"2 \times 3 \approx 6", "2 × 3 ≈ 6"),
            (r"\left(2\right)", r"\left(2\right)"),
            (r"90^{\circ}", "90°"),
            ("\u{2212}٤٢٫٥", "-42.5"),
        ] {
            assert_eq!(normalised(text).into_iter().collect::<String>(), plain, "{text}");
        }
    }
}
