//! Which differences between two texts do not count.

use unicode_normalization::{UnicodeNormalization, is_nfc};

/// What is folded before two texts are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fold {
    /// Upper and lower case are the same.
    pub(super) case: bool,
    /// Punctuation and quotation marks at the edges of words do not count.
    pub(super) punctuation: bool,
    /// Runs of white space are one space, and none at the ends.
    pub(super) spacing: bool,
    /// Unicode forms, kinds of quotation marks and hyphens, and invisible characters do not count.
    pub(super) unicode: bool,
}

impl Fold {
    /// Everything is folded: the default of graders that compare whole answers.
    pub(super) const ALL: Self = Self { case: true, punctuation: true, spacing: true, unicode: true };

    /// `text` with all differences removed that do not count.
    pub(super) fn apply(self, text: &str) -> String {
        let mut folded = if self.unicode { fold_unicode(text) } else { text.to_owned() };
        if self.case {
            folded = fold_case(&folded);
        }
        if self.punctuation {
            let bare = strip_punctuation(&folded);
            // A text of punctuation alone is compared as it is: `?` is not `!`.
            if !bare.trim().is_empty() {
                folded = bare;
            }
        }
        if self.spacing { fold_spacing(&folded) } else { folded }
    }
}

/// NFC; curly and angled quotation marks straight; hyphens U+2010 and U+2011 plain; zero-width
/// spaces, soft hyphens and byte-order marks dropped.
pub(super) fn fold_unicode(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let composed: String = if is_nfc(text) { text.to_owned() } else { text.nfc().collect() };
    composed
        .chars()
        .filter(|c| !matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{ad}'))
        .map(|c| match c {
            '‘' | '’' | '‚' | '‛' | 'ʼ' | '′' => '\'',
            '“' | '”' | '„' | '‟' | '″' | '«' | '»' => '"',
            '\u{2010}' | '\u{2011}' => '-',
            other => other,
        })
        .collect()
}

/// Lower case, character by character, with the two small sigmas as one.
pub(super) fn fold_case(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().flat_map(char::to_lowercase).map(|c| if c == 'ς' { 'σ' } else { c }).collect()
}

/// White space (no-break and thin spaces too) as single spaces, and none at the ends.
pub(super) fn fold_spacing(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    folded
}

/// Words without the marks at their edges. Brackets, signs and operators stay, as they may change
/// a value: `[2,5)` is not `(2,5]`, and `.5` is not `5`.
fn strip_punctuation(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
        bare.push_str(&rest[..start]);
        let word = &rest[start..];
        let end = word.find(char::is_whitespace).unwrap_or(word.len());
        bare.push_str(word[..end].trim_start_matches(opens_a_word).trim_end_matches(closes_a_word));
        rest = &word[end..];
    }
    bare.push_str(rest);
    bare
}

fn opens_a_word(c: char) -> bool {
    is_quote_or_emphasis(c) || matches!(c, '¿' | '¡')
}

fn closes_a_word(c: char) -> bool {
    is_quote_or_emphasis(c)
        || matches!(
            c,
            '.' | ',' | ';' | ':' | '!' | '?' | '…' | '。' | '、' | '，' | '；' | '：' | '！' | '？' | '।'
        )
}

/// Quotation marks of any kind, and the marks by which Markdown stresses a word.
pub(super) fn is_quote_or_emphasis(c: char) -> bool {
    matches!(c, '\'' | '"' | '`' | '*' | '_' | '‘' | '’' | '‚' | '“' | '”' | '„' | '«' | '»' | '「' | '」')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_folds_as_it_is_read() {
        for (one, other) in [
            ("can’t", "can't"),
            ("Cafe\u{301}", "CAFÉ"),
            ("zero\u{200b}width", "zerowidth"),
            ("«Oui !»", "\"oui\""),
            ("Yes, it is.", "yes it is"),
            ("  two\u{a0}\n words ", "Two words"),
            ("**E32**", "e32."),
            ("ΟΔΟΣ", "οδος"),
            ("e\u{2011}mail", "e-mail"),
        ] {
            assert_eq!(Fold::ALL.apply(one), Fold::ALL.apply(other), "{one} and {other}");
        }
    }

    #[test]
    fn a_sign_a_bracket_and_a_point_inside_stay() {
        for (one, other) in [
            ("[2,5)", "(2,5]"),
            (".5", "5"),
            ("-5", "5"),
            ("3.5", "35"),
            ("?", "!"),
            ("CW-", "CW"),
            ("", "."),
        ] {
            assert_ne!(Fold::ALL.apply(one), Fold::ALL.apply(other), "{one} and {other}");
        }
    }

    #[test]
    fn what_is_kept_counts() {
        let strict = Fold { unicode: false, ..Fold::ALL };
        assert_ne!(strict.apply("can’t"), strict.apply("can't"));
        let spaced = Fold { spacing: false, ..Fold::ALL };
        assert_ne!(spaced.apply("a  b"), spaced.apply("a b"));
        assert_eq!(spaced.apply("a,  b!"), "a  b");
    }
}
