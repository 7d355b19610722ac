//! Phase 3 of an epoch: links process the packets that several inputs have offered to them. They enter the queue in order.

use crate::packet::engine::Engine;
use crate::packet::engine::network::LinkAccess;
use crate::packet::epochs::event_loop::EpochLoop;
use crate::packet::epochs::inbox::{Item, Key, Rank, emptied};
use crate::packet::epochs::loser_tree::LoserTree;
use crate::packet::link::packet::{LOST, Packet};
use crate::packet::link::sack_pool::SackPool;
use crate::spec::LinkId;
use crate::units::Time;

/// The queue of a simple link, which packets of an epoch enter in order.
struct Entrance<'engine, W> {
    network: LinkAccess<'engine>,
    tree: &'engine mut LoserTree,
    begin: Time,
    until: Time,
    /// Records each packet before the queue takes it.
    record: W,
    /// For each packet that the wire of an input has lost, the input.
    lost: Vec<LinkId>,
}

impl<W: FnMut(Packet, &SackPool)> Entrance<'_, W> {
    /// Removes the packets before this event from the inputs' FIFOs, in order. `WITH_CARE` is set if the link is instrumented or an input may lose
    /// packets.
    #[inline(always)]
    fn take_from_inputs<const WITH_CARE: bool>(&mut self, before: Key) {
        while self.tree.first() < before {
            let input = self.tree.first().rank().link();
            let leaf = self.tree.leaf(input);
            let fifo = self.tree.fifo_mut(leaf);
            let mut packet = self.network.fifos.pop(fifo);
            let key = key_of_next(self.begin, self.until, input, fifo.first_arrival());
            self.tree.set(leaf, key);
            if WITH_CARE && packet.has(LOST) {
                self.lost.push(input);
                self.network.discard(packet);
            } else {
                packet.set_hop_index(packet.hop_index() + 1);
                self.take::<WITH_CARE>(packet);
            }
        }
    }

    #[inline(always)]
    fn take<const WITH_CARE: bool>(&mut self, packet: Packet) {
        if WITH_CARE {
            (self.record)(packet, self.network.pool);
        }
        self.network.offer::<WITH_CARE>(packet.arrival(), packet);
    }

    #[inline(always)]
    fn take_all<const WITH_CARE: bool>(&mut self, items: &[Item]) {
        for item in items {
            self.take_from_inputs::<WITH_CARE>(item.key);
            self.take::<WITH_CARE>(item.packet);
        }
        self.take_from_inputs::<WITH_CARE>(Key::NEVER);
    }
}

impl Engine<EpochLoop> {
    /// Phase 3: links with several inputs process the packets that were offered to them, in order.
    pub(super) fn process_queues(&mut self) {
        while let Some(link) = self.event_loop.busy_links.pop() {
            self.clock.count_events(1);
            self.prefetch_for_busy();
            let event_loop = &mut self.event_loop;
            let inbox = &mut event_loop.inboxes[link as usize];
            let items = inbox.take_in_order();
            let inputs = std::mem::take(&mut inbox.inputs);
            if self.network.link(link).is_simple() {
                self.process_offers(link, &items, &inputs);
            } else {
                for item in &items {
                    let at = item.packet.arrival();
                    self.event_loop.rank = item.key.rank();
                    self.clock.set(at);
                    let Engine { network, observers, event_loop, .. } = &mut *self;
                    event_loop.enter(at, link, item.packet, network, &mut observers.captures);
                }
                self.serve_until_end(link);
            }
            let inbox = &mut self.event_loop.inboxes[link as usize];
            inbox.reuse(items);
            inbox.inputs = emptied(inputs);
        }
    }

    /// Serves a queue that decides at its service, as often as it is due in this epoch.
    fn serve_until_end(&mut self, link: LinkId) {
        if !self.network.link(link).decides_at_service() {
            return;
        }
        self.event_loop.serve(link, self.event_loop.until, Rank::FIRST, &mut self.network);
        self.event_loop.wheel.insert(link, self.network.link(link).next_event());
    }

    /// Puts packets into the queue of a simple link: the items of its inbox, and the packets in the FIFOs of its inputs.
    #[inline(always)]
    fn process_offers(&mut self, link: LinkId, items: &[Item], inputs: &[LinkId]) {
        if inputs.is_empty() && self.network.link(link).is_uninstrumented() {
            let mut access = self.network.access(link);
            for item in items {
                access.offer::<false>(item.packet.arrival(), item.packet);
            }
        } else {
            self.merge(link, items, inputs);
        }
        // A link with packets of this epoch is itself an input of another link, which inserts it after its merge.
        let next = self.network.link(link).next_arrival();
        if next >= self.event_loop.until {
            self.event_loop.wheel.insert(link, next);
        }
    }

    #[inline(never)]
    fn merge(&mut self, link: LinkId, items: &[Item], inputs: &[LinkId]) {
        let (begin, until) = (self.event_loop.begin, self.event_loop.until);
        let Engine { network, event_loop, observers, .. } = self;
        let captures = &mut observers.captures;
        if !inputs.is_empty() {
            event_loop.tree.begin(inputs.iter().map(|input| {
                let fifo = network.link(*input).fifo();
                (*input, fifo, key_of_next(begin, until, *input, fifo.first_arrival()))
            }));
        }
        let with_care =
            !network.link(link).is_uninstrumented() || inputs.iter().any(|input| network.link(*input).may_lose());
        let is_captured = network.link(link).is_captured();
        let record = |packet: Packet, pool: &SackPool| {
            if is_captured {
                captures.capture(link, packet.arrival(), packet, pool);
            }
        };
        let mut entrance = Entrance {
            network: network.access(link),
            tree: &mut event_loop.tree,
            begin,
            until,
            record,
            lost: Vec::new(),
        };
        if with_care {
            entrance.take_all::<true>(items);
        } else {
            entrance.take_all::<false>(items);
        }
        for input in entrance.lost {
            network.count_loss(input);
        }
        for (leaf, input) in inputs.iter().enumerate() {
            let fifo = event_loop.tree.fifo(leaf);
            network.end_arrivals(*input, fifo);
            event_loop.wheel.insert(*input, fifo.first_arrival());
        }
    }
}

/// The key of the next packet of a FIFO; [`Key::NEVER`] if it arrives after this epoch, which a network event may have cut short.
#[inline(always)]
fn key_of_next(begin: Time, until: Time, link: LinkId, at: Time) -> Key {
    if at < until { Key::new(begin, at, Rank::arrival(link)) } else { Key::NEVER }
}
