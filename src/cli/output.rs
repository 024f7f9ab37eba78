//! Where text goes: data to stdout, everything else to stderr. Whatever stands in it, nobody's terminal obeys
//! it: what cannot be seen is written out here, and nowhere before.

use std::io::{self, Write};

use serde::Serialize;

use crate::domain::text::{visible, visible_json};

/// Writes data to stdout. Where nobody reads any more (`| head`) it is done all the same: what the
/// process ends with is what it found, and not who listened.
///
/// # Errors
/// Stdout cannot be written.
pub(super) fn data(text: &str) -> io::Result<()> {
    document(&visible(text))
}

/// The same for text of a form that has escapes of its own and has used them.
///
/// # Errors
/// Stdout cannot be written.
pub(super) fn document(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let line_end = if text.ends_with('\n') { "" } else { "\n" };
    let written = [text, line_end].iter().try_for_each(|part| out.write_all(part.as_bytes()));
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Writes data as JSON to stdout.
///
/// # Errors
/// Stdout cannot be written.
pub(super) fn json(data: &impl Serialize) -> io::Result<()> {
    document(&visible_json(&serde_json::to_string_pretty(data).expect("what commands give is plain data")))
}

/// Writes data to stdout: as JSON, or as its text.
///
/// # Errors
/// Stdout cannot be written.
pub(super) fn either(json: bool, data: &impl Serialize, text: impl FnOnce() -> String) -> io::Result<()> {
    if json { self::json(data) } else { self::data(&text()) }
}

/// Writes a note to stderr. When that is gone there is nobody left to tell.
pub(super) fn note(text: &str) {
    let mut err = io::stderr().lock();
    let _ = writeln!(err, "{}", visible(text));
}
