//! A message between two hosts: its ends, and the packets that they exchange.

use crate::packet::hosts::flow::FlowCounters;
use crate::packet::link::packet::{ACK, AT_LAST_HOP, HAS_SACK, MARK, PUSH, Packet, RETRANSMISSION, TRIMMED, flag_if};
use crate::packet::link::sack_pool::SackPool;
use crate::tcp::receiver::SackBlocks;
use crate::uet::packets::{Ack, Data, Nack};
use crate::uet::receiver::{Answer, Receiver};
use crate::uet::sender::Sender;
use crate::units::Time;

/// Both ends of a message.
pub struct Message {
    /// The sending end.
    pub sender: Sender,
    /// The receiving end.
    pub receiver: Receiver,
    /// Whether the sender waits for its host's line.
    pub waits: bool,
    /// Whether the receiver waits for its host's pacer: with a wish, or for what is left.
    pub is_active: bool,
    /// See [`Self::is_active`].
    pub is_idle: bool,
}

/// What has arrived at the sender of a message.
pub enum Control {
    /// An acknowledgement.
    Ack(Ack),
    /// A packet was trimmed.
    Nack(Nack),
    /// A grant of credit up to this number of units.
    Credit(u32),
}

impl Message {
    /// A message that has not sent anything.
    pub fn new(sender: Sender, receiver: Receiver) -> Message {
        Message { sender, receiver, waits: false, is_active: false, is_idle: false }
    }

    /// The counters of the flow now.
    pub fn counters(&self, now: Time, last_segment: u32) -> FlowCounters {
        let receiver = self.receiver.counters();
        let full = f64::from(self.sender.full_packet());
        FlowCounters {
            arrived: receiver.first_arrivals() as u32,
            has_last: self.receiver.has(last_segment),
            longest_stall: self.sender.longest_stall(now),
            sender: self.sender.counters(),
            receiver,
            srtt_s: self.sender.smoothed_rtt(),
            min_rtt_s: self.sender.least_rtt().map(|rtt| rtt.as_secs()),
            cwnd: self.sender.window().map(|bytes| bytes / full),
            ..FlowCounters::default()
        }
    }

    /// Restarts peaks and stalls at the end of the warm-up.
    pub fn forget_peaks(&mut self) {
        self.sender.forget_stalls();
        self.receiver.forget_peaks();
    }
}

/// A data packet, or a request. The wish for credit is in the pool, because a packet has no room for it.
pub fn data_packet(flow: u32, data: &Data, pool: &mut SackPool) -> Packet {
    let flags = flag_if(RETRANSMISSION, data.retransmission) | flag_if(PUSH, data.asks);
    if data.wanted == 0 {
        return Packet::new(flow, data.number, data.value, flags);
    }
    let handle = pool.put_with(data.value, |blocks| {
        blocks[0] = (data.wanted, 0);
        1
    });
    Packet::new(flow, data.number, handle, flags | HAS_SACK)
}

/// Reads a data packet or a request. Its entry in the pool becomes free.
pub fn read_data(packet: &Packet, pool: &mut SackPool) -> Data {
    let (value, wanted) = if packet.has(HAS_SACK) {
        let (value, blocks) = take(packet.number(), pool);
        (value, blocks[0].0)
    } else {
        (packet.number(), 0)
    };
    Data { number: packet.segment(), value, retransmission: packet.has(RETRANSMISSION), asks: packet.has(PUSH), wanted }
}

/// The receiver's answer as a packet, and the number that selectors see.
pub fn answer_packet(flow: u32, answer: &Answer, pool: &mut SackPool) -> (Packet, u32) {
    match answer {
        Answer::Ack(ack) => {
            let handle = pool.put_with(ack.value, |blocks| {
                *blocks = [(ack.reference, ack.answered), halves(ack.bitmap), halves(ack.received)];
                3
            });
            let flags = ACK | HAS_SACK | flag_if(MARK, ack.marked) | flag_if(RETRANSMISSION, ack.retransmission);
            (Packet::new(flow, ack.cumulative, handle, flags), ack.value)
        }
        Answer::Nack(nack) => {
            let flags = ACK | TRIMMED | flag_if(AT_LAST_HOP, nack.at_last_hop);
            (Packet::new(flow, nack.number, nack.value, flags), nack.value)
        }
    }
}

/// A grant of credit up to this number of units.
pub fn credit_packet(flow: u32, units: u32) -> Packet {
    Packet::new(flow, units, units, ACK | PUSH)
}

/// Reads what has arrived at the sender. Its entry in the pool becomes free.
pub fn read_control(packet: &Packet, pool: &mut SackPool) -> Control {
    if packet.has(TRIMMED) {
        let (number, value) = (packet.segment(), packet.number());
        return Control::Nack(Nack { number, value, at_last_hop: packet.has(AT_LAST_HOP) });
    }
    if packet.has(PUSH) {
        return Control::Credit(packet.segment());
    }
    let (value, [(reference, answered), bitmap, received]) = take(packet.number(), pool);
    Control::Ack(Ack {
        cumulative: packet.segment(),
        reference,
        bitmap: whole(bitmap),
        answered,
        value,
        marked: packet.has(MARK),
        retransmission: packet.has(RETRANSMISSION),
        received: whole(received),
    })
}

/// The number and the words of a pool entry, which becomes free.
fn take(handle: u32, pool: &mut SackPool) -> (u32, [(u32, u32); 3]) {
    let number = pool.number(handle);
    let mut blocks = SackBlocks::default();
    pool.take(handle, &mut blocks);
    let [first, second, third, _] = *blocks.slots();
    (number, [first, second, third])
}

fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

fn whole((low, high): (u32, u32)) -> u64 {
    u64::from(low) | u64::from(high) << 32
}
