//! A comparison as a pull-request comment: the verdict first, the flips folded.
//!
//! Whatever the golden set's size, the comment stays below what a site takes. Text that somebody else
//! wrote (ids, segments, answers) stands in code spans, in which nothing is a link, a mention or HTML.

use std::{
    collections::BTreeMap,
    fmt::{self, Write},
};

use crate::domain::text::{cut, visible};
use crate::{
    compare::{
        Amount, Comparison, Count, Difference, Direction, FlipAnswers, FlipRow, GateVerdict, Quantity,
        Verdict,
    },
    domain::CaseId,
    report::format::{count, milliseconds, percent},
};

/// The most bytes of a comment. GitHub takes 65,536 characters; bytes are never fewer than those.
const LONGEST: usize = 65_000;

/// What the end of a comment needs at most: the counts of what was left out, and closing tags.
const RESERVE: usize = 600;

/// Rows of a table that grows with the golden set.
const MOST_ROWS: usize = 25;

/// Longest id or name, in characters.
const ID_WIDTH: usize = 80;

/// Longest answer, in characters.
const ANSWER_WIDTH: usize = 240;

/// Comparisons with one baseline as a comment of at most 65,000 bytes; each with the answers of its
/// flips.
///
/// `name` makes the marker line `<!-- caseload:compare NAME -->`, by which a later comparison finds
/// the comment to replace; it should stay the same from run to run.
pub(super) fn comparison_markdown(
    comparisons: &[(&Comparison, &BTreeMap<CaseId, FlipAnswers>)],
    name: &str,
) -> String {
    let mut page = Page { text: format!("<!-- caseload:compare {} -->\n", marker_name(name)), longest: 0 };
    for (at, (comparison, answers)) in comparisons.iter().enumerate() {
        let mut first = String::new();
        head(&mut first, comparison).expect("writing to a string cannot fail");
        // What is left is for this comparison and those after it alike.
        let left = LONGEST.saturating_sub(page.text.len());
        page.longest = page.text.len() + (left / (comparisons.len() - at)).saturating_sub(RESERVE);
        if !page.add(&first) {
            let more = count((comparisons.len() - at) as u64);
            page.text.push_str(&format!("\n{more} more comparisons have no room here.\n"));
            break;
        }
        let [broke, fixed] = [Direction::Broke, Direction::Fixed]
            .map(|direction| comparison.flips.rows.iter().filter(move |row| row.direction == direction));
        page.flips("Broke", &broke.collect::<Vec<_>>(), answers);
        page.slices(comparison);
        page.flips("Fixed", &fixed.collect::<Vec<_>>(), answers);
        page.text.push_str(&left_out(comparison));
        page.text.push('\n');
    }
    page.text
}

/// A name that cannot end the comment it stands in, nor differ from itself.
fn marker_name(name: &str) -> String {
    let kept: String = name
        .chars()
        .map(
            |character| {
                if character.is_ascii_alphanumeric() || "._:".contains(character) { character } else { '-' }
            },
        )
        .take(100)
        .collect();
    kept.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

fn head(text: &mut String, comparison: &Comparison) -> fmt::Result {
    let [baseline, candidate] = &comparison.sides;
    let verdict = match comparison.verdict {
        Verdict::Pass => "Pass",
        Verdict::Fail => "Fail",
        Verdict::CannotTell => "Cannot tell",
        Verdict::NoGates => "No gates",
    };
    writeln!(
        text,
        "## {verdict}: {} against {}\n",
        code(&candidate.label, ID_WIDTH),
        code(&baseline.label, ID_WIDTH)
    )?;
    writeln!(text, "{}\n", prose(&comparison.words))?;
    if !comparison.gates.is_empty() {
        writeln!(text, "| gate | verdict | why |\n| --- | --- | --- |")?;
        for gate in &comparison.gates {
            let verdict = match gate.verdict {
                GateVerdict::Pass => "pass",
                GateVerdict::Fail => "**fail**",
                GateVerdict::CannotTell => "**cannot tell**",
            };
            let edited = if gate.edited { " (edited since the run began)" } else { "" };
            let would = gate.would_decide.as_ref().map(|what| format!("; {what}")).unwrap_or_default();
            let why = prose(&shortened(&format!("{}{would}", gate.why), 600));
            writeln!(text, "| {} | {verdict} | {why}{edited} |", cell(gate.name, ID_WIDTH))?;
        }
        writeln!(text)?;
    }
    numbers(text, comparison)?;
    let flips = &comparison.flips;
    writeln!(
        text,
        "\n{} cases compared: {} fixed, {} broke, {} still pass, {} still fail (sign test p = {:.4}).",
        count(comparison.pairs as u64),
        count(flips.fixed.len() as u64),
        count(flips.broke.len() as u64),
        count(flips.still_passes as u64),
        count(flips.still_fails as u64),
        flips.sign_test_p
    )?;
    if flips.repeats_too_few {
        writeln!(
            text,
            "The repeats are too few to tell a real flip from a flaky case: `caseload confirm` asks again."
        )?;
    }
    for note in comparison.notes.iter().take(MOST_ROWS) {
        writeln!(text, "\n{}", prose(&shortened(note, 400)))?;
    }
    Ok(())
}

fn numbers(text: &mut String, comparison: &Comparison) -> fmt::Result {
    let [baseline, candidate] = &comparison.sides;
    writeln!(
        text,
        "| | {} | {} | difference |",
        cell(&baseline.label, ID_WIDTH),
        cell(&candidate.label, ID_WIDTH)
    )?;
    writeln!(text, "| --- | ---: | ---: | ---: |")?;
    let share = |amount: &Amount| match (amount.point, amount.low, amount.high) {
        (Some(point), Some(low), Some(high)) => {
            format!("{} ({:.1} to {:.1})", percent(point), 100.0 * low, 100.0 * high)
        }
        (Some(point), ..) => percent(point),
        (None, ..) => "–".to_owned(),
    };
    let difference = &comparison.difference;
    writeln!(
        text,
        "| pass rate | {} | {} | {} |",
        share(&baseline.pass_rate),
        share(&candidate.pass_rate),
        points(difference)
    )?;
    let not_measured = |side: &crate::compare::SideInfo| count(side.trials.saturating_sub(side.graded));
    writeln!(text, "| trials not measured | {} | {} | |", not_measured(baseline), not_measured(candidate))?;
    if let Some(retrieval) = &comparison.retrieval {
        quantity(text, "retrieval hit rate", &retrieval.hit_rate, percent)?;
        quantity(text, "retrieval recall", &retrieval.recall, percent)?;
    }
    let dollars = |amount: f64| format!("${amount:.6}");
    quantity(text, "cost of an answer", &comparison.cost.per_case_usd, dollars)?;
    let whole = |tokens: f64| format!("{tokens:.0}");
    quantity(text, "output tokens", &comparison.cost.output_tokens, whole)?;
    quantity(text, "latency p50", &comparison.latency_ms.p50, signed_milliseconds)?;
    quantity(text, "latency p95", &comparison.latency_ms.p95, signed_milliseconds)?;
    let total = |cost: &Option<crate::domain::Cost>, unknown: u64| match cost {
        None => "unknown".to_owned(),
        Some(cost) if unknown > 0 => format!("at least ${cost}"),
        Some(cost) => format!("${cost}"),
    };
    writeln!(
        text,
        "| cost of the run | {} | {} | |",
        total(&baseline.cost_usd, baseline.cost_unknown_trials),
        total(&candidate.cost_usd, candidate.cost_unknown_trials)
    )
}

fn signed_milliseconds(value: f64) -> String {
    if value < 0.0 { format!("−{}", milliseconds(-value)) } else { milliseconds(value) }
}

fn quantity(text: &mut String, name: &str, quantity: &Quantity, unit: impl Fn(f64) -> String) -> fmt::Result {
    let one = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), &unit);
    let difference = &quantity.difference;
    let interval = match (difference.low, difference.high) {
        (Some(low), Some(high)) => format!(" ({} to {})", unit(low), unit(high)),
        _ => String::new(),
    };
    writeln!(
        text,
        "| {name} | {} | {} | {}{interval} |",
        one(quantity.baseline),
        one(quantity.candidate),
        one(difference.point)
    )
}

/// A difference in points with its interval and p value.
fn points(difference: &Difference) -> String {
    let Some(point) = difference.point else { return "–".to_owned() };
    let mut text = format!("{:+.1} points", 100.0 * point);
    if let (Some(low), Some(high)) = (difference.low, difference.high) {
        let _ = write!(text, " ({:+.1} to {:+.1})", 100.0 * low, 100.0 * high);
    }
    if let Some(p) = difference.p {
        let _ = write!(text, ", p = {p:.4}");
    }
    text
}

/// A comment that grows as long as it may.
struct Page {
    text: String,
    longest: usize,
}

impl Page {
    /// Adds a part, or nothing when it has no room.
    fn add(&mut self, part: &str) -> bool {
        let fits = self.text.len() + part.len() <= self.longest;
        if fits {
            self.text.push_str(part);
        }
        fits
    }

    /// A folded list of flips, as many as there is room for.
    fn flips(&mut self, heading: &str, rows: &[&FlipRow], answers: &BTreeMap<CaseId, FlipAnswers>) {
        if rows.is_empty() {
            return;
        }
        let opening = format!("\n<details><summary>{heading}: {}</summary>\n\n", count(rows.len() as u64));
        if !self.add(&opening) {
            return;
        }
        let listed = rows.iter().take_while(|row| self.add(&flip(row, answers.get(&row.id)))).count();
        if listed < rows.len() {
            let more = count((rows.len() - listed) as u64);
            self.text.push_str(&format!("- and {more} more, which have no room here\n"));
        }
        self.text.push_str("\n</details>\n");
    }

    /// A folded table of the slices, the clearest first.
    fn slices(&mut self, comparison: &Comparison) {
        let mut slices: Vec<_> = comparison.splits.iter().chain(&comparison.segments).collect();
        if slices.is_empty() {
            return;
        }
        let p = |p: Option<f64>| p.unwrap_or(f64::INFINITY);
        slices.sort_by(|a, b| p(a.p_adjusted).total_cmp(&p(b.p_adjusted)));
        let opening = format!(
            "\n<details><summary>Splits and segments: {}</summary>\n\n\
             | slice | cases | difference | p, adjusted |\n| --- | ---: | ---: | ---: |\n",
            count(slices.len() as u64)
        );
        if !self.add(&opening) {
            return;
        }
        let mut listed = 0;
        for slice in slices.iter().take(MOST_ROWS) {
            let adjusted = slice.p_adjusted.map_or_else(|| "–".to_owned(), |p| format!("{p:.4}"));
            let row = format!(
                "| {} | {} | {} | {adjusted} |\n",
                cell(&format!("{}={}", slice.key, slice.value), ID_WIDTH),
                count(slice.difference.n_cases as u64),
                points(&Difference { p: None, ..slice.difference.clone() }),
            );
            if !self.add(&row) {
                break;
            }
            listed += 1;
        }
        if listed < slices.len() {
            self.text.push_str(&format!("\nand {} more\n", count((slices.len() - listed) as u64)));
        }
        self.text.push_str("\n</details>\n");
    }
}

/// One flip: counts, id, what is known of it, and both answers where there is one.
fn flip(row: &FlipRow, answers: Option<&FlipAnswers>) -> String {
    let share = |side: Count| format!("{}/{}", side.passes, side.measured);
    let mut text = format!(
        "- {} → {} {} {}",
        share(row.baseline),
        share(row.candidate),
        code(row.id.as_str(), ID_WIDTH),
        row.mark.as_str()
    );
    if row.hard {
        text.push_str(", **hard**");
    }
    if let Some(who) = &row.signed_off {
        let _ = write!(text, ", signed off: {}", code(who, ID_WIDTH));
    }
    text.push('\n');
    if let Some(answers) = answers {
        for (label, answer) in
            [("was", &answers.baseline), ("is", &answers.candidate), ("why", &answers.reason)]
        {
            if !answer.trim().is_empty() {
                let _ = writeln!(text, "  - {label}: {}", code(answer, ANSWER_WIDTH));
            }
        }
    }
    text
}

/// The counts of what no number rests on.
fn left_out(comparison: &Comparison) -> String {
    let left = &comparison.left_out;
    let parts: Vec<String> = [
        (left.new.len(), "new"),
        (left.gone.len(), "gone"),
        (left.changed.len(), "changed"),
        (left.not_measured.len(), "not measured on a side"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, what)| format!("{} {what}", count(number as u64)))
    .collect();
    if parts.is_empty() { String::new() } else { format!("\nNot compared: {}.\n", parts.join(", ")) }
}

/// A code span with text that somebody else wrote: control characters shown, on one line, at most
/// `width` characters, fenced by more backticks than it has itself.
fn code(text: &str, width: usize) -> String {
    let line = shortened(text, width);
    if line.trim().is_empty() {
        return "(empty)".to_owned();
    }
    let longest = line.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // A span that begins or ends with a backtick or a space needs one more space, which is not shown.
    let space = if line.starts_with(['`', ' ']) || line.ends_with(['`', ' ']) { " " } else { "" };
    format!("{fence}{space}{line}{space}{fence}")
}

/// The same within a table, where a bar would end the cell, escaped or not.
fn cell(text: &str, width: usize) -> String {
    code(&text.replace('|', "¦"), width)
}

/// On one line and at most `width` characters; what cannot be seen is shown as an escape.
fn shortened(text: &str, width: usize) -> String {
    let line: String = visible(text)
        .chars()
        .map(|character| match character {
            '\n' => '⏎',
            '\t' | '\u{2028}' | '\u{2029}' => ' ',
            other => other,
        })
        .collect();
    cut(&line, width)
}

/// A sentence of ours that may name something of somebody else's: no character of it is markup, a
/// link, a mention or a reference.
fn prose(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 16);
    for character in shortened(text, 2_000).chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '|' => safe.push_str("&#124;"),
            // A site looks for mentions, references and bare addresses in the text that is shown, so
            // an escape does not help; a space of no width does.
            '@' | '#' | '/' => safe.extend([character, '\u{200b}']),
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '!' | '$' => safe.extend(['\\', character]),
            other => safe.push(other),
        }
    }
    // `www.` is a link by itself.
    safe.replace("www.", "www\u{200b}.")
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

    use super::*;
    use crate::report::comparison::fixture::{HOSTILE, comparison, hostile_answers, with_flips};

    /// The comment as GitHub's dialect reads it.
    fn events(text: &str) -> Vec<Event<'_>> {
        Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH).collect()
    }

    #[test]
    fn a_comment_reads_as_before() {
        insta::assert_snapshot!(comparison_markdown(&[(&comparison(), &BTreeMap::new())], "nightly"));
    }

    #[test]
    fn the_verdict_leads_and_the_marker_is_stable() {
        let text = comparison_markdown(&[(&comparison(), &BTreeMap::new())], "nightly --> <b>");
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("<!-- caseload:compare nightly-b -->"));
        assert!(lines.next().unwrap().starts_with("## Fail: "));
    }

    #[test]
    fn three_thousand_flips_of_twenty_thousand_cases_stay_below_the_limit() {
        let answers = hostile_answers();
        for flips in [0, 10, 3_000, 20_000] {
            let text = comparison_markdown(&[(&with_flips(flips), &answers)], "nightly");
            assert!(text.chars().count() < 65_536 && text.len() <= LONGEST, "{} bytes", text.len());
            let lines = |tag: &str| text.lines().filter(|line| line.starts_with(tag)).count();
            assert_eq!(lines("<details>"), lines("</details>"));
            assert!(text.lines().nth(1).unwrap().starts_with("## Fail"), "the verdict leads");
        }
        let text = comparison_markdown(&[(&with_flips(3_000), &answers)], "nightly");
        assert!(
            text.contains("<summary>Broke: 1,500</summary>")
                && text.contains("more, which have no room here")
        );
    }

    #[test]
    fn many_candidates_share_the_room() {
        let (many, answers) = (with_flips(3_000), hostile_answers());
        for candidates in [2, 5, 100] {
            let text = comparison_markdown(&vec![(&many, &answers); candidates], "nightly");
            assert!(text.len() <= LONGEST, "{} bytes", text.len());
            assert_eq!(text.matches("<!-- caseload:compare ").count(), 1);
            let headings = text.lines().filter(|line| line.starts_with("## Fail")).count();
            assert!(
                headings == candidates || text.contains("more comparisons have no room here"),
                "{headings}"
            );
        }
    }

    #[test]
    fn hostile_text_is_text_to_a_real_parser() {
        let text = comparison_markdown(&[(&with_flips(40), &hostile_answers())], "nightly");
        let mut heading = None;
        for event in events(&text) {
            match event {
                Event::Html(html) | Event::InlineHtml(html) => {
                    let known = ["<!-- caseload:compare ", "<details><summary>", "</details>"];
                    assert!(known.iter().any(|tag| html.trim_start().starts_with(tag)), "{html:?}");
                    assert!(!html.contains("script") && !html.contains("img"), "{html:?}");
                }
                Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::CodeBlock(_)) => panic!("{event:?}"),
                Event::Start(Tag::Heading { .. }) => heading = Some(heading.unwrap_or(0) + 1),
                Event::Text(shown) => {
                    assert!(!shown.contains("@team") && !shown.contains('\u{1b}'), "{shown:?}");
                }
                Event::Code(shown) => assert!(!shown.contains('\u{1b}'), "{shown:?}"),
                _ => {}
            }
        }
        assert_eq!(heading, Some(1), "one heading");
    }

    #[test]
    fn every_row_of_a_table_has_its_cells_whatever_stands_in_them() {
        let mut comparison = with_flips(2);
        comparison.segments[0].value = HOSTILE.to_owned();
        comparison.sides[0].label = "a|b`c".to_owned();
        comparison.gates[0].why = HOSTILE.to_owned();
        let text = comparison_markdown(&[(&comparison, &BTreeMap::new())], "nightly");
        let (mut cells, mut rows, mut width) = (0, 0, None);
        for event in events(&text) {
            match event {
                Event::Start(Tag::Table(columns)) => width = Some(columns.len()),
                Event::End(TagEnd::Table) => width = None,
                Event::Start(Tag::TableHead | Tag::TableRow) => cells = 0,
                Event::End(TagEnd::TableCell) => cells += 1,
                Event::End(TagEnd::TableHead | TagEnd::TableRow) => {
                    assert_eq!(Some(cells), width);
                    rows += 1;
                }
                _ => {}
            }
        }
        assert!(rows > 8, "{rows} rows");
        assert!(text.contains("a¦b"));
    }

    #[test]
    fn a_code_span_holds_any_backticks() {
        for text in ["a", "`", "``", "a`b``c", "` `", "end`"] {
            let span = code(text, 80);
            let shown: Vec<String> = events(&span)
                .into_iter()
                .filter_map(|event| match event {
                    Event::Code(shown) => Some(shown.to_string()),
                    _ => None,
                })
                .collect();
            assert_eq!(shown, [text], "{span}");
        }
    }
}
