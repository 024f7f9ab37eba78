//! A small help-desk bot, as an example of an application under test.
//!
//! It speaks the protocol of long-lived programs: one question a line on standard input, one answer a
//! line on standard output. `caseload` has it built in as well, so that `config/app.toml` runs without
//! a further build.
//!
//! ```console
//! $ echo '{"id": "1", "message": "How long can I return a device?"}' |
//!     cargo run --example help-desk-bot -- --articles golden/help-desk --top-k 3
//! ```

mod bot;

use std::process::ExitCode;

fn main() -> ExitCode {
    bot::main(std::env::args().skip(1))
}
