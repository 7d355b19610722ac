//! A packet in flight: 24 bytes.

use crate::units::Time;

/// An acknowledgement (or SYN-ACK), not data.
pub const ACK: u64 = 1;
/// Opens the connection.
pub const SYN: u64 = 1 << 1;
/// Congestion experienced (CE) on data, its echo (ECE) on an ACK.
pub const MARK: u64 = 1 << 2;
/// The ACK's SACK blocks stand beside it: `number` is their place.
pub const HAS_SACK: u64 = 1 << 3;
/// The wire loses it: it crosses the link and arrives nowhere.
pub const LOST: u64 = 1 << 4;
/// Data sent before; on an ACK, that it answers such.
pub const RETRANSMISSION: u64 = 1 << 5;
/// The sender has answered a congestion mark (CWR).
pub const WINDOW_REDUCED: u64 = 1 << 6;

const FLAG_BITS: u32 = 8;

/// A flag if it holds, without a branch.
#[inline(always)]
pub fn flag_if(flag: u64, holds: bool) -> u64 {
    flag * u64::from(holds)
}

/// A packet, and when it leaves the link that it is on.
///
/// Three words, so that it is copied through registers as it was built: narrow stores followed by wide loads would stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The arrival at the end of the link in the upper 56 bits, flags below.
    stamp: u64,
    /// The flow above, the segment below.
    content: u64,
    /// The number above, the way below.
    course: u64,
}

impl Packet {
    /// A packet that is nowhere yet.
    #[inline(always)]
    pub fn new(flow: u32, segment: u32, number: u32, flags: u64) -> Packet {
        Packet { stamp: flags, content: u64::from(flow) << 32 | u64::from(segment), course: u64::from(number) << 32 }
    }

    /// What a function on a rare path takes: a packet whose address is given away would live in memory on every path.
    #[inline(always)]
    pub fn words(self) -> [u64; 3] {
        [self.stamp, self.content, self.course]
    }

    /// The packet of these [words](Self::words).
    #[inline(always)]
    pub fn from_words([stamp, content, course]: [u64; 3]) -> Packet {
        Packet { stamp, content, course }
    }

    /// The flow, in either direction.
    #[inline(always)]
    pub fn flow(&self) -> u32 {
        (self.content >> 32) as u32
    }

    /// The data segment; on an ACK, the cumulative acknowledgement.
    #[inline(always)]
    pub fn segment(&self) -> u32 {
        self.content as u32
    }

    /// The number of the transmission, unique in its direction; the place of the blocks of an ACK with [`HAS_SACK`].
    #[inline(always)]
    pub fn number(&self) -> u32 {
        (self.course >> 32) as u32
    }

    /// Sets the number, or the place of the blocks.
    pub fn set_number(&mut self, number: u32) {
        self.course = u64::from(number) << 32 | u64::from(self.at());
    }

    /// Where it goes after this link: see [`crate::packet::forwarding`].
    #[inline(always)]
    pub fn at(&self) -> u32 {
        self.course as u32
    }

    /// Sets where it goes after its next link.
    #[inline(always)]
    pub fn set_at(&mut self, at: u32) {
        self.course = self.course >> 32 << 32 | u64::from(at);
    }

    /// When it arrives at the end of its link.
    #[inline(always)]
    pub fn arrival(&self) -> Time {
        Time(self.stamp >> FLAG_BITS)
    }

    /// Whether it has any of these flags.
    #[inline(always)]
    pub fn has(&self, flags: u64) -> bool {
        self.stamp & flags != 0
    }

    /// Data sent once, without marks.
    #[inline(always)]
    pub fn is_plain_data(&self) -> bool {
        self.stamp as u8 == 0
    }

    /// Whether it comes to the same end of the same flow, as far as the other does, for the wire may lose one of them.
    #[inline(always)]
    pub fn is_of_same_end(&self, other: &Packet) -> bool {
        self.flow() == other.flow() && (self.stamp ^ other.stamp) & (ACK | LOST) == 0
    }

    /// An ACK that says no more than how far it goes.
    #[inline(always)]
    pub fn is_plain_ack(&self) -> bool {
        self.stamp as u8 == ACK as u8
    }

    /// Whether it is of the same flow and kind as the packet before, and the next: the next segment, or acknowledging one more.
    #[inline(always)]
    pub fn follows(&self, before: &Packet) -> bool {
        self.content == before.content.wrapping_add(1) && self.stamp as u8 == before.stamp as u8
    }

    /// Sets flags.
    #[inline(always)]
    pub fn flag(&mut self, flags: u64) {
        self.stamp |= flags;
    }

    /// Sets the arrival at the end of its next link.
    #[inline(always)]
    pub fn arrives(&mut self, arrival: Time) {
        // An endless queue before a slow link may take longer than the clock goes: then it never arrives.
        self.stamp = arrival.min(Time::NEVER).0 << FLAG_BITS | self.stamp & ((1 << FLAG_BITS) - 1);
    }
}
