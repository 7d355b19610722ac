//! Loopless paths, the best first, one after the other (Yen 1971, with Lawler's 1972 restriction).
//!
//! Every path except the first leaves an earlier path at some node. When a path is returned, the best paths that leave it at each of
//! its nodes become candidates. A candidate keeps the links before that node. The nodes of these links are barred. The links that
//! earlier paths took from the node are barred too. A path that left another path at its i-th node needs this only from its i-th
//! node on (Lawler), so no candidate is found twice.
//!
//! Most candidates are never returned. So a candidate starts as a lower bound of its path's weight. The search for its path runs
//! when no other candidate has a smaller bound or path.

use super::{Graph, Path, PathWeight};
use crate::spec::{LinkId, NodeId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Finds the continuation of a path to one destination, from a node where it leaves an earlier path.
pub trait Onward {
    /// The weight of a path.
    type Weight: PathWeight;

    /// The weight of a link.
    fn link_weight(&self, link: LinkId) -> Self::Weight;

    /// A lower bound of the weight at the destination, for paths with this weight at a node; `None` if no path leads there.
    fn at_least(&self, so_far: Self::Weight, node: NodeId) -> Option<Self::Weight>;

    /// The links from a node on of the best path with this weight there; `None` if all paths are barred.
    fn best(&mut self, so_far: Self::Weight, node: NodeId, barred: &Barred) -> Option<Vec<LinkId>>;
}

/// Nodes and links that the continuation of a path must avoid.
#[derive(Debug, Clone)]
pub struct Barred {
    /// For each node: whether the path has visited it, its last node included.
    pub nodes: Vec<bool>,
    /// Links from its last node.
    pub links: Vec<LinkId>,
}

/// The loopless paths from one node to another by ascending [`Path`] order, each searched for on demand.
///
/// Paths over different parallel links are different paths.
#[derive(Debug, Clone)]
pub struct LooplessPaths<'a, S: Onward> {
    graph: &'a Graph,
    onward: S,
    source: NodeId,
    given: Vec<Given<S::Weight>>,
    candidates: BinaryHeap<Reverse<Candidate<S::Weight>>>,
    barred: Barred,
}

#[derive(Debug, Clone)]
struct Given<W> {
    path: Path<W>,
    /// How many links it shares with the path that it leaves.
    shared: usize,
}

/// In the order of [`Path`]; a bound comes before a path of the same weight.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate<W> {
    weight: W,
    /// `None` while only the bound is known.
    links: Option<Vec<LinkId>>,
    /// The returned path that it leaves.
    leaves: usize,
    /// How many links it shares with this path.
    shared: usize,
}

impl<'a, S: Onward> LooplessPaths<'a, S> {
    /// The paths from `source` over the links that are up.
    pub fn new(graph: &'a Graph, onward: S, source: NodeId) -> LooplessPaths<'a, S> {
        let bound = onward.at_least(S::Weight::IDENTITY, source);
        let first = bound.map(|weight| Reverse(Candidate { weight, links: None, leaves: 0, shared: 0 }));
        let barred = Barred { nodes: vec![false; graph.nodes()], links: Vec::new() };
        LooplessPaths { graph, onward, source, given: Vec::new(), candidates: first.into_iter().collect(), barred }
    }

    /// Adds the candidates that leave the path returned last, one for each of its nodes.
    fn add_branches_of_last(&mut self) {
        let Some(last) = self.given.last() else { return };
        let mut alike: Vec<&[LinkId]> = self.given.iter().map(|given| given.path.links.as_slice()).collect();
        let mut node = self.source;
        let mut so_far = S::Weight::IDENTITY;
        for (shared, &link) in last.path.links.iter().enumerate() {
            self.barred.nodes[node as usize] = true;
            if shared >= last.shared {
                let through = |branch: LinkId| {
                    let next = self.graph.link(branch).dst;
                    // A returned path that begins with these links has at least one more, because they do not reach the destination.
                    let open = !self.barred.nodes[next as usize] && alike.iter().all(|links| links[shared] != branch);
                    if open { self.onward.at_least(so_far.extend(self.onward.link_weight(branch)), next) } else { None }
                };
                if let Some(weight) = self.graph.out_links(node).filter_map(through).min() {
                    let leaves = self.given.len() - 1;
                    self.candidates.push(Reverse(Candidate { weight, links: None, leaves, shared }));
                }
            }
            alike.retain(|links| links[shared] == link);
            so_far = so_far.extend(self.onward.link_weight(link));
            node = self.graph.link(link).dst;
        }
        for &link in &last.path.links {
            self.barred.nodes[self.graph.link(link).src as usize] = false;
        }
    }

    /// Finds the path of a candidate.
    fn search(&mut self, Candidate { leaves, shared, .. }: Candidate<S::Weight>) {
        let mut links = self.given.get(leaves).map_or(Vec::new(), |given| given.path.links[..shared].to_vec());
        let alike = self.given.iter().filter(|given| given.path.links.starts_with(&links));
        self.barred.links.clear();
        self.barred.links.extend(alike.map(|given| given.path.links[shared]));
        let mut node = self.source;
        let mut weight = S::Weight::IDENTITY;
        self.barred.nodes[node as usize] = true;
        for &link in &links {
            weight = weight.extend(self.onward.link_weight(link));
            node = self.graph.link(link).dst;
            self.barred.nodes[node as usize] = true;
        }
        let rest = self.onward.best(weight, node, &self.barred);
        self.barred.nodes[node as usize] = false;
        for &link in &links {
            self.barred.nodes[self.graph.link(link).src as usize] = false;
        }
        if let Some(rest) = rest {
            weight = rest.iter().fold(weight, |weight, &link| weight.extend(self.onward.link_weight(link)));
            links.extend(rest);
            self.candidates.push(Reverse(Candidate { weight, links: Some(links), leaves, shared }));
        }
    }
}

impl<S: Onward> Iterator for LooplessPaths<'_, S> {
    type Item = Path<S::Weight>;

    fn next(&mut self) -> Option<Path<S::Weight>> {
        self.add_branches_of_last();
        loop {
            let Reverse(mut next) = self.candidates.pop()?;
            match next.links.take() {
                None => self.search(next),
                Some(links) => {
                    let path = Path { weight: next.weight, links };
                    self.given.push(Given { path: path.clone(), shared: next.shared });
                    return Some(path);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{Network, link, network, simple_paths};
    use super::super::{lexicographic_weights, shortest_paths};
    use super::*;
    use crate::spec::{LinkSpec, Metric};
    use crate::units::Rate;
    use proptest::prelude::*;

    /// The customary example of Yen's method: nodes C, D, E, F, G, H are 0 to 5.
    #[test]
    fn customary_example() {
        let network = Network::new(
            6,
            &[(0, 1, 3), (0, 2, 2), (1, 3, 4), (2, 1, 1), (2, 3, 2), (2, 4, 3), (3, 4, 2), (3, 5, 1), (4, 5, 2)],
        );
        let paths: Vec<Path> = shortest_paths(&network.graph, &network.weights, 0, 5).collect();
        let lengths: Vec<u128> = paths.iter().map(|path| path.weight.value()).collect();
        assert_eq!(lengths, [5, 7, 8, 8, 8, 11, 11]);
        assert_eq!(paths[0].links, [1, 4, 7]); // C E F H
        assert_eq!(paths[1].links, [1, 5, 8]); // C E G H
        assert_eq!(paths[2].links, [0, 2, 7]); // C D F H, of three paths of length 8 the one of fewest hops
        assert_eq!(paths[3].links, [1, 3, 2, 7]); // C E D F H
        assert_eq!(paths[4].links, [1, 4, 6, 8]); // C E F G H
    }

    #[test]
    fn parallel_links_make_different_paths() {
        let network = Network::new(3, &[(0, 1, 1), (0, 1, 1), (1, 2, 1)]);
        let paths: Vec<_> = shortest_paths(&network.graph, &network.weights, 0, 2).map(|path| path.links).collect();
        assert_eq!(paths, [vec![0, 2], vec![1, 2]]);
    }

    #[test]
    fn no_path_means_none_at_all() {
        let network = Network::new(3, &[(0, 1, 1)]);
        assert_eq!(shortest_paths(&network.graph, &network.weights, 0, 2).next(), None);
    }

    proptest! {
        #[test]
        fn all_simple_paths_in_order(network in network(6, 14, 0..4)) {
            let mut expected = simple_paths(&network, 0, 1);
            expected.sort();
            let found: Vec<Path> = shortest_paths(&network.graph, &network.weights, 0, 1).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn all_simple_paths_in_order_by_bottleneck(ends in prop::collection::vec((0..5_u32, 0..5_u32, 1..5_u64), 0..16)) {
            let wide = |&(src, dst, rate): &(NodeId, NodeId, u64)| LinkSpec { rate: Rate(rate), ..link(src, dst) };
            let graph = Graph::of_specs(5, &ends.iter().map(wide).collect::<Vec<_>>()).unwrap();
            for metrics in [&[Metric::Widest][..], &[Metric::Delay, Metric::Widest]] {
                let network = Network { weights: lexicographic_weights(&graph, metrics).unwrap(), graph: graph.clone() };
                let mut expected = simple_paths(&network, 0, 1);
                let mut found: Vec<Path<_>> = shortest_paths(&network.graph, &network.weights, 0, 1).collect();
                // With `widest`, hops do not decide ties link by link.
                prop_assert!(found.windows(2).all(|pair| pair[0].weight.ties(pair[1].weight) || pair[0] < pair[1]));
                expected.sort();
                found.sort();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
