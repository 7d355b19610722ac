//! YeAH (Baiocchi, Castellani and Vacirca, "YeAH-TCP: yet another highspeed TCP", PFLDnet 2007) as Linux has it, in whole segments:
//! Scalable TCP while the queue is short, Reno that empties the queue otherwise.
//!
//! Differences from the paper:
//! - The fast mode is Scalable TCP as Linux has it: one segment for 100 acknowledged, or Reno's growth if that is more.
//! - Decongestion takes the whole queue, within half of the window.
//! - A round trip with fewer than three samples decides nothing. The least RTT is forgotten whenever nothing was in flight.
//! - The window takes the queue of the last round trip at a loss, between an eighth and a half of it.

use super::based::{LinuxBased, Rules, State};
use super::rounds::{RoundTrip, RoundTrips};
use super::scalable::segments_per_increase;
use super::window::Window;
use crate::tcp::congestion::FlowContext;
use crate::tcp::events::{AckEvent, CongestionEvent};
use crate::tcp::rtt::RttEstimate;

crate::parameters! {
    /// Nothing to choose.
    pub struct Parameters {}
}

/// Segments in the queue from which on it decongests (Q_max).
const ALPHA: u32 = 80;
/// The path counts as congested if the queueing delay exceeds the base RTT over this (phi).
const PHI: u64 = 8;
/// Congested round trips in a row from which on a loss halves the window (rho).
const RHO: u32 = 16;
/// Round trips without congestion after which Reno's share is estimated again.
const ZETA: u32 = 50;

/// Segments of the window that wait in the queue (Baiocchi, Castellani and Vacirca 2007, equation 1).
pub fn queue(cwnd: u32, round: RoundTrip) -> u32 {
    (u64::from(cwnd) * (round.least - round.base) / round.least) as u32
}

/// Segments by which a loss reduces the window if no Reno flow competes: the queue, between an eighth and a half of the window.
pub fn fast_reduction(cwnd: u32, queue: u32) -> u32 {
    queue.min((cwnd / 2).max(2)).max(cwnd / 8)
}

/// The algorithm's state.
pub type LinuxYeah = LinuxBased<TwoModes>;

/// The mode, and the evidence for competing Reno flows.
#[derive(Debug, Clone)]
pub struct TwoModes {
    round_trips: RoundTrips,
    queue: u32,
    /// Congested round trips in a row: Reno's mode if there are any.
    slow_rounds: u32,
    fast_rounds: u32,
    /// The estimated window of a competing Reno.
    reno: u32,
}

impl TwoModes {
    fn end_round(&mut self, window: &mut Window, round: RoundTrip) {
        let queue = queue(window.cwnd, round);
        self.queue = queue;
        if queue <= ALPHA && round.least - round.base <= round.base / PHI {
            self.slow_rounds = 0;
            self.fast_rounds += 1;
            if self.fast_rounds > ZETA {
                (self.reno, self.fast_rounds) = (2, 0);
            }
            return;
        }
        if queue > ALPHA && window.cwnd > self.reno {
            let reduction = queue.min(window.cwnd / 2);
            window.cwnd = (window.cwnd - reduction).max(self.reno);
            window.ssthresh = window.cwnd;
        }
        self.reno = if self.reno <= 2 { (window.cwnd / 2).max(2) } else { self.reno + 1 };
        self.slow_rounds += 1;
    }
}

impl Rules for TwoModes {
    type Parameters = Parameters;

    fn new(_parameters: Parameters, _flow: &FlowContext) -> TwoModes {
        TwoModes { round_trips: RoundTrips::default(), queue: 0, slow_rounds: 0, fast_rounds: 0, reno: 2 }
    }

    fn observe(&mut self, _window: &mut Window, ack: &AckEvent, _state: State, _rtt: &RttEstimate) {
        self.round_trips.on_ack(ack);
    }

    fn grow(&mut self, window: &mut Window, acked: u32, ack: &AckEvent, _rtt: &RttEstimate) {
        let rest = if window.in_slow_start() { window.slow_start(acked) } else { acked };
        if rest > 0 {
            self.avoid(window, rest, ack);
        }
        if self.round_trips.is_over()
            && let Some(round) = self.round_trips.end()
        {
            self.end_round(window, round);
        }
    }

    fn avoid(&mut self, window: &mut Window, acked: u32, _ack: &AckEvent) {
        let is_fast = self.slow_rounds == 0;
        window.grow(if is_fast { segments_per_increase(window.cwnd) } else { window.cwnd }, acked);
    }

    fn ssthresh(&mut self, cwnd: u32, _event: &CongestionEvent) -> u32 {
        let reduction = if self.slow_rounds < RHO { fast_reduction(cwnd, self.queue) } else { (cwnd / 2).max(2) };
        self.fast_rounds = 0;
        self.reno = (self.reno / 2).max(2);
        cwnd.saturating_sub(reduction)
    }

    fn on_open(&mut self) {
        self.round_trips.begin();
    }

    fn on_restart(&mut self) {
        self.round_trips.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::CongestionControl;
    use crate::tcp::congestion::testing::bottleneck::{Bench, Path, flow};
    use crate::units::Duration;

    #[test]
    fn the_queue_is_the_windows_share_of_the_delay() {
        assert_eq!(queue(120, RoundTrip { base: 50_000, least: 60_000 }), 20);
    }

    #[test]
    fn a_loss_takes_the_queue_within_bounds() {
        assert_eq!([5, 30, 70].map(|queue| fast_reduction(100, queue)), [12, 30, 50]);
    }

    /// On a path of 500 segments with room for 1000 more, the queue exceeds the limit of decongestion by at most a round trip's growth.
    #[test]
    fn decongestion_keeps_the_queue_below_80_segments() {
        let path = Path { rate: 5000.0, delay: Duration::from_millis(100), buffer: 1000.0, loss: 0.0 };
        let mut bench = Bench::new(LinuxYeah::new(Parameters::default(), flow(1)), path);
        bench.run(20.0);
        for _ in 0..20 {
            let observed = bench.run(1.0);
            assert_eq!(observed.loss_ratio, 0.0);
            assert!(bench.control.cwnd() <= 500.0 + 80.0 + 20.0, "{}", bench.control.cwnd());
        }
    }
}
