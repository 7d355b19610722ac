//! The transmitter of a link: determines when a packet departs and arrives, and puts it into the FIFO.

use super::Link;
use crate::packet::link::fifo::FifoStore;
use crate::packet::link::packet::{MARK, Packet};
use crate::packet::link::packet_sizes::FlowSizes;
use crate::packet::link::queue::{Dequeued, Discipline};
use crate::units::{Duration, Time};

impl Link {
    /// Puts a packet into the FIFO; it departs after all packets before it. Returns its arrival at the far end.
    #[inline(always)]
    pub(super) fn transmit(&mut self, now: Time, mut packet: Packet, size: u32, fifos: &mut FifoStore) -> Time {
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

    /// Time at which the transmitter has transmitted all packets that it has accepted.
    pub fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// How long the transmitter takes for a packet of this size.
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

    /// On a measured link, records when the packet was offered that entered the FIFO last.
    #[inline(always)]
    pub(super) fn record_offer(&mut self, offered: Time) {
        if let Some(meter) = &mut self.meter {
            let overtaken = self.varying.as_ref().map_or(0, |varying| varying.overtaken());
            meter.offered.insert(meter.offered.len() - overtaken, offered);
        }
    }

    /// Whether the queue decides when it dequeues a packet.
    pub fn decides_at_service(&self) -> bool {
        matches!(self.discipline, Discipline::AtService(_))
    }

    /// When a queue that decides at its service dequeues next; [`Time::NEVER`] for another queue, or an empty one.
    pub fn next_service(&self) -> Time {
        if self.waiting == 0 {
            return Time::NEVER;
        }
        self.varying.as_ref().map_or(self.busy_until, |varying| varying.next_service())
    }

    /// A queue that decides at its service dequeues and transmits a packet, at [`Self::next_service`]. Adds the packets that it drops to `dropped`.
    /// Returns the transmitted packet.
    pub fn serve(
        &mut self,
        now: Time,
        sizes: &FlowSizes,
        fifos: &mut FifoStore,
        dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        let Discipline::AtService(queue) = &mut self.discipline else { return None };
        let dropped_before = dropped.len();
        let dequeued = queue.dequeue(now, sizes, dropped);
        let drops = (dropped.len() - dropped_before) as u32;
        self.counters.queue_drops += u64::from(drops);
        self.waiting -= drops + u32::from(dequeued.is_some());
        let Dequeued { mut packet, since, marks } = dequeued?;
        if marks {
            packet.set_flags(MARK);
            self.counters.marks += 1;
        }
        let size = sizes[packet.flow() as usize].of(&packet);
        // A packet that a shaper holds waits on.
        let held = self.transmit_on_any(now, packet, size, fifos);
        self.record_offer(since);
        self.count_wait(now - since);
        self.counters.wait_max = self.counters.wait_max.max(now - since + held);
        self.record_wait(now - since + held);
        if let Some(varying) = &mut self.varying {
            varying.plan_service(now);
        }
        Some(packet)
    }
}
