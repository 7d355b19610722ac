//! The completion time of a flow that has the network to itself: the base of its slowdown.

use crate::packet::engine::{Engine, EventLoop};
use crate::packet::forwarding::RouteRef;
use crate::packet::link::packet_sizes::PacketSizes;
use crate::spec::{LinkId, NodeId, TransportSpec};
use crate::units::{Duration, Rate, Time};
use std::collections::HashMap;

/// The routes of an idle network that have several paths, each computed once.
#[derive(Default)]
pub(in crate::packet) struct IdleRoutes {
    /// The maximum flow over the links of a route reference, bits per second; `None` if its routes may change.
    through: HashMap<(RouteRef, NodeId, NodeId), Option<u64>>,
    /// The least one-way delay of a packet of this size, bytes.
    crossing: HashMap<(RouteRef, NodeId, NodeId, u16), Option<Duration>>,
}

impl<L: EventLoop> Engine<L> {
    /// Least time in which all segments of a flow can arrive, without losses. They are sent back to back, after the handshake if there is one, at most at
    /// the maximum flow of their paths. The ACK that Linux sends before them is not counted. `None` if the flow does not end, its routes may change, or the rate or delay of a link on them varies.
    pub(in crate::packet) fn idle_completion(&self, flow: usize, routes: &mut IdleRoutes) -> Option<Duration> {
        let (identity, sizes) = (&self.hosts.flows()[flow].identity, self.network.sizes(flow as u32));
        let TransportSpec::Tcp { stack } = self.spec.traffic[identity.group as usize].transport else { return None };
        if sizes.last_segment == u32::MAX {
            return None;
        }
        let forth = (identity.forward, identity.src, identity.dst);
        let back = (identity.reverse, identity.dst, identity.src);
        if self.network.varies() && (self.may_vary(forth) || self.may_vary(back)) {
            return None;
        }
        let data = match self.links_of_path(forth.0, forth.1) {
            Some(links) => self.back_to_back(&links, sizes),
            None => self.over_several_paths(forth, sizes, routes)?,
        };
        let stack = &self.spec.stacks[stack];
        if !stack.handshake || stack.messages().is_some() {
            return Some(data);
        }
        let (there, again) =
            (self.idle_crossing(forth, sizes.syn(), routes), self.idle_crossing(back, sizes.syn(), routes));
        Some(there? + again? + data)
    }

    /// The round trip of a full packet of a flow and its answer in an idle network: over its routes, or if they may change, over any links.
    pub(super) fn idle_round_trip(&self, flow: usize, routes: &mut IdleRoutes) -> Option<Duration> {
        let (identity, sizes) = (&self.hosts.flows()[flow].identity, self.network.sizes(flow as u32));
        let all: Vec<LinkId> = (0..self.spec.links.len() as LinkId).collect();
        let mut one_way = |route, src, dst, bytes| {
            self.idle_crossing((route, src, dst), bytes, routes)
                .or_else(|| self.least_crossing(&all, (src, dst), bytes))
        };
        let data = one_way(identity.forward, identity.src, identity.dst, sizes.full())?;
        Some(data + one_way(identity.reverse, identity.dst, identity.src, sizes.header())?)
    }

    /// Arrival time of the last segment over a path. At one link it waits for the other segments; behind that link it never waits. The result uses the
    /// link that gives the latest arrival.
    fn back_to_back(&self, path: &[LinkId], sizes: &PacketSizes) -> Duration {
        let last = self.path_crossing(path, sizes.last());
        let Some(followers) = u64::from(sizes.last_segment).checked_sub(1) else { return last };
        let (mut latest, mut first, mut slowest, mut alone) = (last, Duration::ZERO, Duration::ZERO, last);
        for &link in path {
            let full = self.spec.links[link as usize].rate.serialization_delay(u64::from(sizes.full()));
            slowest = slowest.max(full);
            let others = Duration(slowest.0.saturating_mul(followers).min(Time::NEVER.0));
            latest = latest.max(first + full + others + alone);
            first = first + self.link_crossing(link, sizes.full());
            alone = alone - self.link_crossing(link, sizes.last());
        }
        latest
    }

    /// The segments may use several paths at once. But none is faster than it would be alone, and together they do not exceed the maximum flow.
    fn over_several_paths(
        &self,
        forth: (RouteRef, NodeId, NodeId),
        sizes: &PacketSizes,
        routes: &mut IdleRoutes,
    ) -> Option<Duration> {
        let through = *routes.through.entry(forth).or_insert_with(|| {
            self.network.forwarding().possible_links(forth.0, forth.1)?;
            Some(self.bound(forth, Time::ZERO, self.clock.now()).through)
        });
        let bytes = u64::from(sizes.last_segment) * u64::from(sizes.full()) + u64::from(sizes.last());
        // No link may lead there, as where no path has a finite metric.
        let all = Rate(through.filter(|rate| *rate > 0)?).serialization_delay(bytes);
        let longest = if sizes.last_segment > 0 { sizes.full() } else { sizes.last() };
        Some(self.idle_crossing(forth, longest, routes)?.max(self.idle_crossing(forth, 0, routes)? + all))
    }

    /// Whether the rate or the delay of a link may vary that packets of a route may take.
    fn may_vary(&self, (route, src, _): (RouteRef, NodeId, NodeId)) -> bool {
        let links = self.network.forwarding().possible_links(route, src);
        links.is_none_or(|links| links.into_iter().any(|link| self.network.link(link).varies()))
    }

    /// The links of a flow with a single path.
    fn links_of_path(&self, route: RouteRef, src: NodeId) -> Option<Vec<LinkId>> {
        matches!(route, RouteRef::Route(_)).then(|| self.network.forwarding().possible_links(route, src))?
    }

    /// How long a packet takes over an idle link.
    fn link_crossing(&self, link: LinkId, bytes: u16) -> Duration {
        let link = &self.spec.links[link as usize];
        link.rate.serialization_delay(u64::from(bytes)) + link.delay
    }

    fn path_crossing(&self, path: &[LinkId], bytes: u16) -> Duration {
        path.iter().fold(Duration::ZERO, |sum, link| sum + self.link_crossing(*link, bytes))
    }

    /// The least one-way delay of a packet: the sum over its path, or the least over several (Bellman and Ford).
    fn idle_crossing(
        &self,
        (route, src, dst): (RouteRef, NodeId, NodeId),
        bytes: u16,
        routes: &mut IdleRoutes,
    ) -> Option<Duration> {
        if let Some(path) = self.links_of_path(route, src) {
            return Some(self.path_crossing(&path, bytes));
        }
        let find = || self.least_crossing(&self.network.forwarding().possible_links(route, src)?, (src, dst), bytes);
        *routes.crossing.entry((route, src, dst, bytes)).or_insert_with(find)
    }

    /// The least one-way delay of a packet over these links (Bellman and Ford); `None` if they do not lead there.
    fn least_crossing(&self, links: &[LinkId], (src, dst): (NodeId, NodeId), bytes: u16) -> Option<Duration> {
        let mut reached: HashMap<NodeId, Duration> = HashMap::from([(src, Duration::ZERO)]);
        let mut is_shorter = |id: &LinkId| {
            let link = &self.spec.links[*id as usize];
            let Some(before) = reached.get(&link.src) else { return false };
            let time = *before + self.link_crossing(*id, bytes);
            let is_shorter = reached.get(&link.dst).is_none_or(|known| time < *known);
            if is_shorter {
                reached.insert(link.dst, time);
            }
            is_shorter
        };
        while links.iter().filter(|link| is_shorter(link)).count() > 0 {}
        reached.get(&dst).copied()
    }
}
