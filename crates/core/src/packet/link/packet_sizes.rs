//! The sizes of a flow's packets.

use super::packet::{ACK, HAS_SACK, MARK, PUSH, Packet, RETRANSMISSION, SYN, TRIMMED};
use super::sack_pool;

/// [`PacketSizes`] by flow. Flows of equal sizes share one entry, which stays in the nearest cache.
pub struct FlowSizes {
    entries: Vec<PacketSizes>,
    /// Masks the flow's index: all bits, or none if all flows share one entry.
    index_mask: usize,
    /// See [`Self::largest`].
    largest: u16,
}

impl FlowSizes {
    /// Sizes by flow.
    pub fn new(mut entries: Vec<PacketSizes>) -> FlowSizes {
        let largest = entries.iter().map(PacketSizes::full).max().unwrap_or(0);
        let are_alike = entries.windows(2).all(|pair| pair[0] == pair[1]);
        if are_alike {
            entries.truncate(1);
        }
        entries.shrink_to_fit();
        FlowSizes { entries, index_mask: if are_alike { 0 } else { usize::MAX }, largest }
    }

    /// Sizes of single packets, none yet: a network without hosts numbers its packets instead of its flows. `largest` is that of the planned flows.
    pub fn of_packets(largest: u16) -> FlowSizes {
        FlowSizes { entries: Vec::new(), index_mask: usize::MAX, largest }
    }

    /// Sets the sizes of a packet of [`Self::of_packets`].
    pub fn set(&mut self, packet: u32, sizes: PacketSizes) {
        let index = packet as usize;
        self.largest = self.largest.max(sizes.full());
        if index == self.entries.len() {
            self.entries.push(sizes);
        } else {
            self.entries[index] = sizes;
        }
    }

    /// Queues may cut the data of all flows to this size.
    #[cfg(test)]
    pub fn allow_trimming(&mut self, header: u16) {
        for sizes in &mut self.entries {
            (sizes.trimmable, sizes.by_kind[2], sizes.by_kind[3]) = (true, header, header);
        }
    }

    /// The largest packet of all flows so far, bytes. It is used as the MTU of the interfaces.
    pub fn largest(&self) -> u16 {
        self.largest
    }

    /// The smallest packet of all flows, bytes; 1 if there is no flow.
    pub fn smallest(&self) -> u16 {
        self.entries.iter().map(PacketSizes::smallest).min().unwrap_or(1)
    }
}

impl std::ops::Index<usize> for FlowSizes {
    type Output = PacketSizes;

    #[inline(always)]
    fn index(&self, flow: usize) -> &PacketSizes {
        &self.entries[flow & self.index_mask]
    }
}

/// Bytes of the headers of a segment with timestamps: IPv4, TCP and the option.
const WITH_TIMESTAMPS: u16 = 52;

/// The ECN field of the IP header (RFC 3168 section 5, RFC 9331 section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IpEcn {
    /// Not capable.
    NotEct = 0,
    /// Capable, of L4S.
    Ect1 = 1,
    /// Capable, as classic ECN and DCTCP are.
    Ect0 = 2,
    /// Congestion experienced.
    CongestionExperienced = 3,
}

impl IpEcn {
    /// The field with which a stack sends data.
    pub const fn of_stack(ecn: bool, l4s: bool) -> IpEcn {
        match (ecn, l4s) {
            (false, _) => IpEcn::NotEct,
            (true, false) => IpEcn::Ect0,
            (true, true) => IpEcn::Ect1,
        }
    }

    /// The field in the second byte of an IPv4 header.
    pub const fn of_byte(byte: u8) -> IpEcn {
        match byte & 3 {
            0 => IpEcn::NotEct,
            1 => IpEcn::Ect1,
            2 => IpEcn::Ect0,
            _ => IpEcn::CongestionExperienced,
        }
    }
}

/// Whose sizes they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// A flow of TCP or UDP.
    Flow,
    /// A flow of a message transport.
    Messages,
    /// One packet, with its own `ecn`.
    Packet,
}

/// The sizes of a flow's packets on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketSizes {
    /// Bytes of a full data packet, of the packet of the last segment, and twice of a packet without data: indexed by [`Self::of`].
    by_kind: [u16; 4],
    /// The ECN field with which its data is sent. Other packets of an L4S flow have it as well, except a SYN.
    ecn: IpEcn,
    /// Whether queues may cut the payload of its data: the flow is of a message transport.
    pub trimmable: bool,
    /// Whose sizes these are.
    of: Owner,
    /// Bytes by which options make a SYN longer than a packet without data. If there are any, the SACK option makes an ACK longer.
    syn_options: u8,
    /// The number of the last segment; `u32::MAX` if the flow does not end.
    pub last_segment: u32,
}

impl PacketSizes {
    /// Sizes in bytes: of a full data packet, of the packet of the last segment, of a packet without data.
    pub const fn new(full: u16, last: u16, header: u16, ecn: IpEcn, last_segment: u32) -> PacketSizes {
        PacketSizes {
            by_kind: [full, last, header, header],
            ecn,
            trimmable: false,
            of: Owner::Flow,
            syn_options: 0,
            last_segment,
        }
    }

    /// Sizes of one packet, which has segment 0, in a flow with full packets of `full` bytes.
    pub const fn of_packet(full: u16, size: u16, ecn: IpEcn) -> PacketSizes {
        PacketSizes { of: Owner::Packet, ..PacketSizes::new(full, size, size, ecn, 0) }
    }

    /// The sizes, of messages, whose data queues may cut or not.
    pub const fn of_messages(self, trimmable: bool) -> PacketSizes {
        PacketSizes { of: Owner::Messages, trimmable, ..self }
    }

    /// Whether the number of each packet is its entropy value, as in message transports.
    pub fn numbers_are_entropy(&self) -> bool {
        self.of == Owner::Messages
    }

    /// The sizes, with SYNs and ACKs that are longer by their options. A SYN of Linux has MSS, SACK permitted and window scale, in 12 bytes.
    /// Timestamps share four of them (`tcp_syn_options`).
    pub const fn with_options(self) -> PacketSizes {
        let syn_options = if self.by_kind[2] < WITH_TIMESTAMPS { 12 } else { 8 };
        PacketSizes { syn_options, ..self }
    }

    /// Segments of the whole flow; `u32::MAX` if it does not end.
    pub fn segments(&self) -> u32 {
        self.last_segment.saturating_add(1)
    }

    /// Payload bytes of the whole flow; `None` if it does not end.
    pub fn whole_payload(&self) -> Option<u64> {
        (self.last_segment != u32::MAX).then(|| self.payload(self.segments(), true))
    }

    /// Payload bytes of this many segments. All are full except the flow's last segment, if it is one of them.
    pub fn payload(&self, segments: u32, has_last: bool) -> u64 {
        let full = u64::from(segments) * u64::from(self.full() - self.header());
        if has_last { full - u64::from(self.full() - self.last()) } else { full }
    }

    /// Whether routers may mark the packet: new data of an ECN-capable flow, but no ACK, SYN, FIN or retransmission (RFC 3168 sections
    /// 6.1.1, 6.1.4 and 6.1.5). Retransmissions of message transports and of L4S flows may be marked, because that rule is classic TCP's (RFC
    /// 9331 section 4.1). ACKs of L4S flows carry ECT(1), but no mark, because nothing would answer it.
    pub fn may_be_marked(&self, packet: &Packet) -> bool {
        if self.of == Owner::Packet {
            return self.ecn != IpEcn::NotEct;
        }
        let unmarked = match self.ecn {
            IpEcn::NotEct => return false,
            _ if self.trimmable => ACK | TRIMMED,
            IpEcn::Ect1 => ACK | SYN,
            _ => ACK | SYN | RETRANSMISSION,
        };
        !packet.has(unmarked) && !self.is_behind_data(packet)
    }

    /// Whether a queue treats the packet as L4S: it carries ECT(1) or CE (RFC 9331 section 5.1). A SYN carries neither.
    pub fn is_l4s(&self, packet: &Packet) -> bool {
        match self.ecn {
            IpEcn::CongestionExperienced => true,
            IpEcn::Ect1 => self.of == Owner::Packet || !packet.has(SYN),
            IpEcn::Ect0 | IpEcn::NotEct => packet.has(MARK) && !packet.has(ACK),
        }
    }

    /// The ECN field of a packet on the wire.
    pub fn ecn(&self, packet: &Packet) -> IpEcn {
        let may_be_marked = self.may_be_marked(packet);
        if may_be_marked && packet.has(MARK) {
            IpEcn::CongestionExperienced
        } else if may_be_marked || self.ecn == IpEcn::Ect1 && self.is_l4s(packet) {
            self.ecn
        } else {
            IpEcn::NotEct
        }
    }

    /// Whether the packet's segment is behind the flow's last one: that of a FIN without data, unless the packet is an ACK.
    #[inline(always)]
    pub fn is_behind_data(&self, packet: &Packet) -> bool {
        packet.segment() > self.last_segment
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
    pub fn smallest(&self) -> u16 {
        self.by_kind.into_iter().min().unwrap_or(1)
    }

    /// A packet without data, bytes.
    pub fn header(&self) -> u16 {
        self.by_kind[2]
    }

    /// The size of a packet, bytes.
    #[inline(always)]
    pub fn of(&self, packet: &Packet) -> u32 {
        // An index instead of branches: data and ACKs alternate too irregularly to predict.
        let is_last = usize::from(packet.segment() == self.last_segment);
        let is_header = usize::from(packet.has(ACK | SYN) | self.is_behind_data(packet));
        // Data has a handle too, for its timestamp.
        let options = if packet.has(ACK | SYN) { self.options(packet) } else { 0 };
        u32::from(self.by_kind[2 * is_header + is_last]) + options
    }

    /// [`Self::of`] for an ACK, in fewer instructions.
    #[inline(always)]
    pub fn of_ack(&self, ack: &Packet) -> u32 {
        u32::from(self.header()) + self.sack_option(ack)
    }

    /// A SYN, bytes.
    pub fn syn(&self) -> u16 {
        self.header() + u16::from(self.syn_options)
    }

    /// Bytes by which options make a packet without data longer.
    #[inline(always)]
    fn options(&self, packet: &Packet) -> u32 {
        if !packet.has(SYN) {
            self.sack_option(packet)
        } else if packet.has(PUSH) {
            0
        } else {
            self.syn_options.into()
        }
    }

    /// Bytes of an ACK's SACK option, if they count.
    #[inline(always)]
    fn sack_option(&self, ack: &Packet) -> u32 {
        if ack.has(HAS_SACK) && self.syn_options > 0 { sack_pool::option_bytes(ack.number()) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of Linux's SYN without and with timestamps: 40 + 12 and 40 + 20 bytes. The ACK that answers the SYN-ACK has no such options.
    #[test]
    fn a_syn_of_linux_has_its_options() {
        for (header, syn) in [(40, 52), (52, 60)] {
            let sizes = PacketSizes::new(1500, 1500, header, IpEcn::NotEct, u32::MAX).with_options();
            let size = |flags| sizes.of(&Packet::new(0, 0, 0, flags));
            assert_eq!([size(SYN), size(SYN | ACK), size(SYN | PUSH), size(0)], [syn, syn, header.into(), 1500]);
        }
    }

    /// RFC 9331 sections 4.1 and 5.1: ECT(1) on all packets of an L4S flow but its SYNs, and CE of any flow, are L4S.
    #[test]
    fn ect1_and_ce_are_l4s() {
        let fields = |ecn| {
            let sizes = PacketSizes::new(1500, 1500, 40, ecn, 10);
            [0, MARK, RETRANSMISSION, ACK, ACK | MARK, SYN].map(|flags| {
                let packet = Packet::new(0, 0, 0, flags);
                (sizes.ecn(&packet), sizes.is_l4s(&packet))
            })
        };
        let (not, ect1, ect0, ce) = (IpEcn::NotEct, IpEcn::Ect1, IpEcn::Ect0, IpEcn::CongestionExperienced);
        let l4s = [(ect1, true), (ce, true), (ect1, true), (ect1, true), (ect1, true), (not, false)];
        assert_eq!(fields(ect1), l4s);
        let classic = [(ect0, false), (ce, true), (not, false), (not, false), (not, false), (not, false)];
        assert_eq!(fields(ect0), classic);
    }
}
