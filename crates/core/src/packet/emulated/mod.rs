//! A network without hosts: packets come from outside, and leave it when they reach their host.
//!
//! The kernel engine (`crates/emulator`) uses it in real time: Linux sends and receives the packets. Links, forwarding, network events, counters and
//! samples are those of the packet engine. Events have the oracle's order; the tests compare the two step by step.
//!
//! May use: links, forwarding, link state, output, the build, and the clock and network events of the engine. It knows no event loop.

#[cfg(test)]
mod tests;

use crate::packet::build::{self, BuildError};
use crate::packet::capture::flow_view::host_address;
use crate::packet::engine::clock::{Clock, NetworkEvent};
use crate::packet::engine::results::link_table;
use crate::packet::forwarding::select::PacketKey;
use crate::packet::forwarding::{END, Forwarding, RouteRef};
use crate::packet::hosts::flow::{Flow, FlowIdentity};
use crate::packet::link::fifo::FifoStore;
use crate::packet::link::impairment::LossProcess;
use crate::packet::link::packet::{LOST, MARK, Packet};
use crate::packet::link::packet_sizes::{FlowSizes, PacketSizes};
use crate::packet::link::{Link, Offer};
use crate::packet::oracle::winner_tree::WinnerTree;
use crate::packet::output::route_log::{RouteChange, RouteLog};
use crate::packet::output::samples::Observations;
use crate::packet::output::table::Table;
use crate::spec::{LinkId, NodeId, RunSpec};
use crate::units::Time;
use std::net::Ipv4Addr;

pub use crate::packet::capture::flow_view::Endpoints;
pub use crate::packet::hosts::flow::FlowPlan;

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
    /// Whether queues may mark it instead of dropping it.
    pub ecn_capable: bool,
}

/// Receives the packets that leave the network, and observes packets that enter links.
pub trait Taker<P> {
    /// Called when a packet has reached its host at this time. `marked` is set if a queue has marked the packet.
    fn deliver(&mut self, at: Time, host: NodeId, packet: P, marked: bool);

    /// Called when a packet is offered to a link that the run captures.
    fn capture(&mut self, at: Time, link: LinkId, packet: &P);
}

/// A packet in the network; its index is the flow of its [`Packet`].
struct InFlight<P> {
    key: PacketKey,
    packet: P,
}

/// A network whose packets carry a `P`.
pub struct EmulatedNetwork<P> {
    spec: RunSpec,
    clock: Clock,
    links: Vec<Link>,
    fifos: FifoStore,
    forwarding: Forwarding,
    flows: Vec<Flow>,
    /// Bytes of a full packet by flow.
    full_sizes: Vec<u16>,
    /// Payload by flow; `None` if the flow does not end.
    bytes: Vec<Option<u64>>,
    /// The packets in the network, and their sizes.
    in_flight: Vec<Option<InFlight<P>>>,
    sizes: FlowSizes,
    free: Vec<u32>,
    /// The next event of each link.
    arrivals: WinnerTree,
    observations: Observations,
    route_log: RouteLog,
    packet_hops: u64,
    without_route: u64,
    expired: u64,
    dropped: Vec<Packet>,
}

impl<P> EmulatedNetwork<P> {
    /// The network of a run, idle, at time zero.
    ///
    /// # Errors
    /// As for the packet engine.
    pub fn new(spec: RunSpec) -> Result<EmulatedNetwork<P>, BuildError> {
        let build::Parts { links, forwarding, flows, sizes, network_events } = build::parts(&spec)?;
        let mut route_log = RouteLog::new(&spec, &flows);
        route_log.update(Time::ZERO, &forwarding);
        Ok(EmulatedNetwork {
            clock: Clock::new(spec.duration, network_events),
            arrivals: WinnerTree::new(links.len()),
            observations: Observations::new(&spec),
            full_sizes: (0..flows.len()).map(|flow| sizes[flow].full()).collect(),
            bytes: (0..flows.len()).map(|flow| sizes[flow].whole_payload()).collect(),
            spec,
            links,
            fifos: FifoStore::default(),
            forwarding,
            flows,
            in_flight: Vec::new(),
            sizes: FlowSizes::of_packets(),
            free: Vec::new(),
            route_log,
            packet_hops: 0,
            without_route: 0,
            expired: 0,
            dropped: Vec::new(),
        })
    }

    /// The flows that the run plans, and those added since.
    pub fn flows(&self) -> impl ExactSizeIterator<Item = u32> {
        0..self.flows.len() as u32
    }

    /// The plan of a flow: its ends, start and size.
    pub fn plan(&self, flow: u32) -> FlowPlan {
        self.flows[flow as usize].identity.plan(self.bytes[flow as usize])
    }

    /// The addresses and ports of a flow's packets, as in the packet engine's captures.
    pub fn endpoints(&self, flow: u32) -> Endpoints {
        Endpoints::new(flow, &self.flows[flow as usize].identity, self.spec.traffic.len() as u32)
    }

    /// The address of a node.
    pub fn address(node: NodeId) -> Ipv4Addr {
        host_address(node)
    }

    /// Adds a flow that the run did not plan, between a pair of a group. Returns its number, or `None` if no route leads there.
    pub fn add_flow(&mut self, group: u32, (src, dst): (NodeId, NodeId)) -> Option<u32> {
        let routing = self.spec.traffic[group as usize].routing;
        let reverse_routing = self.spec.routings[routing].acks.unwrap_or(routing);
        let flow = self.flows.len() as u32;
        let mut route = |routing, (src, dst), reverse| {
            let key = PacketKey { flow, group, src, dst, reverse, number: 0 };
            self.forwarding.route_of_flow(routing, &key).ok()
        };
        let forward = route(routing, (src, dst), false)?;
        let reverse = route(reverse_routing, (dst, src), true)?;
        self.flows.push(Flow::new(FlowIdentity { group, src, dst, start: self.clock.now(), forward, reverse }));
        self.full_sizes.push(self.full_sizes.iter().copied().max().unwrap_or(MTU));
        self.bytes.push(None);
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
        let identity = self.flows[sent.flow as usize].identity;
        let key = identity.key(sent.flow, sent.reverse, sent.number);
        let route = if sent.reverse { identity.reverse } else { identity.forward };
        let Some((link, hop_index)) = self.first_hop(route, &key) else {
            self.without_route += 1;
            return;
        };
        let index = self.free.pop().unwrap_or_else(|| {
            self.in_flight.push(None);
            self.in_flight.len() as u32 - 1
        });
        let full = self.full_sizes[sent.flow as usize];
        // A packet of segment 0 has the size of the last segment, which is this one.
        self.sizes.set(index, PacketSizes::new(full, sent.size, sent.size, sent.ecn_capable, 0));
        self.in_flight[index as usize] = Some(InFlight { key, packet });
        let mut moving = Packet::new(index, 0, 0, 0);
        moving.set_hop_index(hop_index);
        self.offer(link, moving, taker);
    }

    fn first_hop(&mut self, route: RouteRef, key: &PacketKey) -> Option<(LinkId, u32)> {
        let now = self.clock.now();
        let index = self.forwarding.first_hop_index(route, now, key)?;
        if Forwarding::is_hop_by_hop(index) {
            Some((self.forwarding.next_hop(index, key.src, now, key)?, index))
        } else {
            Some((self.forwarding.next_on_route(index), index + 1))
        }
    }

    fn offer(&mut self, link: LinkId, packet: Packet, taker: &mut impl Taker<P>) {
        let now = self.clock.now();
        let state = &mut self.links[link as usize];
        if state.is_captured()
            && let Some(Some(in_flight)) = self.in_flight.get(packet.flow() as usize)
        {
            taker.capture(now, link, &in_flight.packet);
        }
        match state.offer_to_any(now, packet, &self.sizes, &mut self.fifos) {
            Offer::Due(at) => self.arrivals.set(link, at),
            Offer::Dropped => drop(self.remove(packet)),
            Offer::Queued => {}
        }
    }

    /// Removes a packet that leaves the network.
    fn remove(&mut self, packet: Packet) -> Option<InFlight<P>> {
        self.free.push(packet.flow());
        self.in_flight[packet.flow() as usize].take()
    }

    /// Processes a link's event: it serves its queue, or its first packet arrives at its far end.
    fn on_link(&mut self, link: LinkId, taker: &mut impl Taker<P>) {
        let now = self.clock.now();
        let state = &mut self.links[link as usize];
        let node = state.dst;
        if state.next_service() <= now {
            state.serve(now, &self.sizes, &mut self.fifos, &mut self.dropped);
            self.arrivals.set(link, state.next_event());
            while let Some(packet) = self.dropped.pop() {
                self.remove(packet);
            }
            return;
        }
        let packet = state.on_arrival(&self.sizes, &mut self.fifos);
        self.arrivals.set(link, state.next_event());
        self.packet_hops += 1;
        if packet.has(LOST) {
            self.remove(packet);
        } else {
            self.forward(packet, node, taker);
        }
    }

    /// Processes a packet that has arrived at a node: forwards it, or delivers it to its host.
    fn forward(&mut self, mut packet: Packet, node: NodeId, taker: &mut impl Taker<P>) {
        let now = self.clock.now();
        let index = packet.hop_index();
        let next = if Forwarding::is_hop_by_hop(index) {
            let Some(in_flight) = &self.in_flight[packet.flow() as usize] else { return };
            let next = self.forwarding.next_hop(index, node, now, &in_flight.key);
            let at = if next == Some(END) { Some(index) } else { Forwarding::decrement_ttl(index) };
            self.without_route += u64::from(next.is_none());
            self.expired += u64::from(next.is_some() && at.is_none());
            next.zip(at)
        } else {
            Some((self.forwarding.next_on_route(index), index + 1))
        };
        match next {
            None => drop(self.remove(packet)),
            Some((END, _)) => {
                if let Some(in_flight) = self.remove(packet) {
                    taker.deliver(now, node, in_flight.packet, packet.has(MARK));
                }
            }
            Some((link, at)) => {
                packet.set_hop_index(at);
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
        match event {
            NetworkEvent::Fail(links) => links.into_iter().for_each(|link| self.fail(link)),
            NetworkEvent::Repair(links) => {
                for link in links {
                    self.links[link as usize].repair(now);
                    self.forwarding.set_up(link, true);
                }
            }
            NetworkEvent::Reroute(routing) => self.reroute(routing),
            NetworkEvent::Impair(links, loss, stretch) => {
                for link in links {
                    let process = LossProcess::after_changes(loss.as_ref(), self.spec.seed, link, stretch);
                    self.links[link as usize].change_loss(process);
                }
            }
            NetworkEvent::LinkState(routing) => self.follow_link_state(routing),
            NetworkEvent::WarmedUp => {
                self.observations.on_warmed_up(now, &[], &self.links, &self.sizes, &self.fifos);
                self.links.iter_mut().for_each(Link::forget_longest_wait);
            }
            NetworkEvent::Sample => {
                self.observations.on_sample(&self.spec, now, &[], &self.links, &self.sizes, &self.fifos);
                if let Some(interval) = self.spec.sample {
                    self.clock.schedule(now + interval, NetworkEvent::Sample);
                }
            }
            NetworkEvent::Retire => {} // of hosts
        }
    }

    fn fail(&mut self, link: LinkId) {
        let gone = self.links[link as usize].fail(self.clock.now(), &self.sizes, &mut self.fifos);
        for packet in gone {
            self.remove(packet);
        }
        self.forwarding.set_up(link, false);
        self.arrivals.set(link, Time::NEVER);
    }

    fn reroute(&mut self, routing: usize) {
        self.forwarding.reroute(routing);
        self.route_log.update(self.clock.now(), &self.forwarding);
    }

    fn follow_link_state(&mut self, routing: usize) {
        let now = self.clock.now();
        let Some(controller) = self.forwarding.controller(routing) else { return };
        if controller.sample(now, self.links.iter().map(Link::reading)) {
            self.observations.on_link_state(now, routing, controller.estimates());
        }
        let (computes, due) = (controller.computes(now), controller.due());
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
        self.packet_hops
    }

    /// Packets that no route led on.
    pub fn packets_without_route(&self) -> u64 {
        self.without_route
    }

    /// Packets whose time to live was over.
    pub fn packets_expired(&self) -> u64 {
        self.expired
    }

    /// The table of links, as of now.
    pub fn link_table(&self) -> Table {
        link_table(&self.spec, self.clock.now(), &self.links, &self.sizes, &self.fifos, &self.observations)
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
