//! TCPBP: routing by predicted TCP throughput (Vilela, Fonseca and Fonseca, "TCPBP: Enhancing the TCP Throughput in High
//! Speed Lossy Networks With a Single Mixed Routing Metric").
//!
//! TCP's throughput goes with 1 / (RTT sqrt(p)) (equation 2), so a path costs D sqrt(P): its delay times the square root of
//! its loss ratio. With L = -ln(1 - p), which adds up along a path as the delay does, P = 1 - exp(-L).
//!
//! The paper holds this cost to be isotone (section 4.1.1). It is not ([`super::algebra`]), so the paper's modified
//! Dijkstra ([`heuristic`]) may miss the best path. [`exact`] finds it; [`certificate`] proves that it did.

mod arcs;
pub mod certificate;
pub mod exact;
pub mod heuristic;
pub mod onward;
mod reached;

use super::metric::{LOSS_UNITS, metric_value};
use super::{Graph, Link, PathWeight};
use crate::spec::{LinkId, Metric};
use crate::units::Duration;
use std::cmp::Ordering;

/// The values of a path. Ordered by cost, then delay, then hops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Label {
    /// Picoseconds, one way.
    delay: u64,
    /// -ln(1 - P) in units of 2^-58; the greatest number means this value or more.
    log_loss: u64,
    hops: u32,
}

impl Label {
    /// The label of a path of one link.
    pub fn of_link(link: &Link) -> Label {
        let log_loss = metric_value(0, link, Metric::Loss).expect("a checked loss ratio has a logarithm");
        Label { delay: link.delay.0, log_loss, hops: 1 }
    }

    /// The label of a path of these links.
    pub fn of_path(graph: &Graph, links: &[LinkId]) -> Label {
        links.iter().fold(Label::IDENTITY, |label, &link| label.extend(Label::of_link(graph.link(link))))
    }

    /// One-way delay.
    pub fn delay(&self) -> Duration {
        Duration(self.delay)
    }

    /// The ratio of packets lost, one way: 1 - exp(-L), without cancellation for small ratios.
    pub fn loss(&self) -> f64 {
        loss_ratio(self.log_loss as f64)
    }

    /// D sqrt(P), seconds (section 4).
    pub fn cost(&self) -> f64 {
        self.delay().as_secs() * self.loss().sqrt()
    }
}

/// The loss ratio of -ln(1 - P) in units of 2^-58.
#[inline]
fn loss_ratio(log_loss: f64) -> f64 {
    let x = log_loss * (1.0 / LOSS_UNITS);
    if x < SMALL_LOG_LOSS { one_minus_exp_of_small(x) } else { -(-x).exp_m1() }
}

/// Below it the series to the eighth power leaves out less than a rounding: x^8 / 9! of 1 - exp(-x).
const SMALL_LOG_LOSS: f64 = 0.05;

/// 1 - exp(-x) by its series.
#[inline]
fn one_minus_exp_of_small(x: f64) -> f64 {
    let tail = 1.0 - x * (1.0 / 6.0) * (1.0 - x * (1.0 / 7.0) * (1.0 - x * (1.0 / 8.0)));
    x * (1.0 - x * (1.0 / 2.0) * (1.0 - x * (1.0 / 3.0) * (1.0 - x * (1.0 / 4.0) * (1.0 - x * (1.0 / 5.0) * tail))))
}

impl PathWeight for Label {
    const IDENTITY: Self = Label { delay: 0, log_loss: 0, hops: 0 };

    fn extend(self, by: Self) -> Self {
        Label {
            delay: self.delay.saturating_add(by.delay),
            log_loss: self.log_loss.saturating_add(by.log_loss),
            hops: self.hops + by.hops,
        }
    }

    fn ties(self, other: Self) -> bool {
        self.cost() == other.cost()
    }
}

impl Ord for Label {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_cost = self.cost().total_cmp(&other.cost());
        by_cost.then_with(|| (self.delay, self.hops, self.log_loss).cmp(&(other.delay, other.hops, other.log_loss)))
    }
}

impl PartialOrd for Label {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
pub(super) mod test_networks;
#[cfg(test)]
mod tests;
