//! The `caseload` binary.

fn main() {}
