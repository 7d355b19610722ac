//! Westwood+ (Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion
//! control", CCR 34(2), 2004): Reno's growth. After a loss, the window is that which fills the measured bandwidth without a
//! queue.

use super::{IncreaseDecrease, LossBased};
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind};
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Time};

crate::parameters! {
    /// Westwood+'s constants.
    pub struct Parameters {
        /// Weight of the newest sample in the bandwidth estimate (paper: 0.1; Linux: two filters of 1/8 in a row).
        pub weight: f64 = 0.1, in 0.001..=1.0;
        /// Least share of the window that a congestion leaves (paper: none; ns-2's port of the Linux code, in effect: 0.5).
        pub least_share: f64 = 0.0, in 0.0..=0.99;
        /// Least time that a bandwidth sample takes, where a round trip is shorter (Linux: 50 ms).
        pub min_interval: Duration = Duration::from_millis(50);
        /// Whether a timeout makes it measure the least round-trip time anew, as in Linux.
        pub forget_after_timeout: bool = true;
    }
}

/// The bandwidth estimate after a sample (section 2.1: an exponential average); the first sample is taken as it is (Linux).
pub fn filter(estimate: Option<f64>, sample: f64, weight: f64) -> f64 {
    estimate.map_or(sample, |estimate| (1.0 - weight) * estimate + weight * sample)
}

/// Segments that fill a path of that bandwidth (segments per second) and round-trip time, its queue empty (section 2).
pub fn eligible_window(bandwidth: f64, rtt_min: Duration) -> f64 {
    bandwidth * rtt_min.as_secs()
}

/// Westwood+'s state.
pub type Westwood = LossBased<FasterRecovery>;

/// Bandwidth and least round-trip time.
#[derive(Debug, Clone)]
pub struct FasterRecovery {
    parameters: Parameters,
    /// Segments per second.
    bandwidth: Option<f64>,
    rtt_min: Option<Duration>,
    /// The current sample: when it began, and the segments delivered since.
    since: Option<Time>,
    delivered: u32,
}

impl IncreaseDecrease for FasterRecovery {
    type Parameters = Parameters;

    fn new(parameters: Parameters) -> FasterRecovery {
        FasterRecovery { parameters, bandwidth: None, rtt_min: None, since: None, delivered: 0 }
    }

    fn observe(&mut self, _cwnd: f64, ack: &AckEvent, rtt: &RttEstimate) {
        if let Some(sample) = ack.rtt {
            self.rtt_min = Some(self.rtt_min.map_or(sample, |least| least.min(sample)));
        }
        let Some(since) = self.since else {
            self.since = Some(ack.now);
            return;
        };
        self.delivered += ack.delivered;
        let elapsed = ack.now.since(since);
        let interval = rtt.smoothed().unwrap_or(Duration::ZERO).max(self.parameters.min_interval);
        if elapsed >= interval && elapsed > Duration::ZERO {
            let sample = f64::from(self.delivered) / elapsed.as_secs();
            self.bandwidth = Some(filter(self.bandwidth, sample, self.parameters.weight));
            self.since = Some(ack.now);
            self.delivered = 0;
        }
    }

    fn increase(&mut self, _cwnd: f64, _ack: &AckEvent) -> f64 {
        1.0
    }

    fn decrease(&mut self, window: f64, event: &CongestionEvent) -> f64 {
        let eligible = self.bandwidth.zip(self.rtt_min).map(|(bandwidth, rtt_min)| eligible_window(bandwidth, rtt_min));
        if self.parameters.forget_after_timeout && matches!(event.kind, CongestionKind::Timeout { .. }) {
            self.rtt_min = None;
        }
        // Before the first sample, as Reno.
        eligible.unwrap_or(window / 2.0).max(self.parameters.least_share * window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::CongestionControl;
    use crate::tcp::congestion::loss_based::newreno::NewReno;
    use crate::tcp::congestion::testing::bottleneck::{Bench, Path, flow};
    use crate::tcp::congestion::testing::ideal::{Ideal, near};

    #[test]
    fn the_filter_moves_a_tenth_of_the_way() {
        assert_eq!(filter(None, 500.0, 0.1), 500.0);
        near(filter(Some(500.0), 1000.0, 0.1), 550.0, 1e-9);
    }

    #[test]
    fn a_thousand_segments_a_second_need_50_at_50_ms() {
        near(eligible_window(1000.0, Duration::from_millis(50)), 50.0, 1e-9);
    }

    #[test]
    fn a_loss_on_a_path_without_queue_takes_nothing_but_the_lag_of_the_estimate() {
        let mut path = Ideal::new(Westwood::new(Parameters::default(), flow(1)));
        path.grow_to(100.0);
        path.congestion(CongestionKind::Loss);
        let remains = path.control.cwnd();
        assert!(remains < 50.0, "the estimate lags behind slow start: {remains}");
        path.acks_for(60.0);
        let before = path.control.cwnd();
        path.congestion(CongestionKind::Loss);
        near(path.control.cwnd(), before - 9.5, 1.5); // an average over ten round trips, a segment each
    }

    #[test]
    fn a_loss_takes_the_queue() {
        // 50 segments fill the path, 50 more the queue: half the window is left of any loss, and no more is taken.
        let path = Path { rate: 1000.0, delay: Duration::from_millis(50), buffer: 50.0, loss: 0.0 };
        let mut bench = Bench::new(Westwood::new(Parameters::default(), flow(1)), path);
        bench.run(30.0);
        let least = bench.run(60.0).min_in_flight;
        assert!((45..=55).contains(&least), "{least}");
    }

    #[test]
    fn random_loss_costs_it_less_than_newreno() {
        let path = Path { rate: 1000.0, delay: Duration::from_millis(50), buffer: 50.0, loss: 0.002 };
        let westwood = Bench::new(Westwood::new(Parameters::default(), flow(1)), path).run(120.0).goodput;
        let newreno = Bench::new(NewReno::new(Default::default(), flow(1)), path).run(120.0).goodput;
        assert!(westwood > 0.85 * path.rate && newreno < 0.75 * path.rate, "{westwood} {newreno}");
    }

    #[test]
    fn a_least_share_bounds_what_a_loss_takes() {
        let mut law = FasterRecovery::new(Parameters { least_share: 0.5, ..Parameters::default() });
        (law.bandwidth, law.rtt_min) = (Some(1000.0), Some(Duration::from_millis(50)));
        let event = CongestionEvent { now: Time::ZERO, kind: CongestionKind::Loss, prior_in_flight: 120 };
        assert_eq!((law.decrease(120.0, &event), law.decrease(80.0, &event)), (60.0, 50.0));
    }

    #[test]
    fn a_timeout_leaves_the_estimate_as_threshold_and_measures_the_least_rtt_anew() {
        let mut law = FasterRecovery::new(Parameters::default());
        (law.bandwidth, law.rtt_min) = (Some(1000.0), Some(Duration::from_millis(50)));
        let kind = CongestionKind::Timeout { repeated: false };
        let event = CongestionEvent { now: Time::ZERO, kind, prior_in_flight: 80 };
        near(law.decrease(80.0, &event), 50.0, 1e-9);
        assert_eq!(law.rtt_min, None);
    }
}
