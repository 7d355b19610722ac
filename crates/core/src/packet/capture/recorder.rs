//! Records the packets that enter captured links.
//!
//! A capture has each packet that is offered to its link, before the queue decides on it. So it has packets that the queue drops or
//! the wire loses, and not the marks of this queue.

use crate::packet::capture::flow_view::{Endpoints, FlowView};
use crate::packet::capture::pcapng::Capture;
use crate::packet::hosts::flow::{Flow, FlowIdentity};
use crate::packet::link::packet::{ACK, HAS_SACK, Packet};
use crate::packet::link::packet_sizes::{FlowSizes, PacketSizes};
use crate::packet::link::sack_pool::SackPool;
use crate::spec::{LinkId, RunSpec, StackSpec, TransportSpec};
use crate::tcp::receiver::SackBlocks;
use crate::units::Time;
use std::collections::BTreeSet;

/// The captures of a run.
pub struct Captures {
    /// The captures, sorted by link.
    by_link: Vec<(LinkId, Capture)>,
    /// All flows of the run, if it captures any link.
    flows: Vec<CapturedFlow>,
    stacks: Vec<StackSpec>,
}

impl Captures {
    /// Empty captures of the links that the run names.
    pub(in crate::packet) fn new(spec: &RunSpec, flows: &[Flow], sizes: &FlowSizes) -> Captures {
        let named = |link: LinkId| {
            let ends = &spec.links[link as usize];
            let name = format!("{}-{}", spec.nodes[ends.src as usize], spec.nodes[ends.dst as usize]);
            (link, Capture::new(&name))
        };
        let links: BTreeSet<LinkId> = spec.captures.iter().copied().collect();
        let captured = if links.is_empty() { &[] } else { flows };
        let flow = |(index, flow): (usize, &Flow)| CapturedFlow::new(index, &flow.identity, sizes[index], spec);
        Captures {
            by_link: links.into_iter().map(named).collect(),
            flows: captured.iter().enumerate().map(flow).collect(),
            stacks: spec.stacks.clone(),
        }
    }
}

/// The properties that all packets of a flow share.
struct CapturedFlow {
    endpoints: Endpoints,
    /// The index of its stack; `None` for a UDP flow.
    stack: Option<usize>,
    sizes: PacketSizes,
}

impl CapturedFlow {
    fn new(flow: usize, identity: &FlowIdentity, sizes: PacketSizes, spec: &RunSpec) -> CapturedFlow {
        let stack = match spec.traffic[identity.group as usize].transport {
            TransportSpec::Tcp { stack } => Some(stack),
            TransportSpec::Udp { .. } => None,
        };
        CapturedFlow { endpoints: Endpoints::new(flow as u32, identity, spec.traffic.len() as u32), stack, sizes }
    }
}

impl Captures {
    /// The bytes of a link's pcapng file since the last call; all calls together give the file. Empty if the run does not
    /// capture the link.
    pub(in crate::packet) fn take(&mut self, link: LinkId) -> Vec<u8> {
        self.index_of(link).map_or(Vec::new(), |index| self.by_link[index].1.take())
    }

    fn index_of(&self, link: LinkId) -> Option<usize> {
        self.by_link.binary_search_by_key(&link, |(link, _)| *link).ok()
    }

    /// Captures a packet that enters a link at this time, if the run captures the link.
    #[inline]
    pub(in crate::packet) fn capture(&mut self, link: LinkId, at: Time, packet: Packet, pool: &SackPool) {
        if let Some(index) = self.index_of(link) {
            self.record(index, at, packet.words(), pool);
        }
    }

    #[inline(never)]
    fn record(&mut self, index: usize, at: Time, words: [u64; 3], pool: &SackPool) {
        let packet = Packet::from_words(words);
        let flow = &self.flows[packet.flow() as usize];
        let is_special_ack = packet.has(ACK) && packet.has(HAS_SACK);
        let view = FlowView {
            endpoints: flow.endpoints,
            stack: flow.stack.map(|stack| &self.stacks[stack]),
            sizes: &flow.sizes,
            said: is_special_ack.then(|| pool.announcement(packet.number())).flatten(),
        };
        let mut sack = SackBlocks::default();
        if is_special_ack {
            pool.read(packet.number(), &mut sack);
        }
        self.by_link[index].1.record(&view.captured(at, &packet, sack.all()));
    }
}
