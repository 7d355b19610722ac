//! BIC as Linux has it: [`bic`](crate::tcp::congestion::loss_based::bic) in whole segments.
//!
//! Differences from [`bic`](crate::tcp::congestion::loss_based::bic):
//! - The window grows by one segment per `n` acknowledged segments. The control recomputes `n` when the window has changed or 1/32 s has
//!   passed. It divides `n` by the estimate of segments per ACK although it counts segments, so growth is up to twice as fast.
//! - All divisions round down.
//! - The reduction is from the window, not from the flight. An undo restores the window of the last loss.

use super::based::{LinuxBased, Rules, State};
use super::window::Window;
use crate::tcp::congestion::FlowContext;
use crate::tcp::events::{AckEvent, CongestionEvent};
use crate::tcp::kernel_clock::KernelClock;
use crate::tcp::rtt::RttEstimate;

crate::parameters! {
    /// Linux's constants; none to choose.
    pub struct Parameters {}
}

/// Up to this window it is Reno.
const LOW_WINDOW: u32 = 14;
/// The most by which the window grows per round trip.
const MAX_INCREMENT: u32 = 16;
/// A round trip goes a quarter of the way to the window of the last loss.
const SEARCH: u32 = 4;
/// Round trips for `SEARCH` segments near the window of the last loss.
const SMOOTH_PART: u32 = 20;
/// Factor of the window after a loss, in 1024ths.
const BETA: u32 = 819;
/// Without a window of the last loss, growth by one segment takes at most this number of acknowledged segments.
const SLOWEST_BEFORE_LOSS: u32 = 20;
/// While the window stays, the growth is found again after 1/`REFRESH` s.
const REFRESH: u32 = 32;
/// Segments per ACK at first, in 16ths.
const INITIAL_RATIO: u32 = 32;

/// Number of acknowledged segments per growth of the window by one. The last loss was at a window of `last_max` (0: none), and an ACK
/// acknowledges `ratio`/16 segments.
pub fn segments_per_increase(cwnd: u32, last_max: u32, ratio: u32) -> u32 {
    if cwnd <= LOW_WINDOW {
        return cwnd;
    }
    let smooth = cwnd * SMOOTH_PART / SEARCH;
    let count = if cwnd < last_max {
        match (last_max - cwnd) / SEARCH {
            0 | 1 => smooth,
            distance => cwnd / distance.min(MAX_INCREMENT),
        }
    } else if cwnd < last_max + SEARCH {
        smooth
    } else if cwnd < last_max + MAX_INCREMENT * (SEARCH - 1) {
        cwnd * (SEARCH - 1) / (cwnd - last_max)
    } else {
        cwnd / MAX_INCREMENT
    };
    let bounded = if last_max == 0 { count.min(SLOWEST_BEFORE_LOSS) } else { count };
    (bounded * 16 / ratio).max(1)
}

/// The window to search for after a loss at `cwnd`: below it if the window has shrunk since the loss before.
pub fn maximum_after_loss(cwnd: u32, last_max: u32) -> u32 {
    if cwnd < last_max { (u64::from(cwnd) * u64::from(1024 + BETA) / 2048) as u32 } else { cwnd }
}

/// The estimate of segments per ACK, in 16ths, after an ACK of `segments`.
pub fn ratio_after(ratio: u32, segments: u32) -> u32 {
    ratio + segments - (ratio >> 4)
}

/// The algorithm's state.
pub type LinuxBic = LinuxBased<BinarySearch>;

/// The binary search.
#[derive(Debug, Clone)]
pub struct BinarySearch {
    clock: KernelClock,
    last_max: u32,
    ratio: u32,
    per_increase: u32,
    /// The window and the tick that `per_increase` was found for.
    found_for: (u32, u64),
}

impl Rules for BinarySearch {
    type Parameters = Parameters;

    fn new(_: Parameters, flow: &FlowContext) -> BinarySearch {
        let clock = KernelClock::new(flow.hz);
        BinarySearch { clock, last_max: 0, ratio: INITIAL_RATIO, per_increase: 0, found_for: (0, 0) }
    }

    fn observe(&mut self, _window: &mut Window, ack: &AckEvent, state: State, _rtt: &RttEstimate) {
        if state == State::Open {
            self.ratio = ratio_after(self.ratio, ack.cumulative);
        }
    }

    fn avoid(&mut self, window: &mut Window, acked: u32, ack: &AckEvent) {
        let tick = self.clock.ticks(ack.now);
        if self.found_for.0 != window.cwnd || tick - self.found_for.1 > u64::from(self.clock.hz / REFRESH) {
            self.found_for = (window.cwnd, tick);
            self.per_increase = segments_per_increase(window.cwnd, self.last_max, self.ratio);
        }
        window.grow(self.per_increase, acked);
    }

    fn ssthresh(&mut self, cwnd: u32, _event: &CongestionEvent) -> u32 {
        self.last_max = maximum_after_loss(cwnd, self.last_max);
        if cwnd <= LOW_WINDOW { cwnd / 2 } else { (u64::from(cwnd) * u64::from(BETA) / 1024) as u32 }
    }

    fn on_timeout(&mut self, _window: &mut Window, _new: bool) {
        (self.last_max, self.ratio, self.per_increase, self.found_for) = (0, INITIAL_RATIO, 0, (0, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::testing::bottleneck::{flow, rtt_estimate};

    /// Towards and beyond a window of 1000: a quarter of the way, within 16 segments, and a fifth of a segment close to it. Half as many
    /// acknowledged segments suffice at a ratio of two.
    #[test]
    fn the_search_goes_a_quarter_of_the_way_in_a_round_trip() {
        let per = |cwnd, ratio| segments_per_increase(cwnd, 1000, ratio);
        assert_eq!([14, 800, 960, 995, 1003, 1012, 1100].map(|cwnd| per(cwnd, 16)), [14, 50, 96, 4975, 5015, 253, 68]);
        assert_eq!(per(960, 32), 48);
        assert_eq!(segments_per_increase(800, 0, 16), 20);
    }

    #[test]
    fn a_window_that_shrinks_is_searched_for_below_the_loss() {
        assert_eq!([maximum_after_loss(900, 1000), maximum_after_loss(1100, 1000)], [809, 1100]);
    }

    /// A late segment makes ACKs pass many segments at once. Linux counts none of these (`bictcp_acked`).
    #[test]
    fn the_ratio_counts_acks_of_segments_in_order() {
        let mut rules = BinarySearch::new(Parameters::default(), &flow(1));
        let ack = AckEvent { cumulative: 10, ..AckEvent::PREDICTED };
        let ratio_after = [State::Disorder, State::Episode, State::Open].map(|state| {
            rules.observe(&mut Window::new(10), &ack, state, &rtt_estimate());
            rules.ratio
        });
        assert_eq!(ratio_after, [32, 32, 40]);
    }

    /// The shift rounds down, so that single segments lead from 2 to 31/16, and pairs leave 2.
    #[test]
    fn the_ratio_stays_near_two_with_and_without_delayed_acks() {
        let after = |segments| (0..200).fold(INITIAL_RATIO, |ratio, _| ratio_after(ratio, segments));
        assert_eq!([after(1), after(2)], [31, 32]);
    }
}
