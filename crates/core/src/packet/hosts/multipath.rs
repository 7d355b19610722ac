//! A connection of several subflows (Multipath TCP, RFC 8684): both ends, and the data sequence numbers that packets of subflows carry.
//!
//! A data packet carries the data sequence number of its segment, and an ACK the data acknowledgement (the DSS option). Both are in the packet's
//! entry of the pool. The receiver of the connection takes a segment of data as soon as a subflow brings it, also from beyond a hole of the subflow.

use crate::mptcp::Parameters;
use crate::mptcp::scheduler::Subflow;
use crate::mptcp::sender::DataSender;
use crate::packet::hosts::flow::{Connection, FlowCounters, Writer};
use crate::packet::link::packet::{HAS_SACK, Packet};
use crate::packet::link::sack_pool::SackPool;
use crate::rng::Stream;
use crate::spec::StackSpec;
use crate::tcp::ack::immediate::Immediate;
use crate::tcp::congestion::coupled::Coupling;
use crate::tcp::receiver::{Announcement, DataSegment, Receiver, ReceiverCounters, SackBlocks};
use crate::tcp::sender::{Episode, Sender, SenderCounters};
use crate::units::{Duration, Time};

/// Both ends of a connection with subflows.
pub struct Multipath {
    /// The flow of the first subflow. Those of the others follow it.
    pub first: u32,
    /// The subflows.
    pub subflows: Vec<Connection>,
    /// The sending end, above the subflows.
    pub data: DataSender,
    /// The application; `None` if it writes everything at the start.
    pub writer: Option<Box<Writer>>,
    /// When each subflow may send data.
    ready: Vec<Time>,
    /// The receiving end: its segments are data sequence numbers.
    receiver: Receiver,
    /// See [`Self::assign`].
    states: Vec<Subflow>,
}

/// The receive window of a subflow, bytes: so small that it does not grow, because the window that counts is the connection's.
const FIXED_WINDOW: u64 = 65_536;

impl Multipath {
    /// A connection that has sent nothing. Its subflows have these random draws.
    pub fn new(
        stack: &StackSpec,
        parameters: &Parameters,
        first: u32,
        draws: impl ExactSizeIterator<Item = Stream>,
    ) -> Multipath {
        let mut of_subflow = stack.clone();
        of_subflow.receive_window = FIXED_WINDOW;
        let count = draws.len();
        let subflow = |(random, coupling)| {
            let mut sender = Sender::coupled(&of_subflow, 1, random, Some(coupling));
            sender.set_receive_window(u32::MAX);
            Connection::new(sender, Receiver::of_stack(&of_subflow), None)
        };
        Multipath {
            first,
            subflows: draws.zip(Coupling::of_connection(count)).map(subflow).collect(),
            data: DataSender::new(count, parameters.scheduler, stack.window_segments()),
            writer: None,
            ready: vec![if stack.handshake { Time::NEVER } else { Time::ZERO }; count],
            receiver: Receiver::new(false, Box::new(Immediate)),
            states: Vec::new(),
        }
    }

    /// Segments delivered to the application, in order, each once.
    pub fn delivered(&self) -> u32 {
        self.receiver.delivered()
    }

    /// The counters of the connection. Data counts once it is in order.
    pub fn counters(&self, now: Time, last_segment: u32) -> FlowCounters {
        let of_subflows = || self.subflows.iter().map(|subflow| subflow.counters(now, u32::MAX));
        let sum =
            |count: fn(&SenderCounters) -> u64| of_subflows().map(|counters| count(&counters.sender)).sum::<u64>();
        let least = |time: fn(&FlowCounters) -> Option<f64>| of_subflows().filter_map(|of| time(&of)).reduce(f64::min);
        FlowCounters {
            arrived: self.delivered(),
            has_last: self.delivered() > last_segment,
            longest_stall: self.data.longest_stall(now),
            sender: SenderCounters {
                sent: sum(|of| of.sent),
                retransmits: sum(|of| of.retransmits) + u64::from(self.data.reinjections()),
                timeouts: sum(|of| of.timeouts),
                recoveries: sum(|of| of.recoveries),
                undone: sum(|of| of.undone),
            },
            receiver: ReceiverCounters {
                marked: of_subflows().map(|of| of.receiver.marked).sum(),
                ..self.receiver.counters()
            },
            srtt_s: least(|of| of.srtt_s),
            min_rtt_s: least(|of| of.min_rtt_s),
            cwnd: of_subflows().map(|of| of.cwnd).sum(),
            ..FlowCounters::default()
        }
    }

    /// Restarts peaks and stalls at the end of the warm-up.
    pub fn forget_peaks(&mut self) {
        self.data.forget_stalls();
        self.receiver.forget_peaks();
        self.subflows.iter_mut().for_each(Connection::forget_peaks);
    }

    /// Segments of all subflows in flight.
    pub fn in_flight(&self) -> u32 {
        self.subflows.iter().map(|subflow| subflow.sender.scoreboard().in_flight()).sum()
    }

    /// Whether a subflow is established.
    pub fn is_established(&self) -> bool {
        self.ready.iter().any(|ready| *ready < Time::NEVER)
    }

    /// Whether a subflow may begin its handshake: the first one at once, the others when it is established (RFC 8684 section 3.2).
    pub fn may_open(&self, subflow: usize) -> bool {
        subflow == 0 || self.is_established()
    }

    /// Whether all data up to the last segment is acknowledged.
    pub fn is_complete(&self, last_segment: u32) -> bool {
        self.data.is_done() && self.data.una() > last_segment
    }

    /// Processes the answer to a subflow's SYN. Returns an ACK of it, and its number, if the sender sends one. A subflow that joins sends no data before the receiver
    /// has answered that ACK, a round trip later (RFC 8684 section 3.2); `ready_at` says when.
    pub fn establish(
        &mut self,
        subflow: usize,
        now: Time,
        packet: Packet,
        pool: &mut SackPool,
    ) -> Option<(Packet, u32)> {
        let joins = self.is_established();
        let connection = &mut self.subflows[subflow];
        let was_established = connection.sender.is_established();
        let answer = connection.establish(now, packet, pool);
        if !was_established {
            let round_trip = connection.sender.rtt().smoothed().unwrap_or(Duration::ZERO);
            self.ready[subflow] = if joins { now + round_trip } else { now };
        }
        answer
    }

    /// When a subflow may send data; [`Time::NEVER`] before it is established.
    pub fn ready_at(&self, subflow: usize) -> Time {
        self.ready[subflow]
    }

    /// Processes a data packet of a subflow at the receiver. Returns the ACK if it is due at once.
    pub fn answer(&mut self, subflow: usize, now: Time, packet: Packet, pool: &mut SackPool) -> Option<Packet> {
        let data = value_of(packet, pool);
        let connection = &mut self.subflows[subflow];
        let answer = connection.answer(now, packet.words(), u32::MAX, pool);
        if let Some(segment) = data
            && connection.receiver.has(packet.segment())
        {
            let arrived = DataSegment {
                segment,
                retransmission: false,
                marked: false,
                window_reduced: false,
                push: false,
                timestamp: None,
            };
            self.receiver.take(now, &arrived);
        }
        let number = connection.last_ack_number();
        answer.map(|ack| with_value(ack, number, self.receiver.delivered(), pool))
    }

    /// A subflow's ACK that was delayed until now.
    pub fn delayed_ack(&mut self, subflow: usize, now: Time, pool: &mut SackPool) -> Packet {
        let connection = &mut self.subflows[subflow];
        let ack = connection.receiver.acknowledge(now);
        let packet = connection.packet_of(self.first + subflow as u32, now, &ack, pool);
        with_value(packet, connection.last_ack_number(), self.receiver.delivered(), pool)
    }

    /// Processes an ACK of a subflow at the sender.
    pub fn take_ack(&mut self, subflow: usize, now: Time, packet: Packet, pool: &mut SackPool) {
        let data_ack = value_of(packet, pool);
        let connection = &mut self.subflows[subflow];
        connection.take_ack(now, packet.words(), pool);
        self.data.on_ack(now, subflow, connection.sender.scoreboard().una(), data_ack);
    }

    /// Processes the expiry of a subflow's timer. After a timeout, other subflows send its data as well.
    pub fn on_deadline(&mut self, subflow: usize, now: Time) {
        let sender = &mut self.subflows[subflow].sender;
        let timeouts = sender.counters().timeouts;
        sender.on_deadline(now);
        if sender.counters().timeouts > timeouts {
            let board = sender.scoreboard();
            self.data.on_timeout(subflow, |segment| segment >= board.next() || !board.is_sacked(segment));
        }
    }

    /// Gives the next segment of data to a subflow, if one sends it now. Returns the subflow.
    pub fn assign(&mut self, now: Time) -> Option<usize> {
        self.states.clear();
        self.states.extend(self.subflows.iter().zip(&self.ready).map(|(Connection { sender, .. }, ready)| Subflow {
            has_room: *ready <= now && sender.has_room(),
            works: *ready <= now && sender.episode() != Episode::Timeout,
            srtt: sender.rtt().smoothed().unwrap_or(Duration::ZERO),
            rttvar: sender.rtt().variation(),
            cwnd: sender.congestion().cwnd(),
            outstanding: sender.scoreboard().outstanding(),
        }));
        let subflow = self.data.assign(now, &self.states)?;
        self.subflows[subflow].sender.write(now, 1);
        Some(subflow)
    }

    /// The next packet that a subflow may send now, and its number.
    pub fn next_packet(&mut self, subflow: usize, now: Time, pool: &mut SackPool) -> Option<(Packet, u32)> {
        let (packet, number) = self.subflows[subflow].next_packet(self.first + subflow as u32, now, pool)?;
        if packet.has(crate::packet::link::packet::SYN) {
            return Some((packet, number));
        }
        let data = self.data.data_of(subflow, packet.segment());
        Some((with_value(packet, number, data, pool), number))
    }
}

/// The packet, with a value in its entry of the pool.
fn with_value(mut packet: Packet, number: u32, value: u32, pool: &mut SackPool) -> Packet {
    let handle = if packet.has(HAS_SACK) {
        pool.add_value(packet.number(), value)
    } else {
        let said = Announcement { value: Some(value), ..Announcement::default() };
        pool.put_announcing(&SackBlocks::default(), number, said)
    };
    packet.set_number(handle);
    packet.set_flags(HAS_SACK);
    packet
}

/// The value in a packet's entry of the pool.
fn value_of(packet: Packet, pool: &SackPool) -> Option<u32> {
    if packet.has(HAS_SACK) { pool.announcement(packet.number())?.value } else { None }
}
