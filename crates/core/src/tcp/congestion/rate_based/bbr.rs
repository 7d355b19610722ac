//! BBR version 1: paces at the measured bandwidth of the path, and keeps two bandwidth-delay products in flight (Cardwell et al.,
//! "BBR: congestion-based congestion control", 2016).
//!
//! The sources are draft-cardwell-iccrg-bbr-congestion-control-00 ("draft") and Linux 6's net/ipv4/tcp_bbr.c ("Linux"). Where
//! they differ, this follows Linux: pacing 1 % below the bandwidth, even windows, and room for aggregation. Only a lower sample
//! refreshes the minimum RTT, so that ProbeRTT comes every ten seconds. The filters are exact where Linux approximates them.
//!
//! [`linux::bbr`](crate::tcp::congestion::linux::bbr) has further features of Linux that the draft does not mention.

use super::model::{
    Aggregation, CWND_GAIN, FullPipe, HeldDown, MIN_PIPE_CWND, MIN_RTT_WINDOW, MaxFilter, PROBE_RTT_DURATION, Rounds,
    approach, bandwidth_sample, bdp, initial_bandwidth, pacing_rate, send_quantum, whole_segments,
};
use crate::rng::Sequence;
use crate::tcp::congestion::{CongestionControl, Demands, FlowContext};
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind, RateSample};
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Rate, Time, at_least, at_most};

crate::parameters! {
    /// BBR's choices.
    pub struct Parameters {
        /// Whether the window makes room for segments that are acknowledged in bursts (Linux since 5.1: on).
        pub aggregation: bool = true;
    }
}

/// Startup's gain of pacing and window: 2/ln 2, the least that doubles the rate each round (draft section 4.3.2).
pub const HIGH_GAIN: f64 = 2.0 / std::f64::consts::LN_2;

/// ProbeBW's pacing gains, a minimum RTT each (draft section 4.3.4).
pub const PACING_GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// Rounds that the bandwidth filter spans (draft section 4.1.1: BtlBwFilterLen).
pub(in crate::tcp::congestion) const BANDWIDTH_ROUNDS: u64 = 10;

/// Aggregation is credited for at most this long at the bandwidth (Linux: bbr_extra_acked_max_us).
const AGGREGATION_LIMIT: Duration = Duration::from_millis(100);

/// Below this pacing rate a quantum is one segment, above at least two (Linux: bbr_min_tso_rate; draft section 4.2.2).
const ONE_SEGMENT_QUANTUM: Rate = Rate(1_200_000);

/// Quanta to have in flight above the product: in the sender's queue, its interface and the receiver (draft section 4.2.3).
const QUANTA: f64 = 3.0;

/// The phase of ProbeBW in which to start: any but the one that drains (draft section 4.3.4.2).
pub fn first_phase(draw_below_seven: u64) -> usize {
    (8 - draw_below_seven as usize) % PACING_GAINS.len()
}

/// Segments that go out at once at this pacing rate, at least.
pub(in crate::tcp::congestion) fn min_quantum(pacing: Rate) -> u32 {
    if pacing < ONE_SEGMENT_QUANTUM { 1 } else { 2 }
}

/// Segments that go out at once at this pacing rate.
pub fn quantum(pacing: Rate, wire_bytes: u32) -> f64 {
    send_quantum(pacing, wire_bytes, min_quantum(pacing).into())
}

/// A volume in flight with room for quanta, even, and with two segments more where probing must be felt on a short path
/// (Linux: bbr_quantization_budget).
pub fn with_quanta(volume: f64, quantum: f64, probing: bool) -> f64 {
    let even = 2.0 * whole_segments((whole_segments(volume) + QUANTA * quantum) / 2.0);
    if probing { even + 2.0 } else { even }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::tcp::congestion) enum Mode {
    Startup,
    Drain,
    /// With the index of its pacing gain.
    ProbeBw(usize),
    ProbeRtt,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::tcp::congestion) enum Recovery {
    None,
    /// Fast recovery was called, and its first ACK is awaited.
    Entering,
    /// The first round: as many segments go in as come out.
    Conserving,
    /// Later rounds, and after a timeout: slow start towards the target.
    Growing,
}

/// The end of ProbeRTT.
#[derive(Debug, Clone, Copy)]
struct ProbeRttEnd {
    at: Time,
    round_done: bool,
}

/// Where implementations of BBR differ, and their state.
pub trait Version: std::fmt::Debug + Clone + Send + Sync {
    /// Rounds that the bandwidth filter spans.
    const BANDWIDTH_ROUNDS: u64;

    /// The state of a flow that has not sent yet.
    fn new(flow: &FlowContext) -> Self;

    /// The bandwidth in use instead of the measured one.
    #[inline(always)]
    fn imposed_bandwidth(&self) -> Option<f64> {
        None
    }

    /// The part of a pacing rate that decides the least quantum.
    fn counted_rate(&self, pacing: Rate, _wire_bytes: u32) -> Rate {
        pacing
    }

    /// Segments that go out at once at this pacing rate.
    fn quantum(&self, pacing: Rate, wire_bytes: u32) -> f64;

    /// Segments in flight when the next quantum is sent.
    #[inline(always)]
    fn next_in_flight(in_flight: f64, _quantum: f64) -> f64 {
        in_flight
    }

    /// Processes a sample of the rate before the bandwidth does.
    #[inline(always)]
    fn on_rate(_bbr: &mut BbrOf<Self>, _ack: &AckEvent, _rate: &RateSample, _round_start: bool, _app_limited: bool) {}

    /// The window in and out of recovery, after an ACK that delivers something.
    fn set_cwnd(bbr: &mut BbrOf<Self>, ack: &AckEvent);

    /// Whether the window is one to restore.
    fn has_good_cwnd(bbr: &BbrOf<Self>) -> bool;

    /// Processes a congestion after the first delivery.
    fn on_congestion(bbr: &mut BbrOf<Self>, event: &CongestionEvent);

    /// See [`CongestionControl::undo`].
    fn undo(bbr: &mut BbrOf<Self>);

    /// See [`CongestionControl::on_recovered`].
    fn on_recovered(_bbr: &mut BbrOf<Self>) {}

    /// A loss happens within the reduction after a mark.
    fn on_loss_in_reduction(_bbr: &mut BbrOf<Self>) {}
}

/// BBR of the draft.
pub type Bbr = BbrOf<Draft>;

/// The draft's version. It has no state of its own.
#[derive(Debug, Clone, Copy)]
pub struct Draft;

/// BBR's state.
#[derive(Debug, Clone)]
pub struct BbrOf<V> {
    pub(in crate::tcp::congestion) version: V,
    parameters: Parameters,
    pub(in crate::tcp::congestion) initial_window: f64,
    pub(in crate::tcp::congestion) wire_bytes: u32,
    random: Sequence,
    pub(in crate::tcp::congestion) mode: Mode,
    pub(in crate::tcp::congestion) cwnd: f64,
    pub(in crate::tcp::congestion) prior_cwnd: f64,
    pub(in crate::tcp::congestion) pacing: Rate,
    /// Inputs of the last computation of `pacing`: the bandwidth, the gain, and whether the pipe was full.
    paced_for: (f64, f64, bool),
    /// Send quantum at the pacing rate, segments.
    quantum: f64,
    has_seen_rtt: bool,
    pub(in crate::tcp::congestion) recovery: Recovery,
    now: Time,
    pub(in crate::tcp::congestion) total_delivered: u64,
    pub(in crate::tcp::congestion) rounds: Rounds,
    round: u64,
    pub(in crate::tcp::congestion) bandwidth: MaxFilter,
    pub(in crate::tcp::congestion) pipe: FullPipe,
    pub(in crate::tcp::congestion) full_pipe: bool,
    min_rtt: Option<Duration>,
    /// [`bdp`] of the bandwidth and the minimum RTT, if there is one.
    product: f64,
    min_rtt_at: Option<Time>,
    phase_since: Time,
    probe_rtt_end: Option<ProbeRttEnd>,
    held_down: HeldDown,
    idle_restart: bool,
    aggregation: Aggregation,
}

impl<V: Version> BbrOf<V> {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, flow: FlowContext) -> BbrOf<V> {
        let initial_window = f64::from(flow.initial_window);
        let pacing = pacing_rate(initial_bandwidth(initial_window, None), HIGH_GAIN, flow.wire_bytes);
        let mut bbr = BbrOf {
            version: V::new(&flow),
            parameters,
            initial_window,
            wire_bytes: flow.wire_bytes,
            random: Sequence::new(flow.random),
            mode: Mode::Startup,
            cwnd: initial_window,
            prior_cwnd: 0.0,
            pacing,
            paced_for: (0.0, 0.0, false),
            quantum: 0.0,
            has_seen_rtt: false,
            recovery: Recovery::None,
            now: Time::ZERO,
            total_delivered: 0,
            rounds: Rounds::default(),
            round: 0,
            bandwidth: MaxFilter::default(),
            pipe: FullPipe::default(),
            full_pipe: false,
            min_rtt: None,
            product: 0.0,
            min_rtt_at: None,
            phase_since: Time::ZERO,
            probe_rtt_end: None,
            held_down: HeldDown::default(),
            idle_restart: false,
            aggregation: Aggregation::default(),
        };
        bbr.pace_at(pacing);
        bbr
    }

    /// The bandwidth that determines pacing and flight.
    #[inline(always)]
    pub(in crate::tcp::congestion) fn used_bandwidth(&self) -> f64 {
        self.version.imposed_bandwidth().unwrap_or(self.bandwidth.get())
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => 1.0 / HIGH_GAIN,
            Mode::ProbeBw(_) if self.version.imposed_bandwidth().is_some() => 1.0,
            Mode::ProbeBw(phase) => PACING_GAINS[phase],
            Mode::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw(_) => CWND_GAIN,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// Segments in flight at `gain` times the bandwidth-delay product, and `more`.
    #[inline(always)]
    fn in_flight_for(&self, gain: f64, more: f64) -> f64 {
        let product = if self.min_rtt.is_some() { gain * self.product } else { self.initial_window };
        with_quanta(product + more, self.quantum, self.mode == Mode::ProbeBw(0))
    }

    #[inline(always)]
    pub(in crate::tcp::congestion) fn target_cwnd(&self) -> f64 {
        let credited = self.parameters.aggregation && self.full_pipe;
        let limit = bdp(self.used_bandwidth(), AGGREGATION_LIMIT);
        let more = if credited { at_most(self.aggregation.excess(), limit) } else { 0.0 };
        self.in_flight_for(self.cwnd_gain(), more)
    }

    fn update_bandwidth(&mut self, sample: Option<f64>, app_limited: bool) {
        if let Some(sample) = sample
            && (!app_limited || sample >= self.bandwidth.get())
        {
            let before = self.bandwidth.get();
            self.bandwidth.update(self.round, sample, V::BANDWIDTH_ROUNDS);
            if self.bandwidth.get() != before {
                self.find_product();
            }
        }
    }

    #[inline(never)]
    pub(in crate::tcp::congestion) fn find_product(&mut self) {
        self.product = self.min_rtt.map_or(0.0, |min_rtt| bdp(self.used_bandwidth(), min_rtt));
    }

    pub(in crate::tcp::congestion) fn enter_probe_bw(&mut self) {
        let last = PACING_GAINS.len() as u64 - 1;
        self.mode = Mode::ProbeBw(first_phase(self.random.below(last)));
        self.phase_since = self.now;
    }

    /// Draft section 4.3.4: a phase lasts a minimum RTT. Probing continues until it has filled the path or lost a segment.
    /// Draining ends when the queue is gone.
    fn phase_is_over(&self, gain: f64, ack: &AckEvent) -> bool {
        let full_length = self.min_rtt.is_none_or(|min_rtt| ack.now.since(self.phase_since) > min_rtt);
        let in_flight = f64::from(ack.prior_in_flight);
        if gain > 1.0 {
            let in_flight = V::next_in_flight(in_flight, self.quantum);
            full_length && (ack.newly_lost > 0 || in_flight >= self.in_flight_for(gain, 0.0))
        } else if gain < 1.0 {
            full_length || in_flight <= self.in_flight_for(1.0, 0.0)
        } else {
            full_length
        }
    }

    fn update_mode(&mut self, ack: &AckEvent, round_start: bool, app_limited: bool) {
        if let Mode::ProbeBw(phase) = self.mode
            && self.phase_is_over(self.pacing_gain(), ack)
        {
            self.mode = Mode::ProbeBw((phase + 1) % PACING_GAINS.len());
            self.phase_since = ack.now;
        }
        if !self.full_pipe && round_start && !app_limited {
            self.pipe.end_round(self.bandwidth.get());
            self.full_pipe = self.pipe.reached();
        }
        if self.mode == Mode::Startup && self.full_pipe {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && f64::from(ack.in_flight) <= self.in_flight_for(1.0, 0.0) {
            self.enter_probe_bw();
        }
    }

    fn update_min_rtt(&mut self, ack: &AckEvent, round_start: bool) {
        let measured_at = *self.min_rtt_at.get_or_insert(ack.now);
        let expired = ack.now > measured_at + MIN_RTT_WINDOW;
        if let Some(rtt) = ack.rtt
            && (expired || self.min_rtt.is_none_or(|min_rtt| rtt < min_rtt))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = Some(ack.now);
            self.find_product();
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_end = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(ack, round_start);
        }
        if ack.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// Draft section 4.3.5: four segments in flight for 200 ms and a round.
    #[inline(never)]
    fn probe_rtt(&mut self, ack: &AckEvent, round_start: bool) {
        self.held_down.mark(self.total_delivered, ack.in_flight);
        match &mut self.probe_rtt_end {
            None if f64::from(ack.in_flight) <= MIN_PIPE_CWND => {
                self.probe_rtt_end = Some(ProbeRttEnd { at: ack.now + PROBE_RTT_DURATION, round_done: false });
                self.rounds.restart(self.total_delivered);
            }
            None => {}
            Some(end) => {
                end.round_done |= round_start;
                if end.round_done {
                    self.end_probe_rtt_if_due();
                }
            }
        }
    }

    fn end_probe_rtt_if_due(&mut self) {
        if self.probe_rtt_end.is_some_and(|end| self.now > end.at) {
            self.min_rtt_at = Some(self.now);
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            if self.full_pipe {
                self.enter_probe_bw();
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    fn set_pacing(&mut self, gain: f64, rtt: &RttEstimate) {
        let is_first_rtt = !self.has_seen_rtt && rtt.samples() > 0;
        if is_first_rtt {
            self.has_seen_rtt = true;
            self.pace_at(pacing_rate(initial_bandwidth(self.cwnd, rtt.smoothed()), HIGH_GAIN, self.wire_bytes));
        }
        let bandwidth = self.used_bandwidth();
        let basis = (bandwidth, gain, self.full_pipe);
        if basis == self.paced_for && !is_first_rtt {
            return;
        }
        self.paced_for = basis;
        let rate = pacing_rate(bandwidth, gain, self.wire_bytes);
        if bandwidth > 0.0 && (self.full_pipe || rate > self.pacing) && rate != self.pacing {
            self.pace_at(rate);
        }
    }

    fn pace_at(&mut self, rate: Rate) {
        self.pacing = rate;
        self.quantum = self.version.quantum(rate, self.wire_bytes);
    }

    fn set_cwnd(&mut self, ack: &AckEvent) {
        if ack.delivered > 0 {
            V::set_cwnd(self, ack);
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_PIPE_CWND);
        }
    }

    /// The window after an ACK, or `conserved` if the packets in flight are to be conserved.
    #[inline(always)]
    pub(in crate::tcp::congestion) fn next_cwnd(&self, ack: &AckEvent, conserved: f64) -> f64 {
        if self.recovery == Recovery::Conserving {
            return at_least(self.cwnd, conserved);
        }
        let unmeasured = (self.total_delivered as f64) < self.initial_window;
        approach(self.cwnd, self.target_cwnd(), ack.delivered, self.full_pipe, unmeasured)
    }

    pub(in crate::tcp::congestion) fn save_cwnd(&mut self) {
        let good = V::has_good_cwnd(self) && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    fn leave_recovery(&mut self) {
        if self.recovery != Recovery::None {
            self.recovery = Recovery::None;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            if self.full_pipe {
                self.cwnd = self.cwnd.min(self.target_cwnd()).max(MIN_PIPE_CWND);
            }
            if self.mode == Mode::ProbeRtt {
                self.cwnd = self.cwnd.min(MIN_PIPE_CWND);
            }
        }
    }

    /// Whether a sample ends a round, which also ends the first round of recovery.
    fn end_round(&mut self, rate: &RateSample) -> bool {
        let ended = self.rounds.ended_by(rate);
        if ended {
            self.round += 1;
            if self.recovery == Recovery::Conserving {
                self.recovery = Recovery::Growing;
            }
        }
        ended
    }
}

impl Version for Draft {
    const BANDWIDTH_ROUNDS: u64 = BANDWIDTH_ROUNDS;

    fn new(_flow: &FlowContext) -> Draft {
        Draft
    }

    fn quantum(&self, pacing: Rate, wire_bytes: u32) -> f64 {
        quantum(pacing, wire_bytes)
    }

    #[inline(always)]
    fn set_cwnd(bbr: &mut Bbr, ack: &AckEvent) {
        bbr.cwnd = at_least(bbr.cwnd - f64::from(ack.newly_lost), 1.0);
        let conserved = f64::from(ack.in_flight + ack.delivered);
        if bbr.recovery == Recovery::Entering {
            bbr.recovery = Recovery::Conserving;
            bbr.rounds.restart(bbr.total_delivered);
            bbr.cwnd = conserved;
        }
        bbr.cwnd = bbr.next_cwnd(ack, conserved);
    }

    fn has_good_cwnd(bbr: &Bbr) -> bool {
        bbr.recovery == Recovery::None
    }

    fn on_congestion(bbr: &mut Bbr, event: &CongestionEvent) {
        match event.kind {
            CongestionKind::Loss => {
                bbr.save_cwnd();
                bbr.recovery = Recovery::Entering;
            }
            CongestionKind::Timeout { .. } => {
                bbr.save_cwnd();
                bbr.recovery = Recovery::Growing;
                bbr.pipe = FullPipe::default();
                bbr.cwnd = 1.0; // tcp_enter_loss: the flight, none now, and one
            }
            CongestionKind::EcnEcho => {} // version 1 does not heed marks
        }
    }

    fn undo(bbr: &mut Bbr) {
        bbr.pipe = FullPipe::default();
        bbr.leave_recovery();
    }

    fn on_recovered(bbr: &mut Bbr) {
        bbr.leave_recovery();
    }
}

impl<V: Version> CongestionControl for BbrOf<V> {
    #[inline(always)] // with all that it calls: it is done for every ACK
    fn on_ack(&mut self, ack: &AckEvent, rtt: &RttEstimate) {
        self.now = ack.now;
        let (mut round_start, mut app_limited) = (false, true);
        if let Some(rate) = &ack.rate {
            self.total_delivered = rate.total_delivered;
            round_start = self.end_round(rate);
            app_limited = rate.app_limited || self.held_down.covers(rate);
            V::on_rate(self, ack, rate, round_start, app_limited);
            self.update_bandwidth(bandwidth_sample(rate, rtt.minimum()), app_limited);
        }
        if ack.delivered > 0 {
            let bandwidth = self.used_bandwidth();
            self.aggregation.on_ack(ack.now, ack.delivered, bandwidth, self.cwnd, self.round, true);
        }
        self.update_mode(ack, round_start, app_limited);
        self.update_min_rtt(ack, round_start);
        self.set_pacing(self.pacing_gain(), rtt);
        self.set_cwnd(ack);
    }

    fn on_congestion(&mut self, event: &CongestionEvent, _rtt: &RttEstimate) {
        if self.total_delivered == 0 && event.prior_in_flight == 0 {
            self.cwnd = 1.0; // a lost SYN (RFC 5681 section 3.1): there is no earlier window to restore
            return;
        }
        V::on_congestion(self, event);
    }

    fn undo(&mut self) {
        V::undo(self);
    }

    fn on_recovered(&mut self) {
        V::on_recovered(self);
    }

    /// The handshake gives the first minimum RTT and pacing rate (bbr_init; draft: BBRInit).
    fn on_established(&mut self, now: Time, rtt: &RttEstimate) {
        (self.min_rtt, self.min_rtt_at) = (rtt.minimum(), Some(now));
        self.set_pacing(self.pacing_gain(), rtt);
    }

    fn on_idle(&mut self, now: Time, _idle: Duration, _initial_window: u32, rtt: &RttEstimate) {
        self.now = now;
        self.idle_restart = true;
        self.aggregation.restart(self.now);
        match self.mode {
            Mode::ProbeBw(_) => self.set_pacing(1.0, rtt),
            Mode::ProbeRtt => self.end_probe_rtt_if_due(),
            Mode::Startup | Mode::Drain => {}
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
mod tests {
    use super::*;
    use crate::tcp::congestion::testing::bottleneck::{Bench, Observed, Path, calls, check_calls, flow};
    use proptest::prelude::*;

    /// 10 Mbit/s of payload and headers, 50 ms: a product of 50 segments.
    const PATH: Path = Path { rate: 1000.0, delay: Duration::from_millis(50), buffer: 500.0, loss: 0.0 };

    fn bench(path: Path) -> Bench<Bbr> {
        Bench::new(Bbr::new(Parameters::default(), flow(1)), path)
    }

    fn near(actual: f64, expected: f64, share: f64) {
        assert!((actual - expected).abs() <= share * expected, "{actual} is not {expected}");
    }

    #[test]
    fn draft_section_4_3_2_high_gain_is_2_885() {
        near(HIGH_GAIN, 2.885, 2e-4);
        assert_eq!(PACING_GAINS.iter().sum::<f64>(), 8.0);
    }

    #[test]
    fn draft_section_4_3_4_2_starts_in_any_phase_but_the_draining_one() {
        let phases: Vec<usize> = (0..7).map(first_phase).collect();
        assert_eq!(phases, [0, 7, 6, 5, 4, 3, 2]);
    }

    #[test]
    fn linux_quantization_rounds_up_to_even_and_adds_two_when_probing() {
        assert_eq!(with_quanta(50.2, 2.0, false), 58.0);
        assert_eq!(with_quanta(50.2, 2.0, true), 60.0);
    }

    #[test]
    fn it_converges_to_the_rate_without_a_standing_queue() {
        let mut bench = bench(PATH);
        bench.run(3.0);
        let Observed { goodput, mean_rtt, loss_ratio, .. } = bench.run(6.0);
        near(goodput, PATH.rate, 0.05);
        near(bench.control.bandwidth.get(), PATH.rate, 0.05);
        assert!(mean_rtt < 1.25 * PATH.delay.as_secs(), "{mean_rtt}");
        assert_eq!(loss_ratio, 0.0);
    }

    #[test]
    fn startup_leads_through_drain_to_probe_bw() {
        let mut bench = bench(PATH);
        let mut seen = Vec::new();
        for _ in 0..200 {
            bench.run(0.01);
            let mode = match bench.control.mode {
                Mode::ProbeBw(_) => Mode::ProbeBw(0),
                mode => mode,
            };
            if seen.last() != Some(&mode) {
                seen.push(mode);
            }
        }
        assert_eq!(seen, [Mode::Startup, Mode::Drain, Mode::ProbeBw(0)]);
    }

    #[test]
    fn it_follows_the_rate_down_and_up() {
        let mut bench = bench(PATH);
        bench.run(5.0);
        for rate in [500.0, 1000.0, 2000.0] {
            bench.path.rate = rate;
            bench.run(8.0);
            near(bench.run(5.0).goodput, rate, 0.06);
        }
    }

    #[test]
    fn probe_rtt_comes_every_ten_seconds_for_200_ms_at_four_segments() {
        let mut bench = bench(PATH);
        bench.run(9.0);
        let (mut times, mut least) = (Vec::new(), u32::MAX);
        for step in 0..2400 {
            let observed = bench.run(0.01);
            if bench.control.mode == Mode::ProbeRtt {
                times.push(step);
                assert!(bench.control.cwnd() <= 4.0);
                least = least.min(observed.min_in_flight);
            }
        }
        let episodes: Vec<i32> = times.chunk_by(|a, b| b - a == 1).map(|episode| episode.len() as i32).collect();
        assert_eq!((episodes.len(), least), (3, 3), "{times:?}");
        assert!(episodes.iter().all(|length| (20..=35).contains(length)), "{episodes:?}");
        near(bench.control.bandwidth.get(), PATH.rate, 0.05);
    }

    #[test]
    fn random_loss_of_one_percent_costs_little() {
        let mut bench = bench(Path { loss: 0.01, ..PATH });
        bench.run(3.0);
        assert!(bench.run(6.0).goodput > 0.9 * PATH.rate);
    }

    #[test]
    fn a_short_queue_is_survived() {
        let mut bench = bench(Path { buffer: 10.0, ..PATH });
        bench.run(3.0);
        assert!(bench.run(6.0).goodput > 0.9 * PATH.rate);
    }

    fn ack(now: Time, delivered: u32, newly_lost: u32, in_flight: u32) -> AckEvent {
        AckEvent {
            now,
            delivered,
            cumulative: delivered,
            growth: 0,
            may_grow: 0,
            advanced: true,
            duplicate: false,
            newly_lost,
            prior_in_flight: in_flight + delivered + newly_lost,
            in_flight,
            outstanding: in_flight,
            rtt: Some(PATH.delay),
            rate: None,
            round_start: false,
            in_recovery: true,
            ecn_echo: false,
            marked: 0,
        }
    }

    /// Ten segments of 1250 bytes in 40 ms are 2.5 Mbit/s. Pacing begins with 2/ln 2 of it, less one percent. The RTT of larger
    /// segments, 52 ms, does not replace that of the handshake.
    #[test]
    fn the_handshake_gives_the_first_minimum_rtt_and_pacing_rate() {
        fn check<V: Version>() {
            let mut bbr = BbrOf::<V>::new(Parameters::default(), flow(1));
            let (mut rtt, at) = (crate::tcp::congestion::testing::bottleneck::rtt_estimate(), |count| {
                Time::ZERO + Duration::from_millis(count)
            });
            rtt.sample(Duration::from_millis(40));
            bbr.on_established(at(40), &rtt);
            near(bbr.pacing_rate().unwrap().as_bps(), 2.5e6 * 2.885 * 0.99, 1e-3);
            bbr.on_ack(&AckEvent { rtt: Some(Duration::from_millis(52)), ..ack(at(92), 1, 0, 9) }, &rtt);
            assert_eq!((bbr.min_rtt, bbr.min_rtt_at), (Some(Duration::from_millis(40)), Some(at(40))));
        }
        check::<Draft>();
        check::<crate::tcp::congestion::linux::bbr::Linux>();
    }

    #[test]
    fn linux_recovery_conserves_packets_for_a_round_and_restores_the_window() {
        let mut bench = bench(PATH);
        bench.run(5.0);
        let (mut bbr, rtt, now) =
            (bench.control, crate::tcp::congestion::testing::bottleneck::rtt_estimate(), bench.now);
        let before = bbr.cwnd();
        bbr.on_congestion(&CongestionEvent { now, kind: CongestionKind::Loss, prior_in_flight: 50 }, &rtt);
        bbr.on_ack(&ack(now, 1, 3, 46), &rtt);
        assert_eq!(bbr.cwnd(), 47.0);
        bbr.on_ack(&ack(now, 1, 0, 46), &rtt);
        assert_eq!(bbr.cwnd(), 47.0);
        bbr.on_recovered();
        assert!((bbr.cwnd() - before).abs() <= 2.0, "{} is not {before}", bbr.cwnd());
    }

    #[test]
    fn linux_timeout_leaves_one_segment_then_grows_and_is_undone() {
        let mut bench = bench(PATH);
        bench.run(5.0);
        let (mut bbr, rtt, now) =
            (bench.control, crate::tcp::congestion::testing::bottleneck::rtt_estimate(), bench.now);
        let before = bbr.cwnd();
        let kind = CongestionKind::Timeout { repeated: false };
        bbr.on_congestion(&CongestionEvent { now, kind, prior_in_flight: 50 }, &rtt);
        assert_eq!(bbr.cwnd(), 1.0);
        bbr.on_ack(&ack(now, 1, 0, 0), &rtt);
        assert_eq!(bbr.cwnd(), 4.0);
        bbr.on_ack(&ack(now, 2, 0, 2), &rtt);
        assert_eq!(bbr.cwnd(), 6.0);
        bbr.undo();
        assert!((bbr.cwnd() - before).abs() <= 2.0, "{} is not {before}", bbr.cwnd());
    }

    #[test]
    fn after_idle_it_paces_at_the_bandwidth() {
        let mut bench = bench(PATH);
        bench.run(5.0);
        let now = bench.now + Duration::from_secs(1);
        bench.control.on_idle(
            now,
            Duration::from_secs(1),
            10,
            &crate::tcp::congestion::testing::bottleneck::rtt_estimate(),
        );
        let expected = pacing_rate(bench.control.bandwidth.get(), 1.0, 1250);
        assert_eq!(bench.control.pacing_rate(), Some(expected));
    }

    proptest! {
        #[test]
        fn window_and_pacing_stay_usable(calls in calls(), seed in 0..8u64) {
            check_calls(Bbr::new(Parameters::default(), flow(seed)), &calls)?;
        }
    }
}
