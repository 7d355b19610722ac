//! Paths and next hops.
//!
//! A routing forwards hop by hop ([`next_hops`]), or along explicit paths that the source chooses ([`explicit_paths`],
//! [`HopsSpec::is_explicit`]). Both use only links that are up ([`Graph::set_up`]). Results depend only on the graph and the
//! routing. Hops and link ids decide ties (see [`Path`]).

mod algebra;
mod backbone;
mod disjoint;
mod disjoint_sets;
mod error;
mod explicit;
mod goodput;
mod goodput_paths;
mod graph;
mod k_shortest;
mod lexicographic;
mod max_flow;
mod metric;
mod near_equal;
mod next_hops;
mod node_disjoint;
mod pair_paths;
mod pareto;
mod path_sets;
pub mod routes;
pub mod rows;
mod shared_ends;
mod shortest;
mod source_tree;
pub mod tcpbp;
#[cfg(test)]
pub(crate) mod test_support;
mod towards;

pub use algebra::PathWeight;
pub use disjoint::disjoint_paths;
pub use error::RoutingError;
pub use goodput::GoodputLaw;
pub use graph::{Graph, Link, first_reaches_all, is_simple};
pub use k_shortest::LooplessPaths;
pub use lexicographic::{Lexicographic, lexicographic_weights};
pub use max_flow::max_flow;
pub use metric::{Metric, MetricInfo, Weight, link_weights, ospf_cost};
pub use near_equal::near_equal;
pub use next_hops::{LinkLists, NextHopSearch, NextHops};
pub use node_disjoint::NodeDisjoint;
pub use pair_paths::paths_of_pairs;
pub use pareto::{MOST_LABELS, ParetoTowards};
pub use path_sets::{ThroughputSets, explicit_paths, pareto_sets, path_sets, throughput_sets};
pub use shortest::{Path, ShortestTree, shortest_path};
pub use source_tree::SourceTree;
pub use towards::{ShortestPaths, Towards, shortest_paths};

use self::tcpbp::exact::ExactSearch;
use self::tcpbp::heuristic::{ModifiedDijkstra, Queue};
use crate::spec::{HopsSpec, LinkId, MetricSpec, NodeId, ThroughputMetric};

/// One of the paths between two nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedPath {
    /// The links of the path from source to destination.
    pub links: Vec<LinkId>,
    /// Share of the traffic under the selector `weighted`; the shares of all paths add up to 1, to within rounding.
    pub weight: f64,
}

impl HopsSpec {
    /// Whether the source chooses among explicit paths; if not, every node chooses among next hops.
    pub fn is_explicit(&self) -> bool {
        match self {
            HopsSpec::Shortest { .. } | HopsSpec::EqualCost { .. } => false,
            HopsSpec::Disjoint { .. }
            | HopsSpec::KShortest { .. }
            | HopsSpec::NearEqual { .. }
            | HopsSpec::Explicit { .. } => true,
        }
    }
}

/// The next hops of every node towards `dst`, by node, each by ascending link id. A node without a path has none, and neither has
/// `dst`. By an isotone metric, packets that follow any of them arrive without a loop. By predicted throughput, every node uses its
/// own path, and packets may loop.
///
/// # Errors
/// [`RoutingError`]: a node that does not exist, a link without a weight in the metric, a routing along explicit paths, or
/// equal-cost sets by a metric that is not isotone.
pub fn next_hops(graph: &Graph, hops: &HopsSpec, dst: NodeId) -> Result<Vec<Vec<LinkId>>, RoutingError> {
    graph.check_node(dst)?;
    let (metric, all) = match hops {
        HopsSpec::Shortest { metric } => (metric, false),
        HopsSpec::EqualCost { metric } => (metric, true),
        HopsSpec::Disjoint { .. }
        | HopsSpec::KShortest { .. }
        | HopsSpec::NearEqual { .. }
        | HopsSpec::Explicit { .. } => {
            return Err(RoutingError::AlongPaths);
        }
    };
    match metric {
        MetricSpec::Throughput(metric) if all => {
            Err(RoutingError::NotIsotoneFor { metric: metric.name(), wanted: "equal-cost next hops" })
        }
        MetricSpec::Throughput(metric) => {
            let mut find = throughput_paths(graph, metric, dst)?;
            let first = |node| Ok(find(node)?.unwrap_or_default().first().copied().into_iter().collect());
            (0..graph.nodes() as NodeId).map(first).collect()
        }
        _ => Ok(match isotone_weights(graph, metric)? {
            IsotoneWeights::Additive(weights) => hops_of_tree(&ShortestTree::new(graph, &weights, dst), all),
            IsotoneWeights::Lexicographic(weights) => hops_of_tree(&ShortestTree::new(graph, &weights, dst), all),
        }),
    }
}

fn hops_of_tree<W: PathWeight>(tree: &ShortestTree<W>, all: bool) -> Vec<Vec<LinkId>> {
    let at = |node| if all { tree.equal_cost(node) } else { tree.next_hop(node).into_iter().collect() };
    (0..tree.distance.len() as NodeId).map(at).collect()
}

/// The weight of every link in an isotone metric.
enum IsotoneWeights {
    Additive(Vec<Weight>),
    Lexicographic(Vec<Lexicographic>),
}

fn isotone_weights(graph: &Graph, metric: &MetricSpec) -> Result<IsotoneWeights, RoutingError> {
    match metric {
        MetricSpec::One(metric) if metric.is_bottleneck() => {
            lexicographic_weights(graph, &[*metric]).map(IsotoneWeights::Lexicographic)
        }
        MetricSpec::One(metric) => link_weights(graph, *metric).map(IsotoneWeights::Additive),
        MetricSpec::Lexicographic(metrics) => lexicographic_weights(graph, metrics).map(IsotoneWeights::Lexicographic),
        MetricSpec::Throughput(metric) => {
            Err(RoutingError::NotIsotoneFor { metric: metric.name(), wanted: "several shortest paths" })
        }
    }
}

fn additive_weights(graph: &Graph, metric: &MetricSpec) -> Result<Vec<Weight>, RoutingError> {
    match metric {
        MetricSpec::One(metric) => link_weights(graph, *metric),
        MetricSpec::Lexicographic(metrics) => {
            let names: Vec<_> = metrics.iter().map(|metric| metric.name()).collect();
            Err(RoutingError::NotAdditive { metric: format!("[{}]", names.join(", ")) })
        }
        MetricSpec::Throughput(metric) => Err(RoutingError::NotAdditive { metric: metric.name().into() }),
    }
}

/// Finds the path of a node, if it has one.
type FindPath<'a> = Box<dyn FnMut(NodeId) -> Result<Option<Vec<LinkId>>, RoutingError> + 'a>;

/// Finds the path that a node has to a destination by predicted throughput, node by node.
///
/// # Errors
/// [`RoutingError`] of a link without a weight, and from the function, of too many labels.
fn throughput_paths<'a>(
    graph: &'a Graph,
    metric: &'a ThroughputMetric,
    dst: NodeId,
) -> Result<FindPath<'a>, RoutingError> {
    Ok(match metric {
        ThroughputMetric::Tcpbp => {
            let mut search = ModifiedDijkstra::new(graph);
            Box::new(move |src| Ok(search.tree(src, Queue::Heap).path(graph, dst)))
        }
        ThroughputMetric::TcpbpExact => {
            let search = ExactSearch::new(graph);
            Box::new(move |src| Ok(search.to(src, vec![dst]).path(dst)))
        }
        ThroughputMetric::Goodput(law) => {
            let search = ParetoTowards::new(graph, dst)?;
            Box::new(move |src| search.best_from(src, MOST_LABELS, law))
        }
    })
}

impl ThroughputMetric {
    /// Name of the algorithm in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            ThroughputMetric::Tcpbp => TCPBP.name,
            ThroughputMetric::TcpbpExact => TCPBP_EXACT.name,
            ThroughputMetric::Goodput(_) => GOODPUT.name,
        }
    }
}

const TCPBP: MetricInfo = MetricInfo {
    name: "tcpbp",
    kind: "throughput",
    summary: "delay x sqrt(loss), by the paper's modified Dijkstra: a heuristic",
    needs: &["delay_s", "loss"],
    is_measured: true,
};
const TCPBP_EXACT: MetricInfo =
    MetricInfo { name: "tcpbp-exact", summary: "delay x sqrt(loss), the true optimum", ..TCPBP };
/// The stack follows a colon.
const GOODPUT: MetricInfo = MetricInfo {
    name: "goodput:STACK",
    summary: "the predicted goodput of a flow with this stack, bit/s, the greater the better",
    needs: &["delay_s", "loss", "capacity_bps"],
    is_measured: false,
    ..TCPBP
};

/// All metrics, for the scenario schema.
pub fn describe_metrics() -> Vec<MetricInfo> {
    Metric::ALL.iter().map(|metric| metric.describe()).chain([TCPBP, TCPBP_EXACT, GOODPUT]).collect()
}

#[cfg(test)]
mod tests;
