//! Routings that request more paths than there are.

use super::Finding;
use crate::routing::{Graph, RoutingError, path_sets};
use crate::spec::{HopsSpec, Metric, NodeId, RunSpec};

pub(super) fn find(spec: &RunSpec, graph: &Graph) -> Result<Vec<Finding>, RoutingError> {
    let mut found = Vec::new();
    for (routing, settings) in spec.routings.iter().enumerate() {
        let (HopsSpec::Disjoint { paths: wanted, .. } | HopsSpec::KShortest { paths: wanted, .. }) = settings.hops
        else {
            continue;
        };
        let data = spec.traffic.iter().flat_map(|group| spec.data_routes(group)).collect();
        let acks = spec.traffic.iter().flat_map(|group| spec.ack_routes(group)).collect();
        for (in_use, acks) in [(data, false), (acks, true)] {
            let finding = fewer(graph, (routing, &settings.hops), wanted, in_use, acks)?;
            if let Some(finding) = finding {
                found.push(finding);
                break;
            }
        }
    }
    Ok(found)
}

fn fewer(
    graph: &Graph,
    (routing, hops): (usize, &HopsSpec),
    wanted: u32,
    in_use: Vec<(usize, NodeId, NodeId)>,
    acks: bool,
) -> Result<Option<Finding>, RoutingError> {
    let mut pairs: Vec<_> = in_use.iter().filter(|used| used.0 == routing).map(|used| (used.1, used.2)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    if wanted < 2 || pairs.is_empty() {
        return Ok(None);
    }
    let paths = path_sets(graph, hops, &Metric::HopCount.into(), &pairs)?.paths;
    let fewer: Vec<_> = pairs.iter().zip(paths).filter(|(_, paths)| *paths < wanted).collect();
    let least = fewer.iter().min_by_key(|(_, paths)| *paths);
    Ok(least.map(|((src, dst), least)| {
        let (src, dst, paths) = (*src, *dst, *least);
        Finding::FewerPaths { routing, acks, pairs: fewer.len(), of: pairs.len(), src, dst, paths }
    }))
}
