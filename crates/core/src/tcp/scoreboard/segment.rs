//! The record of one segment in eight bytes: when it was last sent, and its state.

use crate::units::Time;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment(pub(super) u64);

pub(super) const STATE: u64 = 0b11;
pub(super) const IN_FLIGHT: u64 = 0;
pub(super) const SACKED: u64 = 1;
pub(super) const LOST: u64 = 2;
pub(super) const RETRANSMITTED: u64 = 0b100;
/// Last sent in the same buffer as the segment before it, by a paced sender that sends quanta.
pub(super) const JOINED: u64 = 0b1000;

impl Segment {
    pub(super) fn new(sent: Time, flags: u64) -> Segment {
        Segment(sent.0 << 8 | flags)
    }
    pub(super) fn sent(self) -> Time {
        Time(self.0 >> 8)
    }
    pub(super) fn state(self) -> u64 {
        self.0 & STATE
    }
    pub(super) fn retransmitted(self) -> bool {
        self.0 & RETRANSMITTED != 0
    }
    pub(super) fn joined(self) -> bool {
        self.0 & JOINED != 0
    }
    pub(super) fn join(&mut self) {
        self.0 |= JOINED;
    }
    pub(super) fn set_state(&mut self, state: u64) {
        self.0 = self.0 & !STATE | state;
    }
}
