//! What limits a flow, where that is known beforehand.

use super::engine_properties::{MS, chain, run, run_spec, traffic};
use serde_json::{Value, json};

/// The shares of the receive window, the application, the congestion window and pacing.
fn shares(spec: &Value) -> [f64; 4] {
    let flows = run(spec).flow_table();
    let limits = ["receive_window", "application", "congestion_window", "pacing"];
    limits.map(|limit| flows.numbers(&format!("limited_by_{limit}"))[0])
}

/// One flow over 20 Mbit/s and a round trip of 100 ms: 250 segments of 1000 bytes are in flight if nothing else limits it.
fn one_flow() -> Value {
    let mut spec = run_spec(2, chain(&[(20, 50)]), vec![traffic(json!([[0, 1]]))]);
    spec["stacks"][0]["header"] = json!(40);
    spec["warm_up"] = json!(2_000 * MS);
    spec
}

#[test]
fn a_window_of_ten_segments_over_a_long_path() {
    let mut spec = one_flow();
    spec["stacks"][0]["receive_window"] = json!(10 * 960);
    assert_eq!(shares(&spec), [1.0, 0.0, 0.0, 0.0]);
    // With an end, the rest is the handshake of one round trip, and the last one.
    spec["warm_up"] = json!(0);
    spec["traffic"][0]["application"] = json!({"kind": "bulk", "bytes": 50 * 9600});
    let [window, rest @ ..] = shares(&spec);
    assert!((window - 49.0 / 51.0).abs() < 0.01, "{window}");
    assert_eq!(rest, [0.0; 3]);
}

#[test]
fn an_application_slower_than_the_path() {
    let mut spec = one_flow();
    spec["traffic"][0]["application"] = json!({"kind": "constant", "rate": 2_000_000});
    assert_eq!(shares(&spec), [0.0, 1.0, 0.0, 0.0]);
    // It stops after 4 of the 8 s that are measured, and writes nothing more.
    spec["traffic"][0]["application"] = json!({"kind": "bulk", "bytes": null});
    spec["traffic"][0]["stop"] = json!(6_000 * MS);
    let [_, application, congestion_window, _] = shares(&spec);
    assert!((application - 0.5).abs() < 0.05 && (congestion_window - 0.5).abs() < 0.05, "{application}");
}

#[test]
fn losses_leave_the_congestion_window() {
    let mut spec = one_flow();
    spec["links"][0]["loss"] = json!({"model": "bernoulli", "ratio": 0.01});
    for handshake in [true, false] {
        spec["stacks"][0]["handshake"] = json!(handshake);
        assert_eq!(shares(&spec), [0.0, 0.0, 1.0, 0.0]);
    }
}

/// It paces a little below the rate that the path gives, with a window of twice what is in flight.
#[test]
fn a_lone_bbr_is_paced() {
    let mut spec = one_flow();
    spec["stacks"][0]["congestion"] = json!({"name": "bbr"});
    let [receive_window, application, congestion_window, pacing] = shares(&spec);
    assert_eq!((receive_window, application), (0.0, 0.0));
    assert!(pacing > 0.9 && (pacing + congestion_window - 1.0).abs() < 1e-12, "{pacing}");
}

/// Before the warm-up, the window limits; in the measured time, the application has stopped.
#[test]
fn the_warm_up_does_not_count() {
    let mut spec = one_flow();
    spec["stacks"][0]["receive_window"] = json!(10 * 960);
    spec["traffic"][0]["stop"] = json!(1_000 * MS);
    assert_eq!(shares(&spec), [0.0, 1.0, 0.0, 0.0]);
}

#[test]
fn datagrams_and_flows_that_end_in_the_warm_up_have_no_shares() {
    let mut spec = one_flow();
    spec["traffic"][0]["application"] = json!({"kind": "bulk", "bytes": 9600});
    assert!(shares(&spec).iter().all(|share| share.is_nan()));
    spec["traffic"][0]["transport"] = json!({"udp": {"packet": 1000}});
    spec["traffic"][0]["application"] = json!({"kind": "constant", "rate": 2_000_000});
    assert!(shares(&spec).iter().all(|share| share.is_nan()));
}
