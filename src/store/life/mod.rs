//! The life of a store beyond its runs: sizes, copies, joining, forgetting, deleting.

mod copy;
mod delete;
mod forget;
mod info;
mod merge;
mod run_tables;
mod upkeep;

pub use self::{
    forget::{Forget, Forgotten},
    info::{KindSize, RunSize, StoreInfo},
    merge::{ConfigForm, Merged},
    upkeep::Compacted,
};
