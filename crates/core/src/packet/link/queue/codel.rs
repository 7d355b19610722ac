//! Controlled delay, RFC 8289: drops packets from a queue whose delay has stayed above a target for an interval.
//!
//! [`Codel`] is the algorithm. [`CodelQueue`] holds the packets, and requests a decision about every packet that it dequeues.

use super::{Admission, AtService, Build, Coming, Decision, Dequeued, Discipline, Place};
use crate::packet::link::packet::Packet;
use crate::packet::link::packet_sizes::FlowSizes;
use crate::spec::QueueLimit;
use crate::units::{Duration, Time};
use std::collections::VecDeque;

crate::parameters! {
    /// The delay that is acceptable.
    pub struct Parameters {
        /// Acceptable standing wait.
        pub target: Duration = Duration::from_millis(5);
        /// The wait must stay above target this long.
        pub interval: Duration = Duration::from_millis(100);
        /// Marks ECN-capable packets instead of dropping them.
        pub ecn: bool = false;
    }
    check is_ordered
}

fn is_ordered(parameters: &Parameters) -> Result<(), String> {
    check_target(parameters.target, parameters.interval)
}

/// Refuses a target that is zero or above the interval.
///
/// # Errors
/// Names both values.
pub fn check_target(target: Duration, interval: Duration) -> Result<(), String> {
    if target == Duration::ZERO {
        return Err("target must be greater than zero".into());
    }
    if target > interval { Err(format!("target {target} must not exceed interval {interval}")) } else { Ok(()) }
}

impl Build for Parameters {
    fn build(&self, place: Place) -> Discipline {
        let codel = Codel::new(self.target, self.interval, self.ecn);
        Discipline::AtService(Box::new(CodelQueue { codel, limit: place.limit, waiting: VecDeque::new(), bytes: 0 }))
    }

    fn marks(&self) -> bool {
        self.ecn
    }
}

/// A queue whose packets the algorithm decides about when they are dequeued.
struct CodelQueue {
    codel: Codel,
    limit: QueueLimit,
    /// Waiting packets, and since when each waits.
    waiting: VecDeque<(Time, Packet)>,
    /// Bytes of the waiting packets.
    bytes: u64,
}

impl AtService for CodelQueue {
    fn admit(&mut self, packet: &mut Packet, coming: &Coming, sizes: &FlowSizes, _: &mut Vec<Packet>) -> Admission {
        let has_room = coming.has_room(self.limit, self.backlog(), sizes[packet.flow() as usize].of(packet));
        if has_room { Admission::Accepted } else { Admission::Refused }
    }

    fn enqueue(&mut self, packet: Packet, size: u32, coming: &Coming) {
        self.bytes += u64::from(size);
        self.waiting.push_back((coming.now, packet));
    }

    fn dequeue(&mut self, now: Time, sizes: &FlowSizes, dropped: &mut Vec<Packet>) -> Option<Dequeued> {
        let mtu = u64::from(sizes.largest());
        while let Some((since, packet)) = self.waiting.pop_front() {
            let sizes_of_flow = &sizes[packet.flow() as usize];
            self.bytes -= u64::from(sizes_of_flow.of(&packet));
            let ecn_capable = sizes_of_flow.may_be_marked(&packet);
            match self.codel.dequeue(now, now - since, self.bytes, mtu, ecn_capable) {
                Decision::Drop => dropped.push(packet),
                decision => return Some(Dequeued { packet, since, marks: decision == Decision::Mark }),
            }
        }
        None
    }

    fn backlog(&self) -> (u32, u64) {
        (self.waiting.len() as u32, self.bytes)
    }

    fn drain(&mut self) -> Vec<Packet> {
        self.codel.on_empty();
        self.bytes = 0;
        self.waiting.drain(..).map(|(_, packet)| packet).collect()
    }
}

/// The time after `from` of drop number `count` of an episode (RFC 8289, section 3.3).
pub fn control_law(from: Time, interval: Duration, count: u32) -> Time {
    from + Duration((interval.0 as f64 / f64::from(count).sqrt()).round() as u64)
}

/// The state of one queue; the names of its fields are those of RFC 8289, section 5.
#[derive(Debug, Clone)]
pub struct Codel {
    target: Duration,
    interval: Duration,
    ecn: bool,
    /// When the delay will have been above the target for an interval; `None` while it is below.
    first_above_time: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
    /// Whether the previous packet was dropped because of `drop_next`. The next drop is scheduled only if the packet behind it has
    /// waited too long too.
    after_drop: bool,
}

impl Codel {
    /// An empty queue with an acceptable standing delay, and the interval (about a round trip) in which the delay has
    /// to come below it. With `ecn`, ECN-capable packets are marked instead of dropped.
    pub fn new(target: Duration, interval: Duration, ecn: bool) -> Codel {
        Codel {
            target,
            interval,
            ecn,
            first_above_time: None,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
            after_drop: false,
        }
    }

    /// Packets of the queue were dropped for another reason. Linux's FQ-CoDel counts them, so that the next drop comes sooner (`fq_codel_drop`).
    pub fn count_other_drops(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    /// Resets the delay state, because the queue has no packet.
    pub fn on_empty(&mut self) {
        (self.first_above_time, self.dropping, self.after_drop) = (None, false, false);
    }

    /// Decides about a packet that is dequeued after a delay of `sojourn`, with `bytes_left` behind it. A queue of one `mtu` or less
    /// is not a standing queue, so a packet follows after every [`Decision::Drop`].
    pub fn dequeue(&mut self, now: Time, sojourn: Duration, bytes_left: u64, mtu: u64, ecn_capable: bool) -> Decision {
        let ok_to_drop = self.is_above_for_an_interval(now, sojourn, bytes_left, mtu);
        if std::mem::take(&mut self.after_drop) && ok_to_drop {
            self.drop_next = control_law(self.drop_next, self.interval, self.count);
        }
        self.dropping &= ok_to_drop;
        let marks = self.ecn && ecn_capable;
        if !ok_to_drop {
            Decision::Accept
        } else if !self.dropping {
            self.begin_episode(now);
            if marks { Decision::Mark } else { Decision::Drop }
        } else if now < self.drop_next {
            Decision::Accept
        } else {
            self.count = self.count.saturating_add(1);
            if marks {
                self.drop_next = control_law(self.drop_next, self.interval, self.count);
                return Decision::Mark;
            }
            self.after_drop = true;
            Decision::Drop
        }
    }

    fn is_above_for_an_interval(&mut self, now: Time, sojourn: Duration, bytes_left: u64, mtu: u64) -> bool {
        if sojourn < self.target || bytes_left <= mtu {
            self.first_above_time = None;
            return false;
        }
        let due = *self.first_above_time.get_or_insert(now + self.interval);
        now >= due
    }

    /// Begins an episode with its first drop. An episode soon after another starts with the drop rate that the other had reached
    /// (RFC 8289, section 5.5).
    fn begin_episode(&mut self, now: Time) {
        self.dropping = true;
        let delta = self.count - self.last_count;
        // Drops of a full queue may have raised the count before the first episode.
        let has_dropped = self.drop_next != Time::ZERO;
        let soon = has_dropped && now.since(self.drop_next) < self.interval * 16;
        self.count = if delta > 1 && soon { delta } else { 1 };
        self.drop_next = control_law(now, self.interval, self.count);
        self.last_count = self.count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const TARGET: Duration = Duration::from_millis(5);
    const INTERVAL: Duration = Duration::from_millis(100);
    const MTU: u64 = 1500;

    fn milliseconds(milliseconds: u64) -> Time {
        Time::ZERO + Duration::from_millis(milliseconds)
    }

    /// Takes a packet every millisecond from a standing queue with this delay; gives the times of `decision`.
    fn run(
        codel: &mut Codel,
        times: std::ops::Range<u64>,
        sojourn: Duration,
        capable: bool,
        decision: Decision,
    ) -> Vec<u64> {
        let mut found = Vec::new();
        for time in times {
            loop {
                let taken = codel.dequeue(milliseconds(time), sojourn, 100 * MTU, MTU, capable);
                if taken == decision {
                    found.push(time);
                }
                if taken != Decision::Drop {
                    break;
                }
            }
        }
        found
    }

    #[test]
    fn the_control_law_is_the_interval_over_the_root_of_the_count() {
        for (count, microseconds) in [(1, 100_000.0), (2, 70_710.678_118_655), (4, 50_000.0), (100, 10_000.0)] {
            let next = control_law(Time::ZERO, INTERVAL, count);
            assert!((next.0 as f64 / 1e6 - microseconds).abs() < 1e-6, "{count}: {next}");
        }
    }

    #[test]
    fn a_standing_queue_is_dropped_from_ever_faster() {
        let mut codel = Codel::new(TARGET, INTERVAL, false);
        let drops = run(&mut codel, 0..600, Duration::from_millis(20), false, Decision::Drop);
        // The first after an interval; then by 100/sqrt(1), 100/sqrt(2), ... ms, on the next whole millisecond.
        let mut expected = vec![100];
        let mut next = 100.0;
        for count in 1..10 {
            next += 100.0 / f64::from(count).sqrt();
            expected.push(f64::ceil(next) as u64);
        }
        expected.retain(|time| *time < 600);
        assert_eq!(drops, expected);
    }

    #[test]
    fn marks_come_when_drops_would() {
        let delay = Duration::from_millis(20);
        let drops = run(&mut Codel::new(TARGET, INTERVAL, true), 0..600, delay, false, Decision::Drop);
        let marks = run(&mut Codel::new(TARGET, INTERVAL, true), 0..600, delay, true, Decision::Mark);
        assert_eq!(marks, drops);
    }

    #[test]
    fn a_delay_below_the_target_ends_the_episode() {
        let mut codel = Codel::new(TARGET, INTERVAL, false);
        run(&mut codel, 0..350, Duration::from_millis(20), false, Decision::Drop);
        assert!(run(&mut codel, 350..360, Duration::from_millis(4), false, Decision::Drop).is_empty());
        // Above again from 360 on: an interval passes before the next drop.
        assert_eq!(run(&mut codel, 360..470, Duration::from_millis(20), false, Decision::Drop)[0], 460);
    }

    /// A link fails while its queue is above the target. Behind the failure an interval passes before the first drop.
    #[test]
    fn a_queue_that_a_failure_has_emptied_is_not_above_the_target() {
        let mut codel = Codel::new(TARGET, INTERVAL, false);
        run(&mut codel, 0..350, Duration::from_millis(20), false, Decision::Drop);
        codel.on_empty();
        assert_eq!(run(&mut codel, 400..510, Duration::from_millis(20), false, Decision::Drop)[0], 500);
    }

    #[test]
    fn an_episode_soon_after_another_resumes_its_rate() {
        let mut codel = Codel::new(TARGET, INTERVAL, false);
        let first = run(&mut codel, 0..600, Duration::from_millis(20), false, Decision::Drop);
        run(&mut codel, 600..610, Duration::from_millis(1), false, Decision::Drop);
        let second = run(&mut codel, 610..800, Duration::from_millis(20), false, Decision::Drop);
        // The first episode counted one per drop: the second begins with that count less the one it began with.
        let count = u32::try_from(first.len()).unwrap() - 1;
        assert_eq!(second[0], 710);
        assert_eq!(second[1], 710 + f64::ceil(100.0 / f64::from(count).sqrt()) as u64);
    }

    #[test]
    fn an_episode_long_after_another_begins_anew() {
        let mut codel = Codel::new(TARGET, INTERVAL, false);
        run(&mut codel, 0..600, Duration::from_millis(20), false, Decision::Drop);
        run(&mut codel, 600..3000, Duration::from_millis(1), false, Decision::Drop);
        assert_eq!(run(&mut codel, 3000..3201, Duration::from_millis(20), false, Decision::Drop), [3100, 3200]);
    }

    #[test]
    fn the_last_mtu_of_a_queue_is_never_dropped() {
        let mut codel = Codel::new(TARGET, INTERVAL, false);
        for time in 0..1000 {
            let decision = codel.dequeue(milliseconds(time), Duration::from_secs(1), MTU, MTU, false);
            assert_eq!(decision, Decision::Accept);
        }
    }

    #[test]
    fn drops_that_are_overdue_follow_each_other_in_one_call_of_the_link() {
        // A link that serves a packet every 400 ms: several drop times pass between two packets.
        let mut codel = Codel::new(TARGET, INTERVAL, false);
        let mut drops = Vec::new();
        for turn in 0..5 {
            let mut dropped = 0;
            while codel.dequeue(milliseconds(turn * 400), Duration::from_secs(1), 100 * MTU, MTU, false)
                == Decision::Drop
            {
                dropped += 1;
            }
            drops.push(dropped);
        }
        // At 400 the first, and the next is due at 500; from there on the sums of 100/sqrt(count), by brute force.
        let mut expected = vec![0, 1];
        let (mut next, mut count) = (500.0, 1u32);
        for turn in 2..5u32 {
            let mut dropped = 0;
            while next <= f64::from(turn) * 400.0 {
                dropped += 1;
                count += 1;
                next += 100.0 / f64::from(count).sqrt();
            }
            expected.push(dropped);
        }
        assert_eq!(drops, expected);
    }

    /// RFC 8289's own form of the algorithm (section 5), which owns its queue and takes packets from it in a loop.
    struct Rfc {
        queue: VecDeque<(u64, Time, u64)>,
        first_above_time: u64,
        drop_next: u64,
        count: u32,
        last_count: u32,
        dropping: bool,
    }

    impl Rfc {
        fn take(&mut self, now: u64) -> (Option<u64>, bool) {
            let Some((number, arrived, _)) = self.queue.pop_front() else {
                self.first_above_time = 0;
                return (None, false);
            };
            let bytes: u64 = self.queue.iter().map(|packet| packet.2).sum();
            if now - arrived.0 < TARGET.0 || bytes <= MTU {
                self.first_above_time = 0;
            } else if self.first_above_time == 0 {
                self.first_above_time = now + INTERVAL.0;
            } else {
                return (Some(number), now >= self.first_above_time);
            }
            (Some(number), false)
        }

        fn dequeue(&mut self, now: u64) -> Option<u64> {
            let law = |from: u64, count: u32| control_law(Time(from), INTERVAL, count).0;
            let (mut packet, mut ok_to_drop) = self.take(now);
            if self.dropping {
                self.dropping = ok_to_drop;
                while self.dropping && now >= self.drop_next {
                    self.count += 1;
                    (packet, ok_to_drop) = self.take(now);
                    self.dropping = ok_to_drop;
                    if ok_to_drop {
                        self.drop_next = law(self.drop_next, self.count);
                    }
                }
            } else if ok_to_drop {
                (packet, _) = self.take(now);
                self.dropping = true;
                let delta = self.count - self.last_count;
                let recent = (now as i64) - (self.drop_next as i64) < 16 * INTERVAL.0 as i64;
                self.count = if delta > 1 && recent { delta } else { 1 };
                self.drop_next = law(now, self.count);
                self.last_count = self.count;
            }
            packet
        }
    }

    /// The same, with a given [`Codel`] and a given queue.
    fn send_next(codel: &mut Codel, queue: &mut VecDeque<(u64, Time, u64)>, now: Time) -> Option<u64> {
        while let Some((number, arrived, _)) = queue.pop_front() {
            let bytes_left = queue.iter().map(|packet| packet.2).sum();
            if codel.dequeue(now, now - arrived, bytes_left, MTU, false) == Decision::Accept {
                return Some(number);
            }
        }
        None
    }

    proptest! {
        #[test]
        fn asked_packet_by_packet_it_sends_what_the_rfcs_loop_sends(
            // Per service: the time since the last (ms), the packets that arrive before it, and their size.
            services in proptest::collection::vec((1u64..60, 0u64..4, 40u64..=MTU), 1..600),
        ) {
            let mut rfc = Rfc {
                queue: VecDeque::new(), first_above_time: 0, drop_next: 0, count: 0, last_count: 0, dropping: false,
            };
            let mut codel = Codel::new(TARGET, INTERVAL, false);
            let mut queue = VecDeque::new();
            let (mut now, mut number) = (Time::ZERO, 0);
            for (gap, arrivals, bytes) in services {
                for _ in 0..arrivals {
                    queue.push_back((number, now, bytes));
                    rfc.queue.push_back((number, now, bytes));
                    number += 1;
                }
                now += Duration::from_millis(gap);
                if !queue.is_empty() {
                    prop_assert_eq!(send_next(&mut codel, &mut queue, now), rfc.dequeue(now.0));
                    prop_assert_eq!(codel.drop_next.0, rfc.drop_next);
                }
            }
        }

        #[test]
        fn nothing_is_dropped_below_the_target_and_a_drop_leaves_a_next_packet(
            packets in proptest::collection::vec(
                (0u64..50_000_000_000, 0u64..50, 0u64..6000, any::<bool>()), 1..400,
            ),
            ecn in any::<bool>(),
        ) {
            let mut codel = Codel::new(TARGET, INTERVAL, ecn);
            let mut now = Time::ZERO;
            for (gap, sojourn, bytes_left, capable) in packets {
                now += Duration(gap);
                let sojourn = Duration::from_millis(sojourn);
                let before = codel.drop_next;
                let decision = codel.dequeue(now, sojourn, bytes_left, MTU, capable);
                prop_assert!(codel.drop_next >= before);
                if decision != Decision::Accept {
                    prop_assert!(sojourn >= TARGET && bytes_left > MTU);
                    prop_assert_eq!(decision == Decision::Mark, ecn && capable);
                }
            }
        }
    }
}
