//! Common to loss-based congestion controls: slow start, growth by some segments a round trip, reduction at a loss, its undo, and
//! restart after idling. An algorithm is then two functions, [`IncreaseDecrease`].

pub mod bic;
pub mod cubic;
pub mod dctcp;
pub mod highspeed;
pub mod htcp;
pub mod illinois;
pub mod kikolo;
pub mod newreno;
pub mod prague;
pub mod reno;
pub mod scalable;
pub mod westwood;

use crate::tcp::congestion::slow_start::SlowStart;
use crate::tcp::congestion::{CongestionControl, Demands, FlowContext};
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind};
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Time};

/// The least slow-start threshold, segments (RFC 5681 equation 4).
pub const MIN_SSTHRESH: f64 = 2.0;

/// Window after `growth` segments were acknowledged in congestion avoidance, `alpha` segments a round trip (RFC 5681
/// equation 3, where `alpha` is 1).
pub fn congestion_avoidance(cwnd: f64, alpha: f64, growth: u32) -> f64 {
    cwnd + alpha * f64::from(growth) / cwnd
}

/// The restart window after an idle time of at least one RTO (RFC 5681 section 4.1).
pub fn restart_window(cwnd: f64, initial_window: f64, idle: Duration, rto: Duration) -> f64 {
    if idle > rto { cwnd.min(initial_window) } else { cwnd }
}

/// The difference between loss-based congestion controls. Windows are in segments.
pub trait IncreaseDecrease: Send + Sync {
    /// Parameters of the algorithm.
    type Parameters;

    /// Whether fast recovery without SACK ends at the first partial ACK; see
    /// [`Demands::ends_recovery_at_partial_ack`].
    const ENDS_RECOVERY_AT_PARTIAL_ACK: bool = false;

    /// The state of a flow that has not sent yet.
    fn new(parameters: Self::Parameters) -> Self;

    /// The state, with what it needs of its flow.
    fn of_flow(self, _flow: &FlowContext) -> Self
    where
        Self: Sized,
    {
        self
    }

    /// Observes an ACK in any phase, for algorithms that measure. The window has not grown by it yet.
    fn observe(&mut self, _cwnd: f64, _ack: &AckEvent, _rtt: &RttEstimate) {}

    /// See [`CongestionControl::on_echo`].
    fn on_echo(&mut self, _ack: &AckEvent) {}

    /// Segments by which a window of `cwnd` grows in a round trip of congestion avoidance.
    fn increase(&mut self, cwnd: f64, ack: &AckEvent) -> f64;

    /// The slow-start threshold after a congestion with `window` segments in flight. Not called when a timeout follows another
    /// one without an acknowledgement in between.
    fn decrease(&mut self, window: f64, event: &CongestionEvent) -> f64;

    /// Forgets the last decrease, which was spurious.
    fn undo(&mut self) {}
}

/// A loss-based congestion control.
#[derive(Debug, Clone)]
pub struct LossBased<A> {
    algorithm: A,
    cwnd: f64,
    ssthresh: f64,
    slow_start: SlowStart,
    before_reduction: (f64, f64),
}

impl<A: IncreaseDecrease> LossBased<A> {
    /// A flow that has not sent yet.
    pub fn new(parameters: A::Parameters, flow: FlowContext) -> LossBased<A> {
        let initial_window = f64::from(flow.initial_window);
        LossBased {
            algorithm: A::new(parameters).of_flow(&flow),
            cwnd: initial_window,
            ssthresh: f64::INFINITY,
            slow_start: SlowStart::new(flow.slow_start),
            before_reduction: (initial_window, f64::INFINITY),
        }
    }

    /// Sets window and threshold, for a control that decides them itself.
    pub(super) fn set(&mut self, cwnd: f64, ssthresh: f64) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
    }

    /// Increase and decrease, with their measurements.
    #[cfg(test)]
    pub fn algorithm(&self) -> &A {
        &self.algorithm
    }
}

impl<A: IncreaseDecrease> CongestionControl for LossBased<A> {
    #[inline(always)]
    fn on_ack(&mut self, ack: &AckEvent, rtt: &RttEstimate) {
        self.algorithm.observe(self.cwnd, ack, rtt);
        let mut growth = ack.growth;
        if self.cwnd < self.ssthresh {
            growth = self.slow_start.on_ack(&mut self.cwnd, &mut self.ssthresh, ack);
        }
        if growth > 0 {
            let alpha = self.algorithm.increase(self.cwnd, ack);
            self.cwnd = congestion_avoidance(self.cwnd, alpha, growth);
        }
    }

    fn on_echo(&mut self, ack: &AckEvent) {
        self.algorithm.on_echo(ack);
    }

    fn on_congestion(&mut self, event: &CongestionEvent, _rtt: &RttEstimate) {
        if event.kind != (CongestionKind::Timeout { repeated: true }) {
            self.before_reduction = (self.cwnd, self.ssthresh);
            let window = self.cwnd.min(f64::from(event.prior_in_flight.max(1)));
            self.ssthresh = self.algorithm.decrease(window, event).max(MIN_SSTHRESH);
        }
        self.cwnd = match event.kind {
            CongestionKind::Timeout { .. } => 1.0, // RFC 5681 section 3.1: the loss window
            CongestionKind::Loss | CongestionKind::EcnEcho => self.ssthresh.min(self.cwnd.max(MIN_SSTHRESH)),
        };
    }

    fn undo(&mut self) {
        self.cwnd = self.cwnd.max(self.before_reduction.0);
        self.ssthresh = self.before_reduction.1;
        self.algorithm.undo();
    }

    fn on_idle(&mut self, _now: Time, idle: Duration, initial_window: u32, rtt: &RttEstimate) {
        self.cwnd = restart_window(self.cwnd, f64::from(initial_window), idle, rtt.rto());
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn demands(&self) -> Demands {
        Demands { ends_recovery_at_partial_ack: A::ENDS_RECOVERY_AT_PARTIAL_ACK, ..Demands::default() }
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
