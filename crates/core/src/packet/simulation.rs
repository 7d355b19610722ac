//! A run of the packet engine: its state, and what happens to the network as a whole.
//!
//! What the hosts do is in [`super::hosts`]. In which order packets are moved is the business of an [`EventLoop`]: one by
//! one ([`super::plain`]), or in windows of time ([`super::windows`]), to the same results, bit for bit.

use super::beside::Pool;
use super::capturing::Captures;
use super::flow::{Activity, Flow};
use super::forwarding::Forwarding;
use super::line::Lines;
use super::link::Link;
use super::loss::LossProcess;
use super::observe::Observations;
use super::packet::{BESIDE, FlowSizes, Packet};
use super::route_log::{RouteChange, RouteLog};
use super::table::Table;
use crate::spec::{LinkId, LossSpec, NodeId, RunSpec};
use crate::tcp::sender::CommonSettings;
use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// Something that happens to the network as a whole, a barrier for everything else.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Control {
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
pub(super) const SENDER: u32 = 0;
pub(super) const RECEIVER: u32 = 1;
pub(super) const APPLICATION: u32 = 2;
pub(super) const TIMERS_PER_FLOW: u32 = 3;

/// The receiver of a flow that is done answers duplicates for one to two times this long; then only its tally is kept.
const LINGER: Duration = Duration::from_millis(100);

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
    pub(super) spec: RunSpec,
    pub(super) now: Time,
    pub(super) end: Time,
    pub(super) links: Vec<Link>,
    /// The packets that stand in the links' lines.
    pub(super) lines: Lines,
    pub(super) order: L,
    pub(super) forwarding: Forwarding,
    pub(super) flows: Vec<Flow>,
    pub(super) sizes: FlowSizes,
    /// Flows in the order of their start, and how many have started.
    pub(super) starts: Vec<u32>,
    pub(super) started: usize,
    /// Of the senders of each stack.
    pub(super) common_settings: Vec<Option<CommonSettings>>,
    controls: VecDeque<(Time, Control)>,
    /// Flows that are done, and when only their tally is to be kept.
    done: Vec<(Time, u32)>,
    next_retirement: Time,
    pub(super) pool: Pool,
    pub(super) dropped: Vec<Packet>,
    pub(super) packet_hops: u64,
    pub(super) events: u64,
    pub(super) without_route: u64,
    pub(super) expired: u64,
    /// Packets that hosts have sent, and those that have come to them.
    #[cfg(test)]
    pub(super) at_hosts: (u64, u64),
    pub(super) observations: Observations,
    pub(super) captures: Captures,
    route_log: RouteLog,
}

impl<L: EventLoop> Engine<L> {
    pub(super) fn assemble(
        spec: RunSpec,
        mut links: Vec<Link>,
        forwarding: Forwarding,
        flows: Vec<Flow>,
        sizes: FlowSizes,
        controls: VecDeque<(Time, Control)>,
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
            lines: Lines::default(),
            forwarding,
            flows,
            sizes,
            starts,
            started: 0,
            controls,
            done: Vec::new(),
            next_retirement: Time::NEVER,
            pool: Pool::default(),
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

    /// What the loop has gone to: a packet's arrival, a timer, a start, something that happens to the network; in windows of time a
    /// link that hands over, or takes, all its packets of a window is one, and timers that fire among packets are counted by themselves.
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

    /// When the next flow starts; [`Time::NEVER`] if none is left.
    pub(super) fn next_start(&self) -> Time {
        self.starts.get(self.started).map_or(Time::NEVER, |flow| self.flows[*flow as usize].identity.start)
    }

    /// When something happens to the network as a whole; [`Time::NEVER`] if nothing will.
    pub(super) fn next_control(&self) -> Time {
        self.controls.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// When something happens to the network that all of it must know at once: anything but that finished flows retire.
    pub(super) fn next_change(&self) -> Time {
        let is_change = |control: &Control| !matches!(control, Control::Retire);
        self.controls.iter().find(|(_, control)| is_change(control)).map_or(Time::NEVER, |(at, _)| *at)
    }

    /// What happens to the network first, happens now.
    pub(super) fn on_control(&mut self) {
        let Some((_, control)) = self.controls.pop_front() else { return };
        match control {
            Control::Fail(links) => {
                for link in links {
                    let gone = self.links[link as usize].fail(self.now, &self.sizes, &mut self.lines);
                    gone.into_iter().for_each(|packet| self.discard(packet));
                    self.order.on_failed(link);
                    self.forwarding.set_up(link, false);
                }
            }
            Control::Repair(links) => {
                for link in links {
                    self.links[link as usize].repair(self.now);
                    self.forwarding.set_up(link, true);
                }
            }
            Control::Reroute(routing) => self.reroute(routing),
            Control::Impair(links, spec, stretch) => {
                for link in links {
                    let loss = LossProcess::after_changes(&spec, self.spec.seed, link, stretch);
                    self.links[link as usize].change_loss(&spec, loss);
                }
            }
            Control::LinkState(routing) => self.follow_link_state(routing),
            Control::WarmedUp => {
                let Engine { flows, links, sizes, lines, .. } = self;
                self.observations.on_warmed_up(self.now, flows, links, sizes, lines);
            }
            Control::Sample => {
                self.observations.on_sample(&self.spec, self.now, &self.flows, &self.links, &self.sizes, &self.lines);
                let interval = self.spec.sample.expect("samples are only scheduled with an interval");
                self.schedule(self.now + interval, Control::Sample);
            }
            Control::Retire => self.retire(),
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
        self.schedule(due, Control::LinkState(routing));
    }

    fn schedule(&mut self, at: Time, control: Control) {
        let position = self.controls.partition_point(|(earlier, _)| *earlier <= at);
        self.controls.insert(position, (at, control));
        self.order.on_scheduled(at);
    }

    /// All of a flow is delivered and acknowledged. Its connection stays for a while, longer than any window of an event
    /// loop, so that it does not matter which of its ends is looked at first.
    pub(super) fn retire_later(&mut self, flow: u32) {
        let at = Time((self.now.0 / LINGER.0 + 2) * LINGER.0);
        self.retire_at(at, flow);
        self.order.on_done(at, flow, self.flows[flow as usize].identity.dst);
    }

    /// Only the tally of a flow is kept from then on.
    pub(super) fn retire_at(&mut self, at: Time, flow: u32) {
        self.done.push((at, flow));
        self.schedule_retirement(at);
    }

    /// Flows are done in no order within a window, so that a retirement may come before one that is scheduled already.
    fn schedule_retirement(&mut self, at: Time) {
        if at < self.next_retirement {
            self.next_retirement = at;
            self.schedule(at, Control::Retire);
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
            if *at <= now && matches!(state.activity, Activity::Tcp(_)) {
                state.activity =
                    Activity::Finished(Box::new(state.activity.tally(now, sizes[*flow as usize].last_segment)));
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
    pub(super) fn discard(&mut self, packet: Packet) {
        if packet.has(BESIDE) {
            self.pool.release(packet.number());
        }
    }

    #[cold]
    pub(super) fn discard_dropped(&mut self) {
        while let Some(packet) = self.dropped.pop() {
            self.discard(packet);
        }
    }

    /// Of a packet that no route leads on, or whose time to live is over.
    #[cold]
    pub(super) fn discard_on_the_way(&mut self, packet: Packet) {
        self.discard(packet);
    }
}
