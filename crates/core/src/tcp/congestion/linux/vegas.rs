//! Vegas as Linux has it, in whole segments.
//!
//! Differences from [`vegas`](crate::tcp::congestion::delay_based::vegas):
//! - Diff is the window times the queueing delay over the *base* RTT, rounded down. It exceeds the number of segments in queues.
//! - The bounds of Diff are 2 and 4 segments. Slow start doubles the window every round trip, and ends at a Diff above 1.
//! - At the end of slow start, the window shrinks by the number of segments in queues, minus one.
//! - A round trip with fewer than three samples is Reno's. So is the time while segments arrive out of order.
//! - The least RTT is forgotten whenever nothing was in flight, also by a timeout.

use super::based::{LinuxBased, Rules, State};
use super::rounds::{RoundTrip, RoundTrips};
use super::window::Window;
use crate::tcp::congestion::FlowContext;
use crate::tcp::events::{AckEvent, CongestionEvent};
use crate::tcp::rtt::RttEstimate;

crate::parameters! {
    /// Linux's constants.
    pub struct Parameters {
        /// The window grows while Diff is less (2).
        pub alpha: u32 = 2, in 0..=1_000_000;
        /// The window shrinks while Diff is greater (4).
        pub beta: u32 = 4, in 0..=1_000_000;
        /// Slow start ends when Diff is greater (1).
        pub gamma: u32 = 1, in 0..=1_000_000;
    }
}

/// Diff: segments by which the window exceeds the path's, in units of base RTTs.
pub fn diff(cwnd: u32, round: RoundTrip) -> u32 {
    (u64::from(cwnd) * (round.least - round.base) / round.base) as u32
}

/// The window with the same rate, but without a queue.
pub fn target(cwnd: u32, round: RoundTrip) -> u32 {
    (u64::from(cwnd) * round.base / round.least) as u32
}

/// The algorithm's state.
pub type LinuxVegas = LinuxBased<Backlog>;

/// The measurements.
#[derive(Debug, Clone)]
pub struct Backlog {
    parameters: Parameters,
    round_trips: RoundTrips,
    /// Whether the path is measured; else it is Reno.
    measuring: bool,
}

impl Backlog {
    fn end_round(&mut self, window: &mut Window, round: RoundTrip, acked: u32) {
        let Parameters { alpha, beta, gamma } = self.parameters;
        let cwnd = window.cwnd;
        let diff = diff(cwnd, round);
        if window.in_slow_start() {
            if diff > gamma {
                window.cwnd = cwnd.min(target(cwnd, round) + 1);
                window.ssthresh = window.ssthresh.min(window.cwnd);
            } else {
                window.slow_start(acked);
            }
        } else if diff > beta {
            window.cwnd -= 1;
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if diff < alpha {
            window.cwnd += 1;
        }
        window.cwnd = window.cwnd.max(2);
        window.ssthresh = window.remembered_threshold();
    }
}

impl Rules for Backlog {
    type Parameters = Parameters;

    /// Only where it is Reno.
    const JUDGES_LIMIT: bool = true;

    fn new(parameters: Parameters, _flow: &FlowContext) -> Backlog {
        Backlog { parameters, round_trips: RoundTrips::default(), measuring: true }
    }

    fn observe(&mut self, _window: &mut Window, ack: &AckEvent, _state: State, _rtt: &RttEstimate) {
        self.round_trips.on_ack(ack);
    }

    fn grow(&mut self, window: &mut Window, acked: u32, ack: &AckEvent, _rtt: &RttEstimate) {
        let round = (self.measuring && self.round_trips.is_over()).then(|| self.round_trips.end());
        match round {
            Some(Some(round)) => self.end_round(window, round, acked),
            Some(None) => window.grow_as_reno(ack.growth),
            None if !self.measuring => window.grow_as_reno(ack.growth),
            None => {
                if window.in_slow_start() {
                    window.slow_start(acked);
                }
            }
        }
    }

    fn ssthresh(&mut self, cwnd: u32, _event: &CongestionEvent) -> u32 {
        self.measuring = false;
        cwnd / 2
    }

    fn on_open(&mut self) {
        self.measuring = true;
        self.round_trips.begin();
    }

    fn on_disorder(&mut self) {
        self.measuring = false;
    }

    fn on_restart(&mut self) {
        self.measuring = true;
        self.round_trips.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::CongestionControl;
    use crate::tcp::congestion::testing::bottleneck::{Bench, Path, flow};
    use crate::tcp::congestion::testing::ideal::{Ideal, RTT};
    use crate::tcp::events::CongestionKind;
    use crate::units::Duration;

    /// A window of 60 at 60 ms over a path of 50: 10 segments wait, and Diff is 12.
    #[test]
    fn diff_counts_base_rtts() {
        let round = RoundTrip { base: 50_000, least: 60_000 };
        assert_eq!((diff(60, round), target(60, round)), (12, 50));
    }

    /// A timeout leaves nothing in flight, so its retransmission restarts Vegas. Half of the RTT is then queueing delay. So the window shrinks below
    /// the threshold of 50, where Reno's would grow.
    #[test]
    fn after_a_timeout_it_measures_anew() {
        let mut path = Ideal::new(LinuxVegas::new(Parameters::default(), flow(1)));
        path.grow_to(100.0);
        path.congestion(CongestionKind::Timeout { repeated: false });
        path.grow_to(50.0);
        (0..2000).for_each(|_| path.ack_after(RTT * 2, 1));
        assert!(path.control.cwnd() < 50.0, "{}", path.control.cwnd());
    }

    /// The RTT has doubled, so that Vegas shrinks its window. Linux leaves it to Reno while a segment is late (`TCP_CA_Disorder`).
    #[test]
    fn while_segments_arrive_out_of_order_it_is_reno() {
        let mut path = Ideal::new(LinuxVegas::new(Parameters::default(), flow(1)));
        path.grow_to(100.0);
        path.congestion(CongestionKind::Loss);
        path.control.on_recovered();
        for (sacked, grows) in [(1, true), (0, false)] {
            path.sacked = sacked;
            let before = path.control.cwnd();
            (0..500).for_each(|_| path.ack_after(RTT * 2, 1));
            assert_eq!(path.control.cwnd() > before, grows, "from {before} to {}", path.control.cwnd());
        }
    }

    #[test]
    fn it_keeps_two_to_four_segments_waiting() {
        let path = Path { rate: 1000.0, delay: Duration::from_millis(50), buffer: 100.0, loss: 0.0 };
        let mut bench = Bench::new(LinuxVegas::new(Parameters::default(), flow(1)), path);
        bench.run(20.0);
        let observed = bench.run(10.0);
        let waiting = (observed.mean_rtt - 0.051) * path.rate;
        assert!((1.0..=4.5).contains(&waiting) && observed.goodput > 0.99 * path.rate, "{waiting}");
    }
}
