//! A text read through its escapes: `%2D`, `\u002d`, `\"` and `&quot;` stand for one character each, however
//! often they were escaped again.

/// What a text says once nothing in it is escaped, and where each byte of that came from.
pub(super) struct Unescaped {
    /// The text.
    pub(super) text: String,
    /// For each byte of it, and for its end, where in the original its character begins.
    pub(super) from: Vec<usize>,
}

/// Reads `text` through its escapes; `None` where there are none.
pub(super) fn unescaped(text: &str) -> Option<Unescaped> {
    if !text.contains(['\\', '%', '&']) {
        return None;
    }
    let mut plain = Unescaped { text: String::with_capacity(text.len()), from: vec![] };
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let (character, length) = escape(&text[at..]).unwrap_or((first, first.len_utf8()));
        plain.text.push(character);
        plain.from.extend(std::iter::repeat_n(at, character.len_utf8()));
        at += length;
    }
    plain.from.push(at);
    Some(plain)
}

/// The character of the escape that `text` begins with, and how many bytes that takes.
fn escape(text: &str) -> Option<(char, usize)> {
    let (character, rest) = match text.as_bytes()[0] {
        b'%' => percent(&text[1..])?,
        b'\\' => backslash(text)?,
        b'&' => entity(&text[1..])?,
        _ => return None,
    };
    Some((character, text.len() - rest.len()))
}

/// `2D`, or `252D` where the percent sign was itself escaped.
fn percent(mut rest: &str) -> Option<(char, &str)> {
    while let Some(inner) = rest.strip_prefix("25").filter(|inner| ascii(inner, 2).is_some()) {
        rest = inner;
    }
    ascii(rest, 2)
}

/// As JSON, JavaScript and Python write it.
fn backslash(text: &str) -> Option<(char, &str)> {
    let rest = text.trim_start_matches('\\');
    let slashes = text.len() - rest.len();
    match rest.as_bytes().first() {
        Some(b'u') if let Some(read) = ascii(&rest[1..], 4) => Some(read),
        Some(b'x') if let Some(read) = ascii(&rest[1..], 2) => Some(read),
        Some(&mark @ (b'"' | b'\'' | b'/')) => Some((char::from(mark), &rest[1..])),
        _ if slashes > 1 => Some(('\\', &text[2..])),
        _ => None,
    }
}

/// As HTML and XML write it.
fn entity(mut rest: &str) -> Option<(char, &str)> {
    const NAMED: [(&str, char); 5] =
        [("quot;", '"'), ("apos;", '\''), ("lt;", '<'), ("gt;", '>'), ("amp;", '&')];
    while let Some(inner) = rest.strip_prefix("amp;").filter(|inner| is_entity(inner)) {
        rest = inner;
    }
    if let Some((name, character)) = NAMED.iter().find(|(name, _)| rest.starts_with(name)) {
        return Some((*character, &rest[name.len()..]));
    }
    let (number, rest) = rest.strip_prefix('#')?.split_once(';')?;
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => number.parse().ok()?,
    };
    Some((char::from_u32(code)?, rest))
}

fn is_entity(rest: &str) -> bool {
    ["quot;", "apos;", "lt;", "gt;", "amp;", "#"].iter().any(|name| rest.starts_with(name))
}

/// A printable ASCII character written as so many hexadecimal digits.
fn ascii(text: &str, digits: usize) -> Option<(char, &str)> {
    let (code, rest) = text.split_at_checked(digits)?;
    let code = u8::try_from(u32::from_str_radix(code, 16).ok()?).ok()?;
    (code.is_ascii_graphic() || code == b' ').then(|| (char::from(code), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_every_kind_are_one_character_each() {
        for (text, plain) in [
            ("a%2Db%2db%252Dc", "a-b-b-c"),
            (r#"a\u002db\x2db\/c\"d\\e\\\"f"#, r#"a-b-b/c"d\e"f"#),
            ("a&quot;b&#45;c&#x2D;d&amp;quot;e&amp;f", "a\"b-c-d\"e&f"),
            ("100 % of ä%, \\frac12 & more%", "100 % of ä%, \\frac12 & more%"),
            ("%E2%", "%E2%"),
        ] {
            assert_eq!(unescaped(text).unwrap().text, plain, "{text}");
        }
        assert!(unescaped("nothing").is_none());
        assert_eq!(unescaped("ä%2Db").unwrap().from, [0, 0, 2, 5, 6]);
    }
}
