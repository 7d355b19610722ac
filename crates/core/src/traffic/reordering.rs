//! Reordering of packets that are numbered in the order of their sending (RFC 4737).

use std::collections::VecDeque;

/// The gaps that are kept. A packet that is late by more of them has the extent of the oldest one kept, which is a lower bound.
const KEPT_GAPS: usize = 4096;

/// Numbers that had not arrived when a greater one did.
#[derive(Debug, Clone, Copy)]
struct Gap {
    /// The greater number.
    below: u32,
    /// Arrivals before it.
    arrivals: u32,
}

/// Counts late packets among arrivals. It takes no memory for packets in order.
#[derive(Debug, Clone, Default)]
pub struct Reordering {
    /// The least number that would not be late (NextExp of RFC 4737 section 3.3).
    next: u32,
    arrivals: u32,
    /// In the order of arrivals, and so of numbers.
    gaps: VecDeque<Gap>,
    counts: ReorderingCounts,
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReorderingCounts {
    /// Packets that arrived after one with a greater number (section 3.3).
    pub reordered: u64,
    /// Greatest reordering extent: arrivals since the first one with a greater number (section 4.2.2).
    pub extent_max: u32,
    /// Sum of the extents.
    pub extent_sum: u64,
}

impl Reordering {
    /// Counts the arrival of the packet with this number.
    #[inline]
    pub fn on_arrival(&mut self, number: u32) {
        if number < self.next {
            self.count_late(number);
        } else {
            if number > self.next {
                self.open_gap(number);
            }
            self.next = number.wrapping_add(1);
        }
        self.arrivals = self.arrivals.wrapping_add(1);
    }

    /// The counts so far.
    pub fn counts(&self) -> ReorderingCounts {
        self.counts
    }

    #[inline(never)]
    fn open_gap(&mut self, below: u32) {
        if self.gaps.len() == KEPT_GAPS {
            self.gaps.pop_front();
        }
        self.gaps.push_back(Gap { below, arrivals: self.arrivals });
    }

    #[inline(never)]
    fn count_late(&mut self, number: u32) {
        let index = self.gaps.partition_point(|gap| gap.below <= number);
        // Behind the last gap, only a copy of a packet that has arrived is late. It is not reordered.
        let Some(gap) = self.gaps.get(index) else { return };
        let extent = self.arrivals.wrapping_sub(gap.arrivals);
        self.counts.reordered += 1;
        self.counts.extent_max = self.counts.extent_max.max(extent);
        self.counts.extent_sum += u64::from(extent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(numbers: &[u32]) -> (u64, u32, u64) {
        let mut reordering = Reordering::default();
        numbers.iter().for_each(|number| reordering.on_arrival(*number));
        let ReorderingCounts { reordered, extent_max, extent_sum } = reordering.counts();
        (reordered, extent_max, extent_sum)
    }

    /// The first two orders are the examples of RFC 4737 section 7.1.
    #[test]
    fn late_packets_are_counted_with_the_arrivals_that_overtook_them() {
        assert_eq!(counts(&[1, 2, 3, 5, 6, 7, 8, 4, 9, 10]), (1, 4, 4));
        assert_eq!(counts(&[1, 2, 3, 4, 7, 5, 6, 8, 9, 10]), (2, 2, 1 + 2));
        assert_eq!(counts(&[1, 4, 3, 5, 2, 6]), (2, 3, 1 + 3));
        assert_eq!(counts(&[0, 1, 3, 4, 8]), (0, 0, 0));
    }

    proptest! {
        /// The definitions, for any order and losses.
        #[test]
        fn counts_follow_the_definitions(
            numbers in Just((0..60u32).collect::<Vec<_>>()).prop_shuffle(), arrive in 0usize..60,
        ) {
            let numbers = &numbers[..arrive];
            let extents: Vec<usize> = (0..arrive)
                .filter_map(|at| Some(at - numbers[..at].iter().position(|earlier| *earlier > numbers[at])?))
                .collect();
            let most = extents.iter().max().copied().unwrap_or(0) as u32;
            prop_assert_eq!(counts(numbers), (extents.len() as u64, most, extents.iter().sum::<usize>() as u64));
        }
    }
}
