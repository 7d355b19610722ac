//! How Linux recognises spurious recovery and reordering, and takes reductions back (`net/ipv4/tcp_input.c`). Names in parentheses
//! are those of its functions and variables.
//!
//! Linux differs from the RFCs where packets are reordered. A recovery whose retransmissions were all unneeded ends at once, whatever
//! was marked as lost. If segments are still marked when an episode ends, they begin the next recovery.

pub(super) mod fin;
mod push;
pub(super) mod quantum;
mod window_use;

use super::options::{Growth, RFC_RULES, Rules};
use super::{ForwardRto, Phase, Sender};
use crate::spec::{Follows, SpuriousResponse, StackSpec};
use crate::tcp::detection::EpisodeEnd;
use crate::tcp::kernel_clock::{LastAnswer, TIMESTAMP_TICK, timestamp};
use crate::tcp::receiver::Ack;
use crate::tcp::scoreboard::{Delivered, Doubt};
use crate::units::{Duration, Time};
use push::Push;
use quantum::Quantum;
use window_use::Unfilled;

/// The reordering that a connection allows for before it has seen any (`sysctl_tcp_reordering`), and at most
/// (`sysctl_tcp_max_reordering`), segments.
const REORDERING: (u32, u32) = (3, 300);

const RULES: Rules = Rules {
    growth: Growth::Reported,
    safe_acks: true,
    restarts_timer_once: false,
    spreads_reductions: true,
    harmless_syns: 2,
    evidence: true,
    timed_handshake: true,
};

/// The rules of a stack, and the state of a sender that follows Linux. Nothing else asks whether it does. Other senders have no such state,
/// which keeps them small.
pub(super) fn rules_of(stack: &StackSpec) -> (Rules, Option<Box<LinuxState>>) {
    match stack.follows {
        Follows::Rfc => (RFC_RULES, None),
        Follows::Ns2 => (Rules { growth: Growth::OnePerAck, ..RFC_RULES }, None),
        Follows::Linux => {
            let recovery = stack.sack.then(|| Recovery { reordering: REORDERING.0, ..Recovery::default() });
            (Rules { evidence: stack.sack, ..RULES }, Some(Box::new(LinuxState { recovery, ..LinuxState::default() })))
        }
    }
}

/// State of a sender that follows Linux.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LinuxState {
    unfilled: Unfilled,
    quantum: Quantum,
    push: Push,
    /// Late originals have filled the hole while retransmissions are in flight: for this ACK, nothing is marked or sent again.
    waits: bool,
    /// Whether this ACK has shown that a retransmission was lost, or a timer has marked any segment as lost.
    loses_again: bool,
    /// Segments that this ACK reports as duplicates.
    duplicates: u32,
    answered: LastAnswer,
    /// Without SACK, recovery is as for others.
    recovery: Option<Recovery>,
}

/// State of episodes that an undo may revert.
#[derive(Debug, Clone, Copy, Default)]
struct Recovery {
    /// The greatest distance that a late segment was behind, in segments (`reordering`).
    reordering: u32,
    /// The first unacknowledged segment at the start of the episode that an undo may revert (`undo_marker`).
    undo_from: Option<u32>,
    /// Retransmissions of the episode that no DSACK has reported; `None` before the first (`undo_retrans`).
    unreported: Option<u32>,
    /// When the first retransmission of the episode was sent (`retrans_stamp`).
    first_again: Time,
    /// When the segment was sent whose timestamp ACKs echo (`rcv_tsecr`).
    echoed: Time,
    /// Whether the ACK that advanced last echoes an earlier retransmission than the last one, at an unknown time.
    echoes_unknown: bool,
    /// When the latest ACK was sent, by its timestamp (`ts_recent`).
    latest_ack: u32,
    /// Whether the episode reduced the window, so that an undo restores it (`prior_ssthresh`).
    restores: bool,
    /// Retransmissions in flight that an undo has unmarked: they are not lost any more.
    unmarked: u32,
}

impl Sender {
    #[inline(always)]
    pub(super) fn has_evidence(&self) -> bool {
        self.options.rules.evidence
    }

    #[inline(always)]
    fn recovery(&self) -> Option<&Recovery> {
        self.linux.as_ref()?.recovery.as_ref()
    }

    #[inline(always)]
    fn recovery_mut(&mut self) -> Option<&mut Recovery> {
        self.linux.as_mut()?.recovery.as_mut()
    }

    /// Whether nothing may be marked as lost, or sent again, before the next ACK.
    #[inline(always)]
    pub(super) fn waits_for_late_originals(&self) -> bool {
        self.linux.as_ref().is_some_and(|linux| linux.waits)
    }

    /// Begins the processing of an ACK or a deadline: resets the state of the last ACK that holds for one instant only.
    #[inline(always)]
    pub(super) fn begin_event(&mut self) {
        if let Some(linux) = &mut self.linux {
            (linux.waits, linux.duplicates, linux.loses_again) = (false, 0, false);
        }
    }

    /// Sets the information about an ACK that the scoreboard needs before it processes the ACK (`tcp_rack_advance`,
    /// `tcp_skb_spurious_retrans`).
    #[inline(never)]
    pub(super) fn set_doubt(&mut self, now: Time, ack: &Ack) {
        let Some(recovery) = self.recovery_mut() else { return };
        if let Some(timestamps) = ack.timestamps {
            recovery.latest_ack = recovery.latest_ack.max(timestamps.sent);
        }
        self.begin_event();
        let least_rtt = self.rtt.minimum().unwrap_or(Duration::ZERO);
        let una = self.board.una();
        let echoed = if ack.cumulative > una { self.note_echo(now, ack, una, least_rtt) } else { Time::ZERO };
        self.board.doubt(Some(Doubt { least_rtt, echoed }));
    }

    /// Whether an ACK that a later one has overtaken is discarded: it has no blocks, or its timestamp is older by more than one tick (PAWS,
    /// RFC 7323 section 5.3).
    pub(super) fn is_too_old(&self, ack: &Ack) -> bool {
        ack.sack.is_empty() || ack.timestamps.is_none() || self.is_out_of_date(ack)
    }

    fn is_out_of_date(&self, ack: &Ack) -> bool {
        let latest = self.recovery().map_or(0, |recovery| recovery.latest_ack);
        ack.timestamps.is_some_and(|timestamps| timestamps.sent + 1 < latest)
    }

    /// Whether a discarded ACK is to be answered: its timestamp is out of date, and no other was answered within half a second
    /// (`tcp_validate_incoming`, `tcp_oow_rate_limited`).
    pub(super) fn objects_to(&mut self, now: Time, ack: &Ack) -> bool {
        self.is_out_of_date(ack) && self.linux.as_mut().is_some_and(|linux| linux.answered.allows(now))
    }

    /// Records which timestamp an ACK echoes that passes `una` and maybe others (RFC 7323 section 4.3). If it does not say, it is that of the
    /// segment that moved the receiver's left edge, `una`.
    fn note_echo(&mut self, now: Time, ack: &Ack, una: u32, least_rtt: Duration) -> Time {
        let last = ack.cumulative.min(self.board.next()) - 1;
        let sent = match ack.timestamps.and_then(|timestamps| timestamps.echoed) {
            Some(number) => self.board.sent_as(number),
            // Sooner than any ACK can come, this one answers an earlier transmission.
            None if ack.echoes_retransmission => Some(self.board.sent(una)).filter(|sent| now - *sent >= least_rtt),
            None if !self.board.was_retransmitted(una) => Some(self.board.sent(una)),
            // The ACK has overtaken the one of `una`.
            None if !self.board.is_sacked(last) && !self.board.was_retransmitted(last) => Some(self.board.sent(last)),
            None => self.board.first_sent(una),
        };
        let Some(recovery) = self.recovery_mut() else { return Time::ZERO };
        recovery.echoes_unknown = sent.is_none() && ack.echoes_retransmission;
        recovery.echoed = recovery.echoed.max(sent.unwrap_or_default());
        if recovery.echoes_unknown { Time::ZERO } else { recovery.echoed }
    }

    /// When the segment was sent whose timestamp the ACK echoes that advanced last, if that is known.
    pub(super) fn echoed(&self) -> Option<Time> {
        let recovery = self.recovery().filter(|recovery| !recovery.echoes_unknown)?;
        Some(recovery.echoed).filter(|echoed| *echoed > Time::ZERO)
    }

    /// The oldest transmission whose timestamp is at most one tick older than now's (PAWS, RFC 7323 section 5.3). Zero for a
    /// sender whose timestamps are not modelled.
    pub(super) fn oldest_tolerated(&self, now: Time) -> u32 {
        if !self.has_evidence() {
            return 0;
        }
        let ticks = (now.0 / TIMESTAMP_TICK.0).saturating_sub(1);
        self.board.next_transmission() - self.board.sent_since(Time(ticks * TIMESTAMP_TICK.0))
    }

    /// Segments marked as lost, those sent again included until they arrive (`lost_out`).
    pub(super) fn lost_out(&self) -> u32 {
        let unmarked = self.recovery().map_or(0, |recovery| recovery.unmarked);
        self.board.lost() + self.board.again_in_flight().saturating_sub(unmarked)
    }

    /// Whether segments count as lost outside of recovery, so that a new recovery begins (`tcp_time_to_recover`). An undo left them,
    /// or they were lost within the recovery that this ACK has ended.
    #[inline(always)]
    pub(super) fn must_recover_again(&self) -> bool {
        self.has_evidence() && self.phase == Phase::Open && self.lost_out() > 0
    }

    /// Begins the processing of a deadline: its timer marks segments.
    pub(super) fn note_deadline(&mut self) {
        self.begin_event();
        self.note_lost_again();
    }

    /// A timer marked segments outside of an episode: one may be sent (`tcp_rack_reo_timeout`).
    pub(super) fn send_after_deadline(&mut self) {
        if self.has_evidence() {
            self.reduce_proportionally(1, false);
        }
    }

    /// Records that the detector has marked a retransmission as lost, or that a timer has marked any segment.
    pub(super) fn note_lost_again(&mut self) {
        if let Some(linux) = &mut self.linux {
            linux.loses_again = true;
        }
    }

    /// Whether a loss ends the slow start after a timeout.
    fn lost_a_retransmission(&self) -> bool {
        self.linux.as_ref().is_some_and(|linux| linux.loses_again)
    }

    /// Records that `segment` arrived late, after segments up to `end` (`tcp_check_sack_reordering`).
    fn note_reordering(&mut self, segment: u32, end: u32) {
        if let Some(recovery) = self.recovery_mut()
            && end > segment
            && end - segment > recovery.reordering
        {
            recovery.reordering = (end - segment).min(REORDERING.1);
        }
    }

    /// Records the reordering and the duplicates that an ACK reports.
    fn note_evidence(&mut self, now: Time, ack: &Ack, delivered: &Delivered) {
        if let Some(segment) = delivered.lowest_late() {
            self.note_reordering(segment, self.board.sacked_end());
        }
        if let Some((segment, _)) = ack.sack.duplicate() {
            self.detector.on_spurious(now, segment, &self.board);
            let una = self.board.una();
            let was_sent_again = segment < una || segment < self.board.next() && self.board.was_retransmitted(segment);
            if segment >= una && was_sent_again && self.board.is_sacked(segment) {
                self.note_reordering(segment, self.board.sacked_end());
            }
            if let Some(linux) = &mut self.linux {
                linux.duplicates = 1;
            }
            if let Some(recovery) = self.recovery_mut()
                && was_sent_again
                && recovery.undo_from.is_some_and(|from| segment >= from)
            {
                recovery.unreported = recovery.unreported.map(|count| count.saturating_sub(1));
            }
        }
        let again = self.board.again_in_flight();
        if let Some(recovery) = self.recovery_mut() {
            recovery.unmarked = recovery.unmarked.min(again);
        }
    }

    /// Segments by which an ACK may grow the window (`tcp_may_raise_cwnd`): all that it newly reports, if it advances. After reordering
    /// beyond the least, ACKs with SACK blocks only may grow it as well.
    #[inline]
    pub(super) fn newly_reported(&self, advanced: bool, delivered: &Delivered) -> u32 {
        let Some(recovery) = self.recovery() else { return delivered.cumulative.min(delivered.count) };
        let may_grow = advanced || recovery.reordering > REORDERING.0 && delivered.count > 0;
        if may_grow { delivered.count + self.reported_duplicates() } else { 0 }
    }

    /// Segments that an ACK reports as duplicates, and that count as delivered.
    #[inline(always)]
    pub(super) fn reported_duplicates(&self) -> u32 {
        self.linux.as_ref().map_or(0, |linux| linux.duplicates)
    }

    /// Begins an episode that an undo may revert (`tcp_init_undo`); `restores` if it reduces the window. Returns whether the sender has
    /// such episodes.
    pub(super) fn begin_revertible_episode(&mut self, restores: bool) -> bool {
        let (una, again) = (self.board.una(), self.board.again_in_flight());
        let Some(recovery) = self.recovery_mut() else { return false };
        recovery.undo_from = Some(una);
        recovery.unreported = (again > 0).then_some(again);
        recovery.restores = restores;
        true
    }

    /// Records that a segment is retransmitted (`tcp_retransmit_skb`).
    pub(super) fn note_retransmission(&mut self, now: Time) {
        let Some(recovery) = self.recovery_mut() else { return };
        if recovery.unreported.is_none() {
            recovery.first_again = now;
        }
        recovery.unreported = Some(recovery.unreported.unwrap_or(0) + 1);
    }

    /// Lowers the estimate of reordering, because the retransmission timer expired while many segments had arrived out of order
    /// (`tcp_enter_loss`).
    pub(super) fn doubt_reordering(&mut self) {
        let has_many = self.phase == Phase::Open && self.board.sacked() >= REORDERING.0;
        if has_many && let Some(recovery) = self.recovery_mut() {
            recovery.reordering = recovery.reordering.min(REORDERING.0);
        }
    }

    /// Whether the reduction may be undone because DSACKs report all retransmissions of the episode (`tcp_try_undo_dsack`).
    fn all_were_duplicates(&self) -> bool {
        self.recovery().is_some_and(|recovery| recovery.undo_from.is_some() && recovery.unreported == Some(0))
    }

    /// Whether the ACK that advanced answers an original sent before the first retransmission (`tcp_packet_delayed`).
    fn original_came(&self) -> bool {
        self.options.spurious == SpuriousResponse::Eifel
            && self.recovery().is_some_and(|recovery| {
                let is_before =
                    !recovery.echoes_unknown && timestamp(recovery.echoed) < timestamp(recovery.first_again);
                recovery.undo_from.is_some() && (recovery.unreported.is_none() || is_before)
            })
    }

    /// (`tcp_undo_cwnd_reduction`).
    fn revert_episode(&mut self, by: EpisodeEnd, unmarks: bool) {
        self.undone += 1;
        self.detector.on_episode_end(by);
        let Some(recovery) = self.recovery_mut() else { return };
        recovery.undo_from = None;
        if recovery.restores {
            self.congestion.update(|control| control.undo());
        } else {
            self.congestion.update(|control| control.on_reopened());
        }
        if unmarks {
            self.board.unmark_lost();
            self.detector.on_unmarked(&self.board);
            let again = self.board.again_in_flight();
            if let Some(recovery) = self.recovery_mut() {
                recovery.unmarked = again;
            }
        }
        self.phase = Phase::Open;
    }

    /// Ends the episode: all segments sent before it are acknowledged (`tcp_try_undo_recovery`).
    fn end_episode(&mut self, until: u32) {
        if self.all_were_duplicates() || self.original_came() {
            self.revert_episode(EpisodeEnd::Spurious, false);
        } else {
            self.detector.on_episode_end(EpisodeEnd::Repaired);
        }
        self.end_recovery(until);
    }

    /// Records the evidence of an ACK, and continues or ends the episode by it, before the detector judges the ACK (`tcp_fastretrans_alert`,
    /// `tcp_process_loss`). Before it, all below `prior_una` was acknowledged.
    #[inline(never)]
    pub(super) fn judge_episode(
        &mut self,
        now: Time,
        ack: &Ack,
        prior_una: u32,
        duplicate: bool,
        delivered: &Delivered,
    ) {
        self.show_connection(now);
        self.note_evidence(now, ack, delivered);
        let advanced = self.board.una() > prior_una;
        match self.phase {
            Phase::Opening { .. } | Phase::Open => {}
            // A reduction after a mark lasts until something sent after it is acknowledged.
            Phase::Fast { until, marked, .. } if self.board.una() >= until + u32::from(marked) => {
                self.end_episode(until);
            }
            Phase::Fast { .. } => {
                if advanced && self.original_came() {
                    self.note_reordering(prior_una, self.board.sacked_end());
                    self.detector.on_reordering();
                    if self.board.again_in_flight() > 0 {
                        if let Some(linux) = &mut self.linux {
                            linux.waits = true;
                        }
                        return;
                    }
                    self.revert_episode(EpisodeEnd::Spurious, true);
                }
            }
            Phase::Timeout { until, forward } => {
                if advanced && (self.all_were_duplicates() || self.original_came()) {
                    self.revert_episode(EpisodeEnd::Spurious, true);
                } else if self.board.una() >= until {
                    self.end_episode(until);
                } else if forward != ForwardRto::Off {
                    self.continue_forward_rto(until, forward, advanced, duplicate, delivered);
                }
                return;
            }
        }
        if self.all_were_duplicates() {
            self.revert_episode(EpisodeEnd::Duplicates, false);
        }
    }

    /// F-RTO found the timeout spurious.
    pub(super) fn undo_timeout(&mut self) {
        if self.has_evidence() { self.revert_episode(EpisodeEnd::Spurious, true) } else { self.undo() }
    }

    /// The delivery of a predicted ACK, which has just passed a segment that was sent at `sent`.
    #[inline(always)]
    pub(super) fn predicted_delivery(&self, sent: Time, now: Time) -> Delivered {
        Delivered::one_original(self.board.una() - 1, sent, now, self.has_evidence())
    }

    /// Whether a probe had repaired the loss that the detector reports, so that nothing is lost any more.
    #[inline]
    pub(super) fn has_nothing_to_repair(&self) -> bool {
        self.has_evidence() && self.lost_out() == 0
    }

    /// A loss in recovery.
    pub(super) fn lose_again(&mut self, now: Time, prior_in_flight: u32) {
        let reached = self.window();
        if let Phase::Fast { marked, .. } = &mut self.phase {
            let begins = std::mem::take(marked); // one reduction suffices for the marks and the loss of one window (RFC 3168)
            if begins && self.begin_revertible_episode(false) {
                self.congestion.update(|control| control.on_loss_in_reduction(reached));
            }
        } else if self.has_evidence() && self.lost_a_retransmission() {
            self.enter_recovery(now, prior_in_flight); // slow start after a timeout ends (`tcp_fastretrans_alert`)
        }
    }

    /// Segments from which PRR reduces the window after a loss: the flight, or Linux's window.
    pub(super) fn reduces_from(&self, window: u32, prior_in_flight: u32) -> u32 {
        if self.has_evidence() { window } else { prior_in_flight }
    }

    /// Whether a timeout repeats a reduction, so that the threshold stays, and whether F-RTO is to find out if it was spurious. Linux does not
    /// reduce again for a timeout within a reduction (`tcp_enter_loss`), and doubts it only after a mark.
    pub(super) fn judge_timeout(&self, was_unanswered: bool) -> (bool, bool) {
        let has_reduced = matches!(self.phase, Phase::Fast { .. }) && self.linux.is_some();
        let may_be_spurious = if self.has_evidence() {
            was_unanswered || matches!(self.phase, Phase::Open | Phase::Fast { marked: true, .. })
        } else {
            // RFC 5682 sections 2.1 and 3.1 step 1: not within a recovery from a timeout, nor with SACK within any.
            self.phase == Phase::Open || !self.options.sack && matches!(self.phase, Phase::Fast { .. })
        };
        (was_unanswered || has_reduced, may_be_spurious)
    }
}
