//! Phase 2 of an epoch: nodes process their events in order. [`Nodes`] knows which events a node has in the epoch.

use crate::packet::engine::{Engine, TIMERS_PER_FLOW};
use crate::packet::epochs::event_loop::EpochLoop;
use crate::packet::epochs::inbox::{Event, Inbox, Item, Key, Rank};
use crate::packet::forwarding::RouteRef;
use crate::packet::hosts::flow::Flow;
use crate::packet::link::packet::Packet;
use crate::spec::{LinkId, NodeId, RunSpec};
use crate::units::Time;
use std::cmp::Reverse;

/// How a node processes the packets that a link delivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    /// In phase 1: the node has no other events than these packets and its timers, which are fired between them.
    Immediate,
    /// In phase 1, although other links deliver packets, too.
    PerLink,
    /// In phase 2, with all other events of the node in order.
    Sorted,
}

/// A node in the current epoch.
#[derive(Default)]
pub struct Node {
    /// Links in which packets arrive.
    pub(super) inputs: u32,
    /// One of them, if there are any.
    pub(super) input: LinkId,
    /// A flow starts, or a timer is due that no link fires among its packets.
    has_local: bool,
    /// It belongs to this partition: see [`crate::packet::parallel`].
    pub(super) is_here: bool,
    /// Whether its links may deliver one after another. No two of them deliver to the same end of a flow, and all packets that an end sends have one
    /// route.
    pub(super) delivers_per_link: bool,
    inbox: Inbox,
}

/// The nodes in the current epoch.
pub struct Nodes {
    nodes: Vec<Node>,
    /// Nodes with events in their inboxes.
    busy: Vec<NodeId>,
}

impl Nodes {
    /// The nodes of a run, without events.
    pub(super) fn new(spec: &RunSpec, flows: &[Flow]) -> Nodes {
        // Routers that select hop by hop have selector state of their own, which sees packets in order.
        let goes_by_hop = |Flow { identity, .. }: &Flow| {
            [identity.forward, identity.reverse].iter().any(|route| matches!(route, RouteRef::NextHopTable(_)))
        };
        let delivers_per_link = !flows.iter().any(goes_by_hop);
        let node = || Node { delivers_per_link, is_here: true, ..Node::default() };
        let mut nodes: Vec<Node> = std::iter::repeat_with(node).take(spec.nodes.len()).collect();
        for Flow { identity, .. } in flows {
            // Messages share the line of their host, and subflows the data of their connection.
            let group = &spec.traffic[identity.group as usize];
            let shares = spec.messages_of(group).is_some() || spec.subflows_of(group).is_some();
            if shares || !matches!((identity.forward, identity.reverse), (RouteRef::Route(_), RouteRef::Route(_))) {
                nodes[identity.src as usize].delivers_per_link = false;
                nodes[identity.dst as usize].delivers_per_link = false;
            }
        }
        Nodes { nodes, busy: Vec::new() }
    }

    /// A node.
    #[inline(always)]
    pub(super) fn at(&self, node: NodeId) -> &Node {
        &self.nodes[node as usize]
    }

    /// Restricts this partition to these nodes.
    pub(super) fn restrict_to(&mut self, is_here: impl Fn(NodeId) -> bool) {
        self.nodes.iter_mut().enumerate().for_each(|(node, state)| state.is_here = is_here(node as NodeId));
    }

    /// Records that packets arrive over a link in this epoch.
    #[inline(always)]
    pub(super) fn add_input(&mut self, node: NodeId, link: LinkId) {
        let state = &mut self.nodes[node as usize];
        state.inputs += 1;
        state.input = link;
    }

    /// Forgets the links that deliver at a node, at the end of phase 1.
    #[inline(always)]
    pub(super) fn forget_inputs(&mut self, node: NodeId) {
        self.nodes[node as usize].inputs = 0;
    }

    /// How a node processes the packets that its links deliver in this epoch.
    pub(super) fn delivery(&self, node: NodeId) -> Delivery {
        let state = self.at(node);
        match (state.inputs, state.has_local) {
            (1, false) => Delivery::Immediate,
            (_, false) if state.delivers_per_link => Delivery::PerLink,
            _ => Delivery::Sorted,
        }
    }

    /// Adds an event of a node to phase 2.
    #[inline(always)]
    pub(super) fn put(&mut self, node: NodeId, key: Key, packet: Packet) {
        let inbox = &mut self.nodes[node as usize].inbox;
        if inbox.is_empty() {
            self.busy.push(node);
        }
        inbox.put(key, packet);
    }

    /// Records that a flow starts at a node in this epoch, or that a timer is due that no link fires.
    pub(super) fn note_local(&mut self, node: NodeId) {
        self.nodes[node as usize].has_local = true;
    }

    /// Removes the events of a node that has any, and returns both.
    #[inline(always)]
    fn take_busy(&mut self) -> Option<(NodeId, Vec<Item>)> {
        let node = self.busy.pop()?;
        Some((node, self.nodes[node as usize].inbox.take_in_order()))
    }

    /// Ends phase 2 of a node. The memory of its events is used again.
    #[inline(always)]
    fn end(&mut self, node: NodeId, items: Vec<Item>) {
        let state = &mut self.nodes[node as usize];
        state.inbox.reuse(items);
        state.has_local = false;
    }
}

impl Engine<EpochLoop> {
    /// Phase 2: every other node processes its events in order.
    pub(super) fn process_nodes(&mut self) {
        while let Some((node, items)) = self.event_loop.nodes.take_busy() {
            self.clock.count_events(items.len() as u64);
            for (index, item) in items.iter().enumerate() {
                self.prefetch_for_inbox(&items[index..]);
                let (at, rank) = (item.packet.arrival(), item.key.rank());
                self.fire_timers(at, rank);
                self.clock.set(at);
                self.event_loop.rank = rank;
                match rank.event() {
                    Event::Start(position) => self.start_flow(self.hosts.flow_that_starts(position)),
                    Event::Arrival => self.forward(item.packet, node),
                    Event::Timer(timer) => self.fire_timer(at, timer),
                }
            }
            self.fire_timers(self.event_loop.until, Rank::FIRST);
            self.event_loop.nodes.end(node, items);
        }
    }

    /// Advances to a packet that arrives over a link now: fires the timers that are due before it.
    #[inline(always)]
    pub(super) fn advance_to_arrival(&mut self, link: LinkId, now: Time) {
        if !self.event_loop.due_timers.is_empty() {
            self.fire_timers(now, Rank::arrival(link));
            self.event_loop.rank = Rank::arrival(link);
        }
        self.clock.set(now);
    }

    /// Fires the timers of the current node that are due before this event.
    pub(super) fn fire_timers(&mut self, before: Time, rank: Rank) {
        while let Some(Reverse((at, timer))) = self.event_loop.due_timers.peek().copied()
            && (at, Rank::timer(timer)) < (before, rank)
        {
            self.event_loop.due_timers.pop();
            self.clock.set(at);
            self.event_loop.rank = Rank::timer(timer);
            self.clock.count_events(1);
            self.fire_timer(at, timer);
        }
    }

    fn fire_timer(&mut self, at: Time, timer: u32) {
        if self.event_loop.timers.is_due(at, timer) {
            self.on_timer(timer / TIMERS_PER_FLOW, timer % TIMERS_PER_FLOW);
        }
    }
}
