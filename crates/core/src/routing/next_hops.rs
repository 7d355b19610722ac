//! The next hops of all nodes towards one destination after another, by a metric that adds up: hosts of one gateway share them.

use super::backbone::{Backbone, Place};
use super::{Graph, RoutingError, ShortestTree, Weight, link_weights};
use crate::spec::{HopsSpec, LinkId, MetricSpec, NodeId};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

/// No next hop. An entry of a table is this, a single link, or [`SEVERAL`] and the position of a list in [`LinkLists`].
const NONE: u32 = u32::MAX;
const SEVERAL: u32 = 1 << 31;

/// Lists of several links, each kept once: the switches of a fabric have the same next hops towards most destinations.
#[derive(Debug, Default)]
pub struct LinkLists {
    /// The length of each list, and its links.
    words: Vec<u32>,
    /// The position of a list by its hash. A list whose hash another one has is kept again, which costs memory alone.
    positions: FxHashMap<u64, u32>,
}

impl LinkLists {
    /// The entry of these next hops.
    fn entry(&mut self, links: &[LinkId]) -> u32 {
        debug_assert!(links.iter().all(|link| *link < SEVERAL));
        match links {
            [] => return NONE,
            [only] => return *only,
            _ => {}
        }
        let hash = FxBuildHasher.hash_one(links);
        if let Some(entry) = self.positions.get(&hash).filter(|entry| self.links(entry) == links) {
            return *entry;
        }
        let entry = SEVERAL | self.words.len() as u32;
        self.words.push(links.len() as u32);
        self.words.extend_from_slice(links);
        self.positions.insert(hash, entry);
        entry
    }

    /// The next hops of an entry.
    #[inline]
    fn links<'a>(&'a self, entry: &'a u32) -> &'a [LinkId] {
        match *entry {
            NONE => &[],
            several if several & SEVERAL != 0 => {
                let start = (several & !SEVERAL) as usize;
                &self.words[start + 1..][..self.words[start] as usize]
            }
            _ => std::slice::from_ref(entry),
        }
    }
}

/// The next hops of all nodes towards a destination.
#[derive(Debug, Clone)]
pub struct NextHops {
    dst: NodeId,
    /// The next hops towards the destination, or towards its gateway.
    shared: Arc<SharedHops>,
    /// The destination's gateway, and the link from there.
    last: Option<(NodeId, LinkId)>,
}

/// The next hops towards a node of the backbone.
#[derive(Debug)]
struct SharedHops {
    places: Arc<[Place]>,
    /// The destination's number in the backbone.
    dst: NodeId,
    /// The entry of each node of the backbone.
    entries: Vec<u32>,
}

impl NextHops {
    /// No node has any.
    pub fn none() -> NextHops {
        NextHops::of_nodes(&[], 0, &mut LinkLists::default())
    }

    /// Builds the table from a list by node; a node beyond its end has no next hop.
    pub fn of_nodes(next_hops: &[Vec<LinkId>], dst: NodeId, lists: &mut LinkLists) -> NextHops {
        let places = (0..next_hops.len() as NodeId).map(Place::Inside).collect();
        let entries = next_hops.iter().map(|links| lists.entry(links)).collect();
        NextHops { dst, shared: Arc::new(SharedHops { places, dst, entries }), last: None }
    }

    /// The next hops of a node, by ascending id; none at the destination.
    #[inline]
    pub fn at<'a>(&'a self, node: NodeId, lists: &'a LinkLists) -> &'a [LinkId] {
        lists.links(self.entry(node))
    }

    /// The next hop of a node that has exactly one.
    #[inline]
    pub fn only(&self, node: NodeId) -> Option<LinkId> {
        Some(*self.entry(node)).filter(|entry| entry & SEVERAL == 0)
    }

    #[inline]
    fn entry(&self, node: NodeId) -> &u32 {
        match &self.last {
            Some((gateway, link)) if *gateway == node => link,
            Some(_) if node == self.dst => &NONE,
            _ => self.shared.entry(node),
        }
    }

    /// The node towards which all destinations behind it share next hops: the gateway of a host, else the destination itself.
    pub(crate) fn shared_end(&self) -> NodeId {
        self.last.map_or(self.dst, |(gateway, _)| gateway)
    }

    /// The link from the gateway to a host.
    pub(crate) fn last_link(&self) -> Option<LinkId> {
        self.last.map(|(_, link)| link)
    }

    /// The index of a node that may choose among several next hops, below [`Self::choosers`].
    #[inline]
    pub fn chooser(&self, node: NodeId) -> Option<usize> {
        match self.shared.places.get(node as usize)? {
            Place::Inside(number) => Some(*number as usize),
            Place::Host { .. } => None,
        }
    }

    /// How many nodes may choose among several next hops.
    pub fn choosers(&self) -> usize {
        self.shared.entries.len()
    }
}

impl SharedHops {
    #[inline]
    fn entry(&self, node: NodeId) -> &u32 {
        match self.places.get(node as usize) {
            Some(Place::Inside(number)) => &self.entries[*number as usize],
            Some(Place::Host { gateway, up: Some(up), .. })
                if *gateway == self.dst || self.entries[*gateway as usize] != NONE =>
            {
                up
            }
            _ => &NONE,
        }
    }
}

/// Finds next hops under one routing, and remembers those towards each gateway.
#[derive(Debug)]
pub struct NextHopSearch {
    backbone: Backbone,
    /// Weight of each link of the backbone.
    weights: Vec<Weight>,
    /// Whether equal-cost links are all next hops.
    all: bool,
    found: HashMap<NodeId, Arc<SharedHops>>,
}

impl NextHopSearch {
    /// A search over the links that are up now. `None` if the hosts of a gateway may need next hops of their own, because the metric is
    /// not additive.
    ///
    /// # Errors
    /// A link without a weight in the metric.
    pub fn new(graph: &Graph, hops: &HopsSpec) -> Result<Option<NextHopSearch>, RoutingError> {
        let (metric, all) = match hops {
            HopsSpec::Shortest { metric: MetricSpec::One(metric) } => (*metric, false),
            HopsSpec::EqualCost { metric: MetricSpec::One(metric) } => (*metric, true),
            _ => return Ok(None),
        };
        if metric.is_bottleneck() {
            return Ok(None);
        }
        let of_links = link_weights(graph, metric)?;
        let backbone = Backbone::new(graph);
        let weights = backbone.links.iter().map(|link| of_links[*link as usize]).collect();
        Ok(Some(NextHopSearch { backbone, weights, all, found: HashMap::new() }))
    }

    /// Forgets what it remembers.
    pub(crate) fn forget(&mut self) {
        self.found.clear();
    }

    /// The number of a node's gateway, or of the node itself, in the backbone.
    pub(crate) fn root(&self, dst: NodeId) -> NodeId {
        self.backbone.places.get(dst as usize).map_or(dst, |place| place.number())
    }

    /// The next hops towards a node, equal to the result of [`super::next_hops()`].
    ///
    /// # Errors
    /// A node that does not exist.
    pub fn towards(&mut self, graph: &Graph, dst: NodeId, lists: &mut LinkLists) -> Result<NextHops, RoutingError> {
        graph.check_node(dst)?;
        let last = match self.backbone.places[dst as usize] {
            Place::Inside(_) => None,
            Place::Host { down: Some(down), .. } => Some((graph.link(down).src, down)),
            Place::Host { down: None, .. } => return Ok(NextHops::none()),
        };
        let root = self.backbone.places[dst as usize].number();
        let NextHopSearch { backbone, weights, all, found } = self;
        let shared = found.entry(root).or_insert_with(|| Arc::new(search(backbone, weights, *all, root, lists)));
        Ok(NextHops { dst, shared: shared.clone(), last })
    }
}

fn search(backbone: &Backbone, weights: &[Weight], all: bool, dst: NodeId, lists: &mut LinkLists) -> SharedHops {
    let tree = ShortestTree::new(&backbone.graph, weights, dst);
    let whole = |link: LinkId| backbone.links[link as usize];
    let mut links = Vec::new();
    let entries = (0..backbone.graph.nodes() as NodeId).map(|node| {
        links.clear();
        if all {
            links.extend(tree.equal_cost_links(node).map(whole));
        } else {
            links.extend(tree.next_hop(node).map(whole));
        }
        lists.entry(&links)
    });
    SharedHops { places: backbone.places.clone(), dst, entries: entries.collect() }
}

#[cfg(test)]
mod tests {
    use super::super::next_hops;
    use super::super::test_support::link;
    use super::*;
    use crate::spec::{LinkSpec, Metric, ThroughputMetric};
    use crate::units::Duration;
    use proptest::prelude::*;

    /// Links in both directions between these nodes, with delays from 1 to 3 ms. Every third pair has one direction only.
    fn links(ends: &[(NodeId, NodeId)]) -> Vec<LinkSpec> {
        let mut links = Vec::new();
        for (index, &(a, b)) in ends.iter().enumerate() {
            let ways = if index % 3 == 2 { vec![(a, b)] } else { vec![(a, b), (b, a)] };
            for (src, dst) in ways {
                let delay = Duration::from_millis(1 + links.len() as u64 % 3);
                links.push(LinkSpec { delay, ..link(src, dst) });
            }
        }
        links
    }

    fn check(graph: &Graph) -> Result<(), TestCaseError> {
        for metric in [Metric::HopCount, Metric::Delay] {
            for hops in [HopsSpec::Shortest { metric: metric.into() }, HopsSpec::EqualCost { metric: metric.into() }] {
                let mut search = NextHopSearch::new(graph, &hops).unwrap().expect("the metric adds up");
                let mut lists = LinkLists::default();
                for dst in 0..graph.nodes() as NodeId {
                    let (found, expected) =
                        (search.towards(graph, dst, &mut lists).unwrap(), next_hops(graph, &hops, dst).unwrap());
                    for (node, links) in (0..).zip(&expected) {
                        prop_assert_eq!(found.at(node, &lists), links, "{:?}, {} to {}", hops, node, dst);
                        let only = if let [only] = links[..] { Some(only) } else { None };
                        prop_assert_eq!(found.only(node), only);
                        prop_assert!(links.len() < 2 || found.chooser(node).is_some_and(|it| it < found.choosers()));
                    }
                }
            }
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Compares with the tree of each destination. Few switches and many stubs: hosts with one or two links, on switches and on
        /// hosts. Some links are parallel, have one direction only, or are down.
        #[test]
        fn hosts_of_a_gateway_have_the_next_hops_of_their_own_tree(
            switches in prop::collection::vec((0..5_u32, 0..5_u32), 0..10),
            stubs in prop::collection::vec(0..100_u32, 0..8),
            others in prop::collection::vec((0..13_u32, 0..13_u32), 0..3),
            down in prop::collection::vec(prop::bool::weighted(0.1), 64),
        ) {
            let hang = (5..).zip(&stubs).map(|(host, on)| (host, on % host));
            let ends: Vec<_> = switches.into_iter().chain(hang).chain(others).collect();
            let mut graph = Graph::of_specs(13, &links(&ends)).unwrap();
            for (link, is_down) in (0..graph.links().len() as LinkId).zip(down) {
                graph.set_up(link, !is_down);
            }
            check(&graph)?;
        }
    }

    #[test]
    fn hosts_of_a_fat_tree_have_the_next_hops_of_their_own_tree() {
        // Four pods of two aggregation switches (4..12), two edge switches (12..20) and four hosts (20..36); core switches 0..4.
        let mut ends = Vec::new();
        for pod in 0..4 {
            for switch in 0..2 {
                let (aggregation, edge) = (4 + 2 * pod + switch, 12 + 2 * pod + switch);
                ends.extend((0..2).map(|port| (2 * switch + port, aggregation)));
                ends.extend((0..2).map(|other| (aggregation, 12 + 2 * pod + other)));
                ends.extend((0..2).map(|host| (edge, 20 + 4 * pod + 2 * switch + host)));
            }
        }
        let specs: Vec<_> = ends.iter().flat_map(|&(a, b)| [link(a, b), link(b, a)]).collect();
        let mut graph = Graph::of_specs(36, &specs).unwrap();
        check(&graph).unwrap();
        let hops = HopsSpec::EqualCost { metric: Metric::HopCount.into() };
        let mut search = NextHopSearch::new(&graph, &hops).unwrap().unwrap();
        let mut lists = LinkLists::default();
        let shared = [20, 21, 22].map(|host| search.towards(&graph, host, &mut lists).unwrap().shared);
        assert!(Arc::ptr_eq(&shared[0], &shared[1]) && !Arc::ptr_eq(&shared[0], &shared[2]));
        assert_eq!(shared[0].entries.len(), 20, "hosts have no entry");
        for host in 20..36 {
            search.towards(&graph, host, &mut lists).unwrap();
        }
        assert_eq!(
            lists.words.len(),
            16 * 3,
            "each switch that may choose has one list of two links towards all destinations"
        );
        for link in [0, 7, 12, 13] {
            graph.set_up(link, false);
        }
        check(&graph).unwrap();
    }

    #[test]
    fn hosts_need_next_hops_of_their_own_if_the_metric_does_not_add_up() {
        let graph = Graph::of_specs(2, &[link(0, 1)]).unwrap();
        let metrics: [MetricSpec; 3] = [
            Metric::Widest.into(),
            MetricSpec::Lexicographic(vec![Metric::HopCount, Metric::Widest]),
            MetricSpec::Throughput(ThroughputMetric::Tcpbp),
        ];
        for metric in metrics {
            assert!(NextHopSearch::new(&graph, &HopsSpec::Shortest { metric }).unwrap().is_none());
        }
    }
}
