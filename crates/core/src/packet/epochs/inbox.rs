//! The events of a node or a link in an epoch, and their order.
//!
//! Almost all events come in sorted sequences: the packets of one link, or the answers of hosts to them. So sequences are merged, and few events are
//! sorted.

use crate::packet::link::packet::Packet;
use crate::prefetch::prefetch_at;
use crate::spec::LinkId;
use crate::units::{Duration, Time};

/// The mean length of sequences that are worth merging; shorter ones are sorted together.
const LONG: usize = 8;

/// Up to this number, items are sorted by counting for each item those before it.
const FEW: usize = 10;

/// The bits of a [`Rank`].
const RANK_BITS: u32 = 34;

/// The rank of an event among those of its instant: the kind in the upper bits, the index below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u64);

impl Rank {
    /// The least rank: of the first start.
    pub const FIRST: Rank = Rank(0);

    /// Of a start, by its position in the order of starts.
    pub fn start(position: usize) -> Rank {
        Rank(position as u64)
    }

    /// Of an arrival over a link.
    #[inline(always)]
    pub fn arrival(link: LinkId) -> Rank {
        Rank(1 << 32 | u64::from(link))
    }

    /// The link of an [arrival](Self::arrival).
    #[inline(always)]
    pub fn link(self) -> LinkId {
        self.0 as LinkId
    }

    /// Of a timer.
    pub fn timer(timer: u32) -> Rank {
        Rank(2 << 32 | u64::from(timer))
    }

    /// The kind of the event, and its index.
    pub fn event(self) -> Event {
        match self.0 >> 32 {
            0 => Event::Start(self.0 as usize),
            1 => Event::Arrival,
            _ => Event::Timer(self.0 as u32),
        }
    }
}

/// An event at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The start of a flow, by its position in the order of starts.
    Start(usize),
    /// The arrival of a packet.
    Arrival,
    /// A timer of a flow.
    Timer(u32),
}

/// The order of an event in its epoch: the time since the epoch's begin in the upper bits, the rank below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(u64);

impl Key {
    /// Comes after all events.
    pub const NEVER: Key = Key(u64::MAX);

    /// The longest epoch whose times fit into a key: about a millisecond.
    pub const LONGEST_EPOCH: Duration = Duration(1 << (u64::BITS - RANK_BITS));

    /// Of an event at this time, in the epoch that begins then.
    #[inline(always)]
    pub fn new(begin: Time, at: Time, rank: Rank) -> Key {
        debug_assert!(at >= begin && at - begin < Key::LONGEST_EPOCH, "{at} is not in the epoch from {begin}");
        Key((at - begin).0 << RANK_BITS | rank.0)
    }

    /// Its rank.
    #[inline(always)]
    pub fn rank(self) -> Rank {
        Rank(self.0 & ((1 << RANK_BITS) - 1))
    }
}

/// An event of a node or a link. Starts and timers have a packet without meaning.
#[derive(Debug, Clone, Copy)]
pub struct Item {
    /// Its order.
    pub key: Key,
    /// Its arrival is the time of the event.
    pub packet: Packet,
}

/// The events of a node or a link in this epoch.
#[derive(Debug, Default)]
pub struct Inbox {
    items: Vec<Item>,
    /// Where sequences begin: items whose key is less than that of the item before.
    breaks: Vec<u32>,
    /// Of a link: the inputs all of whose packets go on here. Their packets of this epoch are still in their FIFOs.
    pub inputs: Vec<LinkId>,
}

impl Inbox {
    /// Whether there are no events.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.inputs.is_empty()
    }

    /// Appends an event. Items with equal keys belong to one event and keep their order.
    #[inline(always)]
    pub fn put(&mut self, key: Key, packet: Packet) {
        if self.items.last().is_some_and(|last| key < last.key) {
            self.breaks.push(self.items.len() as u32);
        }
        self.items.push(Item { key, packet });
    }

    /// The first item, if there is one.
    pub fn first(&self) -> Option<&Item> {
        self.items.first()
    }

    /// Prefetches the items.
    #[inline(always)]
    pub fn prefetch_items(&self) {
        prefetch_at(self.items.as_ptr());
    }

    /// Prefetches the memory of the next item.
    #[inline(always)]
    pub fn prefetch_end(&self) {
        prefetch_at(self.items.as_ptr_range().end);
    }

    /// Takes all items out, in order; the list comes back by [`Self::reuse`]. `other` is scratch memory.
    ///
    /// Only the list is moved. A whole inbox would be copied by words and read back by double words, which stalls until all stores before have
    /// reached the cache.
    #[inline(always)]
    pub fn take_in_order(&mut self, other: &mut Inbox) -> Vec<Item> {
        if !self.breaks.is_empty() {
            self.sort(other);
        }
        std::mem::take(&mut self.items)
    }

    /// Uses the memory of a list that was taken out again.
    #[inline(always)]
    pub fn reuse(&mut self, items: Vec<Item>) {
        self.items = emptied(items);
    }

    #[inline(never)]
    fn sort(&mut self, other: &mut Inbox) {
        if self.items.len() < LONG * (self.breaks.len() + 1) {
            if self.items.len() <= FEW {
                sort_few(&self.items, &mut other.items);
                std::mem::swap(&mut self.items, &mut other.items);
            } else {
                self.items.sort_by_key(|item| item.key);
            }
            self.breaks.clear();
        }
        while !self.breaks.is_empty() {
            self.merge_pairs(other);
            std::mem::swap(&mut self.items, &mut other.items);
            std::mem::swap(&mut self.breaks, &mut other.breaks);
        }
    }

    /// Merges every two sequences into one, in `merged`.
    fn merge_pairs(&self, merged: &mut Inbox) {
        merged.items.clear();
        merged.breaks.clear();
        let (mut begin, mut breaks) = (0, self.breaks.iter().map(|at| *at as usize));
        loop {
            let middle = breaks.next().unwrap_or(self.items.len());
            let end = breaks.next().unwrap_or(self.items.len());
            merge(&self.items[begin..middle], &self.items[middle..end], &mut merged.items);
            begin = end;
            if end == self.items.len() {
                break;
            }
            merged.breaks.push(end as u32);
        }
    }
}

/// The list, empty, with its memory.
#[inline(always)]
pub fn emptied<T>(mut list: Vec<T>) -> Vec<T> {
    list.clear();
    list
}

/// Sorts items. It compares each item with all others, but mispredicts no branch, which would cost more than many comparisons.
fn sort_few(items: &[Item], sorted: &mut Vec<Item>) {
    sorted.clear();
    sorted.extend_from_slice(items);
    for (index, item) in items.iter().enumerate() {
        let (earlier, later) = (&items[..index], &items[index + 1..]);
        let position = earlier.iter().filter(|other| other.key <= item.key).count()
            + later.iter().filter(|other| other.key < item.key).count();
        sorted[position] = *item;
    }
}

/// Merges two sequences. Of equal keys, those of the first sequence come first.
fn merge(mut first: &[Item], mut second: &[Item], merged: &mut Vec<Item>) {
    while let ([one, ..], [other, ..]) = (first, second) {
        // Without a branch, which would be mispredicted every second time.
        let is_other = other.key < one.key;
        merged.push(if is_other { *other } else { *one });
        first = &first[usize::from(!is_other)..];
        second = &second[usize::from(is_other)..];
    }
    merged.extend_from_slice(first);
    merged.extend_from_slice(second);
}
