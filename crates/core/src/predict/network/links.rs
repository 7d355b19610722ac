//! What a link is to the model: its flows, its congestion events, and what the sawtooth of its queue leaves of capacity and delay.

use super::bbr_share::BbrShare;
use super::discipline::Discipline;
use super::error::PredictError;
use super::feeds::Feeds;
use super::flows::FlowModel;
use super::law::Response;
use super::loss;
use super::sawtooth::Sawtooth;
use super::totals::Totals;
use crate::spec::{QueueLimit, RunSpec};

/// Events a second at which a link counts as half full.
const RARE: f64 = 2e-3;
/// Events a second of a link that BBR fills alone: it counts as full.
const OFTEN: f64 = 100.0 * RARE;
/// The excess from which such a link has events.
const NEARLY_FULL: f64 = 0.9;

/// Round trips for which flows grow while the queue overflows: until senders know of a drop, and until they have halved their flight.
const OVERFLOW_ROUND_TRIPS: f64 = 2.0;

/// The part of its limit that a queue holds at most, in the mean, where as much data goes both ways. ACKs wait in the queue of one direction while that of
/// the other is empty, and the two swing (Zhang, Shenker and Clark 1991).
const SWINGING: f64 = 0.55;

/// The most events a second of a link: a link of 10 Gbit/s sends fewer packets.
const MOST_EVENTS: f64 = 1e6;
/// The least events a second of a link that has a price.
pub const LEAST_EVENTS: f64 = 1e-9;
/// Events a second with which a full queue begins.
const FIRST_EVENTS: f64 = 1e-3 * RARE;
/// The least wait that a price can grow from, in transmissions of a packet.
const LEAST_WAIT: f64 = 1e-5;

/// The power of BBR's excess by which the rate of its flows follows it.
const BBR_STEP: f64 = 0.3;

/// A link in the model, with its state.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkModel {
    /// Capacity, bit/s.
    pub rate_bps: f64,
    /// The queue at which it overflows, packets; infinite where its limit counts bytes.
    pub limit: f64,
    /// The queue at which it overflows, seconds of transmission of the packets that cross the link.
    pub buffer_s: f64,
    /// Seconds of transmission of a full packet.
    pub packet_s: f64,
    /// When its queue drops or marks.
    pub discipline: Discipline,
    /// Ratio of packets lost on the wire.
    pub loss: f64,
    /// Whether its queue can grow: the links before it are together faster.
    pub can_queue: bool,
    /// Whether all flows that react keep segments waiting: then the wait is its price, until the queue is full.
    pub by_waiting: bool,
    /// Whether any packets or ACKs cross it.
    pub is_used: bool,
    /// Whether flows react whose data crosses it. ACKs and datagrams do not.
    pub answers: bool,
    /// Whether BBR flows cross it.
    pub has_bbr: bool,
    /// Whether no other flows that react do. BBR takes no notice of events, which then are no price.
    pub only_bbr: bool,
    /// Congestion events a second: its price.
    pub events: f64,
    /// Packets dropped in an event.
    pub drops: f64,
    /// What each BBR flow may send, bit/s.
    pub bbr_bps: f64,
    /// Mean wait, seconds.
    pub queue_s: f64,
    /// The share of the capacity that the sawtooth can use.
    pub usable: f64,
    /// Bits offered a second.
    pub load_bps: f64,
}

/// The links of a run.
///
/// # Errors
/// Names a link whose queue discipline the model does not know.
pub fn models(spec: &RunSpec, flows: &[FlowModel], feeds: &Feeds) -> Result<Vec<LinkModel>, PredictError> {
    let mut users = vec![Users::default(); spec.links.len()];
    for flow in flows {
        flow.data.shares.iter().for_each(|(link, share)| users[*link as usize].add(flow, *share));
        flow.ack.shares.iter().for_each(|(link, _)| users[*link as usize].is_used = true);
    }
    let links = spec.links.iter().zip(users).enumerate();
    links
        .map(|(index, (link, users))| {
            let rate_bps = link.rate.as_bps();
            let largest_bits = users.largest_bits.max(8.0 * 64.0);
            let packets = users.room(match link.queue.limit {
                QueueLimit::Packets(packets) => f64::from(packets),
                QueueLimit::Bytes(bytes) => 8.0 * bytes as f64 / largest_bits,
            });
            let limit = if matches!(link.queue.limit, QueueLimit::Packets(_)) { packets } else { f64::INFINITY };
            let can_queue = feeds.greatest_bps(index, spec) > rate_bps;
            let unknown =
                || PredictError::Refused(format!("the queue discipline of link {}", spec.link_name(index as u32)));
            Ok(LinkModel {
                rate_bps,
                limit,
                buffer_s: packets * largest_bits / rate_bps,
                packet_s: largest_bits / rate_bps,
                discipline: Discipline::of(link, largest_bits / rate_bps).ok_or_else(unknown)?,
                loss: loss::of_link(link),
                can_queue,
                by_waiting: users.wait && !users.react,
                is_used: users.is_used,
                answers: users.wait || users.react,
                has_bbr: users.has_bbr,
                only_bbr: users.has_bbr && !users.others,
                events: 0.0,
                drops: 1.0,
                bbr_bps: if can_queue { rate_bps / 10.0 } else { rate_bps },
                queue_s: 0.0,
                usable: 1.0,
                load_bps: 0.0,
            })
        })
        .collect()
}

/// Who crosses a link.
#[derive(Debug, Clone, Copy, Default)]
struct Users {
    is_used: bool,
    has_bbr: bool,
    /// Whether flows keep segments waiting.
    wait: bool,
    /// Whether flows react otherwise.
    react: bool,
    /// Whether flows react that are not BBR.
    others: bool,
    /// Of a data packet.
    largest_bits: f64,
    flows: u32,
    /// The sum of what the flows fill of the queue (see [`FlowModel::fills`]).
    fill: f64,
    /// The sum of the packets that they send together.
    bursts: f64,
}

impl Users {
    /// Adds the data of a flow, of which this share crosses the link.
    fn add(&mut self, flow: &FlowModel, share: f32) {
        self.is_used = true;
        self.has_bbr |= flow.is_bbr();
        self.largest_bits = self.largest_bits.max(flow.wire_bits);
        self.flows += 1;
        self.fill += flow.fills(share);
        self.bursts += flow.burst;
        if let Some(control) = flow.long_run() {
            let waits = matches!(*control.response, Response::Waiting(..));
            self.wait |= waits;
            self.react |= !waits;
            self.others |= !flow.is_bbr();
        }
    }

    /// How many packets wait, in the mean, when a queue of this limit overflows. The rest of a burst comes on top of them.
    fn room(&self, limit: f64) -> f64 {
        if self.flows == 0 {
            return limit;
        }
        let flows = f64::from(self.flows);
        (self.fill / flows * limit - (self.bursts / flows - 1.0)).max(1.0)
    }
}

impl LinkModel {
    /// Follows the flows: their load, and the queue's sawtooth. `damping` is the weight of the new queue.
    pub fn follow(&mut self, totals: &Totals, damping: f64) {
        self.load_bps = totals.load_bps;
        if !self.can_queue || self.load_bps <= 0.0 {
            return;
        }
        if self.limit.is_finite() {
            // An ACK takes the place of a full packet.
            self.buffer_s += damping * (self.limit * self.load_bps / totals.packets / self.rate_bps - self.buffer_s);
        }
        let idle_s = ((totals.rtt_load - totals.data_bps * self.queue_s) / self.load_bps).max(1e-6);
        let bbr = self.has_bbr.then_some(&totals.bbr);
        if let Some(bbr) = bbr {
            self.follow_bbr(bbr, idle_s);
        }
        let (drops, buffer_s) = self.at_event(totals, idle_s);
        self.drops += damping * (drops.max(1.0) - self.drops);
        let drop = totals.lost_bps / self.load_bps;
        let sawtooth = Sawtooth {
            idle_s,
            buffer_s,
            drop,
            curve: totals.curved_bps / totals.lost_bps.max(1e-9),
            rounds: drop * (idle_s + buffer_s) / self.packet_s / totals.growth.max(1e-9),
        };
        let (mut usable, mut queue_s) = sawtooth.means();
        if self.discipline == Discipline::DropTail {
            let both_ways = (2.0 * totals.returning()).min(1.0);
            queue_s = queue_s.min(buffer_s * (1.0 - (1.0 - SWINGING) * both_ways.powi(2)));
        }
        if let Some(bbr) = bbr {
            (usable, queue_s) = bbr.keep(idle_s, self.buffer_s);
        }
        if self.by_waiting {
            self.usable = 1.0;
            return;
        }
        // A link that is not full has neither events nor a queue; the step between the two is smooth.
        let full = self.full();
        self.usable += damping * (usable - self.usable);
        self.queue_s += damping * (full * queue_s - self.queue_s);
    }

    /// Changes what each BBR flow may send.
    fn follow_bbr(&mut self, bbr: &BbrShare, idle_s: f64) {
        let carried_bps = self.usable * self.rate_bps;
        // Datagrams and ACKs do not answer. The flows that do share what is left.
        let shared_bps = carried_bps - (self.load_bps - bbr.load_bps - bbr.others_bps);
        // Where the others do not fill theirs, it is BBR's.
        let rest_bps = shared_bps - bbr.others_bps;
        let full = self.full();
        let theirs_bps = full * bbr.share(idle_s, self.buffer_s) * shared_bps + (1.0 - full) * rest_bps;
        let step = (theirs_bps.max(1.0) / bbr.load_bps.max(1.0)).powf(BBR_STEP).clamp(0.5, 2.0);
        self.bbr_bps = (self.bbr_bps * step).clamp(1.0, self.rate_bps);
    }

    /// How many packets an event drops or marks, and how long the queue is then, seconds, in the mean over a round trip.
    fn at_event(&self, totals: &Totals, idle_s: f64) -> (f64, f64) {
        match self.discipline {
            Discipline::DropTail => (OVERFLOW_ROUND_TRIPS * totals.growth, self.buffer_s),
            Discipline::Delay { target_s, interval_s } => {
                // The growth of an interval lengthens the queue.
                let growth_s = totals.growth_a_second * self.packet_s;
                (1.0, (target_s + growth_s * (interval_s + idle_s)).min(self.buffer_s))
            }
            Discipline::Random { minimum, maximum, probability } => {
                let ratio = self.events * self.drops * self.packet_s;
                let packets = if ratio < probability {
                    minimum + (maximum - minimum) * ratio / probability
                } else {
                    maximum * (1.0 + (ratio - probability) / (1.0 - probability).max(1e-9))
                };
                (1.0, (packets * self.packet_s).min(self.buffer_s))
            }
            Discipline::Threshold { mark_s } => (idle_s / self.packet_s, mark_s.min(self.buffer_s)),
        }
    }

    /// Changes the price by this power of the load over what the link can carry.
    pub fn charge(&mut self, power: f64) {
        if self.only_bbr {
            let full = (self.excess() - NEARLY_FULL) / (1.0 - NEARLY_FULL);
            self.events = (OFTEN * full.min(1.0)).max(LEAST_EVENTS);
            return;
        }
        let factor = power.exp();
        if self.by_waiting {
            self.charge_waiting(factor);
        } else {
            self.events = (self.events * factor).clamp(LEAST_EVENTS, MOST_EVENTS);
        }
    }

    /// The same where all flows keep segments waiting. Events are a price on top of a full queue: they come last and go first.
    fn charge_waiting(&mut self, factor: f64) {
        let queue_s = self.queue_s.max(LEAST_WAIT * self.packet_s) * factor;
        if factor >= 1.0 && queue_s >= self.buffer_s {
            self.queue_s = self.buffer_s;
            self.events = (self.events.max(FIRST_EVENTS) * factor).min(MOST_EVENTS);
        } else if factor < 1.0 && self.events * factor > FIRST_EVENTS {
            self.events *= factor;
        } else {
            (self.queue_s, self.events) = (queue_s.min(self.buffer_s), LEAST_EVENTS);
        }
    }

    /// Takes its price away: it has capacity to spare.
    pub fn clear(&mut self) {
        (self.events, self.queue_s, self.usable, self.drops) = (LEAST_EVENTS, 0.0, 1.0, 1.0);
    }

    /// From 0, the link has capacity to spare, to 1.
    pub fn full(&self) -> f64 {
        let full = self.events / (self.events + RARE);
        if self.by_waiting { full.max(self.queue_s / (self.queue_s + self.packet_s)) } else { full }
    }

    /// The load over what the link can carry.
    pub fn excess(&self) -> f64 {
        self.load_bps / (self.usable * self.rate_bps)
    }

    /// Packets dropped a second, if this number arrives. Where nothing answers, the link drops all that it cannot carry.
    pub fn dropped(&self, packets: f64) -> f64 {
        if self.answers {
            self.events * self.drops
        } else {
            packets * (1.0 - self.rate_bps / self.load_bps.max(self.rate_bps))
        }
    }

    /// How far from its balance the link is that an iteration ago was `before`. Smaller `heat` made its queue follow in smaller steps: they count for more.
    pub fn imbalance(&self, before: &LinkModel, heat: f64) -> f64 {
        let excess = self.excess().max(1e-6).ln();
        // A link with capacity to spare loses its price. One of BBR alone has none, and its flows are limited elsewhere.
        let spare = if self.only_bbr && self.bbr_bps >= self.rate_bps { 0.0 } else { -excess * self.full() };
        // Where nothing answers, the excess is dropped.
        let excess = if !self.answers && self.events >= MOST_EVENTS { 0.0 } else { excess.max(spare) };
        let follows = (self.usable - before.usable).abs().max((self.queue_s - before.queue_s).abs() / 0.1) / heat;
        // Where events are rare, BBR follows its share in small steps.
        let share = (self.bbr_bps / before.bbr_bps).ln().abs() / (5.0 * BBR_STEP * self.full());
        excess.max(follows).max(if self.only_bbr { 0.0 } else { share })
    }
}
