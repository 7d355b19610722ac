//! The packets of links in the order of their arrival at the far end.
//!
//! The packets in flight are most of what a run keeps in memory. So all FIFOs share one store, in chunks of a few packets: a
//! burst that passes from FIFO to FIFO takes its room once, and what one FIFO leaves, another uses.

use crate::packet::link::packet::Packet;
use crate::prefetch::prefetch;
use crate::units::Time;

/// The packets of a chunk.
const CHUNK: u32 = if cfg!(test) { 8 } else { 64 };
/// Fewer slots, 1.5 MB, stay in the nearer caches.
const MANY: usize = if cfg!(test) { 64 } else { 1 << 16 };
/// No chunk.
const NONE: u32 = u32::MAX;

/// A first-in-first-out queue of packets that stand in [`FifoStore`].
#[derive(Debug, Clone, Copy)]
pub struct Fifo {
    /// The slot of the first packet.
    head: u32,
    /// The slot of the next packet to come; a multiple of [`CHUNK`] if a new chunk is needed for it.
    tail: u32,
    len: u32,
    first_arrival: Time,
}

impl Default for Fifo {
    fn default() -> Fifo {
        Fifo { head: 0, tail: 0, len: 0, first_arrival: Time::NEVER }
    }
}

impl Fifo {
    /// Packets in the FIFO.
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

/// The store of all FIFOs.
#[derive(Debug)]
pub struct FifoStore {
    /// What is outside all FIFOs is of no meaning.
    slots: Vec<Packet>,
    /// For every chunk, the next one in its FIFO, or of those that are free.
    following: Vec<u32>,
    free: u32,
}

impl Default for FifoStore {
    fn default() -> FifoStore {
        FifoStore { slots: Vec::new(), following: Vec::new(), free: NONE }
    }
}

impl FifoStore {
    /// The packet in a slot of a FIFO.
    #[inline(always)]
    pub fn at(&self, slot: u32) -> &Packet {
        &self.slots[slot as usize]
    }

    /// The slot behind one of a FIFO; of no meaning behind the last.
    #[inline(always)]
    pub fn next_slot(&self, slot: u32) -> u32 {
        let next = slot + 1;
        if next.is_multiple_of(CHUNK) { self.following[(slot / CHUNK) as usize].wrapping_mul(CHUNK) } else { next }
    }

    /// Puts a packet behind all others.
    #[inline(always)]
    pub fn push(&mut self, fifo: &mut Fifo, packet: Packet) {
        if fifo.tail.is_multiple_of(CHUNK) {
            self.extend(fifo);
        }
        self.slots[fifo.tail as usize] = packet;
        fifo.tail += 1;
        if fifo.len == 0 {
            fifo.first_arrival = packet.arrival();
        }
        fifo.len += 1;
    }

    #[cold]
    #[inline(never)]
    fn extend(&mut self, fifo: &mut Fifo) {
        let chunk = self.take_chunk();
        if fifo.len == 0 {
            fifo.head = chunk * CHUNK;
        } else {
            self.following[(fifo.last_slot() / CHUNK) as usize] = chunk;
        }
        fifo.tail = chunk * CHUNK;
    }

    fn take_chunk(&mut self) -> u32 {
        if self.free == NONE {
            self.slots.resize(self.slots.len() + CHUNK as usize, Packet::new(0, 0, 0, 0));
            self.following.push(NONE);
            return self.following.len() as u32 - 1;
        }
        let chunk = self.free;
        self.free = self.following[chunk as usize];
        chunk
    }

    fn give_chunk(&mut self, chunk: u32) {
        self.following[chunk as usize] = self.free;
        self.free = chunk;
    }

    /// Takes the first packet out; there must be one.
    #[inline(always)]
    pub fn pop(&mut self, fifo: &mut Fifo) -> Packet {
        let packet = self.slots[fifo.head as usize];
        self.advance(fifo);
        self.update_first_arrival(fifo);
        packet
    }

    /// Takes the first packet out, there must be one, but does not look for the next: until
    /// [`Self::update_first_arrival`] the FIFO does not know when that arrives.
    #[inline(always)]
    pub fn advance(&mut self, fifo: &mut Fifo) {
        debug_assert!(!fifo.is_empty());
        fifo.len -= 1;
        fifo.head += 1;
        if fifo.head.is_multiple_of(CHUNK) {
            fifo.head = self.leave_chunk(fifo.head, fifo.is_empty());
        }
    }

    /// See [`Self::advance`].
    #[inline(always)]
    pub fn update_first_arrival(&self, fifo: &mut Fifo) {
        fifo.first_arrival = if fifo.is_empty() { Time::NEVER } else { self.slots[fifo.head as usize].arrival() };
    }

    /// A FIFO's head has left its chunk. Returns the slot where the head is now; the FIFO's address would keep it in memory.
    #[cold]
    #[inline(never)]
    fn leave_chunk(&mut self, head: u32, is_empty: bool) -> u32 {
        let chunk = head / CHUNK - 1;
        let head = if is_empty { head } else { self.enter_chunk(self.following[chunk as usize]) };
        self.give_chunk(chunk);
        head
    }

    /// A FIFO's head comes to a chunk. Returns its slot, and asks for the chunk after it, and for what that one is followed by.
    fn enter_chunk(&self, chunk: u32) -> u32 {
        if self.slots.len() >= MANY {
            let next = self.following[chunk as usize] as usize;
            if let Some(slots) = self.slots.as_chunks::<{ CHUNK as usize }>().0.get(next) {
                prefetch(slots);
                prefetch(&self.following[next]);
            }
        }
        chunk * CHUNK
    }

    /// Takes the first packet out if it arrives before an instant.
    #[inline(always)]
    pub fn pop_before(&mut self, fifo: &mut Fifo, instant: Time) -> Option<Packet> {
        (fifo.first_arrival < instant).then(|| self.pop(fifo))
    }

    /// Gives back what an empty FIFO keeps.
    #[inline(always)]
    pub fn release(&mut self, fifo: &mut Fifo) {
        if fifo.is_empty() && !fifo.tail.is_multiple_of(CHUNK) {
            self.give_chunk(fifo.tail / CHUNK);
            fifo.tail = 0;
        }
    }

    /// From the first to the last.
    pub fn iter(&self, fifo: &Fifo) -> impl Iterator<Item = Packet> {
        let slots = std::iter::successors(Some(fifo.head), |slot| Some(self.next_slot(*slot)));
        slots.take(fifo.len as usize).map(|slot| *self.at(slot))
    }

    /// Takes all out.
    pub fn drain(&mut self, fifo: &mut Fifo) -> Vec<Packet> {
        let packets = std::iter::from_fn(|| (!fifo.is_empty()).then(|| self.pop(fifo))).collect();
        self.release(fifo);
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
        packet.set_arrival(Time(number));
        packet
    }

    proptest! {
        /// FIFOs are queues, whatever the others do, and all together have little room to spare.
        #[test]
        fn lines_are_queues_with_little_room_to_spare(
            steps in prop::collection::vec((0usize..3, 0u64..60, 0u64..60, any::<bool>()), 1..60),
        ) {
            let mut fifos = FifoStore::default();
            let mut pairs: [(Fifo, VecDeque<Packet>); 3] = Default::default();
            let (mut number, mut most) = (0, 0);
            for (index, pushes, pops, releases) in steps {
                let (fifo, queue) = &mut pairs[index];
                for _ in 0..pushes {
                    fifos.push(fifo, packet(number));
                    queue.push_back(packet(number));
                    prop_assert_eq!(fifos.at(fifo.last_slot()), &packet(number));
                    number += 1;
                }
                most = most.max(pairs.iter().map(|(_, queue)| queue.len()).sum());
                prop_assert!(fifos.slots.len() <= most + 3 * 2 * CHUNK as usize);
                let (fifo, queue) = &mut pairs[index];
                for _ in 0..pops {
                    let due = queue.pop_front_if(|packet| packet.arrival() < Time(number / 2));
                    prop_assert_eq!(fifos.pop_before(fifo, Time(number / 2)), due);
                }
                if releases {
                    fifos.release(fifo);
                }
                for (fifo, queue) in &pairs {
                    prop_assert!(fifos.iter(fifo).eq(queue.iter().copied()));
                    prop_assert_eq!(fifo.first_arrival(), queue.front().map_or(Time::NEVER, Packet::arrival));
                }
            }
            for (fifo, queue) in &mut pairs {
                prop_assert!(queue.drain(..).eq(fifos.drain(fifo)) && fifo.is_empty());
            }
            let free = std::iter::successors(Some(fifos.free), |chunk| fifos.following.get(*chunk as usize).copied());
            prop_assert_eq!(free.count() - 1, fifos.following.len(), "all pieces are free");
        }
    }
}
