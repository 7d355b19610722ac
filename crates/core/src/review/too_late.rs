//! Round trips as long as what is left of the run when a group starts: no ACK arrives in time; of datagrams, none.

use super::Finding;
use super::delays::Delays;
use crate::routing::{Graph, RoutingError};
use crate::spec::{RunSpec, TrafficSpec};
use crate::units::Duration;

pub(super) fn find(spec: &RunSpec, graph: &Graph, delays: &mut Delays) -> Result<Vec<Finding>, RoutingError> {
    let longest_way = spec.links.iter().fold(0_u64, |sum, link| sum.saturating_add(link.delay.0));
    let left = |group: &TrafficSpec| Duration(spec.duration.0.saturating_sub(group.start.0));
    let concerned: Vec<(usize, &TrafficSpec)> =
        (0..).zip(&spec.traffic).filter(|(_, group)| longest_way.saturating_mul(2) >= left(group).0).collect();
    let routes = concerned.iter().flat_map(|(_, group)| spec.data_routes(group).chain(spec.ack_routes(group)));
    delays.find(spec, graph, routes.collect())?;
    Ok(concerned
        .iter()
        .filter_map(|&(traffic, group)| {
            let mut back = spec.ack_routes(group);
            let travels = spec.data_routes(group).filter_map(|there| {
                let way_back = back.next().map_or(Some(Duration::ZERO), |back| Some(delays.of(back)?.0))?;
                Some((delays.of(there)?.0 + way_back, there.1, there.2))
            });
            let late: Vec<_> = travels.filter(|(travel, ..)| *travel >= left(group)).collect();
            let (travel, src, dst) = *late.iter().max()?;
            let (pairs, of, is_answered) = (late.len(), group.pairs.len(), group.has_reverse_packets());
            Some(Finding::TooLate { traffic, pairs, of, src, dst, travel, left: left(group), is_answered })
        })
        .collect())
}
