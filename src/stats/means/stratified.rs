//! A mean over strata (segments) whose true shares are known, such as shares of the traffic.

use super::{
    clustered::{self, ClusteredMean},
    sums,
};
use crate::stats::{Clusters, Estimable, Interval, NotEstimable, StatsError, error, proportions::proportion};

/// A stratified mean with its standard error.
#[derive(Clone, Debug, PartialEq)]
pub struct StratifiedMean {
    /// Each stratum by itself, in the order of the shares.
    pub strata: Vec<ClusteredMean>,
    /// Σ W_h·mean_h; not estimable if a stratum with a share has no case.
    pub mean: Estimable<f64>,
    /// √Σ W_h²·V2_h; not estimable if a stratum has one case or one cluster.
    pub se: Estimable<f64>,
    /// Satterthwaite degrees of freedom; not estimable when the standard error is 0.
    pub df: Estimable<f64>,
    /// mean ± t(df)·se. Not clipped.
    pub interval: Estimable<Interval>,
    /// The standard error when clusters cross strata: √(G/(G−1)·ΣR_g²) with the linearised
    /// residuals R_g = Σ_{i∈g} (W_h/n_h)(s_i − mean_h).
    pub se_linearised_cr1: Estimable<f64>,
    /// The strata (by index) from which no standard error can be estimated.
    pub not_estimable: Vec<usize>,
}

/// The mean of `scores` over strata with known `shares`; `strata[i]` is the stratum of case `i`.
///
/// θ = Σ W_h·mean_h, V = Σ W_h²·V2_h, df = V²/Σ[(W_h²·V2_h)²/df_h]: the number for traffic whose
/// mix differs from the sample's. Assumes that the shares are known, and for `se` that clusters do
/// not cross strata. A stratum with a share of 0 is left out. With equal shares this is the macro
/// mean over segments.
///
/// # Errors
///
/// [`StatsError::UnknownIndex`] for a stratum without share, [`StatsError::Sum`] unless the
/// shares sum to 1, [`StatsError::OutOfRange`] for a negative share, and what
/// [`clustered_mean`](crate::stats::clustered_mean) refuses.
///
/// Source: Cochran (1977), Sampling Techniques, ch. 5; Satterthwaite (1946).
pub fn stratified_mean(
    scores: &[f64],
    strata: &[usize],
    clusters: &Clusters,
    shares: &[f64],
    confidence: f64,
) -> Result<StratifiedMean, StatsError> {
    check(scores, strata, clusters, shares)?;
    error::check_probability("confidence", confidence)?;
    let mut members: Vec<Vec<usize>> = vec![vec![]; shares.len()];
    for (case, &stratum) in strata.iter().enumerate() {
        members[stratum].push(case);
    }
    let each: Vec<ClusteredMean> = members
        .iter()
        .map(|cases| {
            let own: Vec<f64> = cases.iter().map(|&case| scores[case]).collect();
            clustered::compute(&own, &clusters.restricted_to(cases))
        })
        .collect();
    let shared = || each.iter().zip(shares).filter(|&(_, &share)| share > 0.0);

    let mean = shared()
        .map(|(stratum, share)| stratum.mean.map(|mean| share * mean))
        .collect::<Estimable<Vec<f64>>>()
        .map(sums::sum);
    // (W_h²·V2_h, df_h) of each stratum.
    let terms = shared()
        .map(|(stratum, share)| Ok(((share * stratum.se_cr2?).powi(2), stratum.df_ik?)))
        .collect::<Estimable<Vec<(f64, f64)>>>();
    let variance = terms.as_ref().map(|terms| sums::sum(terms.iter().map(|term| term.0)));
    let variance = variance.map_err(|&reason| reason);
    let df = variance.and_then(|variance| {
        let spread = terms.iter().flatten().map(|(v, df)| v * v / df);
        if variance == 0.0 {
            Err(NotEstimable::ZeroVariance)
        } else {
            Ok(variance * variance / sums::sum(spread))
        }
    });
    let se = variance.map(f64::sqrt);
    let quantile = proportion::two_sided_t(confidence, df.ok())?;
    let not_estimable =
        (0..shares.len()).filter(|&stratum| shares[stratum] > 0.0 && each[stratum].se_cr2.is_err()).collect();
    Ok(StratifiedMean {
        mean,
        se,
        df,
        interval: mean.and_then(|mean| Ok(Interval::around(mean, quantile * se?))),
        se_linearised_cr1: linearised(scores, strata, clusters, shares, &each),
        strata: each,
        not_estimable,
    })
}

fn linearised(
    scores: &[f64],
    strata: &[usize],
    clusters: &Clusters,
    shares: &[f64],
    each: &[ClusteredMean],
) -> Estimable<f64> {
    for (stratum, &share) in each.iter().zip(shares) {
        if share > 0.0 {
            stratum.mean?;
        }
    }
    let residuals: Vec<f64> = scores
        .iter()
        .zip(strata)
        .map(|(score, &stratum)| {
            let own = &each[stratum];
            own.mean.map_or(0.0, |mean| shares[stratum] / own.n as f64 * (score - mean))
        })
        .collect();
    let g = clusters.len() as f64;
    match clusters.len() {
        0 => Err(NotEstimable::NoData),
        1 => Err(NotEstimable::OneCluster),
        _ => {
            let squares = sums::sum(clusters.totals(&residuals).iter().map(|total| total * total));
            Ok((g / (g - 1.0) * squares).sqrt())
        }
    }
}

fn check(scores: &[f64], strata: &[usize], clusters: &Clusters, shares: &[f64]) -> Result<(), StatsError> {
    error::check_finite("scores", scores)?;
    error::check_same_length("scores", scores.len(), "strata", strata.len())?;
    clusters.check_covers("scores", scores.len())?;
    error::check_range("shares", shares, 0.0, 1.0)?;
    if let Some(index) = strata.iter().position(|&stratum| stratum >= shares.len()) {
        let (value, len) = (strata[index], shares.len());
        return Err(StatsError::UnknownIndex { argument: "strata", index, value, len });
    }
    let sum = sums::sum(shares.iter().copied());
    if (sum - 1.0).abs() > 1e-6 {
        return Err(StatsError::Sum { argument: "shares", sum, expected: "1" });
    }
    Ok(())
}

/// The standard error of a plain average over slices, each with its own: √Σse²/slices.
///
/// Assumes independent slices. Not estimable without slices.
///
/// # Errors
///
/// [`StatsError::OutOfRange`] for a negative standard error, [`StatsError::NotFinite`].
pub fn macro_mean_se(slice_ses: &[f64]) -> Result<Estimable<f64>, StatsError> {
    error::check_range("slice_ses", slice_ses, 0.0, f64::MAX)?;
    if slice_ses.is_empty() {
        return Ok(Err(NotEstimable::NoData));
    }
    let squares = sums::sum(slice_ses.iter().map(|se| se * se));
    Ok(Ok(squares.sqrt() / slice_ses.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_macro_mean_is_as_uncertain_as_its_worst_slice() {
        let se = macro_mean_se(&[0.10, 0.01]).unwrap().unwrap();
        assert_eq!(format!("{se:.4}"), "0.0502");
        assert_eq!(macro_mean_se(&[]), Ok(Err(NotEstimable::NoData)));
    }

    #[test]
    fn shares_outweigh_the_quota() {
        let scores = [1.0, 1.0, 0.0, 0.0];
        let clusters = Clusters::singletons(4);
        let mean = stratified_mean(&scores, &[0, 0, 1, 1], &clusters, &[0.9, 0.1], 0.95).unwrap();
        assert!((mean.mean.unwrap() - 0.9).abs() < 1e-15);
        assert_eq!(mean.se, Ok(0.0));
        assert_eq!(mean.df, Err(NotEstimable::ZeroVariance));
    }

    #[test]
    fn a_stratum_of_one_case_is_named() {
        let clusters = Clusters::singletons(3);
        let mean = stratified_mean(&[1.0, 0.0, 1.0], &[0, 0, 1], &clusters, &[0.5, 0.5], 0.95).unwrap();
        assert_eq!(mean.not_estimable, [1]);
        assert_eq!(mean.se, Err(NotEstimable::SingleCase));
        assert_eq!(mean.mean, Ok(0.75));
    }

    #[test]
    fn an_empty_stratum_leaves_no_mean() {
        let clusters = Clusters::singletons(2);
        let mean = stratified_mean(&[1.0, 0.0], &[0, 0], &clusters, &[0.5, 0.5], 0.95).unwrap();
        assert_eq!(mean.mean, Err(NotEstimable::NoData));
        assert_eq!(mean.not_estimable, [1]);
    }

    #[test]
    fn wrong_shares_and_strata_are_refused() {
        let clusters = Clusters::singletons(1);
        assert!(matches!(
            stratified_mean(&[1.0], &[2], &clusters, &[0.5, 0.5], 0.95),
            Err(StatsError::UnknownIndex { value: 2, .. })
        ));
        assert!(matches!(
            stratified_mean(&[1.0], &[0], &clusters, &[0.5, 0.4], 0.95),
            Err(StatsError::Sum { .. })
        ));
    }
}
