//! Loss by a threshold of duplicate ACKs.
//!
//! With SACK: a segment is lost when `threshold` segments above it are sacked (IsLost of RFC 6675 section 4, in whole
//! segments). Without: the first segment is lost at the `threshold`-th duplicate ACK, and at every partial ACK of the
//! recovery that follows (RFC 6582 section 3.2).

use super::{DetectorContext, LossDetector, Signal, Verdict, timer};
use crate::tcp::events::AckEvent;
use crate::tcp::rtt::RttEstimate;
use crate::tcp::scoreboard::Scoreboard;
use crate::units::Time;

crate::parameters! {
    /// The threshold.
    pub struct Parameters {
        /// Duplicate ACKs that make a loss (DupThresh, RFC 5681 section 3.2: 3).
        pub threshold: u32 = 3, in 1..=1_000_000;
    }
}

/// One past the highest segment that counts as lost (if not delivered) when `threshold` segments above a lost one must be
/// sacked; `None` while fewer are.
pub fn loss_edge(board: &Scoreboard, threshold: u32) -> Option<u32> {
    if board.sacked() < threshold {
        return None;
    }
    (board.una()..board.sacked_end()).rev().filter(|segment| board.is_sacked(*segment)).nth(threshold as usize - 1)
}

/// The detector's state.
#[derive(Debug, Clone)]
pub struct DupAck {
    threshold: u32,
    sack: bool,
    /// Every segment below was looked at; those still in flight are retransmissions, whose loss only the timer sees.
    edge: u32,
    duplicates: u32,
    /// Without SACK: duplicate ACKs up to here are answers to the last recovery's retransmissions (RFC 6582, "recover").
    recover: u32,
}

impl DupAck {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, flow: DetectorContext) -> DupAck {
        DupAck { threshold: parameters.threshold, sack: flow.sack, edge: 0, duplicates: 0, recover: 0 }
    }

    fn with_sack(&mut self, board: &mut Scoreboard) -> Verdict {
        let Some(edge) = loss_edge(board, self.threshold) else { return Verdict::default() };
        let lost_before = board.lost();
        for segment in self.edge.max(board.una())..edge {
            board.mark_lost(segment);
        }
        self.edge = self.edge.max(edge);
        Verdict::of(if board.lost() > lost_before { Signal::Loss } else { Signal::None })
    }

    fn without_sack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Verdict {
        if ack.advanced {
            self.duplicates = 0;
            if !ack.in_recovery && board.una() < self.recover {
                self.recover = 0; // the sender's recovery ended before all of it was acknowledged
            }
            if ack.in_recovery && board.outstanding() > 0 && !board.was_retransmitted(board.una()) {
                board.mark_lost(board.una()); // a partial ACK: the next hole
                return Verdict::of(Signal::Loss);
            }
        } else if ack.duplicate && !ack.in_recovery && (board.una() > self.recover || self.recover == 0) {
            self.duplicates += 1;
            if self.duplicates == self.threshold {
                self.recover = board.next();
                board.mark_lost(board.una());
                return Verdict::of(Signal::Loss);
            }
        }
        Verdict::default()
    }
}

impl LossDetector for DupAck {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard, _rtt: &RttEstimate) -> Verdict {
        let verdict = if self.sack {
            if board.sacked() < self.threshold { Verdict::default() } else { self.with_sack(board) }
        } else {
            self.without_sack(ack, board)
        };
        if verdict.signal == Signal::Loss && !ack.in_recovery {
            // RFC 6675 section 6: the timer runs from the fast retransmission, not from the last ACK that advanced; else
            // it expires just before every repair where the RTO is hardly more than the RTT.
            board.restart_timer(ack.now);
        }
        verdict
    }

    #[inline]
    fn deadline(&self, board: &Scoreboard, rtt: &RttEstimate) -> Option<Time> {
        timer::deadline(board, rtt)
    }

    fn on_deadline(&mut self, _now: Time, board: &mut Scoreboard, _rtt: &RttEstimate) -> Verdict {
        self.edge = board.next();
        self.recover = board.next();
        self.duplicates = 0;
        timer::expire(board)
    }

    /// Without SACK it does: an ACK that advances ends a count of duplicates.
    fn learns_from_ordinary_acks(&self) -> bool {
        !self.sack
    }

    fn has_only_the_timer(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::DetectionSpec;
    use super::super::script::{Driver, ms};
    use super::*;

    fn board_with(sacked: &[(u32, u32)], sent: u32) -> Scoreboard {
        let mut board = Scoreboard::default();
        for _ in 0..sent {
            board.send_new(Time(1));
        }
        board.acknowledge(0, sacked, Time(2));
        board
    }

    #[test]
    fn rfc6675_section_4_three_sacked_above_make_a_loss() {
        assert_eq!(loss_edge(&board_with(&[(1, 3)], 10), 3), None);
        assert_eq!(loss_edge(&board_with(&[(1, 4)], 10), 3), Some(1));
        assert_eq!(loss_edge(&board_with(&[(1, 2), (3, 4), (6, 7)], 10), 3), Some(1));
        assert_eq!(loss_edge(&board_with(&[(1, 2), (3, 4), (6, 8)], 10), 3), Some(3));
    }

    #[test]
    fn rfc6675_section_6_the_timer_runs_from_the_fast_retransmission() {
        let spec: DetectionSpec = serde_json::from_str(r#"{ "name": "dup-ack" }"#).expect("defaults suffice");
        for sack in [true, false] {
            let mut driver = Driver::of(&spec, sack);
            (0..10).for_each(|_| driver.send_new());
            for (at, block) in [(100, (1, 2)), (101, (1, 3)), (102, (1, 4))] {
                driver.pass_until(ms(at));
                driver.acknowledge(0, &[block]);
            }
            assert_eq!(driver.board.timer_start(), ms(102), "SACK: {sack}");
        }
    }

    #[test]
    fn a_retransmission_is_not_marked_again() {
        let mut board = board_with(&[(1, 4)], 10);
        let mut detector = DupAck::new(Parameters::default(), DetectorContext { sack: true, paths: 1 });
        assert_eq!(detector.with_sack(&mut board).signal, Signal::Loss);
        board.retransmit(0, Time(3));
        board.acknowledge(0, &[(1, 6)], Time(4));
        assert_eq!(detector.with_sack(&mut board).signal, Signal::None);
        assert_eq!(board.lost(), 0);
    }
}
