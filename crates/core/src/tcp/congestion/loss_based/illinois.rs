//! TCP-Illinois (Liu, Basar, Srikant, "TCP-Illinois: a loss- and delay-based congestion control algorithm for high-speed
//! networks", Performance Evaluation 65, 2008). Loss decides when to reduce the window; queueing delay decides the speed of
//! growth and the share of the reduction.

use super::{IncreaseDecrease, LossBased};
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind};
use crate::tcp::rtt::RttEstimate;
use crate::units::Duration;

crate::parameters! {
    /// TCP-Illinois' constants.
    pub struct Parameters {
        /// Segments of growth a round trip while the queue is empty (paper and Linux: 10).
        pub alpha_max: f64 = 10.0, in 1.0..=1000.0;
        /// Segments of growth a round trip when the queue is as long as it ever was (paper and Linux: 0.3).
        pub alpha_min: f64 = 0.3, in 0.001..=1.0;
        /// Share of the window that a loss takes while the queue is empty (paper and Linux: 1/8).
        pub beta_min: f64 = 0.125, in 0.01..=0.9;
        /// Share of the window that a loss takes when the queue is long (paper and Linux: 1/2).
        pub beta_max: f64 = 0.5, in 0.01..=0.9;
        /// Window below which it is Reno, segments (paper: 10; Linux: 15).
        pub window_threshold: f64 = 10.0, in 0.0..=100_000.0;
        /// Round trips of empty queue in a row until the growth is `alpha_max` again (theta; paper and Linux: 5).
        pub theta: u32 = 5, in 1..=1000;
    }
}

/// Shares of the greatest queueing delay (eta 1 to 3). The increase is greatest up to the first, the decrease least up to the
/// second and greatest from the third on.
const ETA: (f64, f64, f64) = (0.01, 0.1, 0.8);

/// Growth at average queueing delay `d_a` if the greatest seen is `d_m` (section 3.1, the constants put in). It is `alpha_max` up
/// to d1 and k1 / (k2 + d_a) beyond, which falls to `alpha_min` at `d_m`.
pub fn alpha(d_a: f64, d_m: f64, alpha_min: f64, alpha_max: f64) -> f64 {
    let d_1 = ETA.0 * d_m;
    if d_a <= d_1 {
        return alpha_max;
    }
    let (d_a, d_m) = (d_a - d_1, d_m - d_1);
    d_m * alpha_min * alpha_max / (d_m * alpha_min + d_a * (alpha_max - alpha_min))
}

/// Share of the window that a loss takes, at average queueing delay `d_a` and greatest delay `d_m` (section 3.1): `beta_min` up
/// to d2, `beta_max` from d3 on, linear between them.
pub fn beta(d_a: f64, d_m: f64, beta_min: f64, beta_max: f64) -> f64 {
    let (d_2, d_3) = (ETA.1 * d_m, ETA.2 * d_m);
    if d_a <= d_2 {
        beta_min
    } else if d_a >= d_3 {
        beta_max
    } else {
        beta_min + (beta_max - beta_min) * (d_a - d_2) / (d_3 - d_2)
    }
}

/// TCP-Illinois' state.
pub type Illinois = LossBased<ByDelay>;

/// Increase and decrease by queueing delay.
#[derive(Debug, Clone)]
pub struct ByDelay {
    parameters: Parameters,
    alpha: f64,
    beta: f64,
    /// Least and greatest RTT seen.
    extremes: Option<(Duration, Duration)>,
    /// RTTs of this round trip: their sum in seconds, and how many.
    round: (f64, u32),
    /// The delay has been above its first threshold, and has been below for this number of round trips since.
    above: bool,
    low_rounds: u32,
}

impl ByDelay {
    fn end_round(&mut self, cwnd: f64) {
        let (sum, count) = std::mem::take(&mut self.round);
        let Parameters { alpha_max, alpha_min, beta_min, beta_max, window_threshold, theta } = self.parameters;
        if cwnd < window_threshold {
            (self.alpha, self.beta) = (1.0, 0.5);
            return;
        }
        let Some((least, greatest)) = self.extremes.filter(|_| count > 0) else { return };
        let d_m = (greatest - least).as_secs();
        let d_a = (sum / f64::from(count) - least.as_secs()).clamp(0.0, d_m);
        self.beta = beta(d_a, d_m, beta_min, beta_max);
        if d_a > ETA.0 * d_m {
            (self.above, self.low_rounds) = (true, 0);
            self.alpha = alpha(d_a, d_m, alpha_min, alpha_max);
        } else {
            self.low_rounds += 1;
            if !self.above || self.low_rounds >= theta {
                self.above = false;
                self.alpha = alpha_max;
            }
        }
    }
}

impl IncreaseDecrease for ByDelay {
    type Parameters = Parameters;

    fn new(parameters: Parameters) -> ByDelay {
        ByDelay {
            parameters,
            alpha: parameters.alpha_max,
            beta: parameters.beta_max,
            extremes: None,
            round: (0.0, 0),
            above: false,
            low_rounds: 0,
        }
    }

    fn observe(&mut self, cwnd: f64, ack: &AckEvent, _rtt: &RttEstimate) {
        if let Some(sample) = ack.rtt {
            let (least, greatest) = self.extremes.unwrap_or((sample, sample));
            self.extremes = Some((least.min(sample), greatest.max(sample)));
            self.round.0 += sample.as_secs();
            self.round.1 += 1;
        }
        if ack.round_start {
            self.end_round(cwnd);
        }
    }

    fn increase(&mut self, _cwnd: f64, _ack: &AckEvent) -> f64 {
        self.alpha
    }

    fn decrease(&mut self, window: f64, event: &CongestionEvent) -> f64 {
        let remains = window * (1.0 - self.beta);
        if matches!(event.kind, CongestionKind::Timeout { .. }) {
            // As in Linux: the measurements belong to a path that may have changed.
            (self.alpha, self.beta) = (1.0, 0.5);
            (self.above, self.low_rounds) = (false, 0);
            self.round = (0.0, 0);
        }
        remains
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::CongestionControl;
    use crate::tcp::congestion::testing::bottleneck::flow;
    use crate::tcp::congestion::testing::ideal::{Ideal, near};

    #[test]
    fn section_3_1_alpha_is_10_without_queue_and_0_3_with_the_longest() {
        assert_eq!(alpha(0.0, 0.0, 0.3, 10.0), 10.0);
        assert_eq!(alpha(0.001, 0.1, 0.3, 10.0), 10.0);
        near(alpha(0.001_000_001, 0.1, 0.3, 10.0), 10.0, 0.001);
        near(alpha(0.1, 0.1, 0.3, 10.0), 0.3, 1e-9);
        near(alpha(0.05, 0.1, 0.3, 10.0), 0.588, 0.0005); // 0.099 * 3 / (0.099 * 0.3 + 0.049 * 9.7)
    }

    #[test]
    fn section_3_1_beta_is_a_line_between_an_eighth_and_a_half() {
        assert_eq!(beta(0.01, 0.1, 0.125, 0.5), 0.125);
        near(beta(0.045, 0.1, 0.125, 0.5), 0.3125, 1e-9);
        near(beta(0.08, 0.1, 0.125, 0.5), 0.5, 1e-9);
        assert_eq!(beta(0.1, 0.1, 0.125, 0.5), 0.5);
        assert_eq!(beta(0.0, 0.0, 0.125, 0.5), 0.125);
    }

    #[test]
    fn without_queue_it_is_aimd_of_10_and_an_eighth() {
        let mut path = Ideal::new(Illinois::new(Parameters::default(), flow(1)));
        path.grow_to(500.0);
        path.congestion(CongestionKind::Loss);
        near(path.control.cwnd(), 437.5, 0.2);
        path.acks_for(1.0);
        near(path.control.cwnd(), 537.5, 3.0);
        // RFC 9438 equation 3 with these constants: sqrt(10 (2 - 1/8) / (2 / 8 p)).
        let p = 1e-4;
        let expected = libm::sqrt(10.0 * 1.875 / (0.25 * p));
        near(path.average(p, expected, 100), expected, 0.03 * expected);
    }

    #[test]
    fn fast_growth_comes_back_after_five_round_trips_of_empty_queue() {
        let mut law = ByDelay::new(Parameters::default());
        law.extremes = Some((Duration::from_millis(100), Duration::from_millis(200)));
        let mut alpha_after_round_of = |delay| {
            law.round = (0.1 + delay, 1);
            law.end_round(100.0);
            law.alpha
        };
        assert_eq!(alpha_after_round_of(0.0), 10.0);
        near(alpha_after_round_of(0.1), 0.3, 1e-9);
        (0..4).for_each(|_| near(alpha_after_round_of(0.0), 0.3, 1e-9));
        assert_eq!(alpha_after_round_of(0.0), 10.0);
        near(alpha_after_round_of(0.05), 0.588, 0.0005);
        (0..4).for_each(|_| near(alpha_after_round_of(0.0), 0.588, 0.0005));
        near(alpha_after_round_of(0.05), 0.588, 0.0005); // the count begins anew
        (0..4).for_each(|_| near(alpha_after_round_of(0.0), 0.588, 0.0005));
        assert_eq!(alpha_after_round_of(0.0), 10.0);
    }

    #[test]
    fn a_small_window_and_a_timeout_make_it_reno() {
        let mut path = Ideal::new(Illinois::new(Parameters::default(), flow(1)));
        path.grow_to(300.0);
        path.congestion(CongestionKind::Timeout { repeated: false });
        assert_eq!((path.control.algorithm().alpha, path.control.algorithm().beta), (1.0, 0.5));
        near(path.control.ssthresh(), 262.5, 0.5);
        path.acks_for(0.15);
        assert!(path.control.cwnd() < 10.0);
        assert_eq!(path.control.algorithm().beta, 0.5);
    }
}
