//! Many routes at once, as columns of numbers: what the Python face asks for.

use super::metric::ospf_cost;
use super::tcpbp::Label;
use super::tcpbp::exact::ExactSearch;
use super::tcpbp::heuristic::{ModifiedDijkstra, Queue};
use super::{Graph, IsotoneWeights, Lexicographic, PathWeight, RoutingError, SourceTree, Weight, isotone_weights};
use crate::spec::{LinkId, Metric, MetricSpec, NodeId, ThroughputMetric};

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
    /// Its destination.
    pub dst: Vec<NodeId>,
    /// How many paths it has.
    pub paths: Vec<u32>,
    /// How many links each path has.
    pub hops: Vec<u32>,
    /// The links of all paths, one path after another.
    pub links: Vec<LinkId>,
    /// The delay of each path, seconds.
    pub delay_s: Vec<f64>,
    /// The loss ratio of each path.
    pub loss: Vec<f64>,
    /// The cost of each path in the metric's unit.
    pub cost: Vec<f64>,
}

/// The cost of a path as users read it: of a metric, or of the first of several.
#[derive(Debug, Clone)]
pub struct PathCost<'a> {
    graph: &'a Graph,
    labels: Vec<Label>,
    first: Option<Metric>,
}

/// What adds up along a path: its label, and its sum (for `widest`, its least rate) in the metric.
type Sums = (Label, f64);

impl<'a> PathCost<'a> {
    /// Costs by a metric.
    pub fn new(graph: &'a Graph, metric: &MetricSpec) -> PathCost<'a> {
        let first = match metric {
            MetricSpec::One(metric) => Some(*metric),
            MetricSpec::Lexicographic(metrics) => metrics.first().copied(),
            MetricSpec::Throughput(_) => None,
        };
        PathCost { graph, labels: graph.links().iter().map(Label::of_link).collect(), first }
    }

    fn start(&self) -> Sums {
        (Label::IDENTITY, if self.first == Some(Metric::Widest) { f64::INFINITY } else { 0.0 })
    }

    fn extend(&self, (label, sum): Sums, id: LinkId) -> Sums {
        let link = self.graph.link(id);
        let sum = match self.first {
            Some(Metric::HopCount) => sum + 1.0,
            Some(Metric::Ospf) => sum + ospf_cost(link.rate.0).unwrap_or(0) as f64,
            Some(Metric::Cost) => sum + link.cost,
            Some(Metric::Widest) => sum.min(link.rate.0 as f64),
            Some(Metric::Delay | Metric::Loss) | None => sum,
        };
        (label.extend(self.labels[id as usize]), sum)
    }

    /// Hops, seconds, a loss ratio, OSPF's cost, the operator's cost, bits per second, or seconds x sqrt(loss).
    fn value(&self, (label, sum): Sums) -> f64 {
        match self.first {
            None => label.cost(),
            Some(Metric::Delay) => label.delay().as_secs(),
            Some(Metric::Loss) => label.loss(),
            Some(Metric::HopCount | Metric::Ospf | Metric::Cost | Metric::Widest) => sum,
        }
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
    pub fn push(&mut self, cost: &PathCost, src: NodeId, dst: NodeId, paths: impl IntoIterator<Item = Vec<LinkId>>) {
        self.src.push(src);
        self.dst.push(dst);
        let before = self.hops.len();
        for links in paths {
            let sums = links.iter().fold(cost.start(), |sums, &link| cost.extend(sums, link));
            self.hops.push(links.len() as u32);
            self.delay_s.push(sums.0.delay().as_secs());
            self.loss.push(sums.0.loss());
            self.cost.push(cost.value(sums));
            self.links.extend(links);
        }
        self.paths.push((self.hops.len() - before) as u32);
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
            MetricSpec::Throughput(ThroughputMetric::TcpbpExact) => return Err(RoutingError::NoTree),
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
    if *metric == MetricSpec::Throughput(ThroughputMetric::TcpbpExact) {
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
