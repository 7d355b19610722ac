//! The packets of links in the order of their arrival at the far end.
//!
//! The packets in flight are most of what a run keeps in memory. So all lines share one store, in pieces of a few packets: a
//! burst that passes from line to line takes its room once, and what one line leaves, another uses. A [train](super::train) takes the slot of
//! its first packet only.

use super::packet::{Packet, TRAIN};
use super::train::Train;
use crate::prefetch::prefetch;
use crate::units::{Duration, Time};

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

/// Where a packet stands in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    slot: u32,
    /// Which packet it is, of all that have ever been there, of the train in that slot, if one is.
    index: u32,
}

/// What the slot of a train has no room for.
#[derive(Debug, Clone, Copy)]
struct TrainInSlot {
    gap: Duration,
    /// Packets that are left.
    count: u32,
    /// Of the first of them.
    number: u32,
    /// Packets that have left before.
    gone: u32,
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
        let first = self.slots[line.head as usize];
        if first.has(TRAIN) { self.train_in(line.head).first } else { first }
    }

    /// Takes the first packet out; there must be one.
    #[inline(always)]
    pub fn pop(&mut self, line: &mut Line) -> Packet {
        let packet = self.slots[line.head as usize];
        if packet.has(TRAIN) {
            let first = self.train_in(line.head).first;
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
                if !line.is_empty() && self.slots[line.head as usize].has(TRAIN) {
                    line.first_arrival = Time::NEVER;
                }
            }
            packet
        })
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

/// Trains in lines.
impl Lines {
    /// Whether any line has one.
    fn has_trains(&self) -> bool {
        self.free_trains.len() < self.trains.len()
    }

    /// The packet at a place of a line.
    fn at_place(&self, place: Place) -> Packet {
        match self.train_at(place.slot) {
            Some(train) => train.packet(place.index - self.gone_from(place.slot)),
            None => *self.at(place.slot),
        }
    }

    /// When the packet at a place of a line arrives.
    #[inline(always)]
    pub fn arrival_at(&self, place: Place) -> Time {
        let packet = self.at(place.slot);
        if packet.has(TRAIN) { self.arrival_in_train(place) } else { packet.arrival() }
    }

    #[inline(never)]
    fn arrival_in_train(&self, place: Place) -> Time {
        self.at_place(place).arrival()
    }

    /// Where the first packet of a line stands; there must be one.
    pub fn first_place(&self, line: &Line) -> Place {
        Place { slot: line.head, index: self.gone_from(line.head) }
    }

    /// How many packets have left a slot, if that has a train.
    fn gone_from(&self, slot: u32) -> u32 {
        let packet = self.at(slot);
        if packet.has(TRAIN) { self.trains[packet.number() as usize].gone } else { 0 }
    }

    /// The place behind one of a line; of no meaning behind the last.
    #[inline(always)]
    pub fn behind_place(&self, place: Place) -> Place {
        if self.at(place.slot).has(TRAIN) {
            self.far_behind_place(place, 1)
        } else {
            Place { slot: self.behind(place.slot), index: 0 }
        }
    }

    /// The place so many packets behind one of a line.
    #[inline(never)]
    pub fn far_behind_place(&self, mut place: Place, mut packets: u32) -> Place {
        if !self.has_trains() && packets <= Lines::left_in_piece(place.slot) {
            return Place { slot: place.slot + packets, index: 0 };
        }
        while packets > 0 {
            let left = self.gone_from(place.slot) + self.count_in(place.slot) - place.index;
            if packets < left {
                return Place { index: place.index + packets, ..place };
            }
            packets -= left;
            place = Place { slot: self.behind(place.slot), index: 0 };
        }
        place
    }

    /// So many packets of a line from a place on, `most` at the most, surely arrive by an instant.
    pub fn count_until(&self, place: Place, instant: Time, most: u32) -> u32 {
        if self.at(place.slot).has(TRAIN) {
            let train = self.train_in(place.slot).without_first(place.index - self.gone_from(place.slot));
            return train.count_before(Time(instant.0 + 1)).min(most);
        }
        let most = most.min(Lines::left_in_piece(place.slot));
        if !self.has_trains() {
            // Slots are packets, and each arrives behind the one before.
            return if self.at(place.slot + most).arrival() <= instant { most } else { 0 };
        }
        let arrives = |slot: &u32| !self.at(*slot).has(TRAIN) && self.at(*slot).arrival() <= instant;
        (place.slot..place.slot + most).take_while(arrives).count() as u32
    }

    /// How many packets stand in a slot of a line.
    #[inline(always)]
    pub fn count_in(&self, slot: u32) -> u32 {
        let packet = self.at(slot);
        if packet.has(TRAIN) { self.trains[packet.number() as usize].count } else { 1 }
    }

    /// What is left of the train in a slot, if one is there.
    fn train_at(&self, slot: u32) -> Option<Train> {
        self.at(slot).has(TRAIN).then(|| self.train_in(slot))
    }

    fn train_in(&self, slot: u32) -> Train {
        let mut first = *self.at(slot);
        let TrainInSlot { gap, count, number, .. } = self.trains[first.number() as usize];
        first.unflag(TRAIN);
        first.set_number(number);
        Train { first, gap, count }
    }

    /// The train that is left at the front of a line, if one is.
    pub fn first_train(&self, line: &Line) -> Option<Train> {
        if line.is_empty() { None } else { self.train_at(line.head) }
    }

    /// So many packets of the [train](Self::first_train) at the front of a line leave it.
    #[inline(always)]
    pub fn pass_of_train(&mut self, line: &mut Line, count: u32) {
        line.len -= count;
        (line.head, line.first_arrival) = self.leave_train(line.head, line.len, count);
    }

    /// Packets of a train leave a line, in which so many are left. Returns the slot of the first of these, and when it arrives; the line's address
    /// would keep it in memory.
    #[inline(never)]
    fn leave_train(&mut self, head: u32, left: u32, count: u32) -> (u32, Time) {
        let first = &mut self.slots[head as usize];
        let place = first.number();
        let train = &mut self.trains[place as usize];
        if count < train.count {
            *first = first.behind(count, train.gap);
            first.set_number(place);
            train.count -= count;
            train.number = train.number.wrapping_add(count);
            train.gone += count;
            return (head, first.arrival());
        }
        self.free_trains.push(place);
        let mut head = head + 1;
        if head.is_multiple_of(PIECE) {
            head = self.leave_piece(head, left == 0);
        }
        (head, if left == 0 { Time::NEVER } else { self.at(head).arrival() })
    }

    /// Puts a train behind all other packets.
    pub fn push_train(&mut self, line: &mut Line, train: &Train) {
        if line.is_empty() || !self.lengthen_last(line.last_slot(), train) {
            self.push(line, train.first);
            line.len -= 1;
            if train.count > 1 {
                self.couple(line.last_slot(), train);
            }
        }
        line.len += train.count;
    }

    /// Whether what stands in a slot goes on with a train, to which it has been coupled.
    fn lengthen_last(&mut self, slot: u32, train: &Train) -> bool {
        let last = *self.at(slot);
        let before = if last.has(TRAIN) { self.train_in(slot) } else { Train { first: last, count: 1, ..*train } };
        let goes_on = before.goes_on_with(train);
        if goes_on && last.has(TRAIN) {
            self.trains[last.number() as usize].count += train.count;
        } else if goes_on {
            self.couple(slot, &Train { count: 1 + train.count, ..before });
        }
        goes_on
    }

    /// The packet in a slot becomes the first of a train.
    fn couple(&mut self, slot: u32, train: &Train) {
        let in_slot = TrainInSlot { gap: train.gap, count: train.count, number: train.first.number(), gone: 0 };
        let place = match self.free_trains.pop() {
            Some(place) => {
                self.trains[place as usize] = in_slot;
                place
            }
            None => {
                self.trains.push(in_slot);
                self.trains.len() as u32 - 1
            }
        };
        let first = &mut self.slots[slot as usize];
        first.set_number(place);
        first.flag(TRAIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    fn packet(number: u64) -> Packet {
        let mut packet = Packet::new(1, 2, 3, 0);
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
