//! The receiving end of a message.

use super::credit::Demand;
use super::packets::{Ack, BITMAP, Data, Nack, REQUEST};
use super::{MessageSizes, Parameters};
use crate::tcp::receiver::ReceiverCounters;
use crate::traffic::reordering::Reordering;
use std::collections::VecDeque;

/// What the receiver answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// An acknowledgement.
    Ack(Ack),
    /// The packet came without its payload.
    Nack(Nack),
}

/// The receiving end of a message.
#[derive(Debug)]
pub struct Receiver {
    sizes: MessageSizes,
    ack_every: u32,
    /// The first packet that has not arrived.
    expected: u32,
    /// Whether the packets from `expected + 1` on have arrived.
    beyond: VecDeque<bool>,
    held: u32,
    /// Bytes accepted since the last ACK.
    accepted: u32,
    /// Bytes that have arrived, each packet counted once.
    received: u64,
    /// A packet that asked for an ACK has arrived, and a hole is still open.
    asked: bool,
    order: Reordering,
    counters: ReceiverCounters,
    /// What the sender wants, and what it was granted.
    pub demand: Demand,
}

impl Receiver {
    /// The receiver of a message.
    pub fn new(parameters: &Parameters, sizes: MessageSizes) -> Receiver {
        Receiver {
            sizes,
            ack_every: parameters.ack_every,
            expected: 0,
            beyond: VecDeque::new(),
            held: 0,
            accepted: 0,
            received: 0,
            asked: false,
            order: Reordering::default(),
            counters: ReceiverCounters::default(),
            demand: Demand::default(),
        }
    }

    /// Whether all packets have arrived.
    pub fn is_complete(&self) -> bool {
        self.expected == self.sizes.packets
    }

    /// Whether this packet has arrived.
    pub fn has(&self, number: u32) -> bool {
        number < self.expected || number > self.expected && self.is_beyond(number)
    }

    /// Counts of arrivals.
    pub fn counters(&self) -> ReceiverCounters {
        let order = self.order.counts();
        ReceiverCounters {
            reordered: order.reordered,
            reordering_extent_max: order.extent_max,
            reordering_extent_sum: order.extent_sum,
            ..self.counters
        }
    }

    /// Restarts the peak of the packets held beyond a hole.
    pub fn forget_peaks(&mut self) {
        self.counters.reassembly_max = 0;
    }

    /// Processes a data packet. Returns the ACK if one is due: for the first packet, a marked one, one that asks, or a duplicate. An ACK is also due
    /// after [`Parameters::ack_every`] accepted bytes, and when the last hole is filled after a packet that asked.
    pub fn on_data(&mut self, data: &Data, marked: bool) -> Option<Answer> {
        let size = self.sizes.of(data.number);
        let is_first = self.received == 0;
        self.accepted += size;
        self.counters.arrivals += 1;
        self.counters.marked += u64::from(marked);
        if self.has(data.number) {
            self.counters.duplicates += 1;
            return Some(self.acknowledge(data, marked, marked));
        }
        if !data.retransmission {
            self.order.on_arrival(data.number);
        }
        self.received += u64::from(size);
        self.asked |= data.asks;
        self.accept(data.number);
        let fills = self.asked && self.held == 0;
        self.asked &= !fills;
        let is_due = is_first || marked || data.asks || fills || self.accepted >= self.ack_every;
        is_due.then(|| self.acknowledge(data, marked, marked || data.asks))
    }

    /// Processes a packet whose payload was cut.
    pub fn on_trimmed(&mut self, data: &Data, at_last_hop: bool) -> Answer {
        if self.has(data.number) {
            return self.acknowledge(data, false, false);
        }
        Answer::Nack(Nack { number: data.number, value: data.value, at_last_hop })
    }

    /// Answers a request, which is no packet of the message.
    pub fn on_request(&mut self, request: &Data) -> Answer {
        let mut answer = self.acknowledge(&Data { number: self.expected, ..*request }, false, false);
        if let Answer::Ack(ack) = &mut answer {
            ack.answered = REQUEST;
        }
        answer
    }

    fn accept(&mut self, number: u32) {
        if number == self.expected {
            self.expected += 1;
            while self.beyond.pop_front() == Some(true) {
                self.expected += 1;
                self.held -= 1;
            }
        } else {
            let index = (number - self.expected - 1) as usize;
            if index >= self.beyond.len() {
                self.beyond.resize(index + 1, false);
            }
            self.beyond[index] = true;
            self.held += 1;
            self.counters.reassembly_max = self.counters.reassembly_max.max(self.held);
        }
    }

    fn is_beyond(&self, number: u32) -> bool {
        self.beyond.get((number - self.expected - 1) as usize).copied().unwrap_or(false)
    }

    /// An ACK of this packet, whose bitmap begins with the packet or ends with it.
    fn acknowledge(&mut self, data: &Data, marked: bool, begins_with_it: bool) -> Answer {
        self.accepted = 0;
        let reference =
            if begins_with_it { data.number } else { data.number.saturating_sub(BITMAP - 1).max(self.expected + 1) };
        let is_set = |bit: &u32| reference + bit > self.expected && self.is_beyond(reference + bit);
        let bitmap = (0..BITMAP).filter(is_set).fold(0, |bits, bit| bits | 1 << bit);
        Answer::Ack(Ack {
            cumulative: self.expected,
            reference,
            bitmap,
            answered: data.number,
            value: data.value,
            marked,
            retransmission: data.retransmission,
            received: self.received,
        })
    }
}
