//! A network without hosts: packets come from outside, and leave it when they reach their host.
//!
//! The kernel engine (`crates/emulator`) uses it in real time: Linux sends and receives the packets. Links, forwarding, network events, counters and
//! samples are those of the packet engine. Events have the oracle's order; the tests compare the two step by step.
//!
//! May use: links, forwarding, output, the build, and the clock and the network of the engine. It knows no event loop.

#[cfg(test)]
mod tests;

use crate::histogram::Histogram;
use crate::packet::build::{self, BuildError};
use crate::packet::capture::flow_view::host_address;
use crate::packet::engine::clock::{Clock, NetworkEvent};
use crate::packet::engine::network::Network;
use crate::packet::engine::results::link_table;
use crate::packet::forwarding::select::PacketKey;
use crate::packet::forwarding::{END, Forwarding};
use crate::packet::hosts::delays::Delays;
use crate::packet::hosts::flow::{Flow, FlowIdentity, FlowState};
use crate::packet::link::Offer;
use crate::packet::link::packet::{ACK, MARK, Packet, flag_if};
use crate::packet::link::packet_sizes::{FlowSizes, PacketSizes};
use crate::packet::link::queue::FlowKey;
use crate::packet::oracle::winner_tree::WinnerTree;
use crate::packet::output::route_log::{RouteChange, RouteLog};
use crate::packet::output::samples::Observations;
use crate::packet::output::table::Table;
use crate::spec::{LinkId, NodeId, RunSpec};
use crate::units::Time;
use std::net::Ipv4Addr;

pub use crate::packet::capture::flow_view::Endpoints;
pub use crate::packet::hosts::delays::DelayFigures;
pub use crate::packet::hosts::flow::FlowPlan;
pub use crate::packet::link::packet_sizes::IpEcn;

/// Bytes of a full packet in a run without flows (Ethernet).
const MTU: u16 = 1500;

/// A packet that a host sends.
#[derive(Debug, Clone, Copy)]
pub struct SentPacket {
    /// The flow, as [`EmulatedNetwork::flows`] numbers it.
    pub flow: u32,
    /// Whether the flow's receiver sends it.
    pub reverse: bool,
    /// Counts the packets of this flow and direction.
    pub number: u32,
    /// Bytes, with the IP header.
    pub size: u16,
    /// Its ECN field. Queues mark it instead of dropping it, unless it is Not-ECT.
    pub ecn: IpEcn,
    /// Whether it is an ACK or SYN without payload, which queues may prefer.
    pub control: bool,
}

/// Receives the packets that leave the network, and observes packets that enter links.
pub trait Taker<P> {
    /// Called when a packet has reached its host at this time. `marked` is set if a queue has marked the packet.
    fn deliver(&mut self, at: Time, host: NodeId, packet: P, marked: bool);

    /// Called when a packet is offered to a link that the run captures.
    fn capture(&mut self, at: Time, link: LinkId, packet: &P);
}

/// A packet in the network.
struct InFlight<P> {
    key: PacketKey,
    sent: Time,
    packet: P,
}

/// The packets in the network. The index of a packet is the flow of its [`Packet`].
struct InFlightPackets<P> {
    packets: Vec<Option<InFlight<P>>>,
    free: Vec<u32>,
}

impl<P> InFlightPackets<P> {
    /// Adds a packet. Returns its index.
    fn add(&mut self, in_flight: InFlight<P>) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.packets.push(None);
            self.packets.len() as u32 - 1
        });
        self.packets[index as usize] = Some(in_flight);
        index
    }

    fn get(&self, packet: Packet) -> Option<&InFlight<P>> {
        self.packets[packet.flow() as usize].as_ref()
    }

    /// Removes a packet that leaves the network.
    fn remove(&mut self, packet: Packet) -> Option<InFlight<P>> {
        self.free.push(packet.flow());
        self.packets[packet.flow() as usize].take()
    }
}

/// A network whose packets carry a `P`.
pub struct EmulatedNetwork<P> {
    spec: RunSpec,
    clock: Clock,
    network: Network,
    flows: Vec<Flow>,
    /// Bytes of a full packet by flow.
    full_sizes: Vec<u16>,
    /// Payload by flow; `None` if the flow does not end.
    bytes: Vec<Option<u64>>,
    in_flight: InFlightPackets<P>,
    /// The next event of each link.
    arrivals: WinnerTree,
    observations: Observations,
    /// Of the data of each flow, if the run asks for delays.
    delays: Vec<Delays>,
    route_log: RouteLog,
}

impl<P> EmulatedNetwork<P> {
    /// The network of a run, idle, at time zero.
    ///
    /// # Errors
    /// As for the packet engine.
    pub fn new(spec: RunSpec) -> Result<EmulatedNetwork<P>, BuildError> {
        if let Some(group) = spec.traffic.iter().find(|group| group.application.has_dependencies()) {
            let problem = "flows that wait for others run in the packet engine only".into();
            return Err(BuildError::Value { field: format!("traffic '{}'", group.name), problem });
        }
        let build::Parts { links, forwarding, flows, sizes, dependencies: _, network_events } = build::parts(&spec)?;
        let mut route_log = RouteLog::new(&spec, &flows);
        route_log.update(Time::ZERO, &forwarding);
        Ok(EmulatedNetwork {
            clock: Clock::new(spec.duration, spec.sample, network_events),
            arrivals: WinnerTree::new(links.len()),
            observations: Observations::new(&spec),
            delays: vec![Delays::default(); if spec.delays { flows.len() } else { 0 }],
            full_sizes: (0..flows.len()).map(|flow| sizes[flow].full()).collect(),
            bytes: (0..flows.len()).map(|flow| sizes[flow].whole_payload()).collect(),
            network: Network::new(links, FlowSizes::of_packets(sizes.largest()), forwarding),
            spec,
            flows,
            in_flight: InFlightPackets { packets: Vec::new(), free: Vec::new() },
            route_log,
        })
    }

    /// The flows that the run plans, the subflows of their connections, and the flows added since.
    pub fn flows(&self) -> impl ExactSizeIterator<Item = u32> {
        0..self.flows.len() as u32
    }

    /// The plan of a flow: its ends, start and size.
    pub fn plan(&self, flow: u32) -> FlowPlan {
        self.flows[flow as usize].identity.plan(self.bytes[flow as usize])
    }

    /// The connection that a subflow belongs to; `None` for a flow that is no subflow.
    pub fn connection_of(&self, flow: u32) -> Option<u32> {
        match self.flows[flow as usize].state {
            FlowState::Subflow(connection) => Some(connection),
            _ => None,
        }
    }

    /// Whether the data of a flow is split over subflows.
    pub fn has_subflows(&self, flow: u32) -> bool {
        let group = &self.spec.traffic[self.flows[flow as usize].identity.group as usize];
        self.connection_of(flow).is_none() && self.spec.subflows_of(group).is_some()
    }

    /// The addresses and ports of a flow's packets, as in the packet engine's captures. The receiver of a connection with subflows has a port for
    /// this connection alone: the other end of a further subflow has a port that Linux chooses.
    pub fn endpoints(&self, flow: u32) -> Endpoints {
        let mut ends = Endpoints::new(flow, &self.flows[flow as usize].identity, self.spec.traffic.len() as u32);
        if self.has_subflows(flow) {
            ends.receiver.1 = ends.sender.1;
        }
        ends
    }

    /// The address of a node.
    pub fn address(node: NodeId) -> Ipv4Addr {
        host_address(node)
    }

    /// Adds a flow that the run did not plan, between a pair of a group. Returns its number, or `None` if no route leads there.
    pub fn add_flow(&mut self, group: u32, (src, dst): (NodeId, NodeId)) -> Option<u32> {
        let traffic = &self.spec.traffic[group as usize];
        let (routing, reverse_routing) = (traffic.routing, self.spec.reverse_routing(traffic));
        let flow = self.flows.len() as u32;
        let mut route = |routing, (src, dst), reverse| {
            let key = PacketKey { flow, group, src, dst, reverse, number: 0 };
            self.network.forwarding_mut().route_of_flow(routing, &key).ok()
        };
        let forward = route(routing, (src, dst), false)?;
        let reverse = route(reverse_routing, (dst, src), true)?;
        self.flows.push(Flow::new(FlowIdentity { group, src, dst, start: self.clock.now(), forward, reverse }));
        self.full_sizes.push(self.full_sizes.iter().copied().max().unwrap_or(MTU));
        self.bytes.push(None);
        if self.spec.delays {
            self.delays.push(Delays::default());
        }
        Some(flow)
    }

    /// Time of the network's next event; [`Time::NEVER`] if there is none before the end.
    pub fn next_event(&self) -> Time {
        let next = self.arrivals.first().0.min(self.clock.next_network_event());
        if next > self.clock.end() { Time::NEVER } else { next }
    }

    /// Processes all events up to this time.
    pub fn run_until(&mut self, time: Time, taker: &mut impl Taker<P>) {
        while self.next_event() <= time {
            self.step(taker);
        }
        self.clock.set(time.min(self.clock.end()));
    }

    /// Processes the next event, which must be before the end.
    fn step(&mut self, taker: &mut impl Taker<P>) {
        let (arrival, link) = self.arrivals.first();
        let now = arrival.min(self.clock.next_network_event());
        self.clock.set(now);
        if self.clock.next_network_event() == now {
            self.on_network_event();
        } else {
            self.on_link(link, taker);
        }
    }

    /// Sends a packet from a host now: at the time of the last [`Self::run_until`].
    pub fn send(&mut self, sent: SentPacket, packet: P, taker: &mut impl Taker<P>) {
        let identity = &self.flows[sent.flow as usize].identity;
        let key = identity.key(sent.flow, sent.reverse, sent.number);
        let first_hop = self.network.first_hop_of_key(self.clock.now(), identity.route(sent.reverse), &key, || 0);
        let Some((link, hop_index)) = first_hop else { return };
        let index = self.in_flight.add(InFlight { key, sent: self.clock.now(), packet });
        let full = self.full_sizes[sent.flow as usize];
        // A packet of segment 0 has the size of the last segment, which is this one.
        self.network.set_sizes(index, PacketSizes::of_packet(full, sent.size, sent.ecn));
        let mut moving = Packet::new(index, 0, 0, flag_if(ACK, sent.control));
        moving.set_hop_index(hop_index);
        self.offer(link, moving, taker);
    }

    fn offer(&mut self, link: LinkId, packet: Packet, taker: &mut impl Taker<P>) {
        let now = self.clock.now();
        if self.network.link(link).is_captured()
            && let Some(in_flight) = self.in_flight.get(packet)
        {
            taker.capture(now, link, &in_flight.packet);
        }
        let Some(PacketKey { flow, reverse, .. }) = self.in_flight.get(packet).map(|in_flight| in_flight.key) else {
            return;
        };
        let (flow, in_flight) = (FlowKey { flow, reverse, entropy: 0 }, &mut self.in_flight);
        let offer = self.network.offer_of_flow(now, link, packet, flow, |other| drop(in_flight.remove(other)));
        if offer != Offer::Queued {
            self.arrivals.set(link, self.network.link(link).next_event());
        }
        if offer == Offer::Dropped {
            self.in_flight.remove(packet);
        }
    }

    /// Processes a link's event: it serves its queue, or its first packet arrives at its far end.
    fn on_link(&mut self, link: LinkId, taker: &mut impl Taker<P>) {
        let EmulatedNetwork { clock, network, in_flight, .. } = self;
        let (node, next_service) = (network.link(link).dst, network.link(link).next_service());
        let arrived = if next_service <= clock.now() {
            network.serve(link, |packet| drop(in_flight.remove(packet)));
            None
        } else {
            let first = network.next_to_arrive(link);
            let arrived = network.arrive(link);
            if let (None, Some(lost)) = (arrived, first) {
                in_flight.remove(lost);
            }
            arrived
        };
        self.arrivals.set(link, self.network.link(link).next_event());
        if let Some(packet) = arrived {
            self.forward(packet, node, taker);
        }
    }

    /// Processes a packet that has arrived at a node: forwards it, or delivers it to its host.
    fn forward(&mut self, mut packet: Packet, node: NodeId, taker: &mut impl Taker<P>) {
        let now = self.clock.now();
        let index = packet.hop_index();
        let next = if Forwarding::is_hop_by_hop(index) {
            let Some(in_flight) = self.in_flight.get(packet) else { return };
            self.network.next_hop_of_key(now, index, node, &in_flight.key, || 0)
        } else {
            Some((self.network.forwarding().next_on_route(index), index + 1))
        };
        match next {
            None => drop(self.in_flight.remove(packet)),
            Some((END, _)) => {
                if let Some(in_flight) = self.in_flight.remove(packet) {
                    let is_data = !in_flight.key.reverse && !packet.has(ACK);
                    let flow = self.connection_of(in_flight.key.flow).unwrap_or(in_flight.key.flow);
                    if let Some(delays) = self.delays.get_mut(flow as usize).filter(|_| is_data) {
                        delays.record(in_flight.sent, now);
                    }
                    taker.deliver(now, node, in_flight.packet, packet.has(MARK));
                }
            }
            Some((link, hop_index)) => {
                packet.set_hop_index(hop_index);
                self.offer(link, packet, taker);
            }
        }
    }
}

/// Events of the whole network.
impl<P> EmulatedNetwork<P> {
    fn on_network_event(&mut self) {
        let now = self.clock.now();
        let Some(event) = self.clock.take_network_event() else { return };
        let EmulatedNetwork { spec, network, in_flight, arrivals, observations, .. } = self;
        match event {
            NetworkEvent::Fail(links) => {
                for link in links {
                    network.fail(now, link).into_iter().for_each(|packet| drop(in_flight.remove(packet)));
                    arrivals.set(link, Time::NEVER);
                }
            }
            NetworkEvent::Repair(links) => links.into_iter().for_each(|link| network.repair(link)),
            NetworkEvent::Reroute(routing) => self.reroute(routing),
            NetworkEvent::Impair(links, loss, changes) => network.impair(&links, loss.as_ref(), spec.seed, changes),
            NetworkEvent::LinkState(routing) => self.follow_link_state(routing),
            NetworkEvent::WarmedUp => {
                observations.on_warmed_up(now, &[], network.links_view());
                network.forget_waits();
                self.delays.fill(Delays::default());
            }
            NetworkEvent::Sample => {
                observations.on_sample(spec, now, &[], network.links_view());
                if let Some(interval) = spec.sample {
                    self.clock.schedule(now + interval, NetworkEvent::Sample);
                }
            }
            NetworkEvent::Retire => {} // of hosts
        }
    }

    fn reroute(&mut self, routing: usize) {
        self.network.reroute(routing);
        self.route_log.update(self.clock.now(), self.network.forwarding());
    }

    fn follow_link_state(&mut self, routing: usize) {
        let now = self.clock.now();
        let Some(measurement) = self.network.measure(now, routing) else { return };
        if let Some(estimates) = measurement.estimates {
            self.observations.on_link_state(now, routing, estimates);
        }
        let (computes, due) = (measurement.computes, measurement.due);
        if computes {
            self.reroute(routing);
        }
        self.clock.schedule(due, NetworkEvent::LinkState(routing));
    }
}

/// Results.
impl<P> EmulatedNetwork<P> {
    /// The time that the network has reached.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// The run.
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    /// Packets that have crossed a link, lost ones included.
    pub fn packet_hops(&self) -> u64 {
        self.network.packet_hops()
    }

    /// Packets that no route led on.
    pub fn packets_without_route(&self) -> u64 {
        self.network.without_route()
    }

    /// Packets whose time to live was over.
    pub fn packets_expired(&self) -> u64 {
        self.network.expired()
    }

    /// The table of links, as of now. `ends` are those of the planned flows, [`Time::NEVER`] for a flow that has not ended. An added flow has no end.
    pub fn link_table(&self, ends: impl Iterator<Item = Time>) -> Table {
        let is_endless = |flow: &u32| self.connection_of(*flow).is_none() && self.bytes[*flow as usize].is_none();
        let endless = self.flows().find(is_endless).map(|_| Time::NEVER);
        link_table(&self.spec, self.clock.now(), ends.chain(endless), self.network.links_view(), &self.observations)
    }

    /// Figures about the delays of a flow's data, and about the round trips of its sender, which the network does not know.
    pub fn delay_figures(&self, flow: u32, round_trips: Option<&Histogram>) -> DelayFigures {
        let delays = self.delays.get(flow as usize);
        delays.map_or(DelayFigures::UNKNOWN, |delays| DelayFigures::new(delays, round_trips))
    }

    /// The samples of links since the last call.
    pub fn take_link_series(&mut self) -> Table {
        self.observations.take_link_series()
    }

    /// Measurements of the routings that measure their links, since the last call.
    pub fn take_link_state(&mut self) -> Table {
        self.observations.take_link_state()
    }

    /// The routes of routings that measure their links: the first ones, and every change.
    pub fn route_changes(&self) -> &[RouteChange] {
        self.route_log.changes()
    }
}
