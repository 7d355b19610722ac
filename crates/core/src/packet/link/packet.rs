//! A packet in flight: 24 bytes.

use crate::units::Time;

/// An acknowledgement (or SYN-ACK), not data.
pub const ACK: u64 = 1;
/// A SYN; with [`ACK`] a SYN-ACK, and with [`PUSH`] an ACK of the sender, which stands before a segment: the one that answers the SYN-ACK, or an
/// out-of-date ACK.
pub const SYN: u64 = 1 << 1;
/// Congestion experienced (CE) on data, its echo (ECE) on an ACK.
pub const MARK: u64 = 1 << 2;
/// Set on an ACK with SACK blocks or a window, and on data with a timestamp. Then `number` is the handle of the packet's entry
/// in the SACK pool.
pub const HAS_SACK: u64 = 1 << 3;
/// The wire has lost the packet: it crosses its link and is discarded at the far end.
pub const LOST: u64 = 1 << 4;
/// A retransmission; on an ACK, the echo of one.
pub const RETRANSMISSION: u64 = 1 << 5;
/// The sender has reduced its window after a congestion mark (CWR).
pub const WINDOW_REDUCED: u64 = 1 << 6;
/// Data with PSH. The segment behind a flow's last one is a FIN without data, and needs no flag.
pub const PUSH: u64 = 1 << 7;

/// Data of a message transport whose payload a queue has cut. Such flows have no SYN, so they share its flag.
pub const TRIMMED: u64 = SYN;
/// Of a trimmed packet: the cut was at the last link before its host, so no other path would have helped. Shares the flag of CWR.
pub const AT_LAST_HOP: u64 = WINDOW_REDUCED;

const FLAG_BITS: u32 = 8;

/// `flag` if the condition holds, else no flag; without a branch.
#[inline(always)]
pub fn flag_if(flag: u64, holds: bool) -> u64 {
    flag * u64::from(holds)
}

/// A packet and its arrival at the end of its link.
///
/// Three words, so that the processor copies it through registers: a wide load after narrow stores stalls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The arrival at the end of the link in the upper 56 bits, flags below.
    arrival_and_flags: u64,
    /// The flow above, the segment below.
    flow_and_segment: u64,
    /// The number above, the hop index below.
    number_and_hop: u64,
}

impl Packet {
    /// A packet that is on no link yet.
    #[inline(always)]
    pub fn new(flow: u32, segment: u32, number: u32, flags: u64) -> Packet {
        Packet {
            arrival_and_flags: flags,
            flow_and_segment: u64::from(flow) << 32 | u64::from(segment),
            number_and_hop: u64::from(number) << 32,
        }
    }

    /// The words of the packet, for functions on rare paths. A reference to the packet would force it into memory on every path.
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

    /// The number of the transmission, unique in its flow and direction. With [`HAS_SACK`], a handle in the SACK pool.
    #[inline(always)]
    pub fn number(&self) -> u32 {
        (self.number_and_hop >> 32) as u32
    }

    /// Sets the number, or the handle of the blocks.
    pub fn set_number(&mut self, number: u32) {
        self.number_and_hop = u64::from(number) << 32 | u64::from(self.hop_index());
    }

    /// The hop index, which determines the next link: see [`crate::packet::forwarding`].
    #[inline(always)]
    pub fn hop_index(&self) -> u32 {
        self.number_and_hop as u32
    }

    /// Sets the hop index.
    #[inline(always)]
    pub fn set_hop_index(&mut self, hop_index: u32) {
        self.number_and_hop = self.number_and_hop >> 32 << 32 | u64::from(hop_index);
    }

    /// The arrival at the end of its link.
    #[inline(always)]
    pub fn arrival(&self) -> Time {
        Time(self.arrival_and_flags >> FLAG_BITS)
    }

    /// Whether any of these flags is set.
    #[inline(always)]
    pub fn has(&self, flags: u64) -> bool {
        self.arrival_and_flags & flags != 0
    }

    /// Data without any flag.
    #[inline(always)]
    pub fn is_plain_data(&self) -> bool {
        self.arrival_and_flags as u8 == 0
    }

    /// Whether both packets go to the same end of the same flow, and both or none of them are lost.
    #[inline(always)]
    pub fn goes_to_same_end(&self, other: &Packet) -> bool {
        self.flow() == other.flow() && (self.arrival_and_flags ^ other.arrival_and_flags) & (ACK | LOST) == 0
    }

    /// An ACK without any other flag.
    #[inline(always)]
    pub fn is_plain_ack(&self) -> bool {
        self.arrival_and_flags as u8 == ACK as u8
    }

    /// Whether it has the flow and flags of `before`, and the next segment or next cumulative acknowledgement.
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
        // The queue of a slow link may last longer than the clock counts: then the packet never arrives.
        self.arrival_and_flags =
            arrival.min(Time::NEVER).0 << FLAG_BITS | self.arrival_and_flags & ((1 << FLAG_BITS) - 1);
    }
}
