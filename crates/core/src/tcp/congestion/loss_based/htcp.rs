//! H-TCP (draft-leith-tcp-htcp-06; Leith and Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004). The
//! window grows faster with the time since the last congestion. A loss reduces it by the share that empties the queue.

use super::{IncreaseDecrease, LossBased};
use crate::tcp::events::{AckEvent, CongestionEvent};
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Time};

crate::parameters! {
    /// H-TCP's constants.
    pub struct Parameters {
        /// Time since the last congestion for which it grows as Reno does (Delta_L: 1 s).
        pub reno_time: Duration = Duration::from_secs(1);
        /// What remains of the window after a loss, at least, and when the throughput changed (0.5).
        pub beta_min: f64 = 0.5, in 0.01..=0.99;
        /// What remains of the window after a loss, at most (0.8).
        pub beta_max: f64 = 0.8, in 0.01..=0.99;
        /// Change of the throughput from one congestion to the next, as a share, from which on it counts as changed (0.2).
        pub throughput_change: f64 = 0.2, in 0.0..=1e9;
        /// Whether the growth is scaled by the RTT over 100 ms, so that flows of all RTTs grow alike (optional in the draft; on
        /// in Linux, off in FreeBSD).
        pub rtt_scaling: bool = true;
    }
}

/// Growth of a flow `elapsed` seconds after its last congestion, for a `beta` of one half: 1 until `reno_time`, then quadratic.
pub fn growth(elapsed: f64, reno_time: f64) -> f64 {
    let beyond = elapsed - reno_time;
    if beyond <= 0.0 { 1.0 } else { 1.0 + 10.0 * beyond + beyond * beyond / 4.0 }
}

/// The RTT at which scaling by it changes nothing, and the bounds of its ratio to that (Linux and FreeBSD).
const REFERENCE_RTT: f64 = 0.1;
const RTT_RATIOS: (f64, f64) = (0.1, 2.0);

/// Growth scaled by the RTT, never less than Reno's.
pub fn scale_by_rtt(growth: f64, rtt: f64) -> f64 {
    (growth * (rtt / REFERENCE_RTT).clamp(RTT_RATIOS.0, RTT_RATIOS.1)).max(1.0)
}

/// Segments per round trip. The factor makes the growth independent of `beta` on average.
pub fn alpha(growth: f64, beta: f64) -> f64 {
    2.0 * (1.0 - beta) * growth
}

/// Factor of the window after a loss: the share of the pipe in it, within bounds.
pub fn beta(rtt_min: f64, rtt_max: f64, beta_min: f64, beta_max: f64) -> f64 {
    (rtt_min / rtt_max).min(beta_max).max(beta_min)
}

/// The greatest RTT after a congestion. It falls by a twentieth of its distance from the least (Linux), so that it follows a
/// change of route.
pub fn faded(rtt_min: Duration, rtt_max: Duration) -> Duration {
    rtt_min + (rtt_max - rtt_min).scale(0.95)
}

/// H-TCP's state.
pub type Htcp = LossBased<ByElapsedTime>;

/// State that a congestion changes and an undo restores.
#[derive(Debug, Clone, Copy)]
struct Memory {
    /// When the last congestion was over, or the first ACK came: growth counts from here. `None` before.
    congested: Option<Time>,
    /// Least and greatest RTT.
    rtt: Option<(Duration, Duration)>,
    /// Throughput before the last congestion, segments per second.
    throughput: Option<f64>,
    beta: f64,
}

/// Increase by the time since the last congestion, decrease by the RTTs seen.
#[derive(Debug, Clone)]
pub struct ByElapsedTime {
    parameters: Parameters,
    memory: Memory,
    before: Memory,
    /// The current round trip: when it began, and the segments delivered since. `None` before the first ACK.
    round: Option<(Time, u32)>,
    /// The greatest throughput of a round trip since the last congestion.
    best: f64,
}

impl IncreaseDecrease for ByElapsedTime {
    type Parameters = Parameters;

    fn new(parameters: Parameters) -> ByElapsedTime {
        let memory = Memory { congested: None, rtt: None, throughput: None, beta: parameters.beta_min };
        ByElapsedTime { parameters, memory, before: memory, round: None, best: 0.0 }
    }

    fn observe(&mut self, _cwnd: f64, ack: &AckEvent, _rtt: &RttEstimate) {
        if ack.in_recovery {
            self.memory.congested = Some(ack.now); // in recovery nothing grows
            self.round = Some((ack.now, 0));
            return;
        }
        if let Some(sample) = ack.rtt {
            let (least, greatest) = self.memory.rtt.unwrap_or((sample, sample));
            self.memory.rtt = Some((least.min(sample), greatest.max(sample)));
        }
        self.memory.congested.get_or_insert(ack.now);
        let round = self.round.get_or_insert((ack.now, 0));
        round.1 += ack.delivered;
        if ack.round_start {
            let (since, delivered) = std::mem::replace(round, (ack.now, 0));
            let elapsed = ack.now.since(since);
            if elapsed > Duration::ZERO {
                self.best = self.best.max(f64::from(delivered) / elapsed.as_secs());
            }
        }
    }

    fn increase(&mut self, _cwnd: f64, ack: &AckEvent) -> f64 {
        let elapsed = ack.now.since(self.memory.congested.unwrap_or(ack.now)).as_secs();
        let mut growth = growth(elapsed, self.parameters.reno_time.as_secs());
        if self.parameters.rtt_scaling
            && let Some((least, _)) = self.memory.rtt
        {
            growth = scale_by_rtt(growth, least.as_secs());
        }
        alpha(growth, self.memory.beta)
    }

    fn decrease(&mut self, window: f64, event: &CongestionEvent) -> f64 {
        let Parameters { beta_min, beta_max, throughput_change, .. } = self.parameters;
        self.before = self.memory;
        let best = std::mem::take(&mut self.best);
        let steady = self.memory.throughput.is_some_and(|before| (best - before).abs() <= throughput_change * before);
        self.memory.beta = match self.memory.rtt {
            Some((least, greatest)) if steady => beta(least.as_secs(), greatest.as_secs(), beta_min, beta_max),
            _ => beta_min,
        };
        self.memory.throughput = Some(best);
        self.memory.congested = Some(event.now);
        self.memory.rtt = self.memory.rtt.map(|(least, greatest)| (least, faded(least, greatest)));
        window * self.memory.beta
    }

    fn undo(&mut self) {
        self.memory = self.before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::CongestionControl;
    use crate::tcp::congestion::testing::bottleneck::flow;
    use crate::tcp::congestion::testing::ideal::{Ideal, RTT, near};
    use crate::tcp::events::CongestionKind;

    #[test]
    fn growth_is_reno_for_a_second_and_quadratic_then() {
        assert_eq!(growth(0.3, 1.0), 1.0);
        assert_eq!(growth(1.0, 1.0), 1.0);
        assert_eq!(growth(2.0, 1.0), 11.25);
        assert_eq!(growth(3.0, 1.0), 22.0);
    }

    #[test]
    fn scaling_is_by_the_rtt_over_100_ms_from_a_tenth_to_twice() {
        near(scale_by_rtt(22.0, 0.05), 11.0, 1e-9);
        near(scale_by_rtt(22.0, 0.001), 2.2, 1e-9);
        near(scale_by_rtt(22.0, 1.0), 44.0, 1e-9);
        assert_eq!(scale_by_rtt(1.0, 0.02), 1.0);
    }

    #[test]
    fn alpha_makes_up_for_a_small_decrease() {
        assert_eq!(alpha(11.25, 0.5), 11.25);
        near(alpha(11.25, 0.8), 4.5, 1e-9);
    }

    #[test]
    fn beta_is_the_share_of_the_pipe_within_bounds() {
        assert_eq!(beta(0.1, 0.1, 0.5, 0.8), 0.8);
        near(beta(0.06, 0.1, 0.5, 0.8), 0.6, 1e-9);
        assert_eq!(beta(0.01, 0.1, 0.5, 0.8), 0.5);
    }

    #[test]
    fn the_greatest_rtt_fades_towards_the_least() {
        let (least, greatest) = (Duration::from_millis(100), Duration::from_millis(200));
        assert_eq!(faded(least, greatest), Duration::from_millis(195));
    }

    #[test]
    fn three_seconds_after_a_loss_the_window_has_grown_by_the_integral() {
        let mut path = Ideal::new(Htcp::new(Parameters::default(), flow(1)));
        path.grow_to(1000.0);
        path.congestion(CongestionKind::Loss); // the first: no throughput to compare with
        near(path.control.cwnd(), 500.0, 1.0);
        path.acks_for(3.0);
        // Over 3 s growth is 1 + 2 + 5 * 4 + 8 / 12 = 23.67, ten round trips a second, alpha is growth for beta 0.5.
        near(path.control.cwnd(), 500.0 + 236.7, 5.0);
    }

    /// Twice: slow start is no throughput to compare with.
    fn lose_at_400(path: &mut Ideal<Htcp>) {
        for _ in 0..2 {
            path.grow_to(400.0);
            path.congestion(CongestionKind::Loss);
            near(path.control.cwnd(), 200.0, 1.0);
        }
    }

    #[test]
    fn a_loss_at_the_same_throughput_and_no_queue_takes_a_fifth() {
        let mut path = Ideal::new(Htcp::new(Parameters::default(), flow(1)));
        lose_at_400(&mut path);
        path.grow_to(400.0);
        path.congestion(CongestionKind::Loss);
        near(path.control.cwnd(), 320.0, 2.0);
        path.grow_to(600.0); // half as much again
        path.congestion(CongestionKind::Loss);
        near(path.control.cwnd(), 300.0, 2.0);
    }

    #[test]
    fn a_loss_with_a_queue_takes_the_queue() {
        let mut path = Ideal::new(Htcp::new(Parameters::default(), flow(1)));
        lose_at_400(&mut path);
        path.grow_to(400.0);
        path.ack_after(RTT.scale(1.5), 1);
        path.congestion(CongestionKind::Loss);
        near(path.control.cwnd(), 400.0 / 1.5, 2.0);
    }

    #[test]
    fn an_undo_brings_the_time_of_the_last_congestion_back() {
        let mut path = Ideal::new(Htcp::new(Parameters::default(), flow(1)));
        path.grow_to(400.0);
        path.congestion(CongestionKind::Loss);
        path.acks_for(3.0);
        let (before, reno) = (path.control.cwnd(), path.control.algorithm().memory.congested);
        path.congestion(CongestionKind::Loss);
        path.control.undo();
        assert_eq!((path.control.cwnd(), path.control.algorithm().memory.congested), (before, reno));
    }
}
