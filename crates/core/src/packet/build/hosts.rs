//! The links that lead to hosts: a queue that cuts a packet there says that no other path would have helped.

use crate::spec::{NodeId, RunSpec};

/// The links to nodes that end a flow and that no packet passes through: all links from such a node lead to one neighbour. A host with links to
/// several neighbours could forward, so the links to it are not among these.
pub(super) fn links_to_hosts(spec: &RunSpec) -> impl Iterator<Item = usize> {
    #[derive(Clone, Copy)]
    enum Neighbours {
        None,
        One(NodeId),
        Several,
    }
    let mut neighbours = vec![Neighbours::None; spec.nodes.len()];
    for link in &spec.links {
        let known = &mut neighbours[link.src as usize];
        *known = match *known {
            Neighbours::None => Neighbours::One(link.dst),
            Neighbours::One(node) if node == link.dst => Neighbours::One(node),
            _ => Neighbours::Several,
        };
    }
    let mut ends_flows = vec![false; spec.nodes.len()];
    for (src, dst) in spec.traffic.iter().flat_map(|group| &group.pairs) {
        (ends_flows[*src as usize], ends_flows[*dst as usize]) = (true, true);
    }
    let is_host =
        move |node: NodeId| ends_flows[node as usize] && !matches!(neighbours[node as usize], Neighbours::Several);
    spec.links.iter().enumerate().filter(move |(_, link)| is_host(link.dst)).map(|(index, _)| index)
}
