//! Random early detection (Floyd and Jacobson 1993) with the gentle slope above the maximum threshold (Floyd 2000).

use super::{Arrival, Build, Decision, Discipline, OnArrival, Place};
use crate::parameters::Share;
use crate::rng::Stream;

crate::parameters! {
    /// The thresholds.
    pub struct Parameters {
        /// Average queue below which nothing is dropped, packets.
        pub minimum: f64 = 5.0, in 0.0..=u32::MAX;
        /// Average queue at which `probability` is reached, packets; from here on drops rise faster.
        pub maximum: f64 = 15.0, in 0.0..=u32::MAX;
        /// Probability of a drop at the maximum.
        pub probability: Share = Share(0.1), in 0.0..=1.0;
        /// Weight of a new queue length in the average.
        pub weight: Share = Share(0.002), in 0.0..=1.0;
        /// Marks ECN-capable packets instead of dropping them.
        pub ecn: bool = false;
    }
    check is_ordered
}

fn is_ordered(parameters: &Parameters) -> Result<(), String> {
    let Parameters { minimum, maximum, weight, .. } = *parameters;
    if minimum >= maximum {
        return Err(format!("minimum {minimum} must be below maximum {maximum}"));
    }
    if weight.0 == 0.0 { Err("weight must be greater than 0".into()) } else { Ok(()) }
}

impl Build for Parameters {
    fn build(&self, place: Place) -> Discipline {
        Discipline::OnArrival(Box::new(Red::new(*self, place.draws)))
    }

    fn marks(&self) -> bool {
        self.ecn
    }
}

/// The average after a packet found `queue` packets (section 4 of the paper).
pub fn average_after_arrival(average: f64, weight: f64, queue: u32) -> f64 {
    average + weight * (f64::from(queue) - average)
}

/// The average after an idle time in which `packets` packets could have been transmitted: it falls as if each of them had found an empty queue
/// (section 4 of the paper).
pub fn average_after_idle(average: f64, weight: f64, packets: f64) -> f64 {
    average * libm::pow(1.0 - weight, packets)
}

/// The drop probability at an average queue before it is made uniform: from 0 at `minimum` to `probability` at
/// `maximum`, from there to 1 at twice `maximum` (gentle).
pub fn initial_probability(settings: &Parameters, average: f64) -> f64 {
    let Parameters { minimum, maximum, probability: Share(probability), .. } = *settings;
    if average < minimum {
        0.0
    } else if average < maximum {
        probability * (average - minimum) / (maximum - minimum)
    } else if average < 2.0 * maximum {
        probability + (1.0 - probability) * (average - maximum) / maximum
    } else {
        1.0
    }
}

/// The drop probability of a packet, when `passed` packets have passed since the last drop. It makes the distance between drops uniform on 1 to
/// 1/`initial` (section 7 of the paper, method 2).
pub fn uniform_probability(initial: f64, passed: u32) -> f64 {
    let left = 1.0 - f64::from(passed) * initial;
    if left <= initial { 1.0 } else { initial / left }
}

/// The state of one queue.
#[derive(Debug, Clone)]
pub struct Red {
    settings: Parameters,
    stream: Stream,
    /// Average queue, packets.
    average: f64,
    /// Packets since the last drop or mark, or since the average rose above the minimum.
    passed: u32,
    arrivals: u64,
    /// The largest packet so far, bytes. It is used as the size of a typical packet.
    largest: u64,
}

impl Red {
    /// An empty queue. The stream is the link's, for [`crate::rng::Purpose::QueueManagement`].
    pub fn new(settings: Parameters, stream: Stream) -> Red {
        Red { settings, stream, average: 0.0, passed: 0, arrivals: 0, largest: 0 }
    }
}

impl OnArrival for Red {
    /// Every packet counts in the average, even one without room (section 4 of the paper). A drop for lack of room restarts the distance to the next
    /// drop, as in ns-2.
    ///
    /// An ECN-capable packet is marked where another is dropped at random; from twice the maximum on it is dropped as
    /// well (RFC 3168, section 7: packets beyond an upper threshold should be dropped).
    fn decide(&mut self, arrival: &Arrival) -> Decision {
        let Arrival { now, packets, has_room, idle_since, size, rate, ecn_capable } = *arrival;
        let weight = self.settings.weight.0;
        self.largest = self.largest.max(size);
        self.average = match idle_since {
            Some(since) => {
                let packet_time = rate.serialization_delay(self.largest);
                let missed = now.since(since).0 as f64 / packet_time.0.max(1) as f64;
                average_after_idle(self.average, weight, missed)
            }
            None => average_after_arrival(self.average, weight, packets),
        };
        self.arrivals += 1;
        if !has_room {
            self.passed = 0;
            return Decision::Drop;
        }
        if self.average < self.settings.minimum {
            self.passed = 0;
            return Decision::Accept;
        }
        let initial = initial_probability(&self.settings, self.average);
        if self.stream.uniform(self.arrivals) >= uniform_probability(initial, self.passed) {
            self.passed = self.passed.saturating_add(1);
            return Decision::Accept;
        }
        self.passed = 0;
        if self.settings.ecn && ecn_capable && initial < 1.0 { Decision::Mark } else { Decision::Drop }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;
    use crate::units::{Duration, Rate, Time};
    use proptest::prelude::*;

    const SETTINGS: Parameters =
        Parameters { minimum: 5.0, maximum: 15.0, probability: Share(0.1), weight: Share(0.002), ecn: true };
    /// At a link that takes 8 us for it.
    const ARRIVAL: Arrival = Arrival {
        now: Time::ZERO,
        packets: 0,
        has_room: true,
        idle_since: None,
        size: 1500,
        rate: Rate(1_500_000_000),
        ecn_capable: false,
    };

    fn queue(settings: Parameters) -> Red {
        Red::new(settings, Stream::new(1, Purpose::QueueManagement, 1))
    }

    /// A queue whose average is the queue that the last packet found.
    fn instantaneous(ecn: bool) -> Red {
        queue(Parameters { weight: Share(1.0), ecn, ..SETTINGS })
    }

    fn at(red: &mut Red, packets: u32, ecn_capable: bool) -> Decision {
        red.decide(&Arrival { packets, ecn_capable, ..ARRIVAL })
    }

    #[test]
    fn the_average_approaches_a_constant_queue_geometrically() {
        let mut red = queue(SETTINGS);
        for _ in 0..500 {
            at(&mut red, 4, false);
        }
        // 4 (1 - 0.998^500)
        assert!((red.average - 2.529_955).abs() < 1e-6, "{}", red.average);
    }

    #[test]
    fn a_queue_that_grows_by_one_has_the_average_of_the_paper() {
        // Floyd and Jacobson, section 6.1: L + 1 + ((1 - w)^(L + 1) - 1) / w after L packets that find 1 to L.
        let mut red = queue(SETTINGS);
        for packets in 1..=50 {
            at(&mut red, packets, false);
        }
        let paper = 51.0 + (0.998f64.powi(51) - 1.0) / 0.002;
        assert!((red.average - paper).abs() < 1e-9, "{} {paper}", red.average);
    }

    #[test]
    fn idle_time_counts_as_packets_that_found_nothing() {
        let mut red = queue(SETTINGS);
        for _ in 0..500 {
            at(&mut red, 4, false);
        }
        let before = red.average;
        let now = Time::ZERO + Duration::from_micros(8) * 300;
        assert_eq!(red.decide(&Arrival { now, idle_since: Some(Time::ZERO), ..ARRIVAL }), Decision::Accept);
        let expected = (0..300).fold(before, |average, _| average_after_arrival(average, 0.002, 0));
        assert!((red.average - expected).abs() < 1e-9);
    }

    /// 10 Mbit/s take 1.2 ms for 1500 bytes: 12 ms of silence are ten such packets, also when an ACK of 40 bytes ends it.
    #[test]
    fn idle_time_counts_full_packets_whatever_ends_it() {
        let mut red = queue(SETTINGS);
        let rate = Rate::from_bps(1e7);
        let arrival = Arrival { packets: 40, rate, ..ARRIVAL };
        for _ in 0..500 {
            red.decide(&arrival);
        }
        let before = red.average;
        let now = Time::ZERO + Duration::from_millis(12);
        red.decide(&Arrival { now, packets: 0, idle_since: Some(Time::ZERO), size: 40, ..arrival });
        assert!((red.average - before * 0.998f64.powi(10)).abs() < 1e-9, "{} after {before}", red.average);
    }

    /// Section 4 of the paper: "for each packet arrival calculate the new average queue size".
    #[test]
    fn packets_without_room_count_in_the_average() {
        let mut red = queue(SETTINGS);
        for number in 0..500 {
            red.decide(&Arrival { packets: 4, has_room: number % 2 == 0, ..ARRIVAL });
        }
        assert!((red.average - 4.0 * (1.0 - 0.998f64.powi(500))).abs() < 1e-9, "{}", red.average);
    }

    #[test]
    fn probability_is_zero_then_linear_then_gentle_then_one() {
        let at = |average| initial_probability(&SETTINGS, average);
        for (average, expected) in [(4.9, 0.0), (5.0, 0.0), (10.0, 0.05), (15.0, 0.1), (22.5, 0.55), (30.0, 1.0)] {
            assert!((at(average) - expected).abs() < 1e-12, "{average}: {}", at(average));
        }
    }

    #[test]
    fn the_distance_between_drops_is_uniform() {
        // A constant average of 10 packets: initial probability 0.05, distances 1 to 20 with 1/20 each.
        let mut red = instantaneous(false);
        let drops: Vec<usize> = (0..400_000).filter(|_| at(&mut red, 10, false) == Decision::Drop).collect();
        let mut counts = [0u32; 22];
        for pair in drops.windows(2) {
            counts[pair[1] - pair[0]] += 1;
        }
        let total = drops.len() as f64 - 1.0;
        assert_eq!(counts[0] + counts[21], 0, "no drop follows more than 20 packets later");
        for (distance, count) in counts.iter().enumerate().take(21).skip(1) {
            let share = f64::from(*count) / total;
            assert!((share - 0.05).abs() < 0.007, "distance {distance}: {share}");
        }
    }

    #[test]
    fn ecn_capable_packets_are_marked_up_to_twice_the_maximum_and_dropped_beyond() {
        let mut red = instantaneous(true);
        let middle: Vec<Decision> = (0..1000).map(|_| at(&mut red, 20, true)).collect();
        assert!(middle.contains(&Decision::Mark) && !middle.contains(&Decision::Drop));
        assert!((0..100).all(|_| at(&mut red, 30, true) == Decision::Drop));
        let incapable: Vec<Decision> = (0..1000).map(|_| at(&mut red, 20, false)).collect();
        assert!(incapable.contains(&Decision::Drop) && !incapable.contains(&Decision::Mark));
    }

    proptest! {
        #[test]
        fn the_average_stays_within_what_was_seen(
            weight in 0.0001f64..=1.0,
            arrivals in proptest::collection::vec((0u32..100, 0u64..1 << 40, any::<bool>()), 1..300),
        ) {
            let mut red = queue(Parameters { weight: Share(weight), ..SETTINGS });
            let mut now = Time::ZERO;
            let mut greatest = 0;
            for (packets, gap, capable) in arrivals {
                let idle_since = (packets == 0).then_some(now);
                now += Duration(gap);
                greatest = greatest.max(packets);
                let decision = red.decide(&Arrival { now, packets, idle_since, ecn_capable: capable, ..ARRIVAL });
                prop_assert!(red.average >= 0.0 && red.average <= f64::from(greatest) + 1e-9);
                if red.average < SETTINGS.minimum {
                    prop_assert_eq!(decision, Decision::Accept);
                }
                if red.average >= 2.0 * SETTINGS.maximum {
                    prop_assert_eq!(decision, Decision::Drop);
                }
            }
        }
    }
}
