//! Histograms of durations with a bounded size and a bounded relative error: each octave has 128 equal buckets (log-linear, as HDR histograms).
//!
//! A bucket that begins at 128 ps or later is at most 1/128 of its beginning wide. A quantile is the middle of its bucket, so it differs from the
//! exact value by at most 1/256 (0.4 %). Below 128 ps, buckets are single picoseconds. Mean and greatest value are exact.

use crate::units::Duration;

/// Buckets of an octave, as a power of two.
const BITS: u32 = 7;
const BUCKETS: usize = 1 << BITS;
type Octave = Box<[u64; BUCKETS]>;

/// Counts of durations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Histogram {
    /// The first octave has the durations below 128 ps, the next those below 256 ps. Octaves without a duration have no buckets.
    octaves: Vec<Option<Octave>>,
    count: u64,
    /// Picoseconds.
    sum: u128,
    greatest: Duration,
}

/// The octave and the bucket of a value.
fn place(value: u64) -> (usize, usize) {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(BITS + 1);
    let bucket = (value >> shift) as usize;
    if bucket < BUCKETS { (0, bucket) } else { (shift as usize + 1, bucket - BUCKETS) }
}

/// The middle of a bucket, picoseconds.
fn middle(octave: usize, bucket: usize) -> f64 {
    let (octave, bucket) = (octave as u32, bucket as u64);
    match octave.checked_sub(1) {
        None => bucket as f64,
        Some(shift) => {
            let (first, width) = ((bucket + BUCKETS as u64) << shift, 1_u64 << shift);
            first as f64 + (width - 1) as f64 / 2.0
        }
    }
}

impl Histogram {
    /// Counts a duration.
    pub fn record(&mut self, value: Duration) {
        let (octave, bucket) = place(value.0);
        if self.octaves.len() <= octave {
            self.octaves.resize(octave + 1, None);
        }
        self.octaves[octave].get_or_insert_with(|| Box::new([0; BUCKETS]))[bucket] += 1;
        self.count += 1;
        self.sum += u128::from(value.0);
        self.greatest = self.greatest.max(value);
    }

    /// The number of durations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean in seconds; NaN without a duration.
    pub fn mean_s(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.sum as f64 * 1e-12 / self.count as f64 }
    }

    /// The greatest duration in seconds; NaN without a duration.
    pub fn greatest_s(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.greatest.as_secs() }
    }

    /// Median, 95th and 99th percentile in seconds; NaN without a duration.
    pub fn percentiles_s(&self) -> [f64; 3] {
        [0.5, 0.95, 0.99].map(|share| self.quantile_s(share))
    }

    /// In seconds, the least duration that at least this share of all durations does not exceed (nearest rank); NaN without a duration.
    pub fn quantile_s(&self, share: f64) -> f64 {
        let rank = ((share * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut below = 0;
        for (octave, buckets) in self.octaves.iter().enumerate() {
            for (bucket, count) in buckets.iter().flat_map(|buckets| buckets.iter().enumerate()) {
                below += count;
                if below >= rank {
                    return (middle(octave, bucket) * 1e-12).min(self.greatest.as_secs());
                }
            }
        }
        f64::NAN
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The nearest rank in the sorted list.
    pub(crate) fn exact_quantile(sorted: &[u64], share: f64) -> u64 {
        sorted[((share * sorted.len() as f64).ceil() as usize).max(1) - 1]
    }

    /// Checks quantiles, mean and maximum against all values.
    pub(crate) fn check_against_list(histogram: &Histogram, values: &mut [u64]) {
        values.sort_unstable();
        for share in [0.0, 0.01, 0.5, 0.95, 0.99, 1.0] {
            let (exact, found) = (exact_quantile(values, share) as f64, histogram.quantile_s(share) * 1e12);
            assert!((found - exact).abs() <= exact / 256.0 + 1e-3, "quantile {share}: {found}, but exactly {exact}");
        }
        let mean = values.iter().map(|value| *value as f64).sum::<f64>() / values.len() as f64;
        assert!((histogram.mean_s() * 1e12 / mean.max(1e-9) - 1.0).abs() < 1e-9 || mean == 0.0);
        assert_eq!(histogram.greatest_s(), Duration(values[values.len() - 1]).as_secs());
    }

    proptest! {
        /// Values of all magnitudes that the clock has.
        #[test]
        fn quantiles_are_those_of_the_sorted_list_within_a_256th(
            values in prop::collection::vec((0u32..56, any::<u64>()), 1..300),
        ) {
            let mut values: Vec<u64> = values.into_iter().map(|(bits, value)| value & ((1 << bits) - 1)).collect();
            let mut histogram = Histogram::default();
            values.iter().for_each(|value| histogram.record(Duration(*value)));
            check_against_list(&histogram, &mut values);
        }
    }

    /// From one bucket to the next, over all octaves: no value is outside of its bucket, and no bucket is wider than its share.
    #[test]
    fn buckets_adjoin_and_are_at_most_a_128th_wide() {
        let mut last = (0, 0);
        let mut begin = 0_u64;
        let edges = (0..56).flat_map(|bits| (0..256_u64).map(move |step| (1 << bits) + (step << bits) / 256));
        for value in edges {
            let now = place(value);
            assert!(now >= last, "{value} comes before {last:?}");
            if now != last {
                (last, begin) = (now, value);
            }
            assert!((value - begin) as f64 <= value as f64 / 128.0);
            assert!((middle(now.0, now.1) - value as f64).abs() <= value as f64 / 256.0);
        }
    }

    #[test]
    fn nothing_has_no_mean_and_no_quantile() {
        let empty = Histogram::default();
        assert!(empty.mean_s().is_nan() && empty.greatest_s().is_nan() && empty.quantile_s(0.5).is_nan());
    }
}
