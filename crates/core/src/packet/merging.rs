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
            match (WATCHED || some_are_lost, self.order.expects_rows(link)) {
                (false, false) => self.merge::<false, false>(link, items, feeders),
                (false, true) => self.merge::<false, true>(link, items, feeders),
                (true, false) => self.merge::<true, false>(link, items, feeders),
                (true, true) => self.merge::<true, true>(link, items, feeders),
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

    /// Takes more care if the link is watched, or some of what its feeders bring is lost; looks for rows if there were some lately.
    fn merge<const WITH_CARE: bool, const IN_ROWS: bool>(&mut self, link: LinkId, items: &[Item], feeders: &[LinkId]) {
        let (begin, until) = (self.order.begin, self.order.until);
        self.order.heads.begin(feeders.iter().map(|feeder| {
            let line = self.links[*feeder as usize].line();
            (*feeder, line, key_of_next(begin, until, *feeder, line.first_arrival()))
        }));
        let mut search = Search { continues: true, in_rows: 0 };
        for item in items {
            self.merge_lines::<WITH_CARE, IN_ROWS>(link, item.key, &mut search);
            self.offer_to_plain::<WITH_CARE>(link, item.packet);
        }
        self.merge_lines::<WITH_CARE, IN_ROWS>(link, Key::NEVER, &mut search);
        let hops = self.packet_hops;
        for (place, feeder) in feeders.iter().enumerate() {
            let line = self.order.heads.line(place);
            self.give_back(*feeder, line);
            self.order.wheel.insert(*feeder, line.first_arrival());
        }
        if IN_ROWS {
            let merged = self.packet_hops - hops;
            self.order.found_rows(link, u64::from(search.in_rows) * 8 > merged);
        }
    }

    /// What comes to a link from the lines of its feeders before this event: the feeder whose packet comes first brings it, or, where there
    /// are rows, what comes before those of the others.
    #[inline(always)]
    fn merge_lines<const WITH_CARE: bool, const IN_ROWS: bool>(
        &mut self,
        link: LinkId,
        before: Key,
        search: &mut Search,
    ) {
        while self.order.heads.first() < before {
            let rank = self.order.heads.first().rank();
            let place = self.order.heads.place(rank.link());
            let mut line = self.order.heads.line(place);
            if IN_ROWS {
                let bound = self.order.bound(self.order.heads.second(place).min(before), rank);
                // A look for rows at every match would cost more than it gives where many flows meet.
                let mut looks = search.continues || self.lines.begins_with_train(&line, bound);
                loop {
                    if looks {
                        let length = line.len();
                        line = self.merge_rows::<WITH_CARE>(link, rank.link(), line, bound);
                        search.continues = line.len() < length;
                        search.in_rows += length - line.len();
                    }
                    while let Some(packet) = self.lines.pop_in_piece(&mut line, bound) {
                        self.merge_one::<WITH_CARE>(link, rank.link(), packet);
                    }
                    if !self.lines.goes_on_before(&mut line, bound) {
                        break;
                    }
                    looks = true;
                }
            } else {
                // How many come before those of the others would be guessed wrong every second time.
                let packet = self.lines.pop(&mut line);
                self.merge_one::<WITH_CARE>(link, rank.link(), packet);
            }
            let key = key_of_next(self.order.begin, self.order.until, rank.link(), line.first_arrival());
            self.order.heads.set(place, line, key);
        }
    }

    #[inline(always)]
    pub(super) fn merge_one<const WITH_CARE: bool>(&mut self, link: LinkId, feeder: LinkId, mut packet: Packet) {
        if WITH_CARE && packet.has(LOST) {
            self.lose(feeder, packet);
        } else {
            packet.set_at(packet.at() + 1);
            self.offer_to_plain::<WITH_CARE>(link, packet);
        }
    }

    /// A packet is offered to a plain link when it arrives; with care, if that may be watched.
    #[inline(always)]
    fn offer_to_plain<const WITH_CARE: bool>(&mut self, link: LinkId, packet: Packet) {
        if WITH_CARE && self.links[link as usize].is_captured() {
            self.capture_soon(packet);
        }
        let size = self.sizes[packet.flow() as usize].of(&packet);
        let state = &mut self.links[link as usize];
        let offer = if WITH_CARE {
            state.offer_to_plain(packet.arrival(), packet, size, &mut self.lines)
        } else {
            state.offer(packet.arrival(), packet, size, &mut self.lines)
        };
        if offer == Offer::Dropped && packet.has(BESIDE) {
            self.pool.release(packet.number());
        }
    }
}

/// The search for rows while lines are merged.
struct Search {
    /// The last look found some.
    continues: bool,
    /// So many packets stood in rows.
    in_rows: u32,
}

/// So many windows pass before a link whose feeders bring few rows looks for them again.
const WITHOUT_ROWS: u8 = if cfg!(test) { 1 } else { 7 };

impl Windows {
    /// Whether rows are to be looked for in what comes to a link in this window.
    fn expects_rows(&mut self, link: LinkId) -> bool {
        let without = &mut self.without_rows[link as usize];
        *without = without.saturating_sub(1);
        *without == 0
    }

    /// Whether there were many rows.
    fn found_rows(&mut self, link: LinkId, many: bool) {
        self.without_rows[link as usize] = if many { 0 } else { WITHOUT_ROWS + 1 };
    }

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
