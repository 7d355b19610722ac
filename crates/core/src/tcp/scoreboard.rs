//! The sender's record of every segment that is sent and not yet cumulatively acknowledged.
//!
//! A record has eight bytes per segment: the time of its last transmission and its state. A segment is *in flight*, *sacked* or
//! *lost*. `in_flight` is the number of segments in flight (the pipe of RFC 6675). Without SACK, each duplicate ACK counts for a
//! segment that has left the network, but it does not identify the segment.

mod acks;
mod delivered;
mod order;
mod segment;

use super::room::{leave_little_room, push_with_little_room};
use crate::prefetch::prefetch;
use crate::units::{Duration, Time};
use acks::LastBlocks;
pub use delivered::Delivered;
use order::SendingOrder;
pub use order::{Doubt, Transmission};
use segment::Segment;
use segment::{IN_FLIGHT, LOST, RETRANSMITTED, SACKED};
use std::collections::VecDeque;

/// Consecutive segments: from the first to before the second.
pub type Range = (u32, u32);

/// The record of one flow.
///
/// The counters that a predicted ACK changes (`una`, `in_flight`, `next_transmission`) are not adjacent. Otherwise the compiler
/// reads two as one word just after a write to one of them, which stalls the processor.
#[repr(C)]
#[derive(Debug, Clone, Default)]
pub struct Scoreboard {
    segments: VecDeque<Segment>,
    timer_start: Time,
    /// When the cumulative acknowledgement last moved, or the first segment was sent after all had been acknowledged.
    last_advance: Time,
    latest_sent: Time,
    una: u32,
    /// No segment below is lost.
    lost_hint: u32,
    in_flight: u32,
    /// Segments that duplicate ACKs reported as delivered; only without SACK.
    duplicates: u32,
    next_transmission: u32,
    lost: u32,
    sacked: u32,
    /// One past the highest sacked segment.
    sacked_end: u32,
    marked_lost: u32,
    /// Retransmissions in flight.
    again_in_flight: u32,
    /// One past the highest segment that was sent again.
    again_end: u32,
    /// Only while something is sacked or was sent again.
    repair: Option<Box<LastBlocks>>,
    order: Option<Box<SendingOrder>>,
    longest_stall: Duration,
}

impl Scoreboard {
    /// The record of a flow that has sent nothing, with the order of sending.
    pub fn with_sending_order() -> Scoreboard {
        Scoreboard { order: Some(Box::default()), ..Scoreboard::default() }
    }

    /// Prefetches the records of the first and the last segment, which a predicted ACK removes and adds, and those of a recovery.
    #[inline(always)]
    pub fn prefetch_parts(&self) {
        for end in [self.segments.front(), self.segments.back()].into_iter().flatten() {
            prefetch(end);
        }
        if let Some(repair) = &self.repair {
            prefetch(&**repair);
        }
    }

    /// The first segment not cumulatively acknowledged (SND.UNA).
    #[inline]
    pub fn una(&self) -> u32 {
        self.una
    }

    /// The first segment never sent (SND.NXT).
    #[inline]
    pub fn next(&self) -> u32 {
        self.una + self.segments.len() as u32
    }

    /// Segments sent and not cumulatively acknowledged (FlightSize of RFC 5681).
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.segments.len() as u32
    }

    /// Segments believed to be in the network.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.in_flight.saturating_sub(self.duplicates)
    }

    /// Segments selectively acknowledged.
    #[inline]
    pub fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Segments marked lost and not yet retransmitted.
    #[inline]
    pub fn lost(&self) -> u32 {
        self.lost
    }

    /// How many times a segment was marked lost, since the flow began (modulo 2^32).
    #[inline]
    pub fn marked_lost(&self) -> u32 {
        self.marked_lost
    }

    /// Retransmissions in flight.
    pub fn again_in_flight(&self) -> u32 {
        self.again_in_flight
    }

    /// Segments that left the network by count of duplicate ACKs; zero with SACK.
    pub fn duplicates(&self) -> u32 {
        self.duplicates
    }

    /// One past the highest selectively acknowledged segment; `una` if there is none.
    pub fn sacked_end(&self) -> u32 {
        self.sacked_end.max(self.una)
    }

    /// Time at which the retransmission timer was last started (RFC 6298 section 5).
    #[inline]
    pub fn timer_start(&self) -> Time {
        self.timer_start
    }

    /// Restarts the retransmission timer.
    pub fn restart_timer(&mut self, now: Time) {
        self.timer_start = now;
    }

    /// The longest stall that has ended since [`Self::forget_stalls`] or continues now. In a stall the cumulative acknowledgement
    /// does not move, because later data arrived first or something was sent again.
    pub fn longest_stall(&self, now: Time) -> Duration {
        if self.repair.is_some() { self.longest_stall.max(now - self.last_advance) } else { self.longest_stall }
    }

    /// Forgets the stalls that have ended, as when the warm-up ends.
    pub fn forget_stalls(&mut self) {
        self.longest_stall = Duration::ZERO;
    }

    /// Time at which a segment was last sent, new or again.
    #[inline]
    pub fn latest_sent(&self) -> Time {
        self.latest_sent
    }

    fn at(&self, segment: u32) -> Segment {
        self.segments[(segment - self.una) as usize]
    }

    /// Whether an outstanding segment is selectively acknowledged.
    pub fn is_sacked(&self, segment: u32) -> bool {
        self.at(segment).state() == SACKED
    }

    /// Whether an outstanding segment is marked lost and waits for retransmission.
    pub fn is_lost(&self, segment: u32) -> bool {
        self.at(segment).state() == LOST
    }

    /// Whether an outstanding segment was sent more than once.
    pub fn was_retransmitted(&self, segment: u32) -> bool {
        self.at(segment).retransmitted()
    }

    /// Whether an outstanding segment was last sent in the same buffer as the one before it.
    pub fn is_joined(&self, segment: u32) -> bool {
        self.at(segment).joined()
    }

    /// Records that an outstanding segment was sent in the same buffer as the one before it.
    pub fn join(&mut self, segment: u32) {
        self.segments[(segment - self.una) as usize].join();
    }

    /// Time at which an outstanding segment was last sent.
    pub fn sent(&self, segment: u32) -> Time {
        self.at(segment).sent()
    }

    /// The number that the next transmission gets.
    pub fn next_transmission(&self) -> u32 {
        self.next_transmission
    }

    #[inline(always)]
    fn number_transmissions(&mut self, now: Time, count: u32) -> u32 {
        if self.in_flight == 0 {
            self.timer_start = now; // RFC 6298 (5.1)
        }
        self.in_flight += count;
        self.latest_sent = now;
        let first = self.next_transmission;
        self.next_transmission = first + count;
        first
    }

    /// Records the first transmission of the segment `next()`, and returns the transmission's number.
    #[inline]
    pub fn send_new(&mut self, now: Time) -> u32 {
        self.send_burst(now, 1)
    }

    /// Records the first transmissions of `count` segments, at least one, from `next()` on. Returns the number of the first.
    #[inline(always)]
    pub fn send_burst(&mut self, now: Time, count: u32) -> u32 {
        if self.segments.is_empty() {
            self.last_advance = now;
        }
        for _ in 0..count {
            push_with_little_room(&mut self.segments, Segment::new(now, IN_FLIGHT));
        }
        self.number_transmissions(now, count)
    }

    /// Records the retransmission of a lost segment, and returns the transmission's number.
    ///
    /// # Panics
    /// If the segment is not marked lost.
    pub fn retransmit(&mut self, segment: u32, now: Time) -> u32 {
        let record = &mut self.segments[(segment - self.una) as usize];
        assert_eq!(record.state(), LOST, "segment {segment} is not marked lost");
        let before = std::mem::replace(record, Segment::new(now, IN_FLIGHT | RETRANSMITTED));
        self.lost -= 1;
        self.again_in_flight += 1;
        if let Some(order) = &mut self.order {
            order.send_again(segment, before, now, self.next_transmission, self.una);
        }
        self.repair.get_or_insert_default();
        self.again_end = self.again_end.max(segment + 1);
        self.number_transmissions(now, 1)
    }

    /// Marks a segment in flight as lost. The state of sacked and lost segments stays.
    #[inline]
    pub fn mark_lost(&mut self, segment: u32) {
        let record = &mut self.segments[(segment - self.una) as usize];
        if record.state() == IN_FLIGHT {
            record.set_state(LOST);
            self.in_flight -= 1;
            self.again_in_flight -= u32::from(record.retransmitted());
            self.lost += 1;
            self.marked_lost = self.marked_lost.wrapping_add(1);
            if segment > self.una {
                // A duplicate ACK may have counted this segment already. Without this, it would count twice as delivered.
                self.duplicates = self.duplicates.saturating_sub(1);
            }
            self.duplicates = self.duplicates.min(self.in_flight);
            self.lost_hint = self.lost_hint.min(segment);
        }
    }

    /// Marks all segments in flight as lost, and forgets duplicate ACKs.
    pub fn mark_all_lost(&mut self) {
        for segment in self.una..self.next() {
            self.mark_lost(segment);
        }
        self.duplicates = 0;
    }

    /// Removes the loss marks of segments sent once: they are in flight after all. A retransmission keeps its loss mark.
    pub fn unmark_lost(&mut self) {
        for record in self.segments.iter_mut().filter(|record| record.state() == LOST && !record.retransmitted()) {
            record.set_state(IN_FLIGHT);
            self.in_flight += 1;
            self.lost -= 1;
        }
        if let Some(order) = &mut self.order {
            order.look_from(self.una);
        }
    }

    /// The lowest segment marked lost.
    #[inline]
    pub fn next_lost(&mut self) -> Option<u32> {
        if self.lost == 0 {
            self.lost_hint = self.next();
            return None;
        }
        self.lost_hint = self.lost_hint.max(self.una);
        while !self.is_lost(self.lost_hint) {
            self.lost_hint += 1;
        }
        Some(self.lost_hint)
    }

    /// The `count`-th sacked segment from above, with `count` at least 1.
    #[inline]
    pub fn sacked_from_above(&self, count: u32) -> Option<u32> {
        if self.sacked < count { None } else { self.newest_on_top(count).or_else(|| self.find_from_above(count)) }
    }

    #[inline(never)]
    fn find_from_above(&self, count: u32) -> Option<u32> {
        (self.una..self.sacked_end).rev().filter(|segment| self.is_sacked(*segment)).nth(count as usize - 1)
    }

    /// Takes a duplicate ACK without SACK: one more segment has left the network.
    pub fn count_duplicate(&mut self) {
        self.duplicates = (self.duplicates + 1).min(self.in_flight);
    }

    /// Without SACK, an ACK that passes `passed` segments reports one hole. Duplicate ACKs have reported the other segments.
    /// Returns the number of these others, which are not newly delivered.
    pub fn eat_duplicates(&mut self, passed: u32) -> u32 {
        let eaten = passed.saturating_sub(1).min(self.duplicates);
        self.duplicates = (self.duplicates - eaten).min(self.in_flight);
        eaten
    }

    /// Forgets duplicate ACKs: the window they belong to is acknowledged.
    pub fn reset_duplicates(&mut self) {
        self.duplicates = 0;
    }

    /// Releases the memory of a window that was cut.
    pub fn shrink(&mut self) {
        leave_little_room(&mut self.segments);
    }

    /// Recounts everything from the segments themselves.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        self.check_marks();
        assert!(self.duplicates <= self.in_flight);
    }

    #[cfg(test)]
    pub(crate) fn check_marks(&self) {
        let count = |state| self.segments.iter().filter(|segment| segment.state() == state).count() as u32;
        assert_eq!(self.in_flight, count(IN_FLIGHT), "in_flight");
        assert_eq!(self.sacked, count(SACKED), "sacked");
        assert_eq!(self.lost, count(LOST), "lost");
        let again = self.segments.iter().filter(|segment| segment.state() == IN_FLIGHT && segment.retransmitted());
        assert_eq!(self.again_in_flight, again.count() as u32, "retransmissions in flight");
        if self.order.is_some() {
            assert_eq!(self.in_sending_order().count() as u32, self.in_flight, "transmissions in sending order");
            assert!(self.in_sending_order().is_sorted_by_key(|transmission| transmission.sent), "sending order");
            assert_eq!(self.in_sending_order().next(), self.oldest_in_flight(), "oldest");
        }
    }
}

#[cfg(test)]
mod tests;
