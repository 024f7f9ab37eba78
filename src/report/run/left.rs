//! What of a run could still be asked, as the commands that ask it.

use crate::{
    app::resume::Left,
    domain::RunId,
    report::{count, dollars},
};

/// The commands, each on a line of its own; `store` is how they name the store.
pub fn left_text(left: Left, run: &RunId, store: &str) -> String {
    let (more, beyond) = match left.beyond {
        None => ("", String::new()),
        Some(budget) => (" --max-cost USD", format!("; more than {} in all", dollars(budget))),
    };
    let line = |with: &str, trials: u64, what: &str| match trials {
        0 => String::new(),
        1 => format!("\n  caseload resume {run}{with}{store}    (1 trial {what}{beyond})"),
        _ => format!("\n  caseload resume {run}{with}{store}    ({} trials {what}{beyond})", count(trials)),
    };
    line(more, left.to_do, "to do")
        + &line(&format!(" --failed{more}"), left.failed_for_good, "failed for reasons of their own")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Cost;

    #[test]
    fn what_a_plain_resume_does_not_ask_is_named_with_what_does() {
        let text = |to_do, failed_for_good| {
            left_text(Left { to_do, failed_for_good, beyond: None }, &"a-1".into(), "")
        };
        assert_eq!(text(0, 0), "");
        assert_eq!(text(1_200, 0), "\n  caseload resume a-1    (1,200 trials to do)");
        assert!(text(0, 3).starts_with("\n  caseload resume a-1 --failed    (3 trials failed"));
        assert_eq!(text(1, 1).lines().count(), 3);
    }

    #[test]
    fn what_only_a_higher_budget_asks_is_told_with_it() {
        let left = Left { to_do: 12, beyond: Some(Cost::ZERO), ..Left::default() };
        let told = "\n  caseload resume a-1 --max-cost USD    (12 trials to do; more than $0 in all)";
        assert_eq!(left_text(left, &"a-1".into(), ""), told);
    }
}
