//! The integration tests: one binary, one module a subject.

mod architecture;
mod coverage;
mod stats_reference;
