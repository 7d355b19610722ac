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

#[cfg(test)]
mod tests {
    use super::super::Offer;
    use super::*;
    use crate::packet::packet::{FlowSizes, Packet};
    use crate::spec::{LinkSpec, LossSpec, QueueLimit, QueueSpec};
    use crate::units::Rate;
    use proptest::prelude::*;

    const TRANSMISSION: Duration = Duration::from_micros(100);

    /// Packets of 100 bytes that come so many microseconds after those before, and then such a gap apart, so many of them.
    type Coming = Vec<(u64, u64, u32)>;

    fn offer(link: &mut Link, packet: Packet, sizes: &PacketSizes, lines: &mut Lines) -> bool {
        link.offer_to_plain(packet.arrival(), packet, sizes.of(&packet), lines) == Offer::Dropped
    }

    proptest! {
        /// A link takes a train as it would its packets, one after another: idle, busy, full or losing, into a queue that fills, stays as
        /// it is or empties.
        #[test]
        fn a_train_is_as_good_as_its_packets(
            limit in 1u32..20,
            delay in prop_oneof![Just(0u64), 0u64..4_000],
            is_losing: bool,
            coming in prop::collection::vec(
                (0u64..1_500, prop_oneof![Just(100u64), 1u64..110, 90u64..400], 1u32..25), 1..12,
            ).prop_map(|coming: Coming| coming),
        ) {
            let loss = if is_losing { LossSpec::Bernoulli { ratio: 0.05 } } else { LossSpec::None };
            let queue = QueueSpec::DropTail { limit: QueueLimit::Packets(limit) };
            let (rate, delay) = (Rate(8_000_000), Duration::from_micros(delay));
            let spec = LinkSpec { src: 0, dst: 1, rate, delay, cost: 1.0, queue, loss };
            let sizes = FlowSizes::new(vec![PacketSizes::new(100, 60, 40, false, 150)]);
            let mut taken_at_once = 0;
            let outcomes = [true, false].map(|in_trains| {
                let (mut link, mut lines) = (Link::new(&spec, 1, 0), Lines::default());
                let (mut at, mut segment, mut dropped) = (Time::ZERO, 0, Vec::new());
                for (pause, gap, count) in &coming {
                    let mut first = Packet::new(0, segment, segment, 0);
                    first.arrives(at + Duration::from_micros(*pause));
                    let mut train = Train { first, gap: Duration::from_micros(*gap), count: *count };
                    (at, segment) = (train.last_arrival(), segment + count);
                    loop {
                        let mut gone = if in_trains { link.take_train(&train, &sizes[0], &mut lines) } else { 0 };
                        taken_at_once += gone;
                        if gone == 0 {
                            dropped.push(offer(&mut link, train.first, &sizes[0], &mut lines));
                            gone = 1;
                        } else {
                            dropped.extend((0..gone).map(|_| false));
                        }
                        if gone == train.count {
                            break;
                        }
                        train = train.without_first(gone);
                    }
                }
                let stands: Vec<Packet> = lines.iter(&link.line).collect();
                let queued = link.queue_packets(at, &lines);
                (stands, queued, dropped, link.counters(&sizes, &lines), link.busy_until, link.next_arrival())
            });
            let [in_trains, one_by_one] = outcomes;
            prop_assert_eq!(in_trains, one_by_one);
            let long = coming.iter().any(|(_, gap, count)| *count > 2 && Duration::from_micros(*gap) == TRANSMISSION);
            prop_assert!(taken_at_once > 0 || is_losing || limit < 4 || !long);
        }
    }
}
