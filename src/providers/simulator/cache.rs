//! A prompt cache: a prefix is written once and then read.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

/// Where a prompt may be cut for the cache: everything up to here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breakpoint {
    /// A hash over the model and the text up to here.
    pub key: u64,
    /// The tokens up to here.
    pub tokens: u64,
}

/// What one request took from the cache and put into it, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUse {
    /// Read.
    pub read: u64,
    /// Written.
    pub written: u64,
}

/// The prefixes that are cached, or are about to be.
#[derive(Debug, Default)]
pub struct PrefixCache {
    entries: HashMap<u64, Entry>,
    /// Expired entries are swept out when there are this many.
    sweep_at: usize,
}

#[derive(Debug)]
struct Entry {
    /// From when on it can be read: when the answer that wrote it begins.
    readable_at: Instant,
    expires_at: Instant,
}

impl PrefixCache {
    /// What a request reads and writes that is sent at `now`, whose answer begins at `begins_at`.
    /// `breakpoints` go from the shortest prefix to the longest.
    ///
    /// It reads the longest prefix that is readable and writes what lies between that and its last
    /// breakpoint. A prefix whose first answer has not begun yet is written again: so each of many
    /// parallel first requests pays for the write. A read renews the lifetime.
    pub fn visit(
        &mut self,
        breakpoints: &[Breakpoint],
        now: Instant,
        begins_at: Instant,
        lifetime: Duration,
    ) -> CacheUse {
        let expires_at = now + lifetime;
        let mut read = 0;
        for breakpoint in breakpoints.iter().rev() {
            if let Some(entry) = self.entries.get_mut(&breakpoint.key)
                && entry.readable_at <= now
                && now < entry.expires_at
            {
                entry.expires_at = expires_at;
                read = breakpoint.tokens;
                break;
            }
        }
        let last = breakpoints.last().map_or(0, |breakpoint| breakpoint.tokens);
        for breakpoint in breakpoints.iter().filter(|breakpoint| breakpoint.tokens > read) {
            self.entries
                .entry(breakpoint.key)
                .and_modify(|entry| {
                    // A lifetime that is over begins anew, with the answer that begins now.
                    let over = entry.expires_at <= now;
                    entry.readable_at = if over { begins_at } else { entry.readable_at.min(begins_at) };
                    entry.expires_at = expires_at;
                })
                .or_insert(Entry { readable_at: begins_at, expires_at });
        }
        if self.entries.len() > self.sweep_at {
            self.entries.retain(|_, entry| entry.expires_at > now);
            self.sweep_at = (2 * self.entries.len()).max(1024);
        }
        CacheUse { read, written: last.saturating_sub(read) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(300);

    fn prefix(key: u64, tokens: u64) -> Breakpoint {
        Breakpoint { key, tokens }
    }

    #[test]
    fn a_prefix_is_written_until_its_first_answer_has_begun() {
        let mut cache = PrefixCache::default();
        let start = Instant::now();
        let begins = start + Duration::from_millis(200);
        let points = [prefix(1, 10_000)];
        let uses: Vec<CacheUse> = [0, 100, 200, 300]
            .map(|ms| {
                let now = start + Duration::from_millis(ms);
                cache.visit(&points, now, begins.max(now), TTL)
            })
            .to_vec();
        let written = CacheUse { read: 0, written: 10_000 };
        let read = CacheUse { read: 10_000, written: 0 };
        assert_eq!(uses, [written, written, read, read]);
    }

    #[test]
    fn only_what_follows_the_longest_known_prefix_is_written() {
        let mut cache = PrefixCache::default();
        let now = Instant::now();
        cache.visit(&[prefix(1, 2000)], now, now, TTL);
        let used = cache.visit(&[prefix(1, 2000), prefix(2, 2500)], now, now, TTL);
        assert_eq!(used, CacheUse { read: 2000, written: 500 });
        assert_eq!(cache.visit(&[], now, now, TTL), CacheUse::default());
    }

    #[test]
    fn a_read_renews_the_lifetime() {
        let mut cache = PrefixCache::default();
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let points = [prefix(1, 2000)];
        let reads = [0, 299, 598, 899].map(|s| cache.visit(&points, at(s), at(s), TTL).read);
        assert_eq!(reads, [0, 2000, 2000, 0]);
    }
}
