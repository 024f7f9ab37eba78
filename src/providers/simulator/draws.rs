//! Chance held still: every draw is a function of the seed and of what is drawn, whatever the order.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use statrs::{
    distribution::{ContinuousCDF, Normal},
    function::beta::beta_reg,
};

/// A generator whose stream depends on `seed` and `parts` alone.
pub(crate) fn generator(seed: u64, parts: &[&[u8]]) -> Pcg64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    for part in parts {
        // The length keeps ("ab", "c") and ("a", "bc") apart.
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    Pcg64::from_seed(*hasher.finalize().as_bytes())
}

/// A standard normal draw.
pub(super) fn normal(seed: u64, parts: &[&[u8]]) -> f64 {
    quantile(generator(seed, parts).random())
}

/// The standard normal quantile of `probability`, in [0, 1); kept finite.
pub(super) fn quantile(probability: f64) -> f64 {
    Normal::standard().inverse_cdf(probability.max(f64::MIN_POSITIVE))
}

/// The probability that a case at the standard normal quantile `ease` is passed, where the
/// probabilities of all cases have mean `skill` and variance `spread` · `skill` · (1 − `skill`):
/// a beta distribution with α = `skill` · ν, β = (1 − `skill`) · ν and ν = (1 − `spread`) / `spread`.
///
/// `spread` is then the intraclass correlation of single answers within a case (beta-binomial
/// model, ρ = 1 / (α + β + 1)). At its ends: 0 gives `skill` itself, 1 gives 0 or 1.
pub(super) fn pass_probability(skill: f64, spread: f64, ease: f64) -> f64 {
    let rank = Normal::standard().cdf(ease);
    if spread <= 0.0 || skill <= 0.0 || skill >= 1.0 {
        return skill.clamp(0.0, 1.0);
    }
    // Beyond this the distribution is two points in all but name.
    if spread >= 0.99 {
        return if rank > 1.0 - skill { 1.0 } else { 0.0 };
    }
    let concentration = (1.0 - spread) / spread;
    beta_quantile(skill * concentration, (1.0 - skill) * concentration, rank)
}

/// The quantile of the beta distribution, by halving: Newton's method loses its way where a
/// parameter is far below 1.
fn beta_quantile(alpha: f64, beta: f64, rank: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..48 {
        let middle = f64::midpoint(low, high);
        if beta_reg(alpha, beta, middle) < rank {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_where_its_parts_end() {
        let mut first = generator(1, &[b"ab", b"c"]);
        let mut second = generator(1, &[b"a", b"bc"]);
        assert_ne!(first.random::<u64>(), second.random::<u64>());
        let mut again = generator(1, &[b"ab", b"c"]);
        assert_eq!(generator(1, &[b"ab", b"c"]).random::<u64>(), again.random::<u64>());
    }

    #[test]
    fn pass_probabilities_have_the_mean_and_the_spread_that_were_set() {
        for skill in [0.1, 0.5, 0.8, 0.97] {
            for spread in [0.05, 0.5, 0.9, 0.98] {
                let n = 2_000;
                let values: Vec<f64> = (0..n)
                    .map(|i| pass_probability(skill, spread, quantile((f64::from(i) + 0.5) / f64::from(n))))
                    .collect();
                let mean = values.iter().sum::<f64>() / f64::from(n);
                let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / f64::from(n);
                assert!((mean - skill).abs() < 0.002, "mean {mean} of skill {skill}, spread {spread}");
                let wanted = spread * skill * (1.0 - skill);
                assert!((variance - wanted).abs() < 0.002, "variance {variance}, wanted {wanted}");
            }
        }
    }

    #[test]
    fn the_ends_of_the_spread_are_one_point_and_two() {
        assert_eq!(pass_probability(0.8, 0.0, -2.0), 0.8);
        assert_eq!(pass_probability(0.8, 1.0, -2.0), 0.0);
        assert_eq!(pass_probability(0.8, 1.0, 0.0), 1.0);
        assert_eq!(pass_probability(1.0, 0.5, -3.0), 1.0);
    }
}
