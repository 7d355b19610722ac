//! The next link of each packet.
//!
//! A packet carries its *hop index*. On a compiled route, this is the index of the next link in one list of the links of all routes;
//! [`END`] follows each route. A packet that goes hop by hop carries [`HOP_BY_HOP`], its time to live, and the index of a next-hop table
//! instead. The time to live ends loops, which can form where routers use different shortest-path trees.
//!
//! [`routes`] compiles routes when a run is built, and recomputes them when links change. [`path_set`] holds several routes of one pair,
//! [`next_hops`] the table of one destination; [`select`] chooses among their members. [`paths`] lists and counts the paths of a route.
//!
//! May use: the controllers of link state, and the algorithms of `routing/`.

mod next_hops;
mod path_set;
mod paths;
mod routes;
pub mod select;

pub use paths::{SharedPaths, Unlisted};

use crate::packet::forwarding::next_hops::{NextHopTable, Shared};
use crate::packet::forwarding::path_set::PathSet;
use crate::packet::forwarding::select::{Backlogs, Memory, PacketKey};
use crate::packet::link_state::controller::{Controller, Measured, Quality};
use crate::prefetch::prefetch;
use crate::routing::{Graph, LinkLists, NextHopSearch};
use crate::spec::{LinkId, NodeId, RoutingSpec};
use crate::units::Time;
use rustc_hash::FxHashMap;

/// Follows the last link of each compiled route: the packet is at its host.
pub const END: LinkId = LinkId::MAX;
/// The flag of a hop index that holds a next-hop table and a time to live.
const HOP_BY_HOP: u32 = 1 << 31;
/// The lowest of the seven bits of the time to live; the index of the table is below.
const TIME_TO_LIVE_BIT: u32 = 24;
/// How many links a packet may cross hop by hop (RFC 1700, "IP time to live parameter").
const TIME_TO_LIVE: u32 = 64;

/// How the packets of a flow leave their host in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RouteRef {
    /// On one compiled route: the hop index of its first link.
    Route(u32),
    /// On one of several compiled routes: the index of the [`PathSet`].
    PathSet(u32),
    /// Hop by hop: the index of the [`NextHopTable`].
    NextHopTable(u32),
}

/// The routes of a run.
pub struct Forwarding {
    routings: Vec<RoutingSpec>,
    graph: Graph,
    seed: u64,
    /// The links of all compiled routes; [`END`] follows each route.
    hops: Vec<LinkId>,
    path_sets: Vec<PathSet>,
    tables: Vec<NextHopTable>,
    /// The next hops of nodes that have several, in all tables.
    lists: LinkLists,
    /// For each routing, the search state while tables are filled; `None` if hosts behind one switch do not share next hops.
    searches: FxHashMap<usize, Option<NextHopSearch>>,
    /// The index of the table of a routing and destination.
    table_of: FxHashMap<(usize, NodeId), usize>,
    /// The routes found so far, by routing, source and destination.
    routes: FxHashMap<(usize, NodeId, NodeId), RouteRef>,
    /// Results of [`Self::paths_of_flow`] by table and source, until routes change.
    path_counts: FxHashMap<(u32, NodeId), u32>,
    /// What selectors remember of links, by the first link of a set.
    memories: Vec<u32>,
    /// Whether a selector reads the queues of links.
    reads_backlogs: bool,
    /// Whether any flow uses a next-hop table.
    hop_by_hop: bool,
    /// Whether links fail or routes are recomputed during the run.
    dynamic: bool,
    /// The controller of each routing; `None` if the routing does not measure its links.
    controllers: Vec<Option<Controller>>,
}

impl Forwarding {
    /// Forwarding without routes. `dynamic` means that links fail or routes are recomputed during the run.
    pub fn new(routings: Vec<RoutingSpec>, graph: Graph, seed: u64, dynamic: bool) -> Forwarding {
        let controllers = routings.iter().map(|routing| {
            let metric = Measured::of(&routing.hops).ok();
            routing.link_state.zip(metric).map(|(settings, metric)| Controller::new(settings, metric, &graph))
        });
        let remembers = routings.iter().any(|routing| routing.select.memory() == Memory::OfLinks);
        Forwarding {
            controllers: controllers.collect(),
            memories: if remembers { vec![0; graph.links().len()] } else { Vec::new() },
            reads_backlogs: routings.iter().any(|routing| routing.select.reads_backlogs()),
            routings,
            graph,
            seed,
            hops: Vec::new(),
            path_sets: Vec::new(),
            tables: Vec::new(),
            lists: LinkLists::default(),
            searches: FxHashMap::default(),
            table_of: FxHashMap::default(),
            routes: FxHashMap::default(),
            path_counts: FxHashMap::default(),
            hop_by_hop: false,
            dynamic,
        }
    }

    /// Whether a selector reads the queues of links.
    #[inline(always)]
    pub fn reads_backlogs(&self) -> bool {
        self.reads_backlogs
    }

    /// Whether the routes of a routing may change during the run.
    fn may_change(&self, routing: usize) -> bool {
        self.dynamic || self.controllers[routing].is_some()
    }

    /// Marks a link up or down. Routes stay as they are until [`Self::reroute`].
    pub fn set_up(&mut self, link: LinkId, up: bool) {
        self.graph.set_up(link, up);
        self.controllers.iter_mut().flatten().for_each(|controller| controller.set_up(link, up));
    }

    /// Whether a link is up.
    pub fn is_up(&self, link: LinkId) -> bool {
        self.graph.is_up(link)
    }

    /// The controller of a routing that measures its links.
    pub fn controller(&mut self, routing: usize) -> Option<&mut Controller> {
        self.controllers[routing].as_mut()
    }

    /// The controller's estimate of a route; `None` without a controller, or if a link of the route has no estimate yet.
    pub fn quality(&self, routing: usize, links: &[LinkId]) -> Option<Quality> {
        self.controllers[routing].as_ref()?.quality(links)
    }
}

/// The next link of a packet.
impl Forwarding {
    /// The hop index of a packet that leaves its host; `None` if there is no route.
    #[inline(always)]
    pub fn first_hop_index(
        &mut self,
        route: RouteRef,
        now: Time,
        key: &PacketKey,
        backlogs: impl Backlogs,
    ) -> Option<u32> {
        match route {
            RouteRef::Route(start) => Some(start),
            RouteRef::PathSet(set) => {
                self.path_sets[set as usize].select(&self.routings, &self.hops, now, key, backlogs)
            }
            RouteRef::NextHopTable(table) => Some(table | TIME_TO_LIVE << TIME_TO_LIVE_BIT | HOP_BY_HOP),
        }
    }

    /// Whether a router looks up the packet's next link in a table.
    #[inline]
    pub fn is_hop_by_hop(hop_index: u32) -> bool {
        hop_index & HOP_BY_HOP != 0
    }

    /// Decrements the time to live in the hop index of a packet that a router forwards hop by hop. `None` if the time to live is over.
    #[inline]
    pub fn decrement_ttl(hop_index: u32) -> Option<u32> {
        let next = hop_index - (1 << TIME_TO_LIVE_BIT);
        (next & !HOP_BY_HOP >= 1 << TIME_TO_LIVE_BIT).then_some(next)
    }

    /// The next link on a compiled route; [`END`] at the packet's host.
    #[inline]
    pub fn next_on_route(&self, hop_index: u32) -> LinkId {
        self.hops[hop_index as usize]
    }

    /// The next link of a packet on a compiled route. [`END`] if the node must process it: its host, or a router that forwards hop by hop.
    #[inline(always)]
    pub fn next_if_compiled(&self, hop_index: u32) -> LinkId {
        if Forwarding::is_hop_by_hop(hop_index) { END } else { self.next_on_route(hop_index) }
    }

    /// Prefetches the next link on a compiled route.
    #[inline(always)]
    pub fn prefetch_next_link(&self, hop_index: u32) {
        if let Some(hop) = self.hops.get(hop_index as usize) {
            prefetch(hop);
        }
    }

    /// The next link of all packets with this table at `node`, hop by hop; [`END`] at their host. `None` if the node has none, or chooses one.
    #[inline]
    pub fn only_next_hop(&self, hop_index: u32, node: NodeId) -> Option<LinkId> {
        let table = &self.tables[Forwarding::table(hop_index)];
        if table.dst == node { Some(END) } else { table.only_next_hop(node) }
    }

    /// The index of the next-hop table in the hop index of a packet that goes hop by hop.
    #[inline]
    fn table(hop_index: u32) -> usize {
        (hop_index & ((1 << TIME_TO_LIVE_BIT) - 1)) as usize
    }

    /// The next link of a packet at `node`, hop by hop; [`END`] at its host, `None` if no route leads on.
    pub fn next_hop(
        &mut self,
        hop_index: u32,
        node: NodeId,
        now: Time,
        key: &PacketKey,
        backlogs: impl Backlogs,
    ) -> Option<LinkId> {
        let table = &mut self.tables[Forwarding::table(hop_index)];
        if table.dst == node {
            return Some(END);
        }
        let shared = Shared { seed: self.seed, lists: &self.lists, memories: &mut self.memories };
        table.select(node, shared, &self.routings[table.routing], now, key, backlogs)
    }
}

#[cfg(test)]
mod tests;
