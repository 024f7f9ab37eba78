//! TeX as it shows: what a reader sees in place of a command. What computes (a root, a binomial, a
//! fraction of anything but numbers) is kept whole between [`OPEN`] and [`CLOSE`]: it is never one number.

use std::ops::Range;

/// Around what is not one number. Private characters, which an answer cannot contain: they are dropped
/// before this is read.
pub(super) const OPEN: char = '\u{e000}';
pub(super) const CLOSE: char = '\u{e001}';

/// How deep commands are shown within each other; what lies deeper is kept whole.
const DEPTH: usize = 6;

const FRACTIONS: [&str; 4] = ["frac", "dfrac", "tfrac", "cfrac"];

/// Commands that compute, with the number of their arguments.
const COMPUTING: [(&str, usize); 12] = [
    ("binom", 2),
    ("dbinom", 2),
    ("tbinom", 2),
    ("sqrt", 1),
    ("overline", 1),
    ("bar", 1),
    ("dot", 1),
    ("sin", 0),
    ("cos", 0),
    ("tan", 0),
    ("ln", 0),
    ("log", 0),
];

/// Commands that show their argument as it is.
const SHOWING: [&str; 14] = [
    "boxed",
    "fbox",
    "text",
    "textbf",
    "textit",
    "textrm",
    "emph",
    "underline",
    "mathbf",
    "mathrm",
    "mathit",
    "mbox",
    "num",
    "operatorname",
];

/// A number and its unit, one after the other.
const QUANTITIES: [&str; 2] = ["SI", "qty"];

/// Commands of layout, whose first argument is not shown.
const LAYOUT: [&str; 11] =
    ["hspace", "vspace", "tag", "label", "ref", "eqref", "color", "textcolor", "begin", "end", "cite"];

/// Commands of layout without an argument.
const NOTHING: [&str; 12] =
    ["left", "right", "big", "Big", "bigl", "bigr", "displaystyle", "textstyle", "limits", "bf", "rm", "it"];

const SYMBOLS: [(&[&str], &str); 13] = [
    (&["times", "cdot", "ast"], "×"),
    (&["div"], "÷"),
    (&["pm", "mp"], "±"),
    (&["approx", "sim", "simeq", "cong", "thickapprox"], "≈"),
    (&["le", "leq", "leqslant", "leqq", "lt", "lesssim", "ll"], "≤"),
    (&["ge", "geq", "geqslant", "geqq", "gt", "gtrsim", "gg"], "≥"),
    (&["ne", "neq"], "≠"),
    (&["to", "rightarrow", "Rightarrow", "implies"], "→"),
    (&["pi"], "π"),
    (&["circ", "degree"], "°"),
    (&["quad", "qquad", "newline"], " "),
    (&["ldots", "dots", "cdots"], "…"),
    (&["percent"], "%"),
];

struct Tex<'a> {
    chars: &'a [char],
    /// Where the brace or bracket closes that stands at an index.
    closing: Vec<Option<usize>>,
}

pub(super) fn shown(chars: &[char]) -> Vec<char> {
    let tex = Tex { chars, closing: closing_braces(chars) };
    tex.show(0..chars.len(), 0)
}

fn closing_braces(chars: &[char]) -> Vec<Option<usize>> {
    let mut closing = vec![None; chars.len()];
    let mut open = vec![];
    let mut at = 0;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 1,
            '{' => open.push(at),
            '}' => {
                if let Some(start) = open.pop() {
                    closing[start] = Some(at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    closing
}

impl Tex<'_> {
    fn show(&self, range: Range<usize>, depth: usize) -> Vec<char> {
        let mut out = vec![];
        let mut at = range.start;
        while at < range.end {
            at = match self.chars[at] {
                '\\' => self.show_command(at, range.end, depth, &mut out),
                '{' if self.closing[at] == Some(at + 2) && self.chars[at + 1] == ',' => {
                    out.push(',');
                    at + 3
                }
                c @ ('^' | '_') => {
                    out.push(c);
                    self.show_script(at + 1, &mut out)
                }
                c => {
                    out.push(c);
                    at + 1
                }
            };
        }
        out
    }

    /// `^{3}` as `^3`, `^\circ` as a degree; anything else is left to be read on.
    fn show_script(&self, at: usize, out: &mut Vec<char>) -> usize {
        let close = self.closing.get(at).copied().flatten();
        let inner = close.map_or(at..(at + 5).min(self.chars.len()), |close| at + 1..close);
        let script: String = self.chars[inner].iter().collect();
        if let Some(end) = close.or(Some(at + 4)).filter(|_| script == "\\circ") {
            out.pop();
            out.push('°');
            return end + 1;
        }
        let is_number = script.trim_start_matches(['-', '−', '+']).chars().all(|c| c.is_ascii_digit());
        match close {
            Some(close) if is_number && close > at + 1 => {
                out.extend(script.chars());
                close + 1
            }
            _ => at,
        }
    }

    /// What the command at `at` shows; returns where what it took ends.
    fn show_command(&self, at: usize, end: usize, depth: usize, out: &mut Vec<char>) -> usize {
        let length = self.chars[at + 1..end].iter().take_while(|c| c.is_ascii_alphabetic()).count();
        if length == 0 {
            return self.show_character(at, end, out);
        }
        let name_end = at + 1 + length;
        let name: String = self.chars[at + 1..name_end].iter().collect();
        let name = name.as_str();
        if FRACTIONS.contains(&name) {
            return self.show_fraction(at, name_end, end, depth, out);
        }
        if let Some((_, arguments)) = COMPUTING.iter().find(|(command, _)| *command == name) {
            return self.keep_whole(at, self.after_arguments(name_end, *arguments, end), out);
        }
        if let Some((_, symbol)) = SYMBOLS.iter().find(|(names, _)| names.contains(&name)) {
            out.extend(symbol.chars());
            return name_end;
        }
        if NOTHING.contains(&name) {
            return name_end;
        }
        let argument = self.argument(name_end, end).filter(|argument| self.chars[argument.start - 1] == '{');
        match argument {
            Some(argument) if LAYOUT.contains(&name) => argument.end + 1,
            Some(argument) if SHOWING.contains(&name) && depth < DEPTH => {
                let inner = self.show(argument.clone(), depth + 1);
                // A text of words alone is the unit behind a number: `5\text{ kg}`.
                let is_words = !inner.iter().any(|c| c.is_numeric() || *c == OPEN);
                out.extend((!is_words).then_some('{'));
                out.extend(inner);
                out.extend((!is_words).then_some('}'));
                argument.end + 1
            }
            Some(argument) if QUANTITIES.contains(&name) && depth < DEPTH => {
                out.extend(self.show(argument.clone(), depth + 1));
                out.push(' ');
                argument.end + 1
            }
            Some(argument) if self.chars[argument.clone()].iter().any(|c| c.is_numeric()) => {
                self.keep_whole(at, self.after_arguments(name_end, 3, end), out)
            }
            _ => {
                out.extend(&self.chars[at..name_end]);
                name_end
            }
        }
    }

    /// An escaped character, a space, a line's end or a sign of mathematics.
    fn show_character(&self, at: usize, end: usize, out: &mut Vec<char>) -> usize {
        match self.chars.get(at + 1).filter(|_| at + 1 < end) {
            Some('!') => {}
            Some(',' | ';' | ':' | '(' | ')') => out.push('\u{2009}'),
            Some('\\') => out.push('\n'),
            Some(c @ ('%' | '$' | '{' | '}' | '#' | '&' | '_' | '*' | '[' | ']' | ' ')) => out.push(*c),
            _ => {
                out.push('\\');
                return at + 1;
            }
        }
        at + 2
    }

    fn show_fraction(
        &self,
        at: usize,
        name_end: usize,
        end: usize,
        depth: usize,
        out: &mut Vec<char>,
    ) -> usize {
        let over = self.argument(name_end, end);
        let under = over.as_ref().and_then(|over| self.argument(self.after(over), end));
        let (Some(over), Some(under)) = (over, under) else {
            return self.keep_whole(at, name_end, out);
        };
        let after = self.after(&under);
        let text = |part: Range<usize>| -> String {
            if depth >= DEPTH {
                return String::new();
            }
            self.show(part, depth + 1).into_iter().filter(|c| !c.is_whitespace()).collect()
        };
        let (over, under) = (text(over), text(under));
        let is_number = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_digit())
                && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ','))
        };
        let unsigned = over.strip_prefix(['-', '−', '+']).unwrap_or(&over);
        let goes_on = self.chars[after..end].first().is_some_and(|c| c.is_ascii_digit());
        if !is_number(unsigned) || !is_number(&under) || goes_on {
            return self.keep_whole(at, after, out);
        }
        if out.last().is_some_and(char::is_ascii_digit) {
            out.push(' ');
        }
        out.extend(over.chars().chain(['/']).chain(under.chars()));
        after
    }

    fn keep_whole(&self, at: usize, end: usize, out: &mut Vec<char>) -> usize {
        out.push(OPEN);
        out.extend(&self.chars[at..end]);
        out.push(CLOSE);
        end
    }

    /// What is within the braces at `at`, or the one digit or command that stands there.
    fn argument(&self, at: usize, end: usize) -> Option<Range<usize>> {
        let spaces = self.chars[at.min(end)..end].iter().take_while(|c| **c == ' ').count();
        let at = at + spaces;
        match self.chars.get(at).filter(|_| at < end)? {
            '{' => self.closing[at].filter(|close| *close < end).map(|close| at + 1..close),
            '\\' => {
                let name = self.chars[at + 1..end].iter().take_while(|c| c.is_ascii_alphabetic()).count();
                Some(at..self.after_arguments(at + 1 + name, 1, end))
            }
            c if c.is_alphanumeric() => Some(at..at + 1),
            _ => None,
        }
    }

    /// Where what comes after an argument starts.
    fn after(&self, argument: &Range<usize>) -> usize {
        let is_braced = argument.start > 0
            && self.chars[argument.start - 1] == '{'
            && self.closing[argument.start - 1] == Some(argument.end);
        argument.end + usize::from(is_braced)
    }

    /// Where up to `most` arguments in brackets or braces end that stand right at `at`.
    fn after_arguments(&self, at: usize, most: usize, end: usize) -> usize {
        let mut at = at;
        if most > 0 && self.chars.get(at) == Some(&'[') {
            let close = self.chars[at..end].iter().take(40).position(|c| *c == ']');
            at += close.map_or(0, |close| close + 1);
        }
        for _ in 0..most {
            let spaces = self.chars[at.min(end)..end].iter().take_while(|c| **c == ' ').count();
            match self.closing.get(at + spaces).copied().flatten().filter(|close| *close < end) {
                Some(close) => at = close + 1,
                None => break,
            }
        }
        // `\sqrt2` and `\binom52`: single digits.
        let digits =
            self.chars[at.min(end)..end].iter().take(most).take_while(|c| c.is_ascii_digit()).count();
        if self.chars[..at].last() == Some(&'}') { at } else { at + digits }
    }
}
