//! The explicit paths of a routing, for one pair or many.

use super::disjoint_sets::DisjointSets;
use super::goodput_paths::{GoodputTowards, Prospect};
use super::near_equal::{check_threshold, near_equal, shares};
use super::pareto::ParetoTowards;
use super::routes::{PairRoutes, PathCost};
use super::tcpbp::Label;
use super::tcpbp::onward::BestTowards;
use super::{
    GoodputLaw, Graph, IsotoneWeights, Lexicographic, NodeDisjoint, Path, PathWeight, RoutingError, Towards, Weight,
    WeightedPath, additive_weights, disjoint_paths, explicit, isotone_weights, throughput_paths,
};
use crate::spec::{Disjointness, HopsSpec, LinkId, Metric, MetricSpec, NodeId, ThroughputMetric};

/// The method by which a routing finds its paths, with the weights of all links.
enum Method<'a> {
    LinkDisjoint(Vec<Weight>, usize),
    NodeDisjoint(NodeDisjoint, usize),
    Shortest(Vec<Weight>, usize),
    ShortestLexicographic(Vec<Lexicographic>, usize),
    DisjointByThroughput(&'a ThroughputMetric, usize, Disjointness),
    BestByTcpbp(usize),
    BestByGoodput(&'a GoodputLaw, usize),
    OnePath(&'a ThroughputMetric),
    NearEqual(Vec<Weight>, f64, usize),
    NearEqualByTcpbp(f64, usize),
    NearEqualByGoodput(&'a GoodputLaw, f64, usize),
    Given(&'a [Vec<NodeId>], &'a [f64]),
}

/// Paths with their weights, which need not add up to 1 yet.
type Weighted = Vec<(Vec<LinkId>, f64)>;

/// Finds the paths from a source to a fixed destination.
type Find<'a> = Box<dyn Fn(NodeId) -> Result<Weighted, RoutingError> + 'a>;

fn equally<W>(paths: impl IntoIterator<Item = Path<W>>) -> Weighted {
    paths.into_iter().map(|path| (path.links, 1.0)).collect()
}

fn by_cost<W>(paths: impl Iterator<Item = Path<W>>, cost: impl Fn(&W) -> f64) -> Weighted {
    let (costs, links): (Vec<f64>, Vec<_>) = paths.map(|path| (cost(&path.weight), path.links)).unzip();
    links.into_iter().zip(shares(&costs)).collect()
}

fn shortest<'a, W: PathWeight>(graph: &'a Graph, weights: &'a [W], dst: NodeId, most: usize) -> Find<'a> {
    let towards = Towards::new(graph, weights, dst);
    Box::new(move |src| Ok(equally(towards.paths_from(src).take(most))))
}

fn sum(weight: &Weight) -> f64 {
    weight.value() as f64
}

impl<'a> Method<'a> {
    fn new(graph: &Graph, hops: &'a HopsSpec) -> Result<Method<'a>, RoutingError> {
        Ok(match hops {
            HopsSpec::Disjoint { paths: 0, .. }
            | HopsSpec::KShortest { paths: 0, .. }
            | HopsSpec::NearEqual { paths: 0, .. } => return Err(RoutingError::NoPathsWanted),
            HopsSpec::Disjoint { metric: MetricSpec::Throughput(metric), paths, by } => {
                Method::DisjointByThroughput(metric, *paths as usize, *by)
            }
            HopsSpec::Disjoint { metric, paths, by } => {
                let (weights, most) = (additive_weights(graph, metric)?, *paths as usize);
                match by {
                    Disjointness::Links => Method::LinkDisjoint(weights, most),
                    Disjointness::Nodes => Method::NodeDisjoint(NodeDisjoint::new(graph, &weights), most),
                }
            }
            HopsSpec::KShortest { metric: MetricSpec::Throughput(metric), paths } => match metric {
                ThroughputMetric::TcpbpExact => Method::BestByTcpbp(*paths as usize),
                metric if *paths == 1 => Method::OnePath(metric),
                ThroughputMetric::Goodput(law) => Method::BestByGoodput(law, *paths as usize),
                metric @ ThroughputMetric::Tcpbp => return Err(RoutingError::OnePathOnly { metric: metric.name() }),
            },
            HopsSpec::KShortest { metric, paths } => match isotone_weights(graph, metric)? {
                IsotoneWeights::Additive(weights) => Method::Shortest(weights, *paths as usize),
                IsotoneWeights::Lexicographic(weights) => Method::ShortestLexicographic(weights, *paths as usize),
            },
            HopsSpec::NearEqual { metric, threshold, paths } => {
                check_threshold(*threshold)?;
                let most = *paths as usize;
                match metric {
                    MetricSpec::Throughput(ThroughputMetric::TcpbpExact) => Method::NearEqualByTcpbp(*threshold, most),
                    MetricSpec::Throughput(ThroughputMetric::Goodput(law)) => {
                        Method::NearEqualByGoodput(law, *threshold, most)
                    }
                    MetricSpec::Throughput(metric @ ThroughputMetric::Tcpbp) => {
                        return Err(RoutingError::OnePathOnly { metric: metric.name() });
                    }
                    _ => Method::NearEqual(additive_weights(graph, metric)?, *threshold, most),
                }
            }
            HopsSpec::Explicit { paths, weights } => Method::Given(paths, weights),
            HopsSpec::Shortest { .. } | HopsSpec::EqualCost { .. } => return Err(RoutingError::HopByHop),
        })
    }

    /// Computes once the data that all sources of one destination share.
    fn towards(&'a self, graph: &'a Graph, dst: NodeId) -> Result<Find<'a>, RoutingError> {
        Ok(match *self {
            Method::LinkDisjoint(ref weights, most) => {
                Box::new(move |src| Ok(equally(disjoint_paths(graph, weights, src, dst, most))))
            }
            Method::NodeDisjoint(ref search, most) => Box::new(move |src| Ok(equally(search.paths(src, dst, most)))),
            Method::Shortest(ref weights, most) => shortest(graph, weights, dst, most),
            Method::ShortestLexicographic(ref weights, most) => shortest(graph, weights, dst, most),
            Method::DisjointByThroughput(metric, most, by) => {
                let sets = DisjointSets::new(graph, metric, dst, by)?;
                Box::new(move |src| Ok(sets.from(src, most)?.map_or_else(Vec::new, |set| set.paths)))
            }
            Method::BestByTcpbp(most) => {
                let towards = BestTowards::new(graph, dst)?;
                Box::new(move |src| Ok(equally(towards.paths_from(src).take(most))))
            }
            Method::BestByGoodput(law, most) => {
                let towards = GoodputTowards::new(graph, dst, law)?;
                Box::new(move |src| {
                    let paths = equally(towards.paths_from(src).take(most));
                    towards.check()?;
                    Ok(paths)
                })
            }
            Method::OnePath(metric) => Box::new(move |src| {
                let found = throughput_paths(graph, metric, dst)?(src)?;
                Ok(found.into_iter().map(|links| (links, 1.0)).collect())
            }),
            Method::NearEqual(ref weights, threshold, most) => {
                let towards = Towards::new(graph, weights, dst);
                Box::new(move |src| Ok(by_cost(near_equal(towards.paths_from(src), sum, threshold).take(most), sum)))
            }
            Method::NearEqualByTcpbp(threshold, most) => {
                let towards = BestTowards::new(graph, dst)?;
                Box::new(move |src| {
                    let paths = near_equal(towards.paths_from(src), Label::cost, threshold).take(most);
                    Ok(by_cost(paths, Label::cost))
                })
            }
            Method::NearEqualByGoodput(law, threshold, most) => {
                let towards = GoodputTowards::new(graph, dst, law)?;
                Box::new(move |src| {
                    let inverse = |path: &Prospect| 1.0 / path.goodput_bps();
                    let paths = by_cost(near_equal(towards.paths_from(src), inverse, threshold).take(most), inverse);
                    towards.check()?;
                    Ok(paths)
                })
            }
            Method::Given(paths, weights) => {
                Box::new(move |src| explicit::given_paths(graph, paths, weights, src, dst))
            }
        })
    }
}

fn check_pair(graph: &Graph, src: NodeId, dst: NodeId) -> Result<(), RoutingError> {
    graph.check_node(src)?;
    graph.check_node(dst)?;
    if src == dst { Err(RoutingError::SameEnds { node: src }) } else { Ok(()) }
}

/// The explicit paths of a routing from `src` to `dst`, at least one: computed paths shortest first, given paths as given. Their weights
/// add up to 1. The weights of near-equal paths are inversely proportional to their costs. Those of disjoint paths by predicted
/// throughput are proportional to it. Those of other computed paths are equal.
///
/// Given paths over a link that is down are left out. Given paths between other nodes are not checked.
///
/// # Errors
/// [`RoutingError`]: a node that does not exist, `src` equal to `dst`, a link without a weight in the metric, or no path. Also a
/// number of paths of zero, several paths by a metric that finds one, a threshold out of range, or a given path that does not exist. Also
/// a routing that forwards hop by hop.
pub fn explicit_paths(
    graph: &Graph,
    hops: &HopsSpec,
    src: NodeId,
    dst: NodeId,
) -> Result<Vec<WeightedPath>, RoutingError> {
    check_pair(graph, src, dst)?;
    let paths = Method::new(graph, hops)?.towards(graph, dst)?(src)?;
    if paths.is_empty() {
        return Err(RoutingError::NoPath { src, dst });
    }
    let total: f64 = paths.iter().map(|(_, weight)| weight).sum();
    Ok(paths.into_iter().map(|(links, weight)| WeightedPath { links, weight: weight / total }).collect())
}

/// The explicit paths of a routing for these pairs, with their costs by `metric`. A pair without a path has none.
///
/// # Errors
/// As [`explicit_paths`], but for pairs without a path.
pub fn path_sets(
    graph: &Graph,
    hops: &HopsSpec,
    metric: &MetricSpec,
    pairs: &[(NodeId, NodeId)],
) -> Result<PairRoutes, RoutingError> {
    let method = Method::new(graph, hops)?;
    collect(graph, metric, pairs, |dst| method.towards(graph, dst))
}

/// The Pareto-optimal paths of these pairs by delay, loss and capacity ([`ParetoTowards`]). Their cost is their capacity, bits per
/// second.
///
/// # Errors
/// [`RoutingError`]: a node that does not exist, a pair of one node, or more labels than `most_labels` for a pair.
pub fn pareto_sets(graph: &Graph, pairs: &[(NodeId, NodeId)], most_labels: usize) -> Result<PairRoutes, RoutingError> {
    collect(graph, &Metric::Widest.into(), pairs, |dst| {
        let towards = ParetoTowards::new(graph, dst)?;
        Ok(Box::new(move |src| {
            Ok(towards.paths_from(src, most_labels)?.into_iter().map(|links| (links, 1.0)).collect())
        }))
    })
}

/// Disjoint paths by predicted throughput, with the throughput of each pair's set: bit/s, or 1 / (delay x sqrt(loss)).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThroughputSets {
    /// The paths, with shares in proportion to their throughput.
    pub routes: PairRoutes,
    /// Throughput of all paths of each pair; 0 without a path.
    pub together: Vec<f64>,
    /// Throughput of each pair's best path.
    pub alone: Vec<f64>,
    /// No set of as many paths has more.
    pub at_most: Vec<f64>,
}

/// The disjoint paths of these pairs that have the most predicted throughput together.
///
/// # Errors
/// [`RoutingError`]: a node that does not exist, a pair of one node, no paths wanted, or too many labels.
pub fn throughput_sets(
    graph: &Graph,
    metric: &ThroughputMetric,
    pairs: &[(NodeId, NodeId)],
    most: usize,
    by: Disjointness,
) -> Result<ThroughputSets, RoutingError> {
    if most == 0 {
        return Err(RoutingError::NoPathsWanted);
    }
    let mut found = ThroughputSets::default();
    let spec = MetricSpec::Throughput(metric.clone());
    let cost = PathCost::new(graph, &spec);
    let mut prepared: Option<(NodeId, DisjointSets)> = None;
    for &(src, dst) in pairs {
        check_pair(graph, src, dst)?;
        let sets = match prepared.take() {
            Some((same, sets)) if same == dst => sets,
            _ => DisjointSets::new(graph, metric, dst, by)?,
        };
        let set = sets.from(src, most)?;
        prepared = Some((dst, sets));
        let values = set.as_ref().map_or((0.0, 0.0, 0.0), |set| (set.together, set.alone, set.at_most));
        found.together.push(values.0);
        found.alone.push(values.1);
        found.at_most.push(values.2);
        let (links, rates): (Vec<_>, Vec<f64>) = set.map_or_else(Vec::new, |set| set.paths).into_iter().unzip();
        found.routes.push(&cost, src, dst, links);
        found.routes.share_last(&rates);
    }
    Ok(found)
}

/// Finds the paths of pairs, destination by destination, and lists them in the order of the pairs.
fn collect<'a>(
    graph: &Graph,
    metric: &MetricSpec,
    pairs: &[(NodeId, NodeId)],
    towards: impl Fn(NodeId) -> Result<Find<'a>, RoutingError>,
) -> Result<PairRoutes, RoutingError> {
    for &(src, dst) in pairs {
        check_pair(graph, src, dst)?;
    }
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by_key(|&index| pairs[index].1);
    let mut sets = vec![Vec::new(); pairs.len()];
    for same in order.chunk_by(|&one, &other| pairs[one].1 == pairs[other].1) {
        let find = towards(pairs[same[0]].1)?;
        for &index in same {
            sets[index] = find(pairs[index].0)?;
        }
    }
    let cost = PathCost::new(graph, metric);
    let mut found = PairRoutes::default();
    for (&(src, dst), paths) in pairs.iter().zip(sets) {
        found.push(&cost, src, dst, paths.into_iter().map(|(links, _)| links));
    }
    Ok(found)
}
