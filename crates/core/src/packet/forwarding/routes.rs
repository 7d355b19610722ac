//! Routes: compiled when a run is built, and recomputed when links change.

use super::next_hops::NextHopTable;
use super::path_set::PathSet;
use super::select::{NoBacklogs, PacketKey};
use super::{END, Forwarding, RouteRef, TIME_TO_LIVE};
use crate::routing::{self, LinkLists, NextHopSearch, NextHops, RoutingError};
use crate::spec::{Granularity, HopsSpec, LinkId, MetricSpec, NodeId, RoutingSpec};
use crate::units::Time;
use rustc_hash::FxHashMap;

impl Forwarding {
    /// The route from `src` to `dst` under a routing.
    ///
    /// # Errors
    /// If there is no path, or an explicit path does not exist.
    pub fn route(&mut self, routing: usize, src: NodeId, dst: NodeId) -> Result<RouteRef, RoutingError> {
        if let Some(route) = self.routes.get(&(routing, src, dst)) {
            return Ok(*route);
        }
        if self.has_fixed_tree(routing) {
            self.compile_pairs(routing, &mut [(src, dst)])?;
            return self.routes.get(&(routing, src, dst)).copied().ok_or(RoutingError::NoPath { src, dst });
        }
        let route = if self.routings[routing].hops.is_explicit() {
            self.add_path_set(routing, src, dst)?
        } else {
            self.add_table(routing, src, dst)?
        };
        self.routes.insert((routing, src, dst), route);
        Ok(route)
    }

    /// The route of a flow in one direction: one compiled route if the flow stays on one path that is known now.
    ///
    /// # Errors
    /// As [`Self::route`].
    pub fn route_of_flow(&mut self, routing: usize, key: &PacketKey) -> Result<RouteRef, RoutingError> {
        let route = self.route(routing, key.src, key.dst)?;
        let RoutingSpec { per, select, .. } = &self.routings[routing];
        let keeps_path = *per == Granularity::Flow && !select.decides_in_the_run() && !self.may_change(routing);
        let route = if keeps_path { self.path_of_flow(route, key).unwrap_or(route) } else { route };
        self.hop_by_hop |= matches!(route, RouteRef::NextHopTable(_));
        Ok(route)
    }

    /// The path that a flow stays on, compiled; `None` if it does not reach the destination.
    fn path_of_flow(&mut self, route: RouteRef, key: &PacketKey) -> Option<RouteRef> {
        let table = match route {
            RouteRef::Route(_) => return Some(route),
            RouteRef::PathSet(set) => {
                let set = &mut self.path_sets[set as usize];
                return set.select(&self.routings, &self.hops, Time::ZERO, key, NoBacklogs).map(RouteRef::Route);
            }
            RouteRef::NextHopTable(table) => table,
        };
        let (mut links, mut node) = (Vec::new(), key.src);
        while node != key.dst {
            let link = self.next_hop(table, node, Time::ZERO, key, NoBacklogs)?;
            links.push(link);
            node = self.graph.link(link).dst;
            if links.len() > TIME_TO_LIVE as usize {
                return None;
            }
        }
        Some(RouteRef::Route(self.compile(&links)))
    }

    /// Whether every node has one next hop, on one tree that never changes: then a packet's path is known at its source.
    fn has_fixed_tree(&self, routing: usize) -> bool {
        let hops = &self.routings[routing].hops;
        let has_tree = matches!(hops, HopsSpec::Shortest { metric } if !matches!(metric, MetricSpec::Throughput(_)));
        has_tree && !self.may_change(routing)
    }

    /// Compiles the routes of these (routing, source, destination) that follow a fixed tree, so that each tree is computed once.
    /// [`Self::route`] reports the error of a pair that this skips.
    pub fn compile_shortest_routes(&mut self, mut wanted: Vec<(usize, NodeId, NodeId)>) {
        wanted.retain(|(routing, ..)| self.has_fixed_tree(*routing));
        wanted.sort_unstable();
        wanted.dedup();
        self.routes.reserve(wanted.len());
        for of_routing in wanted.chunk_by(|one, other| one.0 == other.0) {
            let mut pairs: Vec<_> = of_routing.iter().map(|(_, src, dst)| (*src, *dst)).collect();
            let _ = self.compile_pairs(of_routing[0].0, &mut pairs);
        }
    }

    /// Compiles the routes of these pairs by the trees of their destinations.
    fn compile_pairs(&mut self, routing: usize, pairs: &mut [(NodeId, NodeId)]) -> Result<(), RoutingError> {
        let HopsSpec::Shortest { metric } = &self.routings[routing].hops else { return Ok(()) };
        let (hops, routes) = (&mut self.hops, &mut self.routes);
        routing::paths_of_pairs(&self.graph, metric, pairs, |src, dst, links| {
            routes.insert((routing, src, dst), RouteRef::Route(hops.len() as u32));
            hops.extend_from_slice(links);
            hops.push(END);
        })
    }

    /// Appends a route to the list of hops. Returns the hop index of its first link.
    fn compile(&mut self, links: &[LinkId]) -> u32 {
        let start = self.hops.len() as u32;
        self.hops.extend_from_slice(links);
        self.hops.push(END);
        start
    }

    fn add_path_set(&mut self, routing: usize, src: NodeId, dst: NodeId) -> Result<RouteRef, RoutingError> {
        let set = self.path_sets.len();
        self.path_sets.push(PathSet::new(set, self.seed, routing, src, dst));
        self.fill_path_set(set)?;
        Ok(match self.path_sets[set].starts[..] {
            [start] if !self.may_change(routing) => RouteRef::Route(start),
            _ => RouteRef::PathSet(set as u32),
        })
    }

    fn fill_path_set(&mut self, set: usize) -> Result<(), RoutingError> {
        let PathSet { routing, src, dst, .. } = self.path_sets[set];
        if let Some(controller) = &mut self.controllers[routing] {
            let links = controller.route(src, dst).ok_or(RoutingError::NoPath { src, dst })?.to_vec();
            if self.first_path(set) != links {
                let start = self.compile(&links);
                self.path_sets[set].replace(vec![start], &[]);
            }
            return Ok(());
        }
        let paths = routing::explicit_paths(&self.graph, &self.routings[routing].hops, src, dst)?;
        let starts: Vec<u32> = paths.iter().map(|path| self.compile(&path.links)).collect();
        let weights: Vec<f64> = paths.iter().map(|path| path.weight).collect();
        self.path_sets[set].replace(starts, &weights);
        Ok(())
    }

    fn add_table(&mut self, routing: usize, src: NodeId, dst: NodeId) -> Result<RouteRef, RoutingError> {
        let table = match self.table_of.get(&(routing, dst)) {
            Some(table) => *table,
            None => {
                let table = self.tables.len();
                self.tables.push(NextHopTable::new(table as u32, dst, routing, &self.routings[routing]));
                self.table_of.insert((routing, dst), table);
                self.fill_table(table)?;
                table
            }
        };
        if self.tables[table].next_hops(src, &self.lists).is_empty() {
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
        let next_hops = match &mut self.controllers[routing] {
            None => self.next_hops(routing, dst)?,
            Some(controller) => {
                let mut first = |node: NodeId| controller.route(node, dst).map_or(Vec::new(), |links| vec![links[0]]);
                let nodes = 0..self.graph.nodes() as NodeId;
                let of_nodes: Vec<_> = nodes.map(|node| if node == dst { Vec::new() } else { first(node) }).collect();
                NextHops::of_nodes(&of_nodes, dst, &mut self.lists)
            }
        };
        self.tables[table].replace(next_hops, &self.routings[routing]);
        Ok(())
    }

    fn next_hops(&mut self, routing: usize, dst: NodeId) -> Result<NextHops, RoutingError> {
        let hops = &self.routings[routing].hops;
        if !self.searches.contains_key(&routing) {
            self.searches.insert(routing, NextHopSearch::new(&self.graph, hops)?);
        }
        match self.searches.get_mut(&routing).and_then(Option::as_mut) {
            Some(search) => search.towards(&self.graph, dst, &mut self.lists),
            None => Ok(NextHops::of_nodes(&routing::next_hops(&self.graph, hops, dst)?, dst, &mut self.lists)),
        }
    }

    /// Frees the state that only [`Self::route`] needs, after all flows have their routes.
    pub fn finish_build(&mut self) {
        self.routes = FxHashMap::default();
        self.searches = FxHashMap::default();
        if !self.hop_by_hop {
            self.tables = Vec::new();
            self.lists = LinkLists::default();
            self.table_of = FxHashMap::default();
        }
        self.hops.shrink_to_fit();
    }

    /// Recomputes the routes of a routing, on the links that are up. A pair without a path loses its routes.
    pub fn reroute(&mut self, routing: usize) {
        if let Some(controller) = &mut self.controllers[routing] {
            controller.compute();
        }
        self.path_counts.clear();
        self.searches.remove(&routing);
        for set in 0..self.path_sets.len() {
            if self.path_sets[set].routing == routing && self.fill_path_set(set).is_err() {
                self.path_sets[set].replace(Vec::new(), &[]);
            }
        }
        for table in 0..self.tables.len() {
            if self.tables[table].routing == routing && self.fill_table(table).is_err() {
                self.tables[table].replace(NextHops::none(), &self.routings[routing]);
            }
        }
    }

    /// Whether any flow goes hop by hop.
    pub fn has_hop_by_hop_flows(&self) -> bool {
        self.hop_by_hop
    }

    /// The links of all compiled routes; [`END`] follows each route.
    pub fn hops(&self) -> &[LinkId] {
        &self.hops
    }
}
