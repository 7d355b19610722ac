//! The transmitter of a link: determines when a packet departs and arrives, and puts it into the FIFO.

use super::Link;
use crate::packet::link::fifo::FifoStore;
use crate::packet::link::packet::{MARK, Packet};
use crate::packet::link::packet_sizes::FlowSizes;
use crate::packet::link::queue::{Decision, Discipline};
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

    /// Whether the queue decides when it dequeues a packet (CoDel).
    pub fn decides_at_service(&self) -> bool {
        matches!(self.discipline, Discipline::Codel { .. })
    }

    /// When a queue that decides at its service dequeues next; [`Time::NEVER`] for another queue, or an empty one.
    pub fn next_service(&self) -> Time {
        match &self.discipline {
            Discipline::Codel { waiting, .. } if !waiting.is_empty() => {
                self.varying.as_ref().map_or(self.busy_until, |varying| varying.next_service())
            }
            _ => Time::NEVER,
        }
    }

    /// CoDel dequeues and transmits a packet, at [`Self::next_service`]. Adds the packets that it drops to `dropped`.
    pub fn serve(&mut self, now: Time, sizes: &FlowSizes, fifos: &mut FifoStore, dropped: &mut Vec<Packet>) {
        let Discipline::Codel { codel, waiting, waiting_bytes } = &mut self.discipline else { return };
        let mtu = u64::from(sizes.largest());
        while let Some((since, mut packet)) = waiting.pop_front() {
            let sizes_of_flow = &sizes[packet.flow() as usize];
            *waiting_bytes -= u64::from(sizes_of_flow.of(&packet));
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
            self.transmit_on_any(now, packet, size, fifos);
            self.record_offer(since);
            self.count_wait(now - since);
            if let Some(varying) = &mut self.varying {
                varying.plan_service(now);
            }
            return;
        }
    }
}
