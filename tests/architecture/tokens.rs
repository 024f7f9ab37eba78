//! Rust source as words: no comments, no literals, no tests.

/// The words of `text`: identifiers, `::`, and single signs.
pub(super) fn words(text: &str) -> Vec<String> {
    without_tests(&split(text))
}

fn split(text: &str) -> Vec<String> {
    let signs: Vec<char> = text.chars().collect();
    let mut words = vec![];
    let mut at = 0;
    while at < signs.len() {
        let next = signs.get(at + 1).copied();
        match signs[at] {
            '/' if next == Some('/') => at = line_end(&signs, at),
            '/' if next == Some('*') => at = comment_end(&signs, at),
            '"' => at = string_end(&signs, at + 1),
            '\'' if is_character(&signs, at) => at = character_end(&signs, at + 1),
            'r' | 'b' if raw_start(&signs, at).is_some() => {
                let (from, hashes) = raw_start(&signs, at).expect("just looked");
                at = raw_end(&signs, from, hashes);
            }
            ':' if next == Some(':') => {
                words.push("::".to_owned());
                at += 2;
            }
            sign if is_name(sign) => {
                let end = (at..signs.len()).find(|&end| !is_name(signs[end])).unwrap_or(signs.len());
                words.push(signs[at..end].iter().collect());
                at = end;
            }
            sign => {
                if !sign.is_whitespace() {
                    words.push(sign.to_string());
                }
                at += 1;
            }
        }
    }
    words
}

fn is_name(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

fn line_end(signs: &[char], from: usize) -> usize {
    (from..signs.len()).find(|&at| signs[at] == '\n').unwrap_or(signs.len())
}

fn comment_end(signs: &[char], from: usize) -> usize {
    let mut depth = 0;
    let mut at = from;
    while at + 1 < signs.len() {
        match (signs[at], signs[at + 1]) {
            ('/', '*') => (depth, at) = (depth + 1, at + 2),
            ('*', '/') if depth == 1 => return at + 2,
            ('*', '/') => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    signs.len()
}

fn string_end(signs: &[char], from: usize) -> usize {
    let mut at = from;
    while at < signs.len() && signs[at] != '"' {
        at += if signs[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// `'a'` and `'\n'`, but not the lifetime `'a`.
fn is_character(signs: &[char], at: usize) -> bool {
    signs.get(at + 1) == Some(&'\\') || signs.get(at + 2) == Some(&'\'')
}

fn character_end(signs: &[char], from: usize) -> usize {
    let first = if signs[from] == '\\' { from + 2 } else { from + 1 };
    (first..signs.len()).find(|&at| signs[at] == '\'').map_or(signs.len(), |at| at + 1)
}

/// Where the text of a raw or byte string begins, and how many `#` close it.
fn raw_start(signs: &[char], at: usize) -> Option<(usize, usize)> {
    if at > 0 && is_name(signs[at - 1]) {
        return None;
    }
    let raw = (at..signs.len()).take(2).find(|&at| signs[at] == 'r')?;
    let hashes = signs[raw + 1..].iter().take_while(|&&sign| sign == '#').count();
    (signs.get(raw + 1 + hashes) == Some(&'"')).then_some((raw + 2 + hashes, hashes))
}

fn raw_end(signs: &[char], from: usize, hashes: usize) -> usize {
    let closes = |at: usize| signs[at] == '"' && signs[at + 1..].iter().take(hashes).all(|&sign| sign == '#');
    (from..signs.len()).find(|&at| closes(at)).map_or(signs.len(), |at| at + 1 + hashes)
}

/// What stands behind `#[cfg(test)]` is left out, whatever it is.
fn without_tests(words: &[String]) -> Vec<String> {
    let mark = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = vec![];
    let mut at = 0;
    while at < words.len() {
        if words[at..].iter().zip(mark).filter(|(word, sign)| word == sign).count() == mark.len() {
            at = item_end(words, at + mark.len());
        } else {
            kept.push(words[at].clone());
            at += 1;
        }
    }
    kept
}

fn item_end(words: &[String], from: usize) -> usize {
    let mut depth = 0;
    for (at, word) in words.iter().enumerate().skip(from) {
        match word.as_str() {
            ";" if depth == 0 => return at + 1,
            "{" => depth += 1,
            "}" if depth == 1 => return at + 1,
            "}" => depth -= 1,
            _ => {}
        }
    }
    words.len()
}

#[test]
fn comments_literals_and_tests_are_no_words() {
    let text = "/// says `a::b`\nuse a::{b, c}; /* d /* e */ */ let f = \"g\\\"h\"; let i = r#\"j\"k\"#; 'l'; '\\'';\n\
                fn m<'n>() {}\n#[cfg(test)]\nmod tests { use o; fn p() {} }\n#[cfg(test)]\nmod q;\nr";
    assert_eq!(words(text).join(" "), "use a :: { b , c } ; let f = ; let i = ; ; ; fn m < ' n > ( ) { } r");
}
