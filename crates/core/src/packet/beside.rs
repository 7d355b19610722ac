//! What stands beside a packet: the SACK blocks of ACKs, which most ACKs do not have.
//!
//! Where slow starts overshoot, every second ACK has some, and they take more than the packets. So they are kept as 16-bit
//! distances; the few of windows so large that these do not suffice stand in a store of their own.

use crate::prefetch::prefetch;
use crate::tcp::receiver::{MAX_SACK_BLOCKS, SackBlocks};
use crate::tcp::scoreboard::Range;

/// The SACK blocks of one ACK in flight, and the number that keeps the ACK apart from others of its flow.
#[derive(Debug, Clone, Copy)]
struct Beside {
    number: u32,
    /// The lowest segment of all blocks; where there is no room for the blocks, their place among the [`Pool::far`] ones.
    base: u32,
    /// Of each block its distance from the base and its length; of no length if there is none, the first one if there is no room.
    blocks: [(u16, u16); MAX_SACK_BLOCKS + 1],
}

/// Beside the length of the first block: it is a duplicate.
const DUPLICATE: u16 = 1 << 15;

impl Beside {
    /// `None` if the blocks do not lie close enough together.
    #[inline]
    fn of(sack: &SackBlocks, number: u32) -> Option<Beside> {
        let base = sack.all().iter().map(|block| block.0).min()?;
        let mut blocks = [(0, 0); MAX_SACK_BLOCKS + 1];
        for (close, (start, end)) in blocks.iter_mut().zip(sack.all()) {
            let (distance, length) = (start - base, end - start);
            if distance > u32::from(u16::MAX) || length >= u32::from(DUPLICATE) {
                return None;
            }
            *close = (distance as u16, length as u16);
        }
        blocks[0].1 |= if sack.duplicate().is_some() { DUPLICATE } else { 0 };
        Some(Beside { number, base, blocks })
    }

    fn is_far(&self) -> bool {
        self.blocks[0].1 == 0
    }

    #[inline]
    fn blocks(&self) -> SackBlocks {
        let is_duplicate = self.blocks[0].1 & DUPLICATE != 0;
        let range = |(distance, length): (u16, u16)| -> Range {
            let start = self.base + u32::from(distance);
            if length == 0 { (0, 0) } else { (start, start + u32::from(length & !DUPLICATE)) }
        };
        let length = self.blocks.iter().take_while(|block| block.1 != 0).count();
        SackBlocks::of(self.blocks.map(range), length, is_duplicate)
    }
}

/// Items with places that are used again.
#[derive(Debug)]
struct Store<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Store<T> {
    fn default() -> Store<T> {
        Store { items: Vec::new(), free: Vec::new() }
    }
}

impl<T> Store<T> {
    fn put(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.items[place as usize] = item;
                place
            }
            None => {
                self.items.push(item);
                (self.items.len() - 1) as u32
            }
        }
    }
}

/// The blocks of all ACKs in flight.
#[derive(Debug, Default)]
pub struct Pool {
    close: Store<Beside>,
    far: Store<SackBlocks>,
}

impl Pool {
    /// Stores an ACK's blocks, of which there are some, and its number; returns the place.
    pub fn put(&mut self, sack: &SackBlocks, number: u32) -> u32 {
        let beside = Beside::of(sack, number).unwrap_or_else(|| self.beside_far(sack, number));
        self.close.put(beside)
    }

    #[cold]
    fn beside_far(&mut self, sack: &SackBlocks, number: u32) -> Beside {
        Beside { number, base: self.far.put(*sack), blocks: [(0, 0); MAX_SACK_BLOCKS + 1] }
    }

    /// Asks for what is at a place.
    #[inline(always)]
    pub fn ask_for(&self, place: u32) {
        if let Some(beside) = self.close.items.get(place as usize) {
            prefetch(beside);
        }
    }

    /// The number of the ACK whose blocks stand in a place.
    pub fn number(&self, place: u32) -> u32 {
        self.close.items[place as usize].number
    }

    /// The blocks in a place.
    pub fn blocks(&self, place: u32) -> SackBlocks {
        let beside = &self.close.items[place as usize];
        if beside.is_far() { self.far.items[beside.base as usize] } else { beside.blocks() }
    }

    /// Empties a place.
    pub fn release(&mut self, place: u32) {
        let beside = &self.close.items[place as usize];
        if beside.is_far() {
            self.far.free.push(beside.base);
        }
        self.close.free.push(place);
    }

    /// Empties a place, and returns the blocks that were there.
    pub fn take(&mut self, place: u32) -> SackBlocks {
        let blocks = self.blocks(place);
        self.release(place);
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is taken out is what was put in, near or far, whatever else came and went.
        #[test]
        fn blocks_come_out_as_they_went_in(
            acks in prop::collection::vec((prop::collection::vec((0u32..200_000, 1u32..50_000), 1..5), any::<bool>(), 0usize..4), 1..40),
            base in prop::sample::select(vec![0u32, 1 << 20, u32::MAX - 300_000]),
        ) {
            let mut pool = Pool::default();
            let mut kept = Vec::new();
            for (number, (blocks, has_duplicate, taken)) in acks.into_iter().enumerate() {
                let blocks: Vec<Range> = blocks.iter().map(|(start, length)| (base + start, base + start + length)).collect();
                let (duplicate, held) = if has_duplicate { (Some(blocks[0]), &blocks[1..]) } else { (None, &blocks[..]) };
                let sack = SackBlocks::new(duplicate, held);
                kept.push((pool.put(&sack, number as u32), number as u32, sack));
                for _ in 0..taken.min(kept.len()) {
                    let (place, number, sack) = kept.remove(0);
                    prop_assert_eq!((pool.number(place), pool.blocks(place)), (number, sack));
                    prop_assert_eq!(pool.take(place), sack);
                }
            }
            let most = pool.close.items.len();
            kept.iter().for_each(|(place, ..)| pool.release(*place));
            prop_assert_eq!((pool.close.free.len(), pool.far.free.len()), (most, pool.far.items.len()));
        }
    }
}
