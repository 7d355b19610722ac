//! Phase 1 of an epoch: every link in which a packet arrives hands its packets over.

use crate::packet::engine::{Engine, EventLoop};
use crate::packet::epochs::event_loop::{Delivery, EpochLoop};
use crate::packet::epochs::fan_in::{Egress, Feed};
use crate::packet::epochs::inbox::Rank;
use crate::packet::forwarding::{END, Forwarding};
use crate::packet::link::fifo::Fifo;
use crate::packet::link::packet::{LOST, Packet};
use crate::spec::{LinkId, NodeId};

impl Engine<EpochLoop> {
    /// Phase 1: packets that arrive go on, or come to the node.
    #[inline(never)]
    pub(in crate::packet) fn hand_over(&mut self) {
        self.events += self.order.due.len() as u64;
        for index in 0..self.order.due.len() {
            self.look_ahead_in_due(index);
            let link = self.order.due[index];
            let node = self.links[link as usize].dst;
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
        self.order.forget_inputs(&self.links);
    }

    /// The link that takes all of a simple link's packets out of its FIFO, in phase 3.
    #[inline(always)]
    fn merges_into(&self, link: LinkId) -> Option<LinkId> {
        match self.order.feeds.exit(link) {
            Egress::Link(next)
                if self.order.feeds.feed(next) == Feed::Merged
                    && self.links[next as usize].is_simple()
                    && self.links[link as usize].is_simple() =>
            {
                Some(next)
            }
            _ => None,
        }
    }

    fn hand_over_one(&mut self, link: LinkId, node: NodeId, taking: Delivery) {
        if self.links[link as usize].is_simple() {
            self.hand_over_of_simple(link, node, taking);
        } else {
            self.hand_over_of_any(link, node, taking);
        }
        self.order.wheel.insert(link, self.links[link as usize].next_event());
    }

    #[inline(always)]
    fn hand_over_of_simple(&mut self, link: LinkId, node: NodeId, taking: Delivery) {
        let until = self.order.until;
        let mut fifo = self.links[link as usize].fifo();
        while let Some(packet) = self.fifos.pop_before(&mut fifo, until) {
            if packet.has(LOST) {
                self.lose(link, packet);
            } else if let Some(packet) = self.hand_on(link, packet, node, taking) {
                self.take_burst(link, &mut fifo, packet);
            }
        }
        self.give_back(link, fifo);
    }

    /// A packet has crossed a simple link and arrives nowhere.
    #[cold]
    pub(in crate::packet) fn lose(&mut self, link: LinkId, packet: Packet) {
        self.links[link as usize].count_loss();
        self.discard(packet);
    }

    /// A simple link gets its FIFO back, out of which packets have been taken.
    pub(in crate::packet) fn give_back(&mut self, link: LinkId, mut fifo: Fifo) {
        self.fifos.release(&mut fifo);
        self.packet_hops += u64::from(self.links[link as usize].give_back(fifo));
    }

    #[inline(never)]
    fn hand_over_of_any(&mut self, link: LinkId, node: NodeId, taking: Delivery) {
        while self.links[link as usize].next_arrival() < self.order.until {
            let packet = self.links[link as usize].on_arrival(&self.sizes, &mut self.fifos);
            self.packet_hops += 1;
            if packet.has(LOST) {
                self.discard(packet);
            } else if let Some(packet) = self.hand_on(link, packet, node, taking) {
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
        let next = self.forwarding.next_if_compiled(at);
        if next != END {
            self.now = packet.arrival();
            packet.set_at(at + 1);
            EpochLoop::offer(self, next, packet);
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
