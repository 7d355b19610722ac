//! What stands beside a packet: the SACK blocks of ACKs, which most ACKs do not have.
//!
//! Where slow starts overshoot, every second ACK has some, and they take more than the packets. So they are kept as 16-bit
//! distances and lengths; the few of windows so large that these do not suffice stand in a store of their own.

use crate::tcp::receiver::{MAX_SACK_BLOCKS, SackBlocks};

/// The SACK blocks of one ACK in flight, and the number that keeps the ACK apart from others of its flow.
#[derive(Debug, Clone, Copy, Default)]
struct Beside {
    number: u32,
    /// The lowest segment of all blocks; where there is no room for the blocks, their place among the [`Pool::far`] ones.
    base: u32,
    /// Of each block its distance from the base, and from [`LENGTH`] on its length; of no length if there is none, the first one if
    /// there is no room. Each is one word: narrower ones would stall the copy of what was just written.
    blocks: [u32; MAX_SACK_BLOCKS + 1],
}

/// The place of a block's length, above 16 bits of distance.
const LENGTH: u32 = 16;

/// Above 15 bits of the length of the first block: it is a duplicate.
const DUPLICATE: u32 = 1 << 31;

impl Beside {
    /// Writes the blocks down; `false` if they do not lie close enough together.
    #[inline]
    fn write(&mut self, sack: &SackBlocks, number: u32) -> bool {
        let base = sack.all().iter().fold(u32::MAX, |base, block| base.min(block.0));
        let mut bits = 0; // that there must be room for
        let mut flag = if sack.duplicate().is_some() { DUPLICATE } else { 0 };
        self.blocks = [0; MAX_SACK_BLOCKS + 1];
        for (close, (start, end)) in self.blocks.iter_mut().zip(sack.all()) {
            let (distance, length) = (start - base, end - start);
            bits |= distance | length | length << 1;
            *close = distance | length << LENGTH | flag;
            flag = 0;
        }
        (self.number, self.base) = (number, base);
        bits < 1 << LENGTH
    }

    fn is_far(&self) -> bool {
        self.blocks[0] >> LENGTH == 0
    }

    #[inline]
    fn read(&self, blocks: &mut SackBlocks) {
        if self.blocks[0] & DUPLICATE != 0 {
            blocks.begin_with_duplicate();
        }
        for close in self.blocks.into_iter().take_while(|close| close >> LENGTH != 0) {
            let start = self.base + (close & ((1 << LENGTH) - 1));
            blocks.push((start, start + ((close & !DUPLICATE) >> LENGTH)));
        }
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

impl<T: Default> Store<T> {
    /// A place to write to.
    #[inline]
    fn place(&mut self) -> (u32, &mut T) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.items.push(T::default());
            (self.items.len() - 1) as u32
        });
        (place, &mut self.items[place as usize])
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
    #[inline]
    pub fn put(&mut self, sack: &SackBlocks, number: u32) -> u32 {
        let (place, beside) = self.close.place();
        if !beside.write(sack, number) {
            self.put_far(place, sack);
        }
        place
    }

    #[cold]
    #[inline(never)]
    fn put_far(&mut self, place: u32, sack: &SackBlocks) {
        let (far, blocks) = self.far.place();
        *blocks = *sack;
        let beside = &mut self.close.items[place as usize];
        (beside.base, beside.blocks) = (far, [0; MAX_SACK_BLOCKS + 1]);
    }

    /// The number of the ACK whose blocks stand in a place.
    pub fn number(&self, place: u32) -> u32 {
        self.close.items[place as usize].number
    }

    /// Writes the blocks in a place where there are none.
    #[inline]
    pub fn read(&self, place: u32, blocks: &mut SackBlocks) {
        let beside = &self.close.items[place as usize];
        if beside.is_far() {
            *blocks = self.far.items[beside.base as usize];
        } else {
            beside.read(blocks);
        }
    }

    /// Empties a place.
    pub fn release(&mut self, place: u32) {
        let beside = &self.close.items[place as usize];
        if beside.is_far() {
            self.far.free.push(beside.base);
        }
        self.close.free.push(place);
    }

    /// Empties a place, and writes the blocks that were there where there are none.
    #[inline]
    pub fn take(&mut self, place: u32, blocks: &mut SackBlocks) {
        self.read(place, blocks);
        self.release(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::scoreboard::Range;
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
                    let (mut read, mut taken) = (SackBlocks::default(), SackBlocks::default());
                    pool.read(place, &mut read);
                    prop_assert_eq!((pool.number(place), read), (number, sack));
                    pool.take(place, &mut taken);
                    prop_assert_eq!(taken, sack);
                }
            }
            let most = pool.close.items.len();
            kept.iter().for_each(|(place, ..)| pool.release(*place));
            prop_assert_eq!((pool.close.free.len(), pool.far.free.len()), (most, pool.far.items.len()));
        }
    }
}
