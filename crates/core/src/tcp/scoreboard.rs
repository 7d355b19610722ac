//! The sender's record of every segment that is sent and not yet cumulatively acknowledged.
//!
//! Eight bytes a segment: the time of its last transmission and its state. A segment is *in flight*, *sacked* or *lost*;
//! `in_flight` is the number in flight, whatever was sent before (the pipe of RFC 6675). Without SACK, duplicate ACKs
//! stand for segments that have left the network without saying which.

use super::room::{leave_little_room, push_with_little_room};
use crate::prefetch::prefetch;
use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// A run of segments: from the first to before the second.
pub type Range = (u32, u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment(u64);

const STATE: u64 = 0b11;
const IN_FLIGHT: u64 = 0;
const SACKED: u64 = 1;
const LOST: u64 = 2;
const RETRANSMITTED: u64 = 0b100;

impl Segment {
    fn new(sent: Time, flags: u64) -> Segment {
        Segment(sent.0 << 8 | flags)
    }
    fn sent(self) -> Time {
        Time(self.0 >> 8)
    }
    fn state(self) -> u64 {
        self.0 & STATE
    }
    fn retransmitted(self) -> bool {
        self.0 & RETRANSMITTED != 0
    }
    fn set_state(&mut self, state: u64) {
        self.0 = self.0 & !STATE | state;
    }
}

/// A transmission that may still be in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmission {
    /// Which segment.
    pub segment: u32,
    /// When it was sent.
    pub sent: Time,
}

/// What one ACK delivered. What there is none of is the greatest number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delivered {
    /// Segments that the cumulative acknowledgement passed, delivered before or now.
    pub cumulative: u32,
    /// Segments newly known to be delivered, cumulatively or selectively.
    pub count: u32,
    newest_sent: Time,
    oldest_rtt: Duration,
    newest_rtt: Duration,
    newest_segment: u32,
    lowest_original: u32,
    highest_original: u32,
    /// Whether the newest one's segment was sent more than once.
    pub newest_retransmitted: bool,
    /// Whether a segment was delivered that was sent more than once.
    pub any_retransmitted: bool,
    /// Whether a segment newly delivered was sent only once and lies below one that an earlier ACK delivered: reordering.
    pub reordered: bool,
}

const NO_RTT: Duration = Duration(u64::MAX);
const NO_SEGMENT: u32 = u32::MAX;

impl Default for Delivered {
    fn default() -> Delivered {
        Delivered {
            cumulative: 0,
            count: 0,
            newest_sent: Time::NEVER,
            oldest_rtt: NO_RTT,
            newest_rtt: NO_RTT,
            newest_segment: NO_SEGMENT,
            lowest_original: NO_SEGMENT,
            highest_original: NO_SEGMENT,
            newest_retransmitted: false,
            any_retransmitted: false,
            reordered: false,
        }
    }
}

impl Delivered {
    /// Of the segments newly delivered, the transmission sent last and its segment: the newest by (time, segment).
    #[inline]
    pub fn newest(&self) -> Option<(Time, u32)> {
        (self.newest_segment != NO_SEGMENT).then_some((self.newest_sent, self.newest_segment))
    }

    /// RTT of the oldest delivered segment sent only once: what RFC 6298 samples.
    #[inline]
    pub fn oldest_rtt(&self) -> Option<Duration> {
        (self.oldest_rtt != NO_RTT).then_some(self.oldest_rtt)
    }

    /// RTT of the newest delivered segment sent only once: the network's, without a delayed ACK's wait.
    #[inline]
    pub fn newest_rtt(&self) -> Option<Duration> {
        (self.newest_rtt != NO_RTT).then_some(self.newest_rtt)
    }

    /// The lowest segment newly delivered that was sent only once.
    #[inline]
    pub fn lowest_original(&self) -> Option<u32> {
        (self.lowest_original != NO_SEGMENT).then_some(self.lowest_original)
    }

    /// The highest segment newly delivered that was sent only once.
    #[inline]
    pub fn highest_original(&self) -> Option<u32> {
        (self.highest_original != NO_SEGMENT).then_some(self.highest_original)
    }

    /// A single segment in order, sent once, then.
    #[inline]
    pub(super) fn one_original(segment: u32, sent: Time, now: Time) -> Delivered {
        let mut delivered = Delivered { cumulative: 1, ..Delivered::default() };
        delivered.set_first(segment, Segment::new(sent, IN_FLIGHT), now, false);
        delivered
    }

    /// A segment that was last sent, not for the first time, then.
    #[cfg(test)]
    pub(super) fn retransmission(segment: u32, sent: Time) -> Delivered {
        let mut delivered = Delivered::default();
        delivered.set_first(segment, Segment::new(sent, RETRANSMITTED), sent, false);
        delivered
    }

    /// What most ACKs deliver: a single segment, or the first of several.
    #[inline(always)]
    fn set_first(&mut self, index: u32, segment: Segment, now: Time, reordered: bool) {
        let is_original = !segment.retransmitted();
        let rtt = if is_original { now - segment.sent() } else { NO_RTT };
        let original = if is_original { index } else { NO_SEGMENT };
        *self = Delivered {
            cumulative: self.cumulative,
            count: 1,
            newest_sent: segment.sent(),
            oldest_rtt: rtt,
            newest_rtt: rtt,
            newest_segment: index,
            lowest_original: original,
            highest_original: original,
            newest_retransmitted: !is_original,
            any_retransmitted: !is_original,
            reordered: is_original && reordered,
        };
    }

    fn add(&mut self, index: u32, segment: Segment, now: Time, reordered: bool) {
        if self.count == 0 {
            return self.set_first(index, segment, now, reordered);
        }
        self.count += 1;
        if (segment.sent(), index) >= (self.newest_sent, self.newest_segment) {
            (self.newest_sent, self.newest_segment) = (segment.sent(), index);
            self.newest_retransmitted = segment.retransmitted();
        }
        if segment.retransmitted() {
            self.any_retransmitted = true;
        } else {
            let rtt = now - segment.sent();
            self.oldest_rtt = self.oldest_rtt().map_or(rtt, |oldest| oldest.max(rtt));
            self.newest_rtt = self.newest_rtt.min(rtt);
            self.lowest_original = self.lowest_original.min(index);
            self.highest_original = self.highest_original().map_or(index, |highest| highest.max(index));
            self.reordered |= reordered;
        }
    }
}

/// As many as an ACK carries.
const REMEMBERED_BLOCKS: usize = 3;

/// What of a block is left without those already known at its ends: most blocks come again, or longer.
fn outside((mut start, mut end): Range, known: &[Range]) -> Range {
    for &(known_start, known_end) in known {
        if known_start <= start && start < known_end {
            start = known_end;
        }
        if known_start < end && end <= known_end {
            end = known_start;
        }
    }
    (start, end)
}

/// Blocks that the last ACKs brought; all in them is sacked, or acknowledged.
type LastBlocks = [Range; REMEMBERED_BLOCKS];

/// In which order transmissions in flight were sent, for detectors that ask.
#[derive(Debug, Clone, Default)]
struct SendingOrder {
    /// No segment below is in flight for the first time.
    original_hint: u32,
    /// Segments sent again, each once, in the order of their last sending; those not in flight any more leave it late.
    retransmissions: VecDeque<u32>,
}

impl SendingOrder {
    /// A segment is sent again; `before` is its record so far.
    fn send_again(&mut self, segment: u32, before: Segment, now: Time) {
        if before.retransmitted()
            && let Some(position) = self.retransmissions.iter().position(|other| *other == segment)
        {
            if before.sent() == now {
                return; // a timer expired at the instant of the last retransmission
            }
            self.retransmissions.remove(position);
        }
        push_with_little_room(&mut self.retransmissions, segment);
    }
}

/// The record of one flow.
#[derive(Debug, Clone, Default)]
pub struct Scoreboard {
    una: u32,
    segments: VecDeque<Segment>,
    in_flight: u32,
    sacked: u32,
    lost: u32,
    /// Segments that duplicate ACKs reported as delivered; only without SACK.
    duplicates: u32,
    /// One past the highest sacked segment.
    sacked_end: u32,
    /// No segment below is lost.
    lost_hint: u32,
    marked_lost: u32,
    /// Only while something is sacked or was sent again.
    repair: Option<Box<LastBlocks>>,
    /// One past the highest segment that was sent again.
    again_end: u32,
    order: Option<Box<SendingOrder>>,
    next_transmission: u32,
    timer_start: Time,
    latest_sent: Time,
}

impl Scoreboard {
    /// The record of a flow that has sent nothing, which can tell the order of sending.
    pub fn with_sending_order() -> Scoreboard {
        Scoreboard { order: Some(Box::default()), ..Scoreboard::default() }
    }

    /// Asks for the records of the first segment and of the last, where an ordinary ACK takes one out and puts one in, and for
    /// what is kept in a recovery.
    #[inline(always)]
    pub fn ask_for_rest(&self) {
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

    /// Segments that duplicate ACKs stand for; zero with SACK.
    pub fn duplicates(&self) -> u32 {
        self.duplicates
    }

    /// One past the highest selectively acknowledged segment; `una` if there is none.
    pub fn sacked_end(&self) -> u32 {
        self.sacked_end.max(self.una)
    }

    /// When the retransmission timer was last started (RFC 6298 section 5).
    #[inline]
    pub fn timer_start(&self) -> Time {
        self.timer_start
    }

    /// Starts the retransmission timer anew.
    pub fn restart_timer(&mut self, now: Time) {
        self.timer_start = now;
    }

    /// When a segment was last sent, new or again.
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

    /// When an outstanding segment was last sent.
    pub fn sent(&self, segment: u32) -> Time {
        self.at(segment).sent()
    }

    /// The number that the next transmission gets.
    pub fn next_transmission(&self) -> u32 {
        self.next_transmission
    }

    fn number_transmission(&mut self, now: Time) -> u32 {
        if self.in_flight == 0 {
            self.timer_start = now; // RFC 6298 (5.1)
        }
        self.in_flight += 1;
        self.latest_sent = now;
        self.next_transmission += 1;
        self.next_transmission - 1
    }

    /// Records the first transmission of the segment `next()`, and returns the transmission's number.
    #[inline]
    pub fn send_new(&mut self, now: Time) -> u32 {
        push_with_little_room(&mut self.segments, Segment::new(now, IN_FLIGHT));
        self.number_transmission(now)
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
        if let Some(order) = &mut self.order {
            order.send_again(segment, before, now);
        }
        self.repair.get_or_insert_default();
        self.again_end = self.again_end.max(segment + 1);
        self.number_transmission(now)
    }

    /// Marks a segment in flight as lost; sacked and lost segments stay what they are.
    pub fn mark_lost(&mut self, segment: u32) {
        let record = &mut self.segments[(segment - self.una) as usize];
        if record.state() == IN_FLIGHT {
            record.set_state(LOST);
            self.in_flight -= 1;
            self.lost += 1;
            self.marked_lost = self.marked_lost.wrapping_add(1);
            if segment > self.una {
                // A duplicate ACK may stand for this segment, which would otherwise count twice as gone.
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

    /// Takes back the loss marks of segments sent once: they are in flight after all. A retransmission marked lost stays so.
    pub fn unmark_lost(&mut self) {
        for record in self.segments.iter_mut().filter(|record| record.state() == LOST && !record.retransmitted()) {
            record.set_state(IN_FLIGHT);
            self.in_flight += 1;
            self.lost -= 1;
        }
        if let Some(order) = &mut self.order {
            order.original_hint = self.una;
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

    /// The ordinary ACK, shorter than [`Self::acknowledge`] and to the same effect: it passes one segment, sent once and
    /// in flight, while nothing is sacked or was sent again. Returns when that was sent; `None`, and nothing done, for another ACK.
    #[inline(always)]
    pub(super) fn pass_one_original(&mut self, cumulative: u32, now: Time) -> Option<Time> {
        let segment = *self.segments.front()?;
        let is_original = segment.0 & (STATE | RETRANSMITTED) == IN_FLIGHT;
        if !is_original || cumulative != self.una + 1 || self.repair.is_some() {
            return None;
        }
        self.segments.pop_front();
        self.in_flight -= 1;
        self.una = cumulative;
        self.timer_start = now; // RFC 6298 (5.3)
        Some(segment.sent())
    }

    /// Takes an ACK: everything below `cumulative` and in `blocks` is delivered. What is outside the window is ignored.
    /// Returns what it delivered.
    #[inline(never)]
    pub fn acknowledge(&mut self, cumulative: u32, blocks: &[Range], now: Time) -> Delivered {
        let mut delivered = Delivered::default();
        let cumulative = cumulative.min(self.next());
        if cumulative > self.una {
            self.advance(cumulative, now, &mut delivered);
        }
        let earlier_end = self.sacked_end;
        let known = self.repair.as_deref().copied().unwrap_or_default();
        for (place, block) in blocks.iter().enumerate() {
            if known[place % REMEMBERED_BLOCKS] == *block {
                continue; // most ACKs change a single block
            }
            let (start, end) = (block.0.max(self.una), block.1.min(self.next()));
            self.sack(outside((start, end), &known), earlier_end, now, &mut delivered);
            if start < end {
                self.sacked_end = self.sacked_end.max(end);
                self.repair.get_or_insert_default()[place % REMEMBERED_BLOCKS] = (start, end);
            }
        }
        self.forget_delivered();
        delivered
    }

    fn advance(&mut self, cumulative: u32, now: Time, delivered: &mut Delivered) {
        let passed = cumulative - self.una;
        for _ in 0..passed {
            let segment = self.segments.pop_front().expect("cumulative is at most next()");
            match segment.state() {
                SACKED => self.sacked -= 1,
                state => {
                    if state == LOST {
                        self.lost -= 1;
                    } else {
                        self.in_flight -= 1;
                    }
                    let reordered = self.una < self.sacked_end;
                    delivered.add(self.una, segment, now, reordered);
                }
            }
            self.una += 1;
        }
        delivered.cumulative = passed;
        self.timer_start = now; // RFC 6298 (5.3)
    }

    /// `earlier_end` is one past the highest segment that earlier ACKs reported: the order of blocks in one ACK says
    /// nothing of the order of arrival, because the latest comes first (RFC 2018 section 4).
    fn sack(&mut self, (start, end): Range, earlier_end: u32, now: Time, delivered: &mut Delivered) {
        for index in start..end {
            let record = &mut self.segments[(index - self.una) as usize];
            let segment = *record;
            match segment.state() {
                SACKED => continue,
                LOST => self.lost -= 1,
                _ => self.in_flight -= 1,
            }
            record.set_state(SACKED);
            self.sacked += 1;
            delivered.add(index, segment, now, index < earlier_end);
        }
    }

    /// Takes a duplicate ACK without SACK: one more segment has left the network.
    pub fn count_duplicate(&mut self) {
        self.duplicates = (self.duplicates + 1).min(self.in_flight);
    }

    /// Without SACK, an ACK that passes `passed` segments reports one hole and, for the rest, what duplicate ACKs have
    /// reported before: returns how many these are, which are not delivered anew.
    pub fn eat_duplicates(&mut self, passed: u32) -> u32 {
        let eaten = passed.saturating_sub(1).min(self.duplicates);
        self.duplicates = (self.duplicates - eaten).min(self.in_flight);
        eaten
    }

    /// Forgets duplicate ACKs: the window they belong to is acknowledged.
    pub fn reset_duplicates(&mut self) {
        self.duplicates = 0;
    }

    /// Whether a segment that was sent again is still in flight.
    fn is_again_in_flight(&self, segment: u32) -> bool {
        segment >= self.una && self.at(segment).state() == IN_FLIGHT
    }

    fn is_original(&self, segment: u32) -> bool {
        let record = self.at(segment);
        record.state() == IN_FLIGHT && !record.retransmitted()
    }

    /// Ends the repair if everything is, and moves the hints past what is no longer in flight, so that walks in sending order
    /// start at its oldest.
    fn forget_delivered(&mut self) {
        if self.repair.is_none() {
            return;
        }
        let is_over = self.sacked == 0 && self.una >= self.again_end;
        if let Some(mut order) = self.order.take() {
            while order.retransmissions.front().is_some_and(|front| !self.is_again_in_flight(*front)) {
                order.retransmissions.pop_front();
            }
            order.original_hint = order.original_hint.max(self.una);
            while order.original_hint < self.next() && !self.is_original(order.original_hint) {
                order.original_hint += 1;
            }
            self.order = Some(order);
        }
        if is_over {
            self.repair = None;
        }
    }

    /// Gives back the room of a window that was cut.
    pub fn shrink(&mut self) {
        leave_little_room(&mut self.segments);
    }

    /// Who asks for the order of sending has chosen [`Self::with_sending_order`].
    fn sending_order(&self) -> &SendingOrder {
        self.order.as_ref().expect("a detector that asks for the order of sending says so")
    }

    /// The transmissions in flight in the order of their sending, oldest first.
    ///
    /// # Panics
    /// Without [`Self::with_sending_order`].
    pub fn in_sending_order(&self) -> impl Iterator<Item = Transmission> + '_ {
        let order = self.sending_order();
        let transmission = |segment| Transmission { segment, sent: self.sent(segment) };
        let mut original = (order.original_hint.max(self.una)..self.next())
            .filter(|segment| self.is_original(*segment))
            .map(transmission)
            .peekable();
        let mut again = order
            .retransmissions
            .iter()
            .copied()
            .filter(|segment| self.is_again_in_flight(*segment))
            .map(transmission)
            .peekable();
        std::iter::from_fn(move || match (original.peek(), again.peek()) {
            (Some(first), Some(second)) if (second.sent, second.segment) < (first.sent, first.segment) => again.next(),
            (Some(_), _) => original.next(),
            (None, _) => again.next(),
        })
    }

    /// The oldest transmission in flight: the first of [`Self::in_sending_order`].
    #[inline]
    pub fn oldest_in_flight(&self) -> Option<Transmission> {
        let order = self.sending_order();
        let first = order.original_hint.max(self.una);
        match self.segments.get((first - self.una) as usize) {
            Some(record) if order.retransmissions.is_empty() && record.0 & (STATE | RETRANSMITTED) == IN_FLIGHT => {
                Some(Transmission { segment: first, sent: record.sent() })
            }
            _ => self.find_oldest_in_flight(first),
        }
    }

    #[inline(never)]
    fn find_oldest_in_flight(&self, first: u32) -> Option<Transmission> {
        let order = self.sending_order();
        let transmission = |segment| Transmission { segment, sent: self.sent(segment) };
        let mut originals = first..self.next();
        let original = originals.find(|segment| self.is_original(*segment)).map(transmission);
        let again = order.retransmissions.iter().copied().find(|segment| self.is_again_in_flight(*segment));
        let again = again.map(transmission);
        match (original, again) {
            (Some(first), Some(second)) if (first.sent, first.segment) <= (second.sent, second.segment) => original,
            (_, Some(_)) => again,
            (_, None) => original,
        }
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
        if self.order.is_some() {
            assert_eq!(self.in_sending_order().count() as u32, self.in_flight, "transmissions in sending order");
            assert!(self.in_sending_order().is_sorted_by_key(|transmission| transmission.sent), "sending order");
            assert_eq!(self.in_sending_order().next(), self.oldest_in_flight(), "oldest");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(milliseconds: u64) -> Time {
        Time::ZERO + Duration::from_millis(milliseconds)
    }

    fn board_of(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::with_sending_order();
        for index in 0..segments {
            board.send_new(ms(index));
        }
        board
    }

    #[test]
    fn a_hole_is_in_flight_and_what_lies_above_it_is_sacked() {
        let mut board = board_of(5);
        let delivered = board.acknowledge(1, &[(2, 4)], ms(100));
        assert_eq!((board.una(), board.in_flight(), board.sacked(), board.sacked_end()), (1, 2, 2, 4));
        assert_eq!((delivered.count, delivered.cumulative, delivered.newest()), (3, 1, Some((ms(3), 3))));
        assert_eq!(delivered.oldest_rtt(), Some(Duration::from_millis(100)));
        assert_eq!(delivered.newest_rtt(), Some(Duration::from_millis(97)));
        board.check();
    }

    #[test]
    fn a_retransmitted_segment_gives_no_rtt_and_moves_to_the_end_of_the_sending_order() {
        let mut board = board_of(3);
        board.mark_lost(0);
        assert_eq!(board.next_lost(), Some(0));
        assert_eq!(board.retransmit(0, ms(50)), 3);
        let order: Vec<u32> = board.in_sending_order().map(|transmission| transmission.segment).collect();
        assert_eq!(order, [1, 2, 0]);
        let delivered = board.acknowledge(1, &[], ms(90));
        assert_eq!(delivered.oldest_rtt(), None);
        assert!(delivered.any_retransmitted);
    }

    #[test]
    fn blocks_of_one_ack_are_no_reordering_among_themselves() {
        let mut board = board_of(9);
        assert!(!board.acknowledge(0, &[(7, 8), (3, 4)], ms(100)).reordered); // the ACK of 3 was lost or delayed
        assert!(board.acknowledge(0, &[(5, 6), (7, 8), (3, 4)], ms(101)).reordered);
    }

    #[test]
    fn a_segment_retransmitted_twice_in_one_instant_is_in_flight_once() {
        let mut board = board_of(3);
        board.mark_lost(0);
        board.retransmit(0, ms(50));
        board.mark_all_lost();
        assert_eq!(board.retransmit(0, ms(50)), 4);
        board.check();
        assert_eq!(board.sent(0), ms(50));
    }

    #[test]
    fn a_window_that_was_cut_gives_back_its_room_and_forgets_nothing() {
        let mut board = board_of(1000);
        board.acknowledge(990, &[(995, 996)], ms(2000));
        board.shrink();
        assert!(board.segments.capacity() < 40);
        assert_eq!((board.una(), board.next(), board.sent(999)), (990, 1000, ms(999)));
        assert!(board.is_sacked(995));
        board.check();
    }

    /// Ten in flight, five duplicate ACKs: five are left. The hole takes its place; of the others each may be one that a duplicate ACK
    /// stands for.
    #[test]
    fn without_sack_only_the_hole_is_lost_beside_what_duplicate_acks_stand_for() {
        let mut board = board_of(10);
        (0..5).for_each(|_| board.count_duplicate());
        board.mark_lost(0);
        assert_eq!(board.in_flight(), 4);
        (1..4).for_each(|segment| board.mark_lost(segment));
        assert_eq!(board.in_flight(), 4);
    }

    #[test]
    fn duplicate_acks_stand_for_no_more_than_is_in_flight_when_all_is_marked_one_by_one() {
        let mut board = board_of(4);
        (0..3).for_each(|_| board.count_duplicate());
        (0..4).for_each(|segment| board.mark_lost(segment));
        board.retransmit(0, ms(50));
        assert_eq!(board.in_flight(), 1);
    }

    proptest! {
        /// The short way of the ordinary ACK leaves everything as the long way does.
        #[test]
        fn the_ordinary_ack_is_like_any(steps in prop::collection::vec((0u8..6, 0u32..20, 0u32..4), 1..200)) {
            let mut board = Scoreboard::with_sending_order();
            for (index, (action, position, length)) in steps.into_iter().enumerate() {
                let now = ms(index as u64);
                let segment = board.una() + position;
                let mut other = board.clone();
                match action {
                    0 | 1 => for _ in 0..length { board.send_new(now); other.send_new(now); },
                    2 | 3 => {
                        let cumulative = board.una() + action as u32 / 3 + length / 3;
                        let delivered = other.acknowledge(cumulative, &[], now);
                        match board.pass_one_original(cumulative, now) {
                            Some(sent) => {
                                prop_assert_eq!(delivered.newest(), Some((sent, board.una() - 1)));
                                prop_assert_eq!((delivered.count, delivered.cumulative), (1, 1));
                            }
                            None => _ = board.acknowledge(cumulative, &[], now),
                        }
                    }
                    4 => {
                        board.acknowledge(board.una(), &[(segment, segment + length)], now);
                        other.acknowledge(other.una(), &[(segment, segment + length)], now);
                    }
                    _ => if segment < board.next() {
                        board.mark_lost(segment);
                        if let Some(lost) = board.next_lost().filter(|_| length > 1) { board.retransmit(lost, now); }
                        other = board.clone();
                    },
                }
                prop_assert_eq!(format!("{board:?}"), format!("{other:?}"));
            }
        }

        /// Whatever is sent, acknowledged, marked and retransmitted: the counters equal a recount, and the sending order
        /// holds exactly what is in flight.
        #[test]
        fn counters_equal_a_recount(steps in prop::collection::vec((0u8..7, 0u32..40, 0u32..8), 1..200)) {
            let mut board = Scoreboard::with_sending_order();
            for (index, (action, position, length)) in steps.into_iter().enumerate() {
                let now = ms(index as u64 / 3);
                let segment = board.una() + position;
                match action {
                    6 => board.unmark_lost(),
                    0 | 1 => for _ in 0..length { board.send_new(now); },
                    2 => _ = board.acknowledge(board.una() + length, &[], now),
                    3 => _ = board.acknowledge(board.una(), &[(segment, segment + length)], now),
                    4 => if segment < board.next() { board.mark_lost(segment) },
                    _ => if let Some(lost) = board.next_lost() { board.retransmit(lost, now); },
                }
                board.check();
            }
        }
    }
}
