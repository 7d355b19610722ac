//! What is offered to a link in a window, from several places, enters it in order.

use super::beside::Pool;
use super::capturing::Captured;
use super::heads::Heads;
use super::inbox::{Item, Key, Rank};
use super::line::Lines;
use super::link::{Link, Offer};
use super::packet::{BESIDE, FlowSizes, LOST, Packet};
use super::simulation::Engine;
use super::windows::Windows;
use crate::spec::LinkId;
use crate::units::Time;

/// A plain link whose queue takes the packets of a window in order.
struct Entrance<'engine, W> {
    link: &'engine mut Link,
    lines: &'engine mut Lines,
    sizes: &'engine FlowSizes,
    pool: &'engine mut Pool,
    heads: &'engine mut Heads,
    begin: Time,
    until: Time,
    /// Sees each packet before the queue does.
    watch: W,
    /// For each packet that the wire of a feeder has lost, the feeder.
    lost: Vec<LinkId>,
}

impl<W: FnMut(Packet, &Pool)> Entrance<'_, W> {
    /// What comes to the link from the lines of its feeders before this event: the feeder whose packet comes first brings it. Takes more care
    /// if the link is watched, or some of what its feeders bring is lost.
    #[inline(always)]
    fn take_from_feeders<const WITH_CARE: bool>(&mut self, before: Key) {
        while self.heads.first() < before {
            let feeder = self.heads.first().rank().link();
            let place = self.heads.place(feeder);
            let line = self.heads.line_mut(place);
            let mut packet = self.lines.pop(line);
            let key = key_of_next(self.begin, self.until, feeder, line.first_arrival());
            self.heads.set(place, key);
            if WITH_CARE && packet.has(LOST) {
                self.lost.push(feeder);
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
            (self.watch)(packet, self.pool);
        }
        enter::<WITH_CARE>(self.link, packet, self.sizes, self.lines, self.pool);
    }

    #[inline(always)]
    fn take_all<const WITH_CARE: bool>(&mut self, items: &[Item]) {
        for item in items {
            self.take_from_feeders::<WITH_CARE>(item.key);
            self.take::<WITH_CARE>(item.packet);
        }
        self.take_from_feeders::<WITH_CARE>(Key::NEVER);
    }
}

impl Engine<Windows> {
    /// What is offered to a plain link: items, and what stands in the lines of its feeders.
    #[inline(always)]
    pub(super) fn take_offers(&mut self, link: LinkId, items: &[Item], feeders: &[LinkId]) {
        let state = &mut self.links[link as usize];
        if feeders.is_empty() && state.is_unwatched() {
            for item in items {
                enter::<false>(state, item.packet, &self.sizes, &mut self.lines, &mut self.pool);
            }
        } else {
            self.merge(link, items, feeders);
        }
        // A link whose packets of this window another has yet to take is inserted then.
        let next = self.links[link as usize].next_arrival();
        if next >= self.order.until {
            self.order.wheel.insert(link, next);
        }
    }

    #[inline(never)]
    fn merge(&mut self, link: LinkId, items: &[Item], feeders: &[LinkId]) {
        let (begin, until) = (self.order.begin, self.order.until);
        let Engine { links, lines, sizes, pool, order, captures, spec, flows, .. } = self;
        if !feeders.is_empty() {
            order.heads.begin(feeders.iter().map(|feeder| {
                let line = links[*feeder as usize].line();
                (*feeder, line, key_of_next(begin, until, *feeder, line.first_arrival()))
            }));
        }
        let with_care =
            !links[link as usize].is_unwatched() || feeders.iter().any(|feeder| links[*feeder as usize].may_lose());
        let is_captured = with_care && captures.turn_to(link);
        let run = Captured { spec, flows, sizes };
        let watch = |packet: Packet, pool: &Pool| {
            if is_captured {
                captures.capture_soon(packet, &run, pool);
            }
        };
        let (link_state, heads, lost) = (&mut links[link as usize], &mut order.heads, Vec::new());
        let mut entrance = Entrance { link: link_state, lines, sizes, pool, heads, begin, until, watch, lost };
        if with_care {
            entrance.take_all::<true>(items);
        } else {
            entrance.take_all::<false>(items);
        }
        for feeder in entrance.lost {
            links[feeder as usize].count_loss();
        }
        if is_captured {
            captures.capture_waiting(&run, pool);
        }
        for (place, feeder) in feeders.iter().enumerate() {
            let line = self.order.heads.line(place);
            self.give_back(*feeder, line);
            self.order.wheel.insert(*feeder, line.first_arrival());
        }
    }
}

/// A packet is offered to a plain link when it arrives; with care, if that may be [watched](Link::is_unwatched).
#[inline(always)]
fn enter<const WITH_CARE: bool>(
    link: &mut Link,
    packet: Packet,
    sizes: &FlowSizes,
    lines: &mut Lines,
    pool: &mut Pool,
) {
    let size = sizes[packet.flow() as usize].of(&packet);
    let offer = if WITH_CARE {
        link.offer_to_plain(packet.arrival(), packet, size, lines)
    } else {
        link.offer(packet.arrival(), packet, size, lines)
    };
    if offer == Offer::Dropped {
        release(pool, packet);
    }
}

/// What stands beside a packet that is gone is gone, too.
#[inline(always)]
fn release(pool: &mut Pool, packet: Packet) {
    if packet.has(BESIDE) {
        pool.release(packet.number());
    }
}

/// The key of the next packet of a line, which is merged in this window or not at all: what happens to the whole network may have
/// cut this one short before it.
#[inline(always)]
fn key_of_next(begin: Time, until: Time, link: LinkId, at: Time) -> Key {
    if at < until { Key::new(begin, at, Rank::arrival(link)) } else { Key::NEVER }
}
