//! Everything between a call and the wire for one rate-limited account: limits, concurrency,
//! pauses, retries, breaker.
//!
//! A [`ProviderQueue`] takes a call to its end. Attempts stand in one ordered `line`; its head asks
//! the `concurrency` limit, the `pause` and the `limiter` (a `bucket` a limit, tuned by `learning`)
//! for room. A failed attempt is repeated by its call's own `retry` walk, or ends its call, its
//! asker or the queue (`halt`, `breaker`), as its [`ErrorClass`](crate::domain::ErrorClass) says.
//! What an error means is decided where the wire is read, not here.

mod breaker;
mod bucket;
mod concurrency;
mod halt;
mod learning;
mod limiter;
mod line;
mod pause;
mod provider_queue;
mod retry;
mod settings;
mod shared_account;
mod steering;

pub use self::{
    concurrency::{ConcurrencyChange, ConcurrencyStep, GROWTH, SLOW_START},
    learning::LearntLimits,
    limiter::bursts,
    provider_queue::{Hooks, ProviderQueue, QueueStatus},
    settings::{Limits, QueueSettings, RetryPolicy, TooLarge},
};
