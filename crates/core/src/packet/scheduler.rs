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
    /// Node 1 is the root, source s stands at node `nodes.len() / 2 + s`, the winner of nodes 4n to 4n + 3 at node n; if that
    /// does not come out even, that of nodes 2 and 3 at node 1.
    nodes: Vec<u64>,
    /// For sources that know more than one event: the key of the event after the next one.
    followers: Vec<u64>,
    /// The time since the epoch that stands for all that is farther.
    far: u64,
    source_bits: u32,
    source_mask: u64,
    epoch: Time,
    sources: u32,
}

/// Puts a key in its leaf and replays its matches up to the root, two levels at a time: the least of the three siblings of
/// a quad does not wait for the matches below, so that only one minimum in two levels is in the chain of dependences.
#[inline(always)]
fn replay(nodes: &mut [u64], leaf: usize, key: u64) {
    let mut node = leaf & (nodes.len() - 1);
    let mut best = key;
    let levels = nodes.len().ilog2() - 1;
    for _ in 0..levels / 2 {
        nodes[node] = best;
        best = best.min(nodes[node ^ 1].min(nodes[node ^ 2]).min(nodes[node ^ 3]));
        node /= 4;
    }
    if levels % 2 == 1 {
        nodes[node] = best;
        best = best.min(nodes[node ^ 1]);
    }
    nodes[1] = best;
}

impl WinnerTree {
    /// A tree over `sources` sources that have no event yet.
    pub fn new(sources: usize) -> WinnerTree {
        WinnerTree::with_source_bits(sources, (usize::BITS - sources.leading_zeros()).max(1))
    }

    fn with_source_bits(sources: usize, source_bits: u32) -> WinnerTree {
        WinnerTree {
            nodes: vec![u64::MAX; 2 * sources.next_power_of_two().max(2)],
            followers: vec![u64::MAX; sources],
            far: (u64::MAX >> source_bits) - 1,
            source_bits,
            source_mask: (1 << source_bits) - 1,
            epoch: Time::ZERO,
            sources: sources as u32,
        }
    }

    /// The earliest event and its source, if it is not later than [`Self::reach`]; else some time later than that.
    #[inline(always)]
    pub fn first(&self) -> (Time, u32) {
        let key = self.nodes[1];
        (Time(self.epoch.0 + (key >> self.source_bits)), (key & self.source_mask) as u32)
    }

    /// Events up to here stand in the right order.
    pub fn reach(&self) -> Time {
        Time((self.epoch.0 + self.far - 1).min(Time::NEVER.0 - 1))
    }

    #[inline(always)]
    fn key(&self, source: u32, time: Time) -> u64 {
        debug_assert!(time >= self.epoch, "an event at {time} before the epoch {}", self.epoch);
        (time.0 - self.epoch.0).min(self.far) << self.source_bits | u64::from(source)
    }

    /// Sets the next event of a source: not before the epoch, [`Time::NEVER`] for none.
    #[inline]
    pub fn set(&mut self, source: u32, time: Time) {
        self.set_key(source, self.key(source, time));
    }

    /// Sets the event of a source after its next one, as [`Self::set`] does the next one.
    #[inline(always)]
    pub fn set_follower(&mut self, source: u32, time: Time) {
        self.followers[source as usize] = self.key(source, time);
    }

    /// The next event of a source has happened: its follower takes its place, without a look at the source itself.
    #[inline(always)]
    pub fn advance(&mut self, source: u32) {
        self.set_key(source, self.followers[source as usize]);
    }

    #[inline(always)]
    fn set_key(&mut self, source: u32, key: u64) {
        let leaf = self.nodes.len() / 2 + source as usize;
        // With a size that it knows, the compiler unrolls the levels and drops the checks of bounds.
        if let Ok(nodes) = <&mut [u64; 64]>::try_from(&mut self.nodes[..]) {
            replay(nodes, leaf, key);
        } else if let Ok(nodes) = <&mut [u64; 256]>::try_from(&mut self.nodes[..]) {
            replay(nodes, leaf, key);
        } else {
            replay(&mut self.nodes, leaf, key);
        }
    }

    /// Moves the epoch to the earliest event, at most to `latest`, so that the tree reaches farther. No event may be set
    /// before that any more. `times_of` gives the next event of each source and its follower.
    pub fn move_epoch(&mut self, latest: Time, times_of: impl Fn(u32) -> (Time, Time)) {
        self.epoch = (0..self.sources).fold(latest, |earliest, source| earliest.min(times_of(source).0));
        for source in 0..self.sources {
            let (next, follower) = times_of(source);
            self.set(source, next);
            self.set_follower(source, follower);
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
                    tree.move_epoch(Time::NEVER, |source| (times[source as usize], Time::NEVER));
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
