//! What has come to a node or a link in an epoch, and the order in which it is gone through.
//!
//! Almost all of it comes in runs that are in order already: what one link brings, with what the hosts answer to it. So runs are
//! merged, and nothing is sorted.

use crate::packet::link::packet::Packet;
use crate::prefetch::prefetch_at;
use crate::spec::LinkId;
use crate::units::{Duration, Time};

/// Runs of so many items are worth merging; shorter ones are sorted together.
const LONG_RUN: usize = 8;

/// So many items are sorted by counting, for each, those that come before it.
const FEW: usize = 10;

/// The bits of a [`Rank`].
const RANK_BITS: u32 = 34;

/// The rank of an event among those of its instant: kind above, index below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u64);

impl Rank {
    /// Comes before all events of its instant, or is the first start.
    pub const FIRST: Rank = Rank(0);

    /// Of the flow with this position in the order of starts.
    pub fn start(position: usize) -> Rank {
        Rank(position as u64)
    }

    /// Of a packet at the end of a link.
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

    /// What the event is.
    pub fn event(self) -> Event {
        match self.0 >> 32 {
            0 => Event::Start(self.0 as usize),
            1 => Event::Arrival,
            _ => Event::Timer(self.0 as u32),
        }
    }
}

/// What happens at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Of the flow with this position in the order of starts.
    Start(usize),
    /// Of a packet.
    Arrival,
    /// Of a flow.
    Timer(u32),
}

/// The place of an event in its epoch: the time since the epoch's begin above, the rank below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(u64);

impl Key {
    /// Comes after all events.
    pub const NEVER: Key = Key(u64::MAX);

    /// Times in a longer epoch, of more than a millisecond, have no room in it.
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

/// Something for a node or a link to go through: a packet, except for starts and timers.
#[derive(Debug, Clone, Copy)]
pub struct Item {
    /// When it comes.
    pub key: Key,
    /// Its arrival is when it comes.
    pub packet: Packet,
}

/// What has come to a node or a link in this epoch.
#[derive(Debug, Default)]
pub struct Inbox {
    items: Vec<Item>,
    /// Where items come before the one that was put in before them: there a run ends, and another begins.
    breaks: Vec<u32>,
    /// Of a link: links all of whose packets go on here. What they bring in this epoch stands in their FIFOs still.
    pub inputs: Vec<LinkId>,
}

impl Inbox {
    /// Whether nothing has come.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.inputs.is_empty()
    }

    /// Puts an item in. Equal keys are of one event and keep their order.
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

    /// Asks for the items.
    #[inline(always)]
    pub fn ask_for_items(&self) {
        prefetch_at(self.items.as_ptr());
    }

    /// Asks for where the next item will be.
    #[inline(always)]
    pub fn ask_for_room(&self) {
        prefetch_at(self.items.as_ptr_range().end);
    }

    /// Takes all items out, in order, to be [given back](Self::give_back); `other` is as good as empty before and after.
    ///
    /// Only the list is moved: a whole inbox would be copied by words and read back by double words, which waits until all
    /// that was stored before has reached the cache.
    #[inline(always)]
    pub fn take_in_order(&mut self, other: &mut Inbox) -> Vec<Item> {
        if !self.breaks.is_empty() {
            self.put_in_order(other);
        }
        std::mem::take(&mut self.items)
    }

    /// The room of a list that was taken out is used again.
    #[inline(always)]
    pub fn give_back(&mut self, items: Vec<Item>) {
        self.items = emptied(items);
    }

    #[inline(never)]
    fn put_in_order(&mut self, other: &mut Inbox) {
        if self.items.len() < LONG_RUN * (self.breaks.len() + 1) {
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

    /// Makes one run of every two, into `merged`.
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

/// The same list, empty, with its room to be used again.
#[inline(always)]
pub fn emptied<T>(mut list: Vec<T>) -> Vec<T> {
    list.clear();
    list
}

/// Puts items in order. Every one is compared with every other, but nothing is guessed, which costs more than many comparisons.
fn sort_few(items: &[Item], sorted: &mut Vec<Item>) {
    sorted.clear();
    sorted.extend_from_slice(items);
    for (index, item) in items.iter().enumerate() {
        let (earlier, later) = (&items[..index], &items[index + 1..]);
        let place = earlier.iter().filter(|other| other.key <= item.key).count()
            + later.iter().filter(|other| other.key < item.key).count();
        sorted[place] = *item;
    }
}

/// Puts two runs into one, of equals those of the first before those of the second.
fn merge(mut first: &[Item], mut second: &[Item], merged: &mut Vec<Item>) {
    while let ([one, ..], [other, ..]) = (first, second) {
        // Without a branch, which would be guessed wrong every second time.
        let is_other = other.key < one.key;
        merged.push(if is_other { *other } else { *one });
        first = &first[usize::from(!is_other)..];
        second = &second[usize::from(is_other)..];
    }
    merged.extend_from_slice(first);
    merged.extend_from_slice(second);
}
