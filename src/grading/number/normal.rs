//! One way of writing for the many ways in which numbers are written: ASCII digits, one minus for all
//! hyphens, TeX and HTML replaced by what they show, what is struck out left out.

use std::sync::LazyLock;

use regex::Regex;

use super::tex::{CLOSE, OPEN, shown};

static STRUCK_OUT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"~~[^~\n]+~~|(?s:<del>.*?</del>|<s>.*?</s>|<strike>.*?</strike>)")
        .expect("the pattern is right")
});

/// What HTML writes for a character, and its raised and lowered text.
const HTML: [(&str, &str); 24] = [
    ("&lt;", "<"),
    ("&#60;", "<"),
    ("&gt;", ">"),
    ("&#62;", ">"),
    ("&le;", "≤"),
    ("&ge;", "≥"),
    ("&ne;", "≠"),
    ("&asymp;", "≈"),
    ("&nbsp;", "\u{a0}"),
    ("&thinsp;", "\u{2009}"),
    ("&minus;", "−"),
    ("&ndash;", "–"),
    ("&times;", "×"),
    ("&middot;", "·"),
    ("&divide;", "÷"),
    ("&plusmn;", "±"),
    ("&radic;", "√"),
    ("&pi;", "π"),
    ("&frac12;", "½"),
    ("&frac14;", "¼"),
    ("&frac34;", "¾"),
    ("&euro;", "€"),
    ("&pound;", "£"),
    ("&amp;", "&"),
];

/// The characters of `text`, so written.
pub(super) fn normalised(text: &str) -> Vec<char> {
    let mut text = text.to_owned();
    if text.contains('&') {
        text = HTML.iter().fold(text, |text, (written, shown)| text.replace(written, shown));
    }
    if text.contains("~~") || text.contains("</") {
        text = STRUCK_OUT.replace_all(&text, " ").into_owned();
        text = text.replace("<sup>", "^").replace("</sup>", "").replace("<sub>", "_").replace("</sub>", "");
    }
    let chars: Vec<char> = text
        .chars()
        .filter(|c| !matches!(*c, '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{ad}' | OPEN | CLOSE))
        .map(plain)
        .collect();
    if chars.iter().any(|c| matches!(c, '\\' | '{')) { shown(&chars) } else { chars }
}

fn plain(c: char) -> char {
    match c {
        '\u{fe63}' | '\u{ff0d}' | '\u{2010}' | '\u{2011}' => '-',
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
        '⋅' | '∙' | '∗' | '✕' | '✖' | '⨯' => '×',
        '⩽' | '≦' | '⪅' | '≲' | '≪' | '≺' | '≮' => '≤',
        '⩾' | '≧' | '⪆' | '≳' | '≫' | '≻' | '≯' => '≥',
        '≅' | '∼' | '≃' | '≒' | '∽' => '≈',
        '‥' => '…',
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
            (r"\frac12", "1/2"),
            (r"3\dfrac{ 1 }{2}", "3 1/2"),
            (r"1{,}234", "1,234"),
            (r"2 \times 3 \approx 6", "2 × 3 ≈ 6"),
            (r"\left(2\right)", r"(2)"),
            (r"90^{\circ}", "90°"),
            (r"90^\circ C", "90° C"),
            (r"10^{-3}", "10^-3"),
            (r"-\boxed{5}", "-{5}"),
            (r"5\text{ kg}", "5 kg"),
            (r"\num{42}", "{42}"),
            (r"\tag{1}", ""),
            ("\u{2212}٤٢٫٥", "−42.5"),
            ("~~41~~ 42", "  42"),
            ("&lt; 5", "< 5"),
            ("10<sup>3</sup>", "10^3"),
            (r"\frac{\sqrt{3}}{2}", "\u{e000}\\frac{\\sqrt{3}}{2}\u{e001}"),
            (r"\frac125", "\u{e000}\\frac12\u{e001}5"),
            (r"\sqrt2", "\u{e000}\\sqrt2\u{e001}"),
            (r"\frac{1", "\u{e000}\\frac\u{e001}{1"),
        ] {
            assert_eq!(normalised(text).into_iter().collect::<String>(), plain, "{text}");
        }
    }

    #[test]
    fn commands_within_commands_end_somewhere() {
        let deep = r"\frac{".repeat(20_000) + "1";
        assert!(!normalised(&deep).is_empty());
        let closed = r"\text{".repeat(20_000) + "1" + &"}".repeat(20_000);
        assert!(!normalised(&closed).is_empty());
    }
}
