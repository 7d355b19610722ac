//! The flows of a run: identity, state and counters.

use crate::entropy::EntropyPolicy;
use crate::packet::forwarding::RouteRef;
use crate::packet::forwarding::select::PacketKey;
use crate::packet::hosts::message::Message;
use crate::packet::hosts::multipath::Multipath;
use crate::spec::NodeId;
use crate::tcp::congestion::occupancy::StateTime;
use crate::tcp::receiver::{Receiver, ReceiverCounters};
use crate::tcp::sender::{LimitTimes, Sender, SenderCounters};
use crate::traffic::application::Application;
use crate::traffic::reordering::Reordering;
use crate::units::{Duration, Time};

/// The constant properties of a flow.
#[derive(Debug, Clone, Copy)]
pub struct FlowIdentity {
    /// Index of its group in [`crate::spec::RunSpec::traffic`].
    pub group: u32,
    /// Sending node.
    pub src: NodeId,
    /// Receiving node.
    pub dst: NodeId,
    /// When its application starts.
    pub start: Time,
    /// The route of its data.
    pub forward: RouteRef,
    /// The route of its ACKs.
    pub reverse: RouteRef,
}

/// The plan of a flow.
#[derive(Debug, Clone, Copy)]
pub struct FlowPlan {
    /// Index of its group in [`crate::spec::RunSpec::traffic`].
    pub group: u32,
    /// Sending node.
    pub src: NodeId,
    /// Receiving node.
    pub dst: NodeId,
    /// When its application starts.
    pub start: Time,
    /// Payload; `None` if it does not end.
    pub bytes: Option<u64>,
}

impl FlowIdentity {
    /// The plan of this flow, with this payload.
    pub fn plan(&self, bytes: Option<u64>) -> FlowPlan {
        FlowPlan { group: self.group, src: self.src, dst: self.dst, start: self.start, bytes }
    }

    /// The route of its data, or of its ACKs.
    #[inline(always)]
    pub fn route(&self, reverse: bool) -> RouteRef {
        if reverse { self.reverse } else { self.forward }
    }

    /// The properties of a packet of this flow that selectors use.
    #[inline]
    pub fn key(&self, flow: u32, reverse: bool, number: u32) -> PacketKey {
        let (src, dst) = if reverse { (self.dst, self.src) } else { (self.src, self.dst) };
        PacketKey { flow, group: self.group, src, dst, reverse, number }
    }
}

/// An application that writes during the run, with its next write.
pub struct Writer {
    application: Application,
    due: Option<Time>,
}

impl Writer {
    /// An application that starts now.
    pub fn new(mut application: Application, now: Time) -> Writer {
        let due = application.next_write().map(|wait| now + wait);
        Writer { application, due }
    }

    /// Time of its next write; `None` if it has stopped.
    pub fn next(&self) -> Option<Time> {
        self.due
    }

    /// Writes a segment or datagram, and determines when the next one is due.
    pub fn write(&mut self) {
        self.due = self.due.and_then(|at| self.application.next_write().map(|wait| at + wait));
    }
}

/// Entropy values at both ends of a connection.
pub struct EntropyEnds {
    /// The sender's policy.
    pub policy: Box<dyn EntropyPolicy>,
    /// The value of the last data packet at the receiver, whose ACK returns it.
    pub answered: Option<u32>,
}

/// Both ends of a TCP connection.
pub struct Connection {
    /// The sending end.
    pub sender: Sender,
    /// The receiving end.
    pub receiver: Receiver,
    /// Packets that the receiver has sent, modulo 2^32.
    pub acks_sent: u32,
    /// The timestamp that the next segment echoes, and the last one echoed; zero for none. Only of stacks that follow Linux.
    pub echo: u32,
    /// See [`Self::echo`].
    pub last_echo: u32,
    /// One more than the number of the first SYN that the receiver has got, whose timestamp its answers echo; zero before.
    pub first_syn: u32,
    /// The entropy values of its packets, if its stack has a policy and its packets have several paths.
    pub entropy: Option<Box<EntropyEnds>>,
    /// Its application; `None` if the application writes everything at the start.
    pub writer: Option<Box<Writer>>,
}

impl Connection {
    /// The counters now. `last_segment` is the last segment, or `u32::MAX`.
    pub fn counters(&self, now: Time, last_segment: u32) -> FlowCounters {
        FlowCounters {
            arrived: self.receiver.counters().first_arrivals() as u32
                - u32::from(self.receiver.has(last_segment.saturating_add(1))), // a FIN
            has_last: self.receiver.has(last_segment),
            longest_stall: self.sender.scoreboard().longest_stall(now),
            sender: self.sender.counters(),
            limits: self.sender.limit_times(now),
            receiver: self.receiver.counters(),
            srtt_s: self.sender.rtt().smoothed().map(|rtt| rtt.as_secs()),
            min_rtt_s: self.sender.rtt().minimum().map(|rtt| rtt.as_secs()),
            cwnd: Some(self.sender.congestion().cwnd()),
            states: self.sender.congestion().state_times().into(),
        }
    }

    /// Restarts peaks and stalls at the end of the warm-up.
    pub fn forget_peaks(&mut self) {
        self.sender.forget_stalls();
        self.receiver.forget_peaks();
    }
}

/// A UDP flow.
pub struct Datagrams {
    /// Its application.
    pub writer: Writer,
    /// Packets sent.
    pub sent: u32,
    /// Packets that arrived.
    pub arrived: u32,
    /// Their order.
    pub order: Reordering,
}

impl Datagrams {
    /// Counts the arrival of the packet with this number.
    #[inline]
    pub fn take(&mut self, number: u32) {
        self.arrived += 1;
        self.order.on_arrival(number);
    }

    fn counters(&self) -> FlowCounters {
        let order = self.order.counts();
        FlowCounters {
            arrived: self.arrived,
            sender: SenderCounters { sent: u64::from(self.sent), ..SenderCounters::default() },
            receiver: ReceiverCounters {
                arrivals: u64::from(self.arrived),
                reordered: order.reordered,
                reordering_extent_max: order.extent_max,
                reordering_extent_sum: order.extent_sum,
                ..ReceiverCounters::default()
            },
            ..FlowCounters::default()
        }
    }
}

/// The state of a flow.
pub enum FlowState {
    /// It has not started.
    Pending,
    /// A TCP flow that has started.
    Tcp(Box<Connection>),
    /// A UDP flow that has started.
    Udp(Box<Datagrams>),
    /// A message that has started.
    Message(Box<Message>),
    /// A connection of several subflows that has started. These are flows behind all others.
    Multipath(Box<Multipath>),
    /// A subflow of the connection that is this flow.
    Subflow(u32),
    /// All data is delivered and acknowledged. Only the counters remain.
    Finished(Box<FlowCounters>),
}

/// The counters of a flow.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FlowCounters {
    /// Segments (TCP) or packets (UDP) that arrived for the first time.
    pub arrived: u32,
    /// Whether the flow's last segment is among them.
    pub has_last: bool,
    /// The longest stall ([`crate::tcp::scoreboard::Scoreboard::longest_stall`], [`crate::uet::sender::Sender::longest_stall`]).
    pub longest_stall: Duration,
    /// The sender's counters.
    pub sender: SenderCounters,
    /// How long each limit has held the sender back; no time for a flow of datagrams.
    pub limits: LimitTimes,
    /// The receiver's counters.
    pub receiver: ReceiverCounters,
    /// Smoothed RTT, seconds; of a connection with subflows, the lowest of theirs.
    pub srtt_s: Option<f64>,
    /// Least RTT, seconds.
    pub min_rtt_s: Option<f64>,
    /// Congestion window, segments; the sum of the subflows'.
    pub cwnd: Option<f64>,
    /// The time in each state of its congestion control; empty if that reports none.
    pub states: Box<[StateTime]>,
}

impl FlowState {
    /// The counters now. `last_segment` is the flow's last segment, or `u32::MAX`.
    pub fn counters(&self, now: Time, last_segment: u32) -> FlowCounters {
        match self {
            FlowState::Pending | FlowState::Subflow(_) => FlowCounters::default(),
            FlowState::Finished(counters) => (**counters).clone(),
            FlowState::Multipath(connection) => connection.counters(now, last_segment),
            FlowState::Tcp(connection) => connection.counters(now, last_segment),
            FlowState::Udp(datagrams) => datagrams.counters(),
            FlowState::Message(message) => message.counters(now, last_segment),
        }
    }

    /// Restarts peaks and stalls at the end of the warm-up.
    pub fn forget_peaks(&mut self) {
        match self {
            FlowState::Pending | FlowState::Udp(_) | FlowState::Subflow(_) => {}
            FlowState::Multipath(connection) => connection.forget_peaks(),
            FlowState::Message(message) => message.forget_peaks(),
            FlowState::Tcp(connection) => connection.forget_peaks(),
            FlowState::Finished(counters) => {
                counters.longest_stall = Duration::ZERO;
                counters.receiver.reassembly_max = 0;
            }
        }
    }
}

/// A flow.
pub struct Flow {
    /// Its constant properties.
    pub identity: FlowIdentity,
    /// Its state.
    pub state: FlowState,
    /// When its last byte was delivered to the receiving application, or [`Time::NEVER`].
    pub end: Time,
}

impl Flow {
    /// A flow that has not started.
    pub fn new(identity: FlowIdentity) -> Flow {
        Flow { identity, state: FlowState::Pending, end: Time::NEVER }
    }

    /// Whether the flow's last byte was delivered.
    #[inline(always)]
    pub fn has_ended(&self) -> bool {
        self.end != Time::NEVER
    }
}
