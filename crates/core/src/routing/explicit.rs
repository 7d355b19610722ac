//! Explicit paths as a user gives them: sequences of nodes with weights.

use super::{Graph, RoutingError};
use crate::spec::{LinkId, NodeId};

/// The links and the weight of each given path from `src` to `dst`, in the given order. Among parallel links, the lowest
/// one that is up is used. A path over a link that is down is left out.
pub(super) fn given_paths(
    graph: &Graph,
    paths: &[Vec<NodeId>],
    weights: &[f64],
    src: NodeId,
    dst: NodeId,
) -> Result<Vec<(Vec<LinkId>, f64)>, RoutingError> {
    if paths.len() != weights.len() {
        return Err(RoutingError::WeightCount { paths: paths.len(), weights: weights.len() });
    }
    let mut found = Vec::new();
    for (path, (nodes, &weight)) in paths.iter().zip(weights).enumerate() {
        if nodes.first() != Some(&src) || nodes.last() != Some(&dst) {
            continue;
        }
        if !(weight.is_finite() && weight > 0.0) {
            return Err(RoutingError::PathWeight { path, weight });
        }
        check_nodes(graph, path, nodes)?;
        let links: Option<Vec<LinkId>> = nodes.windows(2).map(|hop| graph.first_link_up(hop[0], hop[1])).collect();
        found.extend(links.map(|links| (links, weight)));
    }
    Ok(found)
}

/// Refuses a sequence that could not be a path even if every link were up.
fn check_nodes(graph: &Graph, path: usize, nodes: &[NodeId]) -> Result<(), RoutingError> {
    for (position, &node) in nodes.iter().enumerate() {
        graph.check_node(node)?;
        if nodes[..position].contains(&node) {
            return Err(RoutingError::Revisits { path, node });
        }
    }
    for hop in nodes.windows(2) {
        if graph.first_link(hop[0], hop[1]).is_none() {
            return Err(RoutingError::NotConnected { path, from: hop[0], to: hop[1] });
        }
    }
    Ok(())
}
