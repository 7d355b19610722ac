//! Reno as Linux has it: whole segments, and half of the window after a loss, independent of the flight.
//!
//! The growth is RFC 5681's, without the limit of RFC 3465 for one ACK in slow start.

use super::based::{LinuxBased, Rules};
use crate::tcp::congestion::FlowContext;
use crate::tcp::events::CongestionEvent;

crate::parameters! {
    /// Nothing to choose.
    pub struct Parameters {}
}

/// The algorithm's state.
pub type LinuxReno = LinuxBased<Reno>;

/// The rules have no state besides the window.
#[derive(Debug, Clone)]
pub struct Reno;

impl Rules for Reno {
    type Parameters = Parameters;

    fn new(_parameters: Parameters, _flow: &FlowContext) -> Reno {
        Reno
    }

    fn ssthresh(&mut self, cwnd: u32, _event: &CongestionEvent) -> u32 {
        cwnd / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::CongestionControl;
    use crate::tcp::congestion::testing::bottleneck::{calls, check_calls, flow};
    use crate::tcp::events::CongestionKind;
    use crate::tcp::rtt::RttEstimate;
    use crate::units::{Duration, Time};
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
        assert_eq!(happen(CongestionKind::Timeout { repeated: true }), (1.0, 5.0));
        assert_eq!(happen(CongestionKind::Timeout { repeated: false }), (1.0, 2.0));
    }

    proptest! {
        #[test]
        fn the_window_stays_finite_and_at_least_one(calls in calls()) {
            check_calls(LinuxReno::new(Parameters::default(), flow(1)), &calls)?;
        }
    }
}
