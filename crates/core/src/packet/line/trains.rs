//! Trains in lines: the slot of the first packet has a mark, and leads to what it has no room for.

use super::{Line, Lines, PIECE};
use crate::packet::packet::{Packet, TRAIN};
use crate::packet::train::Train;
use crate::units::{Duration, Time};

/// Where a packet stands in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    slot: u32,
    /// Which packet it is, of all that have ever been there, of the train in that slot, if one is.
    index: u32,
}

/// What the slot of a train has no room for.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrainInSlot {
    gap: Duration,
    /// Packets that are left.
    count: u32,
    /// Of the first of them.
    number: u32,
    /// Packets that have left before.
    gone: u32,
}

impl Lines {
    /// Whether any line has one.
    fn has_trains(&self) -> bool {
        self.free_trains.len() < self.trains.len()
    }

    /// What is known of the train in a slot, if one is there.
    #[inline(always)]
    fn in_slot(&self, slot: u32) -> Option<&TrainInSlot> {
        let first = self.at(slot);
        first.has(TRAIN).then(|| &self.trains[first.number() as usize])
    }

    /// How many packets stand in a slot of a line.
    #[inline(always)]
    pub fn count_in(&self, slot: u32) -> u32 {
        self.in_slot(slot).map_or(1, |train| train.count)
    }

    /// What is left of the train in a slot, if one is there.
    pub(super) fn train_at(&self, slot: u32) -> Option<Train> {
        let TrainInSlot { gap, count, number, .. } = *self.in_slot(slot)?;
        let mut first = *self.at(slot);
        first.unflag(TRAIN);
        first.set_number(number);
        Some(Train { first, gap, count })
    }

    /// The train that is left at the front of a line, if one is.
    pub fn first_train(&self, line: &Line) -> Option<Train> {
        if line.is_empty() { None } else { self.train_at(line.head) }
    }

    /// Where the first packet of a line stands; there must be one.
    pub fn first_place(&self, line: &Line) -> Place {
        Place { slot: line.head, index: self.in_slot(line.head).map_or(0, |train| train.gone) }
    }

    /// The packets from a place of a line on that are a train, if they are.
    fn train_from(&self, place: Place) -> Option<Train> {
        let gone = self.in_slot(place.slot)?.gone;
        Some(self.train_at(place.slot)?.without_first(place.index - gone))
    }

    /// The packet at a place of a line.
    pub(super) fn at_place(&self, place: Place) -> Packet {
        self.train_from(place).map_or_else(|| *self.at(place.slot), |train| train.first)
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
            let left = self.in_slot(place.slot).map_or(1, |train| train.gone + train.count) - place.index;
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
        if let Some(train) = self.train_from(place) {
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
    pub(super) fn lengthen_last(&mut self, slot: u32, train: &Train) -> bool {
        let last = *self.at(slot);
        let before = self.train_at(slot).unwrap_or(Train { first: last, count: 1, ..*train });
        let goes_on = before.goes_on_with(train);
        if goes_on && last.has(TRAIN) {
            self.trains[last.number() as usize].count += train.count;
        } else if goes_on {
            self.couple(slot, &Train { count: 1 + train.count, ..before });
        }
        goes_on
    }

    /// The packet in a slot becomes the first of a train.
    pub(super) fn couple(&mut self, slot: u32, train: &Train) {
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
