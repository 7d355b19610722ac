//! The paper's modified Dijkstra (section 4.2, Algorithm 1): an edge is relaxed with the cost of the whole extended path.
//!
//! It keeps one label per node, the cheapest so far. It is a heuristic: the metric is not isotone, so a path with a costlier first
//! part may be cheaper in total. Costs are compared by their squares D^2 P, and P grows by p (1 - P) with every link. So an edge
//! needs no logarithm and no root, and there is no cancellation.

use super::arcs::Arcs;
use super::reached::Reached;
use crate::routing::{Graph, SourceTree};
use crate::spec::{LinkId, NodeId};
use crate::units::Duration;
use std::collections::BinaryHeap;

/// The method that finds the next node among the reached ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// A scan of all reached nodes, as in the paper: O(V^2).
    Array,
    /// A binary heap: O(E log V).
    Heap,
}

/// The modified Dijkstra on one graph, for any number of sources.
#[derive(Debug, Clone)]
pub struct ModifiedDijkstra {
    arcs: Arcs,
    /// The loss ratio of every link.
    losses: Vec<f64>,
    labels: Vec<Label>,
    frontier: BinaryHeap<Reached>,
}

/// The cheapest path to a node so far.
#[derive(Debug, Clone, Copy)]
struct Label {
    /// D^2 P, square picoseconds; infinite if the node is not reached.
    squared_cost: f64,
    /// D, picoseconds.
    delay: f64,
    /// P.
    loss: f64,
    hops: u32,
    reached_by: LinkId,
    from: NodeId,
}

const UNREACHED: Label = Label {
    squared_cost: f64::INFINITY,
    delay: f64::INFINITY,
    loss: 1.0,
    hops: u32::MAX,
    reached_by: LinkId::MAX,
    from: NodeId::MAX,
};

/// Squared cost, then delay, as bits: those of floating-point numbers that are not negative order as the numbers do.
type Key = (u64, u64);

impl Label {
    fn key(&self) -> Key {
        (self.squared_cost.to_bits(), self.delay.to_bits())
    }

    /// Cost, delay, hops, and the node before, in this order.
    #[inline]
    fn is_better_than(&self, other: &Label) -> bool {
        if self.squared_cost != other.squared_cost {
            return self.squared_cost < other.squared_cost;
        }
        (self.delay, self.hops, self.from) < (other.delay, other.hops, other.from)
    }
}

impl ModifiedDijkstra {
    /// Over the links of the graph that are up.
    pub fn new(graph: &Graph) -> ModifiedDijkstra {
        ModifiedDijkstra {
            arcs: Arcs::new(graph),
            losses: graph.links().iter().map(|link| link.loss).collect(),
            labels: vec![UNREACHED; graph.nodes()],
            frontier: BinaryHeap::new(),
        }
    }

    /// The paths from a source to every node. Less delay, fewer hops, then the lower previous node decide ties.
    pub fn tree(&mut self, source: NodeId, queue: Queue) -> SourceTree {
        self.labels.fill(UNREACHED);
        self.labels[source as usize] = Label { squared_cost: 0.0, delay: 0.0, loss: 0.0, hops: 0, ..UNREACHED };
        match queue {
            Queue::Heap => self.search_with_heap(source),
            Queue::Array => self.search_array(),
        }
        SourceTree { source, reached_by: self.labels.iter().map(|label| label.reached_by).collect() }
    }

    /// The costs of the paths of the last tree by node, seconds; infinite where there is no path.
    pub fn costs(&self) -> impl Iterator<Item = f64> + '_ {
        self.labels.iter().map(|label| label.squared_cost.sqrt() * Duration(1).as_secs())
    }

    /// A node is expanded again if a path of the same cost has less delay, because links may have no loss.
    fn search_with_heap(&mut self, source: NodeId) {
        self.frontier.push(Reached { length: 0.0, node: source });
        while let Some(Reached { length, node }) = self.frontier.pop() {
            if self.labels[node as usize].squared_cost == length {
                relax(&self.arcs, &self.losses, &mut self.labels, node, |label, node| {
                    self.frontier.push(Reached { length: label.squared_cost, node });
                });
            }
        }
    }

    fn search_array(&mut self) {
        let mut waiting: Vec<NodeId> = (0..self.labels.len() as NodeId).collect();
        loop {
            let keys = waiting.iter().enumerate().map(|(place, &node)| (self.labels[node as usize].key(), node, place));
            match keys.min() {
                Some((_, node, place)) if self.labels[node as usize].delay.is_finite() => {
                    waiting.swap_remove(place);
                    relax(&self.arcs, &self.losses, &mut self.labels, node, |_, _| ());
                }
                _ => return,
            }
        }
    }
}

/// Algorithm 1 for every link that leaves a node. Returns the nodes with a better label.
#[inline]
fn relax(arcs: &Arcs, losses: &[f64], labels: &mut [Label], node: NodeId, mut improved: impl FnMut(&Label, NodeId)) {
    let here = labels[node as usize];
    for arc in arcs.leaving(node) {
        let delay = here.delay + arc.delay;
        let loss = here.loss + losses[arc.link as usize] * (1.0 - here.loss);
        let through = Label {
            squared_cost: delay * delay * loss,
            delay,
            loss,
            hops: here.hops + 1,
            reached_by: arc.link,
            from: node,
        };
        let known = &mut labels[arc.end as usize];
        if through.is_better_than(known) {
            *known = through;
            improved(known, arc.end);
        }
    }
}
