//! The plan of a run's flows, and the links of their packets.

use crate::packet::engine::{Engine, EventLoop};
use crate::packet::forwarding::{END, Forwarding, RouteRef, SharedPaths, Unlisted};
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

    /// What a flow is to do.
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
        let routing = self.spec.traffic[identity.group as usize].routing;
        let used = if reverse { self.spec.routings[routing].acks.unwrap_or(routing) } else { routing };
        let route = if reverse { identity.reverse } else { identity.forward };
        matches!(route, RouteRef::Route(_)) || self.spec.routings[used].per == Granularity::Flow
    }

    /// The links that all packets of a flow take, of its data or of its ACKs, where they are compiled.
    pub fn compiled_path(&self, flow: u32, reverse: bool) -> Option<&[LinkId]> {
        let identity = self.hosts.identity(flow);
        let route = if reverse { identity.reverse } else { identity.forward };
        let RouteRef::Route(start) = route else { return None };
        Some(self.network.forwarding().links_from(start))
    }

    /// The paths of a flow's packets, or of its ACKs, if each chooses one: see [`Forwarding::paths_of_packets`].
    ///
    /// # Errors
    /// See [`Unlisted`].
    pub fn paths_of_packets(&self, flow: u32, reverse: bool, most: usize) -> Result<SharedPaths, Unlisted> {
        let identity = self.hosts.identity(flow);
        let route = if reverse { identity.reverse } else { identity.forward };
        self.network.forwarding().paths_of_packets(route, identity.key(flow, reverse, 0).src, most)
    }

    /// The links that a flow's packet of this number takes, if it is sent now; `None` if it goes in a circle, or no route leads on. Selectors count it as
    /// sent.
    pub fn links_of_packet(&mut self, flow: u32, reverse: bool, number: u32) -> Option<Vec<LinkId>> {
        let identity = self.hosts.identity(flow);
        let key = identity.key(flow, reverse, number);
        let route = if reverse { identity.reverse } else { identity.forward };
        let now = self.clock.now();
        let (spec, forwarding) = (&self.spec, self.network.forwarding_mut());
        let mut links = Vec::new();
        let mut index = forwarding.first_hop_index(route, now, &key)?;
        let mut node = key.src;
        loop {
            let link = if Forwarding::is_hop_by_hop(index) {
                forwarding.next_hop(index, node, now, &key)?
            } else {
                forwarding.next_on_route(index)
            };
            if link == END {
                return Some(links);
            }
            if Forwarding::is_hop_by_hop(index) {
                // The host sends the packet before its time to live counts.
                index = if links.is_empty() { index } else { Forwarding::decrement_ttl(index)? };
            } else {
                index += 1;
            }
            links.push(link);
            node = spec.links[link as usize].dst;
        }
    }
}
