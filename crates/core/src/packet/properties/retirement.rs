//! Two flows finish in one epoch, before and after an instant at which flows retire. Both loops retire each flow at the same time.

use super::random_run::{MS, usual_stack};
use crate::packet::oracle::compare::disagreement;
use serde_json::{Value, json};

fn link(src: usize, dst: usize, delay: u64) -> Value {
    json!({"src": src, "dst": dst, "rate": 10_000_000, "delay": delay * MS, "cost": 1.0, "loss": null,
        "queue": {"discipline": "drop-tail", "limit": {"packets": 50}}})
}

/// Two flows between hosts of their own. Each is sprayed over a short path and one of `slow` ms, over which duplicates arrive long
/// after the flow is done. The first flow starts after `start` microseconds, the second `apart` microseconds later.
fn run(slow: u64, start: u64, apart: u64) -> Value {
    let links = (0..2).flat_map(|pair| {
        let [src, short, long, dst] = [0, 1, 2, 3].map(|node| 4 * pair + node);
        [link(src, short, 2), link(short, dst, 2), link(src, long, 2), link(long, dst, slow), link(dst, src, 4)]
    });
    let flow = |pair: usize| {
        json!({"name": "", "pairs": [[4 * pair, 4 * pair + 3]], "flows_per_pair": 1, "transport": {"tcp": {"stack": 0}}, "routing": 0,
            "start": (start + apart * pair as u64) * MS / 1000, "stagger": 0, "stop": null,
            "application": {"kind": "bulk", "bytes": 20_000}})
    };
    let mut stack = usual_stack("newreno", false);
    stack["spurious"] = json!("eifel");
    json!({"seed": 1, "duration": 3000 * MS, "warm_up": 0, "sample": null,
        "nodes": (0..8).map(|node| node.to_string()).collect::<Vec<_>>(), "links": links.collect::<Vec<_>>(),
        "stacks": [stack],
        "routings": [{"name": "", "hops": {"kind": "disjoint", "metric": "delay", "paths": 2}, "select": {"name": "round-robin"},
            "per": {"unit": "packet"}, "link_state": null, "hash": ["source"], "acks": null, "reconverge": null}],
        "traffic": [flow(0), flow(1)], "events": [], "captures": []})
}

/// The second flow is done 0.2 ms after the first, usually in the same epoch. A multiple of 100 ms decides when they retire. Over these starts
/// it falls before, between and after both. Duplicates arrive over the long paths around the later retirement.
#[test]
fn flows_done_around_a_multiple_of_time_wait_retire_equally_in_both_loops() {
    for start in (2500..5000).step_by(100) {
        let spec = serde_json::from_value(run(1150, start, 200)).expect("a run");
        assert_eq!(disagreement(&spec).expect("a run that can be"), None, "starting at {start} us");
    }
}
