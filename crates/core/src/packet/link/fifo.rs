//! The packets of links, in the order of their arrival at the far end.
//!
//! Packets in flight take most of a run's memory. So all FIFOs share one store of chunks: a burst that moves from FIFO to FIFO
//! reuses the same chunks.

use crate::packet::link::packet::Packet;
use crate::prefetch::prefetch;
use crate::units::Time;

/// Packets in a chunk.
const CHUNK: u32 = if cfg!(test) { 8 } else { 64 };
/// A store of this many slots (1.5 MB) or more does not fit into the nearer caches: chunks are prefetched.
const PREFETCH_FROM: usize = if cfg!(test) { 64 } else { 1 << 16 };
/// No chunk.
const NONE: u32 = u32::MAX;

/// A first-in-first-out queue of packets in a [`FifoStore`].
#[derive(Debug, Clone, Copy)]
pub struct Fifo {
    /// The slot of the first packet.
    head: u32,
    /// The slot of the next packet to be pushed. At a multiple of [`CHUNK`], the push takes a new chunk.
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

    /// Whether the FIFO has no packet.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Arrival of the first packet; [`Time::NEVER`] if the FIFO is empty.
    #[inline(always)]
    pub fn first_arrival(&self) -> Time {
        self.first_arrival
    }

    /// The slot of the first packet. The FIFO must not be empty.
    #[inline(always)]
    pub fn first_slot(&self) -> u32 {
        self.head
    }

    /// The slot of the last packet. The FIFO must not be empty.
    #[inline(always)]
    pub fn last_slot(&self) -> u32 {
        self.tail - 1
    }
}

/// The store of all FIFOs.
#[derive(Debug)]
pub struct FifoStore {
    /// The packets by slot; slots outside all FIFOs hold stale packets.
    slots: Vec<Packet>,
    /// For each chunk, the next chunk of its FIFO, or the next free chunk.
    next_chunk: Vec<u32>,
    /// For each chunk, the previous chunk of its FIFO; stale for the first chunk.
    previous_chunk: Vec<u32>,
    /// The first free chunk.
    free: u32,
}

impl Default for FifoStore {
    fn default() -> FifoStore {
        FifoStore { slots: Vec::new(), next_chunk: Vec::new(), previous_chunk: Vec::new(), free: NONE }
    }
}

impl FifoStore {
    /// The packet in a slot of a FIFO.
    #[inline(always)]
    pub fn at(&self, slot: u32) -> &Packet {
        &self.slots[slot as usize]
    }

    /// The slot of the packet behind this one; stale behind the last packet.
    #[inline(always)]
    pub fn next_slot(&self, slot: u32) -> u32 {
        let next = slot + 1;
        if next.is_multiple_of(CHUNK) { self.next_chunk[(slot / CHUNK) as usize].wrapping_mul(CHUNK) } else { next }
    }

    /// Appends a packet.
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
        let chunk = self.allocate_chunk();
        if fifo.len == 0 {
            fifo.head = chunk * CHUNK;
        } else {
            let last = fifo.last_slot() / CHUNK;
            self.next_chunk[last as usize] = chunk;
            self.previous_chunk[chunk as usize] = last;
        }
        fifo.tail = chunk * CHUNK;
    }

    fn allocate_chunk(&mut self) -> u32 {
        if self.free == NONE {
            self.slots.resize(self.slots.len() + CHUNK as usize, Packet::new(0, 0, 0, 0));
            self.next_chunk.push(NONE);
            self.previous_chunk.push(NONE);
            return self.next_chunk.len() as u32 - 1;
        }
        let chunk = self.free;
        self.free = self.next_chunk[chunk as usize];
        chunk
    }

    fn free_chunk(&mut self, chunk: u32) {
        self.next_chunk[chunk as usize] = self.free;
        self.free = chunk;
    }

    /// Inserts a packet in front of all packets that arrive later. Returns the number of those packets. The packet arrives at its instant. If
    /// that is taken, it arrives at the next free picosecond, because no two packets of a link arrive together.
    pub fn insert(&mut self, fifo: &mut Fifo, mut packet: Packet) -> usize {
        self.push(fifo, packet);
        let (mut slot, mut later) = (fifo.last_slot(), 0);
        while slot != fifo.head {
            let before = self.previous_slot(slot);
            let arrival = self.slots[before as usize].arrival();
            if arrival <= packet.arrival() {
                if arrival == packet.arrival() {
                    packet.set_arrival(Time(arrival.0 + 1));
                }
                break;
            }
            self.slots[slot as usize] = self.slots[before as usize];
            (slot, later) = (before, later + 1);
        }
        while later > 0 && self.slots[self.next_slot(slot) as usize].arrival() == packet.arrival() {
            let next = self.next_slot(slot);
            self.slots[slot as usize] = self.slots[next as usize];
            (slot, later) = (next, later - 1);
            packet.set_arrival(Time(packet.arrival().0 + 1));
        }
        self.slots[slot as usize] = packet;
        fifo.first_arrival = self.slots[fifo.head as usize].arrival();
        later
    }

    /// The slot of the packet before this one, which is not the first.
    fn previous_slot(&self, slot: u32) -> u32 {
        if slot.is_multiple_of(CHUNK) {
            (self.previous_chunk[(slot / CHUNK) as usize] + 1) * CHUNK - 1
        } else {
            slot - 1
        }
    }

    /// Removes the first packet. The FIFO must not be empty.
    #[inline(always)]
    pub fn pop(&mut self, fifo: &mut Fifo) -> Packet {
        let packet = self.slots[fifo.head as usize];
        self.advance(fifo);
        self.update_first_arrival(fifo);
        packet
    }

    /// Removes the first packet without reading the next one. [`Fifo::first_arrival`] is stale until
    /// [`Self::update_first_arrival`]. The FIFO must not be empty.
    #[inline(always)]
    pub fn advance(&mut self, fifo: &mut Fifo) {
        debug_assert!(!fifo.is_empty());
        fifo.len -= 1;
        fifo.head += 1;
        if fifo.head.is_multiple_of(CHUNK) {
            fifo.head = self.leave_chunk(fifo.head, fifo.is_empty());
        }
    }

    /// Reads the arrival of the first packet, after [`Self::advance`].
    #[inline(always)]
    pub fn update_first_arrival(&self, fifo: &mut Fifo) {
        fifo.first_arrival = if fifo.is_empty() { Time::NEVER } else { self.slots[fifo.head as usize].arrival() };
    }

    /// Frees the chunk that a FIFO's head has left. Takes and returns the head's slot, so that the compiler can keep the FIFO in registers.
    #[cold]
    #[inline(never)]
    fn leave_chunk(&mut self, head: u32, is_empty: bool) -> u32 {
        let chunk = head / CHUNK - 1;
        let head = if is_empty { head } else { self.enter_chunk(self.next_chunk[chunk as usize]) };
        self.free_chunk(chunk);
        head
    }

    /// The first slot of the chunk that a FIFO's head enters. Prefetches the chunk behind it.
    fn enter_chunk(&self, chunk: u32) -> u32 {
        if self.slots.len() >= PREFETCH_FROM {
            let next = self.next_chunk[chunk as usize] as usize;
            if let Some(slots) = self.slots.as_chunks::<{ CHUNK as usize }>().0.get(next) {
                prefetch(slots);
                prefetch(&self.next_chunk[next]);
            }
        }
        chunk * CHUNK
    }

    /// Removes the first packet if it arrives before an instant.
    #[inline(always)]
    pub fn pop_before(&mut self, fifo: &mut Fifo, instant: Time) -> Option<Packet> {
        (fifo.first_arrival < instant).then(|| self.pop(fifo))
    }

    /// Frees the last chunk of an empty FIFO.
    #[inline(always)]
    pub fn release(&mut self, fifo: &mut Fifo) {
        if fifo.is_empty() && !fifo.tail.is_multiple_of(CHUNK) {
            self.free_chunk(fifo.tail / CHUNK);
            fifo.tail = 0;
        }
    }

    /// The packets from first to last.
    pub fn iter(&self, fifo: &Fifo) -> impl Iterator<Item = Packet> {
        let slots = std::iter::successors(Some(fifo.head), |slot| Some(self.next_slot(*slot)));
        slots.take(fifo.len as usize).map(|slot| *self.at(slot))
    }

    /// Removes all packets.
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
        /// Each FIFO is a queue into which packets are inserted by arrival time, independently of the other FIFOs. The store has few unused
        /// slots.
        #[test]
        fn fifos_are_queues_and_their_store_has_few_unused_slots(
            steps in prop::collection::vec((0usize..3, 0u64..60, 0u64..60, any::<bool>()), 1..60),
            inserted in prop::collection::vec(0u64..100, 20),
        ) {
            let mut fifos = FifoStore::default();
            let mut pairs: [(Fifo, VecDeque<Packet>); 3] = Default::default();
            let (mut number, mut max) = (0, 0);
            for (index, pushes, pops, releases) in steps {
                let (fifo, queue) = &mut pairs[index];
                for _ in 0..pushes {
                    fifos.push(fifo, packet(number));
                    queue.push_back(packet(number));
                    prop_assert_eq!(fifos.at(fifo.last_slot()), &packet(number));
                    number += 1;
                }
                for earlier in inserted.iter().take(pops as usize) {
                    let asked = number.saturating_sub(*earlier);
                    let is_free = |at: &u64| !queue.iter().any(|other| other.arrival() == Time(*at));
                    let mut expected = packet(asked);
                    expected.set_arrival(Time((asked..).find(is_free).expect("all are finite")));
                    let place = queue.partition_point(|other| other.arrival() <= expected.arrival());
                    prop_assert_eq!(fifos.insert(fifo, packet(asked)), queue.len() - place);
                    queue.insert(place, expected);
                    number = number.max(queue[queue.len() - 1].arrival().0 + 1);
                }
                max = max.max(pairs.iter().map(|(_, queue)| queue.len()).sum());
                prop_assert!(fifos.slots.len() <= max + 3 * 2 * CHUNK as usize);
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
            let free = std::iter::successors(Some(fifos.free), |chunk| fifos.next_chunk.get(*chunk as usize).copied());
            prop_assert_eq!(free.count() - 1, fifos.next_chunk.len(), "all chunks are free");
        }
    }
}
