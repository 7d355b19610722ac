//! Every queue discipline, for random arrivals: no packet appears or disappears, each flow stays in order, and the limit holds. Flow queues starve no flow.

use super::link_oracle;
use crate::packet::link::fifo::FifoStore;
use crate::packet::link::packet::{MARK, Packet};
use crate::packet::link::packet_sizes::{FlowSizes, IpEcn, PacketSizes};
use crate::packet::link::queue::FlowKey;
use crate::packet::link::varying::Schedules;
use crate::packet::link::{Link, Offer};
use crate::spec::{DisciplineSpec, LinkSpec, QueueLimit};
use crate::units::{Duration, Time};
use proptest::prelude::*;
use serde_json::json;

/// Flows of these packet sizes, on a link of 8 Mbit/s: a byte lasts a microsecond.
const SIZES: [u16; 6] = [1500, 1500, 1000, 576, 100, 1200];

#[derive(Debug, Clone, Copy)]
struct Coming {
    at: Time,
    flow: u32,
}

#[derive(Debug, Clone, Copy)]
struct Arrived {
    at: Time,
    flow: u32,
    /// The packet's number among all that came.
    number: u32,
    marked: bool,
}

/// What became of the packets of a run.
struct Outcome {
    /// The packets that arrived, in the order of the arrivals.
    arrived: Vec<Arrived>,
    dropped: u64,
}

fn spec(name: &str, limit: QueueLimit) -> LinkSpec {
    let discipline: DisciplineSpec = serde_json::from_value(json!({ "discipline": name })).expect("a discipline");
    link_oracle::spec(limit, discipline)
}

/// The ECN fields of the flows.
const FIELDS: [IpEcn; 6] = [IpEcn::NotEct, IpEcn::Ect0, IpEcn::NotEct, IpEcn::Ect0, IpEcn::NotEct, IpEcn::Ect1];

/// Sends packets through a link. Checks the counters and the limit at each arrival.
fn through(spec: &LinkSpec, coming: &[Coming]) -> Outcome {
    let mut link = Link::new(spec, &Schedules::new(&[]), 1, 0);
    link.watch();
    let of_flow = |(flow, size): (usize, &u16)| PacketSizes::new(*size, *size, 40, FIELDS[flow], u32::MAX);
    let sizes = FlowSizes::new(SIZES.iter().enumerate().map(of_flow).collect());
    let mut fifos = FifoStore::default();
    let (mut gone, mut refused) = (Vec::new(), 0);
    let mut arrived = Vec::new();
    let mut run_until = |link: &mut Link, fifos: &mut FifoStore, gone: &mut Vec<Packet>, time: Time| {
        while link.next_event() <= time && link.next_event() < Time::NEVER {
            let now = link.next_event();
            if link.next_service() <= now {
                link.serve(now, &sizes, fifos, gone);
            } else {
                let packet = link.on_arrival(&sizes, fifos);
                let (flow, number, marked) = (packet.flow(), packet.segment(), packet.has(MARK));
                arrived.push(Arrived { at: now, flow, number, marked });
            }
        }
    };
    for (number, packet) in coming.iter().enumerate() {
        run_until(&mut link, &mut fifos, &mut gone, packet.at);
        let sent = Packet::new(packet.flow, number as u32, 0, 0);
        let offer = link.offer_to_any(packet.at, sent, FlowKey::of(&sent), &sizes, &mut fifos, &mut gone);
        refused += u64::from(offer == Offer::Dropped);
        let counters = link.counters(packet.at, &sizes, &fifos);
        assert_eq!(counters.queue_drops, refused + gone.len() as u64);
        assert_eq!(counters.offered, counters.packets + counters.queue_drops + link.packets_inside() as u64);
        match spec.queue.limit {
            QueueLimit::Packets(most) => assert!(link.queue_packets(packet.at, &fifos) <= most),
            QueueLimit::Bytes(most) => {
                let bytes = link.backlog_bytes(packet.at, &sizes, &fifos);
                assert!(bytes <= most, "{bytes} bytes, of {most}");
            }
        }
    }
    run_until(&mut link, &mut fifos, &mut gone, Time::NEVER);
    let counters = link.counters(Time::NEVER, &sizes, &fifos);
    let dropped = refused + gone.len() as u64;
    assert_eq!((counters.offered, counters.packets), (coming.len() as u64, arrived.len() as u64));
    assert_eq!(counters.offered, counters.packets + dropped);
    assert_eq!(counters.marks, arrived.iter().filter(|packet| packet.marked).count() as u64);
    let mut all: Vec<u32> = arrived.iter().map(|packet| packet.number).collect();
    all.extend(gone.iter().map(Packet::segment));
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "no packet comes twice");
    Outcome { arrived, dropped }
}

fn names() -> Vec<&'static str> {
    // Trimming has a limit for each class.
    let others = DisciplineSpec::describe().into_iter().map(|algorithm| algorithm.name);
    others.filter(|name| *name != "trimming").collect()
}

fn limit() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![(1u32..60).prop_map(QueueLimit::Packets), (1500u64..60_000).prop_map(QueueLimit::Bytes)]
}

/// Arrivals at up to three times the link's rate, with pauses.
fn coming() -> impl Strategy<Value = Vec<Coming>> {
    let packet = (prop_oneof![20 => 0u64..900, 1 => 0u64..300_000], 0..SIZES.len() as u32);
    prop::collection::vec(packet, 1..600).prop_map(|packets| {
        let mut at = Time::ZERO;
        let place = |(gap, flow)| {
            at += Duration::from_micros(gap);
            Coming { at, flow }
        };
        packets.into_iter().map(place).collect()
    })
}

proptest! {
    #[test]
    fn what_comes_leaves_or_is_dropped(name in prop::sample::select(names()), limit in limit(), coming in coming()) {
        let outcome = through(&spec(name, limit), &coming);
        prop_assert!(outcome.arrived.len() as u64 + outcome.dropped == coming.len() as u64);
        for flow in 0..SIZES.len() as u32 {
            let own = outcome.arrived.iter().filter(|packet| packet.flow == flow);
            let numbers: Vec<u32> = own.clone().map(|packet| packet.number).collect();
            prop_assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "flow {} is reordered", flow);
            prop_assert!(flow % 2 == 1 || own.clone().all(|packet| !packet.marked), "only what may be marked is");
        }
    }
}

/// Five flows send without pause, each at the link's whole rate, and one sends a packet of 100 bytes every 100 ms. The five have equal shares within a
/// tenth, and the sixth loses nothing.
#[test]
fn flow_queues_starve_no_flow() {
    let lasts = Duration::from_secs(20);
    let mut coming: Vec<Coming> = Vec::new();
    for (flow, size) in SIZES.iter().enumerate() {
        let gap = Duration::from_micros(if *size == 100 { 100_000 } else { u64::from(*size) });
        let times = (0..lasts.0 / gap.0).map(|turn| Time(gap.0 * turn + flow as u64));
        coming.extend(times.map(|at| Coming { at, flow: flow as u32 }));
    }
    coming.sort_by_key(|packet| packet.at);
    for name in ["fq-codel", "fq-pie", "fq", "sfq", "cake"] {
        let limit = if name == "sfq" { 127 } else { 10_240 };
        let outcome = through(&spec(name, QueueLimit::Packets(limit)), &coming);
        // Behind the start, and while all flows still send.
        let measured = lasts.0 / 4..lasts.0;
        let bytes = |flow: usize| {
            let is_own = |packet: &&Arrived| packet.flow as usize == flow && measured.contains(&packet.at.0);
            let own = outcome.arrived.iter().filter(is_own);
            own.count() as f64 * f64::from(SIZES[flow])
        };
        let bulk = [0, 1, 2, 3, 5].map(bytes);
        let mean = bulk.iter().sum::<f64>() / 5.0;
        assert!(bulk.iter().all(|bytes| (bytes / mean - 1.0).abs() < 0.1), "{name}: {bulk:?}");
        let sparse = outcome.arrived.iter().filter(|packet| packet.flow == 4).count();
        assert_eq!(sparse, 200, "{name}");
    }
}
