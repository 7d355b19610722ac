//! The exact best continuation of a path to a destination by D sqrt(P), from any node, past barred nodes and links.
//!
//! The first part of a path counts: with its D0 and L0, the continuation must minimise f(D0 + D, L0 + L). This function is increasing and
//! quasi-concave in (D, L) too, so the parametric search of [`super::exact`] finds the minimum.

use super::Label;
use super::exact::{ExactSearch, Point};
use crate::routing::k_shortest::{Barred, LooplessPaths, Onward};
use crate::routing::{Graph, PathWeight, RoutingError, ShortestTree, link_weights};
use crate::spec::{LinkId, Metric, NodeId};
use std::rc::Rc;

/// The loopless paths between two nodes by D sqrt(P). Costs that differ by less than [`super::exact::ROUNDING`], relatively,
/// may be in any order.
pub type BestPaths<'a> = LooplessPaths<'a, BestTowards<'a>>;

/// Best continuations of paths to a destination. Clones share their bounds.
#[derive(Debug, Clone)]
pub struct BestTowards<'a> {
    graph: &'a Graph,
    search: Rc<ExactSearch<'a>>,
    labels: Rc<[Label]>,
    destination: NodeId,
    /// From each node, the least delay and the least loss, each by a separate path; `None` if there is no path.
    ahead: Rc<[Option<Label>]>,
}

impl<'a> BestTowards<'a> {
    /// Computes the least delay and the least loss from every node to the destination.
    ///
    /// # Errors
    /// As [`link_weights`].
    pub fn new(graph: &'a Graph, destination: NodeId) -> Result<BestTowards<'a>, RoutingError> {
        let (delays, losses) = (link_weights(graph, Metric::Delay)?, link_weights(graph, Metric::Loss)?);
        let least_delay = ShortestTree::new(graph, &delays, destination).distance;
        let least_loss = ShortestTree::new(graph, &losses, destination).distance;
        let whole = |sum: u128| u64::try_from(sum).unwrap_or(u64::MAX);
        let ahead = least_delay.into_iter().zip(least_loss).map(|(delay, loss)| {
            let (delay, loss) = (delay?, loss?);
            Some(Label { delay: whole(delay.value()), log_loss: whole(loss.value()), hops: 0 })
        });
        Ok(BestTowards {
            graph,
            search: Rc::new(ExactSearch::new(graph)),
            labels: graph.links().iter().map(Label::of_link).collect(),
            destination,
            ahead: ahead.collect(),
        })
    }

    /// The loopless paths from a node to the destination over the links that are up, least D sqrt(P) first.
    pub fn paths_from(&self, source: NodeId) -> BestPaths<'a> {
        LooplessPaths::new(self.graph, self.clone(), source)
    }
}

impl Onward for BestTowards<'_> {
    type Weight = Label;

    fn link_weight(&self, link: LinkId) -> Label {
        self.labels[link as usize]
    }

    fn at_least(&self, so_far: Label, node: NodeId) -> Option<Label> {
        Some(so_far.extend(self.ahead[node as usize]?))
    }

    fn best(&mut self, so_far: Label, node: NodeId, barred: &Barred) -> Option<Vec<LinkId>> {
        let open = |link: LinkId| {
            let next = self.graph.link(link).dst;
            !barred.nodes[next as usize] && !barred.links.contains(&link)
        };
        let behind = Point { delay: so_far.delay as f64, log_loss: so_far.log_loss as f64 };
        self.search.among(open).onward(node, behind, vec![self.destination]).path(self.destination)
    }
}

#[cfg(test)]
mod tests {
    use super::super::exact::ROUNDING;
    use super::super::test_networks::{any_graph, ten_nodes};
    use super::*;
    use crate::routing::Path;
    use crate::routing::test_support::{Network, simple_paths};
    use proptest::prelude::*;

    /// All simple paths, least cost first.
    fn brute_force(graph: &Graph, source: NodeId, destination: NodeId) -> Vec<Path<Label>> {
        let weights = graph.links().iter().map(Label::of_link).collect();
        let mut paths = simple_paths(&Network { graph: graph.clone(), weights }, source, destination);
        paths.sort();
        paths
    }

    #[test]
    fn the_papers_pair_has_the_heuristics_path_second() {
        // Nodes 4 and 6 of the paper: 4-5-1-6, then 4-5-6.
        let graph = ten_nodes(4000);
        let nodes = |path: Path<Label>| path.links.iter().map(|&link| graph.link(link).dst + 1).collect::<Vec<_>>();
        let found: Vec<_> = BestTowards::new(&graph, 5).unwrap().paths_from(3).take(2).map(nodes).collect();
        assert_eq!(found, [vec![5, 1, 6], vec![5, 6]]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

        #[test]
        fn all_simple_paths_in_order_of_cost(graph in any_graph(6, 16)) {
            let expected = brute_force(&graph, 0, 1);
            let mut found: Vec<Path<Label>> = BestTowards::new(&graph, 1).unwrap().paths_from(0).collect();
            prop_assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                let (found, expected) = (found.weight.cost(), expected.weight.cost());
                prop_assert!((found - expected).abs() <= ROUNDING * expected, "{found} for {expected}");
            }
            found.sort();
            prop_assert_eq!(found, expected);
        }
    }
}
