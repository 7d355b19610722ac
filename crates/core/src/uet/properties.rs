//! Properties of a message between a sender and a receiver over a network that delays, reorders, trims and loses packets at will.

use super::packets::{Data, QUANTUM, REQUEST};
use super::receiver::{Answer, Receiver};
use super::sender::Sender;
use super::*;
use crate::entropy::EntropySpec;
use crate::rng::{Purpose, Stream};
use crate::units::Time;
use proptest::prelude::*;

const NETWORK: NetworkEstimate = NetworkEstimate {
    rate: Rate(100_000_000_000),
    round_trip: Duration::from_micros(9),
    timeout: Duration::from_micros(70),
};

/// What is on its way in either direction.
struct Message {
    sizes: MessageSizes,
    sender: Sender,
    receiver: Receiver,
    now: Time,
    data: Vec<Data>,
    answers: Vec<Answer>,
    grants: Vec<u32>,
    sent: u64,
    most_credit: u64,
    delivered: Vec<u32>,
}

impl Message {
    fn new(control: Control, packets: u32, last: u32) -> Message {
        let parameters = Parameters { control, ..Parameters::default() };
        let sizes = MessageSizes { packets, full: 4160, last, header: 64 };
        let draws = Stream::new(1, Purpose::Entropy, 0);
        let policy = EntropySpec::default().build(draws);
        let speculative = 1.5 * NETWORK.rate.as_bps() / 8.0 * NETWORK.round_trip.as_secs();
        Message {
            sizes,
            sender: Sender::new(&parameters, NETWORK, sizes, policy),
            receiver: Receiver::new(&parameters, sizes),
            now: Time::ZERO,
            data: Vec::new(),
            answers: Vec::new(),
            grants: Vec::new(),
            sent: 0,
            most_credit: speculative as u64,
            delivered: vec![0; packets as usize],
        }
    }

    fn send(&mut self) {
        if self.sender.may_send() {
            let before = self.sender.in_flight();
            let (data, size) = self.sender.send(self.now, 1).expect("it may send");
            if let Some(window) = self.sender.window() {
                assert!((before + i64::from(size)) as f64 <= window, "more in flight than the window");
            }
            self.sent += u64::from(size);
            self.data.push(data);
        }
    }

    fn arrive(&mut self, at: usize, trimmed: bool, marked: bool) {
        if self.data.is_empty() {
            return;
        }
        let data = self.data.swap_remove(at % self.data.len());
        self.receiver.demand.want(data.wanted);
        if data.number == REQUEST {
            self.answers.push(self.receiver.on_request(&data));
        } else if trimmed {
            self.answers.push(self.receiver.on_trimmed(&data, at.is_multiple_of(2)));
        } else {
            self.delivered[data.number as usize] += u32::from(!self.receiver.has(data.number));
            self.answers.extend(self.receiver.on_data(&data, marked));
        }
    }

    fn grant(&mut self) {
        let units = self.receiver.demand.grant(64);
        self.most_credit += u64::from(units) * QUANTUM;
        self.grants.push(self.receiver.demand.granted());
    }

    fn answer(&mut self, at: usize) {
        if !self.grants.is_empty() && at.is_multiple_of(3) {
            let units = self.grants.swap_remove(at % self.grants.len());
            self.sender.on_credit(units);
        } else if !self.answers.is_empty() {
            match self.answers.swap_remove(at % self.answers.len()) {
                Answer::Ack(ack) => self.sender.on_ack(self.now, &ack),
                Answer::Nack(nack) => self.sender.on_nack(self.now, &nack),
            }
        }
    }

    fn expire(&mut self) {
        if let Some(deadline) = self.sender.deadline() {
            self.now = self.now.max(deadline);
            self.data.extend(self.sender.on_deadline(self.now, 1));
        }
    }

    /// What must hold at any time.
    fn check(&self, control: Control) {
        assert_eq!(self.sender.in_flight(), self.sender.in_flight_by_books());
        assert!(self.delivered.iter().all(|times| *times <= 1), "a packet was delivered twice");
        if control != Control::Nscc {
            let one_packet = u64::from(self.sizes.full);
            assert!(self.sent <= self.most_credit + one_packet, "sent {} of {}", self.sent, self.most_credit);
        }
    }
}

proptest! {
    /// At any time, what is in flight is what was sent, minus what was acknowledged, lost or trimmed. A window is never exceeded, nor credit by
    /// more than a packet. Once the network behaves, each packet of the message has been delivered exactly once.
    #[test]
    fn every_packet_is_delivered_once(
        control in prop::sample::select(vec![Control::Nscc, Control::Rccc, Control::Both]),
        packets in 1u32..150, last in 65u32..4160,
        steps in prop::collection::vec((0u8..12, any::<u16>()), 0..400),
    ) {
        let mut message = Message::new(control, packets, last);
        for (kind, at) in steps {
            let at = usize::from(at);
            match kind {
                0..4 => message.send(),
                4..6 => message.arrive(at, false, at.is_multiple_of(5)),
                6 => message.arrive(at, true, false),
                7 => { if !message.data.is_empty() { let index = at % message.data.len(); message.data.remove(index); } }
                8..10 => message.answer(at),
                10 => message.grant(),
                _ => message.expire(),
            }
            message.now += Duration::from_micros(at as u64 % 5);
            message.check(control);
        }
        let mut rounds = 0;
        while !message.sender.is_done() {
            message.send();
            message.arrive(0, false, false);
            message.grant();
            message.answer(1);
            message.answer(3);
            if message.data.is_empty() && message.answers.is_empty() && !message.sender.may_send() {
                message.expire();
            }
            message.now += Duration::from_micros(1);
            message.check(control);
            rounds += 1;
            prop_assert!(rounds < 20_000, "it does not end");
        }
        prop_assert!(message.receiver.is_complete());
        prop_assert!(message.delivered.iter().all(|times| *times == 1));
    }
}
