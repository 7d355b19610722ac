//! IPv4 packets as Linux sends them: addresses, ports, and the ECN field.

use anabranch_core::packet::emulated::IpEcn;
use std::net::Ipv4Addr;

/// The protocol number of TCP (RFC 9293).
pub const TCP: u8 = 6;
/// The protocol number of UDP (RFC 768).
pub const UDP: u8 = 17;

const SHORTEST_HEADER: usize = 20;
/// The ECN field of a packet that has experienced congestion (RFC 3168, section 5).
const CONGESTION_EXPERIENCED: u8 = 3;
/// The flag of TCP's last segment (RFC 9293).
const FIN: u8 = 1;

/// The identity of a flow in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FiveTuple {
    /// Source of the packet.
    pub source: (Ipv4Addr, u16),
    /// Destination of the packet.
    pub destination: (Ipv4Addr, u16),
    /// TCP, UDP or another.
    pub protocol: u8,
}

impl FiveTuple {
    /// The identity of the other direction.
    pub fn reversed(self) -> FiveTuple {
        FiveTuple { source: self.destination, destination: self.source, ..self }
    }
}

/// The properties of a packet that the network needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Addresses, ports and protocol. Ports are 0 if the protocol has none.
    pub tuple: FiveTuple,
    /// Bytes of the packet.
    pub size: u16,
    /// Its ECN field.
    pub ecn: IpEcn,
    /// Whether it is of TCP, without payload and not a FIN: an ACK or a SYN.
    pub control: bool,
}

/// The header of an IPv4 packet; `None` if it is none, or not whole.
pub fn read(packet: &[u8]) -> Option<Header> {
    let size = u16::try_from(packet.len()).ok()?;
    let first = *packet.first()?;
    let length = usize::from(first & 15) * 4;
    if first >> 4 != 4 || length < SHORTEST_HEADER || packet.len() < length {
        return None;
    }
    let address = |at: usize| Some(Ipv4Addr::from(<[u8; 4]>::try_from(packet.get(at..at + 4)?).ok()?));
    let protocol = packet[9];
    let port = |at: usize| match (protocol, packet.get(at..at + 2)) {
        (TCP | UDP, Some(bytes)) => u16::from_be_bytes([bytes[0], bytes[1]]),
        _ => 0,
    };
    let is_control = || {
        let (offset, flags) = (packet.get(length + 12)? >> 4, packet.get(length + 13)?);
        Some(protocol == TCP && packet.len() == length + usize::from(offset) * 4 && flags & FIN == 0)
    };
    Some(Header {
        tuple: FiveTuple {
            source: (address(12)?, port(length)),
            destination: (address(16)?, port(length + 2)),
            protocol,
        },
        size,
        ecn: IpEcn::of_byte(packet[1]),
        control: is_control().unwrap_or(false),
    })
}

/// The numbers of a TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The sequence number of its first byte.
    pub begin: u32,
    /// The sequence number behind its last byte.
    pub end: u32,
    /// The cumulative acknowledgement.
    pub acknowledged: u32,
}

/// The numbers of a packet that [`read`] takes; `None` if it is not of TCP.
pub fn segment(packet: &[u8]) -> Option<Segment> {
    let length = usize::from(packet.first()? & 15) * 4;
    let number = |at: usize| Some(u32::from_be_bytes(packet.get(at..at + 4)?.try_into().ok()?));
    let payload = packet.len().checked_sub(length + usize::from(packet.get(length + 12)? >> 4) * 4)?;
    let begin = number(length + 4)?;
    let is_tcp = packet.get(9) == Some(&TCP);
    is_tcp.then_some(Segment { begin, end: begin.wrapping_add(payload as u32), acknowledged: number(length + 8)? })
}

/// Marks a packet that [`read`] takes with congestion experienced. Updates the checksum of its header (RFC 1624, equation 3).
pub fn mark(packet: &mut [u8]) {
    let before = u16::from_be_bytes([packet[0], packet[1]]);
    packet[1] |= CONGESTION_EXPERIENCED;
    let after = u16::from_be_bytes([packet[0], packet[1]]);
    let checksum = u16::from_be_bytes([packet[10], packet[11]]);
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{IpEcn, Ipv4HeaderSlice, PacketBuilder};

    /// A packet as another library writes it.
    fn packet(ecn: IpEcn) -> Vec<u8> {
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 1, 2], 64).tcp(49_152, 40_001, 1, 1000);
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &[7; 100]).unwrap();
        bytes[1] = bytes[1] & !3 | ecn.value();
        let (mut header, _) = etherparse::Ipv4Header::from_slice(&bytes).unwrap();
        header.header_checksum = header.calc_header_checksum();
        bytes[..20].copy_from_slice(&header.to_bytes());
        bytes
    }

    #[test]
    fn addresses_ports_size_and_ecn_are_those_that_another_library_wrote() {
        let header = read(&packet(IpEcn::try_new(2).unwrap())).unwrap();
        let tuple = FiveTuple {
            source: (Ipv4Addr::new(10, 0, 0, 1), 49_152),
            destination: (Ipv4Addr::new(10, 0, 1, 2), 40_001),
            protocol: TCP,
        };
        assert_eq!(header, Header { tuple, size: 140, ecn: super::IpEcn::Ect0, control: false });
        assert_eq!(read(&packet(IpEcn::try_new(1).unwrap())).unwrap().ecn, super::IpEcn::Ect1);
        assert_eq!(read(&packet(IpEcn::try_new(0).unwrap())).unwrap().ecn, super::IpEcn::NotEct);
        assert_eq!(tuple.reversed().reversed(), tuple);
    }

    #[test]
    fn a_marked_packet_has_the_checksum_that_another_library_computes() {
        for ecn in [1, 2] {
            let mut bytes = packet(IpEcn::try_new(ecn).unwrap());
            mark(&mut bytes);
            let header = Ipv4HeaderSlice::from_slice(&bytes).unwrap().to_header();
            assert_eq!(header.ecn.value(), 3);
            assert_eq!(header.header_checksum, header.calc_header_checksum());
        }
    }

    #[test]
    fn what_is_not_ipv4_or_not_whole_has_no_header() {
        let whole = packet(IpEcn::try_new(0).unwrap());
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[0x60; 60]), None);
        assert_eq!(read(&whole[..19]), None);
        assert_eq!(read(&[0x4f; 20]), None);
    }
}
