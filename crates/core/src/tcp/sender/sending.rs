//! Segments to send now, within window, receive window, data and pacing.

use super::limits::LimitedBy;
use super::{Burst, Fin, ForwardRto, Limit, Outgoing, Phase, Sender, Transmission};
use crate::units::{Rate, Time};

impl Sender {
    /// Whether the window and the application allow a segment, pacing aside.
    pub(super) fn could_send(&self) -> bool {
        self.has_segment() && self.counted_in_flight() < self.window() || self.is_closing_next() && self.has_new()
    }

    /// Whether the next new segment carries the FIN. The congestion window does not hold it back (`tcp_cwnd_test`).
    #[inline(always)]
    fn is_closing_next(&self) -> bool {
        self.board.next() == self.closing
    }

    /// Number of segments, 0 or 1, that may exceed the `by_window` new segments that the window allows. Only the segment with the FIN
    /// may, if all before it are sent.
    #[inline(always)]
    pub(super) fn beyond_window(&self, by_window: u32) -> u32 {
        u32::from(self.board.next() + by_window == self.closing)
    }

    pub(super) fn has_segment(&self) -> bool {
        (self.board.lost() > 0 && !self.waits_for_late_originals()) || self.has_new()
    }

    #[inline]
    fn has_new(&self) -> bool {
        self.new_within_receive_window() > 0
    }

    /// Number of segments that count against the window: segments in flight and segments that the detector withholds. Without limited
    /// transmit, delivered segments count as well until recovery begins. This rule delays new data, never a retransmission. Otherwise
    /// a detector that marks segments without a signal would wait for it forever.
    #[inline]
    fn counted_in_flight(&self) -> u32 {
        if !self.options.limited_transmit && self.phase == Phase::Open && self.board.lost() == 0 {
            self.board.outstanding()
        } else {
            self.board.in_flight() + self.withheld
        }
    }

    /// Whether it would send a segment that the application wrote now. Pacing may delay that segment, but no second one waits.
    pub fn has_room(&self) -> bool {
        let has_older =
            self.probe || self.retransmit_now || self.board.lost() > 0 || self.board.next() < self.available;
        !self.is_opening() && !has_older && self.counted_in_flight() < self.window()
    }

    /// Sets the number of withheld segments: never a retransmission, and never the only segment.
    pub(super) fn withhold(&mut self, segments: u32) {
        let may = self.phase == Phase::Open && self.board.lost() == 0 && self.board.in_flight() > 0;
        self.withheld = if may { segments } else { 0 };
    }

    /// All segments that may be sent now, if none of them is a retransmission or pacing holds them back. Equals
    /// [`Self::poll_transmit`] until that returns none. Returns `None` without any change for another flow.
    #[inline(always)]
    pub fn poll_burst(&mut self, now: Time) -> Option<Burst> {
        let sends_only_new = self.options.bursts
            && !self.is_opening()
            && self.board.lost() == 0
            && !self.probe
            && !self.retransmit_now
            && !self.answers
            && !self.is_closing_next();
        if !sends_only_new {
            return self.is_held_back(now).then_some(Burst { segment: 0, number: 0, count: 0 });
        }
        let segment = self.board.next();
        let number = self.board.next_transmission();
        let by_window = self.window().saturating_sub(self.counted_in_flight());
        let by_data = self.new_within_receive_window();
        let count = if by_window < by_data { by_window + self.beyond_window(by_window) } else { by_data };
        if segment + count > self.next_push {
            return None;
        }
        let is_filled = by_window <= by_data;
        if !is_filled {
            self.leave_window();
        }
        if count > 0 {
            self.board.send_burst(now, count);
        }
        if is_filled {
            self.limit = Limit::Window;
        } else {
            self.stop_unfilled();
        }
        let limit = if count < by_data { LimitedBy::CongestionWindow } else { self.limit_of_data() };
        self.limits.enter(limit, now);
        Some(Burst { segment, number, count })
    }

    /// New segments that the application has written and the receiver allows.
    #[inline(always)]
    pub(super) fn new_within_receive_window(&self) -> u32 {
        self.receive_window.min(self.available - self.board.una()).saturating_sub(self.board.outstanding())
    }

    /// Whether pacing holds back every segment now: then [`Self::poll_transmit`] returns none.
    #[inline]
    pub fn is_held_back(&mut self, now: Time) -> bool {
        self.next_send > now && self.must_wait(now)
    }

    #[inline(never)]
    fn must_wait(&mut self, now: Time) -> bool {
        let is_urgent = self.is_opening() || self.probe || self.retransmit_now || self.answers;
        let must_wait = !self.may_continue_quantum() && !is_urgent;
        if must_wait {
            let is_full = self.counted_in_flight() >= self.window();
            if is_full {
                self.limit = Limit::Window;
            }
            self.note_stop(now, is_full);
        }
        must_wait
    }

    /// The next segment to send now, if there is one.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmission> {
        if self.is_opening() {
            return self.poll_syn(now);
        }
        if std::mem::take(&mut self.answers) {
            return Some(Transmission::Answer { segment: self.board.next() });
        }
        if self.probe {
            return self.send_probe(now);
        }
        if std::mem::take(&mut self.retransmit_now)
            && let Some(segment) = self.board.next_lost()
        {
            self.before_sending(now);
            return Some(self.send_again(now, segment));
        }
        let is_full = self.counted_in_flight() >= self.window();
        let probing_new = matches!(self.phase, Phase::Timeout { forward: ForwardRto::ProbingNew, .. });
        let prefers_new = is_full || probing_new && self.has_new();
        let sends_again = self.board.lost() > 0 && !prefers_new && !self.waits_for_late_originals();
        let is_paced = self.next_send > now && !self.continues_quantum(now, sends_again);
        if self.fin == Fin::Due && (is_full || is_paced || !self.has_new()) {
            self.place_fin();
        }
        if is_full {
            self.limit = Limit::Window;
        }
        if is_paced || is_full && !self.is_closing_next() {
            self.note_stop(now, is_full);
            return None;
        }
        if sends_again {
            let segment = self.board.next_lost().expect("some segment is lost");
            self.before_sending(now);
            return Some(self.send_again(now, segment));
        }
        if self.has_new() {
            return Some(self.send_new(now));
        }
        self.stop_unfilled();
        self.limits.enter(self.limit_of_data(), now);
        if let Some(sampler) = &mut self.rate
            && self.board.next() >= self.available
        {
            sampler.on_app_limited(self.board.in_flight());
        }
        None
    }

    fn poll_syn(&mut self, now: Time) -> Option<Transmission> {
        let Phase::Opening { first, sent: Time::NEVER, tries } = self.phase else { return None };
        self.limits.enter(LimitedBy::Peer, now);
        self.phase = Phase::Opening { first: first.min(now), sent: now, tries: tries + 1 };
        Some(Transmission::Syn)
    }

    fn send_probe(&mut self, now: Time) -> Option<Transmission> {
        self.probe = false;
        if self.has_new() {
            return Some(self.send_new(now));
        }
        if self.board.outstanding() == 0 {
            return None;
        }
        let segment = self.board.next() - 1;
        if self.board.is_sacked(segment) {
            return None;
        }
        self.board.mark_lost(segment);
        Some(self.send_again(now, segment))
    }

    #[inline(always)]
    fn send_new(&mut self, now: Time) -> Transmission {
        self.leave_window();
        self.before_sending(now);
        let outgoing = self.outgoing_new(now);
        let segment = outgoing.segment;
        let number = self.board.send_new(now);
        self.after_sending(now, outgoing);
        Transmission::Data {
            segment,
            number,
            retransmission: false,
            window_reduced: std::mem::take(&mut self.window_reduced),
            push: self.is_pushed(segment),
            oldest: 0,
        }
    }

    fn send_again(&mut self, now: Time, segment: u32) -> Transmission {
        let is_first = segment == self.board.una();
        let outgoing = self.outgoing_again(now, segment);
        let number = self.board.retransmit(segment, now);
        // RFC 6675 section 6: the timer runs from this copy, not from the last ACK that advanced. Otherwise it would expire
        // just before every repair if the RTO hardly exceeds the RTT. After a partial ACK without SACK, RFC 6582 section 3.2 does not
        // restart it.
        let goes_on = matches!(self.phase, Phase::Fast { partial: true, .. }) && self.options.rules.restarts_timer_once;
        if is_first && !goes_on {
            self.board.restart_timer(now);
        }
        self.unreported_retransmits += 1;
        self.note_retransmission(now);
        self.after_sending(now, outgoing);
        let oldest = self.oldest_tolerated(now);
        Transmission::Data { segment, number, retransmission: true, window_reduced: false, push: false, oldest }
    }

    #[inline(always)]
    fn after_sending(&mut self, now: Time, outgoing: Outgoing) {
        if let Some(sampler) = &mut self.rate {
            sampler.on_sent(now, outgoing.segment, self.board.in_flight(), self.board.outstanding());
        }
        if outgoing.is_joined {
            self.board.join(outgoing.segment);
        }
        if let Some(rate) = self.pacing_rate() {
            let interval = Rate(rate.0.max(1)).serialization_delay(u64::from(self.options.wire_bytes));
            self.next_send = self.next_paced(now, rate, interval, outgoing);
        }
    }
}
