//! The sender: a state machine that takes ACKs and deadlines, and gives segments and its next deadline.
//!
//! It owns what is not a policy: sequence space, scoreboard, RTT estimate, recovery episodes with PRR, undo, pacing. What
//! is lost, its detector says; how much to have in flight, its congestion control.

use super::congestion::controlled::Controlled;
use super::congestion::{CongestionControl, FlowContext};
use super::detection::{DetectorContext, LossDetector, Signal, Verdict, timer};
use super::events::{AckEvent, CongestionEvent, CongestionKind};
use super::prr::ProportionalRateReduction;
use super::rate::RateSampler;
use super::receiver::Ack;
use super::rtt::RttEstimate;
use super::scoreboard::{Delivered, Scoreboard};
use crate::rng::Stream;
use crate::spec::{PacingUnit, RateReduction, SpuriousResponse, StackSpec, WindowGrowth, WindowUse};
use crate::units::{Duration, Rate, Time};

/// A segment to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transmission {
    /// The connection request.
    Syn,
    /// A data segment.
    Data {
        /// Which segment of the flow.
        segment: u32,
        /// The number of the transmission: increasing in the order of sending.
        number: u32,
        /// Whether it was sent before.
        retransmission: bool,
        /// Whether it answers a congestion mark (CWR, RFC 3168).
        window_reduced: bool,
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

/// What a sender counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderCounters {
    /// Data segments sent, new and again.
    pub sent: u64,
    /// Of these, those sent again.
    pub retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Loss recovery episodes, those after a timeout included.
    pub recoveries: u64,
    /// Reductions taken back because they were spurious.
    pub undone: u64,
}

/// What the connection is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    /// A SYN is to be sent (`sent` is [`Time::NEVER`]), or was sent at `sent` for the `tries`-th time.
    Opening { sent: Time, tries: u32 },
    /// Established, and nothing is known to be lost.
    Open,
    /// Loss recovery until everything below `until` is acknowledged.
    Fast {
        until: u32,
        prr: ProportionalRateReduction,
        /// Without SACK: a partial ACK came. Only the first one restarts the retransmission timer, so that many losses
        /// in one window end in a timeout instead of taking a round trip each (RFC 6582 section 3.2 step 3).
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
    /// Not asked, or answered.
    Off,
    /// The first segment was sent again; the next ACK tells.
    Retransmitted,
    /// That ACK advanced: new data goes out to see whether its ACK advances too.
    ProbingNew,
}

/// What was the limit when the sender last stopped sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// The window.
    Window,
    /// The application or the receiver; but the window in the last round trip ([`WindowUse::RoundTrip`]).
    WindowLately,
    /// The application or the receiver.
    Other,
}

/// How much of the window was used while it was not the limit ([`WindowUse::RoundTrip`]).
#[derive(Debug, Clone, Copy, Default)]
struct Unfilled {
    /// The most segments outstanding in the round trip that ends when this one is acknowledged.
    most_outstanding: u32,
    round_end: u32,
    /// Transmissions until the last stop.
    transmissions: u32,
}

/// What a sender is doing, as far as losses go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Episode {
    /// Nothing is known to be lost.
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
    congestion: Controlled,
    detector: Box<dyn LossDetector>,
    rate: Option<Box<RateSampler>>,
    /// Segments that the application has written; all of them, for a flow without end.
    available: u32,
    receive_window: u32,
    limit: Limit,
    probe: bool,
    /// A timeout allows one retransmission, whatever is still taken to be in flight (RFC 6298 (5.4)); so do the answer
    /// that it was not spurious (RFC 5682 section 3.1) and, without SACK, a partial ACK (RFC 6582 section 3.2 step 3).
    retransmit_now: bool,
    owns_recovery: bool,
    /// Of the last verdict ([`Verdict::withheld`]).
    withheld: u32,
    /// The retransmission timer expired, and no cumulative acknowledgement has moved since.
    unanswered_timeout: bool,
    options: Options,
    /// A new round trip begins when a segment from here on is delivered.
    round_end: u32,
    /// Retransmissions of this episode that no DSACK has reported as spurious.
    unreported_retransmits: u32,
    /// Everything below was sent before the last reduction that an undo may take back; zero if none may.
    undo_until: u32,
    /// The next segment to send at the last reduction: the first that may carry CWR.
    ecn_until: u32,
    /// Without SACK: duplicate ACKs up to here answer what the last recovery sent again ("recover" of RFC 6582).
    recover: u32,
    window_reduced: bool,
    next_send: Time,
    /// Only with [`PacingUnit::Pair`] or [`WindowUse::RoundTrip`].
    seldom: Option<Box<Seldom>>,
    timeouts: u32,
    recoveries: u32,
    undone: u32,
}

/// The switches of a [`StackSpec`] that the sender reads while it runs.
#[derive(Debug, Clone, Copy)]
struct Options {
    sack: bool,
    f_rto: bool,
    limited_transmit: bool,
    ecn: bool,
    pacing: bool,
    pacing_unit: PacingUnit,
    ends_recovery_at_partial_ack: bool,
    spurious: SpuriousResponse,
    window_growth: WindowGrowth,
    window_use: WindowUse,
    rate_reduction: RateReduction,
    restart_after_idle: bool,
    /// SACK tells what the ACKs of an undisturbed flow are.
    ordinary_acks: bool,
    /// The detector or a rate sampler needs to see them, too.
    all_acks_count: bool,
    /// The detector has no deadline but that of the retransmission timer.
    only_the_timer: bool,
    /// Neither a rate sampler nor a congestion mark's answer needs to see every segment sent.
    bursts: bool,
    wire_bytes: u32,
}

/// The factor of cwnd / SRTT at which a window-based sender paces, in slow start and after (as Linux does).
const PACING_FACTORS: (f64, f64) = (2.0, 1.2);

/// The segments of a train, and how many of a connection go out before pacing begins (as Linux does).
const TRAIN_SEGMENTS: u32 = 2;
const UNPACED_SEGMENTS: u32 = 10;

/// Segments that a sender that paces in pairs sends at one instant.
#[derive(Debug, Clone, Copy, Default)]
struct Train {
    began: Time,
    /// When pacing would have let it go.
    due: Time,
    segments: u32,
}

/// What few senders need.
#[derive(Debug, Clone, Copy, Default)]
struct Seldom {
    unfilled: Unfilled,
    train: Train,
}

impl Train {
    fn has_room(&self, now: Time) -> bool {
        self.began == now && (1..TRAIN_SEGMENTS).contains(&self.segments)
    }
}

impl Sender {
    /// A sender with nothing to send yet. `paths` is how many paths the routing offers; `random` the flow's own draws.
    pub fn new(stack: &StackSpec, paths: u32, random: Stream) -> Sender {
        let wire_bytes = stack.mss + stack.header;
        let congestion = stack.congestion.build(FlowContext {
            initial_window: stack.initial_window,
            slow_start: stack.slow_start,
            wire_bytes,
            random,
        });
        let detector = stack.detection.build(DetectorContext { sack: stack.sack, paths });
        let rate = congestion.wants_rate_samples().then(Box::<RateSampler>::default);
        let options = Options {
            sack: stack.sack,
            f_rto: stack.f_rto,
            limited_transmit: stack.limited_transmit,
            ecn: stack.ecn,
            pacing: stack.pacing,
            pacing_unit: stack.pacing_unit,
            ends_recovery_at_partial_ack: !stack.sack && congestion.ends_recovery_at_partial_ack(),
            spurious: stack.spurious,
            window_growth: stack.window_growth,
            window_use: stack.window_use,
            rate_reduction: stack.rate_reduction,
            restart_after_idle: stack.restart_after_idle,
            ordinary_acks: stack.sack,
            all_acks_count: rate.is_some() || detector.learns_from_ordinary_acks(),
            only_the_timer: detector.has_only_the_timer(),
            bursts: rate.is_none() && !stack.ecn,
            wire_bytes,
        };
        Sender {
            phase: if stack.handshake { Phase::Opening { sent: Time::NEVER, tries: 0 } } else { Phase::Open },
            board: if detector.asks_for_sending_order() {
                Scoreboard::with_sending_order()
            } else {
                Scoreboard::default()
            },
            rtt: RttEstimate::new(stack.min_rto, stack.max_rto, stack.initial_rto)
                .with_granularity(stack.rto_granularity),
            rate,
            owns_recovery: congestion.owns_recovery(),
            congestion: Controlled::new(congestion),
            detector,
            available: 0,
            receive_window: stack.window_segments(),
            limit: Limit::Other,
            probe: false,
            retransmit_now: false,
            withheld: 0,
            unanswered_timeout: false,
            options,
            round_end: 0,
            unreported_retransmits: 0,
            undo_until: 0,
            ecn_until: 0,
            recover: 0,
            window_reduced: false,
            next_send: Time::ZERO,
            seldom: None,
            timeouts: 0,
            recoveries: 0,
            undone: 0,
        }
    }

    /// What it has counted.
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

    /// Its round-trip time estimate.
    pub fn rtt(&self) -> &RttEstimate {
        &self.rtt
    }

    /// What it is doing.
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

    #[inline(always)]
    fn is_recovering(&self) -> bool {
        matches!(self.phase, Phase::Fast { .. } | Phase::Timeout { .. })
    }

    /// The receiver allows so many segments from the first unacknowledged one on; zero closes the window.
    pub fn set_receive_window(&mut self, segments: u32) {
        self.receive_window = segments;
    }

    /// Its congestion control.
    pub fn congestion(&self) -> &dyn CongestionControl {
        self.congestion.algorithm()
    }

    /// Whether all that was written is acknowledged.
    pub fn is_done(&self) -> bool {
        self.board.una() == self.available
    }

    /// The application writes so many more segments.
    pub fn write(&mut self, now: Time, segments: u32) {
        if !self.is_opening()
            && self.board.outstanding() == 0
            && self.board.next() == self.available
            && self.board.next() > 0
        {
            let idle = now - self.board.timer_start(); // which started when the last ACK advanced
            if self.options.restart_after_idle {
                self.congestion.on_idle(idle, &self.rtt);
            } else {
                self.congestion.on_idle(idle, &self.rtt.without_timeout());
            }
        }
        self.available = self.available.saturating_add(segments);
    }

    /// The application has written all it will: what is not yet sent by now is taken back.
    pub fn close(&mut self) {
        self.available = self.available.min(self.board.next());
    }

    /// The SYN-ACK arrived.
    pub fn on_established(&mut self, now: Time) {
        if let Phase::Opening { sent, tries } = self.phase
            && sent != Time::NEVER
        {
            if tries == 1 {
                self.rtt.sample(now - sent); // Karn: only if it answers the one SYN
            } else {
                // RFC 5681 section 3.1: after a lost SYN or SYN-ACK the initial window is one segment.
                let kind = CongestionKind::Timeout { repeated: true };
                self.congestion.on_congestion(&CongestionEvent { now, kind, prior_in_flight: 0 }, &self.rtt);
            }
            self.phase = Phase::Open;
        }
    }

    /// The window in force: PRR's during fast recovery, else the congestion control's.
    #[inline]
    pub fn window(&self) -> u32 {
        match self.phase {
            Phase::Fast { prr, .. } if !self.owns_recovery => prr.window(),
            _ => self.congestion.window(),
        }
    }

    /// Takes an ACK. Returns what it delivered; nothing for the ordinary one that nobody needs to look into.
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Ack) -> Option<Delivered> {
        let Some(sent) = self.pass_ordinary_ack(now, ack) else { return Some(self.take_any_ack(now, ack)) };
        let prior_in_flight = self.board.in_flight() + 1;
        let segment = self.board.una() - 1;
        self.rtt.sample(now - sent);
        self.unanswered_timeout = false;
        let round_start = segment >= self.round_end;
        if round_start {
            self.round_end = self.board.next();
        }
        let mut event = AckEvent {
            now,
            delivered: 1,
            growth: 0,
            advanced: true,
            duplicate: false,
            newly_lost: 0,
            prior_in_flight,
            in_flight: self.board.in_flight(),
            rtt: Some(now - sent),
            rate: None,
            round_start,
            in_recovery: false,
            ecn_echo: false,
        };
        if self.options.all_acks_count {
            return Some(self.judge_ordinary_ack(event, segment, sent));
        }
        event.growth = u32::from(self.is_window_limited(prior_in_flight));
        self.congestion.on_ack(&event, &self.rtt);
        None
    }

    /// The ACK of an undisturbed flow, shorter than [`Self::take_any_ack`] and to the same effect: it passes one segment, sent
    /// once. Returns when that was sent; `None`, and nothing done, if the ACK is another.
    #[inline(always)]
    fn pass_ordinary_ack(&mut self, now: Time, ack: &Ack) -> Option<Time> {
        let is_ordinary = self.options.ordinary_acks
            && self.phase == Phase::Open
            && self.board.una() >= self.undo_until
            && ack.sack.is_empty()
            && !ack.ecn_echo;
        if is_ordinary { self.board.pass_one_original(ack.cumulative, now) } else { None }
    }

    /// The ordinary ACK, where a detector or a rate sampler learns from every one.
    #[inline(never)]
    fn judge_ordinary_ack(&mut self, event: AckEvent, segment: u32, sent: Time) -> Delivered {
        let delivered = Delivered::one_original(segment, sent, event.now);
        let prior_in_flight = event.prior_in_flight + self.withheld;
        self.judge(AckEvent { prior_in_flight, ..event }, &delivered, false);
        delivered
    }

    #[inline(never)]
    fn take_any_ack(&mut self, now: Time, ack: &Ack) -> Delivered {
        let prior_in_flight = self.board.in_flight() + self.withheld;
        let prior_una = self.board.una();
        let was_in_fast_recovery = matches!(self.phase, Phase::Fast { .. });
        let prior_timer_start = self.board.timer_start();
        let mut delivered = self.board.acknowledge(ack.cumulative, ack.sack.held(), now);
        let advanced = self.board.una() > prior_una;
        let duplicate = !advanced && ack.cumulative == prior_una && self.board.outstanding() > 0;
        if !self.options.sack {
            self.account_without_sack(advanced, duplicate, prior_timer_start, &mut delivered);
        }
        let any_retransmitted = delivered.any_retransmitted;
        // Without SACK, an ACK that fills a retransmitted hole delivers segments that had arrived long before.
        let rtt_is_clean = self.options.sack || !any_retransmitted;
        let newest_rtt = if rtt_is_clean { delivered.newest_rtt() } else { None };
        let round_start = delivered.newest().is_some_and(|(_, segment)| segment >= self.round_end);
        if rtt_is_clean && let Some(sample) = delivered.oldest_rtt() {
            self.rtt.sample(sample);
        }
        if advanced {
            self.unanswered_timeout = false;
        }
        if let Some((segment, _)) = ack.sack.duplicate() {
            self.on_duplicate_report(now, segment);
        }
        if advanced && prior_una < self.undo_until {
            self.detect_spurious_by_echo(ack, any_retransmitted);
        }
        if self.is_recovering() {
            self.continue_recovery(advanced, duplicate, &delivered);
        }
        if round_start {
            self.round_end = self.board.next();
        }
        let event = AckEvent {
            now,
            delivered: delivered.count,
            growth: 0,
            advanced,
            duplicate,
            newly_lost: 0,
            prior_in_flight,
            in_flight: self.board.in_flight(),
            rtt: newest_rtt,
            rate: None,
            round_start,
            in_recovery: self.is_recovering(),
            ecn_echo: ack.ecn_echo,
        };
        self.judge(event, &delivered, was_in_fast_recovery);
        delivered
    }

    /// What an ACK that is on the scoreboard means: to the rate sampler, the detector, the congestion control and PRR.
    #[inline(always)]
    fn judge(&mut self, mut event: AckEvent, delivered: &Delivered, was_in_fast_recovery: bool) {
        let AckEvent { now, prior_in_flight, .. } = event;
        if let Some(sampler) = &mut self.rate {
            event.rate = sampler.on_ack(now, delivered, self.board.una(), self.rtt.minimum());
        }
        let marked_before = self.board.marked_lost();
        let verdict = self.detector.on_ack(&event, delivered, &mut self.board, &self.rtt);
        event.newly_lost = self.board.marked_lost().wrapping_sub(marked_before);
        if verdict != Verdict::default() || event.newly_lost > 0 {
            self.apply(now, verdict, prior_in_flight, event.newly_lost);
        }
        self.withhold(verdict.withheld);
        if event.ecn_echo {
            self.on_ecn_echo(now, prior_in_flight);
        }
        event.in_flight = self.board.in_flight();
        event.in_recovery = self.is_recovering();
        let may_grow = !was_in_fast_recovery && !matches!(self.phase, Phase::Fast { .. });
        // RFC 3168 section 6.1.2: an echo of congestion does not open the window.
        if may_grow && !event.ecn_echo && self.is_window_limited(prior_in_flight) {
            // RFC 5681 section 3.1: what the cumulative acknowledgement passes, so that duplicate ACKs do not open the window
            // (RFC 3042 section 2). The ACK that ends fast recovery reports segments that were delivered during it.
            event.growth = match self.options.window_growth {
                WindowGrowth::Acknowledged => delivered.cumulative,
                WindowGrowth::Delivered => delivered.cumulative.min(delivered.count),
            };
        }
        if event.delivered > 0 {
            self.congestion.on_ack(&event, &self.rtt);
        }
        if !self.owns_recovery
            && let Phase::Fast { prr, marked, .. } = &mut self.phase
        {
            let is_bold = self.options.rate_reduction == RateReduction::Rfc6937;
            if is_bold || event.delivered > 0 {
                let is_safe = event.advanced && event.newly_lost == 0 && !*marked; // SafeACK of RFC 9937 section 6.2
                let window = self.congestion.window();
                prr.on_ack(self.board.in_flight(), window, event.delivered, is_bold || is_safe);
            }
        }
    }

    fn account_without_sack(
        &mut self,
        advanced: bool,
        duplicate: bool,
        prior_timer_start: Time,
        delivered: &mut Delivered,
    ) {
        if duplicate {
            // After a timeout all that was in flight is taken for lost, and most of what is sent again had arrived: its
            // duplicates must neither open the window nor make room in it (RFC 5681 section 3.1, RFC 6582 section 3.2).
            let of_new_data = match self.phase {
                Phase::Opening { .. } | Phase::Open => self.board.una() > self.recover || self.recover == 0,
                Phase::Fast { .. } => true,
                Phase::Timeout { .. } => false,
            };
            if of_new_data {
                self.board.count_duplicate();
                delivered.count = 1;
            }
        } else if advanced {
            delivered.count -= self.board.eat_duplicates(delivered.cumulative);
            match &mut self.phase {
                Phase::Open => self.board.reset_duplicates(),
                Phase::Fast { until, partial, .. }
                    if self.board.una() < *until && !self.options.ends_recovery_at_partial_ack =>
                {
                    self.retransmit_now = true; // the next hole, whatever PRR allows
                    if std::mem::replace(partial, true) {
                        self.board.restart_timer(prior_timer_start);
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether the window, and not the application, was the limit (RFC 7661's concern; in slow start twice what was in
    /// flight is allowed, so that a paced sender can double).
    fn is_window_limited(&self, prior_in_flight: u32) -> bool {
        let cwnd = self.congestion.cwnd();
        let most_outstanding = self.seldom.as_ref().map_or(0, |seldom| seldom.unfilled.most_outstanding);
        let used = prior_in_flight.max(most_outstanding);
        self.limit != Limit::Other || (cwnd < self.congestion.ssthresh() && cwnd < 2.0 * f64::from(used))
    }

    /// The application, or the receiver's window, was the limit when the sender stopped sending.
    fn stop_unfilled(&mut self) {
        if self.options.window_use == WindowUse::Now {
            self.limit = Limit::Other;
            return;
        }
        let (outstanding, una, next) = (self.board.outstanding(), self.board.una(), self.board.next());
        let unfilled = &mut self.seldom.get_or_insert_default().unfilled;
        match self.limit {
            Limit::Window => {
                self.limit = Limit::WindowLately;
                unfilled.round_end = next;
                return;
            }
            Limit::WindowLately if una < unfilled.round_end => return,
            Limit::WindowLately | Limit::Other => self.limit = Limit::Other,
        }
        let sent = std::mem::replace(&mut unfilled.transmissions, self.board.next_transmission());
        if sent != unfilled.transmissions && (una >= unfilled.round_end || outstanding > unfilled.most_outstanding) {
            unfilled.most_outstanding = outstanding;
            unfilled.round_end = next;
        }
    }

    #[inline]
    fn apply(&mut self, now: Time, verdict: Verdict, prior_in_flight: u32, newly_lost: u32) {
        self.probe |= verdict.probe;
        if newly_lost > 0
            && let Some(sampler) = &mut self.rate
        {
            sampler.on_lost(newly_lost);
        }
        match verdict.signal {
            Signal::None => {}
            Signal::Loss if self.is_recovering() => {
                if let Phase::Fast { marked, .. } = &mut self.phase {
                    *marked = false; // one reduction suffices for the marks and the loss of one window (RFC 3168)
                }
            }
            Signal::Loss | Signal::NewLoss => self.enter_recovery(now, prior_in_flight),
            Signal::Timeout => self.enter_timeout(now, prior_in_flight),
        }
    }

    fn enter_recovery(&mut self, now: Time, prior_in_flight: u32) {
        self.recoveries += 1;
        let event = CongestionEvent { now, kind: CongestionKind::Loss, prior_in_flight };
        self.congestion.on_congestion(&event, &self.rtt);
        self.announce_reduction();
        self.allow_undo();
        if self.board.outstanding() == 0 {
            return; // a probe had repaired the loss: there is nothing to recover
        }
        let mut prr = ProportionalRateReduction::new(prior_in_flight);
        prr.on_ack(self.board.in_flight(), self.congestion.window(), 0, true);
        self.phase = Phase::Fast { until: self.board.next(), prr, partial: false, marked: false };
    }

    fn enter_timeout(&mut self, now: Time, prior_in_flight: u32) {
        let repeated = std::mem::replace(&mut self.unanswered_timeout, true);
        self.timeouts += 1;
        if self.phase == Phase::Open {
            self.recoveries += 1;
        }
        let event = CongestionEvent { now, kind: CongestionKind::Timeout { repeated }, prior_in_flight };
        self.congestion.on_congestion(&event, &self.rtt);
        self.announce_reduction();
        self.rtt.back_off();
        self.board.restart_timer(now);
        self.retransmit_now = true;
        let forward = if self.options.f_rto && !repeated { ForwardRto::Retransmitted } else { ForwardRto::Off };
        self.phase = Phase::Timeout { until: self.board.next(), forward };
        if !repeated {
            self.allow_undo();
        }
    }

    fn allow_undo(&mut self) {
        let may_undo = self.options.spurious != SpuriousResponse::None || self.options.f_rto;
        self.undo_until = if may_undo { self.board.next() } else { 0 };
        self.unreported_retransmits = 0;
    }

    fn continue_recovery(&mut self, advanced: bool, duplicate: bool, delivered: &Delivered) {
        match self.phase {
            Phase::Opening { .. } | Phase::Open => {}
            Phase::Fast { until, .. } => {
                if self.board.una() >= until {
                    self.end_recovery(until);
                } else if advanced && self.options.ends_recovery_at_partial_ack {
                    self.end_recovery(0); // duplicates that follow tell of the window's next loss
                }
            }
            Phase::Timeout { until, forward } => {
                if self.board.una() >= until {
                    self.end_recovery(until);
                } else if forward != ForwardRto::Off {
                    self.continue_forward_rto(until, forward, advanced, duplicate, delivered);
                }
            }
        }
    }

    fn end_recovery(&mut self, until: u32) {
        self.phase = Phase::Open;
        self.recover = until;
        self.board.reset_duplicates();
        self.board.shrink();
        self.congestion.on_recovered();
    }

    fn continue_forward_rto(
        &mut self,
        until: u32,
        forward: ForwardRto,
        advanced: bool,
        duplicate: bool,
        delivered: &Delivered,
    ) {
        // Without SACK, what a retransmission's ACK passes besides may have arrived before the timeout.
        let is_news = self.options.sack || !delivered.any_retransmitted;
        let original_arrived = is_news && delivered.lowest_original().is_some_and(|segment| segment < until);
        let forward = if original_arrived {
            return self.undo(); // RFC 5682 section 3.1 step 3.b: data sent before the timeout, and never since, arrived
        } else if forward == ForwardRto::ProbingNew {
            if duplicate || delivered.count > 0 {
                self.retransmit_now = true; // step 3.a: the loss was real, and the hole is sent whatever is in flight
                ForwardRto::Off
            } else {
                forward
            }
        } else if advanced {
            ForwardRto::ProbingNew // step 2.b
        } else if duplicate {
            ForwardRto::Off // step 2.a
        } else {
            forward
        };
        self.phase = Phase::Timeout { until, forward };
    }

    fn on_duplicate_report(&mut self, now: Time, segment: u32) {
        self.detector.on_spurious(now, segment, &self.board);
        if self.options.spurious != SpuriousResponse::None
            && segment < self.undo_until
            && self.unreported_retransmits > 0
        {
            self.unreported_retransmits -= 1;
            if self.unreported_retransmits == 0 && self.board.lost() == 0 {
                self.undo(); // RFC 3708: every retransmission of the episode was unnecessary
            }
        }
    }

    /// RFC 3522: the first acknowledgement of a retransmitted segment echoes its original transmission.
    fn detect_spurious_by_echo(&mut self, ack: &Ack, passed_retransmission: bool) {
        if self.options.spurious == SpuriousResponse::Eifel && passed_retransmission {
            if ack.echoes_retransmission {
                self.undo_until = 0; // the retransmission was needed
            } else {
                self.undo();
            }
        }
    }

    fn undo(&mut self) {
        self.undone += 1;
        self.congestion.undo();
        self.board.unmark_lost();
        self.undo_until = 0;
        self.phase = Phase::Open;
    }

    fn on_ecn_echo(&mut self, now: Time, prior_in_flight: u32) {
        if self.phase == Phase::Open && self.board.una() > self.ecn_until {
            let event = CongestionEvent { now, kind: CongestionKind::EcnEcho, prior_in_flight };
            self.congestion.on_congestion(&event, &self.rtt);
            self.announce_reduction();
            if self.options.rate_reduction == RateReduction::Rfc9937 && self.board.outstanding() > 0 {
                let mut prr = ProportionalRateReduction::new(prior_in_flight);
                prr.on_ack(self.board.in_flight(), self.congestion.window(), 0, false);
                self.phase = Phase::Fast { until: self.board.next(), prr, partial: false, marked: true };
            }
        }
    }

    /// RFC 3168 section 6.1.2: the window shrinks at most once per window of data, for whatever reason, and the next new
    /// segment says so. Echoes of older marks come until that segment itself is acknowledged.
    fn announce_reduction(&mut self) {
        if self.options.ecn {
            self.ecn_until = self.board.next();
            self.window_reduced = true;
        }
    }

    /// When to be woken, if no ACK comes first: a timer of the detector, the pacing of the next segment, or the SYN's
    /// timer. Asked after all that can be sent was sent.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        if let Phase::Opening { sent, tries } = self.phase {
            // RFC 6298 (2.5): the greatest timeout bounds the SYN's as well.
            return (sent != Time::NEVER)
                .then(|| sent + Duration(self.rtt.rto().0 << (tries - 1).min(6)).min(self.rtt.max_rto()));
        }
        let timer = self.detector_deadline();
        let paced = (self.next_send > self.last_stop() && self.could_send()).then_some(self.next_send);
        match (timer, paced) {
            (Some(timer), Some(paced)) => Some(timer.min(paced)),
            (timer, paced) => timer.or(paced),
        }
    }

    #[inline]
    fn detector_deadline(&self) -> Option<Time> {
        if self.options.only_the_timer {
            timer::deadline(&self.board, &self.rtt)
        } else {
            self.detector.deadline(&self.board, &self.rtt)
        }
    }

    /// Pacing holds the sender back only if the next segment is due later than the last one was sent.
    fn last_stop(&self) -> Time {
        self.board.latest_sent()
    }

    /// Whether the window and the application allow a segment, pacing aside.
    fn could_send(&self) -> bool {
        self.has_segment() && self.counted_in_flight() < self.window()
    }

    fn has_segment(&self) -> bool {
        self.board.lost() > 0 || self.has_new()
    }

    #[inline]
    fn has_new(&self) -> bool {
        let next = self.board.next();
        next < self.available && next - self.board.una() < self.receive_window
    }

    /// Segments that count against the window: those in flight and those that the detector withholds; without limited
    /// transmit, those that have left the network count until recovery begins. That holds new data back, never a
    /// retransmission: a detector that marks without a signal would wait for it for ever.
    #[inline]
    fn counted_in_flight(&self) -> u32 {
        if !self.options.limited_transmit && self.phase == Phase::Open && self.board.lost() == 0 {
            self.board.outstanding()
        } else {
            self.board.in_flight() + self.withheld
        }
    }

    /// Takes what the detector withholds: never a retransmission, and never the only segment.
    fn withhold(&mut self, segments: u32) {
        let may = self.phase == Phase::Open && self.board.lost() == 0 && self.board.in_flight() > 0;
        self.withheld = if may { segments } else { 0 };
    }

    /// The deadline came.
    pub fn on_deadline(&mut self, now: Time) {
        if let Phase::Opening { sent, tries } = self.phase {
            if self.deadline().is_some_and(|deadline| deadline <= now) {
                self.timeouts += 1;
                self.phase = Phase::Opening { sent: Time::NEVER, tries };
                debug_assert!(sent <= now);
            }
            return;
        }
        if self.detector_deadline().is_some_and(|deadline| deadline <= now) {
            let prior_in_flight = self.board.in_flight() + self.withheld;
            let marked_before = self.board.marked_lost();
            let verdict = self.detector.on_deadline(now, &mut self.board, &self.rtt);
            let newly_lost = self.board.marked_lost().wrapping_sub(marked_before);
            self.apply(now, verdict, prior_in_flight, newly_lost);
            self.withhold(verdict.withheld);
        }
    }

    /// Whether no deadline can come before this instant: what an undisturbed flow can tell at less cost than
    /// [`Self::deadline`], which tells the very instant.
    #[inline]
    pub fn rests_until(&self, instant: Time) -> bool {
        self.options.only_the_timer
            && (self.next_send >= instant || self.is_unpaced())
            && !self.is_opening()
            && self.rtt.samples() > 0
            && self.board.timer_start() + self.rtt.least_rto() >= instant
    }

    /// Whether the next segment is due and no other deadline is: what a paced flow can tell at less cost than
    /// [`Self::deadline`].
    #[inline]
    pub fn is_paced_to(&self, now: Time) -> bool {
        self.options.only_the_timer
            && self.next_send <= now
            && self.next_send > self.last_stop()
            && !self.is_opening()
            && self.rtt.samples() > 0
            && self.board.timer_start() + self.rtt.least_rto() > now
            && self.could_send()
    }

    #[inline]
    fn is_unpaced(&self) -> bool {
        !self.options.pacing && self.congestion.pacing_rate().is_none()
    }

    /// All that an undisturbed flow, or one that pacing holds back, may send now, at once and to the same effect as
    /// [`Self::poll_transmit`] until it gives none; `None`, and nothing done, for another flow.
    #[inline]
    pub fn poll_burst(&mut self, now: Time) -> Option<Burst> {
        if self.next_send > now && self.seldom.is_none() && !self.is_opening() && !self.probe && !self.retransmit_now {
            if self.counted_in_flight() >= self.window() {
                self.limit = Limit::Window;
            }
            return Some(Burst { segment: 0, number: 0, count: 0 });
        }
        let is_undisturbed = self.options.bursts
            && self.phase == Phase::Open
            && self.board.lost() == 0
            && !self.probe
            && !self.retransmit_now
            && self.next_send <= now
            && self.is_unpaced();
        if !is_undisturbed {
            return None;
        }
        let segment = self.board.next();
        let number = self.board.next_transmission();
        let by_window = self.window().saturating_sub(self.counted_in_flight());
        let by_receiver = self.receive_window.saturating_sub(self.board.outstanding());
        let by_data = by_receiver.min(self.available.saturating_sub(segment));
        let count = by_window.min(by_data);
        for _ in 0..count {
            self.board.send_new(now);
        }
        if by_window <= by_data {
            self.limit = Limit::Window;
        } else {
            self.stop_unfilled();
        }
        Some(Burst { segment, number, count })
    }

    /// The next segment to send now, if there is one.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmission> {
        if self.is_opening() {
            return self.poll_syn(now);
        }
        if self.probe {
            return self.send_probe(now);
        }
        if std::mem::take(&mut self.retransmit_now)
            && let Some(segment) = self.board.next_lost()
        {
            return Some(self.send_again(now, segment));
        }
        if self.counted_in_flight() >= self.window() {
            self.limit = Limit::Window;
            return None;
        }
        if self.next_send > now && !self.seldom.as_ref().is_some_and(|seldom| seldom.train.has_room(now)) {
            return None;
        }
        let probing_new = matches!(self.phase, Phase::Timeout { forward: ForwardRto::ProbingNew, .. });
        if self.board.lost() > 0 && !(probing_new && self.has_new()) {
            let segment = self.board.next_lost().expect("some segment is lost");
            return Some(self.send_again(now, segment));
        }
        if self.has_new() {
            return Some(self.send_new(now));
        }
        self.stop_unfilled();
        if let Some(sampler) = &mut self.rate
            && self.board.next() >= self.available
        {
            sampler.on_app_limited(self.board.in_flight());
        }
        None
    }

    fn poll_syn(&mut self, now: Time) -> Option<Transmission> {
        let Phase::Opening { sent: Time::NEVER, tries } = self.phase else { return None };
        self.phase = Phase::Opening { sent: now, tries: tries + 1 };
        Some(Transmission::Syn)
    }

    fn send_probe(&mut self, now: Time) -> Option<Transmission> {
        self.probe = false;
        if self.has_new() {
            return Some(self.send_new(now));
        }
        if self.board.outstanding() == 0 {
            return None;
        }
        let segment = self.board.next() - 1;
        if self.board.is_sacked(segment) {
            return None;
        }
        self.board.mark_lost(segment);
        Some(self.send_again(now, segment))
    }

    #[inline(always)]
    fn send_new(&mut self, now: Time) -> Transmission {
        let segment = self.board.next();
        let number = self.board.send_new(now);
        self.after_sending(now, segment);
        Transmission::Data {
            segment,
            number,
            retransmission: false,
            window_reduced: std::mem::take(&mut self.window_reduced),
        }
    }

    fn send_again(&mut self, now: Time, segment: u32) -> Transmission {
        let number = self.board.retransmit(segment, now);
        self.unreported_retransmits += 1;
        self.after_sending(now, segment);
        Transmission::Data { segment, number, retransmission: true, window_reduced: false }
    }

    #[inline(always)]
    fn after_sending(&mut self, now: Time, segment: u32) {
        if let Phase::Fast { prr, .. } = &mut self.phase {
            prr.on_sent();
        }
        if let Some(sampler) = &mut self.rate {
            sampler.on_sent(now, segment, self.board.in_flight());
        }
        if let Some(rate) = self.pacing_rate() {
            let interval = Rate(rate.0.max(1)).serialization_delay(u64::from(self.options.wire_bytes));
            self.next_send = match self.options.pacing_unit {
                PacingUnit::Segment => self.next_send.max(now) + interval,
                PacingUnit::Pair => self.end_of_train(now, interval),
            };
        }
    }

    /// When the segment after the train may go that the segment just sent belongs to.
    fn end_of_train(&mut self, now: Time, interval: Duration) -> Time {
        let train = &mut self.seldom.get_or_insert_default().train;
        if !train.has_room(now) {
            *train = Train { began: now, due: self.next_send, segments: 0 };
        }
        train.segments += 1;
        if self.board.next_transmission() < UNPACED_SEGMENTS {
            return self.next_send.max(now);
        }
        let length = interval * u64::from(train.segments);
        let late = now - train.due.min(now);
        train.due.max(now) + (length - late.min(length / 2))
    }

    /// The rate to pace at, if the congestion control or the stack asks for it.
    #[inline]
    pub fn pacing_rate(&self) -> Option<Rate> {
        let given = self.congestion.pacing_rate();
        if given.is_some() || !self.options.pacing {
            return given;
        }
        let smoothed = self.rtt.smoothed()?;
        let cwnd = self.congestion.cwnd();
        let factor = if cwnd < self.congestion.ssthresh() / 2.0 { PACING_FACTORS.0 } else { PACING_FACTORS.1 };
        Some(Rate::from_bps(factor * cwnd * f64::from(self.options.wire_bytes) * 8.0 / smoothed.as_secs()))
    }
}

#[cfg(test)]
mod tests;
