//! Westwood+ as Linux has it: Reno in whole segments whose window, once fast recovery is over, is that which fills the measured
//! bandwidth.
//!
//! Differences from [`westwood`](crate::tcp::congestion::loss_based::westwood):
//! - A loss halves the window first. The end of fast recovery sets window and threshold to the estimate. A timeout sets the threshold.
//! - Two filters in a row smooth the bandwidth, each with a weight of 1/8, in whole bytes a tick of the kernel's clock.
//! - A sample covers more than the last RTT, and more than 50 ms. RTTs count in whole ticks, rounded up.
//! - An ACK that passes nothing counts as one segment, which the ACK that passes the hole does not count again.

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

/// A sample takes longer than 1/`LEAST_INTERVAL` s.
const LEAST_INTERVAL: u32 = 20;
/// The RTT before the first measurement, seconds.
const INITIAL_RTT: u32 = 20;

/// A filter with a weight of 1/8 for the sample, in whole numbers.
pub fn filter(estimate: u64, sample: u64) -> u64 {
    (7 * estimate + sample) >> 3
}

/// Segments that fill a path of `bandwidth` bytes a tick and `rtt_min` ticks.
pub fn eligible_window(bandwidth: u64, rtt_min: u32, payload: u32) -> u32 {
    ((bandwidth * u64::from(rtt_min) / u64::from(payload)) as u32).max(2)
}

/// The algorithm's state.
pub type LinuxWestwood = LinuxBased<FasterRecovery>;

/// Bandwidth and least round-trip time.
#[derive(Debug, Clone)]
pub struct FasterRecovery {
    clock: KernelClock,
    payload: u32,
    /// The estimates of the first and the second filter, bytes a tick.
    bandwidth: (u64, u64),
    /// The last and the least RTT, ticks. `None` means that the least RTT must be measured again.
    rtt: u32,
    rtt_min: Option<u32>,
    /// The sample in progress: the tick in which it began, and its bytes.
    since: Option<u64>,
    bytes: u64,
    /// Segments that ACKs without progress have counted.
    accounted: u32,
}

impl FasterRecovery {
    /// Number of segments that an ACK passing `cumulative` segments counts for.
    fn count(&mut self, cumulative: u32) -> u32 {
        match cumulative {
            0 => {
                self.accounted += 1;
                1
            }
            1 => 1,
            _ if self.accounted >= cumulative => {
                self.accounted -= cumulative;
                1
            }
            _ => cumulative - std::mem::take(&mut self.accounted),
        }
    }

    fn eligible_window(&self) -> u32 {
        let rtt_min = self.rtt_min.unwrap_or(self.rtt);
        eligible_window(self.bandwidth.1, rtt_min, self.payload)
    }
}

impl Rules for FasterRecovery {
    type Parameters = Parameters;

    fn new(_: Parameters, flow: &FlowContext) -> FasterRecovery {
        FasterRecovery {
            clock: KernelClock::new(flow.hz),
            payload: flow.payload,
            bandwidth: (0, 0),
            rtt: INITIAL_RTT * flow.hz,
            rtt_min: None,
            since: None,
            bytes: 0,
            accounted: 0,
        }
    }

    fn observe(&mut self, _window: &mut Window, ack: &AckEvent, _state: State, rtt: &RttEstimate) {
        let now = self.clock.ticks(ack.now);
        // The first sample began with the connection: in whole ticks it may have been before the first tick of the run.
        let begun = rtt.smoothed().map_or(0, |srtt| self.clock.ticks_of(srtt).into());
        let interval = now.wrapping_sub(*self.since.get_or_insert(now.wrapping_sub(begun)));
        if interval > u64::from(self.rtt.max(self.clock.hz / LEAST_INTERVAL)) {
            let sample = self.bytes / interval;
            self.bandwidth = if self.bandwidth == (0, 0) {
                (sample, sample)
            } else {
                let first = filter(self.bandwidth.0, sample);
                (first, filter(self.bandwidth.1, first))
            };
            (self.since, self.bytes) = (Some(now), 0);
        }
        self.bytes += u64::from(self.count(ack.cumulative)) * u64::from(self.payload);
        // As in Linux, this is the RTT of the previous ACK: the RTT of this ACK is measured later.
        self.rtt_min = Some(self.rtt_min.map_or(self.rtt, |least| least.min(self.rtt)));
        if let Some(sample) = ack.rtt {
            self.rtt = self.clock.ticks_of(sample);
        }
    }

    fn ssthresh(&mut self, cwnd: u32, _event: &CongestionEvent) -> u32 {
        cwnd / 2
    }

    fn on_timeout(&mut self, window: &mut Window, new: bool) {
        if new {
            window.ssthresh = self.eligible_window();
            self.rtt_min = None;
        }
    }

    fn on_recovered(&mut self, window: &mut Window) {
        window.ssthresh = self.eligible_window();
        window.cwnd = window.ssthresh;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::CongestionControl;
    use crate::tcp::congestion::testing::bottleneck::flow;
    use crate::tcp::congestion::testing::ideal::{Ideal, near};
    use crate::tcp::events::CongestionKind;

    #[test]
    fn the_filter_moves_an_eighth_of_the_way_and_rounds_down() {
        assert_eq!([filter(800, 1600), filter(800, 807)], [900, 800]);
    }

    #[test]
    fn at_1448_bytes_a_tick_50_ticks_need_50_segments() {
        assert_eq!([eligible_window(1448, 50, 1448), eligible_window(10, 5, 1448)], [50, 2]);
    }

    /// Three ACKs without progress count, and the one that passes five segments counts for the other two.
    #[test]
    fn what_duplicates_counted_is_not_counted_again() {
        let mut rules = FasterRecovery::new(Parameters::default(), &flow(1));
        assert_eq!([0, 0, 0, 5, 2].map(|cumulative| rules.count(cumulative)), [1, 1, 1, 2, 2]);
    }

    #[test]
    fn a_loss_halves_and_the_end_of_recovery_restores_what_fills_the_path() {
        let mut path = Ideal::new(LinuxWestwood::new(Parameters::default(), FlowContext { hz: 1000, ..flow(1) }));
        path.grow_to(50.0);
        path.congestion(CongestionKind::Loss);
        path.acks_for(5.0);
        let before = path.control.cwnd();
        path.congestion(CongestionKind::Loss);
        assert_eq!(path.control.cwnd(), (before / 2.0).floor());
        path.control.on_recovered();
        path.ack(0); // the ACK that ends recovery is observed first
        // The estimate lags behind growth by a segment a round trip: 8 round trips of each filter.
        near(path.control.cwnd(), before - 16.0, 4.0);
    }
}
