//! Trains: what a link does with packets that come equally spaced follows from the first of them.

use super::Link;
use crate::packet::line::Lines;
use crate::packet::packet::PacketSizes;
use crate::packet::train::Train;
use crate::units::{Duration, Time};

impl Link {
    /// The first packets of a train enter a plain link, to the same effect as by [`Link::offer_to_plain`] of one after another. Those are left
    /// that find the queue nearly full, that the wire loses, that are of another size, or that come with another spacing out of the
    /// queue. Returns how many have entered; none into an empty line.
    pub fn take_train(&mut self, train: &Train, sizes: &PacketSizes, lines: &mut Lines) -> u32 {
        let now = train.first.arrival();
        let most = self.room_for_row(now, lines).min(sizes.alike_from(&train.first)).min(train.count);
        let most = if self.loses { self.loss.until_next_loss(most) } else { most };
        if most == 0 || self.line.is_empty() {
            return 0;
        }
        let size = sizes.of(&train.first);
        let transmission = self.transmission(size);
        let first_wait = self.busy_until - now; // zero if it is idle
        let (count, gap) = if train.gap <= transmission {
            (most, transmission)
        } else if first_wait == Duration::ZERO {
            (most, train.gap)
        } else {
            // Each waits shorter than the one before, until one does not wait.
            let waiting = first_wait.0.div_ceil((train.gap - transmission).0);
            (u32::try_from(waiting).map_or(most, |waiting| waiting.min(most)), transmission)
        };
        let mut first = train.first;
        first.arrives(now + first_wait + transmission + self.delay);
        let departing = Train { first, gap, count };
        if count < 2 || departing.last_arrival() >= Time::NEVER {
            return 0;
        }
        let last = train.packet(count - 1).arrival();
        self.busy_until = departing.last_arrival() - self.delay;
        let last_wait = self.busy_until - transmission - last;
        self.counters.offered += u64::from(count);
        self.counters.bytes += u64::from(count) * u64::from(size);
        self.counters.wait_sum += u128::from(count) * u128::from(first_wait.0 + last_wait.0) / 2;
        self.counters.wait_max = self.counters.wait_max.max(first_wait).max(last_wait);
        if self.line.len() >= self.limit_packets {
            self.limit_place = lines.far_behind_place(self.limit_place, count);
        }
        lines.push_train(&mut self.line, &departing);
        if self.loses {
            self.loss.pass(count);
        }
        count
    }
}
