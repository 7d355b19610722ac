//! FastRTO whose greatest timeout is shorter than the round trip of a path: each segment there expires before its ACK comes.

use super::Finding;
use super::delays::Delays;
use crate::routing::{Graph, RoutingError};
use crate::spec::{RunSpec, TrafficSpec, TransportSpec};
use crate::tcp::detection::DetectionSpec;
use crate::units::Duration;

pub(super) fn find(spec: &RunSpec, graph: &Graph, delays: &mut Delays) -> Result<Vec<Finding>, RoutingError> {
    let longest_way = spec.links.iter().fold(0_u64, |sum, link| sum.saturating_add(link.delay.0));
    let concerned: Vec<(usize, &TrafficSpec, Duration)> = (0..)
        .zip(&spec.traffic)
        .filter_map(|(index, group)| Some((index, group, greatest_timeout(spec, group)?)))
        .filter(|(_, _, timeout)| longest_way.saturating_mul(2) >= timeout.0)
        .collect();
    let routes = concerned.iter().flat_map(|(_, group, _)| spec.data_routes(group).chain(spec.ack_routes(group)));
    delays.find(spec, graph, routes.collect())?;
    Ok(concerned
        .iter()
        .filter_map(|&(traffic, group, timeout)| {
            let round_trips = spec.data_routes(group).zip(spec.ack_routes(group)).filter_map(|(there, back)| {
                let round_trip = delays.of(there)?.1 + delays.of(back)?.0;
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
