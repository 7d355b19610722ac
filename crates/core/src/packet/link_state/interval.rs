//! Confidence intervals of 95 %: of a link's estimates, and of the cost of a path.

/// The quantile of the normal distribution for 95 %.
pub const Z: f64 = 1.96;

/// A value with the bounds of its interval.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Interval {
    /// The lower bound.
    pub low: f64,
    /// The estimate.
    pub value: f64,
    /// The upper bound.
    pub high: f64,
}

impl Interval {
    /// That of a share which was seen among `number` draws (Wilson 1927).
    pub fn wilson(share: f64, number: u64) -> Interval {
        let squared = Z * Z / number as f64;
        let centre = (share + squared / 2.0) / (1.0 + squared);
        let half = (squared * share * (1.0 - share) + squared * squared / 4.0).sqrt() / (1.0 + squared);
        Interval { low: (centre - half).max(0.0), value: share, high: (centre + half).min(1.0) }
    }

    /// That of a sum, or of a share near a sum: errors of the parts are independent, so their squares add up.
    pub fn around(value: f64, parts: impl Iterator<Item = Interval> + Clone) -> Interval {
        let squares = |error: fn(&Interval) -> f64| parts.clone().map(|part| error(&part).powi(2)).sum::<f64>();
        Interval {
            low: (value - squares(|part| part.value - part.low).sqrt()).max(0.0),
            value,
            high: value + squares(|part| part.high - part.value).sqrt(),
        }
    }

    /// The interval with all three values changed by a function that rises.
    pub fn map(self, change: impl Fn(f64) -> f64) -> Interval {
        Interval { low: change(self.low), value: change(self.value), high: change(self.high) }
    }

    /// The product of values that are not negative: both ends are those of the factors.
    pub fn times(self, other: Interval) -> Interval {
        Interval { low: self.low * other.low, value: self.value * other.value, high: self.high * other.high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wilson's interval of 10 of 100 is 5.52 % to 17.44 % (Agresti and Coull 1998, by its formula); of none of 100 it ends at 3.70 %.
    #[test]
    fn wilson_s_interval_by_worked_numbers() {
        let ten = Interval::wilson(0.1, 100);
        assert!((ten.low - 0.0552).abs() < 5e-5 && (ten.high - 0.1744).abs() < 5e-5, "{ten:?}");
        let none = Interval::wilson(0.0, 100);
        assert!(none.low == 0.0 && (none.high - 0.0370).abs() < 5e-5, "{none:?}");
    }

    #[test]
    fn errors_of_parts_add_up_as_squares() {
        let parts = [(3.0, 1.0), (4.0, 2.0)].map(|(error, value)| Interval { low: value, value, high: value + error });
        let sum = Interval::around(3.0, parts.into_iter());
        assert_eq!((sum.low, sum.value, sum.high), (3.0, 3.0, 8.0));
    }
}
