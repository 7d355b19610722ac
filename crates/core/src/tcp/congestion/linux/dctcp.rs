//! DCTCP as Linux has it: Reno in whole segments that answers marks by the estimate of their share, in 1024ths.
//!
//! Differences from [`dctcp`](crate::tcp::congestion::loss_based::dctcp):
//! - The estimate falls by at least 1/1024 per round trip, and can reach zero. All divisions round down.
//! - A round trip ends with the segments that were outstanding when it began. The ACK that ends it counts for the next one.
//! - The reduction is from the window, not from the flight.

use super::based::{LinuxBased, Rules, State};
use super::window::Window;
use crate::tcp::congestion::FlowContext;
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind};
use crate::tcp::rtt::RttEstimate;

crate::parameters! {
    /// Nothing to choose.
    pub struct Parameters {}
}

/// The estimate of one.
const ONE: u32 = 1024;
/// The weight of the newest round trip is 1/2^`SHIFT` (1/16).
const SHIFT: u32 = 4;

/// The estimate after a round trip in which `marked` of `delivered` segments were marked (RFC 8257 section 3.3, step 7).
pub fn estimate(alpha: u32, marked: u32, delivered: u32) -> u32 {
    let faded = match alpha >> SHIFT {
        0 => 0,
        step => alpha - step,
    };
    (faded + marked * (ONE >> SHIFT) / delivered.max(1)).min(ONE)
}

/// The window after a round trip with marks (RFC 8257 section 3.3, step 9).
pub fn reduced(cwnd: u32, alpha: u32) -> u32 {
    cwnd - (u64::from(cwnd) * u64::from(alpha) / u64::from(2 * ONE)) as u32
}

/// The algorithm's state.
pub type LinuxDctcp = LinuxBased<MarkedShare>;

/// The estimated share of marked segments.
#[derive(Debug, Clone)]
pub struct MarkedShare {
    alpha: u32,
    delivered: u32,
    marked: u32,
    /// Segments outstanding when the round trip began, and those acknowledged since.
    length: u32,
    passed: u32,
    /// The present ACK was counted before a reduction.
    counted: bool,
}

impl MarkedShare {
    /// Counts an ACK (`dctcp_update_alpha`, which comes before `tcp_clean_rtx_queue`).
    fn count(&mut self, ack: &AckEvent) {
        self.passed += ack.cumulative;
        if self.passed >= self.length {
            self.alpha = estimate(self.alpha, self.marked, self.delivered);
            (self.delivered, self.marked) = (0, 0);
            (self.length, self.passed) = (ack.outstanding, 0);
        }
        self.delivered += ack.delivered;
        self.marked += ack.marked;
    }
}

impl Rules for MarkedShare {
    type Parameters = Parameters;

    fn new(_parameters: Parameters, _flow: &FlowContext) -> MarkedShare {
        MarkedShare { alpha: ONE, delivered: 0, marked: 0, length: 0, passed: 0, counted: false }
    }

    fn observe(&mut self, _window: &mut Window, ack: &AckEvent, _state: State, _rtt: &RttEstimate) {
        if !std::mem::take(&mut self.counted) {
            self.count(ack);
        }
    }

    fn on_echo(&mut self, ack: &AckEvent) {
        self.count(ack);
        self.counted = true;
    }

    fn ssthresh(&mut self, cwnd: u32, event: &CongestionEvent) -> u32 {
        if event.kind == CongestionKind::EcnEcho { reduced(cwnd, self.alpha) } else { cwnd / 2 }
    }

    /// (`dctcp_react_to_loss`).
    fn on_loss_in_reduction(&mut self, window: &mut Window, reached: u32) {
        window.reduce(reached / 2, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::testing::bottleneck::flow;

    #[test]
    fn the_estimate_moves_by_a_sixteenth_and_ends_at_zero() {
        assert_eq!([estimate(1024, 0, 10), estimate(1024, 10, 10), estimate(0, 5, 10)], [960, 1024, 32]);
        assert_eq!([estimate(16, 0, 10), estimate(15, 0, 10)], [15, 0]);
    }

    /// The first ACK ends the round trip before the flow: nothing was marked, so that the estimate falls to 960. It begins one of the nine segments
    /// outstanding. The ACK of these finds one segment delivered, and it was marked: 960 - 60 + 64.
    #[test]
    fn the_ack_that_ends_a_round_trip_counts_for_the_next() {
        let mut share = MarkedShare::new(Parameters::default(), &flow(10));
        share.on_echo(&AckEvent { ecn_echo: true, marked: 1, outstanding: 9, ..AckEvent::PREDICTED });
        assert_eq!(share.alpha, 960);
        share.count(&AckEvent { delivered: 9, cumulative: 9, ..AckEvent::PREDICTED });
        assert_eq!((share.alpha, share.delivered, share.marked), (964, 9, 0));
    }

    #[test]
    fn all_marked_halves_and_few_marked_hardly_cut() {
        assert_eq!([reduced(100, 1024), reduced(100, 102)], [50, 96]);
    }
}
