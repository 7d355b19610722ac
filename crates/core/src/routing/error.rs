//! Errors of a network or a routing.

use crate::spec::{LinkId, NodeId};

/// Why there are no routes. Nodes, links and paths are named by their index in the compiled run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RoutingError {
    /// A node that the network does not have.
    #[error("there is no node {node}: the network has {nodes} nodes, numbered from 0")]
    UnknownNode {
        /// The requested node.
        node: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A link that begins or ends at a node that the network does not have.
    #[error("link {link} joins node {node}, but the network has {nodes} nodes, numbered from 0")]
    LinkEnd {
        /// The link.
        link: LinkId,
        /// The missing end of the link.
        node: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A cost that the metric `cost` cannot order or represent.
    #[error("link {link} has cost {cost}: the metric `cost` takes 0 or a number from 0.000001 to 1e13")]
    Cost {
        /// The link.
        link: LinkId,
        /// Cost of the link.
        cost: f64,
    },
    /// A loss ratio that is none.
    #[error("link {link} has loss {loss}: a ratio of lost packets is between 0 and 1")]
    Loss {
        /// The link.
        link: LinkId,
        /// Loss ratio of the link.
        loss: f64,
    },
    /// A lexicographic metric that orders by nothing, or twice by the same.
    #[error("the metric [{metric}] names {problem}: it needs one or several different metrics, the weightiest first")]
    Lexicographic {
        /// The metric as a list of names.
        metric: String,
        /// The problem.
        problem: &'static str,
    },
    /// A lexicographic metric that Dijkstra's method does not serve.
    #[error(
        "the metric [{metric}] is not isotone: a wider path may lose its lead where both go on over a narrow link, and \
         then a metric after `widest` decides otherwise; put `widest` last"
    )]
    NotIsotone {
        /// The metric as a list of names.
        metric: String,
    },
    /// Several paths by a metric that is not isotone.
    #[error(
        "the metric `{metric}` is not isotone, so {wanted} cannot be found by it: use an isotone metric \
         (hop-count, delay, loss, ospf, cost, widest), or one path"
    )]
    NotIsotoneFor {
        /// The metric.
        metric: &'static str,
        /// The request that needs an isotone metric.
        wanted: &'static str,
    },
    /// Several paths by a search that finds one.
    #[error("the search by the metric `{metric}` finds one path; for several use `tcpbp-exact`")]
    OnePathOnly {
        /// The metric.
        metric: &'static str,
    },
    /// A threshold for costs that is none.
    #[error(
        "the threshold {threshold} is no share of the least cost: it is a finite number of at least 0, such as 0.05 \
         for paths that cost at most 5 % more than the best"
    )]
    Threshold {
        /// The threshold.
        threshold: f64,
    },
    /// A search for Pareto-optimal paths that would take too long.
    #[error(
        "more than {most} partial paths beat no other in delay, loss and capacity; look for the best paths by one \
         metric"
    )]
    TooManyLabels {
        /// Where they begin.
        src: NodeId,
        /// Where they end.
        dst: NodeId,
        /// How many are allowed.
        most: usize,
    },
    /// Trees by a metric whose paths make none.
    #[error("the best paths by `{metric}` make no tree: part of a best path need not be a best path")]
    NoTree {
        /// The metric.
        metric: &'static str,
    },
    /// Disjoint or near-equal paths by a metric that is no sum.
    #[error("the metric {metric} does not add up along a path: use hop-count, delay, loss, ospf or cost")]
    NotAdditive {
        /// The metric.
        metric: String,
    },
    /// A rate that the metric `ospf` cannot divide by.
    #[error("link {link} has rate 0: the metric `ospf` divides by the rate, which must be at least 1 bit/s")]
    Rate {
        /// The link.
        link: LinkId,
    },
    /// A routing over several paths with a number of paths of zero.
    #[error("the routing asks for 0 paths: it needs at least 1")]
    NoPathsWanted,
    /// A path that would begin and end at the same node.
    #[error("source and destination are both node {node}: a path joins two different nodes")]
    SameEnds {
        /// The node.
        node: NodeId,
    },
    /// No path over links that are up.
    #[error("no path leads there over links that are up; add a link in this direction, or a path")]
    NoPath {
        /// Where it should begin.
        src: NodeId,
        /// Where it should end.
        dst: NodeId,
    },
    /// A path hop by hop that is longer than a packet lives.
    #[error(
        "the path has {links} links, but hop by hop a packet crosses {most} at most (its time to live, RFC 1700); \
         use explicit paths, such as paths = {{ shortest = 1 }}"
    )]
    TooFar {
        /// Where it begins.
        src: NodeId,
        /// Where it ends.
        dst: NodeId,
        /// Its length.
        links: usize,
        /// The greatest length.
        most: u32,
    },
    /// An explicit path between nodes without a link.
    #[error("explicit path {path} goes from node {from} to node {to}, but no link joins them in that direction")]
    NotConnected {
        /// Index of the path in the routing.
        path: usize,
        /// The node before the gap.
        from: NodeId,
        /// The node after the gap.
        to: NodeId,
    },
    /// An explicit path with a loop.
    #[error("explicit path {path} visits node {node} twice: a path visits a node once at most")]
    Revisits {
        /// Index of the path in the routing.
        path: usize,
        /// The node.
        node: NodeId,
    },
    /// Explicit paths and weights that do not match one to one.
    #[error("the routing has {paths} explicit paths and {weights} weights: it needs one weight for each path")]
    WeightCount {
        /// How many paths.
        paths: usize,
        /// How many weights.
        weights: usize,
    },
    /// A weight of an explicit path that is no share of traffic.
    #[error("explicit path {path} has weight {weight}: a weight is a finite number greater than 0")]
    PathWeight {
        /// Index of the path in the routing.
        path: usize,
        /// Its weight.
        weight: f64,
    },
    /// Explicit paths requested of a routing that has next hops.
    #[error("the routing forwards hop by hop: it has next hops, not explicit paths")]
    HopByHop,
    /// Next hops requested of a routing that has explicit paths.
    #[error("the routing forwards along explicit paths that the source chooses: it has no next hops")]
    AlongPaths,
}
