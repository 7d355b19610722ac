//! The SACK blocks of ACKs in flight. Most ACKs have none, so a packet carries only a handle. The pool also stores the windows and
//! timestamps of Linux's packets, and when data was sent if a run asks for delays.
//!
//! When slow starts overshoot, more ACKs with blocks are in flight than there are flows. An entry has space for three blocks, which
//! suffices unless a duplicate is reported. Then the fourth block needs an entry of a second list.

use crate::packet::link::packet::{HAS_SACK, Packet};
use crate::prefetch::prefetch;
use crate::tcp::receiver::{Announcement, MAX_SACK_BLOCKS, SackBlocks};
use crate::tcp::scoreboard::Range;
use crate::units::Time;

/// The blocks of one ACK.
#[derive(Debug, Clone, Copy, Default)]
struct SackEntry {
    /// With four blocks, the first block's start is an index in [`SackPool::four_blocks`].
    blocks: [Range; MAX_SACK_BLOCKS],
    /// The number of the ACK, which its packet cannot hold; in a free entry, the next free entry.
    number: u32,
}

/// Layout of a handle, from the highest bit: the entry's index, [`ANNOUNCES`], [`DUPLICATE`], and the number of blocks. The number 0
/// means four blocks, or with [`DUPLICATE`] none.
const INDEX_BIT: u32 = 4;
/// Set if the packet carries more than its blocks: see [`SackPool::announcements`].
const ANNOUNCES: u32 = 1 << 3;
/// The first block is a duplicate (RFC 2883).
const DUPLICATE: u32 = 1 << 2;
const LENGTH: u32 = DUPLICATE - 1;

/// The SACK blocks of all ACKs in flight.
#[derive(Debug)]
pub struct SackPool {
    entries: Vec<SackEntry>,
    /// The first free entry, or [`NONE`].
    free: u32,
    four_blocks: Vec<SackBlocks>,
    /// Announcements by index, up to the greatest index that was stored.
    announcements: Vec<Announcement>,
    /// When packets were sent, by index, up to the greatest index of a stamped packet.
    sent: Vec<Time>,
    free_four_blocks: Vec<u32>,
}

/// The entry of a packet, outside of any pool.
pub struct SackRecord {
    blocks: SackBlocks,
    number: u32,
    announcement: Option<Announcement>,
    sent: Option<Time>,
}

const NONE: u32 = u32::MAX;

/// Bytes of the option that has the blocks of a handle (RFC 2018 section 3), with two NOPs before it; 0 without blocks.
pub fn option_bytes(handle: u32) -> u32 {
    match handle & (LENGTH | DUPLICATE) {
        DUPLICATE => 0,
        0 => 4 + 8 * 4,
        _ => 4 + 8 * (handle & LENGTH),
    }
}

impl Default for SackPool {
    fn default() -> SackPool {
        SackPool {
            entries: Vec::new(),
            free: NONE,
            four_blocks: Vec::new(),
            announcements: Vec::new(),
            sent: Vec::new(),
            free_four_blocks: Vec::new(),
        }
    }
}

impl SackPool {
    /// Stores the blocks and the number of an ACK with at least one block. Returns the handle.
    pub fn put(&mut self, sack: &SackBlocks, number: u32) -> u32 {
        let [blocks @ .., last] = *sack.slots();
        if last != (0, 0) {
            return self.put_four(sack, number);
        }
        let kind = if sack.duplicate().is_some() { DUPLICATE } else { 0 };
        let write = |entry: &mut [Range; MAX_SACK_BLOCKS]| {
            *entry = blocks;
            sack.all().len() as u32
        };
        self.put_with(number, write) | kind
    }

    /// Stores a packet's blocks (possibly none), its number and its announcement. Returns the handle.
    pub fn put_announcing(&mut self, sack: &SackBlocks, number: u32, announcement: Announcement) -> u32 {
        let handle = if sack.is_empty() { self.put_with(number, |_| 0) | DUPLICATE } else { self.put(sack, number) };
        self.announce(handle, announcement)
    }

    /// Adds a value to the packet with this handle. Returns its handle from now on.
    pub fn add_value(&mut self, handle: u32, value: u32) -> u32 {
        let said = self.announcement(handle).unwrap_or_default();
        self.announce(handle, Announcement { value: Some(value), ..said })
    }

    fn announce(&mut self, handle: u32, announcement: Announcement) -> u32 {
        let index = (handle >> INDEX_BIT) as usize;
        if self.announcements.len() <= index {
            self.announcements.resize(index + 1, Announcement::default());
        }
        self.announcements[index] = announcement;
        handle | ANNOUNCES
    }

    /// Stores when a packet was sent. It gets an entry if it has none.
    pub fn stamp(&mut self, packet: &mut Packet, now: Time) {
        if !packet.has(HAS_SACK) {
            packet.set_number(self.put_with(packet.number(), |_| 0) | DUPLICATE);
            packet.set_flags(HAS_SACK);
        }
        self.set_sent(packet.number(), now);
    }

    fn set_sent(&mut self, handle: u32, sent: Time) {
        let index = (handle >> INDEX_BIT) as usize;
        if self.sent.len() <= index {
            self.sent.resize(index + 1, Time::NEVER);
        }
        self.sent[index] = sent;
    }

    /// When the packet with this handle was sent; `None` if packets are not [stamped](Self::stamp).
    pub fn sent(&self, handle: u32) -> Option<Time> {
        self.sent.get((handle >> INDEX_BIT) as usize).copied()
    }

    /// Removes the entry of a handle, which goes to another pool.
    pub fn remove(&mut self, handle: u32) -> SackRecord {
        let (number, announcement, sent) = (self.number(handle), self.announcement(handle), self.sent(handle));
        let mut blocks = SackBlocks::default();
        self.take(handle, &mut blocks);
        SackRecord { blocks, number, announcement, sent }
    }

    /// Adds the entry of another pool. Returns its handle.
    pub fn add(&mut self, record: &SackRecord) -> u32 {
        let SackRecord { blocks, number, announcement, sent } = record;
        let handle = match announcement {
            Some(announcement) => self.put_announcing(blocks, *number, *announcement),
            None if blocks.is_empty() => self.put_with(*number, |_| 0) | DUPLICATE,
            None => self.put(blocks, *number),
        };
        if let Some(sent) = sent {
            self.set_sent(handle, *sent);
        }
        handle
    }

    /// The announcement of the packet with this handle, if it has one.
    #[inline]
    pub fn announcement(&self, handle: u32) -> Option<Announcement> {
        (handle & ANNOUNCES != 0).then(|| self.announcements[(handle >> INDEX_BIT) as usize])
    }

    /// Stores at most three blocks, none a duplicate. `write` writes them and returns their number, which saves a copy.
    #[inline(always)]
    pub fn put_with(&mut self, number: u32, write: impl FnOnce(&mut [Range; MAX_SACK_BLOCKS]) -> u32) -> u32 {
        let index = self.allocate();
        let entry = &mut self.entries[index as usize];
        *entry = SackEntry { blocks: [(0, 0); MAX_SACK_BLOCKS], number };
        index << INDEX_BIT | write(&mut entry.blocks)
    }

    /// The index of an entry that was free.
    #[inline(always)]
    fn allocate(&mut self) -> u32 {
        if self.free == NONE {
            return self.extend();
        }
        let index = self.free;
        self.free = self.entries[index as usize].number;
        index
    }

    #[cold]
    #[inline(never)]
    fn extend(&mut self) -> u32 {
        assert!(self.entries.len() < 1 << (u32::BITS - INDEX_BIT), "more ACKs with blocks in flight than handles");
        self.entries.push(SackEntry::default());
        self.entries.len() as u32 - 1
    }

    #[cold]
    #[inline(never)]
    fn put_four(&mut self, sack: &SackBlocks, number: u32) -> u32 {
        let four = self.free_four_blocks.pop().unwrap_or(self.four_blocks.len() as u32);
        if four as usize == self.four_blocks.len() {
            self.four_blocks.push(*sack);
        } else {
            self.four_blocks[four as usize] = *sack;
        }
        let index = self.allocate();
        self.entries[index as usize] = SackEntry { blocks: [(four, 0); MAX_SACK_BLOCKS], number };
        index << INDEX_BIT
    }

    fn entry(&self, handle: u32) -> &SackEntry {
        &self.entries[(handle >> INDEX_BIT) as usize]
    }

    /// Prefetches the entry of a handle.
    #[inline(always)]
    pub fn prefetch(&self, handle: u32) {
        prefetch(self.entry(handle));
    }

    /// The number of the ACK with this handle.
    pub fn number(&self, handle: u32) -> u32 {
        self.entry(handle).number
    }

    /// The number that selectors see: the entropy value of a packet that has one, or its number.
    pub fn selected_number(&self, handle: u32) -> u32 {
        self.announcement(handle).and_then(|announcement| announcement.value).unwrap_or_else(|| self.number(handle))
    }

    /// Reads the blocks of a handle into `blocks`, which must be empty.
    #[inline]
    pub fn read(&self, handle: u32, blocks: &mut SackBlocks) {
        let entry = self.entry(handle);
        if handle & LENGTH == 0 {
            if handle & DUPLICATE != 0 {
                return;
            }
            *blocks = self.four_blocks[entry.blocks[0].0 as usize];
        } else {
            blocks.fill(entry.blocks, handle & LENGTH, handle & DUPLICATE != 0);
        }
    }

    /// Frees the entry of a handle.
    #[inline]
    pub fn release(&mut self, handle: u32) {
        if handle & (LENGTH | DUPLICATE) == 0 {
            let four = self.entry(handle).blocks[0].0;
            self.free_four_blocks.push(four);
        }
        let index = handle >> INDEX_BIT;
        self.entries[index as usize].number = std::mem::replace(&mut self.free, index);
    }

    /// Reads the blocks of a handle into `blocks`, which must be empty, and frees the entry.
    #[inline]
    pub fn take(&mut self, handle: u32, blocks: &mut SackBlocks) {
        self.read(handle, blocks);
        self.release(handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The pool returns the blocks that were stored, independently of other entries.
        #[test]
        fn the_pool_returns_the_blocks_that_were_stored(
            acks in prop::collection::vec(
                (prop::collection::vec((0u32..1000, 1u32..1000), 0..5), any::<bool>(), any::<Option<u32>>(), 0usize..4),
                1..40,
            ),
        ) {
            let mut pool = SackPool::default();
            let mut kept = Vec::new();
            let bytes_of = |blocks: usize| if blocks == 0 { 0 } else { 2 + 2 + 8 * blocks }; // two NOPs, kind and length
            for (number, (blocks, has_duplicate, window, taken)) in acks.into_iter().enumerate() {
                let blocks: Vec<Range> = blocks.iter().map(|(start, length)| (*start, start + length)).collect();
                let (duplicate, held) = if has_duplicate && !blocks.is_empty() { (Some(blocks[0]), &blocks[1..]) } else { (None, &blocks[..]) };
                let sack = SackBlocks::new(duplicate, held);
                let number = number as u32;
                let said = if blocks.is_empty() { Some(number) } else { window };
                let said = said.map(|window| Announcement { window, timestamp: number, ..Announcement::default() });
                let handle = match said {
                    Some(said) => pool.put_announcing(&sack, number, said),
                    None => pool.put(&sack, number),
                };
                kept.push((handle, number, sack, said));
                for _ in 0..taken.min(kept.len()) {
                    let (handle, number, sack, said) = kept.remove(0);
                    let (mut read, mut taken) = (SackBlocks::default(), SackBlocks::default());
                    pool.read(handle, &mut read);
                    prop_assert_eq!(pool.announcement(handle), said);
                    prop_assert_eq!((pool.number(handle), read), (number, sack));
                    prop_assert_eq!(option_bytes(handle) as usize, bytes_of(sack.all().len()));
                    pool.take(handle, &mut taken);
                    prop_assert_eq!(taken, sack);
                }
            }
            kept.iter().for_each(|(handle, ..)| pool.release(*handle));
            let free = std::iter::successors(Some(pool.free), |index| pool.entries.get(*index as usize).map(|entry| entry.number));
            prop_assert_eq!(free.count() - 1, pool.entries.len(), "all entries are free");
            prop_assert_eq!(pool.free_four_blocks.len(), pool.four_blocks.len());
        }
    }
}
