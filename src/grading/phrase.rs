//! A phrase as whole words of a text.

use unicode_normalization::char::is_combining_mark;

use super::fold::{fold_case, fold_spacing, fold_unicode};

/// A text in which phrases are looked for: Unicode forms, quotation marks, case and spacing folded,
/// and without the marks by which Markdown stresses words.
pub(super) struct Searchable(String);

impl Searchable {
    pub(super) fn new(text: &str) -> Self {
        let mut plain = fold_unicode(text);
        // Most texts stress nothing, and to look for one character is cheap.
        if plain.contains(['*', '`']) {
            plain = plain.replace("**", "").replace('`', "");
        }
        Self(fold_spacing(&fold_case(&plain)))
    }
}

/// What is looked for.
#[derive(Debug)]
pub(super) struct Phrase {
    text: String,
    folded: String,
}

impl Phrase {
    pub(super) fn new(text: String) -> Self {
        let Searchable(folded) = Searchable::new(&text);
        Self { text, folded }
    }

    /// The phrase as it was written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it stands in `text` as whole words: not inside a longer word or number. Scripts that
    /// write without spaces are searched for the characters alone.
    pub(super) fn stands_in(&self, text: &Searchable) -> bool {
        if self.folded.is_empty() {
            return false;
        }
        let text = text.0.as_str();
        let mut from = 0;
        while let Some(found) = text[from..].find(&self.folded) {
            let start = from + found;
            let end = start + self.folded.len();
            if begins_here(text, start) && ends_here(text, end) {
                return true;
            }
            from = start + text[start..].chars().next().map_or(1, char::len_utf8);
        }
        false
    }
}

fn begins_here(text: &str, start: usize) -> bool {
    let mut before = text[..start].chars().rev();
    let (Some(first), Some(neighbour)) = (text[start..].chars().next(), before.next()) else { return true };
    if is_joined(first, neighbour) {
        return false;
    }
    // `5` does not begin within `6.5` or `1,5`.
    let within_number =
        first.is_numeric() && matches!(neighbour, '.' | ',') && before.next().is_some_and(char::is_numeric);
    !within_number
}

fn ends_here(text: &str, end: usize) -> bool {
    let mut after = text[end..].chars();
    let (Some(last), Some(neighbour)) = (text[..end].chars().next_back(), after.next()) else { return true };
    if is_joined(last, neighbour) || is_combining_mark(neighbour) {
        return false;
    }
    let next = after.next();
    // `6` does not end within `6.50`, nor `can` within `can't`.
    let within_number =
        last.is_numeric() && matches!(neighbour, '.' | ',') && next.is_some_and(char::is_numeric);
    let negated = last == 'n' && neighbour == '\'' && next == Some('t');
    !within_number && !negated
}

/// Whether two neighbours belong to the same word.
fn is_joined(edge: char, neighbour: char) -> bool {
    let in_a_word = |c: char| c.is_alphanumeric() && !is_written_without_spaces(c);
    in_a_word(edge) && in_a_word(neighbour)
}

/// Han, kana, Thai, Lao, Khmer, Burmese and Tibetan, whose words are not set apart by spaces; and
/// Hangul, whose particles are glued to the word.
pub(super) fn is_written_without_spaces(c: char) -> bool {
    matches!(
        u32::from(c),
        0x0E00..=0x0EFF        // Thai, Lao
        | 0x0F00..=0x0FFF      // Tibetan
        | 0x1000..=0x109F      // Burmese
        | 0x1100..=0x11FF      // Hangul parts
        | 0x1780..=0x17FF      // Khmer
        | 0x3005..=0x3007      // ideographic marks
        | 0x3040..=0x30FF      // kana
        | 0x3130..=0x318F      // Hangul parts
        | 0x31F0..=0x31FF      // kana
        | 0x3400..=0x4DBF      // Han
        | 0x4E00..=0x9FFF      // Han
        | 0xAC00..=0xD7AF      // Hangul
        | 0xF900..=0xFAFF      // Han
        | 0x20000..=0x3FFFF    // Han
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stands(phrase: &str, text: &str) -> bool {
        Phrase::new(phrase.to_owned()).stands_in(&Searchable::new(text))
    }

    #[test]
    fn a_phrase_stands_as_whole_words() {
        for (phrase, text) in [
            ("you pay", "**You** pay the postage."),
            ("can't find", "I can’t find it"),
            ("Café", "the CAFE\u{301}."),
            ("€1", "It costs €1."),
            ("1 €", "Das kostet 1\u{a0}€."),
            ("6.50", "6.50 euros"),
            ("eau", "l'eau"),
            ("Anna", "Anna's"),
            ("東京", "私は東京に住む"),
            ("500", "価格は500円"),
            ("서울", "서울에"),
            ("ไทย", "ประเทศไทยสวย"),
            ("two words", "two\n  words"),
            ("not", "not.not"),
            ("a", "aa a"),
        ] {
            assert!(stands(phrase, text), "`{phrase}` in `{text}`");
        }
    }

    #[test]
    fn a_phrase_inside_a_longer_word_or_number_does_not() {
        for (phrase, text) in [
            ("can", "I can't"),
            ("6", "6.50"),
            ("50", "6.50"),
            ("€1", "€11 or €1.50"),
            ("cat", "concatenate"),
            ("E3", "E32"),
            ("cafe", "café"),
            ("", "anything"),
        ] {
            assert!(!stands(phrase, text), "`{phrase}` in `{text}`");
        }
    }
}
