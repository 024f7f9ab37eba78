//! The integration tests: one binary, one module a subject.

mod architecture;
mod coverage;
mod error_rates;
mod stats_reference;
