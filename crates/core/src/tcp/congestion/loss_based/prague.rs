//! Prague: the congestion control of L4S (draft-briscoe-iccrg-prague-congestion-control-04; `tcp_prague` of L4STeam's Linux). As in
//! [`super::dctcp`], the window shrinks by the share of marked segments. Besides:
//!
//! - Segments without a mark grow the window, also beside marked ones.
//! - A flow with a round trip below 25 ms grows and shrinks as one of 25 ms, some round trips after slow start.
//! - The flow paces at cwnd / SRTT, at twice that in slow start.
//! - A loss halves the window, as Reno does, and a timeout ends it.
//!
//! Its stack needs `ecn`, `l4s` and AccECN. Not modelled: the detection of classic queues that mark (RFC 3168), which Linux's has switched off, and
//! segments smaller than `mss` for windows below two.

use super::dctcp::{estimate, reduced};
use super::{MIN_SSTHRESH, congestion_avoidance, restart_window};
use crate::tcp::congestion::slow_start::SlowStart;
use crate::tcp::congestion::{CongestionControl, Demands, FlowContext};
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind};
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Rate, Time};

crate::parameters! {
    /// Prague's constants.
    pub struct Parameters {
        /// Weight of the newest round trip in the estimate of the marked share (g; draft section 2.4.2: 1/16).
        pub gain: f64 = 0.0625, in 0.0001..=1.0;
        /// A flow with a shorter round trip behaves as one of this length (draft section 2.4.4; `prague_rtt_target`).
        pub rtt_target: Duration = Duration::from_millis(25);
        /// Rounds after slow start from which on it does so (`prague_rtt_transition`).
        pub rtt_transition: u32 = 500;
    }
}

/// Segments by which the window of a flow grows in a round trip, so that its rate grows as fast as with the round trip `target` (draft section 2.4.4,
/// `prague_rate_scaled_ai_ack_increase`). The ratio of both counts twice: for the window of a rate, and for the time of a round.
pub fn increase(round_trip: Duration, target: Duration) -> f64 {
    let ratio = round_trip.as_secs() / target.as_secs();
    if ratio < 1.0 { ratio * ratio } else { 1.0 }
}

/// The factor of cwnd / SRTT at which it paces, in slow start and after (`prague_update_pacing_rate`).
const PACING_FACTORS: (f64, f64) = (2.0, 1.0);
/// The round trip before the first sample, for the pacing rate.
const FIRST_ROUND_TRIP: Duration = Duration::from_millis(1);

/// Prague's state.
#[derive(Debug, Clone)]
pub struct Prague {
    parameters: Parameters,
    wire_bytes: u32,
    cwnd: f64,
    ssthresh: f64,
    slow_start: SlowStart,
    before_reduction: (f64, f64),
    rate: Rate,
    /// The estimate of the marked share; one, until a mark has shown that a queue marks.
    alpha: f64,
    has_marks: bool,
    /// Segments acknowledged and marked since the last estimate, and whether a round trip has ended since.
    acknowledged: u32,
    marked: u32,
    round_ended: bool,
    estimated: Time,
    /// Estimates since slow start.
    rounds: u32,
    /// When marks last shrank the window.
    reduced: Option<Time>,
}

impl Prague {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, flow: FlowContext) -> Prague {
        let initial_window = f64::from(flow.initial_window);
        let mut prague = Prague {
            parameters,
            wire_bytes: flow.wire_bytes,
            cwnd: initial_window,
            ssthresh: f64::INFINITY,
            slow_start: SlowStart::new(flow.slow_start),
            before_reduction: (initial_window, f64::INFINITY),
            rate: Rate(1),
            alpha: 1.0,
            has_marks: false,
            acknowledged: 0,
            marked: 0,
            round_ended: false,
            estimated: Time::ZERO,
            rounds: 0,
            reduced: None,
        };
        prague.pace(FIRST_ROUND_TRIP);
        prague
    }

    fn pace(&mut self, round_trip: Duration) {
        let factor = if self.cwnd < self.ssthresh / 2.0 { PACING_FACTORS.0 } else { PACING_FACTORS.1 };
        let bits = factor * self.cwnd * f64::from(self.wire_bytes) * 8.0;
        self.rate = Rate::from_bps((bits / round_trip.as_secs()).max(1.0));
    }

    /// Whether the flow behaves as one with the target's round trip.
    fn is_rtt_independent(&self) -> bool {
        self.cwnd >= self.ssthresh && self.rounds >= self.parameters.rtt_transition
    }

    /// Whether the target's round trip has passed since, if the flow observes it.
    fn may_act_again(&self, now: Time, since: Time) -> bool {
        !self.is_rtt_independent() || now - since >= self.parameters.rtt_target
    }

    /// Counts an ACK, which may end a round trip (draft section 2.4.2).
    fn count(&mut self, ack: &AckEvent) {
        self.acknowledged += ack.delivered;
        self.marked += ack.marked;
        self.has_marks |= ack.marked > 0;
        self.round_ended |= ack.round_start;
        if !self.round_ended || self.acknowledged == 0 || !self.may_act_again(ack.now, self.estimated) {
            return;
        }
        if self.has_marks {
            let share = (f64::from(self.marked) / f64::from(self.acknowledged)).min(1.0);
            self.alpha = estimate(self.alpha, self.parameters.gain, share);
        }
        if self.cwnd >= self.ssthresh {
            self.rounds = self.rounds.saturating_add(1);
        }
        (self.acknowledged, self.marked, self.round_ended) = (0, 0, false);
        self.estimated = ack.now;
    }

    fn shrink_to(&mut self, cwnd: f64) {
        self.before_reduction = (self.cwnd, self.ssthresh);
        self.ssthresh = cwnd.max(MIN_SSTHRESH);
        self.cwnd = self.ssthresh;
    }
}

impl CongestionControl for Prague {
    fn on_ack(&mut self, ack: &AckEvent, rtt: &RttEstimate) {
        self.count(ack);
        // Marked segments do not grow the window: so the growth of a round trip falls as the marked share rises (draft section 2.4.3).
        let mut growth = ack.growth.saturating_sub(ack.marked);
        if self.cwnd < self.ssthresh {
            growth = self.slow_start.on_ack(&mut self.cwnd, &mut self.ssthresh, &AckEvent { growth, ..*ack });
        }
        let round_trip = rtt.smoothed();
        if growth > 0 {
            let alpha = match round_trip {
                Some(round_trip) if self.is_rtt_independent() => increase(round_trip, self.parameters.rtt_target),
                _ => 1.0,
            };
            self.cwnd = congestion_avoidance(self.cwnd, alpha, growth);
        }
        self.pace(round_trip.unwrap_or(FIRST_ROUND_TRIP));
    }

    fn on_congestion(&mut self, event: &CongestionEvent, rtt: &RttEstimate) {
        match event.kind {
            CongestionKind::EcnEcho => {
                if self.reduced.is_none_or(|reduced| self.may_act_again(event.now, reduced)) {
                    self.reduced = Some(event.now);
                    self.shrink_to(reduced(self.cwnd, self.alpha));
                }
            }
            CongestionKind::Loss => self.shrink_to(self.cwnd / 2.0),
            CongestionKind::Timeout { repeated } => {
                if !repeated {
                    self.shrink_to(self.cwnd / 2.0);
                }
                self.cwnd = 1.0; // RFC 5681 section 3.1
            }
        }
        self.pace(rtt.smoothed().unwrap_or(FIRST_ROUND_TRIP));
    }

    fn undo(&mut self) {
        self.cwnd = self.cwnd.max(self.before_reduction.0);
        self.ssthresh = self.before_reduction.1;
    }

    fn on_established(&mut self, _now: Time, rtt: &RttEstimate) {
        self.pace(rtt.smoothed().unwrap_or(FIRST_ROUND_TRIP));
    }

    fn on_idle(&mut self, _now: Time, idle: Duration, initial_window: u32, rtt: &RttEstimate) {
        self.cwnd = restart_window(self.cwnd, f64::from(initial_window), idle, rtt.rto());
        self.pace(rtt.smoothed().unwrap_or(FIRST_ROUND_TRIP));
    }

    /// The fractional window, rounded up (`prague_frac_cwnd_to_snd_cwnd`).
    fn cwnd(&self) -> f64 {
        self.cwnd.ceil()
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.rate)
    }

    fn demands(&self) -> Demands {
        Demands { grows_beside_marks: true, ..Demands::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::testing::bottleneck::flow;

    fn new() -> Prague {
        Prague::new(Parameters::default(), FlowContext { initial_window: 100, ..flow(1) })
    }

    fn ms(milliseconds: u64) -> Time {
        Time::ZERO + Duration::from_millis(milliseconds)
    }

    fn rtt(milliseconds: u64) -> RttEstimate {
        let (least, most) = (Duration::from_millis(200), Duration::from_secs(60));
        let mut rtt = RttEstimate::new(least, most, Duration::from_secs(1));
        rtt.sample(Duration::from_millis(milliseconds));
        rtt
    }

    fn echo(now: Time) -> CongestionEvent {
        CongestionEvent { now, kind: CongestionKind::EcnEcho, prior_in_flight: 100 }
    }

    /// A flow of 100 segments after slow start and this number of rounds, that reduces by a tenth.
    fn avoiding(rounds: u32) -> Prague {
        let mut prague = new();
        (prague.ssthresh, prague.rounds, prague.alpha, prague.has_marks) = (100.0, rounds, 0.2, true);
        prague
    }

    /// 5 ms is a fifth of 25 ms: a window that is a fifth grows by a segment in five of the longer rounds' fifths, 1 / 25 in each.
    #[test]
    fn a_short_round_trip_grows_as_one_of_25_ms() {
        let target = Duration::from_millis(25);
        let of = |milliseconds| increase(Duration::from_millis(milliseconds), target);
        assert!((of(5) - 0.04).abs() < 1e-12);
        assert_eq!([of(25), of(100)], [1.0, 1.0]);
        let grown = |rounds| {
            let mut prague = avoiding(rounds);
            let ack = AckEvent { now: ms(5), growth: 100, delivered: 100, ..AckEvent::PREDICTED };
            prague.on_ack(&ack, &rtt(5));
            prague.cwnd - 100.0
        };
        assert!((grown(0) - 1.0).abs() < 1e-9 && (grown(500) - 0.04).abs() < 1e-9);
    }

    /// The first mark halves the window, because the share is unknown; later ones take half of the share.
    #[test]
    fn the_first_mark_halves_and_later_ones_take_half_of_the_share() {
        let mut prague = new();
        prague.on_congestion(&echo(ms(10)), &rtt(5));
        assert_eq!((prague.cwnd(), prague.ssthresh()), (50.0, 50.0));
        let mut prague = avoiding(0);
        prague.on_congestion(&echo(ms(10)), &rtt(5));
        prague.on_congestion(&echo(ms(16)), &rtt(5));
        assert_eq!(prague.cwnd, 81.0);
    }

    #[test]
    fn an_independent_flow_reduces_once_in_25_ms() {
        let mut prague = avoiding(500);
        for (now, cwnd) in [(30, 90.0), (40, 90.0), (54, 90.0), (55, 81.0)] {
            prague.on_congestion(&echo(ms(now)), &rtt(5));
            assert!((prague.cwnd - cwnd).abs() < 1e-9, "{now} ms: {}", prague.cwnd);
        }
    }

    /// Ten of 100 segments were marked: 90 grow the window, and the estimate moves by a sixteenth towards 0.1.
    #[test]
    fn unmarked_segments_grow_the_window_beside_marked_ones() {
        let mut prague = avoiding(0);
        let ack = AckEvent { growth: 100, delivered: 100, marked: 10, round_start: true, ..AckEvent::PREDICTED };
        prague.on_ack(&ack, &rtt(30));
        assert!((prague.cwnd - 100.9).abs() < 1e-9 && (prague.alpha - (0.2 - 0.1 / 16.0)).abs() < 1e-12);
    }

    /// 100 segments of 1250 bytes in 10 ms are 100 Mbit/s. In slow start the rate is twice that.
    #[test]
    fn it_paces_a_window_in_a_round_trip() {
        let wire_bytes = f64::from(flow(1).wire_bytes);
        let mut prague = avoiding(0);
        prague.on_established(ms(0), &rtt(10));
        let of = |prague: &Prague| prague.pacing_rate().unwrap().as_bps() / (wire_bytes * 8.0 * 100.0 / 0.01);
        assert!((of(&prague) - 1.0).abs() < 1e-6);
        prague.ssthresh = f64::INFINITY;
        prague.on_established(ms(0), &rtt(10));
        assert!((of(&prague) - 2.0).abs() < 1e-6);
    }
}
