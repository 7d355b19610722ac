//! Connections with subflows: the goals of coupled congestion control (RFC 6356 section 2), and delivery when a path fails.
//! [`super::random_run`] has them in random runs, for both loops, partitions and the conservation of packets.

use super::random_run::{MS, build, usual_stack};
use crate::packet::Simulation;
use crate::packet::hosts::flow::FlowState;
use serde_json::{Value, json};

/// A source (0) with two ways (1 and 2) to node 3, which a link joins with the destination (4). Links have these rates in Mbit/s, and 5 ms.
fn run(first: u64, second: u64, shared: u64, congestion: &str) -> Value {
    let queue = json!({"discipline": "drop-tail", "limit": {"packets": 50}});
    let ends = [(0, 1, first), (1, 3, first), (0, 2, second), (2, 3, second), (3, 4, shared)];
    let both = ends.into_iter().flat_map(|(a, b, rate)| [(a, b, rate), (b, a, rate)]);
    let links: Vec<Value> = both
        .map(|(src, dst, rate)| {
            json!({"src": src, "dst": dst, "rate": rate * 1_000_000, "delay": 5 * MS, "cost": 1.0, "loss": null,
                "queue": queue})
        })
        .collect();
    let mut stack = usual_stack(congestion, true);
    stack["protocol"] = json!({"name": "mptcp"});
    let routing = |hops: Value| {
        json!({"name": "", "hops": hops, "select": {"name": "hash"}, "per": {"unit": "flow"}, "hash": ["source"], "acks": null,
            "reconverge": null, "link_state": null})
    };
    let paths = json!({"kind": "explicit", "weights": [1.0, 1.0, 1.0, 1.0],
        "paths": [[0, 1, 3, 4], [0, 2, 3, 4], [4, 3, 1, 0], [4, 3, 2, 0]]});
    let traffic = |stack: usize, routing: usize| {
        json!({"name": "", "pairs": [[0, 4]], "flows_per_pair": 1, "transport": {"tcp": {"stack": stack}},
            "routing": routing, "start": 0, "stagger": 0, "stop": null, "application": {"kind": "bulk", "bytes": null}})
    };
    json!({"seed": 1, "duration": 60_000 * MS, "warm_up": 10_000 * MS, "sample": null,
        "nodes": ["s", "x", "y", "m", "d"], "links": links, "stacks": [stack, usual_stack("newreno", true)],
        "events": [], "captures": [], "traffic": [traffic(0, 0), traffic(1, 1)],
        "routings": [routing(paths), routing(json!({"kind": "shortest", "metric": "delay"}))]})
}

fn finish(spec: &Value) -> Simulation {
    let mut simulation: Simulation = build(spec);
    while simulation.advance(1_000_000) {}
    simulation
}

/// Goodputs of the connection and of the TCP flow beside it, Mbit/s.
fn goodputs(spec: &Value) -> [f64; 2] {
    let bps = finish(spec).flow_table().numbers("goodput_bps");
    [bps[0] / 1e6, bps[1] / 1e6]
}

/// Goal 2: over a shared bottleneck of 10 Mbit/s, two coupled subflows take about as much as one TCP flow, and two uncoupled ones about twice as much.
#[test]
fn coupled_subflows_take_no_more_of_a_bottleneck_than_tcp() {
    for congestion in ["lia", "olia", "balia"] {
        let [connection, tcp] = goodputs(&run(50, 50, 10, congestion));
        let share = connection / (connection + tcp);
        assert!((0.35..=0.6).contains(&share), "{congestion}: {connection} beside {tcp}");
        assert!(connection + tcp > 8.5, "{connection} and {tcp}");
    }
    let [connection, tcp] = goodputs(&run(50, 50, 10, "newreno"));
    assert!(connection / (connection + tcp) > 0.6, "uncoupled: {connection} beside {tcp}");
}

/// Goal 1: at least as much as the best path alone. Paths of 10 and 4 Mbit/s, no TCP beside.
#[test]
fn coupled_subflows_do_no_worse_than_the_best_path() {
    for congestion in ["lia", "olia", "balia", "cubic"] {
        for scheduler in ["min-rtt", "blest", "ecf"] {
            let mut spec = run(10, 4, 100, congestion);
            spec["stacks"][0]["protocol"]["scheduler"] = json!(scheduler);
            spec["traffic"].as_array_mut().unwrap().truncate(1);
            let bps = finish(&spec).flow_table().numbers("goodput_bps")[0];
            assert!(bps > 10e6, "{congestion}, {scheduler}: {bps} over 10 and 4 Mbit/s");
        }
    }
}

/// The first path fails for good while 5 MB are sent. The second subflow sends what the first one has not delivered.
#[test]
fn all_data_arrives_when_a_path_fails() {
    for scheduler in ["min-rtt", "blest", "ecf"] {
        let mut spec = run(10, 10, 100, "lia");
        spec["stacks"][0]["protocol"]["scheduler"] = json!(scheduler);
        spec["traffic"].as_array_mut().unwrap().truncate(1);
        spec["traffic"][0]["application"]["bytes"] = json!(5_000_000);
        spec["events"] = json!([{"at": 1000 * MS, "action": "fail", "links": [0]}]);
        spec["warm_up"] = json!(0);
        let simulation = finish(&spec);
        let flows = simulation.flow_table();
        // In the first second at most 2.4 MB arrive; the rest takes 2.2 s at 9.6 Mbit/s, and a timeout.
        let time = flows.numbers("fct_s")[0];
        assert!((3.2..5.0).contains(&time), "{scheduler}: {time} s");
        assert_eq!(flows.numbers("delivered_bytes")[0], 5_000_000.0);
        assert!(flows.numbers("timeouts")[0] >= 1.0);
    }
}

/// Each subflow keeps to its path: all packets of the first are on the first way, and ACKs come back over the same way.
#[test]
fn a_subflow_stays_on_its_path() {
    let mut spec = run(10, 10, 100, "lia");
    spec["traffic"].as_array_mut().unwrap().truncate(1);
    spec["routings"][0]["per"] = json!({"unit": "packet"});
    spec["routings"][0]["select"] = json!({"name": "random"});
    let simulation = finish(&spec);
    let FlowState::Multipath(connection) = &simulation.hosts.flows()[0].state else { panic!("a connection") };
    assert_eq!(connection.subflows.len(), 2);
    assert_eq!(
        simulation.flow_table().numbers("retransmits")[0],
        simulation.link_table().numbers("queue_drops").iter().sum::<f64>()
    );
    let reordered = connection.subflows.iter().map(|subflow| subflow.receiver.counters().reordered);
    assert_eq!(reordered.sum::<u64>(), 0);
}

#[test]
fn a_routing_whose_paths_change_is_refused() {
    let mut spec = run(10, 10, 100, "lia");
    spec["routings"][0]["reconverge"] = json!(50 * MS);
    spec["events"] = json!([{"at": 1000 * MS, "action": "fail", "links": [0]}]);
    let refused = Simulation::new(serde_json::from_value(spec).unwrap()).err().expect("refused").to_string();
    assert!(refused.contains("the subflows of mptcp keep theirs"), "{refused}");
}
