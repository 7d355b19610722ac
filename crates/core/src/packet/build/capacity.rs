//! Refuses a run in which a queue or a shaper is too small for a packet, a queue is too long for the clock, or a flow may
//! exhaust its sequence numbers. The check needs the routes.

use super::{BuildError, refuse};
use crate::packet::engine::{Engine, EventLoop};
use crate::spec::{LinkId, LinkSpec, QueueLimit, ShaperKind, TransportSpec};
use crate::units::{Duration, Rate, Time};
use std::collections::HashSet;

/// The longest time in which a full queue is transmitted: [`Link::busy_until`](crate::packet::link::Link::busy_until) counts 213 days.
const LONGEST_QUEUE: Duration = Duration::from_secs(200 * 24 * 3600);

impl<L: EventLoop> Engine<L> {
    /// Refuses a queue or a `tbf` that cannot hold a packet of a flow that crosses it: it would drop every such packet.
    pub(super) fn check_packets_fit(&self) -> Result<(), BuildError> {
        let limits: Vec<u64> = self.spec.links.iter().map(|link| queue_holds(link).min(tbf_holds(link))).collect();
        let smallest = limits.iter().min().copied().unwrap_or(u64::MAX);
        let mut checked = HashSet::new();
        for (index, flow) in self.hosts.planned().iter().enumerate() {
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
                    let (limit, spec) = (limits[link as usize], &self.spec.links[link as usize]);
                    let (part, what) = match queue_holds(spec) <= tbf_holds(spec) {
                        true => ("queue", format!("limit {limit} bytes: holds no packet")),
                        false => ("shaper", format!("burst {limit} bytes: tbf drops packets")),
                    };
                    let problem = format!(
                        "{what} of {bytes} bytes, which traffic '{group}' sends there; give at least {bytes} bytes"
                    );
                    return Err(refuse(format!("link {}, {part}", self.spec.link_name(link)), problem));
                }
            }
        }
        Ok(())
    }

    /// Refuses a queue that may hold more than its link transmits in [`LONGEST_QUEUE`]. Links that vary have a clock without end.
    pub(super) fn check_lasting(&self) -> Result<(), BuildError> {
        let largest = u64::from(self.network.all_sizes().largest()).max(1);
        for (index, link) in (0..).zip(&self.spec.links) {
            let bytes = link.rate.bytes_in(LONGEST_QUEUE);
            let (limit, most, unit) = match link.queue.limit {
                QueueLimit::Packets(packets) => (u64::from(packets), bytes / largest, "packets"),
                QueueLimit::Bytes(limit) => (limit, bytes, "bytes"),
            };
            if limit > most && !self.network.link(index).varies() {
                let problem = format!(
                    "limit {limit} {unit}: may last more than 200 days at {} bit/s; give at most {most} {unit}",
                    link.rate.0
                );
                return Err(refuse(format!("link {}, queue", self.spec.link_name(index)), problem));
            }
        }
        Ok(())
    }

    /// Refuses a run in which a flow without an end could send 2^32 segments or more: TCP over its paths, UDP by its application.
    pub(super) fn check_sequence_space(&self) -> Result<(), BuildError> {
        let end = Time::ZERO + self.spec.duration;
        let fastest = self.spec.links.iter().map(|link| link.rate).max().unwrap_or_default();
        let mut checked = HashSet::new();
        for (index, flow) in self.hosts.planned().iter().enumerate() {
            let (identity, sizes) = (&flow.identity, self.network.sizes(index as u32));
            if sizes.last_segment != u32::MAX {
                continue;
            }
            let group = identity.group as usize;
            let segments = if let TransportSpec::Udp { .. } = self.spec.traffic[group].transport {
                (self.spec.writes_per_second(group) * (end - identity.start).as_secs()) as u64
            } else {
                let segments = |rate: Rate| rate.bytes_in(end - identity.start) / u64::from(sizes.full());
                let surely_fits = !self.network.varies() && segments(fastest) < u64::from(u32::MAX);
                let path = (identity.forward, identity.src, identity.dst);
                if surely_fits || !checked.insert((path, sizes.full(), identity.start)) {
                    continue;
                }
                segments(Rate(self.bound(path, identity.start, end).through))
            };
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

/// The largest packet that a queue holds, bytes. A limit in packets holds packets of any size.
fn queue_holds(link: &LinkSpec) -> u64 {
    match link.queue.limit {
        QueueLimit::Packets(_) => u64::MAX,
        QueueLimit::Bytes(bytes) => bytes,
    }
}

/// The largest packet that a `tbf` lets pass, bytes. With `htb` any packet leaves a bucket in debt.
fn tbf_holds(link: &LinkSpec) -> u64 {
    match link.shaper {
        Some(shaper) if shaper.kind == ShaperKind::Tbf => shaper.burst,
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use crate::packet::properties::random_run::{MS, usual_stack};
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
            "routings": [{"name": "", "hops": {"kind": "shortest", "metric": "delay"}, "select": {"name": "hash"},
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

    /// Linux's tbf drops a packet larger than its burst; its htb lets the bucket go below zero.
    #[test]
    fn a_tbf_with_less_than_a_packet_is_refused_where_packets_come_to_it() {
        let mut spec = run();
        let shaper = |kind, burst| json!({"kind": kind, "burst": burst, "line": 1_000_000_000_000_u64});
        spec["links"][2]["shaper"] = shaper("tbf", 1249);
        assert!(build(spec.clone()).is_ok(), "no packet crosses it");
        spec["links"][0]["shaper"] = shaper("tbf", 1250);
        assert!(build(spec.clone()).is_ok());
        spec["links"][0]["shaper"] = shaper("htb", 0);
        assert!(build(spec.clone()).is_ok());
        spec["links"][0]["shaper"] = shaper("tbf", 1249);
        assert_eq!(
            problem(spec),
            "link a -> b, shaper: burst 1249 bytes: tbf drops packets of 1250 bytes, which traffic 't' sends there; \
             give at least 1250 bytes"
        );
    }

    /// 1250 bytes at 10 Mbit/s last 1 ms, so 1.728e10 packets last 200 days; at 1 Mbit/s 1.728e9 packets do, with 2.16e12 bytes.
    #[test]
    fn a_queue_that_may_outlast_the_clock_is_refused() {
        let with = |limit: Value, rate: u64| {
            let mut spec = run();
            (spec["links"][0]["queue"]["limit"], spec["links"][0]["rate"]) = (limit, json!(rate));
            spec
        };
        assert!(build(with(json!({"packets": u32::MAX}), 10_000_000)).is_ok());
        assert!(build(with(json!({"packets": 1_728_000_000}), 1_000_000)).is_ok());
        assert!(build(with(json!({"bytes": 2_160_000_000_000_u64}), 1_000_000)).is_ok());
        assert_eq!(
            problem(with(json!({"packets": 1_728_000_001}), 1_000_000)),
            "link a -> b, queue: limit 1728000001 packets: may last more than 200 days at 1000000 bit/s; \
             give at most 1728000000 packets"
        );
        assert!(problem(with(json!({"bytes": 2_160_000_000_001_u64}), 1_000_000)).contains("2160000000000 bytes"));
    }

    #[test]
    fn segments_of_tcp_are_counted_at_the_rate_of_the_flow_s_own_path() {
        let hours = 3_600_000 * MS;
        let mut spec = run();
        for link in spec["links"].as_array_mut().unwrap() {
            link["queue"]["limit"] = json!({"packets": 10});
        }
        spec["stacks"] = json!([usual_stack("newreno", false)]);
        spec["traffic"][0]["transport"] = json!({"tcp": {"stack": 0}});
        spec["traffic"][0]["application"] = json!({"kind": "bulk", "bytes": null});
        spec["duration"] = json!(10 * hours); // 4.5e7 segments of 1000 bytes at 10 Mbit/s, 4.5e12 at a terabit
        assert!(build(spec.clone()).is_ok());
        spec["links"][1]["src"] = json!(2); // an ACK's way back
        spec["traffic"][0]["pairs"] = json!([[1, 2]]);
        spec["links"][1]["dst"] = json!(1);
        assert!(problem(spec).contains("a flow from b to c could send 4500000000000 segments, more than 2^32"));
    }

    /// A bit per second is a packet in 10,000 s. A terabit per second is 10^8 packets in a second, though the link carries 1,000.
    #[test]
    fn segments_of_udp_are_counted_at_the_rate_of_the_application() {
        let mut spec = run();
        spec["duration"] = json!(60_000 * 1000 * MS);
        spec["traffic"][0]["pairs"] = json!([[1, 2]]);
        spec["traffic"][0]["application"]["rate"] = json!(1);
        assert!(build(spec.clone()).is_ok());
        spec["traffic"][0]["pairs"] = json!([[0, 1]]);
        spec["traffic"][0]["application"]["rate"] = json!(1_000_000_000_000_u64);
        assert!(problem(spec).contains("could send 6000000000000 segments"));
    }
}
