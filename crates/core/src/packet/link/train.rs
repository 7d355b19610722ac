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
        let busy_until = departing.last_arrival() - self.delay;
        self.idle = self.idle + ((busy_until - self.busy_until) - transmission * u64::from(count));
        self.busy_until = busy_until;
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

    fn offer(link: &mut Link, packet: Packet, sizes: &PacketSizes, lines: &mut Lines) -> bool {
        link.offer_to_plain(packet.arrival(), packet, sizes.of(&packet), lines) == Offer::Dropped
    }

    /// A packet of 100 bytes takes 100 us.
    fn link(limit: u32, delay: Duration, loss: LossSpec) -> Link {
        let queue = QueueSpec::DropTail { limit: QueueLimit::Packets(limit) };
        Link::new(&LinkSpec { src: 0, dst: 1, rate: Rate(8_000_000), delay, cost: 1.0, queue, loss }, 1, 0)
    }

    /// So many packets from a segment on, the first of which comes at a time.
    fn train(segment: u32, at: Time, gap: u64, count: u32) -> Train {
        let mut first = Packet::new(0, segment, segment, 0);
        first.arrives(at);
        Train { first, gap: Duration::from_micros(gap), count }
    }

    #[test]
    fn behind_another_packet_a_train_is_taken_at_once_and_as_one_with_it_but_for_what_finds_the_queue_empty() {
        let sizes = PacketSizes::new(100, 60, 40, false, u32::MAX);
        for (gap, taken_first, taken_then) in [(50, 30, 0), (100, 30, 0), (110, 9, 21)] {
            let (mut link, mut lines) = (link(100, Duration::from_micros(5_000), LossSpec::None), Lines::default());
            offer(&mut link, train(0, Time::ZERO, gap, 1).first, &sizes, &mut lines);
            let coming = train(1, Time::ZERO + Duration::from_micros(gap / 10), gap, 30);
            assert_eq!(link.take_train(&coming, &sizes, &mut lines), taken_first, "a gap of {gap} us");
            if taken_then > 0 {
                let rest = coming.without_first(taken_first);
                assert_eq!(link.take_train(&rest, &sizes, &mut lines), taken_then, "a gap of {gap} us");
            }
            assert_eq!(lines.first_train(&link.line).map(|train| train.count), Some(1 + taken_first));
        }
    }

    proptest! {
        /// A link takes a train as it would its packets, one after another: idle, busy, full or losing, into a queue that fills, stays as
        /// it is or empties.
        #[test]
        fn a_train_is_as_good_as_its_packets(
            limit in 1u32..20,
            delay in prop_oneof![Just(0u64), 0u64..4_000],
            is_losing: bool,
            // So many microseconds after those before, such a gap apart, so many.
            coming in prop::collection::vec(
                (0u64..1_500, prop_oneof![Just(100u64), 1u64..110, 90u64..400], 1u32..25), 1..12,
            ),
        ) {
            let loss = if is_losing { LossSpec::Bernoulli { ratio: 0.05 } } else { LossSpec::None };
            let delay = Duration::from_micros(delay);
            let sizes = FlowSizes::new(vec![PacketSizes::new(100, 60, 40, false, 150)]);
            let outcomes = [true, false].map(|in_trains| {
                let (mut link, mut lines) = (link(limit, delay, loss.clone()), Lines::default());
                let (mut at, mut segment, mut dropped) = (Time::ZERO, 0, Vec::new());
                for (pause, gap, count) in &coming {
                    let mut train = train(segment, at + Duration::from_micros(*pause), *gap, *count);
                    (at, segment) = (train.last_arrival(), segment + count);
                    loop {
                        let mut gone = if in_trains { link.take_train(&train, &sizes[0], &mut lines) } else { 0 };
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
                (stands, queued, dropped, link.counters(Time::NEVER, &sizes, &lines), link.busy_until, link.next_arrival())
            });
            let [in_trains, one_by_one] = outcomes;
            prop_assert_eq!(in_trains, one_by_one);
        }
    }
}
