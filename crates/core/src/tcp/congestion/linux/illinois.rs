//! TCP-Illinois as Linux has it: [`illinois`](crate::tcp::congestion::loss_based::illinois) in whole segments, microseconds, 128ths (growth) and 64ths (decrease).
//!
//! Differences from [`illinois`](crate::tcp::congestion::loss_based::illinois):
//! - It is Reno below a window of 15 segments.
//! - Every growth of the window clears the credit, so that its remainder is lost. All divisions round down.
//! - The ACK that ends fast recovery counts every segment that it passes, also segments that SACK reported before.
//! - Growth and decrease are recomputed at the first ACK of a round trip that may grow the window.

use super::based::{LinuxBased, Rules, State};
use super::window::Window;
use crate::tcp::congestion::FlowContext;
use crate::tcp::events::{AckEvent, CongestionEvent};
use crate::tcp::rtt::RttEstimate;
use crate::units::Duration;

crate::parameters! {
    /// Nothing to choose.
    pub struct Parameters {}
}

/// Growth in 128ths of a segment: at least 0.3, at most 10, and Reno's.
const ALPHA: (u64, u64) = (38, 1280);
const RENO_ALPHA: u64 = 128;
/// Decrease in 64ths of the window: at least 1/8, at most 1/2, which is Reno's.
const BETA: (u64, u64) = (8, 32);
/// Below this window it is Reno.
const WINDOW_THRESHOLD: u32 = 15;
/// Round trips of empty queue in a row until the growth is greatest again.
const THETA: u32 = 5;
/// Greater RTTs count as this, microseconds.
const GREATEST_RTT: u64 = u32::MAX as u64 / ALPHA.1;

/// Growth at average queueing delay `d_a` above the first threshold `d_m`/100, if the greatest seen is `d_m` (Liu, Basar, Srikant 2008, section 3.1).
pub fn alpha(d_a: u64, d_m: u64) -> u64 {
    let d_1 = d_m / 100;
    let (d_a, d_m) = (d_a - d_1, d_m - d_1);
    d_m * ALPHA.1 / (d_m + d_a * (ALPHA.1 - ALPHA.0) / ALPHA.0)
}

/// Share that a loss takes at average queueing delay `d_a` if the greatest seen is `d_m` (section 3.1).
pub fn beta(d_a: u64, d_m: u64) -> u64 {
    let (d_2, d_3) = (d_m / 10, 8 * d_m / 10);
    if d_a <= d_2 {
        BETA.0
    } else if d_a >= d_3 || d_3 <= d_2 {
        BETA.1
    } else {
        (BETA.0 * d_3 - BETA.1 * d_2 + (BETA.1 - BETA.0) * d_a) / (d_3 - d_2)
    }
}

/// The algorithm's state.
pub type LinuxIllinois = LinuxBased<ByDelay>;

/// Increase and decrease by queueing delay. Times are in microseconds.
#[derive(Debug, Clone)]
pub struct ByDelay {
    alpha: u64,
    beta: u64,
    /// Least and greatest RTT seen.
    extremes: Option<(u64, u64)>,
    /// RTTs of this round trip: their sum, and how many.
    round: (u64, u64),
    round_ended: bool,
    /// The delay has been above its first threshold, and has been below for this number of round trips since.
    above: bool,
    low_rounds: u32,
}

impl ByDelay {
    fn end_round(&mut self, cwnd: u32) {
        let (sum, count) = std::mem::take(&mut self.round);
        if cwnd < WINDOW_THRESHOLD {
            (self.alpha, self.beta) = (RENO_ALPHA, BETA.1);
        } else if let (Some((least, greatest)), Some(mean)) = (self.extremes, sum.checked_div(count)) {
            let (d_a, d_m) = (mean - least, greatest - least);
            if d_a > d_m / 100 {
                self.above = true;
                self.alpha = alpha(d_a, d_m);
            } else if !self.above {
                self.alpha = ALPHA.1;
            } else {
                self.low_rounds += 1;
                if self.low_rounds >= THETA {
                    (self.above, self.low_rounds) = (false, 0);
                    self.alpha = ALPHA.1;
                }
            }
            self.beta = beta(d_a, d_m);
        }
    }
}

impl Rules for ByDelay {
    type Parameters = Parameters;

    fn new(_parameters: Parameters, _flow: &FlowContext) -> ByDelay {
        ByDelay {
            alpha: ALPHA.1,
            beta: BETA.1,
            extremes: None,
            round: (0, 0),
            round_ended: false,
            above: false,
            low_rounds: 0,
        }
    }

    fn observe(&mut self, window: &mut Window, ack: &AckEvent, _state: State, _rtt: &RttEstimate) {
        if let Some(rtt) = ack.rtt {
            let micros = (rtt.0 / Duration::from_micros(1).0).min(GREATEST_RTT);
            let (least, greatest) = self.extremes.unwrap_or((micros, micros));
            self.extremes = Some((least.min(micros), greatest.max(micros)));
            self.round = (self.round.0 + micros, self.round.1 + 1);
        }
        self.round_ended |= ack.round_start;
        if self.round_ended && ack.may_grow > 0 {
            self.round_ended = false;
            self.end_round(window.cwnd);
        }
    }

    fn grow(&mut self, window: &mut Window, acked: u32, ack: &AckEvent, _rtt: &RttEstimate) {
        if window.in_slow_start() {
            window.slow_start(acked);
            return;
        }
        window.credit += ack.cumulative;
        let delta = u64::from(window.credit) * self.alpha / RENO_ALPHA;
        let cwnd = u64::from(window.cwnd);
        if delta >= cwnd {
            window.cwnd += (delta / cwnd) as u32;
            window.credit = 0;
        }
    }

    fn ssthresh(&mut self, cwnd: u32, _event: &CongestionEvent) -> u32 {
        cwnd - (u64::from(cwnd) * self.beta / 64) as u32
    }

    fn on_timeout(&mut self, _window: &mut Window, _new: bool) {
        (self.alpha, self.beta) = (RENO_ALPHA, BETA.1);
        (self.above, self.low_rounds) = (false, 0);
        (self.round, self.round_ended) = ((0, 0), false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::CongestionControl;
    use crate::tcp::congestion::testing::bottleneck::flow;
    use crate::tcp::congestion::testing::ideal::Ideal;
    use crate::tcp::events::CongestionKind;

    /// As in the paper's formulas: 10 at the threshold, 0.588 at half of 100 ms, 0.3 at 100 ms, in 128ths and rounded down.
    #[test]
    fn alpha_falls_from_10_to_0_3() {
        assert_eq!([1_001, 50_000, 100_000].map(|d_a| alpha(d_a, 100_000)), [1279, 74, 38]);
    }

    #[test]
    fn beta_is_a_line_between_an_eighth_and_a_half() {
        assert_eq!([10_000, 45_000, 80_000].map(|d_a| beta(d_a, 100_000)), [8, 20, 32]);
        assert_eq!(beta(1, 1), 32);
    }

    #[test]
    fn without_a_queue_it_grows_by_ten_a_round_trip_and_loses_an_eighth() {
        let mut path = Ideal::new(LinuxIllinois::new(Parameters::default(), flow(1)));
        path.grow_to(400.0);
        path.congestion(CongestionKind::Loss);
        assert_eq!(path.control.cwnd(), 350.0);
        (0..35).for_each(|_| path.ack(1));
        assert_eq!(path.control.cwnd(), 351.0);
    }
}
