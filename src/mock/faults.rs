//! What goes wrong, and when.

use std::time::Duration;

use rand::RngExt;

use super::settings::{FaultRates, MockLatency};
use crate::providers::simulator::generator;

/// One way in which an answer goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    ServerError,
    Overloaded,
    /// The connection is reset after this many bytes of the answer.
    Dropped {
        after: usize,
    },
    /// The answer is cut in half.
    Half,
    /// A proxy's page comes in its place.
    Html,
    RateLimited,
    /// Nothing more comes, for a time or for ever.
    Stalled,
    /// The answer begins late.
    Slow,
}

/// What was drawn for one request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fate {
    pub(super) fault: Option<Fault>,
    pub(super) latency: Duration,
    /// The fault strikes before the answer begins, not in its middle.
    pub(super) at_start: bool,
}

/// Draws for the request whose body has the hash `body` and came `earlier` times before.
pub(super) fn draw(seed: u64, rates: &FaultRates, latency: &MockLatency, body: u64, earlier: u32) -> Fate {
    let calm = *rates == FaultRates::default();
    if calm && latency.mean_ms <= 0.0 {
        return Fate { fault: None, latency: Duration::ZERO, at_start: true };
    }
    let mut draw = generator(seed, &[b"fate", &body.to_le_bytes(), &earlier.to_le_bytes()]);
    let milliseconds = latency.mean_ms + latency.jitter_ms * draw.random_range(-1.0..=1.0);
    let latency = Duration::try_from_secs_f64(milliseconds.max(0.0) / 1e3).unwrap_or(Duration::MAX);
    let (mut fate, at_start) = (draw.random::<f64>(), draw.random::<bool>());
    let faults = [
        (rates.server_error, Fault::ServerError),
        (rates.overloaded, Fault::Overloaded),
        // The head of an answer is well above 100 bytes, so that 100 break it in the middle.
        (rates.dropped, Fault::Dropped { after: if at_start { 0 } else { 100 } }),
        (rates.malformed, if at_start { Fault::Half } else { Fault::Html }),
        (rates.rate_limited, Fault::RateLimited),
        (rates.stalled, Fault::Stalled),
        (rates.slow, Fault::Slow),
    ];
    for (rate, fault) in faults {
        if fate < rate {
            return Fate { fault: Some(fault), latency, at_start };
        }
        fate -= rate;
    }
    Fate { fault: None, latency, at_start }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fate_depends_on_the_body_and_on_how_often_it_came() {
        let rates = FaultRates { server_error: 0.5, ..FaultRates::default() };
        let latency = MockLatency { mean_ms: 100.0, jitter_ms: 50.0 };
        let fates = |body| -> Vec<Fate> { (0..64).map(|n| draw(1, &rates, &latency, body, n)).collect() };
        assert_eq!(fates(1), fates(1));
        assert_ne!(fates(1), fates(2));
        assert!(fates(1).iter().any(|fate| fate.fault.is_none()));
        assert!(fates(1).iter().any(|fate| fate.fault == Some(Fault::ServerError)));
        assert!(fates(1).iter().all(|fate| (50..=150).contains(&fate.latency.as_millis())));
    }
}
