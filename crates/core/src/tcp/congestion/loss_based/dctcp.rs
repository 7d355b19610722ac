//! DCTCP: a window that shrinks by the share of its segments that were marked (RFC 8257; Alizadeh et al., "Data Center TCP",
//! 2010). Every other congestion signal halves it.
//!
//! It reads the marks of each ACK's own segments, so the stack needs `ecn` and the exact echo, or AccECN. Its queues mark packets above a
//! backlog threshold (`ecn-threshold`).

use super::{IncreaseDecrease, LossBased};
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind};
use crate::tcp::rtt::RttEstimate;

crate::parameters! {
    /// DCTCP's constants.
    pub struct Parameters {
        /// Weight of the newest round trip in the estimate of the marked share (RFC 8257 section 4.2, g: 1/16).
        pub gain: f64 = 0.0625, in 0.0001..=1.0;
        /// The estimate before the first round trip (RFC 8257 section 4.2: 1, which is careful).
        pub initial_alpha: f64 = 1.0, in 0.0..=1.0;
    }
}

/// The estimate of the marked share after a round trip in which the share was `marked` (RFC 8257 section 3.3, step 7).
pub fn estimate(alpha: f64, gain: f64, marked: f64) -> f64 {
    alpha * (1.0 - gain) + gain * marked
}

/// The window after a round trip with marks (RFC 8257 section 3.3, step 9); an estimate of 1 is a loss's half.
pub fn reduced(cwnd: f64, alpha: f64) -> f64 {
    cwnd * (1.0 - alpha / 2.0)
}

/// The estimate in the steady state, if all flows reach the marking threshold together with `window` segments each: `alpha^2 (1 -
/// alpha/4) = (2 W + 1) / (W + 1)^2`, nearly `2 / W` (Alizadeh et al. section 3.3, equation 6).
pub fn steady_alpha(window: f64) -> f64 {
    let target = (2.0 * window + 1.0) / ((window + 1.0) * (window + 1.0));
    (0..60).fold(libm::sqrt(target).min(1.0), |alpha, _| libm::sqrt(target / (1.0 - alpha / 4.0)))
}

/// Amplitude of the queue in segments: `flows` flows share a path of `product` segments with the marking threshold `threshold`,
/// and each falls by `(W + 1) alpha / 2` (Alizadeh et al. equations 7 and 8).
pub fn queue_swing(flows: f64, product: f64, threshold: f64) -> f64 {
    let window = (product + threshold) / flows;
    flows * (window + 1.0) * steady_alpha(window) / 2.0
}

/// DCTCP's state.
pub type Dctcp = LossBased<MarkedShare>;

/// A reduction by the estimated share of marked segments.
#[derive(Debug, Clone)]
pub struct MarkedShare {
    gain: f64,
    alpha: f64,
    acknowledged: u32,
    marked: u32,
    /// The present ACK was counted before a reduction.
    counted: bool,
}

impl MarkedShare {
    /// Counts an ACK, which may end a round trip. RFC 8257 section 3.3 does so before it reduces the window by the estimate.
    fn count(&mut self, ack: &AckEvent) {
        self.acknowledged += ack.delivered;
        self.marked += ack.marked;
        if ack.round_start && self.acknowledged > 0 {
            let share = (f64::from(self.marked) / f64::from(self.acknowledged)).min(1.0);
            self.alpha = estimate(self.alpha, self.gain, share);
            (self.acknowledged, self.marked) = (0, 0);
        }
    }

    /// The estimate.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }
}

impl IncreaseDecrease for MarkedShare {
    type Parameters = Parameters;

    fn new(parameters: Parameters) -> MarkedShare {
        MarkedShare {
            gain: parameters.gain,
            alpha: parameters.initial_alpha,
            acknowledged: 0,
            marked: 0,
            counted: false,
        }
    }

    fn observe(&mut self, _cwnd: f64, ack: &AckEvent, _rtt: &RttEstimate) {
        if !std::mem::take(&mut self.counted) {
            self.count(ack);
        }
    }

    fn on_echo(&mut self, ack: &AckEvent) {
        self.count(ack);
        self.counted = true;
    }

    fn increase(&mut self, _cwnd: f64, _ack: &AckEvent) -> f64 {
        1.0
    }

    fn decrease(&mut self, window: f64, event: &CongestionEvent) -> f64 {
        reduced(window, if event.kind == CongestionKind::EcnEcho { self.alpha } else { 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::CongestionControl;
    use crate::tcp::congestion::testing::bottleneck::{Bench, Path, flow};
    use crate::units::Duration;
    fn near(actual: f64, expected: f64, share: f64) {
        assert!((actual - expected).abs() <= share * expected, "{actual} is not {expected}");
    }

    #[test]
    fn rfc8257_section_3_3_the_estimate_moves_by_a_sixteenth() {
        assert_eq!(estimate(1.0, 0.0625, 0.0), 0.9375);
        assert_eq!(estimate(0.0, 0.0625, 0.5), 0.03125);
    }

    #[test]
    fn rfc8257_section_3_3_all_marked_halves_and_few_marked_hardly_cut() {
        assert_eq!(reduced(100.0, 1.0), 50.0);
        assert_eq!(reduced(100.0, 0.1), 95.0);
    }

    #[test]
    fn alizadeh_equation_6_is_nearly_the_root_of_two_over_the_window() {
        for window in [50.0, 200.0, 1000.0_f64] {
            let alpha = steady_alpha(window);
            near(alpha * alpha * (1.0 - alpha / 4.0), (2.0 * window + 1.0) / ((window + 1.0) * (window + 1.0)), 1e-9);
            near(alpha, (2.0 / window).sqrt(), 0.03);
        }
    }

    #[test]
    fn alizadeh_equation_8_two_flows_at_10_gbit_s_swing_by_11_segments() {
        // C RTT = 10 Gbit/s x 100 us / 12000 bit = 83, K = 40 (section 3.3, figure 10): sqrt(2 x 2 x 123) / 2 = 11.
        near(queue_swing(2.0, 83.3, 40.0), 0.5 * (2.0_f64 * 2.0 * 123.3).sqrt(), 0.06);
    }

    /// A flow alone on a path of 250 segments that marks from a backlog of 50 on; measured once it is steady. The estimate
    /// must span the cycle: a gain below 1.386 / sqrt(2 (C RTT + K)) = 0.057 (equation 15).
    #[test]
    fn alizadeh_section_3_3_steady_state_of_one_flow() {
        let path = Path { rate: 2500.0, delay: Duration::from_millis(100), buffer: 1000.0, loss: 0.0 };
        let (product, threshold) = (250.0, 50.0);
        let parameters = Parameters { gain: 0.02, ..Parameters::default() };
        let mut bench = Bench::new(Dctcp::new(parameters, flow(1)), path);
        bench.mark_above = threshold;
        bench.run(200.0);
        let (mut alphas, mut least, mut most) = (0.0, f64::INFINITY, 0.0_f64);
        for _ in 0..10_000 {
            assert_eq!(bench.run(0.01).loss_ratio, 0.0);
            alphas += bench.control.algorithm().alpha() / 10_000.0;
            least = least.min(bench.control.cwnd());
            most = most.max(bench.control.cwnd());
        }
        let window = product + threshold;
        near(alphas, steady_alpha(window), 0.1);
        near(most, window + 1.0, 0.01); // equation 10: Q_max = K + N
        near(most - least, queue_swing(1.0, product, threshold), 0.1);
    }
}
