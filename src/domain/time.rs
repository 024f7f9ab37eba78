//! Wall-clock instants, as the store keeps them.

use std::fmt;

use jiff::Timestamp;
use serde::Serialize;

/// A wall-clock instant in milliseconds since 1970 (UTC). For records only: durations come from a
/// monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct UnixMillis(pub i64);

impl UnixMillis {
    /// Now, by the system's clock.
    pub fn now() -> Self {
        Self(Timestamp::now().as_millisecond())
    }
}

/// RFC 3339 with milliseconds, in UTC.
impl fmt::Display for UnixMillis {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Timestamp::from_millisecond(self.0) {
            Ok(instant) => out.pad(&instant.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()),
            Err(_) => write!(out, "{} ms", self.0),
        }
    }
}
