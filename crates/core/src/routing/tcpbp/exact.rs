//! Exact search for the paths of least D sqrt(P): a parametric search.
//!
//! The cost is increasing and quasi-concave in (D, L). So a best path lies at a corner of the convex hull of the paths' (D, L), and is
//! a shortest path by the sum of d + lambda l for some weight lambda. The search keeps intervals of lambda. At both ends of an
//! interval a shortest path is known, A and B. All paths lie above two lines, one through A and one through B. These lines meet at
//! the third corner of a triangle over A and B. No path in the interval costs less than the cheapest corner of this triangle.
//!
//! If the third corner is no cheaper than the best path found, the interval has no better path. Otherwise another shortest-path
//! search has the slope of A B as its weight. It finds a new corner of the hull below the line A B, or proves that there is none.
//!
//! All destinations of a source share these searches. A search inside an interval starts with the better of the two known paths to
//! every node. If both are the same path, it is also shortest inside the interval. So the search needs only nodes where they differ,
//! and only those near enough to lie on a useful path.

use super::arcs::{Arc, Arcs};
use super::reached::Reached;
use super::{LOSS_UNITS, Label, loss_ratio};
use crate::routing::Graph;
use crate::routing::source_tree::USUAL_HOPS;
use crate::spec::{LinkId, NodeId};
use std::collections::BinaryHeap;
use std::collections::VecDeque;

/// Costs with a smaller relative difference count as equal: the rounding error of a hundred additions is smaller.
pub const ROUNDING: f64 = 1e-12;

/// Inside an interval, a path counts as shorter only by a greater relative difference. Otherwise the rounding of one sum in two
/// orders would count as a better path.
const NOISE: f64 = 1e-15;

const NONE: LinkId = LinkId::MAX;
/// Instead of a link: the node has the same path as at the lower end of the interval.
const AS_BELOW: LinkId = LinkId::MAX - 1;
/// Instead of a link: the node has the same path as at the upper end of the interval.
const AS_ABOVE: LinkId = LinkId::MAX - 2;

/// The exact search on one graph, for any number of sources.
#[derive(Debug, Clone)]
pub struct ExactSearch<'a> {
    graph: &'a Graph,
    arcs: Arcs,
}

/// One search for shortest paths by d + lambda l.
#[derive(Debug, Clone)]
struct LambdaSearch {
    /// Picoseconds for each 2^-58 of L; infinite for paths of least L.
    lambda: f64,
    /// The searches at the ends of its interval.
    below: usize,
    above: usize,
    reached_by: Vec<LinkId>,
    points: Vec<Point>,
}

/// A path as the search sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// D, picoseconds.
    pub delay: f64,
    /// L, in units of 2^-58.
    pub log_loss: f64,
}

impl Point {
    const SOURCE: Point = Point { delay: 0.0, log_loss: 0.0 };
    const UNREACHED: Point = Point { delay: f64::INFINITY, log_loss: f64::INFINITY };

    fn is_reached(self) -> bool {
        self.delay.is_finite()
    }

    /// D^2 P, square picoseconds.
    pub fn squared_cost(self) -> f64 {
        self.delay * self.delay * loss_ratio(self.log_loss)
    }

    /// Whether D^2 P is less than that. The first terms of the exponential series decide most cases without an exponential.
    fn costs_less_than(self, squared_cost: f64) -> bool {
        let (square, log_loss) = (self.delay * self.delay, self.log_loss * (1.0 / LOSS_UNITS));
        if log_loss < 1.0 {
            let (half_square, sixth_cube) = (log_loss * log_loss / 2.0, log_loss * log_loss * log_loss * (1.0 / 6.0));
            if square * (log_loss - half_square) >= squared_cost {
                return false;
            }
            if square * (log_loss - half_square + sixth_cube) < squared_cost {
                return true;
            }
        }
        self.squared_cost() < squared_cost
    }

    #[inline]
    fn and(self, arc: &Arc) -> Point {
        Point { delay: self.delay + arc.delay, log_loss: self.log_loss + arc.log_loss }
    }
}

/// Intersection of the line D + lambda L through A with lambda `low` and the line through B with lambda `high`.
fn corner(a: Point, low: f64, b: Point, high: f64) -> Point {
    let log_loss = if high.is_infinite() {
        b.log_loss
    } else {
        // A line's height above the other's at B, over the difference of their slopes.
        let above = (b.delay + low * b.log_loss) - (a.delay + low * a.log_loss);
        b.log_loss + above / (high - low)
    };
    let log_loss = log_loss.clamp(b.log_loss, a.log_loss);
    Point { delay: (a.delay + low * (a.log_loss - log_loss)).clamp(a.delay, b.delay), log_loss }
}

/// The best paths from one source.
#[derive(Debug, Clone)]
pub struct ExactRoutes<'a> {
    graph: &'a Graph,
    source: NodeId,
    searches: Vec<LambdaSearch>,
    /// The best path to each node; `None` if there is no path or none was requested.
    best: Vec<Option<Best>>,
}

/// The best path to a node so far.
#[derive(Debug, Clone, Copy)]
struct Best {
    search: usize,
    point: Point,
    squared_cost: f64,
}

/// An interval of lambda between two searches.
struct Interval {
    low: usize,
    high: usize,
    /// Nodes with different paths at its ends, through which a better path inside may lead.
    differing: Vec<NodeId>,
    /// Destinations, which may have a better path inside.
    open: Vec<NodeId>,
}

impl<'a> ExactSearch<'a> {
    /// Over the links of the graph that are up.
    pub fn new(graph: &'a Graph) -> ExactSearch<'a> {
        ExactSearch { graph, arcs: Arcs::new(graph) }
    }

    /// The best paths from a source to every node.
    pub fn from(&self, source: NodeId) -> ExactRoutes<'a> {
        self.to(source, (0..self.arcs.nodes() as NodeId).collect())
    }

    /// The best paths from a source to these nodes.
    pub fn to(&self, source: NodeId, destinations: Vec<NodeId>) -> ExactRoutes<'a> {
        self.onward(source, Point::SOURCE, destinations)
    }

    /// The search over some of its links.
    pub(super) fn among(&self, open: impl Fn(LinkId) -> bool) -> ExactSearch<'a> {
        ExactSearch { graph: self.graph, arcs: self.arcs.among(open) }
    }

    /// The best continuations of paths to these nodes from a node, for a path with the delay and loss `behind` up to this node.
    pub(super) fn onward(&self, source: NodeId, behind: Point, destinations: Vec<NodeId>) -> ExactRoutes<'a> {
        let nodes = self.arcs.nodes();
        let mut routes = ExactRoutes { graph: self.graph, source, searches: Vec::new(), best: vec![None; nodes] };
        for search in [self.search_end::<false>(source, behind), self.search_end::<true>(source, behind)] {
            routes.take(search, &destinations);
        }
        let mut lengths = Vec::with_capacity(nodes);
        let mut intervals =
            vec![Interval { low: 0, high: 1, differing: (0..nodes as NodeId).collect(), open: destinations }];
        while let Some(Interval { low, high, mut differing, mut open }) = intervals.pop() {
            let mut slopes = Vec::new();
            open.retain(|&node| {
                let slope = routes.open_slope(low, high, node);
                slopes.extend(slope);
                slope.is_some()
            });
            if open.is_empty() {
                continue;
            }
            let middle = slopes.len() / 2;
            let lambda = *slopes.select_nth_unstable_by(middle, f64::total_cmp).1;
            let (below, above) = (&routes.searches[low].points, &routes.searches[high].points);
            // A path inside the interval, and every part of it, has at most the D of the upper end and the L of the lower end.
            let (mut most_delay, mut most_log_loss) = (0.0, 0.0);
            for &node in &open {
                most_delay = f64::max(most_delay, above[node as usize].delay);
                most_log_loss = f64::max(most_log_loss, below[node as usize].log_loss);
            }
            differing.retain(|&node| {
                let (a, b) = (below[node as usize], above[node as usize]);
                a != b && a.delay <= most_delay && b.log_loss <= most_log_loss
            });
            let search = self.search_between(&routes, low, high, lambda, &differing, &mut lengths);
            let between = routes.take(search, &open);
            intervals.push(Interval { low, high: between, differing: differing.clone(), open: open.clone() });
            intervals.push(Interval { low: between, high, differing, open });
        }
        routes
    }

    /// Shortest paths by d + lambda l, with lambda between those of two searches.
    fn search_between(
        &self,
        routes: &ExactRoutes,
        low: usize,
        high: usize,
        lambda: f64,
        differing: &[NodeId],
        lengths: &mut Vec<f64>,
    ) -> LambdaSearch {
        let length = |point: Point| point.delay + lambda * point.log_loss;
        let mut search = LambdaSearch {
            lambda,
            below: low,
            above: high,
            reached_by: vec![AS_BELOW; self.arcs.nodes()],
            points: routes.searches[low].points.clone(),
        };
        for &node in differing {
            let above = routes.searches[high].points[node as usize];
            if length(above) < length(search.points[node as usize]) {
                (search.points[node as usize], search.reached_by[node as usize]) = (above, AS_ABOVE);
            }
        }
        lengths.clear();
        lengths.extend(search.points.iter().map(|&point| length(point)));
        let mut improved = VecDeque::new();
        let mut best = &Arc { end: 0, link: NONE, delay: 0.0, log_loss: 0.0 };
        for &node in differing {
            let known = lengths[node as usize];
            let mut shortest = known;
            for arc in self.arcs.entering(node) {
                let through = lengths[arc.end as usize] + (arc.delay + lambda * arc.log_loss);
                if through < shortest {
                    shortest = through;
                    best = arc;
                }
            }
            if shortest < known * (1.0 - NOISE) {
                lengths[node as usize] = shortest;
                search.points[node as usize] = search.points[best.end as usize].and(best);
                search.reached_by[node as usize] = best.link;
                improved.push_back((shortest, node));
            }
        }
        while let Some((here, node)) = improved.pop_front() {
            if here != lengths[node as usize] {
                continue; // reached on a shorter path since
            }
            let point = search.points[node as usize];
            for arc in self.arcs.leaving(node) {
                let through = here + (arc.delay + lambda * arc.log_loss);
                let end = arc.end as usize;
                let leads_on = search.reached_by[end] == arc.link && search.points[end] != point.and(arc);
                if through < lengths[end] * (1.0 - NOISE) || leads_on {
                    (lengths[end], search.points[end], search.reached_by[end]) = (through, point.and(arc), arc.link);
                    improved.push_back((through, arc.end));
                }
            }
        }
        search
    }

    /// Shortest paths by D and then L, or by L and then D; then by hops. These are the ends of all intervals. A node is expanded
    /// again if a path of the same length is better by the tie-breakers, because links may have no loss.
    fn search_end<const BY_LOSS: bool>(&self, source: NodeId, behind: Point) -> LambdaSearch {
        let lengths = |point: Point| {
            if BY_LOSS { (point.log_loss, point.delay) } else { (point.delay, point.log_loss) }
        };
        let nodes = self.arcs.nodes();
        let (mut points, mut reached_by) = (vec![Point::UNREACHED; nodes], vec![NONE; nodes]);
        let mut hops = vec![0_u32; nodes];
        points[source as usize] = behind;
        let mut frontier = BinaryHeap::from([Reached { length: lengths(behind).0, node: source }]);
        while let Some(Reached { length, node }) = frontier.pop() {
            let (point, hops_through) = (points[node as usize], hops[node as usize] + 1);
            if lengths(point).0 != length {
                continue; // reached on a shorter path since
            }
            for arc in self.arcs.leaving(node) {
                let through = point.and(arc);
                let to = arc.end as usize;
                let ((length, rest), (known, known_rest)) = (lengths(through), lengths(points[to]));
                if length < known || length == known && (rest, hops_through) < (known_rest, hops[to]) {
                    (points[to], reached_by[to], hops[to]) = (through, arc.link, hops_through);
                    frontier.push(Reached { length, node: arc.end });
                }
            }
        }
        LambdaSearch { lambda: if BY_LOSS { f64::INFINITY } else { 0.0 }, below: 0, above: 0, reached_by, points }
    }
}

impl ExactRoutes<'_> {
    /// Keeps a search, and its paths to these nodes where they are better than the known ones.
    fn take(&mut self, search: LambdaSearch, nodes: &[NodeId]) -> usize {
        let index = self.searches.len();
        for &node in nodes {
            let (point, link) = (search.points[node as usize], search.reached_by[node as usize]);
            if !point.is_reached() || link == AS_BELOW || link == AS_ABOVE {
                continue;
            }
            let squared_cost = point.squared_cost();
            let better =
                self.best[node as usize].is_none_or(|Best { point: known, squared_cost: known_cost, .. }| {
                    (squared_cost, point.delay) < (known_cost, known.delay)
                });
            if better {
                self.best[node as usize] = Some(Best { search: index, point, squared_cost });
            }
        }
        self.searches.push(search);
        index
    }

    /// The slope of the line from A to B, if a path between them may be better than the best known.
    fn open_slope(&self, low: usize, high: usize, node: NodeId) -> Option<f64> {
        let (low, high) = (&self.searches[low], &self.searches[high]);
        let (a, b) = (low.points[node as usize], high.points[node as usize]);
        if a == b {
            return None;
        }
        let known = self.best[node as usize]?.squared_cost * (1.0 - ROUNDING);
        if !corner(a, low.lambda, b, high.lambda).costs_less_than(known) {
            return None;
        }
        let slope = (b.delay - a.delay) / (a.log_loss - b.log_loss);
        // Rounding may put a line's slope outside its interval; then no lambda lies between its ends.
        (slope > low.lambda && slope < high.lambda).then_some(slope)
    }

    /// For the only destination of all searches: lambda and path of each search, by ascending lambda. No path to the destination lies
    /// below the line of this lambda through this path.
    pub(super) fn supports(&self, node: NodeId) -> Vec<(f64, Point)> {
        let support = |search: &LambdaSearch| (search.lambda, search.points[node as usize]);
        let mut supports: Vec<(f64, Point)> = self.searches.iter().map(support).collect();
        supports.sort_by(|a, b| a.0.total_cmp(&b.0));
        supports
    }

    /// The number of shortest-path searches.
    pub fn searches(&self) -> usize {
        self.searches.len()
    }

    /// The links of the best path to a node; `None` if there is no path, or it was not requested.
    pub fn path(&self, node: NodeId) -> Option<Vec<LinkId>> {
        let mut search = self.best[node as usize]?.search;
        let mut links = Vec::with_capacity(USUAL_HOPS);
        let mut at = node;
        while at != self.source {
            match self.searches[search].reached_by[at as usize] {
                AS_BELOW => search = self.searches[search].below,
                AS_ABOVE => search = self.searches[search].above,
                link => {
                    links.push(link);
                    at = self.graph.link(link).src;
                }
            }
        }
        links.reverse();
        Some(links)
    }

    /// The best known path to a node.
    pub fn label(&self, node: NodeId) -> Option<Label> {
        Some(Label::of_path(self.graph, &self.path(node)?))
    }
}
