//! The sets of explicit paths that a routing gives, for one pair or many.

use super::routes::{PairRoutes, PathCost};
use super::{
    Graph, IsotoneWeights, Lexicographic, NodeDisjoint, RoutingError, Weight, WeightedPath, additive_weights,
    best_throughput_path, disjoint_paths, explicit, isotone_weights, shortest_paths,
};
use crate::spec::{Disjointness, HopsSpec, LinkId, MetricSpec, NodeId, ThroughputMetric};

/// How a routing finds its paths, with what it needs to know of every link.
enum Method<'a> {
    LinkDisjoint(Vec<Weight>, usize),
    NodeDisjoint(NodeDisjoint, usize),
    Shortest(Vec<Weight>, usize),
    ShortestLexicographic(Vec<Lexicographic>, usize),
    ByThroughput(ThroughputMetric),
    Given(&'a [Vec<NodeId>], &'a [f64]),
}

/// Paths with their weights, which need not add up to 1 yet.
type Weighted = Vec<(Vec<LinkId>, f64)>;

impl<'a> Method<'a> {
    fn new(graph: &Graph, hops: &'a HopsSpec) -> Result<Method<'a>, RoutingError> {
        Ok(match hops {
            HopsSpec::Disjoint { paths: 0, .. } | HopsSpec::KShortest { paths: 0, .. } => {
                return Err(RoutingError::NoPathsWanted);
            }
            HopsSpec::Disjoint { metric, paths, by } => {
                let (weights, most) = (additive_weights(graph, metric)?, *paths as usize);
                match by {
                    Disjointness::Links => Method::LinkDisjoint(weights, most),
                    Disjointness::Nodes => Method::NodeDisjoint(NodeDisjoint::new(graph, &weights), most),
                }
            }
            HopsSpec::KShortest { metric: MetricSpec::Throughput(metric), paths } => {
                if *paths > 1 {
                    return Err(RoutingError::NotIsotoneFor {
                        metric: metric.name(),
                        wanted: "several shortest paths",
                    });
                }
                Method::ByThroughput(*metric)
            }
            HopsSpec::KShortest { metric, paths } => match isotone_weights(graph, metric)? {
                IsotoneWeights::Additive(weights) => Method::Shortest(weights, *paths as usize),
                IsotoneWeights::Lexicographic(weights) => Method::ShortestLexicographic(weights, *paths as usize),
            },
            HopsSpec::Explicit { paths, weights } => Method::Given(paths, weights),
            HopsSpec::Shortest { .. } | HopsSpec::EqualCost { .. } => return Err(RoutingError::HopByHop),
        })
    }

    fn paths(&self, graph: &Graph, src: NodeId, dst: NodeId) -> Result<Weighted, RoutingError> {
        fn equally(paths: impl Iterator<Item = Vec<LinkId>>) -> Weighted {
            paths.map(|links| (links, 1.0)).collect()
        }
        Ok(match self {
            Method::LinkDisjoint(weights, most) => {
                equally(disjoint_paths(graph, weights, src, dst, *most).into_iter().map(|path| path.links))
            }
            Method::NodeDisjoint(search, most) => {
                equally(search.paths(src, dst, *most).into_iter().map(|path| path.links))
            }
            Method::Shortest(weights, most) => {
                equally(shortest_paths(graph, weights, src, dst).take(*most).map(|path| path.links))
            }
            Method::ShortestLexicographic(weights, most) => {
                equally(shortest_paths(graph, weights, src, dst).take(*most).map(|path| path.links))
            }
            Method::ByThroughput(metric) => equally(best_throughput_path(graph, *metric, src, dst).into_iter()),
            Method::Given(paths, weights) => explicit::given_paths(graph, paths, weights, src, dst)?,
        })
    }
}

/// The explicit paths of a routing from `src` to `dst`: computed ones shortest first and of equal weight, given ones as
/// given. There is at least one.
///
/// Given paths over a link that is down are left out, and the weights of the others add up to 1. Only given paths between
/// these two nodes are looked at, so errors in others go unnoticed.
///
/// # Errors
/// [`RoutingError`]: a node that does not exist, `src` and `dst` the same, a link without a weight in the metric, no path
/// wanted, no path there, a given path that is not one, or a routing that forwards hop by hop.
pub fn explicit_paths(
    graph: &Graph,
    hops: &HopsSpec,
    src: NodeId,
    dst: NodeId,
) -> Result<Vec<WeightedPath>, RoutingError> {
    graph.check_node(src)?;
    graph.check_node(dst)?;
    if src == dst {
        return Err(RoutingError::SameEnds { node: src });
    }
    let paths = Method::new(graph, hops)?.paths(graph, src, dst)?;
    if paths.is_empty() {
        return Err(RoutingError::NoPath { src, dst });
    }
    let total: f64 = paths.iter().map(|(_, weight)| weight).sum();
    Ok(paths.into_iter().map(|(links, weight)| WeightedPath { links, weight: weight / total }).collect())
}

/// The explicit paths of a routing from every source to every destination other than itself, none where there is no way; with
/// their costs by `metric`.
///
/// # Errors
/// [`RoutingError`]: a node that does not exist, or as [`explicit_paths`].
pub fn path_sets(
    graph: &Graph,
    hops: &HopsSpec,
    metric: &MetricSpec,
    sources: &[NodeId],
    destinations: &[NodeId],
) -> Result<PairRoutes, RoutingError> {
    for &node in sources.iter().chain(destinations) {
        graph.check_node(node)?;
    }
    let method = Method::new(graph, hops)?;
    let cost = PathCost::new(graph, metric);
    let mut found = PairRoutes::default();
    for &src in sources {
        for &dst in destinations.iter().filter(|&&dst| dst != src) {
            let paths = method.paths(graph, src, dst)?;
            found.push(&cost, src, dst, paths.into_iter().map(|(links, _)| links));
        }
    }
    Ok(found)
}
