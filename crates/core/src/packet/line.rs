//! The packets of a link in the order of their arrival at its far end: a ring that grows by a quarter, because the packets in
//! flight are most of what a run keeps in memory.

use super::packet::Packet;
use crate::units::Time;

const LEAST_SLOTS: usize = 4;
/// A ring of so many slots is not made smaller.
const SMALL: usize = 64;

/// A first-in-first-out line of packets.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// What is outside the line is of no meaning.
    slots: Vec<Packet>,
    /// The slot of the first packet.
    head: u32,
    len: u32,
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

    #[inline(always)]
    fn slot(&self, index: u32) -> usize {
        let slot = self.head as usize + index as usize;
        if slot >= self.slots.len() { slot - self.slots.len() } else { slot }
    }

    /// The packet behind `index` others; there must be so many.
    #[inline(always)]
    pub fn get(&self, index: u32) -> &Packet {
        debug_assert!(index < self.len);
        &self.slots[self.slot(index)]
    }

    /// When the first one arrives; [`Time::NEVER`] if there is none.
    #[inline(always)]
    pub fn first_arrival(&self) -> Time {
        if self.is_empty() { Time::NEVER } else { self.slots[self.head as usize].arrival() }
    }

    /// Puts a packet behind all others.
    #[inline(always)]
    pub fn push(&mut self, packet: Packet) {
        if self.len as usize == self.slots.len() {
            self.resize(self.slots.len() + (self.slots.len() / 4).max(LEAST_SLOTS));
        }
        let slot = self.slot(self.len);
        self.slots[slot] = packet;
        self.len += 1;
    }

    /// Takes the first packet out; there must be one.
    #[inline(always)]
    pub fn pop(&mut self) -> Packet {
        debug_assert!(!self.is_empty());
        let packet = self.slots[self.head as usize];
        self.head = self.slot(1) as u32;
        self.len -= 1;
        packet
    }

    /// Takes the first packet out if it arrives before an instant.
    #[inline(always)]
    pub fn pop_before(&mut self, instant: Time) -> Option<Packet> {
        if self.is_empty() || self.slots[self.head as usize].arrival() >= instant { None } else { Some(self.pop()) }
    }

    /// Gives room back of which three quarters are empty.
    #[inline]
    pub fn shrink(&mut self) {
        if self.slots.len() > SMALL && (self.len as usize) < self.slots.len() / 4 {
            self.resize((2 * self.len as usize).max(SMALL));
        }
    }

    /// Makes the ring larger where it stands, or smaller.
    #[cold]
    fn resize(&mut self, slots: usize) {
        let (old, head) = (self.slots.len(), self.head as usize);
        if slots < old {
            self.slots.rotate_left(head);
            self.slots.truncate(slots);
            self.slots.shrink_to_fit();
            self.head = 0;
        } else {
            self.slots.reserve_exact(slots - old);
            self.slots.resize(slots, Packet::new(0, 0, 0, 0));
            if head + self.len as usize > old {
                self.slots.copy_within(head..old, head + slots - old); // what stands before the ring's seam
                self.head = (head + slots - old) as u32;
            }
        }
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
        /// It is a queue, however it grows, turns and shrinks, and has little room to spare.
        #[test]
        fn it_is_a_queue_with_little_room_to_spare(steps in prop::collection::vec((0u64..200, 0u64..200), 1..40)) {
            let mut line = Line::default();
            let mut queue = VecDeque::new();
            let (mut number, mut longest) = (0, 0);
            for (pushes, pops) in steps {
                for _ in 0..pushes {
                    let mut packet = Packet::new(1, 2, 3, 0);
                    packet.arrives(Time(number));
                    line.push(packet);
                    queue.push_back(packet);
                    number += 1;
                }
                longest = queue.len().max(longest);
                prop_assert!(line.slots.len() <= (longest * 5 / 4).max(SMALL) + LEAST_SLOTS);
                for _ in 0..pops {
                    let due = queue.pop_front_if(|packet| packet.arrival() < Time(number / 2));
                    prop_assert_eq!(line.pop_before(Time(number / 2)), due);
                }
                line.shrink();
                prop_assert!(line.slots.len() <= (4 * queue.len() + 4).max(SMALL));
                prop_assert!(line.iter().eq(queue.iter()));
                prop_assert_eq!(line.first_arrival(), queue.front().map_or(Time::NEVER, Packet::arrival));
            }
            prop_assert!(queue.into_iter().eq(line.drain()) && line.is_empty());
        }
    }
}
