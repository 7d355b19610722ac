//! The sending end of a message.

use super::credit::Granted;
use super::nscc::{Nscc, Situation};
use super::packets::{Ack, Data, Nack, REQUEST};
use super::{MessageSizes, NetworkEstimate, Parameters};
use crate::entropy::{EntropyPolicy, Feedback};
use crate::tcp::sender::SenderCounters;
use crate::units::{Duration, Time};
use std::collections::{BTreeSet, VecDeque};

/// What is known of a packet that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    InFlight {
        sent: Time,
    },
    /// Trimmed or timed out, and waiting for its retransmission.
    Lost,
    Arrived,
}

/// A packet that was sent.
#[derive(Debug, Clone, Copy)]
struct Record {
    fate: Fate,
    retransmissions: u32,
}

/// The sending end of a message.
pub struct Sender {
    sizes: MessageSizes,
    network: NetworkEstimate,
    /// The least round-trip time, and the window that follows from it.
    base_rtt: Duration,
    most: f64,
    window: Option<Nscc>,
    credit: Option<Granted>,
    entropy: Box<dyn EntropyPolicy>,
    /// Packets below have arrived.
    cumulative: u32,
    /// The packets from `cumulative` on that were sent.
    records: VecDeque<Record>,
    /// Packets that wait for their retransmission, and their bytes.
    lost: BTreeSet<u32>,
    lost_bytes: u64,
    /// Packets in the order of sending; stale ones are skipped.
    order: VecDeque<(Time, u32)>,
    /// Sent, minus arrived by the receiver's count, minus lost.
    in_flight: i64,
    /// Bytes that the receiver has reported.
    received: u64,
    rtt: Option<f64>,
    least_sample: Option<Duration>,
    /// When the last request for credit or window was sent.
    requested: Option<Time>,
    /// When something was sent, or the timer expired, last.
    quiet_since: Time,
    /// When `cumulative` last moved, or the first packet from it on was sent.
    last_advance: Time,
    /// One past the last packet that has arrived beyond `cumulative`, or was lost.
    hole_end: u32,
    longest_stall: Duration,
    counters: SenderCounters,
}

impl Sender {
    /// The sender of a message.
    pub fn new(
        parameters: &Parameters,
        network: NetworkEstimate,
        sizes: MessageSizes,
        entropy: Box<dyn EntropyPolicy>,
    ) -> Sender {
        let most = network.most_bytes(network.round_trip);
        Sender {
            sizes,
            network,
            base_rtt: network.round_trip,
            most,
            window: parameters.has_window().then(|| Nscc::new(parameters, &network, &sizes, most)),
            credit: parameters.has_credit().then(|| Granted::new(most as u64)),
            entropy,
            cumulative: 0,
            records: VecDeque::new(),
            lost: BTreeSet::new(),
            lost_bytes: 0,
            order: VecDeque::new(),
            in_flight: 0,
            received: 0,
            rtt: None,
            least_sample: None,
            requested: None,
            quiet_since: Time::ZERO,
            last_advance: Time::ZERO,
            hole_end: 0,
            longest_stall: Duration::ZERO,
            counters: SenderCounters::default(),
        }
    }

    /// Whether all packets have arrived, as far as the sender knows.
    pub fn is_done(&self) -> bool {
        self.cumulative == self.sizes.packets
    }

    /// What the sender has counted.
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// The longest stall that has ended since [`Self::forget_stalls`] or continues now. In a stall the cumulative acknowledgement does not move, because
    /// later packets arrived first or a packet was lost.
    pub fn longest_stall(&self, now: Time) -> Duration {
        let is_stalled = self.cumulative < self.hole_end;
        if is_stalled { self.longest_stall.max(now - self.last_advance) } else { self.longest_stall }
    }

    /// Forgets the stalls that have ended, as when the warm-up ends.
    pub fn forget_stalls(&mut self) {
        self.longest_stall = Duration::ZERO;
    }

    /// Smoothed round-trip time, seconds.
    pub fn smoothed_rtt(&self) -> Option<f64> {
        self.rtt
    }

    /// The least round-trip time that was measured.
    pub fn least_rtt(&self) -> Option<Duration> {
        self.least_sample
    }

    /// The window, bytes; `None` if only credit limits the sender.
    pub fn window(&self) -> Option<f64> {
        self.window.as_ref().map(Nscc::window)
    }

    /// Bytes sent, minus those that have arrived by the receiver's count, minus those lost.
    pub fn in_flight(&self) -> i64 {
        self.in_flight
    }

    /// The same from the books: packets sent at least once, minus packets that have arrived, minus packets that wait to be sent again.
    #[cfg(test)]
    pub fn in_flight_by_books(&self) -> i64 {
        let sent: u64 = (0..self.next_new()).map(|number| u64::from(self.sizes.of(number))).sum();
        sent as i64 - self.received as i64 - self.lost_bytes as i64
    }

    /// A full packet, bytes.
    pub fn full_packet(&self) -> u32 {
        self.sizes.full
    }

    fn next_new(&self) -> u32 {
        self.cumulative + self.records.len() as u32
    }

    fn next_packet(&self) -> Option<u32> {
        let new = self.next_new();
        self.lost.first().copied().or((new < self.sizes.packets).then_some(new))
    }

    /// Whether there is a packet to send, and window and credit allow it.
    pub fn may_send(&self) -> bool {
        self.next_packet().is_some_and(|number| {
            let size = f64::from(self.sizes.of(number));
            self.credit.as_ref().is_none_or(Granted::allows)
                && self.window.as_ref().is_none_or(|window| window.window() >= self.in_flight as f64 + size)
        })
    }

    /// Sends the next packet, of a host on which `waiting` messages wait for the line; the lost ones come first. Returns it, and its size.
    /// Call it only if [`Self::may_send`].
    pub fn send(&mut self, now: Time, waiting: usize) -> Option<(Data, u32)> {
        let number = self.next_packet()?;
        let size = self.sizes.of(number);
        let retransmission = self.lost.remove(&number);
        if retransmission {
            self.lost_bytes -= u64::from(size);
            let record = &mut self.records[(number - self.cumulative) as usize];
            *record = Record { fate: Fate::InFlight { sent: now }, retransmissions: record.retransmissions + 1 };
            self.counters.retransmits += 1;
        } else {
            if self.records.is_empty() {
                self.last_advance = now;
            }
            self.records.push_back(Record { fate: Fate::InFlight { sent: now }, retransmissions: 0 });
        }
        self.counters.sent += 1;
        self.quiet_since = now;
        self.order.push_back((now, number));
        self.in_flight += i64::from(size);
        if let Some(credit) = &mut self.credit {
            credit.spend(size);
        }
        let is_last = self.next_new() == self.sizes.packets;
        let fills =
            self.window.as_ref().is_some_and(|window| (self.in_flight + i64::from(size)) as f64 >= window.window());
        let asks = retransmission || is_last || fills || self.credit.as_ref().is_some_and(|credit| !credit.allows());
        let (value, wanted) = (self.entropy.next(now), self.wanted(waiting));
        Some((Data { number, value, retransmission, asks, wanted }, size))
    }

    /// The credit up to which it wants grants; 0 without credit.
    fn wanted(&self, waiting: usize) -> u32 {
        let Some(credit) = &self.credit else { return 0 };
        let new = self.sizes.from(self.next_new());
        let mut bytes = new + self.lost_bytes;
        if let Some(window) = &self.window {
            bytes = bytes.min(window.window() as u64 + u64::from(self.sizes.full));
        }
        credit.wanted(bytes, self.sizes.full, new > 0, waiting)
    }

    /// Processes an ACK.
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        let bytes = ack.received.saturating_sub(self.received);
        self.received += bytes;
        self.in_flight -= bytes as i64;
        let delay = self.sample(now, ack);
        self.pass(now, ack.cumulative);
        (0..u64::BITS).filter(|bit| ack.bitmap >> bit & 1 == 1).for_each(|bit| self.mark_arrived(ack.reference + bit));
        self.entropy.on_feedback(
            now,
            self.base_rtt,
            ack.value,
            if ack.marked { Feedback::Marked } else { Feedback::Good },
        );
        let at = self.situation(now);
        if let Some(window) = &mut self.window {
            let delay = delay.map_or(window.mean_delay(), |delay| delay.0 as f64);
            window.on_ack(&at, ack.marked, delay, bytes as f64);
        }
        self.stop_speculating();
    }

    /// The delay of the packet that an ACK answers, if the time of its sending is certain: it was sent once, or its one retransmission is echoed.
    fn sample(&mut self, now: Time, ack: &Ack) -> Option<Duration> {
        let record = *self.records.get(ack.answered.checked_sub(self.cumulative)? as usize)?;
        let Fate::InFlight { sent } = record.fate else { return None };
        if record.retransmissions != u32::from(ack.retransmission) {
            return None;
        }
        let rtt = now - sent;
        self.note_base(rtt);
        self.least_sample = Some(self.least_sample.map_or(rtt, |least| least.min(rtt)));
        self.rtt = Some(self.rtt.map_or(rtt.as_secs(), |mean| mean + (rtt.as_secs() - mean) / 8.0));
        let delay = rtt - self.base_rtt;
        if let Some(window) = &mut self.window {
            window.sample(delay, ack.marked, self.base_rtt);
        }
        Some(delay)
    }

    fn note_base(&mut self, rtt: Duration) {
        if rtt < self.base_rtt {
            self.base_rtt = rtt;
            self.most = self.network.most_bytes(rtt);
        }
    }

    fn situation(&self, now: Time) -> Situation {
        Situation { now, base_rtt: self.base_rtt, most: self.most, in_flight: self.in_flight as f64 }
    }

    /// All packets below have arrived.
    fn pass(&mut self, now: Time, cumulative: u32) {
        if self.cumulative < cumulative {
            (self.longest_stall, self.last_advance) = (self.longest_stall(now), now);
        }
        while self.cumulative < cumulative && !self.records.is_empty() {
            self.mark_arrived(self.cumulative);
            self.records.pop_front();
            self.cumulative += 1;
        }
    }

    fn mark_arrived(&mut self, number: u32) {
        let Some(index) = number.checked_sub(self.cumulative) else { return };
        let Some(record) = self.records.get_mut(index as usize) else { return };
        if record.fate == Fate::Lost {
            // It was subtracted twice: as lost, and by the receiver's count.
            self.lost.remove(&number);
            let size = self.sizes.of(number);
            self.lost_bytes -= u64::from(size);
            self.in_flight += i64::from(size);
        }
        record.fate = Fate::Arrived;
        self.hole_end = self.hole_end.max(number + 1);
    }

    /// Processes a NACK: the packet is sent again before new data.
    pub fn on_nack(&mut self, now: Time, nack: &Nack) {
        let Some(Record { fate: Fate::InFlight { sent }, .. }) = self.record(nack.number) else { return };
        self.note_base(now - sent);
        let size = self.sizes.of(nack.number);
        let at = self.situation(now);
        let spares_window = self.credit.is_some() && nack.at_last_hop;
        if let Some(window) = &mut self.window {
            window.on_nack(&at, f64::from(size), spares_window);
        }
        self.lose(nack.number);
        self.stop_speculating();
        let feedback = if nack.at_last_hop { Feedback::Good } else { Feedback::Trimmed };
        self.entropy.on_feedback(now, self.base_rtt, nack.value, feedback);
    }

    fn record(&self, number: u32) -> Option<Record> {
        self.records.get(number.checked_sub(self.cumulative)? as usize).copied()
    }

    fn lose(&mut self, number: u32) {
        self.records[(number - self.cumulative) as usize].fate = Fate::Lost;
        self.lost.insert(number);
        self.hole_end = self.hole_end.max(number + 1);
        let size = self.sizes.of(number);
        self.lost_bytes += u64::from(size);
        self.in_flight -= i64::from(size);
    }

    /// Processes a grant of credit up to this number of units.
    pub fn on_credit(&mut self, units: u32) {
        self.stop_speculating();
        if let Some(credit) = &mut self.credit {
            credit.grant(units);
        }
    }

    fn stop_speculating(&mut self) {
        if let Some(credit) = &mut self.credit {
            credit.stop_speculating();
        }
    }

    /// When the retransmission timer expires: for the oldest packet in flight, or if there is none, for a packet that waits for window or credit.
    /// `None` if there is neither.
    pub fn deadline(&mut self) -> Option<Time> {
        let waits = |sender: &Sender| !sender.is_done() && !sender.may_send();
        let since = self.oldest_in_flight().or_else(|| waits(self).then_some(self.quiet_since));
        since.map(|since| since + self.network.timeout)
    }

    /// When the oldest packet in flight was sent.
    fn oldest_in_flight(&mut self) -> Option<Time> {
        while let Some((sent, number)) = self.order.front().copied() {
            if self.record(number).is_some_and(|record| record.fate == (Fate::InFlight { sent })) {
                return Some(sent);
            }
            self.order.pop_front();
        }
        None
    }

    /// Processes the expiry of the timer at [`Self::deadline`]: the oldest packet is lost. Returns a request for credit, at most one a round trip, if the
    /// sender may not send it again now. Without credit, there is no request while other packets wait to be sent again.
    pub fn on_deadline(&mut self, now: Time, waiting: usize) -> Option<Data> {
        self.counters.timeouts += 1;
        self.quiet_since = now;
        self.entropy.on_timeout(now);
        let others_wait = !self.lost.is_empty();
        if let Some((_, number)) = self.order.pop_front() {
            self.lose(number);
            let size = f64::from(self.sizes.of(number));
            if let Some(window) = &mut self.window {
                window.on_timeout(size);
            }
        }
        self.stop_speculating();
        let was_recent = self.requested.is_some_and(|at| now - at < self.network.round_trip);
        if self.may_send() || was_recent || others_wait && self.credit.is_none() && self.oldest_in_flight().is_some() {
            return None;
        }
        self.requested = Some(now);
        Some(Data {
            number: REQUEST,
            value: self.entropy.next(now),
            retransmission: false,
            asks: true,
            wanted: self.wanted(waiting),
        })
    }
}
