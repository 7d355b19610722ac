//! Rows: where few flows meet, many packets of one stand right behind one another in a line. A link takes such a row in one call
//! (`link/row.rs`), to the same effect as packet by packet.

use super::forwarding::END;
use super::line::Line;
use super::packet::LOST;
use super::simulation::Engine;
use super::train::Train;
use super::windows::{Taking, Windows};
use crate::spec::{LinkId, NodeId};
use crate::units::Time;

impl Engine<Windows> {
    /// The long rows at the front of a link's line go on, each over its next link, if that takes them at once; trains that do not, packet by
    /// packet. Returns what is left in line.
    #[inline(never)]
    pub(super) fn hand_on_rows(&mut self, link: LinkId, mut line: Line, node: NodeId, taking: Taking) -> Line {
        let until = self.order.until;
        while self.lines.begins_with_row(&line, until) {
            let first = self.lines.first(&line);
            let next = self.forwarding.next_if_compiled(first.at());
            let goes_on = next != END
                && !first.has(LOST)
                && self.order.takes_at_once(next)
                && self.links[next as usize].is_unwatched();
            if goes_on {
                let (state, sizes) = (&mut self.links[next as usize], &self.sizes[first.flow() as usize]);
                if state.take_row_or_train(&mut line, sizes, until, &mut self.lines) {
                    continue;
                }
            } else {
                let Some(train) = self.lines.first_train(&line) else { break };
                if next != END {
                    // None of them is for a host here, so the line may stand as it will be.
                    let count = train.count_before(until);
                    self.lines.pass_of_train(&mut line, count);
                    for packet in (Train { count, ..train }).packets() {
                        self.hand_on(link, packet, node, taking);
                    }
                    continue;
                }
            }
            // The first packet goes before the others, into an empty line for instance.
            let packet = self.lines.pop(&mut line);
            if let Some(packet) = self.hand_on(link, packet, node, taking) {
                self.take_run(link, &mut line, packet);
            }
        }
        line
    }

    /// The long rows at the front of a feeder's line that arrive before an instant go on over a link. Returns what is left in line.
    #[inline(never)]
    pub(super) fn merge_rows<const WATCHED: bool>(
        &mut self,
        link: LinkId,
        feeder: LinkId,
        mut line: Line,
        before: Time,
    ) -> Line {
        while self.lines.begins_with_row(&line, before) {
            let first = self.lines.first(&line);
            let (state, sizes) = (&mut self.links[link as usize], &self.sizes[first.flow() as usize]);
            let (slot, length, train) = (line.first_slot(), line.len(), self.lines.first_train(&line));
            let any = !first.has(LOST) && state.take_row_or_train(&mut line, sizes, before, &mut self.lines);
            if !any && train.is_none() {
                break;
            }
            let taken = length - line.len();
            if !any {
                let packet = self.lines.pop(&mut line);
                self.merge_one::<WATCHED>(link, feeder, packet);
            } else if WATCHED && state.is_captured() {
                match train {
                    Some(train) => self.capture_train(&Train { count: taken, ..train }),
                    None => self.capture_row(slot, taken), // the slots that it has left are as they were
                }
            }
        }
        line
    }
}
