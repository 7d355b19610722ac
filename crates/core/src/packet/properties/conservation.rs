//! Random networks, traffic, queues, losses, sprayings and failures: no packet appears or is gone unaccounted for, the
//! same run gives the same results in any steps, and the limits of links hold.

use super::super::Simulation;
use super::super::flow::Activity;
use super::super::table::{Column, Table};
use crate::spec::RunSpec;
use proptest::prelude::*;
use serde_json::{Value, json};

const MS: u64 = 1_000_000_000;

/// Two hosts and up to three relays between them, each reached by links of its own; data goes only there, ACKs only back.
fn run_spec() -> impl Strategy<Value = Value> {
    let parts = (any::<u64>(), 1usize..4, 0u64..40, any::<bool>());
    let queue = prop_oneof![
        (1u32..40).prop_map(|limit| json!({"discipline": "drop-tail", "limit": {"packets": limit}})),
        (1500u64..30_000).prop_map(|limit| json!({"discipline": "drop-tail", "limit": {"bytes": limit}})),
        (5u32..40, any::<bool>()).prop_map(|(limit, ecn)| json!({"discipline": "red", "limit": {"packets": limit},
            "minimum": 2.0, "maximum": 6.0, "probability": 0.1, "weight": 0.1, "ecn": ecn})),
        (5u32..60, any::<bool>()).prop_map(|(limit, ecn)| json!({"discipline": "codel", "limit": {"packets": limit},
            "target": 2 * MS, "interval": 20 * MS, "ecn": ecn})),
        (1u32..40, 0u32..20).prop_map(
            |(limit, mark)| json!({"discipline": "ecn-threshold", "limit": {"packets": limit}, "mark": mark})
        ),
    ];
    let loss = prop_oneof![
        Just(json!({"model": "none"})),
        (0.0f64..0.1).prop_map(|ratio| json!({"model": "bernoulli", "ratio": ratio})),
        (2u64..200).prop_map(|every| json!({"model": "periodic", "every": every})),
        Just(json!({"model": "list", "packets": [1, 3, 4, 17]})),
        Just(json!({"model": "gilbert-elliott", "good_to_bad": 0.01, "bad_to_good": 0.3, "loss_good": 0.0,
                    "loss_bad": 0.5})),
    ];
    // Mbit/s that divide a packet's bits in whole picoseconds, halved or not.
    let rate = prop::sample::select(vec![1u64, 2, 4, 5, 8, 10, 16]);
    let hops = prop_oneof![
        Just(json!({"kind": "shortest", "metric": "delay"})),
        Just(json!({"kind": "equal-cost", "metric": "hop-count"})),
        Just(json!({"kind": "disjoint", "metric": "delay", "paths": 3})),
        Just(json!({"kind": "k-shortest", "metric": "hop-count", "paths": 3})),
    ];
    let select = prop::sample::select(vec!["hash", "round-robin", "random", "weighted"]);
    let per = prop_oneof![
        Just(json!({"unit": "packet"})),
        Just(json!({"unit": "flow"})),
        (0u64..30).prop_map(|gap| json!({"unit": "flowlet", "gap": gap * MS})),
    ];
    let application = prop_oneof![
        Just(json!({"kind": "bulk", "bytes": null})),
        (1u64..300_000).prop_map(|bytes| json!({"kind": "bulk", "bytes": bytes})),
        Just(json!({"kind": "poisson", "rate": 2_000_000})),
        Just(json!({"kind": "pareto-on-off", "peak": 8_000_000, "on": 40 * MS, "off": 60 * MS, "shape": 1.5})),
        Just(json!({"kind": "short-flows", "arrivals": 20.0, "sizes": [[100.0, 0.5], [60_000.0, 1.0]]})),
    ];
    let stack = (
        prop::sample::select(vec!["newreno", "cubic", "bbr", "bbr3"]),
        prop::sample::select(vec!["dup-ack", "rack-tlp", "fast-rto"]),
        prop::sample::select(vec!["immediate", "delayed", "modified-delayed"]),
        prop::array::uniform5(any::<bool>()),
    );
    let traffic = prop::collection::vec((application, stack, 1u32..3, 0u64..300, prop::option::of(300u64..900)), 1..4);
    let events = prop::collection::vec((1u64..900, 0u8..3, 0usize..6), 0..5);
    let links = prop::collection::vec((queue, loss, rate, 1u64..30), 6);
    (parts, links, (hops, select, per), traffic, events).prop_map(
        |((seed, relays, warm_up, sampled), links, (hops, select, per), traffic, events)| {
            let mut directed = Vec::new();
            let last = relays + 1;
            for relay in 1..=relays {
                let (queue, loss, rate, delay) = &links[relay - 1];
                let (back_queue, back_loss, ..) = &links[relay + 2];
                let link = |src: usize, dst: usize, queue: &Value, loss: &Value| {
                    json!({"src": src, "dst": dst, "rate": rate * 1_000_000, "delay": delay * MS, "cost": 1.0,
                           "queue": queue, "loss": loss})
                };
                directed.push(link(0, relay, queue, loss));
                directed.push(link(relay, last, queue, &json!({"model": "none"})));
                directed.push(link(last, relay, back_queue, back_loss));
                directed.push(link(relay, 0, back_queue, &json!({"model": "none"})));
            }
            let stacks: Vec<Value> = traffic
                .iter()
                .map(|(_, (congestion, detection, ack, [sack, ecn, pacing, handshake, f_rto]), ..)| {
                    json!({"name": "", "congestion": {"name": congestion}, "slow_start": {"name": "classic"},
                        "detection": {"name": detection},
                        "ack": {"name": ack}, "sack": sack, "spurious": "eifel", "f_rto": f_rto,
                        "limited_transmit": true, "ecn": ecn, "pacing": pacing, "handshake": handshake, "mss": 960,
                        "header": 40, "initial_window": 10, "receive_window": 300_000, "min_rto": 200 * MS,
                        "max_rto": 4000 * MS, "initial_rto": 1000 * MS})
                })
                .collect();
            let groups: Vec<Value> = traffic
                .iter()
                .enumerate()
                .map(|(index, (application, _, flows, start, stop))| {
                    let kind = &application["kind"];
                    let udp = index == 2 && (kind == "poisson" || kind == "pareto-on-off");
                    json!({"name": "", "pairs": [[0, last]], "flows_per_pair": flows,
                        "transport": if udp { json!({"udp": {"packet": 700}}) } else { json!({"tcp": {"stack": index}}) },
                        "routing": 0, "start": start * MS, "stagger": 200 * MS, "stop": stop.map(|stop| stop * MS),
                        "application": application})
                })
                .collect();
            let events: Vec<Value> = events
                .iter()
                .map(|(at, action, link)| {
                    json!({"at": at * MS, "action": (["fail", "repair", "reroute"][usize::from(*action)]),
                           "links": [link % directed.len()]})
                })
                .collect();
            json!({
                "seed": seed, "duration": 1000 * MS, "warm_up": warm_up * 10 * MS,
                "sample": sampled.then_some(70 * MS), "nodes": (0..relays + 2).map(|node| node.to_string()).collect::<Vec<_>>(),
                "links": directed, "stacks": stacks,
                "routings": [{"name": "", "hops": hops, "select": select, "per": per,
                    "hash": ["source", "destination", "source-port"], "acks": null, "reconverge": 30 * MS}],
                "traffic": groups, "events": events, "captures": []
            })
        },
    )
}

fn build(spec: &Value) -> Simulation {
    let spec: RunSpec = serde_json::from_value(spec.clone()).expect("the generator makes runs");
    Simulation::new(spec).expect("the generator makes runs that can be")
}

/// Every value of a table, bit for bit.
fn bits(table: &Table) -> Vec<u64> {
    let column = |column: &Column| -> Vec<u64> {
        match column {
            Column::U32(values) => values.iter().map(|value| u64::from(*value)).collect(),
            Column::U64(values) => values.clone(),
            Column::F64(values) => values.iter().map(|value| value.to_bits()).collect(),
        }
    };
    table.columns.iter().flat_map(|(_, values)| column(values)).collect()
}

fn results(simulation: &mut Simulation) -> [Vec<u64>; 4] {
    [
        bits(&simulation.flow_table()),
        bits(&simulation.link_table()),
        bits(&simulation.take_flow_series()),
        bits(&simulation.take_link_series()),
    ]
}

/// What must hold at any time of a run.
fn check_books(simulation: &Simulation) {
    let mut gone_or_inside = simulation.packets_without_route();
    for (index, link) in simulation.links.iter().enumerate() {
        let counters = &link.counters;
        let inside = link.packets_inside() as u64;
        assert_eq!(
            counters.offered,
            counters.queue_drops + counters.packets + counters.cut + inside,
            "link {index}: {counters:?}"
        );
        assert!(counters.losses - counters.cut - counters.refused <= counters.packets);
        gone_or_inside += counters.queue_drops + counters.losses + inside;
        // Carried bytes: at most the link's rate over the time, and the packet that was complete at its start.
        let rate = simulation.spec.links[index].rate;
        let carried = rate.bytes_in(simulation.now() - crate::units::Time::ZERO);
        assert!(counters.bytes <= carried + 1000, "link {index} carried {} of {carried}", counters.bytes);
    }
    let (by_hosts, to_hosts) = simulation.at_hosts;
    assert_eq!(by_hosts, to_hosts + gone_or_inside, "what hosts send arrives, or is lost, or is on its way");
    for (flow, sizes) in simulation.flows.iter().zip(&simulation.sizes) {
        let tally = flow.activity.tally();
        match &flow.activity {
            Activity::Tcp(connection) => {
                let board = connection.sender.scoreboard();
                assert!(board.una() <= tally.delivered && tally.delivered <= board.next());
                assert_eq!(tally.sender.sent - tally.sender.retransmits, u64::from(board.next()));
            }
            Activity::Finished(tally) => assert_eq!(tally.delivered, sizes.segments()),
            Activity::Udp(_) => assert!(u64::from(tally.delivered) <= tally.sender.sent),
            Activity::Pending => {}
        }
        assert!(tally.receiver.arrivals <= tally.sender.sent);
        assert!(u64::from(tally.delivered) <= tally.receiver.arrivals);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_is_accounted_for_at_any_time(spec in run_spec()) {
        let mut simulation = build(&spec);
        let mut going = true;
        while going {
            let before = simulation.now();
            going = simulation.advance(997);
            prop_assert!(simulation.now() >= before, "time goes back");
            check_books(&simulation);
        }
        for name in ["utilisation", "queue_drop_ratio", "loss_ratio"] {
            for value in simulation.link_table().numbers(name) {
                let one_packet = 1000.0 * 8.0 / (1e6 * 0.6);
                prop_assert!((0.0..=1.0 + one_packet).contains(&value), "{name} {value}");
            }
        }
    }

    #[test]
    fn the_same_run_gives_the_same_results_in_steps_of_any_size(spec in run_spec()) {
        let mut at_once = build(&spec);
        while at_once.advance(1_000_000) {}
        let mut by_steps = build(&spec);
        while by_steps.advance(1) {}
        prop_assert_eq!(at_once.packet_hops(), by_steps.packet_hops());
        prop_assert_eq!(results(&mut at_once), results(&mut by_steps));
    }

    /// A world in which all is twice as fast is the same world: no constant of the engine has a unit of time but those
    /// of the stack, which are scaled with it.
    #[test]
    fn twice_the_rate_and_half_the_time_count_the_same(spec in run_spec()) {
        let mut slow = spec;
        // Random intervals round to picoseconds, and some algorithms have constants of time: bulk flows of NewReno.
        for group in slow["traffic"].as_array_mut().unwrap() {
            group["application"] = json!({"kind": "bulk", "bytes": 200_000});
            group["transport"] = json!({"tcp": {"stack": 0}});
        }
        slow["stacks"][0]["congestion"] = json!({"name": "newreno"});
        slow["stacks"][0]["detection"] = json!({"name": "dup-ack"});
        slow["stacks"][0]["ack"] = json!({"name": "immediate"});
        slow["stacks"][0]["pacing"] = json!(false);
        let mut fast = slow.clone();
        halve(&mut fast);
        let (mut slow, mut fast) = (build(&slow), build(&fast));
        while slow.advance(1_000_000) {}
        while fast.advance(1_000_000) {}
        prop_assert_eq!(slow.packet_hops(), fast.packet_hops());
        for name in ["delivered_bytes", "segments_sent", "retransmits", "timeouts", "recoveries", "undone"] {
            prop_assert_eq!(slow.flow_table().numbers(name), fast.flow_table().numbers(name), "{}", name);
        }
    }
}

/// Halves every time of a run and doubles every rate.
fn halve(value: &mut Value) {
    let times = [
        "duration",
        "warm_up",
        "sample",
        "delay",
        "start",
        "stagger",
        "stop",
        "at",
        "gap",
        "reconverge",
        "target",
        "interval",
        "min_rto",
        "max_rto",
        "initial_rto",
    ];
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                match field.as_u64() {
                    Some(number) if times.contains(&name.as_str()) => *field = json!(number / 2),
                    Some(number) if name == "rate" => *field = json!(number * 2),
                    _ => halve(field),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(halve),
        _ => {}
    }
}
