//! A directed link: a queue, a transmitter and a wire, with one event per packet.
//!
//! A first-in-first-out queue determines a packet's departure when the packet arrives: `max(now, busy until) + size / rate`. So waiting packets
//! and packets on the wire form one [`fifo`], ordered by their arrival at the far end. Only disciplines that decide when they dequeue
//! ([`queue::AtService`], such as CoDel) keep waiting packets apart and need an event of their own.
//!
//! | task | file |
//! | --- | --- |
//! | a packet is offered: room, marks, drops | [`offer`], [`backlog`], [`queue`] |
//! | transmission: departure and arrival time | [`transmit`]; of links that vary [`varying`], [`schedule`], [`jitter`] |
//! | the far end: arrivals, losses | [`wire`], [`impairment`] |
//! | counts and samples | [`counters`] |
//! | what it carries | [`packet`], [`packet_sizes`], and [`sack_pool`] for the SACK blocks of ACKs |
//!
//! May use: readings of link state, the spec and random draws. It knows no route, no flow and no other link.

mod backlog;
mod counters;
pub mod fifo;
pub mod impairment;
pub mod jitter;
mod offer;
pub mod packet;
pub mod packet_sizes;
pub mod queue;
pub mod sack_pool;
pub(in crate::packet) mod schedule;
mod transmit;
pub mod varying;
mod wire;

use crate::histogram::Histogram;
use crate::packet::link::backlog::Backlog;
use crate::packet::link::counters::Meter;
use crate::packet::link::fifo::{Fifo, FifoStore};
use crate::packet::link::impairment::LossProcess;
use crate::packet::link::packet::Packet;
use crate::packet::link::packet_sizes::FlowSizes;
use crate::packet::link::queue::{Discipline, Place};
use crate::packet::link::varying::{Schedules, Varying};
use crate::prefetch::prefetch;
use crate::rng::{Purpose, Stream};
use crate::spec::{LinkSpec, NodeId, QueueLimit};
use crate::units::{Duration, Rate, Time};

pub use counters::{LinkCounters, LinksView};
pub use offer::Offer;

/// A link. The fields that every packet needs come first, in two cache lines.
#[repr(C, align(128))]
pub struct Link {
    /// The packets that wait or are on the wire.
    fifo: Fifo,
    /// When the transmitter has transmitted all packets of the FIFO.
    busy_until: Time,
    /// How long the transmitter was idle before [`Self::busy_until`].
    idle: Duration,
    /// Propagation delay; the least one if the delay varies.
    delay: Duration,
    /// How long the transmitter takes for [`Self::last_size`].
    last_transmission: Duration,
    /// The size that was transmitted last, bytes.
    last_size: u32,
    /// The queue's limit; `u32::MAX` for a limit in bytes.
    limit_packets: u32,
    /// The node at the far end.
    pub dst: NodeId,
    /// See [`Self::is_simple`].
    simple: bool,
    /// See [`Self::is_uninstrumented`].
    uninstrumented: bool,
    captured: bool,
    /// Whether selectors read the link's backlog.
    watched: bool,
    /// Whether the FIFO may hold packets that the wire has lost.
    loses: bool,
    up: bool,
    /// Transmission time of a byte if it is a whole number, otherwise zero. A multiplication is faster than a division.
    byte_time: Duration,
    /// [`Self::entered`] when [`Self::last_size`] changed last; all packets since then have this size.
    entered_before_this_size: u64,
    /// [`Self::counters`] computes its result from these. `bytes` counts all packets that have entered the FIFO. `transmissions` counts only
    /// packets that a failure has removed from it.
    counters: LinkCounters,
    /// The slot of the packet that is `limit_packets` before the end of the FIFO, if the FIFO has as many.
    limit_slot: u32,
    /// Whether a packet may leave the far end before an earlier packet is offered.
    delivers_early: bool,
    /// Whether all packets end at the node at the far end.
    leads_to_host: bool,
    /// Packets that wait outside the FIFO, in a discipline that decides at its service.
    waiting: u32,
    limit: QueueLimit,
    rate: Rate,
    loss: LossProcess,
    /// The arrival and the size of the packet that left a link that is not simple last.
    delivered_last: (Time, u32),
    /// Only for a discipline that looks at its backlog.
    backlog: Option<Box<Backlog>>,
    /// Only if a routing measures the link.
    meter: Option<Box<Meter>>,
    /// Only if the run asks for delays: the waits since the end of the warm-up.
    waits: Option<Box<Histogram>>,
    /// Only if the rate or the delay varies.
    varying: Option<Box<Varying>>,
    discipline: Discipline,
}

impl Link {
    /// An idle link; `seed` and `index` address its random draws.
    pub fn new(spec: &LinkSpec, schedules: &Schedules, seed: u64, index: u32) -> Link {
        let limit = spec.queue.limit;
        let draws = Stream::new(seed, Purpose::QueueManagement, u64::from(index));
        let discipline = spec.queue.discipline.build(Place { limit, rate: spec.rate, draws });
        let needs_backlog = match discipline {
            Discipline::DropTail => matches!(limit, QueueLimit::Bytes(_)),
            Discipline::AtService(_) => false,
            Discipline::OnArrival(_) => true,
        };
        let varying = Varying::new(spec, schedules, seed, index);
        let mut link = Link {
            fifo: Fifo::default(),
            busy_until: Time::ZERO,
            idle: Duration::ZERO,
            delay: varying.as_ref().map_or(spec.delay, |varying| varying.least_delay()),
            last_transmission: Duration::ZERO,
            last_size: 0,
            limit_packets: match limit {
                QueueLimit::Packets(packets) => packets,
                QueueLimit::Bytes(_) => u32::MAX,
            },
            dst: spec.dst,
            simple: false,
            uninstrumented: false,
            captured: false,
            watched: false,
            loses: spec.loss.is_some(),
            up: true,
            byte_time: spec.rate.byte_time().unwrap_or(Duration::ZERO),
            entered_before_this_size: 0,
            counters: LinkCounters::default(),
            limit_slot: 0,
            delivers_early: false,
            leads_to_host: false,
            waiting: 0,
            limit,
            rate: spec.rate,
            loss: LossProcess::new(spec.loss.as_ref(), seed, index),
            delivered_last: (Time::ZERO, 0),
            backlog: (needs_backlog && varying.is_none()).then(Box::default),
            meter: None,
            waits: None,
            varying,
            discipline,
        };
        link.classify();
        link
    }

    /// Determines whether the link is simple, and whether it is uninstrumented.
    fn classify(&mut self) {
        self.simple = self.up
            && !self.delivers_early
            && !self.watched
            && self.meter.is_none()
            && self.waits.is_none()
            && self.varying.is_none()
            && matches!((&self.discipline, self.limit), (Discipline::DropTail, QueueLimit::Packets(_)));
        self.uninstrumented = self.simple && !self.captured && !self.loses;
    }

    /// Whether the link is up, neither measured nor watched, of fixed rate and delay, and drop-tail with a limit in packets, as most links are. No
    /// waits are recorded. Then
    /// [`Self::offer`] and [`Self::fifo`] are all that it needs.
    #[inline(always)]
    pub fn is_simple(&self) -> bool {
        self.simple
    }

    /// Whether the link is simple, not captured, and loses no packets.
    #[inline(always)]
    pub fn is_uninstrumented(&self) -> bool {
        self.uninstrumented
    }

    /// Whether the link has not failed.
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// Whether the rate or the delay varies.
    pub fn varies(&self) -> bool {
        self.varying.is_some()
    }

    /// Least time of a packet on the wire.
    pub fn least_delay(&self) -> Duration {
        self.delay
    }

    /// Least time that a packet of this size needs from its queue to the far end.
    pub fn least_crossing(&self, bytes: u64) -> Duration {
        let rate = self.rate;
        self.delay
            + match &self.varying {
                Some(varying) => varying.least_transmission(bytes),
                None => rate.serialization_delay(bytes),
            }
    }

    /// The greatest mean rate of transmission in a span of time, rounded up; `fixed` unless the link varies.
    pub fn most_departing(&self, fixed: Rate, from: Time, to: Time) -> Rate {
        self.varying.as_ref().map_or(fixed, |varying| varying.most_rate(from, to, Duration::ZERO))
    }

    /// Greatest mean rate of arrivals in a time span, rounded up; `fixed` unless the link varies. When the delay falls, packets that departed at
    /// different times arrive together.
    pub fn most_arriving(&self, fixed: Rate, from: Time, to: Time) -> Rate {
        self.varying.as_ref().map_or(fixed, |varying| varying.most_rate(from, to, varying.longest_delay()))
    }

    /// Whether selectors read the link's backlog.
    pub fn is_watched(&self) -> bool {
        self.watched
    }

    /// Whether packets are captured when they are offered.
    #[inline(always)]
    pub fn is_captured(&self) -> bool {
        self.captured
    }

    /// Whether the FIFO may hold packets that the wire has lost.
    #[inline(always)]
    pub fn may_lose(&self) -> bool {
        self.loses
    }

    /// Time of the link's next event; [`Time::NEVER`] if there is none.
    #[inline(always)]
    pub fn next_event(&self) -> Time {
        let arrival = self.next_arrival();
        if self.simple { arrival } else { arrival.min(self.next_service()) }
    }

    /// Prefetches the fields of the link that every packet needs.
    #[inline(always)]
    pub fn prefetch_state(&self) {
        prefetch(&self.fifo);
        prefetch(&self.counters.packets);
    }
}

/// Changes of a link.
impl Link {
    /// Captures the link's packets.
    pub fn capture(&mut self) {
        self.captured = true;
        self.classify();
    }

    /// Selectors read the link's backlog, from the start of the run.
    pub fn watch(&mut self) {
        self.watched = true;
        if self.varying.is_none() && !self.decides_at_service() {
            self.backlog.get_or_insert_default();
        }
        self.classify();
    }

    /// All packets that cross the link end at the node at its far end.
    pub fn lead_to_host(&mut self) {
        self.leads_to_host = true;
    }

    /// Measures the link's delay, from the start of the run.
    pub fn measure(&mut self) {
        self.meter = Some(Box::default());
        self.classify();
    }

    /// Records the wait of each packet, from now on.
    pub fn record_waits(&mut self) {
        self.waits = Some(Box::default());
        self.classify();
    }

    /// Allows packets to be removed up to `epoch` before they arrive. If this exceeds the delay, a removed packet may not have departed.
    pub fn set_epoch_length(&mut self, epoch: Duration) {
        self.delivers_early = epoch > self.delay;
        self.classify();
    }

    /// Keeps only the wire: the link's queue is in another partition.
    pub fn become_wire(&mut self) {
        self.discipline = Discipline::DropTail;
        self.limit = QueueLimit::Packets(u32::MAX);
        self.limit_packets = u32::MAX;
        (self.backlog, self.meter) = (None, None);
        (self.loses, self.captured, self.delivers_early) = (false, false, false);
        self.classify();
    }

    /// Replaces the loss process of the wire.
    pub fn change_loss(&mut self, loss: LossProcess) {
        self.loses |= loss.loses();
        self.loss = loss;
        self.classify();
    }

    /// Takes the link down. Returns its packets, waiting or on the wire, which are lost.
    pub fn fail(&mut self, now: Time, sizes: &FlowSizes, fifos: &mut FifoStore) -> Vec<Packet> {
        self.up = false;
        self.classify();
        self.busy_until = self.busy_until.min(now);
        self.counters.bytes -= self.bytes_in_fifo(sizes, fifos);
        let mut lost = fifos.drain(&mut self.fifo);
        self.counters.transmissions += lost.len() as u64;
        if let Discipline::AtService(queue) = &mut self.discipline {
            lost.extend(queue.drain());
            self.waiting = 0;
        }
        if let Some(backlog) = &mut self.backlog {
            **backlog = Backlog::default();
        }
        if let Some(meter) = &mut self.meter {
            meter.offered.clear();
        }
        if let Some(varying) = &mut self.varying {
            varying.fail(now);
        }
        self.counters.losses += lost.len() as u64;
        self.counters.cut += lost.len() as u64;
        lost
    }

    /// Brings the link up again, empty. While it was down its transmitter was idle, as RED's average knows.
    pub fn repair(&mut self) {
        self.up = true;
        self.classify();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::link::packet_sizes::{IpEcn, PacketSizes};
    use crate::packet::link::queue::FlowKey;
    use crate::packet::properties::link_oracle;
    use serde_json::json;

    /// 8 Mbit/s take 1 ms for 1000 bytes. Ten packets come at once, so that RED's average exceeds twice its maximum. The link fails for a
    /// second, in which 995 packets could have passed. Half of the average remains after each (Floyd and Jacobson 1993, section 4).
    #[test]
    fn the_average_queue_of_red_falls_while_the_link_is_down() {
        let red = json!({"discipline": "red", "minimum": 1.0, "maximum": 2.0, "probability": 1.0, "weight": 0.5, "ecn": false});
        let spec = link_oracle::spec(QueueLimit::Packets(100), serde_json::from_value(red).unwrap());
        let sizes = FlowSizes::new(vec![PacketSizes::new(1000, 1000, 40, IpEcn::NotEct, u32::MAX)]);
        let (mut link, mut fifos) = (Link::new(&spec, &Schedules::new(&[]), 1, 0), FifoStore::default());
        let packet = Packet::new(0, 0, 0, 0);
        let flow = FlowKey::of(&packet);
        let first = [0; 10].map(|_| link.offer_to_any(Time::ZERO, packet, flow, &sizes, &mut fifos, &mut Vec::new()));
        assert_eq!(first[9], Offer::Dropped);
        link.fail(Time::ZERO + Duration::from_millis(5), &sizes, &mut fifos);
        link.repair();
        let second = Time::ZERO + Duration::from_secs(1);
        let later = link.offer_to_any(second, packet, flow, &sizes, &mut fifos, &mut Vec::new());
        assert_ne!(later, Offer::Dropped);
    }
}
