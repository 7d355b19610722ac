//! Reno as Linux has it: whole segments, half of the window after a loss, whatever was in flight.
//!
//! The growth is RFC 5681's, without the limit of RFC 3465 for one ACK in slow start.

use super::linux_window::{Window, slow_start};
use super::{CongestionControl, FlowContext};
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind};
use crate::tcp::rtt::RttEstimate;
use crate::units::Duration;

crate::parameters! {
    /// Nothing to choose.
    pub struct Parameters {}
}

/// The algorithm's state.
#[derive(Debug, Clone)]
pub struct LinuxReno {
    window: Window,
    before_reduction: Window,
}

impl LinuxReno {
    /// A flow that has not sent yet.
    pub fn new(_parameters: Parameters, flow: FlowContext) -> LinuxReno {
        let window = Window::new(flow.initial_window);
        LinuxReno { window, before_reduction: window }
    }
}

impl CongestionControl for LinuxReno {
    fn on_ack(&mut self, ack: &AckEvent, _rtt: &RttEstimate) {
        let mut acked = ack.growth;
        if self.window.in_slow_start() {
            (self.window.cwnd, acked) = slow_start(self.window.cwnd, self.window.ssthresh, acked);
        }
        if acked > 0 {
            self.window.grow(self.window.cwnd, acked);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent, _rtt: &RttEstimate) {
        let mut ssthresh = self.window.ssthresh;
        if event.kind != (CongestionKind::Timeout { repeated: true }) {
            self.before_reduction = self.window;
            ssthresh = self.window.cwnd / 2;
        }
        self.window.reduce(ssthresh, matches!(event.kind, CongestionKind::Timeout { .. }));
    }

    fn undo(&mut self) {
        self.window.cwnd = self.window.cwnd.max(self.before_reduction.cwnd);
        self.window.ssthresh = self.before_reduction.ssthresh;
    }

    fn on_idle(&mut self, idle: Duration, initial_window: u32, rtt: &RttEstimate) {
        self.window.restart(idle, initial_window, rtt);
    }

    fn cwnd(&self) -> f64 {
        f64::from(self.window.cwnd)
    }

    fn ssthresh(&self) -> f64 {
        self.window.threshold()
    }
}

#[cfg(test)]
mod tests {
    use super::super::bottleneck::{calls, check_calls, flow};
    use super::*;
    use crate::units::Time;
    use proptest::prelude::*;

    #[test]
    fn a_loss_halves_the_window_and_a_timeout_leaves_one_segment() {
        let rtt = RttEstimate::new(Duration::ZERO, Duration::from_secs(60), Duration::from_secs(1));
        let mut reno = LinuxReno::new(Parameters::default(), FlowContext { initial_window: 11, ..flow(1) });
        let mut happen = |kind| {
            reno.on_congestion(&CongestionEvent { now: Time::ZERO, kind, prior_in_flight: 1 }, &rtt);
            (reno.cwnd(), reno.ssthresh())
        };
        assert_eq!(happen(CongestionKind::Loss), (5.0, 5.0));
        assert_eq!(happen(CongestionKind::Timeout { repeated: false }), (1.0, 2.0));
        assert_eq!(happen(CongestionKind::Timeout { repeated: true }), (1.0, 2.0));
    }

    proptest! {
        #[test]
        fn the_window_stays_finite_and_at_least_one(calls in calls()) {
            check_calls(LinuxReno::new(Parameters::default(), flow(1)), &calls)?;
        }
    }
}
