//! Laws and sawteeth compared with worked numbers, and properties that every prediction must have.

mod changes;
mod overlap;
mod provided;

use super::{PredictError, Prediction, Watch};
use crate::packet::Simulation;
use crate::packet::properties::random_run::{mesh_spec, run_spec};
use crate::predict::network::flows::model::Flowlets;
use crate::predict::network::laws::law::Law;
use crate::predict::network::laws::observed::Observed;
use crate::predict::network::links::sawtooth::Sawtooth;
use crate::predict::{Flow, response};
use crate::spec::{ApplicationSpec, LinkAction, LinkSpec, QueueLimit, RunSpec, TrafficSpec, TransportSpec};
use crate::tcp::congestion::CongestionSpec;
use crate::units::{Duration, Rate};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The prediction of a run.
fn predict(spec: &RunSpec) -> Result<Prediction, PredictError> {
    super::predict(spec.clone(), 1, &Watch::default()).map(|(prediction, _)| prediction)
}

const RENO: Law = Law { increase: 1.0, remaining: 0.5, cubic: None, at_random: 1.247 };
const CUBIC: Law = Law { increase: 0.529, remaining: 0.7, cubic: Some(0.4), at_random: 1.0 };

fn near(value: f64, expected: f64, relative: f64) {
    assert!((value / expected - 1.0).abs() <= relative, "{value}, not {expected}");
}

#[test]
fn who_watches_sees_all_the_work_done_and_may_end_it() {
    let spec = line(&json!({}), 0.0);
    let watch = Watch::default();
    super::predict(spec.clone(), 1, &watch).expect("a prediction");
    near(watch.share(), 1.0, 0.0);
    watch.stop();
    assert!(matches!(super::predict(spec, 1, &watch), Err(PredictError::Stopped)));
}

#[test]
fn renos_window_at_losses_at_even_distances_is_mathis() {
    // Losses at even distances are p w events a round trip: w = 1.5 / (p w).
    let p = 1e-3;
    let window = (1.5_f64 / p).sqrt();
    near(RENO.window(p * window, 0.1, 1.0), window, 1e-12);
    let flow = Flow { mss_bytes: 0.125, rtt_s: 1.0, loss: p, max_window: f64::INFINITY };
    near(window, response::mathis(flow, 1.0), 1e-12);
}

/// Without SACK, Reno's recoveries differ from NewReno's, but not its growth and its reductions.
#[test]
fn reno_has_the_law_of_newreno_with_its_own_increase_and_decrease() {
    let goodput = |name: &str, alpha: f64, beta: f64| {
        let stack = json!({"receive_window": 10_000_000, "congestion": {"name": name, "alpha": alpha, "beta": beta}});
        predict(&line(&stack, 1e-2)).expect("a prediction").flows[0].goodput_bps
    };
    assert_eq!(goodput("reno", 1.0, 0.5), goodput("newreno", 1.0, 0.5));
    assert_eq!(goodput("reno", 4.0, 0.9), goodput("newreno", 4.0, 0.9));
    assert!(goodput("reno", 4.0, 0.9) > 2.0 * goodput("reno", 1.0, 0.5));
}

#[test]
fn cubics_window_is_rfc_9438s() {
    let (p, rtt_s) = (1e-5, 0.1);
    let flow = Flow { mss_bytes: 0.125, rtt_s, loss: p, max_window: f64::INFINITY };
    let window = response::cubic(flow, 0.4, 0.7) * rtt_s;
    near(CUBIC.window(p * window, rtt_s, 1.0), window, 1e-6);
}

#[test]
fn cubics_window_with_losses_at_random_is_that_of_its_curve_between_random_losses() {
    let curve = Law { increase: 0.0, ..CUBIC };
    let (rtt_s, p) = (0.1, 1e-3);
    let draws = crate::rng::Stream::new(1, crate::rng::Purpose::Loss, 0);
    // The window `since` seconds after a loss at `greatest`, and the segments sent since.
    let window = |greatest: f64, since: f64| greatest + 0.4 * (since - (greatest * 0.3 / 0.4).cbrt()).powi(3);
    let sent = |greatest: f64, since: f64| {
        let k = (greatest * 0.3 / 0.4).cbrt();
        (greatest * since + 0.1 * ((since - k).powi(4) - k.powi(4))) / rtt_s
    };
    let (mut greatest, mut segments, mut time_s) = (50.0, 0.0, 0.0);
    let losses = 40_000_u32;
    for loss in 0..losses {
        let until = draws.exponential(u64::from(loss), 1.0 / p);
        let (mut low, mut high) = (0.0, 1e3);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if sent(greatest, middle) < until { low = middle } else { high = middle }
        }
        greatest = window(greatest, low);
        segments += until;
        time_s += low;
    }
    let events = f64::from(losses) * rtt_s / time_s;
    near(curve.window(events, rtt_s, 0.0), segments * rtt_s / time_s, 0.05);
}

#[test]
fn what_a_control_does_over_an_ideal_path_is_its_formula() {
    let stack = |name: &str| line(&json!({"congestion": {"name": name}}), 0.0).stacks[0].clone();
    let reno = Observed::new(&stack("newreno"), false);
    for (events, rtt_s) in [(0.002, 0.02), (0.02, 0.1), (0.05, 0.005)] {
        // A round trip of recovery, in which the window does not grow, follows each event.
        let expected = RENO.window(events, rtt_s, 1.0) * (1.0 - events);
        near(reno.balance(events, rtt_s, rtt_s, 1.0).window, expected, 0.08);
        near(reno.balance(events, rtt_s, rtt_s, 1.0).remaining, 0.5, 0.05);
    }
    // Packets lost at random with probability p leave a mean window W = 1.31 / sqrt(p) (Ott, Kemperman, Mathis 1996). So W times the events p W is
    // 1.72, minus the cost of recovery. If small windows had as many events as large ones, it would be 2.
    let events = [0.001, 0.003, 0.01, 0.03, 0.06, 0.1];
    let products = events.map(|events| reno.balance(events, 0.1, 0.1, 0.0).window * events / (1.0 - events));
    near(products.iter().product::<f64>().powf(1.0 / 6.0), 1.72, 0.15);
    // A share E of the round trips has marks, and each such round trip takes E / 2 of the window (RFC 8257). So W = 2 / E^2. It may be greater, since
    // the estimate is lowest just before a mark.
    let dctcp = Observed::new(&stack("dctcp"), true);
    near(dctcp.balance(0.1, 0.01, 0.01, 1.0).window, 200.0, 0.2);
    // Westwood+ reduces its window to the bandwidth-delay product that it measures. It loses nothing on an empty path. On a full path it loses the
    // queue, which is twice its mean at an event: 0.05 of 0.15 s remain.
    let westwood = Observed::new(&stack("westwood"), false);
    assert!(westwood.balance(0.01, 0.1, 0.1, 1.0).remaining > 0.9);
    near(westwood.balance(0.01, 0.1, 0.05, 1.0).remaining, 1.0 / 3.0, 0.1);
}

#[test]
fn a_control_that_counts_acks_sees_all_that_its_receiver_sends() {
    // An RTT of 100 ms is four times Hybla's reference. With an ACK per segment, it grows by 4^2 segments in a round trip (equation 8); with an ACK
    // per two segments, by half of that. Rounding to 128ths takes up to a tenth.
    for (ack, increase) in [(json!({"name": "immediate"}), 16.0), (json!({"name": "delayed", "every": 2}), 8.0)] {
        let spec = line(&json!({"congestion": {"name": "linux-hybla"}, "ack": ack}), 0.0);
        let hybla = Observed::new(&spec.stacks[0], false);
        for events in [0.06, 0.1, 0.2] {
            let expected = Law { increase, ..RENO }.window(events, 0.1, 1.0) * (1.0 - events);
            near(hybla.balance(events, 0.1, 0.1, 1.0).window, expected, 0.15);
        }
    }
}

#[test]
fn rare_events_that_take_too_many_acks_continue_the_line_of_frequent_ones() {
    let spec = line(&json!({"congestion": {"name": "linux-hybla"}, "ack": {"name": "immediate"}}), 0.0);
    let hybla = Observed::new(&spec.stacks[0], false);
    // Below its reference RTT of 25 ms, Hybla equals Reno.
    near(hybla.balance(3e-4, 0.015, 0.015, 1.0).window, RENO.window(3e-4, 0.015, 1.0), 0.15);
}

#[test]
fn vegas_keeps_its_segments_waiting() {
    let spec =
        line(&json!({"receive_window": 10_000_000, "mss": 1460, "header": 40, "congestion": {"name": "vegas"}}), 0.0);
    let found = predict(&spec).expect("a prediction");
    assert!(found.converged && found.unique);
    // Between alpha = 1 and beta = 3 segments.
    near(found.links[0].queue_delay_s, 2.0 * 1500.0 * 8.0 / 1e7, 0.05);
    assert_eq!(found.flows[0].limited_by, "waiting");
}

#[test]
fn vegas_over_a_queue_too_short_for_its_segments_answers_events() {
    let stack = json!({"receive_window": 10_000_000, "mss": 1460, "header": 40, "congestion": {"name": "vegas"}});
    let mut spec = line(&stack, 0.0);
    spec.traffic[0].flows_per_pair = 4;
    spec.links[0].queue.limit = QueueLimit::Packets(4);
    let found = predict(&spec).expect("a prediction");
    assert!(found.converged && found.unique);
    near(found.links[0].queue_delay_s, 4.0 * 1500.0 * 8.0 / 1e7, 1e-3);
    assert!(found.links[0].drops > 0.0);
    near(found.links[0].carried_bps, 1e7, 1e-3);
}

#[test]
fn bbr_takes_what_datagrams_leave() {
    let mut spec = line(&json!({"mss": 1460, "header": 40, "congestion": {"name": "bbr"}}), 0.0);
    let datagrams = TrafficSpec {
        transport: TransportSpec::Udp { packet: 1000 },
        application: ApplicationSpec::Constant { rate: Rate::from_bps(4e6) },
        ..spec.traffic[0].clone()
    };
    spec.traffic.push(datagrams);
    let found = predict(&spec).expect("a prediction");
    assert!(found.converged && found.unique);
    // One BBR flow uses a link for 97.5 % of the time. The packet engine gives the flow 5.77 Mbit/s.
    near(found.flows[0].goodput_bps, (0.975 * 1e7 - 4e6) * 1460.0 / 1500.0, 2e-3);
}

/// The second link has the same rate as the first, so its queue never grows.
#[test]
fn bbr_fills_links_of_one_rate_in_a_row() {
    let mut spec = line(&json!({"mss": 1460, "header": 40, "congestion": {"name": "bbr"}}), 0.0);
    spec.nodes.push(spec.nodes[1].clone());
    for link in 0..2 {
        let mut further = spec.links[link].clone();
        (further.src, further.dst) = (further.src + 1, further.dst + 1);
        spec.links.push(further);
    }
    spec.traffic[0].pairs = vec![(0, 2)];
    let found = predict(&spec).expect("a prediction");
    assert!(found.converged && found.unique);
    near(found.flows[0].goodput_bps, 0.975 * 1e7 * 1460.0 / 1500.0, 2e-3);
}

/// Two flows in one direction and three in the other. ACKs wait behind data of the other direction, so the two queues swing against one another.
#[test]
fn queues_wait_as_long_in_both_directions_as_in_the_packet_engine() {
    let cubic = json!({"congestion": {"name": "cubic"}, "receive_window": 10_000_000, "mss": 1460, "header": 40});
    let mut spec = line(&cubic, 0.0);
    spec.traffic[0].flows_per_pair = 2;
    let one_way = predict(&spec).expect("a prediction").links[0].queue_delay_s;
    let back = TrafficSpec { name: "back".into(), pairs: vec![(1, 0)], flows_per_pair: 3, ..spec.traffic[0].clone() };
    spec.traffic.push(back);
    let predicted = predict(&spec).expect("a prediction").links;
    let mut engine = crate::packet::Oracle::new(spec).expect("a run");
    while engine.advance(1_000_000) {}
    for (link, measured) in predicted.iter().zip(engine.link_table().numbers("queue_delay_mean_s")) {
        near(link.queue_delay_s, measured, 0.2);
        // ACKs occupy half of the queue's limit.
        assert!(link.queue_delay_s < 0.4 * one_way);
    }
}

/// Over the link from b to c, two of four flows come from a, and two begin at b.
#[test]
fn packets_of_one_link_come_together_and_those_of_a_host_alone() {
    let mut spec = line(&json!({}), 0.0);
    spec.nodes = ["a", "b", "c"].map(String::from).into();
    let link = spec.links[0].clone();
    spec.links = [(0, 1), (1, 0), (1, 2), (2, 1)].map(|(src, dst)| LinkSpec { src, dst, ..link.clone() }).into();
    spec.traffic[0].pairs = [(0, 2), (0, 2), (1, 2), (1, 2)].into();
    let mut run = Simulation::new(spec).expect("a run");
    let flows =
        crate::predict::network::flows::model::models(&mut run, Flowlets::Short, &Watch::default()).expect("flows");
    let feeds = crate::predict::network::flows::feeds::Feeds::of(run.spec(), &flows);
    for flow in &flows {
        let last = flow.data.shares.len() - 1;
        near(feeds.together(&flow.data, last), if last == 1 { 0.5 } else { 0.25 }, 1e-12);
    }
    assert!(feeds.greatest_bps(2, run.spec()).is_infinite(), "hosts at b send over it");
    near(feeds.greatest_bps(1, run.spec()), 1e7, 0.0);
}

/// A random source writes 120 packets in the mean. In 90 of 100 runs, the number differs by at most 15 %.
#[test]
fn the_interval_of_a_source_at_random_holds_90_of_100_runs() {
    let mut spec = line(&json!({"mss": 1460, "header": 40}), 0.0);
    spec.duration = Duration::from_secs(12);
    spec.traffic[0].transport = TransportSpec::Udp { packet: 1250 };
    spec.traffic[0].application = ApplicationSpec::Poisson { rate: Rate::from_bps(1e5) };
    let (low, high) = predict(&spec).expect("a prediction").flows[0].interval_bps;
    let held = (0..100).filter(|seed| {
        let mut engine = crate::packet::Oracle::new(RunSpec { seed: *seed, ..spec.clone() }).expect("a run");
        while engine.advance(1_000_000) {}
        (low..=high).contains(&engine.flow_table().numbers("goodput_bps")[0])
    });
    let held = held.count();
    assert!((84..=97).contains(&held), "{held}");
}

#[test]
fn acks_beyond_the_capacity_of_their_link_are_dropped() {
    let mut spec = line(&json!({"receive_window": 10_000_000, "mss": 1460, "header": 40}), 0.0);
    spec.links[1].rate = Rate::from_bps(1e5);
    let found = predict(&spec).expect("a prediction");
    assert!(found.converged && found.unique);
    let acks = &found.links[1];
    assert!(acks.utilisation >= 1.0);
    // An ACK of 40 bytes takes 3.2 ms.
    near(acks.packets - acks.drops, 1e5 / (8.0 * 40.0), 1e-5);
    assert!(found.flows[0].goodput_bps > 0.5e7);
}

#[test]
fn a_flow_that_ends_takes_as_long_as_in_the_packet_engine() {
    for bytes in [1_000, 30_000, 500_000] {
        let mut spec = line(&json!({"receive_window": 10_000_000, "mss": 1460, "header": 40}), 0.0);
        spec.traffic[0].application = ApplicationSpec::Bulk { bytes: Some(bytes) };
        let times = predict(&spec).expect("a prediction").flows[0].completion.expect("it ends");
        let mut engine = crate::packet::Oracle::new(spec).expect("a run");
        while engine.advance(1_000_000) {}
        // The flow's own load is 0.4 %, and its size is rounded up to a quarter of a segment.
        near(times.median_s, engine.flow_table().numbers("fct_s")[0], 0.03);
        assert!(times.low_s <= times.median_s && times.median_s <= times.high_s);
    }
}

/// A flow that lasts 60 % of the run has the link for itself: its own load is not load of another flow.
#[test]
fn a_flow_that_ends_does_not_compete_with_itself() {
    let mut spec = line(&json!({"receive_window": 10_000_000, "mss": 1460, "header": 40}), 0.0);
    spec.traffic[0].application = ApplicationSpec::Bulk { bytes: Some(75_000_000) };
    let times = predict(&spec).expect("a prediction").flows[0].completion.expect("it ends");
    near(times.median_s, 8.0 * 75e6 * 1500.0 / 1460.0 / 1e7, 0.01);
    near(times.high_s, times.median_s, 1e-6);
    let prediction = predict(&spec).expect("a prediction").flows[0];
    assert!(prediction.interval_bps.1 <= 1e7 * 1460.0 / 1500.0, "no more than the path carries");
}

/// Segments of 9,000 bytes share a queue that counts bytes with a flow without end. At least one packet must fit into the room that this flow leaves.
#[test]
fn large_segments_fit_into_what_a_long_flow_leaves_of_a_queue() {
    let mut spec = line(&json!({"receive_window": 10_000_000, "mss": 8960, "header": 40}), 0.0);
    spec.links[0].queue.limit = QueueLimit::Bytes(30_000);
    let mut short = spec.traffic[0].clone();
    short.application = ApplicationSpec::Bulk { bytes: Some(100_000) };
    spec.traffic.push(short);
    assert!(predict(&spec).expect("a prediction").flows[1].goodput_bps > 0.0);
}

#[test]
fn a_flow_that_does_not_end_within_the_run_has_the_goodput_of_one_without_end() {
    let mut spec = line(&json!({}), 0.04);
    let endless = predict(&spec).expect("a prediction").flows[0].goodput_bps;
    let run_s = spec.duration.as_secs();
    // The flow would need twice the duration of the run.
    spec.traffic[0].application = ApplicationSpec::Bulk { bytes: Some((2.0 * run_s * endless / 8.0) as u64) };
    let found = predict(&spec).expect("a prediction").flows[0];
    assert!(found.completion.expect("it has a size").low_s > run_s);
    near(found.goodput_bps, endless, 0.2);
    assert!(found.interval_bps.0 <= found.goodput_bps && found.goodput_bps <= found.interval_bps.1, "{found:?}");
}

#[test]
fn flows_share_a_loaded_link_as_processors_are_shared() {
    // Large flows over a short path: a load of 1/2 doubles the mean time (M/G/1 with processor sharing).
    let mut spec = line(&json!({"receive_window": 10_000_000, "mss": 1460, "header": 40}), 0.0);
    let of = |spec: &RunSpec| predict(spec).expect("a prediction").flows[0].completion.expect("it ends");
    spec.traffic[0].application = ApplicationSpec::Bulk { bytes: Some(1_000_000) };
    let idle = of(&spec);
    spec.traffic[0].application = ApplicationSpec::ShortFlows {
        arrivals: 0.5 * 1e7 / 8.0 / 1.03e6,
        sizes: vec![(1_000_000.0, 0.0), (1_000_001.0, 1.0)],
    };
    let loaded = of(&spec);
    near(loaded.low_s, idle.median_s, 0.05);
    assert!(loaded.high_s > 2.5 * idle.median_s, "{loaded:?}");
}

#[test]
fn a_buffer_of_a_delay_bandwidth_product_keeps_reno_busy() {
    let sawtooth = |buffer_s, rounds| Sawtooth { idle_s: 0.1, buffer_s, drop: 0.5, curve: 0.0, rounds }.means();
    let (usable, wait_s) = sawtooth(0.1, f64::INFINITY);
    near(usable, 1.0, 1e-12);
    // The window rises from the bandwidth-delay product to twice that. Waits are weighted by the length of a round trip: (1/2 + 1/3) / (3/2) of the
    // buffer.
    near(wait_s, 0.1 * 5.0 / 9.0, 1e-2);
    // Without a buffer, utilisation is three quarters of the capacity.
    near(sawtooth(1e-9, f64::INFINITY).0, 0.75, 1e-3);
    // A recovery is an eleventh round trip, with half of the window.
    near(sawtooth(1e-9, 10.0).0, (10.0 * 0.75 + 0.5) / 11.0, 1e-3);
}

/// One flow over a link of 10 Mbit/s and 10 ms.
fn line(stack: &Value, loss: f64) -> RunSpec {
    let link = |src: u32, loss: Value| {
        json!({"src": src, "dst": 1 - src, "rate": 10_000_000, "delay": 10_000_000_000_u64, "cost": 1.0,
               "queue": {"limit": {"packets": 100}, "discipline": "drop-tail"}, "loss": loss})
    };
    let mut whole = crate::packet::properties::random_run::usual_stack("newreno", false);
    if let (Some(whole), Some(given)) = (whole.as_object_mut(), stack.as_object()) {
        whole.extend(given.clone());
    }
    let loss = if loss > 0.0 { json!({"model": "bernoulli", "ratio": loss}) } else { Value::Null };
    serde_json::from_value(json!({
        "seed": 1, "duration": 100_000_000_000_000_u64, "warm_up": 0, "sample": null, "nodes": ["a", "b"],
        "links": [link(0, loss), link(1, Value::Null)], "stacks": [whole],
        "routings": [{"name": "r", "hops": {"kind": "shortest", "metric": "hop-count"}, "select": {"name": "hash"}, "per": {"unit": "flow"}, "hash": ["source"],
                      "acks": null, "reconverge": null}],
        "traffic": [{"name": "t", "pairs": [[0, 1]], "flows_per_pair": 1, "transport": {"tcp": {"stack": 0}}, "routing": 0, "start": 0, "stagger": 0,
                     "stop": null, "application": {"kind": "bulk", "bytes": null}}],
        "events": [], "captures": []
    }))
    .expect("a run")
}

#[test]
fn a_window_is_sent_once_a_round_trip() {
    let spec = line(&json!({"receive_window": 10_000, "mss": 1000, "header": 40}), 0.0);
    let found = predict(&spec).expect("a prediction");
    let rtt_s = 0.02 + 8.0 * (1040.0 + 40.0) / 1e7;
    near(found.flows[0].goodput_bps, 8.0 * 10_000.0 / rtt_s, 1e-3);
    assert_eq!(found.flows[0].limited_by, "limit");
    near(found.links[0].utilisation, 10.0 * 1040.0 * 8.0 / rtt_s / 1e7, 1e-3);
    near(found.links[1].utilisation, 10.0 * 40.0 * 8.0 / rtt_s / 1e7, 1e-3);
}

#[test]
fn a_flow_alone_fills_its_link() {
    let spec = line(&json!({"receive_window": 10_000_000, "mss": 1460, "header": 40}), 0.0);
    let found = predict(&spec).expect("a prediction");
    assert!(found.converged && found.unique);
    near(found.flows[0].goodput_bps, 1e7 * 1460.0 / 1500.0, 2e-3);
    assert_eq!(found.flows[0].limited_by, "alone");
}

#[test]
fn an_ack_takes_a_place_in_a_queue_that_counts_packets() {
    let whole = json!({"receive_window": 10_000_000, "mss": 1460, "header": 40, "ack": {"name": "immediate"}});
    let queue_s = |limit: Value| {
        let mut spec = serde_json::to_value(line(&whole, 0.0)).expect("a run is JSON");
        spec["traffic"][0]["pairs"] = json!([[0, 1], [1, 0]]);
        for link in 0..2 {
            spec["links"][link]["queue"]["limit"] = limit.clone();
        }
        predict(&serde_json::from_value(spec).expect("a run")).expect("a prediction").links[0].queue_delay_s
    };
    // As many ACKs as data packets cross each link.
    near(queue_s(json!({"packets": 100})), queue_s(json!({"bytes": 100 * (1500 + 40) / 2})), 1e-2);
}

#[test]
fn a_lossy_link_gives_what_losses_at_random_leave() {
    let spec = line(&json!({"receive_window": 10_000_000, "mss": 1460, "header": 40}), 0.005);
    let found = predict(&spec).expect("a prediction");
    let flow = Flow { mss_bytes: 1460.0, rtt_s: 0.0212, loss: 0.005, max_window: f64::INFINITY };
    near(found.flows[0].goodput_bps, response::mathis(flow, 1.0), 0.12);
    assert_eq!(found.flows[0].limited_by, "random loss");
}

/// A flow over a line with an RTT of 0.2 s, whose first link has these losses.
fn over_losses(losses: &Value) -> Prediction {
    let mut spec = line(&json!({}), 0.0);
    spec.links[0].loss = Some(serde_json::from_value(losses.clone()).expect("a loss model"));
    spec.links.iter_mut().for_each(|link| link.delay = Duration::from_secs_f64(0.1));
    predict(&spec).expect("a prediction")
}

#[test]
fn a_burst_of_losses_counts_once() {
    // Bursts of three packets that are all lost: the flow has as many events as with single losses at a third of the ratio.
    let (begins, ends) = (1e-3, 1.0 / 3.0);
    let bursts = json!({"model": "gilbert-elliott", "good_to_bad": begins, "bad_to_good": ends});
    let singles = json!({"model": "bernoulli", "ratio": begins});
    let [bursts, singles] = [bursts, singles].map(|losses| over_losses(&losses).flows[0]);
    assert_eq!(bursts.limited_by, "random loss");
    let lost = begins / (begins + ends);
    near(bursts.goodput_bps, singles.goodput_bps * (1.0 - lost) / (1.0 - begins), 0.01);
}

#[test]
fn a_channel_that_loses_as_much_in_both_states_has_no_bursts() {
    let channel = json!({"model": "gilbert-elliott", "good_to_bad": 1e-3, "bad_to_good": 1e-3, "loss_good": 1e-3, "loss_bad": 1e-3});
    let singles = json!({"model": "bernoulli", "ratio": 1e-3});
    let [channel, singles] = [channel, singles].map(|losses| over_losses(&losses).flows[0]);
    near(channel.goodput_bps, singles.goodput_bps, 1e-9);
}

#[test]
fn periodic_losses_of_one_flow_are_mathis() {
    let found = over_losses(&json!({"model": "periodic", "every": 2000})).flows[0];
    // The link transmits a packet in 0.8 ms.
    let flow = Flow { mss_bytes: 960.0, rtt_s: 0.2008, loss: 5e-4, max_window: f64::INFINITY };
    near(found.goodput_bps, response::mathis(flow, 1.0), 0.01);
}

#[test]
fn what_the_model_does_not_know_is_refused_by_name() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut spec = serde_json::to_value(line(&json!({}), 0.0)).expect("a run is JSON");
        change(&mut spec);
        let spec: RunSpec = serde_json::from_value(spec).expect("a run");
        predict(&spec).expect_err("a refusal").to_string()
    };
    type Change<'a> = &'a dyn Fn(&mut Value);
    let cases: [(Change, &str); 9] = [
        (
            &|spec| spec["links"][0]["queue"] = json!({"limit": {"packets": 100}, "discipline": "ecn-threshold"}),
            "the queue of link a -> b: not all flows answer its marks",
        ),
        (
            &|spec| {
                let stack = spec["stacks"][0].clone();
                spec["stacks"].as_array_mut().expect("stacks").push(stack);
                spec["stacks"][1]["congestion"] = json!({"name": "bbr3"});
                let mut other = spec["traffic"][0].clone();
                other["transport"]["tcp"]["stack"] = json!(1);
                spec["traffic"].as_array_mut().expect("traffic").push(other);
            },
            "bbr3 beside other congestion controls on link a -> b",
        ),
        (
            &|spec| spec["links"][0]["queue"]["limit"] = json!({"packets": 1}),
            "the queue of link a -> b: its limit of one packet is the packet in transmission",
        ),
        (&|spec| spec["stacks"][0]["congestion"] = json!({"name": "linux-cdg"}), "its congestion control has no law"),
        (
            &|spec| spec["traffic"][0]["application"]["bytes"] = json!(200_000_000),
            "flows that end, that alone fill link a -> b",
        ),
        (&|spec| spec["traffic"][0]["stop"] = json!(1_000_000), "traffic t: it stops during the run"),
        (
            &|spec| spec["links"][0]["loss"] = json!({"model": "bernoulli", "ratio": 0.2}),
            "loses 0.200 of the packets, more than 0.05",
        ),
        (
            &|spec| {
                spec["links"][0]["loss"] =
                    json!({"model": "gilbert-elliott", "good_to_bad": 1e-3, "bad_to_good": 0.05});
            },
            "flow 0: a burst of losses spans 20.0 packets",
        ),
        (
            &|spec| {
                spec["links"][0]["rate"] = json!(1_000_000);
                spec["links"][0]["queue"]["limit"] = json!({"packets": 10});
                spec["traffic"][0]["flows_per_pair"] = json!(20);
                let stack = spec["stacks"][0].clone();
                spec["stacks"].as_array_mut().expect("stacks").push(stack);
                spec["stacks"][1]["congestion"] = json!({"name": "linux-cubic"});
                let mut other = spec["traffic"][0].clone();
                other["transport"]["tcp"]["stack"] = json!(1);
                spec["traffic"].as_array_mut().expect("traffic").push(other);
            },
            "windows below 2 segments beside flows of other RTTs or stacks: 40 of 40 flows have them",
        ),
    ];
    for (change, expected) in cases {
        let message = refused(change);
        assert!(message.contains(expected) && message.contains("--engine packet"), "{message}");
    }
}

/// A random run without the features that the model refuses.
fn known(spec: Value) -> RunSpec {
    let mut spec: RunSpec = serde_json::from_value(spec).expect("the generator makes runs");
    spec.events.retain(|event| !matches!(event.action, LinkAction::Impair(_)));
    spec.captures.clear();
    for link in &mut spec.links {
        link.queue.discipline = serde_json::from_value(json!({"discipline": "drop-tail"})).expect("drop-tail");
        link.loss = link
            .loss
            .take()
            .map(|_| serde_json::from_value(json!({"model": "bernoulli", "ratio": 0.01})).expect("a loss"));
    }
    for routing in &mut spec.routings {
        routing.link_state = None;
    }
    for stack in &mut spec.stacks {
        // The observation of the other controls takes a second each.
        if Law::of(stack).is_none() {
            stack.congestion = CongestionSpec::LinuxCubic(Default::default()).into();
        }
    }
    for group in &mut spec.traffic {
        group.stop = None;
        group.start = Duration::ZERO;
        group.stagger = Duration::ZERO;
        group.application = match group.transport {
            TransportSpec::Tcp { .. } => ApplicationSpec::Bulk { bytes: None },
            TransportSpec::Udp { .. } => ApplicationSpec::Constant { rate: Rate::from_bps(1e4) },
        };
    }
    spec
}

/// Checks properties of the prediction for a random run that the model does not refuse.
fn check(spec: Value) -> Result<(), TestCaseError> {
    let spec = known(spec);
    let Ok(found) = predict(&spec) else { return Ok(()) };
    for flow in &found.flows {
        let may_be_cut = !spec.events.is_empty();
        prop_assert!(flow.goodput_bps.is_finite() && (flow.goodput_bps > 0.0 || may_be_cut), "{flow:?}");
        prop_assert!(flow.interval_bps.0 <= flow.goodput_bps && flow.goodput_bps <= flow.interval_bps.1, "{flow:?}");
        prop_assert!(flow.limited_by == "no path" || flow.rtt_s.is_finite() && flow.rtt_s >= 0.0, "{flow:?}");
        let fastest = spec.links.iter().map(|link| link.rate.as_bps()).sum::<f64>();
        prop_assert!(flow.completion.is_some() || flow.interval_bps.1 <= fastest, "{flow:?}");
    }
    for (link, spec) in found.links.iter().zip(&spec.links) {
        prop_assert!((0.0..=1.0).contains(&link.utilisation), "{link:?}");
        prop_assert!(
            link.carried_bps <= spec.rate.as_bps() * (1.0 + 1e-12) && link.queue_delay_s.is_finite(),
            "{link:?}"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]

    #[test]
    fn over_parallel_relays_all_values_are_possible(spec in run_spec()) {
        check(spec)?;
    }

    #[test]
    fn over_meshes_all_values_are_possible(spec in mesh_spec()) {
        check(spec)?;
    }

    #[test]
    fn threads_change_nothing(spec in mesh_spec()) {
        let spec = known(spec);
        let on = |threads: usize| super::predict(spec.clone(), threads, &Watch::default()).ok().map(|(found, _)| format!("{found:?}"));
        let one = on(1);
        prop_assert_eq!(&on(2), &one);
        prop_assert_eq!(&on(3), &one);
    }
}
