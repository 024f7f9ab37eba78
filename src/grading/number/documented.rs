//! The rows of docs/graders.md, each graded.

use serde_json::json;

use crate::{
    domain::Verdict,
    grading::testing::{case, verdict},
};

#[test]
fn every_row_of_the_documentation_is_what_the_grader_says() {
    let document = include_str!("../../../docs/graders.md");
    let mut rows = 0;
    let mut wrong = vec![];
    for line in document.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> =
            line.trim_matches(['|', ' ']).split(" | ").map(|cell| cell.trim_matches('`')).collect();
        let [answer, expected, wanted] = cells[..] else { panic!("not three cells: {line}") };
        let wanted = if wanted == "pass" { Verdict::Pass } else { Verdict::Fail };
        let (found, reason) = verdict("number", json!({}), answer, &case(json!(expected)));
        if found != wanted {
            wrong.push(format!("{line} {reason}"));
        }
        rows += 1;
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(rows > 100, "{rows} rows");
}
