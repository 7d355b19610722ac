//! RR-TCP, Zhang, Karp, Floyd and Peterson, "RR-TCP: A Reordering-Robust TCP with DSACK" (2003). The threshold is a percentile of
//! the recent reordering lengths, the *false fast retransmit avoidance ratio* (FA ratio). The cost of a false fast retransmission
//! raises the ratio. The cost of a timeout that a lower threshold would have avoided reduces it.
//!
//! A late segment yields its length when it arrives. If it was retransmitted, it yields its length when a DSACK shows that the
//! retransmission was spurious. Meanwhile the sender may send one more window of new segments, one per duplicate ACK. This bounds
//! the threshold as well. The sender has the paper's other parts: the undo of a reduction (`spurious = "dsack"`), and an RTT
//! estimate from late segments too.
//!
//! The paper was not available for its costs. Our costs count the segments that could not be sent, for the paper's kinds of cost.
//! Without SACK there is no length, and the threshold stays 3.

use super::DetectorContext;
use super::dup_ack::{DuplicateAcks, LEAST_THRESHOLD, Threshold};
use super::reordering::{ReorderingLengths, flight_before_hole, reported_above_hole};
use crate::tcp::events::AckEvent;
use crate::tcp::rtt::RttEstimate;
use crate::tcp::scoreboard::{Delivered, Scoreboard};
use std::collections::VecDeque;

crate::parameters! {
    /// How the ratio moves.
    pub struct Parameters {
        /// The FA ratio of a new flow: the share of reordered segments that no retransmission should answer.
        pub ratio: f64 = 0.9, in 0.0..=1.0;
        /// Increase of the ratio by a false fast retransmission. A timeout reduces the ratio by this, times the ratio of their
        /// costs.
        pub step: f64 = 0.01, in 0.0..=1.0;
        /// Lengths of the latest reordered segments that the percentile is taken of.
        pub samples: u32 = 1000, in 1..=100_000;
    }
}

/// Segments not sent for a false fast retransmission: half a window, in the round trip until the DSACK takes it back.
pub fn false_retransmit_cost(window: f64) -> f64 {
    window / 2.0
}

/// Number of segments not sent because of a timeout of `rto` round trips. It counts the wait, a slow start from one segment to
/// the window, and linear growth from half of the window.
pub fn timeout_cost(window: f64, rto: f64) -> f64 {
    let window = window.max(1.0);
    let slow_start = window * window.log2() - (window - 1.0);
    window * rto + slow_start + window * window / 8.0
}

/// The ratio after a timeout.
pub fn after_timeout(ratio: f64, step: f64, window: f64, rto: f64) -> f64 {
    (ratio - step * timeout_cost(window, rto) / false_retransmit_cost(window)).max(0.0)
}

/// The greatest number of duplicate ACKs for one hole: the window without it, and one more.
pub fn greatest_threshold(window: u32) -> u32 {
    (2 * window).saturating_sub(1)
}

/// How often each length occurred among the latest.
#[derive(Debug, Clone, Default)]
struct Histogram {
    latest: VecDeque<u32>,
    counts: Vec<u32>,
}

impl Histogram {
    fn add(&mut self, length: u32, samples: u32) {
        if self.latest.len() >= samples as usize
            && let Some(oldest) = self.latest.pop_front()
        {
            self.counts[oldest as usize] -= 1;
        }
        self.latest.push_back(length);
        if self.counts.len() <= length as usize {
            self.counts.resize(length as usize + 1, 0);
        }
        self.counts[length as usize] += 1;
    }

    /// The least length that this share of them does not exceed; 0 of none.
    fn percentile(&self, share: f64) -> u32 {
        let wanted = share * self.latest.len() as f64;
        let mut seen = 0;
        let at = self.counts.iter().position(|count| {
            seen += count;
            f64::from(seen) >= wanted && seen > 0
        });
        at.unwrap_or(0) as u32
    }
}

/// The threshold's state.
#[derive(Debug, Clone)]
pub struct Policy {
    parameters: Parameters,
    ratio: f64,
    lengths: ReorderingLengths,
    histogram: Histogram,
    percentile: u32,
    /// The flight before the first hole, while there is one.
    window: Option<u32>,
    reported: u32,
}

impl Policy {
    fn learn(&mut self, length: Option<u32>) {
        if let Some(length) = length {
            self.histogram.add(length, self.parameters.samples);
        }
        self.percentile = self.histogram.percentile(self.ratio);
    }
}

impl Threshold for Policy {
    const LEARNS_FROM_PREDICTED_ACKS: bool = false;

    fn get(&self, _board: &Scoreboard) -> u32 {
        let most = self.window.map_or(LEAST_THRESHOLD, greatest_threshold);
        self.percentile.min(most).max(LEAST_THRESHOLD)
    }

    fn on_ack(&mut self, _ack: &AckEvent, delivered: &Delivered, board: &Scoreboard, _rtt: &RttEstimate) {
        if let Some(length) = self.lengths.observe(delivered, board) {
            self.learn(Some(length));
        }
        self.reported = reported_above_hole(board);
        self.window = (self.reported > 0).then(|| self.window.unwrap_or_else(|| flight_before_hole(delivered, board)));
    }

    fn on_spurious(&mut self, segment: u32, _board: &Scoreboard) {
        self.ratio = (self.ratio + self.parameters.step).min(1.0);
        let length = self.lengths.confirm(segment);
        self.learn(length);
    }

    fn on_timeout(&mut self, _board: &Scoreboard, rtt: &RttEstimate) {
        // With fewer duplicate ACKs no threshold would have avoided it.
        if let Some(window) = self.window.filter(|_| self.reported >= LEAST_THRESHOLD) {
            let round_trips = rtt.smoothed().map_or(1.0, |smoothed| rtt.rto().as_secs() / smoothed.as_secs());
            self.ratio = after_timeout(self.ratio, self.parameters.step, f64::from(window), round_trips);
            self.learn(None);
        }
        (self.window, self.reported) = (None, 0);
    }

    /// Number of withheld segments, so that one more window is sent, and no more.
    fn withheld(&self) -> u32 {
        self.window.map_or(0, |window| self.reported.saturating_sub(window))
    }
}

/// Duplicate ACKs by that threshold.
pub type RrTcp = DuplicateAcks<Policy>;

impl RrTcp {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, flow: DetectorContext) -> RrTcp {
        let policy = Policy {
            parameters,
            ratio: parameters.ratio,
            lengths: ReorderingLengths::default(),
            histogram: Histogram::default(),
            percentile: 0,
            window: None,
            reported: 0,
        };
        DuplicateAcks::with_policy(policy, flow)
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{Driver, ms, stream, transfer};
    use super::super::{DetectionSpec, Signal};
    use super::*;
    use crate::units::{Duration, Time};

    fn detector() -> DuplicateAcks<Policy> {
        RrTcp::new(Parameters::default(), DetectorContext { sack: true, evidence: false, paths: 2 })
    }

    #[test]
    fn ninety_of_a_hundred_lengths_up_to_eight_make_a_threshold_of_eight() {
        let mut histogram = Histogram::default();
        (0..90).for_each(|index| histogram.add(2 + index % 7, 1000));
        (0..10).for_each(|_| histogram.add(30, 1000));
        assert_eq!(histogram.percentile(0.9), 8);
        assert_eq!(histogram.percentile(0.91), 30);
        assert_eq!(histogram.percentile(0.0), 2);
        assert_eq!(Histogram::default().percentile(0.9), 0);
    }

    #[test]
    fn only_the_latest_lengths_count() {
        let mut histogram = Histogram::default();
        (0..5).for_each(|_| histogram.add(30, 4));
        (0..3).for_each(|_| histogram.add(5, 4));
        assert_eq!((histogram.percentile(0.75), histogram.percentile(1.0)), (5, 30));
        histogram.add(5, 4);
        assert_eq!(histogram.percentile(1.0), 5);
        (0..3).for_each(|_| histogram.add(30, 4));
        assert_eq!((histogram.percentile(0.25), histogram.percentile(0.5)), (5, 30));
    }

    /// Ten segments are in flight when the hole opens, eleven when more is sent: the ten count until the hole is filled.
    #[test]
    fn the_flight_before_the_hole_counts_while_there_is_one() {
        let (mut policy, mut board) = (detector().policy, Scoreboard::default());
        let rtt = RttEstimate::new(Duration::ZERO, Duration::from_secs(60), Duration::from_secs(1));
        let mut after = |cumulative, blocks: &[(u32, u32)]| {
            let delivered = board.acknowledge(cumulative, blocks, Time(2));
            policy.on_ack(&AckEvent::PREDICTED, &delivered, &board, &rtt);
            board.send_new(Time(2));
            (policy.window, policy.reported)
        };
        (0..9).for_each(|_| _ = after(0, &[]));
        assert_eq!(after(0, &[]), (None, 0));
        assert_eq!(after(0, &[(1, 2)]), (Some(10), 1));
        assert_eq!(after(0, &[(1, 4)]), (Some(10), 3));
        assert_eq!(after(4, &[]), (None, 0));
    }

    /// A window of 16, a timeout of two round trips: 2 * 16 for the wait, 16 * 4 - 15 for slow start, 256 / 8 to grow back.
    #[test]
    fn a_timeout_costs_fourteen_times_what_a_false_retransmission_costs() {
        assert_eq!(false_retransmit_cost(16.0), 8.0);
        assert_eq!(timeout_cost(16.0, 2.0), 32.0 + 49.0 + 32.0);
        assert!((after_timeout(0.9, 0.01, 16.0, 2.0) - (0.9 - 0.01 * 113.0 / 8.0)).abs() < 1e-12);
        assert_eq!(after_timeout(0.05, 0.01, 16.0, 2.0), 0.0);
    }

    #[test]
    fn the_window_and_one_more_bound_the_threshold() {
        assert_eq!(greatest_threshold(10), 19);
        let mut detector = detector();
        (0..10).for_each(|_| detector.policy.learn(Some(50)));
        let board = Scoreboard::default();
        assert_eq!(detector.policy.get(&board), 3);
        detector.policy.window = Some(10);
        assert_eq!(detector.policy.get(&board), 19);
        detector.policy.window = Some(100);
        assert_eq!(detector.policy.get(&board), 50);
    }

    #[test]
    fn one_more_window_goes_out_and_no_more() {
        let mut driver = Driver::of(&DetectionSpec::RrTcp(Parameters::default()), true);
        let mut policy = detector().policy;
        policy.window = Some(10);
        policy.reported = 10;
        assert_eq!(policy.withheld(), 0);
        policy.reported = 13;
        assert_eq!(policy.withheld(), 3);
        driver.send_new();
        assert_eq!(driver.counted_in_flight(), 1);
    }

    #[test]
    fn false_retransmissions_raise_the_ratio_and_avoidable_timeouts_reduce_it() {
        let mut policy = detector().policy;
        let mut board = Scoreboard::default();
        (0..20).for_each(|_| _ = board.send_new(Time(1)));
        policy.on_spurious(0, &board);
        assert!((policy.ratio - 0.91).abs() < 1e-12);
        let mut rtt = RttEstimate::new(Duration::ZERO, Duration::from_secs(60), Duration::from_secs(1));
        rtt.sample(Duration::from_millis(100)); // RTO: 300 ms
        policy.on_timeout(&board, &rtt);
        assert!((policy.ratio - 0.91).abs() < 1e-12, "no duplicate ACK came");
        (policy.window, policy.reported) = (Some(16), 5);
        policy.on_timeout(&board, &rtt);
        assert!((policy.ratio - after_timeout(0.91, 0.01, 16.0, 3.0)).abs() < 1e-12);
    }

    /// A segment of each 50 is overtaken by six. The length is learnt from segments that are not retransmitted in time, or by
    /// DSACK.
    #[test]
    fn a_steady_reordering_is_learnt() {
        let mut driver = Driver::of(&DetectionSpec::RrTcp(Parameters::default()), true);
        let fate = |segment: u32, _| Some(Duration::from_millis(100 + if segment % 50 == 7 { 32 } else { 0 }));
        stream(&mut driver, 2_000, Duration::from_millis(5), fate);
        assert!(!driver.decisions.is_empty());
        let end = driver.now;
        let late = driver.decisions.iter().filter(|decision| end - decision.at < (end - ms(0)) / 2).count();
        assert_eq!(late, 0, "of {}", driver.decisions.len());
    }

    #[test]
    fn a_lost_segment_is_found_without_a_timeout_after_heavy_reordering() {
        let mut driver = Driver::of(&DetectionSpec::RrTcp(Parameters::default()), true);
        let fate = |segment: u32, nth| {
            let late = 50 * u64::from(segment.is_multiple_of(2) && segment < 1_000);
            (segment != 1_100 || nth > 0).then_some(Duration::from_millis(100 + late))
        };
        transfer(&mut driver, 1_500, 20, fate, 50_000);
        let last = driver.decisions.last().expect("a loss");
        assert_eq!((&last.lost[..], last.verdict.signal), (&[1_100][..], Signal::Loss));
    }
}
