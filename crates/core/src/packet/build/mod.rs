//! From a compiled run to a simulation: checks, routes, flows.
//!
//! [`validate`] refuses what cannot run. This file plans flows, their sizes and routes, the network events, and the engine of all these.
//!
//! May use: the engine and what the engine uses. It knows no event loop.

mod validate;

use crate::packet::engine::clock::NetworkEvent;
use crate::packet::engine::{Engine, EventLoop};
use crate::packet::forwarding::Forwarding;
use crate::packet::forwarding::select::PacketKey;
use crate::packet::hosts::flow::{Flow, FlowIdentity, FlowState};
use crate::packet::link::Link;
use crate::packet::link::impairment;
use crate::packet::link::packet_sizes::{FlowSizes, PacketSizes};
use crate::packet::link_state::controller::Measured;
use crate::rng::{Purpose, Stream};
use crate::routing::{Graph, RoutingError};
use crate::spec::{
    ApplicationSpec, LinkAction, NodeId, QueueLimit, QueueSpec, RoutingSpec, RunSpec, TrafficSpec, TransportSpec,
};
use crate::traffic::{application, arrivals::ShortFlowArrivals, distribution::EmpiricalDistribution};
use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// Why a run is refused before it starts.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A value that the engine cannot work with.
    #[error("{place}: {problem}")]
    Value {
        /// Where it stands, in the words of the scenario.
        place: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// A routing that does not reach.
    #[error("routing '{routing}', from '{src}' to '{dst}': {error}")]
    Routing {
        /// The routing's name.
        routing: String,
        /// The source node's name.
        src: String,
        /// The destination node's name.
        dst: String,
        /// What is wrong.
        error: RoutingError,
    },
}

/// The longest run: a packet's clock has 56 bits.
const LONGEST: Duration = Duration::from_secs(72_000);

pub(in crate::packet) fn refuse(place: impl Into<String>, problem: impl Into<String>) -> BuildError {
    BuildError::Value { place: place.into(), problem: problem.into() }
}

fn check_run(spec: &RunSpec) -> Result<(), BuildError> {
    if spec.duration == Duration::ZERO || spec.duration > LONGEST {
        return Err(refuse("run.duration", format!("{}: must be more than 0 and at most 20 hours", spec.duration)));
    }
    if spec.warm_up >= spec.duration {
        return Err(refuse("run.warm_up", format!("{}: must be less than the duration", spec.warm_up)));
    }
    if spec.sample == Some(Duration::ZERO) {
        return Err(refuse("run.sample", "0: must be more than 0"));
    }
    for (index, link) in (0..).zip(&spec.links) {
        let place = format!("link {}", spec.link_name(index));
        if link.src as usize >= spec.nodes.len() || link.dst as usize >= spec.nodes.len() || link.src == link.dst {
            return Err(refuse(place, "must join two different nodes that exist"));
        }
        if link.rate.0 < 1000 {
            return Err(refuse(place, format!("rate {} bit/s: must be at least 1 kbit/s", link.rate.0)));
        }
        if link.delay > LONGEST - spec.duration {
            return Err(refuse(place, format!("delay {}: with the duration, must be at most 20 hours", link.delay)));
        }
        check_queue(&link.queue).map_err(|problem| refuse(format!("{place}, queue"), problem))?;
        impairment::check(&link.loss).map_err(|problem| refuse(format!("{place}, loss"), problem))?;
    }
    if let Some(link) = spec.captures.iter().find(|link| **link as usize >= spec.links.len()) {
        return Err(refuse("capture", format!("link {link}: must be one of the {} links", spec.links.len())));
    }
    for (index, event) in spec.events.iter().enumerate() {
        if let LinkAction::Impair(loss) = &event.action {
            impairment::check(loss).map_err(|problem| refuse(format!("event {index}, loss"), problem))?;
        }
    }
    for routing in &spec.routings {
        check_link_state(routing)
            .map_err(|problem| refuse(format!("routing '{}', link_state", routing.name), problem))?;
    }
    for stack in &spec.stacks {
        let place = |part: &str| format!("stack '{}', {part}", stack.name);
        stack.congestion.check().map_err(|problem| refuse(place("congestion"), problem))?;
        stack.slow_start.check().map_err(|problem| refuse(place("slow_start"), problem))?;
        stack.detection.check().map_err(|problem| refuse(place("detection"), problem))?;
        stack.ack.check().map_err(|problem| refuse(place("ack"), problem))?;
        if stack.mss == 0 || stack.header == 0 || stack.mss + stack.header > 65_535 {
            return Err(refuse(place("mss and header"), "each at least 1 byte, together at most 65535 bytes"));
        }
        if stack.initial_window == 0 {
            return Err(refuse(place("initial_window"), "0: must be at least 1 packet"));
        }
    }
    Ok(())
}

fn check_link_state(routing: &RoutingSpec) -> Result<(), String> {
    let Some(settings) = &routing.link_state else { return Ok(()) };
    if settings.sample == Duration::ZERO || settings.recompute == Duration::ZERO || settings.window == 0 {
        return Err("sample, recompute and window must each be more than 0".into());
    }
    if !(0.0..1.0).contains(&settings.hysteresis) {
        return Err(format!("hysteresis {}: must be at least 0 and below 1", settings.hysteresis));
    }
    Measured::of(&routing.hops).map(drop)
}

fn check_queue(queue: &QueueSpec) -> Result<(), String> {
    if matches!(queue.limit(), QueueLimit::Packets(0) | QueueLimit::Bytes(0)) {
        return Err("limit 0: must hold at least one packet".into());
    }
    match *queue {
        QueueSpec::Red { minimum, maximum, probability, weight, .. } => {
            if !minimum.is_finite() || !maximum.is_finite() || minimum < 0.0 || maximum <= minimum {
                return Err(format!("minimum {minimum}, maximum {maximum}: must be 0 <= minimum < maximum"));
            }
            if !((0.0..=1.0).contains(&probability) && weight > 0.0 && weight <= 1.0) {
                return Err(format!("probability {probability}, weight {weight}: must be in [0, 1] and in (0, 1]"));
            }
        }
        QueueSpec::Codel { target, interval, .. } if target == Duration::ZERO || interval < target => {
            return Err(format!("target {target}, interval {interval}: must be 0 < target <= interval"));
        }
        _ => {}
    }
    Ok(())
}

/// A source that is on and off may be on as often until it has sent one packet.
const MOST_TIMES_ON: u64 = 1_000;

/// One flow of a group before it has routes: who, when, how much.
struct Planned {
    pair: (NodeId, NodeId),
    start: Time,
    bytes: Option<u64>,
}

fn planned_flows(spec: &RunSpec, index: usize, group: &TrafficSpec) -> Result<Vec<Planned>, BuildError> {
    let place = |part: &str| format!("traffic '{}', {part}", group.name);
    application::check(&group.application).map_err(|problem| refuse(place("application"), problem))?;
    if let ApplicationSpec::ParetoOnOff { peak, on, .. } = &group.application {
        let packet = peak.serialization_delay(spec.unit_bytes(group));
        if packet.0 / MOST_TIMES_ON > on.0 {
            let problem = format!(
                "{on}: must be at least 1/{MOST_TIMES_ON} of the {packet} that a packet takes at the peak rate"
            );
            return Err(refuse(place("on"), problem));
        }
    }
    if group.pairs.is_empty() {
        return Err(refuse(place("from and to"), "no pair of nodes: give at least one"));
    }
    if let Some(pair) = group.pairs.iter().find(|pair| pair.0 == pair.1) {
        let name = &spec.nodes[pair.0 as usize];
        return Err(refuse(place("from and to"), format!("'{name}' to itself: must be two different nodes")));
    }
    if let ApplicationSpec::ShortFlows { arrivals, sizes } = &group.application {
        let sizes = EmpiricalDistribution::new(sizes).map_err(|problem| refuse(place("sizes"), problem))?;
        let stream = Stream::new(spec.seed, Purpose::Arrival, index as u64);
        let stop = Time::ZERO + group.stop.unwrap_or(spec.duration);
        let arrivals =
            ShortFlowArrivals::new(*arrivals, sizes, group.pairs.len() as u32, Time::ZERO + group.start, stop, stream);
        return Ok(arrivals
            .map(|arrival| Planned {
                pair: group.pairs[arrival.pair as usize],
                start: arrival.start,
                bytes: Some(arrival.bytes),
            })
            .collect());
    }
    let bytes = match group.application {
        ApplicationSpec::Bulk { bytes } => bytes,
        _ => None,
    };
    let pairs = group.pairs.iter().flat_map(|pair| std::iter::repeat_n(*pair, group.flows_per_pair as usize));
    Ok(pairs
        .enumerate()
        .map(|(number, pair)| Planned { pair, start: Time::ZERO + group.start + group.stagger * number as u64, bytes })
        .collect())
}

fn packet_sizes(spec: &RunSpec, group: &TrafficSpec, bytes: Option<u64>) -> Result<PacketSizes, String> {
    match group.transport {
        TransportSpec::Udp { packet } => match u16::try_from(packet) {
            Ok(full) if full > 0 => Ok(PacketSizes::new(full, full, full, false, u32::MAX)),
            _ => Err(format!("packet {packet} bytes: must be between 1 and 65535 bytes")),
        },
        TransportSpec::Tcp { stack } => {
            let stack = &spec.stacks[stack];
            let segments = bytes.map(|bytes| bytes.div_ceil(u64::from(stack.mss)));
            if segments.is_some_and(|segments| segments == 0 || segments >= u64::from(u32::MAX)) {
                return Err(format!(
                    "size {} bytes: must be between 1 byte and 4294967294 segments",
                    bytes.unwrap_or(0)
                ));
            }
            let full = stack.mss + stack.header;
            let last = bytes.map_or(full, |bytes| ((bytes - 1) % u64::from(stack.mss)) as u32 + 1 + stack.header);
            let last_segment = segments.map_or(u32::MAX, |segments| segments as u32 - 1);
            Ok(PacketSizes::new(full as u16, last as u16, stack.header as u16, stack.ecn, last_segment))
        }
    }
}

/// Whether routes may change as links fail, or when they are told to.
fn is_dynamic(spec: &RunSpec) -> bool {
    spec.events.iter().any(|event| !matches!(event.action, LinkAction::Impair(_)))
}

fn network_events(spec: &RunSpec, forwarding: &mut Forwarding) -> VecDeque<(Time, NetworkEvent)> {
    let mut network_events = Vec::new();
    for (index, event) in spec.events.iter().enumerate() {
        let action = match &event.action {
            LinkAction::Fail => NetworkEvent::Fail(event.links.clone()),
            LinkAction::Repair => NetworkEvent::Repair(event.links.clone()),
            LinkAction::Reroute => {
                network_events
                    .extend((0..spec.routings.len()).map(|routing| (event.at, NetworkEvent::Reroute(routing))));
                continue;
            }
            LinkAction::Impair(loss) => {
                network_events
                    .push((event.at, NetworkEvent::Impair(event.links.clone(), loss.clone(), index as u32 + 1)));
                continue;
            }
        };
        network_events.push((event.at, action));
        for (index, routing) in spec.routings.iter().enumerate() {
            if let Some(wait) = routing.reconverge {
                network_events.push((event.at + wait, NetworkEvent::Reroute(index)));
            }
        }
    }
    if spec.warm_up > Duration::ZERO {
        network_events.push((Time::ZERO + spec.warm_up, NetworkEvent::WarmedUp));
    }
    if let Some(interval) = spec.sample {
        network_events.push((Time::ZERO + interval, NetworkEvent::Sample));
    }
    for index in 0..spec.routings.len() {
        network_events
            .extend(forwarding.controller(index).map(|controller| (controller.due(), NetworkEvent::LinkState(index))));
    }
    network_events.sort_by_key(|(at, _)| *at);
    network_events.into()
}

impl<L: EventLoop> Engine<L> {
    /// Builds a run.
    ///
    /// # Errors
    /// Names the first thing that the engine cannot work with. The scenario schema finds most of these before.
    pub fn new(spec: RunSpec) -> Result<Engine<L>, BuildError> {
        check_run(&spec)?;
        let graph =
            Graph::of_specs(spec.nodes.len(), &spec.links).map_err(|error| refuse("topology", error.to_string()))?;
        let mut forwarding = Forwarding::new(spec.routings.clone(), graph, spec.seed, is_dynamic(&spec));
        let mut flows = Vec::new();
        let mut sizes = Vec::new();
        let end = Time::ZERO + spec.duration;
        forwarding.compile_shortest_routes(spec.routes_in_use());
        for (index, group) in spec.traffic.iter().enumerate() {
            let reverse_routing = spec.routings[group.routing].acks.unwrap_or(group.routing);
            let has_reverse = matches!(group.transport, TransportSpec::Tcp { .. });
            let stop = group.stop();
            for planned in planned_flows(&spec, index, group)? {
                if planned.start >= end.min(stop) {
                    continue;
                }
                let (flow, group_index) = (flows.len() as u32, index as u32);
                let mut route = |routing: usize, (src, dst): (NodeId, NodeId), reverse: bool| {
                    let key = PacketKey { flow, group: group_index, src, dst, reverse, number: 0 };
                    forwarding.route_of_flow(routing, &key).map_err(|error| BuildError::Routing {
                        routing: spec.routings[routing].name.clone(),
                        src: spec.nodes[src as usize].clone(),
                        dst: spec.nodes[dst as usize].clone(),
                        error,
                    })
                };
                let (src, dst) = planned.pair;
                let forward = route(group.routing, (src, dst), false)?;
                let reverse = if has_reverse { route(reverse_routing, (dst, src), true)? } else { forward };
                sizes.push(
                    packet_sizes(&spec, group, planned.bytes)
                        .map_err(|problem| refuse(format!("traffic '{}'", group.name), problem))?,
                );
                let identity = FlowIdentity { group: group_index, src, dst, start: planned.start, forward, reverse };
                flows.push(Flow { identity, state: FlowState::Pending, end: Time::NEVER });
            }
        }
        forwarding.finish_build();
        flows.shrink_to_fit();
        let mut links: Vec<Link> =
            spec.links.iter().enumerate().map(|(index, link)| Link::new(link, spec.seed, index as u32)).collect();
        spec.captures.iter().for_each(|link| links[*link as usize].capture());
        if spec.routings.iter().any(|routing| routing.link_state.is_some()) {
            links.iter_mut().for_each(Link::measure);
        }
        let network_events = network_events(&spec, &mut forwarding);
        let engine = Engine::assemble(spec, links, forwarding, flows, FlowSizes::new(sizes), network_events);
        engine.check_queues()?;
        engine.check_sequence_space()?;
        Ok(engine)
    }
}
