//! The packets of a link in the order of their arrival at its far end: a ring whose size is a power of two.

use super::packet::Packet;
use crate::units::Time;

const LEAST_SLOTS: usize = 4;

/// A first-in-first-out line of packets.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// None, or as many as a power of two; what is outside the line is of no meaning.
    slots: Vec<Packet>,
    /// Packets ever taken out and put in, modulo 2^32.
    head: u32,
    tail: u32,
}

impl Line {
    /// Packets in line.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    #[inline(always)]
    fn slot(&self, number: u32) -> usize {
        number as usize & self.slots.len().wrapping_sub(1)
    }

    /// The packet behind `index` others; there must be so many.
    #[inline(always)]
    pub fn get(&self, index: u32) -> &Packet {
        debug_assert!(index < self.len());
        &self.slots[self.slot(self.head.wrapping_add(index))]
    }

    /// When the first one arrives; [`Time::NEVER`] if there is none.
    #[inline(always)]
    pub fn first_arrival(&self) -> Time {
        if self.is_empty() { Time::NEVER } else { self.slots[self.slot(self.head)].arrival() }
    }

    /// Takes the first packet out if it arrives before an instant.
    #[inline(always)]
    pub fn pop_before(&mut self, instant: Time) -> Option<Packet> {
        if self.is_empty() {
            return None;
        }
        let packet = self.slots[self.slot(self.head)];
        if packet.arrival() >= instant {
            return None;
        }
        self.head = self.head.wrapping_add(1);
        Some(packet)
    }

    /// Puts a packet behind all others.
    #[inline(always)]
    pub fn push(&mut self, packet: Packet) {
        if self.len() as usize == self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.tail);
        self.slots[slot] = packet;
        self.tail = self.tail.wrapping_add(1);
    }

    /// Takes the first packet out; there must be one.
    #[inline(always)]
    pub fn pop(&mut self) -> Packet {
        debug_assert!(!self.is_empty());
        let packet = self.slots[self.slot(self.head)];
        self.head = self.head.wrapping_add(1);
        packet
    }

    #[cold]
    fn grow(&mut self) {
        let mut slots: Vec<Packet> = self.iter().copied().collect();
        self.head = 0;
        self.tail = slots.len() as u32;
        slots.resize((2 * self.slots.len()).max(LEAST_SLOTS), Packet::new(0, 0, 0, 0));
        self.slots = slots;
    }

    /// From the first to the last.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Takes all out.
    pub fn drain(&mut self) -> Vec<Packet> {
        let packets = self.iter().copied().collect();
        *self = Line::default();
        packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// It is a queue, however it grows and turns.
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec(prop::bool::weighted(0.6), 1..300)) {
            let mut line = Line { head: u32::MAX - 20, tail: u32::MAX - 20, ..Line::default() };
            let mut queue = VecDeque::new();
            for (number, push) in steps.into_iter().enumerate() {
                if push {
                    let mut packet = Packet::new(1, 2, number as u32, 0);
                    packet.arrives(Time(number as u64));
                    line.push(packet);
                    queue.push_back(packet);
                } else if let Some(packet) = queue.pop_front() {
                    prop_assert_eq!(line.pop(), packet);
                }
                prop_assert!(line.iter().eq(queue.iter()));
                prop_assert_eq!(line.first_arrival(), queue.front().map_or(Time::NEVER, Packet::arrival));
            }
        }
    }
}
