//! Random values by an empirical distribution.

/// An empirical cumulative distribution: linear between its points, with an atom at the first point if its probability is not zero.
#[derive(Debug, Clone, PartialEq)]
pub struct EmpiricalDistribution {
    points: Vec<(f64, f64)>,
}

impl EmpiricalDistribution {
    /// A distribution through ascending points (value, cumulative probability). Two points with one value make an atom, two points
    /// with one probability a gap.
    ///
    /// # Errors
    /// Names the point and the problem. Values must be positive; the first may be 0 with probability 0. Neither values nor
    /// probabilities may fall, and the last probability must be 1.
    pub fn new(points: &[(f64, f64)]) -> Result<EmpiricalDistribution, String> {
        let &[(first, first_probability), ..] = points else {
            return Err("the distribution has no points".into());
        };
        for (value, probability) in points {
            if !value.is_finite() || !(0.0..=1.0).contains(probability) {
                return Err(format!(
                    "the point ({value}, {probability}) must have a finite value and a probability between 0 and 1"
                ));
            }
        }
        if first < 0.0 || first == 0.0 && first_probability > 0.0 {
            return Err(format!("the point ({first}, {first_probability}) must have a positive value"));
        }
        if let Some(pair) = points.windows(2).find(|pair| pair[0].0 > pair[1].0 || pair[0].1 > pair[1].1) {
            return Err(format!(
                "the point ({}, {}) follows ({}, {}): points must be ascending in value and cumulative probability",
                pair[1].0, pair[1].1, pair[0].0, pair[0].1
            ));
        }
        match points.last() {
            Some((_, 1.0)) if points.iter().any(|(value, _)| *value > 0.0) => {
                Ok(EmpiricalDistribution { points: points.to_vec() })
            }
            Some((_, 1.0)) => Err("the distribution has no positive value".into()),
            last => {
                Err(format!("the last cumulative probability is {}: it must be 1", last.map_or(0.0, |last| last.1)))
            }
        }
    }

    /// The quantile: the least value that this share (0 to 1) of all draws does not exceed.
    pub fn quantile(&self, probability: f64) -> f64 {
        let above = self.points.partition_point(|(_, cumulative)| *cumulative < probability);
        let Some(&(value, cumulative)) = self.points.get(above) else {
            return self.points[self.points.len() - 1].0;
        };
        let Some(&(value_below, cumulative_below)) = above.checked_sub(1).map(|below| &self.points[below]) else {
            return value;
        };
        value_below + (value - value_below) * (probability - cumulative_below) / (cumulative - cumulative_below)
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        let (first, first_probability) = self.points[0];
        let segments = self.points.windows(2).map(|pair| (pair[1].1 - pair[0].1) * (pair[0].0 + pair[1].0) / 2.0);
        first * first_probability + segments.sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Stream};
    use proptest::prelude::*;

    fn distribution(points: &[(f64, f64)]) -> EmpiricalDistribution {
        EmpiricalDistribution::new(points).unwrap()
    }

    #[test]
    fn quantiles_are_linear_between_points_and_constant_on_atoms() {
        let sizes = distribution(&[(10.0, 0.2), (20.0, 0.6), (100.0, 0.6), (200.0, 0.8), (200.0, 1.0)]);
        let cases = [(0.0, 10.0), (0.2, 10.0), (0.4, 15.0), (0.6, 20.0), (0.7, 150.0), (0.8, 200.0), (1.0, 200.0)];
        for (probability, value) in cases {
            assert!((sizes.quantile(probability) - value).abs() < 1e-9, "{probability}");
        }
    }

    #[test]
    fn the_mean_is_that_of_a_worked_example_and_of_the_draws() {
        let sizes = distribution(&[(10.0, 0.2), (20.0, 0.6), (100.0, 0.6), (200.0, 0.8), (200.0, 1.0)]);
        // 0.2 * 10 + 0.4 * 15 + 0.2 * 150 + 0.2 * 200
        assert!((sizes.mean() - 78.0).abs() < 1e-9);
        let stream = Stream::new(1, Purpose::Arrival, 0);
        let drawn = (0..200_000).map(|index| sizes.quantile(stream.uniform(index))).sum::<f64>() / 2e5;
        assert!((drawn - 78.0).abs() < 1.0, "{drawn}");
    }

    #[test]
    fn wrong_points_are_named() {
        let error = |points: &[(f64, f64)]| EmpiricalDistribution::new(points).unwrap_err();
        assert!(error(&[]).contains("no points"));
        assert!(error(&[(1.0, 0.5)]).contains("0.5: it must be 1"));
        assert!(error(&[(-1.0, 0.5), (1.0, 1.0)]).contains("(-1, 0.5)"));
        assert!(error(&[(0.0, 0.5), (1.0, 1.0)]).contains("positive"));
        assert!(error(&[(0.0, 0.0), (0.0, 1.0)]).contains("no positive"));
        assert!(error(&[(2.0, 0.5), (1.0, 1.0)]).contains("(1, 1) follows (2, 0.5)"));
        assert!(error(&[(1.0, 0.5), (2.0, 0.4), (3.0, 1.0)]).contains("(2, 0.4) follows (1, 0.5)"));
        assert!(error(&[(1.0, 0.5), (2.0, 1.5)]).contains("between 0 and 1"));
        assert!(error(&[(f64::NAN, 1.0)]).contains("finite"));
    }

    proptest! {
        #[test]
        fn the_quantile_never_falls_and_stays_between_the_ends(
            steps in proptest::collection::vec((0.0f64..1e6, 0.0f64..1.0), 1..20),
            probabilities in proptest::collection::vec(0.0f64..=1.0, 2..50),
        ) {
            let total = steps.iter().map(|step| step.1).sum::<f64>();
            let mut points = Vec::new();
            let (mut value, mut cumulative) = (1.0, 0.0);
            for (gap, weight) in steps {
                value += gap;
                cumulative += weight / total.max(1e-9);
                points.push((value, cumulative.min(1.0)));
            }
            points.push((value + 1.0, 1.0));
            let distribution = distribution(&points);
            let mut probabilities = probabilities;
            probabilities.sort_by(f64::total_cmp);
            let quantiles: Vec<f64> = probabilities.iter().map(|share| distribution.quantile(*share)).collect();
            for pair in quantiles.windows(2) {
                prop_assert!(pair[0] <= pair[1] * (1.0 + 1e-12));
            }
            let (least, greatest) = (points[0].0 * (1.0 - 1e-12), points[points.len() - 1].0 * (1.0 + 1e-12));
            prop_assert!(quantiles.iter().all(|value| (least..=greatest).contains(value)));
        }
    }
}
