//! Loopless paths, the best first, one after the other (Yen 1971, with Lawler's 1972 restriction).
//!
//! Every path but the first leaves an earlier one at some node. When a path is given out, the best paths that leave it at
//! each of its nodes become candidates: the links before that node are kept, their nodes barred, and so are the links that
//! earlier paths took from there. A path that itself left another at its i-th node needs this from its i-th node on only
//! (Lawler), so no candidate is found twice.
//!
//! Most candidates are never given out. So each is only a bound at first, below which no path that leaves there can weigh, and
//! its path is searched for when no other candidate's bound or path is less.

use super::{Graph, Path, PathWeight};
use crate::spec::{LinkId, NodeId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Finds the way on to one destination from wherever a path leaves an earlier one.
pub trait Onward {
    /// What paths weigh.
    type Weight: PathWeight;

    /// The weight of a link.
    fn link_weight(&self, link: LinkId) -> Self::Weight;

    /// No path that has come to a node with this weight weighs less at the destination; `None` if none leads there.
    fn at_least(&self, so_far: Self::Weight, node: NodeId) -> Option<Self::Weight>;

    /// The links from a node on of the best path that has come to it with this weight, if there is a way past what is barred.
    fn best(&mut self, so_far: Self::Weight, node: NodeId, barred: &Barred) -> Option<Vec<LinkId>>;
}

/// Where a path may not go on.
#[derive(Debug, Clone)]
pub struct Barred {
    /// By node: whether the path has visited it, its last node included.
    pub nodes: Vec<bool>,
    /// Links from its last node.
    pub links: Vec<LinkId>,
}

/// The loopless paths from one node to another by ascending [`Path`] order. Each is searched for when it is asked for.
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

/// In the order of [`Path`]; of a bound and a path of the same weight, the bound comes first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate<W> {
    weight: W,
    /// `None` while only the bound is known.
    links: Option<Vec<LinkId>>,
    /// The given path that it leaves.
    leaves: usize,
    /// How many links it shares with that.
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

    /// Adds what is known of the best paths that leave the path given out last at each of its nodes.
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
                    // Given paths that begin with these links take at least one more: they have not arrived yet.
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
                // Where wider links lie ahead or behind, hops do not decide in order.
                prop_assert!(found.windows(2).all(|pair| pair[0].weight.ties(pair[1].weight) || pair[0] < pair[1]));
                expected.sort();
                found.sort();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
