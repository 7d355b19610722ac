//! Packets that several inputs offer to a link in an epoch enter it in order.

use crate::packet::capture::recorder::Captured;
use crate::packet::engine::Engine;
use crate::packet::epochs::event_loop::EpochLoop;
use crate::packet::epochs::inbox::{Item, Key, Rank};
use crate::packet::epochs::loser_tree::LoserTree;
use crate::packet::link::fifo::FifoStore;
use crate::packet::link::packet::{HAS_SACK, LOST, Packet};
use crate::packet::link::packet_sizes::FlowSizes;
use crate::packet::link::sack_pool::SackPool;
use crate::packet::link::{Link, Offer};
use crate::spec::LinkId;
use crate::units::Time;

/// A simple link whose queue takes the packets of an epoch in order.
struct Entrance<'engine, W> {
    link: &'engine mut Link,
    fifos: &'engine mut FifoStore,
    sizes: &'engine FlowSizes,
    pool: &'engine mut SackPool,
    tree: &'engine mut LoserTree,
    begin: Time,
    until: Time,
    /// Records each packet before the queue takes it.
    record: W,
    /// For each packet that the wire of an input has lost, the input.
    lost: Vec<LinkId>,
}

impl<W: FnMut(Packet, &SackPool)> Entrance<'_, W> {
    /// Takes the packets that come from the FIFOs of the link's inputs before this event, in order. It takes more care if the link is instrumented, or
    /// an input may have lost packets.
    #[inline(always)]
    fn take_from_inputs<const WITH_CARE: bool>(&mut self, before: Key) {
        while self.tree.first() < before {
            let input = self.tree.first().rank().link();
            let place = self.tree.place(input);
            let fifo = self.tree.fifo_mut(place);
            let mut packet = self.fifos.pop(fifo);
            let key = key_of_next(self.begin, self.until, input, fifo.first_arrival());
            self.tree.set(place, key);
            if WITH_CARE && packet.has(LOST) {
                self.lost.push(input);
                release(self.pool, packet);
            } else {
                packet.set_at(packet.at() + 1);
                self.take::<WITH_CARE>(packet);
            }
        }
    }

    #[inline(always)]
    fn take<const WITH_CARE: bool>(&mut self, packet: Packet) {
        if WITH_CARE {
            (self.record)(packet, self.pool);
        }
        enter::<WITH_CARE>(self.link, packet, self.sizes, self.fifos, self.pool);
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
    /// What is offered to a simple link: items, and what stands in the FIFOs of its inputs.
    #[inline(always)]
    pub(in crate::packet) fn take_offers(&mut self, link: LinkId, items: &[Item], inputs: &[LinkId]) {
        let state = &mut self.links[link as usize];
        if inputs.is_empty() && state.is_uninstrumented() {
            for item in items {
                enter::<false>(state, item.packet, &self.sizes, &mut self.fifos, &mut self.pool);
            }
        } else {
            self.merge(link, items, inputs);
        }
        // A link whose packets of this epoch another has yet to take is inserted then.
        let next = self.links[link as usize].next_arrival();
        if next >= self.order.until {
            self.order.wheel.insert(link, next);
        }
    }

    #[inline(never)]
    fn merge(&mut self, link: LinkId, items: &[Item], inputs: &[LinkId]) {
        let (begin, until) = (self.order.begin, self.order.until);
        let Engine { links, fifos, sizes, pool, order, captures, spec, flows, .. } = self;
        if !inputs.is_empty() {
            order.tree.begin(inputs.iter().map(|input| {
                let fifo = links[*input as usize].fifo();
                (*input, fifo, key_of_next(begin, until, *input, fifo.first_arrival()))
            }));
        }
        let with_care =
            !links[link as usize].is_uninstrumented() || inputs.iter().any(|input| links[*input as usize].may_lose());
        let is_captured = with_care && captures.turn_to(link);
        let run = Captured { spec, flows, sizes };
        let record = |packet: Packet, pool: &SackPool| {
            if is_captured {
                captures.capture_soon(packet, &run, pool);
            }
        };
        let (link_state, tree, lost) = (&mut links[link as usize], &mut order.tree, Vec::new());
        let mut entrance = Entrance { link: link_state, fifos, sizes, pool, tree, begin, until, record, lost };
        if with_care {
            entrance.take_all::<true>(items);
        } else {
            entrance.take_all::<false>(items);
        }
        for input in entrance.lost {
            links[input as usize].count_loss();
        }
        if is_captured {
            captures.capture_waiting(&run, pool);
        }
        for (place, input) in inputs.iter().enumerate() {
            let fifo = self.order.tree.fifo(place);
            self.give_back(*input, fifo);
            self.order.wheel.insert(*input, fifo.first_arrival());
        }
    }
}

/// A packet is offered to a simple link when it arrives; with care, if the link may be [instrumented](Link::is_uninstrumented).
#[inline(always)]
fn enter<const WITH_CARE: bool>(
    link: &mut Link,
    packet: Packet,
    sizes: &FlowSizes,
    fifos: &mut FifoStore,
    pool: &mut SackPool,
) {
    let size = sizes[packet.flow() as usize].of(&packet);
    let offer = if WITH_CARE {
        link.offer_to_simple(packet.arrival(), packet, size, fifos)
    } else {
        link.offer(packet.arrival(), packet, size, fifos)
    };
    if offer == Offer::Dropped {
        release(pool, packet);
    }
}

/// Frees the SACK blocks of a packet that is gone.
#[inline(always)]
fn release(pool: &mut SackPool, packet: Packet) {
    if packet.has(HAS_SACK) {
        pool.release(packet.number());
    }
}

/// The key of the next packet of a FIFO, which is merged in this epoch or not at all: what happens to the whole network may have
/// cut this one short before it.
#[inline(always)]
fn key_of_next(begin: Time, until: Time, link: LinkId, at: Time) -> Key {
    if at < until { Key::new(begin, at, Rank::arrival(link)) } else { Key::NEVER }
}
