//! Text that somebody else wrote, made fit to be shown: what cannot be seen is written out, and what
//! is long is cut.

use std::fmt::Write;

/// The longest piece of an answer that is quoted within a sentence, in characters.
const QUOTED: usize = 80;

/// The first `most` characters.
pub fn beginning(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

/// The first `most` characters, and `…` behind them where there are more.
pub fn with_ellipsis(text: &str, most: usize) -> String {
    let kept = beginning(text, most);
    if kept.len() < text.len() { format!("{kept}…") } else { kept.to_owned() }
}

/// At most `width` characters, the last of them `…` where something is cut.
pub fn cut(text: &str, width: usize) -> String {
    if beginning(text, width).len() < text.len() { with_ellipsis(text, width - 1) } else { text.to_owned() }
}

/// Hostile text made harmless for whoever shows it, a terminal or a file that others read: what cannot be
/// seen is written out; line ends and tabs stay. Text that went through it before stays as it is.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => shown.push(character),
            _ => show(&mut shown, character),
        }
    }
    shown
}

/// JSON that says the same and shows nothing unseen: within its texts such characters become escapes, and
/// elsewhere there are none.
pub fn visible_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for character in json.chars() {
        if character != '\n' && is_unseen(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(shown, "\\u{unit:04x}").expect("a string takes every character");
            }
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Hostile text on one line, at most `width` characters.
pub fn one_line(text: &str, width: usize) -> String {
    cut(&visible(text).replace(['\n', '\t'], " "), width)
}

/// Hostile text on one line, runs of white space as one blank, and `…` behind the first `most`
/// characters where there are more.
pub fn collapsed(text: &str, most: usize) -> String {
    let mut shown = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        if length > 0 {
            shown.push(' ');
            length += 1;
        }
        for character in word.chars() {
            if length >= most {
                shown.push('…');
                return shown;
            }
            show(&mut shown, character);
            length += 1;
        }
    }
    shown
}

/// At most `width` characters of `text`, and every one of them that cannot be seen written out.
pub fn spelled_out(text: &str, width: usize) -> String {
    let mut shown = String::new();
    for c in cut(text, width).chars() {
        if is_unseen(c) {
            write!(shown, "{}", c.escape_default()).expect("a string takes every character");
        } else {
            shown.push(c);
        }
    }
    shown
}

/// `text` in backticks, shortened, with control and invisible characters written out.
pub fn quoted(text: &str) -> String {
    format!("`{}`", spelled_out(text, QUOTED))
}

/// The texts in backticks, with commas between.
pub fn quoted_list<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    texts.into_iter().map(quoted).collect::<Vec<_>>().join(", ")
}

fn show(shown: &mut String, character: char) {
    if is_unseen(character) {
        shown.extend(character.escape_unicode());
    } else {
        shown.push(character);
    }
}

/// Control characters, those of no width, those that move or hide what stands around them, and what is no
/// character at all, which XML does not take.
///
/// Source: Unicode's `Default_Ignorable_Code_Point`, without the selectors that emoji need.
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
        || u32::from(c) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_by_characters_and_says_so() {
        for (text, most, behind, within) in
            [("", 3, "", ""), ("äöü", 3, "äöü", "äöü"), ("äöüß", 3, "äöü…", "äö…"), ("ab", 1, "a…", "…")]
        {
            assert_eq!(with_ellipsis(text, most), behind);
            assert_eq!(cut(text, most), within);
        }
    }

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        assert_eq!(visible("a\u{1b}[31mb\r\nc\u{202e}d"), "a\\u{1b}[31mb\\u{d}\nc\\u{202e}d");
        assert_eq!(one_line("a\tb\nc\u{7}d", 9), "a b c\\u{…");
        assert_eq!(collapsed(" a \n\t b\u{202e}c ", 5), "a b\\u{202e}c");
        assert_eq!(collapsed("ab cd", 4), "ab c…");
    }

    #[test]
    fn nothing_unseen_is_left_in_a_text_or_in_json() {
        for c in [
            "\u{9b}31m",
            "\u{7f}",
            "\u{ad}",
            "\u{61c}",
            "\u{200b}",
            "\u{2028}",
            "\u{feff}",
            "\u{fffe}",
            "\u{e0041}",
            "\u{1b}]52;c;eA==\u{7}",
        ] {
            let text = format!("a{c}b\n");
            let shown = visible(&text);
            assert!(shown.starts_with("a\\u{") && !shown.trim_end().contains(is_unseen), "{shown:?}");
            assert_eq!(visible(&shown), shown);
            let json = visible_json(&serde_json::to_string(&text).unwrap());
            assert!(!json.contains(is_unseen), "{json:?}");
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
        for plain in ["Ärger · ≥ 5 % → 日本語 ❤\u{fe0f} العربية", "a\tb\nc"] {
            assert_eq!(visible(plain), plain);
        }
    }

    #[test]
    fn a_quotation_is_spelled_out_and_cut() {
        assert_eq!(quoted("a\u{1b}[31m\n\u{202e}b"), "`a\\u{1b}[31m\\n\\u{202e}b`");
        assert_eq!(quoted_list(["a", "b"]), "`a`, `b`");
        assert_eq!(spelled_out(&"é".repeat(300), 200).chars().count(), 200);
        assert_eq!(spelled_out(&"é".repeat(200), 200), "é".repeat(200));
    }
}
