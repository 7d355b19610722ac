//! The sender's deadlines, and its reaction to them.

use super::{Phase, Sender};
use crate::tcp::detection::timer;
use crate::units::{Duration, Time};

impl Sender {
    /// The next time at which the sender must be woken, if no ACK arrives first: a timer of the detector, the pacing of the next segment, or
    /// the SYN's timer. Call it after all segments that may be sent now were sent.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        if let Phase::Opening { sent, tries, .. } = self.phase {
            return (sent != Time::NEVER).then(|| self.syn_expiry(sent, tries));
        }
        let paced = (self.next_send > self.last_stop() && self.could_send()).then_some(self.next_send);
        if paced.is_some() && self.detector_quiet_until(self.next_send) {
            return paced; // without asking when that timer is due
        }
        match (self.detector_deadline(), paced) {
            (Some(timer), Some(paced)) => Some(timer.min(paced)),
            (timer, paced) => timer.or(paced),
        }
    }

    /// Time at which the timer of a SYN expires that was sent at `sent` for the `tries`-th time. The greatest timeout also bounds it (RFC
    /// 6298 (2.5)).
    fn syn_expiry(&self, sent: Time, tries: u32) -> Time {
        let wait = Duration(self.rtt.rto().0 << (tries - 1).min(6)).min(self.rtt.max_rto());
        self.rtt.expiry_after(sent, wait)
    }

    /// Time at which the `number`-th retransmission of the SYN was sent. The first SYN was sent at `first`.
    pub(super) fn syn_sent(&self, first: Time, number: u32) -> Time {
        (1..=number).fold(first, |sent, tries| self.syn_expiry(sent, tries))
    }

    #[inline]
    fn detector_deadline(&self) -> Option<Time> {
        if self.options.only_the_timer {
            timer::deadline(&self.board, &self.rtt)
        } else {
            self.detector.deadline(&self.board, &self.rtt)
        }
    }

    /// Processes the deadline.
    pub fn on_deadline(&mut self, now: Time) {
        if let Phase::Opening { first, sent, tries } = self.phase {
            if self.deadline().is_some_and(|deadline| deadline <= now) {
                self.timeouts += 1;
                self.phase = Phase::Opening { first, sent: Time::NEVER, tries };
                debug_assert!(sent <= now);
            }
            return;
        }
        if self.detector_deadline().is_some_and(|deadline| deadline <= now) {
            let prior_in_flight = self.board.in_flight() + self.withheld;
            let marked_before = self.board.marked_lost();
            self.note_deadline();
            let verdict = self.detector.on_deadline(now, &mut self.board, &self.rtt);
            let newly_lost = self.board.marked_lost().wrapping_sub(marked_before);
            self.show_connection(now);
            let was_recovering = self.is_recovering();
            self.apply(now, verdict, prior_in_flight, newly_lost);
            if !was_recovering {
                self.send_after_deadline();
            }
            self.withhold(verdict.withheld);
        }
    }

    /// Whether certainly no deadline comes before this instant. Costs less than [`Self::deadline`], and may be too careful.
    #[inline]
    pub fn quiet_until(&self, instant: Time) -> bool {
        (!self.options.paces || self.next_send >= instant) && !self.is_opening() && self.detector_quiet_until(instant)
    }

    /// Whether there is no deadline before this instant.
    #[inline(always)]
    pub fn no_deadline_before(&self, instant: Time) -> bool {
        self.quiet_until(instant) || self.deadline().is_none_or(|deadline| deadline >= instant)
    }

    /// Whether an ACK that advances leaves no deadline within this time, or [`super::PredictedAcks::on_ack`] reports one.
    #[inline(always)]
    pub fn stays_quiet_after_advance(&self, time: Duration) -> bool {
        self.detector_learns() || self.options.only_the_timer && self.rtt.least_rto() >= time
    }

    #[inline]
    fn detector_quiet_until(&self, instant: Time) -> bool {
        if self.options.only_the_timer {
            self.rtt.samples() > 0 && self.board.timer_start() + self.rtt.least_rto() >= instant
        } else {
            self.detector.quiet_until(instant, &self.board, &self.rtt)
        }
    }

    /// Whether only pacing has a deadline now. Costs a paced flow less than [`Self::deadline`].
    #[inline]
    pub fn is_paced_to(&self, now: Time) -> bool {
        self.options.only_the_timer
            && self.next_send <= now
            && self.next_send > self.last_stop()
            && !self.is_opening()
            && self.rtt.samples() > 0
            && self.board.timer_start() + self.rtt.least_rto() > now
            && self.could_send()
    }
}
