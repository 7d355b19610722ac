//! Phase 1 of an epoch: every link in which a packet arrives hands its packets over.

use crate::packet::engine::{Engine, EventLoop};
use crate::packet::epochs::event_loop::{Delivery, EpochLoop};
use crate::packet::epochs::fan_in::{Egress, Feed};
use crate::packet::epochs::inbox::Rank;
use crate::packet::forwarding::{END, Forwarding};
use crate::packet::link::packet::{LOST, Packet};
use crate::spec::{LinkId, NodeId};

impl Engine<EpochLoop> {
    /// Phase 1: packets that arrive go on, or come to the node.
    #[inline(never)]
    pub(in crate::packet) fn hand_over(&mut self) {
        self.clock.count_events(self.order.due.len() as u64);
        for index in 0..self.order.due.len() {
            self.look_ahead_in_due(index);
            let link = self.order.due[index];
            let node = self.network.link(link).dst;
            let taking = self.order.taking(node);
            self.order.in_order = taking == Delivery::Immediate;
            self.order.rank = Rank::arrival(link);
            if self.order.links_have_timers {
                self.take_timers_of_link(link, node, taking);
            }
            match self.merges_into(link) {
                Some(next) => self.order.inbox_of_link(next).inputs.push(link),
                None => self.hand_over_one(link, node, taking),
            }
            if taking != Delivery::Sorted {
                self.fire_timers(self.order.until, Rank::FIRST);
            }
        }
        self.order.in_order = true;
        self.order.links_have_timers = false;
        self.order.forget_inputs(self.network.links());
    }

    /// The link that takes all of a simple link's packets out of its FIFO, in phase 3.
    #[inline(always)]
    fn merges_into(&self, link: LinkId) -> Option<LinkId> {
        match self.order.feeds.exit(link) {
            Egress::Link(next)
                if self.order.feeds.feed(next) == Feed::Merged
                    && self.network.link(next).is_simple()
                    && self.network.link(link).is_simple() =>
            {
                Some(next)
            }
            _ => None,
        }
    }

    fn hand_over_one(&mut self, link: LinkId, node: NodeId, taking: Delivery) {
        if self.network.link(link).is_simple() {
            self.hand_over_of_simple(link, node, taking);
        } else {
            self.hand_over_of_any(link, node, taking);
        }
        self.order.wheel.insert(link, self.network.link(link).next_event());
    }

    #[inline(always)]
    fn hand_over_of_simple(&mut self, link: LinkId, node: NodeId, taking: Delivery) {
        let until = self.order.until;
        let mut fifo = self.network.link(link).fifo();
        while let Some(packet) = self.network.next_arrival(&mut fifo, until) {
            if packet.has(LOST) {
                self.network.lose(link, packet);
            } else if let Some(packet) = self.hand_on(link, packet, node, taking) {
                self.take_burst(link, &mut fifo, packet);
            }
        }
        self.network.end_arrivals(link, fifo);
    }

    #[inline(never)]
    fn hand_over_of_any(&mut self, link: LinkId, node: NodeId, taking: Delivery) {
        while self.network.link(link).next_arrival() < self.order.until {
            if let Some(packet) = self.network.arrive(link)
                && let Some(packet) = self.hand_on(link, packet, node, taking)
            {
                self.pass_time(link, packet.arrival());
                self.deliver(packet);
            }
        }
    }

    /// A packet goes on over its next link, or waits for phase 2. Returns it if its host takes it at once.
    #[inline(always)]
    pub(in crate::packet) fn hand_on(
        &mut self,
        link: LinkId,
        mut packet: Packet,
        node: NodeId,
        taking: Delivery,
    ) -> Option<Packet> {
        let at = packet.at();
        let next = self.network.forwarding().next_if_compiled(at);
        if next != END {
            let Engine { clock, network, observers, order, .. } = self;
            clock.set(packet.arrival());
            packet.set_at(at + 1);
            order.offer(packet.arrival(), next, packet, network, &mut observers.captures);
        } else if taking == Delivery::Sorted {
            self.order.put_for_node(node, Rank::arrival(link), packet);
        } else if Forwarding::is_hop_by_hop(at) {
            self.come_hop_by_hop(link, packet.words(), node);
        } else {
            return Some(packet);
        }
        None
    }

    /// A packet has come to a node that takes it at once, and looks for its way on.
    #[inline(never)]
    fn come_hop_by_hop(&mut self, link: LinkId, words: [u64; 3], node: NodeId) {
        let packet = Packet::from_words(words);
        self.pass_time(link, packet.arrival());
        self.forward(packet, node);
    }
}
