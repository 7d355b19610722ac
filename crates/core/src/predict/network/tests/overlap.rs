//! Flows that end and share links: what is predicted can be carried, and the rest is refused.

use super::{line, near, predict};
use crate::predict::network::Prediction;
use crate::spec::{ApplicationSpec, RunSpec};
use crate::units::Duration;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Transfers of 5 MB over 10 Mbit/s in a run of this length, which start this much apart. One alone takes about 4.2 s.
fn transfers(count: u32, apart_s: f64, run_s: f64) -> RunSpec {
    let mut spec = line(&json!({"receive_window": 10_000_000, "mss": 1460, "header": 40}), 0.0);
    spec.duration = Duration::from_secs_f64(run_s);
    spec.traffic[0].application = ApplicationSpec::Bulk { bytes: Some(5_000_000) };
    spec.traffic[0].flows_per_pair = count;
    spec.traffic[0].stagger = Duration::from_secs_f64(apart_s);
    spec
}

fn median_s(found: &Prediction, flow: usize) -> f64 {
    found.flows[flow].completion.expect("it ends").median_s
}

#[test]
fn transfers_at_the_same_time_are_refused_however_long_the_run_is() {
    for run_s in [17.5, 20.0, 60.0, 1000.0] {
        let message = predict(&transfers(4, 0.0, run_s)).expect_err("a refusal").to_string();
        let expected =
            "flows that end and share link a -> b at the same time: at 0.000 s, flows 0, 1, 2 and 1 more would need ";
        assert!(message.contains(expected) && message.contains("--engine packet"), "{message}");
        let message = predict(&transfers(4, 1.0, run_s)).expect_err("a refusal").to_string();
        assert!(message.contains("at 1.000 s, flows 0, 1 would need "), "{message}");
    }
}

#[test]
fn transfers_one_after_another_take_as_long_as_one_alone() {
    let alone_s = median_s(&predict(&transfers(1, 0.0, 60.0)).expect("a prediction"), 0);
    for run_s in [4.0 * 4.3, 60.0] {
        let found = predict(&transfers(4, 4.3, run_s)).expect("a prediction");
        for flow in 0..4 {
            near(median_s(&found, flow), alone_s, 1e-6);
            near(found.flows[flow].completion.expect("it ends").high_s, alone_s, 1e-6);
        }
    }
}

/// Beside a flow without end, one transfer is predicted to have half of the link, and two at once would leave it nothing.
#[test]
fn transfers_leave_a_flow_without_end_its_share() {
    let beside_a_long_flow = |count: u32| {
        let mut spec = transfers(count, 0.0, 100.0);
        let mut long = spec.traffic[0].clone();
        (long.application, long.flows_per_pair) = (ApplicationSpec::Bulk { bytes: None }, 1);
        spec.traffic.push(long);
        predict(&spec)
    };
    assert!(beside_a_long_flow(1).is_ok());
    assert!(beside_a_long_flow(2).expect_err("a refusal").to_string().contains("flows 0, 1 would need "));
}

/// The first would be over when the second starts, but the link is down until then.
#[test]
fn transfers_that_a_failure_brings_together_are_refused() {
    let mut spec = serde_json::to_value(transfers(2, 10.0, 100.0)).expect("JSON");
    let event = |at_s: u64, action: &str| json!({"at": at_s * 1_000_000_000_000, "action": action, "links": [0, 1]});
    spec["events"] = json!([event(1, "fail"), event(11, "repair")]);
    let message = predict(&serde_json::from_value(spec).expect("a run")).expect_err("a refusal").to_string();
    assert!(message.contains("at 11.000 s, flows 0, 1 would need "), "{message}");
}

/// Hosts 0 and 1 send to 2 over a router, 3.
fn star(rates: [u64; 3], flows: &[(u32, u64, u64)], outage: Option<(u64, u64)>) -> RunSpec {
    let mut spec = serde_json::to_value(line(&json!({"receive_window": 10_000_000}), 0.0)).expect("JSON");
    let link = spec["links"][0].clone();
    let links = (0..3_usize).flat_map(|host| [(host, 3, host), (3, host, host)]).map(|(src, dst, host)| {
        let mut link = link.clone();
        (link["src"], link["dst"], link["rate"]) = (json!(src), json!(dst), json!(rates[host]));
        link
    });
    (spec["links"], spec["nodes"]) = (links.collect(), json!(["a", "b", "c", "r"]));
    let (listed, millisecond): (Vec<Value>, u64) =
        (flows.iter().map(|(pair, at_ms, bytes)| json!([pair, at_ms * 1_000_000_000, bytes])).collect(), 1_000_000_000);
    spec["traffic"][0]["pairs"] = json!([[0, 2], [1, 2]]);
    spec["traffic"][0]["application"] = json!({"kind": "trace", "flows": listed});
    let event = |at_ms: u64, action: &str| json!({"at": at_ms * millisecond, "action": action, "links": [4, 5]});
    spec["events"] =
        outage.map_or(json!([]), |(from_ms, ms)| json!([event(from_ms, "fail"), event(from_ms + ms, "repair")]));
    serde_json::from_value(spec).expect("a run")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]

    /// In any time, each link carries all flows that start and end within it. Without failures, the mean rates of the flows at any instant are no more than
    /// a link's rate either.
    #[test]
    fn no_link_carries_more_than_it_can(
        rates in [2_000_000u64..20_000_000, 2_000_000..20_000_000, 2_000_000..20_000_000],
        flows in prop::collection::vec((0u32..2, 0u64..30_000, 2_000u64..4_000_000), 1..6),
        outage in prop::option::of((0u64..30_000, 0u64..10_000)),
    ) {
        let spec = star(rates, &flows, outage);
        let Ok(found) = predict(&spec) else { return Ok(()) };
        let of_pair = |pair: u32| flows.iter().enumerate().filter(move |(_, flow)| pair == 2 || flow.0 == pair);
        let times_s = |(number, flow): (usize, &(u32, u64, u64))| {
            let start_s = flow.1 as f64 / 1e3;
            (start_s, start_s + median_s(&found, number), 8.0 * flow.2 as f64)
        };
        for pair in 0..3_u32 {
            let all: Vec<(f64, f64, f64)> = of_pair(pair).map(times_s).collect();
            for (from_s, ..) in &all {
                for (_, to_s, _) in &all {
                    let bits: f64 = all.iter().filter(|one| one.0 >= *from_s && one.1 <= *to_s).map(|one| one.2).sum();
                    let down_s = outage.filter(|_| pair == 2).map_or(0.0, |(begin_ms, ms)| {
                        let (begin_s, end_s) = (begin_ms as f64 / 1e3, (begin_ms + ms) as f64 / 1e3);
                        (to_s.min(end_s) - from_s.max(begin_s)).max(0.0)
                    });
                    prop_assert!(bits <= rates[pair as usize] as f64 * (to_s - from_s - down_s).max(0.0), "{:?}", all);
                }
                let active = all.iter().filter(|one| one.0 <= *from_s && *from_s < one.1);
                let bps: f64 = active.map(|(start_s, end_s, bits)| bits / (end_s - start_s)).sum();
                prop_assert!(outage.is_some() || bps <= rates[pair as usize] as f64, "{:?}", all);
            }
        }
    }
}
