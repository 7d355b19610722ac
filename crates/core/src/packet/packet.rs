//! A packet in flight: 24 bytes.

use crate::units::Time;

/// An acknowledgement (or SYN-ACK), not data.
pub const ACK: u64 = 1;
/// Opens the connection.
pub const SYN: u64 = 1 << 1;
/// Congestion experienced (CE) on data, its echo (ECE) on an ACK.
pub const MARK: u64 = 1 << 2;
/// The ACK's SACK blocks stand beside it: `number` is their place.
pub const BESIDE: u64 = 1 << 3;
/// The wire loses it: it crosses the link and arrives nowhere.
pub const LOST: u64 = 1 << 4;
/// Data sent before; on an ACK, that it answers such.
pub const RETRANSMISSION: u64 = 1 << 5;
/// The sender has answered a congestion mark (CWR).
pub const WINDOW_REDUCED: u64 = 1 << 6;

const FLAG_BITS: u32 = 8;

/// A packet, and when it leaves the link that it is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The arrival at the end of the link in the upper 56 bits, flags below.
    stamp: u64,
    /// The flow, in either direction.
    pub flow: u32,
    /// The data segment; on an ACK, the cumulative acknowledgement.
    pub segment: u32,
    /// The number of the transmission, unique in its direction; the place of the blocks of an ACK with [`BESIDE`].
    pub number: u32,
    /// Where it goes after this link: see [`super::forwarding`].
    pub at: u32,
}

impl Packet {
    /// A packet that is nowhere yet.
    pub fn new(flow: u32, segment: u32, number: u32, flags: u64) -> Packet {
        Packet { stamp: flags, flow, segment, number, at: 0 }
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

/// What a flow's packets measure on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketSizes {
    /// A full data packet, bytes.
    pub full: u16,
    /// The packet of the last segment, bytes.
    pub last: u16,
    /// A packet without data, bytes.
    pub header: u16,
    /// Whether routers may mark its data instead of dropping it.
    pub ecn_capable: bool,
    /// The number of the last segment; `u32::MAX` if the flow does not end.
    pub last_segment: u32,
}

impl PacketSizes {
    /// Whether routers may mark the packet: new data of a flow that asks for it, but no ACK, no SYN and no retransmission
    /// (RFC 3168 sections 6.1.1, 6.1.4 and 6.1.5).
    pub fn may_be_marked(&self, packet: &Packet) -> bool {
        self.ecn_capable && !packet.has(ACK | SYN | RETRANSMISSION)
    }

    /// The size of a packet, bytes.
    #[inline(always)]
    pub fn of(&self, packet: &Packet) -> u32 {
        u32::from(if packet.has(ACK | SYN) {
            self.header
        } else if packet.segment == self.last_segment {
            self.last
        } else {
            self.full
        })
    }
}
