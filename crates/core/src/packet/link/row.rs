//! Rows: packets of one flow that stand in a line right behind one another, each the next segment or acknowledging one more. The link that
//! they go on over takes a long one in one call: it looks at itself once, and its state stays in registers.

use super::Link;
use crate::packet::line::{Line, Lines};
use crate::packet::packet::PacketSizes;
use crate::packet::train::Train;
use crate::units::{Duration, Time};

impl Link {
    /// The row at the front of a line enters a plain link as by [`Self::take_row`], the train by [`Self::take_train`]. Whether any packet has
    /// entered.
    pub fn take_row_or_train(&mut self, line: &mut Line, sizes: &PacketSizes, before: Time, lines: &mut Lines) -> bool {
        let Some(train) = lines.first_train(line) else { return self.take_row(line, sizes, before, lines) };
        let (first, count) = (train.first.gone_on(train.first.arrival()), train.count_before(before));
        let taken = self.take_train(&Train { first, count, ..train }, sizes, lines);
        if taken > 0 {
            lines.pass_of_train(line, taken);
        }
        taken > 0
    }

    /// The row at the front of a line enters a plain link, to the same effect as by [`Link::offer_to_plain`] of one packet after another; as far
    /// as it arrives before an instant, and is of one size. Packets that would lead into another piece of either line, that find the
    /// queue nearly full, or that the wire loses, are left. Whether any packet has entered.
    pub fn take_row(&mut self, line: &mut Line, sizes: &PacketSizes, before: Time, lines: &mut Lines) -> bool {
        let room = self.room_for_row(line.first_arrival(), lines);
        let first = lines.first(line);
        let most = self.until_next_loss(room.min(sizes.alike_from(&first)));
        if most == 0 {
            return false;
        }
        let size = sizes.of(&first);
        let (transmission, delay) = (self.transmission(size), self.delay);
        let Some((packets, places)) = lines.row(line, &mut self.line) else { return false };
        let mut busy_until = self.busy_until;
        let (mut waits, mut longest_wait) = (Duration::ZERO, Duration::ZERO);
        let mut count = 0;
        for (packet, place) in packets.iter().zip(places).take(most as usize) {
            let now = packet.arrival();
            if now >= before || !packet.is_in_row(&first, count) {
                break;
            }
            let wait = busy_until - now; // zero if it is idle
            waits = waits + wait;
            longest_wait = longest_wait.max(wait);
            busy_until = now + wait + transmission;
            *place = packet.gone_on(busy_until + delay);
            count += 1;
        }
        self.idle = self.idle + ((busy_until - self.busy_until) - transmission * u64::from(count));
        self.busy_until = busy_until;
        self.counters.offered += u64::from(count);
        self.counters.bytes += u64::from(count) * u64::from(size);
        self.counters.wait_sum += u128::from(waits.0);
        self.counters.wait_max = self.counters.wait_max.max(longest_wait);
        if self.line.len() >= self.limit_packets {
            self.limit_place = lines.far_behind_place(self.limit_place, count);
        }
        if self.loses {
            self.loss.pass(count);
        }
        lines.move_row(line, &mut self.line, count, transmission);
        true
    }

    /// How many packets get through, `most` at the most, before the next that the wire loses; none are asked for that stand in no row.
    pub(super) fn until_next_loss(&self, most: u32) -> u32 {
        if self.loses { self.loss.until_next_loss(most.min(Lines::LONGEST_ROW)) } else { most }
    }

    /// So many packets that come from an instant on surely find room. If the queue is full but for those that have departed, that is
    /// known of some at a time.
    pub(super) fn room_for_row(&self, now: Time, lines: &Lines) -> u32 {
        let length = self.line.len();
        if length < self.limit_packets {
            return self.limit_packets - length - 1;
        }
        lines.count_until(self.limit_place, now + self.delay, self.limit_packets - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Offer;
    use super::*;
    use crate::packet::packet::{FlowSizes, Packet};
    use crate::spec::{LinkSpec, LossSpec, QueueLimit, QueueSpec};
    use crate::units::Rate;
    use proptest::prelude::*;

    const LAST_SEGMENT: u32 = 60;

    /// A link with a few packets, and a line of others that come to it, each some bytes' time after the one before.
    fn link_and_line(limit: u32, loss: &LossSpec, coming: &[(u64, bool)]) -> (Link, Line, Lines) {
        let queue = QueueSpec::DropTail { limit: QueueLimit::Packets(limit) };
        let (rate, delay) = (Rate(8_000_000), Duration::from_micros(500));
        let spec = LinkSpec { src: 0, dst: 1, rate, delay, cost: 1.0, queue, loss: loss.clone() };
        let (mut line, mut lines) = (Line::default(), Lines::default());
        let (mut at, mut segment) = (Time::ZERO, 0);
        for (gap, continues) in coming {
            at += Duration::from_micros(*gap);
            segment += if *continues { 1 } else { 3 };
            let mut packet = Packet::new(0, segment, segment, 0);
            packet.set_at(7);
            packet.arrives(at);
            lines.push(&mut line, packet);
        }
        (Link::new(&spec, 1, 0), line, lines)
    }

    #[test]
    fn a_row_goes_on_to_the_end_of_its_piece() {
        let (mut link, mut line, mut lines) = link_and_line(100, &LossSpec::None, &[(10, true); 20]);
        let sizes = PacketSizes::new(100, 60, 40, false, LAST_SEGMENT);
        let first = lines.pop(&mut line);
        link.offer(first.arrival(), first, sizes.of(&first), &mut lines);
        assert!(link.take_row(&mut line, &sizes, Time::NEVER, &mut lines));
        assert_eq!((link.line.len(), line.len()), (Lines::LONGEST_ROW, 20 - Lines::LONGEST_ROW));
        assert!(!link.take_row(&mut line, &sizes, Time::NEVER, &mut lines), "the last packet of a piece is left");
    }

    /// All packets of a line that come before an instant go on over a link. What became of the last.
    fn cross(
        link: &mut Link,
        line: &mut Line,
        lines: &mut Lines,
        sizes: &PacketSizes,
        before: Time,
        in_rows: bool,
    ) -> Offer {
        let mut last = Offer::Taken;
        loop {
            if in_rows && lines.begins_with_row(line, before) && link.take_row_or_train(line, sizes, before, lines) {
                last = Offer::Taken;
            }
            let Some(packet) = lines.pop_before(line, before) else { return last };
            let packet = packet.gone_on(packet.arrival());
            last = link.offer_to_plain(packet.arrival(), packet, sizes.of(&packet), lines);
        }
    }

    proptest! {
        /// What a link takes in rows, it takes as it would one packet after another; and so does the next what comes out of that, which may
        /// be trains.
        #[test]
        fn a_row_is_as_good_as_its_packets(
            limits in (1u32..30, 1u32..30),
            delay in 300u64..4_000,
            rate_of_next in prop_oneof![Just(8_000_000), 3_000_000u64..30_000_000],
            ratio in prop_oneof![Just(0.0), 0.0..0.3],
            coming in prop::collection::vec((0u64..120, prop::bool::weighted(0.9)), 1..80),
            before in (0u64..6_000, 0u64..6_000),
        ) {
            let loss = if ratio == 0.0 { LossSpec::None } else { LossSpec::Bernoulli { ratio } };
            let sizes = FlowSizes::new(vec![PacketSizes::new(100, 60, 40, false, LAST_SEGMENT)]);
            let before = [before.0, before.1].map(|before| Time::ZERO + Duration::from_micros(before));
            let outcomes = [true, false].map(|in_rows| {
                let (mut link, mut line, mut lines) = link_and_line(limits.0, &LossSpec::None, &coming);
                let queue = QueueSpec::DropTail { limit: QueueLimit::Packets(limits.1) };
                let delay = Duration::from_micros(delay);
                let rate = Rate(rate_of_next);
                let mut next = Link::new(&LinkSpec { src: 1, dst: 2, rate, delay, cost: 1.0, queue, loss: loss.clone() }, 1, 1);
                let last = cross(&mut link, &mut line, &mut lines, &sizes[0], before[0], in_rows);
                let mut between = link.line();
                let last_of_next = cross(&mut next, &mut between, &mut lines, &sizes[0], before[1], in_rows);
                link.give_back(between);
                let links = [&link, &next].map(|link| {
                    let stands: Vec<Packet> = lines.iter(&link.line).collect();
                    let queued = before.map(|before| link.queue_packets(before, &lines));
                    (stands, queued, link.counters(Time::NEVER, &sizes, &lines), link.busy_until, link.next_arrival())
                });
                let left: Vec<Packet> = lines.iter(&line).collect();
                (links, left, [last, last_of_next].map(|last| last == Offer::Dropped), line.first_arrival())
            });
            let [in_rows, one_by_one] = outcomes;
            prop_assert_eq!(in_rows, one_by_one);
        }
    }
}
