//! The packets of a link's FIFO that have not departed, in packets and bytes.

use super::fifo::{Fifo, FifoStore};
use super::packet_sizes::FlowSizes;
use crate::units::Time;

/// Counts the packets that have not departed; updated when they are needed.
#[derive(Default)]
pub(super) struct Backlog {
    /// Number of packets at the front of the FIFO that have departed.
    departed: u32,
    /// Slot of the first packet that has not departed.
    waiting: u32,
    /// Bytes of the packets that have not departed.
    bytes: u64,
}

impl Backlog {
    /// Records that a packet has entered the FIFO.
    pub fn on_enter(&mut self, size: u32, fifo: &Fifo) {
        self.bytes += u64::from(size);
        if self.departed + 1 == fifo.len() {
            self.waiting = fifo.last_slot();
        }
    }

    /// Records that the first packet has left the FIFO.
    pub fn on_leave(&mut self, size: u32, fifo: &Fifo) {
        if self.departed > 0 {
            self.departed -= 1;
        } else {
            self.bytes -= u64::from(size);
            self.waiting = fifo.first_slot();
        }
    }

    /// The packets, and their bytes, that arrive at the far end later than `departed_by`.
    pub fn count(&mut self, departed_by: Time, fifo: &Fifo, sizes: &FlowSizes, fifos: &FifoStore) -> (u32, u64) {
        while self.departed < fifo.len() {
            let packet = fifos.at(self.waiting);
            if packet.arrival() > departed_by {
                break;
            }
            self.bytes -= u64::from(sizes[packet.flow() as usize].of(packet));
            self.departed += 1;
            self.waiting = fifos.next_slot(self.waiting);
        }
        (fifo.len() - self.departed, self.bytes)
    }
}
