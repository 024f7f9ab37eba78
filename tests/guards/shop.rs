//! A project with one of the kept stores in it.

use std::{fs, path::PathBuf};

use rusqlite::Connection;

use crate::support::Project;

/// The address that stands in the stores in place of the server's.
pub(super) const NOWHERE: &str = "http://127.0.0.1:9";

/// Where the kept stores and what they were made from are.
pub(super) fn kept(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/guards/stores").join(name)
}

/// A project with the golden set and the experiments of the stores.
pub(super) fn empty() -> Project {
    let project = Project::new();
    for file in ["golden.jsonl", "nightly.toml", "live.toml", "bot.toml", "bot.sh", "sign-offs.toml"] {
        fs::copy(kept(file), project.path(file)).expect("the file is kept beside the stores");
    }
    project
}

/// The same with the kept store `name` as its own.
pub(super) fn with(name: &str) -> Project {
    let project = empty();
    unpack(&project, name, "store.db");
    project
}

/// Puts the kept store `name` into the project as `file`.
pub(super) fn unpack(project: &Project, name: &str, file: &str) {
    let packed = fs::File::open(kept(&format!("{name}.db.zst"))).expect("the store is kept");
    let store = zstd::decode_all(packed).expect("the store is packed with zstd");
    fs::write(project.path(file), store).expect("the store can be written");
}

/// Lets the runs of the store ask `url` where they asked `from`.
pub(super) fn redirect(project: &Project, from: &str, url: &str) {
    let connection = Connection::open(project.store()).expect("the store can be opened");
    for table in ["run", "target"] {
        connection
            .execute(&format!("UPDATE {table} SET config = replace(config, ?, ?)"), [from, url])
            .expect("settings stand in the store as text");
    }
}
