//! What is offered to a link in a window, from several places, enters it in order.

use super::inbox::{Item, Key, Rank};
use super::link::Offer;
use super::packet::{BESIDE, LOST, Packet};
use super::simulation::Engine;
use super::windows::Windows;
use crate::spec::LinkId;
use crate::units::Time;

impl Engine<Windows> {
    /// What is offered to a plain link, [watched](super::link::Link::is_unwatched) or not: items, and what stands in the lines of its feeders.
    pub(super) fn take_offers<const WATCHED: bool>(&mut self, link: LinkId, items: &[Item], feeders: &[LinkId]) {
        let is_captured = WATCHED && self.captures.turn_to(link);
        if feeders.is_empty() {
            for item in items {
                self.offer_to_plain::<WATCHED>(link, item.packet);
            }
        } else {
            let some_are_lost = feeders.iter().any(|feeder| self.links[*feeder as usize].may_lose());
            if some_are_lost {
                self.merge::<WATCHED, true>(link, items, feeders);
            } else {
                self.merge::<WATCHED, false>(link, items, feeders);
            }
        }
        if is_captured {
            self.capture_waiting();
        }
        // A link whose packets of this window another has yet to take is inserted then.
        let next = self.links[link as usize].next_arrival();
        if next >= self.order.until {
            self.order.wheel.insert(link, next);
        }
    }

    fn merge<const WATCHED: bool, const SOME_ARE_LOST: bool>(
        &mut self,
        link: LinkId,
        items: &[Item],
        feeders: &[LinkId],
    ) {
        let (begin, until) = (self.order.begin, self.order.until);
        self.order.heads.begin(feeders.iter().map(|feeder| {
            let line = self.links[*feeder as usize].line();
            (*feeder, line, key_of_next(begin, until, *feeder, line.first_arrival()))
        }));
        let mut expects_rows = true;
        for item in items {
            self.merge_lines::<WATCHED, SOME_ARE_LOST>(link, item.key, &mut expects_rows);
            self.offer_to_plain::<WATCHED>(link, item.packet);
        }
        self.merge_lines::<WATCHED, SOME_ARE_LOST>(link, Key::NEVER, &mut expects_rows);
        for (place, feeder) in feeders.iter().enumerate() {
            let line = self.order.heads.line(place);
            self.give_back(*feeder, line);
            self.order.wheel.insert(*feeder, line.first_arrival());
        }
    }

    /// What comes to a link from the lines of its feeders before this event: the feeder whose packet comes first brings what comes
    /// before those of the others.
    #[inline(always)]
    fn merge_lines<const WATCHED: bool, const SOME_ARE_LOST: bool>(
        &mut self,
        link: LinkId,
        before: Key,
        expects_rows: &mut bool,
    ) {
        while self.order.heads.first() < before {
            let rank = self.order.heads.first().rank();
            let place = self.order.heads.place(rank.link());
            let bound = self.order.bound(self.order.heads.second(place).min(before), rank);
            let mut line = self.order.heads.line(place);
            // A look for rows at every match would cost more than it gives where many flows meet.
            let mut looks = *expects_rows;
            loop {
                if looks {
                    let length = line.len();
                    line = self.merge_rows::<WATCHED>(link, line, bound);
                    *expects_rows = line.len() < length;
                }
                while let Some(mut packet) = self.lines.pop_in_piece(&mut line, bound) {
                    if SOME_ARE_LOST && packet.has(LOST) {
                        self.lose(rank.link(), packet);
                        continue;
                    }
                    packet.set_at(packet.at() + 1);
                    self.offer_to_plain::<WATCHED>(link, packet);
                }
                if !self.lines.goes_on_before(&mut line, bound) {
                    break;
                }
                looks = true;
            }
            let key = key_of_next(self.order.begin, self.order.until, rank.link(), line.first_arrival());
            self.order.heads.set(place, line, key);
        }
    }

    /// A packet is offered to a plain link when it arrives.
    #[inline(always)]
    fn offer_to_plain<const WATCHED: bool>(&mut self, link: LinkId, packet: Packet) {
        if WATCHED && self.links[link as usize].is_captured() {
            self.capture_soon(packet);
        }
        let size = self.sizes[packet.flow() as usize].of(&packet);
        let state = &mut self.links[link as usize];
        let offer = if WATCHED {
            state.offer_to_plain(packet.arrival(), packet, size, &mut self.lines)
        } else {
            state.offer(packet.arrival(), packet, size, &mut self.lines)
        };
        if offer == Offer::Dropped && packet.has(BESIDE) {
            self.pool.release(packet.number());
        }
    }
}

impl Windows {
    /// The instant before which what has this rank comes before a key, no later than the window's end.
    #[inline(always)]
    fn bound(&self, key: Key, rank: Rank) -> Time {
        if key == Key::NEVER { self.until } else { key.bound(self.begin, rank) }
    }
}

/// The key of the next packet of a line, which is merged in this window or not at all: what happens to the whole network may have
/// cut this one short before it.
#[inline(always)]
fn key_of_next(begin: Time, until: Time, link: LinkId, at: Time) -> Key {
    if at < until { Key::new(begin, at, Rank::arrival(link)) } else { Key::NEVER }
}
