//! Units of measure that may be glued to a number or carry an exponent: `5kg`, `9.81 m/s^2`.

use super::{
    chars::{is_digit, skip_spaces},
    scale::word_at,
};

/// Units that take the prefixes of the metric system.
const METRIC: [&str; 14] = ["g", "m", "l", "L", "s", "V", "W", "J", "N", "Pa", "Hz", "mol", "Wh", "eV"];

const PREFIXES: [&str; 12] = ["", "k", "M", "G", "T", "d", "c", "m", "µ", "μ", "n", "p"];

const OTHERS: &str = "t min mins h hr hrs sec secs yr yrs wk wks in ft yd mi lb lbs oz gal qt mph kph kmh kcal cal \
    rpm px dB psi bar atm ha bit bits kB KB MB GB TB PB KiB MiB GiB TiB kbit Mbit Gbit bps kbps Mbps Gbps mA kA Ah \
    mAh kK fps EUR USD GBP CHF JPY CNY INR CAD AUD euros euro dollars Euro Dollar \
    кг г мг т км м см мм л мл мин ч сек с руб р шт кВт Вт";

/// Where the unit ends that stands at `start`, with its exponents and what it is divided by.
pub(super) fn unit_end(chars: &[char], start: usize) -> Option<usize> {
    let mut end = one_unit(chars, start)?;
    while let Some('/' | '·' | '×' | '⋅' | '*') = chars.get(end)
        && let Some(further) = one_unit(chars, end + 1)
    {
        end = further;
    }
    Some(end)
}

/// The unit behind the number that ends at `end`, with spaces between or none.
pub(super) fn unit_behind(chars: &[char], end: usize) -> Option<usize> {
    unit_end(chars, skip_spaces(chars, end))
}

fn one_unit(chars: &[char], start: usize) -> Option<usize> {
    let (word, mut end) = word_at(chars, start)?;
    if !is_unit(word.trim_end_matches(['²', '³'])) {
        return None;
    }
    if chars.get(end) == Some(&'^') {
        let sign = usize::from(matches!(chars.get(end + 1), Some('-' | '−')));
        let digits = chars[end + 1 + sign..].iter().take_while(|c| c.is_ascii_digit()).count();
        if !(1..=2).contains(&digits) {
            return None;
        }
        end += 1 + sign + digits;
    }
    (!is_digit(chars, end)).then_some(end)
}

fn is_unit(word: &str) -> bool {
    OTHERS.split_whitespace().any(|known| known == word)
        || PREFIXES.iter().any(|prefix| word.strip_prefix(prefix).is_some_and(|unit| METRIC.contains(&unit)))
}
