//! ACK policies: when the receiver acknowledges.
//!
//! To add one: a file here with its [`crate::parameters!`] and its state machine, and one line in the registry below.

use crate::spec::StackSpec;
use crate::tcp::kernel_clock::KernelClock;
use crate::units::{Duration, Time};

pub mod delayed;
pub mod immediate;
pub mod modified_delayed;
pub mod quick_ack;
pub mod stretch;

/// A data segment, as the receiver's policy sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When it arrived.
    pub now: Time,
    /// Whether it was the next one expected, with nothing queued beyond it.
    pub in_order: bool,
    /// Whether it filled the first hole while later data was queued.
    pub filled_hole: bool,
    /// Whether the receiver had it already.
    pub duplicate: bool,
    /// Whether the sender marked it as the end of what the application has written (PSH).
    pub push: bool,
}

/// When to acknowledge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At once.
    Now,
    /// Not later than this, unless another segment decides earlier.
    By(Time),
}

/// An ACK policy.
pub trait AckPolicy: Send + Sync {
    /// Called when a data segment arrives.
    fn on_segment(&mut self, arrival: &Arrival) -> When;

    /// Called when the arriving segment makes the receive window grow.
    fn on_window_growth(&mut self) {}

    /// Called when the arriving segment begins an echo of congestion until it is answered (RFC 3168), or else announces the sender's answer
    /// (CWR).
    fn on_echo_change(&mut self, _begins: bool) {}

    /// Called when the first segment arrives. The argument is the round-trip time of the SYN-ACK.
    fn on_handshake(&mut self, _round_trip: Duration) {}

    /// Called when the receiver has measured this round-trip time, before a segment out of order.
    fn on_round_trip(&mut self, _round_trip: Duration) {}

    /// Called when an ACK was sent: by this policy, at a deadline, or by the receiver.
    fn on_ack_sent(&mut self, _now: Time) {}

    /// Whether the pending ACK acknowledges several segments out of order. Such an ACK must be sent before it would lack a
    /// SACK block.
    fn is_compressing(&self) -> bool {
        false
    }

    /// Called after [`Self::on_segment`] if its ACK fills a hole before another one, but does not move the window's right edge as far.
    fn on_repeated(&mut self) {}

    /// Called when the ACK of the last segment is left to the next one.
    fn on_unanswered(&mut self) {}

    /// Whether the policy answers every segment at once and has no state, so that the receiver need not ask it.
    fn is_immediate(&self) -> bool {
        false
    }
}

/// Properties of the flow that an ACK policy may need when it starts.
#[derive(Debug, Clone, Copy)]
pub struct ReceiverContext {
    /// The window that the receiver advertises, segments.
    pub window: u32,
    /// The clock of the receiver's kernel, if it has one.
    pub clock: Option<KernelClock>,
    /// The least that the retransmission timeout exceeds the RTT.
    pub rto_margin: Duration,
}

impl ReceiverContext {
    /// The context of a flow with this stack.
    pub fn of_stack(stack: &StackSpec) -> ReceiverContext {
        ReceiverContext { window: stack.window_segments(), clock: stack.clock(), rto_margin: stack.rto_granularity }
    }

    /// The context of a flow with this window, as Linux's by default.
    #[cfg(test)]
    pub fn of_window(window: u32) -> ReceiverContext {
        ReceiverContext { window, clock: None, rto_margin: Duration::from_millis(200) }
    }
}

crate::algorithm_registry! {
    /// An ACK policy by name, with its parameters.
    pub enum AckSpec builds dyn AckPolicy from ReceiverContext {
        /// An ACK for every segment.
        Immediate = "immediate": immediate::Immediate,
        /// For every second segment or after a timer; at once out of order (RFC 1122, RFC 5681 section 4.2).
        Delayed = "delayed": delayed::Delayed,
        /// For every second segment or after a timer, whatever the order of arrival (Lee, Park and Choi).
        ModifiedDelayed = "modified-delayed": modified_delayed::ModifiedDelayed,
        /// Linux's: every one of the first segments, then every second one or after a timer that follows their distance.
        QuickAck = "quick-ack": quick_ack::QuickAck,
        /// Few ACKs: for a number of segments, but not sooner after the last one than an interval (TACK; Li et al. 2020).
        Stretch = "stretch": stretch::Stretch,
    }
}
