//! Flows that start after others: both loops and all partitions agree, and every start follows from the ends before it.

use super::random_run::{MS, mesh_spec, usual_stack};
use crate::packet::Simulation;
use crate::packet::oracle::compare::{disagreement, disagreement_of_partitions};
use crate::packet::output::table::Table;
use crate::spec::{ApplicationSpec, RunSpec};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A random mesh with one group of random flows, some of which wait for flows that end or begin at their source.
fn waiting_spec() -> impl Strategy<Value = RunSpec> {
    let flows = prop::collection::vec((any::<usize>(), 0u64..100, 1u64..40_000), 2..20);
    let chosen = prop::collection::vec((any::<usize>(), any::<usize>()), 1..30);
    (mesh_spec(), flows, chosen, prop::option::of(300u64..900)).prop_map(|(mut spec, flows, chosen, stop)| {
        let nodes = spec["nodes"].as_array().map_or(0, Vec::len);
        let pairs: Vec<(usize, usize)> =
            (0..nodes).flat_map(|src| (0..nodes).map(move |dst| (src, dst))).filter(|(src, dst)| src != dst).collect();
        let listed: Vec<Value> =
            flows.iter().map(|(pair, at, bytes)| json!([pair % pairs.len(), at * MS, bytes])).collect();
        let ends: Vec<(usize, usize)> = flows.iter().map(|(pair, ..)| pairs[pair % pairs.len()]).collect();
        let knows = |flow: usize, earlier: usize| [ends[earlier].0, ends[earlier].1].contains(&ends[flow].0);
        let after: Vec<(usize, usize)> = chosen
            .iter()
            .map(|(flow, earlier)| (flow % ends.len(), earlier % ends.len()))
            .filter(|(flow, earlier)| earlier < flow && knows(*flow, *earlier))
            .collect();
        let group = &mut spec["traffic"][0];
        group["pairs"] = json!(pairs);
        group["stop"] = json!(stop.map(|stop| stop * MS));
        group["application"] = json!({"kind": "trace", "flows": listed, "after": after});
        serde_json::from_value(spec).expect("the generator makes runs")
    })
}

proptest! {
    #[test]
    fn both_loops_agree_and_partitions_too(mut spec in waiting_spec(), partitions in 2usize..5) {
        prop_assert_eq!(disagreement(&spec).expect("a run that can be"), None);
        spec.sample = None;
        spec.routings[0].link_state = None;
        prop_assert_eq!(disagreement_of_partitions(&spec, partitions, false).expect("a run that can be"), None);
    }

    /// A flow starts its delay after the last flow that it waits for. A flow that comes to its source counts from its end. A flow that its source
    /// sends counts from its acknowledgement, which is at least as late.
    #[test]
    fn every_start_follows_from_the_ends(spec in waiting_spec()) {
        let flows = finished(spec.clone());
        let [starts, ends] = ["start_s", "end_s"].map(|column| numbers(&flows, column));
        let [sources, targets] = ["src", "dst"].map(|column| flows.column(column).expect("a column").u32s().to_vec());
        let ApplicationSpec::Trace { flows: listed, after } = &spec.traffic[0].application else { unreachable!() };
        let groups = flows.column("traffic").expect("a column").u32s();
        let dropped = listed.len() > groups.iter().filter(|group| **group == 0).count();
        prop_assume!(!dropped); // the numbers of flows are those of the list
        for (flow, (_, delay, _)) in listed.iter().enumerate() {
            let before: Vec<usize> = after.iter().filter(|(own, _)| *own == flow as u32).map(|(_, it)| *it as usize).collect();
            if before.is_empty() || starts[flow].is_nan() {
                continue;
            }
            let over = before.iter().map(|it| ends[*it]).fold(0.0, f64::max);
            prop_assert!(before.iter().all(|it| !ends[*it].is_nan()), "flow {flow} starts before the end of another");
            let gap = starts[flow] - over - delay.as_secs();
            let all_come_here = before.iter().all(|it| targets[*it] == sources[flow]);
            prop_assert!(gap > -1e-9 && (!all_come_here || gap < 1e-9), "flow {flow} starts {gap} s late");
        }
    }
}

fn finished(spec: RunSpec) -> Table {
    let mut simulation = Simulation::new(spec).expect("a run that can be");
    while simulation.advance(1 << 20) {}
    simulation.flow_table()
}

fn numbers(table: &Table, column: &str) -> Vec<f64> {
    table.column(column).expect("a column").f64s().to_vec()
}

/// Hosts on a ring of idle links of 8 Mbit/s and 5 ms, each link in both directions, with these flows of one segment (pair, delay in ms, what
/// it waits for).
fn ring_of(hosts: usize, pairs: &[(usize, usize)], flows: &[(usize, u64, &[usize])]) -> RunSpec {
    let queue = json!({"discipline": "drop-tail", "limit": {"packets": 100}});
    let link = |src: usize, dst: usize| json!({"src": src, "dst": dst, "rate": 8_000_000, "delay": 5 * MS, "cost": 1.0, "queue": queue, "loss": null});
    let links: Vec<Value> =
        (0..hosts).flat_map(|host| [link(host, (host + 1) % hosts), link((host + 1) % hosts, host)]).collect();
    let after: Vec<(usize, usize)> = flows
        .iter()
        .enumerate()
        .flat_map(|(flow, (.., before))| before.iter().map(move |earlier| (flow, *earlier)))
        .collect();
    let listed: Vec<Value> = flows.iter().map(|(pair, delay, _)| json!([pair, delay * MS, 960])).collect();
    let run = json!({"seed": 1, "duration": 1000 * MS, "warm_up": 0, "sample": null,
        "nodes": (0..hosts).map(|host| host.to_string()).collect::<Vec<_>>(), "links": links,
        "stacks": [usual_stack("newreno", false)],
        "routings": [{"name": "", "hops": {"kind": "shortest", "metric": "hop-count"}, "select": {"name": "hash"},
            "per": {"unit": "flow"}, "link_state": null, "hash": ["source"], "acks": null, "reconverge": null}],
        "traffic": [{"name": "", "pairs": pairs, "flows_per_pair": 1, "transport": {"tcp": {"stack": 0}}, "routing": 0,
            "start": 0, "stagger": 0, "stop": null, "application": {"kind": "trace", "flows": listed, "after": after}}],
        "events": [], "captures": []});
    serde_json::from_value(run).expect("a run")
}

/// A segment of 1000 bytes takes 1 ms and 5 ms over a link, so each flow is delivered 6 ms after its start. Its ACK of 40 bytes takes 5.04 ms.
#[test]
fn a_chain_of_messages_takes_the_sum_of_their_times() {
    let pairs = [(0, 1), (1, 2), (2, 0)];
    let flows = finished(ring_of(3, &pairs, &[(0, 0, &[]), (1, 2, &[0]), (2, 0, &[1]), (0, 0, &[0])]));
    let in_ms =
        |column: &str| numbers(&flows, column).iter().map(|time| (time * 1e6).round() / 1e3).collect::<Vec<_>>();
    assert_eq!(in_ms("start_s"), [0.0, 8.0, 14.0, 11.04]);
    assert_eq!(in_ms("end_s"), [6.0, 14.0, 20.0, 17.04]);
    assert_eq!(in_ms("fct_s"), [6.0; 4]);
}

#[test]
fn the_last_of_several_decides_and_a_flow_after_none_that_ends_never_starts() {
    let pairs = [(0, 1), (2, 1), (1, 0), (1, 2)];
    let flows =
        finished(ring_of(3, &pairs, &[(0, 0, &[]), (1, 30, &[]), (2, 0, &[0, 1]), (0, 2000, &[]), (3, 0, &[3])]));
    let starts = numbers(&flows, "start_s");
    assert_eq!(starts.len(), 4, "the fourth would start after the run");
    assert!((starts[2] - 0.036).abs() < 1e-12 && starts[3].is_nan(), "{starts:?}");
}

#[test]
fn a_flow_cannot_wait_for_what_its_source_does_not_see() {
    let refused = |flows: &[(usize, u64, &[usize])]| {
        Simulation::new(ring_of(3, &[(0, 1), (2, 1)], flows)).err().expect("a refusal").to_string()
    };
    let unseen = refused(&[(0, 0, &[]), (1, 0, &[0])]);
    assert!(unseen.ends_with("a flow from '2' waits for one from '0' to '1': it must begin or end at '2'"), "{unseen}");
    let later = refused(&[(0, 0, &[1]), (0, 0, &[])]);
    assert!(later.contains("flow 0 of 2 waits for flow 1: it must be an earlier one"), "{later}");
}
