//! A run on the screen.

mod queues;
mod scorecard;

pub use self::scorecard::scorecard_text;
