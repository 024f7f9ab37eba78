//! Words and characters of scale: `million`, `млн`, `百万`.

use unicode_normalization::char::is_combining_mark;

use super::{
    chars::{is_digit, is_letter, skip_spaces},
    ratio::Ratio,
    run::read_run,
};

/// Words that multiply the number before them, in lower case, by the zeros they add. A word that means
/// two scales in two languages has the English one (`billion`); one that is an everyday word elsewhere
/// (`bin`, `mia`) is left out.
const WORDS: [(u32, &str); 13] = [
    (2, "hundred"),
    (
        3,
        "thousand thousands tausend mille mil mila duizend tusen tusind tuhat tuhatta tysiąc tysiące tysięcy tys \
         tisíc ezer ribu nghìn ngàn elfu mii тысяча тысячи тысяч тыс тисяча тисячі тисяч ألف آلاف هزار אלף \
         हज़ार हजार হাজার వేల వేలు χιλιάδες",
    ),
    (5, "lakh lakhs lac लाख লাখ লক্ষ లక్ష లక్షలు లక్షల"),
    (
        6,
        "million millions millionen mio mln mn millón millon millones milhão milhões milione milioni miljoen miljon \
         miljoner millioner miljoona miljoonaa milion miliony milionów milionu milioane milyon millió juta triệu \
         миллион миллиона миллионов млн мільйон мільйони мільйонів مليون ملايين میلیون מיליון εκατομμύρια",
    ),
    (7, "crore crores करोड़ কোটি కోటి కోట్లు కోట్ల"),
    (
        9,
        "billion billions bn milliarde milliarden mrd mld milliard milliards milliarder miljard miljarder miljardi \
         miljardia miliardo miliardi miliard miliardy miliardów miliarda miliarde milyar milliárd miliar tỷ tỉ \
         bilhão bilhões bilioni миллиард миллиарда миллиардов млрд мільярд мільярди мільярдів مليار میلیارد \
         מיליארד δισεκατομμύρια अरब",
    ),
    (
        12,
        "trillion trillions trn billionen billón billones biljoen biljoner trilhão trilhões trilyon triliun \
         триллион триллиона триллионов трлн تريليون",
    ),
    (15, "quadrillion quadrillions billiarde billiarden квадриллион квадриллионов"),
    (18, "quintillion quintillions trillionen"),
    (21, "sextillion sextillions"),
    (24, "septillion septillions"),
    (27, "octillion octillions"),
    (30, "nonillion nonillions"),
];

/// Scales that are written without a space before the next word.
const CHARACTERS: [(char, u32); 12] = [
    ('十', 1),
    ('百', 2),
    ('千', 3),
    ('万', 4),
    ('萬', 4),
    ('億', 8),
    ('亿', 8),
    ('兆', 12),
    ('천', 3),
    ('만', 4),
    ('억', 8),
    ('조', 12),
];

/// Letters that stand for a scale behind an amount of money alone: `$5m`.
const LETTERS_OF_MONEY: [(&str, u32); 8] =
    [("k", 3), ("K", 3), ("m", 6), ("M", 6), ("b", 9), ("B", 9), ("t", 12), ("T", 12)];

/// The value times the scales behind it, one after another (`5 hundred thousand`, `3 百万`), and where
/// the last of them ends; `None` where there is none.
pub(super) fn scaled(chars: &[char], value: &Ratio, end: usize, is_money: bool) -> Option<(Ratio, usize)> {
    if let Some(found) = scaled_by_characters(chars, value, end) {
        return Some(found);
    }
    let mut found: Option<(Ratio, usize)> = None;
    loop {
        let (value, end) = found.as_ref().map_or((value, end), |(value, end)| (value, *end));
        let Some((scale, scale_end)) = word_of_scale(chars, end, is_money) else { return found };
        found = Some((value.times(&scale), scale_end));
    }
}

fn word_of_scale(chars: &[char], end: usize, is_money: bool) -> Option<(Ratio, usize)> {
    let start = if chars.get(end) == Some(&'-') { end + 1 } else { skip_spaces(chars, end) };
    let (word, word_end) = word_at(chars, start)?;
    let letters = LETTERS_OF_MONEY.iter().find(|(letter, _)| *letter == word);
    if let Some((letter, zeros)) = letters
        && start == end
        && (is_money || *letter == "k")
    {
        return Some((Ratio::power_of_ten(*zeros), word_end));
    }
    let word = word.to_lowercase();
    if word == "dozen" || word == "dozens" {
        return Some((Ratio::parse("12")?, word_end));
    }
    let (zeros, _) = WORDS.iter().find(|(_, words)| words.split_whitespace().any(|known| known == word))?;
    Some((Ratio::power_of_ten(*zeros), word_end))
}

/// `5万`, `3 百万`, `1億2000万`: each part is multiplied by the characters behind it, and the parts,
/// each smaller than the scale before, are added.
fn scaled_by_characters(chars: &[char], value: &Ratio, end: usize) -> Option<(Ratio, usize)> {
    let is_han = |at: usize| chars.get(at).is_some_and(|c| ('\u{4e00}'..='\u{9fff}').contains(c));
    let spaced = skip_spaces(chars, end);
    let start = if is_han(spaced) || thai_scale(chars, spaced).is_some() { spaced } else { end };
    let (mut scale, mut at) = characters_of_scale(chars, start)?;
    let mut sum = value.times(&scale);
    while is_digit(chars, at) {
        let (run, run_end) = read_run(chars, at);
        let Some(part) = run.value else { break };
        let (part_scale, part_end) =
            characters_of_scale(chars, run_end).unwrap_or((Ratio::power_of_ten(0), run_end));
        let part = part.times(&part_scale);
        if !part.is_below(&scale) {
            break;
        }
        sum = sum.plus(&if value.is_negative() { part.negated() } else { part });
        (scale, at) = (part_scale, part_end);
    }
    Some((sum, at))
}

fn characters_of_scale(chars: &[char], start: usize) -> Option<(Ratio, usize)> {
    let mut at = start;
    let mut zeros = 0;
    while let Some((power, end)) = character_of_scale(chars, at) {
        zeros += power;
        at = end;
    }
    (at > start).then(|| (Ratio::power_of_ten(zeros.min(60)), at))
}

fn character_of_scale(chars: &[char], at: usize) -> Option<(u32, usize)> {
    if let Some(found) = thai_scale(chars, at) {
        return Some(found);
    }
    let c = *chars.get(at)?;
    let (_, zeros) = CHARACTERS.iter().find(|(scale, _)| *scale == c)?;
    // 千克, 千米, 千瓦: the kilo of a unit. 百分 belongs to a percentage.
    let next = chars.get(at + 1).copied();
    let is_of_a_unit = match c {
        '千' => next.is_some_and(|next| "克米瓦卡焦赫帕字升伏".contains(next)),
        '百' => matches!(next, Some('分' | '帕')),
        _ => false,
    };
    (!is_of_a_unit).then_some((*zeros, at + 1))
}

fn thai_scale(chars: &[char], at: usize) -> Option<(u32, usize)> {
    [("พัน", 3), ("หมื่น", 4), ("แสน", 5), ("ล้าน", 6)].into_iter().find_map(|(word, zeros)| {
        let length = word.chars().count();
        let found = chars.get(at..at + length)?;
        found.iter().copied().eq(word.chars()).then_some((zeros, at + length))
    })
}

/// The word that starts here, and where it ends.
pub(super) fn word_at(chars: &[char], start: usize) -> Option<(String, usize)> {
    let rest = chars.get(start..)?;
    let length = rest.iter().take_while(|c| is_letter(**c) || is_combining_mark(**c)).count();
    (length > 0).then(|| (rest[..length].iter().collect(), start + length))
}
