//! Vegas: keeps a few segments in the queue of the path (Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on
//! a Global Internet", 1995).
//!
//! Its retransmission mechanism (section III.A) is not here, because the detector decides on losses. A loss is answered as
//! [`newreno`](crate::tcp::congestion::loss_based::newreno) does.

use super::backlog::{Round, Rounds};
use crate::tcp::congestion::loss_based::MIN_SSTHRESH;
use crate::tcp::congestion::loss_based::newreno::{self, NewReno};
use crate::tcp::congestion::{CongestionControl, FlowContext};
use crate::tcp::events::{AckEvent, CongestionEvent};
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Time};

crate::parameters! {
    /// Vegas's thresholds.
    pub struct Parameters {
        /// The window grows while fewer segments than this wait in queues (Brakmo and Peterson section III.B: 1; Linux: 2).
        pub alpha: f64 = 1.0, in 0.0..=1_000_000.0;
        /// The window shrinks while more segments than this wait in queues (section III.B: 3; Linux: 4).
        pub beta: f64 = 3.0, in 0.0..=1_000_000.0;
        /// Slow start ends when more segments than this wait in queues (section III.C: 1).
        pub gamma: f64 = 1.0, in 0.0..=1_000_000.0;
        /// Round trips in which slow start doubles the window once (section III.C: 2; Linux: 1). The window is constant in all
        /// but the first, so that expected and actual rate can be compared.
        pub doubling_rounds: u32 = 2, in 1..=100;
        /// Whether leaving slow start takes what waits in queues out of the window, but for one segment (Linux: yes; the
        /// paper does not say).
        pub drain: bool = false;
        /// Round trips between steps of the window in congestion avoidance (section III.B: 1). Linux 2.6.22 has 2, since its step
        /// follows from the window of one round trip before.
        pub step_rounds: u32 = 1, in 1..=100;
        /// What remains of the window after a loss (0.5, as with Reno).
        pub loss_remainder: f64 = 0.5, in 0.01..=0.99;
    }
}

/// Window after a round trip in congestion avoidance at whose end `backlog` segments wait (section III.B).
pub fn adjust(cwnd: f64, backlog: f64, alpha: f64, beta: f64) -> f64 {
    if backlog < alpha {
        cwnd + 1.0
    } else if backlog > beta {
        (cwnd - 1.0).max(MIN_SSTHRESH)
    } else {
        cwnd
    }
}

/// The window that carries the deliveries of a round trip and leaves one segment waiting.
pub fn drained(round: Round) -> f64 {
    (round.window - round.backlog + 1.0).max(MIN_SSTHRESH)
}

/// Vegas's state.
#[derive(Debug, Clone)]
pub struct Vegas {
    parameters: Parameters,
    reno: NewReno,
    rounds: Rounds,
    /// Rounds that have begun.
    count: u32,
}

impl Vegas {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, flow: FlowContext) -> Vegas {
        let reno = newreno::Parameters { beta: parameters.loss_remainder, ..newreno::Parameters::default() };
        Vegas { parameters, reno: NewReno::new(reno, flow), rounds: Rounds::default(), count: 0 }
    }

    fn end_round(&mut self, round: Round, slow_start: bool) {
        let Parameters { alpha, beta, gamma, drain, step_rounds, .. } = self.parameters;
        let cwnd = self.reno.cwnd();
        if !slow_start {
            if self.count.is_multiple_of(step_rounds) {
                self.reno.set(adjust(cwnd, round.backlog, alpha, beta), MIN_SSTHRESH);
            }
        } else if round.backlog > gamma {
            self.reno.set(if drain { cwnd.min(drained(round)) } else { cwnd }, MIN_SSTHRESH);
        }
    }
}

impl CongestionControl for Vegas {
    fn on_ack(&mut self, ack: &AckEvent, rtt: &RttEstimate) {
        let round = self.rounds.on_ack(ack);
        self.count = self.count.wrapping_add(u32::from(ack.round_start));
        let slow_start = self.reno.cwnd() < self.reno.ssthresh();
        if let Some(round) = round
            && ack.growth > 0
        {
            self.end_round(round, slow_start);
        }
        if self.reno.cwnd() < self.reno.ssthresh() && self.count.is_multiple_of(self.parameters.doubling_rounds) {
            self.reno.on_ack(ack, rtt);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent, rtt: &RttEstimate) {
        self.reno.on_congestion(event, rtt);
        self.rounds.discard();
    }

    fn undo(&mut self) {
        self.reno.undo();
    }

    fn on_recovered(&mut self) {
        self.rounds.discard();
    }

    fn on_idle(&mut self, now: Time, idle: Duration, initial_window: u32, rtt: &RttEstimate) {
        self.reno.on_idle(now, idle, initial_window, rtt);
        self.rounds.discard();
    }

    fn cwnd(&self) -> f64 {
        self.reno.cwnd()
    }

    fn ssthresh(&self) -> f64 {
        self.reno.ssthresh()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::testing::bottleneck::{Bench, Path, flow};
    #[test]
    fn section_iii_b_grows_below_alpha_shrinks_above_beta_and_rests_between() {
        assert_eq!(adjust(20.0, 0.9, 1.0, 3.0), 21.0);
        assert_eq!(adjust(20.0, 1.0, 1.0, 3.0), 20.0);
        assert_eq!(adjust(20.0, 3.0, 1.0, 3.0), 20.0);
        assert_eq!(adjust(20.0, 3.1, 1.0, 3.0), 19.0);
        assert_eq!(adjust(2.0, 3.1, 1.0, 3.0), 2.0);
    }

    #[test]
    fn what_is_drained_leaves_one_segment_waiting() {
        assert_eq!(drained(Round { window: 40.0, backlog: 10.0 }), 31.0);
    }

    const PATH: Path = Path { rate: 1000.0, delay: Duration::from_millis(100), buffer: 1000.0, loss: 0.0 };

    /// Segments waiting in the queue on average, by the RTT that a segment sees (its own transmission is not waiting).
    fn waiting(parameters: Parameters) -> (f64, f64) {
        let mut bench = Bench::new(Vegas::new(parameters, flow(1)), PATH);
        bench.run(60.0);
        let observed = bench.run(20.0);
        assert_eq!(observed.loss_ratio, 0.0);
        (observed.goodput / PATH.rate, (observed.mean_rtt - PATH.delay.as_secs()) * PATH.rate - 1.0)
    }

    #[test]
    fn section_iii_b_it_keeps_between_alpha_and_beta_segments_waiting_and_the_path_full() {
        for (alpha, beta) in [(1.0, 3.0), (2.0, 4.0), (10.0, 20.0)] {
            let (utilisation, queue) = waiting(Parameters { alpha, beta, ..Parameters::default() });
            assert!(utilisation > 0.99, "{utilisation}");
            assert!((alpha - 1.0..=beta + 1.0).contains(&queue), "{queue} is not in {alpha} to {beta}");
        }
    }

    #[test]
    fn section_iii_c_slow_start_takes_every_other_round_and_stops_at_gamma() {
        let path = Path { rate: 100_000.0, buffer: 1e6, ..PATH };
        let growth = |parameters| {
            let mut bench = Bench::new(Vegas::new(parameters, flow(1)), path);
            bench.run(0.25); // two round trips have come back
            let before = bench.control.cwnd();
            bench.run(0.4);
            bench.control.cwnd() / before
        };
        assert_eq!(growth(Parameters { doubling_rounds: 1, ..Parameters::default() }), 16.0);
        assert_eq!(growth(Parameters::default()), 4.0);
    }

    #[test]
    fn a_step_every_other_round_grows_half_as_fast() {
        let path = Path { rate: 100_000.0, buffer: 1e6, ..PATH };
        let growth = |step_rounds| {
            let mut bench = Bench::new(Vegas::new(Parameters { step_rounds, ..Parameters::default() }, flow(1)), path);
            bench.run(0.5);
            bench.control.reno.set(20.0, MIN_SSTHRESH);
            bench.run(1.0);
            let before = bench.control.cwnd();
            bench.run(4.0);
            bench.control.cwnd() - before
        };
        assert!((growth(1) - 40.0).abs() <= 1.0, "{}", growth(1));
        assert!((growth(2) - 20.0).abs() <= 1.0, "{}", growth(2));
    }

    #[test]
    fn leaving_slow_start_by_the_queue_loses_nothing() {
        for drain in [false, true] {
            let mut bench = Bench::new(Vegas::new(Parameters { drain, ..Parameters::default() }, flow(1)), PATH);
            let observed = bench.run(5.0);
            assert_eq!((observed.loss_ratio, bench.control.ssthresh()), (0.0, MIN_SSTHRESH));
        }
    }
}
