//! The next link of a packet: compiled routes, path sets at the ingress, next-hop tables at every node.
//!
//! A packet carries one word, `at`. On a compiled route it is the index of the packet's next link in one list of all routes' links; each route
//! ends with [`END`]. Hop by hop it has the index of the destination's next-hop table, the packet's time to live, and the flag
//! [`HOP_BY_HOP`]. The time to live ends loops, which routers with trees of their own can form. [`next_hops`] has the tables, [`select`] the choice
//! among several next hops.
//!
//! May use: the controllers of link state, and the algorithms of `routing/`.

pub mod next_hops;
pub mod select;

use crate::packet::forwarding::next_hops::NextHopTable;
use crate::packet::forwarding::select::{Key, NextHopSet, SelectorState};
use crate::packet::link_state::controller::{Controller, Measured, Quality};
use crate::prefetch::prefetch;
use crate::rng::{Purpose, Stream};
use crate::routing::{self, Graph, RoutingError};
use crate::spec::{Granularity, HopsSpec, LinkId, MetricSpec, NodeId, RoutingSpec, Selector};
use crate::units::Time;
use std::collections::{HashMap, HashSet};

/// The end of a compiled route: the packet has arrived.
pub const END: u32 = u32::MAX;
const HOP_BY_HOP: u32 = 1 << 31;
/// Hop by hop, the time to live stands in the seven bits from this one on, above the index of the table.
const TIME_TO_LIVE_BIT: u32 = 24;
/// The time to live of a packet that leaves its host (RFC 1700, "IP time to live parameter"): it crosses so many links.
const TIME_TO_LIVE: u32 = 64;

/// How packets of a flow leave their host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RouteRef {
    /// One compiled route, by its first position.
    Route(u32),
    /// One of several compiled routes, by the index of their set.
    PathSet(u32),
    /// Hop by hop, by the index of the destination's table.
    NextHopTable(u32),
}

/// The compiled routes from one node to another, of which each packet takes one.
struct PathSet {
    routing: usize,
    src: NodeId,
    dst: NodeId,
    /// The first positions of the routes.
    starts: Vec<u32>,
    /// Their cumulative weights, ending at 1; empty if all weigh the same.
    cumulative: Vec<f64>,
    draws: Stream,
    memory: SelectorState,
}

/// All routes of a run.
pub struct Forwarding {
    routings: Vec<RoutingSpec>,
    graph: Graph,
    seed: u64,
    hops: Vec<LinkId>,
    path_sets: Vec<PathSet>,
    /// For each destination in hop-by-hop use.
    tables: Vec<NextHopTable>,
    table_of: HashMap<(usize, NodeId), usize>,
    routes: HashMap<(usize, NodeId, NodeId), RouteRef>,
    /// The next hops by node to the destination that was asked for last.
    last_next_hops: ((usize, NodeId), Vec<Vec<LinkId>>),
    /// How many paths lead hop by hop to a table's destination from a node, as long as routes stay as they are.
    path_counts: HashMap<(u32, NodeId), u32>,
    /// Whether a flow's packets look for their next link at every node.
    hop_by_hop: bool,
    /// Whether links may fail during the run.
    dynamic: bool,
    /// Of each routing that measures its links.
    controllers: Vec<Option<Controller>>,
}

impl Forwarding {
    /// No routes yet. `dynamic` says that links fail or routes are computed anew during the run.
    pub fn new(routings: Vec<RoutingSpec>, graph: Graph, seed: u64, dynamic: bool) -> Forwarding {
        let controllers = routings.iter().map(|routing| {
            let metric = Measured::of(&routing.hops).ok();
            routing.link_state.zip(metric).map(|(settings, metric)| Controller::new(settings, metric, &graph))
        });
        Forwarding {
            controllers: controllers.collect(),
            routings,
            graph,
            seed,
            hops: Vec::new(),
            path_sets: Vec::new(),
            tables: Vec::new(),
            table_of: HashMap::new(),
            routes: HashMap::new(),
            last_next_hops: ((0, 0), Vec::new()),
            path_counts: HashMap::new(),
            hop_by_hop: false,
            dynamic,
        }
    }

    /// The way of packets from `src` to `dst` under a routing.
    ///
    /// # Errors
    /// If there is no path, or an explicit path does not exist.
    pub fn route(&mut self, routing: usize, src: NodeId, dst: NodeId) -> Result<RouteRef, RoutingError> {
        if let Some(route) = self.routes.get(&(routing, src, dst)) {
            return Ok(*route);
        }
        let route = match &self.routings[routing].hops {
            hops if !self.changes(routing) && follows_one_tree(hops) => self.compile_shortest(routing, src, dst)?,
            HopsSpec::Shortest { .. } | HopsSpec::EqualCost { .. } => self.table(routing, src, dst)?,
            _ => self.path_set(routing, src, dst)?,
        };
        self.routes.insert((routing, src, dst), route);
        Ok(route)
    }

    /// The way of a flow's packets in one direction: compiled where the flow keeps to one path that is known beforehand.
    ///
    /// # Errors
    /// As [`Self::route`].
    pub fn route_of_flow(&mut self, routing: usize, key: &Key) -> Result<RouteRef, RoutingError> {
        let route = self.route(routing, key.src, key.dst)?;
        let RoutingSpec { per, select, .. } = self.routings[routing];
        let keeps_to_one = per == Granularity::Flow && select != Selector::RoundRobin && !self.changes(routing);
        let route = if keeps_to_one { self.path_of_flow(route, key).unwrap_or(route) } else { route };
        self.hop_by_hop |= matches!(route, RouteRef::NextHopTable(_));
        Ok(route)
    }

    /// The path that a flow keeps to, compiled; `None` if it does not arrive.
    fn path_of_flow(&mut self, route: RouteRef, key: &Key) -> Option<RouteRef> {
        let table = match route {
            RouteRef::Route(_) => return Some(route),
            RouteRef::PathSet(set) => {
                return self.path_sets[set as usize].choose(&self.routings, Time::ZERO, key).map(RouteRef::Route);
            }
            RouteRef::NextHopTable(table) => table,
        };
        let (mut links, mut node) = (Vec::new(), key.src);
        while node != key.dst {
            let link = self.next_hop(table, node, Time::ZERO, key)?;
            links.push(link);
            node = self.graph.link(link).dst;
            if links.len() > TIME_TO_LIVE as usize {
                return None;
            }
        }
        Some(RouteRef::Route(self.compile(&links)))
    }

    /// Whether the routes of a routing may change during the run.
    fn changes(&self, routing: usize) -> bool {
        self.dynamic || self.controllers[routing].is_some()
    }

    /// How many paths the packets of one flow from `src` may take: those that its routing gives, or one if the flow keeps to it.
    pub fn paths_of_flow(&mut self, route: RouteRef, src: NodeId) -> u32 {
        let routing = match route {
            RouteRef::Route(_) => return 1,
            RouteRef::PathSet(set) => self.path_sets[set as usize].routing,
            RouteRef::NextHopTable(table) => self.tables[table as usize].routing,
        };
        if self.routings[routing].per == Granularity::Flow {
            return 1;
        }
        let paths = match route {
            RouteRef::Route(_) => 1,
            RouteRef::PathSet(set) => self.path_sets[set as usize].starts.len() as u32,
            RouteRef::NextHopTable(table) => self.path_counts.get(&(table, src)).copied().unwrap_or_else(|| {
                let paths = self.shortest_paths(table as usize, src);
                self.path_counts.insert((table, src), paths);
                paths
            }),
        };
        paths.max(1)
    }

    /// The number of paths hop by hop from a node to a table's destination: the sum over its next hops, without those that
    /// lead back. The greatest number stands for more.
    fn shortest_paths(&self, table: usize, src: NodeId) -> u32 {
        let table = &self.tables[table];
        // Of a node without a number, those after it are being counted: who comes to it again goes in a circle.
        let mut counts = HashMap::from([(table.dst, Some(1_u32))]);
        let mut waiting = vec![src];
        while let Some(&node) = waiting.last() {
            let next_nodes = || table.next_hops(node).iter().map(|link| self.graph.link(*link).dst);
            match counts.get(&node) {
                None => {
                    counts.insert(node, None);
                    waiting.extend(next_nodes().filter(|next| !counts.contains_key(next)));
                    continue;
                }
                Some(None) => {
                    let beyond = |next: NodeId| counts.get(&next).copied().flatten().unwrap_or(0);
                    let sum = next_nodes().fold(0, |sum: u32, next| sum.saturating_add(beyond(next)));
                    counts.insert(node, Some(sum));
                }
                Some(Some(_)) => {}
            }
            waiting.pop();
        }
        counts[&src].unwrap_or(0)
    }

    /// Compiles the single routes among these (routing, source, destination) destination by destination, so that each
    /// destination's tree is found once. What is wrong with one is told when [`Self::route`] is asked for it.
    pub fn compile_shortest_routes(&mut self, mut wanted: Vec<(usize, NodeId, NodeId)>) {
        wanted.retain(|(routing, ..)| !self.changes(*routing) && follows_one_tree(&self.routings[*routing].hops));
        wanted.sort_unstable_by_key(|(routing, src, dst)| (*routing, *dst, *src));
        wanted.dedup();
        self.routes.reserve(wanted.len());
        for alike in wanted.chunk_by(|one, other| one.0 == other.0) {
            let routing = alike[0].0;
            let HopsSpec::Shortest { metric } = &self.routings[routing].hops else { continue };
            let pairs: Vec<_> = alike.iter().map(|(_, src, dst)| (*src, *dst)).collect();
            let (hops, routes) = (&mut self.hops, &mut self.routes);
            let _ = routing::paths_of_pairs(&self.graph, metric, &pairs, |src, dst, links| {
                routes.insert((routing, src, dst), RouteRef::Route(hops.len() as u32));
                hops.extend_from_slice(links);
                hops.push(END);
            });
        }
    }

    /// The next hops of all nodes to a destination; those asked for last are kept.
    fn next_hops(&mut self, routing: usize, dst: NodeId) -> Result<&[Vec<LinkId>], RoutingError> {
        if self.last_next_hops.0 != (routing, dst) || self.last_next_hops.1.is_empty() {
            let next_hops = routing::next_hops(&self.graph, &self.routings[routing].hops, dst)?;
            self.last_next_hops = ((routing, dst), next_hops);
        }
        Ok(&self.last_next_hops.1)
    }

    fn compile_shortest(&mut self, routing: usize, src: NodeId, dst: NodeId) -> Result<RouteRef, RoutingError> {
        let mut links = Vec::new();
        let mut node = src;
        while node != dst {
            let link =
                *self.next_hops(routing, dst)?[node as usize].first().ok_or(RoutingError::NoPath { src, dst })?;
            links.push(link);
            node = self.graph.link(link).dst;
        }
        Ok(RouteRef::Route(self.compile(&links)))
    }

    fn compile(&mut self, links: &[LinkId]) -> u32 {
        let position = self.hops.len() as u32;
        self.hops.extend_from_slice(links);
        self.hops.push(END);
        position
    }

    fn path_set(&mut self, routing: usize, src: NodeId, dst: NodeId) -> Result<RouteRef, RoutingError> {
        let index = self.path_sets.len();
        let draws = Stream::new(self.seed, Purpose::Forwarding, (index as u64) << 1 | 1);
        let (starts, cumulative, memory) = (Vec::new(), Vec::new(), SelectorState::default());
        self.path_sets.push(PathSet { routing, src, dst, starts, cumulative, draws, memory });
        self.fill_path_set(index)?;
        let starts = &self.path_sets[index].starts;
        Ok(if starts.len() == 1 && !self.changes(routing) {
            RouteRef::Route(starts[0])
        } else {
            RouteRef::PathSet(index as u32)
        })
    }

    fn fill_path_set(&mut self, index: usize) -> Result<(), RoutingError> {
        let PathSet { routing, src, dst, .. } = self.path_sets[index];
        if let Some(controller) = &mut self.controllers[routing] {
            let links = controller.route(src, dst).ok_or(RoutingError::NoPath { src, dst })?.to_vec();
            if self.links_of_path_set(index) != links {
                let start = self.compile(&links);
                self.path_sets[index].replace(vec![start], &[]);
            }
            return Ok(());
        }
        let paths = routing::explicit_paths(&self.graph, &self.routings[routing].hops, src, dst)?;
        let starts: Vec<u32> = paths.iter().map(|path| self.compile(&path.links)).collect();
        let weights: Vec<f64> = paths.iter().map(|path| path.weight).collect();
        self.path_sets[index].replace(starts, &weights);
        Ok(())
    }

    /// The links of the first route of a set; none if it is empty.
    fn links_of_path_set(&self, index: usize) -> &[LinkId] {
        let Some(start) = self.path_sets[index].starts.first() else { return &[] };
        let rest = &self.hops[*start as usize..];
        rest.split(|link| *link == END).next().unwrap_or(rest)
    }

    fn table(&mut self, routing: usize, src: NodeId, dst: NodeId) -> Result<RouteRef, RoutingError> {
        let table = match self.table_of.get(&(routing, dst)) {
            Some(table) => *table,
            None => {
                let table = self.tables.len();
                self.tables.push(NextHopTable::new(table as u32, routing, dst));
                self.table_of.insert((routing, dst), table);
                self.fill_table(table)?;
                table
            }
        };
        if self.tables[table].next_hops(src).is_empty() {
            return Err(RoutingError::NoPath { src, dst });
        }
        let route = RouteRef::NextHopTable(table as u32);
        let path = self.current_path(route, src);
        let arrives = self.nodes_of(src, &path).last() == Some(&dst);
        if arrives && path.len() > TIME_TO_LIVE as usize {
            return Err(RoutingError::TooFar { src, dst, links: path.len(), most: TIME_TO_LIVE });
        }
        Ok(route)
    }

    fn fill_table(&mut self, table: usize) -> Result<(), RoutingError> {
        let (routing, dst) = (self.tables[table].routing, self.tables[table].dst);
        let next_hops = self.current_next_hops(routing, dst)?;
        self.tables[table].replace(&next_hops, &self.routings[routing]);
        Ok(())
    }

    /// The next hops of all nodes to a destination, by the routes in force of each where a controller has them.
    fn current_next_hops(&mut self, routing: usize, dst: NodeId) -> Result<Vec<Vec<LinkId>>, RoutingError> {
        let nodes = self.graph.nodes() as NodeId;
        let Some(controller) = &mut self.controllers[routing] else {
            return routing::next_hops(&self.graph, &self.routings[routing].hops, dst);
        };
        let mut first = |node: NodeId| controller.route(node, dst).map_or(Vec::new(), |links| vec![links[0]]);
        Ok((0..nodes).map(|node| if node == dst { Vec::new() } else { first(node) }).collect())
    }

    /// All flows have their routes: gives back what only finding them needed.
    pub fn finish_build(&mut self) {
        self.routes = HashMap::new();
        self.last_next_hops.1 = Vec::new();
        if !self.hop_by_hop {
            self.tables = Vec::new();
            self.table_of = HashMap::new();
        }
        self.hops.shrink_to_fit();
    }

    /// Marks a link up or down; routes follow only at [`Self::reroute`].
    pub fn set_up(&mut self, link: LinkId, up: bool) {
        self.graph.set_up(link, up);
        self.controllers.iter_mut().flatten().for_each(|controller| controller.set_up(link, up));
    }

    /// Computes the routes of a routing anew on the links that are up. A pair without a path keeps an empty set.
    pub fn reroute(&mut self, routing: usize) {
        if let Some(controller) = &mut self.controllers[routing] {
            controller.compute();
        }
        self.last_next_hops.1.clear();
        self.path_counts.clear();
        for index in 0..self.path_sets.len() {
            if self.path_sets[index].routing == routing && self.fill_path_set(index).is_err() {
                self.path_sets[index].replace(Vec::new(), &[]);
            }
        }
        for table in 0..self.tables.len() {
            if self.tables[table].routing == routing && self.fill_table(table).is_err() {
                self.tables[table].replace(&[], &self.routings[routing]);
            }
        }
    }

    /// The controller of a routing that measures its links.
    pub fn controller(&mut self, routing: usize) -> Option<&mut Controller> {
        self.controllers[routing].as_mut()
    }

    /// What the controller of a routing believes of a route, if there is one and it knows all its links.
    pub fn quality(&self, routing: usize, links: &[LinkId]) -> Option<Quality> {
        self.controllers[routing].as_ref()?.quality(links)
    }

    /// The nodes on the way from `src` over these links.
    pub fn nodes_of(&self, src: NodeId, links: &[LinkId]) -> Vec<NodeId> {
        std::iter::once(src).chain(links.iter().map(|link| self.graph.link(*link).dst)).collect()
    }

    /// The links that a packet from `src` goes over now, by the first of several alternatives; to the first node that it
    /// meets again, if it goes in a circle, and none if no route leads on.
    pub fn current_path(&self, route: RouteRef, src: NodeId) -> Vec<LinkId> {
        let table = match route {
            RouteRef::Route(position) => {
                let rest = self.hops[position as usize..].iter();
                return rest.copied().take_while(|link| *link != END).collect();
            }
            RouteRef::PathSet(set) => return self.links_of_path_set(set as usize).to_vec(),
            RouteRef::NextHopTable(table) => table,
        };
        let table = &self.tables[table as usize];
        let (mut links, mut node, mut met) = (Vec::new(), src, HashSet::from([src]));
        while let Some(link) = table.next_hops(node).first() {
            links.push(*link);
            node = self.graph.link(*link).dst;
            if !met.insert(node) {
                break;
            }
        }
        links
    }

    /// All links that packets from `src` may go over during the run; `None` if the routes may change.
    pub fn possible_links(&self, route: RouteRef, src: NodeId) -> Option<Vec<LinkId>> {
        let of_routes = |starts: &[u32]| {
            let mut links: Vec<_> =
                starts.iter().flat_map(|start| self.current_path(RouteRef::Route(*start), src)).collect();
            links.sort_unstable();
            links.dedup();
            links
        };
        Some(match route {
            RouteRef::Route(position) => of_routes(&[position]),
            RouteRef::PathSet(set) if self.changes(self.path_sets[set as usize].routing) => return None,
            RouteRef::PathSet(set) => of_routes(&self.path_sets[set as usize].starts),
            RouteRef::NextHopTable(table) if self.changes(self.tables[table as usize].routing) => return None,
            RouteRef::NextHopTable(table) => {
                let table = &self.tables[table as usize];
                let (mut links, mut waiting, mut met) = (Vec::new(), vec![src], HashSet::from([src]));
                while let Some(node) = waiting.pop() {
                    links.extend_from_slice(table.next_hops(node));
                    let next_nodes = table.next_hops(node).iter().map(|link| self.graph.link(*link).dst);
                    waiting.extend(next_nodes.filter(|next| met.insert(*next)));
                }
                links
            }
        })
    }

    /// For tests: in the first table, the nodes that these links leave have them as their only next hops.
    #[cfg(test)]
    pub fn set_next_hop_loop(&mut self, table: usize, links: &[LinkId]) {
        for link in links {
            self.set_next_hops(table, self.graph.link(*link).src, &[*link]);
        }
    }

    /// For tests: these are a node's next hops in a table.
    #[cfg(test)]
    fn set_next_hops(&mut self, table: usize, node: NodeId, links: &[LinkId]) {
        let table = &mut self.tables[table];
        let mut next_hops: Vec<_> =
            (0..self.graph.nodes() as NodeId).map(|node| table.next_hops(node).to_vec()).collect();
        next_hops[node as usize] = links.to_vec();
        table.replace(&next_hops, &self.routings[table.routing]);
    }

    /// The word that a packet carries when it leaves its host; `None` if there is no route any more.
    #[inline(always)]
    pub fn first_hop_index(&mut self, route: RouteRef, now: Time, key: &Key) -> Option<u32> {
        match route {
            RouteRef::Route(position) => Some(position),
            RouteRef::PathSet(set) => self.path_sets[set as usize].choose(&self.routings, now, key),
            RouteRef::NextHopTable(table) => Some(table | TIME_TO_LIVE << TIME_TO_LIVE_BIT | HOP_BY_HOP),
        }
    }

    /// Whether any packets look for their next link at every node.
    pub fn has_hop_by_hop_flows(&self) -> bool {
        self.hop_by_hop
    }

    /// All compiled routes, one after another, each ended by [`END`].
    pub fn hops(&self) -> &[LinkId] {
        &self.hops
    }

    /// The link over which packets arrive that go by the compiled route from this position on; [`END`] if there is none.
    pub fn last_link(&self, position: u32) -> LinkId {
        let rest = self.hops[position as usize..].iter();
        rest.copied().take_while(|link| *link != END).last().unwrap_or(END)
    }

    /// Whether the word needs a look at the packet's [`Key`] to find its next link.
    #[inline]
    pub fn is_hop_by_hop(at: u32) -> bool {
        at & HOP_BY_HOP != 0
    }

    /// The word, hop by hop, of a packet that a router sends on; `None` if its time to live is over.
    #[inline]
    pub fn decrement_ttl(at: u32) -> Option<u32> {
        let older = at - (1 << TIME_TO_LIVE_BIT);
        (older & !HOP_BY_HOP >= 1 << TIME_TO_LIVE_BIT).then_some(older)
    }

    /// The next link on a compiled route; [`END`] if the packet has arrived.
    #[inline]
    pub fn next_on_route(&self, at: u32) -> LinkId {
        self.hops[at as usize]
    }

    /// The next link of any packet that a compiled route leads on; [`END`] of others.
    #[inline(always)]
    pub fn next_if_compiled(&self, at: u32) -> LinkId {
        if Forwarding::is_hop_by_hop(at) { END } else { self.next_on_route(at) }
    }

    /// Asks for the next link on a compiled route.
    #[inline(always)]
    pub fn prefetch_next_link(&self, at: u32) {
        if let Some(hop) = self.hops.get(at as usize) {
            prefetch(hop);
        }
    }

    /// The next link from `node`, hop by hop; `None` if there is none any more, [`END`] if the packet has arrived.
    pub fn next_hop(&mut self, at: u32, node: NodeId, now: Time, key: &Key) -> Option<LinkId> {
        let table = at & ((1 << TIME_TO_LIVE_BIT) - 1);
        let table = &mut self.tables[table as usize];
        if table.dst == node {
            return Some(END);
        }
        table.choose(node, self.seed, &self.routings[table.routing], now, key)
    }
}

/// Whether the one next hop of every node lies on one tree, so that a packet's route is known where it starts.
fn follows_one_tree(hops: &HopsSpec) -> bool {
    matches!(hops, HopsSpec::Shortest { metric } if !matches!(metric, MetricSpec::Throughput(_)))
}

impl PathSet {
    fn replace(&mut self, starts: Vec<u32>, weights: &[f64]) {
        let total: f64 = weights.iter().sum();
        self.cumulative = weights
            .iter()
            .scan(0.0, |sum, weight| {
                *sum += weight / total;
                Some(*sum)
            })
            .collect();
        self.starts = starts;
        self.memory = SelectorState::default();
    }

    #[inline(always)]
    fn choose(&mut self, routings: &[RoutingSpec], now: Time, key: &Key) -> Option<u32> {
        let alternatives = NextHopSet { members: &self.starts, cumulative: &self.cumulative };
        alternatives.choose(&routings[self.routing], &mut self.memory, || self.draws, now, key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::test_support::link;
    use serde_json::json;

    /// Two diamonds in a row between hosts with one link each: 0 - 1 = {2, 3} = 4 = {5, 6} = 7 - 8.
    fn two_diamonds(hops: serde_json::Value, select: &str, per: &str, dynamic: bool) -> Forwarding {
        let cables = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (4, 6), (5, 7), (6, 7), (7, 8)];
        let links: Vec<_> = cables.iter().flat_map(|&(a, b)| [link(a, b), link(b, a)]).collect();
        let routing = serde_json::from_value(json!({
            "name": "", "hops": hops, "select": select, "per": {"unit": per}, "hash": ["source-port"], "acks": null,
            "reconverge": null
        }));
        let graph = Graph::of_specs(9, &links).expect("a graph");
        Forwarding::new(vec![routing.expect("a routing")], graph, 1, dynamic)
    }

    fn paths_of_flow(hops: serde_json::Value, per: &str, dynamic: bool) -> u32 {
        let mut forwarding = two_diamonds(hops, "random", per, dynamic);
        let route = forwarding.route(0, 0, 8).expect("a route");
        forwarding.paths_of_flow(route, 0)
    }

    #[test]
    fn the_number_of_paths_is_what_packets_of_one_flow_may_take() {
        let paths = |hops, per| paths_of_flow(hops, per, false);
        assert_eq!(paths(json!({"kind": "shortest", "metric": "hop-count"}), "packet"), 1);
        assert_eq!(
            paths(json!({"kind": "equal-cost", "metric": "hop-count"}), "packet"),
            4,
            "2 x 2, behind one access link"
        );
        assert_eq!(paths(json!({"kind": "equal-cost", "metric": "hop-count"}), "flow"), 1, "a flow keeps to its path");
        assert_eq!(paths(json!({"kind": "k-shortest", "metric": "hop-count", "paths": 3}), "packet"), 3);
        assert_eq!(
            paths(json!({"kind": "k-shortest", "metric": "hop-count", "paths": 9}), "packet"),
            4,
            "as many as exist"
        );
        assert_eq!(paths(json!({"kind": "k-shortest", "metric": "hop-count", "paths": 3}), "flow"), 1);
        assert_eq!(
            paths(json!({"kind": "disjoint", "metric": "hop-count", "paths": 9}), "packet"),
            2,
            "behind one access link"
        );
        let given = json!([[0, 1, 2, 4, 5, 7, 8], [0, 1, 3, 4, 6, 7, 8], [8, 7, 5, 4, 2, 1, 0]]);
        assert_eq!(paths(json!({"kind": "explicit", "paths": given, "weights": [1.0, 1.0, 1.0]}), "packet"), 2);
        assert_eq!(paths_of_flow(json!({"kind": "shortest", "metric": "hop-count"}), "packet", true), 1);
    }

    /// Hop by hop from node 0 to node 8, or over one of several paths; each flow's path is what it would choose on its route.
    #[test]
    fn a_flow_that_keeps_to_its_path_has_it_compiled() {
        let kinds = [
            json!({"kind": "equal-cost", "metric": "hop-count"}),
            json!({"kind": "k-shortest", "metric": "hop-count", "paths": 4}),
        ];
        for (hops, select) in kinds.iter().flat_map(|hops| ["hash", "random", "weighted"].map(|select| (hops, select)))
        {
            let mut forwarding = two_diamonds(hops.clone(), select, "flow", false);
            let chosen_on_the_way = forwarding.route(0, 0, 8).expect("a route");
            let mut paths = HashSet::new();
            for flow in 0..50 {
                let key = Key { flow, group: 0, src: 0, dst: 8, reverse: flow % 2 == 1, number: 0 };
                let route = forwarding.route_of_flow(0, &key).expect("a route");
                assert!(matches!(route, RouteRef::Route(_)));
                let path = forwarding.current_path(route, 0);
                let mut at =
                    forwarding.first_hop_index(chosen_on_the_way, Time(7), &Key { number: 9, ..key }).expect("a start");
                let mut node = 0;
                for link in &path {
                    let next = if Forwarding::is_hop_by_hop(at) {
                        forwarding.next_hop(at, node, Time(7), &Key { number: 9, ..key })
                    } else {
                        Some(forwarding.next_on_route(at))
                    };
                    assert_eq!(next, Some(*link));
                    at = if Forwarding::is_hop_by_hop(at) { at } else { at + 1 };
                    node = forwarding.graph.link(*link).dst;
                }
                assert_eq!(node, 8);
                paths.insert(path);
            }
            assert_eq!(paths.len(), 4);
            assert!(!forwarding.has_hop_by_hop_flows());
        }
        for (select, per, dynamic) in
            [("hash", "flow", true), ("round-robin", "flow", false), ("hash", "packet", false)]
        {
            let mut forwarding = two_diamonds(kinds[0].clone(), select, per, dynamic);
            let key = Key { flow: 0, group: 0, src: 0, dst: 8, reverse: false, number: 0 };
            assert!(matches!(forwarding.route_of_flow(0, &key), Ok(RouteRef::NextHopTable(_))));
            assert!(forwarding.has_hop_by_hop_flows());
        }
    }

    fn hop_by_hop(links: &[(NodeId, NodeId)], nodes: usize) -> Forwarding {
        let links: Vec<_> = links.iter().map(|&(a, b)| link(a, b)).collect();
        let routing = serde_json::from_value(json!({
            "name": "", "hops": {"kind": "equal-cost", "metric": "hop-count"}, "select": "random",
            "per": {"unit": "packet"}, "hash": [], "acks": null, "reconverge": null
        }));
        Forwarding::new(vec![routing.expect("a routing")], Graph::of_specs(nodes, &links).expect("a graph"), 1, false)
    }

    #[test]
    fn a_circle_is_no_path_and_a_way_past_it_is_one() {
        let mut forwarding = hop_by_hop(&[(0, 1), (1, 2), (2, 0), (1, 3), (0, 3), (2, 3)], 4);
        let route = forwarding.route(0, 0, 3).expect("a route");
        forwarding.set_next_hop_loop(0, &[0, 1, 2]);
        assert_eq!(forwarding.paths_of_flow(route, 0), 1, "there is one flow all the same");
        assert_eq!(forwarding.current_path(route, 0), [0, 1, 2], "back where it began");
        forwarding.set_next_hops(0, 1, &[1, 3]);
        assert_eq!(forwarding.shortest_paths(0, 0), 1, "0 - 1 - 3");
    }

    #[test]
    fn a_path_longer_than_a_packet_lives_is_refused_at_the_start() {
        let fifo = |nodes: u32| (1..nodes).map(|node| (node - 1, node)).collect::<Vec<_>>();
        assert!(hop_by_hop(&fifo(65), 65).route(0, 0, 64).is_ok());
        let error = hop_by_hop(&fifo(66), 66).route(0, 0, 65).unwrap_err();
        assert!(error.to_string().contains("has 65 links, but hop by hop a packet crosses 64 at most"), "{error}");
    }
}
