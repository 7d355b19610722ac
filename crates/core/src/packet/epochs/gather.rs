//! The begin of an epoch: finds the links over which packets arrive in it, and the starts and timers that are due.

use crate::packet::engine::{Engine, RECEIVER, TIMERS_PER_FLOW};
use crate::packet::epochs::event_loop::EpochLoop;
use crate::packet::epochs::inbox::Rank;
use crate::packet::epochs::nodes::Delivery;
use crate::packet::forwarding::RouteRef;
use crate::packet::link::Link;
use crate::spec::{LinkId, NodeId};
use crate::units::Time;
use std::cmp::Reverse;

impl Engine<EpochLoop> {
    /// Finds the links over which packets arrive in the epoch, and its starts and timers.
    pub(super) fn gather(&mut self, epoch: u64) {
        let until = self.event_loop.until;
        self.event_loop.wheel.take(epoch, &mut self.event_loop.due);
        let mut due = std::mem::take(&mut self.event_loop.due);
        due.retain(|&link| {
            let state = self.network.link(link);
            if !state.is_simple() && state.next_service() < until {
                self.event_loop.busy_links.push(link);
            }
            let is_here = self.event_loop.is_here(state.dst);
            if is_here {
                self.event_loop.nodes.add_input(state.dst, link);
            } else {
                self.event_loop.wheel.insert(link, state.next_event());
            }
            is_here
        });
        self.event_loop.due = due;
        while self.event_loop.timers.first() < until {
            let Some((at, timer)) = self.event_loop.timers.take() else { break };
            self.assign_timer(at, timer);
        }
        while self.hosts.next_start() < until {
            let (position, flow) = self.hosts.take_next_start();
            let identity = *self.hosts.identity(flow);
            if self.event_loop.is_here(identity.src) {
                self.event_loop.put_local(identity.src, identity.start, Rank::start(position));
            } else if self.event_loop.is_here(identity.dst) {
                self.clock.set(identity.start);
                let (hosts, mut context) = self.hosts_in_context();
                hosts.open(flow, &mut context);
            }
        }
    }

    /// Assigns a timer that is due in this epoch: it is fired between the packets of a link, or in phase 2.
    fn assign_timer(&mut self, at: Time, timer: u32) {
        let identity = self.hosts.identity(timer / TIMERS_PER_FLOW);
        let (node, way) = match timer % TIMERS_PER_FLOW {
            RECEIVER => (identity.dst, identity.forward),
            _ => (identity.src, identity.reverse),
        };
        match self.link_that_fires(node, way) {
            Some(link) => {
                self.event_loop.timers_of_link[link as usize].push((at, timer));
                self.event_loop.links_have_timers = true;
            }
            None => self.event_loop.put_local(node, at, Rank::timer(timer)),
        }
    }

    /// The link between whose packets the timer of an end is fired. The end's packets arrive by the route `way`. Where a node processes packets link
    /// by link, the timer must be in order only with packets for its own end. These all arrive over one link.
    fn link_that_fires(&self, node: NodeId, way: RouteRef) -> Option<LinkId> {
        let state = self.event_loop.nodes.at(node);
        match (state.inputs, way) {
            (0, _) => None,
            (1, _) => Some(state.input),
            (_, RouteRef::Route(start)) if state.delivers_per_link => {
                let link = self.network.forwarding().last_link(start);
                let brings_packets = |own: &Link| own.dst == node && own.next_arrival() < self.event_loop.until;
                Some(if self.network.links().get(link as usize).is_some_and(brings_packets) {
                    link
                } else {
                    state.input
                })
            }
            _ => None,
        }
    }

    /// The timers of a link become due among its packets, or go to the node's inbox with these.
    pub(super) fn take_timers_of_link(&mut self, link: LinkId, node: NodeId, delivery: Delivery) {
        let mut timers = std::mem::take(&mut self.event_loop.timers_of_link[link as usize]);
        for (at, timer) in timers.drain(..) {
            if delivery == Delivery::Sorted {
                self.event_loop.put_local(node, at, Rank::timer(timer));
            } else {
                self.event_loop.due_timers.push(Reverse((at, timer)));
            }
        }
        self.event_loop.timers_of_link[link as usize] = timers;
    }
}
