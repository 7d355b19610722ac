//! The continuation of a path to a destination by an isotone metric, from any node, past barred nodes and links.
//!
//! The tree of shortest paths to the destination is computed once for all searches. Often the shortest continuation is a branch of the
//! tree. Otherwise the tree's distances, which are lower bounds with barred links too, guide the search (A*: Hart, Nilsson and
//! Raphael 1968).

use super::k_shortest::{Barred, LooplessPaths, Onward};
use super::{Graph, PathWeight, ShortestTree, SourceTree, Weight};
use crate::spec::{LinkId, NodeId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

/// The loopless paths between two nodes by an isotone metric.
pub type ShortestPaths<'a, W = Weight> = LooplessPaths<'a, Towards<'a, W>>;

/// The loopless paths from `source` to `destination` over the links that are up, shortest first.
pub fn shortest_paths<'a, W: PathWeight>(
    graph: &'a Graph,
    weights: &'a [W],
    source: NodeId,
    destination: NodeId,
) -> ShortestPaths<'a, W> {
    Towards::new(graph, weights, destination).paths_from(source)
}

/// Shortest continuations of paths to a destination. Clones share the tree.
#[derive(Debug, Clone)]
pub struct Towards<'a, W = Weight> {
    graph: &'a Graph,
    weights: &'a [W],
    destination: NodeId,
    distance: Rc<[Option<W>]>,
    /// The first link of the shortest path from each node, [`LinkId::MAX`] where there is none.
    first: Rc<[LinkId]>,
    search: SearchMemory<W>,
}

/// The memory of a search, reused by the next one.
#[derive(Debug, Clone)]
struct SearchMemory<W> {
    /// For each node, the weight of the path found to it.
    reached: Vec<Option<W>>,
    tree: SourceTree,
    /// Nodes that were reached.
    touched: Vec<NodeId>,
    /// Bound of the whole path, weight of the path found, node.
    frontier: BinaryHeap<Reverse<(W, W, NodeId)>>,
}

impl<'a, W: PathWeight> Towards<'a, W> {
    /// Finds the tree of shortest paths to a destination.
    pub fn new(graph: &'a Graph, weights: &'a [W], destination: NodeId) -> Towards<'a, W> {
        let tree = ShortestTree::new(graph, weights, destination);
        let first = (0..graph.nodes() as NodeId).map(|node| tree.next_hop(node).unwrap_or(LinkId::MAX)).collect();
        let search = SearchMemory {
            reached: vec![None; graph.nodes()],
            tree: SourceTree { source: destination, reached_by: vec![LinkId::MAX; graph.nodes()] },
            touched: Vec::new(),
            frontier: BinaryHeap::new(),
        };
        Towards { graph, weights, destination, distance: tree.distance.into(), first, search }
    }

    /// The loopless paths from a node to the destination over the links that are up, shortest first.
    pub fn paths_from(&self, source: NodeId) -> ShortestPaths<'a, W> {
        LooplessPaths::new(self.graph, self.clone(), source)
    }

    /// The best continuation if it follows the tree after its first link.
    fn along_tree(&self, node: NodeId, barred: &Barred) -> Option<Vec<LinkId>> {
        let through = |link: LinkId| {
            let rest = self.distance[self.graph.link(link).dst as usize]?;
            Some((self.weights[link as usize].extend(rest), link))
        };
        let open = |link: &LinkId| !barred.nodes[self.graph.link(*link).dst as usize] && !barred.links.contains(link);
        let (_, first) = self.graph.out_links(node).filter(open).filter_map(through).min()?;
        let mut links = vec![first];
        let mut at = self.graph.link(first).dst;
        while at != self.destination {
            if barred.nodes[at as usize] {
                return None;
            }
            let link = self.first[at as usize];
            links.push(link);
            at = self.graph.link(link).dst;
        }
        Some(links)
    }

    /// The best continuation. A node is expanded after all nodes before it on its best paths, even if their bounds are equal. Among
    /// nodes with equal bounds, the one with the smaller weight so far is first.
    fn around(&mut self, node: NodeId, barred: &Barred) -> Option<Vec<LinkId>> {
        let SearchMemory { reached, tree, touched, frontier } = &mut self.search;
        for node in touched.drain(..) {
            (reached[node as usize], tree.reached_by[node as usize]) = (None, LinkId::MAX);
        }
        frontier.clear();
        tree.source = node;
        touched.push(node);
        reached[node as usize] = Some(W::IDENTITY);
        frontier.push(Reverse((self.distance[node as usize]?, W::IDENTITY, node)));
        while let Some(Reverse((_, so_far, at))) = frontier.pop() {
            if at == self.destination {
                return tree.path(self.graph, at);
            }
            if reached[at as usize] != Some(so_far) {
                continue; // reached on a shorter path since
            }
            for link in self.graph.out_links(at) {
                let next = self.graph.link(link).dst;
                if barred.nodes[next as usize] || at == node && barred.links.contains(&link) {
                    continue;
                }
                let Some(rest) = self.distance[next as usize] else { continue };
                let through = so_far.extend(self.weights[link as usize]);
                let known = &mut reached[next as usize];
                if known.is_none_or(|known| through < known) {
                    if known.is_none() {
                        touched.push(next);
                    }
                    *known = Some(through);
                    tree.reached_by[next as usize] = link;
                    frontier.push(Reverse((through.extend(rest), through, next)));
                } else if *known == Some(through) && tree.comes_first(self.graph, link, tree.reached_by[next as usize])
                {
                    tree.reached_by[next as usize] = link;
                }
            }
        }
        None
    }
}

impl<W: PathWeight> Onward for Towards<'_, W> {
    type Weight = W;

    fn link_weight(&self, link: LinkId) -> W {
        self.weights[link as usize]
    }

    fn at_least(&self, so_far: W, node: NodeId) -> Option<W> {
        Some(so_far.extend(self.distance[node as usize]?))
    }

    /// The weight so far is not used, because the metric is isotone.
    fn best(&mut self, _so_far: W, node: NodeId, barred: &Barred) -> Option<Vec<LinkId>> {
        if node == self.destination {
            return Some(Vec::new());
        }
        self.along_tree(node, barred).or_else(|| self.around(node, barred))
    }
}
