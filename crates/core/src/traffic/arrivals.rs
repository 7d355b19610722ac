//! Short flows that arrive as a Poisson process.

use crate::rng::{Sequence, Stream};
use crate::traffic::distribution::EmpiricalDistribution;
use crate::units::{Duration, Time};

/// A flow that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When it starts.
    pub start: Time,
    /// Index of its pair of ends.
    pub pair: u32,
    /// Payload that it carries, at least 1.
    pub bytes: u64,
}

/// The flows of one traffic group in the order of their arrival, until the group stops.
#[derive(Debug, Clone)]
pub struct ShortFlowArrivals {
    mean_interval: f64,
    sizes: EmpiricalDistribution,
    pairs: u32,
    now: Time,
    stop: Time,
    draws: Sequence,
}

impl ShortFlowArrivals {
    /// `arrivals` flows per second (positive) over all `pairs` (at least one), after `start` and before `stop`. The
    /// stream is the traffic group's, for [`crate::rng::Purpose::Arrival`].
    pub fn new(
        arrivals: f64,
        sizes: EmpiricalDistribution,
        pairs: u32,
        start: Time,
        stop: Time,
        stream: Stream,
    ) -> ShortFlowArrivals {
        ShortFlowArrivals {
            mean_interval: 1.0 / arrivals,
            sizes,
            pairs,
            now: start,
            stop,
            draws: Sequence::new(stream),
        }
    }
}

impl Iterator for ShortFlowArrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let interval = Duration::from_secs_f64(self.draws.exponential(self.mean_interval));
        self.now = Time(self.now.0.saturating_add(interval.0));
        if self.now >= self.stop {
            return None;
        }
        let pair = self.draws.below(u64::from(self.pairs)) as u32;
        let bytes = self.sizes.quantile(self.draws.uniform()).ceil().max(1.0) as u64;
        Some(Arrival { start: self.now, pair, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;
    use proptest::prelude::*;

    fn arrivals(rate: f64, pairs: u32, start: Time, stop: Time) -> ShortFlowArrivals {
        let sizes = EmpiricalDistribution::new(&[(0.0, 0.0), (10_000.0, 0.5), (100_000.0, 1.0)]).unwrap();
        ShortFlowArrivals::new(rate, sizes, pairs, start, stop, Stream::new(4, Purpose::Arrival, 0))
    }

    fn seconds(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn arrivals_per_second_have_the_mean_and_variance_of_a_poisson_process() {
        let mut counts = vec![0.0f64; 5000];
        for arrival in arrivals(20.0, 4, Time::ZERO, seconds(5000)) {
            counts[arrival.start.as_secs() as usize] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / 5e3;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 5e3;
        assert!((mean - 20.0).abs() < 0.3, "mean {mean}");
        assert!((variance - 20.0).abs() < 2.0, "variance {variance}");
    }

    #[test]
    fn pairs_are_drawn_uniformly_and_sizes_by_their_distribution() {
        let flows: Vec<Arrival> = arrivals(1000.0, 4, Time::ZERO, seconds(100)).collect();
        for pair in 0..4 {
            let share = flows.iter().filter(|flow| flow.pair == pair).count() as f64 / flows.len() as f64;
            assert!((share - 0.25).abs() < 0.01, "pair {pair}: {share}");
        }
        let mean = flows.iter().map(|flow| flow.bytes as f64).sum::<f64>() / flows.len() as f64;
        // 0.5 * 5000 + 0.5 * 55000
        assert!((mean / 30_000.0 - 1.0).abs() < 0.02, "mean {mean}");
        assert!(flows.iter().all(|flow| (1..=100_000).contains(&flow.bytes)));
    }

    proptest! {
        #[test]
        fn flows_arrive_in_order_within_their_time(
            rate in 1e-300f64..1e4, pairs in 1u32..100, start in 0u64..3, length in 0u64..3,
        ) {
            let mut previous = seconds(start);
            for flow in arrivals(rate, pairs, previous, seconds(start + length)).take(5000) {
                prop_assert!(flow.start >= previous && flow.start < seconds(start + length));
                prop_assert!(flow.pair < pairs && flow.bytes >= 1);
                previous = flow.start;
            }
        }
    }
}
