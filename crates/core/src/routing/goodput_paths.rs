//! The loopless paths between two nodes by predicted goodput, the greatest first.

use super::k_shortest::{Barred, LooplessPaths, Onward};
use super::pareto::Criteria;
use super::{GoodputLaw, Graph, MOST_LABELS, ParetoTowards, PathWeight, RoutingError};
use crate::spec::{LinkId, NodeId};
use std::cell::OnceCell;
use std::cmp::Ordering;
use std::rc::Rc;

/// The criteria of a path, with the goodput that a law predicts of them. Less is better.
#[derive(Debug, Clone, Copy)]
pub struct Prospect<'a> {
    goodput_bps: f64,
    criteria: Criteria,
    hops: u32,
    /// `None` for a path of no links.
    law: Option<&'a GoodputLaw>,
}

impl Prospect<'_> {
    /// Predicted goodput, bit/s.
    pub fn goodput_bps(&self) -> f64 {
        self.goodput_bps
    }

    /// The ratio of packets lost.
    pub fn loss(&self) -> f64 {
        self.criteria.loss()
    }
}

impl PathWeight for Prospect<'_> {
    const IDENTITY: Self = Prospect { goodput_bps: f64::INFINITY, criteria: Criteria::NOTHING, hops: 0, law: None };

    fn extend(self, by: Self) -> Self {
        let (criteria, law) = (self.criteria.and(by.criteria), self.law.or(by.law));
        let goodput_bps = law.map_or(f64::INFINITY, |law| criteria.goodput(law));
        Prospect { goodput_bps, criteria, hops: self.hops + by.hops, law }
    }

    fn ties(self, other: Self) -> bool {
        self.goodput_bps == other.goodput_bps
    }
}

impl Ord for Prospect<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_goodput = other.goodput_bps.total_cmp(&self.goodput_bps);
        by_goodput.then_with(|| (self.criteria, self.hops).cmp(&(other.criteria, other.hops)))
    }
}

impl PartialOrd for Prospect<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Prospect<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Prospect<'_> {}

/// Best continuations of paths to a destination. Clones share their bounds, and the error that ended a search.
#[derive(Debug, Clone)]
pub struct GoodputTowards<'a> {
    graph: &'a Graph,
    search: Rc<ParetoTowards<'a>>,
    law: &'a GoodputLaw,
    failed: Rc<OnceCell<RoutingError>>,
}

impl<'a> GoodputTowards<'a> {
    /// Computes the best values from every node to the destination.
    ///
    /// # Errors
    /// As [`ParetoTowards::new`].
    pub fn new(graph: &'a Graph, destination: NodeId, law: &'a GoodputLaw) -> Result<GoodputTowards<'a>, RoutingError> {
        let search = Rc::new(ParetoTowards::new(graph, destination)?);
        Ok(GoodputTowards { graph, search, law, failed: Rc::default() })
    }

    /// The loopless paths from a node over the links that are up. [`Self::check`] says whether they are all.
    pub fn paths_from(&self, source: NodeId) -> LooplessPaths<'a, GoodputTowards<'a>> {
        LooplessPaths::new(self.graph, self.clone(), source)
    }

    /// Whether all searches so far came to an end.
    ///
    /// # Errors
    /// [`RoutingError::TooManyLabels`] of the first that did not.
    pub fn check(&self) -> Result<(), RoutingError> {
        self.failed.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// The weight of a path.
    pub fn of_path(&self, links: &[LinkId]) -> Prospect<'a> {
        links.iter().fold(Prospect::IDENTITY, |path, &link| path.extend(self.link_weight(link)))
    }

    /// The law by which it searches.
    pub fn law(&self) -> &'a GoodputLaw {
        self.law
    }

    fn prospect(&self, criteria: Criteria, hops: u32) -> Prospect<'a> {
        Prospect { goodput_bps: criteria.goodput(self.law), criteria, hops, law: Some(self.law) }
    }
}

impl<'a> Onward for GoodputTowards<'a> {
    type Weight = Prospect<'a>;

    fn link_weight(&self, link: LinkId) -> Prospect<'a> {
        self.prospect(self.search.of_link(link), 1)
    }

    fn at_least(&self, so_far: Prospect<'a>, node: NodeId) -> Option<Prospect<'a>> {
        Some(self.prospect(so_far.criteria.and(self.search.ahead(node)?), so_far.hops))
    }

    fn best(&mut self, so_far: Prospect<'a>, node: NodeId, barred: &Barred) -> Option<Vec<LinkId>> {
        let open = |link: LinkId| {
            let next = self.graph.link(link).dst;
            !barred.nodes[next as usize] && !barred.links.contains(&link)
        };
        self.search.best_onward(so_far.criteria, node, open, MOST_LABELS, self.law).unwrap_or_else(|error| {
            self.failed.get_or_init(|| error);
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Path;
    use super::super::goodput::tests::{any_law, any_links};
    use super::super::test_support::{Network, simple_paths};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

        #[test]
        fn all_simple_paths_in_order_of_goodput(law in any_law(), links in any_links(6)) {
            let graph = Graph::new(6, links).unwrap();
            let towards = GoodputTowards::new(&graph, 1, &law).unwrap();
            let weights = (0..graph.links().len()).map(|link| towards.link_weight(link as LinkId)).collect();
            let mut expected = simple_paths(&Network { graph: graph.clone(), weights }, 0, 1);
            expected.sort();
            let mut found: Vec<Path<Prospect>> = towards.paths_from(0).collect();
            prop_assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                prop_assert!((found.weight.goodput_bps / expected.weight.goodput_bps - 1.0).abs() < 1e-12);
            }
            found.sort();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(towards.check(), Ok(()));
        }
    }
}
