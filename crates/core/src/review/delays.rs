//! The delays of routes, each found once for all warnings that need it.

use super::routes::Finder;
use crate::routing::{Graph, LinkLists, NextHopSearch, NextHops, RoutingError};
use crate::spec::{NodeId, RunSpec};
use crate::units::Duration;
use std::collections::HashMap;

/// A path of a routing, by its index, source and destination.
pub(super) type Route = (usize, NodeId, NodeId);

/// The delays of the fastest and of the slowest path of a route.
type Bounds = (Duration, Duration);

/// The delays of routes that have a path; `None` of others.
#[derive(Default)]
pub(super) struct Delays(HashMap<Route, Option<Bounds>>);

impl Delays {
    /// Finds those that are not known yet.
    pub(super) fn find(&mut self, spec: &RunSpec, graph: &Graph, routes: Vec<Route>) -> Result<(), RoutingError> {
        let mut wanted: Vec<Route> = routes.into_iter().filter(|route| !self.0.contains_key(route)).collect();
        wanted.sort_unstable_by_key(|(routing, src, dst)| (*routing, *dst, *src));
        wanted.dedup();
        let mut finder = Finder::default();
        for of_routing in wanted.chunk_by(|one, other| one.0 == other.0) {
            let (routing, hops) = (of_routing[0].0, &spec.routings[of_routing[0].0].hops);
            if let Some(search) = NextHopSearch::new(graph, hops)? {
                self.find_towards_gateways(graph, search, of_routing)?;
                continue;
            }
            for &(_, src, dst) in of_routing {
                let found = finder.find(graph, (routing, hops), src, dst)?.delays(graph, src, dst);
                self.0.insert((routing, src, dst), found);
            }
        }
        Ok(())
    }

    /// Finds those of one routing whose destinations behind one gateway share next hops.
    fn find_towards_gateways(
        &mut self,
        graph: &Graph,
        mut search: NextHopSearch,
        routes: &[Route],
    ) -> Result<(), RoutingError> {
        let mut routes = routes.to_vec();
        routes.sort_by_cached_key(|(_, src, dst)| (search.root(*dst), *dst, *src));
        let (mut known, mut lists) = (None::<(NodeId, Towards)>, LinkLists::default());
        for (routing, src, dst) in routes {
            let root = search.root(dst);
            if known.as_ref().is_none_or(|(known, _)| *known != root) {
                search.forget(); // the next hops towards all gateways of a large network take gigabytes
                known = None;
            }
            let next_hops = search.towards(graph, dst, &mut lists)?;
            if next_hops.at(src, &lists).is_empty() {
                self.0.insert((routing, src, dst), None);
                continue;
            }
            let (_, towards) = known.get_or_insert_with(|| (root, Towards::new(next_hops.shared_end())));
            self.0.insert((routing, src, dst), towards.from(graph, &next_hops, &lists, src));
        }
        Ok(())
    }

    /// The delays of the fastest and of the slowest path of a route; none if it has none, or was not looked for.
    pub(super) fn of(&self, route: Route) -> Option<Bounds> {
        self.0.get(&route).copied().flatten()
    }
}

/// The delays of next hops that never lead in a circle, towards a node that all destinations behind it share.
struct Towards {
    known: HashMap<NodeId, Bounds>,
}

impl Towards {
    fn new(end: NodeId) -> Towards {
        Towards { known: HashMap::from([(end, (Duration::ZERO, Duration::ZERO))]) }
    }

    fn from(&mut self, graph: &Graph, next_hops: &NextHops, lists: &LinkLists, src: NodeId) -> Option<Bounds> {
        let mut waiting = vec![src];
        while let Some(&node) = waiting.last() {
            if self.known.contains_key(&node) {
                waiting.pop();
                continue;
            }
            let links = next_hops.at(node, lists).iter().map(|&link| graph.link(link));
            let unknown = links.clone().map(|link| link.dst).filter(|next| !self.known.contains_key(next));
            let before = waiting.len();
            waiting.extend(unknown);
            if waiting.len() > before {
                continue;
            }
            let ways = links.map(|link| (link.delay, self.known[&link.dst]));
            let ways = ways.map(|(delay, (least, greatest))| (delay + least, delay + greatest));
            let bounds = ways.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))?;
            self.known.insert(node, bounds);
        }
        let (least, greatest) = self.known[&src];
        let last = next_hops.last_link().map_or(Duration::ZERO, |link| graph.link(link).delay);
        Some((least + last, greatest + last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::test_support::link;
    use crate::spec::{HopsSpec, LinkSpec, Metric};
    use proptest::prelude::*;

    proptest! {
        /// Compares with the routes of each pair. Many nodes are hosts, some links have one direction only.
        #[test]
        fn delays_towards_gateways_are_those_of_each_pair(
            ends in prop::collection::vec((0..9_u32, 0..9_u32), 1..16),
            by_delay: bool,
            all: bool,
        ) {
            let mut links = Vec::new();
            for (index, &(a, b)) in ends.iter().enumerate().filter(|(_, (a, b))| a != b) {
                let delay = Duration::from_millis(1 + index as u64 % 3);
                links.push(LinkSpec { delay, ..link(a, b) });
                if index % 4 > 0 {
                    links.push(LinkSpec { delay, ..link(b, a) });
                }
            }
            let graph = Graph::of_specs(9, &links).unwrap();
            let metric = if by_delay { Metric::Delay } else { Metric::HopCount }.into();
            let hops = if all { HopsSpec::EqualCost { metric } } else { HopsSpec::Shortest { metric } };
            let pairs = (0..9).flat_map(|dst| (0..9).map(move |src| (0, src, dst)));
            let routes: Vec<Route> = pairs.filter(|(_, src, dst)| src != dst).collect();
            let mut delays = Delays::default();
            let search = NextHopSearch::new(&graph, &hops).unwrap().unwrap();
            delays.find_towards_gateways(&graph, search, &routes).unwrap();
            let mut finder = Finder::default();
            for (routing, src, dst) in routes {
                let expected = finder.find(&graph, (routing, &hops), src, dst).unwrap().delays(&graph, src, dst);
                prop_assert_eq!(delays.of((routing, src, dst)), expected, "{} to {}", src, dst);
            }
        }
    }
}
