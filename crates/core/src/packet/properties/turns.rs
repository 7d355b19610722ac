//! Round robin at a router with several inputs: its state belongs to the node, so packets must be forwarded in the order of time.

use super::random_run::{MS, usual_stack};
use crate::packet::oracle::compare::disagreement;
use serde_json::{Value, json};

fn link(src: usize, dst: usize, delay: u64) -> Value {
    json!({"src": src, "dst": dst, "rate": 100_000_000, "delay": delay, "cost": 1.0, "loss": null,
        "queue": {"discipline": "drop-tail", "limit": {"packets": 50}}})
}

/// Two sources send over one router, which is not a host and has two next hops of different delay. The link with the greater index has the
/// smaller delay. So within an epoch, packets do not arrive in the order of the links.
#[test]
fn a_router_with_several_inputs_takes_turns_by_time() {
    let both_ways = |src, dst, delay| [link(src, dst, delay), link(dst, src, delay)];
    let links: Vec<Value> =
        [(0, 2, 5 * MS + MS / 10), (1, 2, 5 * MS), (2, 3, 5 * MS), (2, 4, 9 * MS), (3, 5, 5 * MS), (4, 5, 5 * MS)]
            .into_iter()
            .flat_map(|(src, dst, delay)| both_ways(src, dst, delay))
            .collect();
    let run = json!({"seed": 1, "duration": 2000 * MS, "warm_up": 0, "sample": null,
        "nodes": (0..6).map(|node| node.to_string()).collect::<Vec<_>>(), "links": links,
        "stacks": [usual_stack("newreno", false)],
        "routings": [{"name": "", "hops": {"kind": "equal-cost", "metric": "hop-count"}, "select": {"name": "round-robin"},
            "per": {"unit": "packet"}, "link_state": null, "hash": ["source"], "acks": null, "reconverge": null}],
        "traffic": [{"name": "", "pairs": [[0, 5], [1, 5]], "flows_per_pair": 1, "transport": {"tcp": {"stack": 0}}, "routing": 0,
            "start": 0, "stagger": 0, "stop": null, "application": {"kind": "bulk", "bytes": null}}],
        "events": [], "captures": []});
    let spec = serde_json::from_value(run).expect("a run");
    assert_eq!(disagreement(&spec).expect("a run that can be"), None);
}
