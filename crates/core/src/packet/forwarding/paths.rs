//! The paths that packets take by a route reference: listed, and counted.

use super::select::NoBacklogs;
use super::{END, Forwarding, PacketKey, RouteRef};
use crate::spec::{Granularity, LinkId, NodeId};
use crate::units::Time;
use std::collections::{HashMap, HashSet};

/// Paths, each with its share of the packets.
pub type SharedPaths = Vec<(Vec<LinkId>, f64)>;

/// Why the paths of packets are not listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlisted {
    /// No route leads on, or one leads back.
    NoEnd,
    /// There are more paths than the caller's limit.
    TooMany,
}

impl Forwarding {
    /// The links of a packet from `src` now, by the first member of each set. Ends at the first node that the path visits twice.
    /// Empty if there is no route.
    pub fn current_path(&self, route: RouteRef, src: NodeId) -> Vec<LinkId> {
        let table = match route {
            RouteRef::Route(start) => return self.links_from(start).to_vec(),
            RouteRef::PathSet(set) => return self.first_path(set as usize).to_vec(),
            RouteRef::NextHopTable(table) => &self.tables[table as usize],
        };
        let (mut links, mut node, mut visited) = (Vec::new(), src, HashSet::from([src]));
        while let Some(link) = table.next_hops(node, &self.lists).first() {
            links.push(*link);
            node = self.graph.link(*link).dst;
            if !visited.insert(node) {
                break;
            }
        }
        links
    }

    /// All links that packets from `src` may cross during the run, those of a single route in its order; `None` if the routes may change.
    pub fn possible_links(&self, route: RouteRef, src: NodeId) -> Option<Vec<LinkId>> {
        if self.routing_of(route).is_some_and(|routing| self.may_change(routing)) {
            return None;
        }
        match route {
            RouteRef::Route(start) => Some(self.links_from(start).to_vec()),
            RouteRef::PathSet(set) => {
                let starts = &self.path_sets[set as usize].starts;
                let mut links: Vec<_> = starts.iter().flat_map(|start| self.links_from(*start)).copied().collect();
                links.sort_unstable();
                links.dedup();
                Some(links)
            }
            RouteRef::NextHopTable(table) => Some(self.links_of_table(table, src)),
        }
    }

    /// The links from `src` towards the destination of a table, by all next hops.
    fn links_of_table(&self, table: u32, src: NodeId) -> Vec<LinkId> {
        let table = &self.tables[table as usize];
        let (mut links, mut waiting, mut visited) = (Vec::new(), vec![src], HashSet::from([src]));
        while let Some(node) = waiting.pop() {
            links.extend_from_slice(table.next_hops(node, &self.lists));
            let next_nodes = table.next_hops(node, &self.lists).iter().map(|link| self.graph.link(*link).dst);
            waiting.extend(next_nodes.filter(|next| visited.insert(*next)));
        }
        links
    }

    /// The routing of a path set or table; `None` for a single compiled route, which never changes.
    fn routing_of(&self, route: RouteRef) -> Option<usize> {
        match route {
            RouteRef::Route(_) => None,
            RouteRef::PathSet(set) => Some(self.path_sets[set as usize].routing),
            RouteRef::NextHopTable(table) => Some(self.tables[table as usize].routing),
        }
    }

    /// The links of a compiled route from a hop index on.
    pub fn links_from(&self, hop_index: u32) -> &[LinkId] {
        let rest = &self.hops[hop_index as usize..];
        rest.split(|link| *link == END).next().unwrap_or(rest)
    }

    /// The links of the first route of a set; empty if it has no route.
    pub(super) fn first_path(&self, set: usize) -> &[LinkId] {
        self.path_sets[set].starts.first().map_or(&[], |start| self.links_from(*start))
    }

    /// The last link of a compiled route from a hop index on; [`END`] if no link follows.
    pub fn last_link(&self, hop_index: u32) -> LinkId {
        self.links_from(hop_index).last().copied().unwrap_or(END)
    }

    /// The nodes of the path from `src` over these links.
    pub fn nodes_of(&self, src: NodeId, links: &[LinkId]) -> Vec<NodeId> {
        std::iter::once(src).chain(links.iter().map(|link| self.graph.link(*link).dst)).collect()
    }

    /// The links that a packet takes by a route if all queues are empty; `None` if it goes in a circle, or no route leads on. Selectors count it as
    /// sent.
    pub fn links_of_packet(&mut self, route: RouteRef, now: Time, key: &PacketKey) -> Option<Vec<LinkId>> {
        let (mut links, mut node) = (Vec::new(), key.src);
        let mut index = self.first_hop_index(route, now, key, NoBacklogs)?;
        loop {
            let hop_by_hop = Forwarding::is_hop_by_hop(index);
            let link =
                if hop_by_hop { self.next_hop(index, node, now, key, NoBacklogs)? } else { self.next_on_route(index) };
            if link == END {
                return Some(links);
            }
            // The host sends the packet before its time to live counts.
            index = match hop_by_hop {
                true if links.is_empty() => index,
                true => Forwarding::decrement_ttl(index)?,
                false => index + 1,
            };
            links.push(link);
            node = self.graph.link(link).dst;
        }
    }

    /// The paths of packets from `src` that each choose one, at most this number, with each path's share of them. A path that is listed twice, as of two
    /// routes over the same links, is two.
    ///
    /// # Errors
    /// See [`Unlisted`].
    pub fn paths_of_packets(&self, route: RouteRef, src: NodeId, most: usize) -> Result<SharedPaths, Unlisted> {
        let table = match route {
            RouteRef::Route(start) => return Ok(vec![(self.links_from(start).to_vec(), 1.0)]),
            RouteRef::PathSet(set) => {
                let set = &self.path_sets[set as usize];
                if set.starts.len() > most {
                    return Err(Unlisted::TooMany);
                }
                let paths = set.starts.iter().map(|start| self.links_from(*start).to_vec());
                let paths: Vec<_> = paths.zip(set.shares(&self.routings)).collect();
                return if paths.is_empty() { Err(Unlisted::NoEnd) } else { Ok(paths) };
            }
            RouteRef::NextHopTable(table) => &self.tables[table as usize],
        };
        let (mut found, mut waiting) = (Vec::new(), vec![(src, Vec::new(), 1.0)]);
        while let Some((node, links, share)) = waiting.pop() {
            if node == table.dst {
                found.push((links, share));
                continue;
            }
            let next_hops = table.next_hops(node, &self.lists);
            // A path without a circle crosses fewer links than there are nodes.
            if next_hops.is_empty() || links.len() >= self.graph.nodes() {
                return Err(Unlisted::NoEnd);
            }
            for link in next_hops.iter().rev() {
                let links = links.iter().chain([link]).copied().collect();
                waiting.push((self.graph.link(*link).dst, links, share / next_hops.len() as f64));
            }
            if found.len() + waiting.len() > most {
                return Err(Unlisted::TooMany);
            }
        }
        Ok(found)
    }

    /// How many paths the packets of one flow from `src` may take: 1 if its routing keeps a flow on one path.
    pub fn paths_of_flow(&mut self, route: RouteRef, src: NodeId) -> u32 {
        let one_path = |routing: usize| self.routings[routing].per == Granularity::Flow;
        if self.routing_of(route).is_none_or(one_path) {
            return 1;
        }
        let paths = match route {
            RouteRef::Route(_) => 1,
            RouteRef::PathSet(set) => self.path_sets[set as usize].starts.len() as u32,
            RouteRef::NextHopTable(table) => self.path_counts.get(&(table, src)).copied().unwrap_or_else(|| {
                let paths = self.count_paths(table as usize, src);
                self.path_counts.insert((table, src), paths);
                paths
            }),
        };
        paths.max(1)
    }

    /// Number of paths from a node to a table's destination: the sum over its next hops, without hops that lead back. `u32::MAX` means more paths than
    /// it can count.
    pub(super) fn count_paths(&self, table: usize, src: NodeId) -> u32 {
        let table = &self.tables[table];
        // `None` while the nodes behind this one are being counted: a path that comes back to it is a loop.
        let mut counts = HashMap::from([(table.dst, Some(1_u32))]);
        let mut waiting = vec![src];
        while let Some(&node) = waiting.last() {
            let next_nodes = || table.next_hops(node, &self.lists).iter().map(|link| self.graph.link(*link).dst);
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
}
