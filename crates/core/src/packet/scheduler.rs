//! What happens next: a winner tree over sources of events, and a heap of timers.

use crate::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A winner tree over sources that each have one next event. Ties go to the source with the lower index.
///
/// Only the head of a link's queue stands here; a link whose head changes replays the matches on its way to the root.
#[derive(Debug, Clone)]
pub struct WinnerTree {
    /// Node 1 is the root, the children of n are 2n and 2n + 1, the leaf of source s is `leaves + s`.
    times: Vec<u64>,
    winners: Vec<u32>,
    leaves: usize,
}

impl WinnerTree {
    /// A tree over `sources` sources that have no event yet.
    pub fn new(sources: usize) -> WinnerTree {
        let leaves = sources.next_power_of_two().max(2);
        let mut winners = vec![0; 2 * leaves];
        for (source, winner) in winners[leaves..].iter_mut().enumerate() {
            *winner = source as u32;
        }
        for node in (1..leaves).rev() {
            winners[node] = winners[2 * node];
        }
        WinnerTree { times: vec![u64::MAX; 2 * leaves], winners, leaves }
    }

    /// The earliest event and its source; the time is [`Time::NEVER`] or later if there is none.
    #[inline]
    pub fn first(&self) -> (Time, u32) {
        (Time(self.times[1]), self.winners[1])
    }

    /// Sets the next event of a source.
    #[inline]
    pub fn set(&mut self, source: u32, time: Option<Time>) {
        let mut node = self.leaves + source as usize;
        let mut best = (time.map_or(u64::MAX, |time| time.0), source);
        self.times[node] = best.0;
        while node > 1 {
            let sibling = node ^ 1;
            let other = (self.times[sibling], self.winners[sibling]);
            // The left child has the lower sources: it wins ties.
            let sibling_wins = other.0 < best.0 || (other.0 == best.0 && sibling < node);
            best = if sibling_wins { other } else { best };
            node /= 2;
            self.times[node] = best.0;
            self.winners[node] = best.1;
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

    /// The timer is due at `deadline`, or later than an entry that stands already.
    #[inline]
    pub fn arm(&mut self, timer: u32, deadline: Time) {
        if deadline < self.scheduled[timer as usize] {
            self.scheduled[timer as usize] = deadline;
            self.heap.push(Reverse((deadline, timer)));
        }
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
    use proptest::prelude::*;

    proptest! {
        /// The root is the minimum over (time, source), whatever was set.
        #[test]
        fn the_root_is_the_least_time_and_then_the_least_source(
            sources in 1usize..20,
            steps in prop::collection::vec((0usize..20, prop::option::of(0u64..10)), 1..100),
        ) {
            let mut tree = WinnerTree::new(sources);
            let mut times = vec![u64::MAX; sources];
            for (source, time) in steps {
                let source = source % sources;
                times[source] = time.unwrap_or(u64::MAX);
                tree.set(source as u32, time.map(Time));
                let least = *times.iter().min().unwrap();
                let (time, winner) = tree.first();
                prop_assert_eq!(time.0, least);
                if least < u64::MAX {
                    prop_assert_eq!(winner as usize, times.iter().position(|other| *other == least).unwrap());
                }
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
