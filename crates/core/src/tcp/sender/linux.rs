//! How Linux recognises spurious recovery and reordering, and takes reductions back (`net/ipv4/tcp_input.c`). Names in parentheses
//! are those of its functions and variables.
//!
//! Linux differs from the RFCs where packets are reordered. A recovery whose retransmissions were all unneeded ends at once, whatever
//! was marked as lost. If segments are still marked when an episode ends, they begin the next recovery.

pub(super) mod fin;
mod push;
pub(super) mod quantum;
mod window_use;

use super::{ForwardRto, Phase, Sender};
use crate::spec::{Follows, SpuriousResponse};
use crate::tcp::detection::EpisodeEnd;
use crate::tcp::kernel_clock::{TIMESTAMP_TICK, timestamp};
use crate::tcp::receiver::Ack;
use crate::tcp::scoreboard::{Delivered, Doubt};
use crate::units::{Duration, Time};
use push::Push;
use quantum::Quantum;
use window_use::Unfilled;

/// The reordering that a connection allows for before it has seen any (`sysctl_tcp_reordering`), and at most
/// (`sysctl_tcp_max_reordering`), segments.
const REORDERING: (u32, u32) = (3, 300);

/// State of a sender that follows Linux. Other senders have none, which keeps them small.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinuxState {
    unfilled: Unfilled,
    quantum: Quantum,
    push: Push,
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
    /// Late originals have filled the hole while retransmissions are in flight: for this ACK, nothing is marked or sent again.
    waits: bool,
    /// Segments that this ACK reports as duplicates.
    duplicates: u32,
    /// Whether this ACK has shown that a retransmission was lost, or a timer has marked any segment as lost.
    loses_again: bool,
}

impl Default for LinuxState {
    fn default() -> LinuxState {
        LinuxState {
            unfilled: Unfilled::default(),
            quantum: Quantum::default(),
            push: Push::default(),
            reordering: REORDERING.0,
            undo_from: None,
            unreported: None,
            first_again: Time::ZERO,
            echoed: Time::ZERO,
            echoes_unknown: false,
            latest_ack: 0,
            restores: false,
            unmarked: 0,
            waits: false,
            duplicates: 0,
            loses_again: false,
        }
    }
}

impl Sender {
    /// Whether recovery is Linux's: without SACK it is as for others.
    #[inline(always)]
    pub(super) fn recovers_as_linux(&self) -> bool {
        self.options.recovers_as_linux
    }

    pub(super) fn linux_mut(&mut self) -> &mut LinuxState {
        self.linux.get_or_insert_default()
    }

    /// Whether nothing may be marked as lost, or sent again, before the next ACK.
    #[inline(always)]
    pub(super) fn waits_for_late_originals(&self) -> bool {
        self.linux.as_ref().is_some_and(|linux| linux.waits)
    }

    /// Begins the processing of an ACK or a deadline: resets the state of the last ACK that holds for one instant only.
    #[inline(always)]
    pub(super) fn begin_linux_event(&mut self) {
        if let Some(linux) = &mut self.linux {
            (linux.waits, linux.duplicates, linux.loses_again) = (false, 0, false);
        }
    }

    /// Sets the information about an ACK that the scoreboard needs before it processes the ACK (`tcp_rack_advance`,
    /// `tcp_skb_spurious_retrans`).
    pub(super) fn set_doubt(&mut self, now: Time, ack: &Ack) {
        if let Some(timestamps) = ack.timestamps {
            let linux = self.linux_mut();
            linux.latest_ack = linux.latest_ack.max(timestamps.sent);
        }
        let least_rtt = self.rtt.minimum().unwrap_or(Duration::ZERO);
        let una = self.board.una();
        let echoed = if ack.cumulative > una { self.note_echo(now, ack, una, least_rtt) } else { Time::ZERO };
        self.board.doubt(Some(Doubt { least_rtt, echoed }));
    }

    /// Whether an ACK that a later one has overtaken is discarded by its timestamp (PAWS, RFC 7323 section 5.3), which may be one tick older.
    pub(super) fn is_too_old(&self, ack: &Ack) -> bool {
        let latest = self.linux.as_ref().map_or(0, |linux| linux.latest_ack);
        ack.timestamps.is_none_or(|timestamps| timestamps.sent + 1 < latest)
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
        let Some(linux) = &mut self.linux else { return Time::ZERO };
        linux.echoes_unknown = sent.is_none() && ack.echoes_retransmission;
        linux.echoed = linux.echoed.max(sent.unwrap_or_default());
        if linux.echoes_unknown { Time::ZERO } else { linux.echoed }
    }

    /// The RTT by an echoed timestamp (`tcp_ack_update_rtt`). The segment with it was sent at `sent`.
    pub(super) fn rtt_by_timestamp(now: Time, sent: Time) -> Duration {
        TIMESTAMP_TICK * u64::from((timestamp(now) - timestamp(sent)).max(1))
    }

    /// When the segment was sent whose timestamp the ACK echoes that advanced last, if that is known.
    pub(super) fn echoed(&self) -> Option<Time> {
        let linux = self.linux.as_ref().filter(|linux| !linux.echoes_unknown)?;
        Some(linux.echoed).filter(|echoed| *echoed > Time::ZERO)
    }

    /// The oldest transmission whose timestamp is at most one tick older than now's (PAWS, RFC 7323 section 5.3). Zero for a
    /// sender whose timestamps are not modelled.
    pub(super) fn oldest_tolerated(&self, now: Time) -> u32 {
        if !self.options.recovers_as_linux {
            return 0;
        }
        let ticks = (now.0 / TIMESTAMP_TICK.0).saturating_sub(1);
        self.board.next_transmission() - self.board.sent_since(Time(ticks * TIMESTAMP_TICK.0))
    }

    /// Segments marked as lost, those sent again included until they arrive (`lost_out`).
    pub(super) fn lost_out(&self) -> u32 {
        let unmarked = self.linux.as_ref().map_or(0, |linux| linux.unmarked);
        self.board.lost() + self.board.again_in_flight().saturating_sub(unmarked)
    }

    /// Whether segments count as lost outside of recovery, so that a new recovery begins (`tcp_time_to_recover`). An undo left them,
    /// or they were lost within the recovery that this ACK has ended.
    #[inline(always)]
    pub(super) fn must_recover_again(&self) -> bool {
        self.options.recovers_as_linux && self.phase == Phase::Open && self.lost_out() > 0
    }

    /// Begins the processing of a deadline: its timer marks segments.
    pub(super) fn note_deadline(&mut self) {
        if self.options.recovers_as_linux {
            self.begin_linux_event();
            self.note_lost_again();
        }
    }

    /// A timer marked segments outside of an episode: one may be sent (`tcp_rack_reo_timeout`).
    pub(super) fn send_after_deadline(&mut self) {
        if self.options.recovers_as_linux {
            self.reduce_proportionally(1, false);
        }
    }

    /// Without SACK, whether only the first partial ACK restarts the retransmission timer (RFC 6582 section 3.2 step 3). Linux restarts it at
    /// every one: RFC 6582's "Slow-but-Steady" variant (section 4).
    pub(super) fn restarts_timer_once(&self) -> bool {
        self.options.follows != Follows::Linux
    }

    /// Records that the detector has marked a retransmission as lost, or that a timer has marked any segment.
    pub(super) fn note_lost_again(&mut self) {
        self.linux_mut().loses_again = true;
    }

    /// Whether a loss ends the slow start after a timeout.
    pub(super) fn lost_a_retransmission(&self) -> bool {
        self.linux.as_ref().is_some_and(|linux| linux.loses_again)
    }

    /// Records that `segment` arrived late, after segments up to `end` (`tcp_check_sack_reordering`).
    fn note_reordering(&mut self, segment: u32, end: u32) {
        let linux = self.linux_mut();
        if end > segment && end - segment > linux.reordering {
            linux.reordering = (end - segment).min(REORDERING.1);
        }
    }

    /// Records the reordering and the duplicates that an ACK reports. Before it, all below `prior_una` was acknowledged.
    pub(super) fn note_linux_ack(&mut self, now: Time, ack: &Ack, prior_una: u32, delivered: &Delivered) {
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
            let linux = self.linux_mut();
            linux.duplicates = 1;
            if was_sent_again && linux.undo_from.is_some_and(|from| segment >= from) {
                linux.unreported = linux.unreported.map(|count| count.saturating_sub(1));
            }
        }
        let again = self.board.again_in_flight();
        if let Some(linux) = &mut self.linux {
            linux.unmarked = linux.unmarked.min(again);
        }
        debug_assert!(prior_una <= self.board.una());
    }

    /// Segments by which an ACK may grow the window (`tcp_may_raise_cwnd`): all that it delivers, if it advances. After reordering
    /// beyond the least, ACKs with SACK blocks only may grow it as well.
    #[inline]
    pub(super) fn linux_growth(&self, advanced: bool, delivered: &Delivered) -> u32 {
        let Some(linux) = &self.linux else { return if advanced { delivered.count } else { 0 } };
        let may_grow = advanced || linux.reordering > REORDERING.0;
        if may_grow && (advanced || delivered.count > 0) { delivered.count + linux.duplicates } else { 0 }
    }

    /// Segments that an ACK reports as duplicates; Linux counts them as delivered.
    #[inline(always)]
    pub(super) fn reported_duplicates(&self) -> u32 {
        self.linux.as_ref().map_or(0, |linux| linux.duplicates)
    }

    /// Begins an episode that an undo may revert (`tcp_init_undo`); `restores` if it reduces the window.
    pub(super) fn begin_linux_episode(&mut self, restores: bool) {
        let (una, again) = (self.board.una(), self.board.again_in_flight());
        let linux = self.linux_mut();
        linux.undo_from = Some(una);
        linux.unreported = (again > 0).then_some(again);
        linux.restores = restores;
    }

    /// Records that a segment is retransmitted (`tcp_retransmit_skb`).
    pub(super) fn note_retransmission(&mut self, now: Time) {
        if !self.options.recovers_as_linux {
            return;
        }
        let linux = self.linux_mut();
        if linux.unreported.is_none() {
            linux.first_again = now;
        }
        linux.unreported = Some(linux.unreported.unwrap_or(0) + 1);
    }

    /// Lowers the estimate of reordering, because the retransmission timer expired while many segments had arrived out of order
    /// (`tcp_enter_loss`).
    pub(super) fn doubt_reordering(&mut self) {
        if self.options.recovers_as_linux && self.phase == Phase::Open && self.board.sacked() >= REORDERING.0 {
            let linux = self.linux_mut();
            linux.reordering = linux.reordering.min(REORDERING.0);
        }
    }

    /// Whether the reduction may be undone because DSACKs report all retransmissions of the episode (`tcp_try_undo_dsack`).
    fn all_were_duplicates(&self) -> bool {
        self.linux.as_ref().is_some_and(|linux| linux.undo_from.is_some() && linux.unreported == Some(0))
    }

    /// Whether the ACK that advanced answers an original sent before the first retransmission (`tcp_packet_delayed`).
    fn original_came(&self) -> bool {
        self.options.spurious == SpuriousResponse::Eifel
            && self.linux.as_ref().is_some_and(|linux| {
                let is_before = !linux.echoes_unknown && timestamp(linux.echoed) < timestamp(linux.first_again);
                linux.undo_from.is_some() && (linux.unreported.is_none() || is_before)
            })
    }

    /// (`tcp_undo_cwnd_reduction`).
    fn undo_as_linux(&mut self, by: EpisodeEnd, unmarks: bool) {
        self.undone += 1;
        self.detector.on_episode_end(by);
        let linux = self.linux_mut();
        linux.undo_from = None;
        if linux.restores {
            self.congestion.undo();
        } else {
            self.congestion.on_reopened();
        }
        if unmarks {
            self.board.unmark_lost();
            self.detector.on_unmarked(&self.board);
            self.linux_mut().unmarked = self.board.again_in_flight();
        }
        self.phase = Phase::Open;
    }

    /// Ends the episode: all segments sent before it are acknowledged (`tcp_try_undo_recovery`).
    fn end_linux_episode(&mut self, until: u32) {
        if self.all_were_duplicates() || self.original_came() {
            self.undo_as_linux(EpisodeEnd::Spurious, false);
        } else {
            self.detector.on_episode_end(EpisodeEnd::Repaired);
        }
        self.end_recovery(until);
    }

    /// An ACK, before the detector judges it (`tcp_fastretrans_alert`, `tcp_process_loss`).
    pub(super) fn continue_linux_recovery(
        &mut self,
        prior_una: u32,
        advanced: bool,
        duplicate: bool,
        delivered: &Delivered,
    ) {
        match self.phase {
            Phase::Opening { .. } | Phase::Open => {}
            // A reduction after a mark lasts until something sent after it is acknowledged.
            Phase::Fast { until, marked, .. } if self.board.una() >= until + u32::from(marked) => {
                self.end_linux_episode(until);
            }
            Phase::Fast { .. } => {
                if advanced && self.original_came() {
                    self.note_reordering(prior_una, self.board.sacked_end());
                    self.detector.on_reordering();
                    if self.board.again_in_flight() > 0 {
                        self.linux_mut().waits = true;
                        return;
                    }
                    self.undo_as_linux(EpisodeEnd::Spurious, true);
                }
            }
            Phase::Timeout { until, forward } => {
                if advanced && (self.all_were_duplicates() || self.original_came()) {
                    self.undo_as_linux(EpisodeEnd::Spurious, true);
                } else if self.board.una() >= until {
                    self.end_linux_episode(until);
                } else if forward != ForwardRto::Off {
                    self.continue_forward_rto(until, forward, advanced, duplicate, delivered);
                }
                return;
            }
        }
        if self.all_were_duplicates() {
            self.undo_as_linux(EpisodeEnd::Duplicates, false);
        }
    }

    /// F-RTO found the timeout spurious.
    pub(super) fn undo_timeout(&mut self) {
        if self.options.recovers_as_linux { self.undo_as_linux(EpisodeEnd::Spurious, true) } else { self.undo() }
    }

    /// The delivery of a predicted ACK, which has just passed a segment that was sent at `sent`.
    #[inline(always)]
    pub(super) fn predicted_delivery(&self, sent: Time, now: Time) -> Delivered {
        Delivered::one_original(self.board.una() - 1, sent, now, self.options.recovers_as_linux)
    }

    /// Whether a probe had repaired the loss that the detector reports, so that nothing is lost any more.
    #[inline]
    pub(super) fn has_nothing_to_repair(&self) -> bool {
        self.options.recovers_as_linux && self.lost_out() == 0
    }

    /// A loss in recovery.
    pub(super) fn lose_again(&mut self, now: Time, prior_in_flight: u32) {
        let reached = self.window();
        if let Phase::Fast { marked, .. } = &mut self.phase {
            let begins = std::mem::take(marked); // one reduction suffices for the marks and the loss of one window (RFC 3168)
            if begins && self.options.recovers_as_linux {
                self.begin_linux_episode(false);
                self.congestion.on_loss_in_reduction(reached);
            }
        } else if self.options.recovers_as_linux && self.lost_a_retransmission() {
            self.enter_recovery(now, prior_in_flight); // slow start after a timeout ends (`tcp_fastretrans_alert`)
        }
    }

    /// Segments from which PRR reduces the window after a loss: the flight, or Linux's window.
    pub(super) fn reduces_from(&self, window: u32, prior_in_flight: u32) -> u32 {
        if self.options.recovers_as_linux { window } else { prior_in_flight }
    }

    /// Whether a reduction without a loss takes a round trip, and not an instant (`tcp_enter_cwr`).
    pub(super) fn spreads_reductions(&self) -> bool {
        self.options.follows == Follows::Linux
    }

    /// Whether a timeout repeats a reduction, so that the threshold stays, and whether F-RTO is to find out if it was spurious. Linux does not
    /// reduce again for a timeout within a reduction (`tcp_enter_loss`), and doubts it only after a mark.
    pub(super) fn judge_timeout(&self, was_unanswered: bool) -> (bool, bool) {
        let has_reduced = matches!(self.phase, Phase::Fast { .. }) && self.options.follows == Follows::Linux;
        let may_be_spurious = if self.options.recovers_as_linux {
            was_unanswered || matches!(self.phase, Phase::Open | Phase::Fast { marked: true, .. })
        } else {
            // RFC 5682 sections 2.1 and 3.1 step 1: not within a recovery from a timeout, nor with SACK within any.
            self.phase == Phase::Open || !self.options.sack && matches!(self.phase, Phase::Fast { .. })
        };
        (was_unanswered || has_reduced, may_be_spurious)
    }

    /// Begins the episode of a reduction that Linux's undo may revert. Returns whether the sender undoes as Linux.
    pub(super) fn begin_revertible_episode(&mut self) -> bool {
        if self.options.recovers_as_linux {
            self.begin_linux_episode(true);
        }
        self.options.recovers_as_linux
    }
}
