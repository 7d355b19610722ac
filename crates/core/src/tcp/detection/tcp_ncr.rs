//! TCP-NCR, RFC 4653: a segment is lost if it remains a hole for about one round trip.
//!
//! The threshold is a share of the flight, so that it is reached only after a window's worth of segments was reported above the
//! hole. Meanwhile new segments keep the ACKs coming (extended limited transmit), one for every second ACK (careful) or one for
//! each (aggressive). Careful senders have halved their rate already if the segment turns out to be lost.
//!
//! Once recovery has begun, the threshold is again RFC 6675's three. We read the RFC in this way, because it sets DupThresh for
//! extended limited transmit. With the share of the flight, all holes but the first would wait for segments that recovery does not
//! send.
//!
//! The RFC moves cwnd and ssthresh when the hole is filled, so that no burst follows (section 3.2). Here the detector withholds
//! the same number of segments from the window instead, and releases one for each that is acknowledged, as slow start would. The
//! RFC requires SACK. Without it, duplicate ACKs are counted instead.

use super::DetectorContext;
use super::dup_ack::{DuplicateAcks, LEAST_THRESHOLD, Threshold};
use super::reordering::{flight_before_hole, reported_above_hole};
use crate::tcp::events::AckEvent;
use crate::tcp::rtt::RttEstimate;
use crate::tcp::scoreboard::{Delivered, Scoreboard};

crate::choice! {
    /// How much is sent while a hole is open.
    pub enum Variant {
        /// One new segment for every second ACK.
        Careful = "careful",
        /// One new segment for every ACK.
        Aggressive = "aggressive",
    }
}

crate::parameters! {
    /// The variant.
    pub struct Parameters {
        /// New segments while it is open whether one is late or lost: for every second ACK (careful) or every one (aggressive).
        pub variant: Variant = Variant::Careful;
    }
}

/// DupThresh with a flight of this number of segments (section 3.1 step I.3): LT_F, 2/3 or 1/2, of them, rounded up.
pub fn threshold(variant: Variant, flight: u32) -> u32 {
    let share = match variant {
        Variant::Careful => (u64::from(flight) * 2).div_ceil(3),
        Variant::Aggressive => u64::from(flight).div_ceil(2),
    };
    (share as u32).max(LEAST_THRESHOLD)
}

/// Segments withheld after `reported` of n left the network (section 3.3 step E.3). A segment is sent while pipe and segments
/// already sent are less than the flight before. So k of n may be sent while n - k + 2 k <= n + 1, or while k < n.
pub fn withheld(variant: Variant, reported: u32) -> u32 {
    match variant {
        Variant::Careful => reported / 2,
        Variant::Aggressive => 0,
    }
}

/// Segments withheld when the hole is filled (section 3.2 step T.1): the window is one more than the flight, and at most the
/// flight before.
pub fn withheld_after_hole(flight_before: u32, flight: u32) -> u32 {
    flight_before.saturating_sub(flight + 1)
}

/// Extended limited transmit, and the slow start that follows it.
#[derive(Debug, Clone, Copy)]
struct Episode {
    /// FlightSizePrev.
    flight_before: u32,
    /// Withheld by the last hole's filling, and not yet released.
    remaining: u32,
    /// Reported since the present hole opened.
    reported: u32,
}

/// The threshold's state.
#[derive(Debug, Clone)]
pub struct Policy {
    variant: Variant,
    episode: Option<Episode>,
    in_recovery: bool,
}

impl Threshold for Policy {
    fn get(&self, board: &Scoreboard) -> u32 {
        if self.in_recovery { LEAST_THRESHOLD } else { threshold(self.variant, board.outstanding()) }
    }

    fn on_ack(&mut self, ack: &AckEvent, delivered: &Delivered, board: &Scoreboard, _rtt: &RttEstimate) {
        self.in_recovery = ack.in_recovery;
        let has_hole = reported_above_hole(board) > 0;
        let Some(episode) = self.episode.as_mut().filter(|_| !ack.in_recovery) else {
            let begins = has_hole && !ack.in_recovery;
            self.episode = begins.then(|| Episode {
                flight_before: flight_before_hole(delivered, board),
                remaining: 0,
                reported: ack.delivered,
            });
            return;
        };
        if ack.advanced && episode.reported > 0 {
            episode.remaining = withheld_after_hole(episode.flight_before, board.outstanding());
            episode.reported = 0; // step T.4: with another hole it starts again
        } else if has_hole {
            episode.reported += ack.delivered;
        } else {
            episode.remaining = episode.remaining.saturating_sub(ack.delivered);
        }
        if episode.remaining == 0 && !has_hole {
            self.episode = None;
        }
    }

    fn on_timeout(&mut self, _board: &Scoreboard, _rtt: &RttEstimate) {
        self.episode = None;
    }

    fn withheld(&self) -> u32 {
        self.episode.map_or(0, |episode| episode.remaining + withheld(self.variant, episode.reported))
    }
}

/// Duplicate ACKs by that threshold.
pub type TcpNcr = DuplicateAcks<Policy>;

impl TcpNcr {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, flow: DetectorContext) -> TcpNcr {
        DuplicateAcks::with_policy(Policy { variant: parameters.variant, episode: None, in_recovery: false }, flow)
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{Driver, ms, transfer};
    use super::super::{DetectionSpec, Signal};
    use super::*;
    use crate::units::Duration;

    fn driver(variant: Variant) -> Driver {
        Driver::of(&DetectionSpec::TcpNcr(Parameters { variant }), true)
    }

    #[test]
    fn rfc4653_section_3_1_the_threshold_is_two_thirds_or_half_of_the_flight_and_at_least_three() {
        assert_eq!([3, 4, 6, 12, 18].map(|flight| threshold(Variant::Careful, flight)), [3, 3, 4, 8, 12]);
        assert_eq!([3, 6, 8, 12, 24].map(|flight| threshold(Variant::Aggressive, flight)), [3, 3, 4, 6, 12]);
    }

    #[test]
    fn rfc4653_section_3_2_a_filled_hole_leaves_room_for_one_segment() {
        assert_eq!(withheld_after_hole(12, 6), 5);
        assert_eq!(withheld_after_hole(12, 11), 0);
        assert_eq!(withheld_after_hole(12, 14), 0);
    }

    /// Segments that a window of 12 sends for each of the ACKs above a hole at segment 0, until that is lost.
    fn sent_per_ack(variant: Variant) -> (Vec<u32>, Vec<u32>) {
        let mut driver = driver(variant);
        (0..12).for_each(|_| driver.send_new());
        driver.now = ms(100);
        let mut sent = Vec::new();
        for reported in 1.. {
            if reported >= driver.board.next() {
                break;
            }
            driver.acknowledge(0, &[(1, reported + 1)]);
            if !driver.decisions.is_empty() {
                break;
            }
            let before = driver.board.next();
            while driver.counted_in_flight() < 12 {
                driver.send_new();
            }
            sent.push(driver.board.next() - before);
        }
        (sent, driver.decisions.first().map_or(Vec::new(), |decision| decision.lost.clone()))
    }

    /// Careful: 6 of 11 ACKs send, the flight is 18, and the twelfth report, of the first new segment, makes the loss.
    /// Aggressive: each of ten sends, the flight is 22, and the eleventh report makes the loss.
    #[test]
    fn rfc4653_section_3_3_extended_limited_transmit_of_a_window_of_twelve() {
        assert_eq!(sent_per_ack(Variant::Careful), (vec![1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1], vec![0]));
        assert_eq!(sent_per_ack(Variant::Aggressive), (vec![1; 10], vec![0]));
    }

    /// A segment that is overtaken by most of a window is not lost; by SACKs of three it is.
    #[test]
    fn a_segment_late_by_less_than_a_round_trip_is_not_lost() {
        for variant in [Variant::Careful, Variant::Aggressive] {
            let mut driver = driver(variant);
            let late = |segment: u32, _| Some(Duration::from_millis(if segment % 50 == 7 { 150 } else { 100 }));
            transfer(&mut driver, 300, 20, late, 5_000);
            assert_eq!(driver.decisions, [], "{variant:?}");
        }
    }

    #[test]
    fn a_lost_segment_is_found_without_a_timeout() {
        for variant in [Variant::Careful, Variant::Aggressive] {
            let mut driver = driver(variant);
            let fate = |segment, nth| (segment != 30 || nth > 0).then_some(Duration::from_millis(100));
            transfer(&mut driver, 200, 20, fate, 5_000);
            let signals: Vec<Signal> = driver.decisions.iter().map(|decision| decision.verdict.signal).collect();
            assert_eq!(signals, [Signal::Loss], "{variant:?}");
            assert_eq!(driver.decisions[0].lost, [30]);
        }
    }

    /// Section 3.2: after the hole is filled one segment goes out, and then two for each that is acknowledged.
    #[test]
    fn rfc4653_section_3_2_the_flight_before_is_reached_again_by_slow_start() {
        let mut driver = driver(Variant::Careful);
        (0..12).for_each(|_| driver.send_new());
        driver.now = ms(100);
        for reported in 1..=8 {
            driver.acknowledge(0, &[(1, reported + 1)]);
            while driver.counted_in_flight() < 12 {
                driver.send_new();
            }
        }
        assert_eq!((driver.board.next(), driver.board.in_flight()), (16, 8));
        let mut sent = Vec::new();
        for cumulative in [9, 10, 11, 12, 13, 14] {
            driver.acknowledge(cumulative, &[]);
            let before = driver.board.next();
            while driver.counted_in_flight() < 12 {
                driver.send_new();
            }
            sent.push(driver.board.next() - before);
        }
        assert_eq!(sent, [1, 2, 2, 2, 2, 1]);
        assert_eq!((driver.board.in_flight(), driver.counted_in_flight()), (12, 12));
    }
}
