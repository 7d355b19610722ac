//! Paths that share no node but their ends, of least total weight.
//!
//! Every node becomes two, one where links arrive and one where they leave, joined by one link of weight zero. Paths that share no
//! link in this graph share no node in the original. A path starts where its source's links leave, and ends where its
//! destination's links arrive. So a link from source to destination is a path by itself.

use super::{Graph, Link, Path, Weight, disjoint_paths};
use crate::spec::{LinkId, NodeId};
use crate::units::{Duration, Rate};

/// A graph with every node split in two, for any number of searches.
#[derive(Debug, Clone)]
pub struct NodeDisjoint {
    /// The links of the graph by their ids, then one for each node. Node `n` is where links arrive, `nodes + n` where they leave.
    split: Graph,
    weights: Vec<Weight>,
    nodes: NodeId,
    links: LinkId,
}

impl NodeDisjoint {
    /// Splits the nodes of a graph with the weight of every link.
    pub fn new(graph: &Graph, weights: &[Weight]) -> NodeDisjoint {
        let (nodes, links) = (graph.nodes() as NodeId, graph.links().len() as LinkId);
        let between = graph.links().iter().map(|link| Link { src: nodes + link.src, ..*link });
        let within = (0..nodes).map(|node| Link {
            src: node,
            dst: nodes + node,
            rate: Rate(u64::MAX),
            delay: Duration(0),
            cost: 0.0,
            loss: 0.0,
        });
        let mut split =
            Graph::new(2 * nodes as usize, between.chain(within).collect()).expect("the links of a graph stay links");
        (0..links).for_each(|link| split.set_up(link, graph.is_up(link)));
        let weights = weights.iter().copied().chain(vec![Weight(0); nodes as usize]).collect();
        NodeDisjoint { split, weights, nodes, links }
    }

    /// Up to `most` paths from `source` to `destination` over links that are up, which share no link and no node in between,
    /// shortest first. Their number is the greatest possible, and their total weight the least for this number; hops decide between
    /// equal sums. As in [`disjoint_paths`], they share the links at the ends that every path must take.
    pub fn paths(&self, source: NodeId, destination: NodeId, most: usize) -> Vec<Path> {
        let mut paths = disjoint_paths(&self.split, &self.weights, self.nodes + source, destination, most);
        paths.iter_mut().for_each(|path| path.links.retain(|&link| link < self.links));
        paths.sort_unstable();
        paths
    }
}

#[cfg(test)]
mod tests {
    use super::super::PathWeight;
    use super::super::test_support::{Network, network, shared_by_all, simple_paths};
    use super::*;
    use proptest::prelude::*;

    fn paths(network: &Network, destination: NodeId, most: usize) -> Vec<Path> {
        NodeDisjoint::new(&network.graph, &network.weights).paths(0, destination, most)
    }

    fn links(network: &Network, destination: NodeId, most: usize) -> Vec<Vec<LinkId>> {
        paths(network, destination, most).into_iter().map(|path| path.links).collect()
    }

    #[test]
    fn paths_that_meet_at_a_node_share_no_link_but_do_not_serve() {
        // 0 1 3 4 6 and 0 2 3 5 6 share node 3; 0 6 is a long detour.
        let network = Network::new(
            7,
            &[(0, 1, 1), (0, 2, 1), (1, 3, 1), (2, 3, 1), (3, 4, 1), (3, 5, 1), (4, 6, 1), (5, 6, 2), (0, 6, 9)],
        );
        assert_eq!(disjoint_paths(&network.graph, &network.weights, 0, 6, 3).len(), 3);
        assert_eq!(links(&network, 6, 3), [vec![0, 2, 4, 6], vec![8]]);
    }

    #[test]
    fn the_shortest_path_is_given_up_where_it_stands_in_the_way() {
        // As for disjoint links: the shortest path 0 1 2 3 blocks every other path.
        let network = Network::new(4, &[(0, 1, 1), (1, 2, 1), (2, 3, 1), (0, 2, 4), (1, 3, 4)]);
        assert_eq!(links(&network, 3, 1), [vec![0, 1, 2]]);
        assert_eq!(links(&network, 3, 2), [vec![0, 4], vec![3, 2]]);
    }

    #[test]
    fn direct_links_are_paths_each_by_itself() {
        let network = Network::new(3, &[(0, 2, 3), (0, 1, 1), (1, 2, 1), (0, 2, 5), (1, 2, 1)]);
        assert_eq!(links(&network, 2, 9), [vec![1, 2], vec![0], vec![3]]);
    }

    /// The links and nodes of a path between its shared ends. Nodes and links have different numbers.
    fn occupied(network: &Network, path: &Path, (first, last): (usize, usize)) -> Vec<u32> {
        let links = &path.links[first..path.links.len() - last];
        let inner = links.iter().skip(1).map(|&link| LinkId::MAX - network.graph.link(link).src);
        links.iter().copied().chain(inner).collect()
    }

    /// The least total weight of `count` paths that share nothing between their ends, by trying all sets.
    fn least_total(paths: &[(Weight, Vec<u32>)], count: usize, taken: &[u32]) -> Option<Weight> {
        if count == 0 {
            return Some(Weight::IDENTITY);
        }
        let totals = paths.iter().enumerate().filter_map(|(index, (weight, occupied))| {
            if occupied.iter().any(|item| taken.contains(item)) {
                return None;
            }
            let rest = least_total(&paths[index + 1..], count - 1, &[taken, occupied].concat())?;
            Some(weight.extend(rest))
        });
        totals.min()
    }

    proptest! {
        #[test]
        fn as_many_as_there_are_disjoint_and_of_least_weight(network in network(7, 18, 0..6), most in 1..5_usize) {
            let found = paths(&network, 1, most);
            let all = simple_paths(&network, 0, 1);
            let ends = shared_by_all(&all);
            prop_assert!(found.iter().all(|path| all.contains(path)), "a path that is none, or its weight wrong");
            let mut shared: Vec<u32> = found.iter().flat_map(|path| occupied(&network, path, ends)).collect();
            shared.sort_unstable();
            prop_assert!(shared.is_sorted_by(|a, b| a < b), "a link or a node used twice");
            prop_assert!(found.is_sorted());

            let total = found.iter().fold(Weight::IDENTITY, |sum, path| sum.extend(path.weight));
            let all: Vec<_> = all.iter().map(|path| (path.weight, occupied(&network, path, ends))).collect();
            prop_assert_eq!(Some(total), least_total(&all, found.len(), &[]));
            prop_assert!(found.len() == most || least_total(&all, found.len() + 1, &[]).is_none(), "there are more");
        }
    }
}
