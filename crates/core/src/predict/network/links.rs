//! What a link is to the model: its flows, its congestion events, and what the sawtooth of its queue leaves of capacity and delay.

use super::flows::{FlowModel, loss_of};
use super::solver::FlowState;
use crate::spec::{QueueLimit, RunSpec};

/// Points of the sawtooth.
const POINTS: u32 = 24;

/// Events a second at which a link counts as half full.
const RARE: f64 = 2e-3;

/// Round trips for which flows grow while the queue overflows: until senders know of a drop, and until they have halved their flight.
const OVERFLOW_ROUND_TRIPS: f64 = 2.0;

/// A flow's part of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Member {
    /// The flow's index.
    pub flow: usize,
    /// Whether its ACKs cross the link, and not its data.
    pub acks: bool,
    /// The share of these packets that crosses the link.
    pub share: f64,
    /// Probability that an event of the link reaches the flow.
    pub takes_part: f64,
}

impl Member {
    /// Packets on the link for each that the flow sends.
    pub fn packets(&self, flows: &[FlowModel]) -> f64 {
        self.share * if self.acks { flows[self.flow].acks } else { 1.0 }
    }

    /// Bits on the link for each packet that the flow sends.
    fn bits(&self, flows: &[FlowModel]) -> f64 {
        let flow = &flows[self.flow];
        self.packets(flows) * if self.acks { flow.ack_bits } else { flow.wire_bits }
    }
}

/// A link in the model, with its state.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkModel {
    /// Capacity, bit/s.
    pub rate_bps: f64,
    /// The queue's limit, seconds of transmission.
    pub buffer_s: f64,
    /// Ratio of packets lost on the wire.
    pub loss: f64,
    /// Whether its queue can grow: the links before it are together faster.
    pub can_queue: bool,
    /// The flows on it.
    pub members: Vec<Member>,
    /// Congestion events a second: its price.
    pub events: f64,
    /// Packets dropped in an event.
    pub drops: f64,
    /// Mean wait, seconds.
    pub queue_s: f64,
    /// The share of the capacity that the sawtooth can use.
    pub usable: f64,
    /// Bits offered a second.
    pub load_bps: f64,
}

/// The links of a run.
pub fn models(spec: &RunSpec, flows: &[FlowModel]) -> Vec<LinkModel> {
    let mut members: Vec<Vec<Member>> = vec![Vec::new(); spec.links.len()];
    for (index, flow) in flows.iter().enumerate() {
        for (paths, acks) in [(&flow.data, false), (&flow.ack, true)] {
            for (link, share) in &paths.shares {
                members[*link as usize].push(Member { flow: index, acks, share: *share, takes_part: 1.0 });
            }
        }
    }
    let fed_bps = feeds(spec, flows);
    let links = spec.links.iter().zip(members).zip(fed_bps).enumerate();
    links
        .map(|(index, ((link, members), fed_bps))| {
            let rate_bps = link.rate.as_bps();
            let data = members.iter().filter(|member| !member.acks);
            let largest_bits = data.map(|member| flows[member.flow].wire_bits).fold(8.0 * 64.0, f64::max);
            let buffer_bits = match link.queue.limit {
                QueueLimit::Packets(packets) => f64::from(packets) * largest_bits,
                QueueLimit::Bytes(bytes) => 8.0 * bytes as f64,
            };
            LinkModel {
                rate_bps,
                buffer_s: buffer_bits / rate_bps,
                loss: loss_of(spec, index as u32),
                can_queue: fed_bps > rate_bps,
                members,
                events: 0.0,
                drops: 1.0,
                queue_s: 0.0,
                usable: 1.0,
                load_bps: 0.0,
            }
        })
        .collect()
}

/// The greatest rate at which packets come to each link, bit/s; infinite where a host sends.
fn feeds(spec: &RunSpec, flows: &[FlowModel]) -> Vec<f64> {
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); spec.links.len()];
    let mut fed_by_host = vec![false; spec.links.len()];
    for paths in flows.iter().flat_map(|flow| [&flow.data, &flow.ack]) {
        for (link, _) in &paths.shares {
            let entry = spec.links[*link as usize].src;
            let previous: Vec<u32> =
                paths.shares.iter().map(|(one, _)| *one).filter(|one| spec.links[*one as usize].dst == entry).collect();
            fed_by_host[*link as usize] |= previous.is_empty();
            before[*link as usize].extend(previous);
        }
    }
    before
        .into_iter()
        .zip(fed_by_host)
        .map(|(mut links, by_host)| {
            links.sort_unstable();
            links.dedup();
            if by_host {
                f64::INFINITY
            } else {
                links.iter().map(|link| spec.links[*link as usize].rate.as_bps()).sum()
            }
        })
        .collect()
}

impl LinkModel {
    /// Takes the flows' rates: the load, who takes part in events, and the sawtooth of the queue. `damping` is the weight of the new queue.
    pub fn follow(&mut self, flows: &[FlowModel], states: &[FlowState], damping: f64) {
        self.load_bps = self.members.iter().map(|member| states[member.flow].rate * member.bits(flows)).sum();
        if !self.can_queue || self.load_bps <= 0.0 {
            return;
        }
        let (mut drops, mut rtt_s, mut bursts) = (0.0, 0.0, 0.0);
        for member in self.members.iter().filter(|member| !member.acks) {
            let state = states[member.flow];
            drops += state.growth * member.share;
            let share = state.rate * member.bits(flows) / self.load_bps;
            rtt_s += share * (state.rtt_s - self.queue_s);
            bursts += share * flows[member.flow].burst;
        }
        self.drops += damping * ((OVERFLOW_ROUND_TRIPS * drops).max(1.0) - self.drops);
        let (mut drop, mut curved) = (0.0, 0.0);
        for member in &mut self.members {
            let share = states[member.flow].rate * member.bits(flows) / self.load_bps;
            // An event drops this number of packets, each of the flow with the probability of its share.
            let of_drops = (share * flows[member.flow].burst / bursts.max(1e-9)).min(1.0);
            let takes_part = 1.0 - (1.0 - of_drops).powf(self.drops);
            member.takes_part += damping * (takes_part - member.takes_part);
            if let (Some(control), false) = (flows[member.flow].control, member.acks) {
                let lost = share * member.takes_part * (1.0 - control.law.remaining) * states[member.flow].responds;
                drop += lost;
                curved += lost * (control.law.mean_share() - (1.0 + control.law.remaining) / 2.0)
                    / (1.0 - control.law.remaining);
            }
        }
        let sawtooth =
            Sawtooth { idle_s: rtt_s.max(1e-6), buffer_s: self.buffer_s, drop, curve: curved / drop.max(1e-9) };
        let (usable, queue_s) = sawtooth.means();
        // A link that is not full has neither events nor a queue; the step between the two is smooth.
        let full = self.full();
        self.usable += damping * (usable - self.usable);
        self.queue_s += damping * (full * queue_s - self.queue_s);
    }

    /// From 0, the link has capacity to spare, to 1.
    pub fn full(&self) -> f64 {
        self.events / (self.events + RARE)
    }

    /// The load over what the link can carry.
    pub fn excess(&self) -> f64 {
        self.load_bps / (self.usable * self.rate_bps)
    }
}

/// The sum of the windows of a link's flows between two events.
pub struct Sawtooth {
    /// Mean RTT of the flows without the link's queue, seconds.
    pub idle_s: f64,
    /// The queue's limit, seconds.
    pub buffer_s: f64,
    /// What of the sum an event takes.
    pub drop: f64,
    /// From 0, growth is even, to 1/4, growth is CUBIC's.
    pub curve: f64,
}

impl Sawtooth {
    /// Utilisation and the mean wait in seconds, over the time from one event to the next.
    pub fn means(&self) -> (f64, f64) {
        let peak_s = self.idle_s + self.buffer_s;
        // The curve (1 - u)^k has the mean 1 / (k + 1): 1/2 for even growth, 1/4 for CUBIC's.
        let power = 1.0 / (0.5 - self.curve.clamp(0.0, 0.25)) - 1.0;
        let (mut time, mut busy, mut wait) = (0.0, 0.0, 0.0);
        for point in 0..POINTS {
            let u = (f64::from(point) + 0.5) / f64::from(POINTS);
            let window_s = peak_s * (1.0 - self.drop * (1.0 - u).powf(power));
            let queue_s = (window_s - self.idle_s).max(0.0);
            // Growth that counts round trips is slower when they are long.
            let slower = 1.0 + queue_s / self.idle_s * (1.0 - 4.0 * self.curve).clamp(0.0, 1.0);
            time += slower;
            busy += slower * (window_s / self.idle_s).min(1.0);
            wait += slower * queue_s;
        }
        (busy / time, wait / busy)
    }
}
