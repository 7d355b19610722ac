//! The measurements of a path that both versions of BBR use, and the window and pacing rate that follow from them.
//!
//! "v1" is draft-cardwell-iccrg-bbr-congestion-control-00 with Linux 6's tcp_bbr.c where that differs; "v3" is
//! draft-ietf-ccwg-bbr (editors' copy of August 2026, after -06). Bandwidth is in segments per second, volumes in
//! segments.

use crate::tcp::events::RateSample;
use crate::units::{Duration, Rate, Time, at_least, at_most};
use std::collections::VecDeque;

/// The fewest segments to have in flight, for an ACK on every other segment (v1: BBRMinPipeCwnd; v3: MinPipeCwnd).
pub const MIN_PIPE_CWND: f64 = 4.0;

/// Gain of the window, for delayed and aggregated ACKs (v1: probe_bw's cwnd_gain; v3: DefaultCwndGain).
pub const CWND_GAIN: f64 = 2.0;

/// Least duration of ProbeRTT's small window (v1 and v3: ProbeRTTDuration).
pub const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);

/// Time for which a minimum RTT stays valid (v1: RTpropFilterLen; v3: MinRTTFilterLen).
pub const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);

/// Pacing stays this much below the bandwidth, to keep queues short (Linux: bbr_pacing_margin_percent; v3:
/// PacingMarginPercent).
const PACING_MARGIN: f64 = 0.01;

/// The RTT taken for the first pacing rate, before any is measured (v1 and v3: 1 ms).
const NOMINAL_RTT: Duration = Duration::from_millis(1);

/// Growth of the bandwidth per round below which the pipe may be full (v1 and v3: 25 %).
const FULL_PIPE_GROWTH: f64 = 1.25;

/// Rounds without such growth that make the pipe full (v1 and v3: 3).
const FULL_PIPE_ROUNDS: u32 = 3;

/// Time on the wire of a quantum, which real senders give to the network device at once (v1 and v3: 1 ms), and its bounds.
const QUANTUM_TIME: f64 = 1e-3;
const QUANTUM_MAX_BYTES: f64 = 65536.0;

/// Rounds over which the excess of delivered segments is remembered (v3: ExtraAckedFilterLen; Linux 5: 5 to 10).
const AGGREGATION_ROUNDS: u64 = 10;

/// Delivery rate of a sample, or `None` if the sample is invalid: an interval shorter than the least RTT indicates a spurious
/// retransmission (v3, section 4.1.2.3).
pub fn bandwidth_sample(rate: &RateSample, min_rtt: Option<Duration>) -> Option<f64> {
    let valid = rate.delivered > 0 && rate.interval > Duration::ZERO && Some(rate.interval) >= min_rtt;
    valid.then(|| f64::from(rate.delivered) / rate.interval.as_secs())
}

/// Segments that fill the path without a queue.
pub fn bdp(bandwidth: f64, min_rtt: Duration) -> f64 {
    bandwidth * min_rtt.as_secs()
}

/// Pacing rate on the wire for a bandwidth, a margin below it.
pub fn pacing_rate(bandwidth: f64, gain: f64, wire_bytes: u32) -> Rate {
    Rate::from_bps((gain * bandwidth * 8.0 * f64::from(wire_bytes) * (1.0 - PACING_MARGIN)).max(1.0))
}

/// Bandwidth to start with: the initial window per RTT.
pub fn initial_bandwidth(initial_window: f64, rtt: Option<Duration>) -> f64 {
    initial_window / rtt.filter(|rtt| *rtt > Duration::ZERO).unwrap_or(NOMINAL_RTT).as_secs()
}

/// Whole segments in a quantum at this pacing rate, at least `minimum`.
pub fn send_quantum(pacing: Rate, wire_bytes: u32, minimum: f64) -> f64 {
    let bytes = (pacing.as_bps() / 8.0 * QUANTUM_TIME).min(QUANTUM_MAX_BYTES);
    (bytes / f64::from(wire_bytes)).floor().max(minimum)
}

/// The least whole number that is not below a volume. Replaces a call of `ceil`; a number of 2^52 or more has no fraction.
#[inline]
pub fn whole_segments(volume: f64) -> f64 {
    const NO_FRACTION: f64 = (1u64 << 52) as f64;
    if !(0.0..NO_FRACTION).contains(&volume) {
        return volume.ceil();
    }
    let nearest = (volume + NO_FRACTION) - NO_FRACTION;
    nearest + f64::from(u8::from(nearest < volume)) // as often as not: without a branch
}

/// The window on the way to its target: it falls there at once, and grows by the delivered segments. Until the pipe is full it
/// does not fall, and it rises regardless of the target while less than an initial window was delivered.
pub fn approach(cwnd: f64, target: f64, delivered: u32, full_pipe: bool, unmeasured: bool) -> f64 {
    let grown = cwnd + f64::from(delivered);
    if full_pipe {
        at_least(at_most(grown, target), MIN_PIPE_CWND)
    } else if cwnd < target || unmeasured {
        grown.max(MIN_PIPE_CWND)
    } else {
        cwnd.max(MIN_PIPE_CWND)
    }
}

/// The greatest value of the last instants of a virtual time. No value is negative.
#[derive(Debug, Clone, Default)]
pub struct MaxFilter {
    /// Values that may still become the maximum, with rising times and falling values.
    candidates: VecDeque<(u64, f64)>,
    /// The first and the last of them.
    first: (u64, f64),
    last: (u64, f64),
}

impl MaxFilter {
    /// Takes a value at `time`, which must not go back. Forgets values that are `window` or more older.
    #[inline(always)]
    pub fn update(&mut self, time: u64, value: f64, window: u64) {
        // An earlier value of the same instant that is no smaller makes the new one superfluous: both expire together.
        let is_hidden = self.last.0 == time && self.last.1 >= value;
        if !is_hidden || self.first.0 + window <= time {
            self.add(time, value, window);
        }
    }

    #[inline(never)]
    fn add(&mut self, time: u64, value: f64, window: u64) {
        while self.candidates.back().is_some_and(|(_, other)| *other <= value) {
            self.candidates.pop_back();
        }
        self.candidates.push_back((time, value));
        while self.candidates.front().is_some_and(|(other, _)| other + window <= time) {
            self.candidates.pop_front();
        }
        (self.first, self.last) = (self.candidates[0], (time, value));
    }

    /// The maximum; zero before the first value.
    #[inline(always)]
    pub fn get(&self) -> f64 {
        self.first.1
    }
}

/// Rounds: from the sending of a segment to its acknowledgement.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rounds {
    end: u64,
}

impl Rounds {
    /// Whether this sample ends a round; then the next begins.
    pub fn ended_by(&mut self, rate: &RateSample) -> bool {
        let ended = rate.prior_delivered >= self.end;
        if ended {
            self.restart(rate.total_delivered);
        }
        ended
    }

    /// Begins a round now.
    pub fn restart(&mut self, total_delivered: u64) {
        self.end = total_delivered;
    }
}

/// Whether the bandwidth has stopped growing.
#[derive(Debug, Clone, Copy, Default)]
pub struct FullPipe {
    baseline: f64,
    rounds: u32,
}

impl FullPipe {
    /// Starts looking, from a bandwidth known already.
    pub fn from(baseline: f64) -> FullPipe {
        FullPipe { baseline, rounds: 0 }
    }

    /// Forgets the bandwidth, not the rounds.
    pub fn forget_baseline(&mut self) {
        self.baseline = 0.0;
    }

    /// Records the bandwidth at the end of a round that the application did not limit.
    pub fn end_round(&mut self, bandwidth: f64) {
        if bandwidth >= self.baseline * FULL_PIPE_GROWTH {
            *self = FullPipe::from(bandwidth);
        } else {
            self.rounds += 1;
        }
    }

    /// Whether the pipe is full.
    pub fn reached(&self) -> bool {
        self.rounds >= FULL_PIPE_ROUNDS
    }
}

/// Number of segments that arrive at once beyond the measured bandwidth, because ACKs and links aggregate.
#[derive(Debug, Clone, Default)]
pub struct Aggregation {
    start: Time,
    delivered: f64,
    excess: MaxFilter,
}

impl Aggregation {
    /// Takes an ACK in a round; before the pipe is full only one round counts.
    #[inline(always)]
    pub fn on_ack(&mut self, now: Time, delivered: u32, bandwidth: f64, cwnd: f64, round: u64, full_pipe: bool) {
        let mut expected = bandwidth * now.since(self.start).as_secs();
        if self.delivered <= expected {
            self.restart(now);
            expected = 0.0;
        }
        self.delivered += f64::from(delivered);
        let window = if full_pipe { AGGREGATION_ROUNDS } else { 1 };
        self.excess.update(round, at_most(self.delivered - expected, cwnd), window);
    }

    /// Measures afresh from now on.
    pub fn restart(&mut self, now: Time) {
        self.start = now;
        self.delivered = 0.0;
    }

    /// The greatest recent excess.
    pub fn excess(&self) -> f64 {
        self.excess.get()
    }
}

/// Marks the samples that say nothing about the path because ProbeRTT limited the sender. They count as application-limited.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeldDown {
    first: u64,
    last: Option<u64>,
}

impl HeldDown {
    /// Records that sending is limited now, with these numbers of segments delivered and in flight.
    pub fn mark(&mut self, total_delivered: u64, in_flight: u32) {
        if self.last.is_none_or(|last| total_delivered > last) {
            self.first = total_delivered;
        }
        self.last = Some(total_delivered + u64::from(in_flight));
    }

    /// Whether the sample's segment was sent while that lasted.
    pub fn covers(&self, rate: &RateSample) -> bool {
        self.last.is_some_and(|last| (self.first..=last).contains(&rate.prior_delivered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(delivered: u32, interval: Duration, prior_delivered: u64, total_delivered: u64) -> RateSample {
        RateSample {
            delivered,
            interval,
            prior_delivered,
            total_delivered,
            app_limited: false,
            sent_in_flight: 1,
            lost: 0,
            total_lost: 0,
        }
    }

    #[test]
    fn bandwidth_is_delivered_per_interval_no_shorter_than_the_least_rtt() {
        let rate = sample(50, Duration::from_millis(20), 0, 50);
        assert_eq!(bandwidth_sample(&rate, Some(Duration::from_millis(20))), Some(2500.0));
        assert_eq!(bandwidth_sample(&rate, None), Some(2500.0));
        assert_eq!(bandwidth_sample(&rate, Some(Duration::from_millis(21))), None);
        assert_eq!(bandwidth_sample(&sample(50, Duration::ZERO, 0, 50), None), None);
    }

    #[test]
    fn pacing_is_in_bits_on_the_wire_one_percent_below() {
        assert_eq!(pacing_rate(1000.0, 1.25, 1250), Rate(12_375_000)); // 10 Mbit/s * 1.25 * 0.99
    }

    #[test]
    fn the_first_bandwidth_is_the_initial_window_per_rtt_or_per_millisecond() {
        assert_eq!(initial_bandwidth(10.0, Some(Duration::from_millis(50))).round(), 200.0);
        assert_eq!(initial_bandwidth(10.0, None).round(), 10_000.0);
    }

    #[test]
    fn a_quantum_is_a_millisecond_between_its_bounds() {
        assert_eq!(send_quantum(Rate(1_000_000), 1250, 2.0), 2.0);
        assert_eq!(send_quantum(Rate(100_000_000), 1250, 2.0), 10.0);
        assert_eq!(send_quantum(Rate(100_000_000_000), 1250, 2.0), 52.0); // 64 KB
    }

    #[test]
    fn the_window_falls_to_its_target_at_once_only_when_the_pipe_is_known() {
        assert_eq!(approach(50.0, 40.0, 2, true, false), 40.0);
        assert_eq!(approach(30.0, 40.0, 2, true, false), 32.0);
        assert_eq!(approach(50.0, 40.0, 2, false, false), 50.0);
        assert_eq!(approach(50.0, 40.0, 2, false, true), 52.0);
        assert_eq!(approach(1.0, 2.0, 1, true, false), 4.0);
    }

    #[test]
    fn three_rounds_without_a_quarter_more_fill_the_pipe() {
        let mut pipe = FullPipe::default();
        for (bandwidth, full) in [(100.0, false), (125.0, false), (150.0, false), (155.0, false), (156.0, true)] {
            pipe.end_round(bandwidth);
            assert_eq!(pipe.reached(), full, "at {bandwidth}");
        }
        pipe.end_round(200.0);
        assert!(!pipe.reached());
    }

    #[test]
    fn aggregation_is_the_excess_over_what_the_bandwidth_explains() {
        let mut aggregation = Aggregation::default();
        let at = |milliseconds| Time::ZERO + Duration::from_millis(milliseconds);
        aggregation.on_ack(at(10), 1, 1000.0, 100.0, 0, true); // starts: 1 delivered, none expected
        aggregation.on_ack(at(10), 9, 1000.0, 100.0, 0, true); // 10 in no time
        aggregation.on_ack(at(15), 3, 1000.0, 100.0, 1, true); // 13, of which 5 are explained
        assert_eq!(aggregation.excess(), 10.0);
        aggregation.on_ack(at(40), 1, 1000.0, 100.0, 10, true); // round 0 is forgotten
        assert_eq!(aggregation.excess(), 8.0);
    }

    #[test]
    fn a_round_ends_with_a_segment_sent_after_its_start() {
        let mut rounds = Rounds::default();
        assert!(rounds.ended_by(&sample(1, Duration::ZERO, 0, 1)));
        assert!(!rounds.ended_by(&sample(1, Duration::ZERO, 0, 2)));
        assert!(rounds.ended_by(&sample(1, Duration::ZERO, 1, 3)));
    }

    #[test]
    fn held_down_are_segments_sent_between_the_first_mark_and_the_delivery_of_the_last() {
        let mut held = HeldDown::default();
        let covers = |held: HeldDown, prior| held.covers(&sample(1, Duration::ZERO, prior, prior + 1));
        assert!(!covers(held, 0));
        held.mark(100, 10);
        held.mark(105, 4);
        assert_eq!([99, 100, 109, 110].map(|prior| covers(held, prior)), [false, true, true, false]);
        held.mark(200, 4);
        assert_eq!([100, 199, 200, 204].map(|prior| covers(held, prior)), [false, false, true, true]);
    }

    proptest! {
        #[test]
        fn the_max_filter_equals_brute_force(steps in proptest::collection::vec((0..4u64, 0..50u32), 1..200), window in 1..12u64) {
            let (mut filter, mut time, mut all) = (MaxFilter::default(), 0, Vec::new());
            for (step, value) in steps {
                time += step;
                filter.update(time, f64::from(value), window);
                all.push((time, value));
                let expected = all.iter().filter(|(at, _)| at + window > time).map(|(_, value)| *value).max();
                prop_assert_eq!(filter.get(), expected.map_or(0.0, f64::from));
            }
        }
    }
}
