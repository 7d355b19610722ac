//! The links at both ends of a pair that every path uses. They are a host's access link, and the links after it until there is a
//! choice.

use super::Graph;
use crate::spec::{LinkId, NodeId};

/// The links at both ends of all loopless paths between two nodes, over links that are up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedEnds {
    /// The links from the source to the first node with a choice; the whole path if there is only one.
    pub first: Vec<LinkId>,
    /// The node at the end of these links.
    pub branching: NodeId,
    /// The last node with a choice.
    pub meeting: NodeId,
    /// The links from there to the destination.
    pub last: Vec<LinkId>,
}

impl SharedEnds {
    /// The shared ends of the paths from `source` to `destination`; `None` if there is no path.
    pub fn new(graph: &Graph, source: NodeId, destination: NodeId) -> Option<SharedEnds> {
        let mut visited = vec![false; graph.nodes()];
        let (first, branching) = walk(graph, source, destination, Way::Forwards, &mut visited)?;
        let (mut last, meeting) = walk(graph, destination, branching, Way::Backwards, &mut visited)?;
        last.reverse();
        Some(SharedEnds { first, branching, meeting, last })
    }
}

/// Whether to follow links forwards or backwards.
#[derive(Clone, Copy)]
enum Way {
    Forwards,
    Backwards,
}

impl Way {
    fn reversed(self) -> Way {
        match self {
            Way::Forwards => Way::Backwards,
            Way::Backwards => Way::Forwards,
        }
    }

    /// The links that are up at a node, and the nodes that they lead to.
    fn steps(self, graph: &Graph, node: NodeId) -> Vec<(LinkId, NodeId)> {
        match self {
            Way::Forwards => graph.out_links(node).map(|link| (link, graph.link(link).dst)).collect(),
            Way::Backwards => graph.in_links(node).map(|link| (link, graph.link(link).src)).collect(),
        }
    }
}

/// Follows the links from one node towards another until there is a choice. Returns these links, and the node where they end. A link
/// that leads there only over `visited` nodes is not counted as a choice. `None` if no link leads there.
fn walk(graph: &Graph, from: NodeId, to: NodeId, way: Way, visited: &mut [bool]) -> Option<(Vec<LinkId>, NodeId)> {
    let (mut links, mut node) = (Vec::new(), from);
    while node != to {
        visited[node as usize] = true;
        let mut steps = way.steps(graph, node);
        steps.retain(|&(_, next)| next == to || !visited[next as usize]);
        if steps.len() > 1 {
            let leading = leading(graph, to, way, visited);
            steps.retain(|&(_, next)| leading[next as usize]);
        }
        match steps[..] {
            [] => return None,
            [(link, next)] => {
                links.push(link);
                node = next;
            }
            _ => break,
        }
    }
    Some((links, node))
}

/// For each node: whether links lead from it to node `to` without the visited nodes.
fn leading(graph: &Graph, to: NodeId, way: Way, visited: &[bool]) -> Vec<bool> {
    let mut leading = vec![false; graph.nodes()];
    leading[to as usize] = true;
    let mut waiting = vec![to];
    while let Some(node) = waiting.pop() {
        for (_, before) in way.reversed().steps(graph, node) {
            if !leading[before as usize] && !visited[before as usize] {
                leading[before as usize] = true;
                waiting.push(before);
            }
        }
    }
    leading
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{Network, network, shared_by_all, simple_paths};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_host_shares_its_access_link_whatever_else_hangs_on_its_switch() {
        // Host 0 at switch 1, which has another host 2; switches 3 and 4 between; host 6 at switch 5.
        let cables = [(0, 1, 1), (1, 2, 1), (1, 3, 1), (1, 4, 1), (3, 5, 1), (4, 5, 1), (5, 6, 1)];
        let network = Network::undirected(7, &cables);
        let shared = SharedEnds::new(&network.graph, 0, 6).unwrap();
        assert_eq!(shared, SharedEnds { first: vec![0], branching: 1, meeting: 5, last: vec![12] });
        let whole = SharedEnds::new(&network.graph, 0, 2).unwrap();
        assert_eq!(whole, SharedEnds { first: vec![0, 2], branching: 2, meeting: 2, last: vec![] });
    }

    proptest! {
        /// The truth: a comparison of all paths.
        #[test]
        fn what_all_paths_begin_and_end_with(network in network(6, 12, 0..4)) {
            let paths = simple_paths(&network, 0, 1);
            let found = SharedEnds::new(&network.graph, 0, 1);
            prop_assert_eq!(found.is_some(), !paths.is_empty());
            if let Some(found) = found {
                let (first, last) = shared_by_all(&paths);
                let any = &paths[0].links;
                prop_assert_eq!(&found.first[..], &any[..first]);
                prop_assert_eq!(&found.last[..], &any[any.len() - last..]);
            }
        }
    }
}
