//! Trains: packets of one flow in a row, equally spaced. Times are whole picoseconds, so a train is exactly its packets, and what a link
//! or a receiver does with all of them follows from the first, the gap and how many there are.

use super::packet::Packet;
use crate::units::{Duration, Time};

/// Packets of one flow on one way, ordinary data or ordinary ACKs: each the next segment, or acknowledging one more, the next in number, and a gap later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Train {
    /// The first of them.
    pub first: Packet,
    /// From each to the next; not zero.
    pub gap: Duration,
    /// How many there are; not zero.
    pub count: u32,
}

impl Train {
    /// The packets of a [row](super::rows), if they are ordinary and follow one another with this gap, which none can go below.
    pub fn of_row(packets: &[Packet], gap: Duration) -> Option<Train> {
        let train = Train { first: *packets.first()?, gap, count: packets.len() as u32 };
        // Neither times nor numbers of ordinary packets stand closer in a row, so where the last is in its place all are.
        let is_ordinary = train.first.is_plain_data() || train.first.is_plain_ack();
        (is_ordinary && packets.last() == Some(&train.packet(train.count - 1))).then_some(train)
    }

    /// One of its packets, or one that would follow.
    #[inline(always)]
    pub fn packet(&self, index: u32) -> Packet {
        self.first.behind(index, self.gap)
    }

    /// All its packets.
    pub fn packets(&self) -> impl Iterator<Item = Packet> + use<> {
        let train = *self;
        (0..train.count).map(move |index| train.packet(index))
    }

    /// When its last packet arrives.
    #[inline(always)]
    pub fn last_arrival(&self) -> Time {
        self.packet(self.count - 1).arrival()
    }

    /// Those of its packets, maybe none, that arrive before an instant.
    #[inline(always)]
    pub fn count_before(&self, instant: Time) -> u32 {
        if self.last_arrival() < instant {
            self.count
        } else if self.first.arrival() >= instant {
            0
        } else {
            (((instant - self.first.arrival()).0 - 1) / self.gap.0) as u32 + 1
        }
    }

    /// The train without so many of its first packets, of which at least one must be left.
    #[inline(always)]
    pub fn without_first(&self, count: u32) -> Train {
        Train { first: self.packet(count), gap: self.gap, count: self.count - count }
    }

    /// Whether another goes on where this one ends.
    #[inline(always)]
    pub fn goes_on_with(&self, next: &Train) -> bool {
        self.gap == next.gap && self.packet(self.count) == next.first
    }
}
