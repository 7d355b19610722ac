//! The K shortest loopless paths, one after the other (Yen 1971, with Lawler's 1972 restriction).
//!
//! Every path but the first leaves an earlier one at some node. When a path is given out, the best paths that leave it at
//! each of its nodes become candidates: the links before that node are kept, their nodes closed, and the links that
//! earlier paths took from there excluded. A path that itself left another at its i-th node needs this from its i-th node
//! on only (Lawler), so no candidate is found twice.

use super::{Graph, Path, PathWeight, Weight, shortest_path};
use crate::spec::{LinkId, NodeId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The loopless paths from one node to another by ascending [`Path`] order. Each is computed when it is asked for.
///
/// Paths over different parallel links are different paths.
#[derive(Debug, Clone)]
pub struct ShortestPaths<'a, W = Weight> {
    /// A copy: links are taken down in it for the length of a search.
    graph: Graph,
    weights: &'a [W],
    source: NodeId,
    destination: NodeId,
    given: Vec<Candidate<W>>,
    candidates: BinaryHeap<Reverse<Candidate<W>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate<W> {
    path: Path<W>,
    /// How many links it shares with the path that it leaves.
    shared: usize,
}

/// The loopless paths from `source` to `destination` over the links that are up, shortest first.
pub fn shortest_paths<'a, W: PathWeight>(
    graph: &Graph,
    weights: &'a [W],
    source: NodeId,
    destination: NodeId,
) -> ShortestPaths<'a, W> {
    let first = shortest_path(graph, weights, source, destination);
    let candidates = first.map(|path| Reverse(Candidate { path, shared: 0 })).into_iter().collect();
    ShortestPaths { graph: graph.clone(), weights, source, destination, given: Vec::new(), candidates }
}

impl<W: PathWeight> Iterator for ShortestPaths<'_, W> {
    type Item = Path<W>;

    fn next(&mut self) -> Option<Path<W>> {
        self.add_branches_of_last();
        let Reverse(next) = self.candidates.pop()?;
        let path = next.path.clone();
        self.given.push(next);
        Some(path)
    }
}

impl<W: PathWeight> ShortestPaths<'_, W> {
    /// Adds the best paths that leave the path given out last at each of its nodes.
    fn add_branches_of_last(&mut self) {
        let Some(last) = self.given.last() else { return };
        let root = &last.path.links;
        let mut alike: Vec<&[LinkId]> = self.given.iter().map(|given| given.path.links.as_slice()).collect();
        let mut closed = Vec::new();
        let mut node = self.source;
        let mut weight = W::IDENTITY;
        for (shared, &link) in root.iter().enumerate() {
            if shared >= last.shared {
                // Given paths that begin with these links take at least one more: they have not arrived yet.
                let taken: Vec<LinkId> = alike.iter().map(|links| links[shared]).collect();
                take_down(&mut self.graph, &taken);
                if let Some(rest) = shortest_path(&self.graph, self.weights, node, self.destination) {
                    let links = [&root[..shared], &rest.links].concat();
                    let path = Path { weight: weight.extend(rest.weight), links };
                    self.candidates.push(Reverse(Candidate { path, shared }));
                }
                bring_up(&mut self.graph, &taken);
            }
            let entering: Vec<LinkId> = self.graph.in_links(node).collect();
            take_down(&mut self.graph, &entering);
            closed.extend(entering);
            alike.retain(|links| links[shared] == link);
            weight = weight.extend(self.weights[link as usize]);
            node = self.graph.link(link).dst;
        }
        bring_up(&mut self.graph, &closed);
    }
}

fn take_down(graph: &mut Graph, links: &[LinkId]) {
    links.iter().for_each(|&link| graph.set_up(link, false));
}

fn bring_up(graph: &mut Graph, links: &[LinkId]) {
    links.iter().for_each(|&link| graph.set_up(link, true));
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{Network, network, simple_paths};
    use super::*;
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
    }
}
