//! Plans the flows of a run: their ends, starts, sizes and routes.

use super::{BuildError, refuse, subflows};
use crate::packet::engine::dependencies::Dependencies;
use crate::packet::forwarding::select::PacketKey;
use crate::packet::forwarding::{Forwarding, RouteRef};
use crate::packet::hosts::flow::{Flow, FlowIdentity};
use crate::packet::link::packet_sizes::{FlowSizes, IpEcn, PacketSizes};
use crate::rng::{Purpose, Stream};
use crate::spec::{ApplicationSpec, Follows, NodeId, RunSpec, TrafficSpec, TransportSpec};
use crate::traffic::{application, arrivals::ShortFlowArrivals, distribution::EmpiricalDistribution};
use crate::units::{Duration, Time};

/// An on-off source may need at most this many on periods to send one packet.
const MAX_ON_PERIODS: u64 = 1_000;

/// The headers of IPv4 and UDP, bytes.
const LEAST_DATAGRAM: u16 = 28;

/// One flow of a group, before it has routes.
struct PlannedFlow {
    pair: (NodeId, NodeId),
    start: Time,
    /// The data of the flow; `None` if it does not end.
    bytes: Option<u64>,
    /// It starts this time after the flows that it waits for.
    delay: Option<Duration>,
}

/// The flows that may start during the run, the sizes of their packets, and the flows that they wait for. Compiles their routes.
pub(super) fn flows(
    spec: &RunSpec,
    forwarding: &mut Forwarding,
) -> Result<(Vec<Flow>, FlowSizes, Dependencies), BuildError> {
    let (mut flows, mut sizes) = (Vec::new(), Vec::new());
    let (mut pairs, mut delays) = (Vec::new(), Vec::new());
    let end = Time::ZERO + spec.duration;
    forwarding.compile_shortest_routes(spec.routes_in_use());
    for (index, group) in spec.traffic.iter().enumerate() {
        let reverse_routing = spec.reverse_routing(group);
        let stop = group.stop();
        let mut numbers = Vec::new();
        for PlannedFlow { pair: (src, dst), start, bytes, delay } in plan(spec, index, group)? {
            let may_start = start < end.min(stop) || delay.is_some();
            if group.application.has_dependencies() {
                numbers.push(may_start.then_some(flows.len() as u32));
            }
            if !may_start {
                continue;
            }
            let (flow, group_index) = (flows.len() as u32, index as u32);
            delays.extend(delay.map(|delay| (flow, delay)));
            let mut route = |routing: usize, (src, dst): (NodeId, NodeId), reverse: bool| {
                let key = PacketKey { flow, group: group_index, src, dst, reverse, number: 0 };
                forwarding.route_of_flow(routing, &key).map_err(|error| BuildError::Routing {
                    routing: spec.routings[routing].name.clone(),
                    acks: reverse,
                    src: spec.nodes[src as usize].clone(),
                    dst: spec.nodes[dst as usize].clone(),
                    error,
                })
            };
            let (forward, reverse) = if spec.subflows_of(group).is_some() {
                (RouteRef::Route(0), RouteRef::Route(0)) // see `subflows`
            } else {
                let forward = route(group.routing, (src, dst), false)?;
                (forward, if group.has_reverse_packets() { route(reverse_routing, (dst, src), true)? } else { forward })
            };
            let of_flow = packet_sizes(spec, group, bytes);
            sizes.push(of_flow.map_err(|problem| refuse(format!("traffic '{}'", group.name), problem))?);
            let identity = FlowIdentity { group: group_index, src, dst, start, forward, reverse };
            flows.push(Flow::new(identity));
        }
        if let ApplicationSpec::Trace { after, .. } = &group.application {
            for (follower, earlier) in after {
                let [follower, earlier] = [*follower, *earlier].map(|number| numbers[number as usize]);
                let Some(follower) = follower else { continue };
                check_dependency(spec, group, &flows, follower, earlier)?;
                pairs.push((follower, earlier.unwrap_or(follower))); // neither starts
            }
        }
    }
    let dependencies = Dependencies::new(flows.len(), &pairs, delays.into_iter());
    subflows::add(spec, forwarding, &mut flows, &mut sizes)?;
    forwarding.finish_build();
    flows.shrink_to_fit();
    Ok((flows, FlowSizes::new(sizes), dependencies))
}

/// Refuses a flow whose source does not know when an earlier flow is over.
fn check_dependency(
    spec: &RunSpec,
    group: &TrafficSpec,
    flows: &[Flow],
    follower: u32,
    earlier: Option<u32>,
) -> Result<(), BuildError> {
    let Some(earlier) = earlier else { return Ok(()) };
    let [follower, earlier] = [follower, earlier].map(|flow| flows[flow as usize].identity);
    if [earlier.src, earlier.dst].contains(&follower.src) {
        return Ok(());
    }
    let [source, from, to] = [follower.src, earlier.src, earlier.dst].map(|node| &spec.nodes[node as usize]);
    let problem =
        format!("a flow from '{source}' waits for one from '{from}' to '{to}': it must begin or end at '{source}'");
    Err(refuse(format!("traffic '{}', after", group.name), problem))
}

fn plan(spec: &RunSpec, index: usize, group: &TrafficSpec) -> Result<Vec<PlannedFlow>, BuildError> {
    let field = |part: &str| format!("traffic '{}', {part}", group.name);
    application::check(&group.application).map_err(|problem| refuse(field("application"), problem))?;
    if let ApplicationSpec::ParetoOnOff { peak, on, .. } = &group.application {
        let packet = peak.serialization_delay(spec.unit_bytes(group));
        if packet.0 / MAX_ON_PERIODS > on.0 {
            let problem = format!(
                "{on}: must be at least 1/{MAX_ON_PERIODS} of the {packet} that a packet takes at the peak rate"
            );
            return Err(refuse(field("on"), problem));
        }
    }
    if group.pairs.is_empty() {
        return Err(refuse(field("from and to"), "no pair of nodes: give at least one"));
    }
    if let Some(pair) = group.pairs.iter().find(|pair| pair.0 == pair.1) {
        let name = &spec.nodes[pair.0 as usize];
        return Err(refuse(field("from and to"), format!("'{name}' to itself: must be two different nodes")));
    }
    if let ApplicationSpec::ShortFlows { arrivals, sizes } = &group.application {
        let sizes = EmpiricalDistribution::new(sizes).map_err(|problem| refuse(field("sizes"), problem))?;
        let stream = Stream::new(spec.seed, Purpose::Arrival, index as u64);
        let stop = Time::ZERO + group.stop.unwrap_or(spec.duration);
        let arrivals =
            ShortFlowArrivals::new(*arrivals, sizes, group.pairs.len() as u32, Time::ZERO + group.start, stop, stream);
        return Ok(arrivals
            .map(|arrival| PlannedFlow {
                pair: group.pairs[arrival.pair as usize],
                start: arrival.start,
                bytes: Some(arrival.bytes),
                delay: None,
            })
            .collect());
    }
    if let ApplicationSpec::Trace { flows, after } = &group.application {
        let mut waits = vec![false; flows.len()];
        after.iter().for_each(|(flow, _)| waits[*flow as usize] = true);
        let planned =
            flows.iter().enumerate().map(|(number, &(pair, start, bytes))| match group.pairs.get(pair as usize) {
                Some(&pair) if waits[number] => {
                    Ok(PlannedFlow { pair, start: Time::NEVER, bytes: Some(bytes), delay: Some(start) })
                }
                Some(&pair) => {
                    let start = Time::ZERO + group.start + start;
                    Ok(PlannedFlow { pair, start, bytes: Some(bytes), delay: None })
                }
                None => Err(refuse(field("flows"), format!("flow {number} has pair {pair} of {}", group.pairs.len()))),
            });
        return planned.collect();
    }
    let bytes = match group.application {
        ApplicationSpec::Bulk { bytes } => bytes,
        _ => None,
    };
    let pairs = group.pairs.iter().flat_map(|pair| std::iter::repeat_n(*pair, group.flows_per_pair as usize));
    Ok(pairs
        .enumerate()
        .map(|(number, pair)| {
            let later = Duration(group.stagger.0.saturating_mul(number as u64).min(Time::NEVER.0));
            PlannedFlow { pair, start: Time::ZERO + group.start + later, bytes, delay: None }
        })
        .collect())
}

pub(super) fn packet_sizes(spec: &RunSpec, group: &TrafficSpec, bytes: Option<u64>) -> Result<PacketSizes, String> {
    match group.transport {
        TransportSpec::Udp { packet } => match u16::try_from(packet) {
            Ok(full) if full >= LEAST_DATAGRAM => Ok(PacketSizes::new(full, full, full, IpEcn::NotEct, u32::MAX)),
            _ => Err(format!("packet {packet} bytes: must be between {LEAST_DATAGRAM} and 65535 bytes")),
        },
        TransportSpec::Tcp { stack } => {
            let stack = &spec.stacks[stack];
            if stack.messages().is_some() && bytes.is_none() {
                return Err("its stack sends messages: give a size".into());
            }
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
            let ecn = IpEcn::of_stack(stack.ecn, stack.l4s);
            let sizes = PacketSizes::new(full as u16, last as u16, stack.header as u16, ecn, last_segment);
            let sizes = match stack.messages() {
                Some(messages) => sizes.of_messages(messages.trimming),
                None => sizes,
            };
            Ok(if stack.follows == Follows::Linux { sizes.with_options() } else { sizes })
        }
    }
}
