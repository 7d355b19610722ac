//! A heap of timers, most of which move later before they are due.

use crate::prefetch::prefetch;
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Entries of later timers are grouped by spans of time, 2^33 ps (8.6 ms) each.
const SPAN_BITS: u32 = 33;

type Entry = Reverse<(Time, u32)>;

/// Timers that mostly move later. Each has one entry, at its deadline or before. Every owner has one timer of each kind.
///
/// When an entry comes up, its owner computes the timer's real deadline, and arms a timer that has moved later again. Ties go to the lower
/// identity.
///
/// Every flow has an entry, some hundred milliseconds ahead. So only the entries of the next span of time are in the heap, which stays small;
/// later entries are not sorted.
#[derive(Debug, Clone)]
pub struct Timers {
    /// Entries before the horizon. If there are none, there are none at all.
    near: BinaryHeap<Entry>,
    /// The end of a span.
    horizon: Time,
    far: BTreeMap<u64, Vec<Entry>>,
    owners: usize,
    /// For each kind, the earliest entry of each owner's timer; empty until one is armed.
    scheduled: Vec<Vec<Time>>,
}

impl Timers {
    /// Timers of these owners, none of which is armed.
    pub fn new(owners: usize, kinds: u32) -> Timers {
        Timers {
            near: BinaryHeap::new(),
            horizon: Time::ZERO,
            far: BTreeMap::new(),
            owners,
            scheduled: vec![Vec::new(); kinds as usize],
        }
    }

    /// The identity of a timer.
    #[inline(always)]
    pub fn identity(&self, owner: u32, kind: u32) -> u32 {
        owner * self.scheduled.len() as u32 + kind
    }

    /// Arms a timer for `deadline`; returns `false` if it already has an earlier entry.
    #[inline]
    pub fn arm(&mut self, owner: u32, kind: u32, deadline: Time) -> bool {
        let is_earlier = self.schedule(owner, kind, deadline);
        if is_earlier {
            self.push(Reverse((deadline, self.identity(owner, kind))));
        }
        is_earlier
    }

    fn push(&mut self, entry: Entry) {
        let span = entry.0.0.0 >> SPAN_BITS;
        if self.near.is_empty() {
            self.horizon = end_of(span);
        }
        if entry.0.0 < self.horizon {
            self.near.push(entry);
        } else {
            self.far.entry(span).or_default().push(entry);
        }
    }

    /// [`Self::arm`] for an entry that the caller keeps. If it returns `true`, the caller must pass the entry to [`Self::is_due`].
    #[inline]
    pub fn schedule(&mut self, owner: u32, kind: u32, deadline: Time) -> bool {
        let of_kind = &mut self.scheduled[kind as usize];
        if of_kind.is_empty() {
            of_kind.resize(self.owners, Time::NEVER);
        }
        let scheduled = &mut of_kind[owner as usize];
        let is_earlier = deadline < *scheduled;
        if is_earlier {
            *scheduled = deadline;
        }
        is_earlier
    }

    /// The time of a timer's entry; [`Time::NEVER`] if it has none.
    #[inline]
    pub fn armed(&self, owner: u32, kind: u32) -> Time {
        self.scheduled[kind as usize].get(owner as usize).copied().unwrap_or(Time::NEVER)
    }

    /// Prefetches the time of a timer's entry.
    #[inline(always)]
    pub fn prefetch(&self, owner: u32, kind: u32) {
        if let Some(scheduled) = self.scheduled[kind as usize].get(owner as usize) {
            prefetch(scheduled);
        }
    }

    /// The time of the first entry.
    #[inline]
    pub fn first(&self) -> Time {
        self.near.peek().map_or(Time::NEVER, |entry| entry.0.0)
    }

    /// Takes the first entry, which the caller must pass to [`Self::is_due`].
    pub fn take(&mut self) -> Option<(Time, u32)> {
        let first = self.near.pop()?;
        if self.near.is_empty()
            && let Some((span, entries)) = self.far.pop_first()
        {
            self.near = entries.into();
            self.horizon = end_of(span);
        }
        Some(first.0)
    }

    /// Whether an entry counts: `false` if an earlier one has replaced it. A timer whose entry counts has no entry any more.
    pub fn is_due(&mut self, time: Time, timer: u32) -> bool {
        let kinds = self.scheduled.len() as u32;
        let scheduled = &mut self.scheduled[(timer % kinds) as usize][(timer / kinds) as usize];
        let counts = *scheduled == time;
        if counts {
            *scheduled = Time::NEVER;
        }
        counts
    }
}

fn end_of(span: u64) -> Time {
    Time((span + 1) << SPAN_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A timer comes up once at its deadline, however often it moved, and they come in order over any number of spans.
        #[test]
        fn timers_come_up_at_their_deadlines(moves in prop::collection::vec((0u32..5, 1u64..50), 1..60)) {
            let mut timers = Timers::new(2, 3); // of which five are used
            let mut deadlines = [Time::NEVER; 5];
            for (timer, deadline) in moves {
                let deadline = Time(deadline << (SPAN_BITS - 2));
                deadlines[timer as usize] = deadline;
                timers.arm(timer / 3, timer % 3, deadline);
            }
            let (mut fired, mut last) = (Vec::new(), Time::ZERO);
            while let Some((now, timer)) = timers.take() {
                prop_assert!(last <= now && now <= timers.first());
                last = now;
                if timers.is_due(now, timer) {
                    if deadlines[timer as usize] > now {
                        timers.arm(timer / 3, timer % 3, deadlines[timer as usize]);
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
