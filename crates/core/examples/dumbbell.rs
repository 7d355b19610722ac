//! The reference dumbbell, for profiling: `cargo run --release --example dumbbell [FLOWS] [SECONDS] [CONGESTION]`.

use anabranch_core::packet::Simulation;
use anabranch_core::packet::output::table::{Column, Table};
use anabranch_core::spec::RunSpec;
use serde_json::json;
use std::hash::{DefaultHasher, Hash, Hasher};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let flows: usize = arguments.next().map_or(16, |value| value.parse().expect("a number of flows"));
    let seconds: u64 = arguments.next().map_or(20, |value| value.parse().expect("a number of seconds"));
    let congestion = arguments.next().unwrap_or_else(|| "newreno".into());
    let mut simulation = Simulation::new(dumbbell(flows, seconds, &congestion)).expect("the dumbbell is a valid run");
    let started = std::time::Instant::now();
    while simulation.advance(1 << 20) {}
    let elapsed = started.elapsed().as_secs_f64();
    let hops = simulation.packet_hops();
    let goodput: f64 = simulation.flow_table().numbers("goodput_bps").iter().sum();
    println!("{hops} hops, {elapsed:.3} s, {:.1} M hops/s, {:.1} Mbit/s", hops as f64 / elapsed * 1e-6, goodput * 1e-6);
    println!("fingerprint {:016x}", fingerprint(&[simulation.flow_table(), simulation.link_table()]));
}

/// A hash over every result, to the bit: a change that is only to save time must leave it as it is.
fn fingerprint(tables: &[Table]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (name, column) in tables.iter().flat_map(|table| &table.columns) {
        name.hash(&mut hasher);
        match column {
            Column::U32(values) => values.hash(&mut hasher),
            Column::U64(values) => values.hash(&mut hasher),
            Column::F64(values) => values.iter().for_each(|value| value.to_bits().hash(&mut hasher)),
        }
    }
    hasher.finish()
}

fn dumbbell(flows: usize, seconds: u64, congestion: &str) -> RunSpec {
    const MILLISECOND: u64 = 1_000_000_000;
    let (left, right) = (2 * flows, 2 * flows + 1);
    let link = |src: usize, dst: usize, rate: u64, delay: u64, packets: u32| {
        json!({"src": src, "dst": dst, "rate": rate, "delay": delay * MILLISECOND, "cost": 1.0,
               "queue": {"discipline": "drop-tail", "limit": {"packets": packets}}, "loss": {"model": "none"}})
    };
    let mut links = vec![link(left, right, 1_000_000_000, 10, 3000), link(right, left, 1_000_000_000, 10, 3000)];
    for flow in 0..flows {
        for (a, b) in [(flow, left), (right, flows + flow)] {
            links.push(link(a, b, 10_000_000_000, 1, 100_000));
            links.push(link(b, a, 10_000_000_000, 1, 100_000));
        }
    }
    let spec = json!({
        "seed": 1, "duration": seconds * 1000 * MILLISECOND, "warm_up": 0, "sample": null,
        "nodes": (0..2 * flows + 2).map(|node| node.to_string()).collect::<Vec<_>>(),
        "links": links,
        "stacks": [{
            "name": congestion, "congestion": {"name": congestion}, "slow_start": {"name": "classic"},
            "detection": {"name": "dup-ack"},
            "ack": {"name": "immediate"}, "sack": true, "spurious": "none", "f_rto": false, "limited_transmit": true,
            "ecn": false, "pacing": false, "handshake": true, "mss": 960, "header": 40, "initial_window": 10,
            "receive_window": 1_000_000_000, "min_rto": 200 * MILLISECOND, "max_rto": 60_000 * MILLISECOND,
            "initial_rto": 1000 * MILLISECOND}],
        "routings": [{"name": "ospf", "hops": {"kind": "shortest", "metric": "hop-count"}, "select": "hash",
                      "per": {"unit": "flow"}, "hash": [], "acks": null, "reconverge": null}],
        "traffic": [{
            "name": "bulk", "pairs": (0..flows).map(|flow| (flow, flows + flow)).collect::<Vec<_>>(),
            "flows_per_pair": 1, "transport": {"tcp": {"stack": 0}}, "routing": 0, "start": 0,
            "stagger": 10 * MILLISECOND, "stop": null, "application": {"kind": "bulk", "bytes": null}}],
        "events": [], "captures": []
    });
    serde_json::from_value(spec).expect("the dumbbell matches the run's form")
}
