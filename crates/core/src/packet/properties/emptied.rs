//! A queue that drops all packets that wait and then the one that comes has nothing to serve. The link's next event is the arrival of the packet in
//! transmission.

use super::random_run::{MS, build};
use crate::packet::emulated::{EmulatedNetwork, IpEcn, SentPacket, Taker};
use crate::packet::engine::EventLoop;
use crate::packet::epochs::event_loop::EpochLoop;
use crate::packet::oracle::event_loop::ReferenceLoop;
use crate::spec::{LinkId, NodeId};
use crate::units::Time;
use serde_json::{Value, json};

/// Bytes of the packets that come at once, in this order, each of its own flow.
const SIZES: [u16; 3] = [1000, 500, 1000];

/// A link of 8 Mbit/s and 5 ms with one flow queue for two packets. The first packet is in transmission for 1 ms, and the second waits. The third finds
/// no room. Half of the 1500 bytes of the queue is more than the second packet, so the queue drops both (RFC 8290, section 4.1).
fn run() -> Value {
    let link = |src: usize, dst: usize| {
        json!({"src": src, "dst": dst, "rate": 8_000_000, "delay": 5 * MS, "cost": 1.0, "loss": null,
            "queue": {"discipline": "fq-codel", "limit": {"packets": 2}, "flows": 1}})
    };
    let group = |size: u16| {
        json!({"name": "", "pairs": [[0, 1]], "flows_per_pair": 1, "transport": {"udp": {"packet": size}}, "routing": 0,
            "start": 0, "stagger": 0, "stop": null, "application": {"kind": "constant", "rate": 1000}})
    };
    json!({"seed": 1, "duration": 100 * MS, "warm_up": 0, "sample": null, "delays": true, "nodes": ["0", "1"],
        "links": [link(0, 1), link(1, 0)], "stacks": [], "events": [], "captures": [],
        "traffic": SIZES.map(group),
        "routings": [{"name": "", "hops": {"kind": "shortest", "metric": "hop-count"}, "select": {"name": "hash"},
            "per": {"unit": "flow"}, "hash": ["source"], "acks": null, "reconverge": null, "link_state": null}]})
}

fn delays<L: EventLoop>() -> Vec<f64> {
    let mut engine = build::<L>(&run());
    while engine.advance(1 << 20) {}
    assert_eq!(engine.link_table().numbers("queue_drops"), [2.0, 0.0]);
    engine.flow_table().numbers("delay_max_s")
}

#[derive(Default)]
struct Arrived(Vec<(u32, Time)>);

impl Taker<u32> for Arrived {
    fn deliver(&mut self, at: Time, _host: NodeId, flow: u32, _marked: bool) {
        self.0.push((flow, at));
    }

    fn capture(&mut self, _at: Time, _link: LinkId, _flow: &u32) {}
}

#[test]
fn the_packet_in_transmission_still_crosses_the_wire() {
    for delays in [delays::<ReferenceLoop>(), delays::<EpochLoop>()] {
        assert!((delays[0] - 0.006).abs() < 1e-12 && delays[1].is_nan() && delays[2].is_nan(), "{delays:?}");
    }
    let spec = serde_json::from_value(run()).expect("a run");
    let mut emulated = EmulatedNetwork::new(spec).expect("a run that can be");
    let mut arrived = Arrived::default();
    for (flow, size) in (0..).zip(SIZES) {
        let sent = SentPacket { flow, reverse: false, number: 0, size, ecn: IpEcn::NotEct, control: false };
        emulated.send(sent, flow, &mut arrived);
    }
    emulated.run_until(Time(100 * MS), &mut arrived);
    assert_eq!(arrived.0, [(0, Time(6 * MS))]);
}
