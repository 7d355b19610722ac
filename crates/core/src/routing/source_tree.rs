//! Paths from one source to every node, each node reached by one link.

use super::{Graph, PathWeight};
use crate::spec::{LinkId, NodeId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The initial capacity of a path, which suffices in most networks.
pub(super) const USUAL_HOPS: usize = 16;

/// A tree of paths from a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceTree {
    /// Root of the tree.
    pub source: NodeId,
    /// The last link on the path to each node; [`LinkId::MAX`] at the source and where there is no path.
    pub reached_by: Vec<LinkId>,
}

impl SourceTree {
    /// The shortest paths from a source by an isotone metric, the same as those of
    /// [`ShortestTree::path`](super::ShortestTree::path), ties included.
    pub fn shortest<W: PathWeight>(graph: &Graph, weights: &[W], source: NodeId) -> SourceTree {
        let mut tree = SourceTree { source, reached_by: vec![LinkId::MAX; graph.nodes()] };
        let mut distance = vec![None; graph.nodes()];
        distance[source as usize] = Some(W::IDENTITY);
        let mut frontier = BinaryHeap::from([Reverse((W::IDENTITY, source))]);
        while let Some(Reverse((weight, node))) = frontier.pop() {
            if distance[node as usize] != Some(weight) {
                continue; // reached on a shorter path since
            }
            for link in graph.out_links(node) {
                let next = graph.link(link).dst;
                let through = weight.extend(weights[link as usize]);
                let known = &mut distance[next as usize];
                if known.is_none_or(|known| through < known) {
                    *known = Some(through);
                    tree.reached_by[next as usize] = link;
                    frontier.push(Reverse((through, next)));
                } else if *known == Some(through) && tree.comes_first(graph, link, tree.reached_by[next as usize]) {
                    tree.reached_by[next as usize] = link;
                }
            }
        }
        tree
    }

    /// Whether, of two equally long paths that end with these links, the path with `link` has the lower link where they first
    /// differ.
    pub(super) fn comes_first(&self, graph: &Graph, link: LinkId, other: LinkId) -> bool {
        let (mut one, mut two) = (link, other);
        let (mut lower_one, mut lower_two) = (one, two);
        while one != two {
            (lower_one, lower_two) = (one, two);
            let (before_one, before_two) = (graph.link(one).src, graph.link(two).src);
            if before_one == before_two {
                break;
            }
            (one, two) = (self.reached_by[before_one as usize], self.reached_by[before_two as usize]);
            if one == LinkId::MAX || two == LinkId::MAX {
                break; // one of them has fewer links: only ties that hops do not break
            }
        }
        lower_one < lower_two
    }

    /// The links of the path to a node; `None` if there is no path. The path to the source has none.
    pub fn path(&self, graph: &Graph, node: NodeId) -> Option<Vec<LinkId>> {
        let mut links = Vec::with_capacity(USUAL_HOPS);
        let mut at = node;
        while at != self.source {
            let link = self.reached_by[at as usize];
            if link == LinkId::MAX {
                return None;
            }
            links.push(link);
            at = graph.link(link).src;
        }
        links.reverse();
        Some(links)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ShortestTree;
    use super::super::test_support::network;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn paths_are_those_of_the_tree_towards_each_destination(network in network(8, 26, 0..4)) {
            let tree = SourceTree::shortest(&network.graph, &network.weights, 0);
            for node in 1..network.graph.nodes() as NodeId {
                let expected = ShortestTree::new(&network.graph, &network.weights, node).path(0);
                prop_assert_eq!(tree.path(&network.graph, node), expected.map(|path| path.links));
            }
        }
    }
}
