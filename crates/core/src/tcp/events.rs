//! Events that a sender reports to its policies.

use super::rtt::RttEstimate;
use crate::units::{Duration, Time};

/// An ACK, as the scoreboard understood it. Built once by the sender; congestion control and detection read it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AckEvent {
    /// When it arrived.
    pub now: Time,
    /// Segments that it newly reports as delivered, cumulatively or selectively.
    pub delivered: u32,
    /// Segments that the cumulative acknowledgement passes, those reported selectively before included.
    pub cumulative: u32,
    /// Segments that grow the window: those passed by the cumulative acknowledgement, but none during recovery or while the
    /// window was not the limit.
    pub growth: u32,
    /// The same growth, even if the window was not the limit.
    pub may_grow: u32,
    /// Whether the cumulative acknowledgement moved.
    pub advanced: bool,
    /// Whether it is a duplicate: nothing was acknowledged, nothing new was sent, and data is outstanding.
    pub duplicate: bool,
    /// Segments that it made the detector mark as lost (zero while the detector looks at it).
    pub newly_lost: u32,
    /// Segments in flight before it.
    pub prior_in_flight: u32,
    /// Segments in flight after it.
    pub in_flight: u32,
    /// Segments after it that are not cumulatively acknowledged.
    pub outstanding: u32,
    /// The RTT of the newest segment that it delivered, if that was sent only once, or the RTT by an echoed timestamp.
    pub rtt: Option<Duration>,
    /// Sample of the delivery rate, if the congestion control wants samples.
    pub rate: Option<RateSample>,
    /// Whether it acknowledges a segment sent after the previous round trip ended. Such an ACK begins a new round.
    pub round_start: bool,
    /// Whether the sender is in loss recovery.
    pub in_recovery: bool,
    /// Whether it reports a mark: it echoes congestion experienced (RFC 3168), or its counters have grown (AccECN).
    pub ecn_echo: bool,
    /// Segments that it reports as marked: all that it delivers or none by an echo, which is right with DCTCP's receiver; a number of its own by
    /// AccECN.
    pub marked: u32,
}

impl AckEvent {
    /// A [predicted ACK](super::detection::shortcuts). Times, flight and round are still to be set.
    pub const PREDICTED: AckEvent = AckEvent {
        now: Time::ZERO,
        delivered: 1,
        cumulative: 1,
        growth: 0,
        may_grow: 1,
        advanced: true,
        duplicate: false,
        newly_lost: 0,
        prior_in_flight: 0,
        in_flight: 0,
        outstanding: 0,
        rtt: None,
        rate: None,
        round_start: false,
        in_recovery: false,
        ecn_echo: false,
        marked: 0,
    };
}

/// Delivery rate over the last segment's flight (draft-ietf-ccwg-bbr, section 4.1; also draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateSample {
    /// Segments delivered over `interval`.
    pub delivered: u32,
    /// The longer of the send and the ACK interval.
    pub interval: Duration,
    /// The flow's total of delivered segments when the segment was sent.
    pub prior_delivered: u64,
    /// The flow's total of delivered segments now.
    pub total_delivered: u64,
    /// Whether the application had left the window unfilled when the segment was sent.
    pub app_limited: bool,
    /// Segments in flight just after the segment was sent, itself included.
    pub sent_in_flight: u32,
    /// Segments marked lost between the sending of the segment and now.
    pub lost: u32,
    /// The flow's total of segments marked lost (modulo 2^32), without the losses that this ACK reveals.
    pub total_lost: u32,
}

/// Why the window is to shrink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CongestionKind {
    /// A segment was lost: the first of its episode.
    Loss,
    /// The retransmission timer expired: all in flight is taken for lost. `repeated` if the previous one has not been answered.
    Timeout {
        /// Whether it belongs to the previous reduction: it follows an expiry that no new acknowledgement answered, or happens within fast
        /// recovery that has reduced the window.
        repeated: bool,
    },
    /// The network marked a segment (RFC 3168), or the congestion control [asks for a reduction](super::congestion::linux::LinuxControl::backs_off); at most once a round trip.
    EcnEcho,
}

/// A congestion signal; the sender allows one reduction per episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CongestionEvent {
    /// When it was recognised.
    pub now: Time,
    /// Why.
    pub kind: CongestionKind,
    /// Segments in flight before those newly marked lost were taken out.
    pub prior_in_flight: u32,
}

/// The connection, as Linux keeps it in its socket, for [controls that observe it](super::congestion::linux::LinuxControl::observes_connection).
#[derive(Debug, Clone, Copy)]
pub struct Connection<'a> {
    /// The time.
    pub now: Time,
    /// The first segment not cumulatively acknowledged.
    pub una: u32,
    /// The first segment never sent.
    pub next: u32,
    /// Up to this number of delivered segments, samples of the delivery rate are limited by the application; zero if they are not.
    pub app_limited: u64,
    /// Number of segments selectively acknowledged; without SACK, the number of duplicate ACKs that count as delivered segments.
    pub sacked: u32,
    /// Segments marked lost and not yet retransmitted.
    pub lost: u32,
    /// Segments believed to be in the network.
    pub in_flight: u32,
    /// How many times a segment was marked lost (modulo 2^32).
    pub marked_lost: u32,
    /// Retransmissions sent.
    pub retransmits: u32,
    /// The most segments outstanding in this round trip, if the sender counts them.
    pub max_outstanding: u32,
    /// Whether the window was the limit when the sender last stopped.
    pub window_limited: bool,
    /// When a segment was last sent.
    pub last_sent: Time,
    /// When pacing allows the next segment.
    pub next_send: Time,
    /// The round-trip time and the retransmission timeout.
    pub rtt: &'a RttEstimate,
}
