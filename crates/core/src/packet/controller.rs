//! The routes of a routing that measures its links, as the controller of TCPBP's testbed has them (section 5.1): computed
//! anew at fixed intervals, by the estimates of the links and not by their configured values.

use super::link_state::{Estimate, Reading};
use crate::routing::{self, Graph, RoutingError};
use crate::spec::{HopsSpec, LinkId, LinkStateSpec, Metric, NodeId};
use crate::units::{Duration, Time};
use std::collections::BTreeMap;

/// What a link counts as that nothing has crossed yet: so bad that a route takes it only where nothing measured leads, and
/// among such routes the one of fewest links.
const UNKNOWN_DELAY: Duration = Duration::from_secs(1000);
/// The loss of such a link, and of one that loses all; metrics take the logarithm of what is left.
const MOST_LOSS: f64 = 1.0 - 1e-9;

/// The state of one routing.
pub struct Controller {
    settings: LinkStateSpec,
    metric: Metric,
    estimates: Vec<Estimate>,
    /// The network as the estimates have it.
    believed: Graph,
    /// The route in force by destination and source; no links where none leads there.
    routes: BTreeMap<(NodeId, NodeId), Vec<LinkId>>,
    next_sample: Time,
    next_computation: Time,
}

/// What is believed of a route: delay in seconds, loss ratio, and cost in the routing's metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quality {
    pub delay: f64,
    pub loss: f64,
    pub cost: f64,
}

/// The metric of a routing with one path for each pair, hop by hop or explicit.
pub fn metric_of_single_path(hops: &HopsSpec) -> Option<Metric> {
    match hops {
        HopsSpec::Shortest { metric } | HopsSpec::KShortest { metric, paths: 1 } => Some(*metric),
        _ => None,
    }
}

/// Whether a metric depends on what is measured.
pub fn is_measurable(metric: Metric) -> bool {
    matches!(metric, Metric::Delay)
}

impl Controller {
    /// Knows nothing of the links of this network yet.
    pub fn new(settings: LinkStateSpec, metric: Metric, network: &Graph) -> Controller {
        let links = network.links().len();
        let mut believed = network.clone();
        (0..links).for_each(|link| believed.set_quality(link as LinkId, UNKNOWN_DELAY, MOST_LOSS));
        Controller {
            settings,
            metric,
            estimates: vec![Estimate::new(settings.window); links],
            believed,
            routes: BTreeMap::new(),
            next_sample: Time::ZERO + settings.sample,
            next_computation: Time::ZERO + settings.recompute,
        }
    }

    /// When it has something to do next.
    pub fn due(&self) -> Time {
        self.next_sample.min(self.next_computation)
    }

    /// Takes a sample if it is time for one; `readings` are those of all links, by id.
    pub fn sample(&mut self, now: Time, readings: impl Iterator<Item = Reading>) -> bool {
        if now != self.next_sample {
            return false;
        }
        self.next_sample = now + self.settings.sample;
        for (link, (estimate, reading)) in self.estimates.iter_mut().zip(readings).enumerate() {
            estimate.sample(reading);
            let delay = estimate.delay().map_or(UNKNOWN_DELAY, Duration::from_secs_f64);
            self.believed.set_quality(link as LinkId, delay, estimate.loss().unwrap_or(MOST_LOSS).min(MOST_LOSS));
        }
        true
    }

    /// Whether it is time to compute the routes anew.
    pub fn computes(&mut self, now: Time) -> bool {
        let due = now == self.next_computation;
        if due {
            self.next_computation = now + self.settings.recompute;
        }
        due
    }

    /// What is known of the links, by id.
    pub fn estimates(&self) -> &[Estimate] {
        &self.estimates
    }

    /// Marks a link up or down.
    pub fn set_up(&mut self, link: LinkId, up: bool) {
        self.believed.set_up(link, up);
    }

    /// The links of the route in force, which is found when it is asked for the first time.
    ///
    /// # Errors
    /// If there is no path.
    pub fn route(&mut self, src: NodeId, dst: NodeId) -> Result<&[LinkId], RoutingError> {
        if !self.routes.contains_key(&(dst, src)) {
            let best = self.best(src, dst)?;
            self.routes.insert((dst, src), best);
        }
        match &self.routes[&(dst, src)] {
            links if links.is_empty() => Err(RoutingError::NoPath { src, dst }),
            links => Ok(links),
        }
    }

    /// Computes all routes anew. A route stays if it is still there, unless the best one costs less by more than the
    /// hysteresis, a share of its cost.
    pub fn compute(&mut self) {
        let mut routes = std::mem::take(&mut self.routes);
        for ((dst, src), route) in &mut routes {
            let best = self.best(*src, *dst).unwrap_or_default();
            if self.cost(&best) < self.cost(route) * (1.0 - self.settings.hysteresis) {
                *route = best;
            } else if self.cost(route).is_infinite() {
                route.clear();
            }
        }
        self.routes = routes;
    }

    fn best(&self, src: NodeId, dst: NodeId) -> Result<Vec<LinkId>, RoutingError> {
        let single = HopsSpec::KShortest { metric: self.metric, paths: 1 };
        let mut paths = routing::explicit_paths(&self.believed, &single, src, dst)?;
        Ok(paths.swap_remove(0).links)
    }

    /// What a route costs by the estimates; infinite if one of its links is down, or it has none.
    fn cost(&self, links: &[LinkId]) -> f64 {
        if links.is_empty() || links.iter().any(|link| !self.believed.is_up(*link)) {
            return f64::INFINITY;
        }
        links.iter().map(|link| self.believed.link(*link).delay.as_secs()).sum()
    }

    /// What is believed of a route; `None` if it has a link of which nothing is known.
    pub fn quality(&self, links: &[LinkId]) -> Option<Quality> {
        let (mut delay, mut passing) = (0.0, 1.0);
        for link in links {
            let estimate = &self.estimates[*link as usize];
            delay += estimate.delay()?;
            passing *= 1.0 - estimate.loss()?;
        }
        Some(Quality { delay, loss: 1.0 - passing, cost: self.cost(links) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::test_support::{network, simple_paths};
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn controller(hysteresis: f64, graph: &Graph) -> Controller {
        let settings = LinkStateSpec { sample: SECOND, window: 2, recompute: SECOND, hysteresis };
        Controller::new(settings, Metric::Delay, graph)
    }

    /// Of each link, the milliseconds that a packet took in each sample; none came where it says 0.
    fn samples() -> impl Strategy<Value = Vec<Vec<u64>>> {
        prop::collection::vec(prop::collection::vec(prop_oneof![1 => Just(0), 4 => 1u64..50], 14), 1..12)
    }

    proptest! {
        /// A route changes only for one that costs less by more than the threshold, and stays only if the best does not;
        /// so without a threshold it is always the best. The truth is a list of all paths, and sums over their links.
        #[test]
        fn a_route_changes_if_and_only_if_the_gain_exceeds_the_threshold(
            network in network(6, 14, 1..2), samples in samples(), hysteresis in prop_oneof![Just(0.0), 0.0f64..0.9],
        ) {
            let paths: Vec<Vec<LinkId>> = simple_paths(&network, 0, 1).into_iter().map(|path| path.links).collect();
            prop_assume!(!paths.is_empty());
            let mut controller = controller(hysteresis, &network.graph);
            let fewest = paths.iter().map(Vec::len).min().unwrap();
            let mut route = controller.route(0, 1).unwrap().to_vec();
            prop_assert_eq!(route.len(), fewest, "nothing is known: the fewest links");
            let mut readings = vec![Reading::default(); network.graph.links().len()];
            for (index, sample) in samples.iter().enumerate() {
                for (reading, milliseconds) in readings.iter_mut().zip(sample) {
                    reading.arrived += u64::from(*milliseconds > 0);
                    reading.transit += u128::from(Duration::from_millis(*milliseconds).0);
                }
                let now = Time::ZERO + SECOND * (index as u64 + 1);
                prop_assert!(controller.sample(now, readings.iter().copied()) && controller.computes(now));
                controller.compute();
                let known = |link: &LinkId| controller.estimates()[*link as usize].delay().unwrap_or(1000.0);
                let cost = |links: &[LinkId]| links.iter().map(known).sum::<f64>();
                let least = paths.iter().map(|path| cost(path)).fold(f64::INFINITY, f64::min);
                let threshold = cost(&route) * (1.0 - hysteresis);
                let after = controller.routes[&(1, 0)].clone();
                if after == route {
                    prop_assert!(least > threshold - 1e-9, "{} stays, {} is there", cost(&route), least);
                } else {
                    prop_assert!(cost(&after) < threshold + 1e-9 && cost(&after) < least + 1e-9);
                }
                route = after;
            }
        }
    }

    /// 0 - 1 - 3 and 0 - 2 - 3; one link of the first fails, then one of the second as well, and both come back.
    #[test]
    fn a_route_over_a_failed_link_is_left_whatever_the_threshold_and_a_pair_without_a_path_has_none() {
        let links = [(0, 1), (1, 3), (0, 2), (2, 3)].map(|(src, dst)| crate::routing::test_support::link(src, dst));
        let mut controller = controller(0.9, &Graph::new(4, &links).unwrap());
        assert_eq!(controller.route(0, 3).unwrap(), [0, 1]);
        controller.set_up(1, false);
        assert_eq!(controller.route(0, 3).unwrap(), [0, 1], "until it computes");
        controller.compute();
        assert_eq!(controller.route(0, 3).unwrap(), [2, 3]);
        controller.set_up(3, false);
        controller.compute();
        assert_eq!(controller.route(0, 3), Err(RoutingError::NoPath { src: 0, dst: 3 }));
        controller.set_up(1, true);
        controller.set_up(3, true);
        controller.compute();
        assert_eq!(controller.route(0, 3).unwrap(), [0, 1]);
    }
}
