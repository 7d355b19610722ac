//! A trimming queue against a naive one, with invariants that hold for any arrivals; and runs in which queues cut payload, in both event loops.

use super::random_run::{MS, results};
use crate::packet::build::{Parts, parts};
use crate::packet::engine::{Engine, EventLoop};
use crate::packet::epochs::event_loop::EpochLoop;
use crate::packet::link::fifo::FifoStore;
use crate::packet::link::packet::{ACK, AT_LAST_HOP, MARK, Packet, TRIMMED};
use crate::packet::link::packet_sizes::{FlowSizes, IpEcn, PacketSizes};
use crate::packet::link::queue::FlowKey;
use crate::packet::link::queue::trimming::Parameters;
use crate::packet::link::varying::Schedules;
use crate::packet::link::{Link, Offer};
use crate::packet::oracle::event_loop::ReferenceLoop;
use crate::parameters::Share;
use crate::rng::{Purpose, Sequence, Stream};
use crate::spec::{DisciplineSpec, LinkSpec, QueueLimit, RunSpec};
use crate::units::{Duration, Time};
use proptest::prelude::*;
use serde_json::{Value, json};

const HEADER: u16 = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Control,
    Data { trimmable: bool, capable: bool },
}

#[derive(Debug, Clone, Copy)]
struct Coming {
    at: Time,
    size: u16,
    kind: Kind,
}

/// What became of a packet that the link carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fate {
    arrives: Time,
    marked: bool,
    cut: bool,
}

fn sizes(coming: &[Coming]) -> FlowSizes {
    let of = |packet: &Coming| {
        let (trimmable, capable) = match packet.kind {
            Kind::Control => (true, true),
            Kind::Data { trimmable, capable } => (trimmable, capable),
        };
        let mut sizes = PacketSizes::new(packet.size, packet.size, HEADER, IpEcn::of_stack(capable, false), u32::MAX);
        sizes.trimmable = trimmable;
        sizes
    };
    FlowSizes::new(coming.iter().map(of).collect())
}

/// The fates of the packets on a link whose far end is a host.
fn through_the_link(spec: &LinkSpec, coming: &[Coming]) -> Vec<Option<Fate>> {
    let mut link = Link::new(spec, &Schedules::new(&[]), 1, 0);
    link.lead_to_host();
    let (sizes, mut fifos, mut dropped) = (sizes(coming), FifoStore::default(), Vec::new());
    let mut fates = vec![None; coming.len()];
    let mut run_until = |link: &mut Link, fifos: &mut FifoStore, dropped: &mut Vec<Packet>, time: Time| {
        while link.next_event() <= time && link.next_event() < Time::NEVER {
            let now = link.next_event();
            if link.next_service() <= now {
                assert!(link.serve(now, &sizes, fifos, dropped).is_some());
                continue;
            }
            let packet = link.on_arrival(&sizes, fifos);
            let cut = packet.has(TRIMMED);
            assert_eq!(packet.has(AT_LAST_HOP), cut);
            let before = fates[packet.flow() as usize].replace(Fate { arrives: now, marked: packet.has(MARK), cut });
            assert_eq!(before, None, "a packet or its header arrives once");
        }
    };
    let mut refused = 0;
    for (index, packet) in coming.iter().enumerate() {
        run_until(&mut link, &mut fifos, &mut dropped, packet.at);
        let flags = if packet.kind == Kind::Control { ACK } else { 0 };
        let sent = Packet::new(index as u32, 0, 0, flags);
        let offer = link.offer_to_any(packet.at, sent, FlowKey::of(&sent), &sizes, &mut fifos, &mut dropped);
        refused += u64::from(offer == Offer::Dropped);
        let counters = link.counters(packet.at, &sizes, &fifos);
        let inside = link.packets_inside() as u64;
        assert_eq!(counters.queue_drops, refused + dropped.len() as u64);
        assert_eq!(counters.offered, counters.packets + counters.queue_drops + inside, "all are accounted for");
    }
    run_until(&mut link, &mut fifos, &mut dropped, Time::NEVER);
    let counters = link.counters(Time::NEVER, &sizes, &fifos);
    let carried = || fates.iter().flatten();
    assert_eq!(counters.offered, counters.packets + counters.queue_drops);
    assert_eq!(counters.packets, carried().count() as u64);
    assert_eq!(counters.trimmed, carried().filter(|fate| fate.cut).count() as u64);
    assert_eq!(counters.marks, carried().filter(|fate| fate.marked).count() as u64);
    fates
}

/// A packet in the naive queue.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    index: usize,
    size: u16,
    cut: bool,
    control: bool,
}

/// A naive queue: one list of all waiting packets, which is searched for the first packet of a class.
fn by_brute_force(spec: &LinkSpec, settings: &Parameters, coming: &[Coming]) -> Vec<Option<Fate>> {
    let mut draws = Sequence::new(Stream::new(1, Purpose::QueueManagement, 0));
    let mut fates = vec![None; coming.len()];
    let mut queue: Vec<Waiting> = Vec::new();
    let mut in_service: Option<(Waiting, Time, bool)> = None;
    let mut next = 0;
    // How full a class is with one packet more, as a share of the data's limit; the packet in service counts.
    let limit = match spec.queue.limit {
        QueueLimit::Packets(limit) => u64::from(limit),
        QueueLimit::Bytes(limit) => limit,
    };
    let cost = |size: u16| if matches!(spec.queue.limit, QueueLimit::Packets(_)) { 1 } else { u64::from(size) };
    let used = |queue: &[Waiting], in_service: Option<Waiting>, control: bool| {
        queue
            .iter()
            .copied()
            .chain(in_service)
            .filter(|held| held.control == control)
            .map(|held| cost(held.size))
            .sum::<u64>()
    };
    loop {
        let departure = in_service.map_or(Time::NEVER, |(_, at, _)| at);
        let arrival = coming.get(next).map_or(Time::NEVER, |packet| packet.at);
        let now = departure.min(arrival);
        if now == Time::NEVER {
            return fates;
        }
        if departure == now {
            let (held, _, marked) = in_service.take().expect("it departs");
            fates[held.index] = Some(Fate { arrives: now + spec.delay, marked, cut: held.cut });
        } else {
            let packet = &coming[next];
            let mut held =
                Waiting { index: next, size: packet.size, cut: false, control: packet.kind == Kind::Control };
            if held.control {
                held.size = HEADER;
            }
            next += 1;
            let serving = in_service.map(|(held, ..)| held);
            let fits = |queue: &[Waiting], held: &Waiting| {
                let most = if held.control { limit * u64::from(settings.control) } else { limit };
                used(queue, serving, held.control) + cost(held.size) <= most
            };
            let mut victim = None;
            if !fits(&queue, &held) && !held.control {
                let last = queue.iter().rposition(|other| !other.control);
                if draws.below(2) == 1
                    && let Some(last) = last
                {
                    let other = queue.remove(last);
                    if fits(&queue, &held) {
                        victim = Some(other);
                    } else {
                        queue.insert(last, other);
                    }
                }
                let cut = |held: &mut Waiting| {
                    if settings.trim && matches!(coming[held.index].kind, Kind::Data { trimmable: true, .. }) {
                        (held.size, held.cut, held.control) = (HEADER, true, true);
                    }
                };
                match &mut victim {
                    Some(other) => cut(other),
                    None => cut(&mut held),
                }
            }
            for packet in victim.into_iter().filter(|victim| victim.control).chain([held]) {
                if fits(&queue, &packet) {
                    queue.push(packet);
                }
            }
        }
        if in_service.is_none() && !queue.is_empty() {
            let held = queue.remove(queue.iter().position(|held| held.control).unwrap_or(0));
            let share = used(&queue, None, false) as f64 / limit as f64;
            let (from, to) = (settings.mark_from.0, settings.mark_to.0);
            let capable = !held.control && matches!(coming[held.index].kind, Kind::Data { capable: true, .. });
            let marked = capable && (share > to || share > from && draws.uniform() < (share - from) / (to - from));
            in_service = Some((held, now + spec.rate.serialization_delay(u64::from(held.size)), marked));
        }
    }
}

fn coming() -> impl Strategy<Value = Vec<Coming>> {
    let kind = prop_oneof![
        1 => Just(Kind::Control),
        4 => (any::<bool>(), any::<bool>()).prop_map(|(trimmable, capable)| Kind::Data { trimmable, capable }),
        4 => Just(Kind::Data { trimmable: true, capable: true }),
    ];
    // Gaps are multiples of the transmission times, so that arrivals and departures coincide.
    let packet = (0u64..3, 0u64..700, any::<bool>(), prop_oneof![Just(500u16), 65u16..1500], kind);
    prop::collection::vec(packet, 1..300).prop_map(|packets| {
        let mut at = Time::ZERO;
        let place = |(multiple, odd, exact, size, kind)| {
            at += Duration::from_micros(if exact { multiple * 250 } else { odd });
            Coming { at, size, kind }
        };
        packets.into_iter().map(place).collect()
    })
}

fn limit() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![(1u32..20).prop_map(QueueLimit::Packets), (500u64..8_000).prop_map(QueueLimit::Bytes)]
}

fn settings() -> impl Strategy<Value = Parameters> {
    (any::<bool>(), 1u32..4, 0.0f64..=1.0, 0.0f64..=1.0).prop_map(|(trim, control, one, other)| Parameters {
        trim,
        control,
        mark_from: Share(one.min(other)),
        mark_to: Share(one.max(other)),
    })
}

proptest! {
    #[test]
    fn it_equals_a_naive_queue(limit in limit(), settings in settings(), coming in coming()) {
        let spec = super::link_oracle::spec(limit, DisciplineSpec::Trimming(settings));
        prop_assert_eq!(through_the_link(&spec, &coming), by_brute_force(&spec, &settings, &coming));
    }

    /// No data begins to be transmitted while a packet without payload waits.
    #[test]
    fn control_goes_before_data(limit in limit(), coming in coming()) {
        let settings = Parameters { control: 1000, ..Parameters::default() };
        let spec = super::link_oracle::spec(limit, DisciplineSpec::Trimming(settings));
        let fates = through_the_link(&spec, &coming);
        let carried = || coming.iter().zip(&fates).filter_map(|(packet, fate)| fate.map(|fate| (packet, fate)));
        let begins = |packet: &Coming, fate: &Fate| {
            let size = if fate.cut || packet.kind == Kind::Control { HEADER } else { packet.size };
            fate.arrives - spec.delay - spec.rate.serialization_delay(u64::from(size))
        };
        let is_control = |packet: &Coming| packet.kind == Kind::Control;
        prop_assert!(coming.iter().zip(&fates).all(|(packet, fate)| !is_control(packet) || fate.is_some()));
        for (data, fate) in carried().filter(|(packet, fate)| !is_control(packet) && !fate.cut) {
            let begin = begins(data, &fate);
            for (control, of_control) in carried().filter(|(packet, _)| is_control(packet)) {
                prop_assert!(control.at >= begin || begins(control, &of_control) < begin);
            }
        }
    }
}

/// Twenty packets come at once to a queue for ten: one is in transmission, nine wait, and ten are cut. The coin cuts some that had waited.
#[test]
fn a_burst_is_cut_to_the_limit() {
    let data = Coming { at: Time::ZERO, size: 500, kind: Kind::Data { trimmable: true, capable: true } };
    let marks_from_half = Parameters { mark_from: Share(0.5), mark_to: Share(0.5), ..Parameters::default() };
    let spec = super::link_oracle::spec(QueueLimit::Packets(10), DisciplineSpec::Trimming(marks_from_half));
    let fates = through_the_link(&spec, &[data; 20]);
    let cut = |fates: &[Option<Fate>]| fates.iter().flatten().filter(|fate| fate.cut).count();
    assert_eq!((cut(&fates), cut(&fates[..9])), (10, 0), "the first nine never were the last");
    assert!(cut(&fates[9..19]) < 10, "the coin has two sides");
    // Behind the nine that waited were 8, 7, ... 0 of 10: above the half behind three.
    let marked: Vec<bool> = fates.iter().flatten().filter(|fate| !fate.cut).map(|fate| fate.marked).collect();
    assert_eq!(marked, [false, true, true, true, false, false, false, false, false, false]);
}

/// Hosts with UDP towards one host over two spines: data that queues cut, without a transport that answers.
fn incast() -> impl Strategy<Value = Value> {
    let selector = prop::sample::select(vec!["hash", "round-robin", "random"]);
    (1u32..12, any::<bool>(), 2usize..5, any::<u64>(), selector, 0u64..3).prop_map(
        |(limit, trim, senders, seed, select, delay)| {
            let queue = json!({"discipline": "trimming", "limit": {"packets": limit}, "trim": trim, "control": 2,
                "mark_from": 0.2, "mark_to": 0.8});
            // Hosts 0 to senders - 1, the receiver, two leaves, two spines.
            let (receiver, leaf) = (senders, senders + 1);
            let mut cables: Vec<(usize, usize)> = (0..senders).map(|host| (host, leaf)).collect();
            cables.push((receiver, leaf + 1));
            cables.extend([(leaf, leaf + 2), (leaf, leaf + 3), (leaf + 1, leaf + 2), (leaf + 1, leaf + 3)]);
            let link = |src: usize, dst: usize| {
                json!({"src": src, "dst": dst, "rate": 8_000_000, "delay": delay * MS, "cost": 1.0, "queue": queue,
                    "loss": null})
            };
            let links: Vec<Value> = cables.iter().flat_map(|&(a, b)| [link(a, b), link(b, a)]).collect();
            let group = |host: usize| {
                json!({"name": "", "pairs": [[host, receiver]], "flows_per_pair": 1,
                    "transport": {"udp": {"packet": 1000}}, "routing": 0, "start": 0, "stagger": 0, "stop": null,
                    "application": {"kind": "poisson", "rate": 6_000_000}})
            };
            json!({"seed": seed, "duration": 300 * MS, "warm_up": 0, "sample": 50 * MS,
                "nodes": (0..leaf + 4).map(|node| node.to_string()).collect::<Vec<_>>(), "links": links, "stacks": [],
                "schedules": [], "traffic": (0..senders).map(group).collect::<Vec<_>>(), "events": [], "captures": [],
                "routings": [{"name": "", "hops": {"kind": "equal-cost", "metric": "hop-count"}, "select": {"name": select},
                    "per": {"unit": "packet"}, "hash": ["source-port"], "acks": null, "reconverge": null,
                    "link_state": null}]})
        },
    )
}

fn run<L: EventLoop>(spec: &Value) -> (Vec<f64>, u64, [Vec<u64>; 6]) {
    let spec: RunSpec = serde_json::from_value(spec.clone()).expect("a run");
    let Parts { links, forwarding, flows, mut sizes, dependencies, network_events } =
        parts(&spec).expect("a run that can be");
    sizes.allow_trimming(HEADER);
    let mut engine = Engine::<L>::assemble(spec, links, forwarding, (flows, dependencies), sizes, network_events);
    while engine.advance(1_000_000) {}
    (engine.link_table().numbers("trimmed"), engine.packet_hops(), results(&mut engine))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    #[test]
    fn both_loops_cut_the_same(spec in incast()) {
        let (reference, epochs) = (run::<ReferenceLoop>(&spec), run::<EpochLoop>(&spec));
        prop_assert_eq!(&reference, &epochs);
        let senders = spec["traffic"].as_array().unwrap().len();
        let cut = reference.0.iter().sum::<f64>();
        let trims = spec["links"][0]["queue"]["trim"] == true;
        prop_assert!(!trims && cut == 0.0 || trims && (senders < 3 || cut > 0.0), "{} cut", cut);
    }
}
