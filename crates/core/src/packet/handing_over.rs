//! Phase 1 of a window: every link in which a packet arrives hands its packets over.

use super::feeds::{Exit, Feed};
use super::forwarding::{END, Forwarding};
use super::inbox::Rank;
use super::line::Line;
use super::packet::{LOST, Packet};
use super::simulation::{Engine, EventLoop};
use super::windows::{Taking, Windows};
use crate::spec::{LinkId, NodeId};

impl Engine<Windows> {
    /// Phase 1: packets that arrive go on, or come to the node.
    #[inline(never)]
    pub(super) fn hand_over(&mut self) {
        self.events += self.order.due.len() as u64;
        for index in 0..self.order.due.len() {
            self.look_ahead_in_due(index);
            let link = self.order.due[index];
            let node = self.links[link as usize].dst;
            let taking = self.order.taking(node);
            self.order.in_order = taking == Taking::Alone;
            self.order.rank = Rank::arrival(link);
            if self.order.links_have_timers {
                self.take_timers_of_link(link, node, taking);
            }
            match self.merges_into(link) {
                Some(next) => self.order.inbox_of_link(next).feeders.push(link),
                None => self.hand_over_one(link, node, taking),
            }
            if taking != Taking::Later {
                self.fire_timers(self.order.until, Rank::FIRST);
            }
        }
        self.order.in_order = true;
        self.order.links_have_timers = false;
        self.order.forget_inputs(&self.links);
    }

    /// The link that takes all of a plain link's packets out of its line, in phase 3.
    #[inline(always)]
    fn merges_into(&self, link: LinkId) -> Option<LinkId> {
        match self.order.feeds.exit(link) {
            Exit::Link(next)
                if self.order.feeds.feed(next) == Feed::Merged
                    && self.links[next as usize].is_plain()
                    && self.links[link as usize].is_plain() =>
            {
                Some(next)
            }
            _ => None,
        }
    }

    fn hand_over_one(&mut self, link: LinkId, node: NodeId, taking: Taking) {
        if self.links[link as usize].is_plain() {
            self.hand_over_of_plain(link, node, taking);
        } else {
            self.hand_over_of_any(link, node, taking);
        }
        self.order.wheel.insert(link, self.links[link as usize].next_event());
    }

    #[inline(always)]
    fn hand_over_of_plain(&mut self, link: LinkId, node: NodeId, taking: Taking) {
        let until = self.order.until;
        let mut line = self.links[link as usize].line();
        while let Some(packet) = self.lines.pop_before(&mut line, until) {
            if packet.has(LOST) {
                self.lose(link, packet);
            } else if let Some(packet) = self.hand_on(link, packet, node, taking) {
                self.take_run(link, &mut line, packet);
            }
        }
        self.give_back(link, line);
    }

    /// A packet has crossed a plain link and arrives nowhere.
    #[cold]
    pub(super) fn lose(&mut self, link: LinkId, packet: Packet) {
        self.links[link as usize].count_loss();
        self.discard(packet);
    }

    /// A plain link gets its line back, out of which packets have been taken.
    pub(super) fn give_back(&mut self, link: LinkId, mut line: Line) {
        self.lines.release(&mut line);
        self.packet_hops += u64::from(self.links[link as usize].give_back(line));
    }

    #[inline(never)]
    fn hand_over_of_any(&mut self, link: LinkId, node: NodeId, taking: Taking) {
        while self.links[link as usize].next_arrival() < self.order.until {
            let packet = self.links[link as usize].on_arrival(&self.sizes, &mut self.lines);
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
    pub(super) fn hand_on(&mut self, link: LinkId, mut packet: Packet, node: NodeId, taking: Taking) -> Option<Packet> {
        let at = packet.at();
        let next = self.forwarding.next_if_compiled(at);
        if next != END {
            self.now = packet.arrival();
            packet.set_at(at + 1);
            Windows::offer(self, next, packet);
        } else if taking == Taking::Later {
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
