//! The packets of links in the order of their arrival at the far end.
//!
//! The packets in flight are most of what a run keeps in memory. So all lines share one store, in pieces of a few packets: a
//! burst that passes from line to line takes its room once, and what one line leaves, another uses.

use super::packet::Packet;
use crate::prefetch::prefetch;
use crate::units::Time;

/// The packets of a piece.
const PIECE: u32 = if cfg!(test) { 8 } else { 64 };
/// Fewer slots, 1.5 MB, stay in the nearer caches.
const MANY: usize = if cfg!(test) { 64 } else { 1 << 16 };
/// No piece.
const NONE: u32 = u32::MAX;

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
}

impl Default for Lines {
    fn default() -> Lines {
        Lines { slots: Vec::new(), following: Vec::new(), free: NONE }
    }
}

impl Lines {
    /// The packet in a slot of a line.
    #[inline(always)]
    pub fn at(&self, slot: u32) -> &Packet {
        &self.slots[slot as usize]
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

    /// Takes the first packet out; there must be one.
    #[inline(always)]
    pub fn pop(&mut self, line: &mut Line) -> Packet {
        let packet = self.slots[line.head as usize];
        self.pass_packet(line);
        self.find_first_arrival(line);
        packet
    }

    /// Takes the first packet out, there must be one, but does not look for the next: until
    /// [`Self::find_first_arrival`] the line does not know when that arrives.
    #[inline(always)]
    pub fn pass_packet(&mut self, line: &mut Line) {
        debug_assert!(!line.is_empty());
        line.len -= 1;
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
        let slots = std::iter::successors(Some(line.head), |slot| Some(self.behind(*slot)));
        slots.take(line.len as usize).map(|slot| *self.at(slot))
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

    fn packet(number: u64) -> Packet {
        let mut packet = Packet::new(1, number as u32, number as u32, 0);
        packet.arrives(Time(number));
        packet
    }

    proptest! {
        /// Lines are queues, whatever the others do, and all together have little room to spare.
        #[test]
        fn lines_are_queues_with_little_room_to_spare(
            steps in prop::collection::vec((0usize..3, 0u64..60, 0u64..60, any::<bool>()), 1..60),
        ) {
            let mut lines = Lines::default();
            let mut pairs: [(Line, VecDeque<Packet>); 3] = Default::default();
            let (mut number, mut most) = (0, 0);
            for (index, pushes, pops, releases) in steps {
                let (line, queue) = &mut pairs[index];
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
