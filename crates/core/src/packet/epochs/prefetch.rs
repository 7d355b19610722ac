//! Prefetches the state that later packets need: with many flows, cache misses cost more than the work itself.
//!
//! Nothing here changes a result. A FIFO leads to a packet, the packet to its flow, and the flow to its connection. So each of these is prefetched
//! some packets after the one that leads to it.

use crate::packet::engine::{Engine, SENDER};
use crate::packet::epochs::event_loop::EpochLoop;
use crate::packet::epochs::inbox::Item;
use crate::packet::forwarding::{END, Forwarding};
use crate::packet::hosts::flow::FlowState;
use crate::packet::link::packet::{ACK, HAS_SACK, Packet};
use crate::prefetch::prefetch;
use crate::spec::LinkId;

/// With fewer flows, their state stays in the outer cache, and prefetching gains nothing.
const MANY_FLOWS: usize = if cfg!(test) { 2 } else { 1 << 14 };

/// With fewer links, their state stays in the inner caches.
const MANY_LINKS: usize = if cfg!(test) { 2 } else { 2048 };

/// Distances, in items, at which the flow is prefetched, then its connection, then the memory to which the connection refers.
const FLOW: usize = 12;
const CONNECTION: usize = 8;
const REST: usize = 4;

impl Engine<EpochLoop> {
    /// Prefetches the state that later events of a node need.
    #[inline(always)]
    pub(super) fn prefetch_for_inbox(&self, rest: &[Item]) {
        if self.hosts.flows().len() < MANY_FLOWS {
            return;
        }
        if let Some(item) = rest.get(FLOW) {
            self.prefetch_flow(&item.packet);
        }
        if let Some(item) = rest.get(CONNECTION) {
            self.prefetch_connection(&item.packet);
        }
        if let Some(item) = rest.get(REST) {
            self.prefetch_rest(&item.packet);
        }
    }

    /// Prefetches the state of later links with arrivals.
    #[inline(always)]
    pub(super) fn prefetch_for_due(&self, index: usize) {
        if self.network.links().len() < MANY_LINKS {
            return;
        }
        if let Some(link) = self.event_loop.due.get(index + 16) {
            self.network.link(*link).prefetch_state();
        }
        let first_packet = |ahead: usize| {
            let link = self.event_loop.due.get(index + ahead)?;
            self.network.link(*link).first_packet(self.network.fifos())
        };
        if let Some(packet) = first_packet(12) {
            prefetch(packet);
        }
        if let Some(packet) = first_packet(8) {
            self.network.forwarding().prefetch_next_link(packet.hop_index()); // hop by hop it is no position on a route
        }
        if let Some(packet) = first_packet(5) {
            match self.next_on_route(packet) {
                Some(END) => self.prefetch_flow(packet),
                Some(next) => prefetch(&self.event_loop.inboxes[next as usize]),
                None => {}
            }
        }
        if let Some(packet) = first_packet(2) {
            match self.next_on_route(packet) {
                Some(END) => self.prefetch_connection(packet),
                Some(next) => self.event_loop.inboxes[next as usize].prefetch_end(),
                None => {}
            }
        }
    }

    #[inline(always)]
    fn next_on_route(&self, packet: &Packet) -> Option<LinkId> {
        (!Forwarding::is_hop_by_hop(packet.hop_index()))
            .then(|| self.network.forwarding().next_on_route(packet.hop_index()))
    }

    /// Prefetches the state of later links with offers.
    #[inline(always)]
    pub(super) fn prefetch_for_busy(&self) {
        if self.network.links().len() < MANY_LINKS {
            return;
        }
        let busy: &[LinkId] = &self.event_loop.busy_links;
        if let [.., link, _, _] = busy {
            self.network.link(*link).prefetch_state();
            prefetch(&self.event_loop.inboxes[*link as usize]);
        }
        if let [.., link, _] = busy {
            self.event_loop.inboxes[*link as usize].prefetch_items();
        }
        if let [.., link] = busy
            && let Some(item) = self.event_loop.inboxes[*link as usize].first()
        {
            prefetch(self.network.sizes(item.packet.flow()));
        }
    }

    #[inline(always)]
    fn prefetch_flow(&self, packet: &Packet) {
        prefetch(&self.hosts.flows()[packet.flow() as usize]);
        if packet.has(ACK) {
            self.event_loop.timers.prefetch(packet.flow(), SENDER);
        }
        if packet.has(HAS_SACK) {
            self.network.pool().prefetch(packet.number());
        }
    }

    #[inline(always)]
    fn prefetch_connection(&self, packet: &Packet) {
        if let FlowState::Tcp(connection) = &self.hosts.flows()[packet.flow() as usize].state {
            if packet.has(ACK) {
                prefetch(&connection.sender);
            } else {
                prefetch(&connection.receiver);
                prefetch(&connection.acks_sent);
            }
        }
    }

    /// The memory that the connection refers to.
    #[inline(always)]
    fn prefetch_rest(&self, packet: &Packet) {
        if let FlowState::Tcp(connection) = &self.hosts.flows()[packet.flow() as usize].state {
            if packet.has(ACK) {
                connection.sender.prefetch_parts();
            } else {
                connection.receiver.prefetch_parts();
            }
        }
    }
}
