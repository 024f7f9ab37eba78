//! A request while it is being answered.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use super::stats::{Counters, Ending};

/// A request while it is being answered: counted as abandoned unless its answer went out whole.
pub(super) struct Visit {
    counters: Arc<Mutex<Counters>>,
    ending: Ending,
    is_whole: bool,
}

impl Visit {
    pub(super) fn new(counters: Arc<Mutex<Counters>>) -> Self {
        Self { counters, ending: Ending::Abandoned, is_whole: false }
    }

    /// How it ends if its answer goes out as it is meant to.
    pub(super) fn will_end(&mut self, ending: Ending) {
        self.ending = ending;
    }

    /// Its answer went out as it was meant to.
    pub(super) fn went_out(&mut self) {
        self.is_whole = true;
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let ending = if self.is_whole { self.ending } else { Ending::Abandoned };
        self.counters.lock().unwrap_or_else(PoisonError::into_inner).ended(ending, Instant::now());
    }
}
