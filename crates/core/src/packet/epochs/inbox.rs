//! The events of a node or a link in an epoch, and their order.
//!
//! Almost all events come in sorted sequences: the packets of one link, or the answers of hosts to them.

use crate::packet::link::packet::Packet;
use crate::prefetch::prefetch_at;
use crate::spec::LinkId;
use crate::units::{Duration, Time};

/// The bits of a [`Rank`].
const RANK_BITS: u32 = 34;

/// The rank of an event among those of its instant: the kind in the upper bits, the index below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u64);

impl Rank {
    /// The least rank, which is that of the first start. A key with a time and this rank bounds all events before
    /// that instant.
    pub const FIRST: Rank = Rank(0);

    /// Rank of a start, by its position in the order of starts.
    pub fn start(position: usize) -> Rank {
        Rank(position as u64)
    }

    /// Rank of an arrival over a link.
    #[inline(always)]
    pub fn arrival(link: LinkId) -> Rank {
        Rank(1 << 32 | u64::from(link))
    }

    /// The link of an [arrival](Self::arrival).
    #[inline(always)]
    pub fn link(self) -> LinkId {
        self.0 as LinkId
    }

    /// Rank of a timer.
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

    /// Key of an event at this time, in the epoch that begins at `begin`.
    #[inline(always)]
    pub fn new(begin: Time, at: Time, rank: Rank) -> Key {
        debug_assert!(at >= begin && at - begin < Key::LONGEST_EPOCH, "{at} is not in the epoch from {begin}");
        Key((at - begin).0 << RANK_BITS | rank.0)
    }

    /// Rank of the event.
    #[inline(always)]
    pub fn rank(self) -> Rank {
        Rank(self.0 & ((1 << RANK_BITS) - 1))
    }
}

/// An event of a node or a link. Starts and timers have a packet without meaning.
#[derive(Debug, Clone, Copy)]
pub struct Item {
    /// Order of the event.
    pub key: Key,
    /// The packet; its arrival time is the time of the event.
    pub packet: Packet,
}

/// The events of a node or a link in this epoch.
#[derive(Debug, Default)]
pub struct Inbox {
    items: Vec<Item>,
    /// Whether an item's key is less than that of the item before.
    is_unsorted: bool,
    /// For a link: the inputs whose packets all go on here. Their packets of this epoch are still in their FIFOs.
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
        self.is_unsorted |= self.items.last().is_some_and(|last| key < last.key);
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

    /// Takes all items out, in order; the list comes back by [`Self::reuse`].
    #[inline(always)]
    pub fn take_in_order(&mut self) -> Vec<Item> {
        if self.is_unsorted {
            self.sort();
        }
        std::mem::take(&mut self.items)
    }

    /// The stable sort finds the sorted sequences and merges them.
    #[inline(never)]
    fn sort(&mut self) {
        self.items.sort_by_key(|item| item.key);
        self.is_unsorted = false;
    }

    /// Uses the memory of a list that was taken out again.
    #[inline(always)]
    pub fn reuse(&mut self, items: Vec<Item>) {
        self.items = emptied(items);
    }
}

/// The list, empty, with its memory.
#[inline(always)]
pub fn emptied<T>(mut list: Vec<T>) -> Vec<T> {
    list.clear();
    list
}
