//! The next hops of all nodes to one destination.
//!
//! A thousand hosts have a thousand of these, each over all nodes: so the links stand one after another in one list, and what a
//! choice has to remember is kept only where a routing chooses by it.

use crate::packet::forwarding::select::{Key, NextHopSet, SelectorState};
use crate::rng::{Purpose, Stream};
use crate::spec::{LinkId, NodeId, RoutingSpec};
use crate::units::Time;

/// The next hops to a destination under a routing.
#[derive(Debug, Clone)]
pub struct NextHopTable {
    /// Its number among the tables, which addresses its draws.
    index: u32,
    /// The routing's index.
    pub routing: usize,
    /// The destination.
    pub dst: NodeId,
    /// The next hops of node after node.
    links: Vec<LinkId>,
    /// Of each node, where its own begin in `links`, and where those of the last one end.
    begins: Vec<u32>,
    /// Of each node; empty if nothing need be remembered.
    memories: Vec<SelectorState>,
}

impl NextHopTable {
    /// A table in which no node has a next hop yet.
    pub fn new(index: u32, routing: usize, dst: NodeId) -> NextHopTable {
        NextHopTable { index, routing, dst, links: Vec::new(), begins: Vec::new(), memories: Vec::new() }
    }

    /// These are the next hops by node from now on; of nodes that are not among them, there are none.
    pub fn replace(&mut self, next_hops: &[Vec<LinkId>], routing: &RoutingSpec) {
        self.links = next_hops.concat();
        let ends = next_hops.iter().scan(0, |end, links| {
            *end += links.len() as u32;
            Some(*end)
        });
        self.begins = std::iter::once(0).chain(ends).collect();
        self.memories =
            vec![SelectorState::default(); if SelectorState::is_needed(routing) { next_hops.len() } else { 0 }];
    }

    /// The next hops of a node.
    #[inline]
    pub fn next_hops(&self, node: NodeId) -> &[LinkId] {
        next_hops(&self.links, &self.begins, node)
    }

    /// The next hop of a packet at a node, if there is one.
    pub fn choose(&mut self, node: NodeId, seed: u64, routing: &RoutingSpec, now: Time, key: &Key) -> Option<LinkId> {
        let owner = u64::from(self.index) << 32 | u64::from(node);
        let draws = || Stream::new(seed, Purpose::Forwarding, owner << 1);
        let alternatives = NextHopSet { members: next_hops(&self.links, &self.begins, node), cumulative: &[] };
        let mut forgetful = SelectorState::default();
        let memory = self.memories.get_mut(node as usize).unwrap_or(&mut forgetful);
        alternatives.choose(routing, memory, draws, now, key)
    }
}

fn next_hops<'a>(links: &'a [LinkId], begins: &[u32], node: NodeId) -> &'a [LinkId] {
    match begins.get(node as usize..node as usize + 2) {
        Some([begin, end]) => &links[*begin as usize..*end as usize],
        _ => &[],
    }
}
