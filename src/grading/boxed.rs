//! The last `\boxed{…}` of an answer.

/// What stands in the last box of `text`; `Ok(None)` when it has no box.
///
/// Braces are counted; `\{` and `\}` are not braces. A box within a box is the last one.
///
/// # Errors
/// The last box is not closed.
pub(super) fn last_box(text: &str) -> Result<Option<&str>, &'static str> {
    let last = text
        .match_indices("\\boxed")
        .filter_map(|(at, name)| text[at + name.len()..].trim_start().strip_prefix('{'))
        .last();
    match last {
        None => Ok(None),
        Some(rest) => closing_brace(rest).map(|end| Some(&rest[..end])).ok_or("box is not closed"),
    }
}

/// What a grader reads of an answer: what stands in its last box where that is asked for, else all of it.
///
/// # Errors
/// There is no box, or the last one is not closed.
pub(super) fn answer_or_box(answer: &str, boxed: bool) -> Result<&str, &'static str> {
    if !boxed {
        return Ok(answer);
    }
    last_box(answer)?.ok_or("no `\\boxed{…}` in the answer")
}

/// Where the brace stands that closes the one before `rest`.
fn closing_brace(rest: &str) -> Option<usize> {
    let mut depth = 1;
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' => depth += 1,
            '}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_box_wins_and_braces_are_counted() {
        for (text, found) in [
            (r"\boxed{5}. No, that is wrong: \boxed{7}.", Ok(Some("7"))),
            (r"\boxed{\frac{1}{2}}", Ok(Some(r"\frac{1}{2}"))),
            (r"The domain is \boxed{[2,5)}", Ok(Some("[2,5)"))),
            (r"\[ \boxed {42} \]", Ok(Some("42"))),
            (r"\boxed{\{1,2\}}", Ok(Some(r"\{1,2\}"))),
            (r"\boxed{\boxed{3}}", Ok(Some("3"))),
            (r"Mark your solution with \boxed", Ok(None)),
            (r"\boxed{\{1,2\}", Err("box is not closed")),
            (r"\boxed{1} and \boxed{2", Err("box is not closed")),
        ] {
            assert_eq!(last_box(text), found, "{text}");
        }
    }
}
