//! The account's limits: who is let in, and what is left.
//!
//! Requests are counted as they come. Input tokens are debited when a request starts; output either
//! then, by the most it may have, or once it is made, as the settings say.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{limits::Reading, settings::MockSettings};
use crate::{
    domain::{LimitDimension, USUAL_OUTPUT_TOKENS, Usage},
    providers::simulator::{Admission, Bucket},
};

/// All limits of the server's one account.
#[derive(Debug)]
pub(super) struct Account {
    limits: Mutex<Vec<Limit>>,
    output_reserved: bool,
    cache_reads_count: bool,
    bucket_headers: bool,
}

#[derive(Debug)]
struct Limit {
    dimension: LimitDimension,
    per_minute: u64,
    bucket: Bucket,
}

/// The tokens that a request is expected to need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Demand {
    pub(super) input: u64,
    pub(super) max_output: Option<u32>,
}

/// What the account says to a request.
#[derive(Debug)]
pub(super) struct Answer {
    /// What its response tells of the limits.
    pub(super) readings: Vec<Reading>,
    /// `None`: let in. Otherwise which limit is in the way, and for how long.
    pub(super) refused: Option<(LimitDimension, Duration)>,
}

impl Account {
    pub(super) fn new(settings: &MockSettings) -> Self {
        let limits = [
            (LimitDimension::Requests, settings.requests_per_minute),
            (LimitDimension::InputTokens, settings.input_tokens_per_minute),
            (LimitDimension::OutputTokens, settings.output_tokens_per_minute),
            (LimitDimension::Tokens, settings.tokens_per_minute),
        ];
        let limit = |(dimension, per_minute): (_, Option<f64>)| {
            let per_minute = per_minute?;
            let bucket = Bucket::new(per_minute, settings.burst_s);
            Some(Limit { dimension, per_minute: whole(per_minute), bucket })
        };
        Self {
            limits: Mutex::new(limits.into_iter().filter_map(limit).collect()),
            output_reserved: settings.output_reserved,
            cache_reads_count: settings.cache_reads_count,
            bucket_headers: settings.bucket_headers,
        }
    }

    /// Asks every limit for room; `in_minute` requests came in the last minute. A request that one
    /// limit refuses takes nothing from the others.
    pub(super) fn admit(&self, demand: Demand, in_minute: u64) -> Answer {
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        if limits.is_empty() {
            return Answer { readings: vec![], refused: None };
        }
        let now = Instant::now();
        let mut readings = Vec::with_capacity(limits.len());
        let mut refused = None;
        for at in 0..limits.len() {
            let limit = &mut limits[at];
            let cells = self.cells(limit.dimension, demand);
            let admission = limit.bucket.ask_for(cells, now);
            readings.push(self.reading(limit, &admission, in_minute));
            if let Some(wait) = admission.wait {
                refused = Some((limit.dimension, wait));
                for taken in &mut limits[..at] {
                    taken.bucket.charge(-self.cells(taken.dimension, demand), now);
                }
                break;
            }
        }
        Answer { readings, refused }
    }

    /// Settles what a request took when it was let in with what it used; `None`: no answer was made,
    /// and only its input stays taken.
    pub(super) fn settle(&self, demand: Demand, usage: Option<&Usage>) {
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        for limit in limits.iter_mut().filter(|limit| limit.dimension != LimitDimension::Requests) {
            let taken = self.cells(limit.dimension, demand);
            let free = usage.map_or(0, |usage| if self.cache_reads_count { 0 } else { usage.cache_read });
            let input = demand.input.saturating_sub(free);
            let output = usage.map_or(0, |usage| usage.output);
            let used = match limit.dimension {
                LimitDimension::InputTokens => float(input),
                LimitDimension::OutputTokens => float(output),
                _ => float(input + output),
            };
            limit.bucket.charge(used - taken, now);
        }
    }

    /// What a request takes from a limit when it starts.
    fn cells(&self, dimension: LimitDimension, demand: Demand) -> f64 {
        let output = demand.max_output.map_or(USUAL_OUTPUT_TOKENS, u64::from);
        // Unless it is reserved, room for one token is enough to begin.
        let output = if self.output_reserved { output } else { 1 };
        match dimension {
            LimitDimension::Requests => 1.0,
            LimitDimension::InputTokens => float(demand.input),
            LimitDimension::OutputTokens => float(output),
            LimitDimension::Tokens => float(demand.input + output),
        }
    }

    fn reading(&self, limit: &Limit, admission: &Admission, in_minute: u64) -> Reading {
        let remaining = match limit.dimension {
            _ if self.bucket_headers => admission.remaining,
            LimitDimension::Requests => limit.per_minute.saturating_sub(in_minute),
            // What is missing in the bucket is missing from the minute.
            _ => {
                let missing = admission.full_in.as_secs_f64() * float(limit.per_minute) / 60.0;
                limit.per_minute.saturating_sub(whole(missing))
            }
        };
        Reading { dimension: limit.dimension, limit: limit.per_minute, remaining, full_in: admission.full_in }
    }
}

fn float(count: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "no request has 2^52 tokens")]
    let count = count as f64;
    count
}

fn whole(count: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, which is meant"
    )]
    let count = count as u64;
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(settings: MockSettings) -> Account {
        Account::new(&MockSettings { burst_s: 60.0, ..settings })
    }

    fn refusal(account: &Account, input: u64, max_output: u32) -> Option<LimitDimension> {
        account
            .admit(Demand { input, max_output: Some(max_output) }, 1)
            .refused
            .map(|(dimension, _)| dimension)
    }

    #[tokio::test(start_paused = true)]
    async fn input_is_taken_at_the_start_and_output_once_it_is_made() {
        let account = account(MockSettings {
            input_tokens_per_minute: Some(1_000.0),
            output_tokens_per_minute: Some(500.0),
            ..MockSettings::default()
        });
        let demand = Demand { input: 400, max_output: Some(400) };
        assert_eq!(refusal(&account, 400, 400), None);
        account.settle(demand, Some(&Usage { input_uncached: 400, output: 500, ..Usage::default() }));
        assert_eq!(refusal(&account, 100, 1), Some(LimitDimension::OutputTokens));
        // What was refused has taken nothing of the input.
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(refusal(&account, 600, 1), None);
        assert_eq!(refusal(&account, 300, 1), Some(LimitDimension::InputTokens));
    }

    #[tokio::test(start_paused = true)]
    async fn a_reservation_is_given_back() {
        let account = account(MockSettings {
            tokens_per_minute: Some(1_000.0),
            output_reserved: true,
            cache_reads_count: false,
            ..MockSettings::default()
        });
        let demand = Demand { input: 500, max_output: Some(400) };
        assert_eq!(refusal(&account, 500, 400), None);
        assert_eq!(refusal(&account, 500, 400), Some(LimitDimension::Tokens));
        let usage = Usage { input_uncached: 100, cache_read: 400, output: 100, ..Usage::default() };
        account.settle(demand, Some(&usage));
        assert_eq!(refusal(&account, 400, 400), None);
    }

    #[tokio::test(start_paused = true)]
    async fn readings_tell_what_is_left_of_the_minute() {
        let account = account(MockSettings {
            requests_per_minute: Some(60.0),
            input_tokens_per_minute: Some(1_000.0),
            ..MockSettings::default()
        });
        let answer = account.admit(Demand { input: 250, max_output: None }, 1);
        let left: Vec<_> = answer.readings.iter().map(|reading| (reading.limit, reading.remaining)).collect();
        assert_eq!(left, [(60, 59), (1_000, 750)]);
    }
}
