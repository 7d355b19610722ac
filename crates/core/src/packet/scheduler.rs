//! What happens next: a winner tree over sources of events, and a heap of timers.

use crate::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A winner tree over sources that each have one next event. Ties go to the source with the lower index.
///
/// Only the head of a link's queue stands here; a link whose head changes replays the matches on its way to the root. A
/// source competes by a key: the time since an epoch in the upper bits, its index in the lower ones. So a match is one
/// minimum of integers, without branches, and knows its ties. What is too far from the epoch for the key's bits stands in
/// the tree as far away, until the epoch moves there.
#[derive(Debug, Clone)]
pub struct WinnerTree {
    /// Block 0 is the root; the winner of block b stands in place `(b - 1) % BLOCK` of block `(b - 1) / BLOCK`.
    blocks: Vec<Block>,
    /// Source s stands in place `(leaves + s) % BLOCK` of block `(leaves + s) / BLOCK`.
    leaves: usize,
    /// The least key.
    first: u64,
    /// The time since the epoch that stands for all that is farther.
    far: u64,
    source_bits: u32,
    sources: u32,
    epoch: Time,
}

const QUAD: usize = 4;
const BLOCK: usize = QUAD * QUAD;

/// Sixteen keys and the winner of each four.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Block {
    keys: [u64; BLOCK],
    winners: [u64; QUAD],
}

impl Block {
    /// Puts a key in its place and returns the least key of the block.
    #[inline(always)]
    fn replay(&mut self, place: usize, key: u64) -> u64 {
        let place = place % BLOCK;
        self.keys[place] = key;
        let winner = best_of_four(key, &self.keys, place);
        self.winners[place / QUAD] = winner;
        best_of_four(winner, &self.winners, place / QUAD)
    }
}

/// The least of a key and its three neighbours. These do not wait for the match that made the key: only one minimum is in
/// the chain of dependences.
#[inline(always)]
fn best_of_four<const N: usize>(key: u64, keys: &[u64; N], place: usize) -> u64 {
    key.min(keys[place ^ 1].min(keys[place ^ 2]).min(keys[place ^ 3]))
}

impl WinnerTree {
    /// A tree over `sources` sources that have no event yet.
    pub fn new(sources: usize) -> WinnerTree {
        WinnerTree::with_source_bits(sources, (usize::BITS - sources.leading_zeros()).max(1))
    }

    fn with_source_bits(sources: usize, source_bits: u32) -> WinnerTree {
        let (mut leaves, mut width) = (0, BLOCK);
        while width < sources {
            leaves += width;
            width *= BLOCK;
        }
        let none = Block { keys: [u64::MAX; BLOCK], winners: [u64::MAX; QUAD] };
        WinnerTree {
            blocks: vec![none; (leaves + sources).div_ceil(BLOCK).max(1)],
            leaves,
            first: u64::MAX,
            far: (u64::MAX >> source_bits) - 1,
            source_bits,
            sources: sources as u32,
            epoch: Time::ZERO,
        }
    }

    /// The earliest event and its source, if it is not later than [`Self::reach`]; else some time later than that.
    #[inline(always)]
    pub fn first(&self) -> (Time, u32) {
        let time = Time(self.epoch.0 + (self.first >> self.source_bits));
        (time, (self.first & ((1 << self.source_bits) - 1)) as u32)
    }

    /// Events up to here stand in the right order.
    pub fn reach(&self) -> Time {
        Time((self.epoch.0 + self.far - 1).min(Time::NEVER.0 - 1))
    }

    /// Sets the next event of a source: not before the epoch, [`Time::NEVER`] for none.
    #[inline]
    pub fn set(&mut self, source: u32, time: Time) {
        debug_assert!(time >= self.epoch, "an event at {time} before the epoch {}", self.epoch);
        let mut best = (time.0 - self.epoch.0).min(self.far) << self.source_bits | u64::from(source);
        let mut slot = self.leaves + source as usize;
        loop {
            let block = slot / BLOCK;
            best = self.blocks[block].replay(slot, best);
            if block == 0 {
                break;
            }
            slot = block - 1;
        }
        self.first = best;
    }

    /// Moves the epoch to the earliest event, at most to `latest`, so that the tree reaches farther. No event may be set
    /// before that any more. `time_of` gives the next event of each source.
    pub fn move_epoch(&mut self, latest: Time, time_of: impl Fn(u32) -> Time) {
        self.epoch = (0..self.sources).fold(latest, |earliest, source| earliest.min(time_of(source)));
        for source in 0..self.sources {
            self.set(source, time_of(source));
        }
    }
}

/// Timers that mostly move later: one entry per timer stands in the heap, at its deadline or before.
///
/// When an entry comes up, its owner says when the timer is really due; a timer that has moved later is put back. Ties go to
/// the lower identity.
#[derive(Debug, Clone, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(Time, u32)>>,
    /// The earliest entry of each timer.
    scheduled: Vec<Time>,
}

impl Timers {
    /// Makes room for timers up to `count`.
    pub fn grow(&mut self, count: usize) {
        if self.scheduled.len() < count {
            self.scheduled.resize(count, Time::NEVER);
        }
    }

    /// The timer is due at `deadline`, or later than an entry that stands already: then `false`.
    #[inline]
    pub fn arm(&mut self, timer: u32, deadline: Time) -> bool {
        let is_earlier = deadline < self.scheduled[timer as usize];
        if is_earlier {
            self.scheduled[timer as usize] = deadline;
            self.heap.push(Reverse((deadline, timer)));
        }
        is_earlier
    }

    /// The time of the first entry.
    #[inline]
    pub fn first(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |entry| entry.0.0)
    }

    /// Takes the first entry; `None` if an earlier one has replaced it.
    pub fn pop(&mut self) -> Option<u32> {
        let Reverse((time, timer)) = self.heap.pop()?;
        if self.scheduled[timer as usize] != time {
            return None;
        }
        self.scheduled[timer as usize] = Time::NEVER;
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;
    use proptest::prelude::*;

    fn earliest(tree: &WinnerTree) -> Option<(Time, u32)> {
        Some(tree.first()).filter(|(time, _)| *time <= tree.reach())
    }

    fn least(times: &[Time]) -> Option<(Time, u32)> {
        times.iter().copied().zip(0..).min().filter(|(time, _)| *time < Time::NEVER)
    }

    proptest! {
        /// The root is the minimum over (time, source), whatever was set.
        #[test]
        fn the_root_is_the_least_time_and_then_the_least_source(
            sources in 1usize..70,
            steps in prop::collection::vec((0usize..70, prop::option::of(0u64..10)), 1..100),
        ) {
            let mut tree = WinnerTree::new(sources);
            let mut times = vec![Time::NEVER; sources];
            for (source, time) in steps {
                let source = source % sources;
                times[source] = time.map_or(Time::NEVER, Time);
                tree.set(source as u32, times[source]);
                prop_assert_eq!(earliest(&tree), least(&times));
            }
        }

        /// Keys with few bits for the time give the same events in the same order, for the epoch moves along.
        #[test]
        fn the_epoch_moves_along(
            waits in prop::collection::vec((0usize..9, 0u64..2000), 1..100),
        ) {
            let mut tree = WinnerTree::with_source_bits(9, 56);
            let mut times = [Time::NEVER; 9];
            let mut now = Time::ZERO;
            for (source, wait) in waits {
                times[source] = now + Duration(wait);
                tree.set(source as u32, times[source]);
                let (next, winner) = least(&times).expect("one was just set");
                if next > tree.reach() {
                    prop_assert!(tree.first().0 > tree.reach());
                    tree.move_epoch(Time::NEVER, |source| times[source as usize]);
                }
                prop_assert_eq!(earliest(&tree), Some((next, winner)));
                now = next;
                times[winner as usize] = Time::NEVER;
                tree.set(winner, Time::NEVER);
            }
        }

        /// A timer comes up once at its deadline, however often it moved.
        #[test]
        fn timers_come_up_at_their_deadlines(moves in prop::collection::vec((0u32..5, 1u64..50), 1..60)) {
            let mut timers = Timers::default();
            timers.grow(5);
            let mut deadlines = [Time::NEVER; 5];
            for (timer, deadline) in moves {
                deadlines[timer as usize] = Time(deadline);
                timers.arm(timer, Time(deadline));
            }
            let mut fired = Vec::new();
            while timers.first() < Time::NEVER {
                let now = timers.first();
                if let Some(timer) = timers.pop() {
                    if deadlines[timer as usize] > now {
                        timers.arm(timer, deadlines[timer as usize]);
                    } else {
                        prop_assert_eq!(deadlines[timer as usize], now);
                        fired.push(timer);
                    }
                }
            }
            let mut armed: Vec<u32> = (0..5).filter(|timer| deadlines[*timer as usize] < Time::NEVER).collect();
            fired.sort_unstable();
            armed.sort_unstable();
            prop_assert_eq!(fired, armed);
        }
    }
}
