//! What the tests of use cases share: a folder with a golden set, an experiment on the simulator, and
//! runs of it in a store.

use std::{fs, path::PathBuf};

use tokio::{runtime::Runtime, sync::watch};

use super::{Overrides, Ready, RunSummary, Session, Shutdown, Store, run};

/// Eight cases in four clusters.
const CASES: usize = 8;

/// A folder with an experiment, and a store.
pub(super) struct Stored {
    folder: tempfile::TempDir,
}

impl Stored {
    /// One complete run, `test-1`, of two targets with two repeats a case.
    pub(super) fn new() -> Self {
        let stored = Self::empty("");
        stored.run();
        stored
    }

    /// The experiment alone, with `more` behind its own keys.
    pub(super) fn empty(more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let case = |at: usize| {
            format!(
                "{{\"id\": \"c{at}\", \"input\": \"What is {at}?\", \"cluster\": \"k{}\", \
                 \"expected\": {{\"answer\": \"{at}\"}}, \"graders\": [{{\"kind\": \"exact\"}}], \
                 \"examples\": {{\"pass\": [\"{at}\"], \"fail\": [\"no\"]}}}}\n",
                at / 2
            )
        };
        fs::write(folder.path().join("golden.jsonl"), (0..CASES).map(case).collect::<String>()).unwrap();
        let target = |name: &str, skill: f64| {
            format!(
                "\n[[target]]\nname = \"{name}\"\nprovider = \"simulator\"\nmodel = \"m-{name}\"\n\
                 max_tokens = 20\nsimulate = {{ skill = {skill} }}\n"
            )
        };
        let experiment = format!(
            "name = \"test\"\ngolden = \"golden.jsonl\"\nrepeats = 2\n{more}\n{}{}",
            target("good", 0.95),
            target("poor", 0.3)
        );
        fs::write(folder.path().join("test.toml"), experiment).unwrap();
        Self { folder }
    }

    /// The experiment's file.
    pub(super) fn experiment(&self) -> PathBuf {
        self.folder.path().join("test.toml")
    }

    /// The store's file.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("test.db")
    }

    /// A file of the folder.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The store, for reading.
    pub(super) fn open(&self) -> Store {
        Store::open_to_read(self.path()).unwrap()
    }

    /// What puts the store into the folder.
    pub(super) fn overrides(&self) -> Overrides {
        Overrides { store: Some(self.path()), ..Overrides::default() }
    }

    /// The experiment, read.
    pub(super) fn ready(&self) -> Ready {
        Ready::read(&self.experiment(), &self.overrides()).unwrap()
    }

    /// Another run of the experiment, to its end.
    pub(super) fn run(&self) -> RunSummary {
        work(run::begin(self.ready()).unwrap())
    }
}

/// Works on a session to its end, and nobody listens.
pub(super) fn work(session: Session) -> RunSummary {
    let (_stop, shutdown) = watch::channel(Shutdown::No);
    Runtime::new().unwrap().block_on(session.work(vec![], shutdown)).unwrap()
}
