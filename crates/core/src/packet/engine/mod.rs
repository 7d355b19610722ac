//! A run: its parts, and the events of the whole network.
//!
//! An [`Engine`] has four parts, each with private state and its own methods: the [`clock`], the [`network`], the [`hosts`] and the [`observers`].
//! Hosts reach the other parts by a [`context`]. An [`EventLoop`] decides the order of packets and timers: one by one (`oracle/`), or in epochs
//! (`epochs/`), with the same results to the bit. [`results`] makes the result tables, with [`bound`] (a goodput that no network could bring is
//! refused) and [`idle`] (the completion time in an idle network).
//!
//! May use: links, forwarding, hosts, link state, output and captures. It knows neither the event loops nor the partitions.

mod bound;
pub(in crate::packet) mod clock;
pub(in crate::packet) mod context;
pub(in crate::packet) mod dependencies;
pub(in crate::packet) mod hosts;
mod idle;
mod messages;
pub(in crate::packet) mod network;
mod observers;
mod planned;
pub mod results;
mod subflows;

use crate::packet::capture::recorder::Captures;
use crate::packet::engine::clock::{Clock, NetworkEvent};
use crate::packet::engine::context::HostContext;
use crate::packet::engine::dependencies::Dependencies;
use crate::packet::engine::hosts::Hosts;
use crate::packet::engine::network::Network;
use crate::packet::engine::observers::Observers;
use crate::packet::forwarding::{END, Forwarding};
use crate::packet::hosts::flow::Flow;
use crate::packet::link::Link;
use crate::packet::link::packet::Packet;
use crate::packet::link::packet_sizes::FlowSizes;
use crate::packet::output::route_log::RouteChange;
use crate::packet::output::table::Table;
use crate::spec::{LinkId, NodeId, RunSpec};
use crate::tcp::congestion::supervision::Supervision;
use crate::units::Time;
use std::collections::VecDeque;

/// The timers of a flow, by their position in its group of three.
pub(in crate::packet) const SENDER: u32 = 0;
pub(in crate::packet) const RECEIVER: u32 = 1;
pub(in crate::packet) const APPLICATION: u32 = 2;
pub(in crate::packet) const TIMERS_PER_FLOW: u32 = 3;

/// Moves packets over links, and fires timers, in an order that gives every node its events by (time, kind, index). At one instant network events
/// come first, then the starts of flows, then arrivals by link, then timers by flow.
pub trait EventLoop: Sized {
    /// Creates the event loop of a run that has not started.
    fn new(spec: &RunSpec, links: &mut [Link], flows: &[Flow], sizes: &FlowSizes) -> Self;

    /// Processes at least this number of events, if there are; `false` once the run has ended.
    fn advance(engine: &mut Engine<Self>, events: u64) -> bool;

    /// Offers a packet to the queue of a link now.
    fn offer(&mut self, now: Time, link: LinkId, packet: Packet, network: &mut Network, captures: &mut Captures);

    /// Sets the deadline of a flow's timer, or moves it to a later time.
    fn arm(&mut self, flow: u32, timer: u32, deadline: Time);

    /// Time at which a timer's entry comes up, or never. Its owner then computes the real deadline.
    fn armed(&self, flow: u32, timer: u32) -> Time;

    /// Of the links whose queues decide at their service: those below this are served now before the event that is processed now.
    fn served(&self) -> LinkId {
        0 // all services before this event have been processed
    }

    /// Called when a network event is scheduled.
    fn on_scheduled(&mut self, at: Time);

    /// Called when a link has failed and lost all its packets.
    fn on_failed(&mut self, now: Time, link: LinkId);

    /// Called when a flow is done. Its connection stays until `at`, also at the node of its receiver.
    fn on_done(&mut self, _at: Time, _flow: u32, _receiver: NodeId) {}

    /// Called when a flow starts that waited for others: its start is not known before.
    fn on_started(&mut self, _at: Time, _flow: u32, _receiver: NodeId) {}

    /// Called when the routes have changed.
    fn on_rerouted(&mut self, forwarding: &Forwarding);
}

/// A run.
pub struct Engine<L> {
    pub(in crate::packet) spec: RunSpec,
    pub(in crate::packet) clock: Clock,
    pub(in crate::packet) network: Network,
    pub(in crate::packet) hosts: Hosts,
    pub(in crate::packet) observers: Observers,
    /// Of the stacks whose congestion controls come with the scenario.
    supervisions: Vec<Supervision>,
    /// State of the event loop: the events that are due, and their order.
    pub(in crate::packet) event_loop: L,
}

impl<L: EventLoop> Engine<L> {
    pub(in crate::packet) fn assemble(
        spec: RunSpec,
        mut links: Vec<Link>,
        forwarding: Forwarding,
        (flows, dependencies): (Vec<Flow>, Dependencies),
        sizes: FlowSizes,
        network_events: VecDeque<(Time, NetworkEvent)>,
    ) -> Engine<L> {
        let mut event_loop = L::new(&spec, &mut links, &flows, &sizes);
        event_loop.on_rerouted(&forwarding);
        let network = Network::new(links, sizes, forwarding);
        let hosts = Hosts::new(&spec, flows, dependencies);
        Engine {
            clock: Clock::new(spec.duration, spec.sample, network_events),
            observers: Observers::new(&spec, &hosts, &network),
            network,
            hosts,
            event_loop,
            supervisions: spec.supervisions().cloned().collect(),
            spec,
        }
    }

    /// Processes at least about this number of events; `false` once the run has ended.
    pub fn advance(&mut self, events: u64) -> bool {
        L::advance(self, events)
    }

    /// Virtual time reached.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Packets that have crossed a link, lost ones included.
    pub fn packet_hops(&self) -> u64 {
        self.network.packet_hops()
    }

    /// Events that the loop has processed: arrivals of packets, timers, starts, changes of the network. In epochs, all packets that a link
    /// delivers or takes in an epoch are one event, and each timer that fires among packets is another.
    pub fn events(&self) -> u64 {
        self.clock.events()
    }

    /// The work of long calls of congestion controls that come with the scenario, in events. It is that of the whole run, also in a partition.
    pub(in crate::packet) fn work_of_controls(&self) -> u64 {
        self.supervisions.iter().map(Supervision::work).sum()
    }

    /// Packets that came to a node, or left their host, when no route led on: after links failed and routes followed.
    pub fn packets_without_route(&self) -> u64 {
        self.network.without_route()
    }

    /// Packets whose time to live was over before they arrived: routers that choose hop by hop had sent them in a circle.
    pub fn packets_expired(&self) -> u64 {
        self.network.expired()
    }

    /// The flow samples since the last call.
    pub fn take_flow_series(&mut self) -> Table {
        self.observers.observations.take_flow_series()
    }

    /// The link samples since the last call.
    pub fn take_link_series(&mut self) -> Table {
        self.observers.observations.take_link_series()
    }

    /// Measurements of the routings that measure their links, since the last call, one row per sample.
    pub fn take_link_state(&mut self) -> Table {
        self.observers.observations.take_link_state()
    }

    /// The routes of the pairs that flows use, of routings that measure their links: the first ones, and every change.
    pub fn route_changes(&self) -> &[RouteChange] {
        self.observers.route_log.changes()
    }

    /// The packets captured on a link since the last call, as a piece of a pcapng file; all pieces together give the file.
    /// Empty if the run does not capture this link.
    pub fn take_capture(&mut self, link: LinkId) -> Vec<u8> {
        self.observers.captures.take(link)
    }

    /// The hosts, and all that they may use.
    #[inline(always)]
    pub(in crate::packet) fn hosts_in_context(&mut self) -> (&mut Hosts, HostContext<'_, L>) {
        let Engine { spec, clock, network, hosts, observers, event_loop, .. } = self;
        (hosts, HostContext { spec, clock, network, captures: &mut observers.captures, event_loop })
    }

    /// Processes a packet that has arrived at a node: forwards it, or delivers it to its host.
    #[inline(always)]
    pub(in crate::packet) fn forward(&mut self, mut packet: Packet, node: NodeId) {
        let Engine { clock, network, hosts, observers, event_loop, .. } = self;
        let index = packet.hop_index();
        let (next, hop_index) = if Forwarding::is_hop_by_hop(index) {
            let identity = hosts.identity(packet.flow());
            let Some(next_hop) = network.next_hop(clock.now(), packet.words(), node, identity, || event_loop.served())
            else {
                return;
            };
            next_hop
        } else {
            (network.forwarding().next_on_route(index), index + 1)
        };
        if next == END {
            return self.deliver(packet);
        }
        packet.set_hop_index(hop_index);
        event_loop.offer(clock.now(), next, packet, network, &mut observers.captures);
    }

    /// Delivers a packet that has reached its host.
    #[inline(always)]
    pub(in crate::packet) fn deliver(&mut self, packet: Packet) {
        let (hosts, mut context) = self.hosts_in_context();
        hosts.deliver(packet, &mut context);
    }

    pub(in crate::packet) fn on_timer(&mut self, flow: u32, timer: u32) {
        let (hosts, mut context) = self.hosts_in_context();
        hosts.on_timer(flow, timer, &mut context);
    }

    pub(in crate::packet) fn start_flow(&mut self, flow: u32) {
        let (hosts, mut context) = self.hosts_in_context();
        hosts.start(flow, &mut context);
    }

    /// Processes the next network event, which happens now.
    pub(in crate::packet) fn on_network_event(&mut self) {
        let Some(event) = self.clock.take_network_event() else { return };
        let Engine { spec, clock, network, hosts, observers, event_loop, .. } = self;
        let now = clock.now();
        match event {
            NetworkEvent::Fail(links) => {
                for link in links {
                    network.fail(now, link);
                    event_loop.on_failed(now, link);
                }
            }
            NetworkEvent::Repair(links) => links.into_iter().for_each(|link| network.repair(link)),
            NetworkEvent::Reroute(routing) => self.reroute(routing),
            NetworkEvent::Impair(links, loss, changes) => network.impair(&links, loss.as_ref(), spec.seed, changes),
            NetworkEvent::LinkState(routing) => self.follow_link_state(routing),
            NetworkEvent::WarmedUp => {
                observers.observations.on_warmed_up(now, hosts.flows(), network.links_view());
                hosts.forget_peaks();
                network.forget_waits();
            }
            NetworkEvent::Sample => {
                observers.observations.on_sample(spec, now, hosts.planned(), network.links_view());
                let interval = spec.sample.expect("samples are only scheduled with an interval");
                self.schedule(now + interval, NetworkEvent::Sample);
            }
            NetworkEvent::Retire => {
                let (hosts, mut context) = self.hosts_in_context();
                hosts.retire(&mut context);
            }
        }
    }

    fn reroute(&mut self, routing: usize) {
        self.network.reroute(routing);
        self.event_loop.on_rerouted(self.network.forwarding());
        self.observers.route_log.update(self.clock.now(), self.network.forwarding());
    }

    /// Measures the links of a routing, and recomputes its routes when that is due.
    fn follow_link_state(&mut self, routing: usize) {
        let now = self.clock.now();
        let Some(measurement) = self.network.measure(now, routing) else { return };
        if let Some(estimates) = measurement.estimates {
            self.observers.observations.on_link_state(now, routing, estimates);
        }
        let (computes, due) = (measurement.computes, measurement.due);
        if computes {
            self.reroute(routing);
        }
        self.schedule(due, NetworkEvent::LinkState(routing));
    }

    fn schedule(&mut self, at: Time, event: NetworkEvent) {
        self.clock.schedule(at, event);
        self.event_loop.on_scheduled(at);
    }
}
