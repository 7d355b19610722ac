//! Which flow a packet belongs to, by its addresses and ports.

use crate::packets::{FiveTuple, Header, TCP, UDP};
use anabranch_core::packet::emulated::{EmulatedNetwork, SentPacket};
use anabranch_core::spec::{NodeId, SenderProgram, TransportSpec};
use std::collections::HashMap;
use std::net::Ipv4Addr;

/// The port of flow 0's iperf3 server; that of flow n is n higher. A server has one client.
const FIRST_IPERF3_PORT: u16 = 5201;

/// The flows of a run by the addresses and ports of their packets. A flow of iperf3 has two connections, data and control, to its own server. A
/// connection of Multipath TCP has a server of its own, too, and an address of its sender for each subflow. Other flows between the ends of a traffic group are added when their first packet arrives. They use the group's routes.
pub struct FlowTable {
    /// Flow, and whether its receiver sends.
    by_tuple: HashMap<FiveTuple, (u32, bool)>,
    /// Number of packets so far, by flow and direction.
    numbers: Vec<[u32; 2]>,
    /// Flows that have a server of their own, by its address.
    servers: HashMap<(Ipv4Addr, u16), Server>,
    nodes: HashMap<Ipv4Addr, NodeId>,
    /// The first group between two nodes.
    groups: HashMap<(NodeId, NodeId), u32>,
}

/// What the packets of a server's clients belong to.
#[derive(Clone, Copy)]
struct Server {
    /// The flow of the client's first address.
    first: u32,
    /// Addresses of the client. Each has the next flow.
    addresses: u32,
}

/// The subflow that has this address at its sender: the first one has the host's own, and the network of each other one is the next.
fn subflow_of(address: Ipv4Addr) -> u32 {
    u32::from(address.octets()[0]).wrapping_sub(u32::from(EmulatedNetwork::<()>::address(0).octets()[0]))
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
        let (mut by_tuple, mut servers) = (HashMap::new(), HashMap::new());
        for flow in 0..network.flows().len() as u32 {
            if let Some(connection) = network.connection_of(flow) {
                let server = servers.entry(network.endpoints(connection).receiver);
                server.or_insert(Server { first: flow, addresses: 0 }).addresses += 1;
                continue;
            }
            if network.has_subflows(flow) {
                continue;
            }
            let ends = network.endpoints(flow);
            let group = &spec.traffic[network.plan(flow).group as usize];
            if group.sender == SenderProgram::Iperf3 {
                let port = FIRST_IPERF3_PORT.saturating_add(flow as u16);
                servers.insert((ends.receiver.0, port), Server { first: flow, addresses: 1 });
                continue;
            }
            let protocol = match group.transport {
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
            servers,
            nodes: (0..spec.nodes.len() as NodeId).map(|node| (EmulatedNetwork::<P>::address(node), node)).collect(),
            groups,
        }
    }

    /// The flow, direction and number of a packet; `None` if no traffic group joins its ends.
    pub fn look_up<P>(&mut self, network: &mut EmulatedNetwork<P>, header: &Header) -> Option<SentPacket> {
        let (flow, reverse) = match self.by_tuple.get(&header.tuple) {
            Some(known) => *known,
            None => self.of_server(&header.tuple).or_else(|| self.add(network, header))?,
        };
        let next = &mut self.numbers[flow as usize][usize::from(reverse)];
        let number = *next;
        *next = next.wrapping_add(1);
        let Header { size, ecn, control, .. } = *header;
        Some(SentPacket { flow, reverse, number, size, ecn, control })
    }

    /// The flow of a packet to or from a flow's own server.
    fn of_server(&self, tuple: &FiveTuple) -> Option<(u32, bool)> {
        let flow = |server, client: (Ipv4Addr, u16), reverse| {
            let Server { first, addresses } = *self.servers.get(server)?;
            let index = subflow_of(client.0);
            (index < addresses).then_some((first + index, reverse))
        };
        flow(&tuple.destination, tuple.source, false).or_else(|| flow(&tuple.source, tuple.destination, true))
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
