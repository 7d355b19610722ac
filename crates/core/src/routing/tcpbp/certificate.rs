//! A certificate that no path is better.
//!
//! For a weight lambda, no path has a smaller D + lambda L than a shortest one. Several weights bound a region that contains all paths.
//! The cost is increasing and quasi-concave, so it is least at a corner of the region. So the weights and their shortest lengths are
//! a certificate: recomputing these lengths by any method gives the lower bound.

use super::exact::{ExactSearch, Point};
use super::{LOSS_UNITS, Label};
use crate::routing::Graph;
use crate::spec::{LinkId, NodeId};
use crate::units::Duration;

/// A best path with its proof.
#[derive(Debug, Clone, PartialEq)]
pub struct Certificate {
    /// The links of the path.
    pub links: Vec<LinkId>,
    /// Cost D sqrt(P) of the path, seconds.
    pub cost: f64,
    /// A lower bound of the cost of all paths, seconds.
    pub lower_bound: f64,
    /// The supports, by ascending weight.
    pub supports: Vec<Support>,
}

/// All paths have D + lambda L of at least `length`; for an infinite lambda, L of at least `length`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Support {
    /// Seconds for each unit of -ln(1 - p).
    pub lambda: f64,
    /// Seconds; without unit for an infinite lambda.
    pub length: f64,
}

/// The best path from one node to another and its certificate; `None` if there is no path.
pub fn certified_path(graph: &Graph, source: NodeId, destination: NodeId) -> Option<Certificate> {
    let routes = ExactSearch::new(graph).to(source, vec![destination]);
    let links = routes.path(destination)?;
    let supports: Vec<Support> =
        routes.supports(destination).into_iter().map(|(lambda, point)| Support::new(lambda, point)).collect();
    Some(Certificate { cost: routes.label(destination)?.cost(), lower_bound: lower_bound(&supports), supports, links })
}

impl Support {
    fn new(lambda: f64, point: Point) -> Support {
        let (delay, log_loss) = (Duration(point.delay as u64).as_secs(), point.log_loss / LOSS_UNITS);
        let lambda = lambda * LOSS_UNITS * Duration(1).as_secs();
        Support { lambda, length: if lambda.is_infinite() { log_loss } else { delay + lambda * log_loss } }
    }
}

/// Least cost in the region above the supports, seconds: at the corners where their lines intersect. The supports are sorted by lambda.
fn lower_bound(supports: &[Support]) -> f64 {
    let corner = |pair: &[Support]| {
        let [low, high] = [pair[0], pair[1]];
        let log_loss = if high.lambda.is_infinite() {
            high.length
        } else if high.lambda > low.lambda {
            (high.length - low.length) / (high.lambda - low.lambda)
        } else {
            return f64::INFINITY;
        };
        (low.length - low.lambda * log_loss) * (-(-log_loss).exp_m1()).max(0.0).sqrt()
    };
    supports.windows(2).map(corner).fold(f64::INFINITY, f64::min)
}

impl Certificate {
    /// Recomputes every length by Bellman and Ford's method, which shares nothing with the search. Returns whether the supports
    /// hold and the path costs no more than the lower bound, each within the relative `tolerance`.
    pub fn holds(&self, graph: &Graph, source: NodeId, destination: NodeId, tolerance: f64) -> bool {
        let lengths_hold = self.supports.iter().all(|support| {
            let length = |link: LinkId| {
                let label = Label::of_link(graph.link(link));
                let log_loss = label.log_loss as f64 / LOSS_UNITS;
                if support.lambda.is_infinite() {
                    log_loss
                } else {
                    label.delay().as_secs() + support.lambda * log_loss
                }
            };
            bellman_ford(graph, source, destination, length) >= support.length * (1.0 - tolerance)
        });
        let bound = lower_bound(&self.supports);
        lengths_hold && self.lower_bound <= bound * (1.0 + tolerance) && self.cost <= bound * (1.0 + tolerance)
    }
}

/// The length of a shortest path, by relaxing every link until nothing changes.
fn bellman_ford(graph: &Graph, source: NodeId, destination: NodeId, length: impl Fn(LinkId) -> f64) -> f64 {
    let mut distance = vec![f64::INFINITY; graph.nodes()];
    distance[source as usize] = 0.0;
    for _ in 0..graph.nodes() {
        let mut changed = false;
        for id in (0..graph.links().len() as LinkId).filter(|&id| graph.is_up(id)) {
            let link = graph.link(id);
            let through = distance[link.src as usize] + length(id);
            if through < distance[link.dst as usize] {
                distance[link.dst as usize] = through;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    distance[destination as usize]
}
