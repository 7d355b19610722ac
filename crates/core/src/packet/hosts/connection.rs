//! Translates between packets and the segments of a connection's two ends.

use crate::entropy::Feedback;
use crate::packet::hosts::flow::{Connection, Writer};
use crate::packet::link::packet::{ACK, HAS_SACK, MARK, PUSH, Packet, RETRANSMISSION, SYN, WINDOW_REDUCED, flag_if};
use crate::packet::link::sack_pool::SackPool;
use crate::tcp::receiver::{Ack, AckTimestamps, Announcement, DataSegment, Due, Receiver, SackBlocks, Timestamp};
use crate::tcp::sender::{Sender, Transmission};
use crate::units::{Duration, Time};

impl Connection {
    /// Both ends before the handshake. The sender has the window that the SYN-ACK will announce.
    pub fn new(mut sender: Sender, receiver: Receiver, writer: Option<Box<Writer>>) -> Connection {
        if let Some(edge) = receiver.window_edge() {
            sender.set_first_window(edge);
        }
        Connection { sender, receiver, acks_sent: 0, echo: 0, last_echo: 0, first_syn: 0, entropy: None, writer }
    }

    /// The number of the next packet that the receiver sends.
    #[inline(always)]
    pub fn number_ack(&mut self) -> u32 {
        let number = self.acks_sent;
        self.acks_sent = number.wrapping_add(1);
        number
    }

    /// Packets that the sender, or else the receiver, has sent, modulo 2^32.
    #[cfg(test)]
    pub fn packets_sent(&self, by_sender: bool) -> u32 {
        if by_sender { self.sender.scoreboard().next_transmission() } else { self.acks_sent }
    }

    /// The number of the last packet that the receiver has sent.
    #[inline(always)]
    pub fn last_ack_number(&self) -> u32 {
        self.acks_sent.wrapping_sub(1)
    }

    /// Processes a data packet at the receiver. Returns the ACK if it is due at once; its number is [`Self::last_ack_number`].
    #[inline(never)]
    pub fn answer(&mut self, now: Time, words: [u64; 3], last_segment: u32, pool: &mut SackPool) -> Option<Packet> {
        let packet = Packet::from_words(words);
        let (flow, segment) = (packet.flow(), packet.segment());
        if !packet.has(MARK | WINDOW_REDUCED | HAS_SACK) && self.receiver.take_next_held(segment) {
            return Some(self.held_packet(flow, pool));
        }
        let timestamp = if packet.has(HAS_SACK) {
            self.note_value(packet, pool);
            take_timestamp(packet, pool)
        } else {
            Timestamp { number: packet.number(), oldest: 0, echo: 0 }
        };
        let data = DataSegment {
            segment,
            retransmission: packet.has(RETRANSMISSION),
            marked: packet.has(MARK),
            window_reduced: packet.has(WINDOW_REDUCED),
            push: segment >= last_segment || packet.has(PUSH),
            timestamp: Some(timestamp),
        };
        match self.receiver.take(now, &data) {
            Due::Now if self.entropy.is_none() && self.receiver.acknowledge_held() => {
                Some(self.held_packet(flow, pool))
            }
            Due::Now => {
                let ack = self.receiver.acknowledge(now);
                Some(self.packet_of(flow, now, &ack, pool))
            }
            Due::Later => None,
            Due::Earlier(ack) => Some(self.packet_of(flow, now, &ack, pool)),
        }
    }

    /// The ACK of a data packet returns its entropy value.
    #[cold]
    fn note_value(&mut self, packet: Packet, pool: &SackPool) {
        if let Some(ends) = &mut self.entropy {
            ends.answered = pool.announcement(packet.number()).and_then(|announcement| announcement.value);
        }
    }

    /// An ACK, as a packet, that reports only the segments that the receiver holds. Its SACK blocks are written into the pool.
    #[inline(always)]
    fn held_packet(&mut self, flow: u32, pool: &mut SackPool) -> Packet {
        let number = self.number_ack();
        let handle = pool.put_with(number, |blocks| self.receiver.write_blocks(blocks));
        let flags = ACK | HAS_SACK | flag_if(RETRANSMISSION, self.receiver.echoes_retransmission());
        Packet::new(flow, self.receiver.delivered(), handle, flags)
    }

    /// An ACK as a packet.
    #[inline(always)]
    pub fn packet_of(&mut self, flow: u32, now: Time, ack: &Ack, pool: &mut SackPool) -> Packet {
        let number = self.number_ack();
        let flags = ACK | flag_if(RETRANSMISSION, ack.echoes_retransmission) | flag_if(MARK, ack.ecn_echo);
        let window = self.receiver.announce(now, ack.cumulative);
        let value = self.entropy.as_ref().and_then(|ends| ends.answered);
        if window.is_some() || ack.timestamps.is_some() || value.is_some() || ack.accecn.is_some() {
            let said = ack.timestamps.map_or(Announcement::default(), |AckTimestamps { sent, echoed }| Announcement {
                timestamp: sent,
                echoed,
                ..Announcement::default()
            });
            let accecn = ack.accecn;
            let announcement = Announcement { echoed: said.echoed, value, accecn, ..window.unwrap_or(said) };
            let handle = pool.put_announcing(&ack.sack, number, announcement);
            Packet::new(flow, ack.cumulative, handle, flags | HAS_SACK)
        } else if ack.sack.is_empty() {
            Packet::new(flow, ack.cumulative, number, flags)
        } else {
            Packet::new(flow, ack.cumulative, pool.put(&ack.sack, number), flags | HAS_SACK)
        }
    }

    /// Returns the receiver's answer to a SYN. A SYN carries its number instead of a segment. The answer carries the number of the
    /// first SYN that arrived. An ACK of the sender has none, unless data has overtaken it.
    pub fn accept(&mut self, now: Time, syn: &Packet, pool: &mut SackPool) -> Option<Packet> {
        if syn.has(PUSH) {
            return self.receiver.on_bare_ack(now, syn.segment()).then(|| {
                let ack = self.receiver.acknowledge(now);
                self.packet_of(syn.flow(), now, &ack, pool)
            });
        }
        if self.first_syn == 0 {
            self.first_syn = syn.segment() + 1;
        }
        let (flow, echoed, number) = (syn.flow(), self.first_syn - 1, self.number_ack());
        Some(match self.receiver.open(now) {
            Some(announcement) => {
                let handle = pool.put_announcing(&SackBlocks::default(), number, announcement);
                Packet::new(flow, echoed, handle, ACK | SYN | HAS_SACK)
            }
            None => Packet::new(flow, echoed, number, ACK | SYN),
        })
    }

    /// Processes the answer to the sender's SYN. Returns an ACK of it, and its number, if the sender sends one.
    pub fn establish(&mut self, now: Time, packet: Packet, pool: &mut SackPool) -> Option<(Packet, u32)> {
        if packet.has(HAS_SACK) {
            self.note_timestamp(pool.announcement(packet.number()));
            pool.release(packet.number());
        }
        let number = match &mut self.entropy {
            Some(ends) => ends.policy.next(now),
            None => self.sender.counters().timeouts as u32 + 1,
        };
        let acknowledges = self.sender.on_established(now, Some(packet.segment()));
        acknowledges.then(|| (Packet::new(packet.flow(), 0, number, SYN | PUSH), number))
    }

    /// Processes the expiry of the sender's timer.
    pub fn on_deadline(&mut self, now: Time) {
        let timeouts = self.sender.counters().timeouts;
        self.sender.on_deadline(now);
        if let Some(ends) = &mut self.entropy
            && self.sender.counters().timeouts > timeouts
        {
            ends.policy.on_timeout(now);
        }
    }

    fn note_timestamp(&mut self, announcement: Option<Announcement>) {
        let timestamp = announcement.map_or(0, |announcement| announcement.timestamp);
        if timestamp > self.last_echo {
            (self.echo, self.last_echo) = (timestamp, timestamp);
        }
    }

    /// Processes an ACK at the sender. Removes its SACK blocks from the pool.
    #[inline(never)]
    pub fn take_ack(&mut self, now: Time, words: [u64; 3], pool: &mut SackPool) {
        let packet = Packet::from_words(words);
        let mut ack = Ack {
            cumulative: packet.segment(),
            sack: SackBlocks::default(),
            echoes_retransmission: packet.has(RETRANSMISSION),
            timestamps: None,
            ecn_echo: packet.has(MARK),
            accecn: None,
        };
        let mut announcement = None;
        if packet.has(HAS_SACK) {
            announcement = pool.announcement(packet.number());
            let has_timestamp =
                |said: &Announcement| said.value.is_none() && said.accecn.is_none() || said.timestamp > 0;
            ack.timestamps = announcement
                .filter(has_timestamp)
                .map(|Announcement { timestamp, echoed, .. }| AckTimestamps { sent: timestamp, echoed });
            ack.accecn = announcement.and_then(|said| said.accecn);
            pool.take(packet.number(), &mut ack.sack);
        }
        let edge = self.sender.window_edge();
        let marks_before = self.sender.reported_marks();
        self.sender.on_ack(now, &ack);
        if let Some(ends) = &mut self.entropy
            && let Some(value) = announcement.and_then(|announcement| announcement.value)
        {
            let is_marked = ack.ecn_echo || self.sender.reported_marks() != marks_before;
            let feedback = if is_marked { Feedback::Marked } else { Feedback::Good };
            let round_trip = self.sender.rtt().smoothed().unwrap_or(Duration::ZERO);
            ends.policy.on_feedback(now, round_trip, value, feedback);
        }
        if let Some(Announcement { window, .. }) = announcement
            && window > 0
        {
            self.note_timestamp(announcement);
            self.sender.set_window_edge(edge.max(ack.cumulative.saturating_add(window)));
        }
    }

    /// The next packet that the sender may send now, and its number.
    #[inline(never)]
    pub fn next_packet(&mut self, flow: u32, now: Time, pool: &mut SackPool) -> Option<(Packet, u32)> {
        Some(match self.sender.poll_transmit(now)? {
            Transmission::Data { segment, number, retransmission, window_reduced, push, oldest } => {
                let flags = flag_if(RETRANSMISSION, retransmission)
                    | flag_if(WINDOW_REDUCED, window_reduced)
                    | flag_if(PUSH, push);
                let tolerated =
                    if oldest > 0 { SackBlocks::new(None, &[(oldest, number + 1)]) } else { SackBlocks::default() };
                let value = self.entropy.as_mut().map(|ends| ends.policy.next(now));
                if self.echo > 0 || value.is_some() {
                    let timestamp = std::mem::take(&mut self.echo);
                    let said = Announcement { timestamp, value, ..Announcement::default() };
                    let handle = pool.put_announcing(&tolerated, number, said);
                    return Some((Packet::new(flow, segment, handle, flags | HAS_SACK), value.unwrap_or(number)));
                }
                if oldest > 0 {
                    let handle = pool.put(&tolerated, number);
                    return Some((Packet::new(flow, segment, handle, flags | HAS_SACK), number));
                }
                (Packet::new(flow, segment, number, flags), number)
            }
            Transmission::Answer { segment } => {
                let number = match &mut self.entropy {
                    Some(ends) => ends.policy.next(now),
                    None => segment,
                };
                (Packet::new(flow, segment, number, SYN | PUSH), number)
            }
            Transmission::Syn => {
                // Each try has a number of its own, or all would be sprayed over one path.
                let number = self.sender.counters().timeouts as u32;
                let value = self.entropy.as_mut().map_or(number, |ends| ends.policy.next(now));
                (Packet::new(flow, number, value, SYN), value)
            }
        })
    }
}

/// The timestamp of a data packet. The packet's entry in the pool becomes free.
#[cold]
fn take_timestamp(packet: Packet, pool: &mut SackPool) -> Timestamp {
    let (number, announcement) = (pool.number(packet.number()), pool.announcement(packet.number()));
    let mut tolerated = SackBlocks::default();
    pool.take(packet.number(), &mut tolerated);
    let oldest = tolerated.all().first().map_or(0, |range| range.0);
    Timestamp { number, oldest, echo: announcement.map_or(0, |announcement| announcement.timestamp) }
}

#[cfg(test)]
mod tests;
