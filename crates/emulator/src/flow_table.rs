//! Which flow a packet belongs to, by its addresses and ports.

use crate::packets::{FiveTuple, Header, TCP, UDP};
use anabranch_core::packet::emulated::{EmulatedNetwork, SentPacket};
use anabranch_core::spec::{NodeId, TransportSpec};
use std::collections::HashMap;
use std::net::Ipv4Addr;

/// The flows of a run by the addresses and ports of their packets. Other flows between the ends of a traffic group are added when their first packet
/// comes: they take the group's routes.
pub struct FlowTable {
    /// Flow, and whether its receiver sends.
    by_tuple: HashMap<FiveTuple, (u32, bool)>,
    /// Packets so far, by flow and direction.
    numbers: Vec<[u32; 2]>,
    nodes: HashMap<Ipv4Addr, NodeId>,
    /// The first group between two nodes.
    groups: HashMap<(NodeId, NodeId), u32>,
}

impl FlowTable {
    /// The planned flows of a network.
    pub fn new<P>(network: &EmulatedNetwork<P>) -> FlowTable {
        let spec = network.spec();
        let mut groups = HashMap::new();
        for (index, group) in (0..).zip(&spec.traffic) {
            for pair in &group.pairs {
                groups.entry(*pair).or_insert(index);
            }
        }
        let mut by_tuple = HashMap::new();
        for flow in 0..network.flows().len() as u32 {
            let ends = network.endpoints(flow);
            let protocol = match spec.traffic[network.plan(flow).group as usize].transport {
                TransportSpec::Tcp { .. } => TCP,
                TransportSpec::Udp { .. } => UDP,
            };
            let tuple = FiveTuple { source: ends.sender, destination: ends.receiver, protocol };
            by_tuple.insert(tuple, (flow, false));
            by_tuple.insert(tuple.reversed(), (flow, true));
        }
        FlowTable {
            numbers: vec![[0; 2]; network.flows().len()],
            by_tuple,
            nodes: (0..spec.nodes.len() as NodeId).map(|node| (EmulatedNetwork::<P>::address(node), node)).collect(),
            groups,
        }
    }

    /// The flow, direction and number of a packet; `None` if no traffic group joins its ends.
    pub fn look_up<P>(&mut self, network: &mut EmulatedNetwork<P>, header: &Header) -> Option<SentPacket> {
        let (flow, reverse) = match self.by_tuple.get(&header.tuple) {
            Some(known) => *known,
            None => self.add(network, header)?,
        };
        let next = &mut self.numbers[flow as usize][usize::from(reverse)];
        let number = *next;
        *next = next.wrapping_add(1);
        Some(SentPacket { flow, reverse, number, size: header.size, ecn_capable: header.ecn_capable })
    }

    fn add<P>(&mut self, network: &mut EmulatedNetwork<P>, header: &Header) -> Option<(u32, bool)> {
        let (src, dst) = (*self.nodes.get(&header.tuple.source.0)?, *self.nodes.get(&header.tuple.destination.0)?);
        let (pair, reverse) =
            if self.groups.contains_key(&(src, dst)) { ((src, dst), false) } else { ((dst, src), true) };
        let flow = network.add_flow(*self.groups.get(&pair)?, pair)?;
        self.numbers.push([0; 2]);
        self.by_tuple.insert(header.tuple, (flow, reverse));
        self.by_tuple.insert(header.tuple.reversed(), (flow, !reverse));
        Some((flow, reverse))
    }
}
