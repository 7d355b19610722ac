//! Random runs.

use crate::entropy::EntropySpec;
use crate::packet::engine::{Engine, EventLoop};
use crate::packet::output::route_log::RouteChange;
use crate::packet::output::table::Table;
use crate::parameters::AlgorithmInfo;
use crate::spec::RunSpec;
use crate::tcp::ack::AckSpec;
use crate::tcp::congestion::CongestionSpec;
use crate::tcp::detection::DetectionSpec;
use proptest::prelude::*;
use serde_json::{Value, json};

pub const MS: u64 = 1_000_000_000;

/// Any queue discipline, with a small limit.
fn queue() -> impl Strategy<Value = Value> {
    prop_oneof![
        (1u32..40).prop_map(|limit| json!({"discipline": "drop-tail", "limit": {"packets": limit}})),
        (1500u64..30_000).prop_map(|limit| json!({"discipline": "drop-tail", "limit": {"bytes": limit}})),
        (5u32..40, any::<bool>()).prop_map(|(limit, ecn)| json!({"discipline": "red", "limit": {"packets": limit},
        "minimum": 2.0, "maximum": 6.0, "probability": 0.1, "weight": 0.1, "ecn": ecn})),
        (5u32..60, any::<bool>()).prop_map(|(limit, ecn)| json!({"discipline": "codel", "limit": {"packets": limit},
        "target": 2 * MS, "interval": 20 * MS, "ecn": ecn})),
        (1u32..40, 0u32..20).prop_map(
            |(limit, mark)| json!({"discipline": "ecn-threshold", "limit": {"packets": limit}, "mark": mark})
        ),
        (1u32..40, 1u32..3).prop_map(|(limit, control)| json!({"discipline": "trimming", "limit": {"packets": limit},
            "trim": true, "control": control, "mark_from": 0.1, "mark_to": 0.6})),
        (flow_queue(), limit(), any::<bool>()).prop_map(|(mut queue, limit, ecn)| {
            queue["limit"] = limit;
            if queue.get("ecn").is_some() {
                queue["ecn"] = json!(ecn);
            }
            queue
        }),
    ]
}

/// A small limit, in packets or bytes.
fn limit() -> impl Strategy<Value = Value> {
    prop_oneof![
        (1u32..40).prop_map(|limit| json!({"packets": limit})),
        (1500u64..30_000).prop_map(|limit| json!({"bytes": limit})),
    ]
}

/// A discipline whose time scale is so short that it acts in a short run, and with so few queues that flows collide.
fn flow_queue() -> impl Strategy<Value = Value> {
    let (target, interval, quantum) = (2 * MS, 20 * MS, 700);
    let pie = json!({"target": target, "tupdate": 5 * MS, "alpha": 8, "beta": 20, "ecn": false});
    let mut fq_pie = pie.clone();
    fq_pie["quantum"] = json!(quantum);
    fq_pie["flows"] = json!(3);
    let named = |name: &str, mut settings: Value| {
        settings["discipline"] = json!(name);
        settings
    };
    prop::sample::select(vec![
        named(
            "fq-codel",
            json!({"target": target, "interval": interval, "quantum": quantum, "flows": 3, "drop_batch": 4, "ecn": true}),
        ),
        named("pie", pie),
        named("fq-pie", fq_pie),
        named("fq", json!({"flow_limit": 8, "quantum": quantum, "orphan_mask": 2, "refill_delay": 5 * MS})),
        named("sfq", json!({"divisor": 4, "flows": 2, "depth": 8, "perturb": 100 * MS})),
        named("cake", json!({"rtt": interval})),
        named(
            "dualpi2",
            json!({"target": target, "tupdate": 5 * MS, "alpha": 2.0, "beta": 20.0, "coupling_factor": 2.0, "step_thresh": MS,
                "classic_protection": 0.1, "drop_on_overload": true}),
        ),
        named("ared", json!({"probability": 0.3, "ecn": false})),
    ])
}

/// Any loss process.
fn loss() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        (0.0f64..0.1).prop_map(|ratio| json!({"model": "bernoulli", "ratio": ratio})),
        (2u64..200).prop_map(|every| json!({"model": "periodic", "every": every})),
        Just(json!({"model": "list", "packets": [1, 3, 4, 17]})),
        Just(json!({"model": "gilbert-elliott", "good_to_bad": 0.01, "bad_to_good": 0.3, "loss_good": 0.0,
                "loss_bad": 0.5})),
    ]
}

/// Any set of next hops.
fn hops() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"kind": "shortest", "metric": "delay"})),
        Just(json!({"kind": "equal-cost", "metric": "hop-count"})),
        Just(json!({"kind": "disjoint", "metric": "delay", "paths": 3})),
        Just(json!({"kind": "k-shortest", "metric": "hop-count", "paths": 3})),
    ]
}

/// Next hops, or one explicit path, by measurements of the links.
fn measuring() -> impl Strategy<Value = (Value, Value)> {
    let metric = prop::sample::select(vec!["delay", "loss", "tcpbp", "tcpbp-exact"]);
    let hops = (metric, any::<bool>()).prop_map(|(metric, explicit)| match explicit {
        false => json!({"kind": "shortest", "metric": metric}),
        true => json!({"kind": "k-shortest", "metric": metric, "paths": 1}),
    });
    let link_state = (1u64..300, 1u32..4, 1u64..300, prop_oneof![Just(0.0), 0.0f64..0.5], any::<bool>());
    let link_state = link_state.prop_map(|(sample, window, recompute, hysteresis, intervals)| {
        json!({"sample": sample * MS, "window": window, "recompute": recompute * MS, "hysteresis": hysteresis, "intervals": intervals})
    });
    (hops, link_state)
}

/// Any granularity.
fn per() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"unit": "packet"})),
        Just(json!({"unit": "flow"})),
        (0u64..30).prop_map(|gap| json!({"unit": "flowlet", "gap": gap * MS})),
    ]
}

/// Any application.
fn application() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"kind": "bulk", "bytes": null})),
        (1u64..300_000).prop_map(|bytes| json!({"kind": "bulk", "bytes": bytes})),
        Just(json!({"kind": "poisson", "rate": 2_000_000})),
        Just(json!({"kind": "pareto-on-off", "peak": 8_000_000, "on": 40 * MS, "off": 60 * MS, "shape": 1.5})),
        Just(json!({"kind": "short-flows", "arrivals": 20.0, "sizes": [[100.0, 0.5], [60_000.0, 1.0]]})),
        prop::collection::vec((Just(0), (0u64..900).prop_map(|at| at * MS), 1u64..60_000), 1..20)
            .prop_map(|flows| json!({"kind": "trace", "flows": flows})),
    ]
}

/// Rates in Mbit/s at which a packet takes whole picoseconds, also at half the rate.
fn rate() -> impl Strategy<Value = u64> + Clone {
    prop::sample::select(vec![1u64, 2, 4, 5, 8, 10, 16])
}

/// Steps, or null: instants in ms from 0, with values of a strategy, the last of them another; repeated or not.
fn steps(value: impl Strategy<Value = u64> + Clone, last: impl Strategy<Value = u64>) -> impl Strategy<Value = Value> {
    let step = (1u64..200, value);
    (prop::collection::vec(step, 0..4), last, prop::option::of(1u64..300)).prop_map(|(steps, last, repeat)| {
        let (mut at, mut values) = (vec![0], Vec::new());
        for (gap, value) in steps {
            at.push(at[at.len() - 1] + gap * MS);
            values.push(value);
        }
        values.push(last);
        let repeat = repeat.map(|more| at[at.len() - 1] + more * MS);
        json!({"kind": "steps", "at": at, "values": values, "repeat": repeat})
    })
}

/// Any schedule of a rate.
pub fn rate_schedule() -> impl Strategy<Value = Value> {
    let rate = rate().prop_map(|mbps| mbps * 1_000_000);
    let opportunities = (prop::collection::vec(0u64..6, 1..20), 1u64..6).prop_map(|(gaps, more)| {
        let mut now = 0;
        let at: Vec<u64> = gaps
            .iter()
            .map(|gap| {
                now += gap * MS;
                now
            })
            .collect();
        json!({"kind": "opportunities", "at": at, "bytes": 1500, "repeat": now + more * MS})
    });
    let maybe_zero = prop_oneof![1 => Just(0), 3 => rate.clone()];
    prop_oneof![2 => steps(maybe_zero, rate), 1 => opportunities]
}

/// Any jitter.
fn jitter() -> impl Strategy<Value = Value> {
    let distribution = prop_oneof![
        (0u64..20).prop_map(|up_to| json!({"distribution": "uniform", "up_to": up_to * MS})),
        (0u64..10, 0u64..5).prop_map(|(mean, deviation)| json!({"distribution": "normal", "mean": mean * MS,
            "deviation": deviation * MS})),
        (0u64..5).prop_map(|mean| json!({"distribution": "pareto", "mean": mean * MS, "shape": 2.5})),
    ];
    (distribution, any::<bool>()).prop_map(|(mut jitter, reorder)| {
        jitter["reorder"] = json!(reorder);
        jitter
    })
}

/// A link that varies: its number, the schedules of its rate and its delay, its jitter, and the burst of its shaper.
type Variation = (usize, Option<Value>, Option<Value>, Option<Value>, Option<Value>);

/// Any shaper. The bucket of a tbf holds at least a packet.
fn shaper() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec!["htb", "tbf"]);
    (kind, 0u64..6000).prop_map(|(kind, burst)| {
        let least = if kind == "tbf" { 1000 } else { 0 };
        json!({"kind": kind, "burst": burst.max(least), "line": 100_000_000_000u64})
    })
}

fn variations() -> impl Strategy<Value = Vec<Variation>> {
    let delay = prop_oneof![4 => (1u64..30).prop_map(|delay| delay * MS), 1 => 16u64..MS];
    let delays = (steps(delay.clone(), delay), any::<bool>()).prop_map(|(mut delays, linear)| {
        delays["linear"] = json!(linear);
        delays
    });
    let variation = (
        any::<usize>(),
        prop::option::of(rate_schedule()),
        prop::option::of(delays),
        prop::option::of(jitter()),
        prop::option::of(shaper()),
    );
    prop_oneof![1 => Just(Vec::new()), 1 => prop::collection::vec(variation, 1..4)]
}

/// Any algorithm of a registry, with its defaults.
fn named(registry: Vec<AlgorithmInfo>) -> impl Strategy<Value = &'static str> {
    prop::sample::select(registry.into_iter().map(|algorithm| algorithm.name).collect::<Vec<_>>())
}

/// Traffic groups with their stacks: application, stack, flows per pair, start and stop in ms, and a number that chooses the
/// pair.
fn traffic() -> impl Strategy<Value = Vec<(Value, Value, u32, u64, Option<u64>, usize)>> {
    let policies = (
        named(CongestionSpec::describe()),
        prop::sample::select(vec!["classic", "hystart++"]),
        named(DetectionSpec::describe()),
        named(AckSpec::describe()),
        prop::sample::select(vec!["rfc", "linux", "ns-2"]),
        prop::array::uniform5(any::<bool>()),
        (any::<bool>(), prop::sample::select(vec!["classic", "exact", "accecn", "ace"])),
    );
    let protocol = prop_oneof![
        4 => Just(json!({"name": "tcp"})),
        2 => prop::sample::select(vec!["nscc", "rccc", "both"]).prop_map(|control| json!({"name": "uet", "control": control})),
        1 => (1u32..5, prop::sample::select(vec!["min-rtt", "blest", "ecf"]))
            .prop_map(|(subflows, scheduler)| json!({"name": "mptcp", "subflows": subflows, "scheduler": scheduler})),
    ];
    let protocol = (protocol, named(EntropySpec::describe()));
    let stack = (policies, protocol).prop_map(|((congestion, slow_start, detection, ack, follows, switches, (l4s, echo)), (protocol, entropy))| {
        let [sack, ecn, pacing, handshake, f_rto] = switches;
        json!({"protocol": protocol, "entropy": {"name": entropy},"name": "", "follows": follows, "congestion": {"name": congestion}, "slow_start": {"name": slow_start},
            "detection": {"name": detection}, "ack": {"name": ack},
            "sack": sack, "spurious": "eifel", "f_rto": f_rto, "limited_transmit": true, "ecn": ecn, "l4s": l4s, "ecn_echo": echo, "pacing": pacing,
            "handshake": handshake, "mss": 960, "header": 40, "initial_window": 10, "receive_window": 300_000,
            "min_rto": 200 * MS, "max_rto": 4000 * MS, "initial_rto": 1000 * MS})
    });
    let stop = prop::option::of(300u64..900);
    prop::collection::vec((application(), stack, 1u32..3, 0u64..300, stop, any::<usize>()), 1..4)
}

/// A run without its network: seed, warm-up in units of 10 ms, whether it is sampled, routing, traffic, and events with their
/// times in ms.
#[derive(Debug, Clone)]
struct Plan {
    seed: u64,
    warm_up: u64,
    sampled: bool,
    delays: bool,
    routing: Value,
    traffic: Vec<(Value, Value, u32, u64, Option<u64>, usize)>,
    events: Vec<(u64, Value, usize)>,
    captures: Vec<usize>,
    variations: Vec<Variation>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let select = prop::sample::select(vec!["hash", "round-robin", "random", "weighted", "adaptive", "drill"]);
    let hops = prop_oneof![3 => hops().prop_map(|hops| (hops, json!(null))), 1 => measuring()];
    let routing = (hops, select, per()).prop_map(|((hops, link_state), select, per)| {
        json!({"name": "", "hops": hops, "select": {"name": select}, "per": per, "link_state": link_state,
            "hash": ["source", "destination", "source-port"], "acks": null, "reconverge": 30 * MS})
    });
    let action = prop_oneof![
        3 => prop::sample::select(vec![json!("fail"), json!("repair"), json!("reroute")]),
        1 => loss().prop_map(|loss| json!({"impair": loss})),
    ];
    let events = prop_oneof![Just(Vec::new()), prop::collection::vec((1u64..900, action, any::<usize>()), 1..5)];
    let captures = prop::collection::vec(any::<usize>(), 0..3);
    (any::<u64>(), 0u64..40, any::<[bool; 2]>(), routing, traffic(), events, captures, variations()).prop_map(
        |(seed, warm_up, [sampled, delays], routing, traffic, events, captures, variations)| Plan {
            seed,
            warm_up,
            sampled,
            delays,
            routing,
            traffic,
            events,
            captures,
            variations,
        },
    )
}

impl Plan {
    /// The run over these links and nodes, with flows between these pairs.
    fn over(&self, nodes: usize, links: &[Value], pairs: &[(usize, usize)]) -> Value {
        // Only data with a size goes in messages.
        let with_size = |application: &Value, stack: &Value| {
            let mut stack = stack.clone();
            let is_sized = application["kind"] == "bulk" && !application["bytes"].is_null()
                || application["kind"] == "short-flows"
                || application["kind"] == "trace";
            if !is_sized && stack["protocol"]["name"] == "uet" {
                stack["protocol"] = json!({"name": "tcp"});
            }
            stack
        };
        let stacks: Vec<Value> =
            self.traffic.iter().map(|(application, stack, ..)| with_size(application, stack)).collect();
        let has = |protocol: &str| stacks.iter().any(|stack| stack["protocol"]["name"] == protocol);
        let captures = if has("uet") || has("mptcp") { &[][..] } else { &self.captures };
        let groups: Vec<Value> = self
            .traffic
            .iter()
            .enumerate()
            .map(|(index, (application, _, flows, start, stop, pair))| {
                let kind = &application["kind"];
                let udp = index == 2 && (kind == "poisson" || kind == "pareto-on-off");
                json!({"name": "", "pairs": [pairs[pair % pairs.len()]], "flows_per_pair": flows,
                    "transport": if udp { json!({"udp": {"packet": 700}}) } else { json!({"tcp": {"stack": index}}) },
                    "routing": 0, "start": start * MS, "stagger": 200 * MS, "stop": stop.map(|stop| stop * MS),
                    "application": application})
            })
            .collect();
        let events: Vec<Value> = self
            .events
            .iter()
            .filter(|(_, action, _)| !has("mptcp") || action != "reroute")
            .map(|(at, action, link)| json!({"at": at * MS, "action": action, "links": [link % links.len()]}))
            .collect();
        let mut routing = self.routing.clone();
        if has("mptcp") {
            (routing["reconverge"], routing["link_state"]) = (json!(null), json!(null));
            // A subflow keeps a path without a loop. Links without delay have no cost by other metrics.
            routing["hops"]["metric"] = json!("hop-count");
        }
        let (mut links, mut schedules) = (links.to_vec(), Vec::new());
        for (index, rate, delay, jitter, shaper) in &self.variations {
            let link = index % links.len();
            links[link]["jitter"] = json!(jitter);
            let has_trace = rate.as_ref().is_some_and(|rate| rate["kind"] == "opportunities");
            links[link]["shaper"] = json!(shaper.as_ref().filter(|_| !has_trace));
            if links[link]["delay"] == 0 && has_trace {
                links[link]["delay"] = json!(MS / 1000); // no packet may cross a link in no time
            }
            // Schedules of rates have even indexes, those of delays odd ones.
            for (place, (key, schedule)) in [("rate_schedule", rate), ("delay_schedule", delay)].into_iter().enumerate()
            {
                links[link][key] = json!(schedule.as_ref().map(|_| schedules.len() + place));
            }
            let none = json!({"kind": "steps", "at": [0], "values": [1_000_000], "repeat": null});
            schedules.extend([rate, delay].map(|schedule| schedule.clone().unwrap_or_else(|| none.clone())));
        }
        json!({
            "seed": self.seed, "duration": 1000 * MS, "warm_up": self.warm_up * 10 * MS,
            "sample": self.sampled.then_some(70 * MS), "delays": self.delays,
            "nodes": (0..nodes).map(|node| node.to_string()).collect::<Vec<_>>(), "links": links, "stacks": stacks,
            "schedules": schedules,
            "routings": [routing], "traffic": groups, "events": events,
            "captures": captures.iter().map(|link| link % links.len()).collect::<Vec<_>>()
        })
    }
}

fn link(src: usize, dst: usize, mbps: u64, delay: u64, queue: &Value, loss: &Value) -> Value {
    json!({"src": src, "dst": dst, "rate": mbps * 1_000_000, "delay": delay, "cost": 1.0, "queue": queue, "loss": loss})
}

/// Two hosts with up to three relays between them. Each relay has its own links. Data goes in one direction, ACKs in the other.
pub fn run_spec() -> impl Strategy<Value = Value> {
    let links = prop::collection::vec((queue(), loss(), rate(), 1u64..30), 6);
    (1usize..4, links, plan()).prop_map(|(relays, links, plan)| {
        let mut directed = Vec::new();
        let last = relays + 1;
        let lossless = Value::Null;
        for relay in 1..=relays {
            let (queue, loss, rate, delay) = &links[relay - 1];
            let (back_queue, back_loss, ..) = &links[relay + 2];
            directed.push(link(0, relay, *rate, delay * MS, queue, loss));
            directed.push(link(relay, last, *rate, delay * MS, queue, &lossless));
            directed.push(link(last, relay, *rate, delay * MS, back_queue, back_loss));
            directed.push(link(relay, 0, *rate, delay * MS, back_queue, &lossless));
        }
        plan.over(relays + 2, &directed, &[(0, last)])
    })
}

/// A stack with duplicate ACKs, SACK and immediate ACKs.
pub fn usual_stack(congestion: &str, handshake: bool) -> Value {
    json!({"name": "", "congestion": {"name": congestion}, "slow_start": {"name": "classic"},
        "detection": {"name": "dup-ack"}, "ack": {"name": "immediate"}, "sack": true, "spurious": "none", "f_rto": false,
        "limited_transmit": true, "ecn": false, "pacing": false, "handshake": handshake, "mss": 960, "header": 40,
        "initial_window": 10, "receive_window": 300_000, "min_rto": 200 * MS, "max_rto": 4000 * MS,
        "initial_rto": 1000 * MS})
}

/// A ring of hosts that are routers too, with chords, links in both directions and flows in all directions. Many delays are
/// equal, so that packets arrive at the same instant, and some are zero.
pub fn mesh_spec() -> impl Strategy<Value = Value> {
    let delay = prop_oneof![4 => Just(5 * MS), 2 => 1u64..20 * MS, 1 => Just(0), 1 => 1u64..MS / 1000];
    let loss = prop_oneof![3 => Just(Value::Null), 1 => loss()];
    let queue = prop_oneof![
        2 => (1u32..60).prop_map(|limit| json!({"discipline": "drop-tail", "limit": {"packets": limit}})),
        1 => queue(),
    ];
    let links = prop::collection::vec((queue, loss, rate(), delay), 18);
    let chords = prop::collection::vec((any::<usize>(), any::<usize>()), 0..3);
    let alike = any::<bool>();
    (3usize..7, links, chords, alike, plan()).prop_map(|(nodes, links, chords, alike, plan)| {
        let ring = (0..nodes).map(|node| (node, (node + 1) % nodes));
        let chords = chords.into_iter().map(|(a, b)| (a % nodes, b % nodes)).filter(|(a, b)| a != b);
        let mut directed = Vec::new();
        for (index, (a, b)) in ring.chain(chords).enumerate() {
            for (src, dst, parts) in [(a, b, &links[2 * index]), (b, a, &links[2 * index + 1])] {
                let (queue, loss, rate, delay) = parts;
                let rate = if alike { 8 } else { *rate };
                directed.push(link(src, dst, rate, *delay, queue, loss));
            }
        }
        let pairs: Vec<(usize, usize)> =
            (0..nodes).flat_map(|src| (0..nodes).map(move |dst| (src, dst))).filter(|(src, dst)| src != dst).collect();
        plan.over(nodes, &directed, &pairs)
    })
}

/// Divides every time of a run by a factor, and multiplies every rate by it.
pub fn hasten(value: &mut Value, by: u64) {
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
        "rto_granularity",
        "repeat",
        "up_to",
        "mean",
        "deviation",
        "tupdate",
        "refill_delay",
        "perturb",
        "rtt",
    ];
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                match field.as_u64() {
                    Some(number) if times.contains(&name.as_str()) => *field = json!(number / by),
                    Some(number) if name == "rate" => *field = json!(number * by),
                    None if name == "schedules" => hasten_schedules(field, by),
                    None if name == "flows" => hasten_flows(field, by),
                    _ => hasten(field, by),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| hasten(item, by)),
        _ => {}
    }
}

/// [`hasten`] of a trace: each flow has its pair, its start and its bytes.
fn hasten_flows(flows: &mut Value, by: u64) {
    for flow in flows.as_array_mut().into_iter().flatten() {
        flow[1] = json!(flow[1].as_u64().unwrap_or(0) / by);
    }
}

/// [`hasten`] of schedules: those of rates have even indexes, those of delays odd ones.
fn hasten_schedules(schedules: &mut Value, by: u64) {
    for (index, schedule) in schedules.as_array_mut().into_iter().flatten().enumerate() {
        hasten(schedule, by);
        for key in ["at", "values"] {
            for number in schedule.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
                let value = number.as_u64().unwrap_or(0);
                *number = json!(if key == "values" && index % 2 == 0 { value * by } else { value / by });
            }
        }
    }
}

/// A run of links whose rates and delays are fixed.
pub fn without_variations(mut spec: Value) -> Value {
    for link in spec["links"].as_array_mut().into_iter().flatten() {
        for key in ["rate_schedule", "delay_schedule", "jitter", "shaper"] {
            link[key] = Value::Null;
        }
    }
    spec
}

/// Puts drop-tail in the place of these disciplines.
pub fn replace_disciplines(spec: &mut Value, names: &[&str]) {
    for link in spec["links"].as_array_mut().into_iter().flatten() {
        let queue = &mut link["queue"];
        if queue["discipline"].as_str().is_some_and(|name| names.contains(&name)) {
            *queue = json!({"discipline": "drop-tail", "limit": queue["limit"]});
        }
    }
}

/// A run so fast that bursts arrive at a flow's ends within an epoch, with stacks and links that keep bursts together. Timeouts
/// may expire within the same epoch.
pub fn dense_spec() -> impl Strategy<Value = Value> {
    let timeout = prop::sample::select(vec![MS / 1000, MS / 20, MS / 4, 2 * MS]);
    let limits =
        prop::collection::vec(prop_oneof![Just(json!(null)), (3u32..60).prop_map(|packets| json!(packets))], 1..5);
    (prop_oneof![run_spec(), mesh_spec()], timeout, limits).prop_map(|(mut spec, timeout, limits)| {
        hasten(&mut spec, 16);
        for stack in spec["stacks"].as_array_mut().into_iter().flatten() {
            (stack["sack"], stack["pacing"], stack["ecn"]) = (json!(true), json!(false), json!(false));
            stack["ack"] = json!({"name": "immediate"});
            stack["min_rto"] = json!(timeout);
            stack["rto_granularity"] = json!(timeout);
            stack["initial_rto"] = json!(20 * timeout.max(MS / 4));
        }
        for (link, limit) in spec["links"].as_array_mut().into_iter().flatten().zip(limits.iter().cycle()) {
            if !limit.is_null() {
                link["queue"] = json!({"discipline": "drop-tail", "limit": {"packets": limit}});
                link["loss"] = Value::Null;
            }
        }
        (spec["routings"][0]["per"], spec["routings"][0]["link_state"]) = (json!({"unit": "flow"}), json!(null));
        spec
    })
}

/// A run of this spec.
pub fn build<L: EventLoop>(spec: &Value) -> Engine<L> {
    let spec: RunSpec = serde_json::from_value(spec.clone()).expect("the generator makes runs");
    Engine::new(spec).expect("the generator makes runs that can be")
}

/// Every value of a table, bit for bit.
fn bits(table: &Table) -> Vec<u64> {
    table.columns.iter().flat_map(|(_, values)| values.bits()).collect()
}

/// All results of a run, bit for bit.
pub fn results<L: EventLoop>(simulation: &mut Engine<L>) -> [Vec<u64>; 6] {
    let change = |change: &RouteChange| {
        let numbers = [change.at.0, change.delay.to_bits(), change.loss.to_bits(), change.cost.to_bits()];
        numbers.into_iter().chain(change.nodes.iter().map(|node| u64::from(*node))).collect::<Vec<u64>>()
    };
    [
        simulation.route_changes().iter().flat_map(change).collect(),
        bits(&simulation.take_link_state()),
        bits(&simulation.flow_table()),
        bits(&simulation.link_table()),
        bits(&simulation.take_flow_series()),
        bits(&simulation.take_link_series()),
    ]
}
