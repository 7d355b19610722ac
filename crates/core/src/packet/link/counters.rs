//! The counters of a link, and the state of its queue for samples.

use super::Link;
use crate::histogram::Histogram;
use crate::packet::link::fifo::FifoStore;
use crate::packet::link::packet_sizes::FlowSizes;
use crate::packet::link_state::estimate::Reading;
use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// The counters of a link. Counters that every packet changes come first.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkCounters {
    /// The sum of all waits in the queue, picoseconds.
    pub wait_sum: u128,
    /// Packets that have crossed, lost ones included.
    pub packets: u64,
    /// Packets that were offered while the link was up.
    pub offered: u64,
    /// Bytes that have crossed.
    pub bytes: u64,
    /// The longest wait in the queue.
    pub wait_max: Duration,
    /// Packets that the queue dropped.
    pub queue_drops: u64,
    /// Packets that were lost on the wire, by a failure of the link, or because the link was down.
    pub losses: u64,
    /// Losses of packets that waited or were on the wire when the link failed.
    pub cut: u64,
    /// Losses of packets that were offered while the link was down. They do not count as offered.
    pub refused: u64,
    /// Packets marked with congestion experienced.
    pub marks: u64,
    /// Packets that have entered the FIFO. Each has one wait, which may be zero.
    pub transmissions: u64,
    /// Time that the link has transmitted. If its rate varies, the time that it would have needed at its mean rate.
    pub busy: Duration,
    /// Time that it could have transmitted, in the same way.
    pub possible: Duration,
    /// Packets whose payload the queue has cut, and whose headers it has forwarded.
    pub trimmed: u64,
}

/// All links of a network, with what their counters need.
#[derive(Clone, Copy)]
pub struct LinksView<'network> {
    /// The links by index.
    pub links: &'network [Link],
    /// The sizes of the packets on them.
    pub sizes: &'network FlowSizes,
    /// The packets on them.
    pub fifos: &'network FifoStore,
}

impl<'network> LinksView<'network> {
    /// The counters of each link now.
    pub fn counters(self, now: Time) -> impl ExactSizeIterator<Item = LinkCounters> + 'network {
        self.links.iter().map(move |link| link.counters(now, self.sizes, self.fifos))
    }
}

/// The delay of a measured link.
#[derive(Default)]
pub(super) struct Meter {
    /// When each packet of the FIFO was offered.
    pub offered: VecDeque<Time>,
    /// The sum of the times from offer to arrival, over the packets that have arrived, picoseconds.
    transit: u128,
    /// The sum of the squares of these times, square picoseconds.
    squares: u128,
}

impl Meter {
    /// Counts a packet that has arrived.
    pub fn count(&mut self, transit: Duration) {
        let transit = u128::from(transit.0);
        self.transit += transit;
        self.squares = self.squares.saturating_add(transit * transit);
    }
}

impl Link {
    /// The counters now.
    pub fn counters(&self, now: Time, sizes: &FlowSizes, fifos: &FifoStore) -> LinkCounters {
        let busy = match &self.varying {
            Some(varying) => varying.busy(now),
            None => (now - Time::ZERO) - self.idle - (now - self.busy_until),
        };
        LinkCounters {
            bytes: self.counters.bytes - self.bytes_in_fifo(sizes, fifos),
            transmissions: self.counters.transmissions + self.entered(),
            busy,
            possible: self.possible(now),
            ..self.counters
        }
    }

    /// [`LinkCounters::possible`] at an instant.
    pub fn possible(&self, time: Time) -> Duration {
        self.varying.as_ref().map_or(time - Time::ZERO, |varying| varying.possible(time))
    }

    /// The counters that link state measures.
    pub fn reading(&self) -> Reading {
        let counters = &self.counters;
        let lost_by_wire = counters.losses - counters.cut - counters.refused;
        let meter = self.meter.as_ref();
        Reading {
            arrived: counters.packets - lost_by_wire,
            lost: counters.queue_drops + counters.losses,
            transit: meter.map_or(0, |meter| meter.transit),
            squares: meter.map_or(0, |meter| meter.squares),
        }
    }

    /// Counts one more packet that has crossed as lost.
    #[inline(always)]
    pub fn count_loss(&mut self) {
        self.counters.losses += 1;
    }

    #[inline(always)]
    pub(super) fn count_wait(&mut self, wait: Duration) {
        self.counters.wait_sum += u128::from(wait.0);
        self.counters.wait_max = self.counters.wait_max.max(wait);
    }

    /// Counts the wait of a packet that enters the FIFO, if waits are recorded.
    #[inline(always)]
    pub(super) fn record_wait(&mut self, wait: Duration) {
        if let Some(waits) = &mut self.waits {
            waits.record(wait);
        }
    }

    /// The waits since the end of the warm-up, if they are recorded.
    pub fn waits(&self) -> Option<&Histogram> {
        self.waits.as_deref()
    }

    /// Restarts the waits at the end of the warm-up, and the longest one.
    pub fn forget_waits(&mut self) {
        self.counters.wait_max = Duration::ZERO;
        if let Some(waits) = &mut self.waits {
            **waits = Histogram::default();
        }
    }

    /// Number of packets that have entered the FIFO, without packets that a failure removed.
    #[inline(always)]
    pub(super) fn entered(&self) -> u64 {
        self.counters.packets + u64::from(self.fifo.len())
    }

    /// How many packets at the end of the FIFO have the size that was transmitted last.
    fn same_size_at_end(&self) -> u64 {
        if self.varying.is_some() {
            return 0;
        }
        self.entered().saturating_sub(self.entered_before_this_size).min(u64::from(self.fifo.len()))
    }

    pub(super) fn bytes_in_fifo(&self, sizes: &FlowSizes, fifos: &FifoStore) -> u64 {
        let packets = u64::from(self.fifo.len());
        if packets == self.same_size_at_end() {
            return packets * u64::from(self.last_size);
        }
        fifos.iter(&self.fifo).map(|packet| u64::from(sizes[packet.flow() as usize].of(&packet))).sum()
    }

    /// Packets that have not departed, the one in transmission included.
    pub fn queue_packets(&self, now: Time, fifos: &FifoStore) -> u32 {
        self.undeparted_in_fifo(now, fifos) + self.waiting
    }

    fn undeparted_in_fifo(&self, now: Time, fifos: &FifoStore) -> u32 {
        if let Some(varying) = &self.varying {
            return varying.undeparted(now);
        }
        if self.busy_until <= now {
            return 0;
        }
        // They depart back to back until the transmitter is idle.
        let transmissions = (self.busy_until - now).0.div_ceil(self.last_transmission.0.max(1));
        if transmissions <= self.same_size_at_end() {
            return transmissions as u32;
        }
        let departed_by = now + self.delay;
        fifos.iter(&self.fifo).filter(|packet| packet.arrival() > departed_by).count() as u32
    }

    /// Packets that wait or are on the wire.
    #[cfg(test)]
    pub fn packets_inside(&self) -> usize {
        (self.fifo.len() + self.waiting) as usize
    }
}
