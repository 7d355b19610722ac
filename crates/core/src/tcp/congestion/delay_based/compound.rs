//! Compound: a window of two parts, Reno's and one that follows the delay (Tan, Song, Zhang and Sridharan, "A Compound TCP
//! Approach for High-speed and Long Distance Networks", 2006; draft-sridharan-tcpm-ctcp, "draft").
//!
//! The delay part is zero in slow start and after a timeout. It stays constant while Reno's part is below `low_window`; there the
//! window is [`newreno`](crate::tcp::congestion::loss_based::newreno)'s. With `beta` 0.5 a loss halves the whole, since the delay part replaces the missing half of
//! Reno's part.

use super::backlog::{Round, Rounds};
use crate::tcp::congestion::loss_based::MIN_SSTHRESH;
use crate::tcp::congestion::loss_based::newreno::{self, NewReno};
use crate::tcp::congestion::{CongestionControl, FlowContext};
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind};
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Time};

crate::parameters! {
    /// Compound's constants.
    pub struct Parameters {
        /// Factor of the growth without queue, alpha win^k a round trip (Tan et al. equation 4: 1/8).
        pub alpha: f64 = 0.125, in 0.0..=1000.0;
        /// Share of the window that a loss takes (Tan et al. equation 4: 1/2).
        pub beta: f64 = 0.5, in 0.01..=0.99;
        /// Exponent of that growth (Tan et al. section III.B: 0.75, near HighSpeed TCP's 0.8).
        pub k: f64 = 0.75, in 0.0..=0.99;
        /// The delay part shrinks once this many segments wait in queues (Tan et al. section III.D: 30).
        pub gamma: f64 = 30.0, in 0.0..=1_000_000.0;
        /// By how many segments for each that waits (Tan et al. equation 5, zeta: 1).
        pub zeta: f64 = 1.0, in 0.0..=1000.0;
        /// Reno's part from which on the delay part acts, segments (draft: 38, as HighSpeed TCP).
        pub low_window: f64 = 38.0, in 0.0..=1_000_000.0;
    }
}

/// The delay part after a round trip at whose end `backlog` segments of `window` wait (Tan et al. equation 5).
pub fn delay_part(dwnd: f64, window: f64, backlog: f64, parameters: &Parameters) -> f64 {
    if backlog < parameters.gamma {
        dwnd + (parameters.alpha * libm::pow(window, parameters.k) - 1.0).max(0.0)
    } else {
        (dwnd - parameters.zeta * backlog).max(0.0)
    }
}

/// The delay part after a loss: the difference between 1 - beta of the whole window and half of Reno's part (Tan et al. equation
/// 5).
pub fn delay_part_after_loss(window: f64, cwnd: f64, beta: f64) -> f64 {
    (window * (1.0 - beta) - cwnd / 2.0).max(0.0)
}

/// Compound's state.
#[derive(Debug, Clone)]
pub struct Compound {
    parameters: Parameters,
    /// Reno's part: its cwnd and ssthresh are those of the paper.
    reno: NewReno,
    rounds: Rounds,
    /// The delay part.
    dwnd: f64,
    before_reduction: f64,
}

impl Compound {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, flow: FlowContext) -> Compound {
        Compound {
            parameters,
            reno: NewReno::new(newreno::Parameters::default(), flow),
            rounds: Rounds::default(),
            dwnd: 0.0,
            before_reduction: 0.0,
        }
    }

    fn end_round(&mut self, round: Round) {
        if self.reno.cwnd() >= self.parameters.low_window {
            self.dwnd = delay_part(self.dwnd, self.cwnd(), round.backlog, &self.parameters);
        }
    }
}

impl CongestionControl for Compound {
    fn on_ack(&mut self, ack: &AckEvent, rtt: &RttEstimate) {
        let slow_start = self.reno.cwnd() < self.reno.ssthresh();
        if let Some(round) = self.rounds.on_ack(ack)
            && ack.growth > 0
            && !slow_start
        {
            self.end_round(round);
        }
        if slow_start {
            self.reno.on_ack(ack, rtt);
            return;
        }
        // Tan et al. equation 2: a segment per round trip of the whole window.
        let cwnd = self.reno.cwnd() + f64::from(ack.growth) / self.cwnd();
        self.reno.set(cwnd, self.reno.ssthresh());
    }

    fn on_congestion(&mut self, event: &CongestionEvent, rtt: &RttEstimate) {
        let repeated = event.kind == (CongestionKind::Timeout { repeated: true });
        if !repeated {
            self.before_reduction = self.dwnd;
        }
        let (window, cwnd) = (self.cwnd(), self.reno.cwnd());
        let half = (window.min(f64::from(event.prior_in_flight.max(1))) / 2.0).max(MIN_SSTHRESH);
        self.reno.on_congestion(event, rtt);
        if let CongestionKind::Timeout { .. } = event.kind {
            self.dwnd = 0.0;
            if !repeated {
                self.reno.set(self.reno.cwnd(), half);
            }
        } else {
            self.dwnd = delay_part_after_loss(window, cwnd, self.parameters.beta);
        }
        self.rounds.discard();
    }

    fn undo(&mut self) {
        self.reno.undo();
        self.dwnd = self.dwnd.max(self.before_reduction);
    }

    fn on_recovered(&mut self) {
        self.rounds.discard();
    }

    fn on_idle(&mut self, now: Time, idle: Duration, initial_window: u32, rtt: &RttEstimate) {
        if idle > rtt.rto() {
            self.dwnd = 0.0;
        }
        self.reno.on_idle(now, idle, initial_window, rtt);
        self.rounds.discard();
    }

    fn cwnd(&self) -> f64 {
        self.reno.cwnd() + self.dwnd
    }

    fn ssthresh(&self) -> f64 {
        self.reno.ssthresh()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::testing::bottleneck::{Bench, Path, flow};
    const DEFAULTS: Parameters =
        Parameters { alpha: 0.125, beta: 0.5, k: 0.75, gamma: 30.0, zeta: 1.0, low_window: 38.0 };

    #[test]
    fn tan_equation_5_without_queue_10000_segments_grow_by_124_a_round_trip() {
        assert_eq!(delay_part(0.0, 10_000.0, 29.0, &DEFAULTS), 124.0); // 10000^0.75 = 1000, over 8, less Reno's one
        assert_eq!(delay_part(5.0, 16.0, 0.0, &DEFAULTS), 5.0); // 16^0.75 = 8: exactly Reno's one
    }

    #[test]
    fn tan_equation_5_with_a_queue_it_shrinks_to_nothing() {
        assert_eq!(delay_part(100.0, 10_000.0, 30.0, &DEFAULTS), 70.0);
        assert_eq!(delay_part(20.0, 10_000.0, 30.0, &DEFAULTS), 0.0);
    }

    #[test]
    fn tan_equation_5_a_loss_leaves_half_of_the_whole() {
        assert_eq!(delay_part_after_loss(300.0, 100.0, 0.5), 100.0); // with Reno's 50: 150
        assert_eq!(delay_part_after_loss(100.0, 100.0, 0.5), 0.0);
    }

    fn observe<C: CongestionControl>(control: C, path: Path) -> Bench<C> {
        let mut bench = Bench::new(control, path);
        bench.run(40.0);
        bench
    }

    #[test]
    fn below_the_low_window_it_is_newreno() {
        let path = Path { rate: 200.0, delay: Duration::from_millis(100), buffer: 15.0, loss: 0.005 };
        let mut compound = observe(Compound::new(Parameters::default(), flow(1)), path);
        let mut newreno = observe(NewReno::new(newreno::Parameters::default(), flow(1)), path);
        for _ in 0..200 {
            let (one, other) = (compound.run(0.1), newreno.run(0.1));
            assert_eq!(
                (one.goodput, one.mean_rtt, compound.control.cwnd()),
                (other.goodput, other.mean_rtt, newreno.control.cwnd())
            );
            assert!(compound.control.cwnd() < 38.0);
        }
    }

    #[test]
    fn section_iv_on_a_long_path_with_random_loss_it_is_faster_than_newreno_and_keeps_the_queue_short() {
        let path = Path { rate: 10_000.0, delay: Duration::from_millis(100), buffer: 1000.0, loss: 1e-4 };
        let compound = observe(Compound::new(Parameters::default(), flow(1)), path).run(60.0);
        let newreno = observe(NewReno::new(newreno::Parameters::default(), flow(1)), path).run(60.0);
        assert!(compound.goodput > 1.5 * newreno.goodput, "{compound:?} against {newreno:?}");
        assert!(compound.mean_rtt < 0.12, "{compound:?}");
    }
}
