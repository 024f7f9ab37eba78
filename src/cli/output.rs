//! Where text goes: data to stdout, everything else to stderr.

use std::io::{self, Write};

use serde::Serialize;

/// Writes data to stdout.
///
/// # Errors
/// Stdout cannot be written; a broken pipe means that nobody reads any more.
pub(super) fn data(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Writes data as JSON to stdout.
///
/// # Errors
/// Stdout cannot be written.
pub(super) fn json(data: &impl Serialize) -> io::Result<()> {
    self::data(&serde_json::to_string_pretty(data).expect("what commands give is plain data"))
}

/// Writes a note to stderr. When that is gone there is nobody left to tell.
pub(super) fn note(text: &str) {
    let mut err = io::stderr().lock();
    let _ = writeln!(err, "{text}");
}
