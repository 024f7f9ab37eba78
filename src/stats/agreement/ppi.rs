//! A pass rate from many judged cases and few human labels: prediction-powered inference (PPI++).

use crate::stats::{
    Clusters, Estimable, Estimate, Interval, Method, NotEstimable, StatsError, error, means::sums,
    special::student_quantile,
};

/// What humans and the judge said.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    /// Human verdicts, in [0, 1].
    pub human: &'a [f64],
    /// The judge's verdicts on the same cases, in the same order, in [0, 1].
    pub judge_on_human: &'a [f64],
    /// The judge's verdicts on the *other* cases, in [0, 1]. The labelled cases must not be in it.
    pub judge_rest: &'a [f64],
    /// Clusters of all cases, the labelled ones first, then the rest; `None` if all are independent.
    pub clusters: Option<&'a Clusters>,
}

/// A pass rate estimated from labels and verdicts together.
#[derive(Clone, Debug, PartialEq)]
pub struct Ppi {
    /// How far the judge is trusted, from 0 (not at all) to 1.
    pub lambda: f64,
    /// The estimated pass rate: what is printed.
    pub estimate: f64,
    /// Mean of the human labels alone.
    pub human_only: f64,
    /// Mean of the judge's verdicts on the rest, which is biased as the judge is.
    pub judge_only: Estimable<f64>,
    /// What is printed: the plain estimate with the interval of the pseudo-labels, clustered where
    /// a cluster holds more than one case.
    pub printed: Estimate,
    /// Standard errors and intervals; [`NotEstimable::SingleCase`] with one label.
    pub spread: Estimable<PpiSpread>,
}

/// The uncertainty of a [`Ppi`].
#[derive(Clone, Debug, PartialEq)]
pub struct PpiSpread {
    /// Standard error of the estimate.
    pub se: f64,
    /// The same with variances divided by n, not n − 1, for comparison with the `ppi-python` package.
    pub se_population: f64,
    /// t interval around the estimate, not clipped; covers too little with few labels.
    pub plain: Interval,
    /// Standard error of the human labels alone.
    pub human_only_se: f64,
    /// Variance of the human labels alone over that of the estimate: below 1.1 the judge adds nothing.
    pub gain: Estimable<f64>,
    /// The plain interval from clustered residuals.
    pub plain_clustered: Option<Estimable<ClusteredSpread>>,
    /// With two pseudo-labels added: the interval to print.
    pub augmented: Augmented,
}

/// The same computation after adding two pseudo-labels, on which human and judge disagree both ways.
#[derive(Clone, Debug, PartialEq)]
pub struct Augmented {
    /// How far the judge is trusted.
    pub lambda: f64,
    /// Centre of the interval.
    pub centre: f64,
    /// Standard error.
    pub se: f64,
    /// t interval, clipped to [0, 1].
    pub interval: Interval,
    /// Standard error and interval from clustered residuals.
    pub clustered: Option<Estimable<ClusteredSpread>>,
}

/// A standard error with its interval, from residual totals of clusters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusteredSpread {
    /// Distinct clusters over labelled and unlabelled cases.
    pub clusters: usize,
    /// Clustered standard error.
    pub se: f64,
    /// t interval with (clusters − 1) degrees of freedom.
    pub interval: Interval,
}

/// The pass rate by PPI++ from `labels`.
///
/// With human Y_i and judge f_i on n cases, judge F_j on N others: cov = mean (Y−Ȳ)(f−f̄), var the
/// variance of f and F together, λ = clip(cov/((1+n/N) var), 0, 1), 0 if var = 0.
/// Estimate Ȳ + λ(F̄ − f̄), SE² = s²(Y − λf)/n + λ² s²(F)/N. Clustered: residual totals
/// R_g = Σ_L (Y − λf − mean)/n + Σ_U λ(F − F̄)/N, V = G/(G−1) Σ R_g², t with G − 1.
///
/// The interval to print repeats this after adding the pseudo-labels (Y, f) = (0, 1) and (1, 0), with
/// t_{n−1}, clipped to [0, 1]: with 30 to 100 labels the plain interval covers 85 to 94 %, because the
/// judge looks perfect by luck. Pseudo-labels are clusters of their own and do not count in G. This
/// addition is this project's own and rests on simulation.
///
/// Assumes that the labelled cases are a random sample of all. At least 50 labels, ten of them of the
/// rarer outcome, before a judged number may decide anything. With fewer than two other cases the
/// judge is not used (λ = 0). [`NotEstimable::NoData`] without labels;
/// [`NotEstimable::OneCluster`] of the clustered intervals with one cluster.
///
/// # Errors
/// Lengths that differ, a verdict outside [0, 1], a `confidence` outside (0, 1).
///
/// Source: Angelopoulos, Bates, Fannjiang, Jordan & Zrnic (2023), Science 382 (arXiv 2301.09633);
/// Angelopoulos, Duchi & Zrnic (2023), arXiv 2311.01453.
pub fn ppi(labels: Labels<'_>, confidence: f64) -> Result<Estimable<Ppi>, StatsError> {
    let Labels { human, judge_on_human, judge_rest, clusters } = labels;
    error::check_range("human", human, 0.0, 1.0)?;
    error::check_range("judge_on_human", judge_on_human, 0.0, 1.0)?;
    error::check_range("judge_rest", judge_rest, 0.0, 1.0)?;
    error::check_same_length("human", human.len(), "judge_on_human", judge_on_human.len())?;
    error::check_probability("confidence", confidence)?;
    if let Some(clusters) = clusters {
        clusters.check_covers("human and judge_rest", human.len() + judge_rest.len())?;
    }
    let Some(human_only) = sums::mean(human) else {
        return Ok(Err(NotEstimable::NoData));
    };
    let plain = Fit::of(human, judge_on_human, judge_rest);
    let spread = spread(labels, &plain, confidence);
    Ok(Ok(Ppi {
        printed: printed(labels, plain.estimate, &spread, confidence),
        lambda: plain.lambda,
        estimate: plain.estimate,
        human_only,
        judge_only: sums::mean(judge_rest).ok_or(NotEstimable::NoData),
        spread,
    }))
}

fn printed(labels: Labels<'_>, point: f64, spread: &Estimable<PpiSpread>, confidence: f64) -> Estimate {
    let n_cases = labels.human.len() + labels.judge_rest.len();
    let clustered = labels.clusters.filter(|clusters| !clusters.all_single());
    // (standard error, interval); with clusters both from the residual totals of clusters.
    let errors = spread.as_ref().map_err(|&reason| reason).and_then(|spread| {
        match (clustered, spread.plain_clustered, spread.augmented.clustered) {
            (Some(_), Some(plain), Some(augmented)) => Ok((plain?.se, augmented?.interval)),
            _ => Ok((spread.se, spread.augmented.interval)),
        }
    });
    let independent = clustered.map_or(labels.human.len(), Clusters::len);
    Estimate {
        point,
        interval: errors.map(|(_, interval)| interval),
        se: errors.map(|(se, _)| se),
        df: errors.ok().map(|_| (independent - 1) as f64),
        method: Method::PredictionPowered,
        confidence,
        n_cases,
        n_clusters: clustered.map_or(n_cases, Clusters::len),
        n_samples: n_cases,
    }
}

fn spread(labels: Labels<'_>, plain: &Fit, confidence: f64) -> Estimable<PpiSpread> {
    let n = labels.human.len();
    let human_variance = sums::variance(labels.human).ok_or(NotEstimable::SingleCase)?;
    let quantile = |df: usize| student_quantile(0.5 + 0.5 * confidence, Some(df as f64));
    let with = |labelled: &[f64], pseudo: f64, other: f64| [labelled, &[pseudo, other]].concat();
    let augmented =
        Fit::of(&with(labels.human, 0.0, 1.0), &with(labels.judge_on_human, 1.0, 0.0), labels.judge_rest);
    let clustered = |fit: &Fit, clip: bool| {
        labels.clusters.map(|clusters| {
            let groups = clusters.len();
            let se = fit.clustered_se(n, clusters)?;
            let interval = Interval::around(fit.estimate, quantile(groups - 1) * se);
            Ok(ClusteredSpread {
                clusters: groups,
                se,
                interval: if clip { interval.clipped(0.0, 1.0) } else { interval },
            })
        })
    };
    let se = plain.variance.sqrt();
    let human_only_variance = human_variance / n as f64;
    Ok(PpiSpread {
        se,
        se_population: plain.population_variance.sqrt(),
        plain: Interval::around(plain.estimate, quantile(n - 1) * se),
        human_only_se: human_only_variance.sqrt(),
        gain: if plain.variance > 0.0 {
            Ok(human_only_variance / plain.variance)
        } else {
            Err(NotEstimable::ZeroVariance)
        },
        plain_clustered: clustered(plain, false),
        augmented: Augmented {
            lambda: augmented.lambda,
            centre: augmented.estimate,
            se: augmented.variance.sqrt(),
            interval: Interval::around(augmented.estimate, quantile(n - 1) * augmented.variance.sqrt())
                .clipped(0.0, 1.0),
            clustered: clustered(&augmented, true),
        },
    })
}

/// One computation of the estimate.
struct Fit {
    lambda: f64,
    estimate: f64,
    variance: f64,
    population_variance: f64,
    /// Each label's part of the error: (Y − λf − mean)/n.
    labelled: Vec<f64>,
    /// Each other case's part of the error: λ(F − F̄)/N.
    rest: Vec<f64>,
}

impl Fit {
    /// `human` is not empty.
    fn of(human: &[f64], judge: &[f64], rest: &[f64]) -> Self {
        let mean = |values: &[f64]| sums::mean(values).unwrap_or(0.0);
        let (n, others) = (human.len() as f64, rest.len() as f64);
        let (mean_human, mean_judge, mean_rest) = (mean(human), mean(judge), mean(rest));
        let covariance =
            sums::sum(human.iter().zip(judge).map(|(y, f)| (y - mean_human) * (f - mean_judge))) / n;
        let judge_variance = sums::variance(&[judge, rest].concat()).unwrap_or(0.0);
        let lambda = if judge_variance == 0.0 || rest.len() < 2 {
            0.0
        } else {
            (covariance / ((1.0 + n / others) * judge_variance)).clamp(0.0, 1.0)
        };
        let errors: Vec<f64> = human.iter().zip(judge).map(|(y, f)| y - lambda * f).collect();
        let mean_error = mean(&errors);
        let error_squares = sums::squared_deviations(&errors, mean_error);
        let rest_squares = lambda * lambda * sums::squared_deviations(rest, mean_rest);
        // A judge that is not used adds nothing, whatever its number of verdicts.
        let of_rest = |squares_over: f64| {
            if lambda == 0.0 { 0.0 } else { rest_squares / squares_over }
        };
        Self {
            lambda,
            estimate: mean_human + lambda * (mean_rest - mean_judge),
            variance: error_squares / (n * (n - 1.0)) + of_rest(others * (others - 1.0)),
            population_variance: error_squares / (n * n) + of_rest(others * others),
            labelled: errors.iter().map(|error| (error - mean_error) / n).collect(),
            rest: rest.iter().map(|f| lambda * (f - mean_rest) / others).collect(),
        }
    }

    /// √(G/(G−1) Σ R_g²); labels past the first `n` are pseudo-labels, each its own cluster.
    fn clustered_se(&self, n: usize, clusters: &Clusters) -> Estimable<f64> {
        let groups = clusters.len();
        if groups < 2 {
            return Err(NotEstimable::OneCluster);
        }
        let (real, pseudo) = self.labelled.split_at(n);
        let totals = clusters.totals(&[real, &self.rest].concat());
        let squares = sums::sum(totals.iter().chain(pseudo).map(|total| total * total));
        Ok((groups as f64 / (groups - 1) as f64 * squares).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(human: &[f64], judge_on_human: &[f64], judge_rest: &[f64]) -> Ppi {
        let labels = Labels { human, judge_on_human, judge_rest, clusters: None };
        ppi(labels, 0.95).unwrap().unwrap()
    }

    #[test]
    fn a_judge_that_passes_everything_adds_nothing() {
        let result = of(&[1.0, 0.0, 1.0, 1.0], &[1.0; 4], &[1.0; 50]);
        assert_eq!((result.lambda, result.estimate), (0.0, 0.75));
        assert!((result.spread.unwrap().gain.unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_judge_that_looks_perfect_keeps_an_honest_interval() {
        let human: Vec<f64> = (0..40).map(|i| f64::from(u8::from(i % 10 != 0))).collect();
        let rest: Vec<f64> = (0..1000).map(|i| f64::from(u8::from(i % 10 != 0))).collect();
        let spread = of(&human, &human, &rest).spread.unwrap();
        assert!(spread.augmented.interval.width() > 1.3 * spread.plain.width());
    }

    #[test]
    fn all_labels_passing_is_not_a_certainty() {
        let result = of(&[1.0; 30], &[1.0; 30], &[1.0; 300]);
        assert_eq!(result.estimate, 1.0);
        let spread = result.spread.clone().unwrap();
        assert_eq!((spread.se, spread.gain), (0.0, Err(NotEstimable::ZeroVariance)));
        assert!(result.printed.interval.unwrap().low < 0.95);
    }

    #[test]
    fn without_other_cases_the_labels_stand_alone() {
        let result = of(&[1.0, 0.0, 1.0], &[1.0, 0.0, 1.0], &[]);
        assert_eq!((result.lambda, result.judge_only), (0.0, Err(NotEstimable::NoData)));
        let spread = result.spread.unwrap();
        assert_eq!(spread.se, spread.human_only_se);
        assert_eq!(of(&[1.0, 0.0], &[1.0, 0.0], &[1.0]).lambda, 0.0);
    }

    #[test]
    fn one_label_or_one_cluster_has_no_interval() {
        assert_eq!(of(&[1.0], &[1.0], &[1.0; 9]).spread, Err(NotEstimable::SingleCase));
        let clusters = Clusters::from_labels(&[7; 5]);
        let labels = Labels {
            human: &[1.0, 0.0],
            judge_on_human: &[1.0, 1.0],
            judge_rest: &[1.0, 0.0, 1.0],
            clusters: Some(&clusters),
        };
        let result = ppi(labels, 0.95).unwrap().unwrap();
        assert_eq!(result.printed.interval, Err(NotEstimable::OneCluster));
    }

    #[test]
    fn no_data_and_wrong_input_are_told_apart() {
        let of = |human: &[f64], judge_on_human: &[f64]| {
            let labels = Labels { human, judge_on_human, judge_rest: &[1.0], clusters: None };
            ppi(labels, 0.95).map(|result| result.map(|_| ()))
        };
        assert_eq!(of(&[], &[]), Ok(Err(NotEstimable::NoData)));
        assert!(of(&[1.0], &[]).is_err());
        assert!(of(&[2.0], &[1.0]).is_err());
        assert!(of(&[1.0], &[f64::NAN]).is_err());
    }

    proptest! {
        #[test]
        fn the_order_of_the_labels_does_not_matter(
            labels in prop::collection::vec((0..=1u8, 0..=1u8), 2..60),
            rest in prop::collection::vec(0..=1u8, 2..200),
        ) {
            let (human, judge): (Vec<f64>, Vec<f64>) =
                labels.iter().map(|&(y, f)| (f64::from(y), f64::from(f))).unzip();
            let rest: Vec<f64> = rest.into_iter().map(f64::from).collect();
            let back = |values: &[f64]| values.iter().rev().copied().collect::<Vec<_>>();
            let one = of(&human, &judge, &rest);
            let other = of(&back(&human), &back(&judge), &back(&rest));
            prop_assert!((one.estimate - other.estimate).abs() < 1e-12);
            let (one, other) = (one.printed.interval.unwrap(), other.printed.interval.unwrap());
            prop_assert!((one.low - other.low).abs() < 1e-9);
            prop_assert!((one.high - other.high).abs() < 1e-9);
        }
    }
}
