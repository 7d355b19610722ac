//! A timing wheel: the epoch in which each link has its next event.

use crate::spec::LinkId;
use crate::units::{Duration, Time};

/// Buckets of the wheel. Epochs that differ by a multiple of this number share a bucket.
const BUCKETS: usize = 1024;
const MASK: u64 = BUCKETS as u64 - 1;
const WORDS: usize = BUCKETS / 64;
/// The epoch of a link without events.
const NONE: u64 = u64::MAX;

/// A timing wheel over links. Time is cut into epochs of one length.
pub struct TimingWheel {
    length: Duration,
    buckets: Vec<Vec<LinkId>>,
    /// A bit for each bucket that is not empty.
    occupied: [u64; WORDS],
    /// For each link, the epoch in which it is due first. Entries of the link in other buckets are invalid.
    epoch_of: Vec<u64>,
    /// No link is due before this epoch.
    from: u64,
}

impl TimingWheel {
    /// A wheel for this number of links, with epochs of this length, which is not zero.
    pub fn new(links: usize, length: Duration) -> TimingWheel {
        TimingWheel {
            length,
            buckets: vec![Vec::new(); BUCKETS],
            occupied: [0; WORDS],
            epoch_of: vec![NONE; links],
            from: 0,
        }
    }

    /// The epoch that an instant lies in.
    #[inline(always)]
    pub fn epoch(&self, time: Time) -> u64 {
        time.0 / self.length.0
    }

    /// When an epoch begins.
    pub fn begin(&self, epoch: u64) -> Time {
        Time(epoch * self.length.0)
    }

    /// Records that a link is due at this time. Nothing changes if it is due in an earlier epoch, or
    /// [never](Time::NEVER).
    #[inline]
    pub fn insert(&mut self, link: LinkId, at: Time) {
        let epoch = if at == Time::NEVER { NONE } else { self.epoch(at) };
        if epoch < self.epoch_of[link as usize] {
            self.epoch_of[link as usize] = epoch;
            let bucket = (epoch & MASK) as usize;
            self.buckets[bucket].push(link);
            self.occupied[bucket / 64] |= 1 << (bucket % 64);
            self.from = self.from.min(epoch);
        }
    }

    /// The first epoch in which a link is due; `u64::MAX` if none is.
    pub fn first(&mut self) -> u64 {
        for epoch in self.from..self.from.saturating_add(BUCKETS as u64) {
            let bucket = (epoch & MASK) as usize;
            if self.occupied[bucket / 64] >> (bucket % 64) & 1 != 0
                && self.buckets[bucket].iter().any(|link| self.epoch_of[*link as usize] == epoch)
            {
                self.from = epoch;
                return epoch;
            }
        }
        let later = self.buckets.iter().flatten().map(|link| self.epoch_of[*link as usize]).min();
        self.from = later.unwrap_or(NONE);
        self.from
    }

    /// Removes the links that are due in this epoch, in any order.
    pub fn take(&mut self, epoch: u64, due: &mut Vec<LinkId>) {
        due.clear();
        let bucket = (epoch & MASK) as usize;
        let epoch_of = &mut self.epoch_of;
        self.buckets[bucket].retain(|link| {
            let of_link = &mut epoch_of[*link as usize];
            if *of_link == epoch {
                *of_link = NONE;
                due.push(*link);
            }
            *of_link != NONE && *of_link & MASK == epoch & MASK
        });
        if self.buckets[bucket].is_empty() {
            self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Links come up in the first epoch for which they were inserted, in the order of the epochs, also many turns of the wheel ahead. The
        /// truth is a list of these epochs.
        #[test]
        fn every_link_comes_up_in_its_first_epoch(
            rounds in prop::collection::vec(prop::collection::vec((0u32..6, prop_oneof![0u64..40, 0u64..12_000, Just(u64::MAX)]), 0..6), 1..60),
            length in 1u64..9,
        ) {
            let mut wheel = TimingWheel::new(6, Duration(length));
            let (mut epochs, mut now) = ([NONE; 6], 0);
            for inserted in rounds {
                for (link, ahead) in inserted {
                    let at = if ahead == u64::MAX { Time::NEVER } else { Time(now * length + ahead) };
                    wheel.insert(link, at);
                    if at < Time::NEVER {
                        epochs[link as usize] = epochs[link as usize].min(at.0 / length);
                    }
                }
                let first = epochs.into_iter().min().unwrap();
                prop_assert_eq!(wheel.first(), first);
                if first < NONE {
                    let mut due = Vec::new();
                    wheel.take(first, &mut due);
                    due.sort_unstable();
                    let expected: Vec<LinkId> = (0..6).filter(|link| epochs[*link as usize] == first).collect();
                    prop_assert_eq!(&due, &expected);
                    due.iter().for_each(|link| epochs[*link as usize] = NONE);
                    now = first;
                }
            }
        }
    }
}
