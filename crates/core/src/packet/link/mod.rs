//! A directed link: a queue, a transmitter and a wire, with one event per packet.
//!
//! A first-in-first-out queue decides a packet's departure when it arrives: `max(now, busy_until) + size / rate`. So waiting packets and packets
//! on the wire form one [`fifo`], ordered by arrival at the far end. Only CoDel, which decides at its service, keeps waiting packets apart and has
//! an event of its own. [`packet`] and [`packet_sizes`] are what a link moves, [`sack_pool`] has the SACK blocks of ACKs, [`queue`] the
//! disciplines with state, [`impairment`] the losses of the wire.
//!
//! May use: readings of link state, the spec and random draws. It knows no route, no flow and no other link.

pub mod fifo;
pub mod impairment;
pub mod packet;
pub mod packet_sizes;
pub mod queue;
pub mod sack_pool;

use crate::packet::link::fifo::{Fifo, FifoStore};
use crate::packet::link::impairment::LossProcess;
use crate::packet::link::packet::{LOST, MARK, Packet};
use crate::packet::link::packet_sizes::FlowSizes;
use crate::packet::link::queue::{Arrival, Decision, Discipline};
use crate::packet::link_state::estimate::Reading;
use crate::prefetch::prefetch;
use crate::rng::{Purpose, Stream};
use crate::spec::{LinkSpec, LossSpec, NodeId, QueueLimit, QueueSpec};
use crate::units::{Duration, Rate, Time};
use std::collections::VecDeque;

/// What a link counts; what every packet changes stands first.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkCounters {
    /// The sum of all waits in the queue, picoseconds.
    pub wait_sum: u128,
    /// Packets that have crossed, lost ones included.
    pub packets: u64,
    /// Packets that arrived at the queue while the link was up.
    pub offered: u64,
    /// Bytes that have crossed.
    pub bytes: u64,
    /// The longest wait in the queue.
    pub wait_max: Duration,
    /// Packets that the queue refused.
    pub queue_drops: u64,
    /// Packets that the wire lost, or that were there when the link failed, or came while it was down.
    pub losses: u64,
    /// Of these, those that were there when the link failed: offered, and never across.
    pub cut: u64,
    /// Of these, those that came while the link was down: not even offered.
    pub refused: u64,
    /// Packets marked with congestion experienced.
    pub marks: u64,
    /// Packets whose transmission has been decided: each has waited once, however short.
    pub transmissions: u64,
    /// How long the link has been transmitting.
    pub busy: Duration,
}

/// The packets of the FIFO that have not departed yet; kept only where a decision needs it.
#[derive(Default)]
struct Backlog {
    /// So many packets at the front of the FIFO have departed.
    departed: u32,
    /// The slot of the first that has not.
    waiting: u32,
    bytes: u64,
}

/// What is kept of a link whose delay is measured.
#[derive(Default)]
struct Meter {
    /// When each packet of the FIFO came to the link.
    came: VecDeque<Time>,
    /// The sum over those that have arrived of their time on the link, picoseconds.
    transit: u128,
}

/// What became of a packet that arrived at a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// It waits or is on the wire, behind others.
    Queued,
    /// It waits or is on the wire, and something happens at the link at this time, which it was not due at before.
    Due(Time),
    /// It is gone.
    Dropped,
}

/// The state of one link; what every packet needs stands first, in two cache lines.
#[repr(C, align(128))]
pub struct Link {
    fifo: Fifo,
    busy_until: Time,
    /// How long it was idle before that.
    idle: Duration,
    delay: Duration,
    /// The size that was last transmitted, and how long that takes.
    last_transmission: Duration,
    last_size: u32,
    /// Of a queue limited by packets.
    limit_packets: u32,
    /// Where packets leave.
    pub dst: NodeId,
    /// It is up, its queue is drop-tail by packets and nobody measures it: what most links are.
    simple: bool,
    /// It is simple, neither captured nor losing packets.
    uninstrumented: bool,
    captured: bool,
    /// Its wire loses packets, or has lost such that may yet cross it.
    loses: bool,
    up: bool,
    /// How long a byte takes, if that is a whole number, or zero: sizes change often where data and ACKs meet.
    byte_time: Duration,
    /// Packets that had been put in the FIFO when the size that is transmitted changed last; all since then are alike.
    entered_before_this_size: u64,
    /// What it has counted; the bytes are those of all packets ever put in the FIFO.
    counters: LinkCounters,
    /// The slot of the packet that is the limit's from the end of the FIFO, if there are so many.
    limit_slot: u32,
    /// Packets may be taken out at the far end before an earlier packet is offered.
    delivers_early: bool,
    limit: QueueLimit,
    rate: Rate,
    loss: LossProcess,
    /// The arrival and the size of the packet that was last taken out of a link that is not simple.
    delivered_last: (Time, u32),
    backlog: Option<Box<Backlog>>,
    meter: Option<Box<Meter>>,
    discipline: Discipline,
}

impl Link {
    /// An idle link; `seed` and `index` address its random draws.
    pub fn new(spec: &LinkSpec, seed: u64, index: u32) -> Link {
        let (QueueSpec::DropTail { limit }
        | QueueSpec::EcnThreshold { limit, .. }
        | QueueSpec::Red { limit, .. }
        | QueueSpec::Codel { limit, .. }) = spec.queue;
        let draws = Stream::new(seed, Purpose::QueueManagement, u64::from(index));
        let discipline = Discipline::new(&spec.queue, draws);
        let needs_backlog = match discipline {
            Discipline::DropTail => matches!(limit, QueueLimit::Bytes(_)),
            Discipline::Codel { .. } => false,
            Discipline::OnArrival(_) => true,
        };
        let mut link = Link {
            fifo: Fifo::default(),
            busy_until: Time::ZERO,
            idle: Duration::ZERO,
            delay: spec.delay,
            last_size: 0,
            last_transmission: Duration::ZERO,
            limit,
            limit_slot: 0,
            limit_packets: match limit {
                QueueLimit::Packets(packets) => packets,
                QueueLimit::Bytes(_) => u32::MAX,
            },
            loss: LossProcess::new(&spec.loss, seed, index),
            dst: spec.dst,
            up: true,
            simple: false,
            uninstrumented: false,
            captured: false,
            delivers_early: false,
            entered_before_this_size: 0,
            delivered_last: (Time::ZERO, 0),
            byte_time: spec.rate.byte_time().unwrap_or(Duration::ZERO),
            rate: spec.rate,
            backlog: needs_backlog.then(Box::default),
            meter: None,
            discipline,
            loses: spec.loss != LossSpec::None,
            counters: LinkCounters::default(),
        };
        link.classify();
        link
    }

    /// Its packets are captured where they enter it.
    pub fn capture(&mut self) {
        self.captured = true;
        self.classify();
    }

    /// Its queue is in another part of the network: here, packets only come out of it.
    pub fn become_wire(&mut self) {
        self.discipline = Discipline::DropTail;
        self.limit = QueueLimit::Packets(u32::MAX);
        self.limit_packets = u32::MAX;
        (self.backlog, self.meter) = (None, None);
        (self.loses, self.captured, self.delivers_early) = (false, false, false);
        self.classify();
    }

    /// What has come out of the queue and arrives at the far end in this window.
    pub fn put_on_wire(&mut self, packet: Packet, fifos: &mut FifoStore) {
        fifos.push(&mut self.fifo, packet);
    }

    /// Its delay is measured from now on, the start of the run: it is not simple any more.
    pub fn measure(&mut self) {
        self.meter = Some(Box::default());
        self.classify();
    }

    /// What a measured link has counted.
    pub fn reading(&self) -> Reading {
        let counters = &self.counters;
        let lost_by_wire = counters.losses - counters.cut - counters.refused;
        Reading {
            arrived: counters.packets - lost_by_wire,
            lost: counters.queue_drops + counters.losses,
            transit: self.meter.as_ref().map_or(0, |meter| meter.transit),
        }
    }

    /// From now on the wire loses packets by another process.
    pub fn change_loss(&mut self, spec: &LossSpec, loss: LossProcess) {
        self.loss = loss;
        self.loses |= *spec != LossSpec::None;
        self.classify();
    }

    /// Packets will be taken out at the far end up to so long before others are offered.
    pub fn set_epoch_length(&mut self, by: Duration) {
        self.delivers_early = by > self.delay;
        self.classify();
    }

    fn classify(&mut self) {
        self.simple = self.up
            && !self.delivers_early
            && self.meter.is_none()
            && matches!((&self.discipline, self.limit), (Discipline::DropTail, QueueLimit::Packets(_)));
        self.uninstrumented = self.simple && !self.captured && !self.loses;
    }

    #[inline]
    fn transmission(&mut self, size: u32) -> Duration {
        if size != self.last_size {
            self.last_size = size;
            self.last_transmission = if self.byte_time > Duration::ZERO {
                self.byte_time * u64::from(size)
            } else {
                self.rate.serialization_delay(u64::from(size))
            };
            self.entered_before_this_size = self.entered();
        }
        self.last_transmission
    }

    /// When something happens here next; [`Time::NEVER`] if nothing does.
    #[inline(always)]
    pub fn next_event(&self) -> Time {
        let arrival = self.next_arrival();
        if self.simple { arrival } else { arrival.min(self.next_service()) }
    }

    /// When the first packet arrives at the far end; [`Time::NEVER`] if there is none.
    #[inline(always)]
    pub fn next_arrival(&self) -> Time {
        self.fifo.first_arrival()
    }

    /// The first packet of its FIFO, if there is one.
    #[inline(always)]
    pub fn first_packet<'fifos>(&self, fifos: &'fifos FifoStore) -> Option<&'fifos Packet> {
        (!self.fifo.is_empty()).then(|| fifos.at(self.fifo.first_slot()))
    }

    /// Asks for what every packet needs of the link.
    #[inline(always)]
    pub fn prefetch_state(&self) {
        prefetch(&self.fifo);
        prefetch(&self.counters.packets);
    }

    /// Whether the queue decides when it takes a packet out, and not when one comes.
    pub fn decides_at_service(&self) -> bool {
        matches!(self.discipline, Discipline::Codel { .. })
    }

    /// When a packet is to be taken from a queue that decides then (CoDel); [`Time::NEVER`] for another, or an empty one.
    pub fn next_service(&self) -> Time {
        match &self.discipline {
            Discipline::Codel { waiting, .. } if !waiting.is_empty() => self.busy_until,
            _ => Time::NEVER,
        }
    }

    /// A packet of this size arrives at the queue of a simple link.
    #[inline(always)]
    pub fn offer_to_simple(&mut self, now: Time, mut packet: Packet, size: u32, fifos: &mut FifoStore) -> Offer {
        if self.loses && self.loss.is_lost() {
            packet.set_flags(LOST);
        }
        self.offer(now, packet, size, fifos)
    }

    /// The same if nobody [watches](Self::is_uninstrumented) what the link does.
    #[inline(always)]
    pub fn offer(&mut self, now: Time, packet: Packet, size: u32, fifos: &mut FifoStore) -> Offer {
        self.counters.offered += 1;
        if !self.has_room(now, fifos) {
            self.counters.queue_drops += 1;
            return Offer::Dropped;
        }
        let was_empty = self.fifo.is_empty();
        let arrival = self.transmit(now, packet, size, fifos);
        if was_empty { Offer::Due(arrival) } else { Offer::Queued }
    }

    /// A packet arrives at the queue of any link.
    pub fn offer_to_any(&mut self, now: Time, mut packet: Packet, sizes: &FlowSizes, fifos: &mut FifoStore) -> Offer {
        if !self.up {
            self.counters.losses += 1;
            self.counters.refused += 1;
            return Offer::Dropped;
        }
        self.counters.offered += 1;
        if self.loss.is_lost() {
            packet.set_flags(LOST);
        }
        if !self.admit(now, &mut packet, sizes, fifos) {
            self.counters.queue_drops += 1;
            return Offer::Dropped;
        }
        let size = sizes[packet.flow() as usize].of(&packet);
        let was_due = self.next_event();
        if let Discipline::Codel { waiting, waiting_bytes, .. } = &mut self.discipline
            && (self.busy_until > now || !waiting.is_empty())
        {
            *waiting_bytes += u64::from(size);
            waiting.push_back((now, packet));
        } else {
            self.transmit(now, packet, size, fifos);
            self.record_offer(now);
            if let Some(backlog) = &mut self.backlog {
                backlog.bytes += u64::from(size);
                if backlog.departed + 1 == self.fifo.len() {
                    backlog.waiting = self.fifo.last_slot();
                }
            }
        }
        let due = self.next_event();
        if due == was_due { Offer::Queued } else { Offer::Due(due) }
    }

    /// Puts a packet in the FIFO: it departs after all before it. Returns its arrival at the far end.
    #[inline(always)]
    fn transmit(&mut self, now: Time, mut packet: Packet, size: u32, fifos: &mut FifoStore) -> Time {
        let start = self.busy_until.max(now);
        if start > now {
            self.count_wait(start - now);
        } else {
            self.idle = self.idle + (now - self.busy_until);
        }
        self.busy_until = start + self.transmission(size);
        let arrival = self.busy_until + self.delay;
        packet.set_arrival(arrival);
        self.counters.bytes += u64::from(size);
        fifos.push(&mut self.fifo, packet);
        if self.fifo.len() >= self.limit_packets {
            let is_first = self.fifo.len() == self.limit_packets;
            self.limit_slot = if is_first { self.fifo.first_slot() } else { fifos.next_slot(self.limit_slot) };
        }
        arrival
    }

    /// On a measured link: the packet that was put in the FIFO last has come then.
    #[inline(always)]
    fn record_offer(&mut self, at: Time) {
        if let Some(meter) = &mut self.meter {
            meter.came.push_back(at);
        }
    }

    #[inline(always)]
    fn count_wait(&mut self, wait: Duration) {
        self.counters.wait_sum += u128::from(wait.0);
        self.counters.wait_max = self.counters.wait_max.max(wait);
    }

    /// Whether a drop-tail queue limited by packets has room: exact and O(1), for it has if the packet admitted `limit` ago
    /// has departed.
    #[inline(always)]
    fn has_room(&self, now: Time, fifos: &FifoStore) -> bool {
        self.fifo.len() < self.limit_packets || fifos.at(self.limit_slot).arrival() <= now + self.delay
    }

    /// The size of the packet that was last taken out at the far end, if it has not departed at `now`. There is one at most: a
    /// window of an event loop is no longer than the delay and the shortest transmission.
    fn delivered_in_transmission(&self, now: Time) -> Option<u32> {
        let (arrival, size) = self.delivered_last;
        (arrival > now + self.delay).then_some(size)
    }

    /// [`Self::has_room`], with one more packet before the FIFO.
    fn has_room_after_early_delivery(&self, now: Time, fifos: &FifoStore) -> bool {
        self.fifo.len() + 1 != self.limit_packets && self.has_room(now, fifos)
    }

    /// Whether the queue takes the packet; it may mark it.
    fn admit(&mut self, now: Time, packet: &mut Packet, sizes: &FlowSizes, fifos: &FifoStore) -> bool {
        match (&self.discipline, self.limit) {
            (Discipline::DropTail, QueueLimit::Packets(_)) => match self.delivered_in_transmission(now) {
                None => self.has_room(now, fifos),
                Some(_) => self.has_room_after_early_delivery(now, fifos),
            },
            _ => self.admit_by_backlog(now, packet, sizes, fifos),
        }
    }

    fn admit_by_backlog(&mut self, now: Time, packet: &mut Packet, sizes: &FlowSizes, fifos: &FifoStore) -> bool {
        let size = u64::from(sizes[packet.flow() as usize].of(packet));
        let (packets, bytes) = self.backlog(now, sizes, fifos);
        let has_room = match self.limit {
            QueueLimit::Packets(limit) => packets < limit,
            QueueLimit::Bytes(limit) => bytes + size <= limit,
        };
        if !has_room {
            return false;
        }
        let ecn_capable = sizes[packet.flow() as usize].may_be_marked(packet);
        let Discipline::OnArrival(discipline) = &mut self.discipline else { return true };
        let idle_since = (packets == 0).then_some(self.busy_until);
        let packet_time = self.rate.serialization_delay(size);
        let decision = discipline.decide(&Arrival { now, packets, idle_since, packet_time, ecn_capable });
        if decision == Decision::Mark {
            packet.set_flags(MARK);
            self.counters.marks += 1;
        }
        decision != Decision::Drop
    }

    /// Packets and bytes that have not departed, the one in transmission included.
    fn backlog(&mut self, now: Time, sizes: &FlowSizes, fifos: &FifoStore) -> (u32, u64) {
        if let Discipline::Codel { waiting, waiting_bytes, .. } = &self.discipline {
            let in_transmission = u32::from(self.busy_until > now);
            return (
                waiting.len() as u32 + in_transmission,
                *waiting_bytes + u64::from(in_transmission * self.last_size),
            );
        }
        let departed_by = now + self.delay;
        let taken = self.delivered_in_transmission(now);
        let backlog = self.backlog.as_mut().expect("a discipline that looks at its backlog keeps it");
        while backlog.departed < self.fifo.len() {
            let packet = fifos.at(backlog.waiting);
            if packet.arrival() > departed_by {
                break;
            }
            backlog.bytes -= u64::from(sizes[packet.flow() as usize].of(packet));
            backlog.departed += 1;
            backlog.waiting = fifos.next_slot(backlog.waiting);
        }
        let waiting = self.fifo.len() - backlog.departed;
        (waiting + u32::from(taken.is_some()), backlog.bytes + u64::from(taken.unwrap_or(0)))
    }

    /// Packets that have been put in the FIFO; those that a failure took do not count.
    #[inline(always)]
    fn entered(&self) -> u64 {
        self.counters.packets + u64::from(self.fifo.len())
    }

    /// So many packets at the end of the FIFO are surely of the size that was transmitted last.
    fn alike(&self) -> u64 {
        self.entered().saturating_sub(self.entered_before_this_size)
    }

    fn bytes_in_fifo(&self, sizes: &FlowSizes, fifos: &FifoStore) -> u64 {
        if u64::from(self.fifo.len()) <= self.alike() {
            return u64::from(self.fifo.len()) * u64::from(self.last_size);
        }
        fifos.iter(&self.fifo).map(|packet| u64::from(sizes[packet.flow() as usize].of(&packet))).sum()
    }

    /// What it has counted.
    pub fn counters(&self, now: Time, sizes: &FlowSizes, fifos: &FifoStore) -> LinkCounters {
        LinkCounters {
            bytes: self.counters.bytes - self.bytes_in_fifo(sizes, fifos),
            transmissions: self.counters.transmissions + self.entered(),
            busy: (now - Time::ZERO) - self.idle - (now - self.busy_until),
            ..self.counters
        }
    }

    /// Begins to look for the longest wait anew: the warm-up is over.
    pub fn forget_longest_wait(&mut self) {
        self.counters.wait_max = Duration::ZERO;
    }

    /// Packets that have not departed at `now`, the one in transmission included: for samples.
    pub fn queue_packets(&self, now: Time, fifos: &FifoStore) -> u32 {
        let waiting = match &self.discipline {
            Discipline::Codel { waiting, .. } => waiting.len() as u32,
            _ => 0,
        };
        self.undeparted(now, fifos) + waiting
    }

    /// Packets in the FIFO that have not departed: they do so one right behind the other, the last when the link is idle again.
    fn undeparted(&self, now: Time, fifos: &FifoStore) -> u32 {
        if self.busy_until <= now {
            return 0;
        }
        let transmissions = (self.busy_until - now).0.div_ceil(self.last_transmission.0.max(1));
        if transmissions <= self.alike().min(u64::from(self.fifo.len())) {
            return transmissions as u32;
        }
        let departed_by = now + self.delay;
        fifos.iter(&self.fifo).filter(|packet| packet.arrival() > departed_by).count() as u32
    }

    /// Whether [`Self::offer_to_simple`] and [`Self::fifo`] are all that happens here.
    #[inline(always)]
    pub fn is_simple(&self) -> bool {
        self.simple
    }

    /// Whether it is simple, neither captured nor losing packets, so that [`Self::offer`] is all that happens to a packet that comes.
    #[inline(always)]
    pub fn is_uninstrumented(&self) -> bool {
        self.uninstrumented
    }

    /// Whether its packets are captured.
    #[inline(always)]
    pub fn is_captured(&self) -> bool {
        self.captured
    }

    /// Whether packets may be in its FIFO that the wire has lost.
    #[inline(always)]
    pub fn may_lose(&self) -> bool {
        self.loses
    }

    /// The FIFO of a simple link, out of which packets are to be taken at the far end; nothing may happen to the link before
    /// [`Self::return_fifo`].
    #[inline(always)]
    pub fn fifo(&self) -> Fifo {
        debug_assert!(self.simple);
        self.fifo
    }

    /// The FIFO comes back, shorter by the packets that have crossed. Returns how many these are.
    #[inline(always)]
    pub fn return_fifo(&mut self, fifo: Fifo) -> u32 {
        let crossed = self.fifo.len() - fifo.len();
        self.fifo = fifo;
        self.counters.packets += u64::from(crossed);
        crossed
    }

    /// Of the packets that have crossed, the wire has lost one.
    #[inline(always)]
    pub fn count_loss(&mut self) {
        self.counters.losses += 1;
    }

    /// On any link: the first packet comes out at the far end. Returns it, flagged if the wire has lost it.
    pub fn on_arrival(&mut self, sizes: &FlowSizes, fifos: &mut FifoStore) -> Packet {
        let packet = fifos.pop(&mut self.fifo);
        fifos.release(&mut self.fifo);
        let size = sizes[packet.flow() as usize].of(&packet);
        self.counters.packets += 1;
        self.delivered_last = (packet.arrival(), size);
        self.leave_backlog(size);
        if packet.has(LOST) {
            self.count_loss();
        }
        if let Some(meter) = &mut self.meter
            && let Some(came) = meter.came.pop_front()
            && !packet.has(LOST)
        {
            meter.transit += u128::from((packet.arrival() - came).0);
        }
        packet
    }

    fn leave_backlog(&mut self, size: u32) {
        if let Some(backlog) = &mut self.backlog {
            if backlog.departed > 0 {
                backlog.departed -= 1;
            } else {
                backlog.bytes -= u64::from(size);
                backlog.waiting = self.fifo.first_slot();
            }
        }
    }

    /// CoDel takes the next packet from its queue, at [`Self::next_service`]. Packets that it drops go to `dropped`.
    pub fn serve(&mut self, now: Time, sizes: &FlowSizes, fifos: &mut FifoStore, dropped: &mut Vec<Packet>) {
        let Discipline::Codel { codel, waiting, waiting_bytes } = &mut self.discipline else { return };
        while let Some((since, mut packet)) = waiting.pop_front() {
            let sizes_of_flow = &sizes[packet.flow() as usize];
            *waiting_bytes -= u64::from(sizes_of_flow.of(&packet));
            let mtu = u64::from(sizes_of_flow.full());
            let ecn_capable = sizes_of_flow.may_be_marked(&packet);
            match codel.dequeue(now, now - since, *waiting_bytes, mtu, ecn_capable) {
                Decision::Drop => {
                    self.counters.queue_drops += 1;
                    dropped.push(packet);
                    continue;
                }
                Decision::Mark => {
                    packet.set_flags(MARK);
                    self.counters.marks += 1;
                }
                Decision::Accept => {}
            }
            let size = sizes_of_flow.of(&packet);
            self.transmit(now, packet, size, fifos);
            self.record_offer(since);
            self.count_wait(now - since);
            return;
        }
    }

    /// Packets that wait or are on the wire.
    #[cfg(test)]
    pub fn packets_inside(&self) -> usize {
        let waiting = match &self.discipline {
            Discipline::Codel { waiting, .. } => waiting.len(),
            _ => 0,
        };
        self.fifo.len() as usize + waiting
    }

    /// The link goes down: returns all that was waiting or on the wire.
    pub fn fail(&mut self, now: Time, sizes: &FlowSizes, fifos: &mut FifoStore) -> Vec<Packet> {
        self.up = false;
        self.classify();
        self.idle = self.idle + (now - self.busy_until);
        self.busy_until = now;
        self.counters.bytes -= self.bytes_in_fifo(sizes, fifos);
        let mut gone = fifos.drain(&mut self.fifo);
        self.counters.transmissions += gone.len() as u64;
        if let Discipline::Codel { waiting, waiting_bytes, .. } = &mut self.discipline {
            gone.extend(waiting.drain(..).map(|(_, packet)| packet));
            *waiting_bytes = 0;
        }
        if let Some(backlog) = &mut self.backlog {
            **backlog = Backlog::default();
        }
        if let Some(meter) = &mut self.meter {
            meter.came.clear();
        }
        self.counters.losses += gone.len() as u64;
        self.counters.cut += gone.len() as u64;
        gone
    }

    /// The link comes back, empty.
    pub fn repair(&mut self, now: Time) {
        self.up = true;
        self.classify();
        self.idle = self.idle + (now - self.busy_until);
        self.busy_until = self.busy_until.max(now);
    }
}
