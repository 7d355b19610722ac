//! A run in partitions gives the results of the undivided run, and is divided only if that saves time.

use super::random_run::{MS, usual_stack};
use crate::packet::oracle::compare::disagreement_of_partitions;
use crate::packet::{Partitions, Simulation};
use crate::spec::{ApplicationSpec, RunSpec};
use crate::units::Duration;
use serde_json::{Value, json};

/// A ring of hosts that are routers too, with flows between all pairs, and a failure during the run.
fn ring(nodes: usize, rate: u64, sample: Option<u64>) -> RunSpec {
    let link = |src, dst| {
        json!({"src": src, "dst": dst, "rate": rate, "delay": 3 * MS, "cost": 1.0, "loss": null,
            "queue": {"discipline": "drop-tail", "limit": {"packets": 40}}})
    };
    let next = |node| (node + 1) % nodes;
    let links: Vec<Value> = (0..nodes).flat_map(|node| [link(node, next(node)), link(next(node), node)]).collect();
    let pairs: Vec<[usize; 2]> =
        (0..nodes).flat_map(|src| (0..nodes).map(move |dst| [src, dst])).filter(|[src, dst]| src != dst).collect();
    let run = json!({"seed": 1, "duration": 600 * MS, "warm_up": 50 * MS, "sample": sample,
        "nodes": (0..nodes).map(|node| node.to_string()).collect::<Vec<_>>(), "links": links,
        "stacks": [usual_stack("cubic", true)],
        "routings": [{"name": "", "hops": {"kind": "shortest", "metric": "hop-count"}, "select": {"name": "hash"},
            "per": {"unit": "flow"}, "link_state": null, "hash": ["source"], "acks": null, "reconverge": 20 * MS}],
        "traffic": [{"name": "", "pairs": pairs, "flows_per_pair": 1, "transport": {"tcp": {"stack": 0}}, "routing": 0,
            "start": 0, "stagger": MS / 10, "stop": null, "application": {"kind": "bulk", "bytes": 300_000}}],
        "events": [{"at": 200 * MS, "links": [0, 1], "action": "fail"}, {"at": 350 * MS, "links": [0, 1], "action": "repair"}],
        "captures": [0, 5]});
    serde_json::from_value(run).expect("a run")
}

#[test]
fn threads_change_nothing() {
    for threads in [2, 3] {
        let difference =
            disagreement_of_partitions(&ring(7, 100_000_000, Some(10 * MS)), threads, true).expect("a run that can be");
        assert_eq!(difference, None, "on {threads} threads");
    }
}

#[test]
fn only_a_large_run_is_divided() {
    let threads = |spec| Partitions::new(spec, 2).expect("a run that can be").threads();
    assert_eq!(threads(ring(7, 10_000_000_000, None)), 2);
    assert_eq!(threads(ring(7, 1_000_000, None)), 1, "a few packets a round");
}

#[test]
fn samples_of_flows_that_wait_take_one_thread() {
    let threads = |sample| {
        let mut spec = ring(7, 10_000_000_000, sample);
        let flows = (0..spec.traffic[0].pairs.len() as u32).map(|pair| (pair, Duration::ZERO, 300_000)).collect();
        spec.traffic[0].application = ApplicationSpec::Trace { flows, after: vec![(1, 0)] };
        Partitions::new(spec, 2).expect("a run that can be").threads()
    };
    assert_eq!([threads(None), threads(Some(10 * MS))], [2, 1]);
}

#[test]
fn a_run_in_parts_goes_on_where_it_stopped() {
    let mut divided =
        Partitions::exactly(Simulation::new(ring(7, 100_000_000, None)).expect("a run"), 2).expect("a run");
    let mut before = 0;
    while divided.advance(500) {
        assert!(divided.packet_hops() >= before + 500, "as much as was asked for, unless it is the end");
        before = divided.packet_hops();
    }
    let mut whole = Simulation::new(ring(7, 100_000_000, None)).expect("a run");
    while whole.advance(1 << 20) {}
    assert_eq!((divided.packet_hops(), divided.now()), (whole.packet_hops(), whole.now()));
}
