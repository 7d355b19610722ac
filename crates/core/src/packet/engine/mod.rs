//! A run: its state, and changes of the whole network.
//!
//! [`hosts`] processes packets at the ends of flows. [`results`] makes the result tables, with [`bound`] (a goodput that no network could bring is
//! refused) and [`idle`] (the completion time in an idle network). An [`EventLoop`] decides in which order packets are moved: one by one
//! (`oracle/`), or in epochs (`epochs/`), with the same results bit for bit.
//!
//! May use: links, forwarding, hosts, link state, output and captures. It knows neither the event loops nor the partitions.

mod bound;
mod hosts;
mod idle;
pub(in crate::packet) mod results;

use crate::packet::capture::recorder::{Captured, Captures};
use crate::packet::forwarding::Forwarding;
use crate::packet::hosts::flow::{Flow, FlowState};
use crate::packet::link::Link;
use crate::packet::link::fifo::FifoStore;
use crate::packet::link::impairment::LossProcess;
use crate::packet::link::packet::{HAS_SACK, Packet};
use crate::packet::link::packet_sizes::FlowSizes;
use crate::packet::link::sack_pool::SackPool;
use crate::packet::output::route_log::{RouteChange, RouteLog};
use crate::packet::output::samples::Observations;
use crate::packet::output::table::Table;
use crate::spec::{LinkId, LossSpec, NodeId, RunSpec};
use crate::tcp::sender::CommonSettings;
use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// Something that happens to the network as a whole, a barrier for everything else.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::packet) enum NetworkEvent {
    Fail(Vec<LinkId>),
    Repair(Vec<LinkId>),
    Reroute(usize),
    /// Wires lose packets in another way, by draws of this stretch of the run.
    Impair(Vec<LinkId>, LossSpec, u32),
    /// The controller of a routing takes a sample of the links, or computes its routes.
    LinkState(usize),
    WarmedUp,
    Sample,
    Retire,
}

/// The timers of a flow, by their place in its group of three.
pub(in crate::packet) const SENDER: u32 = 0;
pub(in crate::packet) const RECEIVER: u32 = 1;
pub(in crate::packet) const APPLICATION: u32 = 2;
pub(in crate::packet) const TIMERS_PER_FLOW: u32 = 3;

/// The receiver of a flow that is done answers duplicates for one to two times this long; then only its tally is kept.
const TIME_WAIT: Duration = Duration::from_millis(100);

/// Moves packets over links, and fires timers, in an order that gives every node its events by (time, kind, index): at one
/// instant what happens to the network comes first, then the starts of flows, then arrivals by link, then timers by flow.
pub trait EventLoop: Sized {
    /// For a run that has not begun.
    fn new(spec: &RunSpec, links: &mut [Link], flows: &[Flow], sizes: &FlowSizes) -> Self;

    /// Processes at least so many events, if there are; `false` once the run has ended.
    fn advance(engine: &mut Engine<Self>, events: u64) -> bool;

    /// A packet comes to a link now.
    fn offer(engine: &mut Engine<Self>, link: LinkId, packet: Packet);

    /// A timer of a flow is due then, or later than it already was.
    fn arm(engine: &mut Engine<Self>, flow: u32, timer: u32, deadline: Time);

    /// A timer comes up then, or never; when it does, its owner says when it is really due.
    fn armed(&self, flow: u32, timer: u32) -> Time;

    /// Something is to happen to the network then.
    fn on_scheduled(&mut self, at: Time);

    /// A link has lost all that it held.
    fn on_failed(&mut self, link: LinkId);

    /// A flow is done, and its connection stays until then; at the node of its receiver, too.
    fn on_done(&mut self, _at: Time, _flow: u32, _receiver: NodeId) {}

    /// The routes have changed.
    fn on_rerouted(&mut self, forwarding: &Forwarding);
}

/// A run.
pub struct Engine<L> {
    pub(in crate::packet) spec: RunSpec,
    pub(in crate::packet) now: Time,
    pub(in crate::packet) end: Time,
    pub(in crate::packet) links: Vec<Link>,
    /// The packets that stand in the links' FIFOs.
    pub(in crate::packet) fifos: FifoStore,
    pub(in crate::packet) order: L,
    pub(in crate::packet) forwarding: Forwarding,
    pub(in crate::packet) flows: Vec<Flow>,
    pub(in crate::packet) sizes: FlowSizes,
    /// Flows in the order of their start, and how many have started.
    pub(in crate::packet) starts: Vec<u32>,
    pub(in crate::packet) started: usize,
    /// Of the senders of each stack.
    pub(in crate::packet) common_settings: Vec<Option<CommonSettings>>,
    controls: VecDeque<(Time, NetworkEvent)>,
    /// Flows that are done, and when only their tally is to be kept.
    done: Vec<(Time, u32)>,
    next_retirement: Time,
    pub(in crate::packet) pool: SackPool,
    pub(in crate::packet) dropped: Vec<Packet>,
    pub(in crate::packet) packet_hops: u64,
    pub(in crate::packet) events: u64,
    pub(in crate::packet) without_route: u64,
    pub(in crate::packet) expired: u64,
    /// Packets that hosts have sent, and those that have come to them.
    #[cfg(test)]
    pub(in crate::packet) at_hosts: (u64, u64),
    pub(in crate::packet) observations: Observations,
    pub(in crate::packet) captures: Captures,
    route_log: RouteLog,
}

impl<L: EventLoop> Engine<L> {
    pub(in crate::packet) fn assemble(
        spec: RunSpec,
        mut links: Vec<Link>,
        forwarding: Forwarding,
        flows: Vec<Flow>,
        sizes: FlowSizes,
        controls: VecDeque<(Time, NetworkEvent)>,
    ) -> Engine<L> {
        let mut starts: Vec<u32> = (0..flows.len() as u32).collect();
        starts.sort_by_key(|flow| flows[*flow as usize].identity.start);
        let mut order = L::new(&spec, &mut links, &flows, &sizes);
        order.on_rerouted(&forwarding);
        let mut route_log = RouteLog::new(&spec, &flows);
        route_log.update(Time::ZERO, &forwarding);
        Engine {
            route_log,
            now: Time::ZERO,
            end: Time::ZERO + spec.duration,
            order,
            observations: Observations::new(&spec),
            captures: Captures::new(&spec),
            common_settings: spec.stacks.iter().map(|_| None).collect(),
            spec,
            links,
            fifos: FifoStore::default(),
            forwarding,
            flows,
            sizes,
            starts,
            started: 0,
            controls,
            done: Vec::new(),
            next_retirement: Time::NEVER,
            pool: SackPool::default(),
            dropped: Vec::new(),
            packet_hops: 0,
            events: 0,
            without_route: 0,
            expired: 0,
            #[cfg(test)]
            at_hosts: (0, 0),
        }
    }

    /// Processes about so many events; `false` once the run has ended.
    pub fn advance(&mut self, events: u64) -> bool {
        L::advance(self, events)
    }

    /// Virtual time reached.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Packets that have crossed a link, lost ones included.
    pub fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    /// Events that the loop has processed: arrivals of packets, timers, starts, changes of the network. In epochs, all packets that a link
    /// delivers or takes in an epoch are one event, and each timer that fires among packets is another.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Packets that came to a node, or left their host, when no route led on: after links failed and routes followed.
    pub fn packets_without_route(&self) -> u64 {
        self.without_route
    }

    /// Packets whose time to live was over before they arrived: routers that choose hop by hop had sent them in a circle.
    pub fn packets_expired(&self) -> u64 {
        self.expired
    }

    /// The flow samples since the last call.
    pub fn take_flow_series(&mut self) -> Table {
        self.observations.take_flow_series()
    }

    /// The link samples since the last call.
    pub fn take_link_series(&mut self) -> Table {
        self.observations.take_link_series()
    }

    /// What routings that measure their links have learnt of them since the last call, sample by sample.
    pub fn take_link_state(&mut self) -> Table {
        self.observations.take_link_state()
    }

    /// The routes of the pairs that flows use, of routings that measure their links: the first ones, and every change.
    pub fn route_changes(&self) -> &[RouteChange] {
        self.route_log.changes()
    }

    /// The packets captured on a link since the last call, as a piece of a pcapng file; all pieces together give the file.
    /// Empty if the run does not capture this link.
    pub fn take_capture(&mut self, link: LinkId) -> Vec<u8> {
        self.captures.take(link)
    }

    /// Captures a packet that enters a link at this time, if the link is one of those captured.
    #[inline]
    pub(in crate::packet) fn capture(&mut self, link: LinkId, at: Time, packet: Packet) {
        let run = Captured { spec: &self.spec, flows: &self.flows, sizes: &self.sizes };
        self.captures.capture(link, at, packet, &run, &self.pool);
    }

    /// When the next flow starts; [`Time::NEVER`] if none is left.
    pub(in crate::packet) fn next_start(&self) -> Time {
        self.starts.get(self.started).map_or(Time::NEVER, |flow| self.flows[*flow as usize].identity.start)
    }

    /// When something happens to the network as a whole; [`Time::NEVER`] if nothing will.
    pub(in crate::packet) fn next_control(&self) -> Time {
        self.controls.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// When something happens to the network that all of it must know at once: anything but that finished flows retire.
    pub(in crate::packet) fn next_change(&self) -> Time {
        let is_change = |control: &NetworkEvent| !matches!(control, NetworkEvent::Retire);
        self.controls.iter().find(|(_, control)| is_change(control)).map_or(Time::NEVER, |(at, _)| *at)
    }

    /// What happens to the network first, happens now.
    pub(in crate::packet) fn on_control(&mut self) {
        let Some((_, control)) = self.controls.pop_front() else { return };
        match control {
            NetworkEvent::Fail(links) => {
                for link in links {
                    let gone = self.links[link as usize].fail(self.now, &self.sizes, &mut self.fifos);
                    gone.into_iter().for_each(|packet| self.discard(packet));
                    self.order.on_failed(link);
                    self.forwarding.set_up(link, false);
                }
            }
            NetworkEvent::Repair(links) => {
                for link in links {
                    self.links[link as usize].repair(self.now);
                    self.forwarding.set_up(link, true);
                }
            }
            NetworkEvent::Reroute(routing) => self.reroute(routing),
            NetworkEvent::Impair(links, spec, stretch) => {
                for link in links {
                    let loss = LossProcess::after_changes(&spec, self.spec.seed, link, stretch);
                    self.links[link as usize].change_loss(&spec, loss);
                }
            }
            NetworkEvent::LinkState(routing) => self.follow_link_state(routing),
            NetworkEvent::WarmedUp => {
                let Engine { flows, links, sizes, fifos, .. } = self;
                self.observations.on_warmed_up(self.now, flows, links, sizes, fifos);
            }
            NetworkEvent::Sample => {
                self.observations.on_sample(&self.spec, self.now, &self.flows, &self.links, &self.sizes, &self.fifos);
                let interval = self.spec.sample.expect("samples are only scheduled with an interval");
                self.schedule(self.now + interval, NetworkEvent::Sample);
            }
            NetworkEvent::Retire => self.retire(),
        }
    }

    fn reroute(&mut self, routing: usize) {
        self.forwarding.reroute(routing);
        self.order.on_rerouted(&self.forwarding);
        self.route_log.update(self.now, &self.forwarding);
    }

    fn follow_link_state(&mut self, routing: usize) {
        let Some(controller) = self.forwarding.controller(routing) else { return };
        if controller.sample(self.now, self.links.iter().map(Link::reading)) {
            self.observations.on_link_state(self.now, routing, controller.estimates());
        }
        let (computes, due) = (controller.computes(self.now), controller.due());
        if computes {
            self.reroute(routing);
        }
        self.schedule(due, NetworkEvent::LinkState(routing));
    }

    fn schedule(&mut self, at: Time, control: NetworkEvent) {
        let position = self.controls.partition_point(|(earlier, _)| *earlier <= at);
        self.controls.insert(position, (at, control));
        self.order.on_scheduled(at);
    }

    /// All of a flow is delivered and acknowledged. Its connection stays for a while, longer than any epoch of an event
    /// loop, so that it does not matter which of its ends is looked at first.
    pub(in crate::packet) fn retire_later(&mut self, flow: u32) {
        let at = Time((self.now.0 / TIME_WAIT.0 + 2) * TIME_WAIT.0);
        self.retire_at(at, flow);
        self.order.on_done(at, flow, self.flows[flow as usize].identity.dst);
    }

    /// Only the tally of a flow is kept from then on.
    pub(in crate::packet) fn retire_at(&mut self, at: Time, flow: u32) {
        self.done.push((at, flow));
        self.schedule_retirement(at);
    }

    /// Flows are done in no order within an epoch, so that a retirement may come before one that is scheduled already.
    fn schedule_retirement(&mut self, at: Time) {
        if at < self.next_retirement {
            self.next_retirement = at;
            self.schedule(at, NetworkEvent::Retire);
        }
    }

    fn retire(&mut self) {
        let now = self.now;
        if self.next_retirement > now {
            return; // there was one more at this instant
        }
        let (flows, sizes) = (&mut self.flows, &self.sizes);
        let mut next = Time::NEVER;
        self.done.retain(|(at, flow)| {
            let state = &mut flows[*flow as usize];
            if *at <= now && matches!(state.activity, FlowState::Tcp(_)) {
                state.activity =
                    FlowState::Finished(Box::new(state.activity.tally(now, sizes[*flow as usize].last_segment)));
            }
            if *at > now {
                next = next.min(*at);
            }
            *at > now
        });
        self.next_retirement = Time::NEVER;
        self.schedule_retirement(next);
    }

    #[inline(always)]
    pub(in crate::packet) fn discard(&mut self, packet: Packet) {
        if packet.has(HAS_SACK) {
            self.pool.release(packet.number());
        }
    }

    #[cold]
    pub(in crate::packet) fn discard_dropped(&mut self) {
        while let Some(packet) = self.dropped.pop() {
            self.discard(packet);
        }
    }

    /// Of a packet that no route leads on, or whose time to live is over.
    #[cold]
    pub(in crate::packet) fn discard_on_the_way(&mut self, packet: Packet) {
        self.discard(packet);
    }
}
