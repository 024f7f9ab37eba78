//! `caseload confirm`: ask the flipped cases of a comparison again, on both sides.

use clap::Args;

use super::{
    error::CliError,
    exit_status::ExitStatus,
    output,
    session::{self, Screen},
    store_argument::StoreArgument,
};
use crate::{
    app::confirm::{Asking, Confirmed, Flips, FreshRuns},
    domain::{Cost, RunStatus},
    report::{confirmation_text, count},
};

/// Ask the flipped cases of a comparison again, on both sides, and judge each flip by that alone
///
/// The first answers were selected for differing, so they prove nothing. What the fresh ones say is
/// stored beside the comparison: `compare` shows it, and `flip_budget = { confirmed = true }` counts
/// by it. The fresh answers are runs of their own, named after the experiment with `-confirm`; two sides
/// are asked again once, until those runs are deleted.
#[derive(Debug, Args)]
pub(super) struct ConfirmArgs {
    /// The baseline: a run, or RUN:TARGET
    #[arg(value_name = "A")]
    baseline: String,

    /// The candidate: a run, or RUN:TARGET
    #[arg(value_name = "B")]
    candidate: String,

    /// Ask each flipped case this many times on each side
    ///
    /// Below 3 no flip can be confirmed, with 3 none once one of them is doubtful; the more flips there
    /// are the more it takes: 8 are enough for several hundred.
    #[arg(long, value_name = "M", default_value = "8", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: u32,

    /// Stop before more than this could be spent, in dollars, on both sides together
    #[arg(long, value_name = "USD")]
    max_cost: Option<Cost>,

    /// Ask nothing: judge the fresh answers that are stored, such as after `caseload resume`
    #[arg(long, conflicts_with_all = ["repeats", "max_cost", "events"])]
    judge: bool,

    /// Confirm although graders of the same name differ between the sides
    #[arg(long)]
    allow_grader_change: bool,

    #[command(flatten)]
    screen: Screen,

    #[command(flatten)]
    store: StoreArgument,
}

/// Does `caseload confirm`.
pub(super) fn confirm(arguments: &ConfirmArgs) -> Result<ExitStatus, CliError> {
    let sides = [arguments.baseline.clone(), arguments.candidate.clone()];
    let flips = Flips::find(&arguments.store.store, &sides, arguments.allow_grader_change)?;
    if flips.count() == 0 && !arguments.screen.json {
        output::data("no case flipped: there is nothing to confirm")?;
        return Ok(ExitStatus::Success);
    }
    if flips.count() == 0 || arguments.judge {
        print(arguments, &flips.judge()?)?;
        return Ok(ExitStatus::Success);
    }
    let asking = Asking { repeats: arguments.repeats, max_cost: arguments.max_cost };
    let fresh = flips.ask_again(asking)?;
    output::note(&format!(
        "asking {} flipped cases {} times on each side: {} trials",
        count(flips.count() as u64),
        arguments.repeats,
        count(fresh.trials)
    ));
    let names = fresh.names.clone();
    let status = ask(arguments, fresh)?;
    let confirmed = flips.judge()?;
    print(arguments, &confirmed)?;
    if status != RunStatus::Complete {
        let store = arguments.store.flag();
        let more = if status == RunStatus::Budget { " --max-cost USD" } else { "" };
        output::note(&format!(
            "next:\n  caseload resume {}{more}{store}\n  caseload resume {}{more}{store}\n  caseload confirm {} {} --judge{store}",
            names[0], names[1], confirmed.sides[0], confirmed.sides[1]
        ));
    }
    Ok(ExitStatus::of_run(status))
}

/// Asks both sides, one after the other; how that ended, by the side that did worse.
fn ask(arguments: &ConfirmArgs, mut fresh: FreshRuns) -> Result<RunStatus, CliError> {
    let mut status = RunStatus::Complete;
    while let Some(next) = fresh.next_session(status)? {
        let summary = session::ask_to_the_end(next, &arguments.screen)?;
        session::tell_stops(&summary);
        if summary.status != RunStatus::Complete {
            status = summary.status;
        }
    }
    Ok(status)
}

fn print(arguments: &ConfirmArgs, confirmed: &Confirmed) -> Result<(), CliError> {
    let sides = confirmed.sides.each_ref().map(String::as_str);
    Ok(output::either(arguments.screen.json, confirmed, || confirmation_text(sides, &confirmed.flips))?)
}
