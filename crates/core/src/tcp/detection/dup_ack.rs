//! Loss by a threshold of duplicate ACKs, for every rule that sets the threshold.
//!
//! With SACK: a segment is lost when `threshold` segments above it are sacked (IsLost of RFC 6675 section 4, in whole
//! segments). Without: the first segment is lost at the `threshold`-th duplicate ACK, and at every partial ACK of the
//! recovery that follows (RFC 6582 section 3.2).

use super::shortcuts::DetectorShortcuts;
use super::{DetectorContext, LossDetector, Signal, Verdict, timer};
use crate::tcp::events::AckEvent;
use crate::tcp::rtt::RttEstimate;
use crate::tcp::scoreboard::{Delivered, Scoreboard};
use crate::units::Time;

crate::parameters! {
    /// The threshold.
    pub struct Parameters {
        /// Duplicate ACKs that make a loss (DupThresh, RFC 5681 section 3.2: 3).
        pub threshold: u32 = 3, in 1..=1_000_000;
    }
}

/// DupThresh of RFC 5681 section 3.2, the least of every policy here.
pub const LEAST_THRESHOLD: u32 = 3;

/// One past the highest segment that counts as lost if it is not delivered: `threshold` segments above it are sacked. `None`
/// while fewer are.
#[inline]
pub fn loss_edge(board: &Scoreboard, threshold: u32) -> Option<u32> {
    board.sacked_from_above(threshold)
}

/// The policy for the threshold of
pub trait Threshold: Send + Sync {
    /// Whether [predicted ACKs](super::shortcuts) change it.
    const LEARNS_FROM_PREDICTED_ACKS: bool = true;
    /// Whether the policy may delay a decision ([`Self::waits_until`]).
    const WAITS: bool = false;

    /// The threshold now, at least 1.
    fn get(&self, board: &Scoreboard) -> u32;

    /// Called when an ACK has arrived. Its delivered segments are on the scoreboard.
    fn on_ack(&mut self, _ack: &AckEvent, _delivered: &Delivered, _board: &Scoreboard, _rtt: &RttEstimate) {}

    /// A DSACK reported the retransmission of this segment as spurious.
    fn on_spurious(&mut self, _segment: u32, _board: &Scoreboard) {}

    /// Called when the retransmission timer has expired and nothing is marked yet.
    fn on_timeout(&mut self, _board: &Scoreboard, _rtt: &RttEstimate) {}

    /// [`Verdict::withheld`] after an ACK that made no loss.
    fn withheld(&self) -> u32 {
        0
    }

    /// Time at which the threshold may fall without an ACK.
    fn waits_until(&self) -> Option<Time> {
        None
    }

    /// Called when that time has come.
    fn stop_waiting(&mut self) {}
}

/// A threshold that stays.
#[derive(Debug, Clone, Copy)]
pub struct Fixed(pub u32);

impl Threshold for Fixed {
    const LEARNS_FROM_PREDICTED_ACKS: bool = false;

    #[inline]
    fn get(&self, _board: &Scoreboard) -> u32 {
        self.0
    }
}

/// Progress of the threshold before a timeout, which an undo of the timeout restores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BeforeTimeout {
    edge: u32,
    recover: u32,
}

/// There was no timeout. No edge lies there, and half of all flows have met a timeout: so it is neither an option nor boxed.
const NO_TIMEOUT: BeforeTimeout = BeforeTimeout { edge: u32::MAX, recover: u32::MAX };

/// Duplicate ACKs are not counted, because SACK names the segments that have left the network.
const BY_SACK: u32 = u32::MAX;

/// The detector's state.
#[derive(Debug, Clone)]
pub struct DuplicateAcks<T> {
    pub(super) policy: T,
    /// Every segment below was looked at; those still in flight are retransmissions, or unmarked by an undo.
    edge: u32,
    /// Duplicate ACKs since the last advance, or [`BY_SACK`].
    duplicates: u32,
    /// Without SACK: duplicate ACKs up to here are answers to the last recovery's retransmissions (RFC 6582, "recover").
    recover: u32,
    before_timeout: BeforeTimeout,
    /// The next segment to send at the last undo, until the unmarked segments are judged again. Zero otherwise.
    undone_at: u32,
}

/// The fixed threshold.
pub type DupAck = DuplicateAcks<Fixed>;

impl DupAck {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, flow: DetectorContext) -> DupAck {
        DuplicateAcks::with_policy(Fixed(parameters.threshold), flow)
    }
}

impl<T: Threshold> DuplicateAcks<T> {
    /// A flow that has not sent yet.
    pub(super) fn with_policy(policy: T, flow: DetectorContext) -> DuplicateAcks<T> {
        let duplicates = if flow.sack { BY_SACK } else { 0 };
        DuplicateAcks { policy, edge: 0, duplicates, recover: 0, before_timeout: NO_TIMEOUT, undone_at: 0 }
    }

    #[inline]
    fn has_sack(&self) -> bool {
        self.duplicates == BY_SACK
    }

    #[inline(always)]
    fn judge(&mut self, board: &mut Scoreboard) -> Signal {
        let threshold = self.policy.get(board);
        if self.has_sack() {
            if board.sacked() < threshold { Signal::None } else { self.judge_sacked(threshold, board) }
        } else if self.duplicates < threshold {
            Signal::None
        } else {
            self.duplicates = 0;
            self.recover = board.next();
            board.mark_lost(board.una());
            Signal::Loss
        }
    }

    #[inline(always)]
    fn judge_sacked(&mut self, threshold: u32, board: &mut Scoreboard) -> Signal {
        let Some(edge) = loss_edge(board, threshold) else { return Signal::None };
        let lost_before = board.lost();
        if self.undone_at > 0 && edge >= self.undone_at {
            // The unmarked segments may still be late while only earlier segments have overtaken them.
            (self.edge, self.undone_at) = (board.una(), 0);
        }
        for segment in self.edge.max(board.una())..edge {
            // After an undo these may be retransmissions, whose loss only the timer sees.
            if !board.was_retransmitted(segment) {
                board.mark_lost(segment);
            }
        }
        self.edge = self.edge.max(edge);
        if board.lost() > lost_before { Signal::Loss } else { Signal::None }
    }

    fn without_sack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Signal {
        if ack.advanced {
            self.duplicates = 0;
            if !ack.in_recovery && board.una() < self.recover {
                self.recover = 0; // the sender's recovery ended before all of it was acknowledged
            }
            if ack.in_recovery && board.outstanding() > 0 && !board.was_retransmitted(board.una()) {
                board.mark_lost(board.una()); // a partial ACK: the next hole
                return Signal::Loss;
            }
        } else if ack.duplicate && !ack.in_recovery && (board.una() > self.recover || self.recover == 0) {
            self.duplicates += 1;
            return self.judge(board);
        }
        Signal::None
    }

    /// After a timeout the threshold judges nothing that was sent before it. If the recovery is over before all of them are
    /// acknowledged, the timeout was undone. Then the threshold judges the remaining segments again.
    #[inline(always)]
    fn follow_timeout(&mut self, in_recovery: bool, board: &Scoreboard) {
        if !in_recovery && self.before_timeout != NO_TIMEOUT {
            let before = std::mem::replace(&mut self.before_timeout, NO_TIMEOUT);
            if board.una() < self.edge {
                (self.edge, self.recover) = (before.edge, before.recover);
            }
        }
    }
}

impl<T: Threshold> LossDetector for DuplicateAcks<T> {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent, delivered: &Delivered, board: &mut Scoreboard, rtt: &RttEstimate) -> Verdict {
        self.policy.on_ack(ack, delivered, board, rtt);
        self.follow_timeout(ack.in_recovery, board);
        let signal = if self.has_sack() { self.judge(board) } else { self.without_sack(ack, board) };
        let withheld = if signal == Signal::None { self.policy.withheld() } else { 0 };
        Verdict { withheld, ..Verdict::of(signal) }
    }

    #[inline]
    fn deadline(&self, board: &Scoreboard, rtt: &RttEstimate) -> Option<Time> {
        let expiry = timer::deadline(board, rtt)?;
        Some(self.policy.waits_until().map_or(expiry, |end| end.min(expiry)))
    }

    fn on_deadline(&mut self, now: Time, board: &mut Scoreboard, rtt: &RttEstimate) -> Verdict {
        if self.policy.waits_until().is_some_and(|end| end <= now) {
            self.policy.stop_waiting();
            let signal = self.judge(board);
            if signal != Signal::None {
                board.restart_timer(now);
            }
            return Verdict::of(signal);
        }
        self.policy.on_timeout(board, rtt);
        if self.before_timeout == NO_TIMEOUT {
            self.before_timeout = BeforeTimeout { edge: self.edge, recover: self.recover };
        }
        self.edge = board.next();
        self.recover = board.next();
        timer::expire(board)
    }

    fn on_spurious(&mut self, _now: Time, segment: u32, board: &Scoreboard) {
        self.policy.on_spurious(segment, board);
    }

    fn on_unmarked(&mut self, board: &Scoreboard) {
        self.undone_at = board.next();
    }
}

impl<T: Threshold> DetectorShortcuts for DuplicateAcks<T> {
    /// Without SACK it does: an ACK that advances ends a count of duplicates.
    fn learns_from_predicted_acks(&self) -> bool {
        T::LEARNS_FROM_PREDICTED_ACKS || !self.has_sack()
    }

    fn has_only_the_timer(&self) -> bool {
        !T::WAITS
    }
}

#[cfg(test)]
mod tests {
    use super::super::DetectionSpec;
    use super::super::script::{Driver, ms, transfer};
    use super::*;
    use crate::units::Duration;

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
    fn a_retransmission_is_not_marked_again() {
        let mut board = board_with(&[(1, 4)], 10);
        let mut detector =
            DupAck::new(Parameters::default(), DetectorContext { sack: true, evidence: false, paths: 1 });
        assert_eq!(detector.judge(&mut board), Signal::Loss);
        board.retransmit(0, Time(3));
        board.acknowledge(0, &[(1, 6)], Time(4));
        assert_eq!(detector.judge(&mut board), Signal::None);
        assert_eq!(board.lost(), 0);
    }

    fn driver(sack: bool) -> Driver {
        Driver::of(&DetectionSpec::DupAck(Parameters::default()), sack)
    }

    fn signals(driver: &Driver) -> Vec<Signal> {
        driver.decisions.iter().map(|decision| decision.verdict.signal).collect()
    }

    /// Two windows lose a segment each: three duplicate ACKs find the second as the first, with SACK or without.
    #[test]
    fn rfc5681_section_3_2_each_window_has_its_fast_retransmission() {
        for sack in [true, false] {
            let mut driver = driver(sack);
            let fate = |segment, nth| (!matches!(segment, 20 | 60) || nth > 0).then_some(Duration::from_millis(100));
            transfer(&mut driver, 100, 10, fate, 1_000);
            assert_eq!(signals(&driver), [Signal::Loss; 2], "SACK: {sack}");
            assert_eq!(driver.decisions.iter().map(|decision| decision.lost[0]).collect::<Vec<_>>(), [20, 60]);
        }
    }

    /// A timeout changes nothing for segments that are sent after its recovery.
    #[test]
    fn after_a_timeout_three_duplicate_acks_make_a_loss_again() {
        for sack in [true, false] {
            let mut driver = driver(sack);
            let fate = |segment, nth| {
                (!matches!((segment, nth), (20 | 60, 0) | (20, 1))).then_some(Duration::from_millis(100))
            };
            transfer(&mut driver, 100, 10, fate, 1_000);
            assert_eq!(signals(&driver), [Signal::Loss, Signal::Timeout, Signal::Loss], "SACK: {sack}");
            assert_eq!(driver.detector.learns_from_predicted_acks(), !sack, "it counts by SACK still");
        }
    }

    /// Two duplicate ACKs from before the timeout do not count with one from after it.
    #[test]
    fn without_sack_a_timeout_ends_the_count_of_duplicates() {
        let mut driver = driver(false);
        (0..5).for_each(|_| driver.send_new());
        driver.now = ms(100);
        (0..2).for_each(|_| driver.acknowledge(0, &[]));
        driver.pass_until(ms(1000));
        assert_eq!(signals(&driver), [Signal::Timeout]);
        driver.retransmit();
        driver.now = ms(1100);
        driver.acknowledge(5, &[]);
        (0..5).for_each(|_| driver.send_new());
        driver.now = ms(1200);
        driver.acknowledge(6, &[]);
        driver.acknowledge(6, &[]);
        assert_eq!(signals(&driver), [Signal::Timeout], "one duplicate");
    }
}
