//! Rows: where few flows meet, many packets of one stand right behind one another in a line. A link takes such a row in one call
//! (`link/row.rs`), to the same effect as packet by packet.

use super::forwarding::{END, Forwarding};
use super::line::Line;
use super::packet::LOST;
use super::simulation::Engine;
use super::windows::Windows;
use crate::spec::LinkId;
use crate::units::Time;

impl Engine<Windows> {
    /// The long rows at the front of a line go on, each over its next link, if that takes them at once. Returns what is left in line.
    #[inline(never)]
    pub(super) fn hand_on_rows(&mut self, mut line: Line) -> Line {
        let until = self.order.until;
        while let Some(first) = self.lines.first_of_row(&line, until).filter(|first| !first.has(LOST)) {
            let at = first.at();
            let next = if Forwarding::is_hop_by_hop(at) { END } else { self.forwarding.next_on_route(at) };
            if next == END || !self.order.takes_at_once(next) {
                break;
            }
            let (state, sizes) = (&mut self.links[next as usize], &self.sizes[first.flow() as usize]);
            if !state.is_unwatched() {
                break;
            }
            if !state.take_row(&mut line, sizes, until, &mut self.lines) {
                // The first packet goes before the others, into an empty line for instance.
                let mut packet = self.lines.pop(&mut line);
                self.now = packet.arrival();
                packet.set_at(at + 1);
                self.take_offer(next, packet);
            }
        }
        line
    }

    /// The long rows at the front of a line that arrive before an instant go on over a link. Returns what is left in line.
    #[inline(never)]
    pub(super) fn merge_rows<const WATCHED: bool>(&mut self, link: LinkId, mut line: Line, before: Time) -> Line {
        while let Some(first) = self.lines.first_of_row(&line, before).filter(|first| !first.has(LOST)) {
            let (state, sizes) = (&mut self.links[link as usize], &self.sizes[first.flow() as usize]);
            let (slot, length) = (line.first_slot(), line.len());
            if !state.take_row(&mut line, sizes, before, &mut self.lines) {
                break;
            }
            if WATCHED && state.is_captured() {
                self.capture_row(slot, length - line.len()); // the slots that it has left are as they were
            }
        }
        line
    }
}
