//! The sender: a state machine that processes ACKs and deadlines, and returns segments and its next deadline.
//!
//! It owns sequence space, scoreboard, RTT estimate, recovery episodes with PRR, undo and pacing. Its detector decides which
//! segments are lost, its congestion control how many may be in flight.

mod acks;
mod deadlines;
mod limits;
mod linux;
mod observation;
mod options;
mod pacing;
mod predicted_acks;
mod recovery;
mod sending;

use super::accecn::KnownMarks;
use super::congestion::cached_control::CachedControl;
use super::congestion::coupled::Coupling;
use super::congestion::{CongestionControl, FlowContext};
use super::detection::DetectorContext;
use super::detection::shortcuts::DetectorShortcuts;
use super::events::{CongestionEvent, CongestionKind};
use super::kernel_clock::round_trip_by_timestamp;
use super::prr::ProportionalRateReduction;
use super::rate::RateSampler;
use super::rtt::RttEstimate;
use super::scoreboard::Scoreboard;
use crate::prefetch::prefetch_at;
use crate::rng::Stream;
use crate::spec::StackSpec;
use crate::units::Time;
use limits::LimitClock;
pub use limits::{LimitShares, LimitTimes};
use linux::LinuxState;
use linux::fin::Fin;
use linux::quantum::Outgoing;
pub use options::CommonSettings;
use options::Options;
pub use predicted_acks::PredictedAcks;
use std::sync::Arc;

/// A segment to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transmission {
    /// The connection request.
    Syn,
    /// An ACK without data, which answers an out-of-date one (RFC 7323 section 5.3).
    Answer {
        /// The next new segment, before which it stands.
        segment: u32,
    },
    /// A data segment.
    Data {
        /// Which segment of the flow.
        segment: u32,
        /// The number of the transmission: increasing in the order of sending.
        number: u32,
        /// Whether the segment was sent before.
        retransmission: bool,
        /// Whether it answers a congestion mark (CWR, RFC 3168).
        window_reduced: bool,
        /// Whether the segment ends the written data or half of a window (PSH). Most senders never set it.
        push: bool,
        /// With timestamps: the oldest transmission that the receiver accepts after this one. Zero without.
        oldest: u32,
    },
}

/// New segments to send one after another: first transmissions with consecutive numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// The first segment of the flow.
    pub segment: u32,
    /// The number of its transmission.
    pub number: u32,
    /// How many there are; maybe none.
    pub count: u32,
}

/// Counters of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderCounters {
    /// Data segments sent, new and again.
    pub sent: u64,
    /// Number of these segments that were retransmissions.
    pub retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Loss recovery episodes, those after a timeout included.
    pub recoveries: u64,
    /// Reductions undone because they were spurious.
    pub undone: u64,
}

/// Phase of the connection.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    /// A SYN is to be sent (`sent` is [`Time::NEVER`]), or was sent `tries` times, first at `first` and last at `sent`.
    Opening { first: Time, sent: Time, tries: u32 },
    /// Established, and nothing is known to be lost.
    Open,
    /// Loss recovery until everything below `until` is acknowledged.
    Fast {
        until: u32,
        prr: ProportionalRateReduction,
        /// Without SACK: a partial ACK came. Only the first one restarts the retransmission timer. Thus many losses in one window
        /// end in a timeout instead of one round trip each (RFC 6582 section 3.2 step 3).
        partial: bool,
        /// A congestion mark began it, and nothing was lost since: there is nothing to repair.
        marked: bool,
    },
    /// Slow start after a timeout, until everything below `until` is acknowledged.
    Timeout { until: u32, forward: ForwardRto },
}

/// Forward RTO recovery (RFC 5682 section 3.1, SACK-enhanced as well): was the timeout spurious?
#[derive(Debug, Clone, Copy, PartialEq)]
enum ForwardRto {
    /// F-RTO is not in use, or has its result.
    Off,
    /// The first segment was sent again; the next ACK decides.
    Retransmitted,
    /// That ACK advanced: the sender sends new data to see whether its ACK advances too.
    ProbingNew,
}

/// Limit at which the sender last stopped sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// The window.
    Window,
    /// The application or the receiver; but the window when the segments before `Unfilled::round_end` were sent.
    WindowLately,
    /// The application or the receiver.
    Other,
}

/// Episode of recovery that a sender is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Episode {
    /// No segment is known to be lost.
    Open,
    /// The window shrinks after a congestion mark, nothing was lost.
    Reduction,
    /// Loss recovery.
    Recovery,
    /// Recovery after a timeout.
    Timeout,
}

/// The sending end of one flow.
pub struct Sender {
    phase: Phase,
    board: Scoreboard,
    rtt: RttEstimate,
    congestion: CachedControl,
    detector: Box<dyn DetectorShortcuts>,
    rate: Option<Box<RateSampler>>,
    /// Segments that the application has written; all of them, for a flow without end.
    available: u32,
    receive_window: u32,
    fin: Fin,
    /// The segment that carries the FIN. `u32::MAX` if that is not known or not modelled.
    closing: u32,
    /// The next new segment that PSH marks; `u32::MAX` for none.
    next_push: u32,
    limit: Limit,
    limits: LimitClock,
    probe: bool,
    /// One retransmission may exceed the window. This holds after a timeout (RFC 6298 (5.4)), after a timeout that was not spurious (RFC
    /// 5682 section 3.1), and after a partial ACK without SACK (RFC 6582 section 3.2 step 3).
    retransmit_now: bool,
    /// An out-of-date ACK has come, and is to be answered.
    answers: bool,
    owns_recovery: bool,
    /// Segments that the last verdict withholds ([`super::detection::Verdict::withheld`]).
    withheld: u32,
    /// The retransmission timer expired, and no cumulative acknowledgement has moved since.
    unanswered_timeout: bool,
    /// The options, shared by all flows of a stack.
    options: Arc<Options>,
    /// A new round trip begins when a segment from here on is delivered.
    round_end: u32,
    /// Retransmissions of this episode that no DSACK has reported as spurious.
    unreported_retransmits: u32,
    /// Segments below this one were sent before the last reduction that an undo may revert; zero if there is none.
    undo_until: u32,
    /// The next segment to send at the last reduction: the first that may carry CWR.
    ecn_until: u32,
    /// Without SACK: duplicate ACKs up to here answer retransmissions of the last recovery ("recover" of RFC 6582).
    recover: u32,
    window_reduced: bool,
    /// With AccECN: the marks that ACKs have reported.
    known_marks: KnownMarks,
    next_send: Time,
    linux: Option<Box<LinuxState>>,
    timeouts: u32,
    recoveries: u32,
    undone: u32,
}

impl Sender {
    /// A sender with nothing to send yet. `paths` is how many paths the routing offers; `random` the flow's own draws.
    pub fn new(stack: &StackSpec, paths: u32, random: Stream) -> Sender {
        Sender::coupled(stack, paths, random, None)
    }

    /// The same. A subflow has this place among those of its connection.
    pub fn coupled(stack: &StackSpec, paths: u32, random: Stream, coupling: Option<Coupling>) -> Sender {
        let congestion = stack.congestion.build(FlowContext {
            initial_window: stack.initial_window,
            slow_start: stack.slow_start,
            payload: stack.mss,
            wire_bytes: stack.mss + stack.header,
            pacing: stack.pacing,
            hz: stack.hz,
            random,
            coupling,
        });
        let (rules, linux) = linux::rules_of(stack);
        let flow = DetectorContext { sack: stack.sack, evidence: rules.evidence, paths };
        let detector = stack.detection_in_use().build(flow);
        let rate = congestion.demands().rate_samples.then(Box::<RateSampler>::default);
        let options = Options::new(stack, rules, &*congestion, &*detector);
        let min_rto = congestion.min_rto().unwrap_or(stack.min_rto);
        let rtt = RttEstimate::new(min_rto, stack.max_rto, stack.initial_rto).with_granularity(stack.rto_granularity);
        let rtt = if let Some(clock) = stack.clock() { rtt.with_clock(clock) } else { rtt };
        Sender {
            phase: if stack.handshake {
                Phase::Opening { first: Time::NEVER, sent: Time::NEVER, tries: 0 }
            } else {
                Phase::Open
            },
            board: if detector.needs_sending_order() || rules.evidence {
                Scoreboard::with_sending_order()
            } else {
                Scoreboard::default()
            },
            rtt,
            rate,
            owns_recovery: congestion.demands().owns_recovery,
            congestion: CachedControl::new(congestion),
            detector,
            available: 0,
            receive_window: stack.window_segments(),
            fin: Fin::Open,
            closing: u32::MAX,
            next_push: u32::MAX,
            limit: Limit::Other,
            limits: LimitClock::default(),
            probe: false,
            retransmit_now: false,
            answers: false,
            withheld: 0,
            unanswered_timeout: false,
            options: Arc::new(options),
            round_end: 0,
            unreported_retransmits: 0,
            undo_until: 0,
            ecn_until: 0,
            recover: 0,
            window_reduced: false,
            known_marks: KnownMarks::default(),
            next_send: Time::ZERO,
            linux,
            timeouts: 0,
            recoveries: 0,
            undone: 0,
        }
    }

    /// Prefetches the parts in other memory that an ACK needs.
    #[inline(always)]
    pub fn prefetch_parts(&self) {
        self.board.prefetch_parts();
        self.congestion.prefetch_algorithm();
        prefetch_at(&raw const *self.detector);
    }

    /// Its counters.
    pub fn counters(&self) -> SenderCounters {
        let sent = self.board.next_transmission();
        SenderCounters {
            sent: u64::from(sent),
            retransmits: u64::from(sent - self.board.next()),
            timeouts: u64::from(self.timeouts),
            recoveries: u64::from(self.recoveries),
            undone: u64::from(self.undone),
        }
    }

    /// Its record of outstanding segments.
    pub fn scoreboard(&self) -> &Scoreboard {
        &self.board
    }

    /// See [`Scoreboard::forget_stalls`].
    pub fn forget_stalls(&mut self) {
        self.board.forget_stalls();
    }

    /// Records all RTT samples from now on.
    pub fn record_round_trips(&mut self) {
        self.rtt.record_samples();
    }

    /// Its round-trip time estimate.
    pub fn rtt(&self) -> &RttEstimate {
        &self.rtt
    }

    /// Marked packets that ACKs have reported by AccECN, modulo 2^32.
    pub fn reported_marks(&self) -> u32 {
        self.known_marks.packets()
    }

    /// Its episode.
    pub fn episode(&self) -> Episode {
        match self.phase {
            Phase::Opening { .. } | Phase::Open => Episode::Open,
            Phase::Fast { marked: true, .. } => Episode::Reduction,
            Phase::Fast { .. } => Episode::Recovery,
            Phase::Timeout { .. } => Episode::Timeout,
        }
    }

    #[inline(always)]
    fn is_opening(&self) -> bool {
        matches!(self.phase, Phase::Opening { .. })
    }

    /// Whether the handshake is over.
    pub fn is_established(&self) -> bool {
        !self.is_opening()
    }

    #[inline(always)]
    fn is_recovering(&self) -> bool {
        matches!(self.phase, Phase::Fast { .. } | Phase::Timeout { .. })
    }

    /// Sets the receiver's window: this number of segments from the first unacknowledged one on; zero closes it.
    pub fn set_receive_window(&mut self, segments: u32) {
        self.receive_window = segments;
    }

    /// The segment behind the receiver's window.
    pub fn window_edge(&self) -> u32 {
        self.board.una().saturating_add(self.receive_window)
    }

    /// Sets the segment behind the receiver's window.
    pub fn set_window_edge(&mut self, edge: u32) {
        self.receive_window = edge.saturating_sub(self.board.una());
        self.plan_push();
    }

    /// Its congestion control.
    pub fn congestion(&self) -> &dyn CongestionControl {
        self.congestion.algorithm()
    }

    /// Whether all that was written is acknowledged.
    pub fn is_done(&self) -> bool {
        self.board.una() == self.available
    }

    /// Adds segments that the application writes.
    pub fn write(&mut self, now: Time, segments: u32) {
        if !self.is_opening()
            && self.board.outstanding() == 0
            && self.board.next() == self.available
            && self.board.next() > 0
        {
            self.show_connection(now);
            let initial_window = self.options.initial_window;
            let idle = now - self.board.latest_sent(); // RFC 5681 section 4.1 (`tcp_slow_start_after_idle_check`)
            let rtt = if self.options.restart_after_idle { &self.rtt } else { &self.rtt.without_timeout() };
            self.congestion.update(|control| control.on_idle(now, idle, initial_window, rtt));
        }
        self.available = self.available.saturating_add(segments);
        self.plan_push();
    }

    /// Closes the connection right after the application's last write. A sender that models the FIN then adds one.
    pub fn finish(&mut self) {
        self.limits.closes = true;
        self.plan_fin();
    }

    /// Ends the application's data. Segments that are not sent by now are dropped.
    pub fn close(&mut self) {
        self.available = self.available.min(self.board.next());
    }

    /// Releases the memory of acknowledged segments, for a finished flow or after a smaller window.
    pub fn release_memory(&mut self) {
        self.board.shrink();
    }

    /// Processes the SYN-ACK. It echoes the timestamp of the `echoed`-th SYN, where the first is 0, if it has a timestamp. Returns whether the
    /// sender answers it with an ACK of its own; otherwise the first segment is the answer.
    pub fn on_established(&mut self, now: Time, echoed: Option<u32>) -> bool {
        let is_timed = self.options.rules.timed_handshake;
        let echoed = echoed.filter(|_| is_timed);
        if let Phase::Opening { first, sent, tries } = self.phase
            && sent != Time::NEVER
        {
            let round_trip = match echoed {
                _ if tries == 1 => Some(now - sent), // Karn: only if it answers the one SYN
                Some(number) => Some(round_trip_by_timestamp(self.syn_sent(first, number.min(tries - 1)), now)),
                None => None,
            };
            match round_trip {
                Some(round_trip) => {
                    self.rtt.sample(round_trip);
                    self.detector.on_handshake(now, round_trip);
                }
                None => self.rtt.doubt_initial_timeout(),
            }
            self.show_connection(now);
            self.apply_min_rto();
            // RFC 5681 section 3.1: after a lost SYN or SYN-ACK the initial window is one segment; but not if the first SYN is answered
            // (`tcp_try_undo_spurious_syn`).
            if tries > self.options.rules.harmless_syns && echoed != Some(0) {
                let kind = CongestionKind::Timeout { repeated: true };
                let event = CongestionEvent { now, kind, prior_in_flight: 0 };
                self.congestion.update(|control| {
                    control.on_congestion(&event, &self.rtt);
                    control.on_recovered();
                });
            }
            self.congestion.update(|control| control.on_established(now, &self.rtt));
            self.phase = Phase::Open;
            return is_timed;
        }
        false
    }

    /// The window in force: PRR's during fast recovery, else the congestion control's.
    #[inline]
    pub fn window(&self) -> u32 {
        match self.phase {
            Phase::Fast { prr, .. } if !self.owns_recovery => prr.window(),
            _ => self.congestion.window(),
        }
    }
}

#[cfg(test)]
mod tests;
