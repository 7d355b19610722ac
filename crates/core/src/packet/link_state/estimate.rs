//! Estimates of each link's delay and loss by passive measurement, as in the testbed of TCPBP (Vilela, Fonseca and Fonseca, section 5.1).
//! An estimate is the simple moving average of the last samples, taken at fixed intervals.

use super::interval::{Interval, Z};
use std::collections::VecDeque;

/// The counters of a link since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// Packets that have arrived at the far end.
    pub arrived: u64,
    /// Packets that were lost: dropped by its queue, lost on its wire, or offered while it was down.
    pub lost: u64,
    /// The sum of the times from offer to arrival, over the packets that have arrived, picoseconds.
    pub transit: u128,
    /// The sum of the squares of these times, square picoseconds.
    pub squares: u128,
}

impl Reading {
    /// The delay since the `earlier` reading: queueing, transmission and propagation. `None` if no packet has arrived since then.
    fn delay_since(&self, earlier: &Reading) -> Option<DelaySample> {
        let arrived = self.arrived - earlier.arrived;
        (arrived > 0).then(|| {
            let count = arrived as f64;
            let mean = (self.transit - earlier.transit) as f64 * 1e-12 / count;
            let squares = (self.squares - earlier.squares) as f64 * 1e-24 / count;
            let variance = if arrived > 1 { (squares - mean * mean).max(0.0) / (count - 1.0) } else { f64::INFINITY };
            DelaySample { mean, variance }
        })
    }

    /// The losses since the `earlier` reading. `None` if no packet has arrived or been lost since then.
    fn loss_since(&self, earlier: &Reading) -> Option<LossSample> {
        let lost = self.lost - earlier.lost;
        let all = lost + self.arrived - earlier.arrived;
        (all > 0).then_some(LossSample { lost, all })
    }
}

/// The delay of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
struct DelaySample {
    /// Seconds.
    mean: f64,
    /// That of the mean, square seconds; infinite for one packet.
    variance: f64,
}

/// The packets of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LossSample {
    lost: u64,
    all: u64,
}

/// The last samples.
#[derive(Debug, Clone)]
struct Window<Sample> {
    length: usize,
    samples: VecDeque<Sample>,
}

impl<Sample> Window<Sample> {
    fn new(length: u32) -> Window<Sample> {
        Window { length: length as usize, samples: VecDeque::new() }
    }

    fn push(&mut self, sample: Sample) {
        self.samples.push_back(sample);
        if self.samples.len() > self.length {
            self.samples.pop_front();
        }
    }

    /// The mean of a value of the samples, all of the same weight; `None` before the first sample.
    fn mean(&self, value: impl Fn(&Sample) -> f64) -> Option<f64> {
        (!self.samples.is_empty()).then(|| self.samples.iter().map(value).sum::<f64>() / self.samples.len() as f64)
    }
}

/// The estimate of one link.
#[derive(Debug, Clone)]
pub struct Estimate {
    last: Reading,
    delays: Window<DelaySample>,
    losses: Window<LossSample>,
}

impl Estimate {
    /// No estimate yet. Averages are over `window` samples.
    pub fn new(window: u32) -> Estimate {
        Estimate { last: Reading::default(), delays: Window::new(window), losses: Window::new(window) }
    }

    /// Takes a sample of the packets since the last one. Without packets, the estimate stays.
    pub fn sample(&mut self, reading: Reading) {
        if let Some(delay) = reading.delay_since(&self.last) {
            self.delays.push(delay);
        }
        if let Some(loss) = reading.loss_since(&self.last) {
            self.losses.push(loss);
        }
        self.last = reading;
    }

    /// The delay in seconds; `None` until a packet has arrived.
    pub fn delay(&self) -> Option<f64> {
        self.delays.mean(|delay| delay.mean)
    }

    /// The loss ratio; `None` until a packet has arrived or was lost.
    pub fn loss(&self) -> Option<f64> {
        self.losses.mean(|sample| sample.lost as f64 / sample.all as f64)
    }

    /// The 95 % interval of the delay: normal, from the variance of the packets. Exact before the first packet.
    pub fn delay_interval(&self) -> Interval {
        let samples = &self.delays.samples;
        let variance: f64 = samples.iter().map(|delay| delay.variance).sum();
        let value = self.delay().unwrap_or(0.0);
        let half = if samples.is_empty() { 0.0 } else { Z * variance.sqrt() / samples.len() as f64 };
        Interval { low: (value - half).max(0.0), value, high: value + half }
    }

    /// The 95 % interval of the loss ratio: Wilson's, of all packets of the samples. Exact before the first packet.
    pub fn loss_interval(&self) -> Interval {
        let all: u64 = self.losses.samples.iter().map(|sample| sample.all).sum();
        self.loss().map_or_else(Interval::default, |loss| Interval::wilson(loss, all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reading after `arrived` more packets with a delay of `milliseconds` each, and `lost` more losses.
    fn after(before: Reading, arrived: u64, milliseconds: u64, lost: u64) -> Reading {
        Reading {
            arrived: before.arrived + arrived,
            lost: before.lost + lost,
            transit: before.transit + u128::from(arrived) * u128::from(milliseconds) * 1_000_000_000,
            squares: before.squares + u128::from(arrived) * (u128::from(milliseconds) * 1_000_000_000).pow(2),
        }
    }

    #[test]
    fn an_average_is_that_of_the_last_window_of_values_by_a_worked_number() {
        let mut average = Window::new(3);
        assert_eq!(average.mean(|value| *value), None);
        let mut means = Vec::new();
        for value in [2.0, 4.0, 9.0, 5.0, 1.0] {
            average.push(value);
            means.push(average.mean(|value| *value).unwrap());
        }
        assert_eq!(means, [2.0, 3.0, 5.0, 6.0, 5.0]);
    }

    /// Samples weigh the same, however many packets they are of: 10 packets of 4 ms, then 1000 of 6 ms, make 5 ms; and 1 lost
    /// of 10, then none of 1000, make 5 %.
    #[test]
    fn a_sample_counts_once_however_many_packets_it_is_of() {
        let mut estimate = Estimate::new(3);
        assert_eq!((estimate.delay(), estimate.loss()), (None, None));
        let first = after(Reading::default(), 9, 4, 1);
        estimate.sample(first);
        assert!((estimate.delay().unwrap() - 0.004).abs() < 1e-15);
        assert_eq!(estimate.loss(), Some(0.1));
        estimate.sample(after(first, 1000, 6, 0));
        assert!((estimate.delay().unwrap() - 0.005).abs() < 1e-15);
        assert_eq!(estimate.loss(), Some(0.05));
    }

    #[test]
    fn a_sample_without_packets_changes_nothing_and_one_of_losses_alone_leaves_the_delay() {
        let mut estimate = Estimate::new(2);
        let first = after(Reading::default(), 3, 7, 0);
        estimate.sample(first);
        estimate.sample(first);
        assert_eq!((estimate.delay(), estimate.loss()), (Some(0.007), Some(0.0)));
        estimate.sample(after(first, 0, 0, 5));
        assert_eq!((estimate.delay(), estimate.loss()), (Some(0.007), Some(0.5)));
    }

    /// Packets of 4 and 6 ms alternate, 50 each: the variance of one is 1 ms^2 (100 / 99 as estimated), that of the mean of 100 is
    /// 1 / 99 ms^2. Two such samples halve it.
    #[test]
    fn the_interval_of_a_delay_is_normal_by_worked_numbers() {
        let mut estimate = Estimate::new(2);
        assert_eq!(estimate.delay_interval(), Interval::default());
        let first = after(after(Reading::default(), 50, 4, 0), 50, 6, 0);
        estimate.sample(first);
        let half = |estimate: &Estimate| estimate.delay_interval().high - estimate.delay_interval().value;
        assert!((half(&estimate) - 1.96e-3 / 99f64.sqrt()).abs() < 1e-9);
        estimate.sample(after(after(first, 50, 4, 0), 50, 6, 0));
        assert!((half(&estimate) - 1.96e-3 / 198f64.sqrt()).abs() < 1e-9);
        let mut single = Estimate::new(2);
        single.sample(after(Reading::default(), 1, 4, 0));
        assert_eq!(single.delay_interval().high, f64::INFINITY, "one packet says nothing of the variance");
    }
}
