//! The `caseload` binary.

use std::process::ExitCode;

/// A trial is many small pieces of memory that move between threads.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    caseload::cli::main()
}
