//! Link-disjoint paths of least total weight (Suurballe 1974, Suurballe and Tarjan 1984; for any number of paths).
//!
//! Paths are a flow of one unit per link. Each round sends one unit more at the least cost in the residual graph, where the reverse
//! of a used link has its negative weight. Weights reduced by potentials (the distances found so far) are never negative, so
//! Dijkstra's method serves each round. At the end, the links in use are divided into paths. These may differ from the paths of the
//! rounds, where a round removed a link from use.
//!
//! A host with one access link would have one path. So the search is between the first and the last node with a choice. All
//! paths share the links before and after them.

use super::shared_ends::SharedEnds;
use super::{Graph, Path, PathWeight, Weight, shortest_path};
use crate::spec::{LinkId, NodeId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Up to `most` link-disjoint paths from `source` to `destination` over links that are up, shortest first. Their number is the
/// greatest possible, and their total weight the least for this number; hops decide between equal sums. They share the links at the
/// ends that every path must take ([`SharedEnds`]).
///
/// The two directions of a cable are two links. If both have the same weight, no two paths use a cable in opposite directions:
/// exchanging their ends would save both links.
pub fn disjoint_paths(
    graph: &Graph,
    weights: &[Weight],
    source: NodeId,
    destination: NodeId,
    most: usize,
) -> Vec<Path> {
    let Some(SharedEnds { first, branching, meeting, last }) = SharedEnds::new(graph, source, destination) else {
        return Vec::new();
    };
    let mut paths = if branching == meeting {
        vec![Path { weight: Weight::IDENTITY, links: Vec::new() }; most.min(1)]
    } else {
        disjoint_throughout(graph, weights, branching, meeting, most)
    };
    let ends = first.iter().chain(&last).fold(Weight::IDENTITY, |sum, &link| sum.extend(weights[link as usize]));
    for path in &mut paths {
        path.weight = path.weight.extend(ends);
        path.links = [&first[..], &path.links, &last].concat();
    }
    paths
}

fn disjoint_throughout(
    graph: &Graph,
    weights: &[Weight],
    source: NodeId,
    destination: NodeId,
    most: usize,
) -> Vec<Path> {
    let mut flow = Flow { graph, weights, used: vec![false; graph.links().len()], potential: vec![0; graph.nodes()] };
    let count = (0..most).take_while(|_| flow.augment(source, destination)).count();
    decompose(graph, weights, flow.used, source, destination, count)
}

/// Links in use, and node potentials under which no residual link has a negative reduced weight.
struct Flow<'a> {
    graph: &'a Graph,
    weights: &'a [Weight],
    used: Vec<bool>,
    potential: Vec<u128>,
}

impl Flow<'_> {
    /// Sends one unit more at the least additional weight; `false` if there is no augmenting path.
    fn augment(&mut self, source: NodeId, destination: NodeId) -> bool {
        let ResidualTree { distance, reached_by } = self.search(source);
        if distance[destination as usize].is_none() {
            return false;
        }
        let mut node = destination;
        while node != source {
            let link = reached_by[node as usize];
            let used = &mut self.used[link as usize];
            node = if *used { self.graph.link(link).dst } else { self.graph.link(link).src };
            *used = !*used;
        }
        // A node that was not reached is never reached later: new residual links join nodes that were.
        for (potential, distance) in self.potential.iter_mut().zip(distance) {
            *potential += distance.unwrap_or(0);
        }
        true
    }

    /// Reduced distances from `source` in the residual graph.
    fn search(&self, source: NodeId) -> ResidualTree {
        let mut distance = vec![None; self.graph.nodes()];
        let mut reached_by = vec![LinkId::MAX; self.graph.nodes()];
        distance[source as usize] = Some(0);
        let mut frontier = BinaryHeap::from([Reverse((0, source))]);
        while let Some(Reverse((weight, node))) = frontier.pop() {
            if distance[node as usize] != Some(weight) {
                continue; // reached on a shorter path since
            }
            for (link, next, reduced) in self.residual_links(node) {
                let through = weight + reduced;
                let known = &mut distance[next as usize];
                if known.is_none_or(|known| through < known) {
                    *known = Some(through);
                    reached_by[next as usize] = link;
                    frontier.push(Reverse((through, next)));
                }
            }
        }
        ResidualTree { distance, reached_by }
    }

    /// The residual links at `node`: unused ones forwards and used ones backwards, each with the node it leads to and
    /// its reduced weight.
    fn residual_links(&self, node: NodeId) -> impl Iterator<Item = (LinkId, NodeId, u128)> + '_ {
        let here = self.potential[node as usize];
        let unused = self.graph.out_links(node).filter(|&link| !self.used[link as usize]).map(move |link| {
            let next = self.graph.link(link).dst;
            (link, next, here + self.weights[link as usize].0 - self.potential[next as usize])
        });
        let used = self.graph.in_links(node).filter(|&link| self.used[link as usize]).map(move |link| {
            let next = self.graph.link(link).src;
            (link, next, here - self.weights[link as usize].0 - self.potential[next as usize])
        });
        unused.chain(used)
    }
}

/// The shortest paths from a source through the residual graph.
struct ResidualTree {
    distance: Vec<Option<u128>>,
    /// The link by which a node was reached, forwards if it is unused, backwards if it is used.
    reached_by: Vec<LinkId>,
}

/// Divides the links in use into `count` paths, shortest first. No link remains: every link has a positive weight, hops included,
/// so a flow of least weight has no cycle.
fn decompose(
    graph: &Graph,
    weights: &[Weight],
    used: Vec<bool>,
    source: NodeId,
    destination: NodeId,
    count: usize,
) -> Vec<Path> {
    let mut in_use = graph.clone();
    for (link, used) in used.into_iter().enumerate() {
        in_use.set_up(link as LinkId, used);
    }
    let take_shortest = || {
        let path = shortest_path(&in_use, weights, source, destination)?;
        path.links.iter().for_each(|&link| in_use.set_up(link, false));
        Some(path)
    };
    std::iter::from_fn(take_shortest).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{Network, network, shared_by_all, simple_paths};
    use super::*;
    use proptest::prelude::*;

    fn links(network: &Network, destination: NodeId, most: usize) -> Vec<Vec<LinkId>> {
        let paths = disjoint_paths(&network.graph, &network.weights, 0, destination, most);
        paths.into_iter().map(|path| path.links).collect()
    }

    #[test]
    fn the_shortest_path_is_given_up_where_it_stands_in_the_way() {
        // The shortest path 0 1 2 3 (length 3) blocks every other path; 0 1 3 and 0 2 3 are disjoint.
        let network = Network::new(4, &[(0, 1, 1), (1, 2, 1), (2, 3, 1), (0, 2, 4), (1, 3, 4)]);
        assert_eq!(links(&network, 3, 1), [vec![0, 1, 2]]);
        assert_eq!(links(&network, 3, 2), [vec![0, 4], vec![3, 2]]);
        assert_eq!(links(&network, 3, 9), links(&network, 3, 2));
    }

    /// The customary example of Suurballe's method: nodes A to F are 0 to 5, cables go both ways.
    #[test]
    fn customary_example() {
        let cables = [(0, 1, 1), (0, 2, 2), (1, 3, 1), (2, 3, 2), (1, 4, 2), (3, 5, 1), (4, 5, 2)];
        let network = Network::undirected(6, &cables);
        let paths = disjoint_paths(&network.graph, &network.weights, 0, 5, 2);
        assert_eq!(paths.iter().map(|path| path.weight.value()).collect::<Vec<_>>(), [5, 5]);
        assert_eq!(paths[0].links, [0, 8, 12]); // A B E F
        assert_eq!(paths[1].links, [2, 6, 10]); // A C D F
    }

    #[test]
    fn hosts_with_one_access_link_have_as_many_paths_as_their_switches() {
        // Hosts 0 and 5 at switches 1 and 4; 2 and 3 between.
        let network = Network::new(6, &[(0, 1, 1), (1, 2, 1), (1, 3, 1), (2, 4, 1), (3, 4, 2), (4, 5, 1)]);
        assert_eq!(links(&network, 5, 2), [vec![0, 1, 3, 5], vec![0, 2, 4, 5]]);
        assert_eq!(links(&network, 1, 2), [vec![0]]);
    }

    #[test]
    fn no_path_and_no_paths_wanted_give_none() {
        let network = Network::new(3, &[(0, 1, 1)]);
        assert!(links(&network, 2, 2).is_empty());
        assert!(links(&network, 1, 0).is_empty());
    }

    /// The least total weight of `count` paths that share no link, by trying all sets.
    fn least_total(paths: &[Path], count: usize, taken: &[LinkId]) -> Option<Weight> {
        if count == 0 {
            return Some(Weight::IDENTITY);
        }
        let totals = paths.iter().enumerate().filter_map(|(index, path)| {
            if path.links.iter().any(|link| taken.contains(link)) {
                return None;
            }
            let rest = least_total(&paths[index + 1..], count - 1, &[taken, &path.links].concat())?;
            Some(path.weight.extend(rest))
        });
        totals.min()
    }

    proptest! {
        #[test]
        fn as_many_as_there_are_disjoint_and_of_least_weight(network in network(6, 14, 0..6), most in 1..5_usize) {
            let found = disjoint_paths(&network.graph, &network.weights, 0, 1, most);
            let mut all = simple_paths(&network, 0, 1);
            prop_assert!(found.iter().all(|path| all.contains(path)), "a path that is none, or its weight wrong");
            let (first, last) = shared_by_all(&all);
            let between = |path: &Path| path.links[first..path.links.len() - last].to_vec();
            let mut links: Vec<LinkId> = found.iter().flat_map(between).collect();
            links.sort_unstable();
            prop_assert!(links.is_sorted_by(|a, b| a < b), "a link used twice");
            prop_assert!(found.is_sorted());

            let total = found.iter().fold(Weight::IDENTITY, |sum, path| sum.extend(path.weight));
            all.iter_mut().for_each(|path| path.links = between(path));
            prop_assert_eq!(Some(total), least_total(&all, found.len(), &[]));
            prop_assert!(found.len() == most || least_total(&all, found.len() + 1, &[]).is_none(), "there are more");
        }

        #[test]
        fn a_cable_is_not_used_in_both_directions(
            cables in prop::collection::vec((0..6_u32, 0..6_u32, 0..6_u64), 0..12),
        ) {
            let network = Network::undirected(6, &cables);
            let used = links(&network, 1, 4).concat();
            prop_assert!(used.iter().all(|link| !used.contains(&(link ^ 1))));
        }
    }
}
