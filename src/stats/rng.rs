//! The random numbers of every resampling: SplitMix64, the same on every machine.

/// 2^64 divided by the golden ratio, odd: the step of the generator's counter.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// SplitMix64: a counter run through a mixing function.
///
/// Replicate `b` of a resampling uses [`SplitMix64::stream`], a generator of its own, so that the
/// number of threads cannot change an answer.
///
/// Source: Steele, Lea & Flood (2014), OOPSLA, "Fast splittable pseudorandom number generators".
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The generator whose first number follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A fresh generator for replicate `stream` (from 0) of `seed`.
    pub fn stream(seed: u64, stream: u64) -> Self {
        Self { state: mix(seed.wrapping_add(stream.wrapping_add(1).wrapping_mul(GAMMA))) }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        mix(self.state)
    }

    /// A number in `0..n`: the high half of the product with `n`. 0 when `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        let product = u128::from(self.next_u64()) * n as u128;
        usize::try_from(product >> 64).expect("the high half is below n")
    }

    /// −1 or +1 by the top bit.
    pub fn sign(&mut self) -> f64 {
        if self.next_u64() >> 63 == 1 { -1.0 } else { 1.0 }
    }
}

fn mix(mut z: u64) -> u64 {
    z ^= z >> 30;
    z = z.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^= z >> 27;
    z = z.wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published vector of the C implementation by Vigna.
    #[test]
    fn seed_1234567_gives_the_published_numbers() {
        let mut rng = SplitMix64::new(1_234_567);
        assert_eq!(rng.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(rng.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn a_draw_below_one_is_always_zero() {
        let mut rng = SplitMix64::stream(9, 0);
        assert!((0..100).all(|_| rng.below(1) == 0));
    }
}
