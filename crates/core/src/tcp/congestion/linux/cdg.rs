//! CDG as Linux has it, in whole segments (Hayes and Armitage, "Revisiting TCP congestion control using delay gradients", IFIP Networking
//! 2011). It is Reno that also backs off by chance when the RTT rises from one round trip to the next.
//!
//! Differences from the paper:
//! - A sum of gradients replaces their mean. Round trips in a reduction have no gradient, so that its effect is not taken for a gradient.
//! - A back-off is spread over a round trip by proportional rate reduction, as after a congestion mark.
//! - Tolerance of losses that no queue explains is off by default.
//! - Slow start may also end by a train of ACKs or a grown RTT (HyStart).
//! - RTTs of delayed ACKs do not count for the greatest RTT.

use super::based::{LinuxBased, Rules, State};
use super::window::Window;
use crate::rng::Sequence;
use crate::tcp::congestion::FlowContext;
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind};
use crate::tcp::rtt::RttEstimate;
use crate::units::Duration;
use std::collections::VecDeque;

crate::parameters! {
    /// Linux's module parameters.
    pub struct Parameters {
        /// Round trips whose gradients are summed.
        pub window: u32 = 8, in 1..=256;
        /// What remains of the window after a back-off (724/1024).
        pub backoff_beta: f64 = 724.0 / 1024.0, in 0.01..=1.0;
        /// How likely a back-off is: a sum of `g` microseconds has the probability 1 - exp(-1e-6 `backoff_factor` g).
        pub backoff_factor: f64 = 42.0, in 0.0..=1_000_000.0;
        /// Whether slow start may end before a loss (HyStart).
        pub hystart: bool = true;
        /// Back-offs in succession that may be without effect. After that none comes until gradients fall. 0: no limit.
        pub use_ineff: u32 = 5, in 0..=1_000_000;
        /// Whether a loss reduces to half of the shadow window, the window as if there had been no back-offs.
        pub use_shadow: bool = true;
        /// Whether a loss without a full queue keeps the window.
        pub use_tolerance: bool = false;
    }
}

/// A sum of gradients at or below this number of microseconds shows that a back-off had an effect.
const EFFECT: i64 = -32;
/// With tolerance, gradients are rounded to this number of microseconds.
const TOLERANCE: i64 = 64;
/// ACKs closer than this belong to one train, microseconds.
const TRAIN_GAP: u64 = 3000;
/// HyStart's least threshold, microseconds.
const HYSTART_LEAST: i64 = 125;
/// ACKs of a round trip before HyStart judges by the RTT.
const HYSTART_SAMPLES: u32 = 8;
/// Delayed ACKs that are remembered.
const DELAYED_ACKS: u32 = 5;

/// The probability of a back-off, for a sum of gradients.
pub fn backoff_probability(gradient: i64, factor: f64) -> f64 {
    -libm::expm1(-1e-6 * factor * gradient as f64)
}

/// The RTT in whole microseconds; `None` for less than one.
fn micros(rtt: Duration) -> Option<i64> {
    Some((rtt.0 / Duration::from_micros(1).0) as i64).filter(|rtt| *rtt > 0)
}

/// The least and the greatest RTT of a round trip, or how much they have grown, microseconds. Both are zero without a sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Extremes {
    least: i64,
    greatest: i64,
}

impl Extremes {
    fn has_samples(self) -> bool {
        self != Extremes::default()
    }

    fn sample(&mut self, rtt: i64) {
        self.least = if self.least == 0 { rtt } else { self.least.min(rtt) };
        self.greatest = self.greatest.max(rtt);
    }

    fn minus(self, other: Extremes) -> Extremes {
        Extremes { least: self.least - other.least, greatest: self.greatest - other.greatest }
    }

    fn plus(self, other: Extremes) -> Extremes {
        Extremes { least: self.least + other.least, greatest: self.greatest + other.greatest }
    }
}

/// The state of the bottleneck's queue, by the gradients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Queue {
    Unknown,
    NotFull,
    Full,
}

/// HyStart's measurements of a round trip.
#[derive(Debug, Clone, Copy, Default)]
struct Train {
    /// When it began and had its last ACK, microseconds.
    span: Option<(u64, u64)>,
    samples: u32,
}

/// The algorithm's state.
pub type LinuxCdg = LinuxBased<ByGradient>;

/// The measurements.
#[derive(Debug, Clone)]
pub struct ByGradient {
    parameters: Parameters,
    random: Sequence,
    now: Extremes,
    before: Extremes,
    /// The last `window` gradients.
    gradients: VecDeque<Extremes>,
    queue: Queue,
    shadow: u32,
    /// Back-offs since gradients last fell.
    without_effect: u32,
    backs_off: bool,
    /// ACKs of more than one segment, less ACKs of one that were taken for delayed.
    delayed: u32,
    base: i64,
    train: Train,
    /// After the last ACK.
    outstanding: u32,
    /// Segments outstanding when the round trip began, and those acknowledged since.
    length: u32,
    passed: u32,
    /// An episode after a timeout is in progress.
    timed_out: bool,
    /// An ACK has come.
    began: bool,
}

impl ByGradient {
    fn fresh(parameters: Parameters, random: Sequence, cwnd: u32, outstanding: u32) -> ByGradient {
        ByGradient {
            parameters,
            random,
            now: Extremes::default(),
            before: Extremes::default(),
            gradients: VecDeque::new(),
            queue: Queue::Unknown,
            shadow: cwnd,
            without_effect: 0,
            backs_off: false,
            delayed: 0,
            base: 0,
            train: Train::default(),
            outstanding,
            length: outstanding,
            passed: 0,
            timed_out: false,
            began: false,
        }
    }

    /// Records the RTT of an ACK. After an ACK of several segments, an ACK of a single segment may be delayed, so its RTT only counts for
    /// the least RTT.
    fn measure(&mut self, ack: &AckEvent) {
        let Some(rtt) = ack.rtt.and_then(micros) else { return };
        if ack.outstanding == ack.in_flight {
            if ack.cumulative == 1 && self.delayed > 0 {
                self.now.least = self.now.least.min(rtt);
                self.delayed -= 1;
                return;
            }
            self.delayed += u32::from(ack.cumulative > 1 && self.delayed < DELAYED_ACKS);
        }
        self.now.sample(rtt);
    }

    /// Ends slow start if a train of ACKs has become as long as half the least RTT, or the RTT has grown by an eighth.
    fn hystart(&mut self, window: &mut Window, ack: &AckEvent) {
        if self.base == 0 || self.now.least > 0 && self.now.least < self.base {
            self.base = self.now.least;
        }
        if self.base == 0 {
            return;
        }
        let now = ack.now.0 / Duration::from_micros(1).0;
        match &mut self.train.span {
            Some((began, last)) if ack.growth > 0 => {
                if now < *last + TRAIN_GAP {
                    *last = now;
                    if now > *began + (self.base / 2).max(HYSTART_LEAST) as u64 {
                        window.ssthresh = window.cwnd;
                        return;
                    }
                }
            }
            span => *span = Some((now, now)),
        }
        if self.train.samples < HYSTART_SAMPLES {
            self.train.samples += 1;
        } else if self.now.least > (self.base + self.base / 8).max(HYSTART_LEAST) {
            window.ssthresh = window.cwnd;
        }
    }

    /// Begins a round trip with the last ACK.
    fn begin_round(&mut self) {
        (self.before, self.now) = (self.now, Extremes::default());
        (self.length, self.passed) = (self.outstanding, 0);
    }

    /// The sum of the last `window` gradients, extrapolated while there are fewer.
    fn gradient(&mut self) -> i64 {
        let window = self.parameters.window as usize;
        self.gradients.truncate(window - 1);
        self.gradients.push_front(self.now.minus(self.before));
        let sum = self.gradients.iter().fold(Extremes::default(), |sum, gradient| sum.plus(*gradient));
        let gradient = if sum.least > 0 { sum.least } else { sum.greatest };
        if sum.least <= EFFECT || sum.greatest <= EFFECT {
            self.without_effect = 0;
        }
        let rounded = |value: i64| (value as f64 / TOLERANCE as f64).round();
        let (least, greatest) = (rounded(sum.least), rounded(sum.greatest));
        if least > 0.0 && greatest <= 0.0 {
            self.queue = Queue::Full;
        } else if least > 0.0 || greatest < 0.0 {
            self.queue = Queue::NotFull;
        }
        gradient * window as i64 / self.gradients.len() as i64
    }

    fn decide(&mut self, gradient: i64) -> bool {
        if gradient <= 0 || self.random.uniform() >= backoff_probability(gradient, self.parameters.backoff_factor) {
            return false;
        }
        self.without_effect += 1;
        self.parameters.use_ineff == 0 || self.without_effect <= self.parameters.use_ineff
    }
}

impl Rules for ByGradient {
    type Parameters = Parameters;

    fn new(parameters: Parameters, flow: &FlowContext) -> ByGradient {
        ByGradient::fresh(parameters, Sequence::new(flow.random), flow.initial_window, 0)
    }

    fn observe(&mut self, window: &mut Window, ack: &AckEvent, state: State, rtt: &RttEstimate) {
        if !std::mem::replace(&mut self.began, true) {
            // The first round trip includes the handshake's RTT, which is the least so far.
            rtt.minimum().and_then(micros).into_iter().for_each(|least| self.now.sample(least));
        }
        self.backs_off = false;
        self.outstanding = ack.outstanding;
        self.passed += ack.cumulative;
        self.measure(ack);
        if !ack.advanced || state == State::Episode && !self.timed_out {
            return;
        }
        if self.parameters.hystart && window.in_slow_start() {
            self.hystart(window, ack);
        }
        if self.passed > self.length && self.now.has_samples() {
            let gradient = if self.before.has_samples() { self.gradient() } else { 0 };
            self.begin_round();
            self.train = Train::default();
            self.backs_off = self.decide(gradient);
        }
        if self.backs_off {
            self.shadow = self.shadow.max(window.cwnd);
        } else if ack.growth == 0 {
            self.shadow = self.shadow.min(window.cwnd);
        }
    }

    fn grow(&mut self, window: &mut Window, acked: u32, _ack: &AckEvent, _rtt: &RttEstimate) {
        if !self.backs_off {
            let before = window.cwnd;
            window.grow_as_reno(acked);
            self.shadow += window.cwnd - before;
        }
    }

    fn backs_off(&self) -> Option<bool> {
        Some(self.backs_off)
    }

    fn ssthresh(&mut self, cwnd: u32, event: &CongestionEvent) -> u32 {
        if std::mem::take(&mut self.backs_off) && event.kind == CongestionKind::EcnEcho {
            return (f64::from(cwnd) * self.parameters.backoff_beta) as u32;
        }
        if self.parameters.use_tolerance && self.queue == Queue::NotFull {
            return cwnd;
        }
        self.shadow = (self.shadow / 2).min(cwnd);
        if self.parameters.use_shadow { self.shadow.max(cwnd / 2) } else { cwnd / 2 }
    }

    fn on_timeout(&mut self, _window: &mut Window, _new: bool) {
        self.timed_out = true;
    }

    fn on_open(&mut self) {
        self.timed_out = false;
    }

    fn on_recovered(&mut self, _window: &mut Window) {
        self.queue = Queue::Unknown;
        self.begin_round();
    }

    fn on_window_restart(&mut self, window: &Window) {
        let fresh = ByGradient::fresh(self.parameters, self.random, window.cwnd, self.outstanding);
        *self = ByGradient { began: true, ..fresh };
    }
}

#[cfg(test)]
mod tests {
    use super::super::LinuxControl;
    use super::*;
    use crate::tcp::congestion::CongestionControl;
    use crate::tcp::congestion::testing::bottleneck::flow;
    use crate::tcp::congestion::testing::ideal::{Ideal, RTT, near};

    fn cdg(parameters: Parameters) -> Ideal<LinuxCdg> {
        Ideal::new(LinuxCdg::new(parameters, flow(1)))
    }

    /// Whether the control requests a reduction within 20 round trips. Each round trip is `rise` longer than the one before.
    fn backs_off(path: &mut Ideal<LinuxCdg>, rise: Duration) -> bool {
        (0..20).any(|round| {
            let acks = path.control.cwnd() as u32;
            (0..acks).any(|_| {
                path.ack_after(RTT + rise * round, 0);
                path.control.backs_off() == Some(true)
            })
        })
    }

    /// The paper's G is 3 ms: eight gradients of 3 ms in the mean back off with the probability 1 - 1/e. Linux's factor rounds.
    #[test]
    fn a_mean_gradient_of_three_milliseconds_backs_off_with_probability_1_minus_1_over_e() {
        near(backoff_probability(24_000, 42.0), 1.0 - (-1.0f64).exp(), 0.004);
        assert_eq!(backoff_probability(0, 42.0), 0.0);
    }

    #[test]
    fn a_rising_rtt_backs_off_to_the_square_root_of_a_half_and_a_constant_one_does_not() {
        assert!(!backs_off(&mut cdg(Parameters::default()), Duration::ZERO));
        let mut path = cdg(Parameters::default());
        path.grow_to(100.0);
        assert!(backs_off(&mut path, Duration::from_millis(10)));
        path.congestion(CongestionKind::EcnEcho);
        assert_eq!(path.control.cwnd(), 70.0);
    }

    /// Only an idle time of more than a timeout, which is 300 ms, makes CDG forget its gradients.
    #[test]
    fn a_short_pause_forgets_no_gradient_and_a_long_one_all() {
        for (milliseconds, forgets) in [(50, false), (400, true)] {
            let mut path = cdg(Parameters { backoff_factor: 1e6, ..Parameters::default() });
            path.grow_to(100.0);
            let backs_off = (0..20).any(|round| {
                let idle = Duration::from_millis(milliseconds);
                path.control.on_idle(path.now + idle, idle, 100, &path.rtt);
                (0..path.control.cwnd() as u32 + 1).any(|_| {
                    path.ack_after(RTT + Duration::from_millis(10) * round, 0);
                    path.control.backs_off() == Some(true)
                })
            });
            assert_eq!(backs_off, !forgets, "{milliseconds} ms");
        }
    }

    /// The window was 100 before the back-off to 70. A loss then takes half of 100, and without the shadow window half of 70.
    #[test]
    fn a_loss_halves_the_window_as_if_there_had_been_no_back_off() {
        for (use_shadow, remains) in [(true, 50.0), (false, 35.0)] {
            let mut path = cdg(Parameters { use_shadow, ..Parameters::default() });
            path.grow_to(100.0);
            assert!(backs_off(&mut path, Duration::from_millis(10)));
            path.congestion(CongestionKind::EcnEcho);
            path.control.on_recovered();
            path.ack(1);
            path.congestion(CongestionKind::Loss);
            assert_eq!(path.control.cwnd(), remains);
        }
    }

    /// With a factor that makes every rise a back-off, at most five come while gradients do not fall.
    #[test]
    fn back_offs_without_effect_end_after_five() {
        let mut path = cdg(Parameters { backoff_factor: 1e6, ..Parameters::default() });
        let mut count = 0;
        let mut now = RTT;
        for _ in 0..400 {
            now = now + Duration::from_micros(100);
            path.ack_after(now, 0);
            count += u32::from(path.control.backs_off() == Some(true));
        }
        assert_eq!(count, 5);
    }
}
