//! The plain event loop: one event per packet and link, in the order of (time, kind, index).
//!
//! It is the oracle: [`crate::packet::epochs::event_loop`], which is faster, must equal it, bit for bit.

use super::trace::{Fate, Trace};
use super::winner_tree::WinnerTree;
use crate::packet::capture::recorder::Captures;
use crate::packet::engine::network::Network;
use crate::packet::engine::{Engine, EventLoop, TIMERS_PER_FLOW};
use crate::packet::epochs::timers::Timers;
use crate::packet::forwarding::Forwarding;
use crate::packet::hosts::flow::Flow;
use crate::packet::link::packet::Packet;
use crate::packet::link::packet_sizes::FlowSizes;
use crate::packet::link::{Link, Offer};
use crate::packet::output::table::Table;
use crate::spec::{LinkId, RunSpec};
use crate::units::Time;

/// The next events of the whole network.
pub struct ReferenceLoop {
    pub(in crate::packet) arrivals: WinnerTree,
    pub(in crate::packet) timers: Timers,
    /// The next network event or start. Both precede the arrivals of their instant.
    pub(in crate::packet) next_preceding: Time,
    /// Arrivals before this instant come before any network event, start or timer.
    pub(in crate::packet) arrivals_before: Time,
    /// The record of crossings for a replay.
    trace: Option<Trace>,
}

impl EventLoop for ReferenceLoop {
    fn new(_spec: &RunSpec, links: &mut [Link], flows: &[Flow], _sizes: &FlowSizes) -> ReferenceLoop {
        ReferenceLoop {
            arrivals: WinnerTree::new(links.len()),
            timers: Timers::new(flows.len(), TIMERS_PER_FLOW),
            next_preceding: Time::ZERO,
            arrivals_before: Time::ZERO,
            trace: None,
        }
    }

    fn advance(engine: &mut Engine<ReferenceLoop>, events: u64) -> bool {
        let work = |engine: &Engine<ReferenceLoop>| engine.events() + engine.work_of_controls();
        let enough = work(engine) + events;
        while work(engine) < enough {
            engine.clock.count_events(1);
            let (arrival, link) = engine.event_loop.arrivals.first();
            if arrival < engine.event_loop.arrivals_before {
                engine.clock.set(arrival);
                engine.on_link(link);
            } else if !engine.on_other_event() {
                return false;
            }
        }
        true
    }

    #[inline]
    fn offer(&mut self, now: Time, link: LinkId, packet: Packet, network: &mut Network, captures: &mut Captures) {
        captures.capture(link, now, packet, network.pool());
        let bytes = network.all_sizes()[packet.flow() as usize].of(&packet);
        let trace = &mut self.trace;
        let offer = network.offer_to_any(now, link, packet.words(), |other| {
            if let Some(trace) = trace {
                trace.drop_from_queue(now, link, other);
            }
        });
        if offer != Offer::Queued {
            self.arrivals.set(link, network.link(link).next_event());
        }
        if let Some(trace) = &mut self.trace {
            let refusal = if network.link(link).is_up() { Fate::Dropped } else { Fate::Lost };
            trace.enter(now, link, packet, bytes, (offer == Offer::Dropped).then_some(refusal));
            let state = network.link(link);
            let waits_for_service = state.next_service() != Time::NEVER;
            if offer != Offer::Dropped && !waits_for_service {
                trace.transmit(link, packet, state.busy_until());
            }
        }
    }

    #[inline]
    fn arm(&mut self, flow: u32, timer: u32, deadline: Time) {
        if self.timers.arm(flow, timer, deadline) {
            self.arrivals_before = self.arrivals_before.min(Time(deadline.0 + 1));
        }
    }

    #[inline]
    fn armed(&self, flow: u32, timer: u32) -> Time {
        self.timers.armed(flow, timer)
    }

    fn on_scheduled(&mut self, at: Time) {
        self.next_preceding = self.next_preceding.min(at);
        self.arrivals_before = self.arrivals_before.min(at);
    }

    fn on_failed(&mut self, now: Time, link: LinkId) {
        self.arrivals.set(link, Time::NEVER);
        if let Some(trace) = &mut self.trace {
            trace.fail(now, link);
        }
    }

    fn on_rerouted(&mut self, _forwarding: &Forwarding) {}
}

impl Engine<ReferenceLoop> {
    /// Records the crossings of a span of time, from now on; call it before the run begins.
    pub fn record_trace(&mut self, from: Time, until: Time) {
        self.event_loop.trace = Some(Trace::new(from, until, self.spec.links.len()));
    }

    /// Processes at least about this number of events; `false` once the recorded span or the run has ended.
    pub fn advance_trace(&mut self, events: u64) -> bool {
        let until = self.event_loop.trace.as_ref().map_or(Time::NEVER, Trace::until);
        self.advance(events) && self.now() < until
    }

    /// How many recorded crossings have ended.
    pub fn traced(&self) -> usize {
        self.event_loop.trace.as_ref().map_or(0, Trace::ended)
    }

    /// The crossings recorded so far.
    pub fn trace(&self) -> Table {
        let flow_of = |flow| self.hosts.connection_of(flow);
        self.event_loop.trace.as_ref().map_or_else(Table::default, |trace| trace.table(flow_of))
    }

    /// Processes the next network event, start or timer, because no link has an event before it. Returns `false` if it comes after the end.
    fn on_other_event(&mut self) -> bool {
        let next = self.event_loop.timers.first().min(self.event_loop.next_preceding);
        if next > self.clock.end() {
            self.clock.set(self.clock.end());
            return false;
        }
        self.clock.set(next);
        if self.clock.next_network_event() == next {
            self.on_network_event();
        } else if self.hosts.next_start() == next {
            let (_, flow) = self.hosts.take_next_start();
            self.start_flow(flow);
        } else if let Some((time, timer)) = self.event_loop.timers.take()
            && self.event_loop.timers.is_due(time, timer)
        {
            self.on_timer(timer / TIMERS_PER_FLOW, timer % TIMERS_PER_FLOW);
        }
        self.find_arrivals_before();
        true
    }

    /// Arrivals come after the network events and starts of their instant, and before its timers.
    fn find_arrivals_before(&mut self) {
        self.event_loop.next_preceding = self.hosts.next_start().min(self.clock.next_network_event());
        let last = self.event_loop.timers.first().min(self.clock.end());
        self.event_loop.arrivals_before = self.event_loop.next_preceding.min(Time(last.0 + 1));
    }

    /// Processes a link's event: it serves its queue, or its first packet arrives at its far end.
    fn on_link(&mut self, link: LinkId) {
        let state = self.network.link(link);
        let node = state.dst;
        let serves = state.next_service() <= self.clock.now();
        let arrived = if serves {
            let (now, trace) = (self.clock.now(), &mut self.event_loop.trace);
            let transmitted = self.network.serve(link, |packet| {
                if let Some(trace) = trace {
                    trace.drop_from_queue(now, link, packet);
                }
            });
            if let Some(trace) = &mut self.event_loop.trace
                && let Some(packet) = transmitted
            {
                trace.transmit(link, packet, self.network.link(link).busy_until());
            }
            None
        } else {
            if let Some(trace) = &mut self.event_loop.trace
                && let Some(packet) = self.network.next_to_arrive(link)
            {
                trace.leave(self.clock.now(), link, packet, self.network.sizes(packet.flow()).of(&packet));
            }
            self.network.arrive(link)
        };
        self.event_loop.arrivals.set(link, self.network.link(link).next_event());
        if let Some(packet) = arrived {
            self.forward(packet, node);
        }
    }
}
