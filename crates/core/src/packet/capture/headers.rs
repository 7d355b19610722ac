//! The IPv4 and transport headers of captured packets, as bytes on the wire.

use crate::packet::capture::pcapng::{CapturedKind, CapturedPacket, CapturedSegment, SynOptions};
use std::net::Ipv4Addr;

/// Bytes of the IPv4 header, which has no options.
pub(in crate::packet) const IPV4: usize = 20;
/// Bytes of the TCP header without options.
pub(in crate::packet) const TCP: usize = 20;
const TCP_OPTIONS: usize = 40;
const UDP: usize = 8;
/// Bytes of the longest headers.
pub(in crate::packet) const LONGEST: usize = IPV4 + TCP + TCP_OPTIONS;
/// How many SACK blocks the option space of a segment holds (RFC 2018, section 3).
const MAXIMUM_SACK_BLOCKS: usize = 4;

const TCP_PROTOCOL: u8 = 6;
const UDP_PROTOCOL: u8 = 17;

/// The headers of a packet in network byte order.
pub(in crate::packet) struct Headers {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Headers {
    /// The headers of a packet. The checksum is that of a payload of zeros, which adds only its length (RFC 9293, section 3.1).
    pub fn of(packet: &CapturedPacket) -> Headers {
        let mut headers = Headers { bytes: [0; LONGEST], length: IPV4 };
        match &packet.kind {
            CapturedKind::Tcp(segment) => headers.put_tcp(packet, segment),
            CapturedKind::Udp => headers.put_udp(packet),
        }
        headers.set_ipv4(packet);
        headers
    }

    /// All headers.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes[self.length..][..N].copy_from_slice(&bytes);
        self.length += N;
    }

    fn set<const N: usize>(&mut self, offset: usize, bytes: [u8; N]) {
        self.bytes[offset..][..N].copy_from_slice(&bytes);
    }

    fn set_ipv4(&mut self, packet: &CapturedPacket) {
        const DO_NOT_FRAGMENT: u8 = 0x40;
        const TIME_TO_LIVE: u8 = 64;
        let protocol = if matches!(packet.kind, CapturedKind::Udp) { UDP_PROTOCOL } else { TCP_PROTOCOL };
        let length = length_field(self.length, packet.payload_length).to_be_bytes();
        self.set(0, [0x45, packet.ecn as u8, length[0], length[1], 0, 0, DO_NOT_FRAGMENT, 0, TIME_TO_LIVE, protocol]);
        self.set(12, packet.source_address.octets());
        self.set(16, packet.destination_address.octets());
        let checksum = !folded(sum_of(&self.bytes[..IPV4]));
        self.set(10, checksum.to_be_bytes());
    }

    fn put_udp(&mut self, packet: &CapturedPacket) {
        self.put_ports(packet);
        self.put(length_field(UDP, packet.payload_length).to_be_bytes());
        self.put([0; 2]); // no checksum, as RFC 768 allows
    }

    fn put_ports(&mut self, packet: &CapturedPacket) {
        self.put(packet.source_port.to_be_bytes());
        self.put(packet.destination_port.to_be_bytes());
    }

    fn put_tcp(&mut self, packet: &CapturedPacket, segment: &CapturedSegment) {
        let scale = if segment.syn.is_some() { 0 } else { segment.window_scale };
        let window = u16::try_from(segment.window >> scale).unwrap_or(u16::MAX);
        self.put_ports(packet);
        self.put(segment.sequence.to_be_bytes());
        self.put(segment.acknowledgement.unwrap_or(0).to_be_bytes());
        self.put([0, flags(segment)]);
        self.put(window.to_be_bytes());
        self.put([0; 4]); // the checksum, set below, and no urgent pointer
        self.put_options(segment);
        let length = self.length - IPV4;
        self.bytes[IPV4 + 12] = ((length / 4) << 4) as u8 | u8::from(segment.accurate);
        let checksum = !folded(self.pseudo_header(packet, length) + sum_of(&self.bytes[IPV4..self.length]));
        self.set(IPV4 + 16, checksum.to_be_bytes());
    }

    fn pseudo_header(&self, packet: &CapturedPacket, length: usize) -> u32 {
        let of_address = |address: Ipv4Addr| sum_of(&address.octets());
        of_address(packet.source_address)
            + of_address(packet.destination_address)
            + u32::from(TCP_PROTOCOL)
            + u32::from(length_field(length, packet.payload_length))
    }

    fn put_options(&mut self, segment: &CapturedSegment) {
        const END: u8 = 0;
        const NO_OPERATION: u8 = 1;
        if let Some(syn) = segment.syn {
            self.put_syn_options(syn, segment.window_scale);
        } else if !segment.sack_blocks.is_empty() {
            let blocks = &segment.sack_blocks[..segment.sack_blocks.len().min(MAXIMUM_SACK_BLOCKS)];
            // Two no-operations align the edges to four bytes (RFC 2018, section 3).
            self.put([NO_OPERATION, NO_OPERATION, 5, 2 + 8 * blocks.len() as u8]);
            for (left, right) in blocks {
                self.put(left.to_be_bytes());
                self.put(right.to_be_bytes());
            }
        }
        while !self.length.is_multiple_of(4) {
            self.put([END]);
        }
    }

    fn put_syn_options(&mut self, syn: SynOptions, window_scale: u8) {
        let mss = syn.mss.to_be_bytes();
        self.put([2, 4, mss[0], mss[1]]);
        if syn.sack_permitted {
            self.put([4, 2]);
        }
        self.put([3, 3, window_scale]);
    }
}

fn flags(segment: &CapturedSegment) -> u8 {
    let flags = [
        (segment.fin, 0),
        (segment.syn.is_some(), 1),
        (segment.push, 3),
        (segment.acknowledgement.is_some(), 4),
        (segment.ecn_echo, 6),
        (segment.window_reduced, 7),
    ];
    flags.into_iter().map(|(holds, bit)| u8::from(holds) << bit).sum()
}

/// A 16-bit length; 0 if it does not fit, as in captures of hosts with segmentation offload. Readers then use the
/// original length.
fn length_field(header: usize, payload: u32) -> u16 {
    u16::try_from(header as u64 + u64::from(payload)).unwrap_or(0)
}

/// The sum of 16-bit words. The number of bytes must be even.
fn sum_of(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum()
}

/// A sum in ones' complement (RFC 1071): carries out of 16 bits are added again.
fn folded(sum: u32) -> u16 {
    let once = (sum >> 16) + (sum & 0xffff);
    ((once >> 16) + once) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::capture::pcapng::IpEcn;
    use crate::packet::capture::pcapng::tests::{packet, segment};
    use etherparse::{NetHeaders, PacketHeaders, TcpHeader, TcpOptionElement, TransportHeader};
    use proptest::prelude::*;

    fn tcp(header: &[u8]) -> TcpHeader {
        match PacketHeaders::from_ip_slice(header).map(|headers| headers.transport) {
            Ok(Some(TransportHeader::Tcp(header))) => header,
            other => panic!("no TCP: {other:?}"),
        }
    }

    fn headers(packet: &CapturedPacket) -> Vec<u8> {
        Headers::of(packet).bytes().to_vec()
    }

    /// The headers as a reader with the full packet sees them: with a payload of zeros.
    fn with_payload(packet: &CapturedPacket) -> Vec<u8> {
        let mut bytes = headers(packet);
        bytes.resize(bytes.len() + packet.payload_length as usize, 0);
        bytes
    }

    #[test]
    fn the_headers_of_a_known_segment_are_these_bytes() {
        let bytes = headers(&packet(CapturedKind::Tcp(segment()), 1460));
        #[rustfmt::skip]
        let ip = [0x45, 0, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 6, 0x20, 0x1a, 10, 0, 0, 1, 10, 0, 1, 2];
        assert_eq!(bytes[..20], ip);
        // Ports, sequence 1, acknowledgement 1, five words with ACK, a window of 2^20 / 2^5.
        assert_eq!(bytes[20..36], [0x9c, 0x40, 0x13, 0x89, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 0x80, 0]);
    }

    #[test]
    fn a_syn_announces_mss_sack_and_window_scale_and_does_not_scale_its_own_window() {
        let syn = Some(SynOptions { mss: 1460, sack_permitted: true });
        let header = tcp(&headers(&packet(
            CapturedKind::Tcp(CapturedSegment { syn, acknowledgement: None, sequence: 0, ..segment() }),
            0,
        )));
        assert!(header.syn && !header.ack);
        assert_eq!(header.window_size, u16::MAX);
        let options: Vec<_> = header.options_iterator().map(Result::unwrap).collect();
        use TcpOptionElement::*;
        assert_eq!(options, [MaximumSegmentSize(1460), SelectiveAcknowledgementPermitted, WindowScale(5)]);
    }

    #[test]
    fn flags_and_ecn_are_where_readers_look_for_them() {
        let mut marked = packet(
            CapturedKind::Tcp(CapturedSegment { push: true, ecn_echo: true, window_reduced: true, ..segment() }),
            1,
        );
        marked.ecn = IpEcn::CongestionExperienced;
        let bytes = with_payload(&marked);
        let header = tcp(&bytes);
        assert!(header.psh && header.ece && header.cwr && header.ack && !header.syn && !header.fin && !header.rst);
        assert_eq!(bytes[1] & 3, 3);
    }

    #[test]
    fn datagrams_have_a_udp_header() {
        let bytes = with_payload(&packet(CapturedKind::Udp, 972));
        assert_eq!(bytes.len(), 1000);
        let Some(TransportHeader::Udp(header)) = PacketHeaders::from_ip_slice(&bytes).unwrap().transport else {
            panic!()
        };
        assert_eq!((header.source_port, header.destination_port, header.length), (40_000, 5001, 980));
    }

    #[test]
    fn segments_too_long_for_ipv4_say_so_as_segmentation_offload_does() {
        let bytes = headers(&packet(CapturedKind::Tcp(segment()), 100_000));
        assert_eq!(bytes[2..4], [0, 0]);
    }

    proptest! {
        #[test]
        fn every_segment_reads_back_with_valid_checksums(
            sequence: u32, acknowledgement: Option<u32>, window: u64, window_scale in 0u8..=14,
            sack_blocks in proptest::collection::vec(any::<(u32, u32)>(), 0..6), payload_length in 0u32..9000,
        ) {
            let segment = CapturedSegment {
                sequence, acknowledgement, window, window_scale, sack_blocks: sack_blocks.clone(), ..segment()
            };
            let packet = packet(CapturedKind::Tcp(segment), payload_length);
            let bytes = with_payload(&packet);
            let read = PacketHeaders::from_ip_slice(&bytes).unwrap();
            let Some(NetHeaders::Ipv4(ip, _)) = read.net else { panic!() };
            prop_assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            prop_assert_eq!(usize::from(ip.total_len), bytes.len());
            let Some(TransportHeader::Tcp(header)) = read.transport else { panic!() };
            prop_assert_eq!(header.checksum, header.calc_checksum_ipv4(&ip, read.payload.slice()).unwrap());
            prop_assert_eq!(header.sequence_number, sequence);
            prop_assert_eq!(header.ack.then_some(header.acknowledgment_number), acknowledgement);
            prop_assert_eq!(u64::from(header.window_size), (window >> window_scale).min(65_535));
            let blocks: Vec<(u32, u32)> = header
                .options_iterator()
                .filter_map(|option| match option.unwrap() {
                    TcpOptionElement::SelectiveAcknowledgement(first, rest) => Some((first, rest)),
                    _ => None,
                })
                .flat_map(|(first, rest)| std::iter::once(first).chain(rest.into_iter().flatten()))
                .collect();
            prop_assert_eq!(&blocks[..], &sack_blocks[..sack_blocks.len().min(MAXIMUM_SACK_BLOCKS)]);
        }
    }
}
