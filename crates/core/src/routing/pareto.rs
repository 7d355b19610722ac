//! Pareto-optimal paths by delay, loss and capacity (label setting with several criteria: Martins 1984).
//!
//! A label is a path from the source to some node. Its value assumes the least delay, the least loss and the greatest capacity from
//! there to the destination, each by a separate path. The search processes labels in order of this delay, then loss, capacity and hops.
//! A label is made permanent, and extended over every link, unless a permanent label at its node or the destination dominates it.

use super::metric::LOSS_UNITS;
use super::{GoodputLaw, Graph, Link, RoutingError, ShortestTree, lexicographic_weights, link_weights};
use crate::spec::{LinkId, Metric, NodeId};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Default for the greatest number of labels that a search may make permanent.
pub const MOST_LABELS: usize = 1 << 20;

/// Finds Pareto-optimal paths to one destination.
#[derive(Debug, Clone)]
pub struct ParetoTowards<'a> {
    graph: &'a Graph,
    destination: NodeId,
    links: Vec<Criteria>,
    /// For each node, the best value of each criterion, each by a separate path; `None` if there is no path.
    ahead: Vec<Option<Criteria>>,
}

/// Picoseconds in a second.
const PICOSECONDS: f64 = 1e12;

/// The criteria of a path. They are exact: delay and loss are sums of whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Criteria {
    /// Picoseconds.
    delay: u128,
    /// -ln(1 - p) in units of 2^-58.
    log_loss: u128,
    /// Bits per second; more is better.
    rate: Reverse<u64>,
}

impl Criteria {
    /// A path of no links.
    pub(super) const NOTHING: Criteria = Criteria { delay: 0, log_loss: 0, rate: Reverse(u64::MAX) };

    /// Of this path and another, one after the other.
    pub(super) fn and(self, other: Criteria) -> Criteria {
        Criteria {
            delay: self.delay + other.delay,
            log_loss: self.log_loss + other.log_loss,
            rate: self.rate.max(other.rate),
        }
    }

    /// The goodput that a law predicts for such a path, bit/s.
    pub(super) fn goodput(self, law: &GoodputLaw) -> f64 {
        let Criteria { delay, rate: Reverse(rate), .. } = self;
        law.at(delay as f64 / PICOSECONDS, self.loss(), rate as f64)
    }

    /// The ratio of packets lost.
    pub(super) fn loss(self) -> f64 {
        -libm::expm1(-(self.log_loss as f64) / LOSS_UNITS)
    }

    fn is_at_least_as_good_as(self, other: Criteria) -> bool {
        self.delay <= other.delay && self.log_loss <= other.log_loss && self.rate <= other.rate
    }
}

/// A label with the goodput that its criteria promise, bit/s; the greater one comes first, then the smaller label.
#[derive(Debug, PartialEq)]
struct Promising(f64, Label);

impl Eq for Promising {}

impl Ord for Promising {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0).then_with(|| other.1.cmp(&self.1))
    }
}

impl PartialOrd for Promising {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A path from the source, in the order in which labels become permanent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Label {
    /// Criteria of the whole path, with the best values from its node to the destination.
    whole: Criteria,
    hops: usize,
    links: Vec<LinkId>,
    node: NodeId,
    so_far: Criteria,
}

impl Label {
    /// Whether this path dominates `other` for any links that extend both: it is better, or equal and first by hops and links. With
    /// equal delay and loss, a later link may remove the advantage in capacity. Then hops and links decide.
    fn beats(&self, other: &Label) -> bool {
        let sums = |label: &Label| (label.whole.delay, label.whole.log_loss);
        self.whole.is_at_least_as_good_as(other.whole)
            && (sums(self) != sums(other) || (self.hops, &self.links) <= (other.hops, &other.links))
    }
}

impl<'a> ParetoTowards<'a> {
    /// Computes the best values from every node to the destination.
    ///
    /// # Errors
    /// As [`link_weights`].
    pub fn new(graph: &'a Graph, destination: NodeId) -> Result<ParetoTowards<'a>, RoutingError> {
        let (delays, losses) = (link_weights(graph, Metric::Delay)?, link_weights(graph, Metric::Loss)?);
        let rates = lexicographic_weights(graph, &[Metric::Widest])?;
        let least_delay = ShortestTree::new(graph, &delays, destination).distance;
        let least_loss = ShortestTree::new(graph, &losses, destination).distance;
        let widest = ShortestTree::new(graph, &rates, destination).distance;
        let ahead = |node: usize| {
            let rate = Reverse(u64::MAX - widest[node]?.weightiest());
            Some(Criteria { delay: least_delay[node]?.value(), log_loss: least_loss[node]?.value(), rate })
        };
        let of_link = |(id, link): (usize, &Link)| Criteria {
            delay: delays[id].value(),
            log_loss: losses[id].value(),
            rate: Reverse(link.rate.0),
        };
        let links = graph.links().iter().enumerate().map(of_link).collect();
        Ok(ParetoTowards { graph, destination, links, ahead: (0..graph.nodes()).map(ahead).collect() })
    }

    /// All Pareto-optimal paths from `source` by delay, loss and capacity (the least rate of its links), over links that are up, by
    /// ascending delay, then loss. Among paths that are equal in all three, only the one with the fewest hops, then the lowest links.
    ///
    /// # Errors
    /// [`RoutingError::TooManyLabels`] if more than `most_labels` must become permanent.
    pub fn paths_from(&self, source: NodeId, most_labels: usize) -> Result<Vec<Vec<LinkId>>, RoutingError> {
        let mut settled: Vec<Vec<Label>> = vec![Vec::new(); self.graph.nodes()];
        let mut count = 0;
        let mut waiting: BinaryHeap<_> =
            self.label(source, Criteria::NOTHING, Vec::new()).map(Reverse).into_iter().collect();
        while let Some(Reverse(next)) = waiting.pop() {
            let arrived = &settled[self.destination as usize];
            let is_beaten = if next.node == self.destination {
                arrived.iter().any(|known| known.whole.is_at_least_as_good_as(next.whole))
            } else {
                let here = &settled[next.node as usize];
                arrived.iter().chain(here).any(|known| known.beats(&next))
            };
            if is_beaten {
                continue;
            }
            count += 1;
            if count > most_labels {
                return Err(RoutingError::TooManyLabels { src: source, dst: self.destination, most: most_labels });
            }
            if next.node != self.destination {
                waiting.extend(self.onward(&next, |_| true).map(Reverse));
            }
            settled[next.node as usize].push(next);
        }
        Ok(settled.swap_remove(self.destination as usize).into_iter().map(|label| label.links).collect())
    }

    /// The path from `source` of the greatest predicted goodput, over links that are up. Among paths of equal goodput, the one
    /// with the least delay, then the least loss, the greatest rate, the fewest hops and the lowest links.
    ///
    /// # Errors
    /// As [`Self::paths_from`].
    pub fn best_from(
        &self,
        source: NodeId,
        most_labels: usize,
        law: &GoodputLaw,
    ) -> Result<Option<Vec<LinkId>>, RoutingError> {
        self.best_onward(Criteria::NOTHING, source, |_| true, most_labels, law)
    }

    /// The links from `node` on of the best path that begins with these criteria there, over `open` links that are up.
    ///
    /// The criteria of a label promise at least the goodput of every path that continues it. So the first path that arrives in
    /// the order of these promises is the best one. A label that another one at its node dominates leads to nothing better.
    ///
    /// # Errors
    /// As [`Self::paths_from`].
    pub(super) fn best_onward(
        &self,
        begun: Criteria,
        node: NodeId,
        open: impl Fn(LinkId) -> bool,
        most_labels: usize,
        law: &GoodputLaw,
    ) -> Result<Option<Vec<LinkId>>, RoutingError> {
        let promising = |label: Label| Promising(label.whole.goodput(law), label);
        let mut settled: Vec<Vec<Label>> = vec![Vec::new(); self.graph.nodes()];
        let mut count = 0;
        let mut waiting: BinaryHeap<_> = self.label(node, begun, Vec::new()).map(promising).into_iter().collect();
        while let Some(Promising(_, next)) = waiting.pop() {
            if next.node == self.destination {
                return Ok(Some(next.links));
            }
            if settled[next.node as usize].iter().any(|known| known.beats(&next)) {
                continue;
            }
            count += 1;
            if count > most_labels {
                return Err(RoutingError::TooManyLabels { src: node, dst: self.destination, most: most_labels });
            }
            waiting.extend(self.onward(&next, &open).map(promising));
            settled[next.node as usize].push(next);
        }
        Ok(None)
    }

    /// The criteria of a link.
    pub(super) fn of_link(&self, link: LinkId) -> Criteria {
        self.links[link as usize]
    }

    /// The best value of each criterion from a node to the destination, each by a separate path; `None` if there is no path.
    pub(super) fn ahead(&self, node: NodeId) -> Option<Criteria> {
        self.ahead[node as usize]
    }

    /// The labels that continue one by an open link.
    fn onward(&self, label: &Label, open: impl Fn(LinkId) -> bool) -> impl Iterator<Item = Label> {
        self.graph.out_links(label.node).filter(move |&link| open(link)).filter_map(|link| {
            let so_far = label.so_far.and(self.links[link as usize]);
            self.label(self.graph.link(link).dst, so_far, [&label.links[..], &[link]].concat())
        })
    }

    fn label(&self, node: NodeId, so_far: Criteria, links: Vec<LinkId>) -> Option<Label> {
        let whole = so_far.and(self.ahead[node as usize]?);
        Some(Label { whole, hops: links.len(), links, node, so_far })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Path;
    use super::super::test_support::{Network, simple_paths};
    use super::*;
    use crate::units::{Duration, Rate};
    use proptest::prelude::*;

    fn graph(nodes: usize, links: &[(NodeId, NodeId, u64, f64, u64)]) -> Graph {
        let link = |&(src, dst, delay, loss, rate): &(NodeId, NodeId, u64, f64, u64)| Link {
            src,
            dst,
            rate: Rate(rate),
            delay: Duration::from_millis(delay),
            cost: 1.0,
            loss,
        };
        Graph::new(nodes, links.iter().map(link).collect()).unwrap()
    }

    fn paths(graph: &Graph) -> Vec<Vec<LinkId>> {
        ParetoTowards::new(graph, 1).unwrap().paths_from(0, MOST_LABELS).unwrap()
    }

    #[test]
    fn a_path_stands_for_each_way_to_be_best() {
        // Fast; without loss; wide; a compromise; and a path that the compromise dominates.
        let graph = graph(
            2,
            &[(0, 1, 9, 0.1, 50), (0, 1, 1, 0.1, 5), (0, 1, 9, 0.0, 5), (0, 1, 3, 0.01, 5), (0, 1, 3, 0.02, 5)],
        );
        assert_eq!(paths(&graph), [vec![1], vec![3], vec![2], vec![0]]);
    }

    #[test]
    fn capacity_that_is_lost_further_on_does_not_decide_between_equals() {
        // To node 2, a wide path of two hops and a narrow link are equally fast. The last link is narrower than both.
        let links = [(0, 3, 1, 0.0, 9), (3, 2, 1, 0.0, 9), (0, 2, 2, 0.0, 5), (2, 1, 1, 0.0, 3)];
        assert_eq!(paths(&graph(4, &links)), [vec![2, 3]]);
    }

    #[test]
    fn more_labels_than_allowed_are_an_error_and_no_cut() {
        let graph = graph(2, &[(0, 1, 1, 0.1, 5), (0, 1, 9, 0.0, 5)]);
        let search = ParetoTowards::new(&graph, 1).unwrap();
        assert_eq!(search.paths_from(0, 3).unwrap().len(), 2);
        let error = search.paths_from(0, 2).unwrap_err();
        assert_eq!(error, RoutingError::TooManyLabels { src: 0, dst: 1, most: 2 });
        assert!(error.to_string().starts_with("more than 2 partial paths"), "{error}");
    }

    /// The Pareto-optimal simple paths, one for each (delay, loss, capacity), sorted.
    fn brute_force(graph: &Graph) -> Vec<Vec<LinkId>> {
        let sum = |path: &Path, of: &dyn Fn(LinkId) -> u128| path.links.iter().map(|&link| of(link)).sum::<u128>();
        let hop_count = link_weights(graph, Metric::HopCount).unwrap();
        let losses = link_weights(graph, Metric::Loss).unwrap();
        let mut all: Vec<_> = simple_paths(&Network { graph: graph.clone(), weights: hop_count }, 0, 1)
            .into_iter()
            .map(|path| {
                let delay = sum(&path, &|link| u128::from(graph.link(link).delay.0));
                let loss = sum(&path, &|link| losses[link as usize].value());
                let narrowest = path.links.iter().map(|&link| graph.link(link).rate.0).min().unwrap();
                (delay, loss, Reverse(narrowest), path.links.len(), path.links)
            })
            .collect();
        all.sort();
        let beaten = |one: &(u128, u128, Reverse<u64>, usize, Vec<LinkId>)| {
            let better = all.iter().filter(|other| (other.0, other.1, other.2) != (one.0, one.1, one.2));
            better.clone().any(|other| other.0 <= one.0 && other.1 <= one.1 && other.2 <= one.2)
        };
        let mut best: Vec<_> = all.iter().filter(|one| !beaten(one)).cloned().collect();
        best.dedup_by_key(|path| (path.0, path.1, path.2));
        best.into_iter().map(|path| path.4).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2048, ..ProptestConfig::default() })]

        #[test]
        fn exactly_the_paths_that_none_beats(
            nodes in 2..7_u32,
            links in prop::collection::vec(
                (0..7_u32, 0..7_u32, 0..4_u64, prop_oneof![Just(0.0), Just(0.01), Just(0.02), 1e-6..0.9], 1..4_u64), 0..18,
            ),
        ) {
            let links: Vec<_> =
                links.into_iter().map(|(a, b, delay, loss, rate)| (a % nodes, b % nodes, delay, loss, rate)).collect();
            let graph = graph(nodes as usize, &links);
            prop_assert_eq!(paths(&graph), brute_force(&graph));
        }
    }
}
