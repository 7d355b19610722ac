//! Links that vary, against worked numbers, naive queues, closed forms and links of fixed rate and delay.

use super::random_run::{MS, build, rate_schedule, run_spec};
use crate::packet::Simulation;
use crate::packet::link::fifo::FifoStore;
use crate::packet::link::packet::Packet;
use crate::packet::link::packet_sizes::{FlowSizes, IpEcn, PacketSizes};
use crate::packet::link::queue::FlowKey;
use crate::packet::link::varying::Schedules;
use crate::packet::link::{Link, Offer};
use crate::spec::{LinkSpec, ScheduleSpec};
use crate::units::Time;
use proptest::prelude::*;
use serde_json::{Value, json};

const MICRO: u64 = 1_000_000;

/// When each packet is offered, picoseconds, and its size.
type Coming = [(u64, u16)];

/// A link with a rate of 8 Mbit/s, a delay of 3 ms and a queue of `limit` packets, with `changes` to these values; and the sizes of the packets.
fn link(changes: &Value, schedules: &Value, limit: u32, coming: &Coming) -> (Link, FlowSizes) {
    let mut spec = json!({"src": 0, "dst": 1, "rate": 8_000_000, "delay": 3 * MS, "cost": 1.0, "loss": null,
        "queue": {"discipline": "drop-tail", "limit": {"packets": limit}}});
    spec.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    let spec: LinkSpec = serde_json::from_value(spec).unwrap();
    let schedules: Vec<ScheduleSpec> = serde_json::from_value(schedules.clone()).unwrap();
    schedules.iter().for_each(|schedule| schedule.check().unwrap());
    let sizes = coming.iter().map(|(_, size)| PacketSizes::new(*size, *size, 40, IpEcn::NotEct, u32::MAX));
    // Flows of equal sizes share an entry, so that each packet is a flow of its own.
    (Link::new(&spec, &Schedules::new(&schedules), 1, 0), FlowSizes::new(sizes.collect()))
}

/// Sends packets through a [`link`]. Returns the arrivals in their order, each with its time, and the dropped packets.
fn through(changes: &Value, schedules: &Value, limit: u32, coming: &Coming) -> (Vec<(usize, u64)>, Vec<usize>) {
    let (mut link, sizes) = link(changes, schedules, limit, coming);
    let mut fifos = FifoStore::default();
    let (mut arrivals, mut dropped) = (Vec::new(), Vec::new());
    let mut deliver = |link: &mut Link, fifos: &mut FifoStore, until: Time| {
        while link.next_event() <= until && link.next_event() < Time::NEVER {
            let (now, packet) = (link.next_event(), link.on_arrival(&sizes, fifos));
            assert_eq!(packet.arrival(), now);
            arrivals.push((packet.flow() as usize, now.0));
        }
    };
    for (index, (at, _)) in coming.iter().enumerate() {
        deliver(&mut link, &mut fifos, Time(*at));
        let packet = Packet::new(index as u32, 0, 0, 0);
        if link.offer_to_any(Time(*at), packet, FlowKey::of(&packet), &sizes, &mut fifos, &mut Vec::new())
            == Offer::Dropped
        {
            dropped.push(index);
        }
    }
    deliver(&mut link, &mut fifos, Time::NEVER);
    (arrivals, dropped)
}

/// The arrivals of packets that are all offered at the start.
fn at_once(changes: &Value, schedules: &Value, sizes: &[u16]) -> Vec<u64> {
    let coming: Vec<(u64, u16)> = sizes.iter().map(|size| (0, *size)).collect();
    through(changes, schedules, 1000, &coming).0.into_iter().map(|(_, at)| at).collect()
}

#[test]
fn a_packet_goes_on_at_the_new_rate() {
    // 1 Mbit/s for 10 ms, nothing for 5 ms, then 2 Mbit/s.
    let schedules =
        json!([{"kind": "steps", "at": [0, 10 * MS, 15 * MS], "values": [1_000_000, 0, 2_000_000], "repeat": null}]);
    let changes = json!({"rate_schedule": 0});
    // 10 of 20 kbit leave in 10 ms, 10 more by 20 ms; the next 8 kbit by 24 ms.
    assert_eq!(at_once(&changes, &schedules, &[2500, 1000]), [23 * MS, 27 * MS]);
    let repeated = json!([{"kind": "steps", "at": [0, 2 * MS], "values": [1_000_000, 0], "repeat": 5 * MS}]);
    // 2 kbit in each 5 ms: 8 kbit have left by 17 ms.
    assert_eq!(at_once(&changes, &repeated, &[1000]), [20 * MS]);
}

#[test]
fn a_delay_that_falls_lets_no_packet_overtake() {
    let schedules = json!([{"kind": "steps", "at": [0, 2 * MS], "values": [20 * MS, 5 * MS], "repeat": null}]);
    let coming: Vec<(u64, u16)> = (0..20).map(|packet| (packet * MS, 1000)).collect();
    let (arrivals, _) = through(&json!({"delay_schedule": 0}), &schedules, 1000, &coming);
    // The first packet departs after 1 ms and arrives after 21. Packets that depart by 16 ms arrive right after it, a picosecond apart.
    assert!(arrivals.iter().map(|(packet, _)| *packet).eq(0..20));
    let expected =
        (1..=20).map(|departure| if departure <= 16 { 21 * MS + departure - 1 } else { (departure + 5) * MS });
    assert!(arrivals.iter().map(|(_, at)| *at).eq(expected), "{arrivals:?}");
    let jitter = json!({"delay_schedule": 0, "jitter": {"distribution": "uniform", "up_to": 0, "reorder": true}});
    let (arrivals, _) = through(&jitter, &schedules, 1000, &coming);
    assert_eq!(arrivals[0], (1, 7 * MS), "with reordering, the second overtakes the first");
}

#[test]
fn a_linear_delay_is_on_the_line_between_its_rows() {
    // A packet a millisecond departs after 1, 2, ... ms. Up to 4 ms the delay grows by a half of each millisecond; then it falls by two thirds.
    let schedule =
        json!({"kind": "steps", "at": [0, 4 * MS], "values": [20 * MS, 22 * MS], "repeat": 7 * MS, "linear": true});
    let coming: Vec<(u64, u16)> = (0..9).map(|packet| (packet * MS, 1000)).collect();
    let arrivals = |schedule: &Value| -> Vec<u64> {
        let arrivals = through(&json!({"delay_schedule": 0}), &json!([schedule]), 1000, &coming).0;
        arrivals.into_iter().map(|(_, at)| at).collect()
    };
    let delays = [20_500, 21_000, 21_500, 22_000, 21_333, 20_666, 20_000, 20_500, 21_000];
    let microseconds = |(departure, delay): (u64, u64)| departure * 1000 + delay;
    let expected: Vec<u64> = (1..).zip(delays).map(microseconds).collect();
    assert_eq!(arrivals(&schedule).iter().map(|at| at / MICRO).collect::<Vec<_>>(), expected);
    // Without repetition the last row holds.
    let once =
        json!({"kind": "steps", "at": [0, 4 * MS], "values": [20 * MS, 22 * MS], "repeat": null, "linear": true});
    assert_eq!(arrivals(&once)[4..], (5..10).map(|departure| (departure + 22) * MS).collect::<Vec<_>>());
}

#[test]
fn an_opportunity_carries_1500_bytes_and_is_lost_without_a_packet() {
    let schedules = json!([{"kind": "opportunities", "at": [MS, MS, 3 * MS], "bytes": 1500, "repeat": 4 * MS}]);
    let changes = json!({"rate_schedule": 0});
    // At 1 ms 3000 bytes leave: all of the first, 800 and 700 of the third, whose other 300 leave at 3 ms with the fourth. The fifth waits.
    let expected = [MS, MS, 3 * MS, 3 * MS, 5 * MS].map(|departure| departure + 3 * MS);
    let arrivals = at_once(&changes, &schedules, &[1500, 800, 1000, 1000, 500]);
    assert_eq!(arrivals, [expected[0], expected[1] + 1, expected[2], expected[3] + 1, expected[4]]);
    // Packets that arrive at 3.5 ms have missed the opportunity at 3 ms.
    let (arrivals, _) =
        through(&changes, &schedules, 10, &[(3 * MS + MS / 2, 1000), (3 * MS + MS / 2, 1000), (5 * MS, 1000)]);
    assert_eq!(arrivals, [(0, 8 * MS), (1, 8 * MS + 1), (2, 8 * MS + 2)]);
}

#[test]
fn a_trace_of_even_spacing_is_a_link_of_constant_rate() {
    // 1500 bytes every 1.5 ms are 8 Mbit/s. The queue is full at times, and never empty.
    let schedules = json!([{"kind": "opportunities", "at": [1500 * MICRO], "bytes": 1500, "repeat": 1500 * MICRO}]);
    let coming: Vec<(u64, u16)> = (0..300).map(|packet| (packet / 30 * 15 * MS, 1500)).collect();
    let traced = through(&json!({"rate_schedule": 0}), &schedules, 25, &coming);
    let constant = through(&json!({}), &json!([]), 25, &coming);
    assert!(!constant.1.is_empty(), "some are dropped");
    assert_eq!(traced, constant);
}

/// Time in which a link without delay was busy, and time in which it could be busy, between readings at these instants, picoseconds. As in a run, a
/// reading comes before the packets of the same instant. The mean rate of the link is 8 Mbit/s.
fn read_at(schedules: &Value, coming: &Coming, readings: &[u64]) -> Vec<(u64, u64)> {
    let (mut link, sizes) = link(&json!({"delay": 0, "rate_schedule": 0}), schedules, 1000, coming);
    let mut fifos = FifoStore::default();
    let mut coming = coming.iter().enumerate().peekable();
    let (mut busy, mut possible) = (0, 0);
    let mut read = Vec::new();
    for reading in readings {
        while let Some((index, (at, _))) = coming.next_if(|(_, (at, _))| at < reading) {
            while link.next_event() <= Time(*at) {
                link.on_arrival(&sizes, &mut fifos);
            }
            let packet = Packet::new(index as u32, 0, 0, 0);
            link.offer_to_any(Time(*at), packet, FlowKey::of(&packet), &sizes, &mut fifos, &mut Vec::new());
        }
        let counters = link.counters(Time(*reading), &sizes, &fifos);
        read.push((counters.busy.0 - busy, counters.possible.0 - possible));
        (busy, possible) = (counters.busy.0, counters.possible.0);
    }
    read
}

#[test]
fn an_opportunity_at_the_instant_of_a_reading_counts_after_it() {
    // 1500 bytes every 1.5 ms, in one packet. The opportunity at 3 ms carries the second packet, which comes at that instant.
    let schedules = json!([{"kind": "opportunities", "at": [1500 * MICRO], "bytes": 1500, "repeat": 1500 * MICRO}]);
    let each = 1500 * MICRO;
    let read = read_at(&schedules, &[(MS, 1500), (3 * MS, 1500)], &[2 * MS, 3 * MS, 4 * MS, 5 * MS]);
    assert_eq!(read, [(each, each), (0, 0), (each, each), (0, each)]);
}

/// The share of packets that arrive after a later one (RFC 4737 section 3), sent every 0.1 ms with uniform jitter.
fn reordered(up_to: u64) -> f64 {
    let jitter =
        json!({"rate": 8_000_000_000_u64, "jitter": {"distribution": "uniform", "up_to": up_to, "reorder": true}});
    let coming: Vec<(u64, u16)> = (0..100_000).map(|packet| (packet * MS / 10, 100)).collect();
    let (mut next, mut count) = (0, 0);
    for (packet, _) in through(&jitter, &json!([]), 1000, &coming).0 {
        count += usize::from(packet < next);
        next = next.max(packet);
    }
    count as f64 / coming.len() as f64
}

#[test]
fn uniform_jitter_reorders_as_often_as_its_closed_form() {
    // A packet with jitter u is in order if no later packet arrives before it. With jitter up to n spacings, the mean over u of the product of 1 - (u
    // - k) / n over all k < u is 7/8 for n = 2 and 61/81 for n = 3.
    assert_eq!(reordered(MS / 10), 0.0);
    for (spacings, expected) in [(2, 1.0 / 8.0), (3, 20.0 / 81.0)] {
        let ratio = reordered(spacings * MS / 10);
        // Five standard errors of independent packets, doubled because neighbours depend on each other.
        assert!((ratio - expected).abs() < 0.014, "{ratio} of {expected}");
    }
}

/// The departures of mahimahi's link: at each opportunity the queue's packets leave, as far as 1500 bytes suffice.
fn mahimahi(at: &[u64], repeat: u64, limit: usize, coming: &Coming) -> (Vec<(usize, u64)>, Vec<usize>) {
    let (mut queue, mut departures, mut dropped) = (std::collections::VecDeque::new(), Vec::new(), Vec::new());
    let mut coming = coming.iter().enumerate().peekable();
    for period in 0.. {
        for opportunity in at.iter().map(|at| period * repeat + at) {
            while let Some((index, (_, size))) = coming.next_if(|(_, (at, _))| *at <= opportunity) {
                if queue.len() < limit { queue.push_back((index, *size)) } else { dropped.push(index) }
            }
            let mut bytes = 1500_u16;
            while let Some((index, left)) = queue.front_mut()
                && bytes > 0
            {
                let sent = bytes.min(*left);
                (bytes, *left) = (bytes - sent, *left - sent);
                if *left == 0 {
                    departures.push((*index, opportunity));
                    queue.pop_front();
                }
            }
        }
        if coming.peek().is_none() && queue.is_empty() {
            break;
        }
    }
    (departures, dropped)
}

proptest! {
    /// Packets come between opportunities, which are at whole milliseconds.
    #[test]
    fn a_trace_is_mahimahi_s_link(
        gaps in prop::collection::vec(0u64..5, 1..12), more in 1u64..5, limit in 1u32..8,
        coming in prop::collection::vec((0u64..4, 40u16..4000), 1..80),
    ) {
        let mut now = 0;
        let at: Vec<u64> = gaps.iter().map(|gap| { now += gap * MS; now }).collect();
        let repeat = now + more * MS;
        let mut time = MS / 3;
        let coming: Vec<(u64, u16)> = coming.iter().map(|(gap, size)| { time += gap * MS; (time, *size) }).collect();
        let (expected, expected_dropped) = mahimahi(&at, repeat, limit as usize, &coming);
        let schedules = json!([{"kind": "opportunities", "at": at, "bytes": 1500, "repeat": repeat}]);
        let (arrivals, dropped) = through(&json!({"rate_schedule": 0}), &schedules, limit, &coming);
        prop_assert_eq!(dropped, expected_dropped);
        // Packets that leave together arrive some picoseconds apart.
        let departures: Vec<(usize, u64)> = arrivals.iter().map(|(index, at)| (*index, at / MICRO * MICRO - 3 * MS)).collect();
        prop_assert_eq!(departures, expected);
    }

    /// Packets and readings come at whole milliseconds, together with opportunities. No interval is busier than possible, busy time never decreases,
    /// and all intervals together have transmitted every packet.
    #[test]
    fn no_interval_is_busier_than_possible(
        schedule in rate_schedule(), gaps in prop::collection::vec(1u64..5, 1..60),
        coming in prop::collection::vec((0u64..4, 40u16..4000), 1..80), late in prop::option::of(1u64..MS),
    ) {
        let mut time = late.unwrap_or(0);
        let coming: Vec<(u64, u16)> = coming.iter().map(|(gap, size)| { time += gap * MS; (time, *size) }).collect();
        let mut reading = 0;
        let mut readings: Vec<u64> = gaps.iter().map(|gap| { reading += gap * MS; reading }).collect();
        readings.push(1_000_000 * MS);
        let read = read_at(&json!([schedule]), &coming, &readings);
        for (busy, possible) in &read {
            prop_assert!(busy <= possible, "{busy} of {possible}");
        }
        let bits: u64 = coming.iter().map(|(_, size)| u64::from(*size) * 8).sum();
        let busy: u64 = read.iter().map(|(busy, _)| busy).sum();
        // A packet departs at a whole picosecond, in which the fastest rate does twice the mean. Three readings are rounded.
        let error = busy.abs_diff(bits * MICRO / 8);
        prop_assert!(error <= 2 * coming.len() as u64 + 3, "{error} ps");
    }

    /// A packet departs when the rate has summed up to its bytes and those before it. Each packet before it has cost a picosecond at most, because it
    /// departs at a whole one.
    #[test]
    fn a_rate_in_steps_transmits_its_integral(
        steps in prop::collection::vec((1u64..20 * MS, prop_oneof![1 => Just(0u64), 3 => 1000u64..20_000_000]), 0..5),
        last in 1000u64..20_000_000, more in prop::option::of(1u64..20 * MS),
        sizes in prop::collection::vec(1u16..3000, 1..20),
    ) {
        let (mut at, mut values) = (vec![0], Vec::new());
        for (gap, value) in steps {
            at.push(at[at.len() - 1] + gap);
            values.push(value);
        }
        values.push(last);
        let repeat = more.map(|more| at[at.len() - 1] + more);
        let integral = |until: u64| {
            let (mut sum, mut begin, mut step) = (0_u128, 0, 0);
            while begin < until {
                let period = repeat.map_or(0, |repeat| begin / repeat * repeat);
                let end = at.get(step + 1).copied().or(repeat).map_or(until, |end| (period + end).min(until));
                sum += u128::from(end - begin) * u128::from(values[step]);
                (begin, step) = (end, (step + 1) % at.len());
            }
            sum
        };
        let schedules = json!([{"kind": "steps", "at": at, "values": values, "repeat": repeat}]);
        let arrivals = at_once(&json!({"rate_schedule": 0}), &schedules, &sizes);
        let fastest = values.iter().max().copied().unwrap_or(0);
        let mut bits = 0;
        for (arrival, (size, place)) in arrivals.iter().zip(sizes.iter().zip(1..)) {
            bits += u128::from(*size) * 8_000_000_000_000;
            let departure = arrival - 3 * MS;
            prop_assert!(integral(departure) >= bits, "too early");
            prop_assert!(integral(departure - 1) < bits + place * u128::from(fastest), "too late");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    /// A schedule of one value, and jitter of none, change no result. Only the time of an idle network is not known.
    #[test]
    fn a_schedule_of_one_value_is_a_fixed_link(spec in run_spec()) {
        let fixed = super::random_run::without_variations(spec);
        let mut varying = fixed.clone();
        let links = fixed["links"].as_array().unwrap();
        let constant = |value: &Value| json!({"kind": "steps", "at": [0], "values": [value], "repeat": null});
        varying["schedules"] = links.iter().flat_map(|link| [constant(&link["rate"]), constant(&link["delay"])]).collect();
        for (index, link) in varying["links"].as_array_mut().unwrap().iter_mut().enumerate() {
            (link["rate_schedule"], link["delay_schedule"]) = (json!(2 * index), json!(2 * index + 1));
            link["jitter"] = json!({"distribution": "uniform", "up_to": 0, "reorder": index % 2 == 0});
        }
        let (mut fixed, mut varying): (Simulation, Simulation) = (build(&fixed), build(&varying));
        while fixed.advance(1_000_000) {}
        while varying.advance(1_000_000) {}
        let tables = |run: &mut Simulation| {
            let mut flows = run.flow_table();
            flows.columns.retain(|(column, _)| !["idle_fct_s", "slowdown"].contains(column));
            [flows, run.link_table(), run.take_flow_series(), run.take_link_series()]
        };
        for (fixed, varying) in tables(&mut fixed).iter().zip(&tables(&mut varying)) {
            for ((column, fixed), (_, varying)) in fixed.columns.iter().zip(&varying.columns) {
                prop_assert_eq!(fixed.bits(), varying.bits(), "{}", column);
            }
        }
    }
}

/// 8 Mbit/s fill a bucket of 2000 bytes; the line takes 0.1 ms for a packet of 1000. With tbf two packets leave at once, and the third when the bucket has
/// its bytes, 1 ms after the start. With htb it leaves at once too, because the bucket is not below zero, and the fourth once it is no longer.
/// As in Linux, the bucket is full at the start of the run.
#[test]
fn a_shaper_lets_its_burst_pass_at_the_rate_of_the_line() {
    let tenth = MS / 10;
    for (kind, begins) in [("htb", [0, 1, 2, 10, 20]), ("tbf", [0, 1, 10, 20, 30])] {
        let changes = json!({"shaper": {"kind": kind, "burst": 2000, "line": 80_000_000}});
        for start in [0, 1000 * MS] {
            let (arrivals, _) = through(&changes, &json!([]), 1000, &[(start, 1000); 5]);
            let expected = begins.map(|begin| start + (begin + 1) * tenth + 3 * MS);
            assert_eq!(arrivals.iter().map(|(_, at)| *at).collect::<Vec<_>>(), expected, "{kind} at {start}");
        }
    }
}

proptest! {
    /// A bucket that holds nothing, in front of a line of the same rate, changes nothing.
    #[test]
    fn a_shaper_without_burst_is_a_plain_link(gaps in prop::collection::vec((0u64..3 * MS, 40u16..1500), 1..100)) {
        let mut at = 0;
        let coming: Vec<(u64, u16)> = gaps.into_iter().map(|(gap, size)| { at += gap; (at, size) }).collect();
        let shaped = json!({"shaper": {"kind": "htb", "burst": 0, "line": 8_000_000}});
        prop_assert_eq!(through(&shaped, &json!([]), 20, &coming), through(&json!({}), &json!([]), 20, &coming));
    }
    /// A naive token bucket, in whole tokens of a bit: at 8 Mbit/s a microsecond fills eight.
    #[test]
    fn a_shaper_is_a_token_bucket(
        is_tbf in any::<bool>(),
        burst in 1500u64..6000,
        gaps in prop::collection::vec((prop_oneof![Just(0), 0u64..3000], 40u16..1500), 1..100),
    ) {
        let mut at = 0;
        let coming: Vec<(u64, u16)> = gaps.into_iter().map(|(gap, size)| { at += gap * MICRO; (at, size) }).collect();
        let (mut tokens, mut filled, mut free) = (8 * burst as i64, 0, 0);
        let mut expected = Vec::new();
        for (at, size) in &coming {
            let (at, bits) = ((at / MICRO) as i64, 8 * i64::from(*size));
            if at > filled {
                tokens = (tokens + 8 * (at - filled)).min(8 * burst as i64);
                filled = at;
            }
            let missing = (if is_tbf { bits } else { 0 } - tokens).max(0);
            // The line takes a hundredth of a microsecond for a byte.
            let begin = (filled * 100).max(free).max((filled + missing / 8) * 100);
            tokens -= bits;
            free = begin + i64::from(*size);
            expected.push(3 * MS + free as u64 * (MICRO / 100));
        }
        let kind = if is_tbf { "tbf" } else { "htb" };
        let shaped = json!({"shaper": {"kind": kind, "burst": burst, "line": 800_000_000}});
        let (arrivals, dropped) = through(&shaped, &json!([]), 1000, &coming);
        prop_assert_eq!(dropped, Vec::<usize>::new());
        prop_assert_eq!(arrivals.into_iter().map(|(_, at)| at).collect::<Vec<_>>(), expected);
    }
}
