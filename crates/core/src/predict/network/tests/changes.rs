//! Runs whose links or routes change, compared with worked numbers and with the packet engine.

use super::{line, near, predict};
use crate::packet::Oracle;
use crate::predict::network::{Prediction, sums};
use crate::spec::RunSpec;
use serde_json::{Value, json};

/// The run of [`line`], 100 s at 10 Mbit/s, with these events: (seconds, action, links).
fn with_events(spec: RunSpec, events: &[(f64, Value, &[u32])]) -> RunSpec {
    let mut spec = serde_json::to_value(spec).expect("a run is JSON");
    spec["events"] = events
        .iter()
        .map(|(at_s, action, links)| json!({"at": (at_s * 1e12) as u64, "action": action, "links": links}))
        .collect();
    serde_json::from_value(spec).expect("a run")
}

fn stack() -> Value {
    json!({"receive_window": 10_000_000, "mss": 1460, "header": 40})
}

const FULL_BPS: f64 = 1e7 * 1460.0 / 1500.0;

/// Two ways from a to c: over b at 10 Mbit/s, and over d at 5 Mbit/s and a longer delay.
fn two_ways(reconverge_s: Option<f64>) -> RunSpec {
    let mut spec = serde_json::to_value(line(&stack(), 0.0)).expect("a run is JSON");
    let link = spec["links"][0].clone();
    let ends = [(0, 1), (1, 0), (1, 2), (2, 1), (0, 3), (3, 0), (3, 2), (2, 3)];
    let links = ends.map(|(src, dst)| {
        let mut link = link.clone();
        (link["src"], link["dst"], link["loss"]) = (json!(src), json!(dst), Value::Null);
        if src == 3 || dst == 3 {
            (link["rate"], link["delay"]) = (json!(5_000_000), json!(15_000_000_000_u64));
        }
        link
    });
    (spec["links"], spec["nodes"]) = (json!(links), json!(["a", "b", "c", "d"]));
    spec["routings"][0]["hops"]["metric"] = json!("delay");
    spec["routings"][0]["reconverge"] = reconverge_s.map_or(Value::Null, |wait_s| json!((wait_s * 1e12) as u64));
    spec["traffic"][0]["pairs"] = json!([[0, 2]]);
    serde_json::from_value(spec).expect("a run")
}

fn simulated(spec: RunSpec, column: &str) -> f64 {
    let mut engine = Oracle::new(spec).expect("a run");
    while engine.advance(1_000_000) {}
    engine.flow_table().numbers(column)[0]
}

fn goodput(prediction: &Prediction) -> f64 {
    let flow = prediction.flows[0];
    assert!(flow.interval_bps.0 <= flow.goodput_bps && flow.goodput_bps <= flow.interval_bps.1, "{flow:?}");
    flow.goodput_bps
}

#[test]
fn a_flow_has_nothing_while_its_only_link_is_down() {
    let spec = with_events(line(&stack(), 0.0), &[(40.0, json!("fail"), &[0, 1]), (60.0, json!("repair"), &[0, 1])]);
    let found = predict(&spec).expect("a prediction");
    // 80 of 100 s, less the wait for a timeout: 0.44 of 20 s and the timeout, which is below 1 s.
    let waits_s = (1.0 - goodput(&found) / FULL_BPS) * 100.0 - 20.0;
    assert!((8.8..9.4).contains(&waits_s), "{waits_s}");
    near(found.links[0].utilisation, 0.8, 0.01);
    let (low, high) = found.flows[0].interval_bps;
    let runs = simulated(spec, "goodput_bps");
    assert!((low..high).contains(&runs), "{runs} is not in {low} to {high}");
}

#[test]
fn a_failure_at_the_beginning_is_a_network_without_the_link() {
    let failed = with_events(two_ways(Some(0.0)), &[(0.0, json!("fail"), &[0, 1])]);
    let mut without = two_ways(None);
    without.links.retain(|link| link.src != 1 && link.dst != 1);
    let [failed, without] = [failed, without].map(|spec| predict(&spec).expect("a prediction").flows[0]);
    assert_eq!((failed.goodput_bps, failed.interval_bps), (without.goodput_bps, without.interval_bps));
    assert_eq!((failed.window, failed.limited_by), (without.window, without.limited_by));
}

#[test]
fn a_flow_has_the_mean_of_its_paths_by_time() {
    let spec = with_events(two_ways(Some(0.0)), &[(25.0, json!("fail"), &[0, 1])]);
    let found = predict(&spec).expect("a prediction");
    near(goodput(&found), (0.25 + 0.75 * 0.5) * FULL_BPS, 5e-3);
    near(found.links[0].utilisation, 0.25, 0.01);
    near(found.links[4].utilisation, 0.75, 0.01);
    near(simulated(spec, "goodput_bps"), goodput(&found), 0.02);
    // Without new routes, all that it has is in the first quarter.
    let found = predict(&with_events(two_ways(None), &[(25.0, json!("fail"), &[0, 1])])).expect("a prediction");
    near(goodput(&found), 0.25 * FULL_BPS, 5e-3);
    // With them 5 s later, the packet engine waits as well.
    let spec = with_events(two_ways(Some(5.0)), &[(25.0, json!("fail"), &[0, 1])]);
    let found = predict(&spec).expect("a prediction").flows[0];
    assert!((found.interval_bps.0..found.interval_bps.1).contains(&simulated(spec, "goodput_bps")), "{found:?}");
}

#[test]
fn the_warm_up_does_not_count() {
    let mut spec = with_events(two_ways(Some(0.0)), &[(25.0, json!("fail"), &[0, 1])]);
    spec.warm_up = crate::units::Duration::from_secs(50);
    near(goodput(&predict(&spec).expect("a prediction")), 0.5 * FULL_BPS, 5e-3);
}

#[test]
fn datagrams_load_the_links_before_the_one_that_has_failed() {
    let mut spec = serde_json::to_value(two_ways(None)).expect("a run is JSON");
    let mut datagrams = spec["traffic"][0].clone();
    (datagrams["transport"], datagrams["application"]) =
        (json!({"udp": {"packet": 1000}}), json!({"kind": "constant", "rate": 4_000_000}));
    spec["traffic"][0]["pairs"] = json!([[0, 1]]);
    spec["traffic"].as_array_mut().expect("groups").push(datagrams);
    let spec: RunSpec = serde_json::from_value(spec).expect("a run");
    // The link from b to c fails at once: TCP goes to b only, datagrams would go on to c.
    let found = predict(&with_events(spec, &[(0.0, json!("fail"), &[2])])).expect("a prediction");
    assert_eq!(found.flows[1].goodput_bps, 0.0);
    near(goodput(&found), 6e6 * 1460.0 / 1500.0, 0.01);
}

#[test]
fn a_run_in_which_nothing_arrives_has_zeros() {
    let found = predict(&with_events(line(&stack(), 0.0), &[(0.0, json!("fail"), &[1])])).expect("a prediction");
    assert!(found.converged && found.unique);
    assert_eq!((found.flows[0].goodput_bps, found.flows[0].interval_bps), (0.0, (0.0, 0.0)));
    assert_eq!(found.flows[0].limited_by, "no path");
    assert_eq!(found.links[0].utilisation, 0.0);
}

#[test]
fn a_loss_and_a_rate_hold_from_their_event_on() {
    let loss = json!({"impair": {"model": "bernoulli", "ratio": 0.005}});
    let changed = predict(&with_events(line(&stack(), 0.0), &[(50.0, loss, &[0])])).expect("a prediction");
    let lossy = predict(&line(&stack(), 0.005)).expect("a prediction");
    near(goodput(&changed), f64::midpoint(FULL_BPS, goodput(&lossy)), 5e-3);
    let mut spec = serde_json::to_value(line(&stack(), 0.0)).expect("a run is JSON");
    // 10 Mbit/s for 50 s, no departures for 10 s, then 2 Mbit/s.
    spec["schedules"] = json!([{"kind": "steps", "at": [0, 50_000_000_000_000_u64, 60_000_000_000_000_u64],
                 "values": [10_000_000, 0, 2_000_000], "repeat": null}]);
    spec["links"][0]["rate_schedule"] = json!(0);
    let found = predict(&serde_json::from_value(spec).expect("a run")).expect("a prediction").flows[0];
    let most_bps = (0.5 + 0.4 * 0.2) * FULL_BPS;
    assert!(found.goodput_bps < most_bps && most_bps < found.interval_bps.1, "{found:?}");
    near(found.goodput_bps, (0.5 + 0.4 * 0.2 * (1.0 - 0.44 * 10.3 / 40.0)) * FULL_BPS, 0.01);
}

#[test]
fn a_transfer_goes_on_after_a_failure() {
    let mut spec = line(&stack(), 0.0);
    spec.traffic[0].application = crate::spec::ApplicationSpec::Bulk { bytes: Some(12_000_000) };
    let idle = predict(&spec).expect("a prediction").flows[0].completion.expect("it ends");
    // Routes stay, and the link is back after half a second.
    let spec = with_events(spec, &[(4.0, json!("fail"), &[0, 1]), (4.5, json!("repair"), &[0, 1])]);
    let cut = predict(&spec).expect("a prediction").flows[0].completion.expect("it ends");
    assert!(cut.low_s > idle.low_s + 0.499 && cut.median_s < idle.median_s + 1.5, "{cut:?} after {idle:?}");
    let simulated_s = simulated(spec, "fct_s");
    assert!((0.98 * cut.low_s..1.02 * cut.high_s).contains(&simulated_s), "{simulated_s} is not in {cut:?}");
}

#[test]
fn a_transfer_without_a_path_does_not_end() {
    let mut spec = line(&stack(), 0.0);
    spec.traffic[0].application = crate::spec::ApplicationSpec::Bulk { bytes: Some(12_000_000) };
    let never = predict(&with_events(spec.clone(), &[(0.0, json!("fail"), &[0])])).expect("a prediction").flows[0];
    assert_eq!((never.goodput_bps, never.completion), (0.0, None));
    let cut = predict(&with_events(spec, &[(4.0, json!("fail"), &[0])])).expect("a prediction").flows[0];
    assert!(cut.completion.expect("it has begun").median_s.is_infinite());
}

#[test]
fn the_sum_of_all_flows_is_the_sum_of_their_means() {
    let mut spec = with_events(two_ways(Some(1.0)), &[(25.0, json!("fail"), &[0, 1])]);
    spec.traffic[0].flows_per_pair = 3;
    let found = predict(&spec).expect("a prediction");
    let [all] = sums(&found, &[0; 3], 1)[..] else { panic!("one kind") };
    near(all.goodput_bps, found.flows.iter().map(|flow| flow.goodput_bps).sum(), 1e-9);
    assert!(all.interval_bps.0 <= all.goodput_bps && all.goodput_bps <= all.interval_bps.1);
}

/// Over four paths of which one has failed, packets that draw a path lose every fourth. A sender that answers losses stands still, BBR does not.
#[test]
fn paths_that_fail_and_stay_in_use_cost_a_sprayed_flow_most_of_its_goodput() {
    let with = |congestion: &str| {
        let mut spec = serde_json::to_value(line(&json!({"congestion": {"name": congestion}}), 0.0)).expect("JSON");
        let mut links = Vec::new();
        for relay in 2..6 {
            for (src, dst) in [(0, relay), (relay, 0), (relay, 1), (1, relay)] {
                let mut link = spec["links"][1].clone();
                (link["src"], link["dst"]) = (json!(src), json!(dst));
                links.push(link);
            }
        }
        (spec["links"], spec["nodes"]) = (json!(links), json!(["a", "b", "c", "d", "e", "f"]));
        spec["routings"][0]["hops"] = json!({"kind": "disjoint", "metric": "hop-count", "paths": 4});
        (spec["routings"][0]["select"], spec["routings"][0]["per"]) =
            (json!({"name": "random"}), json!({"unit": "packet"}));
        let spec: RunSpec = serde_json::from_value(spec).expect("a run");
        let before = predict(&spec).expect("a prediction").flows[0].goodput_bps;
        let after = predict(&with_events(spec, &[(0.0, json!("fail"), &[0, 1])])).expect("a prediction").flows[0];
        assert!(after.interval_bps.0 == 0.0 && after.goodput_bps <= after.interval_bps.1, "{after:?}");
        assert_eq!(after.limited_by, "failed paths");
        after.goodput_bps / before
    };
    // The packet engine: 0.00 to 0.05, and 0.2 to 0.4.
    assert!(with("newreno") < 0.05);
    assert!((0.2..0.4).contains(&with("bbr")));
}
