//! The packets of links in the order of their arrival at the far end.
//!
//! The packets in flight are most of what a run keeps in memory. So all lines share one store, in pieces of a few packets: a
//! burst that passes from line to line takes its room once, and what one line leaves, another uses. A [train](super::train) takes the slot of
//! its first packet only.

mod trains;

use super::packet::{Packet, TRAIN};
use super::train::Train;
use crate::prefetch::prefetch;
use crate::units::{Duration, Time};
pub use trains::Place;
use trains::TrainInSlot;

/// The packets of a piece.
const PIECE: u32 = if cfg!(test) { 8 } else { 64 };
/// Fewer slots, 1.5 MB, stay in the nearer caches.
const MANY: usize = if cfg!(test) { 64 } else { 1 << 16 };
/// No piece.
const NONE: u32 = u32::MAX;

/// Fewer packets in a row are not worth a call.
const LONG_ROW: u32 = if cfg!(test) { 2 } else { 8 };

/// Shorter rows remain such: what comes from elsewhere would take them apart again soon.
const TRAIN_OF_ROW: u32 = if cfg!(test) { 2 } else { 16 };

/// A first-in-first-out line of packets that stand in [`Lines`].
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// The slot of the first packet.
    head: u32,
    /// The slot of the next packet to come; a multiple of [`PIECE`] if a new piece is needed for it.
    tail: u32,
    len: u32,
    first_arrival: Time,
}

impl Default for Line {
    fn default() -> Line {
        Line { head: 0, tail: 0, len: 0, first_arrival: Time::NEVER }
    }
}

impl Line {
    /// Packets in line.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// When the first one arrives; [`Time::NEVER`] if there is none.
    #[inline(always)]
    pub fn first_arrival(&self) -> Time {
        self.first_arrival
    }

    /// The slot of the first packet; there must be one.
    #[inline(always)]
    pub fn first_slot(&self) -> u32 {
        self.head
    }

    /// The slot of the last packet; there must be one.
    #[inline(always)]
    pub fn last_slot(&self) -> u32 {
        self.tail - 1
    }
}

/// The store of all lines.
#[derive(Debug)]
pub struct Lines {
    /// What is outside all lines is of no meaning.
    slots: Vec<Packet>,
    /// For every piece, the next one in its line, or of those that are free.
    following: Vec<u32>,
    free: u32,
    trains: Vec<TrainInSlot>,
    /// Places in `trains` that are free.
    free_trains: Vec<u32>,
}

impl Default for Lines {
    fn default() -> Lines {
        Lines { slots: Vec::new(), following: Vec::new(), free: NONE, trains: Vec::new(), free_trains: Vec::new() }
    }
}

impl Lines {
    /// A [row](Self::row) has no more packets.
    pub const LONGEST_ROW: u32 = PIECE - 1;

    /// The packet in a slot of a line; a train's first has its mark.
    #[inline(always)]
    pub fn at(&self, slot: u32) -> &Packet {
        &self.slots[slot as usize]
    }

    /// So many slots of one piece.
    pub fn slots(&self, first: u32, count: u32) -> &[Packet] {
        &self.slots[first as usize..(first + count) as usize]
    }

    /// The slot behind one of a line; of no meaning behind the last.
    #[inline(always)]
    pub fn behind(&self, slot: u32) -> u32 {
        let next = slot + 1;
        if next.is_multiple_of(PIECE) { self.following[(slot / PIECE) as usize].wrapping_mul(PIECE) } else { next }
    }

    /// Puts a packet behind all others.
    #[inline(always)]
    pub fn push(&mut self, line: &mut Line, packet: Packet) {
        if line.tail.is_multiple_of(PIECE) {
            self.extend(line);
        }
        self.slots[line.tail as usize] = packet;
        line.tail += 1;
        if line.len == 0 {
            line.first_arrival = packet.arrival();
        }
        line.len += 1;
    }

    #[cold]
    #[inline(never)]
    fn extend(&mut self, line: &mut Line) {
        let piece = self.take_piece();
        if line.len == 0 {
            line.head = piece * PIECE;
        } else {
            self.following[(line.last_slot() / PIECE) as usize] = piece;
        }
        line.tail = piece * PIECE;
    }

    fn take_piece(&mut self) -> u32 {
        if self.free == NONE {
            self.slots.resize(self.slots.len() + PIECE as usize, Packet::new(0, 0, 0, 0));
            self.following.push(NONE);
            return self.following.len() as u32 - 1;
        }
        let piece = self.free;
        self.free = self.following[piece as usize];
        piece
    }

    fn give_piece(&mut self, piece: u32) {
        self.following[piece as usize] = self.free;
        self.free = piece;
    }

    /// The first packet; there must be one.
    #[inline(always)]
    pub fn first(&self, line: &Line) -> Packet {
        self.train_at(line.head).map_or_else(|| *self.at(line.head), |train| train.first)
    }

    /// Takes the first packet out; there must be one.
    #[inline(always)]
    pub fn pop(&mut self, line: &mut Line) -> Packet {
        let packet = self.slots[line.head as usize];
        if packet.has(TRAIN) {
            let first = self.first(line);
            self.pass_of_train(line, 1);
            return first;
        }
        self.pass_packet(line);
        self.find_first_arrival(line);
        packet
    }

    /// Takes the first packet out, there must be one and none of a train, but does not look for the next: until
    /// [`Self::find_first_arrival`] the line does not know when that arrives.
    #[inline(always)]
    pub fn pass_packet(&mut self, line: &mut Line) {
        debug_assert!(!line.is_empty() && !self.at(line.head).has(TRAIN));
        line.len -= 1;
        self.pass_slot(line);
    }

    #[inline(always)]
    fn pass_slot(&mut self, line: &mut Line) {
        line.head += 1;
        if line.head.is_multiple_of(PIECE) {
            line.head = self.leave_piece(line.head, line.is_empty());
        }
    }

    /// See [`Self::pass_packet`].
    #[inline(always)]
    pub fn find_first_arrival(&self, line: &mut Line) {
        line.first_arrival = if line.is_empty() { Time::NEVER } else { self.slots[line.head as usize].arrival() };
    }

    /// A line's head has left its piece. Returns the slot where the head is now; the line's address would keep it in memory.
    #[cold]
    #[inline(never)]
    fn leave_piece(&mut self, head: u32, is_empty: bool) -> u32 {
        let piece = head / PIECE - 1;
        let head = if is_empty { head } else { self.enter_piece(self.following[piece as usize]) };
        self.give_piece(piece);
        head
    }

    /// A line's head comes to a piece. Returns its slot, and asks for the piece after it, and for what that one is followed by.
    fn enter_piece(&self, piece: u32) -> u32 {
        if self.slots.len() >= MANY {
            let next = self.following[piece as usize] as usize;
            if let Some(slots) = self.slots.as_chunks::<{ PIECE as usize }>().0.get(next) {
                prefetch(slots);
                prefetch(&self.following[next]);
            }
        }
        piece * PIECE
    }

    /// How many slots follow one in its piece.
    #[inline(always)]
    pub fn left_in_piece(slot: u32) -> u32 {
        PIECE - 1 - slot % PIECE
    }

    /// Whether it seems that a long row begins with the first packet of a line, or a train, that arrives before an instant.
    #[inline(always)]
    pub fn begins_with_row(&self, line: &Line, before: Time) -> bool {
        if self.begins_with_train(line, before) {
            return true;
        }
        if line.len <= LONG_ROW || Lines::left_in_piece(line.head) < LONG_ROW {
            return false;
        }
        let (first, other) = (self.at(line.head), self.at(line.head + LONG_ROW - 1));
        other.arrival() < before && other.is_in_row(first, LONG_ROW - 1) && self.slots_in_piece(line) >= LONG_ROW
    }

    /// Whether a train begins with the first packet of a line, or has begun before it, that arrives before an instant.
    #[inline(always)]
    pub fn begins_with_train(&self, line: &Line, before: Time) -> bool {
        line.first_arrival < before && self.at(line.head).has(TRAIN)
    }

    /// How many slots of a line stand in its first piece.
    #[inline(always)]
    fn slots_in_piece(&self, line: &Line) -> u32 {
        let end = line.head / PIECE * PIECE + PIECE;
        if (line.head..end).contains(&(line.tail - 1)) { line.tail - line.head } else { end - line.head }
    }

    /// The packets of a line that stand in its first piece, without its last, and the free slots in the last piece of another line, of which
    /// some must be filled. `None` if there are no such packets, or the other line is empty.
    #[inline(always)]
    pub fn row(&mut self, from: &Line, to: &mut Line) -> Option<(&[Packet], &mut [Packet])> {
        if to.is_empty() || Lines::left_in_piece(from.head) == 0 || from.len < 2 {
            return None;
        }
        if to.tail.is_multiple_of(PIECE) {
            self.extend(to);
        }
        let slots = self.slots_in_piece(from) as usize;
        let pieces = self.slots.as_chunks_mut::<{ PIECE as usize }>().0;
        let [source, target] =
            pieces.get_disjoint_mut([(from.head / PIECE) as usize, (to.tail / PIECE) as usize]).ok()?;
        let (head, tail) = ((from.head % PIECE) as usize, (to.tail % PIECE) as usize);
        Some((&source[head..head + slots - 1], &mut target[tail..]))
    }

    /// So many packets of a [row](Self::row) have gone from one line to another; many become a train there, if they follow one another
    /// with this gap.
    #[inline(always)]
    pub fn move_row(&mut self, from: &mut Line, to: &mut Line, count: u32, gap: Duration) {
        from.head += count;
        from.len -= count;
        from.first_arrival = self.at(from.head).arrival();
        if count >= TRAIN_OF_ROW
            && let Some(train) = Train::of_row(self.slots(to.tail, count), gap)
        {
            // Where a piece has just been begun for the row, the slot before is another line's.
            let begins_piece = to.tail.is_multiple_of(PIECE);
            if begins_piece || !self.lengthen_last(to.last_slot(), &train) {
                self.couple(to.tail, &train);
                to.tail += 1;
            }
        } else {
            to.tail += count;
        }
        to.len += count;
    }

    /// Takes the first packet out, which is none of a train, if it arrives before an instant. Where it was the last of its piece, or the last
    /// before a train, the line pauses: no packet seems to be left, until it [goes on](Self::goes_on_before).
    #[inline(always)]
    pub fn pop_in_piece(&mut self, line: &mut Line, instant: Time) -> Option<Packet> {
        (line.first_arrival < instant).then(|| {
            let packet = self.slots[line.head as usize];
            debug_assert!(!packet.has(TRAIN));
            line.head += 1;
            line.len -= 1;
            if line.head.is_multiple_of(PIECE) {
                line.head = self.leave_piece(line.head, line.is_empty());
                line.first_arrival = Time::NEVER;
            } else {
                self.find_first_arrival(line);
                self.pause_before_train(line);
            }
            packet
        })
    }

    /// A line that has come to a train pauses.
    #[inline(always)]
    pub fn pause_before_train(&self, line: &mut Line) {
        if !line.is_empty() && self.slots[line.head as usize].has(TRAIN) {
            line.first_arrival = Time::NEVER;
        }
    }

    /// Whether a line paused, and has a packet that arrives before an instant.
    #[inline(always)]
    pub fn goes_on_before(&self, line: &mut Line, instant: Time) -> bool {
        let has_paused = line.first_arrival == Time::NEVER && !line.is_empty();
        if has_paused {
            self.find_first_arrival(line);
        }
        has_paused && line.first_arrival < instant
    }

    /// Takes the first packet out if it arrives before an instant.
    #[inline(always)]
    pub fn pop_before(&mut self, line: &mut Line, instant: Time) -> Option<Packet> {
        (line.first_arrival < instant).then(|| self.pop(line))
    }

    /// Gives back what an empty line keeps.
    #[inline(always)]
    pub fn release(&mut self, line: &mut Line) {
        if line.is_empty() && !line.tail.is_multiple_of(PIECE) {
            self.give_piece(line.tail / PIECE);
            line.tail = 0;
        }
    }

    /// From the first to the last.
    pub fn iter(&self, line: &Line) -> impl Iterator<Item = Packet> {
        let first = (!line.is_empty()).then(|| self.first_place(line));
        let places = std::iter::successors(first, |place| Some(self.behind_place(*place)));
        places.take(line.len as usize).map(|place| self.at_place(place))
    }

    /// Takes all out.
    pub fn drain(&mut self, line: &mut Line) -> Vec<Packet> {
        let packets = std::iter::from_fn(|| (!line.is_empty()).then(|| self.pop(line))).collect();
        self.release(line);
        packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// Packets a gap apart, each of which follows the one before.
    fn train(first: u64, gap: u64, count: u32) -> Train {
        Train { first: packet(first), gap: Duration(gap), count }
    }

    fn packet(number: u64) -> Packet {
        let mut packet = Packet::new(1, number as u32, number as u32, 0);
        packet.arrives(Time(number));
        packet
    }

    proptest! {
        /// Lines are queues, whatever the others do, and all together have little room to spare.
        #[test]
        fn lines_are_queues_with_little_room_to_spare(
            steps in prop::collection::vec((0usize..3, 0u64..60, 0u64..60, any::<bool>(), 0u32..4), 1..60),
        ) {
            let mut lines = Lines::default();
            let mut pairs: [(Line, VecDeque<Packet>); 3] = Default::default();
            let (mut number, mut most) = (0, 0);
            for (index, pushes, pops, releases, in_trains) in steps {
                let (line, queue) = &mut pairs[index];
                for count in 1..in_trains {
                    let train = train(number, 1, 3 * count);
                    lines.push_train(line, &train);
                    queue.extend(train.packets());
                    number += u64::from(train.count);
                }
                for _ in 0..pushes {
                    lines.push(line, packet(number));
                    queue.push_back(packet(number));
                    prop_assert_eq!(lines.at(line.last_slot()), &packet(number));
                    number += 1;
                }
                most = most.max(pairs.iter().map(|(_, queue)| queue.len()).sum());
                prop_assert!(lines.slots.len() <= most + 3 * 2 * PIECE as usize);
                let (line, queue) = &mut pairs[index];
                for _ in 0..pops {
                    let due = queue.pop_front_if(|packet| packet.arrival() < Time(number / 2));
                    prop_assert_eq!(lines.pop_before(line, Time(number / 2)), due);
                }
                if releases {
                    lines.release(line);
                }
                for (line, queue) in &pairs {
                    let behind = |count| lines.far_behind_place(lines.first_place(line), count);
                    for (count, packet) in (0..).zip(queue) {
                        prop_assert_eq!(lines.arrival_at(behind(count)), packet.arrival());
                        let (until, most) = (Time(number * 3 / 4), line.len() - 1 - count);
                        let surely = lines.count_until(behind(count), until, most) as usize;
                        prop_assert!(queue.iter().skip(count as usize).take(surely).all(|packet| packet.arrival() <= until));
                    }
                    prop_assert!(lines.iter(line).eq(queue.iter().copied()));
                    prop_assert_eq!(line.first_arrival(), queue.front().map_or(Time::NEVER, Packet::arrival));
                }
            }
            for (line, queue) in &mut pairs {
                prop_assert!(queue.drain(..).eq(lines.drain(line)) && line.is_empty());
            }
            let free = std::iter::successors(Some(lines.free), |piece| lines.following.get(*piece as usize).copied());
            prop_assert_eq!(free.count() - 1, lines.following.len(), "all pieces are free");
        }
    }
}
