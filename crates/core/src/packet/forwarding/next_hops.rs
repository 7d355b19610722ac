//! The next-hop table of one destination.
//!
//! A thousand hosts have a thousand of these tables. So those behind one switch share their next hops, and a table has selector state
//! only if its routing needs it.

use crate::packet::forwarding::select::{Backlogs, Flowlets, Memory, NextHopSet, PacketKey, SelectorState};
use crate::rng::{Purpose, Stream};
use crate::routing::{LinkLists, NextHops};
use crate::spec::{LinkId, NodeId, RoutingSpec};
use crate::units::Time;

/// What all tables share.
pub struct Shared<'a> {
    /// The run's seed.
    pub seed: u64,
    /// The next hops of nodes that have several.
    pub lists: &'a LinkLists,
    /// What selectors remember of links, by the first link of a set.
    pub memories: &'a mut [u32],
}

/// The next hops to a destination under a routing.
#[derive(Debug, Clone)]
pub struct NextHopTable {
    /// The index of its random draws.
    draws: u32,
    /// What the selector remembers.
    memory: Memory,
    /// The routing's index.
    pub routing: usize,
    /// The destination.
    pub dst: NodeId,
    next_hops: NextHops,
    /// `None` if no choice depends on an earlier one. In a box, so that the tables of a large fabric are small beside a cache.
    state: Option<Box<TableState>>,
}

/// The selector state of all nodes, which have numbers by [`NextHops::chooser`].
#[derive(Debug, Clone)]
struct TableState {
    /// What the selector remembers at each node.
    memories: Vec<u32>,
    flowlets: Flowlets,
}

impl NextHopTable {
    /// The table of this index, under the routing of that index, in which no node has a next hop.
    pub fn new(index: u32, dst: NodeId, routing: usize, spec: &RoutingSpec) -> NextHopTable {
        let draws = if spec.select.ignores_destination(&spec.hash) { u32::MAX - routing as u32 } else { index };
        NextHopTable { draws, memory: spec.select.memory(), routing, dst, next_hops: NextHops::none(), state: None }
    }

    /// Replaces the next hops of all nodes.
    pub fn replace(&mut self, next_hops: NextHops, routing: &RoutingSpec) {
        let state = || Box::new(TableState { memories: vec![0; next_hops.choosers()], flowlets: Flowlets::default() });
        self.state = SelectorState::is_needed(routing).then(state);
        self.next_hops = next_hops;
    }

    /// The next hops of a node.
    #[inline]
    pub fn next_hops<'a>(&'a self, node: NodeId, lists: &'a LinkLists) -> &'a [LinkId] {
        self.next_hops.at(node, lists)
    }

    /// The next hop of a node that has exactly one: all packets take it.
    #[inline]
    pub fn only_next_hop(&self, node: NodeId) -> Option<LinkId> {
        self.next_hops.only(node)
    }

    /// The next hop of a packet at a node; `None` if the node has none.
    pub fn select(
        &mut self,
        node: NodeId,
        shared: Shared<'_>,
        routing: &RoutingSpec,
        now: Time,
        key: &PacketKey,
        backlogs: impl Backlogs,
    ) -> Option<LinkId> {
        let Shared { seed, lists, memories: of_links } = shared;
        let draws = || Stream::new(seed, Purpose::Forwarding, (u64::from(self.draws) << 32 | u64::from(node)) << 1);
        let set = NextHopSet { members: self.next_hops.at(node, lists), cumulative: &[], hops: None };
        let (mut memory, mut flowlets) = (0, Flowlets::default());
        let mut state = match (&mut self.state, self.next_hops.chooser(node)) {
            (Some(state), Some(chooser)) => {
                let TableState { memories, flowlets } = &mut **state;
                SelectorState { memory: &mut memories[chooser], flowlets, set: chooser as u32 }
            }
            _ => SelectorState { memory: &mut memory, flowlets: &mut flowlets, set: 0 },
        };
        if self.memory == Memory::OfLinks
            && let Some(first) = set.members.first()
        {
            state.memory = &mut of_links[*first as usize];
        }
        set.select(routing, state, draws, now, key, backlogs)
    }
}
