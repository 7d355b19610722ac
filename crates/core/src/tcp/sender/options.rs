//! The switches of a sender, which follow from its stack, its congestion control and its detector. All senders of a stack share them.

use super::Sender;
use crate::spec::{SpuriousResponse, StackSpec};
use crate::tcp::congestion::Snapshot;
use crate::tcp::detection::shortcuts::DetectorShortcuts;
use crate::tcp::rtt::TimeoutBounds;
use std::sync::Arc;

/// State that [predicted ACKs](crate::tcp::detection::shortcuts) change in a sender, besides its scoreboard and RTT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prediction {
    /// No ACK is predicted. Without SACK, a cumulative ACK may follow uncounted duplicates. A control that observes the connection sees
    /// each ACK. A control that may request a reduction is called after each ACK.
    Off,
    /// Rate sampler, detector and congestion control.
    Sampled,
    /// Detector and congestion control.
    Detected,
    /// The congestion control alone.
    Growth,
}

/// Segments by which an ACK grows the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// Those that it passes (RFC 5681 section 3.1). After a timeout it also passes segments that arrived before: it counts as one (RFC 3465
    /// section 2.3).
    Passed,
    /// One, if it passes any (RFC 2581 section 3.1).
    OnePerAck,
    /// Those that it newly reports, also when it ends fast recovery.
    Reported,
}

/// Where those whose rules a sender may follow differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) growth: Growth,
    /// PRR counts ACKs that deliver something, and only safe ones let it slow-start (SafeACK of RFC 9937 section 6.2).
    pub(super) safe_acks: bool,
    /// Without SACK, only the first partial ACK restarts the retransmission timer (RFC 6582 section 3.2 step 3), and not every one
    /// ("Slow-but-Steady", section 4).
    pub(super) restarts_timer_once: bool,
    /// A reduction without a loss takes a round trip, and not an instant (`tcp_enter_cwr`).
    pub(super) spreads_reductions: bool,
    /// After this number of SYNs, the initial window is one segment (RFC 5681 section 3.1: one; `tcp_init_transfer`: two).
    pub(super) harmless_syns: u32,
    /// Episodes end by evidence of reordering, and not by the RFCs' rules alone. It needs SACK.
    pub(super) evidence: bool,
    /// The SYN-ACK echoes a timestamp, and has an ACK of its own. Otherwise the first segment answers it.
    pub(super) timed_handshake: bool,
}

/// Those of the RFCs.
pub(super) const RFC_RULES: Rules = Rules {
    growth: Growth::Passed,
    safe_acks: false,
    restarts_timer_once: true,
    spreads_reductions: false,
    harmless_syns: 1,
    evidence: false,
    timed_handshake: false,
};

/// The switches that the sender reads while it runs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Options {
    pub(super) sack: bool,
    pub(super) f_rto: bool,
    pub(super) limited_transmit: bool,
    pub(super) ecn: bool,
    /// The receiver stops its echo at the answer to a mark (CWR, RFC 3168).
    pub(super) answers_marks: bool,
    /// See [`Demands::grows_beside_marks`](crate::tcp::congestion::Demands::grows_beside_marks).
    pub(super) grows_beside_marks: bool,
    pub(super) pacing: bool,
    pub(super) ends_recovery_at_partial_ack: bool,
    pub(super) spurious: SpuriousResponse,
    pub(super) rules: Rules,
    pub(super) restart_after_idle: bool,
    /// A paced sender sends several segments at once.
    pub(super) quanta: bool,
    pub(super) prediction: Prediction,
    /// The detector has no deadline but that of the retransmission timer.
    pub(super) only_the_timer: bool,
    /// The stack or the congestion control paces.
    pub(super) paces: bool,
    /// The congestion control observes the connection.
    pub(super) observed: bool,
    /// The congestion control may request a reduction.
    pub(super) backs_off: bool,
    /// Neither pacing nor a rate sampler nor a congestion mark's answer nor the congestion control needs to see every segment sent.
    pub(super) bursts: bool,
    pub(super) wire_bytes: u32,
    pub(super) payload: u32,
    pub(super) initial_window: u32,
}

impl Options {
    pub(super) fn new(
        stack: &StackSpec,
        rules: Rules,
        congestion: &dyn Snapshot,
        detector: &dyn DetectorShortcuts,
    ) -> Options {
        let paces = stack.pacing || congestion.pacing_rate().is_some();
        let (observed, backs_off) = (congestion.observes_connection(), congestion.backs_off().is_some());
        let samples_rate = congestion.demands().rate_samples;
        let prediction = match detector.learns_from_predicted_acks() {
            _ if !stack.sack || observed || backs_off => Prediction::Off,
            _ if samples_rate => Prediction::Sampled,
            true => Prediction::Detected,
            false => Prediction::Growth,
        };
        Options {
            sack: stack.sack,
            f_rto: stack.f_rto,
            limited_transmit: stack.limited_transmit,
            ecn: stack.ecn,
            answers_marks: stack.ecn && !stack.ecn_echo.is_accurate(),
            grows_beside_marks: congestion.demands().grows_beside_marks,
            pacing: stack.pacing,
            ends_recovery_at_partial_ack: !stack.sack && congestion.demands().ends_recovery_at_partial_ack,
            spurious: stack.spurious,
            rules,
            restart_after_idle: stack.restart_after_idle,
            quanta: stack.sends_quanta(),
            prediction,
            only_the_timer: detector.has_only_the_timer(),
            paces,
            observed,
            backs_off,
            bursts: !paces && !samples_rate && !stack.ecn && !observed,
            wire_bytes: stack.mss + stack.header,
            payload: stack.mss,
            initial_window: stack.initial_window,
        }
    }
}

/// Settings that the senders of a stack have in common.
pub struct CommonSettings(Arc<Options>, Arc<TimeoutBounds>);

impl Sender {
    /// Keeps its settings in common with the sender that came here last, if they are the same.
    pub fn share_settings(&mut self, common: &mut Option<CommonSettings>) {
        match common {
            Some(CommonSettings(options, bounds)) if *options == self.options && bounds == self.rtt.bounds_mut() => {
                self.options.clone_from(options);
                self.rtt.bounds_mut().clone_from(bounds);
            }
            _ => *common = Some(CommonSettings(self.options.clone(), self.rtt.bounds_mut().clone())),
        }
    }
}
