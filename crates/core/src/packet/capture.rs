//! Packet captures: pcapng files (draft-ietf-opsawg-pcapng) that Wireshark and tshark read as IPv4 with TCP or UDP.
//!
//! Only headers are stored. The original length counts them and the payload; what an engine takes as the length of a
//! packet on the wire may differ from it, because its headers are of one size whatever options they carry.

use crate::units::Time;
use etherparse::checksum::Sum16BitWords;
use etherparse::{IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, TcpOptions, UdpHeader};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::section_header::SectionHeaderBlock;
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, Endianness};
use std::borrow::Cow;
use std::net::Ipv4Addr;

pub use etherparse::IpEcn;

/// Greatest shift of the window scale option (RFC 7323, section 2.3).
const MAXIMUM_WINDOW_SCALE: u8 = 14;
/// SACK blocks that the option space of a segment holds (RFC 2018, section 3).
const MAXIMUM_SACK_BLOCKS: usize = 4;
/// Decimal digits of a second in a timestamp: nanoseconds, the finest that Wireshark shows.
const TIMESTAMP_DIGITS: u8 = 9;

/// A packet as the capture shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedPacket {
    /// When it is captured; stored in whole nanoseconds, rounded down.
    pub now: Time,
    /// Source address.
    pub source_address: Ipv4Addr,
    /// Destination address.
    pub destination_address: Ipv4Addr,
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// The ECN field of the IP header (RFC 3168).
    pub ecn: IpEcn,
    /// Bytes of payload, which are not stored.
    pub payload_length: u32,
    /// What carries the payload.
    pub kind: CapturedKind,
}

/// What carries the payload of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CapturedKind {
    /// A TCP segment.
    Tcp(CapturedSegment),
    /// A UDP datagram.
    Udp,
}

/// A TCP header. Numbers count bytes and wrap; with an initial sequence number of 0 the SYN has 0 and the first byte
/// of data 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedSegment {
    /// SYN, with the options that only it carries.
    pub syn: Option<SynOptions>,
    /// PSH.
    pub push: bool,
    /// ECE (RFC 3168).
    pub ecn_echo: bool,
    /// CWR (RFC 3168).
    pub window_reduced: bool,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number; ACK is set if there is one.
    pub acknowledgement: Option<u32>,
    /// The advertised window, bytes. What the scaled 16 bits cannot say is rounded down.
    pub window: u64,
    /// The shift of this direction's windows, as its SYN announces it ([`window_scale`]).
    pub window_scale: u8,
    /// SACK blocks as (left edge, right edge), the most recent first (RFC 2018); those beyond four are left out.
    pub sack_blocks: Vec<(u32, u32)>,
}

/// The options of a SYN, next to the window scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SynOptions {
    /// Maximum segment size, bytes.
    pub mss: u16,
    /// Selective acknowledgements are welcome.
    pub sack_permitted: bool,
}

/// The least window scale with which a receive window of so many bytes can be told, as far as there is one (RFC 7323).
pub fn window_scale(receive_window: u64) -> u8 {
    (0..MAXIMUM_WINDOW_SCALE)
        .find(|scale| receive_window >> scale <= u64::from(u16::MAX))
        .unwrap_or(MAXIMUM_WINDOW_SCALE)
}

/// The capture of one link.
pub struct Capture {
    writer: PcapNgWriter<Vec<u8>>,
}

/// Why writing does not fail: the writer's sink is memory, its only interface is described first.
const INFALLIBLE: &str = "a block of the described interface goes to memory";

impl Capture {
    /// An empty capture. Its interface bears the name of the link.
    pub fn new(link_name: &str) -> Capture {
        // The order of bytes is fixed, so that a capture is the same on every machine.
        let section = SectionHeaderBlock { endianness: Endianness::Little, ..Default::default() };
        let mut writer = PcapNgWriter::with_section_header(Vec::new(), section).expect(INFALLIBLE);
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: (Ipv4Header::MAX_LEN + TcpHeader::MAX_LEN) as u32,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(link_name)),
                InterfaceDescriptionOption::IfTsResol(TIMESTAMP_DIGITS),
            ],
        };
        writer.write_block(&interface.into_block()).expect(INFALLIBLE);
        Capture { writer }
    }

    /// Adds a packet. Packets are to come in the order of time.
    pub fn record(&mut self, packet: &CapturedPacket) {
        let headers = headers(packet);
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: std::time::Duration::from_nanos(packet.now.0 / 1000),
            original_len: headers.len() as u32 + packet.payload_length,
            data: Cow::Owned(headers),
            options: vec![],
        };
        self.writer.write_block(&block.into_block()).expect(INFALLIBLE);
    }

    /// The bytes of the file since the last call; all calls together give the file.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(self.writer.get_mut())
    }
}

/// The IPv4 and transport headers.
fn headers(packet: &CapturedPacket) -> Vec<u8> {
    let (protocol, transport) = match &packet.kind {
        CapturedKind::Tcp(segment) => (IpNumber::TCP, tcp_header(packet, segment)),
        CapturedKind::Udp => (IpNumber::UDP, udp_header(packet)),
    };
    let mut ip = Ipv4Header {
        ecn: packet.ecn,
        total_len: length_field(Ipv4Header::MIN_LEN + transport.len(), packet.payload_length),
        dont_fragment: true,
        time_to_live: 64,
        protocol,
        source: packet.source_address.octets(),
        destination: packet.destination_address.octets(),
        ..Default::default()
    };
    ip.header_checksum = ip.calc_header_checksum();
    [&ip.to_bytes()[..], &transport].concat()
}

/// A 16-bit length; 0 beyond, as in the captures of hosts that leave segmentation to the network card: readers then
/// take the original length.
fn length_field(header: usize, payload: u32) -> u16 {
    u16::try_from(header as u64 + u64::from(payload)).unwrap_or(0)
}

fn udp_header(packet: &CapturedPacket) -> Vec<u8> {
    let header = UdpHeader {
        source_port: packet.source_port,
        destination_port: packet.destination_port,
        length: length_field(UdpHeader::LEN, packet.payload_length),
        checksum: 0, // none, as RFC 768 allows
    };
    header.to_bytes().to_vec()
}

fn tcp_header(packet: &CapturedPacket, segment: &CapturedSegment) -> Vec<u8> {
    let scale = if segment.syn.is_some() { 0 } else { segment.window_scale };
    let mut header = TcpHeader {
        syn: segment.syn.is_some(),
        ack: segment.acknowledgement.is_some(),
        psh: segment.push,
        ece: segment.ecn_echo,
        cwr: segment.window_reduced,
        acknowledgment_number: segment.acknowledgement.unwrap_or(0),
        options: tcp_options(segment),
        ..TcpHeader::new(
            packet.source_port,
            packet.destination_port,
            segment.sequence,
            u16::try_from(segment.window >> scale).unwrap_or(u16::MAX),
        )
    };
    header.checksum = tcp_checksum(packet, &header);
    header.to_bytes().to_vec()
}

/// The checksum for a payload of zeros, of which only the length counts (RFC 9293, section 3.1).
fn tcp_checksum(packet: &CapturedPacket, header: &TcpHeader) -> u16 {
    let length = length_field(header.header_len(), packet.payload_length);
    Sum16BitWords::new()
        .add_4bytes(packet.source_address.octets())
        .add_4bytes(packet.destination_address.octets())
        .add_2bytes([0, IpNumber::TCP.0])
        .add_2bytes(length.to_be_bytes())
        .add_slice(&header.to_bytes())
        .ones_complement()
        .to_be()
}

fn tcp_options(segment: &CapturedSegment) -> TcpOptions {
    let mut options = Vec::new();
    if let Some(syn) = segment.syn {
        options.push(TcpOptionElement::MaximumSegmentSize(syn.mss));
        if syn.sack_permitted {
            options.push(TcpOptionElement::SelectiveAcknowledgementPermitted);
        }
        options.push(TcpOptionElement::WindowScale(segment.window_scale));
    } else if let [first, others @ ..] = segment.sack_blocks.as_slice() {
        let mut rest = [None; MAXIMUM_SACK_BLOCKS - 1];
        for (place, block) in rest.iter_mut().zip(others) {
            *place = Some(*block);
        }
        // Two fillers put the edges on multiples of four bytes (RFC 2018, section 3).
        options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop]);
        options.push(TcpOptionElement::SelectiveAcknowledgement(*first, rest));
    }
    TcpOptions::try_from_elements(&options).expect("a SYN's or four SACK blocks' options fit in 40 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{NetHeaders, PacketHeaders, TransportHeader};
    use pcap_file::pcapng::{Block, PcapNgReader};
    use proptest::prelude::*;

    fn segment() -> CapturedSegment {
        CapturedSegment {
            syn: None,
            push: false,
            ecn_echo: false,
            window_reduced: false,
            sequence: 1,
            acknowledgement: Some(1),
            window: 1 << 20,
            window_scale: 5,
            sack_blocks: vec![],
        }
    }

    fn packet(kind: CapturedKind, payload_length: u32) -> CapturedPacket {
        CapturedPacket {
            now: Time(1_234_567_890_123_456),
            source_address: Ipv4Addr::new(10, 0, 0, 1),
            destination_address: Ipv4Addr::new(10, 0, 1, 2),
            source_port: 40_000,
            destination_port: 5001,
            ecn: IpEcn::NotEct,
            payload_length,
            kind,
        }
    }

    fn tcp(header: &[u8]) -> TcpHeader {
        match PacketHeaders::from_ip_slice(header).map(|headers| headers.transport) {
            Ok(Some(TransportHeader::Tcp(header))) => header,
            other => panic!("no TCP: {other:?}"),
        }
    }

    /// The headers as a reader with the full packet sees them: with a payload of zeros.
    fn with_payload(packet: &CapturedPacket) -> Vec<u8> {
        let mut bytes = headers(packet);
        bytes.resize(bytes.len() + packet.payload_length as usize, 0);
        bytes
    }

    #[test]
    fn a_file_read_back_has_the_interface_and_packet_with_both_lengths() {
        let mut capture = Capture::new("Seattle-Denver");
        let mut file = capture.take();
        assert!(!file.is_empty() && capture.take().is_empty());
        capture.record(&packet(CapturedKind::Tcp(segment()), 1460));
        file.extend(capture.take());
        let mut reader = PcapNgReader::new(&file[..]).unwrap();
        let Block::InterfaceDescription(interface) = reader.next_block().unwrap().unwrap() else { panic!() };
        assert_eq!(interface.linktype, DataLink::RAW);
        assert!(interface.options.contains(&InterfaceDescriptionOption::IfName("Seattle-Denver".into())));
        assert!(interface.options.contains(&InterfaceDescriptionOption::IfTsResol(9)));
        let Block::EnhancedPacket(block) = reader.next_block().unwrap().unwrap() else { panic!() };
        assert_eq!(block.timestamp.as_nanos(), 1_234_567_890_123);
        assert_eq!((block.data.len(), block.original_len), (40, 1500));
        assert!(reader.next_block().is_none());
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

    #[test]
    fn the_window_scale_is_the_least_that_fits() {
        let cases = [(0, 0), (65_535, 0), (65_536, 1), (1 << 20, 5), (65_535 << 14, 14), (u64::MAX, 14)];
        for (window, scale) in cases {
            assert_eq!(window_scale(window), scale, "{window}");
        }
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
