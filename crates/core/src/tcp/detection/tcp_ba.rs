//! The thresholds of Blanton and Allman, "On Making TCP More Robust to Packet Reordering" (2002). A DSACK that reports a spurious
//! retransmission raises the threshold, by one of four rules; or the fast retransmission waits for a time.
//!
//! The paper was not available. These are our readings, from descriptions in later work (Bohacek et al. 2003, section V):
//! - The length N of a reordering counts the duplicate ACKs up to the late segment, plus one. It is the least threshold that would
//!   have waited for this segment.
//! - The threshold is at most a share of the flight, because otherwise no segment would reach it.
//! - A timeout resets it to 3.
//! - After the first two duplicate ACKs (RFC 3042), every second one allows a new segment.
//! - The time delay counts from the first duplicate ACK of a hole: half a smoothed RTT, and at least until the third one.
//!
//! Without SACK there is no DSACK, and the threshold stays 3.

use super::DetectorContext;
use super::dup_ack::{DuplicateAcks, LEAST_THRESHOLD, Threshold};
use super::reordering::{ReorderingLengths, reported_above_hole};
use crate::tcp::events::AckEvent;
use crate::tcp::rtt::RttEstimate;
use crate::tcp::scoreboard::{Delivered, Scoreboard};
use crate::units::Time;

crate::choice! {
    /// How a spurious retransmission moves the threshold.
    pub enum Variant {
        /// By a constant.
        Increment = "increment",
        /// To the mean of the threshold and the length of the reordering.
        Average = "average",
        /// To a moving average of the lengths.
        Ewma = "ewma",
        /// Not at all: the fast retransmission waits instead.
        TimeDelay = "time-delay",
    }
}

crate::parameters! {
    /// The rule and its constants.
    pub struct Parameters {
        /// Effect of a spurious retransmission: a constant increment, the mean of threshold and length, a moving average of
        /// lengths, or a delay before every fast retransmission.
        pub variant: Variant = Variant::Average;
        /// The constant increment, duplicate ACKs.
        pub increment: u32 = 1, in 1..=1_000;
        /// Weight of a length in the moving average.
        pub weight: f64 = 0.25, in 0.0..=1.0;
        /// The threshold's greatest share of the segments outstanding.
        pub flight_share: f64 = 0.9, in 0.0..=1.0;
    }
}

/// The threshold after a spurious retransmission whose segment had been late by `length`.
pub fn raised(parameters: &Parameters, threshold: f64, length: Option<u32>) -> f64 {
    let length = length.map_or(threshold, f64::from);
    match parameters.variant {
        Variant::Increment => threshold + f64::from(parameters.increment),
        Variant::Average => (threshold + length) / 2.0,
        Variant::Ewma => threshold + parameters.weight * (length - threshold),
        Variant::TimeDelay => threshold,
    }
}

/// The threshold in force, rounded, with `outstanding` segments.
pub fn bounded(threshold: f64, flight_share: f64, outstanding: u32) -> u32 {
    (threshold.round().min(flight_share * f64::from(outstanding)) as u32).max(LEAST_THRESHOLD)
}

/// Withheld segments, if this number has left the network: none of the first two, then every second.
pub fn withheld(reported: u32) -> u32 {
    reported.saturating_sub(2).div_ceil(2)
}

/// The threshold's state.
#[derive(Debug, Clone)]
pub struct Policy {
    parameters: Parameters,
    threshold: f64,
    lengths: ReorderingLengths,
    reported: u32,
    /// Until when the present hole's fast retransmission waits.
    delay: Option<Time>,
}

impl Policy {
    fn follow_delay(&mut self, ack: &AckEvent, rtt: &RttEstimate, had_hole: bool) {
        if ack.in_recovery || self.reported == 0 {
            self.delay = None;
        } else if ack.advanced || !had_hole {
            self.delay = rtt.smoothed().map(|smoothed| ack.now + smoothed / 2);
        }
    }
}

impl Threshold for Policy {
    const LEARNS_FROM_PREDICTED_ACKS: bool = false;
    const WAITS: bool = true;

    fn get(&self, board: &Scoreboard) -> u32 {
        if self.delay.is_some() {
            u32::MAX
        } else {
            bounded(self.threshold, self.parameters.flight_share, board.outstanding())
        }
    }

    fn on_ack(&mut self, ack: &AckEvent, delivered: &Delivered, board: &Scoreboard, rtt: &RttEstimate) {
        self.lengths.observe(delivered, board);
        let had_hole = self.reported > 0;
        self.reported = reported_above_hole(board);
        if self.parameters.variant == Variant::TimeDelay {
            self.follow_delay(ack, rtt, had_hole);
        }
    }

    fn on_spurious(&mut self, segment: u32, _board: &Scoreboard) {
        let length = self.lengths.confirm(segment);
        self.threshold = raised(&self.parameters, self.threshold, length);
    }

    fn on_timeout(&mut self, _board: &Scoreboard, _rtt: &RttEstimate) {
        self.threshold = f64::from(LEAST_THRESHOLD);
        self.delay = None;
    }

    fn withheld(&self) -> u32 {
        withheld(self.reported)
    }

    fn waits_until(&self) -> Option<Time> {
        self.delay
    }

    fn stop_waiting(&mut self) {
        self.delay = None;
    }
}

/// Duplicate ACKs by that threshold.
pub type TcpBa = DuplicateAcks<Policy>;

impl TcpBa {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, flow: DetectorContext) -> TcpBa {
        let policy = Policy {
            parameters,
            threshold: f64::from(LEAST_THRESHOLD),
            lengths: ReorderingLengths::default(),
            reported: 0,
            delay: None,
        };
        DuplicateAcks::with_policy(policy, flow)
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{Driver, ms, stream};
    use super::super::{DetectionSpec, Signal};
    use super::*;
    use crate::units::Duration;

    fn parameters(variant: Variant) -> Parameters {
        Parameters { variant, ..Parameters::default() }
    }

    fn driver(variant: Variant) -> Driver {
        Driver::of(&DetectionSpec::TcpBa(parameters(variant)), true)
    }

    #[test]
    fn a_length_of_eleven_raises_three_by_each_rule() {
        let raised = |variant| raised(&parameters(variant), 3.0, Some(11));
        assert_eq!(raised(Variant::Increment), 4.0);
        assert_eq!(raised(Variant::Average), 7.0);
        assert_eq!(raised(Variant::Ewma), 5.0);
        assert_eq!(raised(Variant::TimeDelay), 3.0);
    }

    #[test]
    fn the_threshold_is_rounded_at_most_its_share_of_the_flight_and_at_least_three() {
        assert_eq!([7.4, 7.5].map(|threshold| bounded(threshold, 0.9, 100)), [7, 8]);
        assert_eq!(bounded(50.0, 0.9, 20), 18);
        assert_eq!(bounded(50.0, 0.9, 2), 3);
    }

    #[test]
    fn limited_transmit_goes_on_with_every_second_duplicate_ack() {
        let sent: Vec<u32> = (0..=8).map(|reported| reported - withheld(reported)).collect();
        assert_eq!(sent, [0, 1, 2, 2, 3, 3, 4, 4, 5]);
    }

    /// One segment of each 50 is 30 ms late and overtaken by six. The first late segments cause spurious retransmissions; for the
    /// last ones, the detector waits.
    #[test]
    fn a_steady_reordering_is_learnt() {
        for variant in [Variant::Increment, Variant::Average, Variant::Ewma, Variant::TimeDelay] {
            let mut driver = driver(variant);
            let fate = |segment: u32, _| Some(Duration::from_millis(100 + if segment % 50 == 7 { 32 } else { 0 }));
            stream(&mut driver, 2_000, Duration::from_millis(5), fate);
            let end = driver.now;
            let late = driver.decisions.iter().filter(|decision| end - decision.at < (end - ms(0)) / 2).count();
            assert_eq!(late, 0, "{variant:?}: {}", driver.decisions.len());
            assert_eq!(driver.decisions.is_empty(), variant == Variant::TimeDelay, "{variant:?}");
        }
    }

    /// The first duplicate ACK comes at 200 ms, the third at 204 ms; SRTT is 100 ms.
    #[test]
    fn the_time_delay_waits_half_an_rtt_after_the_first_duplicate_ack() {
        let mut driver = driver(Variant::TimeDelay);
        driver.send_new();
        driver.now = ms(100);
        driver.acknowledge(1, &[]);
        (0..10).for_each(|_| driver.send_new());
        for (at, end) in [(200, 3), (202, 4), (204, 5)] {
            driver.pass_until(ms(at));
            driver.acknowledge(1, &[(2, end)]);
        }
        assert_eq!((driver.decisions.len(), driver.deadline()), (0, Some(ms(250))));
        driver.pass_until(ms(260));
        assert_eq!((driver.decisions[0].at, &driver.decisions[0].lost[..]), (ms(250), &[1][..]));
        assert_eq!(driver.decisions[0].verdict.signal, Signal::Loss);
        assert_eq!(driver.board.timer_start(), ms(250), "the retransmission has an RTO of its own");
    }

    #[test]
    fn the_time_delay_ends_with_the_late_segment_or_lasts_until_the_third_duplicate_ack() {
        let mut driver = driver(Variant::TimeDelay);
        driver.send_new();
        driver.now = ms(100);
        driver.acknowledge(1, &[]);
        (0..10).for_each(|_| driver.send_new());
        driver.now = ms(200);
        driver.acknowledge(1, &[(2, 7)]);
        driver.pass_until(ms(240));
        driver.acknowledge(7, &[]);
        driver.pass_until(ms(280));
        driver.acknowledge(7, &[(8, 9)]); // RFC 5681 section 3.2: one is not three
        driver.pass_until(ms(340));
        assert_eq!((driver.decisions.len(), driver.board.timer_start()), (0, ms(240)));
        driver.acknowledge(7, &[(8, 11)]);
        assert_eq!((driver.decisions[0].at, &driver.decisions[0].lost[..]), (ms(340), &[7][..]));
    }

    /// The threshold is 8. While six segments above a hole arrive, the window shrinks by one for every second one from the third on.
    #[test]
    fn the_window_shrinks_while_it_is_open_whether_a_segment_is_lost() {
        let mut driver = driver(Variant::Increment);
        (0..20).for_each(|_| driver.send_new());
        (0..5).for_each(|_| driver.detector.on_spurious(ms(0), 0, &driver.board));
        let withheld = [1, 2, 3, 4, 5, 6].map(|reported| {
            driver.acknowledge(0, &[(1, 1 + reported)]);
            driver.counted_in_flight() - driver.board.in_flight()
        });
        assert_eq!((withheld, driver.decisions.len()), ([0, 0, 1, 1, 2, 2], 0));
    }

    #[test]
    fn a_timeout_sets_the_threshold_back() {
        let mut detector =
            TcpBa::new(parameters(Variant::Increment), DetectorContext { sack: true, evidence: false, paths: 2 });
        let board = Scoreboard::default();
        (0..5).for_each(|segment| detector.policy.on_spurious(segment, &board));
        assert_eq!(detector.policy.threshold, 8.0);
        let rtt = RttEstimate::new(Duration::ZERO, Duration::from_secs(60), Duration::from_secs(1));
        detector.policy.on_timeout(&board, &rtt);
        assert_eq!(detector.policy.threshold, 3.0);
    }
}
