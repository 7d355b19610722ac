//! What stands beside a packet: the SACK blocks of ACKs, which most ACKs do not have.
//!
//! Where slow starts overshoot, there are more of them in flight than flows. So an ACK has room for three blocks, as many as
//! most carry at the most, and the few with one more, a duplicate, have their blocks in a store of their own.

use crate::prefetch::prefetch;
use crate::tcp::receiver::{MAX_SACK_BLOCKS, SackBlocks};
use crate::tcp::scoreboard::Range;

/// The blocks of one ACK in flight, and the number that keeps the ACK apart from others of its flow.
#[derive(Debug, Clone, Copy, Default)]
struct SackEntry {
    /// Where they are too many, the first segment of the first is their place among the [`SackPool::full`] ones.
    blocks: [Range; MAX_SACK_BLOCKS],
    number: u32,
}

/// A place is an index, and below it how many blocks there are, none if they are too many, and whether the first is a duplicate.
const INDEX_BIT: u32 = 3;
const DUPLICATE: u32 = 1 << 2;
const LENGTH: u32 = DUPLICATE - 1;

/// The blocks of all ACKs in flight.
#[derive(Debug)]
pub struct SackPool {
    few: Vec<SackEntry>,
    /// The one that was emptied last, whose number is that of the one emptied before, and so on; [`NONE`] ends it.
    free: u32,
    full: Vec<SackBlocks>,
    free_of_full: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Default for SackPool {
    fn default() -> SackPool {
        SackPool { few: Vec::new(), free: NONE, full: Vec::new(), free_of_full: Vec::new() }
    }
}

impl SackPool {
    /// Stores an ACK's blocks, of which there are some, and its number; returns the place.
    pub fn put(&mut self, sack: &SackBlocks, number: u32) -> u32 {
        let [blocks @ .., last] = *sack.places();
        if last != (0, 0) {
            return self.put_four(sack, number);
        }
        let kind = if sack.duplicate().is_some() { DUPLICATE } else { 0 };
        let write = |places: &mut [Range; MAX_SACK_BLOCKS]| {
            *places = blocks;
            sack.all().len() as u32
        };
        self.put_with(number, write) | kind
    }

    /// The same for the blocks, none a duplicate, that are written where they stay; `write` returns how many.
    #[inline(always)]
    pub fn put_with(&mut self, number: u32, write: impl FnOnce(&mut [Range; MAX_SACK_BLOCKS]) -> u32) -> u32 {
        let index = self.place();
        let sack_entry = &mut self.few[index as usize];
        *sack_entry = SackEntry { blocks: [(0, 0); MAX_SACK_BLOCKS], number };
        index << INDEX_BIT | write(&mut sack_entry.blocks)
    }

    /// The index of a place to write to.
    #[inline(always)]
    fn place(&mut self) -> u32 {
        if self.free == NONE {
            return self.extend();
        }
        let index = self.free;
        self.free = self.few[index as usize].number;
        index
    }

    #[cold]
    #[inline(never)]
    fn extend(&mut self) -> u32 {
        assert!(self.few.len() < 1 << (u32::BITS - INDEX_BIT), "more ACKs with blocks in flight than places");
        self.few.push(SackEntry::default());
        self.few.len() as u32 - 1
    }

    #[cold]
    #[inline(never)]
    fn put_four(&mut self, sack: &SackBlocks, number: u32) -> u32 {
        let place = self.free_of_full.pop().unwrap_or(self.full.len() as u32);
        if place as usize == self.full.len() {
            self.full.push(*sack);
        } else {
            self.full[place as usize] = *sack;
        }
        let index = self.place();
        self.few[index as usize] = SackEntry { blocks: [(place, 0); MAX_SACK_BLOCKS], number };
        index << INDEX_BIT
    }

    fn at(&self, place: u32) -> &SackEntry {
        &self.few[(place >> INDEX_BIT) as usize]
    }

    /// Asks for what is at a place.
    #[inline(always)]
    pub fn prefetch(&self, place: u32) {
        prefetch(self.at(place));
    }

    /// The number of the ACK whose blocks stand in a place.
    pub fn number(&self, place: u32) -> u32 {
        self.at(place).number
    }

    /// Makes of no blocks those in a place.
    #[inline]
    pub fn read(&self, place: u32, blocks: &mut SackBlocks) {
        let sack_entry = self.at(place);
        if place & LENGTH == 0 {
            *blocks = self.full[sack_entry.blocks[0].0 as usize];
        } else {
            blocks.fill(sack_entry.blocks, place & LENGTH, place & DUPLICATE != 0);
        }
    }

    /// Empties a place.
    #[inline]
    pub fn release(&mut self, place: u32) {
        if place & LENGTH == 0 {
            let full = self.at(place).blocks[0].0;
            self.free_of_full.push(full);
        }
        let index = place >> INDEX_BIT;
        self.few[index as usize].number = std::mem::replace(&mut self.free, index);
    }

    /// Empties a place, and makes of no blocks those that were there.
    #[inline]
    pub fn take(&mut self, place: u32, blocks: &mut SackBlocks) {
        self.read(place, blocks);
        self.release(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is taken out is what was put in, whatever else came and went.
        #[test]
        fn blocks_come_out_as_they_went_in(
            acks in prop::collection::vec((prop::collection::vec((0u32..1000, 1u32..1000), 1..5), any::<bool>(), 0usize..4), 1..40),
        ) {
            let mut pool = SackPool::default();
            let mut kept = Vec::new();
            for (number, (blocks, has_duplicate, taken)) in acks.into_iter().enumerate() {
                let blocks: Vec<Range> = blocks.iter().map(|(start, length)| (*start, start + length)).collect();
                let (duplicate, held) = if has_duplicate { (Some(blocks[0]), &blocks[1..]) } else { (None, &blocks[..]) };
                let sack = SackBlocks::new(duplicate, held);
                kept.push((pool.put(&sack, number as u32), number as u32, sack));
                for _ in 0..taken.min(kept.len()) {
                    let (place, number, sack) = kept.remove(0);
                    let (mut read, mut taken) = (SackBlocks::default(), SackBlocks::default());
                    pool.read(place, &mut read);
                    prop_assert_eq!((pool.number(place), read), (number, sack));
                    pool.take(place, &mut taken);
                    prop_assert_eq!(taken, sack);
                }
            }
            kept.iter().for_each(|(place, ..)| pool.release(*place));
            let free = std::iter::successors(Some(pool.free), |index| pool.few.get(*index as usize).map(|sack_entry| sack_entry.number));
            prop_assert_eq!(free.count() - 1, pool.few.len(), "all places are free");
            prop_assert_eq!(pool.free_of_full.len(), pool.full.len());
        }
    }
}
