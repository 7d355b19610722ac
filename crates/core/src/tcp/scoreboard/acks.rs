//! Effects of an ACK on the record.

use super::segment::{IN_FLIGHT, LOST, RETRANSMITTED, SACKED, STATE, Segment};
use super::{Delivered, Range, Scoreboard};
use crate::units::Time;

/// An ACK carries this number of blocks.
const REMEMBERED_BLOCKS: usize = 3;

/// A block without the known blocks at its ends: most blocks come again, or longer.
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

/// Blocks of the last ACKs. All segments in them are sacked or acknowledged.
pub(super) type LastBlocks = [Range; REMEMBERED_BLOCKS];

impl Scoreboard {
    /// The short path for a predicted ACK. It passes one segment, sent once and in flight, while nothing is sacked or was sent
    /// again. Returns when the segment was sent; `None` without any change for another ACK.
    #[inline(always)]
    pub(in crate::tcp) fn pass_one_original(&mut self, cumulative: u32, now: Time) -> Option<Time> {
        let segment = *self.segments.front()?;
        let is_original = segment.0 & (STATE | RETRANSMITTED) == IN_FLIGHT;
        if !is_original || cumulative != self.una + 1 || self.repair.is_some() {
            return None;
        }
        self.segments.pop_front();
        self.in_flight -= 1;
        self.una = cumulative;
        self.timer_start = now; // RFC 6298 (5.3)
        self.last_advance = now;
        Some(segment.sent())
    }

    /// Whether all that is outstanding was sent once and is in flight.
    #[inline(always)]
    pub(in crate::tcp) fn has_only_originals(&self) -> bool {
        self.lost == 0 && self.repair.is_none() && self.duplicates == 0
    }

    /// Passes the first segment for a predicted ACK, while the record [has only originals](Self::has_only_originals). Returns its
    /// sending time.
    #[inline(always)]
    pub(in crate::tcp) fn pass_first(&mut self, now: Time) -> Option<Time> {
        let segment = self.segments.pop_front()?;
        self.in_flight -= 1;
        self.una += 1;
        self.timer_start = now; // RFC 6298 (5.3)
        self.last_advance = now;
        Some(segment.sent())
    }

    /// Processes an ACK: all segments below `cumulative` and in `blocks` are delivered. Segments outside the window are ignored.
    /// Returns the delivered segments.
    #[inline]
    pub fn acknowledge(&mut self, cumulative: u32, blocks: &[Range], now: Time) -> Delivered {
        if cumulative == self.una && self.newest_has_grown(blocks) {
            self.sack_next_of_newest(now)
        } else {
            self.acknowledge_any(cumulative, blocks, now)
        }
    }

    #[inline(never)]
    fn acknowledge_any(&mut self, cumulative: u32, blocks: &[Range], now: Time) -> Delivered {
        let mut delivered = Delivered::default();
        let cumulative = cumulative.min(self.next());
        if cumulative > self.una {
            self.advance(cumulative, now, &mut delivered);
        }
        let earlier_end = self.sacked_end;
        let known = self.repair.as_deref().copied().unwrap_or_default();
        for (index, block) in blocks.iter().enumerate() {
            if known[index % REMEMBERED_BLOCKS] == *block {
                continue; // most ACKs change a single block
            }
            let (start, end) = (block.0.max(self.una), block.1.min(self.next()));
            self.sack(outside((start, end), &known), earlier_end, now, &mut delivered);
            if start < end {
                self.sacked_end = self.sacked_end.max(end);
                self.repair.get_or_insert_default()[index % REMEMBERED_BLOCKS] = (start, end);
            }
        }
        self.forget_delivered();
        delivered
    }

    /// Whether the only change since the last ACK is one more segment behind the newest block. Most ACKs are like this while
    /// there is a hole.
    #[inline(always)]
    fn newest_has_grown(&self, blocks: &[Range]) -> bool {
        let (Some(last), Some((newest, others))) = (&self.repair, blocks.split_first()) else { return false };
        let (known, others_known) = (last[0], &last[1..]);
        newest.0 == known.0
            && newest.1 == known.1 + 1
            && (self.una + 1..=self.next()).contains(&newest.1)
            && others.len() <= others_known.len()
            && others.iter().zip(others_known).all(|(block, known)| block == known)
    }

    /// Marks that segment as sacked. Returns the delivered segments.
    #[inline(always)]
    fn sack_next_of_newest(&mut self, now: Time) -> Delivered {
        let Some(last) = &mut self.repair else { return Delivered::default() };
        let segment = last[0].1;
        last[0].1 = segment + 1;
        let earlier_end = self.sacked_end;
        self.sacked_end = earlier_end.max(segment + 1);
        let delivered = match self.mark_sacked(segment) {
            Some(record) => {
                let mut delivered = Delivered::first(segment, record, now, segment < earlier_end);
                if self.is_evidence(record, now, false) {
                    delivered.add_evidence(segment, record, now, false);
                }
                delivered
            }
            None => Delivered::default(),
        };
        if self.order.is_some() {
            self.pass_delivered_in_order();
        }
        delivered
    }

    /// [`Self::sacked_from_above`] where these are the last of the newest block.
    #[inline]
    pub(super) fn newest_on_top(&self, count: u32) -> Option<u32> {
        let (start, end) = self.repair.as_ref()?[0];
        (end == self.sacked_end && start.max(self.una) + count <= end).then(|| end - count)
    }

    fn advance(&mut self, cumulative: u32, now: Time, delivered: &mut Delivered) {
        let passed = cumulative - self.una;
        let mut any_again = false;
        for _ in 0..passed {
            let segment = self.segments.pop_front().expect("cumulative is at most next()");
            any_again |= segment.retransmitted();
            match segment.state() {
                SACKED => self.sacked -= 1,
                state => {
                    if state == LOST {
                        self.lost -= 1;
                    } else {
                        self.in_flight -= 1;
                        self.again_in_flight -= u32::from(segment.retransmitted());
                    }
                    let reordered = self.una < self.sacked_end;
                    delivered.add(self.una, segment, now, reordered);
                    if self.is_evidence(segment, now, true) {
                        delivered.add_evidence(self.una, segment, now, true);
                    }
                }
            }
            self.una += 1;
        }
        delivered.cumulative = passed;
        if any_again && self.order.as_ref().is_some_and(|order| order.doubt.is_some()) {
            delivered.forget_rtt(); // whichever segments were sent again (`tcp_clean_rtx_queue`)
        }
        if self.repair.is_some() {
            self.longest_stall = self.longest_stall.max(now - self.last_advance);
        }
        self.timer_start = now; // RFC 6298 (5.3)
        self.last_advance = now;
    }

    /// `earlier_end` is one past the highest segment that earlier ACKs reported. The order of blocks in one ACK is not the order
    /// of arrival, because the latest comes first (RFC 2018 section 4).
    fn sack(&mut self, (start, end): Range, earlier_end: u32, now: Time, delivered: &mut Delivered) {
        for index in start..end {
            if let Some(record) = self.mark_sacked(index) {
                delivered.add(index, record, now, index < earlier_end);
                if self.is_evidence(record, now, false) {
                    delivered.add_evidence(index, record, now, false);
                }
            }
        }
    }

    /// Marks a segment as selectively acknowledged. Returns its previous record, or `None` if it was marked before.
    #[inline(always)]
    fn mark_sacked(&mut self, segment: u32) -> Option<Segment> {
        let record = &mut self.segments[(segment - self.una) as usize];
        let before = *record;
        match before.state() {
            SACKED => return None,
            LOST => self.lost -= 1,
            _ => {
                self.in_flight -= 1;
                self.again_in_flight -= u32::from(before.retransmitted());
            }
        }
        record.set_state(SACKED);
        self.sacked += 1;
        Some(before)
    }

    /// Ends the repair if everything is.
    fn forget_delivered(&mut self) {
        if self.repair.is_none() {
            return;
        }
        let is_over = self.sacked == 0 && self.una >= self.again_end;
        self.pass_delivered_in_order();
        if is_over {
            self.repair = None;
        }
    }
}
