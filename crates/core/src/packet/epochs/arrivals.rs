//! Phase 1 of an epoch: every link with arrivals delivers its packets.

use crate::packet::engine::{Engine, EventLoop};
use crate::packet::epochs::event_loop::EpochLoop;
use crate::packet::epochs::fan_in::{Egress, Feed};
use crate::packet::epochs::inbox::Rank;
use crate::packet::epochs::nodes::Delivery;
use crate::packet::forwarding::{END, Forwarding};
use crate::packet::link::packet::{LOST, Packet};
use crate::spec::{LinkId, NodeId};

impl Engine<EpochLoop> {
    /// Phase 1: packets that arrive are offered to their next links, or delivered to the node.
    #[inline(never)]
    pub(super) fn process_arrivals(&mut self) {
        self.clock.count_events(self.event_loop.due.len() as u64);
        for index in 0..self.event_loop.due.len() {
            self.prefetch_for_due(index);
            let link = self.event_loop.due[index];
            let node = self.network.link(link).dst;
            let delivery = self.event_loop.nodes.delivery(node);
            self.event_loop.in_order = delivery == Delivery::Immediate;
            self.event_loop.rank = Rank::arrival(link);
            if self.event_loop.links_have_timers {
                self.take_timers_of_link(link, node, delivery);
            }
            match self.merges_into(link) {
                Some(next) => self.event_loop.inbox_of_link(next).inputs.push(link),
                None => self.arrivals_of_link(link, node, delivery),
            }
            if delivery != Delivery::Sorted {
                self.fire_timers(self.event_loop.until, Rank::FIRST);
            }
        }
        self.event_loop.in_order = true;
        self.event_loop.links_have_timers = false;
        let EpochLoop { due, nodes, .. } = &mut self.event_loop;
        due.iter().for_each(|link| nodes.forget_inputs(self.network.link(*link).dst));
    }

    /// The simple link that all packets of this simple link enter next. It removes them from this link's FIFO in phase 3.
    #[inline(always)]
    fn merges_into(&self, link: LinkId) -> Option<LinkId> {
        match self.event_loop.fan_in.egress(link) {
            Egress::Link(next)
                if self.event_loop.fan_in.feed(next) == Feed::Merged
                    && self.network.link(next).is_simple()
                    && self.network.link(link).is_simple() =>
            {
                Some(next)
            }
            _ => None,
        }
    }

    fn arrivals_of_link(&mut self, link: LinkId, node: NodeId, delivery: Delivery) {
        if self.network.link(link).is_simple() {
            self.arrivals_of_simple_link(link, node, delivery);
        } else {
            self.arrivals_of_any_link(link, node, delivery);
        }
        self.event_loop.wheel.insert(link, self.network.link(link).next_event());
    }

    #[inline(always)]
    fn arrivals_of_simple_link(&mut self, link: LinkId, node: NodeId, delivery: Delivery) {
        let until = self.event_loop.until;
        let mut fifo = self.network.link(link).fifo();
        while let Some(packet) = self.network.pop_arrival(&mut fifo, until) {
            if packet.has(LOST) {
                self.network.lose(link, packet);
            } else if let Some(packet) = self.forward_or_return(link, packet, node, delivery) {
                self.take_burst(link, &mut fifo, packet);
            }
        }
        self.network.end_arrivals(link, fifo);
    }

    #[inline(never)]
    fn arrivals_of_any_link(&mut self, link: LinkId, node: NodeId, delivery: Delivery) {
        while self.network.link(link).next_arrival() < self.event_loop.until {
            let Some(packet) = self.network.arrive(link) else { continue };
            if self.event_loop.fan_in.is_in_turn() {
                self.forward_in_turn(link, packet, node, delivery);
            } else if let Some(packet) = self.forward_or_return(link, packet, node, delivery) {
                self.advance_to_arrival(link, packet.arrival());
                self.deliver(packet);
            }
        }
    }

    /// Offers a packet to its next link, or keeps it for phase 2. Returns a packet that has reached its host and is processed now.
    #[inline(always)]
    pub(super) fn forward_or_return(
        &mut self,
        link: LinkId,
        mut packet: Packet,
        node: NodeId,
        delivery: Delivery,
    ) -> Option<Packet> {
        let hop_index = packet.hop_index();
        let next = self.network.forwarding().next_if_compiled(hop_index);
        if next != END {
            let Engine { clock, network, observers, event_loop, .. } = self;
            clock.set(packet.arrival());
            packet.set_hop_index(hop_index + 1);
            event_loop.offer(packet.arrival(), next, packet, network, &mut observers.captures);
        } else if delivery == Delivery::Sorted {
            self.event_loop.put_for_node(node, Rank::arrival(link), packet);
        } else if Forwarding::is_hop_by_hop(hop_index) {
            self.forward_hop_by_hop(link, packet.words(), node);
        } else {
            return Some(packet);
        }
        None
    }

    /// Forwards a packet in the order of its node's events, whether its route is compiled or not.
    fn forward_in_turn(&mut self, link: LinkId, packet: Packet, node: NodeId, delivery: Delivery) {
        if delivery == Delivery::Sorted {
            self.event_loop.put_for_node(node, Rank::arrival(link), packet);
        } else {
            self.forward_hop_by_hop(link, packet.words(), node);
        }
    }

    /// Selects the next link of a packet at a router that processes packets now.
    #[inline(never)]
    fn forward_hop_by_hop(&mut self, link: LinkId, words: [u64; 3], node: NodeId) {
        let packet = Packet::from_words(words);
        self.advance_to_arrival(link, packet.arrival());
        self.forward(packet, node);
    }
}
