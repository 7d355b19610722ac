//! Failures that leave pairs without a path while they have traffic.
//!
//! A routing that recomputes its routes uses any path that is left. Any other routing keeps its paths.

use super::Finding;
use super::routes::{Finder, Routes};
use crate::routing::{Graph, RoutingError};
use crate::spec::{HopsSpec, LinkAction, Metric, NodeId, RunSpec};
use crate::units::Time;
use std::collections::BTreeMap;

/// A pair that uses a routing; in order, pairs of one destination come one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    routing: usize,
    dst: NodeId,
    src: NodeId,
}

/// The time from the first packet of a pair to its last, and whether there is data among them, or only ACKs.
#[derive(Debug, Clone, Copy)]
struct Use {
    first: Time,
    last: Time,
    has_data: bool,
}

/// A time in which a pair has no path.
struct Outage {
    event: usize,
    pair: Pair,
    from: Time,
    until: Option<Time>,
    is_connected: bool,
}

pub(super) fn find(spec: &RunSpec, graph: &Graph) -> Result<Vec<Finding>, RoutingError> {
    if !spec.events.iter().any(|event| event.action == LinkAction::Fail) {
        return Ok(Vec::new());
    }
    let traffic = pairs_in_use(spec);
    let pairs: Vec<Pair> = traffic.keys().copied().collect();
    let mut kept = routes_of_all(spec, graph, &pairs)?;
    let mut now = graph.clone();
    let mut open: Vec<Option<usize>> = vec![None; pairs.len()];
    let mut outages: Vec<Outage> = Vec::new();
    let mut order: Vec<usize> = (0..spec.events.len()).collect();
    order.sort_by_key(|event| spec.events[*event].at);
    let mut failure = 0;
    for together in order.chunk_by(|one, other| spec.events[*one].at == spec.events[*other].at) {
        for &event in together {
            let mut set_up = |up| spec.events[event].links.iter().for_each(|link| now.set_up(*link, up));
            match spec.events[event].action {
                LinkAction::Fail => {
                    failure = event;
                    set_up(false);
                }
                LinkAction::Repair => set_up(true),
                LinkAction::Reroute => {
                    let anew = pairs.iter().zip(kept.iter_mut()).zip(routes_of_all(spec, &now, &pairs)?);
                    anew.filter(|((pair, _), _)| !is_adaptive(spec, pair.routing))
                        .for_each(|((_, kept), routes)| *kept = routes);
                }
                LinkAction::Impair(_) => {}
            }
        }
        let from = spec.events[together[0]].at;
        let left = shortest_of_all(&now, &pairs)?;
        for (index, &pair) in pairs.iter().enumerate() {
            let arrives = |routes: &Routes| routes.arrive(&now, pair.src, pair.dst);
            let is_connected = arrives(&left[index]);
            let is_given = matches!(spec.routings[pair.routing].hops, HopsSpec::Explicit { .. });
            let has_path =
                if is_adaptive(spec, pair.routing) && !is_given { is_connected } else { arrives(&kept[index]) };
            match (open[index], has_path) {
                (Some(outage), true) => {
                    outages[outage].until = Some(from);
                    open[index] = None;
                }
                (None, false) => {
                    open[index] = Some(outages.len());
                    outages.push(Outage { event: failure, pair, from, until: None, is_connected });
                }
                _ => {}
            }
        }
    }
    outages.retain(|outage| {
        let Use { first, last, .. } = traffic[&outage.pair];
        outage.from < last && outage.until.is_none_or(|until| until > first)
    });
    let (data, acks) = outages.into_iter().partition(|outage| traffic[&outage.pair].has_data);
    Ok(by_event(data, acks))
}

/// The pairs that use each routing, those of ACKs as well.
fn pairs_in_use(spec: &RunSpec) -> BTreeMap<Pair, Use> {
    let mut used = BTreeMap::new();
    for group in &spec.traffic {
        let data = spec.data_routes(group).map(|route| (route, true));
        for ((routing, src, dst), has_data) in data.chain(spec.ack_routes(group).map(|route| (route, false))) {
            let now = Use { first: Time::ZERO + group.start, last: group.stop(), has_data };
            let known = used.entry(Pair { routing, dst, src }).or_insert(now);
            *known = Use {
                first: known.first.min(now.first),
                last: known.last.max(now.last),
                has_data: known.has_data || has_data,
            };
        }
    }
    used
}

/// Whether a routing recomputes its routes after each change of the links.
fn is_adaptive(spec: &RunSpec, routing: usize) -> bool {
    spec.routings[routing].reconverge.is_some() || spec.routings[routing].link_state.is_some()
}

fn routes_of_all(spec: &RunSpec, graph: &Graph, pairs: &[Pair]) -> Result<Vec<Routes>, RoutingError> {
    let mut finder = Finder::default();
    let hops = |pair: &Pair| (pair.routing, &spec.routings[pair.routing].hops);
    pairs.iter().map(|pair| finder.find(graph, hops(pair), pair.src, pair.dst)).collect()
}

fn shortest_of_all(graph: &Graph, pairs: &[Pair]) -> Result<Vec<Routes>, RoutingError> {
    let mut finder = Finder::default();
    let hops = HopsSpec::Shortest { metric: Metric::HopCount.into() };
    pairs.iter().map(|pair| finder.find(graph, (0, &hops), pair.src, pair.dst)).collect()
}

/// One finding for each event and routing, with the pair that waits longest; of ACKs only where all data has a path.
fn by_event(data: Vec<Outage>, acks: Vec<Outage>) -> Vec<Finding> {
    let mut alike: BTreeMap<(usize, usize), (bool, Vec<Outage>)> = BTreeMap::new();
    for (outages, are_acks) in [(data, false), (acks, true)] {
        for outage in outages {
            let known = alike.entry((outage.event, outage.pair.routing)).or_insert((are_acks, Vec::new()));
            if known.0 == are_acks {
                known.1.push(outage);
            }
        }
    }
    let finding = |((event, routing), (acks, outages)): (_, (bool, Vec<Outage>))| {
        let longest =
            outages.iter().min_by_key(|outage| outage.until.map_or((0, 0), |until| (1, u64::MAX - until.0)))?;
        let Outage { pair: Pair { src, dst, .. }, until, is_connected, .. } = *longest;
        Some(Finding::CutOff { event, routing, acks, pairs: outages.len(), src, dst, until, is_connected })
    };
    alike.into_iter().filter_map(finding).collect()
}
