//! The `caseload` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    caseload::cli::main()
}
