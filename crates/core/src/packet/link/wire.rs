//! The far end of a link: packets arrive, or the wire has lost them.

use super::Link;
use crate::packet::link::fifo::{Fifo, FifoStore};
use crate::packet::link::packet::{LOST, Packet};
use crate::packet::link::packet_sizes::FlowSizes;
use crate::units::Time;

impl Link {
    /// Arrival of the first packet at the far end; [`Time::NEVER`] if the FIFO is empty.
    #[inline(always)]
    pub fn next_arrival(&self) -> Time {
        self.fifo.first_arrival()
    }

    /// The first packet of the FIFO.
    #[inline(always)]
    pub fn first_packet<'fifos>(&self, fifos: &'fifos FifoStore) -> Option<&'fifos Packet> {
        (!self.fifo.is_empty()).then(|| fifos.at(self.fifo.first_slot()))
    }

    /// A copy of the FIFO of a simple link, to remove packets at the far end. The link must not change before
    /// [`Self::return_fifo`].
    #[inline(always)]
    pub fn fifo(&self) -> Fifo {
        debug_assert!(self.simple);
        self.fifo
    }

    /// Replaces the FIFO by its copy without the packets that have crossed. Returns their number.
    #[inline(always)]
    pub fn return_fifo(&mut self, fifo: Fifo) -> u32 {
        let crossed = self.fifo.len() - fifo.len();
        self.fifo = fifo;
        self.counters.packets += u64::from(crossed);
        crossed
    }

    /// Removes the first packet of any link at the far end. It is flagged [`LOST`] if the wire has lost it.
    pub fn on_arrival(&mut self, sizes: &FlowSizes, fifos: &mut FifoStore) -> Packet {
        let packet = fifos.pop(&mut self.fifo);
        fifos.release(&mut self.fifo);
        let size = sizes[packet.flow() as usize].of(&packet);
        self.counters.packets += 1;
        self.delivered_last = (packet.arrival(), size);
        if let Some(backlog) = &mut self.backlog {
            backlog.on_leave(size, &self.fifo);
        }
        if packet.has(LOST) {
            self.count_loss();
        }
        if let Some(meter) = &mut self.meter
            && let Some(offered) = meter.offered.pop_front()
            && !packet.has(LOST)
        {
            meter.count(packet.arrival() - offered);
        }
        packet
    }

    /// Puts a packet on the wire that another partition has transmitted.
    pub fn put_on_wire(&mut self, packet: Packet, fifos: &mut FifoStore) {
        fifos.push(&mut self.fifo, packet);
    }
}
