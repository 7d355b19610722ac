//! Counters of a receiver, mainly of reordering (RFC 4737).

use super::DataSegment;
use super::beyond::Held;

/// [`ReceiverCounters`] as the receiver keeps them; a flow has no more segments than 32 bits number.
#[derive(Debug, Clone, Default)]
pub(super) struct Counters {
    pub(super) arrivals: u32,
    pub(super) duplicates: u32,
    seldom: Option<Box<Seldom>>,
}

/// Counters that few flows need.
#[derive(Debug, Clone, Default)]
struct Seldom {
    reordered: u32,
    reordering_extent_max: u32,
    reordering_extent_sum: u64,
    marked: u32,
    reassembly_max: u32,
}

/// Counters of a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiverCounters {
    /// Data segments that arrived.
    pub arrivals: u64,
    /// Number of segments that the receiver had already. Each one is a spurious retransmission, or a copy made by the network.
    pub duplicates: u64,
    /// Segments sent once that arrived after one with a higher number (RFC 4737 section 3).
    pub reordered: u64,
    /// The greatest reordering extent, in arrivals (RFC 4737 section 4.2.2).
    pub reordering_extent_max: u32,
    /// The sum of all reordering extents.
    pub reordering_extent_sum: u64,
    /// Segments that arrived with a congestion mark.
    pub marked: u64,
    /// The most segments held beyond a hole at a time, since the start or [`super::Receiver::forget_peaks`].
    pub reassembly_max: u32,
}

impl ReceiverCounters {
    /// Segments that arrived for the first time.
    pub fn first_arrivals(&self) -> u64 {
        self.arrivals - self.duplicates
    }
}

impl Counters {
    /// The counters as results show them.
    pub(super) fn report(&self) -> ReceiverCounters {
        let seldom = self.seldom.as_deref().cloned().unwrap_or_default();
        ReceiverCounters {
            arrivals: u64::from(self.arrivals),
            duplicates: u64::from(self.duplicates),
            reordered: u64::from(seldom.reordered),
            reordering_extent_max: seldom.reordering_extent_max,
            reordering_extent_sum: seldom.reordering_extent_sum,
            marked: u64::from(seldom.marked),
            reassembly_max: seldom.reassembly_max,
        }
    }

    /// Segments beyond a hole, of a receiver that expects the segment `next`.
    #[inline(always)]
    pub(super) fn held(&self, next: u32) -> u32 {
        self.arrivals - self.duplicates - next
    }

    /// Records the number of segments held beyond a hole. It suffices to call it before a hole fills, because until then the
    /// number only grows.
    pub(super) fn count_held(&mut self, held: u32) {
        let seldom = self.seldom.get_or_insert_default();
        seldom.reassembly_max = seldom.reassembly_max.max(held);
    }

    /// See [`super::Receiver::forget_peaks`].
    pub(super) fn forget_peaks(&mut self) {
        if let Some(seldom) = &mut self.seldom {
            seldom.reassembly_max = 0;
        }
    }

    /// Counts a segment that arrived with a mark.
    pub(super) fn count_mark(&mut self) {
        self.seldom.get_or_insert_default().marked += 1;
    }

    /// Counts the reordering of an arriving segment; `above` is the first block held above it.
    #[inline]
    pub(super) fn count_reordering(&mut self, data: &DataSegment, above: Option<&Held>) {
        if let Some(above) = above
            && !data.retransmission
        {
            let extent = self.arrivals - above.first_arrival;
            let seldom = self.seldom.get_or_insert_default();
            seldom.reordered += 1;
            seldom.reordering_extent_sum += u64::from(extent);
            seldom.reordering_extent_max = seldom.reordering_extent_max.max(extent);
        }
    }
}
