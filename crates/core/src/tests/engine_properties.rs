//! Runs that must agree with each other, and rules of the engine at its edges. The accounting of every run is checked inside the crate
//! (`packet::properties`), where the counters of links are visible.

use crate::packet::Simulation;
use crate::spec::RunSpec;
use proptest::prelude::*;
use serde_json::{Value, json};

pub(super) const MS: u64 = 1_000_000_000;

fn link(src: usize, dst: usize, mbps: u64, delay_ms: u64) -> Value {
    json!({"src": src, "dst": dst, "rate": mbps * 1_000_000, "delay": delay_ms * MS, "cost": 1.0,
           "queue": {"discipline": "drop-tail", "limit": {"packets": 50}}, "loss": null})
}

fn stack() -> Value {
    json!({"name": "", "congestion": {"name": "newreno"}, "slow_start": {"name": "classic"},
        "detection": {"name": "dup-ack"},
        "ack": {"name": "immediate"}, "sack": true, "spurious": "none", "f_rto": false, "limited_transmit": true,
        "ecn": false, "pacing": false, "handshake": true, "mss": 960, "header": 40, "initial_window": 10,
        "receive_window": 1_000_000, "min_rto": 200 * MS, "max_rto": 60_000 * MS, "initial_rto": 1000 * MS})
}

pub(super) fn traffic(pairs: Value) -> Value {
    json!({"name": "", "pairs": pairs, "flows_per_pair": 1, "transport": {"tcp": {"stack": 0}}, "routing": 0,
        "start": 0, "stagger": 0, "stop": null, "application": {"kind": "bulk", "bytes": null}})
}

pub(super) fn run_spec(nodes: usize, links: Vec<Value>, traffic: Vec<Value>) -> Value {
    json!({"seed": 1, "duration": 10_000 * MS, "warm_up": 0, "sample": null,
        "nodes": (0..nodes).map(|node| node.to_string()).collect::<Vec<_>>(), "links": links, "stacks": [stack()],
        "routings": [{"name": "", "hops": {"kind": "shortest", "metric": "delay"}, "select": {"name": "hash"},
            "per": {"unit": "flow"}, "hash": ["source", "destination", "source-port"], "acks": null,
            "reconverge": null}],
        "traffic": traffic, "events": [], "captures": []})
}

pub(super) fn run(spec: &Value) -> Simulation {
    let spec: RunSpec = serde_json::from_value(spec.clone()).expect("a run");
    let mut simulation = Simulation::new(spec).expect("a run that can be");
    let mut now = simulation.now();
    while simulation.advance(10_000) {
        assert!(simulation.now() >= now, "time goes back");
        now = simulation.now();
    }
    simulation
}

/// A chain 0 - 1 - ... with links both ways.
pub(super) fn chain(links: &[(u64, u64)]) -> Vec<Value> {
    links
        .iter()
        .enumerate()
        .flat_map(|(node, (mbps, delay))| [link(node, node + 1, *mbps, *delay), link(node + 1, node, *mbps, *delay)])
        .collect()
}

/// Three relays between 0 and 4, and paths over all of them, sprayed in turn.
fn three_paths() -> Value {
    let links = (1..4)
        .flat_map(|relay| [link(0, relay, 5, 5), link(relay, 4, 5, 5), link(4, relay, 5, 5), link(relay, 0, 5, 5)]);
    let mut spec = run_spec(5, links.collect(), vec![traffic(json!([[0, 4]]))]);
    spec["routings"][0]["hops"] = json!({"kind": "disjoint", "metric": "delay", "paths": 3});
    spec["routings"][0]["select"] = json!({"name": "round-robin"});
    spec["routings"][0]["per"] = json!({"unit": "packet"});
    spec
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 8, ..ProptestConfig::default() })]

    /// The names of nodes do not matter: in a chain of different links, no events tie.
    #[test]
    fn relabelled_nodes_carry_the_same(
        links in prop::collection::vec((1u64..20, 1u64..30), 2..5), turn in 1usize..4,
    ) {
        let nodes = links.len() + 1;
        let spec = run_spec(nodes, chain(&links), vec![traffic(json!([[0, nodes - 1], [1, nodes - 1]]))]);
        let rename = |node: &Value| json!((node.as_u64().unwrap() as usize + turn) % nodes);
        let mut renamed = spec.clone();
        for link in renamed["links"].as_array_mut().unwrap() {
            (link["src"], link["dst"]) = (rename(&link["src"]), rename(&link["dst"]));
        }
        for pair in renamed["traffic"][0]["pairs"].as_array_mut().unwrap() {
            *pair = json!([rename(&pair[0]), rename(&pair[1])]);
        }
        let (plain, renamed) = (run(&spec), run(&renamed));
        for name in ["goodput_bps", "retransmits", "srtt_s"] {
            prop_assert_eq!(plain.flow_table().numbers(name), renamed.flow_table().numbers(name), "{}", name);
        }
    }

    /// A delay is the same in two halves, but for the time of a packet on a link of 1 Tbit/s.
    #[test]
    fn a_delay_in_two_parts_is_the_same_delay(mbps in 1u64..20, delay in 4u64..40, part in 1u64..4) {
        let whole = run_spec(2, chain(&[(mbps, delay)]), vec![traffic(json!([[0, 1]]))]);
        let halves = run_spec(3, chain(&[(mbps, part), (1_000_000, delay - part)]), vec![traffic(json!([[0, 2]]))]);
        let goodput = |spec: &Value| run(spec).flow_table().numbers("goodput_bps")[0];
        let (whole, halves) = (goodput(&whole), goodput(&halves));
        prop_assert!((whole / halves - 1.0).abs() < 0.01, "{whole} and {halves}");
    }

    /// With any failures and repairs at any times, the flow continues where a path is left.
    #[test]
    fn failures_and_reroutes_at_any_time(events in prop::collection::vec((0u64..5000, 0u8..3, 0usize..12), 1..20)) {
        let mut spec = three_paths();
        spec["routings"][0]["reconverge"] = json!(20 * MS);
        spec["events"] = events
            .iter()
            .map(|(at, action, link)| {
                let action = ["fail", "repair", "reroute"][usize::from(*action)];
                json!({"at": at * MS, "action": action, "links": [link]})
            })
            .chain([json!({"at": 5000 * MS, "action": "repair", "links": (0..12).collect::<Vec<_>>()})])
            .collect();
        spec["duration"] = json!(100_000 * MS);
        spec["traffic"][0]["application"] = json!({"kind": "bulk", "bytes": 8_000_000});
        let flow = run(&spec).flow_table();
        prop_assert_eq!(flow.numbers("delivered_bytes"), [8_000_000.0]);
        prop_assert!(flow.numbers("end_s")[0] < 100.0);
    }
}

#[test]
fn round_robin_goes_on_when_a_path_is_gone() {
    let mut spec = three_paths();
    // One path fewer at three instants, so that the turn stands at each place.
    for at in [1000, 1001, 1002] {
        spec["routings"][0]["reconverge"] = json!(MS);
        spec["events"] = json!([{"at": at * MS, "action": "fail", "links": [8]}]);
        assert!(run(&spec).flow_table().numbers("delivered_bytes")[0] > 1e6);
    }
}

#[test]
fn a_flow_that_would_start_after_its_stop_does_not() {
    let mut group = traffic(json!([[0, 1]]));
    group["flows_per_pair"] = json!(4);
    group["stagger"] = json!(400 * MS);
    group["stop"] = json!(1000 * MS);
    let flows = run(&run_spec(2, chain(&[(10, 10)]), vec![group])).flow_table();
    // At 0, 0.4, 0.8 s; the fourth would start at 1.2 s.
    assert_eq!(flows.numbers("start_s"), [0.0, 0.4, 0.8]);
    assert!(flows.numbers("delivered_bytes")[0] > 0.0);
}

/// All applications write more within their second than the link carries.
#[test]
fn what_an_application_has_written_before_its_stop_is_delivered() {
    let delivered = |application: Value| {
        let mut group = traffic(json!([[0, 1]]));
        group["stop"] = json!(1000 * MS);
        group["application"] = application;
        run(&run_spec(2, chain(&[(10, 10)]), vec![group])).flow_table()
    };
    assert_eq!(delivered(json!({"kind": "bulk", "bytes": 3_000_000})).numbers("delivered_bytes"), [3e6]);
    // A segment of 960 bytes every 384 us from 0 on.
    let constant = delivered(json!({"kind": "constant", "rate": 20_000_000}));
    assert_eq!(constant.numbers("delivered_bytes"), [2605.0 * 960.0]);
    let short = delivered(json!({"kind": "short-flows", "arrivals": 40.0, "sizes": [[0, 0.0], [100_000, 1.0]]}));
    assert_eq!(short.numbers("delivered_bytes"), short.numbers("size_bytes"));
    // Without a size, it writes until the stop. Then only packets in flight are left: less than the link and its queue hold.
    let endless = delivered(json!({"kind": "bulk", "bytes": null})).numbers("delivered_bytes")[0];
    assert!(endless > 1.0e6 && endless < 1.25e6 + 80_000.0, "{endless}");
}

#[test]
fn a_syn_sprayed_at_random_finds_the_living_path() {
    let mut spec = three_paths();
    spec["routings"][0]["select"] = json!({"name": "random"});
    spec["routings"][0]["acks"] = json!(1);
    let mut single = spec["routings"][0].clone();
    single["hops"] = json!({"kind": "explicit", "paths": [[4, 3, 0]], "weights": [1.0]});
    single["acks"] = Value::Null;
    spec["routings"].as_array_mut().unwrap().push(single);
    // Two of three paths have failed, and no routing detects it.
    spec["events"] = json!([{"at": 0, "action": "fail", "links": [0, 4]}]);
    spec["duration"] = json!(300_000 * MS);
    for seed in 1..20 {
        spec["seed"] = json!(seed);
        assert!(run(&spec).flow_table().numbers("segments_sent")[0] > 0.0, "seed {seed}: no connection");
    }
}

#[test]
fn the_loss_ratio_of_a_failed_link_is_a_ratio() {
    let mut spec = run_spec(2, chain(&[(10, 10)]), vec![traffic(json!([[0, 1]]))]);
    spec["traffic"][0]["transport"] = json!({"udp": {"packet": 1000}});
    spec["traffic"][0]["application"] = json!({"kind": "constant", "rate": 8_000_000});
    spec["events"] = json!([{"at": 1000 * MS, "action": "fail", "links": [0]}]);
    let links = run(&spec).link_table();
    // The source sends a packet per millisecond. Of 10000 packets, only those of the first second arrive, without the packets in flight at its
    // end.
    let ratio = links.numbers("loss_ratio")[0];
    assert!((ratio - 0.9).abs() < 0.01, "{ratio}");
}

/// Two paths of 10 and 16 ms in turn: the cost of a spurious retransmission depends on whether the sender detects it.
#[test]
fn an_undo_gives_back_what_reordering_took() {
    let goodput = |spurious: &str| {
        let mut spec = three_paths();
        for link in 4..8 {
            spec["links"][link]["delay"] = json!(8 * MS);
        }
        spec["routings"][0]["hops"] = json!({"kind": "explicit", "paths": [[0, 1, 4], [0, 2, 4], [4, 1, 0], [4, 2, 0]], "weights": [1.0, 1.0, 1.0, 1.0]});
        spec["stacks"][0]["spurious"] = json!(spurious);
        let flow = run(&spec).flow_table();
        (flow.numbers("goodput_bps")[0], flow.numbers("undone")[0], flow.numbers("timeouts")[0])
    };
    let (without, with_dsack, with_eifel) = (goodput("none"), goodput("dsack"), goodput("eifel"));
    assert_eq!(without.1, 0.0);
    assert!(with_dsack.1 > 0.0 && with_eifel.1 > 0.0, "{with_dsack:?} {with_eifel:?}");
    assert!(with_eifel.0 > 1.5 * without.0, "{with_eifel:?} and {without:?}");
    assert!(with_dsack.0 > without.0, "{with_dsack:?} and {without:?}");
}

/// An application writes 12.5 thousand million times a second, mostly more than the link can carry. The caller can still interrupt the run
/// after as little work as any other run.
#[test]
fn a_run_can_be_left_however_often_applications_write() {
    for transport in [json!({"tcp": {"stack": 0}}), json!({"udp": {"packet": 1000}})] {
        let mut spec = run_spec(2, chain(&[(10, 10)]), vec![traffic(json!([[0, 1]]))]);
        spec["traffic"][0]["transport"] = transport;
        spec["traffic"][0]["application"] = json!({"kind": "constant", "rate": 100_000_000_000_000_u64});
        spec["duration"] = json!(300 * MS); // fewer than 2^32 writes
        let spec: RunSpec = serde_json::from_value(spec).expect("a run");
        let mut simulation = Simulation::new(spec).expect("a run that can be");
        assert!(simulation.advance(1_000));
        let a_hundred_windows_of_writes = 0.001;
        assert!(simulation.now().as_secs() < a_hundred_windows_of_writes, "{}", simulation.now());
    }
}

/// Every picosecond a sample: each is work, though no packet moves.
#[test]
fn a_run_can_be_left_however_often_samples_are_taken() {
    let mut spec = run_spec(2, chain(&[(10, 10)]), vec![traffic(json!([[0, 1]]))]);
    spec["sample"] = json!(1);
    let spec: RunSpec = serde_json::from_value(spec).expect("a run");
    let mut simulation = Simulation::new(spec).expect("a run that can be");
    assert!(simulation.advance(1_000));
    assert!(simulation.now().as_secs() < 1e-6, "{}", simulation.now());
}

/// One flow over a link that loses these packets, of 1 ms each; the first is the SYN.
fn over_one_link(lost: Value, warm_up_ms: u64) -> Value {
    let mut spec = run_spec(2, chain(&[(8, 50)]), vec![traffic(json!([[0, 1]]))]);
    spec["links"][0]["loss"] = json!({"model": "list", "packets": lost});
    spec["stacks"][0]["header"] = json!(40);
    spec["warm_up"] = json!(warm_up_ms * MS);
    spec
}

fn number(table: &crate::packet::output::table::Table, name: &str) -> f64 {
    table.numbers(name)[0]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 8, ..ProptestConfig::default() })]

    /// The warm-up may end in a hole or not: goodput counts the segments that the link has delivered since then, each once.
    #[test]
    fn goodput_is_what_arrives_for_the_first_time_in_the_measured_time(warm_up_ms in 200u64..2_000, lost in 5u64..200) {
        let simulation = run(&over_one_link(json!([lost, lost + 3]), warm_up_ms));
        let (flows, links) = (simulation.flow_table(), simulation.link_table());
        let brought = number(&links, "packets") - number(&links, "losses") - number(&flows, "spurious_retransmits");
        prop_assert_eq!(number(&flows, "delivered_bytes"), 960.0 * brought);
        let goodput = 960.0 * brought * 8.0 / (10.0 - warm_up_ms as f64 / 1e3);
        prop_assert!((number(&flows, "goodput_bps") / goodput - 1.0).abs() < 1e-12);
    }
}

/// The second segment of the initial window of ten is lost: eight are held when it is retransmitted.
#[test]
fn reassembly_peaks_when_a_hole_fills() {
    let mut spec = over_one_link(json!([3]), 0);
    spec["traffic"][0]["application"] = json!({"kind": "bulk", "bytes": 9600});
    assert_eq!(number(&run(&spec).flow_table(), "reassembly_peak_bytes"), 8.0 * 960.0);
    spec["links"][0]["loss"] = Value::Null;
    assert_eq!(number(&run(&spec).flow_table(), "reassembly_peak_bytes"), 0.0);
}

/// The link is down for 2 s: the stall lasts as long, with the time until the sender tries again; without a failure there is none.
#[test]
fn a_failure_is_a_stall() {
    let mut spec = over_one_link(json!([]), 0);
    spec["stacks"][0]["receive_window"] = json!(40 * 960); // never more than the queue holds
    assert_eq!(number(&run(&spec).flow_table(), "longest_stall_s"), 0.0);
    spec["events"] = json!([
        {"at": 2_000 * MS, "action": "fail", "links": [0]}, {"at": 4_000 * MS, "action": "repair", "links": [0]}
    ]);
    let stall = number(&run(&spec).flow_table(), "longest_stall_s");
    assert!((2.0..6.0).contains(&stall), "{stall}");
}

/// A flow of 960 kB ends long before the run. The utilisation of its link is that of a run which ends soon after. If the warm-up lasts longer than the
/// flow, or a flow has no size, the measured time lasts to the end of the run.
#[test]
fn utilisation_is_of_the_time_until_the_last_flow_has_ended() {
    let mut spec = over_one_link(json!([]), 0);
    spec["traffic"][0]["application"] = json!({"kind": "bulk", "bytes": 960_000});
    spec["stacks"][0]["receive_window"] = json!(40 * 960);
    let utilisation = |spec: &Value, seconds: u64| {
        let mut spec = spec.clone();
        spec["duration"] = json!(seconds * 1000 * MS);
        let simulation = run(&spec);
        let (flows, links) = (simulation.flow_table(), simulation.link_table());
        (number(&flows, "end_s"), 8.0 * number(&links, "bytes"), number(&links, "utilisation"))
    };
    let (end, bits, found) = utilisation(&spec, 10);
    assert!((1.0..3.0).contains(&end), "{end}");
    assert!((found - bits / 8e6 / end).abs() < 1e-9, "{found}");
    assert_eq!(utilisation(&spec, 3).2, found);
    spec["warm_up"] = json!(500 * MS);
    let (_, bits, found) = utilisation(&spec, 10);
    assert!((found - bits / 8e6 / (end - 0.5)).abs() < 1e-3, "{found}");
    spec["warm_up"] = json!(5000 * MS);
    assert_eq!(utilisation(&spec, 10).2, 0.0);
    spec["warm_up"] = json!(0);
    let mut endless = spec["traffic"][0].clone();
    endless["application"] = json!({"kind": "constant", "rate": 8_000});
    spec["traffic"].as_array_mut().unwrap().push(endless);
    let (_, bits, found) = utilisation(&spec, 10);
    assert!((found - bits / 8e7).abs() < 1e-3, "{found}");
}

/// A message of ten packets over a link that fails as its first packets depart: if the link comes back after 2 s, the stall lasts as long, and else to
/// the end of the run.
#[test]
fn a_failure_is_a_stall_of_a_message() {
    let mut spec = over_one_link(json!([]), 0);
    spec["stacks"][0]["protocol"] = json!({"name": "uet", "control": "nscc"});
    spec["traffic"][0]["application"] = json!({"kind": "bulk", "bytes": 9600});
    assert_eq!(number(&run(&spec).flow_table(), "longest_stall_s"), 0.0);
    spec["events"] = json!([{"at": MS, "action": "fail", "links": [0]}]);
    let duration = spec["duration"].as_u64().unwrap() as f64 * 1e-12;
    let stall = number(&run(&spec).flow_table(), "longest_stall_s");
    assert!((duration - 0.01..=duration).contains(&stall), "{stall}");
    spec["events"].as_array_mut().unwrap().push(json!({"at": 2_001 * MS, "action": "repair", "links": [0]}));
    let flows = run(&spec).flow_table();
    let stall = number(&flows, "longest_stall_s");
    assert!((2.0..4.0).contains(&stall) && number(&flows, "fct_s") < 6.0, "{stall}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 8, ..ProptestConfig::default() })]

    /// A lone flow within the initial window takes its idle time, also if its last segment is short and some links are slower than others.
    #[test]
    fn a_lone_flow_within_the_initial_window_has_no_slowdown(
        links in prop::collection::vec((1u64..10, 1u64..20), 1..6).prop_map(|links| chain(&links)).prop_shuffle(),
        bytes in 1u64..9600,
    ) {
        let last = links.len() / 2;
        let mut spec = run_spec(last + 1, links, vec![traffic(json!([[0, last]]))]);
        spec["traffic"][0]["application"] = json!({"kind": "bulk", "bytes": bytes});
        let flows = run(&spec).flow_table();
        let (took, idle) = (number(&flows, "fct_s"), number(&flows, "idle_fct_s"));
        prop_assert!((took / idle - 1.0).abs() < 1e-12, "{took} s, idle {idle} s");
    }
}

/// Two segments travel at once over different paths of two links. The full segment takes 2 (5 ms + 1.6 ms), after a handshake of 4 (5 ms + 64
/// us).
#[test]
fn a_segment_is_no_faster_beside_others_than_alone() {
    let mut spec = three_paths();
    spec["traffic"][0]["application"] = json!({"kind": "bulk", "bytes": 961});
    let flows = run(&spec).flow_table();
    assert!((number(&flows, "idle_fct_s") - 0.033_456).abs() < 1e-12);
    assert!((number(&flows, "fct_s") - number(&flows, "idle_fct_s")).abs() < 1e-12);
}

/// A flow within the initial window has nothing to wait for: handshake 2 (50 ms + 40 us), then ten packets of 1 ms and the delay.
#[test]
fn a_short_flow_is_as_quick_as_an_idle_network_allows() {
    let mut spec = over_one_link(json!([]), 0);
    spec["traffic"][0]["application"] = json!({"kind": "bulk", "bytes": 9600});
    let flows = run(&spec).flow_table();
    assert!((number(&flows, "idle_fct_s") - 0.160_08).abs() < 1e-12);
    assert!((number(&flows, "fct_s") - number(&flows, "idle_fct_s")).abs() < 1e-12);
}
