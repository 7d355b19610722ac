//! Packet captures: pcapng files (draft-ietf-opsawg-pcapng) that Wireshark and tshark read as IPv4 with TCP or UDP.
//!
//! A file stores headers only. The original length of a packet counts headers and payload. It may differ from the engine's packet
//! size, because the engine's headers have one size whatever their options.

use crate::packet::capture::headers::{Headers, LONGEST};
use crate::units::Time;
use std::net::Ipv4Addr;

pub use crate::packet::link::packet_sizes::IpEcn;

/// Greatest shift of the window scale option (RFC 7323, section 2.3).
const MAXIMUM_WINDOW_SCALE: u8 = 14;
/// Bytes of the longest IPv4 and TCP headers.
const LONGEST_HEADERS: usize = 120;
/// Decimal digits of a second in a timestamp: nanoseconds, the finest that Wireshark shows.
const TIMESTAMP_DIGITS: u8 = 9;

/// A packet as the file shows it.
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
    /// The transport protocol.
    pub kind: CapturedKind,
}

/// The transport protocol of a packet.
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
    /// FIN.
    pub fin: bool,
    /// PSH.
    pub push: bool,
    /// ECE (RFC 3168).
    pub ecn_echo: bool,
    /// CWR (RFC 3168).
    pub window_reduced: bool,
    /// AE, the highest bit of AccECN's field (RFC 9768). CWR and ECE are the others.
    pub accurate: bool,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number; `None` clears the ACK flag.
    pub acknowledgement: Option<u32>,
    /// The advertised window, bytes; rounded down to a multiple of the scale.
    pub window: u64,
    /// The window scale that this direction's SYN announces ([`window_scale`]).
    pub window_scale: u8,
    /// SACK blocks as (left edge, right edge), the most recent first (RFC 2018); at most four are written.
    pub sack_blocks: Vec<(u32, u32)>,
}

/// The options of a SYN, next to the window scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SynOptions {
    /// Maximum segment size, bytes.
    pub mss: u16,
    /// The SACK-permitted option.
    pub sack_permitted: bool,
}

/// The least window scale that can announce a receive window, bytes; the greatest scale if none can (RFC 7323).
pub fn window_scale(receive_window: u64) -> u8 {
    (0..MAXIMUM_WINDOW_SCALE)
        .find(|scale| receive_window >> scale <= u64::from(u16::MAX))
        .unwrap_or(MAXIMUM_WINDOW_SCALE)
}

/// An enhanced packet block has seven words before the headers, and its length again behind them.
const BEFORE: usize = 28;
const AROUND: usize = BEFORE + 4;
const LONGEST_BLOCK: usize = LONGEST + AROUND;

/// The capture of one link.
#[derive(Debug)]
pub struct Capture {
    file: Vec<u8>,
}

impl Capture {
    /// An empty capture. Its interface has the name of the link.
    pub fn new(link_name: &str) -> Capture {
        let mut capture = Capture { file: Vec::new() };
        let version = [1, 0, 0, 0];
        let unknown_length = [0xff; 8];
        capture.block(0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes()[..], &version, &unknown_length].concat());
        let (raw_ip, longest) = ([101, 0, 0, 0], (LONGEST_HEADERS as u32).to_le_bytes());
        let mut interface = [raw_ip, longest].concat();
        option(&mut interface, 2, link_name.as_bytes());
        option(&mut interface, 9, &[TIMESTAMP_DIGITS]);
        option(&mut interface, 0, &[]);
        capture.block(1, &interface);
        capture
    }

    /// Appends a block. Its byte order is fixed, so that captures are equal on all machines.
    fn block(&mut self, kind: u32, body: &[u8]) {
        let length = (body.len() as u32 + 12).to_le_bytes();
        self.file.extend([&kind.to_le_bytes()[..], &length, body, &length].concat());
    }

    /// Appends a packet. Packets must come in the order of time.
    pub fn record(&mut self, packet: &CapturedPacket) {
        let (block, length) = block_of(packet);
        self.file.extend_from_slice(&block[..length]);
    }

    /// Appends a packet given as bytes, truncated to the longest headers. Packets must be appended in order of time.
    pub fn record_bytes(&mut self, now: Time, packet: &[u8]) {
        let kept = &packet[..packet.len().min(LONGEST_HEADERS)];
        let mut body = vec![0; 20];
        body[4..12].copy_from_slice(&timestamp(now));
        body[12..16].copy_from_slice(&(kept.len() as u32).to_le_bytes());
        body[16..20].copy_from_slice(&(packet.len() as u32).to_le_bytes());
        body.extend(kept);
        body.resize(body.len().next_multiple_of(4), 0);
        self.block(6, &body);
    }

    /// The bytes of the file since the last call; all calls together give the file.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.file)
    }
}

/// The block of a packet (draft-ietf-opsawg-pcapng, section 4.3) and its length. Headers are whole words and need no padding.
fn block_of(packet: &CapturedPacket) -> ([u8; LONGEST_BLOCK], usize) {
    let headers = Headers::of(packet);
    let captured = headers.bytes().len();
    let length = captured + AROUND;
    let mut block = [0; LONGEST_BLOCK];
    let mut set = |offset: usize, value: u32| block[offset..][..4].copy_from_slice(&value.to_le_bytes());
    set(0, 6);
    set(4, length as u32);
    set(20, captured as u32);
    set(24, captured as u32 + packet.payload_length);
    set(BEFORE + captured, length as u32);
    block[BEFORE..][..captured].copy_from_slice(headers.bytes());
    set_time(&mut block, packet.now);
    (block, length)
}

#[inline(always)]
fn set_time(block: &mut [u8], now: Time) {
    block[12..20].copy_from_slice(&timestamp(now));
}

/// Nanoseconds; the upper half comes first.
#[inline(always)]
fn timestamp(now: Time) -> [u8; 8] {
    (now.0 / 1000).rotate_left(u32::BITS).to_le_bytes()
}

/// Appends an option to the body of a block, unless its value is too long for one.
fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let Ok(length) = u16::try_from(value.len()) else { return };
    body.extend(code.to_le_bytes());
    body.extend(length.to_le_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
pub(in crate::packet) mod tests {
    use super::*;
    use pcap_file::DataLink;
    use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
    use pcap_file::pcapng::{Block, PcapNgReader};

    pub fn segment() -> CapturedSegment {
        CapturedSegment {
            syn: None,
            fin: false,
            push: false,
            ecn_echo: false,
            window_reduced: false,
            accurate: false,
            sequence: 1,
            acknowledgement: Some(1),
            window: 1 << 20,
            window_scale: 5,
            sack_blocks: vec![],
        }
    }

    pub fn packet(kind: CapturedKind, payload_length: u32) -> CapturedPacket {
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
    fn a_name_too_long_for_an_option_is_left_out() {
        let file = Capture::new(&"x".repeat(usize::from(u16::MAX) + 1)).take();
        let mut reader = PcapNgReader::new(&file[..]).unwrap();
        let Block::InterfaceDescription(interface) = reader.next_block().unwrap().unwrap() else { panic!() };
        assert_eq!(interface.options, [InterfaceDescriptionOption::IfTsResol(9)]);
    }

    #[test]
    fn bytes_read_back_are_the_headers_with_the_packets_length_and_time() {
        let mut capture = Capture::new("Seattle-Denver");
        let bytes: Vec<u8> = (0..=255).cycle().take(1498).collect();
        capture.record_bytes(Time(1_234_567_890_123_456), &bytes);
        capture.record_bytes(Time(2_000_000_000_000_000), &bytes[..41]);
        let file = capture.take();
        let mut reader = PcapNgReader::new(&file[..]).unwrap();
        reader.next_block().unwrap().unwrap();
        for (time, length, kept) in [(1_234_567_890_123, 1498, 120), (2_000_000_000_000, 41, 41)] {
            let Block::EnhancedPacket(block) = reader.next_block().unwrap().unwrap() else { panic!() };
            assert_eq!(block.timestamp.as_nanos(), time);
            assert_eq!((&block.data[..], block.original_len), (&bytes[..kept], length));
        }
    }

    #[test]
    fn the_window_scale_is_the_least_that_fits() {
        let cases = [(0, 0), (65_535, 0), (65_536, 1), (1 << 20, 5), (65_535 << 14, 14), (u64::MAX, 14)];
        for (window, scale) in cases {
            assert_eq!(window_scale(window), scale, "{window}");
        }
    }
}
