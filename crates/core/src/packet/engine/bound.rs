//! The most that its links can carry for a flow. A result above this bound is an error of the engine.

use crate::packet::engine::{Engine, EventLoop};
use crate::packet::forwarding::RouteRef;
use crate::packet::hosts::flow::Flow;
use crate::packet::output::samples::payload_bytes;
use crate::routing::max_flow;
use crate::spec::{LinkId, NodeId};
use crate::units::{Duration, Time};
use rustc_hash::FxHashMap;

/// The most that links carry from one node to another, bits per second.
#[derive(Debug, Clone, Copy)]
pub(in crate::packet) struct Bound {
    /// Over all links: the maximum flow; where routes change, the links that leave the source.
    pub(in crate::packet) through: u64,
    /// Over the last links, behind which no packet waits.
    arriving: u64,
    /// The number of the last links.
    last_links: u64,
}

impl<L: EventLoop> Engine<L> {
    /// Describes the first flow that received more than its links can carry; `None` if there is none. Since its start a flow cannot receive more
    /// than the maximum flow. Since the end of the warm-up it cannot receive more than the links to its receiver carry.
    pub fn impossible_goodput(&self) -> Option<String> {
        self.impossible_goodput_at(|_| true)
    }

    /// [`Self::impossible_goodput`] of the flows with these receivers.
    pub(in crate::packet) fn impossible_goodput_at(&self, is_here: impl Fn(NodeId) -> bool) -> Option<String> {
        let mut bounds = FxHashMap::default();
        let begun = |flow: &Flow| flow.identity.start < self.clock.now() && is_here(flow.identity.dst);
        self.hosts.flows().iter().enumerate().filter(|(_, flow)| begun(flow)).find_map(|(index, flow)| {
            let (identity, sizes) = (&flow.identity, self.network.sizes(index as u32));
            let (src, dst) = (identity.src, identity.dst);
            // Flows of one route share a bound, unless the capacity of links varies with time.
            let from = if self.network.varies() { identity.start } else { Time::ZERO };
            let bound = *bounds
                .entry((identity.forward, src, dst, from))
                .or_insert_with(|| self.bound((identity.forward, src, dst), from, self.clock.now()));
            let received = payload_bytes(&self.spec, flow, sizes, &flow.state.counters(self.clock.now(), sizes.last_segment));
            let warm = payload_bytes(&self.spec, flow, sizes, &self.observers.observations.warm_flow(index));
            let measured = self.clock.now() - identity.start.max(Time::ZERO + self.spec.warm_up);
            let one_each = bound.last_links * u64::from(sizes.full()); // which were on their way when the measuring began
            let is_possible = |bytes: u64, rate: u64, time: Duration, more: u64| {
                u128::from(bytes - bytes.min(more)) * 8 * 1_000_000_000_000 <= u128::from(rate) * u128::from(time.0)
            };
            let excess = |bytes: u64, rate: u64, time: Duration| {
                format!(
                    "internal error: flow {index} received {bytes} bytes in {} s, more than its links carry at {rate} bit/s; please report this scenario",
                    time.as_secs()
                )
            };
            let alive = self.clock.now() - identity.start;
            if !is_possible(received, bound.through, alive, 0) {
                Some(excess(received, bound.through, alive))
            } else if measured > Duration::ZERO && !is_possible(received - warm, bound.arriving, measured, one_each) {
                Some(excess(received - warm, bound.arriving, measured))
            } else {
                None
            }
        })
    }

    /// The bound of flows between these instants.
    pub(in crate::packet) fn bound(
        &self,
        (route, src, dst): (RouteRef, NodeId, NodeId),
        from: Time,
        to: Time,
    ) -> Bound {
        let spec = |link: &LinkId| &self.spec.links[*link as usize];
        let departing = |link: &LinkId| self.network.link(*link).most_departing(spec(link).rate, from, to).0;
        let measured_from = from.max(Time::ZERO + self.spec.warm_up);
        let arriving = |link: &LinkId| self.network.link(*link).most_arriving(spec(link).rate, measured_from, to).0;
        let sum = |rates: &mut dyn Iterator<Item = u64>| rates.fold(0, u64::saturating_add);
        let (through, last): (u64, Vec<LinkId>) = match self.network.forwarding().possible_links(route, src) {
            Some(links) => {
                let through = if matches!(route, RouteRef::Route(_)) {
                    links.iter().map(departing).min().unwrap_or(u64::MAX)
                } else {
                    let arc = |link: &LinkId| (spec(link).src, spec(link).dst, departing(link));
                    max_flow(&links.iter().map(arc).collect::<Vec<_>>(), src, dst)
                };
                (through, links.into_iter().filter(|link| spec(link).dst == dst).collect())
            }
            None => {
                let all = || 0..self.spec.links.len() as LinkId;
                let first = all().filter(|link| spec(link).src == src);
                (sum(&mut first.map(|link| departing(&link))), all().filter(|link| spec(link).dst == dst).collect())
            }
        };
        Bound { through, arriving: sum(&mut last.iter().map(arriving)), last_links: last.len() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use crate::packet::Simulation;
    use crate::packet::properties::random_run::{MS, build};
    use serde_json::{Value, json};

    /// UDP at 20 Mbit/s over a link of 10, for 2 s.
    fn run() -> Value {
        let link = |src: u32, dst: u32| {
            json!({"src": src, "dst": dst, "rate": 10_000_000, "delay": MS, "cost": 1.0, "loss": null,
                "queue": {"discipline": "drop-tail", "limit": {"packets": 20}}})
        };
        json!({"seed": 1, "duration": 2000 * MS, "warm_up": 1000 * MS, "sample": null,
            "nodes": ["0", "1"], "links": [link(0, 1), link(1, 0)], "stacks": [], "events": [], "captures": [],
            "routings": [{"name": "", "hops": {"kind": "shortest", "metric": "delay"}, "select": {"name": "hash"},
                "per": {"unit": "flow"}, "hash": ["source"], "acks": null, "reconverge": null, "link_state": null}],
            "traffic": [{"name": "", "pairs": [[0, 1]], "flows_per_pair": 1, "transport": {"udp": {"packet": 1250}},
                "routing": 0, "start": 0, "stagger": 0, "stop": null,
                "application": {"kind": "constant", "rate": 20_000_000}}]})
    }

    /// A link that is declared slower than it was makes the goodput impossible.
    #[test]
    fn more_than_the_links_carry_is_found() {
        let mut simulation: Simulation = build(&run());
        while simulation.advance(1_000_000) {}
        assert_eq!(simulation.impossible_goodput(), None);
        simulation.spec.links[0].rate = crate::units::Rate(9_900_000);
        let problem = simulation.impossible_goodput().expect("1 % more than the link carries");
        assert!(
            problem.contains("flow 0 received 2498750 bytes in 2 s, more than its links carry at 9900000"),
            "{problem}"
        );
    }

    /// The bound of a varying link counts from the flow's start, which is still to come.
    #[test]
    fn a_flow_that_has_not_started_has_no_bound() {
        let mut spec = run();
        spec["schedules"] = json!([{"kind": "steps", "at": [0], "values": [10_000_000], "repeat": null}]);
        spec["links"][0]["rate_schedule"] = json!(0);
        spec["traffic"][0]["start"] = json!(1500 * MS);
        let mut simulation: Simulation = build(&spec);
        assert_eq!(simulation.impossible_goodput(), None);
        while simulation.advance(1_000_000) {}
        assert_eq!(simulation.impossible_goodput(), None);
    }
}
