//! Time compressed: limits, waits and timeouts of an account that all shrink alike.

use crate::queue::QueueSettings;

/// The same settings in compressed time: buckets hold as much as before, and fill faster.
pub(super) fn compress(queue: &mut QueueSettings, speed: f64) {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "limits are far from either end, and the cast saturates"
    )]
    let faster = |limit: &mut Option<u64>| *limit = limit.map(|limit| (limit as f64 * speed) as u64);
    let limits = &mut queue.limits;
    faster(&mut limits.requests_per_minute);
    faster(&mut limits.input_tokens_per_minute);
    faster(&mut limits.output_tokens_per_minute);
    faster(&mut limits.tokens_per_minute);
    limits.burst_s /= speed;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "delays are positive and far from either end"
    )]
    let sooner = |delay: u64| ((delay as f64 / speed) as u64).max(1);
    queue.retry.base_delay_ms = sooner(queue.retry.base_delay_ms);
    queue.retry.max_delay_ms = sooner(queue.retry.max_delay_ms);
    queue.retry.max_elapsed_s = sooner(queue.retry.max_elapsed_s);
    queue.attempt_timeout_s = shrunk(queue.attempt_timeout_s, speed);
    queue.breaker_after_s /= speed;
}

/// A timeout in compressed time; below a second this machine's own pauses would trip it.
pub(super) fn shrunk(timeout_s: f64, speed: f64) -> f64 {
    (timeout_s / speed).max(timeout_s.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Limits;

    #[test]
    fn compressed_buckets_hold_as_much_and_fill_faster() {
        let limits = Limits { requests_per_minute: Some(600), burst_s: 2.0, ..Limits::default() };
        let mut queue = QueueSettings { limits, ..QueueSettings::default() };
        compress(&mut queue, 60.0);
        assert_eq!(queue.limits.requests_per_minute, Some(36_000));
        assert!((queue.limits.burst_s * 36_000.0 / 60.0 - 20.0).abs() < 1e-9);
        assert_eq!((queue.retry.base_delay_ms, queue.attempt_timeout_s), (8, 10.0));
        assert!(queue.faults().is_empty(), "{:?}", queue.faults());
    }

    #[test]
    fn a_timeout_is_never_shrunk_below_a_second_nor_made_longer() {
        for (given, speed, wanted) in [(600.0, 60.0, 10.0), (10.0, 100.0, 1.0), (0.5, 10.0, 0.5)] {
            assert!((shrunk(given, speed) - wanted).abs() < 1e-9);
        }
    }
}
