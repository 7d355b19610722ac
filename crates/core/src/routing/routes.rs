//! Many routes at once, as columns of numbers, for the Python package.

use super::metric::Cost;
use super::tcpbp::Label;
use super::tcpbp::exact::ExactSearch;
use super::tcpbp::heuristic::{ModifiedDijkstra, Queue};
use super::{
    GoodputLaw, Graph, IsotoneWeights, Lexicographic, MOST_LABELS, ParetoTowards, PathWeight, RoutingError,
    ShortestTree, SourceTree, Weight, isotone_weights,
};
use crate::spec::{LinkId, Metric, MetricSpec, NodeId, ThroughputMetric};
use std::ops::Range;

/// Paths from some sources to every node, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Trees {
    /// The cost of each path in the metric's unit ([`PathCost`]); infinite where there is no path.
    pub cost: Vec<f64>,
    /// The last link of each path; [`LinkId::MAX`] at the source and where there is no path.
    pub reached_by: Vec<LinkId>,
}

/// The routes of pairs, in columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PairRoutes {
    /// The source of each pair.
    pub src: Vec<NodeId>,
    /// The destination of each pair.
    pub dst: Vec<NodeId>,
    /// How many paths it has.
    pub paths: Vec<u32>,
    /// How many links each path has.
    pub hops: Vec<u32>,
    /// The links of all paths, one path after another.
    pub links: Vec<LinkId>,
    /// The share of the pair's traffic on each path.
    pub share: Vec<f64>,
    /// The delay of each path, seconds.
    pub delay_s: Vec<f64>,
    /// The loss ratio of each path.
    pub loss: Vec<f64>,
    /// The cost of each path in the metric's unit.
    pub cost: Vec<f64>,
}

/// The cost of a path as users read it: of a metric, or of the first of several.
#[derive(Clone)]
pub struct PathCost<'a> {
    graph: &'a Graph,
    labels: Vec<Label>,
    cost: Cost,
    /// Of a metric of predicted goodput; `cost` is then the least rate.
    law: Option<GoodputLaw>,
}

/// Totals of a path: its label, and the sum or the least of the links' values in the metric.
type Sums = (Label, f64);

impl<'a> PathCost<'a> {
    /// Costs by a metric.
    pub fn new(graph: &'a Graph, metric: &MetricSpec) -> PathCost<'a> {
        let first = match metric {
            MetricSpec::One(metric) => Some(metric),
            MetricSpec::Lexicographic(metrics) => metrics.first(),
            MetricSpec::Throughput(_) => None,
        };
        let law = match metric {
            MetricSpec::Throughput(ThroughputMetric::Goodput(law)) => Some((**law).clone()),
            _ => None,
        };
        let cost = match first {
            Some(metric) => metric.definition().cost,
            None if law.is_some() => Metric::Widest.definition().cost,
            None => Cost::OfPath(Label::cost),
        };
        PathCost { graph, labels: graph.links().iter().map(Label::of_link).collect(), cost, law }
    }

    fn start(&self) -> Sums {
        (Label::IDENTITY, if matches!(self.cost, Cost::Least(_)) { f64::INFINITY } else { 0.0 })
    }

    fn extend(&self, (label, sum): Sums, id: LinkId) -> Sums {
        let link = self.graph.link(id);
        let sum = match self.cost {
            Cost::Sum(number) => sum + number(link),
            Cost::Least(number) => sum.min(number(link)),
            Cost::OfPath(_) => sum,
        };
        (label.extend(self.labels[id as usize]), sum)
    }

    /// Hops, seconds, a loss ratio, OSPF's cost, the operator's cost, bits per second, or seconds x sqrt(loss).
    fn value(&self, (label, sum): Sums) -> f64 {
        if let Some(law) = &self.law {
            return law.of_path(&label, sum);
        }
        match self.cost {
            Cost::OfPath(number) => number(&label),
            Cost::Sum(_) | Cost::Least(_) => sum,
        }
    }

    fn sums_of(&self, links: &[LinkId]) -> Sums {
        links.iter().fold(self.start(), |sums, &link| self.extend(sums, link))
    }

    /// The cost of the path of these links.
    pub fn of_path(&self, links: &[LinkId]) -> f64 {
        self.value(self.sums_of(links))
    }

    /// The costs of a tree's paths by node; infinite where there is no path.
    fn of_tree(&self, tree: &SourceTree) -> Vec<f64> {
        let mut sums = vec![None; tree.reached_by.len()];
        sums[tree.source as usize] = Some(self.start());
        let mut waiting = Vec::new();
        for node in 0..tree.reached_by.len() {
            let mut at = node;
            while sums[at].is_none() && tree.reached_by[at] != LinkId::MAX {
                let link = tree.reached_by[at];
                waiting.push((at, link));
                at = self.graph.link(link).src as usize;
            }
            while let Some((node, link)) = waiting.pop() {
                sums[node] = sums[self.graph.link(link).src as usize].map(|before| self.extend(before, link));
            }
        }
        sums.into_iter().map(|sums| sums.map_or(f64::INFINITY, |sums| self.value(sums))).collect()
    }
}

impl PairRoutes {
    /// Adds a pair with its paths.
    pub fn push<P: AsRef<[LinkId]>>(
        &mut self,
        cost: &PathCost,
        src: NodeId,
        dst: NodeId,
        paths: impl IntoIterator<Item = P>,
    ) {
        self.src.push(src);
        self.dst.push(dst);
        let before = self.hops.len();
        for path in paths {
            let links = path.as_ref();
            let sums = cost.sums_of(links);
            self.hops.push(links.len() as u32);
            self.delay_s.push(sums.0.delay().as_secs());
            self.loss.push(sums.0.loss());
            self.cost.push(cost.value(sums));
            self.links.extend_from_slice(links);
        }
        let paths = self.hops.len() - before;
        self.paths.push(paths as u32);
        self.share.extend(std::iter::repeat_n(1.0 / paths as f64, paths));
    }

    fn push_pair(&mut self, of: &PairRoutes, pair: usize) {
        self.src.push(of.src[pair]);
        self.dst.push(of.dst[pair]);
        self.paths.push(of.paths[pair]);
    }

    fn push_paths(&mut self, of: &PairRoutes, paths: Range<usize>, links: Range<usize>) {
        self.hops.extend_from_slice(&of.hops[paths.clone()]);
        self.share.extend_from_slice(&of.share[paths.clone()]);
        self.delay_s.extend_from_slice(&of.delay_s[paths.clone()]);
        self.loss.extend_from_slice(&of.loss[paths.clone()]);
        self.cost.extend_from_slice(&of.cost[paths]);
        self.links.extend_from_slice(&of.links[links]);
    }

    /// The pairs of several lists, source by source. Each list has the routes of the same `sources` to one destination, except from that
    /// destination itself.
    pub fn by_source(sources: &[NodeId], to_each: &[&PairRoutes]) -> PairRoutes {
        let mut found = PairRoutes::default();
        let mut next = vec![(0, 0, 0); to_each.len()];
        for &source in sources {
            for ((pair, path, link), of) in next.iter_mut().zip(to_each) {
                if of.src.get(*pair) != Some(&source) {
                    continue;
                }
                let paths = *path..*path + of.paths[*pair] as usize;
                let hops: u32 = of.hops[paths.clone()].iter().sum();
                let links = *link..*link + hops as usize;
                found.push_pair(of, *pair);
                (*pair, *path, *link) = (*pair + 1, paths.end, links.end);
                found.push_paths(of, paths, links);
            }
        }
        found
    }

    /// Gives the paths added last shares in proportion to these values.
    pub fn share_last(&mut self, values: &[f64]) {
        let (first, total) = (self.share.len() - values.len(), values.iter().sum::<f64>());
        self.share.truncate(first);
        self.share.extend(values.iter().map(|value| value / total));
    }

    /// Gives the paths of each pair shares in proportion to the inverse of the cost, or to the cost if more is better. If some cost
    /// nothing, only they stay.
    pub fn weighted_by_cost(&self, more_is_better: bool) -> PairRoutes {
        let mut found = PairRoutes::default();
        let (mut path, mut link) = (0, 0);
        for pair in 0..self.src.len() {
            found.push_pair(self, pair);
            let paths = path..path + self.paths[pair] as usize;
            let costs = &self.cost[paths.clone()];
            let is_free = costs.contains(&0.0);
            let good = |cost: f64| match (more_is_better, is_free) {
                (true, _) => cost,
                (false, true) => f64::from(u8::from(cost == 0.0)),
                (false, false) => 1.0 / cost,
            };
            let total: f64 = costs.iter().map(|&cost| good(cost)).sum();
            let mut kept = 0;
            for path in paths.clone() {
                let links = link..link + self.hops[path] as usize;
                link = links.end;
                let good = good(self.cost[path]);
                if good > 0.0 {
                    found.push_paths(self, path..path + 1, links);
                    found.share[found.hops.len() - 1] = good / total;
                    kept += 1;
                }
            }
            found.paths[pair] = kept;
            path = paths.end;
        }
        found
    }
}

/// Finds trees of paths by a metric.
enum TreeFinder<'a> {
    Additive(&'a Graph, Vec<Weight>),
    Lexicographic(&'a Graph, Vec<Lexicographic>),
    Throughput(ModifiedDijkstra),
}

impl<'a> TreeFinder<'a> {
    fn new(graph: &'a Graph, metric: &MetricSpec) -> Result<TreeFinder<'a>, RoutingError> {
        Ok(match metric {
            MetricSpec::Throughput(ThroughputMetric::Tcpbp) => TreeFinder::Throughput(ModifiedDijkstra::new(graph)),
            MetricSpec::Throughput(metric @ (ThroughputMetric::TcpbpExact | ThroughputMetric::Goodput(_))) => {
                return Err(RoutingError::NoTree { metric: metric.name() });
            }
            _ => match isotone_weights(graph, metric)? {
                IsotoneWeights::Additive(weights) => TreeFinder::Additive(graph, weights),
                IsotoneWeights::Lexicographic(weights) => TreeFinder::Lexicographic(graph, weights),
            },
        })
    }

    fn tree(&mut self, source: NodeId) -> SourceTree {
        match self {
            TreeFinder::Additive(graph, weights) => SourceTree::shortest(graph, weights, source),
            TreeFinder::Lexicographic(graph, weights) => SourceTree::shortest(graph, weights, source),
            TreeFinder::Throughput(search) => search.tree(source, Queue::Heap),
        }
    }

    fn costs(&self, tree: &SourceTree, cost: &PathCost) -> Vec<f64> {
        match self {
            TreeFinder::Throughput(search) => search.costs().collect(),
            _ => cost.of_tree(tree),
        }
    }
}

/// The trees that a metric gives from each source: one path to every node, each the extension of the path to the node before.
///
/// # Errors
/// [`RoutingError`]: a node that does not exist, a link without a weight in the metric, or `tcpbp-exact`, whose paths make
/// no tree.
pub fn trees(graph: &Graph, metric: &MetricSpec, sources: &[NodeId]) -> Result<Trees, RoutingError> {
    let cells = sources.len() * graph.nodes();
    let mut found = Trees { cost: Vec::with_capacity(cells), reached_by: Vec::with_capacity(cells) };
    let cost = PathCost::new(graph, metric);
    let mut finder = TreeFinder::new(graph, metric)?;
    for &source in sources {
        graph.check_node(source)?;
        let tree = finder.tree(source);
        found.cost.extend(finder.costs(&tree, &cost));
        found.reached_by.extend(tree.reached_by);
    }
    Ok(found)
}

/// The route from every source to every destination other than itself, one path each, none where there is no way.
///
/// # Errors
/// [`RoutingError`]: a node that does not exist, or a link without a weight in the metric.
pub fn routes(
    graph: &Graph,
    metric: &MetricSpec,
    sources: &[NodeId],
    destinations: &[NodeId],
) -> Result<PairRoutes, RoutingError> {
    for &node in sources.iter().chain(destinations) {
        graph.check_node(node)?;
    }
    let mut found = PairRoutes::default();
    let cost = PathCost::new(graph, metric);
    let mut take = |source: NodeId, path: &dyn Fn(NodeId) -> Option<Vec<LinkId>>| {
        for &destination in destinations.iter().filter(|&&destination| destination != source) {
            found.push(&cost, source, destination, path(destination));
        }
    };
    if let MetricSpec::Throughput(ThroughputMetric::Goodput(law)) = metric {
        let searches = destinations.iter().map(|&destination| ParetoTowards::new(graph, destination));
        let searches = searches.collect::<Result<Vec<_>, _>>()?;
        for &source in sources {
            for (&destination, search) in destinations.iter().zip(&searches).filter(|(end, _)| **end != source) {
                found.push(&cost, source, destination, search.best_from(source, MOST_LABELS, law)?);
            }
        }
    } else if *metric == MetricSpec::Throughput(ThroughputMetric::TcpbpExact) {
        let search = ExactSearch::new(graph);
        for &source in sources {
            let routes = search.to(source, destinations.to_vec());
            take(source, &|destination| routes.path(destination));
        }
    } else {
        let mut finder = TreeFinder::new(graph, metric)?;
        for &source in sources {
            let tree = finder.tree(source);
            take(source, &|destination| tree.path(graph, destination));
        }
    }
    Ok(found)
}

/// The path of every ordered pair, if each router forwards along its own route. No path if packets loop or no route exists.
///
/// # Errors
/// See [`routes`].
pub fn hop_by_hop(graph: &Graph, metric: &MetricSpec) -> Result<PairRoutes, RoutingError> {
    let nodes: Vec<NodeId> = (0..graph.nodes() as NodeId).collect();
    let planned = routes(graph, metric, &nodes, &nodes)?;
    let mut first_links = vec![LinkId::MAX; nodes.len() * nodes.len()];
    let mut links = &planned.links[..];
    let mut hops = planned.hops.iter();
    for ((&src, &dst), &paths) in planned.src.iter().zip(&planned.dst).zip(&planned.paths) {
        for &hops in hops.by_ref().take(paths as usize) {
            first_links[src as usize * nodes.len() + dst as usize] = links[0];
            links = &links[hops as usize..];
        }
    }
    let cost = PathCost::new(graph, metric);
    let mut found = PairRoutes::default();
    for (&src, &dst) in planned.src.iter().zip(&planned.dst) {
        let mut path = Vec::new();
        let mut at = src;
        // A path of as many links as there are nodes has visited one of them twice.
        while at != dst && path.len() < nodes.len() {
            let link = first_links[at as usize * nodes.len() + dst as usize];
            if link == LinkId::MAX {
                break;
            }
            path.push(link);
            at = graph.link(link).dst;
        }
        found.push(&cost, src, dst, (at == dst).then_some(path));
    }
    Ok(found)
}

/// Number of best paths by an isotone metric, from each node to each other, row by row; 1 from a node to itself.
///
/// # Errors
/// [`RoutingError`]: a link without a weight in the metric, or a metric that is not isotone.
pub fn path_counts(graph: &Graph, metric: &MetricSpec) -> Result<Vec<f64>, RoutingError> {
    Ok(match isotone_weights(graph, metric)? {
        IsotoneWeights::Additive(weights) => counts(graph, &weights),
        IsotoneWeights::Lexicographic(weights) => counts(graph, &weights),
    })
}

fn counts<W: PathWeight>(graph: &Graph, weights: &[W]) -> Vec<f64> {
    let nodes = graph.nodes();
    let mut counts = vec![0.0; nodes * nodes];
    for destination in 0..nodes {
        let tree = ShortestTree::new(graph, weights, destination as NodeId);
        let mut nearest_first: Vec<(W, usize)> =
            (0..nodes).filter_map(|node| Some((tree.distance[node]?, node))).collect();
        nearest_first.sort_unstable();
        counts[destination * nodes + destination] = 1.0;
        for (_, node) in nearest_first.into_iter().skip(1) {
            let next = tree.equal_cost(node as NodeId).into_iter().map(|link| graph.link(link).dst as usize);
            counts[node * nodes + destination] = next.map(|next| counts[next * nodes + destination]).sum();
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::super::tcpbp::test_networks::{any_graph, both_ways};
    use super::super::test_support::{network, simple_paths};
    use super::*;
    use proptest::prelude::*;

    const TCPBP: MetricSpec = MetricSpec::Throughput(ThroughputMetric::Tcpbp);
    const EXACT: MetricSpec = MetricSpec::Throughput(ThroughputMetric::TcpbpExact);

    /// The nodes on the only path of a pair; none if it has none.
    fn nodes_of(graph: &Graph, found: &PairRoutes, src: NodeId, dst: NodeId) -> Vec<NodeId> {
        let index = (0..found.src.len()).find(|&index| (found.src[index], found.dst[index]) == (src, dst)).unwrap();
        if found.paths[index] == 0 {
            return Vec::new();
        }
        let path = found.paths[..index].iter().sum::<u32>() as usize;
        let first = found.hops[..path].iter().sum::<u32>() as usize;
        let links = &found.links[first..first + found.hops[path] as usize];
        std::iter::once(src).chain(links.iter().map(|&link| graph.link(link).dst)).collect()
    }

    /// The specification's example, in milliseconds.
    fn looping() -> Graph {
        let links = [
            (0, 1, 4, 0.03),
            (0, 7, 13, 0.005),
            (1, 3, 2, 0.005),
            (3, 4, 17, 0.001),
            (3, 5, 6, 0.03),
            (4, 5, 1, 0.002),
            (5, 7, 3, 0.03),
        ];
        both_ways(8, &links.map(|(a, b, delay, loss)| (a, b, delay * 1000, loss)))
    }

    #[test]
    fn routers_that_each_go_by_the_heuristic_may_send_packets_in_a_loop() {
        let graph = looping();
        let all: Vec<NodeId> = (0..8).collect();
        let planned = routes(&graph, &TCPBP, &all, &all).unwrap();
        assert_eq!(nodes_of(&graph, &planned, 1, 7), [1, 3, 5, 7]);
        assert_eq!(nodes_of(&graph, &planned, 3, 7), [3, 1, 0, 7]);
        assert!(nodes_of(&graph, &hop_by_hop(&graph, &TCPBP).unwrap(), 1, 7).is_empty());
        assert!(!nodes_of(&graph, &hop_by_hop(&graph, &EXACT).unwrap(), 1, 7).is_empty());
    }

    proptest! {
        #[test]
        fn routers_that_each_go_by_the_exact_optimum_never_loop_and_cost_at_least_what_is_planned(graph in any_graph(8, 30)) {
            // The remaining part of an optimal path costs strictly less than the whole path, so the cost of the routers' plans
            // falls at each hop.
            let all: Vec<NodeId> = (0..graph.nodes() as NodeId).collect();
            let (planned, delivered) = (routes(&graph, &EXACT, &all, &all).unwrap(), hop_by_hop(&graph, &EXACT).unwrap());
            prop_assert_eq!(&planned.paths, &delivered.paths);
            for (planned, delivered) in planned.cost.iter().zip(&delivered.cost) {
                prop_assert!(*delivered >= planned * (1.0 - 1e-12));
            }
        }

        #[test]
        fn routers_that_go_by_an_isotone_metric_deliver_what_is_planned(graph in any_graph(8, 30)) {
            let all: Vec<NodeId> = (0..graph.nodes() as NodeId).collect();
            for metric in [Metric::HopCount, Metric::Delay, Metric::Loss, Metric::Widest] {
                let planned = routes(&graph, &metric.into(), &all, &all).unwrap();
                prop_assert_eq!(planned, hop_by_hop(&graph, &metric.into()).unwrap());
            }
        }

        #[test]
        fn paths_are_counted_as_they_are_listed(network in network(6, 14, 1..3)) {
            let counts = counts(&network.graph, &network.weights);
            for source in 0..network.graph.nodes() as NodeId {
                for destination in (0..network.graph.nodes() as NodeId).filter(|&node| node != source) {
                    let paths = simple_paths(&network, source, destination);
                    let least = paths.iter().map(|path| path.weight.value()).min();
                    let best = paths.iter().filter(|path| Some(path.weight.value()) == least).count();
                    prop_assert_eq!(counts[source as usize * network.graph.nodes() + destination as usize], best as f64);
                }
            }
        }

        #[test]
        fn costs_of_trees_are_those_of_their_paths(graph in any_graph(8, 30)) {
            let all: Vec<NodeId> = (0..graph.nodes() as NodeId).collect();
            let metrics = [Metric::HopCount, Metric::Delay, Metric::Loss, Metric::Ospf, Metric::Cost, Metric::Widest];
            for metric in metrics.map(MetricSpec::One).into_iter().chain([TCPBP]) {
                let found = routes(&graph, &metric, &all, &all).unwrap();
                let trees = trees(&graph, &metric, &all).unwrap();
                let reached = found.paths.iter().zip(found.src.iter().zip(&found.dst)).filter(|(paths, _)| **paths > 0);
                for ((_, (src, dst)), cost) in reached.zip(&found.cost) {
                    let in_tree = trees.cost[*src as usize * graph.nodes() + *dst as usize];
                    prop_assert!((in_tree - cost).abs() <= 1e-9 * cost.abs(), "{metric:?}: {in_tree} for {cost}");
                }
                let missing = found.paths.iter().filter(|paths| **paths == 0).count();
                prop_assert_eq!(trees.cost.iter().filter(|cost| cost.is_infinite()).count(), missing
                    + if metric == MetricSpec::One(Metric::Widest) { graph.nodes() } else { 0 });
            }
        }
    }
}
