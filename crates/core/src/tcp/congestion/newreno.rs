//! NewReno's window: slow start, additive increase, multiplicative decrease (RFC 5681; recovery itself, RFC 6582, is the
//! sender's).

use super::slow_start::SlowStart;
use super::{CongestionControl, FlowContext};
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind};
use crate::tcp::rtt::RttEstimate;
use crate::units::Duration;

crate::parameters! {
    /// NewReno's constants.
    pub struct Parameters {
        /// Segments by which the window grows per round trip in congestion avoidance (RFC 5681 section 3.1: 1).
        pub alpha: f64 = 1.0, in 0.0..=1000.0;
        /// What remains of the window after a loss (RFC 5681 equation 4: 0.5).
        pub beta: f64 = 0.5, in 0.01..=0.99;
    }
}

/// The least slow-start threshold, segments (RFC 5681 equation 4).
pub const MIN_SSTHRESH: f64 = 2.0;

/// Window after `growth` segments were acknowledged in congestion avoidance (RFC 5681 equation 3).
pub fn congestion_avoidance(cwnd: f64, alpha: f64, growth: u32) -> f64 {
    cwnd + alpha * f64::from(growth) / cwnd
}

/// The restart window after an idle time of at least one RTO (RFC 5681 section 4.1).
pub fn restart_window(cwnd: f64, initial_window: f64, idle: Duration, rto: Duration) -> f64 {
    if idle > rto { cwnd.min(initial_window) } else { cwnd }
}

/// NewReno's state.
#[derive(Debug, Clone)]
pub struct NewReno {
    parameters: Parameters,
    initial_window: f64,
    cwnd: f64,
    ssthresh: f64,
    slow_start: SlowStart,
    before_reduction: (f64, f64),
}

impl NewReno {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, flow: FlowContext) -> NewReno {
        let initial_window = f64::from(flow.initial_window);
        NewReno {
            parameters,
            initial_window,
            cwnd: initial_window,
            ssthresh: f64::INFINITY,
            slow_start: SlowStart::new(flow.slow_start),
            before_reduction: (initial_window, f64::INFINITY),
        }
    }

    /// Another window and threshold, for a control that decides these itself.
    pub(super) fn set(&mut self, cwnd: f64, ssthresh: f64) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
    }

    /// A reduction to another window than a loss would leave.
    pub(super) fn reduce_to(&mut self, window: f64) {
        self.before_reduction = (self.cwnd, self.ssthresh);
        (self.cwnd, self.ssthresh) = (window, window);
    }
}

impl CongestionControl for NewReno {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent, _rtt: &RttEstimate) {
        let mut growth = ack.growth;
        if self.cwnd < self.ssthresh {
            growth = self.slow_start.on_ack(&mut self.cwnd, &mut self.ssthresh, ack);
        }
        if growth > 0 {
            self.cwnd = congestion_avoidance(self.cwnd, self.parameters.alpha, growth);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent, _rtt: &RttEstimate) {
        if event.kind != (CongestionKind::Timeout { repeated: true }) {
            self.before_reduction = (self.cwnd, self.ssthresh);
            self.ssthresh =
                (self.cwnd.min(f64::from(event.prior_in_flight.max(1))) * self.parameters.beta).max(MIN_SSTHRESH);
        }
        self.cwnd = match event.kind {
            CongestionKind::Timeout { .. } => 1.0, // RFC 5681 section 3.1: the loss window
            CongestionKind::Loss | CongestionKind::EcnEcho => self.ssthresh,
        };
    }

    fn undo(&mut self) {
        self.cwnd = self.cwnd.max(self.before_reduction.0);
        self.ssthresh = self.before_reduction.1;
    }

    fn on_idle(&mut self, idle: Duration, rtt: &RttEstimate) {
        self.cwnd = restart_window(self.cwnd, self.initial_window, idle, rtt.rto());
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc5681_equation_3_adds_one_segment_per_round_trip() {
        let cwnd = (0..100).fold(100.0, |cwnd, _| congestion_avoidance(cwnd, 1.0, 1));
        assert!((cwnd - 101.0).abs() < 0.01, "{cwnd}");
    }

    #[test]
    fn rfc5681_section_4_1_restarts_after_an_idle_rto_only() {
        let rto = Duration::from_millis(300);
        assert_eq!(restart_window(50.0, 10.0, Duration::from_millis(299), rto), 50.0);
        assert_eq!(restart_window(50.0, 10.0, Duration::from_millis(301), rto), 10.0);
    }
}
