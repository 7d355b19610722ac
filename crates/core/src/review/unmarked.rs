//! DCTCP whose packets wait in queues that do not mark them (RFC 8257 section 3.1): it then reacts only to losses.
//!
//! A queue may fill if more packets can arrive than its link carries. They come from links that feed it, or from a host
//! whose packets cross no slower link later.

use super::Finding;
use super::routes::Finder;
use crate::routing::{Graph, RoutingError};
use crate::spec::{LinkId, RunSpec, TrafficSpec, TransportSpec};
use crate::tcp::congestion::{CongestionSpec, choice::ControlSpec};
use std::collections::BTreeSet;

pub(super) fn find(spec: &RunSpec, graph: &Graph) -> Result<Vec<Finding>, RoutingError> {
    let is_dctcp = |group: &TrafficSpec| match group.transport {
        TransportSpec::Tcp { stack } => {
            spec.stacks[stack].ecn
                && matches!(
                    spec.stacks[stack].congestion,
                    ControlSpec::Named(CongestionSpec::Dctcp(_) | CongestionSpec::Prague(_))
                )
        }
        TransportSpec::Udp { .. } => false,
    };
    if !spec.traffic.iter().any(is_dctcp) || spec.links.iter().all(|link| link.queue.discipline.marks()) {
        return Ok(Vec::new());
    }
    let mut feeds = vec![BTreeSet::new(); spec.links.len()];
    let mut crossed = vec![BTreeSet::new(); spec.traffic.len()];
    let mut ways: Vec<_> = (0..)
        .zip(&spec.traffic)
        .flat_map(|(index, group)| group.pairs.iter().map(move |(src, dst)| (group.routing, *dst, *src, index)))
        .collect();
    ways.sort_unstable();
    ways.dedup();
    let mut finder = Finder::default();
    for (routing, dst, src, group) in ways {
        let group: usize = group;
        let routes = finder.find(graph, (routing, &spec.routings[routing].hops), src, dst)?;
        let steps = routes.steps(graph, src);
        let narrowest = steps.iter().map(|step| graph.link(step.1).rate).min();
        for (before, link) in steps {
            if before.is_some() || Some(graph.link(link).rate) == narrowest {
                feeds[link as usize].insert(before);
            }
            crossed[group].insert(link);
        }
    }
    let may_fill = |link: LinkId| {
        let sources = &feeds[link as usize];
        let sum = sources.iter().flatten().fold(0_u64, |sum, feed| sum.saturating_add(graph.link(*feed).rate.0));
        sources.contains(&None) || sum > graph.link(link).rate.0
    };
    let unmarked = |link: &LinkId| !spec.links[*link as usize].queue.discipline.marks() && may_fill(*link);
    let groups = spec.traffic.iter().enumerate().filter(|(_, group)| is_dctcp(group));
    Ok(groups
        .filter_map(|(traffic, _)| {
            let links: Vec<LinkId> = crossed[traffic].iter().copied().filter(unmarked).collect();
            Some(Finding::Unmarked { traffic, links: links.len(), link: *links.first()? })
        })
        .collect())
}
