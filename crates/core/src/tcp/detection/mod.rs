//! Loss detection: which segments count as lost, when, and how severe the signal is.
//!
//! To add a detector: a file here with its formulas, its [`crate::parameters!`] and its state machine, and one line in
//! the registry below.

use super::events::AckEvent;
use super::rtt::RttEstimate;
use super::scoreboard::{Delivered, Scoreboard};
use crate::units::{Duration, Time};
use shortcuts::DetectorShortcuts;

pub mod dup_ack;
pub mod fast_rto;
pub mod path_count;
pub mod rack_tlp;
pub mod reordering;
pub mod rr_tcp;
pub mod shortcuts;
pub mod tcp_ba;
pub mod tcp_ncr;
pub mod tcp_pr;
pub mod timer;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod script;

/// Severity that a detector claims, apart from the segments that it marks as lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Signal {
    /// The congestion control need not know anything.
    #[default]
    None,
    /// Segments were lost; the sender reduces the window once per episode. Nothing is marked if a probe has repaired the loss
    /// (RFC 8985 section 7.4.2).
    Loss,
    /// Segments were lost that were sent after the last reduction. They begin an episode of their own, even if the last one is still
    /// in progress.
    NewLoss,
    /// The retransmission timer expired: nothing is known of the path any more. The first segment is marked; with RACK, not all
    /// that are in flight (RFC 8985 section 6.3).
    Timeout,
}

/// How an episode of recovery ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EpisodeEnd {
    /// Its retransmissions were needed, as far as is known.
    Repaired,
    /// DSACKs report all its retransmissions as duplicates.
    Duplicates,
    /// Nothing was lost, by echoed timestamps or F-RTO, or by DSACKs after the end of the episode.
    Spurious,
}

/// The decision of a detector. The lost segments are marked on the scoreboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verdict {
    /// The severity.
    pub signal: Signal,
    /// Whether to send a probe beyond the window: new data, or else the highest outstanding segment again (RFC 8985
    /// section 7.3).
    pub probe: bool,
    /// Segments that have left the network and still count against the window until the next verdict. A detector withholds them
    /// while it is open whether a segment is late or lost. Without them, every segment that a duplicate ACK reports allows a new
    /// one until the detector decides (RFC 3042). Loss recovery ignores it.
    pub withheld: u32,
}

impl Verdict {
    /// Only a signal.
    pub fn of(signal: Signal) -> Verdict {
        Verdict { signal, ..Verdict::default() }
    }
}

/// A loss detector. It reads the scoreboard and marks losses on it, and nothing else.
pub trait LossDetector: Send + Sync {
    /// Called when an ACK has arrived. Its delivered segments are on the scoreboard, and the RTT estimate has its sample.
    fn on_ack(&mut self, ack: &AckEvent, delivered: &Delivered, board: &mut Scoreboard, rtt: &RttEstimate) -> Verdict;

    /// The deadline if no ACK arrives first. The sender reads it after every change.
    fn deadline(&self, board: &Scoreboard, rtt: &RttEstimate) -> Option<Time>;

    /// Called at the deadline. After a [`Signal::Timeout`], the sender backs off the retransmission timer and restarts it.
    fn on_deadline(&mut self, now: Time, board: &mut Scoreboard, rtt: &RttEstimate) -> Verdict;

    /// Called when the handshake gives an RTT.
    fn on_handshake(&mut self, _now: Time, _round_trip: Duration) {}

    /// The receiver reported a duplicate of this segment (DSACK): its retransmission was spurious. Called when its ACK is on the
    /// scoreboard, before [`Self::on_ack`] for the same ACK.
    fn on_spurious(&mut self, _now: Time, _segment: u32, _board: &Scoreboard) {}

    /// An undo unmarks: segments that were marked as lost, and not sent again, count as in flight.
    fn on_unmarked(&mut self, _board: &Scoreboard) {}

    /// Called when an echoed timestamp shows that a retransmitted segment was late; only with [evidence](DetectorContext::evidence).
    fn on_reordering(&mut self) {}

    /// Called when an episode of recovery ends; only with [evidence](DetectorContext::evidence).
    fn on_episode_end(&mut self, _end: EpisodeEnd) {}

    /// Whether it reads the order of sending ([`Scoreboard::in_sending_order`], [`Scoreboard::oldest_in_flight`]), which the
    /// scoreboard then records.
    fn needs_sending_order(&self) -> bool {
        false
    }
}

/// Properties of the flow that a detector may need when it starts.
#[derive(Debug, Clone, Copy)]
pub struct DetectorContext {
    /// Whether the receiver sends selective acknowledgements.
    pub sack: bool,
    /// Whether the sender sees evidence in ACKs ([`Delivered`]'s), and judges episodes by it.
    pub evidence: bool,
    /// How many paths the routing offers the flow.
    pub paths: u32,
}

crate::algorithm_registry! {
    /// A loss detector by name, with its parameters.
    pub enum DetectionSpec builds dyn DetectorShortcuts from DetectorContext {
        /// A threshold of duplicate ACKs (RFC 5681, RFC 6675 with SACK, RFC 6582 without) and the retransmission timer (RFC 6298).
        DupAck = "dup-ack": dup_ack::DupAck,
        /// Duplicate ACKs by the number of paths N that the routing offers: 3(1 + floor(log2 N)) (Lee, Park and Choi 2002).
        PathCount = "path-count": path_count::PathCount,
        /// Duplicate ACKs by a percentile of the reordering seen, adapted by cost (RR-TCP, Zhang, Karp, Floyd and Peterson 2003).
        RrTcp = "rr-tcp": rr_tcp::RrTcp,
        /// Duplicate ACKs, more of them after each spurious retransmission, or a delay (Blanton and Allman 2002).
        TcpBa = "tcp-ba": tcp_ba::TcpBa,
        /// Duplicate ACKs of about a round trip, with extended limited transmit (TCP-NCR, RFC 4653).
        TcpNcr = "tcp-ncr": tcp_ncr::TcpNcr,
        /// A segment's age beyond three times the greatest recent RTT, no duplicate ACKs (TCP-PR, Bohacek et al. 2003).
        TcpPr = "tcp-pr": tcp_pr::TcpPr without DetectorShortcuts,
        /// Recent acknowledgement and tail loss probe (RFC 8985) and the retransmission timer (RFC 6298); made for SACK.
        RackTlp = "rack-tlp": rack_tlp::RackTlp,
        /// MPRC's fast retransmission timeout: a segment is lost when its own age passes FastRTO, whatever overtakes it (Chang 2024).
        FastRto = "fast-rto": fast_rto::FastRto,
    }
}
