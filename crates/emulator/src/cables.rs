//! Cables between the ports of switches: each direction is a separate link, with its rate, delay, losses and queue.
//!
//! Frames are opaque. The run has one flow of datagrams per directed link, from its start to its end, and no other flow. The port at which frames
//! enter the link has the flow's number.

use crate::network::{Network, Output};
use anabranch_core::packet::BuildError;
use anabranch_core::packet::emulated::{EmulatedNetwork, IpEcn, SentPacket, Taker};
use anabranch_core::spec::{LinkId, NodeId, RunSpec};
use anabranch_core::units::Time;

/// Bytes of an Ethernet header, which links do not count, as they count IP packets.
const ETHERNET: usize = 14;

/// A frame, and the port where it leaves.
struct Frame {
    port: u32,
    bytes: Vec<u8>,
}

/// The cables of a testbed.
pub struct Cables {
    network: EmulatedNetwork<Frame>,
    /// At the other end of each port's cable.
    other_ends: Vec<u32>,
    /// Number of frames so far, by port.
    numbers: Vec<u32>,
}

struct Leaving<'run, O>(&'run mut O);

impl<O: Output> Taker<Frame> for Leaving<'_, O> {
    fn deliver(&mut self, at: Time, _host: NodeId, frame: Frame, _marked: bool) {
        self.0.write(at, frame.port, &frame.bytes);
    }

    fn capture(&mut self, _at: Time, _link: LinkId, _frame: &Frame) {}
}

impl Cables {
    /// Cables of a run whose flows are its directed links.
    ///
    /// # Errors
    /// The errors of the packet engine. Names a flow whose port has no other end.
    pub fn new(spec: RunSpec) -> Result<Cables, String> {
        let network = EmulatedNetwork::new(spec).map_err(|error: BuildError| error.to_string())?;
        let ends: Vec<(NodeId, NodeId)> =
            network.flows().map(|flow| (network.plan(flow).src, network.plan(flow).dst)).collect();
        let other_end = |(port, (src, dst)): (usize, &(NodeId, NodeId))| {
            let found = ends.iter().position(|end| *end == (*dst, *src));
            found.map(|other| other as u32).ok_or_else(|| format!("flow {port}: there is none in the other direction"))
        };
        let other_ends = ends.iter().enumerate().map(other_end).collect::<Result<Vec<u32>, String>>()?;
        Ok(Cables { numbers: vec![0; ends.len()], other_ends, network })
    }

    /// Frames that have crossed a cable or were lost there.
    pub fn frames(&self) -> u64 {
        self.network.packet_hops()
    }
}

impl Network for Cables {
    fn send(&mut self, now: Time, port: u32, frame: &[u8], output: &mut impl Output) {
        self.advance(now, output);
        let number = self.numbers[port as usize];
        self.numbers[port as usize] = number.wrapping_add(1);
        let size = frame.len().saturating_sub(ETHERNET).clamp(1, usize::from(u16::MAX)) as u16;
        let sent = SentPacket { flow: port, reverse: false, number, size, ecn: IpEcn::NotEct, control: false };
        let frame = Frame { port: self.other_ends[port as usize], bytes: frame.to_vec() };
        self.network.send(sent, frame, &mut Leaving(output));
    }

    fn advance(&mut self, now: Time, output: &mut impl Output) {
        self.network.run_until(now, &mut Leaving(output));
    }

    fn next_event(&self) -> Time {
        self.network.next_event()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MS: u64 = 1_000_000_000;

    #[derive(Default)]
    struct Written(Vec<(u64, u32, usize)>);

    impl Output for Written {
        fn write(&mut self, due: Time, port: u32, frame: &[u8]) {
            self.0.push((due.0 / 1_000_000, port, frame.len()));
        }
    }

    /// Three switches in a triangle. A byte takes a microsecond; the cables 0-1, 1-2 and 0-2 have 2, 5 and 1 ms.
    fn triangle(loss: f64) -> Cables {
        let cables = [(0, 1, 2), (1, 2, 5), (0, 2, 1)];
        let ends: Vec<(u32, u32, u64)> =
            cables.iter().flat_map(|(one, other, ms)| [(*one, *other, *ms), (*other, *one, *ms)]).collect();
        let links = ends.iter().map(|(src, dst, ms)| {
            json!({"src": src, "dst": dst, "rate": 8_000_000, "delay": ms * MS, "cost": 1.0,
                "queue": {"discipline": "drop-tail", "limit": {"packets": 2000}}, "loss": {"model": "bernoulli", "ratio": loss}})
        });
        let traffic = ends.iter().map(|(src, dst, _)| {
            json!({"name": format!("{src}{dst}"), "pairs": [[src, dst]], "flows_per_pair": 1, "transport": {"udp": {"packet": 1500}},
                "routing": 0, "start": 0, "stagger": 0, "stop": null, "application": {"kind": "constant", "rate": 1_000_000}})
        });
        let spec = json!({
            "seed": 1, "duration": 40_000 * MS, "warm_up": 0, "sample": null, "nodes": ["a", "b", "c"],
            "links": links.collect::<Vec<_>>(), "events": [], "captures": [], "stacks": [],
            "routings": [{"name": "r", "hops": {"kind": "shortest", "metric": "hop-count"}, "select": {"name": "hash"}, "per": {"unit": "flow"},
                "hash": ["source"], "acks": null, "reconverge": null}],
            "traffic": traffic.collect::<Vec<_>>(),
        });
        Cables::new(serde_json::from_value(spec).unwrap()).unwrap()
    }

    #[test]
    fn frames_leave_at_the_other_end_of_their_own_cable_after_its_delay() {
        let (mut cables, mut written) = (triangle(0.0), Written::default());
        for port in 0..6 {
            cables.send(Time(0), port, &[7; 1014], &mut written);
        }
        cables.advance(Time(20 * MS), &mut written);
        let mut found = written.0;
        found.sort_unstable();
        // 1000 bytes of the frame are its IP packet: 1000 us. The longer way over two cables has less delay, but no frame takes it.
        assert_eq!(
            found,
            [(2000, 4, 1014), (2000, 5, 1014), (3000, 0, 1014), (3000, 1, 1014), (6000, 2, 1014), (6000, 3, 1014)]
        );
    }

    #[test]
    fn a_cable_loses_the_share_that_it_is_to_lose() {
        let (mut cables, mut written) = (triangle(0.1), Written::default());
        for number in 0..20_000 {
            cables.send(Time(number * MS), 2, &[7; 114], &mut written);
        }
        cables.advance(Time(30_000 * MS), &mut written);
        let lost = 20_000.0 - written.0.len() as f64;
        // Six deviations of a binomial count.
        assert!((lost - 2000.0).abs() < 6.0 * (20_000.0_f64 * 0.1 * 0.9).sqrt(), "{lost}");
    }
}
