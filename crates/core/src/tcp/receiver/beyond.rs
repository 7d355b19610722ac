//! Segments beyond a hole: blocks, and which of them changed last.

use super::blocks::MAX_SACK_BLOCKS;
use crate::tcp::room::make_little_room;
use crate::tcp::scoreboard::Range;
use std::collections::VecDeque;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Held {
    start: u32,
    end: u32,
    /// The earliest arrival number among the segments held here and above: for the reordering extent.
    pub(super) first_arrival: u32,
}

/// Segments beyond a hole.
#[derive(Debug, Clone, Default)]
pub(super) struct Beyond {
    /// Ascending, with holes between them, and never empty.
    pub(super) held: VecDeque<Held>,
    /// The blocks that changed last, newest first (RFC 2018 section 4). Joined blocks are here more than once. The slot of a
    /// delivered block is [`FREE`] for the next that changes.
    recent: [Range; MAX_SACK_BLOCKS],
}

const FREE: Range = (0, 0);

impl Beyond {
    /// Writes the blocks that changed last, each once. Returns their number.
    #[inline]
    pub(super) fn report(&self, blocks: &mut [Range]) -> u32 {
        let [first, second, third] = self.recent;
        let mut count = 0;
        let mut add = |block| {
            blocks[count] = block;
            count += 1;
        };
        if first != FREE {
            add(first);
        }
        if second != FREE && second != first {
            add(second);
        }
        if third != FREE && third != first && third != second {
            add(third);
        }
        count as u32
    }

    /// Whether this segment, new or a copy of a held one, would change a third block: there are two blocks that changed last, and the
    /// segment belongs to neither.
    pub(super) fn changes_third(&self, segment: u32) -> bool {
        let mut blocks = [FREE; MAX_SACK_BLOCKS];
        let extends = |block: &Range| segment <= block.1 && block.0 <= segment + 1;
        self.report(&mut blocks) > 1 && !blocks[..2].iter().any(extends)
    }

    /// The position of the block that holds a segment, or where one would be inserted.
    pub(super) fn find(&self, segment: u32) -> Result<usize, usize> {
        if self.held.back().is_none_or(|highest| highest.end <= segment) {
            return Err(self.held.len()); // as new data comes
        }
        let position = self.held.partition_point(|block| block.end <= segment);
        if self.held[position].start <= segment { Ok(position) } else { Err(position) }
    }

    /// Holds a segment that is not held yet, where [`Self::find`] says.
    pub(super) fn hold(&mut self, position: usize, segment: u32, arrival: u32) {
        let joins_below = position > 0 && self.held[position - 1].end == segment;
        let joins_above = self.held.get(position).is_some_and(|above| above.start == segment + 1);
        let changed = match (joins_below, joins_above) {
            (true, true) => {
                self.held[position - 1].end = self.held[position].end;
                self.held.remove(position);
                position - 1
            }
            (true, false) => {
                self.held[position - 1].end += 1;
                position - 1
            }
            (false, true) => {
                self.held[position].start = segment;
                position
            }
            (false, false) => {
                let above = self.held.get(position).map(|block| block.first_arrival);
                let first_arrival = above.unwrap_or(arrival);
                make_little_room(&mut self.held);
                self.held.insert(position, Held { start: segment, end: segment + 1, first_arrival });
                position
            }
        };
        self.remember_recent((self.held[changed].start, self.held[changed].end));
    }

    /// Records that a duplicate of a segment in this block has arrived. The block must be reported first (RFC 2018 section 4),
    /// behind the duplicate (RFC 2883 section 4 (4)).
    #[cold]
    pub(super) fn touch(&mut self, position: usize) {
        self.remember_recent((self.held[position].start, self.held[position].end));
    }

    /// Holds the segment that follows the newest block, if that is the highest; `false`, and nothing done, for another.
    #[inline(always)]
    pub(super) fn append(&mut self, segment: u32) -> bool {
        let newest = self.recent[0];
        let Some(highest) = self.held.back_mut().filter(|highest| highest.end == segment && newest.1 == segment) else {
            return false;
        };
        highest.end += 1;
        for block in self.recent.iter_mut().filter(|block| **block == newest) {
            block.1 += 1;
        }
        true
    }

    /// Records a changed block, which contains its earlier version.
    fn remember_recent(&mut self, changed: Range) {
        let mut position = MAX_SACK_BLOCKS - 1;
        for (index, block) in self.recent.iter_mut().enumerate().rev() {
            if *block == FREE {
                position = index;
            } else if changed.0 <= block.0 && block.1 <= changed.1 {
                *block = changed;
                position = index;
            }
        }
        self.recent[..=position].rotate_right(1);
        self.recent[0] = changed;
    }

    /// Whether [`Self::report`] would write no block.
    #[inline(always)]
    pub(super) fn has_no_recent(&self) -> bool {
        self.recent == [FREE; MAX_SACK_BLOCKS]
    }

    /// Takes out the first block if it begins here, and returns its end.
    pub(super) fn take_from(&mut self, start: u32) -> Option<u32> {
        let first = self.held.front().filter(|first| first.start == start)?.end;
        self.held.pop_front();
        self.recent.iter_mut().filter(|block| block.0 == start).for_each(|block| *block = FREE);
        Some(first)
    }
}
