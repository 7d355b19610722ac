//! The cheapest path of every pair for path pricing, where each pair has its own link prices.

use super::Paths;
use super::key::Key;
use crate::spec::{LinkId, NodeId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A directed graph as the links that leave each node.
struct Outgoing {
    first: Vec<u32>,
    links: Vec<LinkId>,
}

impl Outgoing {
    fn new(nodes: usize, sources: &[NodeId]) -> Outgoing {
        let mut first = vec![0; nodes + 1];
        for &source in sources {
            first[source as usize + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        let mut links = vec![0; sources.len()];
        for (link, &source) in sources.iter().enumerate() {
            links[next[source as usize] as usize] = link as LinkId;
            next[source as usize] += 1;
        }
        Outgoing { first, links }
    }

    fn at(&self, node: NodeId) -> &[LinkId] {
        &self.links[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}

/// For each pair, the least price of a path, and such a path; an infinite price and no path if no path exists.
///
/// `ends` are the sources and destinations of the links. `prices` holds one price per link for each pair, at least 0,
/// pair by pair.
pub fn cheapest_paths(
    nodes: usize,
    ends: (&[NodeId], &[NodeId]),
    pairs: &[(NodeId, NodeId)],
    prices: &[f64],
) -> (Vec<f64>, Paths) {
    let (sources, targets) = ends;
    let outgoing = Outgoing::new(nodes, sources);
    let mut least = Vec::with_capacity(pairs.len());
    let mut paths = Paths::new();
    let mut distance = vec![f64::INFINITY; nodes];
    let mut entered = vec![LinkId::MAX; nodes];
    let mut heap = BinaryHeap::new();
    for (pair, &(source, destination)) in pairs.iter().enumerate() {
        let prices = &prices[pair * sources.len()..(pair + 1) * sources.len()];
        distance.fill(f64::INFINITY);
        distance[source as usize] = 0.0;
        heap.clear();
        heap.push(Reverse(Key(0.0, source)));
        while let Some(Reverse(Key(price, node))) = heap.pop() {
            if node == destination {
                break;
            }
            if price > distance[node as usize] {
                continue;
            }
            for &link in outgoing.at(node) {
                let through = price + prices[link as usize];
                let next = targets[link as usize];
                if through < distance[next as usize] {
                    distance[next as usize] = through;
                    entered[next as usize] = link;
                    heap.push(Reverse(Key(through, next)));
                }
            }
        }
        least.push(distance[destination as usize]);
        if distance[destination as usize].is_finite() {
            let mut links = Vec::new();
            let mut node = destination;
            while node != source {
                links.push(entered[node as usize]);
                node = sources[entered[node as usize] as usize];
            }
            links.reverse();
            paths.push(pair as u32, &links);
        }
    }
    (least, paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_pays_its_own_prices() {
        let (sources, targets) = ([0, 1, 0], [1, 2, 2]);
        let pairs = [(0, 2), (0, 2), (2, 0)];
        let prices = [1.0, 1.0, 3.0, 1.0, 1.0, 1.5, 1.0, 1.0, 1.0];
        let (least, paths) = cheapest_paths(3, (&sources, &targets), &pairs, &prices);
        assert_eq!(least, [2.0, 1.5, f64::INFINITY]);
        assert_eq!((paths.pair, paths.start, paths.links), (vec![0, 1], vec![0, 2, 3], vec![0, 1, 2]));
    }
}
