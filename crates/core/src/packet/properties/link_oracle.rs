//! Compares a link with a naive queue: a list of packets, and a server that dequeues the first and transmits it.

use crate::packet::link::fifo::FifoStore;
use crate::packet::link::packet::{MARK, Packet, RETRANSMISSION};
use crate::packet::link::packet_sizes::{FlowSizes, IpEcn, PacketSizes};
use crate::packet::link::queue::FlowKey;
use crate::packet::link::queue::codel::{self, Codel};
use crate::packet::link::queue::{Decision, ecn_threshold};
use crate::packet::link::varying::Schedules;
use crate::packet::link::{Link, Offer};
use crate::packet::link_state::estimate::Reading;
use crate::spec::{DisciplineSpec, LinkSpec, QueueLimit, QueueSpec};
use crate::units::{Duration, Rate, Time};
use proptest::prelude::*;

/// For each packet: its arrival and whether it was marked, or `None` if it was dropped.
type Fates = Vec<Option<(Time, bool)>>;

#[derive(Debug, Clone, Copy)]
struct Coming {
    at: Time,
    size: u16,
    capable: bool,
    again: bool,
}

/// A link of 8 Mbit/s with this queue.
pub fn spec(limit: QueueLimit, discipline: DisciplineSpec) -> LinkSpec {
    // 1 byte lasts 1 microsecond.
    let delay = Duration::from_micros(3_000);
    let queue = QueueSpec { limit, discipline };
    LinkSpec {
        src: 0,
        dst: 1,
        rate: Rate(8_000_000),
        delay,
        cost: 1.0,
        queue,
        loss: None,
        rate_schedule: None,
        delay_schedule: None,
        jitter: None,
        shaper: None,
    }
}

/// The fates of the packets on a link. A measured link must give the same, and count them.
fn through_the_link(spec: &LinkSpec, coming: &[Coming]) -> Fates {
    let mut measured = Link::new(spec, &Schedules::new(&[]), 1, 0);
    measured.measure();
    let (fates, reading) = through(measured, spec, coming);
    let arrived = || fates.iter().zip(coming).filter_map(|(fate, packet)| fate.map(|(at, _)| at - packet.at));
    let expected = Reading {
        arrived: arrived().count() as u64,
        lost: fates.iter().filter(|fate| fate.is_none()).count() as u64,
        transit: arrived().map(|transit| u128::from(transit.0)).sum(),
        squares: arrived().map(|transit| u128::from(transit.0).pow(2)).sum(),
    };
    assert_eq!(reading, expected);
    assert_eq!(through(Link::new(spec, &Schedules::new(&[]), 1, 0), spec, coming).0, fates);
    fates
}

fn through(mut link: Link, spec: &LinkSpec, coming: &[Coming]) -> (Fates, Reading) {
    let mut lines = FifoStore::default();
    let sizes_of = |packet: &Coming| {
        PacketSizes::new(packet.size, packet.size, 40, IpEcn::of_stack(packet.capable, false), u32::MAX)
    };
    let sizes = FlowSizes::new(coming.iter().map(sizes_of).collect());
    let mut fates = vec![None; coming.len()];
    let mut dropped = Vec::new();
    let mut left = 0;
    let mut samples = Vec::new();
    let mut run_until = |link: &mut Link, lines: &mut FifoStore, time: Time| {
        while link.next_event() <= time && link.next_event() < Time::NEVER {
            let now = link.next_event();
            if link.next_service() <= now {
                link.serve(now, &sizes, lines, &mut dropped);
            } else {
                let packet = link.on_arrival(&sizes, lines);
                assert!(packet.flow() >= left, "first in, first out");
                left = packet.flow();
                fates[packet.flow() as usize] = Some((now, packet.has(MARK)));
            }
        }
    };
    for (index, packet) in coming.iter().enumerate() {
        run_until(&mut link, &mut lines, packet.at);
        let counters = link.counters(packet.at, &sizes, &lines);
        samples.push((counters.bytes, counters.busy, link.queue_packets(packet.at, &lines)));
        let was_due = link.next_event();
        let flags = if packet.again { RETRANSMISSION } else { 0 };
        let sent = Packet::new(index as u32, 0, 0, flags);
        let offer = if link.is_simple() {
            link.offer::<true>(packet.at, sent, sizes[index].of(&sent), &mut lines)
        } else {
            link.offer_to_any(packet.at, sent, FlowKey::of(&sent), &sizes, &mut lines, &mut Vec::new())
        };
        match offer {
            Offer::Due(at) => assert!(link.next_event() == at && was_due != at),
            Offer::Queued | Offer::Dropped => assert_eq!(link.next_event(), was_due),
        }
    }
    run_until(&mut link, &mut lines, Time::NEVER);
    let counters = link.counters(Time::NEVER, &sizes, &lines);
    assert_eq!(counters.offered, coming.len() as u64);
    assert_eq!(counters.packets + counters.queue_drops, counters.offered);
    assert_eq!(counters.transmissions, counters.packets);
    assert_eq!(counters.marks, fates.iter().flatten().filter(|(_, marked)| *marked).count() as u64);
    for (index, sample) in samples.into_iter().enumerate() {
        check_sample(spec, &fates[..index], &coming[..=index], sample);
    }
    (fates, link.reading())
}

/// Checks a sample just before the last packet is offered: transmitted bytes, time spent transmitting, and packets that have not departed.
fn check_sample(
    spec: &LinkSpec,
    fates: &[Option<(Time, bool)>],
    coming: &[Coming],
    (bytes, busy, waiting): (u64, Duration, u32),
) {
    let now = coming[coming.len() - 1].at;
    let arrivals = || fates.iter().zip(coming).filter_map(|(fate, packet)| fate.map(|(at, _)| (at, packet.size)));
    assert_eq!(bytes, arrivals().filter(|(at, _)| *at <= now).map(|(_, size)| u64::from(size)).sum::<u64>());
    let transmitted_until_now = |(at, size): (Time, u16)| {
        let departure = at - spec.delay;
        let start = departure - spec.rate.serialization_delay(u64::from(size));
        departure.min(now) - start
    };
    assert_eq!(busy.0, arrivals().map(|arrival| transmitted_until_now(arrival).0).sum::<u64>());
    if !matches!(spec.queue.discipline, DisciplineSpec::Codel(_)) {
        let undeparted = arrivals().filter(|(at, _)| *at > now + spec.delay).count();
        assert_eq!(waiting as usize, undeparted, "CoDel may yet drop what waits, no other queue does");
    }
}

/// A packet in the naive queue: its number, its arrival, its mark.
type Waiting = (usize, Time, bool);

fn by_brute_force(spec: &LinkSpec, coming: &[Coming]) -> Fates {
    let transmission = |index: usize| spec.rate.serialization_delay(u64::from(coming[index].size));
    let mut codel = match spec.queue.discipline {
        DisciplineSpec::Codel(codel::Parameters { target, interval, ecn }) => Some(Codel::new(target, interval, ecn)),
        _ => None,
    };
    let mtu = coming.iter().map(|packet| u64::from(packet.size)).max().unwrap_or(0);
    let mut fates: Fates = vec![None; coming.len()];
    let mut queue: Vec<Waiting> = Vec::new();
    let mut in_service: Option<(usize, Time, bool)> = None; // its number, its departure, its mark
    let mut next = 0;
    loop {
        // Departures come before arrivals of the same instant.
        let departure = in_service.map(|(_, at, _)| at);
        let arrival = coming.get(next).map(|packet| packet.at);
        let now = match (departure, arrival) {
            (None, None) => break,
            (Some(departure), None) => departure,
            (None, Some(arrival)) => arrival,
            (Some(departure), Some(arrival)) => departure.min(arrival),
        };
        if departure == Some(now) {
            let (index, _, marked) = in_service.take().expect("it departs");
            fates[index] = Some((now + spec.delay, marked));
            while in_service.is_none() && !queue.is_empty() {
                let (index, since, mut marked) = queue.remove(0);
                if let Some(codel) = &mut codel {
                    let left: u64 = queue.iter().map(|(index, ..)| u64::from(coming[*index].size)).sum();
                    let capable = coming[index].capable && !coming[index].again;
                    match codel.dequeue(now, now - since, left, mtu, capable) {
                        Decision::Accept => {}
                        Decision::Mark => marked = true,
                        Decision::Drop => continue,
                    }
                }
                in_service = Some((index, now + transmission(index), marked));
            }
            continue;
        }
        let held: Vec<usize> =
            in_service.iter().map(|(index, ..)| *index).chain(queue.iter().map(|(index, ..)| *index)).collect();
        let bytes: u64 = held.iter().map(|index| u64::from(coming[*index].size)).sum();
        let room = match spec.queue.limit {
            QueueLimit::Packets(limit) => held.len() < limit as usize,
            QueueLimit::Bytes(limit) => bytes + u64::from(coming[next].size) <= limit,
        };
        if room {
            let capable = coming[next].capable && !coming[next].again;
            let marked = matches!(&spec.queue.discipline, DisciplineSpec::EcnThreshold(queue) if capable && held.len() >= queue.mark as usize);
            if in_service.is_none() {
                in_service = Some((next, now + transmission(next), marked));
            } else {
                queue.push((next, now, marked));
            }
        }
        next += 1;
    }
    fates
}

fn coming() -> impl Strategy<Value = Vec<Coming>> {
    // Gaps are multiples of the transmission times, so that arrivals and departures coincide.
    let packet = (0u64..4, 0u64..700, any::<bool>(), any::<bool>(), prop_oneof![Just(500u16), 40u16..1500], 0u8..4);
    prop::collection::vec(packet, 1..200).prop_map(|packets| {
        let mut at = Time::ZERO;
        packets
            .into_iter()
            .map(|(multiple, odd, exact, capable, size, again)| {
                at += Duration::from_micros(if exact { multiple * 500 } else { odd });
                Coming { at, size, capable, again: again == 0 }
            })
            .collect()
    })
}

fn limit() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![(1u32..20).prop_map(QueueLimit::Packets), (1500u64..12_000).prop_map(QueueLimit::Bytes)]
}

proptest! {
    #[test]
    fn drop_tail_is_a_queue_with_a_limit(limit in limit(), coming in coming()) {
        let spec = spec(limit, DisciplineSpec::drop_tail());
        prop_assert_eq!(through_the_link(&spec, &coming), by_brute_force(&spec, &coming));
    }

    #[test]
    fn an_ecn_threshold_marks_packets_that_find_its_backlog(limit in limit(), mark in 0u32..12, coming in coming()) {
        let spec = spec(limit, DisciplineSpec::EcnThreshold(ecn_threshold::Parameters { mark }));
        prop_assert_eq!(through_the_link(&spec, &coming), by_brute_force(&spec, &coming));
    }

    #[test]
    fn codel_is_asked_about_each_packet_that_leaves_its_queue(
        limit in limit(), target in 1u64..4, interval in 4u64..20, ecn: bool, coming in coming(),
    ) {
        let (target, interval) = (Duration::from_millis(target), Duration::from_millis(interval));
        let spec = spec(limit, DisciplineSpec::Codel(codel::Parameters { target, interval, ecn }));
        prop_assert_eq!(through_the_link(&spec, &coming), by_brute_force(&spec, &coming));
    }
}
