//! A third dialect through the whole house: from an experiment's file to priced answers.
//!
//! What it took is told in `providers/toy`.

use std::{fs, path::Path, sync::Arc};

use jiff::civil::Date;
use tokio::sync::mpsc::unbounded_channel;

use super::record;
use crate::{
    config::{self, Experiment, Overrides},
    domain::{CasePos, Outcome, Repeat, RunRow, Settlement, TargetPos, TrialKey},
    golden,
    mock::{MockServer, MockSettings},
    queue::Hooks,
};

const CASES: &str = concat!(
    r#"{"id":"a","input":"What is 2+2?","expected":"4","graders":[{"kind":"exact"}],"examples":{"pass":["4"],"fail":["5"]}}"#,
    "\n",
    r#"{"id":"b","input":"What is 3+3?","expected":"6","graders":[{"kind":"exact"}],"examples":{"pass":["6"],"fail":["7"]}}"#,
    "\n",
);

fn read(folder: &Path, url: &str, target: &str) -> Experiment {
    fs::write(folder.join("golden.jsonl"), CASES).unwrap();
    let text = format!(
        "name = \"toy\"\ngolden = \"golden.jsonl\"\n\
         [[target]]\nname = \"t\"\nprovider = \"toy\"\nmodel = \"toy-1\"\n{target}\n\
         [provider.toy]\nbase_url = \"{url}\"\n\
         [[price]]\nmodel = \"toy-1\"\neffective_from = 2026-01-01\nsource = \"made up\"\n\
         usd_per_mtok = {{ input = 1.00, output = 2.00 }}\n"
    );
    fs::write(folder.join("toy.toml"), text).unwrap();
    let plan = config::read(&folder.join("toy.toml"), &Overrides::default(), Date::constant(2026, 6, 1));
    let plan = plan.unwrap_or_else(|faults| panic!("{faults}"));
    let (set, faults) = golden::load_sound(&plan.settings.golden, &plan.settings.case_defaults());
    faults.none_or(()).unwrap();
    let cases = golden::select(&set, &plan.settings.selection).unwrap();
    Experiment::prepare(plan.settings, plan.prices, cases, Some(&set)).unwrap()
}

/// What becomes of the first trial of every case.
async fn ask(folder: &Path, target: &str) -> Vec<Settlement> {
    let server = {
        let experiment = read(folder, "http://127.0.0.1:9", target);
        let cases = experiment.cases.iter().map(|planned| Arc::clone(&planned.case));
        MockServer::start(MockSettings::default(), cases.collect()).await.unwrap()
    };
    let experiment = read(folder, &server.url(), target);
    let queues = config::connect(&experiment, &unbounded_channel().0).unwrap();
    let queue = &queues[0];
    let mut settlements = vec![];
    for case in (0..2).map(CasePos) {
        let key = TrialKey { run: RunRow(1), target: TargetPos(0), case, repeat: Repeat::FIRST };
        let question = experiment.question(key.target, case, Repeat::FIRST);
        let call = experiment.call(queue.provider(), key, 1, question, None);
        assert_eq!(call.worst, experiment.worst_case(key.target, case));
        settlements.push(queue.settle(&call, Hooks::NONE).await);
    }
    settlements
}

#[tokio::test]
async fn a_third_dialect_is_asked_streamed_priced_and_refused_like_the_others() {
    let folder = tempfile::tempdir().unwrap();
    for target in ["max_tokens = 50", "max_tokens = 50\nstream = true"] {
        for settlement in ask(folder.path(), target).await {
            let Settlement::Ended(settled) = settlement else { panic!("{settlement:?}") };
            let key =
                TrialKey { run: RunRow(1), target: TargetPos(0), case: CasePos(0), repeat: Repeat::FIRST };
            let experiment = read(folder.path(), "http://127.0.0.1:9", target);
            let (record, _) = record::priced(key, 1, *settled, &experiment.targets[0].prices);
            assert_eq!(record.outcome, Outcome::Answered);
            assert!(["4", "5", "6", "7"].contains(&record.answer.as_str()), "{record:?}");
            assert!(record.request_id.is_some_and(|id| id.starts_with("req_mock")));
            assert_eq!(record.first_token_ms.is_some(), target.contains("stream"));
            assert!(record.cost.is_some_and(|cost| cost.picodollars() > 0));
        }
    }
}
