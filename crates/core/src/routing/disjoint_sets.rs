//! The disjoint paths of two nodes that carry the most predicted throughput together, each with flows of its own.
//!
//! Throughput of a path does not add up over its links, so Suurballe's method does not serve. The search lists loopless paths, the
//! best first, and chooses among them by branch and bound. Let a set of most throughput with `k` of the listed paths have S(k), and let the
//! last listed path have r. A set of `n` paths, `j` of them not listed, has at most S(n - j) + j r. Once no j promises more than the
//! set that was found, that set is the best of all. The list grows until then, or to [`MOST_LISTED`] paths.

use super::goodput_paths::GoodputTowards;
use super::shared_ends::SharedEnds;
use super::tcpbp::Label;
use super::tcpbp::onward::BestTowards;
use super::{Graph, NodeDisjoint, RoutingError, disjoint_paths, link_weights};
use crate::spec::{Disjointness, LinkId, Metric, NodeId, ThroughputMetric};

/// Paths listed at first; their number doubles while the set is not proven.
const FIRST_LISTED: usize = 16;
/// The greatest number of listed paths.
const MOST_LISTED: usize = 512;
/// Sets that a choice among the listed paths looks at, at most.
const MOST_SETS: usize = 1 << 22;
/// Throughputs that differ by less, relatively, are equal.
const ROUNDING: f64 = 1e-9;

/// Disjoint paths, the best first. Throughput is in bit/s by a stack's goodput, and 1 / (delay x sqrt(loss)), 1/s, by `tcpbp`.
#[derive(Debug, Clone, PartialEq)]
pub struct DisjointSet {
    /// The links of each path, and its throughput alone.
    pub paths: Vec<(Vec<LinkId>, f64)>,
    /// Throughput of all, with what the links at the ends carry.
    pub together: f64,
    /// Throughput of the best path.
    pub alone: f64,
    /// No set of so many paths has more.
    pub at_most: f64,
}

/// Finds sets of paths to one destination.
pub struct DisjointSets<'a> {
    graph: &'a Graph,
    destination: NodeId,
    towards: PathsTowards<'a>,
    by: Disjointness,
    /// How many paths it lists at first, and at most.
    listed: (usize, usize),
}

/// Lists the paths from a node by throughput.
enum PathsTowards<'a> {
    Tcpbp(BestTowards<'a>),
    Goodput(GoodputTowards<'a>),
}

impl<'a> DisjointSets<'a> {
    /// Prepares the search of paths to a destination. By `tcpbp`, it is exact as by `tcpbp-exact`.
    ///
    /// # Errors
    /// As [`link_weights`].
    pub fn new(
        graph: &'a Graph,
        metric: &'a ThroughputMetric,
        destination: NodeId,
        by: Disjointness,
    ) -> Result<DisjointSets<'a>, RoutingError> {
        let towards = match metric {
            ThroughputMetric::Tcpbp | ThroughputMetric::TcpbpExact => {
                PathsTowards::Tcpbp(BestTowards::new(graph, destination)?)
            }
            ThroughputMetric::Goodput(law) => PathsTowards::Goodput(GoodputTowards::new(graph, destination, law)?),
        };
        Ok(DisjointSets { graph, destination, towards, by, listed: (FIRST_LISTED, MOST_LISTED) })
    }

    /// At most `most` disjoint paths from a node, of the most throughput; the fewest of equal sets. They share the links at the ends that every path
    /// must take. `None` without a path. If the best path loses nothing, D sqrt(P) sets no limit: then only such paths count,
    /// by their delay.
    ///
    /// # Errors
    /// [`RoutingError::TooManyLabels`].
    pub fn from(&self, source: NodeId, most: usize) -> Result<Option<DisjointSet>, RoutingError> {
        let Some(ends) = SharedEnds::new(self.graph, source, self.destination) else { return Ok(None) };
        let apart = self.graph.out_links(ends.branching).count().min(self.graph.in_links(ends.meeting).count());
        let most = if ends.branching == ends.meeting { most.min(1) } else { most.min(apart) };
        let mut list = List::new(self.graph, &ends, self.by, self.most_at_ends(&ends));
        match &self.towards {
            PathsTowards::Tcpbp(towards) => {
                let mut paths = towards.paths_from(source).map(|path| (path.links, path.weight)).peekable();
                let is_free = paths.peek().is_some_and(|(_, label)| label.cost() == 0.0);
                let rated = paths.map_while(|(links, label)| match (is_free, label.cost()) {
                    (true, 0.0) => Some((links, 1.0 / label.delay().as_secs(), 0.0)),
                    (true, _) => None,
                    (false, cost) => Some((links, 1.0 / cost, label.loss())),
                });
                self.choose(source, most, &mut list, rated, !is_free)
            }
            PathsTowards::Goodput(towards) => {
                let rated =
                    towards.paths_from(source).map(|path| (path.links, path.weight.goodput_bps(), path.weight.loss()));
                let found = self.choose(source, most, &mut list, rated, true);
                towards.check()?;
                found
            }
        }
    }

    /// The bits on the wire that the links at the ends carry, with headers; infinite by D sqrt(P), which knows no rate.
    fn most_at_ends(&self, ends: &SharedEnds) -> f64 {
        match &self.towards {
            PathsTowards::Tcpbp(_) => f64::INFINITY,
            PathsTowards::Goodput(towards) => {
                let rates = ends.first.iter().chain(&ends.last).map(|&link| self.graph.link(link).rate.0 as f64);
                rates.fold(f64::INFINITY, f64::min) * towards.law().efficiency
            }
        }
    }

    fn choose(
        &self,
        source: NodeId,
        most: usize,
        list: &mut List,
        mut paths: impl Iterator<Item = (Vec<LinkId>, f64, f64)>,
        may_add: bool,
    ) -> Result<Option<DisjointSet>, RoutingError> {
        let mut wanted = self.listed.0.max(most);
        loop {
            let is_whole = loop {
                if list.paths.len() == wanted {
                    break false;
                }
                match paths.next() {
                    Some((links, rate, loss)) => list.add(links, rate, loss),
                    None => break true,
                }
            };
            let Some(last) = list.paths.last().map(|path| path.rate) else { return Ok(None) };
            let mut best = list.best(most);
            let (mut together, mut size) = list.fewest(&best);
            let at_most = best.at_most(if is_whole { 0.0 } else { last }).max(together);
            let is_settled = together >= at_most * (1.0 - ROUNDING) || list.is_full(&best.sets[size]);
            if !(is_whole || is_settled || wanted >= self.listed.1) {
                wanted *= 2;
                continue;
            }
            if may_add && !is_whole && !is_settled && self.add_shortest(source, most, list)? {
                best = list.best(most);
                (together, size) = list.fewest(&best);
            }
            let paths = best.sets[size].iter().map(|&index| &list.paths[index]);
            return Ok(Some(DisjointSet {
                paths: paths.map(|path| (path.links.clone(), path.rate)).collect(),
                together,
                alone: list.paths[0].rate,
                at_most: at_most.min(list.most_at_ends).max(together),
            }));
        }
    }

    /// Lists the disjoint paths of least delay, and of least loss, too. Returns whether there were others among them.
    fn add_shortest(&self, source: NodeId, most: usize, list: &mut List) -> Result<bool, RoutingError> {
        let before = list.paths.len();
        for metric in [Metric::Delay, Metric::Loss] {
            let weights = link_weights(self.graph, metric)?;
            let paths = match self.by {
                Disjointness::Links => disjoint_paths(self.graph, &weights, source, self.destination, most),
                Disjointness::Nodes => NodeDisjoint::new(self.graph, &weights).paths(source, self.destination, most),
            };
            for path in paths {
                let (rate, loss) = self.rate(&path.links);
                if list.paths.iter().all(|known| known.links != path.links) {
                    list.add(path.links, rate, loss);
                }
            }
        }
        list.paths.sort_by(|one, other| other.rate.total_cmp(&one.rate));
        Ok(list.paths.len() > before)
    }

    fn rate(&self, links: &[LinkId]) -> (f64, f64) {
        match &self.towards {
            PathsTowards::Tcpbp(_) => {
                let label = Label::of_path(self.graph, links);
                (1.0 / label.cost(), label.loss())
            }
            PathsTowards::Goodput(towards) => {
                let path = towards.of_path(links);
                (path.goodput_bps(), path.loss())
            }
        }
    }
}

/// A listed path.
struct Listed {
    links: Vec<LinkId>,
    /// Its throughput alone.
    rate: f64,
    /// What that takes of the links at the ends.
    on_wire: f64,
    /// The links, and by nodes also the nodes, that no other path may have. Nodes follow the links.
    own: Vec<usize>,
}

struct List<'a> {
    graph: &'a Graph,
    ends: &'a SharedEnds,
    by: Disjointness,
    most_at_ends: f64,
    paths: Vec<Listed>,
}

/// The best set of each size among the listed paths: its throughput without regard to the ends, and its paths.
struct BestSets {
    rates: Vec<f64>,
    sets: Vec<Vec<usize>>,
    looked_at: usize,
}

impl BestSets {
    /// The most throughput of a set, if paths that are not listed have at most `unlisted`.
    fn at_most(&self, unlisted: f64) -> f64 {
        let most = self.rates.len() - 1;
        if self.looked_at > MOST_SETS {
            return most as f64 * self.rates[1];
        }
        let listed = |size: usize| self.rates[..=size].iter().fold(0.0, |best: f64, &rate| best.max(rate));
        (0..=most).map(|size| listed(size) + (most - size) as f64 * unlisted).fold(0.0, f64::max)
    }
}

impl<'a> List<'a> {
    fn new(graph: &'a Graph, ends: &'a SharedEnds, by: Disjointness, most_at_ends: f64) -> List<'a> {
        List { graph, ends, by, most_at_ends, paths: Vec::new() }
    }

    fn add(&mut self, links: Vec<LinkId>, rate: f64, loss: f64) {
        let between = &links[self.ends.first.len()..links.len() - self.ends.last.len()];
        let mut own: Vec<usize> = between.iter().map(|&link| link as usize).collect();
        if self.by == Disjointness::Nodes {
            let inner = &between[..between.len().saturating_sub(1)];
            own.extend(inner.iter().map(|&link| self.graph.links().len() + self.graph.link(link).dst as usize));
        }
        self.paths.push(Listed { links, rate, on_wire: rate / (1.0 - loss), own });
    }

    /// Throughput of a set with what the links at the ends carry; the paths keep their proportions.
    fn together(&self, set: &[usize]) -> f64 {
        let sum = |of: fn(&Listed) -> f64| set.iter().map(|&index| of(&self.paths[index])).sum::<f64>();
        sum(|path| path.rate) * (self.most_at_ends / sum(|path| path.on_wire)).min(1.0)
    }

    /// Whether a set takes all that the links at the ends carry.
    fn is_full(&self, set: &[usize]) -> bool {
        set.iter().map(|&index| self.paths[index].on_wire).sum::<f64>() >= self.most_at_ends * (1.0 - ROUNDING)
    }

    /// The most throughput of these sets, and the least size that has it.
    fn fewest(&self, best: &BestSets) -> (f64, usize) {
        let all: Vec<f64> = best.sets.iter().map(|set| if set.is_empty() { 0.0 } else { self.together(set) }).collect();
        let most = all.iter().copied().fold(0.0, f64::max);
        let size = all.iter().position(|&rate| rate >= most * (1.0 - ROUNDING)).unwrap_or(0);
        (all[size], size)
    }

    /// The best set of each size up to `most`, by branch and bound over the paths, which are the best first.
    fn best(&self, most: usize) -> BestSets {
        let elements = self.graph.links().len() + self.graph.nodes();
        let most = most.min(self.paths.len());
        let mut best = BestSets { rates: vec![0.0; most + 1], sets: vec![Vec::new(); most + 1], looked_at: 0 };
        self.extend(0, &mut Vec::new(), 0.0, &mut vec![false; elements], &mut best);
        best
    }

    fn extend(&self, from: usize, set: &mut Vec<usize>, rate: f64, taken: &mut [bool], best: &mut BestSets) {
        let most = best.rates.len() - 1;
        for index in from..self.paths.len() {
            let path = &self.paths[index];
            let promises =
                |more: usize| rate + more as f64 * path.rate > best.rates[set.len() + more] * (1.0 + ROUNDING);
            if best.looked_at > MOST_SETS || !(1..=most - set.len()).any(promises) {
                return;
            }
            if path.own.iter().any(|&element| taken[element]) {
                continue;
            }
            best.looked_at += 1;
            set.push(index);
            let with = rate + path.rate;
            if with > best.rates[set.len()] * (1.0 + ROUNDING) {
                best.rates[set.len()] = with;
                best.sets[set.len()].clone_from(set);
            }
            if set.len() < most {
                path.own.iter().for_each(|&element| taken[element] = true);
                self.extend(index + 1, set, with, taken, best);
                path.own.iter().for_each(|&element| taken[element] = false);
            }
            set.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::GoodputLaw;
    use super::super::goodput::tests::{any_law, any_links};
    use super::super::tcpbp::Label;
    use super::super::tcpbp::test_networks::any_graph;
    use super::super::test_support::{Network, shared_by_all, simple_paths};
    use super::*;
    use proptest::prelude::*;

    /// All sets of disjoint simple paths, by trying every one: the greatest value.
    fn brute_force(graph: &Graph, by: Disjointness, most: usize, value: &dyn Fn(&[Vec<LinkId>]) -> f64) -> f64 {
        let weights = graph.links().iter().map(Label::of_link).collect();
        let paths = simple_paths(&Network { graph: graph.clone(), weights }, 0, 1);
        let (first, last) = shared_by_all(&paths);
        fn grow(
            paths: &[Vec<LinkId>],
            set: &mut Vec<Vec<LinkId>>,
            most: usize,
            apart: &dyn Fn(&[LinkId], &[LinkId]) -> bool,
            value: &dyn Fn(&[Vec<LinkId>]) -> f64,
        ) -> f64 {
            let mut best = if set.is_empty() { 0.0 } else { value(set) };
            if set.len() < most {
                for (index, path) in paths.iter().enumerate() {
                    if set.iter().all(|other| apart(path, other)) {
                        set.push(path.clone());
                        best = best.max(grow(&paths[index + 1..], set, most, apart, value));
                        set.pop();
                    }
                }
            }
            best
        }
        let apart = |one: &[LinkId], other: &[LinkId]| {
            let (one, other) = (&one[first..one.len() - last], &other[first..other.len() - last]);
            let inner =
                |links: &[LinkId]| links.iter().rev().skip(1).map(|&link| graph.link(link).dst).collect::<Vec<_>>();
            let nodes = inner(other);
            one.iter().all(|link| !other.contains(link))
                && (by == Disjointness::Links || inner(one).iter().all(|node| !nodes.contains(node)))
        };
        let paths: Vec<_> = paths.into_iter().map(|path| path.links).collect();
        grow(&paths, &mut Vec::new(), most, &apart, value)
    }

    fn any_disjointness() -> impl Strategy<Value = Disjointness> {
        prop_oneof![Just(Disjointness::Links), Just(Disjointness::Nodes)]
    }

    /// The list begins with two paths, so that proofs without all paths are tested.
    fn found(graph: &Graph, metric: &ThroughputMetric, by: Disjointness, most: usize) -> Option<DisjointSet> {
        let sets = DisjointSets { listed: (2, MOST_LISTED), ..DisjointSets::new(graph, metric, 1, by).unwrap() };
        sets.from(0, most).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

        #[test]
        fn no_set_of_simple_paths_has_a_greater_sum_by_tcpbp(
            graph in any_graph(6, 14), most in 1..4_usize, by in any_disjointness(),
        ) {
            let cost = |links: &[LinkId]| Label::of_path(&graph, links).cost();
            let set = found(&graph, &ThroughputMetric::TcpbpExact, by, most);
            let best = brute_force(&graph, by, most, &|set| set.iter().map(|path| 1.0 / cost(path)).sum());
            prop_assert_eq!(set.is_some(), best > 0.0);
            if let Some(set) = set.filter(|_| best.is_finite()) {
                prop_assert!((set.together / best - 1.0).abs() < 1e-8, "{} for {best}", set.together);
                prop_assert!((set.at_most / best - 1.0).abs() < 1e-8);
                let sum: f64 = set.paths.iter().map(|(links, _)| 1.0 / cost(links)).sum();
                prop_assert!((set.together / sum - 1.0).abs() < 1e-12);
            }
        }

        #[test]
        fn a_short_list_gives_a_set_and_a_bound_on_the_best(graph in any_graph(6, 16), by in any_disjointness()) {
            let cost = |links: &[LinkId]| Label::of_path(&graph, links).cost();
            let metric = ThroughputMetric::TcpbpExact;
            let sets = DisjointSets { listed: (1, 1), ..DisjointSets::new(&graph, &metric, 1, by).unwrap() };
            let best = brute_force(&graph, by, 3, &|set| set.iter().map(|path| 1.0 / cost(path)).sum());
            if let Some(set) = sets.from(0, 3).unwrap().filter(|_| best.is_finite()) {
                prop_assert!(set.together <= best * (1.0 + 1e-8) && best <= set.at_most * (1.0 + 1e-8));
                prop_assert!(set.together >= set.alone);
            }
        }

        #[test]
        fn no_set_of_simple_paths_has_more_goodput(
            law in any_law(), links in any_links(6), most in 1..4_usize, by in any_disjointness(),
        ) {
            let graph = Graph::new(6, links).unwrap();
            let of = |links: &Vec<LinkId>| {
                let label = Label::of_path(&graph, links);
                let narrowest = links.iter().map(|&link| graph.link(link).rate.0).min().unwrap() as f64;
                law.at(label.delay().as_secs(), label.loss(), narrowest)
            };
            let ends = SharedEnds::new(&graph, 0, 1);
            let rates = ends.iter().flat_map(|ends| ends.first.iter().chain(&ends.last)).map(|&link| graph.link(link).rate.0);
            let is_limited = rates.min().is_some();
            let best = brute_force(&graph, by, most, &|set| set.iter().map(of).sum());
            let set = found(&graph, &ThroughputMetric::Goodput(Box::new(law.clone())), by, most);
            prop_assert_eq!(set.is_some(), best > 0.0);
            if let Some(set) = set {
                if !is_limited {
                    prop_assert!((set.together / best - 1.0).abs() < 1e-8, "{} for {best}", set.together);
                }
                prop_assert!(set.together <= best * (1.0 + 1e-8) && set.together >= set.alone * (1.0 - 1e-8));
                prop_assert!(set.at_most >= set.together);
            }
        }
    }

    /// Each link: source, destination, milliseconds, loss, Mbit/s.
    fn graph(links: &[(NodeId, NodeId, u64, f64, u64)]) -> Graph {
        let link = |&(src, dst, delay, loss, rate): &(NodeId, NodeId, u64, f64, u64)| super::super::Link {
            src,
            dst,
            rate: crate::units::Rate(rate * 1_000_000),
            delay: crate::units::Duration::from_millis(delay),
            cost: 1.0,
            loss,
        };
        Graph::new(6, links.iter().map(link).collect()).unwrap()
    }

    /// 1 Mbit/s / (RTT in s x sqrt(loss)), at most the rate: a law that is easy to check by hand.
    fn law() -> ThroughputMetric {
        let (losses, rtts_s) = (vec![1e-6, 1e-2], vec![1e-3, 1.0]);
        let at = |loss: &f64| rtts_s.iter().map(|rtt| 1e6 / (rtt * loss.sqrt())).collect::<Vec<_>>();
        let goodput_bps = losses.iter().flat_map(at).collect();
        ThroughputMetric::Goodput(Box::new(GoodputLaw {
            losses,
            rtts_s,
            rates_bps: vec![1e13],
            goodput_bps,
            efficiency: 1.0,
        }))
    }

    #[test]
    fn the_best_path_is_given_up_where_it_stands_in_the_way() {
        // 0 2 3 1 is the best path; 0 2 1 and 0 3 1 are disjoint, and have more together.
        let trap =
            graph(&[(0, 2, 1, 0.0, 9), (2, 3, 1, 0.01, 9), (3, 1, 1, 0.0, 9), (0, 3, 3, 0.01, 9), (2, 1, 3, 0.01, 9)]);
        let set = found(&trap, &ThroughputMetric::TcpbpExact, Disjointness::Links, 2).unwrap();
        let links: Vec<_> = set.paths.iter().map(|(links, _)| links.clone()).collect();
        assert_eq!(links, [vec![0, 4], vec![3, 2]]);
        // 1 / (4 ms x 0.1) each; the best path alone has 1 / (3 ms x 0.1).
        assert!((set.together - 5000.0).abs() < 1e-6 && (set.alone - 10000.0 / 3.0).abs() < 1e-6);
        assert_eq!(set.at_most, set.together);
    }

    #[test]
    fn one_path_is_best_where_it_fills_the_access_link() {
        // Host 0 at switch 2 has 10 Mbit/s; each of the two paths behind it could carry 50 (20 ms there and back, loss 1 %).
        let access = |rate| {
            graph(&[
                (0, 2, 1, 0.0, rate),
                (2, 3, 4, 0.0, 900),
                (2, 4, 4, 0.0, 900),
                (3, 1, 5, 1e-6, 900),
                (4, 1, 5, 1e-6, 900),
            ])
        };
        let one = found(&access(10), &law(), Disjointness::Links, 2).unwrap();
        assert_eq!((one.paths.len(), one.together), (1, one.alone));
        let two = found(&access(1000), &law(), Disjointness::Links, 2).unwrap();
        assert_eq!((two.paths.len(), two.at_most >= two.together), (2, true));
        assert!((two.together - 1000e6 * (1.0 - 1e-6)).abs() < 1e3, "900 and 900 of 1000: {}", two.together);
    }

    #[test]
    fn of_paths_without_loss_the_shortest_count_by_tcpbp() {
        let free =
            graph(&[(0, 2, 1, 0.0, 9), (2, 1, 1, 0.0, 9), (0, 1, 9, 0.0, 9), (0, 3, 1, 0.1, 9), (3, 1, 1, 0.0, 9)]);
        let set = found(&free, &ThroughputMetric::Tcpbp, Disjointness::Links, 3).unwrap();
        assert_eq!(set.paths.iter().map(|(links, _)| links.clone()).collect::<Vec<_>>(), [vec![0, 1], vec![2]]);
    }
}
