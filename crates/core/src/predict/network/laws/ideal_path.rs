//! The path over which a congestion control is observed. It acknowledges every window in one round trip, and has only the losses that the caller
//! requests.
//!
//! Controls that come with the scenario see the events that the packet engine's sender generates. These are duplicate ACKs in recovery, the losses
//! that an ACK reveals, and the connection. Controls of the registry do not need them.

use super::law::segments_per_ack;
use super::provided::is_provided;
use crate::rng::{Purpose, Stream};
use crate::spec::{Follows, StackSpec};
use crate::tcp::congestion::FlowContext;
use crate::tcp::congestion::Snapshot;
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind, Connection};
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Time};

/// Greatest number of ACKs of a round trip, for a control that counts segments.
pub const FEW: u32 = 4;

/// The number of ACKs of a round trip.
#[derive(Debug, Clone, Copy)]
pub enum Acks {
    /// The number that the receiver sends.
    All,
    /// At most this number. Each ACK acknowledges an equal part of the window.
    Few(u32),
}

/// The context of a flow of this stack that has not sent yet, for its congestion control.
pub fn flow_context(stack: &StackSpec) -> FlowContext {
    FlowContext {
        initial_window: 10,
        slow_start: stack.slow_start,
        payload: stack.mss,
        wire_bytes: stack.mss + stack.header,
        pacing: stack.pacing,
        hz: stack.hz,
        random: Stream::new(1, Purpose::Congestion, 0),
        coupling: None,
    }
}

/// A sender, and a path that loses nothing by itself.
pub struct IdealPath {
    control: Box<dyn Snapshot>,
    rtt: RttEstimate,
    /// Duration of the next round trip.
    pub round_trip: Duration,
    now: Time,
    /// Growth credit for each acknowledged segment.
    counted: f64,
    segments_per_ack: f64,
    acks_of_round: Acks,
    /// ACKs received until now.
    pub acks: u64,
    /// Whether the control comes with the scenario.
    is_provided: bool,
    /// Segments acknowledged cumulatively.
    una: u64,
    losses: u32,
}

impl IdealPath {
    /// Builds a path of this RTT, after one round trip of `least_s`.
    pub fn new(stack: &StackSpec, rtt_s: f64, least_s: f64, acks_of_round: Acks) -> IdealPath {
        let segments_per_ack = segments_per_ack(&stack.ack);
        let counted = if stack.follows == Follows::Ns2 { 1.0 / segments_per_ack } else { 1.0 };
        let mut path = IdealPath {
            control: stack.congestion.build(flow_context(stack)),
            rtt: RttEstimate::new(stack.min_rto, stack.max_rto, stack.initial_rto),
            round_trip: Duration::from_secs_f64(least_s),
            now: Time::ZERO,
            counted,
            segments_per_ack,
            acks_of_round,
            acks: 0,
            is_provided: is_provided(&stack.congestion),
            una: 0,
            losses: 0,
        };
        path.round(false, false); // the least RTT
        path.round_trip = Duration::from_secs_f64(rtt_s);
        path
    }

    /// The window in whole segments.
    pub fn window(&self) -> f64 {
        self.control.cwnd().floor().max(1.0)
    }

    /// The control's own window, segments.
    pub fn cwnd(&self) -> f64 {
        self.control.cwnd().max(1.0)
    }

    /// Whether the sequence numbers have passed half the range of a flow.
    pub fn is_worn_out(&self) -> bool {
        self.una > u64::from(u32::MAX / 2)
    }

    /// Simulates a round trip, whose ACKs acknowledge the whole window.
    pub fn round(&mut self, marked: bool, in_recovery: bool) {
        let window = self.window() as u32;
        let acks = match self.acks_of_round {
            Acks::All => (f64::from(window) / self.segments_per_ack).ceil() as u32,
            Acks::Few(most) => window.min(most),
        };
        self.acks += u64::from(acks);
        let mut acknowledged = 0;
        for ack in 0..acks {
            let until = (u64::from(window) * u64::from(ack + 1) / u64::from(acks)) as u32;
            let delivered = until - acknowledged;
            acknowledged = until;
            self.now += self.round_trip.scale(1.0 / f64::from(acks));
            self.rtt.sample(self.round_trip);
            let growth = if in_recovery { 0 } else { (f64::from(delivered) * self.counted).round() as u32 };
            let event = AckEvent {
                now: self.now,
                delivered,
                cumulative: delivered,
                growth,
                may_grow: growth,
                prior_in_flight: window,
                in_flight: window - delivered,
                outstanding: window - delivered,
                rtt: Some(self.round_trip),
                round_start: ack == 0,
                in_recovery,
                ecn_echo: marked,
                marked: delivered * u32::from(marked),
                ..AckEvent::PREDICTED
            };
            let event = if self.is_provided { self.as_the_sender_shows(event, acknowledged) } else { event };
            self.control.on_ack(&event, &self.rtt);
        }
        if in_recovery {
            self.una += u64::from(window);
            self.show(window, 0);
        }
        // The reduction after a mark ends in the same way as a recovery.
        if in_recovery || marked {
            self.control.on_recovered();
        }
    }

    /// Returns the ACK with the details that the packet engine's sender adds, after the control has seen the connection. `acknowledged` counts the
    /// segments of this round trip that have arrived.
    fn as_the_sender_shows(&mut self, event: AckEvent, acknowledged: u32) -> AckEvent {
        if event.in_recovery {
            self.show(event.in_flight, acknowledged);
            // The ACK reports segments sent after the lost one.
            let newly_lost = u32::from(event.round_start);
            return AckEvent { cumulative: 0, advanced: false, duplicate: true, newly_lost, ..event };
        }
        self.una += u64::from(event.delivered);
        self.show(event.in_flight, 0);
        // RFC 3168 section 6.1.2: an echo of congestion does not open the window.
        AckEvent { growth: if event.ecn_echo { 0 } else { event.growth }, ..event }
    }

    /// Shows the connection to a control that observes it.
    fn show(&mut self, in_flight: u32, sacked: u32) {
        if !self.control.observes_connection() {
            return;
        }
        let una = self.una as u32;
        self.control.on_connection(&Connection {
            now: self.now,
            una,
            next: una + in_flight + sacked,
            app_limited: 0,
            sacked,
            lost: 0,
            in_flight,
            marked_lost: self.losses,
            retransmits: self.losses,
            max_outstanding: in_flight,
            window_limited: true,
            last_sent: self.now,
            next_send: self.now,
            rtt: &self.rtt,
        });
    }

    /// Signals a congestion event; returns the window before and after it.
    pub fn congestion(&mut self, marked: bool) -> (f64, f64) {
        let before = self.cwnd();
        let kind = if marked { CongestionKind::EcnEcho } else { CongestionKind::Loss };
        let event = CongestionEvent { now: self.now, kind, prior_in_flight: self.window() as u32 };
        self.losses += u32::from(!marked);
        self.show(event.prior_in_flight, 0);
        self.control.on_congestion(&event, &self.rtt);
        (before, self.cwnd())
    }
}
