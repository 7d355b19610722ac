//! Estimates of each link's delay and loss by passive measurement, as in the testbed of TCPBP (Vilela, Fonseca and Fonseca, section 5.1).
//! An estimate is the simple moving average of the last samples, taken at fixed intervals.

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
}

impl Reading {
    /// The mean delay since the `earlier` reading, seconds: queueing, transmission and propagation. `None` if no packet
    /// has arrived since then.
    pub fn delay_since(&self, earlier: &Reading) -> Option<f64> {
        let arrived = self.arrived - earlier.arrived;
        (arrived > 0).then(|| (self.transit - earlier.transit) as f64 * 1e-12 / arrived as f64)
    }

    /// The loss ratio since the `earlier` reading. `None` if no packet has arrived or been lost since then.
    pub fn loss_since(&self, earlier: &Reading) -> Option<f64> {
        let lost = self.lost - earlier.lost;
        let all = lost + self.arrived - earlier.arrived;
        (all > 0).then(|| lost as f64 / all as f64)
    }
}

/// A simple moving average.
#[derive(Debug, Clone)]
pub struct MovingAverage {
    window: usize,
    values: VecDeque<f64>,
}

impl MovingAverage {
    /// The mean of the last `window` values, or of all values while there are fewer.
    pub fn new(window: u32) -> MovingAverage {
        MovingAverage { window: window as usize, values: VecDeque::new() }
    }

    /// Adds a value.
    pub fn push(&mut self, value: f64) {
        self.values.push_back(value);
        if self.values.len() > self.window {
            self.values.pop_front();
        }
    }

    /// The mean; `None` before the first value.
    pub fn mean(&self) -> Option<f64> {
        (!self.values.is_empty()).then(|| self.values.iter().sum::<f64>() / self.values.len() as f64)
    }
}

/// The estimate of one link.
#[derive(Debug, Clone)]
pub struct Estimate {
    last: Reading,
    delay: MovingAverage,
    loss: MovingAverage,
}

impl Estimate {
    /// No estimate yet. Averages are over `window` samples.
    pub fn new(window: u32) -> Estimate {
        Estimate { last: Reading::default(), delay: MovingAverage::new(window), loss: MovingAverage::new(window) }
    }

    /// Takes a sample of the packets since the last one. Without packets, the estimate stays.
    pub fn sample(&mut self, reading: Reading) {
        if let Some(delay) = reading.delay_since(&self.last) {
            self.delay.push(delay);
        }
        if let Some(loss) = reading.loss_since(&self.last) {
            self.loss.push(loss);
        }
        self.last = reading;
    }

    /// The delay in seconds; `None` until a packet has arrived.
    pub fn delay(&self) -> Option<f64> {
        self.delay.mean()
    }

    /// The loss ratio; `None` until a packet has arrived or was lost.
    pub fn loss(&self) -> Option<f64> {
        self.loss.mean()
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
        }
    }

    #[test]
    fn an_average_is_that_of_the_last_window_of_values_by_a_worked_number() {
        let mut average = MovingAverage::new(3);
        let mut means = Vec::new();
        for value in [2.0, 4.0, 9.0, 5.0, 1.0] {
            average.push(value);
            means.push(average.mean().unwrap());
        }
        assert_eq!(means, [2.0, 3.0, 5.0, 6.0, 5.0]);
        assert_eq!(MovingAverage::new(3).mean(), None);
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
}
