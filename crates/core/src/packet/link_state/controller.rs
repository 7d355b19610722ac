//! Computes the routes of a routing that measures its links, as the controller of TCPBP's testbed does (section 5.1). It does
//! so at fixed intervals, from the links' estimates instead of their configured values.

use crate::packet::link_state::estimate::{Estimate, Reading};
use crate::packet::link_state::interval::Interval;
use crate::routing::tcpbp::Label;
use crate::routing::tcpbp::exact::ExactSearch;
use crate::routing::tcpbp::heuristic::{ModifiedDijkstra, Queue};
use crate::routing::{Graph, SourceTree, link_weights};
use crate::spec::{HopsSpec, LinkId, LinkStateSpec, Metric, MetricSpec, NodeId, ThroughputMetric};
use crate::units::{Duration, Time};
use std::collections::BTreeMap;

/// The delay of a link that no packet has crossed: routes use it only where no measured link leads.
const UNKNOWN_DELAY: Duration = Duration::from_secs(1000);
/// The loss of a link that no packet has crossed, and the greatest loss of any link, because metrics take the logarithm of 1 -
/// loss.
const MAX_LOSS: f64 = 1.0 - 1e-9;

/// A metric that can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measured {
    Delay,
    Loss,
    Tcpbp,
    TcpbpExact,
}

/// The state of one routing.
pub struct Controller {
    settings: LinkStateSpec,
    metric: Measured,
    estimates: Vec<Estimate>,
    /// The network with the estimates as delay and loss.
    estimated: Graph,
    /// The current route by source and destination; empty if there is none.
    routes: BTreeMap<NodeId, BTreeMap<NodeId, Vec<LinkId>>>,
    /// The paths with the fewest links, by source: the routes before the first computation.
    first: BTreeMap<NodeId, SourceTree>,
    next_sample: Time,
    next_computation: Time,
}

/// The estimate of a route: delay in seconds, loss ratio, and cost in the routing's metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quality {
    pub delay: f64,
    pub loss: f64,
    pub cost: f64,
}

impl Measured {
    /// The metric of a routing that can use measurements.
    ///
    /// # Errors
    /// Says why the routing cannot.
    pub fn of(hops: &HopsSpec) -> Result<Measured, String> {
        match hops {
            HopsSpec::Shortest { metric } | HopsSpec::KShortest { metric, paths: 1 } => match metric {
                MetricSpec::One(Metric::Delay) => Ok(Measured::Delay),
                MetricSpec::One(Metric::Loss) => Ok(Measured::Loss),
                MetricSpec::Throughput(ThroughputMetric::Tcpbp) => Ok(Measured::Tcpbp),
                MetricSpec::Throughput(ThroughputMetric::TcpbpExact) => Ok(Measured::TcpbpExact),
                MetricSpec::Throughput(metric) => Err(format!("does not measure for the metric {}", metric.name())),
                MetricSpec::One(metric) => {
                    Err(format!("nothing that is measured changes the metric {}", metric.name()))
                }
                MetricSpec::Lexicographic(_) => Err("goes with a single metric".into()),
            },
            _ => Err("goes with one path for each pair: the shortest, hop by hop or explicit".into()),
        }
    }

    /// The best paths from a node to these destinations; empty where there is none.
    fn best(self, graph: &Graph, src: NodeId, destinations: &[NodeId]) -> Vec<Vec<LinkId>> {
        let tree = match self {
            Measured::Delay => tree_of_least(graph, Metric::Delay, src),
            Measured::Loss => tree_of_least(graph, Metric::Loss, src),
            Measured::Tcpbp => ModifiedDijkstra::new(graph).tree(src, Queue::Heap),
            Measured::TcpbpExact => {
                let routes = ExactSearch::new(graph).to(src, destinations.to_vec());
                return destinations.iter().map(|dst| routes.path(*dst).unwrap_or_default()).collect();
            }
        };
        destinations.iter().map(|dst| tree.path(graph, *dst).unwrap_or_default()).collect()
    }

    fn cost(self, label: &Label) -> f64 {
        match self {
            Measured::Delay => label.delay().as_secs(),
            Measured::Loss => label.loss(),
            Measured::Tcpbp | Measured::TcpbpExact => label.cost(),
        }
    }
}

/// The tree of a metric that accepts all links.
fn tree_of_least(graph: &Graph, metric: Metric, src: NodeId) -> SourceTree {
    let weights = link_weights(graph, metric).expect("hops, delays and losses add up");
    SourceTree::shortest(graph, &weights, src)
}

impl Controller {
    /// A controller without estimates.
    pub fn new(settings: LinkStateSpec, metric: Measured, network: &Graph) -> Controller {
        let links = network.links().len();
        let mut estimated = network.clone();
        (0..links).for_each(|link| estimated.set_quality(link as LinkId, UNKNOWN_DELAY, MAX_LOSS));
        Controller {
            settings,
            metric,
            estimates: vec![Estimate::new(settings.window); links],
            estimated,
            routes: BTreeMap::new(),
            first: BTreeMap::new(),
            next_sample: Time::ZERO + settings.sample,
            next_computation: Time::ZERO + settings.recompute,
        }
    }

    /// Time of the next sample or computation.
    pub fn due(&self) -> Time {
        self.next_sample.min(self.next_computation)
    }

    /// Takes a sample if one is due; `readings` are by link. Returns whether it has.
    pub fn sample(&mut self, now: Time, readings: impl Iterator<Item = Reading>) -> bool {
        if now != self.next_sample {
            return false;
        }
        self.next_sample = now + self.settings.sample;
        for (link, (estimate, reading)) in self.estimates.iter_mut().zip(readings).enumerate() {
            estimate.sample(reading);
            let delay = estimate.delay().map_or(UNKNOWN_DELAY, Duration::from_secs_f64);
            let loss = estimate.loss().map_or(MAX_LOSS, |loss| loss.min(MAX_LOSS));
            self.estimated.set_quality(link as LinkId, delay, loss);
        }
        true
    }

    /// Whether a computation of the routes is due, which must follow.
    pub fn computes(&mut self, now: Time) -> bool {
        let due = now == self.next_computation;
        if due {
            self.next_computation = now + self.settings.recompute;
        }
        due
    }

    /// The estimates by link.
    pub fn estimates(&self) -> &[Estimate] {
        &self.estimates
    }

    /// Marks a link up or down.
    pub fn set_up(&mut self, link: LinkId, up: bool) {
        self.estimated.set_up(link, up);
    }

    /// The links of the current route: before the first computation, of the path with the fewest links. `None` if there is
    /// no route.
    pub fn route(&mut self, src: NodeId, dst: NodeId) -> Option<&[LinkId]> {
        let graph = &self.estimated;
        let tree = || tree_of_least(graph, Metric::HopCount, src);
        let first = || self.first.entry(src).or_insert_with(tree).path(graph, dst).unwrap_or_default();
        let links = self.routes.entry(src).or_default().entry(dst).or_insert_with(first);
        (!links.is_empty()).then_some(links)
    }

    /// Recomputes all routes. A route whose links are up is kept, unless the best route [gains](Self::gains).
    pub fn compute(&mut self) {
        self.first.clear();
        let mut routes = std::mem::take(&mut self.routes);
        for (src, routes) in &mut routes {
            let destinations: Vec<NodeId> = routes.keys().copied().collect();
            let best = self.metric.best(&self.estimated, *src, &destinations);
            for (route, best) in routes.values_mut().zip(best) {
                if !self.is_up(route) || self.gains(route, &best) {
                    *route = best;
                }
            }
        }
        self.routes = routes;
    }

    /// Whether there is a route and all its links are up.
    fn is_up(&self, links: &[LinkId]) -> bool {
        !links.is_empty() && links.iter().all(|link| self.estimated.is_up(*link))
    }

    /// Whether the best route is better than another by more than the hysteresis and, if the scenario wants it, whatever the true
    /// values within the intervals are. Among routes without loss, which all have the same predicted throughput, less delay is
    /// better.
    fn gains(&self, route: &[LinkId], best: &[LinkId]) -> bool {
        let (old, new) = (self.label(route), self.label(best));
        let is_tie = self.metric.cost(&new) == self.metric.cost(&old);
        let decides = match self.metric {
            Measured::Tcpbp | Measured::TcpbpExact if is_tie => Measured::Delay,
            metric => metric,
        };
        decides.cost(&new) < decides.cost(&old) * (1.0 - self.settings.hysteresis)
            && (!self.settings.intervals || self.are_apart(decides, route, best))
    }

    /// Whether the interval of the best route's cost lies below that of another's. Links that both share count as exact, because
    /// their errors change both costs alike.
    fn are_apart(&self, metric: Measured, route: &[LinkId], best: &[LinkId]) -> bool {
        let interval = |links: &[LinkId], others: &[LinkId]| {
            let loose = links.iter().filter(|link| !others.contains(link)).map(|link| &self.estimates[*link as usize]);
            let label = self.label(links);
            let delay = Interval::around(label.delay().as_secs(), loose.clone().map(Estimate::delay_interval));
            let loss = Interval::around(label.loss(), loose.map(Estimate::loss_interval));
            match metric {
                Measured::Delay => delay,
                Measured::Loss => loss,
                Measured::Tcpbp | Measured::TcpbpExact => delay.times(loss.map(f64::sqrt)),
            }
        };
        interval(best, route).high < interval(route, best).low
    }

    fn label(&self, links: &[LinkId]) -> Label {
        Label::of_path(&self.estimated, links)
    }

    /// The estimate of a route; `None` if one of its links has none.
    pub fn quality(&self, links: &[LinkId]) -> Option<Quality> {
        let known = |link: &LinkId| self.estimates[*link as usize].delay().is_some();
        links.iter().all(known).then(|| {
            let label = self.label(links);
            Quality { delay: label.delay().as_secs(), loss: label.loss(), cost: self.metric.cost(&label) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::test_support::{network, simple_paths};
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn controller(metric: Measured, hysteresis: f64, graph: &Graph) -> Controller {
        let settings = LinkStateSpec { sample: SECOND, window: 2, recompute: SECOND, hysteresis, intervals: false };
        Controller::new(settings, metric, graph)
    }

    /// For each sample and link: the delay of packets in milliseconds, 0 if no packet arrived, and the number of lost packets
    /// of 100.
    fn samples() -> impl Strategy<Value = Vec<Vec<(u64, u64)>>> {
        let sample = (prop_oneof![1 => Just(0), 4 => 1u64..50], prop_oneof![Just(0), 0u64..20]);
        prop::collection::vec(prop::collection::vec(sample, 14), 1..12)
    }

    /// Metrics with exact searches.
    fn metric() -> impl Strategy<Value = Measured> {
        let exact = Measured::TcpbpExact;
        prop::sample::select(vec![Measured::Delay, Measured::Loss, exact])
    }

    proptest! {
        /// A route changes if and only if the best route costs less by more than the threshold. So without a threshold it
        /// is always the best. The truth is a list of all paths, and sums over their links. Delay decides between routes of
        /// equal predicted throughput.
        #[test]
        fn a_route_changes_if_and_only_if_the_gain_exceeds_the_threshold(
            network in network(6, 14, 1..2), metric in metric(), samples in samples(),
            hysteresis in prop_oneof![Just(0.0), 0.0f64..0.9],
        ) {
            let paths: Vec<Vec<LinkId>> = simple_paths(&network, 0, 1).into_iter().map(|path| path.links).collect();
            let mut controller = controller(metric, hysteresis, &network.graph);
            if paths.is_empty() {
                prop_assert_eq!(controller.route(0, 1), None);
                return Ok(());
            }
            let fewest = paths.iter().map(Vec::len).min().unwrap();
            let mut route = controller.route(0, 1).unwrap().to_vec();
            prop_assert_eq!(route.len(), fewest, "no estimates yet: the fewest links");
            let mut readings = vec![Reading::default(); network.graph.links().len()];
            for (index, sample) in samples.iter().enumerate() {
                for (reading, (milliseconds, lost)) in readings.iter_mut().zip(sample) {
                    if *milliseconds > 0 {
                        reading.arrived += 100 - lost;
                        reading.lost += lost;
                        reading.transit += u128::from(Duration::from_millis(*milliseconds * (100 - lost)).0);
                    }
                }
                let now = Time::ZERO + SECOND * (index as u64 + 1);
                prop_assert!(controller.sample(now, readings.iter().copied()) && controller.computes(now));
                controller.compute();
                let delay = |links: &[LinkId]| {
                    let known = |link: &LinkId| controller.estimates()[*link as usize].delay().unwrap_or(1000.0);
                    links.iter().map(known).sum::<f64>()
                };
                let cost = |links: &[LinkId]| {
                    let passing = |link: &LinkId| {
                        1.0 - controller.estimates()[*link as usize].loss().unwrap_or(MAX_LOSS)
                    };
                    let loss = 1.0 - links.iter().map(passing).product::<f64>();
                    match metric {
                        Measured::Delay => delay(links),
                        Measured::Loss => loss,
                        Measured::Tcpbp | Measured::TcpbpExact => delay(links) * loss.sqrt(),
                    }
                };
                let least = paths.iter().map(|path| cost(path)).fold(f64::INFINITY, f64::min);
                let threshold = cost(&route) * (1.0 - hysteresis);
                let after = controller.routes[&0][&1].clone();
                if after == route {
                    prop_assert!(least > threshold * (1.0 - 1e-9) - 1e-9, "{} stays, {} is there", cost(&route), least);
                } else {
                    let is_tie = matches!(metric, Measured::Tcpbp | Measured::TcpbpExact) && (cost(&after) - cost(&route)).abs() < 1e-9;
                    let gains = if is_tie {
                        delay(&after) < delay(&route) * (1.0 - hysteresis)
                    } else {
                        cost(&after) < threshold * (1.0 + 1e-9) + 1e-9
                    };
                    prop_assert!(gains, "{} for {}", cost(&after), cost(&route));
                    prop_assert!(cost(&after) < least * (1.0 + 1e-9) + 1e-9);
                }
                route = after;
            }
        }
    }

    /// 0 - 1 - 3 and 0 - 2 - 3. A link of the first path fails, then one of the second, and both come up again.
    #[test]
    fn a_route_over_a_failed_link_is_left_whatever_the_threshold_and_a_pair_without_a_path_has_none() {
        let links = [(0, 1), (1, 3), (0, 2), (2, 3)].map(|(src, dst)| crate::routing::test_support::link(src, dst));
        let mut controller = controller(Measured::Delay, 0.9, &Graph::of_specs(4, &links).unwrap());
        assert_eq!(controller.route(0, 3).unwrap(), [0, 1]);
        controller.set_up(1, false);
        assert_eq!(controller.route(0, 3).unwrap(), [0, 1], "until it computes");
        controller.compute();
        assert_eq!(controller.route(0, 3).unwrap(), [2, 3]);
        controller.set_up(3, false);
        controller.compute();
        assert_eq!(controller.route(0, 3), None);
        controller.set_up(1, true);
        controller.set_up(3, true);
        controller.compute();
        assert_eq!(controller.route(0, 3).unwrap(), [0, 1]);
    }

    /// Two paths without loss: predicted throughput has no bound on either, and delay decides.
    #[test]
    fn of_routes_without_loss_the_one_of_less_delay_is_the_best_by_throughput() {
        let links = [(0, 1), (0, 1)].map(|(src, dst)| crate::routing::test_support::link(src, dst));
        let graph = Graph::of_specs(2, &links).unwrap();
        let metric = Measured::Tcpbp;
        let reading =
            |ms: u64| Reading { arrived: 1, transit: u128::from(Duration::from_millis(ms).0), ..Reading::default() };
        for (hysteresis, route) in [(0.0, 1), (0.4, 1), (0.6, 0)] {
            let mut controller = controller(metric, hysteresis, &graph);
            assert_eq!(controller.route(0, 1).unwrap(), [0]);
            controller.sample(Time::ZERO + SECOND, [reading(10), reading(5)].into_iter());
            controller.compute();
            assert_eq!(controller.route(0, 1).unwrap(), [route]);
        }
    }

    /// Two links with the same delay lose 2 and 1 of 100 packets, later 200 and 100 of 10,000: only then are Wilson's intervals apart.
    /// Each packet of a sample has the same delay, so that the loss alone is uncertain.
    #[test]
    fn with_intervals_a_route_stays_until_chance_cannot_explain_the_difference() {
        let links = [(0, 1), (0, 1)].map(|(src, dst)| crate::routing::test_support::link(src, dst));
        let graph = Graph::of_specs(2, &links).unwrap();
        let picoseconds = u128::from(Duration::from_millis(10).0);
        let reading = |lost: u64, all: u64| Reading {
            arrived: all - lost,
            lost,
            transit: u128::from(all - lost) * picoseconds,
            squares: u128::from(all - lost) * picoseconds.pow(2),
        };
        for (metric, intervals, all, route) in [
            (Measured::Loss, false, 100, 1),
            (Measured::Loss, true, 100, 0),
            (Measured::Loss, true, 10_000, 1),
            (Measured::TcpbpExact, true, 100, 0),
            (Measured::TcpbpExact, true, 10_000, 1),
        ] {
            let settings = LinkStateSpec { sample: SECOND, window: 1, recompute: SECOND, hysteresis: 0.0, intervals };
            let mut controller = Controller::new(settings, metric, &graph);
            assert_eq!(controller.route(0, 1).unwrap(), [0]);
            controller.sample(Time::ZERO + SECOND, [reading(all / 50, all), reading(all / 100, all)].into_iter());
            controller.compute();
            assert_eq!(controller.route(0, 1).unwrap(), [route], "{metric:?} {intervals} {all}");
        }
    }
}
