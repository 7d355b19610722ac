//! The next hops of all nodes towards one destination.
//!
//! A thousand hosts have a thousand of these tables, each over all nodes. So a table has one list of links, and selector states
//! only if its routing needs them.

use crate::packet::forwarding::select::{NextHopSet, PacketKey, SelectorState};
use crate::rng::{Purpose, Stream};
use crate::spec::{LinkId, NodeId, RoutingSpec};
use crate::units::Time;

/// The next hops to a destination under a routing.
#[derive(Debug, Clone)]
pub struct NextHopTable {
    /// The table's index, which addresses its random draws.
    index: u32,
    /// The routing's index.
    pub routing: usize,
    /// The destination.
    pub dst: NodeId,
    /// The next hops of node after node.
    links: Vec<LinkId>,
    /// By node: the index in `links` of its first next hop; then the length of `links`.
    offsets: Vec<u32>,
    /// By node; empty if no choice depends on an earlier one.
    states: Vec<SelectorState>,
}

impl NextHopTable {
    /// A table in which no node has a next hop.
    pub fn new(index: u32, routing: usize, dst: NodeId) -> NextHopTable {
        NextHopTable { index, routing, dst, links: Vec::new(), offsets: Vec::new(), states: Vec::new() }
    }

    /// Replaces the next hops of all nodes; a node beyond the end of `next_hops` has none.
    pub fn replace(&mut self, next_hops: &[Vec<LinkId>], routing: &RoutingSpec) {
        self.links = next_hops.concat();
        let ends = next_hops.iter().scan(0, |end, links| {
            *end += links.len() as u32;
            Some(*end)
        });
        self.offsets = std::iter::once(0).chain(ends).collect();
        self.states =
            vec![SelectorState::default(); if SelectorState::is_needed(routing) { next_hops.len() } else { 0 }];
    }

    /// The next hops of a node.
    #[inline]
    pub fn next_hops(&self, node: NodeId) -> &[LinkId] {
        next_hops(&self.links, &self.offsets, node)
    }

    /// The next hop of a packet at a node; `None` if the node has none.
    pub fn select(
        &mut self,
        node: NodeId,
        seed: u64,
        routing: &RoutingSpec,
        now: Time,
        key: &PacketKey,
    ) -> Option<LinkId> {
        let owner = u64::from(self.index) << 32 | u64::from(node);
        let draws = || Stream::new(seed, Purpose::Forwarding, owner << 1);
        let set = NextHopSet { members: next_hops(&self.links, &self.offsets, node), cumulative: &[] };
        let mut no_state = SelectorState::default();
        let state = self.states.get_mut(node as usize).unwrap_or(&mut no_state);
        set.select(routing, state, draws, now, key)
    }
}

fn next_hops<'a>(links: &'a [LinkId], offsets: &[u32], node: NodeId) -> &'a [LinkId] {
    match offsets.get(node as usize..node as usize + 2) {
        Some([start, end]) => &links[*start as usize..*end as usize],
        _ => &[],
    }
}
