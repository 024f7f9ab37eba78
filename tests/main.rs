//! The integration tests: one binary, one module a subject.

mod architecture;
mod stats_reference;
