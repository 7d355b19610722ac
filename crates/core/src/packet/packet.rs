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

    /// The number of the transmission, unique in its direction; the place of the blocks of an ACK with [`BESIDE`].
    #[inline(always)]
    pub fn number(&self) -> u32 {
        (self.course >> 32) as u32
    }

    /// Sets the number, or the place of the blocks.
    pub fn set_number(&mut self, number: u32) {
        self.course = u64::from(number) << 32 | u64::from(self.at());
    }

    /// Where it goes after this link: see [`super::forwarding`].
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

/// [`PacketSizes`] by flow. Where all flows are alike there is one entry for all, which stays in the nearest cache.
pub struct FlowSizes {
    entries: Vec<PacketSizes>,
    /// The bits of a flow's index that choose an entry: all or none.
    chosen_by: usize,
}

impl FlowSizes {
    /// Of each flow.
    pub fn new(mut entries: Vec<PacketSizes>) -> FlowSizes {
        let are_alike = entries.windows(2).all(|pair| pair[0] == pair[1]);
        if are_alike {
            entries.truncate(1);
        }
        entries.shrink_to_fit();
        FlowSizes { entries, chosen_by: if are_alike { 0 } else { usize::MAX } }
    }

    /// The smallest packet of all flows, bytes; one if there are none.
    pub fn least(&self) -> u16 {
        self.entries.iter().map(PacketSizes::least).min().unwrap_or(1)
    }
}

impl std::ops::Index<usize> for FlowSizes {
    type Output = PacketSizes;

    #[inline(always)]
    fn index(&self, flow: usize) -> &PacketSizes {
        &self.entries[flow & self.chosen_by]
    }
}

/// What a flow's packets measure on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketSizes {
    /// Bytes of a full data packet, of the packet of the last segment, and twice of a packet without data.
    by_kind: [u16; 4],
    /// Whether routers may mark its data instead of dropping it.
    pub ecn_capable: bool,
    /// The number of the last segment; `u32::MAX` if the flow does not end.
    pub last_segment: u32,
}

impl PacketSizes {
    /// Sizes in bytes: of a full data packet, of the packet of the last segment, of a packet without data.
    pub const fn new(full: u16, last: u16, header: u16, ecn_capable: bool, last_segment: u32) -> PacketSizes {
        PacketSizes { by_kind: [full, last, header, header], ecn_capable, last_segment }
    }

    /// Segments of the whole flow; `u32::MAX` if it does not end.
    pub fn segments(&self) -> u32 {
        self.last_segment.saturating_add(1)
    }

    /// Payload bytes of so many segments, all full but the flow's last, which is among them or not.
    pub fn payload(&self, segments: u32, has_last: bool) -> u64 {
        let full = u64::from(segments) * u64::from(self.full() - self.header());
        if has_last { full - u64::from(self.full() - self.last()) } else { full }
    }

    /// Whether routers may mark the packet: new data of a flow that asks for it, but no ACK, no SYN and no retransmission
    /// (RFC 3168 sections 6.1.1, 6.1.4 and 6.1.5).
    pub fn may_be_marked(&self, packet: &Packet) -> bool {
        self.ecn_capable && !packet.has(ACK | SYN | RETRANSMISSION)
    }

    /// A full data packet, bytes.
    pub fn full(&self) -> u16 {
        self.by_kind[0]
    }

    /// The packet of the last segment, bytes.
    pub fn last(&self) -> u16 {
        self.by_kind[1]
    }

    /// The smallest packet, bytes.
    pub fn least(&self) -> u16 {
        self.by_kind.into_iter().min().unwrap_or(1)
    }

    /// A packet without data, bytes.
    pub fn header(&self) -> u16 {
        self.by_kind[2]
    }

    /// The size of a packet, bytes.
    #[inline(always)]
    pub fn of(&self, packet: &Packet) -> u32 {
        // By index, for data and ACKs alternate too irregularly for branches.
        let is_last = usize::from(packet.segment() == self.last_segment);
        let is_header = usize::from(packet.has(ACK | SYN));
        u32::from(self.by_kind[2 * is_header + is_last])
    }
}
