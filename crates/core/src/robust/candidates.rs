//! Candidate paths of many pairs at once.

use crate::routing::{Graph, Path, Weight, disjoint_paths, shortest_paths};
use crate::spec::{LinkId, NodeId};

/// The rule that selects the candidate paths of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// This number of shortest loopless paths.
    Shortest(usize),
    /// The shortest loopless paths, and all paths as short as the last of them (without counting hops), but at most
    /// `most`.
    WithTies {
        /// Number of shortest paths.
        count: usize,
        /// Greatest number of paths of a pair. One more is returned if there are more.
        most: usize,
    },
    /// Link-disjoint paths of least total weight, at most this number.
    Disjoint(usize),
}

/// Paths one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Paths {
    /// The index of each path's pair, ascending.
    pub pair: Vec<u32>,
    /// Index in `links` of each path's first link; one more entry than paths.
    pub start: Vec<u32>,
    /// The links of all paths.
    pub links: Vec<LinkId>,
}

impl Paths {
    /// No paths.
    pub fn new() -> Paths {
        Paths { pair: Vec::new(), start: vec![0], links: Vec::new() }
    }

    /// Appends a path of a pair.
    pub fn push(&mut self, pair: u32, links: &[LinkId]) {
        self.pair.push(pair);
        self.links.extend_from_slice(links);
        self.start.push(self.links.len() as u32);
    }
}

/// The candidate paths of each pair, shortest first; none for a pair without a way.
pub fn candidate_paths(graph: &Graph, weights: &[Weight], pairs: &[(NodeId, NodeId)], selection: Selection) -> Paths {
    let mut paths = Paths::new();
    for (pair, &(source, destination)) in pairs.iter().enumerate() {
        let found: Vec<Path> = match selection {
            Selection::Shortest(count) => shortest_paths(graph, weights, source, destination).take(count).collect(),
            Selection::WithTies { count, most } => {
                with_ties(shortest_paths(graph, weights, source, destination), count, most)
            }
            Selection::Disjoint(count) => disjoint_paths(graph, weights, source, destination, count),
        };
        for path in found {
            paths.push(pair as u32, &path.links);
        }
    }
    paths
}

fn with_ties(paths: impl Iterator<Item = Path>, count: usize, most: usize) -> Vec<Path> {
    let mut found: Vec<Path> = Vec::new();
    for path in paths {
        let enough = found.len() >= count && found[count - 1].weight.value() < path.weight.value();
        if enough || found.len() > most {
            break;
        }
        found.push(path);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::super::routing::test_support::Network;
    use super::*;

    /// A square with a diagonal, 0 to 3: one path of length 1, two of length 2.
    fn square() -> Network {
        Network::new(4, &[(0, 1, 1), (1, 3, 1), (0, 2, 1), (2, 3, 1), (0, 3, 1)])
    }

    fn links(selection: Selection) -> Vec<Vec<LinkId>> {
        let Network { graph, weights } = square();
        let paths = candidate_paths(&graph, &weights, &[(3, 0), (0, 3)], selection);
        assert!(paths.pair.iter().all(|&pair| pair == 1)); // no way from 3 to 0
        paths.start.windows(2).map(|ends| paths.links[ends[0] as usize..ends[1] as usize].to_vec()).collect()
    }

    #[test]
    fn ties_of_the_last_path_are_given_out_on_request() {
        assert_eq!(links(Selection::Shortest(2)), [vec![4], vec![0, 1]]);
        assert_eq!(links(Selection::WithTies { count: 1, most: 9 }), [vec![4]]);
        assert_eq!(links(Selection::WithTies { count: 2, most: 9 }), [vec![4], vec![0, 1], vec![2, 3]]);
    }

    #[test]
    fn one_path_more_than_allowed_tells_that_there_are_more() {
        assert_eq!(links(Selection::WithTies { count: 2, most: 2 }).len(), 3);
    }

    #[test]
    fn disjoint_paths_share_no_link() {
        assert_eq!(links(Selection::Disjoint(5)).len(), 3);
    }
}
