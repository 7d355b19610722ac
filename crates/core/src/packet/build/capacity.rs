//! Refuses a run in which a queue is too small for a packet, or a flow may exhaust its sequence numbers. The check needs the routes.

use super::{BuildError, refuse};
use crate::packet::engine::{Engine, EventLoop};
use crate::spec::{LinkId, QueueLimit};
use crate::units::{Rate, Time};
use std::collections::HashSet;

impl<L: EventLoop> Engine<L> {
    /// Refuses a queue that cannot hold a packet of a flow that crosses it: it would drop every such packet.
    pub(super) fn check_queues(&self) -> Result<(), BuildError> {
        let limits: Vec<u64> = self.spec.links.iter().map(|link| bytes_held(link.queue.limit)).collect();
        let smallest = limits.iter().min().copied().unwrap_or(u64::MAX);
        let mut checked = HashSet::new();
        for (index, flow) in self.hosts.flows().iter().enumerate() {
            let (identity, sizes) = (&flow.identity, self.network.sizes(index as u32));
            let largest = if sizes.last_segment == 0 { sizes.last() } else { sizes.full() };
            let forth = (identity.forward, identity.src, largest);
            let back = (identity.reverse, identity.dst, sizes.header());
            for (route, src, bytes) in [forth, back] {
                if u64::from(bytes) <= smallest || !checked.insert((route, src, bytes)) {
                    continue;
                }
                let links = self.network.forwarding().possible_links(route, src);
                let links = links.unwrap_or_else(|| (0..limits.len() as LinkId).collect());
                if let Some(link) = links.into_iter().find(|link| limits[*link as usize] < u64::from(bytes)) {
                    let group = &self.spec.traffic[identity.group as usize].name;
                    let problem = format!(
                        "limit {} bytes: holds no packet of {bytes} bytes, which traffic '{group}' sends there; give at least {bytes} bytes",
                        limits[link as usize]
                    );
                    return Err(refuse(format!("link {}, queue", self.spec.link_name(link)), problem));
                }
            }
        }
        Ok(())
    }

    /// Refuses a run in which a flow without an end could send 2^32 segments or more over its paths.
    pub(super) fn check_sequence_space(&self) -> Result<(), BuildError> {
        let end = Time::ZERO + self.spec.duration;
        let fastest = self.spec.links.iter().map(|link| link.rate).max().unwrap_or_default();
        let mut checked = HashSet::new();
        for (index, flow) in self.hosts.flows().iter().enumerate() {
            let (identity, sizes) = (&flow.identity, self.network.sizes(index as u32));
            let segments = |rate: Rate| rate.bytes_in(end - identity.start) / u64::from(sizes.full());
            let is_endless = sizes.last_segment == u32::MAX;
            let surely_fits = !self.network.varies() && segments(fastest) < u64::from(u32::MAX);
            let key = (identity.forward, identity.src, identity.dst, sizes.full(), identity.start);
            if !is_endless || surely_fits || !checked.insert(key) {
                continue;
            }
            let flow = (identity.forward, identity.src, identity.dst);
            let segments = segments(Rate(self.bound(flow, identity.start, end).through));
            if segments >= u64::from(u32::MAX) {
                let name = |node: u32| &self.spec.nodes[node as usize];
                return Err(refuse(
                    "run.duration",
                    format!(
                        "{}: a flow from {} to {} could send {segments} segments, more than 2^32; shorten the run",
                        self.spec.duration,
                        name(identity.src),
                        name(identity.dst)
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// The limit of a queue in bytes. A limit in packets holds packets of any size.
fn bytes_held(limit: QueueLimit) -> u64 {
    match limit {
        QueueLimit::Packets(_) => u64::MAX,
        QueueLimit::Bytes(bytes) => bytes,
    }
}

#[cfg(test)]
mod tests {
    use crate::packet::properties::random_run::MS;
    use crate::packet::{BuildError, Simulation};
    use serde_json::{Value, json};

    /// Nodes 0 and 1 with 10 Mbit/s between them, 1 and 2 with a terabit; UDP packets of 1250 bytes from 0 to 1.
    fn run() -> Value {
        let link = |src: u32, dst: u32, rate: u64| {
            json!({"src": src, "dst": dst, "rate": rate, "delay": MS, "cost": 1.0, "loss": null,
                "queue": {"discipline": "drop-tail", "limit": {"bytes": 1250}}})
        };
        let links = [link(0, 1, 10_000_000), link(1, 0, 10_000_000), link(1, 2, 1_000_000_000_000)];
        json!({"seed": 1, "duration": 1000 * MS, "warm_up": 0, "sample": null,
            "nodes": ["a", "b", "c"], "links": links, "stacks": [], "events": [], "captures": [],
            "routings": [{"name": "", "hops": {"kind": "shortest", "metric": "delay"}, "select": "hash",
                "per": {"unit": "flow"}, "hash": ["source"], "acks": null, "reconverge": null, "link_state": null}],
            "traffic": [{"name": "t", "pairs": [[0, 1]], "flows_per_pair": 1, "transport": {"udp": {"packet": 1250}},
                "routing": 0, "start": 0, "stagger": 0, "stop": null,
                "application": {"kind": "constant", "rate": 20_000_000}}]})
    }

    fn build(spec: Value) -> Result<Simulation, BuildError> {
        Simulation::new(serde_json::from_value(spec).unwrap())
    }

    fn problem(spec: Value) -> String {
        build(spec).err().expect("is to be refused").to_string()
    }

    #[test]
    fn a_queue_that_holds_no_packet_is_refused_where_packets_come_to_it() {
        assert!(build(run()).is_ok());
        let mut spec = run();
        spec["links"][2]["queue"]["limit"] = json!({"bytes": 1249});
        assert!(build(spec.clone()).is_ok(), "no packet crosses it");
        spec["links"][0]["queue"]["limit"] = json!({"bytes": 1249});
        assert_eq!(
            problem(spec),
            "link a -> b, queue: limit 1249 bytes: holds no packet of 1250 bytes, which traffic 't' sends there; \
             give at least 1250 bytes"
        );
    }

    #[test]
    fn segments_are_counted_at_the_rate_of_the_flow_s_own_path() {
        let hours = 3_600_000 * MS;
        let mut spec = run();
        spec["duration"] = json!(10 * hours); // 3.6e7 packets at 10 Mbit/s, 3.6e12 at a terabit
        assert!(build(spec.clone()).is_ok());
        spec["traffic"][0]["pairs"] = json!([[1, 2]]);
        assert!(problem(spec).contains("a flow from b to c could send 3600000000000 segments, more than 2^32"));
    }
}
