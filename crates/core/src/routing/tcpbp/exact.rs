//! The paths of least D sqrt(P), exactly: a parametric search.
//!
//! The cost is increasing and quasi-concave in (D, L), so a best path lies at a corner of the convex hull of the paths'
//! (D, L): it is a shortest path by the sum of d + lambda l for some weight lambda. The search keeps intervals of lambda. At
//! both ends of one a shortest path is known, A and B, and all paths lie above two lines, one through A and one
//! through B. Where these meet is the corner of a triangle over A and B: no path in the interval costs less than the
//! cheapest of the triangle's corners. If the third is no cheaper than the best path found, the interval holds nothing
//! better; otherwise another shortest-path search, with the slope of A B as its weight, finds a new corner of the hull below the
//! line A B, or that there is none.
//!
//! A source's destinations share these searches. A node with the same path at both ends of an interval has it throughout, so
//! that a search inside the interval begins at the edge of what is known.

use super::arcs::{Arc, Arcs};
use super::{Label, loss_ratio};
use crate::routing::{Graph, PathWeight};
use crate::spec::{LinkId, NodeId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Add;

/// Costs this close, relatively, count as equal: the rounding of a hundred additions stays well below.
pub const ROUNDING: f64 = 1e-12;

const NONE: LinkId = LinkId::MAX;
/// In place of a link: the node has the same path as at the lower end of the interval.
const AS_BELOW: LinkId = LinkId::MAX - 1;

/// The exact search on one graph, for any number of sources.
#[derive(Debug, Clone)]
pub struct ExactSearch<'a> {
    graph: &'a Graph,
    arcs: Arcs,
    entering: Entering,
}

/// For every node the nodes from which links lead to it, with the place of the link in [`Arcs`].
#[derive(Debug, Clone)]
struct Entering {
    first: Vec<u32>,
    arcs: Vec<(NodeId, Arc)>,
}

impl Entering {
    fn new(arcs: &Arcs) -> Entering {
        let mut by_head: Vec<Vec<(NodeId, Arc)>> = vec![Vec::new(); arcs.nodes()];
        for node in 0..arcs.nodes() as NodeId {
            for arc in arcs.leaving(node) {
                by_head[arc.head as usize].push((node, *arc));
            }
        }
        let first = std::iter::once(0).chain(by_head.iter().scan(0, |sum, arcs| {
            *sum += arcs.len() as u32;
            Some(*sum)
        }));
        Entering { first: first.collect(), arcs: by_head.concat() }
    }

    fn at(&self, node: NodeId) -> &[(NodeId, Arc)] {
        &self.arcs[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}

/// One search for shortest paths by d + lambda l.
#[derive(Debug, Clone)]
struct Search {
    /// Picoseconds for each 2^-58 of L; infinite for the least L, and among those the least D.
    lambda: f64,
    /// The search at the lower end of its interval.
    below: usize,
    reached_by: Vec<LinkId>,
    /// D and L of the path to each node; `None` where the search did not finish.
    points: Vec<Option<Point>>,
}

/// A path as the search sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// D, picoseconds.
    pub delay: f64,
    /// L, in units of 2^-58.
    pub log_loss: f64,
    pub hops: u32,
}

impl Point {
    const SOURCE: Point = Point { delay: 0.0, log_loss: 0.0, hops: 0 };

    fn coincides(self, other: Point) -> bool {
        self.delay == other.delay && self.log_loss == other.log_loss
    }

    /// D^2 P, square picoseconds.
    pub fn squared_cost(self) -> f64 {
        self.delay * self.delay * loss_ratio(self.log_loss)
    }

    fn and(self, arc: &Arc) -> Point {
        Point { delay: self.delay + arc.delay, log_loss: self.log_loss + arc.log_loss, hops: self.hops + 1 }
    }
}

/// Where the lines D + lambda L through A with lambda `low` and through B with lambda `high` meet.
fn corner(a: Point, low: f64, b: Point, high: f64) -> Point {
    let log_loss = if high.is_infinite() {
        b.log_loss
    } else {
        // A line's height above the other's at B, over the difference of their slopes.
        let above = (b.delay + low * b.log_loss) - (a.delay + low * a.log_loss);
        b.log_loss + above / (high - low)
    };
    let log_loss = log_loss.clamp(b.log_loss, a.log_loss);
    Point { delay: (a.delay + low * (a.log_loss - log_loss)).clamp(a.delay, b.delay), log_loss, hops: 0 }
}

/// The best paths from one source.
#[derive(Debug, Clone)]
pub struct ExactRoutes<'a> {
    graph: &'a Graph,
    source: NodeId,
    searches: Vec<Search>,
    /// For each node its best path and the search that found it; `None` where there is no path or nobody asked.
    best: Vec<Option<(usize, Point)>>,
}

impl<'a> ExactSearch<'a> {
    /// Over the links of the graph that are up.
    pub fn new(graph: &'a Graph) -> ExactSearch<'a> {
        let arcs = Arcs::new(graph);
        ExactSearch { graph, entering: Entering::new(&arcs), arcs }
    }

    /// The best paths from a source to every node.
    pub fn from(&self, source: NodeId) -> ExactRoutes<'a> {
        self.to(source, (0..self.arcs.nodes() as NodeId).collect())
    }

    /// The best paths from a source to these nodes.
    pub fn to(&self, source: NodeId, destinations: Vec<NodeId>) -> ExactRoutes<'a> {
        let mut routes =
            ExactRoutes { graph: self.graph, source, searches: Vec::new(), best: vec![None; self.arcs.nodes()] };
        let least_delay = self.search_lexicographically(source, 0.0, &destinations, |arc| (arc.delay, arc.log_loss));
        let least_loss =
            self.search_lexicographically(source, f64::INFINITY, &destinations, |arc| (arc.log_loss, arc.delay));
        for search in [least_delay, least_loss] {
            routes.take(search, &destinations);
        }
        let mut intervals = vec![(0, 1, destinations)];
        while let Some((low, high, mut open)) = intervals.pop() {
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
            let search = self.search_between(&routes, low, high, lambda, &open);
            let between = routes.take(search, &open);
            intervals.push((low, between, open.clone()));
            intervals.push((between, high, open));
        }
        routes
    }

    /// Shortest paths by the first of two sums, and among those by the second.
    fn search_lexicographically(
        &self,
        source: NodeId,
        lambda: f64,
        wanted: &[NodeId],
        lengths: impl Fn(&Arc) -> (f64, f64),
    ) -> Search {
        let search = Search::new(lambda, 0, self.arcs.nodes());
        let start = vec![(Pair(0.0, 0.0), source, NONE, Point::SOURCE)];
        self.dijkstra(search, start, wanted, |arc| Pair(lengths(arc).0, lengths(arc).1))
    }

    /// Shortest paths by d + lambda l, with lambda between those of two searches.
    fn search_between(&self, routes: &ExactRoutes, low: usize, high: usize, lambda: f64, wanted: &[NodeId]) -> Search {
        let mut search = Search::new(lambda, low, self.arcs.nodes());
        let (below, above) = (&routes.searches[low].points, &routes.searches[high].points);
        for (node, point) in search.points.iter_mut().enumerate() {
            if below[node].is_some() && below[node] == above[node] {
                (*point, search.reached_by[node]) = (below[node], AS_BELOW);
            }
        }
        let length = |arc: &Arc| One(arc.delay + lambda * arc.log_loss);
        let mut start = Vec::new();
        for node in 0..self.arcs.nodes() as NodeId {
            if search.points[node as usize].is_some() {
                continue;
            }
            for (from, arc) in self.entering.at(node) {
                if let Some(point) = search.points[*from as usize] {
                    let through = One(point.delay + lambda * point.log_loss) + length(arc);
                    start.push((through, node, arc.link, point.and(arc)));
                }
            }
        }
        self.dijkstra(search, start, wanted, length)
    }

    /// Completes a search from these first steps (length, node, link by which it is reached, D and L), until all
    /// wanted nodes are done.
    fn dijkstra<K: Length>(
        &self,
        mut search: Search,
        start: Vec<(K, NodeId, LinkId, Point)>,
        wanted: &[NodeId],
        length: impl Fn(&Arc) -> K,
    ) -> Search {
        let nodes = self.arcs.nodes();
        let mut tentative = vec![(K::INFINITE, Point::SOURCE); nodes];
        let mut frontier = BinaryHeap::new();
        for (key, node, link, point) in start {
            let known = &mut tentative[node as usize];
            if is_shorter((key, point), *known) {
                *known = (key, point);
                search.reached_by[node as usize] = link;
                frontier.push(Reverse((key.bits(), node)));
            }
        }
        let mut missing = vec![false; nodes];
        let mut left = 0_usize;
        for &node in wanted {
            missing[node as usize] = search.points[node as usize].is_none();
            left += usize::from(missing[node as usize]);
        }
        while let Some(Reverse((bits, node))) = frontier.pop() {
            let (key, point) = tentative[node as usize];
            if search.points[node as usize].is_some() || key.bits() != bits {
                continue; // done before, or reached on a shorter path since
            }
            search.points[node as usize] = Some(point);
            if std::mem::take(&mut missing[node as usize]) {
                left -= 1;
                if left == 0 {
                    break;
                }
            }
            for arc in self.arcs.leaving(node) {
                if search.points[arc.head as usize].is_some() {
                    continue;
                }
                let through = (key + length(arc), point.and(arc));
                let known = &mut tentative[arc.head as usize];
                if is_shorter(through, *known) {
                    *known = through;
                    search.reached_by[arc.head as usize] = arc.link;
                    frontier.push(Reverse((through.0.bits(), arc.head)));
                }
            }
        }
        search
    }
}

/// By length, then by hops.
fn is_shorter<K: Length>(one: (K, Point), other: (K, Point)) -> bool {
    one.0 < other.0 || one.0 == other.0 && one.1.hops < other.1.hops
}

impl Search {
    fn new(lambda: f64, below: usize, nodes: usize) -> Search {
        Search { lambda, below, reached_by: vec![NONE; nodes], points: vec![None; nodes] }
    }
}

impl ExactRoutes<'_> {
    /// Keeps a search, and its paths where they are better than those known.
    fn take(&mut self, search: Search, nodes: &[NodeId]) -> usize {
        let index = self.searches.len();
        for &node in nodes {
            let Some(point) = search.points[node as usize] else { continue };
            let cost = point.squared_cost();
            let best = &mut self.best[node as usize];
            let better = best.is_none_or(|(_, known)| {
                (cost, point.delay, point.hops) < (known.squared_cost(), known.delay, known.hops)
            });
            if better {
                *best = Some((index, point));
            }
        }
        self.searches.push(search);
        index
    }

    /// The slope of the line from A to B, if a path between them may be better than what is known.
    fn open_slope(&self, low: usize, high: usize, node: NodeId) -> Option<f64> {
        let (low, high) = (&self.searches[low], &self.searches[high]);
        let (a, b) = (low.points[node as usize]?, high.points[node as usize]?);
        if a.coincides(b) {
            return None;
        }
        let (_, best) = self.best[node as usize]?;
        if corner(a, low.lambda, b, high.lambda).squared_cost() >= best.squared_cost() * (1.0 - ROUNDING) {
            return None;
        }
        let slope = (b.delay - a.delay) / (a.log_loss - b.log_loss);
        // Rounding may leave a line's slope outside of its interval; then there is no room between its ends.
        (slope > low.lambda && slope < high.lambda).then_some(slope)
    }

    /// For every search that reached a node, its lambda and its path, by ascending lambda: no path to the node lies below
    /// the line of that lambda through that path.
    pub(super) fn supports(&self, node: NodeId) -> Vec<(f64, Point)> {
        let support = |search: &Search| Some((search.lambda, search.points[node as usize]?));
        let mut supports: Vec<(f64, Point)> = self.searches.iter().filter_map(support).collect();
        supports.sort_by(|a, b| a.0.total_cmp(&b.0));
        supports
    }

    /// How many shortest-path searches it took.
    pub fn searches(&self) -> usize {
        self.searches.len()
    }

    /// The links of the best path to a node; `None` if there is no path, or nobody asked for it.
    pub fn path(&self, node: NodeId) -> Option<Vec<LinkId>> {
        let (mut search, _) = self.best[node as usize]?;
        let mut links = Vec::new();
        let mut at = node;
        while at != self.source {
            match self.searches[search].reached_by[at as usize] {
                AS_BELOW => search = self.searches[search].below,
                link => {
                    links.push(link);
                    at = self.graph.link(link).src;
                }
            }
        }
        links.reverse();
        Some(links)
    }

    /// What is known of the best path to a node.
    pub fn label(&self, node: NodeId) -> Option<Label> {
        let links = self.path(node)?;
        Some(links.iter().fold(Label::IDENTITY, |label, &link| label.extend(Label::of_link(self.graph.link(link)))))
    }
}

/// A length by which a search orders paths.
trait Length: Copy + PartialOrd + Add<Output = Self> {
    const INFINITE: Self;
    type Bits: Ord + Copy;

    /// In the same order: the bits of floating-point numbers that are not negative order as the numbers do.
    fn bits(self) -> Self::Bits;
}

#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
struct One(f64);

impl Add for One {
    type Output = One;
    fn add(self, other: One) -> One {
        One(self.0 + other.0)
    }
}

impl Length for One {
    const INFINITE: One = One(f64::INFINITY);
    type Bits = u64;
    fn bits(self) -> u64 {
        self.0.to_bits()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
struct Pair(f64, f64);

impl Add for Pair {
    type Output = Pair;
    fn add(self, other: Pair) -> Pair {
        Pair(self.0 + other.0, self.1 + other.1)
    }
}

impl Length for Pair {
    const INFINITE: Pair = Pair(f64::INFINITY, f64::INFINITY);
    type Bits = (u64, u64);
    fn bits(self) -> (u64, u64) {
        (self.0.to_bits(), self.1.to_bits())
    }
}
