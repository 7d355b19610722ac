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
    arrival_and_flags: u64,
    /// The flow above, the segment below.
    flow_and_segment: u64,
    /// The number above, the way below.
    number_and_hop: u64,
}

impl Packet {
    /// A packet that is nowhere yet.
    #[inline(always)]
    pub fn new(flow: u32, segment: u32, number: u32, flags: u64) -> Packet {
        Packet {
            arrival_and_flags: flags,
            flow_and_segment: u64::from(flow) << 32 | u64::from(segment),
            number_and_hop: u64::from(number) << 32,
        }
    }

    /// What a function on a rare path takes: a packet whose address is given away would live in memory on every path.
    #[inline(always)]
    pub fn words(self) -> [u64; 3] {
        [self.arrival_and_flags, self.flow_and_segment, self.number_and_hop]
    }

    /// The packet of these [words](Self::words).
    #[inline(always)]
    pub fn from_words([arrival_and_flags, flow_and_segment, number_and_hop]: [u64; 3]) -> Packet {
        Packet { arrival_and_flags, flow_and_segment, number_and_hop }
    }

    /// The flow, in either direction.
    #[inline(always)]
    pub fn flow(&self) -> u32 {
        (self.flow_and_segment >> 32) as u32
    }

    /// The data segment; on an ACK, the cumulative acknowledgement.
    #[inline(always)]
    pub fn segment(&self) -> u32 {
        self.flow_and_segment as u32
    }

    /// The number of the transmission, unique in its direction; the place of the blocks of an ACK with [`HAS_SACK`].
    #[inline(always)]
    pub fn number(&self) -> u32 {
        (self.number_and_hop >> 32) as u32
    }

    /// Sets the number, or the place of the blocks.
    pub fn set_number(&mut self, number: u32) {
        self.number_and_hop = u64::from(number) << 32 | u64::from(self.hop_index());
    }

    /// Where it goes after this link: see [`crate::packet::forwarding`].
    #[inline(always)]
    pub fn hop_index(&self) -> u32 {
        self.number_and_hop as u32
    }

    /// Sets where it goes after its next link.
    #[inline(always)]
    pub fn set_hop_index(&mut self, at: u32) {
        self.number_and_hop = self.number_and_hop >> 32 << 32 | u64::from(at);
    }

    /// When it arrives at the end of its link.
    #[inline(always)]
    pub fn arrival(&self) -> Time {
        Time(self.arrival_and_flags >> FLAG_BITS)
    }

    /// Whether it has any of these flags.
    #[inline(always)]
    pub fn has(&self, flags: u64) -> bool {
        self.arrival_and_flags & flags != 0
    }

    /// Data sent once, without marks.
    #[inline(always)]
    pub fn is_plain_data(&self) -> bool {
        self.arrival_and_flags as u8 == 0
    }

    /// Whether it comes to the same end of the same flow, as far as the other does, for the wire may lose one of them.
    #[inline(always)]
    pub fn goes_to_same_end(&self, other: &Packet) -> bool {
        self.flow() == other.flow() && (self.arrival_and_flags ^ other.arrival_and_flags) & (ACK | LOST) == 0
    }

    /// An ACK that says no more than how far it goes.
    #[inline(always)]
    pub fn is_plain_ack(&self) -> bool {
        self.arrival_and_flags as u8 == ACK as u8
    }

    /// Whether it is of the same flow and kind as the packet before, and the next: the next segment, or acknowledging one more.
    #[inline(always)]
    pub fn follows(&self, before: &Packet) -> bool {
        self.flow_and_segment == before.flow_and_segment.wrapping_add(1)
            && self.arrival_and_flags as u8 == before.arrival_and_flags as u8
    }

    /// Sets flags.
    #[inline(always)]
    pub fn set_flags(&mut self, flags: u64) {
        self.arrival_and_flags |= flags;
    }

    /// Sets the arrival at the end of its next link.
    #[inline(always)]
    pub fn set_arrival(&mut self, arrival: Time) {
        // An endless queue before a slow link may take longer than the clock goes: then it never arrives.
        self.arrival_and_flags =
            arrival.min(Time::NEVER).0 << FLAG_BITS | self.arrival_and_flags & ((1 << FLAG_BITS) - 1);
    }
}
