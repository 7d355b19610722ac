//! The routes of a routing that measures its links, as the controller of TCPBP's testbed has them (section 5.1): computed
//! anew at fixed intervals, by the estimates of the links and not by their configured values.

use crate::packet::link_state::estimate::{Estimate, Reading};
use crate::routing::tcpbp::Label;
use crate::routing::tcpbp::exact::ExactSearch;
use crate::routing::tcpbp::heuristic::{ModifiedDijkstra, Queue};
use crate::routing::{Graph, SourceTree, link_weights};
use crate::spec::{HopsSpec, LinkId, LinkStateSpec, Metric, MetricSpec, NodeId, ThroughputMetric};
use crate::units::{Duration, Time};
use std::collections::BTreeMap;

/// What a link counts as that nothing has crossed yet: so bad that a route takes it only where nothing measured leads.
const UNKNOWN_DELAY: Duration = Duration::from_secs(1000);
/// The loss of such a link, and of one that loses all; metrics take the logarithm of what is left.
const MOST_LOSS: f64 = 1.0 - 1e-9;

/// A metric of what can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measured {
    Delay,
    Loss,
    Throughput(ThroughputMetric),
}

/// The state of one routing.
pub struct Controller {
    settings: LinkStateSpec,
    metric: Measured,
    estimates: Vec<Estimate>,
    /// The network as the estimates have it.
    believed: Graph,
    /// The route in force by source and destination; no links where none leads there.
    routes: BTreeMap<NodeId, BTreeMap<NodeId, Vec<LinkId>>>,
    /// The paths of fewest links from each node that asked for one: the first routes.
    first: BTreeMap<NodeId, SourceTree>,
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

impl Measured {
    /// The metric of a routing that can follow what is measured.
    ///
    /// # Errors
    /// A sentence that says why a routing cannot.
    pub fn of(hops: &HopsSpec) -> Result<Measured, String> {
        match hops {
            HopsSpec::Shortest { metric } | HopsSpec::KShortest { metric, paths: 1 } => match metric {
                MetricSpec::One(Metric::Delay) => Ok(Measured::Delay),
                MetricSpec::One(Metric::Loss) => Ok(Measured::Loss),
                MetricSpec::Throughput(metric) => Ok(Measured::Throughput(*metric)),
                MetricSpec::One(metric) => {
                    Err(format!("nothing that is measured changes the metric {}", metric.name()))
                }
                MetricSpec::Lexicographic(_) => Err("goes with a single metric".into()),
            },
            _ => Err("goes with one path for each pair: the shortest, hop by hop or explicit".into()),
        }
    }

    /// The best paths from a node to these others; no links where there is none.
    fn best(self, graph: &Graph, src: NodeId, destinations: &[NodeId]) -> Vec<Vec<LinkId>> {
        let tree = match self {
            Measured::Delay => tree_of_least(graph, Metric::Delay, src),
            Measured::Loss => tree_of_least(graph, Metric::Loss, src),
            Measured::Throughput(ThroughputMetric::Tcpbp) => ModifiedDijkstra::new(graph).tree(src, Queue::Heap),
            Measured::Throughput(ThroughputMetric::TcpbpExact) => {
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
            Measured::Throughput(_) => label.cost(),
        }
    }
}

/// By a metric for which no link is refused.
fn tree_of_least(graph: &Graph, metric: Metric, src: NodeId) -> SourceTree {
    let weights = link_weights(graph, metric).expect("hops, delays and losses add up");
    SourceTree::shortest(graph, &weights, src)
}

impl Controller {
    /// Knows nothing of the links of this network yet.
    pub fn new(settings: LinkStateSpec, metric: Measured, network: &Graph) -> Controller {
        let links = network.links().len();
        let mut believed = network.clone();
        (0..links).for_each(|link| believed.set_quality(link as LinkId, UNKNOWN_DELAY, MOST_LOSS));
        Controller {
            settings,
            metric,
            estimates: vec![Estimate::new(settings.window); links],
            believed,
            routes: BTreeMap::new(),
            first: BTreeMap::new(),
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
            let loss = estimate.loss().map_or(MOST_LOSS, |loss| loss.min(MOST_LOSS));
            self.believed.set_quality(link as LinkId, delay, loss);
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

    /// The links of the route in force; of a pair that nobody has asked for yet, when nothing is known, the path of fewest
    /// links. `None` if no route leads there.
    pub fn route(&mut self, src: NodeId, dst: NodeId) -> Option<&[LinkId]> {
        let graph = &self.believed;
        let tree = || tree_of_least(graph, Metric::HopCount, src);
        let first = || self.first.entry(src).or_insert_with(tree).path(graph, dst).unwrap_or_default();
        let links = self.routes.entry(src).or_default().entry(dst).or_insert_with(first);
        (!links.is_empty()).then_some(links)
    }

    /// Computes all routes anew. A route stays if its links are up, unless the best one costs less by more than the
    /// hysteresis, a share of its cost.
    pub fn compute(&mut self) {
        self.first.clear();
        let mut routes = std::mem::take(&mut self.routes);
        for (src, routes) in &mut routes {
            let destinations: Vec<NodeId> = routes.keys().copied().collect();
            let best = self.metric.best(&self.believed, *src, &destinations);
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
        !links.is_empty() && links.iter().all(|link| self.believed.is_up(*link))
    }

    /// Whether the best route is better than another by more than the hysteresis. Predicted throughput finds all routes
    /// equal that lose nothing: of these the one of less delay is the better one.
    fn gains(&self, route: &[LinkId], best: &[LinkId]) -> bool {
        let (old, new) = (self.label(route), self.label(best));
        let (old_cost, new_cost) = (self.metric.cost(&old), self.metric.cost(&new));
        let kept = 1.0 - self.settings.hysteresis;
        if matches!(self.metric, Measured::Throughput(_)) && new_cost == old_cost {
            return new.delay().as_secs() < old.delay().as_secs() * kept;
        }
        new_cost < old_cost * kept
    }

    fn label(&self, links: &[LinkId]) -> Label {
        Label::of_path(&self.believed, links)
    }

    /// What is believed of a route; `None` if it has a link of which nothing is known.
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
        let settings = LinkStateSpec { sample: SECOND, window: 2, recompute: SECOND, hysteresis };
        Controller::new(settings, metric, graph)
    }

    /// Of each link and sample, the milliseconds that packets took (none came where it says 0), and how many of a hundred
    /// were lost.
    fn samples() -> impl Strategy<Value = Vec<Vec<(u64, u64)>>> {
        let sample = (prop_oneof![1 => Just(0), 4 => 1u64..50], prop_oneof![Just(0), 0u64..20]);
        prop::collection::vec(prop::collection::vec(sample, 14), 1..12)
    }

    /// Metrics whose searches find what is best.
    fn metric() -> impl Strategy<Value = Measured> {
        let exact = Measured::Throughput(ThroughputMetric::TcpbpExact);
        prop::sample::select(vec![Measured::Delay, Measured::Loss, exact])
    }

    proptest! {
        /// A route changes only for one that costs less by more than the threshold, and stays only if the best does not;
        /// so without a threshold it is always the best. The truth is a list of all paths, and sums over their links.
        /// Where predicted throughput finds both equal, delay decides.
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
            prop_assert_eq!(route.len(), fewest, "nothing is known: the fewest links");
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
                        1.0 - controller.estimates()[*link as usize].loss().unwrap_or(MOST_LOSS)
                    };
                    let loss = 1.0 - links.iter().map(passing).product::<f64>();
                    match metric {
                        Measured::Delay => delay(links),
                        Measured::Loss => loss,
                        Measured::Throughput(_) => delay(links) * loss.sqrt(),
                    }
                };
                let least = paths.iter().map(|path| cost(path)).fold(f64::INFINITY, f64::min);
                let threshold = cost(&route) * (1.0 - hysteresis);
                let after = controller.routes[&0][&1].clone();
                if after == route {
                    prop_assert!(least > threshold * (1.0 - 1e-9) - 1e-9, "{} stays, {} is there", cost(&route), least);
                } else {
                    let is_tie = matches!(metric, Measured::Throughput(_)) && (cost(&after) - cost(&route)).abs() < 1e-9;
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

    /// 0 - 1 - 3 and 0 - 2 - 3; one link of the first fails, then one of the second as well, and both come back.
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

    /// Two ways that lose nothing: predicted throughput has no bound on either, and delay decides.
    #[test]
    fn of_routes_without_loss_the_one_of_less_delay_is_the_best_by_throughput() {
        let links = [(0, 1), (0, 1)].map(|(src, dst)| crate::routing::test_support::link(src, dst));
        let graph = Graph::of_specs(2, &links).unwrap();
        let metric = Measured::Throughput(ThroughputMetric::Tcpbp);
        let reading = |ms: u64| Reading { arrived: 1, lost: 0, transit: u128::from(Duration::from_millis(ms).0) };
        for (hysteresis, route) in [(0.0, 1), (0.4, 1), (0.6, 0)] {
            let mut controller = controller(metric, hysteresis, &graph);
            assert_eq!(controller.route(0, 1).unwrap(), [0]);
            controller.sample(Time::ZERO + SECOND, [reading(10), reading(5)].into_iter());
            controller.compute();
            assert_eq!(controller.route(0, 1).unwrap(), [route]);
        }
    }
}
