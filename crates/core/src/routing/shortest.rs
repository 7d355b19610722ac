//! Shortest paths to one destination (Dijkstra 1959).

use super::{Graph, PathWeight, Weight};
use crate::spec::{LinkId, NodeId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A path as its links. Paths are ordered by sum of the metric, hops, then link ids one by one; this order decides all ties.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path<W = Weight> {
    /// Weight of the path.
    pub weight: W,
    /// Links of the path from source to destination.
    pub links: Vec<LinkId>,
}

/// The shortest paths from every node to one destination, over the links that are up.
#[derive(Debug, Clone)]
pub struct ShortestTree<'a, W = Weight> {
    graph: &'a Graph,
    weights: &'a [W],
    /// The weight of a shortest path from each node; `None` where there is no path.
    pub distance: Vec<Option<W>>,
}

impl<'a, W: PathWeight> ShortestTree<'a, W> {
    /// Finds the shortest paths to `destination` with the weight of every link.
    pub fn new(graph: &'a Graph, weights: &'a [W], destination: NodeId) -> ShortestTree<'a, W> {
        ShortestTree::search(graph, weights, destination, None)
    }

    /// Like [`ShortestTree::new`], but stops when `source` is reached: nodes farther away may have a distance that is too great, or none.
    fn search(graph: &'a Graph, weights: &'a [W], destination: NodeId, source: Option<NodeId>) -> ShortestTree<'a, W> {
        let mut distance = vec![None; graph.nodes()];
        distance[destination as usize] = Some(W::IDENTITY);
        if weights.windows(2).all(|pair| pair[0] == pair[1]) {
            ShortestTree::search_by_hops(graph, weights, destination, source, &mut distance);
            return ShortestTree { graph, weights, distance };
        }
        let mut frontier = BinaryHeap::from([Reverse((W::IDENTITY, destination))]);
        while let Some(Reverse((weight, node))) = frontier.pop() {
            if Some(node) == source {
                break;
            }
            if distance[node as usize] != Some(weight) {
                continue; // reached on a shorter path since
            }
            for link in graph.in_links(node) {
                let previous = graph.link(link).src;
                let through = weight.extend(weights[link as usize]);
                let known = &mut distance[previous as usize];
                if known.is_none_or(|known| through < known) {
                    *known = Some(through);
                    frontier.push(Reverse((through, previous)));
                }
            }
        }
        ShortestTree { graph, weights, distance }
    }

    /// [`ShortestTree::search`] for equal weights: nodes are reached in the order of distance, so no heap is needed.
    fn search_by_hops(
        graph: &Graph,
        weights: &[W],
        destination: NodeId,
        source: Option<NodeId>,
        distance: &mut [Option<W>],
    ) {
        let mut is_reached = vec![false; graph.nodes()];
        is_reached[destination as usize] = true;
        let mut layer = vec![destination];
        let mut weight = W::IDENTITY;
        while !layer.is_empty() && source.is_none_or(|source| !is_reached[source as usize]) {
            let mut next = Vec::new();
            for node in layer.iter().flat_map(|node| graph.before(*node)) {
                if !std::mem::replace(&mut is_reached[node as usize], true) {
                    next.push(node);
                }
            }
            weight = weights.first().map_or(weight, |link| weight.extend(*link));
            next.iter().for_each(|node| distance[*node as usize] = Some(weight));
            layer = next;
        }
    }

    /// The first link of the shortest path from `node`; fewer hops, then the lowest link decide ties. `None` at the destination
    /// and where there is no path.
    pub fn next_hop(&self, node: NodeId) -> Option<LinkId> {
        let distance = self.distance[node as usize]?;
        let is_shortest = |&(link, end): &(LinkId, NodeId)| {
            self.distance[end as usize].is_some_and(|rest| self.weights[link as usize].extend(rest) == distance)
        };
        self.graph.leaving(node).find(is_shortest).map(|(link, _)| link)
    }

    /// All links at `node` that begin a shortest path, with any number of hops, by ascending id. Empty at the destination and where there is no path.
    /// Following any of them at any node never loops. Each leads to a smaller distance or, if its weight is zero, to an equal
    /// distance with fewer hops. For that reason, a link of weight zero that saves no hop is left out.
    pub fn equal_cost(&self, node: NodeId) -> Vec<LinkId> {
        self.equal_cost_links(node).collect()
    }

    /// The links of [`ShortestTree::equal_cost`].
    pub(super) fn equal_cost_links(&self, node: NodeId) -> impl Iterator<Item = LinkId> + '_ {
        let distance = self.distance[node as usize];
        let begins_shortest = move |&(link, end): &(LinkId, NodeId)| {
            let (Some(distance), Some(rest)) = (distance, self.distance[end as usize]) else { return false };
            rest < distance && self.weights[link as usize].extend(rest).ties(distance)
        };
        self.graph.leaving(node).filter(begins_shortest).map(|(link, _)| link)
    }

    /// The shortest path from `source`; fewer hops, then the lowest link ids decide ties. `None` where there is no path.
    pub fn path(&self, source: NodeId) -> Option<Path<W>> {
        let weight = self.distance[source as usize]?;
        let mut links = Vec::new();
        let mut node = source;
        while let Some(link) = self.next_hop(node) {
            links.push(link);
            node = self.graph.link(link).dst;
        }
        Some(Path { weight, links })
    }
}

/// The shortest paths from one source to every node, over links that all weigh the same. They are those of [`ShortestTree`].
#[derive(Debug, Clone)]
pub struct HopTree<'a> {
    graph: &'a Graph,
    source: NodeId,
    /// The last link of the path to each node.
    last: Vec<Option<LinkId>>,
}

impl<'a> HopTree<'a> {
    /// Finds the shortest paths from `source`. Nodes are reached in the order of their paths: by hops, then by link ids from the first one on. So the
    /// path on which a node is reached first decides ties as [`Path`] does.
    pub fn new(graph: &'a Graph, source: NodeId) -> HopTree<'a> {
        let mut last = vec![None; graph.nodes()];
        let mut reached = vec![source];
        let mut next = 0;
        while next < reached.len() {
            for (link, node) in graph.leaving(reached[next]) {
                if node != source && last[node as usize].is_none() {
                    last[node as usize] = Some(link);
                    reached.push(node);
                }
            }
            next += 1;
        }
        HopTree { graph, source, last }
    }

    /// The links to `destination`; `None` where there is no path.
    pub fn path(&self, destination: NodeId) -> Option<Vec<LinkId>> {
        let mut links = Vec::new();
        let mut node = destination;
        while node != self.source {
            let link = self.last[node as usize]?;
            links.push(link);
            node = self.graph.link(link).src;
        }
        links.reverse();
        Some(links)
    }
}

/// The one path of [`ShortestTree::path`], without exploring nodes farther away than its source.
pub fn shortest_path<W: PathWeight>(
    graph: &Graph,
    weights: &[W],
    source: NodeId,
    destination: NodeId,
) -> Option<Path<W>> {
    ShortestTree::search(graph, weights, destination, Some(source)).path(source)
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{Network, network, simple_paths};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn of_equally_long_paths_the_one_of_fewer_hops_and_then_of_lower_links_is_taken() {
        // 0 -> 4 costs 4 over node 1 (two hops, links 1 and 3), over node 2 (two hops, links 2 and 4), and over
        // nodes 3 and 1 (three hops, links 0, 5 and 3).
        let network = Network::new(5, &[(0, 3, 1), (0, 1, 3), (0, 2, 2), (1, 4, 1), (2, 4, 2), (3, 1, 2)]);
        let tree = ShortestTree::new(&network.graph, &network.weights, 4);
        assert_eq!(tree.path(0).unwrap().links, [1, 3]);
        assert_eq!(tree.path(0).unwrap().weight.value(), 4);
        assert_eq!(tree.next_hop(0), Some(1));
        assert_eq!(tree.equal_cost(0), [0, 1, 2]);
        assert_eq!((tree.next_hop(4), tree.equal_cost(4)), (None, vec![]));
    }

    #[test]
    fn parallel_links_of_equal_weight_are_equal_cost() {
        let network = Network::new(2, &[(0, 1, 5), (0, 1, 7), (0, 1, 5)]);
        assert_eq!(ShortestTree::new(&network.graph, &network.weights, 1).equal_cost(0), [0, 2]);
    }

    #[test]
    fn links_that_cost_nothing_make_no_loop() {
        // Both links between nodes 0 and 1 have weight zero, so each node is as near to node 2 through the other.
        let network = Network::new(3, &[(0, 1, 0), (1, 0, 0), (0, 2, 1), (1, 2, 1)]);
        let tree = ShortestTree::new(&network.graph, &network.weights, 2);
        assert_eq!((tree.equal_cost(0), tree.equal_cost(1)), (vec![2], vec![3]));
    }

    #[test]
    fn a_node_without_a_path_has_no_distance_and_no_hops() {
        let mut network = Network::new(3, &[(0, 1, 1), (1, 2, 1)]);
        network.graph.set_up(1, false);
        let tree = ShortestTree::new(&network.graph, &network.weights, 2);
        assert_eq!((tree.distance[0], tree.next_hop(0), tree.path(0)), (None, None, None));
        assert!(tree.equal_cost(0).is_empty());
        assert_eq!(shortest_path(&network.graph, &network.weights, 0, 2), None);
    }

    /// Distances by Bellman and Ford's method: relax every link as often as there are nodes.
    fn bellman_ford(network: &Network, destination: NodeId) -> Vec<Option<Weight>> {
        let mut distance = vec![None; network.graph.nodes()];
        distance[destination as usize] = Some(Weight::IDENTITY);
        for _ in 0..network.graph.nodes() {
            for (id, link) in network.graph.links().iter().enumerate() {
                let Some(rest) = distance[link.dst as usize].filter(|_| network.graph.is_up(id as LinkId)) else {
                    continue;
                };
                let through = network.weights[id].extend(rest);
                if distance[link.src as usize].is_none_or(|known| through < known) {
                    distance[link.src as usize] = Some(through);
                }
            }
        }
        distance
    }

    proptest! {
        #[test]
        fn distances_are_those_of_bellman_and_ford(network in prop_oneof![network(8, 24, 0..5), network(8, 24, 3..4)]) {
            for destination in 0..network.graph.nodes() as NodeId {
                let tree = ShortestTree::new(&network.graph, &network.weights, destination);
                prop_assert_eq!(&tree.distance, &bellman_ford(&network, destination));
            }
        }

        #[test]
        fn the_path_is_the_first_of_all_simple_paths(network in prop_oneof![network(6, 14, 0..3), network(6, 14, 2..3)]) {
            for source in 1..network.graph.nodes() as NodeId {
                let first = simple_paths(&network, source, 0).into_iter().min();
                prop_assert_eq!(&ShortestTree::new(&network.graph, &network.weights, 0).path(source), &first);
                prop_assert_eq!(&shortest_path(&network.graph, &network.weights, source, 0), &first);
            }
        }

        #[test]
        fn equal_cost_links_are_the_first_links_of_all_shortest_paths(network in network(6, 14, 1..4)) {
            let tree = ShortestTree::new(&network.graph, &network.weights, 0);
            for source in 1..network.graph.nodes() as NodeId {
                let paths = simple_paths(&network, source, 0);
                let least = paths.iter().map(|path| path.weight.value()).min();
                let mut expected: Vec<LinkId> =
                    paths.iter().filter(|path| Some(path.weight.value()) == least).map(|path| path.links[0]).collect();
                expected.sort_unstable();
                expected.dedup();
                prop_assert_eq!(tree.equal_cost(source), expected);
            }
        }

        #[test]
        fn any_equal_cost_links_lead_to_the_destination_at_least_cost(network in network(6, 14, 0..2), choice: u64) {
            let tree = ShortestTree::new(&network.graph, &network.weights, 0);
            for source in 1..network.graph.nodes() as NodeId {
                let Some(distance) = tree.distance[source as usize] else { continue };
                prop_assert!(tree.equal_cost(source).contains(&tree.next_hop(source).unwrap()));
                let (mut node, mut walked, mut choice) = (source, Weight::IDENTITY, choice);
                while node != 0 {
                    let links = tree.equal_cost(node);
                    let link = links[(choice % links.len() as u64) as usize];
                    choice = choice.rotate_left(7) ^ 1;
                    walked = walked.extend(network.weights[link as usize]);
                    node = network.graph.link(link).dst;
                    prop_assert!(walked.hops() as usize <= network.graph.nodes(), "a loop");
                }
                prop_assert_eq!(walked.value(), distance.value());
            }
        }
    }
}
