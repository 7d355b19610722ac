//! The plan of a run's flows, and the links of their packets.

use crate::packet::engine::{Engine, EventLoop};
use crate::packet::forwarding::{RouteRef, SharedPaths, Unlisted};
use crate::packet::hosts::flow::FlowPlan;
use crate::spec::{Granularity, LinkId, RunSpec};

impl<L: EventLoop> Engine<L> {
    /// The compiled run.
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    /// How many flows the run plans.
    pub fn planned_flows(&self) -> u32 {
        self.hosts.flows().len() as u32
    }

    /// The plan of a flow: its ends, start and size.
    pub fn plan(&self, flow: u32) -> FlowPlan {
        self.hosts.identity(flow).plan(self.network.sizes(flow).whole_payload())
    }

    /// Bytes of a full packet of a flow.
    pub fn full_size(&self, flow: u32) -> u16 {
        self.network.sizes(flow).full()
    }

    /// Whether all packets of a flow take one path, of its data or of its ACKs.
    pub fn has_one_path(&self, flow: u32, reverse: bool) -> bool {
        let identity = self.hosts.identity(flow);
        let group = &self.spec.traffic[identity.group as usize];
        let used = if reverse { self.spec.reverse_routing(group) } else { group.routing };
        matches!(identity.route(reverse), RouteRef::Route(_)) || self.spec.routings[used].per == Granularity::Flow
    }

    /// The links that all packets of a flow take, of its data or of its ACKs, where they are compiled.
    pub fn compiled_path(&self, flow: u32, reverse: bool) -> Option<&[LinkId]> {
        let RouteRef::Route(start) = self.hosts.identity(flow).route(reverse) else { return None };
        Some(self.network.forwarding().links_from(start))
    }

    /// The paths of a flow's packets, or of its ACKs, if each chooses one: see [`paths_of_packets`](crate::packet::forwarding::Forwarding::paths_of_packets).
    ///
    /// # Errors
    /// See [`Unlisted`].
    pub fn paths_of_packets(&self, flow: u32, reverse: bool, most: usize) -> Result<SharedPaths, Unlisted> {
        let identity = self.hosts.identity(flow);
        let src = identity.key(flow, reverse, 0).src;
        self.network.forwarding().paths_of_packets(identity.route(reverse), src, most)
    }

    /// The links that a flow's first packet takes, or its first ACK, if it is sent now: see [`links_of_packet`](crate::packet::forwarding::Forwarding::links_of_packet).
    pub fn links_of_first(&mut self, flow: u32, reverse: bool) -> Option<Vec<LinkId>> {
        let identity = self.hosts.identity(flow);
        let now = self.clock.now();
        self.network.forwarding_mut().links_of_packet(identity.route(reverse), now, &identity.key(flow, reverse, 0))
    }
}
