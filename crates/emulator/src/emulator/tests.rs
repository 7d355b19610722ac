//! Packets in virtual time: their due times are those of the packet engine's links, computed here by hand.

use super::*;
use crate::packets::read;
use anabranch_core::units::Duration;
use etherparse::{IpEcn, Ipv4HeaderSlice, PacketBuilder};
use serde_json::{Value, json};

const MS: u64 = 1_000_000_000;

#[derive(Default)]
struct Written(Vec<(Time, NodeId, Vec<u8>)>);

impl Output for Written {
    fn write(&mut self, due: Time, host: NodeId, packet: &[u8]) {
        self.0.push((due, host, packet.to_vec()));
    }
}

/// A host, two routers side by side, another host. Links of 8 Mbit/s (a byte takes a microsecond) and 2 ms over the first router, 5 ms over the other.
fn spec(routing: &Value, changes: impl Fn(&mut Value)) -> RunSpec {
    let link = |src: u32, dst: u32, delay: u64| {
        json!({"src": src, "dst": dst, "rate": 8_000_000, "delay": delay * MS, "cost": 1.0,
            "queue": {"discipline": "drop-tail", "limit": {"packets": 100}}, "loss": null})
    };
    let links = [(0, 1, 2), (1, 3, 2), (0, 2, 5), (2, 3, 5)]
        .map(|(src, dst, delay)| [link(src, dst, delay), link(dst, src, delay)]);
    let mut spec = json!({
        "seed": 1, "duration": 10_000 * MS, "warm_up": 0, "sample": null, "nodes": ["a", "b", "c", "d"],
        "links": links.concat(), "events": [], "captures": [0],
        "stacks": [{"name": "s", "congestion": {"name": "linux-reno"}, "slow_start": {"name": "classic"},
            "detection": {"name": "rack-tlp"}, "ack": {"name": "immediate"}, "sack": true, "spurious": "none",
            "f_rto": true, "limited_transmit": true, "ecn": false, "pacing": false, "handshake": true, "mss": 960,
            "header": 40, "initial_window": 10, "receive_window": 300_000, "min_rto": 200 * MS, "max_rto": 4000 * MS,
            "initial_rto": 1000 * MS}],
        "routings": [{"name": "r", "hops": routing["hops"], "select": routing["select"], "per": {"unit": "packet"},
            "hash": ["source"], "acks": null, "reconverge": null}],
        "traffic": [{"name": "t", "pairs": [[0, 3]], "flows_per_pair": 1, "transport": {"tcp": {"stack": 0}}, "routing": 0,
            "start": 0, "stagger": 0, "stop": null, "application": {"kind": "bulk", "bytes": null}}],
    });
    changes(&mut spec);
    serde_json::from_value(spec).unwrap()
}

fn shortest() -> Value {
    json!({"hops": {"kind": "shortest", "metric": "delay"}, "select": {"name": "hash"}})
}

fn sprayed() -> Value {
    json!({"hops": {"kind": "disjoint", "metric": "delay", "paths": 2}, "select": {"name": "round-robin"}})
}

/// A TCP packet of this size between the hosts of the run's flow, or from another port.
fn packet(size: usize, port: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 4], 64)
        .tcp(port, 40_001, 1, 1000)
        .write(&mut bytes, &vec![0; size - 40])
        .unwrap();
    bytes
}

fn dues(written: &Written) -> Vec<u64> {
    written.0.iter().map(|(due, ..)| due.0 / 1_000_000).collect()
}

#[test]
fn packets_are_due_after_transmission_and_delay_of_each_link_and_wait_for_the_ones_before() {
    let mut emulator = Emulator::new(spec(&shortest(), |_| ())).unwrap();
    let mut written = Written::default();
    emulator.send(Time(0), 0, &packet(1000, 49_152), &mut written);
    emulator.send(Time(0), 0, &packet(500, 49_152), &mut written);
    emulator.advance(Time(20 * MS), &mut written);
    // 1000 us of transmission and 2000 us of delay, twice. The second packet departs from each link 500 us after the first.
    assert_eq!(dues(&written), [6000, 6500]);
    assert!(written.0.iter().all(|(_, host, _)| *host == 3));
    assert_eq!(written.0[0].2, packet(1000, 49_152));
}

#[test]
fn spraying_alternates_exactly_between_disjoint_paths() {
    let mut emulator = Emulator::new(spec(&sprayed(), |_| ())).unwrap();
    let mut written = Written::default();
    for number in 0..10 {
        emulator.send(Time(number * 100 * MS), 0, &packet(1000, 49_152), &mut written);
    }
    emulator.advance(Time(2000 * MS), &mut written);
    let delays: Vec<u64> = dues(&written).iter().zip(0..).map(|(due, number)| due - number * 100_000).collect();
    let (short, long) = (6000, 12_000);
    assert_eq!(delays, [short, long, short, long, short, long, short, long, short, long]);
}

#[test]
fn a_flow_that_is_not_planned_takes_the_route_of_its_group_and_strangers_go_nowhere() {
    let mut emulator = Emulator::new(spec(&shortest(), |_| ())).unwrap();
    let mut written = Written::default();
    emulator.send(Time(0), 0, &packet(1000, 5201), &mut written);
    let mut stranger = packet(1000, 5201);
    stranger[15] = 9; // from a host that the run does not have
    emulator.send(Time(0), 0, &stranger, &mut written);
    emulator.send(Time(0), 0, &[0x60; 60], &mut written);
    emulator.advance(Time(20 * MS), &mut written);
    assert_eq!((dues(&written), emulator.foreign()), (vec![6000], 2));
}

#[test]
fn both_connections_of_iperf3_take_the_path_of_their_flow() {
    let iperf3 = |spec: &mut Value| spec["traffic"][0]["sender"] = json!("iperf3");
    let mut emulator = Emulator::new(spec(&sprayed(), iperf3)).unwrap();
    let mut written = Written::default();
    for (number, port) in [(0, 30_000), (1, 49_152), (2, 49_152)] {
        let mut bytes = packet(1000, port);
        bytes[22..24].copy_from_slice(&5201_u16.to_be_bytes());
        emulator.send(Time(number * 100 * MS), 0, &bytes, &mut written);
    }
    let mut answer = packet(1000, 5201);
    answer[12..20].copy_from_slice(&[10, 0, 0, 4, 10, 0, 0, 1]);
    emulator.send(Time(300 * MS), 3, &answer, &mut written);
    emulator.advance(Time(2000 * MS), &mut written);
    // One count of packets for both connections: they alternate together.
    assert_eq!(dues(&written), [6000, 112_000, 206_000, 306_000]);
    assert_eq!((emulator.network().flows().len(), emulator.foreign()), (1, 0));
}

/// Each subflow has an address of its sender's, and a port that Linux chooses. The receiver's port is that of the connection.
#[test]
fn the_address_of_a_subflow_decides_its_path() {
    let multipath = |spec: &mut Value| {
        spec["stacks"][0]["protocol"] = json!({"name": "mptcp", "subflows": 8, "scheduler": "blest"});
        spec["delays"] = json!(true);
    };
    let mut emulator = Emulator::new(spec(&sprayed(), multipath)).unwrap();
    let server = emulator.network().endpoints(0).receiver.1;
    let mut written = Written::default();
    let sent = |network: u8, port: u16| {
        let mut bytes = packet(1000, port);
        bytes[12] = network;
        bytes[22..24].copy_from_slice(&server.to_be_bytes());
        bytes
    };
    for (number, (network, port)) in [(0, (10, 49_152)), (1, (11, 2000)), (2, (10, 49_152)), (3, (11, 2000))] {
        emulator.send(Time(number * 100 * MS), 0, &sent(network, port), &mut written);
    }
    let mut answer = packet(1000, server);
    answer[12..20].copy_from_slice(&[10, 0, 0, 4, 11, 0, 0, 1]);
    answer[22..24].copy_from_slice(&2000_u16.to_be_bytes());
    emulator.send(Time(400 * MS), 3, &answer, &mut written);
    emulator.send(Time(500 * MS), 0, &sent(12, 2001), &mut written); // there is no third path
    emulator.advance(Time(2000 * MS), &mut written);
    assert_eq!(dues(&written), [6000, 112_000, 206_000, 312_000, 412_000]);
    assert_eq!((emulator.network().flows().len(), emulator.foreign()), (3, 1));
    // The connection has the delays of both: 6 and 12 ms.
    assert!((emulator.delay_figures(0).mean - 0.009).abs() < 1e-9);
}

#[test]
fn a_queue_marks_packets_that_may_be_marked() {
    let mark = |spec: &mut Value| {
        spec["links"][0]["queue"] = json!({"discipline": "ecn-threshold", "limit": {"packets": 100}, "mark": 2});
    };
    let mut emulator = Emulator::new(spec(&shortest(), mark)).unwrap();
    let mut written = Written::default();
    for capable in [2, 2, 2, 0] {
        let mut bytes = packet(1000, 49_152);
        bytes[1] = capable;
        emulator.send(Time(0), 0, &bytes, &mut written);
    }
    emulator.advance(Time(50 * MS), &mut written);
    let ecn = |bytes: &[u8]| Ipv4HeaderSlice::from_slice(bytes).unwrap().ecn();
    let found: Vec<IpEcn> = written.0.iter().map(|(.., bytes)| ecn(bytes)).collect();
    assert_eq!(found.iter().map(|ecn| ecn.value()).collect::<Vec<u8>>(), [2, 2, 3, 0]);
}

#[test]
fn losses_drops_and_failures_take_packets_and_links_count_them() {
    let change = |spec: &mut Value| {
        spec["links"][0]["loss"] = json!({"model": "list", "packets": [2]});
        spec["links"][0]["queue"] = json!({"discipline": "drop-tail", "limit": {"packets": 4}});
        spec["events"] = json!([{"at": 100 * MS, "action": "fail", "links": [2]}]);
    };
    let mut emulator = Emulator::new(spec(&shortest(), change)).unwrap();
    let mut written = Written::default();
    for _ in 0..6 {
        emulator.send(Time(0), 0, &packet(1000, 49_152), &mut written);
    }
    emulator.send(Time(98 * MS), 0, &packet(1000, 49_152), &mut written); // on the wire of the second link as it fails
    emulator.advance(Time::ZERO + Duration::from_secs(10), &mut written);
    assert_eq!(dues(&written), [6000, 8000, 9000]);
    let links = emulator.network().link_table(std::iter::empty());
    assert_eq!((links.numbers("queue_drops")[0], links.numbers("losses")[0]), (2.0, 1.0));
    assert_eq!(links.numbers("losses")[2], 1.0);
}

#[test]
fn a_capture_has_the_bytes_of_what_enters_its_link() {
    let mut emulator = Emulator::new(spec(&shortest(), |_| ())).unwrap();
    let sent = packet(100, 49_152);
    emulator.send(Time(0), 0, &sent, &mut Written::default());
    let file = emulator.report().captures.remove(0).1;
    assert!(file.windows(100).any(|bytes| bytes == sent));
    assert!(read(&sent).is_some() && emulator.report().captures == [(0, Vec::new())]);
}
