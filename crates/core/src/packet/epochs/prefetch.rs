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

/// The state of fewer flows stays in the outer cache, from where it comes in time anyhow.
const MANY_FLOWS: usize = if cfg!(test) { 2 } else { 1 << 14 };

/// The state of fewer links stays in the nearer caches.
const MANY_LINKS: usize = if cfg!(test) { 2 } else { 2048 };

/// So many items ahead, the flow is asked for, then its connection, and what that keeps elsewhere.
const FLOW: usize = 12;
const CONNECTION: usize = 8;
const REST: usize = 4;

impl Engine<EpochLoop> {
    /// Of what has come to a node, from here on, what the later packets need.
    #[inline(always)]
    pub(in crate::packet) fn look_ahead_in_inbox(&self, rest: &[Item]) {
        if self.hosts.flows().len() < MANY_FLOWS {
            return;
        }
        if let Some(item) = rest.get(FLOW) {
            self.ask_for_flow(&item.packet);
        }
        if let Some(item) = rest.get(CONNECTION) {
            self.ask_for_connection(&item.packet);
        }
        if let Some(item) = rest.get(REST) {
            self.ask_for_rest(&item.packet);
        }
    }

    /// Of the links that hand over in this epoch, from here on, what the later ones need.
    #[inline(always)]
    pub(in crate::packet) fn look_ahead_in_due(&self, index: usize) {
        if self.network.links().len() < MANY_LINKS {
            return;
        }
        if let Some(link) = self.order.due.get(index + 16) {
            self.network.link(*link).ask_for_state();
        }
        let first_packet = |ahead: usize| {
            let link = self.order.due.get(index + ahead)?;
            self.network.link(*link).first_packet(self.network.fifos())
        };
        if let Some(packet) = first_packet(12) {
            prefetch(packet);
        }
        if let Some(packet) = first_packet(8) {
            self.network.forwarding().ask_for_next(packet.at()); // hop by hop it is no place on a route
        }
        if let Some(packet) = first_packet(5) {
            match self.next_on_route(packet) {
                Some(END) => self.ask_for_flow(packet),
                Some(next) => prefetch(&self.order.inboxes[next as usize]),
                None => {}
            }
        }
        if let Some(packet) = first_packet(2) {
            match self.next_on_route(packet) {
                Some(END) => self.ask_for_connection(packet),
                Some(next) => self.order.inboxes[next as usize].ask_for_room(),
                None => {}
            }
        }
    }

    #[inline(always)]
    fn next_on_route(&self, packet: &Packet) -> Option<LinkId> {
        (!Forwarding::is_hop_by_hop(packet.at())).then(|| self.network.forwarding().next_on_route(packet.at()))
    }

    /// Of the links that go through their offers, what those after the next need.
    #[inline(always)]
    pub(in crate::packet) fn look_ahead_in_busy(&self) {
        if self.network.links().len() < MANY_LINKS {
            return;
        }
        let busy: &[LinkId] = &self.order.busy_links;
        if let [.., link, _, _] = busy {
            self.network.link(*link).ask_for_state();
            prefetch(&self.order.inboxes[*link as usize]);
        }
        if let [.., link, _] = busy {
            self.order.inboxes[*link as usize].ask_for_items();
        }
        if let [.., link] = busy
            && let Some(item) = self.order.inboxes[*link as usize].first()
        {
            prefetch(self.network.sizes(item.packet.flow()));
        }
    }

    #[inline(always)]
    fn ask_for_flow(&self, packet: &Packet) {
        prefetch(&self.hosts.flows()[packet.flow() as usize]);
        if packet.has(ACK) {
            self.order.timers.ask_for(packet.flow(), SENDER);
        }
        if packet.has(HAS_SACK) {
            self.network.pool().ask_for(packet.number());
        }
    }

    #[inline(always)]
    fn ask_for_connection(&self, packet: &Packet) {
        if let FlowState::Tcp(connection) = &self.hosts.flows()[packet.flow() as usize].activity {
            if packet.has(ACK) {
                prefetch(&connection.sender);
            } else {
                prefetch(&connection.receiver);
                prefetch(&connection.acks_sent);
            }
        }
    }

    /// What the connection keeps elsewhere.
    #[inline(always)]
    fn ask_for_rest(&self, packet: &Packet) {
        if let FlowState::Tcp(connection) = &self.hosts.flows()[packet.flow() as usize].activity {
            if packet.has(ACK) {
                connection.sender.prefetch_parts();
            } else {
                connection.receiver.prefetch_parts();
            }
        }
    }
}
