//! The next-hop table of one destination.
//!
//! A thousand hosts have a thousand of these tables. So those behind one switch share their next hops, and a table has selector states
//! only if its routing needs them.

use crate::packet::forwarding::select::{NextHopSet, PacketKey, SelectorState};
use crate::rng::{Purpose, Stream};
use crate::routing::NextHops;
use crate::spec::{HashField, LinkId, NodeId, RoutingSpec, Selector};
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
    next_hops: NextHops,
    /// The selector states, by [`NextHops::chooser`]; empty if no choice depends on an earlier one.
    states: Vec<SelectorState>,
}

impl NextHopTable {
    /// A table in which no node has a next hop.
    pub fn new(index: u32, routing: usize, dst: NodeId) -> NextHopTable {
        NextHopTable { index, routing, dst, next_hops: NextHops::none(), states: Vec::new() }
    }

    /// Replaces the next hops of all nodes.
    pub fn replace(&mut self, next_hops: NextHops, routing: &RoutingSpec) {
        let states = if SelectorState::is_needed(routing) { next_hops.choosers() } else { 0 };
        self.states = vec![SelectorState::default(); states];
        self.next_hops = next_hops;
    }

    /// The next hops of a node.
    #[inline]
    pub fn next_hops(&self, node: NodeId) -> &[LinkId] {
        self.next_hops.at(node)
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
        let draws = || {
            // The tables of all destinations share a hash that does not read the destination.
            let shared = routing.select == Selector::Hash && !routing.hash.contains(&HashField::Destination);
            let index = if shared { u32::MAX - self.routing as u32 } else { self.index };
            Stream::new(seed, Purpose::Forwarding, (u64::from(index) << 32 | u64::from(node)) << 1)
        };
        let set = NextHopSet { members: self.next_hops.at(node), cumulative: &[] };
        let mut no_state = SelectorState::default();
        let chooser = if self.states.is_empty() { None } else { self.next_hops.chooser(node) };
        let state = chooser.map_or(&mut no_state, |chooser| &mut self.states[chooser]);
        set.select(routing, state, draws, now, key)
    }
}
