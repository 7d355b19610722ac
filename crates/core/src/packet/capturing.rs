//! The packets of the engine as captures show them: flows as addresses and ports, segments as bytes.
//!
//! A packet is captured where it enters a link, before the queue decides on it: a packet that the queue refuses or that the
//! wire loses is in the capture, a mark that this queue sets is not.
//!
//! Node n has the address 10.x.y.z with xyz = n + 1. Flow f has the sender port 49152 + f, a dynamic port (RFC 6335), and
//! the receiver port 40001 + its traffic group. With more flows than dynamic ports the receiver port tells them apart as
//! well, and with more than there are of those the sender's network (11.x.y.z and so on): no two flows share all four.
//! Sequence numbers begin with 0 on both sides.

use super::capture::{Capture, CapturedKind, CapturedPacket, CapturedSegment, IpEcn, SynOptions, window_scale};
use super::engine::Simulation;
use super::flow::FlowIdentity;
use super::packet::{ACK, BESIDE, MARK, Packet, PacketSizes, SYN, WINDOW_REDUCED};
use crate::spec::{LinkId, NodeId, RunSpec, StackSpec, TransportSpec};
use crate::tcp::scoreboard::Range;
use crate::units::Time;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

const FIRST_SENDER_PORT: u16 = 49_152;
const SENDER_PORTS: u32 = 65_536 - FIRST_SENDER_PORT as u32;
const FIRST_RECEIVER_PORT: u16 = 40_001;
const RECEIVER_PORTS: u64 = (FIRST_SENDER_PORT - FIRST_RECEIVER_PORT) as u64;
/// The first octet of addresses (RFC 1918).
const NETWORK: u8 = 10;
/// Bytes of the IPv4 and UDP headers of a datagram.
const UDP_HEADERS: u32 = 28;

/// The captures of a run, by link.
pub(super) struct Captures(BTreeMap<LinkId, Capture>);

impl Captures {
    /// Empty captures of the links that the run names.
    pub(super) fn new(spec: &RunSpec) -> Captures {
        let named = |link: &LinkId| {
            let ends = &spec.links[*link as usize];
            let name = format!("{}-{}", spec.nodes[ends.src as usize], spec.nodes[ends.dst as usize]);
            (*link, Capture::new(&name))
        };
        Captures(spec.captures.iter().map(named).collect())
    }

    /// Whether any link is captured.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        !self.0.is_empty()
    }
}

impl Simulation {
    /// The packets captured on a link since the last call, as a piece of a pcapng file; all pieces together give the file.
    /// Empty if the run does not capture this link.
    pub fn take_capture(&mut self, link: LinkId) -> Vec<u8> {
        self.captures.0.get_mut(&link).map_or_else(Vec::new, Capture::take)
    }

    /// Captures a packet that enters a link, if the link is one of those captured.
    #[cold]
    #[inline(never)]
    pub(super) fn capture(&mut self, link: LinkId, packet: &Packet) {
        let Some(capture) = self.captures.0.get_mut(&link) else { return };
        let identity = &self.flows[packet.flow as usize].identity;
        let view = FlowView {
            ends: Ends::new(packet.flow, identity, self.spec.traffic.len() as u32),
            stack: match self.spec.traffic[identity.group as usize].transport {
                TransportSpec::Tcp { stack } => Some(&self.spec.stacks[stack]),
                TransportSpec::Udp { .. } => None,
            },
            sizes: &self.sizes[packet.flow as usize],
        };
        let sack = if packet.has(BESIDE) { self.pool.get(packet.number).sack.all() } else { &[] };
        capture.record(&view.captured(self.now, packet, sack));
    }
}

/// The addresses and ports of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Ends {
    sender: (Ipv4Addr, u16),
    receiver: (Ipv4Addr, u16),
}

impl Ends {
    fn new(flow: u32, identity: &FlowIdentity, groups: u32) -> Ends {
        // Flows that share a sender port differ in this number.
        let number = u64::from(flow / SENDER_PORTS) * u64::from(groups) + u64::from(identity.group);
        let network = NETWORK.wrapping_add((number / RECEIVER_PORTS) as u8);
        Ends {
            sender: (address(network, identity.src), FIRST_SENDER_PORT + (flow % SENDER_PORTS) as u16),
            receiver: (address(NETWORK, identity.dst), FIRST_RECEIVER_PORT + (number % RECEIVER_PORTS) as u16),
        }
    }
}

fn address(network: u8, node: NodeId) -> Ipv4Addr {
    let [_, x, y, z] = node.wrapping_add(1).to_be_bytes();
    Ipv4Addr::new(network, x, y, z)
}

/// What the headers of a flow's packets follow from.
struct FlowView<'run> {
    ends: Ends,
    /// Absent of a flow of datagrams.
    stack: Option<&'run StackSpec>,
    sizes: &'run PacketSizes,
}

impl FlowView<'_> {
    fn captured(&self, now: Time, packet: &Packet, sack: &[Range]) -> CapturedPacket {
        let (source, destination) = if packet.has(ACK) {
            (self.ends.receiver, self.ends.sender)
        } else {
            (self.ends.sender, self.ends.receiver)
        };
        let (kind, payload_length) = match self.stack {
            Some(stack) => {
                let payload_length = self.sizes.of(packet) - u32::from(self.sizes.header);
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
            ecn: self.ecn(packet),
            payload_length,
            kind,
        }
    }

    /// Only data is ECN-capable, neither SYN nor ACK (RFC 3168, sections 6.1.1 and 6.1.4).
    fn ecn(&self, packet: &Packet) -> IpEcn {
        if !self.sizes.ecn_capable || packet.has(ACK | SYN) {
            IpEcn::NotEct
        } else if packet.has(MARK) {
            IpEcn::CongestionExperienced
        } else {
            IpEcn::Ect0
        }
    }

    fn segment(&self, stack: &StackSpec, packet: &Packet, sack: &[Range]) -> CapturedSegment {
        let (syn, ack) = (packet.has(SYN), packet.has(ACK));
        let acknowledgement = match (syn, ack) {
            (true, false) => None,
            (false, true) => Some(self.byte(packet.segment)),
            (true, true) | (false, false) => Some(1),
        };
        CapturedSegment {
            syn: syn.then_some(SynOptions { mss: stack.mss as u16, sack_permitted: stack.sack }),
            push: !syn && !ack && packet.segment == self.sizes.last_segment,
            // A SYN offers ECN with both flags, a SYN-ACK takes it with one (RFC 3168, section 6.1.1).
            ecn_echo: if syn { stack.ecn } else { ack && packet.has(MARK) },
            window_reduced: if syn { stack.ecn && !ack } else { packet.has(WINDOW_REDUCED) },
            sequence: match (syn, ack) {
                (true, _) => 0,
                (false, true) => 1,
                (false, false) => self.byte(packet.segment),
            },
            acknowledgement,
            window: stack.receive_window,
            window_scale: window_scale(stack.receive_window),
            sack_blocks: sack.iter().map(|(start, end)| (self.byte(*start), self.byte(*end))).collect(),
        }
    }

    /// The sequence number of a segment's first byte; beyond the last segment that of the end.
    fn byte(&self, segment: u32) -> u32 {
        let payload = |size: u16| u32::from(size - self.sizes.header);
        let last = self.sizes.last_segment;
        let full = segment.min(last).wrapping_mul(payload(self.sizes.full));
        let rest = if segment > last { payload(self.sizes.last) } else { 0 };
        full.wrapping_add(rest).wrapping_add(1)
    }
}
