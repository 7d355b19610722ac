//! Small networks for the tests of routing, and the brute force that they are checked against.

use super::{Graph, Path, PathWeight, Weight};
use crate::spec::{DisciplineSpec, LinkId, LinkSpec, NodeId, QueueLimit, QueueSpec};
use crate::units::{Duration, Rate};
use proptest::prelude::*;
use std::ops::Range;

/// A link of 10 Mbit/s, 1 ms and cost 1.
pub fn link(src: NodeId, dst: NodeId) -> LinkSpec {
    LinkSpec {
        src,
        dst,
        rate: Rate(10_000_000),
        delay: Duration::from_millis(1),
        cost: 1.0,
        queue: QueueSpec { limit: QueueLimit::Packets(100), discipline: DisciplineSpec::drop_tail() },
        loss: None,
        rate_schedule: None,
        delay_schedule: None,
        jitter: None,
        shaper: None,
    }
}

/// A graph with its link weights.
#[derive(Debug, Clone)]
pub struct Network<W = Weight> {
    pub graph: Graph,
    pub weights: Vec<W>,
}

impl Network {
    /// A network from (source, destination, weight) of every link.
    pub fn new(nodes: usize, links: &[(NodeId, NodeId, u64)]) -> Network {
        let specs: Vec<LinkSpec> = links.iter().map(|&(src, dst, _)| link(src, dst)).collect();
        Network {
            graph: Graph::of_specs(nodes, &specs).unwrap(),
            weights: links.iter().map(|&(_, _, weight)| Weight::of_link(weight)).collect(),
        }
    }

    /// A network whose links go both ways: link `2 i` as given, link `2 i + 1` back.
    pub fn undirected(nodes: usize, links: &[(NodeId, NodeId, u64)]) -> Network {
        let both: Vec<_> = links.iter().flat_map(|&(a, b, weight)| [(a, b, weight), (b, a, weight)]).collect();
        Network::new(nodes, &both)
    }
}

/// Random networks of 2 to `nodes` nodes and up to `links` links, with parallel links and loops at a node. About one link
/// in eight is down.
pub fn network(nodes: NodeId, links: usize, weights: Range<u64>) -> impl Strategy<Value = Network> {
    (2..=nodes).prop_flat_map(move |nodes| {
        let link = ((0..nodes, 0..nodes, weights.clone()), prop::bool::weighted(0.875));
        prop::collection::vec(link, 0..=links).prop_map(move |links| {
            let (ends, up): (Vec<_>, Vec<bool>) = links.into_iter().unzip();
            let mut network = Network::new(nodes as usize, &ends);
            for (link, up) in up.into_iter().enumerate() {
                network.graph.set_up(link as LinkId, up);
            }
            network
        })
    })
}

/// Every path from `source` to `destination` that visits no node twice, by depth-first enumeration, in no useful order.
pub fn simple_paths<W: PathWeight>(network: &Network<W>, source: NodeId, destination: NodeId) -> Vec<Path<W>> {
    fn extend<W: PathWeight>(
        network: &Network<W>,
        visited: &mut Vec<NodeId>,
        path: &Path<W>,
        destination: NodeId,
        found: &mut Vec<Path<W>>,
    ) {
        let node = visited[visited.len() - 1];
        if node == destination {
            found.push(path.clone());
            return;
        }
        for (id, link) in network.graph.links().iter().enumerate() {
            if link.src != node || visited.contains(&link.dst) || !network.graph.is_up(id as LinkId) {
                continue;
            }
            let mut longer = path.clone();
            longer.links.push(id as LinkId);
            longer.weight = longer.weight.extend(network.weights[id]);
            visited.push(link.dst);
            extend(network, visited, &longer, destination, found);
            visited.pop();
        }
    }
    let mut found = Vec::new();
    extend(network, &mut vec![source], &Path { weight: W::IDENTITY, links: vec![] }, destination, &mut found);
    found
}

/// Number of links that all these paths share at their beginning, and number at their end. A single path shares all its
/// links at its beginning.
pub fn shared_by_all<W>(paths: &[Path<W>]) -> (usize, usize) {
    let Some(any) = paths.first() else { return (0, 0) };
    let alike = |at: &dyn Fn(&Path<W>, usize) -> Option<LinkId>| {
        (0..any.links.len()).take_while(|&index| paths.iter().all(|path| at(path, index) == at(any, index))).count()
    };
    let first = alike(&|path, index| path.links.get(index).copied());
    if first == any.links.len() {
        return (first, 0);
    }
    (first, alike(&|path, index| path.links.iter().rev().nth(index).copied()))
}
