//! The addresses, ports and header fields of a flow's packets.
//!
//! Node n has the address 10.x.y.z with xyz = n + 1. Flow f has the sender port 49152 + f, a dynamic port (RFC 6335), and
//! the receiver port 40001 + its traffic group. With more flows than dynamic ports, the receiver port distinguishes them as
//! well. With more flows than both distinguish, the sender's network does (11.x.y.z and so on). No two flows share all four.
//! Sequence numbers start at 0 on both sides.

use crate::packet::capture::pcapng::{CapturedKind, CapturedPacket, CapturedSegment, SynOptions, window_scale};
use crate::packet::hosts::flow::FlowIdentity;
use crate::packet::link::packet::{ACK, MARK, PUSH, Packet, SYN, WINDOW_REDUCED};
use crate::packet::link::packet_sizes::PacketSizes;
use crate::spec::{NodeId, StackSpec};
use crate::tcp::accecn::Feedback;
use crate::tcp::receiver::Announcement;
use crate::tcp::scoreboard::Range;
use crate::units::Time;
use std::net::Ipv4Addr;

const FIRST_SENDER_PORT: u16 = 49_152;
const SENDER_PORTS: u32 = 65_536 - FIRST_SENDER_PORT as u32;
const FIRST_RECEIVER_PORT: u16 = 40_001;
const RECEIVER_PORTS: u64 = (FIRST_SENDER_PORT - FIRST_RECEIVER_PORT) as u64;
/// The first octet of addresses (RFC 1918).
const NETWORK: u8 = 10;
/// Bytes of the IPv4 and UDP headers of a datagram.
const UDP_HEADERS: u32 = 28;

/// The addresses and ports of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Endpoints {
    /// The end that sends data.
    pub sender: (Ipv4Addr, u16),
    /// The other end.
    pub receiver: (Ipv4Addr, u16),
}

impl Endpoints {
    /// Endpoints of a flow in a run with this number of traffic groups.
    pub fn new(flow: u32, identity: &FlowIdentity, groups: u32) -> Endpoints {
        // Distinguishes flows with the same sender port.
        let number = u64::from(flow / SENDER_PORTS) * u64::from(groups) + u64::from(identity.group);
        let network = NETWORK.wrapping_add((number / RECEIVER_PORTS) as u8);
        Endpoints {
            sender: (address(network, identity.src), FIRST_SENDER_PORT + (flow % SENDER_PORTS) as u16),
            receiver: (address(NETWORK, identity.dst), FIRST_RECEIVER_PORT + (number % RECEIVER_PORTS) as u16),
        }
    }
}

/// The address of a node as a host.
pub fn host_address(node: NodeId) -> Ipv4Addr {
    address(NETWORK, node)
}

fn address(network: u8, node: NodeId) -> Ipv4Addr {
    let [_, x, y, z] = node.wrapping_add(1).to_be_bytes();
    Ipv4Addr::new(network, x, y, z)
}

/// The properties of a flow that determine the headers of its packets.
pub(super) struct FlowView<'run> {
    pub endpoints: Endpoints,
    /// `None` for a UDP flow.
    pub stack: Option<&'run StackSpec>,
    pub sizes: &'run PacketSizes,
    /// What an ACK says besides its numbers and blocks. Without a window it is the stack's.
    pub said: Option<Announcement>,
}

impl FlowView<'_> {
    pub fn captured(&self, now: Time, packet: &Packet, sack: &[Range]) -> CapturedPacket {
        let (source, destination) = if packet.has(ACK) {
            (self.endpoints.receiver, self.endpoints.sender)
        } else {
            (self.endpoints.sender, self.endpoints.receiver)
        };
        let (kind, payload_length) = match self.stack {
            Some(stack) => {
                let header = u32::from(self.sizes.header());
                let payload_length = if packet.has(ACK | SYN) { 0 } else { self.sizes.of(packet) - header };
                (CapturedKind::Tcp(self.segment(stack, packet, sack)), payload_length)
            }
            None => (CapturedKind::Udp, self.sizes.of(packet).saturating_sub(UDP_HEADERS)),
        };
        CapturedPacket {
            now,
            source_address: source.0,
            destination_address: destination.0,
            source_port: source.1,
            destination_port: destination.1,
            ecn: self.sizes.ecn(packet),
            payload_length,
            kind,
        }
    }

    fn segment(&self, stack: &StackSpec, packet: &Packet, sack: &[Range]) -> CapturedSegment {
        let ends_handshake = packet.has(SYN) && packet.has(PUSH);
        let (syn, ack) = (packet.has(SYN) && !ends_handshake, packet.has(ACK));
        let fin = !syn && !ack && self.sizes.is_behind_data(packet);
        let acknowledgement = match (syn, ack) {
            (true, false) => None,
            (false, true) => Some(self.byte(packet.segment())),
            (true, true) | (false, false) => Some(1),
        };
        let window = self.said.map(|said| said.window).filter(|window| *window > 0);
        let [accurate, window_reduced, ecn_echo] = self.ecn_flags(stack, packet);
        CapturedSegment {
            syn: syn.then_some(SynOptions { mss: stack.mss as u16, sack_permitted: stack.sack }),
            fin,
            // The engine marks a FIN as pushed when it is sent first. Linux marks only data.
            push: !packet.has(SYN) && !ack && !fin && (packet.segment() == self.sizes.last_segment || packet.has(PUSH)),
            ecn_echo,
            window_reduced,
            accurate,
            sequence: match (syn, ack) {
                (true, _) => 0,
                (false, true) => 1,
                (false, false) => self.byte(packet.segment()),
            },
            acknowledgement,
            window: window.map_or(stack.receive_window, |window| u64::from(window) * u64::from(stack.mss)),
            window_scale: window_scale(stack.receive_window),
            sack_blocks: sack.iter().map(|(start, end)| (self.byte(*start), self.byte(*end))).collect(),
        }
    }

    /// The flags AE, CWR and ECE of a packet.
    fn ecn_flags(&self, stack: &StackSpec, packet: &Packet) -> [bool; 3] {
        let ends_handshake = packet.has(SYN) && packet.has(PUSH);
        let (syn, ack) = (packet.has(SYN) && !ends_handshake, packet.has(ACK));
        if !stack.ecn || !stack.ecn_echo.is_accurate() {
            // A SYN requests ECN with both flags, a SYN-ACK accepts it with one (RFC 3168, section 6.1.1).
            let ecn_echo = if syn { stack.ecn } else { ack && packet.has(MARK) };
            return [false, if syn { stack.ecn && !ack } else { packet.has(WINDOW_REDUCED) }, ecn_echo];
        }
        let field = match (syn, ack) {
            (true, false) => 7, // a SYN requests AccECN with all flags (RFC 9768, section 3.1.1)
            (true, true) => 2, // a SYN-ACK, and the ACK that answers it, accept it after a packet that was Not-ECT (tables 2 and 3)
            (false, _) if ends_handshake => 2,
            (false, true) => self.said.and_then(|said| said.accecn).unwrap_or(Feedback::NO_MARKS).ace(),
            (false, false) => Feedback::NO_MARKS.ace(), // ACKs are never marked
        };
        [4, 2, 1].map(|bit| field & bit != 0)
    }

    /// Sequence number of a segment's first byte. A FIN has the number after the flow's last byte, and occupies one number.
    fn byte(&self, segment: u32) -> u32 {
        let payload = |size: u16| u32::from(size - self.sizes.header());
        let last = self.sizes.last_segment;
        let full = segment.min(last).wrapping_mul(payload(self.sizes.full()));
        let rest = if segment > last { payload(self.sizes.last()) } else { 0 };
        full.wrapping_add(rest).wrapping_add(1 + u32::from(segment > last.saturating_add(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::forwarding::RouteRef;
    use crate::packet::link::packet::RETRANSMISSION;
    use crate::packet::link::packet_sizes::IpEcn;
    use crate::spec::{EcnEcho, StackSettings};
    use serde_json::json;
    use std::collections::HashSet;

    const SENDER: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 0, 1), 49_152 + 7);
    const RECEIVER: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 1, 0), 40_003);

    fn identity(group: u32) -> FlowIdentity {
        FlowIdentity {
            group,
            src: 0,
            dst: 255,
            start: Time::ZERO,
            forward: RouteRef::Route(0),
            reverse: RouteRef::Route(0),
        }
    }

    fn stack(ecn: bool) -> StackSpec {
        serde_json::from_value(json!({
            "name": "newreno", "congestion": {"name": "newreno"}, "slow_start": {"name": "classic"},
            "detection": {"name": "dup-ack"},
            "ack": {"name": "immediate"}, "sack": true, "spurious": "none", "f_rto": false, "limited_transmit": true,
            "ecn": ecn, "pacing": false, "handshake": true, "mss": 1000, "header": 40, "initial_window": 10,
            "receive_window": 1 << 20, "min_rto": 1, "max_rto": 1, "initial_rto": 1}))
        .expect("a stack in the form of a run")
    }

    /// Ten full segments and one of 250 bytes.
    const SIZES: PacketSizes = PacketSizes::new(1040, 290, 40, IpEcn::NotEct, 10);

    fn captured(packet: &Packet, sack: &[Range]) -> (CapturedPacket, CapturedSegment) {
        captured_of(packet, sack, &stack(false), &SIZES)
    }

    fn captured_of(
        packet: &Packet,
        sack: &[Range],
        stack: &StackSpec,
        sizes: &PacketSizes,
    ) -> (CapturedPacket, CapturedSegment) {
        let view = FlowView { endpoints: Endpoints::new(7, &identity(2), 3), stack: Some(stack), sizes, said: None };
        let captured = view.captured(Time(5), packet, sack);
        let CapturedKind::Tcp(segment) = captured.kind.clone() else { panic!("a TCP flow") };
        (captured, segment)
    }

    fn data(segment: u32, flags: u64) -> Packet {
        Packet::new(7, segment, segment, flags)
    }

    fn ack(cumulative: u32, flags: u64) -> Packet {
        Packet::new(7, cumulative, 0, ACK | flags)
    }

    #[test]
    fn data_counts_bytes_from_1_and_its_last_segment_is_shorter() {
        let (packet, segment) = captured(&data(3, RETRANSMISSION), &[]);
        assert_eq!((packet.source_address, packet.source_port), SENDER);
        assert_eq!((packet.destination_address, packet.destination_port), RECEIVER);
        assert_eq!((packet.now, packet.payload_length), (Time(5), 1000));
        assert_eq!((segment.sequence, segment.acknowledgement, segment.push), (3001, Some(1), false));
        assert_eq!((segment.window, segment.window_scale), (1 << 20, 5));
        let (packet, segment) = captured(&data(10, 0), &[]);
        assert_eq!((packet.payload_length, segment.sequence, segment.push), (250, 10_001, true));
        assert!(!segment.fin);
    }

    #[test]
    fn a_fin_has_no_data_and_takes_the_sequence_number_behind_the_last_byte() {
        let (packet, segment) = captured(&data(11, 0), &[]);
        assert_eq!((packet.payload_length, segment.sequence, segment.fin, segment.push), (0, 10_251, true, false));
        assert!(!captured(&data(11, PUSH), &[]).1.push, "Linux sends a FIN without data as [F.] (tcp_send_fin)");
        assert_eq!(captured(&ack(12, 0), &[]).1.acknowledgement, Some(10_252));
        assert_eq!(captured(&ack(10, 0), &[(11, 12)]).1.sack_blocks, [(10_251, 10_252)]);
    }

    #[test]
    fn acks_go_to_the_sender_and_acknowledge_bytes_the_duplicate_first() {
        let (packet, segment) = captured(&ack(4, 0), &[(2, 3), (9, 11), (6, 8)]);
        assert_eq!((packet.source_address, packet.source_port), RECEIVER);
        assert_eq!((packet.destination_address, packet.destination_port), SENDER);
        assert_eq!((packet.payload_length, segment.sequence, segment.acknowledgement), (0, 1, Some(4001)));
        assert_eq!(segment.sack_blocks, [(2001, 3001), (9001, 10_251), (6001, 8001)]);
        assert_eq!(captured(&ack(11, 0), &[]).1.acknowledgement, Some(10_251));
    }

    #[test]
    fn an_ack_may_say_a_window_of_its_own() {
        let (stack, endpoints) = (stack(false), Endpoints::new(7, &identity(2), 3));
        let said = Some(Announcement { window: 44, ..Announcement::default() });
        let view = FlowView { endpoints, stack: Some(&stack), sizes: &SIZES, said };
        let CapturedKind::Tcp(segment) = view.captured(Time(5), &ack(4, 0), &[]).kind else { panic!("a TCP flow") };
        assert_eq!((segment.window, segment.window_scale), (44_000, 5));
    }

    #[test]
    fn sequence_numbers_wrap_at_32_bits() {
        let endless = PacketSizes::new(1040, 1040, 40, IpEcn::NotEct, u32::MAX);
        let segment = captured_of(&data(4_294_968, 0), &[], &stack(false), &endless).1;
        assert_eq!(u64::from(segment.sequence), 4_294_968_001 - (1 << 32));
    }

    #[test]
    fn the_handshake_has_numbers_0_and_the_options_of_the_stack() {
        let options = Some(SynOptions { mss: 1000, sack_permitted: true });
        let (packet, syn) = captured(&data(0, SYN), &[]);
        assert_eq!((packet.payload_length, syn.syn, syn.sequence, syn.acknowledgement), (0, options, 0, None));
        let (packet, reply) = captured(&ack(0, SYN), &[]);
        assert_eq!((packet.source_address, reply.syn), (RECEIVER.0, options));
        assert_eq!((reply.sequence, reply.acknowledgement, reply.window_scale), (0, Some(1), 5));
        assert!(!syn.ecn_echo && !syn.window_reduced && !reply.ecn_echo);
        let (packet, last) = captured(&data(0, SYN | PUSH), &[]);
        assert_eq!((packet.payload_length, last.syn, last.sequence, last.acknowledgement), (0, None, 1, Some(1)));
        assert!(!last.push && !last.fin);
    }

    #[test]
    fn rfc3168_ecn_is_agreed_marked_echoed_and_answered() {
        let sizes = PacketSizes::new(1040, 290, 40, IpEcn::Ect0, 10);
        let of = |packet: &Packet| captured_of(packet, &[], &stack(true), &sizes);
        let flags = |packet: &Packet| {
            let (captured, segment) = of(packet);
            (captured.ecn, segment.ecn_echo, segment.window_reduced)
        };
        assert_eq!(flags(&data(0, SYN)), (IpEcn::NotEct, true, true));
        assert_eq!(flags(&ack(0, SYN)), (IpEcn::NotEct, true, false));
        assert_eq!(flags(&data(1, 0)), (IpEcn::Ect0, false, false));
        assert_eq!(flags(&data(1, MARK)), (IpEcn::CongestionExperienced, false, false));
        assert_eq!(flags(&ack(2, MARK)), (IpEcn::NotEct, true, false));
        assert_eq!(flags(&data(2, WINDOW_REDUCED)), (IpEcn::Ect0, false, true));
        assert_eq!(flags(&data(1, RETRANSMISSION)), (IpEcn::NotEct, false, false), "section 6.1.5");
    }

    /// RFC 9768, sections 3.1.1 and 3.2.2: the flags are a request, an answer, and then a counter that begins with five.
    #[test]
    fn rfc9768_accecn_counts_in_the_flags() {
        let accurate = StackSpec {
            settings: StackSettings { l4s: true, ecn_echo: EcnEcho::Accecn, ..stack(true).settings },
            ..stack(true)
        };
        let sizes = PacketSizes::new(1040, 290, 40, IpEcn::Ect1, 10);
        let field = |packet: &Packet, marks: Option<u32>| {
            let said = marks.map(|marks| Announcement {
                accecn: Some(Feedback::new(marks, Some(1000 * marks))),
                ..Announcement::default()
            });
            let endpoints = Endpoints::new(7, &identity(2), 3);
            let view = FlowView { endpoints, stack: Some(&accurate), sizes: &sizes, said };
            let captured = view.captured(Time(5), packet, &[]);
            let CapturedKind::Tcp(segment) = captured.kind else { panic!("a TCP flow") };
            let bits = [segment.accurate, segment.window_reduced, segment.ecn_echo];
            (captured.ecn, bits.iter().fold(0, |field, bit| 2 * field + u32::from(*bit)))
        };
        assert_eq!(field(&data(0, SYN), None), (IpEcn::NotEct, 7));
        assert_eq!(field(&ack(0, SYN), None), (IpEcn::NotEct, 2));
        assert_eq!(field(&data(0, SYN | PUSH), None), (IpEcn::NotEct, 2));
        assert_eq!(field(&data(1, MARK), None), (IpEcn::CongestionExperienced, 5));
        assert_eq!([0, 2, 3, 9].map(|marks| field(&ack(2, 0), Some(marks)).1), [5, 7, 0, 6]);
    }

    #[test]
    fn datagrams_are_as_long_as_on_the_wire() {
        let sizes = PacketSizes::new(500, 500, 500, IpEcn::NotEct, u32::MAX);
        let view = FlowView { endpoints: Endpoints::new(7, &identity(2), 3), stack: None, sizes: &sizes, said: None };
        let captured = view.captured(Time(5), &data(9, 0), &[]);
        assert_eq!((captured.kind, captured.payload_length), (CapturedKind::Udp, 472));
        assert_eq!((captured.source_port, captured.destination_port), (SENDER.1, RECEIVER.1));
    }

    #[test]
    fn no_two_flows_share_addresses_and_ports() {
        for groups in [1, 3, 20_000] {
            let endpoints: HashSet<Endpoints> =
                (0..100_000).map(|flow| Endpoints::new(flow, &identity(flow % groups), groups)).collect();
            assert_eq!(endpoints.len(), 100_000, "{groups} groups");
        }
    }
}
