//! The plain event loop: one event per packet and link, in the order of (time, kind, index).
//!
//! It is the oracle: [`crate::packet::epochs::event_loop`], which is faster, must equal it, bit for bit.

use super::winner_tree::WinnerTree;
use crate::packet::engine::{Engine, EventLoop, TIMERS_PER_FLOW};
use crate::packet::epochs::timers::Timers;
use crate::packet::forwarding::Forwarding;
use crate::packet::hosts::flow::Flow;
use crate::packet::link::packet::{LOST, Packet};
use crate::packet::link::packet_sizes::FlowSizes;
use crate::packet::link::{Link, Offer};
use crate::spec::{LinkId, RunSpec};
use crate::units::Time;

/// What comes next, of the whole network.
pub struct ReferenceLoop {
    arrivals: WinnerTree,
    timers: Timers,
    /// The earliest of the next control and the next start.
    next_barrier: Time,
    /// Arrivals before this instant come before any barrier or timer.
    arrivals_before: Time,
}

impl EventLoop for ReferenceLoop {
    fn new(_spec: &RunSpec, links: &mut [Link], flows: &[Flow], _sizes: &FlowSizes) -> ReferenceLoop {
        ReferenceLoop {
            arrivals: WinnerTree::new(links.len()),
            timers: Timers::new(flows.len(), TIMERS_PER_FLOW),
            next_barrier: Time::ZERO,
            arrivals_before: Time::ZERO,
        }
    }

    fn advance(engine: &mut Engine<ReferenceLoop>, events: u64) -> bool {
        for _ in 0..events {
            engine.events += 1;
            let (arrival, link) = engine.order.arrivals.first();
            if arrival < engine.order.arrivals_before {
                engine.now = arrival;
                engine.on_link(link);
            } else if !engine.on_barrier_or_timer() {
                return false;
            }
        }
        true
    }

    #[inline]
    fn offer(engine: &mut Engine<ReferenceLoop>, link: LinkId, packet: Packet) {
        engine.capture(link, engine.now, packet);
        match engine.links[link as usize].offer_to_any(engine.now, packet, &engine.sizes, &mut engine.fifos) {
            Offer::Taken => {}
            Offer::Due(at) => engine.order.arrivals.set(link, at),
            Offer::Dropped => engine.discard(packet),
        }
    }

    #[inline]
    fn arm(engine: &mut Engine<ReferenceLoop>, flow: u32, timer: u32, deadline: Time) {
        let order = &mut engine.order;
        if order.timers.arm(flow, timer, deadline) {
            order.arrivals_before = order.arrivals_before.min(Time(deadline.0 + 1));
        }
    }

    #[inline]
    fn armed(&self, flow: u32, timer: u32) -> Time {
        self.timers.armed(flow, timer)
    }

    fn on_scheduled(&mut self, at: Time) {
        self.next_barrier = self.next_barrier.min(at);
        self.arrivals_before = self.arrivals_before.min(at);
    }

    fn on_failed(&mut self, link: LinkId) {
        self.arrivals.set(link, Time::NEVER);
    }

    fn on_rerouted(&mut self, _forwarding: &Forwarding) {}
}

impl Engine<ReferenceLoop> {
    /// No link has an event before the next barrier or timer; `false` if these are not before the end either.
    fn on_barrier_or_timer(&mut self) -> bool {
        let next = self.order.timers.first().min(self.order.next_barrier);
        if next > self.end {
            self.now = self.end;
            return false;
        }
        self.now = next;
        if self.next_control() == next {
            self.on_control();
        } else if self.next_start() == next {
            self.start_next_flow();
        } else if let Some((time, timer)) = self.order.timers.take()
            && self.order.timers.is_due(time, timer)
        {
            self.on_timer(timer / TIMERS_PER_FLOW, timer % TIMERS_PER_FLOW);
        }
        self.find_arrivals_before();
        true
    }

    /// Arrivals go after the barriers of their instant and before its timers.
    fn find_arrivals_before(&mut self) {
        self.order.next_barrier = self.next_start().min(self.next_control());
        let last = self.order.timers.first().min(self.end);
        self.order.arrivals_before = self.order.next_barrier.min(Time(last.0 + 1));
    }

    fn on_link(&mut self, link: LinkId) {
        let state = &mut self.links[link as usize];
        if state.next_service() <= self.now {
            state.serve(self.now, &self.sizes, &mut self.fifos, &mut self.dropped);
            self.order.arrivals.set(link, state.next_event());
            return self.discard_dropped();
        }
        let packet = state.on_arrival(&self.sizes, &mut self.fifos);
        let node = state.dst;
        self.order.arrivals.set(link, state.next_event());
        self.packet_hops += 1;
        if packet.has(LOST) { self.discard(packet) } else { self.forward(packet, node) }
    }
}
