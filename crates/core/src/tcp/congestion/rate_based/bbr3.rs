//! BBR version 3: as version 1, but it bounds its flight by the loss that this causes, and leaves headroom.
//!
//! The source is draft-ietf-ccwg-bbr (editors' copy of August 2026, after -06); sections are its. ECN is left out: the draft
//! specifies no response to it (section 3.7). Three differences follow from the sender's events. Loss is judged once per ACK,
//! from the newest segment delivered and the segments newly lost, instead of for each lost segment (section 5.5.10.2). An ACK
//! that reports losses counts as one lost range (section 5.3.1.3). State is saved for an undo when recovery begins, so that an
//! undo covers all rounds of a recovery (section 5.5.11.1).

use super::model::{
    Aggregation, CWND_GAIN, FullPipe, HeldDown, MIN_PIPE_CWND, MIN_RTT_WINDOW, MaxFilter, PROBE_RTT_DURATION, Rounds,
    approach, bandwidth_sample, bdp, initial_bandwidth, pacing_rate, send_quantum,
};
use crate::rng::Sequence;
use crate::tcp::congestion::{CongestionControl, Demands, FlowContext};
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind, RateSample};
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Rate, Time};

crate::parameters! {
    /// BBR's constants.
    pub struct Parameters {
        /// Share of lost segments per round trip above which probing has gone too far (section 2.8: 0.02).
        pub loss_threshold: f64 = 0.02, in 0.0..=0.99;
        /// The least share of the bounds that remains after a round trip with loss (section 2.8: 0.7).
        pub beta: f64 = 0.7, in 0.01..=1.0;
        /// Share of the long-term bound left free for others while cruising (section 2.8: 0.15).
        pub headroom: f64 = 0.15, in 0.0..=0.99;
    }
}

/// The pacing gain that doubles the rate each round at a window gain of two (section 5.3.1.1).
const STARTUP_PACING_GAIN: f64 = 2.77;

/// ACKs that report losses in one round which end Startup (section 5.3.1.3: BBRStartupFullLossCnt).
const STARTUP_LOSSES: u32 = 6;

/// Rounds after which Drain ends in any case (section 5.3.2).
const DRAIN_ROUNDS: u64 = 3;

/// Gains while probing upwards (section 5.6.1).
const UP_PACING_GAIN: f64 = 1.25;
const UP_CWND_GAIN: f64 = 2.25;

/// ProbeRTT's window, in bandwidth-delay products, and how often it comes (section 2.16.2).
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);

/// ProbeBW cycles that the bandwidth filter spans (section 2.11: MaxBwFilterLen).
const BANDWIDTH_CYCLES: u64 = 2;

/// Seconds between probes for bandwidth: at least, and the random part (section 5.3.3.8.2).
const PROBE_WAIT: (f64, f64) = (2.0, 1.0);

/// Rounds between probes, at most (section 5.3.3.8.2).
const RENO_ROUNDS: f64 = 63.0;

/// Quanta to have in flight at least (section 5.5.8.1), and the least quantum in segments (section 5.6.3).
const QUANTA: f64 = 3.0;
const LEAST_QUANTUM: f64 = 2.0;

/// Doublings of the growth of the long-term bound, at most (section 5.3.3.9).
const MAX_UP_ROUNDS: u32 = 30;

/// Whether `lost` of `sent_in_flight` segments are too many (section 5.5.10.2: IsInflightTooHigh).
pub fn too_high(lost: u32, sent_in_flight: u32, threshold: f64) -> bool {
    f64::from(lost) > f64::from(sent_in_flight) * threshold
}

/// In flight when losses crossed the threshold, somewhere among the `newly_lost` last ones (section 5.5.10.2:
/// InflightAtLoss).
pub fn in_flight_at_loss(sent_in_flight: u32, lost: u32, newly_lost: u32, threshold: f64) -> f64 {
    let newly_lost = newly_lost.min(sent_in_flight);
    let before = f64::from(sent_in_flight - newly_lost);
    let lost_before = f64::from(lost.saturating_sub(newly_lost));
    let prefix = (threshold * before - lost_before) / (1.0 - threshold);
    before + prefix.clamp(0.0, f64::from(newly_lost))
}

/// The long-term bound less its headroom (section 5.3.3.9: InflightWithHeadroom).
pub fn with_headroom(bound: f64, headroom: f64) -> f64 {
    if bound.is_finite() { (bound - (headroom * bound).max(1.0)).max(MIN_PIPE_CWND) } else { bound }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl Mode {
    fn is_probe_bw(self) -> bool {
        matches!(self, Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up)
    }

    /// Section 5.6.1.
    fn pacing_gain(self) -> f64 {
        match self {
            Mode::Startup => STARTUP_PACING_GAIN,
            Mode::Drain => 0.5,
            Mode::Down => 0.9,
            Mode::Up => UP_PACING_GAIN,
            Mode::Cruise | Mode::Refill | Mode::ProbeRtt => 1.0,
        }
    }

    /// Section 5.6.1.
    fn cwnd_gain(self) -> f64 {
        match self {
            Mode::Up => UP_CWND_GAIN,
            Mode::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => CWND_GAIN,
        }
    }
}

/// The answer of ACKs to the probe for bandwidth (section 2.14).
#[derive(Debug, Clone, Copy, PartialEq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// Bounds that losses have set; infinite where none did (section 2.9).
#[derive(Debug, Clone, Copy)]
struct Bounds {
    bandwidth_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

impl Bounds {
    const NONE: Bounds = Bounds {
        bandwidth_shortterm: f64::INFINITY,
        inflight_shortterm: f64::INFINITY,
        inflight_longterm: f64::INFINITY,
    };

    fn forget_shortterm(&mut self) {
        *self = Bounds { inflight_longterm: self.inflight_longterm, ..Bounds::NONE };
    }

    fn at_least(self, other: Bounds) -> Bounds {
        Bounds {
            bandwidth_shortterm: self.bandwidth_shortterm.max(other.bandwidth_shortterm),
            inflight_shortterm: self.inflight_shortterm.max(other.inflight_shortterm),
            inflight_longterm: self.inflight_longterm.max(other.inflight_longterm),
        }
    }
}

/// Delivery and loss over the present round (section 2.10).
#[derive(Debug, Clone, Copy, Default)]
struct Latest {
    bandwidth: f64,
    delivered: f64,
    lost: bool,
    /// ACKs that reported losses.
    losses: u32,
}

/// State of the raise of the long-term bound while BBR probes for bandwidth (section 2.14).
#[derive(Debug, Clone, Copy)]
struct Raise {
    rounds: u32,
    acked: f64,
    acked_per_segment: f64,
}

/// The end of ProbeRTT.
#[derive(Debug, Clone, Copy)]
struct ProbeRttEnd {
    at: Time,
    round_done: bool,
}

/// An ACK and the samples derived from it.
struct Signals {
    bandwidth: Option<f64>,
    app_limited: bool,
    round_start: bool,
    loss_round_start: bool,
    cwnd_limited: bool,
}

/// BBR's state.
#[derive(Debug, Clone)]
pub struct Bbr3 {
    parameters: Parameters,
    initial_window: f64,
    wire_bytes: u32,
    random: Sequence,
    mode: Mode,
    cwnd: f64,
    prior_cwnd: f64,
    pacing: Rate,
    has_seen_rtt: bool,
    recovering: bool,
    now: Time,
    total_delivered: u64,
    rounds: Rounds,
    round: u64,
    loss_rounds: Rounds,
    latest: Latest,
    max_bandwidth: MaxFilter,
    cycle: u64,
    bandwidth: f64,
    bounds: Bounds,
    pipe: FullPipe,
    full_pipe: bool,
    min_rtt: Option<Duration>,
    min_rtt_at: Time,
    probe_rtt_min: Option<Duration>,
    probe_rtt_min_at: Option<Time>,
    probe_rtt_due: bool,
    probe_rtt_end: Option<ProbeRttEnd>,
    held_down: HeldDown,
    idle_restart: bool,
    aggregation: Aggregation,
    drain_since_round: u64,
    ack_phase: AckPhase,
    probe_sample: bool,
    previous_too_high: bool,
    previous_precautionary: bool,
    rounds_since_up: u64,
    cycle_since: Time,
    probe_wait: Duration,
    raise: Raise,
    undo_mode: Option<Mode>,
    undo_bounds: Bounds,
}

impl Bbr3 {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, flow: FlowContext) -> Bbr3 {
        let initial_window = f64::from(flow.initial_window);
        let pacing = pacing_rate(initial_bandwidth(initial_window, None), STARTUP_PACING_GAIN, flow.wire_bytes);
        Bbr3 {
            parameters,
            initial_window,
            wire_bytes: flow.wire_bytes,
            random: Sequence::new(flow.random),
            mode: Mode::Startup,
            cwnd: initial_window,
            prior_cwnd: 0.0,
            pacing,
            has_seen_rtt: false,
            recovering: false,
            now: Time::ZERO,
            total_delivered: 0,
            rounds: Rounds::default(),
            round: 0,
            loss_rounds: Rounds::default(),
            latest: Latest::default(),
            max_bandwidth: MaxFilter::default(),
            cycle: 0,
            bandwidth: 0.0,
            bounds: Bounds::NONE,
            pipe: FullPipe::default(),
            full_pipe: false,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            probe_rtt_min: None,
            probe_rtt_min_at: None,
            probe_rtt_due: false,
            probe_rtt_end: None,
            held_down: HeldDown::default(),
            idle_restart: false,
            aggregation: Aggregation::default(),
            drain_since_round: 0,
            ack_phase: AckPhase::Init,
            probe_sample: false,
            previous_too_high: false,
            previous_precautionary: false,
            rounds_since_up: 0,
            cycle_since: Time::ZERO,
            probe_wait: Duration::ZERO,
            raise: Raise { rounds: 0, acked: 0.0, acked_per_segment: f64::INFINITY },
            undo_mode: None,
            undo_bounds: Bounds::NONE,
        }
    }

    // Volumes, section 5.6.4.2.

    fn bdp_multiple(&self, bandwidth: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.initial_window, |min_rtt| gain * bdp(bandwidth, min_rtt))
    }

    fn with_quanta(&self, volume: f64) -> f64 {
        let budget = QUANTA * send_quantum(self.pacing, self.wire_bytes, LEAST_QUANTUM);
        let more = if self.mode == Mode::Up { 2.0 } else { 0.0 };
        volume.max(budget).max(MIN_PIPE_CWND) + more
    }

    fn in_flight_for(&self, bandwidth: f64, gain: f64) -> f64 {
        self.with_quanta(self.bdp_multiple(bandwidth, gain))
    }

    fn max_in_flight(&self) -> f64 {
        self.with_quanta(self.bdp_multiple(self.bandwidth, self.mode.cwnd_gain()) + self.aggregation.excess())
    }

    fn target_in_flight(&self) -> f64 {
        self.bdp_multiple(self.bandwidth, 1.0).min(self.cwnd)
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(self.bandwidth, PROBE_RTT_CWND_GAIN).max(MIN_PIPE_CWND)
    }

    fn with_headroom(&self) -> f64 {
        with_headroom(self.bounds.inflight_longterm, self.parameters.headroom)
    }

    // The model, sections 5.5.2 to 5.5.10.

    fn signals(&mut self, ack: &AckEvent, rtt: &RttEstimate) -> Signals {
        let mut signals = Signals {
            bandwidth: None,
            app_limited: true,
            round_start: false,
            loss_round_start: false,
            cwnd_limited: f64::from(ack.prior_in_flight) >= self.cwnd.floor(),
        };
        let Some(rate) = &ack.rate else { return signals };
        self.total_delivered = rate.total_delivered;
        signals.bandwidth = bandwidth_sample(rate, rtt.minimum());
        signals.app_limited = rate.app_limited || self.held_down.covers(rate);
        self.latest.bandwidth = self.latest.bandwidth.max(signals.bandwidth.unwrap_or(0.0));
        self.latest.delivered = self.latest.delivered.max(f64::from(rate.delivered));
        signals.loss_round_start = self.loss_rounds.ended_by(rate);
        signals.round_start = self.rounds.ended_by(rate);
        if signals.round_start {
            self.round += 1;
            self.rounds_since_up += 1;
        }
        signals
    }

    fn update_max_bandwidth(&mut self, signals: &Signals) {
        if let Some(sample) = signals.bandwidth
            && (!signals.app_limited || sample >= self.max_bandwidth.get())
        {
            self.max_bandwidth.update(self.cycle, sample, BANDWIDTH_CYCLES);
        }
    }

    /// Section 5.5.10.2, NoteLoss.
    fn note_loss(&mut self) {
        if !self.latest.lost {
            self.latest.lost = true;
            self.loss_rounds.restart(self.total_delivered);
        }
    }

    /// Section 5.5.10.3: once a round with loss, unless probing caused it.
    fn adapt_lower_bounds(&mut self) {
        let probing = matches!(self.mode, Mode::Startup | Mode::Refill | Mode::Up);
        if self.latest.lost && !probing {
            let beta = self.parameters.beta;
            let Bounds { bandwidth_shortterm, inflight_shortterm, .. } = self.bounds;
            let bandwidth =
                if bandwidth_shortterm.is_finite() { bandwidth_shortterm } else { self.max_bandwidth.get() };
            let in_flight = if inflight_shortterm.is_finite() { inflight_shortterm } else { self.cwnd };
            self.bounds.bandwidth_shortterm = self.latest.bandwidth.max(beta * bandwidth);
            self.bounds.inflight_shortterm = self.latest.delivered.max(beta * in_flight);
        }
        self.latest.lost = false;
    }

    fn reset_congestion_signals(&mut self) {
        self.latest = Latest::default();
    }

    // Startup and Drain, sections 5.3.1 and 5.3.2.

    fn check_full_pipe(&mut self, signals: &Signals) {
        if self.pipe.reached() || !signals.round_start || signals.app_limited {
            return;
        }
        if let Some(bandwidth) = signals.bandwidth {
            self.pipe.end_round(bandwidth);
            self.full_pipe |= self.pipe.reached();
        }
    }

    fn check_startup(&mut self, ack: &AckEvent, signals: &Signals) {
        if !self.full_pipe {
            self.latest.losses += u32::from(ack.newly_lost > 0);
            let too_high = ack.rate.is_some_and(|rate| self.is_too_high(&rate));
            if signals.loss_round_start {
                if self.recovering && self.latest.losses >= STARTUP_LOSSES && too_high {
                    self.undo_mode = Some(Mode::Startup);
                    self.full_pipe = true;
                    self.bounds.inflight_longterm = self.bdp_multiple(self.bandwidth, 1.0).max(self.latest.delivered);
                }
                self.latest.losses = 0;
            }
        }
        if self.mode == Mode::Startup && self.full_pipe {
            self.mode = Mode::Drain;
            self.drain_since_round = self.round;
        }
    }

    fn check_drain(&mut self, ack: &AckEvent) {
        if self.mode == Mode::Drain
            && (f64::from(ack.in_flight) <= self.in_flight_for(self.bandwidth, 1.0)
                || self.round > self.drain_since_round + DRAIN_ROUNDS)
        {
            self.start_down();
        }
    }

    // ProbeBW, section 5.3.3.9.

    fn start_down(&mut self) {
        self.reset_congestion_signals();
        self.raise.acked_per_segment = f64::INFINITY;
        self.rounds_since_up = self.random.below(2);
        self.probe_wait = Duration::from_secs_f64(PROBE_WAIT.0 + PROBE_WAIT.1 * self.random.uniform());
        self.cycle_since = self.now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.rounds.restart(self.total_delivered);
        self.mode = Mode::Down;
    }

    fn start_refill(&mut self) {
        self.bounds.forget_shortterm();
        self.raise.rounds = 0;
        self.raise.acked = 0.0;
        self.previous_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.rounds.restart(self.total_delivered);
        self.mode = Mode::Refill;
    }

    fn start_up(&mut self, signals: &Signals) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.rounds.restart(self.total_delivered);
        self.pipe = FullPipe::from(signals.bandwidth.unwrap_or(0.0));
        self.mode = Mode::Up;
        self.steepen_raise();
    }

    fn update_cycle(&mut self, ack: &AckEvent, signals: &Signals) {
        if !self.full_pipe || self.adapt_long_term_model(ack, signals) {
            return;
        }
        let in_flight = f64::from(ack.in_flight);
        let go_down = self.mode == Mode::Up && self.is_time_to_go_down(in_flight, signals);
        match self.mode {
            Mode::Down | Mode::Cruise if self.is_time_to_probe() => self.start_refill(),
            Mode::Down
                if in_flight <= self.with_headroom()
                    && in_flight <= self.in_flight_for(self.max_bandwidth.get(), 1.0) =>
            {
                self.mode = Mode::Cruise;
            }
            Mode::Refill if signals.round_start => {
                self.probe_sample = true;
                self.start_up(signals);
            }
            Mode::Up if go_down => {
                self.previous_too_high = false;
                self.start_down();
            }
            _ => {}
        }
    }

    /// Section 5.3.3.8.
    fn is_time_to_probe(&self) -> bool {
        let reno_rounds = self.target_in_flight().min(RENO_ROUNDS);
        self.now > self.cycle_since + self.probe_wait || self.rounds_since_up as f64 >= reno_rounds
    }

    fn is_time_to_go_down(&mut self, in_flight: f64, signals: &Signals) -> bool {
        if self.previous_too_high && in_flight >= self.bounds.inflight_longterm {
            self.previous_precautionary = true;
            return true;
        }
        if signals.cwnd_limited && self.cwnd >= self.bounds.inflight_longterm {
            self.pipe = FullPipe::from(signals.bandwidth.unwrap_or(0.0));
            return false;
        }
        self.pipe.reached()
    }

    fn steepen_raise(&mut self) {
        let growth = f64::from(1u32 << self.raise.rounds);
        self.raise.rounds = (self.raise.rounds + 1).min(MAX_UP_ROUNDS);
        self.raise.acked_per_segment = (self.cwnd / growth).max(1.0);
    }

    fn raise_long_term_bound(&mut self, ack: &AckEvent, signals: &Signals) {
        if !signals.cwnd_limited || self.cwnd < self.bounds.inflight_longterm {
            return;
        }
        self.raise.acked += f64::from(ack.delivered);
        let segments = (self.raise.acked / self.raise.acked_per_segment).floor();
        if segments >= 1.0 {
            self.raise.acked -= segments * self.raise.acked_per_segment;
            self.bounds.inflight_longterm += segments;
        }
        if signals.round_start {
            self.steepen_raise();
        }
    }

    fn is_too_high(&self, rate: &RateSample) -> bool {
        too_high(rate.lost, rate.sent_in_flight, self.parameters.loss_threshold)
    }

    /// Section 5.5.10.2, HandleInflightTooHigh. Returns whether it changed the state.
    fn handle_too_high(&mut self, rate: &RateSample, newly_lost: u32, app_limited: bool) -> bool {
        self.previous_too_high = true;
        self.probe_sample = false;
        if !app_limited {
            let crossed = in_flight_at_loss(rate.sent_in_flight, rate.lost, newly_lost, self.parameters.loss_threshold);
            self.bounds.inflight_longterm = crossed.max(self.target_in_flight() * self.parameters.beta);
        }
        if self.mode == Mode::Up {
            self.undo_mode = Some(Mode::Up);
            self.start_down();
            return true;
        }
        false
    }

    /// Section 5.3.3.9, AdaptLongTermModel. Returns whether it changed the state.
    fn adapt_long_term_model(&mut self, ack: &AckEvent, signals: &Signals) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && signals.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && signals.round_start {
            self.probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.mode.is_probe_bw() {
                if !signals.app_limited {
                    self.cycle += 1;
                }
                if self.previous_precautionary && !self.previous_too_high {
                    self.start_refill();
                    return true;
                }
            }
        }
        let Some(rate) = &ack.rate else { return false };
        if self.is_too_high(rate) {
            return self.probe_sample && self.handle_too_high(rate, ack.newly_lost, signals.app_limited);
        }
        if self.bounds.inflight_longterm.is_finite() {
            self.bounds.inflight_longterm = self.bounds.inflight_longterm.max(f64::from(rate.sent_in_flight));
            if self.mode == Mode::Up {
                self.raise_long_term_bound(ack, signals);
            }
        }
        false
    }

    // ProbeRTT, section 5.3.4.3.

    fn update_min_rtt(&mut self, ack: &AckEvent) {
        let measured_at = *self.probe_rtt_min_at.get_or_insert(ack.now);
        self.probe_rtt_due = ack.now > measured_at + PROBE_RTT_INTERVAL;
        if let Some(rtt) = ack.rtt
            && (self.probe_rtt_due || self.probe_rtt_min.is_none_or(|min| rtt < min))
        {
            self.probe_rtt_min = Some(rtt);
            self.probe_rtt_min_at = Some(ack.now);
        }
        let expired = ack.now > self.min_rtt_at + MIN_RTT_WINDOW;
        if let (Some(rtt), Some(at)) = (self.probe_rtt_min, self.probe_rtt_min_at)
            && (expired || self.min_rtt.is_none_or(|min_rtt| rtt < min_rtt))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), at);
        }
    }

    fn check_probe_rtt(&mut self, ack: &AckEvent, signals: &Signals) {
        if self.mode != Mode::ProbeRtt && self.probe_rtt_due && !self.idle_restart {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_end = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.rounds.restart(self.total_delivered);
        }
        if self.mode == Mode::ProbeRtt {
            self.held_down.mark(self.total_delivered, ack.in_flight);
            let drained = f64::from(ack.in_flight) <= self.probe_rtt_cwnd();
            match &mut self.probe_rtt_end {
                None if drained => {
                    self.probe_rtt_end = Some(ProbeRttEnd { at: ack.now + PROBE_RTT_DURATION, round_done: false });
                    self.rounds.restart(self.total_delivered);
                }
                None => {}
                Some(end) => {
                    end.round_done |= signals.round_start;
                    if end.round_done {
                        self.end_probe_rtt_if_due();
                    }
                }
            }
        }
        if ack.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn end_probe_rtt_if_due(&mut self) {
        if self.probe_rtt_end.is_some_and(|end| self.now > end.at) {
            self.probe_rtt_min_at = Some(self.now);
            self.restore_cwnd();
            self.bounds.forget_shortterm();
            if self.full_pipe {
                self.start_down();
                self.mode = Mode::Cruise;
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    // Control parameters, section 5.6.

    fn set_pacing(&mut self, gain: f64, rtt: &RttEstimate) {
        if !self.has_seen_rtt && rtt.samples() > 0 {
            self.has_seen_rtt = true;
            let first = initial_bandwidth(self.initial_window, rtt.smoothed());
            self.pacing = pacing_rate(first, STARTUP_PACING_GAIN, self.wire_bytes);
        }
        let rate = pacing_rate(self.bandwidth, gain, self.wire_bytes);
        if self.bandwidth > 0.0 && (self.full_pipe || rate > self.pacing) {
            self.pacing = rate;
        }
    }

    /// Sections 5.6.4.5 and 5.6.4.7.
    fn bound_cwnd(&mut self) {
        let longterm = match self.mode {
            Mode::Down | Mode::Refill | Mode::Up => self.bounds.inflight_longterm,
            Mode::Cruise | Mode::ProbeRtt => self.with_headroom(),
            Mode::Startup | Mode::Drain => f64::INFINITY,
        };
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.cwnd = self.cwnd.min(longterm.min(self.bounds.inflight_shortterm).max(MIN_PIPE_CWND));
    }

    fn save_cwnd(&mut self) {
        let good = !self.recovering && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    fn leave_recovery(&mut self) {
        if self.recovering {
            self.recovering = false;
            self.restore_cwnd();
            self.bound_cwnd();
        }
    }
}

impl CongestionControl for Bbr3 {
    /// Section 5.2.3.
    fn on_ack(&mut self, ack: &AckEvent, rtt: &RttEstimate) {
        self.now = ack.now;
        if ack.newly_lost > 0 {
            self.note_loss();
        }
        let signals = self.signals(ack, rtt);
        self.update_max_bandwidth(&signals);
        if signals.loss_round_start {
            self.adapt_lower_bounds();
        }
        if ack.delivered > 0 {
            let (bandwidth, cwnd) = (self.bandwidth, self.cwnd);
            self.aggregation.on_ack(ack.now, ack.delivered, bandwidth, cwnd, self.round, self.full_pipe);
        }
        self.check_full_pipe(&signals);
        self.check_startup(ack, &signals);
        self.check_drain(ack);
        self.update_cycle(ack, &signals);
        self.update_min_rtt(ack);
        self.check_probe_rtt(ack, &signals);
        if signals.loss_round_start {
            self.latest.bandwidth = signals.bandwidth.unwrap_or(0.0);
            self.latest.delivered = ack.rate.map_or(0.0, |rate| f64::from(rate.delivered));
        }
        self.bandwidth = self.max_bandwidth.get().min(self.bounds.bandwidth_shortterm);
        self.set_pacing(self.mode.pacing_gain(), rtt);
        if ack.delivered > 0 {
            let unmeasured = (self.total_delivered as f64) < self.initial_window;
            self.cwnd = approach(self.cwnd, self.max_in_flight(), ack.delivered, self.full_pipe, unmeasured);
            self.bound_cwnd();
        }
    }

    /// Section 5.6.4.4.
    fn on_congestion(&mut self, event: &CongestionEvent, _rtt: &RttEstimate) {
        if event.kind == CongestionKind::EcnEcho {
            return;
        }
        if self.total_delivered == 0 && event.prior_in_flight == 0 {
            self.cwnd = 1.0; // a lost SYN (RFC 5681 section 3.1): there is no earlier window to restore
            return;
        }
        self.save_cwnd();
        self.undo_mode = None;
        self.undo_bounds = self.bounds;
        self.recovering = true;
        self.note_loss();
        if matches!(event.kind, CongestionKind::Timeout { .. }) {
            self.cwnd = 1.0; // the flight, none now, and one
        }
    }

    /// Section 5.5.11.2.
    fn undo(&mut self) {
        self.leave_recovery();
        self.latest.lost = false;
        self.pipe = FullPipe::default();
        self.bounds = self.bounds.at_least(self.undo_bounds);
        match self.undo_mode.take() {
            Some(Mode::Startup) if self.mode != Mode::Startup => {
                self.full_pipe = false;
                if self.mode != Mode::ProbeRtt {
                    self.mode = Mode::Startup;
                }
            }
            Some(Mode::Up) if self.mode != Mode::Up && self.mode != Mode::ProbeRtt => self.start_refill(),
            _ => {}
        }
        self.restore_cwnd();
        self.bound_cwnd();
    }

    fn on_recovered(&mut self) {
        self.leave_recovery();
    }

    /// Section 5.2.1: the handshake gives the first minimum RTT and pacing rate.
    fn on_established(&mut self, now: Time, rtt: &RttEstimate) {
        (self.min_rtt, self.min_rtt_at) = (rtt.minimum(), now);
        self.set_pacing(self.mode.pacing_gain(), rtt);
    }

    /// Section 5.4.1.
    fn on_idle(&mut self, now: Time, _idle: Duration, _initial_window: u32, rtt: &RttEstimate) {
        self.now = now;
        self.idle_restart = true;
        self.aggregation.restart(self.now);
        if self.mode.is_probe_bw() {
            self.set_pacing(1.0, rtt);
        } else if self.mode == Mode::ProbeRtt {
            self.end_probe_rtt_if_due();
        }
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.pacing)
    }

    fn demands(&self) -> Demands {
        Demands { rate_samples: true, owns_recovery: true, ..Demands::default() }
    }
}

#[cfg(test)]
mod tests;
