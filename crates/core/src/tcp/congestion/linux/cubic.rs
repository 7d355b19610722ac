//! CUBIC as Linux 6.1 has it: RFC 9438's curve in whole segments, with Linux's HyStart, for comparison with Linux.
//!
//! Differences from [`cubic`](crate::tcp::congestion::loss_based::cubic):
//! - The window grows by whole segments, one per `n` acknowledged segments. The control recomputes `n` when the window has changed or
//!   1/32 s has passed.
//! - The curve's distance from its origin is rounded down to whole segments on both sides of the origin.
//! - The curve's time counts in ticks of the kernel's clock, and the least RTT in whole ticks rounded up. The curve is evaluated at most
//!   once a tick.
//! - Without a remembered maximum, the window grows by at least one segment per twenty.
//! - Reno's window is estimated by counting acknowledged segments.
//! - The reduction is from the window, not from the flight.
//! - Slow start ends when a train of ACKs or the RTT has grown long (Ha and Rhee, "Taming the elephants", 2011). The train counts as
//!   long after the least RTT and a millisecond. If the sender is not paced, it counts as long after half of that.

use super::LinuxControl;
use super::window::{Window, slow_start};
use crate::tcp::congestion::loss_based::cubic::{saturation_point, time_to_maximum, w_cubic};
use crate::tcp::congestion::{CongestionControl, FlowContext};
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind};
use crate::tcp::kernel_clock::KernelClock;
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Time};

crate::parameters! {
    /// Linux's constants.
    pub struct Parameters {
        /// Aggressiveness of the cubic function, segments per cubic second (0.4).
        pub c: f64 = 0.4, in 0.0001..=1000.0;
        /// What remains of the window after a loss (717/1024).
        pub beta: f64 = 717.0 / 1024.0, in 0.01..=0.99;
        /// Whether slow start may end before a loss (HyStart).
        pub hystart: bool = true;
        /// The least window at which it may, segments (16).
        pub hystart_low_window: u32 = 16, in 1..=1_000_000;
    }
}

/// Before the first loss, growth by one segment takes at most this number of acknowledged segments.
const SLOWEST_BEFORE_LOSS: u32 = 20;
/// Growth by one segment takes at least this number of acknowledged segments.
const FASTEST: u32 = 2;
/// While the window stays, the curve is evaluated again after 1/`REFRESH` s, in whole ticks.
const REFRESH: u32 = 32;
/// RTT samples of a round trip before HyStart judges by them.
const HYSTART_SAMPLES: u32 = 8;
/// Margin that HyStart adds to the least RTT for receivers that aggregate segments (`hystart_ack_delay`, below 2 Gbit/s).
const AGGREGATION: Duration = Duration::from_millis(1);
/// ACKs no further apart belong to one train.
const TRAIN_GAP: Duration = Duration::from_millis(2);

/// Window to reach, `t` seconds into a stage whose curve has its origin `k` seconds after the beginning.
pub fn target(c: f64, t: f64, k: f64, origin: f64) -> f64 {
    origin + w_cubic(c, t, k, 0.0).trunc()
}

/// Number of acknowledged segments per growth of the window by one, to reach `target` in a round trip.
pub fn segments_per_increase(cwnd: f64, target: f64) -> u32 {
    if target > cwnd { (cwnd / (target - cwnd)) as u32 } else { 100 * cwnd as u32 }
}

/// How many segments Reno's estimated window needs to grow by one, with this `beta` (RFC 9438 section 4.3).
pub fn segments_per_reno_increase(cwnd: u32, beta: f64) -> u32 {
    let eighths = (8.0 * (1.0 + beta) / 3.0 / (1.0 - beta)) as u32;
    ((cwnd * eighths) >> 3).max(1)
}

/// Rise of the RTT over the least RTT that ends slow start: an eighth of the least RTT, between 4 and 16 ms.
pub fn hystart_threshold(min_rtt: Duration) -> Duration {
    (min_rtt / 8).clamp(Duration::from_millis(4), Duration::from_millis(16))
}

/// HyStart's measurements of a round trip.
#[derive(Debug, Clone, Copy)]
struct Round {
    start: Time,
    /// Segments that were outstanding when it began, and are not acknowledged.
    remaining: u32,
    last_of_train: Time,
    least_rtt: Duration,
    samples: u32,
}

impl Round {
    /// The round after `cumulative` more segments were acknowledged, in slow start or not; `None` once it is over.
    fn after(self, cumulative: u32) -> Option<Round> {
        self.remaining.checked_sub(cumulative).map(|remaining| Round { remaining, ..self })
    }
}

/// A congestion avoidance stage.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    start: Time,
    k: f64,
    origin: f64,
    /// Acknowledged segments not yet counted into `reno_window`.
    acked: u32,
    reno_window: u32,
}

/// The algorithm's state.
#[derive(Debug, Clone)]
pub struct LinuxCubic {
    parameters: Parameters,
    clock: KernelClock,
    /// The curve of an unchanged window is evaluated again after more than this number of ticks.
    refresh: u64,
    window: Window,
    before_reduction: Window,
    last_maximum: f64,
    epoch: Option<Epoch>,
    /// The window and the tick that the curve was evaluated for.
    found_for: (u32, u64),
    per_increase: u32,
    min_rtt: Option<Duration>,
    round: Option<Round>,
    hystart_done: bool,
    paced: bool,
}

impl LinuxCubic {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, flow: FlowContext) -> LinuxCubic {
        let window = Window::new(flow.initial_window);
        LinuxCubic {
            parameters,
            clock: KernelClock::new(flow.hz),
            refresh: u64::from(flow.hz / REFRESH),
            window,
            before_reduction: window,
            last_maximum: 0.0,
            epoch: None,
            found_for: (0, 0),
            per_increase: 0,
            min_rtt: None,
            round: None,
            hystart_done: false,
            paced: flow.pacing,
        }
    }

    /// Samples of the first second of a stage come from queues that a loss has just drained.
    fn take_rtt(&mut self, ack: &AckEvent, rtt: Duration) {
        if self.epoch.is_some_and(|epoch| ack.now - epoch.start < Duration::from_secs(1)) {
            return;
        }
        let least = self.min_rtt.map_or(rtt, |least| least.min(rtt));
        self.min_rtt = Some(least);
        let may_end = self.parameters.hystart && !self.hystart_done && self.window.in_slow_start();
        if may_end && self.hystart(ack, rtt, least) {
            self.hystart_done = true;
            self.window.ssthresh = self.window.cwnd;
        }
    }

    /// Whether slow start is to end. Rounds are followed from the first ACK on; below the least window they decide nothing.
    fn hystart(&mut self, ack: &AckEvent, rtt: Duration, min_rtt: Duration) -> bool {
        let now = ack.now;
        let begun = Round {
            start: now,
            remaining: ack.outstanding,
            last_of_train: now,
            least_rtt: Duration(u64::MAX),
            samples: 0,
        };
        let round = self.round.get_or_insert(begun);
        if self.window.cwnd < self.parameters.hystart_low_window {
            return false;
        }
        let mut long_train = false;
        if now - round.last_of_train <= TRAIN_GAP {
            round.last_of_train = now;
            // Pacing delays packets by up to half an RTT (`hystart_update`).
            let long = if self.paced { min_rtt + AGGREGATION } else { (min_rtt + AGGREGATION) / 2 };
            long_train = now - round.start > long;
        }
        round.least_rtt = round.least_rtt.min(rtt);
        let mut long_rtt = false;
        if round.samples < HYSTART_SAMPLES {
            round.samples += 1;
        } else {
            long_rtt = round.least_rtt > min_rtt + hystart_threshold(min_rtt);
        }
        long_train || long_rtt
    }

    /// Finds how many segments to acknowledge for one more in the window.
    fn find_growth(&mut self, now: Time, acked: u32) {
        if let Some(epoch) = &mut self.epoch {
            epoch.acked += acked;
        }
        let (tick, window) = (self.clock.ticks(now), self.window.cwnd);
        if self.found_for.0 == window && tick - self.found_for.1 <= self.refresh {
            return;
        }
        if self.epoch.is_none() || self.found_for.1 != tick {
            self.found_for = (window, tick);
            self.follow_curve(now, acked);
        }
        self.follow_reno();
        self.per_increase = self.per_increase.max(FASTEST);
    }

    /// Sets `per_increase` so that the window reaches the curve's value a least RTT from now. Begins a stage if there is none.
    fn follow_curve(&mut self, now: Time, acked: u32) {
        let (c, cwnd) = (self.parameters.c, f64::from(self.window.cwnd));
        let Epoch { start, k, origin, .. } = *self.epoch.get_or_insert_with(|| Epoch {
            start: now,
            k: time_to_maximum(c, self.last_maximum, cwnd),
            origin: self.last_maximum.max(cwnd),
            acked,
            reno_window: self.window.cwnd,
        });
        let least_rtt = self.min_rtt.unwrap_or(Duration::ZERO).0.div_ceil(self.clock.tick.0);
        let t = self.clock.tick * (self.clock.ticks(now) - self.clock.ticks(start) + least_rtt);
        self.per_increase = segments_per_increase(cwnd, target(c, t.as_secs(), k, origin));
        if self.last_maximum == 0.0 {
            self.per_increase = self.per_increase.min(SLOWEST_BEFORE_LOSS);
        }
    }

    /// Lowers `per_increase` if Reno's window would be larger.
    fn follow_reno(&mut self) {
        let Some(epoch) = &mut self.epoch else { return };
        let window = self.window.cwnd;
        let per_reno = segments_per_reno_increase(window, self.parameters.beta);
        let steps = epoch.acked.saturating_sub(1) / per_reno;
        epoch.reno_window += steps;
        epoch.acked -= steps * per_reno;
        if epoch.reno_window > window {
            self.per_increase = self.per_increase.min(window / (epoch.reno_window - window));
        }
    }
}

impl CongestionControl for LinuxCubic {
    fn on_ack(&mut self, ack: &AckEvent, _rtt: &RttEstimate) {
        self.round = self.round.and_then(|round| round.after(ack.cumulative));
        if let Some(rtt) = ack.rtt {
            self.take_rtt(ack, rtt);
        }
        let mut acked = ack.growth;
        if self.window.in_slow_start() {
            (self.window.cwnd, acked) = slow_start(self.window.cwnd, self.window.ssthresh, acked);
        }
        if acked > 0 {
            self.find_growth(ack.now, acked);
            self.window.grow(self.per_increase, acked);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent, _rtt: &RttEstimate) {
        let mut ssthresh = self.window.ssthresh;
        if event.kind != (CongestionKind::Timeout { repeated: true }) {
            self.before_reduction = Window { ssthresh: self.window.remembered_threshold(), ..self.window };
            let cwnd = f64::from(self.window.cwnd);
            self.last_maximum = saturation_point(cwnd, self.last_maximum, self.parameters.beta, true).floor();
            ssthresh = (cwnd * self.parameters.beta) as u32;
            self.epoch = None;
        }
        let timeout = matches!(event.kind, CongestionKind::Timeout { .. });
        if timeout {
            (self.last_maximum, self.epoch, self.min_rtt) = (0.0, None, None);
            (self.round, self.hystart_done) = (None, false);
        }
        self.window.reduce(ssthresh, timeout);
    }

    fn undo(&mut self) {
        self.window.cwnd = self.window.cwnd.max(self.before_reduction.cwnd);
        self.window.ssthresh = self.before_reduction.ssthresh;
    }

    fn on_idle(&mut self, now: Time, idle: Duration, initial_window: u32, rtt: &RttEstimate) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + idle).min(now); // the curve does not go on meanwhile (`cubictcp_cwnd_event`)
        }
        self.window.restart(idle, initial_window, rtt);
    }

    fn cwnd(&self) -> f64 {
        f64::from(self.window.cwnd)
    }

    fn ssthresh(&self) -> f64 {
        self.window.threshold()
    }
}

impl LinuxControl for LinuxCubic {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::testing::bottleneck::{Bench, Path, calls, check_calls, flow, rtt_estimate};
    use proptest::prelude::*;

    #[test]
    fn growth_reaches_the_target_in_a_round_trip_of_acknowledgements() {
        assert_eq!(segments_per_increase(50.0, 55.0), 10);
        assert_eq!(segments_per_increase(50.0, 50.0), 5000);
    }

    /// Linux's curve by hand. After a loss at 10 segments the window is 7 and K = cbrt(3 / 0.4) = 1.96 s. At 0.012 s the curve is
    /// 0.4 * 1.945^3 = 2.94 segments below its origin, and 2 whole ones count. At 0.5 s behind K it is 0.05 segments above, and
    /// none counts.
    #[test]
    fn the_distance_from_the_origin_is_rounded_down_on_both_sides() {
        let k = time_to_maximum(0.4, 10.0, 7.0);
        assert_eq!([0.012, k + 0.5, k + 1.5].map(|t| target(0.4, t, k, 10.0)), [8.0, 10.0, 11.0]);
    }

    fn cubic(cwnd: u32, last_maximum: f64, min_rtt: u64) -> LinuxCubic {
        let mut cubic = LinuxCubic::new(Parameters::default(), FlowContext { initial_window: cwnd, ..flow(1) });
        (cubic.last_maximum, cubic.min_rtt) = (last_maximum, Some(Duration::from_millis(min_rtt)));
        cubic
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    /// As above with a least RTT of 9 ms, three ticks of 4 ms: one more segment per 7, so that the window is 8 after a round trip.
    #[test]
    fn the_curve_is_taken_a_least_rtt_ahead_in_whole_ticks() {
        let mut cubic = cubic(7, 10.0, 9);
        cubic.find_growth(at(1_003_000), 1);
        assert_eq!(cubic.per_increase, 7);
    }

    /// In the tick of 1000 to 1003.999 ms it is evaluated once, for the window of 700 only. In the next tick it is evaluated for
    /// 701. While that window stays, the next evaluation comes after more than seven ticks.
    #[test]
    fn the_curve_is_evaluated_once_a_tick_and_again_after_seven_while_the_window_stays() {
        let mut cubic = cubic(700, 1600.0, 100);
        cubic.find_growth(at(1_000_000), 1);
        assert_eq!(cubic.found_for, (700, 250));
        cubic.window.cwnd = 701;
        cubic.find_growth(at(1_003_999), 1);
        assert_eq!(cubic.found_for, (700, 250));
        cubic.find_growth(at(1_004_000), 1);
        assert_eq!(cubic.found_for, (701, 251));
        cubic.find_growth(at(1_035_999), 1);
        assert_eq!(cubic.found_for, (701, 251));
        cubic.find_growth(at(1_036_000), 1);
        assert_eq!(cubic.found_for, (701, 259));
    }

    /// RFC 9438 section 4.3 with beta = 0.7: one segment for 3(1 - 0.7)/(1 + 0.7) = 0.53 round trips, 1.89 windows.
    #[test]
    fn reno_is_estimated_by_counting_segments() {
        assert_eq!(segments_per_reno_increase(100, 717.0 / 1024.0), 187); // 15/8 in whole eighths
    }

    #[test]
    fn hystart_waits_an_eighth_of_the_rtt_within_bounds() {
        let millis = Duration::from_millis;
        assert_eq!(
            [10, 100, 200].map(|rtt| hystart_threshold(millis(rtt))),
            [4, 12, 16]
                .map(millis)
                .map(|bound| { if bound == millis(12) { Duration::from_micros(12_500) } else { bound } })
        );
    }

    /// Windows of 10 and 20 over a path of 30 ms that passes a segment a millisecond, as Linux 6.1 processes them. The second
    /// train is longer than 15.5 ms at its 17th ACK, when the window is 36. The first one, in which the window passes 16, counts
    /// for nothing. The train of a sender that paces would have to be longer than 31 ms.
    #[test]
    fn the_first_train_longer_than_half_the_rtt_ends_slow_start() {
        for (pacing, ssthresh) in [(false, 36.0), (true, f64::INFINITY)] {
            let mut cubic = LinuxCubic::new(Parameters::default(), FlowContext { pacing, ..flow(10) });
            let acks = (0..10).map(|ack| 30 + ack).chain((0..20).map(|ack| 60 + ack));
            for (number, at) in acks.enumerate() {
                let now = Time::ZERO + Duration::from_millis(at);
                let (rtt, outstanding) = (Some(Duration::from_millis(30)), 9 + number as u32);
                cubic.on_ack(&AckEvent { now, growth: 1, rtt, outstanding, ..AckEvent::PREDICTED }, &rtt_estimate());
            }
            assert_eq!(cubic.ssthresh(), ssthresh);
        }
    }

    /// SACK blocks deliver the last nine of ten outstanding segments. The round continues until more than ten are acknowledged. ACKs
    /// that HyStart does not use, in a recovery or without an RTT, count as well.
    #[test]
    fn a_round_of_hystart_ends_with_the_cumulative_acknowledgement() {
        let mut cubic = LinuxCubic::new(Parameters::default(), flow(10));
        let mut begins = |at, delivered, cumulative, has_rtt: bool| {
            let rtt = has_rtt.then_some(Duration::from_millis(30));
            let ack = AckEvent {
                now: Time::ZERO + Duration::from_millis(at),
                delivered,
                cumulative,
                rtt,
                outstanding: 10,
                ..AckEvent::PREDICTED
            };
            cubic.on_ack(&ack, &rtt_estimate());
            cubic.round.map(|round| (round.start - Time::ZERO).0 / Duration::from_millis(1).0)
        };
        assert_eq!(begins(30, 1, 1, true), Some(30));
        assert_eq!(begins(40, 9, 0, true), Some(30));
        assert_eq!(begins(50, 1, 10, true), Some(30));
        assert_eq!(begins(60, 1, 1, true), Some(60));
        assert_eq!(begins(70, 1, 10, false), Some(60));
        assert_eq!(begins(80, 1, 1, true), Some(80));
    }

    #[test]
    fn it_fills_a_path_with_a_queue_of_one_product() {
        let path = Path { rate: 1000.0, delay: Duration::from_millis(50), buffer: 50.0, loss: 0.0 };
        let mut bench = Bench::new(LinuxCubic::new(Parameters::default(), flow(1)), path);
        bench.run(5.0);
        let goodput = bench.run(20.0).goodput;
        assert!(goodput > 0.98 * path.rate, "{goodput}");
    }

    proptest! {
        #[test]
        fn the_window_stays_finite_and_at_least_one(calls in calls()) {
            check_calls(LinuxCubic::new(Parameters::default(), flow(1)), &calls)?;
        }
    }
}
