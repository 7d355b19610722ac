//! The flows of a run: who they are, what they are doing, what they have done.

use crate::packet::forwarding::RouteRef;
use crate::packet::forwarding::select::PacketKey;
use crate::spec::NodeId;
use crate::tcp::congestion::occupancy::StateTime;
use crate::tcp::receiver::{Receiver, ReceiverCounters};
use crate::tcp::sender::{Sender, SenderCounters};
use crate::traffic::application::Application;
use crate::units::{Duration, Time};

/// What does not change of a flow.
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
    /// How its data leaves.
    pub forward: RouteRef,
    /// How its ACKs leave.
    pub reverse: RouteRef,
}

impl FlowIdentity {
    /// What a selector may look at, for a packet of this flow.
    #[inline]
    pub fn key(&self, flow: u32, reverse: bool, number: u32) -> PacketKey {
        let (src, dst) = if reverse { (self.dst, self.src) } else { (self.src, self.dst) };
        PacketKey { flow, group: self.group, src, dst, reverse, number }
    }
}

/// An application that writes during the run, and its next write.
pub struct Writer {
    application: Application,
    due: Option<(Time, u32)>,
}

impl Writer {
    /// An application that starts now.
    pub fn new(mut application: Application, now: Time) -> Writer {
        let due = application.next_write().map(|(wait, units)| (now + wait, units));
        Writer { application, due }
    }

    /// When it writes next.
    pub fn next(&self) -> Option<Time> {
        self.due.map(|(at, _)| at)
    }

    /// The write that is due: so many segments or datagrams.
    pub fn write(&mut self) -> u32 {
        let Some((at, units)) = self.due else { return 0 };
        self.due = self.application.next_write().map(|(wait, units)| (at + wait, units));
        units
    }
}

/// Both ends of a TCP connection.
pub struct Connection {
    /// The sending end.
    pub sender: Sender,
    /// The receiving end.
    pub receiver: Receiver,
    /// Packets that the receiver has sent.
    pub acks_sent: u32,
    /// What its application writes, if it does not write all at once.
    pub writer: Option<Box<Writer>>,
}

/// A flow of datagrams.
pub struct Datagrams {
    /// What its application writes.
    pub writer: Writer,
    /// Packets sent.
    pub sent: u32,
    /// Packets that arrived.
    pub arrived: u32,
}

/// What a flow is doing.
pub enum FlowState {
    /// It has not started.
    Pending,
    /// A TCP connection.
    Tcp(Box<Connection>),
    /// Datagrams.
    Udp(Box<Datagrams>),
    /// Everything is delivered and acknowledged; what it did stays.
    Finished(Box<FlowCounters>),
}

/// What a flow has done so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FlowCounters {
    /// Segments (TCP) or packets (UDP) that arrived for the first time.
    pub arrived: u32,
    /// Whether the flow's last segment is among them.
    pub has_last: bool,
    /// The longest stall ([`crate::tcp::scoreboard::Scoreboard::longest_stall`]).
    pub longest_stall: Duration,
    /// Of the sender.
    pub sender: SenderCounters,
    /// Of the receiver.
    pub receiver: ReceiverCounters,
    /// Smoothed RTT, seconds.
    pub srtt_s: Option<f64>,
    /// Least RTT, seconds.
    pub min_rtt_s: Option<f64>,
    /// Congestion window, segments.
    pub cwnd: Option<f64>,
    /// How long its congestion control has been in each of its states, if it reports that.
    pub states: Box<[StateTime]>,
}

impl FlowState {
    /// What the flow has done so far, which ends with this segment if it ends.
    pub fn counters(&self, now: Time, last_segment: u32) -> FlowCounters {
        match self {
            FlowState::Pending => FlowCounters::default(),
            FlowState::Finished(counters) => (**counters).clone(),
            FlowState::Tcp(connection) => FlowCounters {
                arrived: connection.receiver.counters().first_arrivals() as u32,
                has_last: connection.receiver.has(last_segment),
                longest_stall: connection.sender.scoreboard().longest_stall(now),
                sender: connection.sender.counters(),
                receiver: connection.receiver.counters(),
                srtt_s: connection.sender.rtt().smoothed().map(|rtt| rtt.as_secs()),
                min_rtt_s: connection.sender.rtt().minimum().map(|rtt| rtt.as_secs()),
                cwnd: Some(connection.sender.congestion().cwnd()),
                states: connection.sender.congestion().state_times().into(),
            },
            FlowState::Udp(datagrams) => FlowCounters {
                arrived: datagrams.arrived,
                sender: SenderCounters { sent: u64::from(datagrams.sent), ..SenderCounters::default() },
                receiver: ReceiverCounters { arrivals: u64::from(datagrams.arrived), ..ReceiverCounters::default() },
                ..FlowCounters::default()
            },
        }
    }

    /// Begins to look for peaks and stalls anew: the warm-up is over.
    pub fn forget_peaks(&mut self) {
        match self {
            FlowState::Pending | FlowState::Udp(_) => {}
            FlowState::Tcp(connection) => {
                connection.sender.forget_stalls();
                connection.receiver.forget_peaks();
            }
            FlowState::Finished(counters) => {
                counters.longest_stall = Duration::ZERO;
                counters.receiver.reassembly_max = 0;
            }
        }
    }
}

/// A flow.
pub struct Flow {
    /// Who it is.
    pub identity: FlowIdentity,
    /// What it is doing.
    pub state: FlowState,
    /// When its last byte was delivered to the receiving application, or [`Time::NEVER`].
    pub end: Time,
}

impl Flow {
    /// Whether its last byte was delivered.
    #[inline(always)]
    pub fn has_ended(&self) -> bool {
        self.end != Time::NEVER
    }
}
