//! The model of a link: its flows, its congestion events, and the effect of its queue's sawtooth on capacity and delay.

use super::bbr_share::BbrShare;
use super::discipline::Discipline;
use super::sawtooth::Sawtooth;
use super::totals::Totals;
use crate::predict::network::error::PredictError;
use crate::predict::network::flows::feeds::Feeds;
use crate::predict::network::flows::loss;
use crate::predict::network::flows::model::FlowModel;
use crate::predict::network::laws::law::Response;
use crate::spec::{QueueLimit, RunSpec};

/// Rate of events, per second, at which a link counts as half full.
const RARE: f64 = 2e-3;
/// Rate of events, per second, of a link that only BBR flows fill: such a link counts as full.
const OFTEN: f64 = 100.0 * RARE;
/// Ratio of load to usable capacity above which such a link has events.
const NEARLY_FULL: f64 = 0.9;

/// Round trips in which flows still grow while the queue overflows, until the senders have detected a drop and halved their flight.
const OVERFLOW_ROUND_TRIPS: f64 = 2.0;

/// Greatest mean queue, as a share of its limit, where equally much data flows in both directions. ACKs wait in the queue of one direction while the other
/// queue is empty, and the two queues swing (Zhang, Shenker and Clark 1991).
const SWINGING: f64 = 0.55;

/// Greatest rate of events of a link, per second: a link of 10 Gbit/s sends fewer packets than this.
const MOST_EVENTS: f64 = 1e6;
/// Least rate of events of a link that has a price, per second.
pub const LEAST_EVENTS: f64 = 1e-9;
/// Rate of events when a queue becomes full, per second.
const FIRST_EVENTS: f64 = 1e-3 * RARE;
/// Least wait from which a price can grow, in transmission times of a packet.
const LEAST_WAIT: f64 = 1e-5;

/// Exponent by which the rate of BBR flows follows the ratio of their share to their load.
const BBR_STEP: f64 = 0.3;

/// A link in the model, with its state.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkModel {
    /// Capacity, bit/s.
    pub rate_bps: f64,
    /// Queue length at which the queue overflows, packets; infinite if the limit counts bytes.
    pub limit: f64,
    /// Queue length at which the queue overflows, seconds of transmission. It depends on the sizes of the packets that cross the link.
    pub buffer_s: f64,
    /// Seconds of transmission of a full packet.
    pub packet_s: f64,
    /// Rule by which its queue drops or marks.
    pub discipline: Discipline,
    /// Ratio of packets lost on the wire.
    pub loss: f64,
    /// Whether its queue can grow, because the links before it are together faster.
    pub can_queue: bool,
    /// Whether every flow that reacts does so by the number of its waiting segments. Then the wait is the price, until the queue is full.
    pub by_waiting: bool,
    /// Whether any packets or ACKs cross it.
    pub is_used: bool,
    /// Whether any flow whose data crosses it reacts. ACKs and datagrams do not react.
    pub answers: bool,
    /// Whether BBR flows cross it.
    pub has_bbr: bool,
    /// Whether flows fill it that reordering does not limit. Then it has a standing queue, whatever the sprayed flows send.
    pub is_filled: bool,
    /// Whether BBR flows are the only ones that react. BBR ignores events, so events are then no price.
    pub only_bbr: bool,
    /// Price: congestion events per second.
    pub events: f64,
    /// Packets dropped in an event.
    pub drops: f64,
    /// Rate that each BBR flow may send at, bit/s.
    pub bbr_bps: f64,
    /// Mean wait, seconds.
    pub queue_s: f64,
    /// Share of the capacity that flows can use under the sawtooth.
    pub usable: f64,
    /// Offered load, bit/s.
    pub load_bps: f64,
    /// Number of flows that react whose data crosses it. A flow of which a share of the packets crosses it counts as this share.
    pub senders: f64,
    /// The same of BBR flows.
    pub bbr_senders: f64,
}

/// Builds the models of all links of a run.
///
/// # Errors
/// Names a link whose queue the model cannot predict.
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
            let most = match link.queue.limit {
                QueueLimit::Packets(packets) => f64::from(packets),
                QueueLimit::Bytes(bytes) => 8.0 * bytes as f64 / largest_bits,
            };
            let packets = users.room(most);
            let limit = if matches!(link.queue.limit, QueueLimit::Packets(_)) { packets } else { f64::INFINITY };
            let can_queue = feeds.greatest_bps(index, spec) > rate_bps;
            let name = || spec.link_name(index as u32);
            // Every burst of two packets loses one: the windows of such flows have no sawtooth.
            if most < 2.0 && can_queue && users.senders > 0.0 {
                let what = "its limit of one packet is the packet in transmission";
                return Err(PredictError::Refused(format!("the queue of link {}: {what}", name())));
            }
            let unknown = || {
                PredictError::Refused(format!(
                    "the queue discipline {} of link {}",
                    link.queue.discipline.name(),
                    name()
                ))
            };
            let discipline = Discipline::of(link, largest_bits / rate_bps).ok_or_else(unknown)?;
            Ok(LinkModel {
                rate_bps,
                limit,
                buffer_s: packets * largest_bits / rate_bps,
                packet_s: largest_bits / rate_bps,
                discipline,
                loss: loss::of_link(link),
                can_queue,
                by_waiting: users.wait && !users.react,
                is_used: users.is_used,
                answers: users.wait || users.react,
                has_bbr: users.has_bbr,
                is_filled: users.is_filled,
                only_bbr: users.has_bbr && !users.others,
                events: 0.0,
                drops: 1.0,
                bbr_bps: if can_queue { rate_bps / 10.0 } else { rate_bps },
                queue_s: 0.0,
                usable: 1.0,
                load_bps: 0.0,
                senders: users.senders,
                bbr_senders: users.bbr_senders,
            })
        })
        .collect()
}

/// The flows that cross a link.
#[derive(Debug, Clone, Copy, Default)]
struct Users {
    is_used: bool,
    has_bbr: bool,
    /// Whether some flows react by the number of their waiting segments.
    wait: bool,
    /// Whether some flows react in another way.
    react: bool,
    /// Whether some flows that react are not BBR.
    others: bool,
    /// See [`LinkModel::is_filled`].
    is_filled: bool,
    /// Bits of the largest data packet.
    largest_bits: f64,
    flows: u32,
    /// See [`LinkModel::senders`].
    senders: f64,
    /// See [`LinkModel::bbr_senders`].
    bbr_senders: f64,
    /// Sum of the flows' shares of a full queue (see [`FlowModel::fills`]).
    fill: f64,
    /// Sum of the flows' burst lengths, packets.
    bursts: f64,
}

impl Users {
    /// Adds a flow; this share of its data packets crosses the link.
    fn add(&mut self, flow: &FlowModel, share: f32) {
        self.is_used = true;
        self.has_bbr |= flow.is_bbr();
        self.largest_bits = self.largest_bits.max(flow.wire_bits);
        self.flows += 1;
        self.fill += flow.fills(share);
        self.bursts += flow.burst;
        if let Some(control) = flow.long_run() {
            self.senders += f64::from(share);
            self.bbr_senders += if flow.is_bbr() { f64::from(share) } else { 0.0 };
            let waits = matches!(*control.response, Response::Waiting(..));
            self.wait |= waits;
            self.react |= !waits;
            self.others |= !flow.is_bbr();
            self.is_filled |= flow.counted().is_none();
        }
    }

    /// Mean number of waiting packets when a queue of this limit overflows. The other packets of a burst come on top.
    fn room(&self, limit: f64) -> f64 {
        if self.flows == 0 {
            return limit;
        }
        let flows = f64::from(self.flows);
        (self.fill / flows * limit - (self.bursts / flows - 1.0)).max(1.0)
    }
}

impl LinkModel {
    /// Updates load and queue from the traffic of the flows. `damping` is the weight of the new queue.
    pub fn follow(&mut self, totals: &Totals, damping: f64) {
        self.load_bps = totals.load_bps;
        if !self.can_queue || self.load_bps <= 0.0 {
            return;
        }
        if self.limit.is_finite() {
            // An ACK occupies as much of the limit as a full packet.
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
        let with_buffer = |buffer_s: f64| Sawtooth {
            idle_s,
            buffer_s,
            drop,
            curve: totals.curved_bps / totals.lost_bps.max(1e-9),
            rounds: drop * (idle_s + buffer_s) / self.packet_s / totals.growth.max(1e-9),
        };
        let (mut usable, mut queue_s) = match self.discipline {
            Discipline::Held { target_s } => Sawtooth::holding(target_s, buffer_s, with_buffer).means(),
            _ => with_buffer(buffer_s).means(),
        };
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
        // A link that is not full has no events and no queue. The transition between the two states is smooth.
        let full = self.full();
        self.usable += damping * (usable - self.usable);
        self.queue_s += damping * (full * queue_s - self.queue_s);
    }

    /// Changes the rate that each BBR flow may send at.
    fn follow_bbr(&mut self, bbr: &BbrShare, idle_s: f64) {
        let carried_bps = self.usable * self.rate_bps;
        // Datagrams and ACKs do not react. The flows that react share the remaining rate.
        let shared_bps = carried_bps - (self.load_bps - bbr.load_bps - bbr.others_bps);
        // If the other flows do not use their share, BBR takes it.
        let rest_bps = shared_bps - bbr.others_bps;
        let full = self.full();
        let theirs_bps = full * bbr.share(idle_s, self.buffer_s) * shared_bps + (1.0 - full) * rest_bps;
        let step = (theirs_bps.max(1.0) / bbr.load_bps.max(1.0)).powf(BBR_STEP).clamp(0.5, 2.0);
        self.bbr_bps = (self.bbr_bps * step).clamp(1.0, self.rate_bps);
    }

    /// Packets that an event drops or marks, and the queue length at that time, seconds. Both are means over a round trip.
    fn at_event(&self, totals: &Totals, idle_s: f64) -> (f64, f64) {
        match self.discipline {
            Discipline::DropTail => (OVERFLOW_ROUND_TRIPS * totals.growth, self.buffer_s),
            Discipline::Delay { target_s, interval_s } => {
                // The queue grows further during the interval.
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
            Discipline::Held { .. } => (1.0, self.buffer_s),
            Discipline::Threshold { mark_s } => (idle_s / self.packet_s, mark_s.min(self.buffer_s)),
        }
    }

    /// Multiplies the price by e^`power`. A link that only BBR uses gets a price by its excess load instead.
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

    /// Changes the price of a link whose flows react by waiting segments. Only a full queue gets events: the wait rises first, and events fall first.
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

    /// Removes the price of a link that has spare capacity.
    pub fn clear(&mut self) {
        (self.events, self.queue_s, self.usable, self.drops) = (LEAST_EVENTS, 0.0, 1.0, 1.0);
    }

    /// How full the link is, from 0 (spare capacity) to 1.
    pub fn full(&self) -> f64 {
        let full = self.events / (self.events + RARE);
        if self.by_waiting { full.max(self.queue_s / (self.queue_s + self.packet_s)) } else { full }
    }

    /// Ratio of the load to the rate that the link can carry.
    pub fn excess(&self) -> f64 {
        self.load_bps / (self.usable * self.rate_bps)
    }

    /// Packets that the link drops a second if `packets` arrive. If no flow reacts, the link drops the whole excess.
    pub fn dropped(&self, packets: f64) -> f64 {
        if self.answers {
            self.events * self.drops
        } else {
            packets * (1.0 - self.rate_bps / self.load_bps.max(self.rate_bps))
        }
    }

    /// Distance of the link from its balance. `before` is its state one iteration earlier. A smaller `heat` has made the queue's steps smaller, so the
    /// function divides them by it.
    pub fn imbalance(&self, before: &LinkModel, heat: f64) -> f64 {
        let excess = self.excess().max(1e-6).ln();
        // A link with spare capacity loses its price. A link that only BBR uses has no price, and other links limit its flows.
        let spare = if self.only_bbr && self.bbr_bps >= self.rate_bps { 0.0 } else { -excess * self.full() };
        // If no flow reacts, the link drops the excess.
        let excess = if !self.answers && self.events >= MOST_EVENTS { 0.0 } else { excess.max(spare) };
        let follows = (self.usable - before.usable).abs().max((self.queue_s - before.queue_s).abs() / 0.1) / heat;
        // If events are rare, BBR follows its share in small steps.
        let share = (self.bbr_bps / before.bbr_bps).ln().abs() / (5.0 * BBR_STEP * self.full());
        excess.max(follows).max(if self.only_bbr { 0.0 } else { share })
    }
}
