//! The near end of a link: a packet is offered to its queue, which accepts, marks or drops it.

use super::Link;
use crate::packet::link::fifo::FifoStore;
use crate::packet::link::packet::{LOST, MARK, Packet};
use crate::packet::link::packet_sizes::FlowSizes;
use crate::packet::link::queue::{Admission, Arrival, Coming, Decision, Discipline, FlowKey};
use crate::spec::QueueLimit;
use crate::units::Time;

/// The result of an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// The link accepts the packet; the time of its next event stays.
    Queued,
    /// The link accepts the packet, and its next event is now at this time.
    Due(Time),
    /// The link drops the packet. Its next event is later if its queue has dropped all packets that waited, too, so that none is left to serve.
    Dropped,
}

impl Link {
    /// Offers a packet to a [simple](Self::is_simple) link. `WITH_CARE` unless the link is [uninstrumented](Self::is_uninstrumented).
    #[inline(always)]
    pub fn offer<const WITH_CARE: bool>(
        &mut self,
        now: Time,
        mut packet: Packet,
        size: u32,
        fifos: &mut FifoStore,
    ) -> Offer {
        self.counters.offered += 1;
        if !self.has_room(now, fifos) {
            self.counters.queue_drops += 1;
            if WITH_CARE {
                self.loss.on_dropped();
            }
            return Offer::Dropped;
        }
        if WITH_CARE && self.loses && self.loss.is_lost() {
            packet.set_flags(LOST);
        }
        let was_empty = self.fifo.is_empty();
        let arrival = self.transmit(now, packet, size, fifos);
        if was_empty { Offer::Due(arrival) } else { Offer::Queued }
    }

    /// Offers a packet of a flow to any link. Adds packets that the queue drops in its place to `dropped`.
    pub fn offer_to_any(
        &mut self,
        now: Time,
        mut packet: Packet,
        flow: FlowKey,
        sizes: &FlowSizes,
        fifos: &mut FifoStore,
        dropped: &mut Vec<Packet>,
    ) -> Offer {
        if !self.up {
            self.counters.losses += 1;
            self.counters.refused += 1;
            return Offer::Dropped;
        }
        self.counters.offered += 1;
        let was_due = self.next_event();
        let transmitting = (self.busy_until > now).then_some(self.last_size);
        let coming = Coming { now, flow, transmitting, at_last_hop: self.leads_to_host };
        let admits = if self.decides_at_service() {
            self.admits_at_service(&coming, &mut packet, sizes, dropped)
        } else {
            self.admits(now, &mut packet, sizes, fifos)
        };
        if !admits {
            self.counters.queue_drops += 1;
            self.loss.on_dropped();
            return Offer::Dropped;
        }
        if self.loss.is_lost() {
            packet.set_flags(LOST);
        }
        let size = sizes[packet.flow() as usize].of(&packet);
        let is_busy = self.is_busy(now);
        if let Discipline::AtService(queue) = &mut self.discipline
            && (is_busy || self.waiting > 0)
        {
            if self.waiting == 0
                && let Some(varying) = &mut self.varying
            {
                varying.plan_service(now);
            }
            queue.enqueue(packet, size, &coming);
            self.waiting += 1;
        } else {
            if let Discipline::AtService(queue) = &mut self.discipline {
                queue.pass(packet, size, &coming, sizes);
            }
            let wait = self.transmit_on_any(now, packet, size, fifos);
            self.record_wait(wait);
            self.record_offer(now);
            if let Some(backlog) = &mut self.backlog {
                backlog.on_enter(size, &self.fifo);
            }
        }
        let due = self.next_event();
        if due == was_due { Offer::Queued } else { Offer::Due(due) }
    }

    /// Whether a queue with a limit in packets has room. Exact and O(1): it has room if the packet that entered `limit` packets earlier
    /// has departed.
    #[inline(always)]
    fn has_room(&self, now: Time, fifos: &FifoStore) -> bool {
        self.fifo.len() < self.limit_packets || fifos.at(self.limit_slot).arrival() <= now + self.delay
    }

    /// The size of the packet that left the far end early, if it has not departed at `now`. There is at most one: an epoch is no
    /// longer than the delay and the shortest transmission.
    fn undeparted_but_delivered(&self, now: Time) -> Option<u32> {
        let (arrival, size) = self.delivered_last;
        (arrival > now + self.delay).then_some(size)
    }

    /// Whether a packet that comes now must wait for its transmission.
    fn is_busy(&mut self, now: Time) -> bool {
        match &mut self.varying {
            Some(varying) => varying.begins_at(now) > now,
            None => self.busy_until > now,
        }
    }

    /// Whether a queue that decides at its service accepts the packet. It may cut or mark the packet, and it may cut or drop packets that wait.
    fn admits_at_service(
        &mut self,
        coming: &Coming,
        packet: &mut Packet,
        sizes: &FlowSizes,
        dropped: &mut Vec<Packet>,
    ) -> bool {
        let Discipline::AtService(queue) = &mut self.discipline else { return true };
        let dropped_before = dropped.len();
        let admission = queue.admit(packet, coming, sizes, dropped);
        let others = (dropped.len() - dropped_before) as u32;
        self.counters.queue_drops += u64::from(others);
        self.waiting -= others;
        self.counters.trimmed += u64::from(admission == Admission::AcceptedAndCut);
        if admission == Admission::AcceptedAndMarked {
            packet.set_flags(MARK);
            self.counters.marks += 1;
        }
        admission != Admission::Refused
    }

    /// Whether the queue accepts the packet. It may mark the packet.
    fn admits(&mut self, now: Time, packet: &mut Packet, sizes: &FlowSizes, fifos: &FifoStore) -> bool {
        let counts_packets = matches!((&self.discipline, self.limit), (Discipline::DropTail, QueueLimit::Packets(_)));
        if !counts_packets || self.varying.is_some() {
            return self.admits_by_backlog(now, packet, sizes, fifos);
        }
        // A packet that was delivered early still occupies the queue.
        let has_room_with_it =
            self.undeparted_but_delivered(now).is_none() || self.fifo.len() + 1 != self.limit_packets;
        has_room_with_it && self.has_room(now, fifos)
    }

    fn admits_by_backlog(&mut self, now: Time, packet: &mut Packet, sizes: &FlowSizes, fifos: &FifoStore) -> bool {
        let size = sizes[packet.flow() as usize].of(packet);
        let (packets, bytes) = self.backlog(now, sizes, fifos);
        let has_room = self.limit.has_room(packets, bytes, size);
        let Discipline::OnArrival(discipline) = &mut self.discipline else { return has_room };
        let ecn_capable = sizes[packet.flow() as usize].may_be_marked(packet);
        let idle_since = (packets == 0).then_some(self.busy_until);
        let (size, rate) = (u64::from(size), self.rate);
        let decision = discipline.decide(&Arrival { now, packets, has_room, idle_since, size, rate, ecn_capable });
        if !has_room || decision == Decision::Drop {
            return false;
        }
        if decision == Decision::Mark {
            packet.set_flags(MARK);
            self.counters.marks += 1;
        }
        true
    }

    /// Bytes that have not departed, those of the packet in transmission included. The link must be [watched](Self::is_watched).
    pub fn backlog_bytes(&mut self, now: Time, sizes: &FlowSizes, fifos: &FifoStore) -> u64 {
        self.backlog(now, sizes, fifos).1
    }

    /// Packets and bytes that have not departed, the packet in transmission included.
    fn backlog(&mut self, now: Time, sizes: &FlowSizes, fifos: &FifoStore) -> (u32, u64) {
        if let Discipline::AtService(queue) = &self.discipline {
            let (packets, bytes) = queue.backlog();
            let in_transmission = u32::from(self.busy_until > now);
            return (packets + in_transmission, bytes + u64::from(in_transmission * self.last_size));
        }
        if let Some(varying) = &mut self.varying {
            return varying.backlog(now);
        }
        let delivered = self.undeparted_but_delivered(now);
        let backlog = self.backlog.as_mut().expect("a discipline that looks at its backlog keeps it");
        let (packets, bytes) = backlog.count(now + self.delay, &self.fifo, sizes, fifos);
        (packets + u32::from(delivered.is_some()), bytes + u64::from(delivered.unwrap_or(0)))
    }
}
