//! FastRTO whose greatest timeout is shorter than the round trip of a path: each segment there expires before its ACK comes.

use super::Finding;
use super::routes::Finder;
use crate::routing::{Graph, RoutingError};
use crate::spec::{NodeId, RunSpec, TrafficSpec, TransportSpec};
use crate::tcp::detection::DetectionSpec;
use crate::units::Duration;
use std::collections::HashMap;

/// A path of a routing, by its index, source and destination.
type Route = (usize, NodeId, NodeId);

pub(super) fn find(spec: &RunSpec, graph: &Graph) -> Result<Vec<Finding>, RoutingError> {
    let longest_way = spec.links.iter().fold(0_u64, |sum, link| sum.saturating_add(link.delay.0));
    let concerned: Vec<(usize, &TrafficSpec, Duration)> = (0..)
        .zip(&spec.traffic)
        .filter_map(|(index, group)| Some((index, group, greatest_timeout(spec, group)?)))
        .filter(|(_, _, timeout)| longest_way.saturating_mul(2) >= timeout.0)
        .collect();
    let routes = concerned.iter().flat_map(|(_, group, _)| spec.data_routes(group).chain(spec.ack_routes(group)));
    let delays = delays(spec, graph, routes.collect())?;
    Ok(concerned
        .iter()
        .filter_map(|&(traffic, group, timeout)| {
            let round_trips = spec.data_routes(group).zip(spec.ack_routes(group)).filter_map(|(there, back)| {
                let round_trip = delays.get(&there)?.1 + delays.get(&back)?.0;
                (round_trip >= timeout).then_some((round_trip, there.1, there.2))
            });
            let found: Vec<_> = round_trips.collect();
            let (round_trip, src, dst) = *found.iter().max()?;
            Some(Finding::EarlyExpiry { traffic, pairs: found.len(), src, dst, round_trip, timeout })
        })
        .collect())
}

/// The greatest FastRTO of a group's flows; none if they detect losses otherwise.
fn greatest_timeout(spec: &RunSpec, group: &TrafficSpec) -> Option<Duration> {
    let TransportSpec::Tcp { stack } = group.transport else { return None };
    match &spec.stacks[stack].detection {
        DetectionSpec::FastRto(parameters) => Some(parameters.max_rto),
        _ => None,
    }
}

/// The delays of the fastest and of the slowest path of each route that has one.
pub(super) fn delays(
    spec: &RunSpec,
    graph: &Graph,
    mut routes: Vec<Route>,
) -> Result<HashMap<Route, (Duration, Duration)>, RoutingError> {
    routes.sort_unstable_by_key(|(routing, src, dst)| (*routing, *dst, *src));
    routes.dedup();
    let mut finder = Finder::default();
    let mut found = HashMap::new();
    for (routing, src, dst) in routes {
        let paths = finder.find(graph, (routing, &spec.routings[routing].hops), src, dst)?;
        if let Some(delays) = paths.delays(graph, src, dst) {
            found.insert((routing, src, dst), delays);
        }
    }
    Ok(found)
}
