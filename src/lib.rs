//! `caseload` runs a golden set of cases against LLM providers through rate-limited queues and
//! says, with honest statistics, whether one target is really better than another.
//!
//! The modules are floors: each may use every floor listed below it and none above
//! (`tests/architecture.rs` holds the table and names the two files when a line crosses it).

pub mod cli;
pub mod report;
pub mod app;
pub mod runner;
pub mod mock;
pub mod compare;
pub mod estimate;
pub mod config;
pub mod evidence;
pub mod queue;
pub mod providers;
pub mod spend;
pub mod grading;
pub mod golden;
pub mod stats;
pub mod store;
pub mod domain;
