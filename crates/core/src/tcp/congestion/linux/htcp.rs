//! H-TCP as Linux has it: [`htcp`](crate::tcp::congestion::loss_based::htcp) in whole segments, whole ticks and 128ths.
//!
//! Differences from [`htcp`](crate::tcp::congestion::loss_based::htcp):
//! - An ACK counts the segments that the ACK before it acknowledged. An ACK that adds a segment counts nothing, and the remaining
//!   credit is lost.
//! - The growth is recomputed at a congestion and after each added segment. Its factor is a whole number, scaled by the least RTT.
//! - The greatest RTT follows a sample by at most 20 ms, and only outside recovery while segments arrive in order.
//! - The throughput is a mean over windows. The first three round trips after a congestion restart it.
//! - The first congestion halves the window. So does a congestion with a least RTT up to 10 ms.

use super::based::{LinuxBased, Rules, State};
use super::window::Window;
use crate::tcp::congestion::FlowContext;
use crate::tcp::events::{AckEvent, CongestionEvent};
use crate::tcp::kernel_clock::KernelClock;
use crate::tcp::rtt::RttEstimate;
use crate::units::Duration;

crate::parameters! {
    /// Linux's constants; none to choose.
    pub struct Parameters {}
}

/// One, in 128ths.
const ONE: u64 = 128;
/// Least and greatest factor of the window after a loss, in 128ths (0.5 and 0.8).
const BETA: (u64, u64) = (64, 102);
/// Least RTT above which this factor depends on the RTTs.
const SHORT_RTT: Duration = Duration::from_millis(10);
/// A sample raises the greatest RTT if it exceeds it by at most this.
const RISE: Duration = Duration::from_millis(20);

/// Segments per round trip in 128ths, `elapsed` ticks after a congestion: 1 in the first second, then quadratic. The growth is scaled
/// by the least RTT over 100 ms, within 1/10 and 2, and by the share that a loss takes.
pub fn alpha(elapsed: u64, hz: u64, rtt_min: u64, beta: u64) -> u64 {
    let beyond = elapsed.saturating_sub(hz);
    let mut factor = if beyond > 0 { 1 + (10 * beyond + (beyond / 2) * (beyond / 2) / hz) / hz } else { 1 };
    if rtt_min > 0 {
        let scale = (8 * hz / (10 * rtt_min)).clamp(4, 80);
        factor = (8 * factor / scale).max(1);
    }
    2 * factor * (ONE - beta)
}

/// Factor of the window after a loss in 128ths: the ratio of the least RTT to the greatest.
pub fn beta(rtt_min: u64, rtt_max: u64) -> u64 {
    (ONE * rtt_min / rtt_max).clamp(BETA.0, BETA.1)
}

/// Whether a throughput is within a fifth of the one before.
pub fn is_steady(throughput: u64, before: u64) -> bool {
    (4 * before..=6 * before).contains(&(5 * throughput))
}

/// The algorithm's state.
pub type LinuxHtcp = LinuxBased<ByElapsedTime>;

/// State that a congestion changes and an undo restores.
#[derive(Debug, Clone, Copy)]
struct Memory {
    /// The tick in which the last congestion was over.
    congested: u64,
    rtt_max: u64,
    /// The greatest throughput before the last congestion, segments a second.
    throughput: u64,
}

/// Increase by the time since the last congestion, decrease by the RTTs seen. RTTs are in ticks.
#[derive(Debug, Clone)]
pub struct ByElapsedTime {
    clock: KernelClock,
    alpha: u64,
    beta: u64,
    rtt_min: u64,
    memory: Option<Memory>,
    before: Option<Memory>,
    /// Whether a congestion has ended a steady time.
    adaptive: bool,
    /// Segments that the last ACK passed.
    passed: u32,
    /// Segments delivered since a tick. Before the first sample, it is the start of the machine: that sample is 0 (`lasttime`).
    measured: (u64, Option<u64>),
    /// Throughput now, and its greatest since the last congestion.
    throughput: (u64, u64),
    now: u64,
}

impl ByElapsedTime {
    fn memory(&mut self) -> &mut Memory {
        let start = Memory { congested: self.now, rtt_max: 0, throughput: 0 };
        self.memory.get_or_insert(start)
    }

    fn measure_rtt(&mut self, rtt: u64, open: bool) {
        if self.rtt_min == 0 || rtt < self.rtt_min {
            self.rtt_min = rtt;
        }
        if open {
            let (least, rise) = (self.rtt_min, u64::from(self.clock.ticks_of(RISE)));
            let memory = self.memory();
            memory.rtt_max = memory.rtt_max.max(least);
            if rtt <= memory.rtt_max + rise {
                memory.rtt_max = memory.rtt_max.max(rtt);
            }
        }
    }

    fn measure_throughput(&mut self, window: &Window, ack: &AckEvent, counts: bool) {
        let (now, hz) = (self.now, u64::from(self.clock.hz));
        if !counts {
            self.measured = (0, Some(now));
            return;
        }
        self.measured.0 += u64::from(ack.cumulative);
        let (delivered, since) = self.measured;
        let round = u64::from(window.cwnd).saturating_sub((self.alpha / ONE).max(1));
        let elapsed = since.map_or(u64::MAX, |since| now - since);
        if delivered < round || elapsed < self.rtt_min || self.rtt_min == 0 {
            return;
        }
        let sample = delivered * hz / elapsed;
        let round_trips = (now - self.memory().congested) / self.rtt_min;
        self.throughput = if round_trips <= 3 {
            (sample, sample)
        } else {
            let mean = (3 * self.throughput.0 + sample) / 4;
            (mean, self.throughput.1.max(mean))
        };
        self.measured = (0, Some(now));
    }

    fn find_beta(&mut self) {
        let (rtt_min, greatest) = (self.rtt_min, self.throughput.1);
        let short = u64::from(self.clock.ticks_of(SHORT_RTT));
        let adaptive = self.adaptive;
        let memory = self.memory();
        let before = std::mem::replace(&mut memory.throughput, greatest);
        let rtt_max = memory.rtt_max;
        let steady = is_steady(greatest, before);
        let known = steady && adaptive && rtt_min > short && rtt_max > 0;
        self.beta = if known { beta(rtt_min, rtt_max) } else { BETA.0 };
        self.adaptive = steady;
    }

    fn find_alpha(&mut self) {
        let elapsed = self.now - self.memory().congested;
        self.alpha = alpha(elapsed, self.clock.hz.into(), self.rtt_min, self.beta);
    }
}

impl Rules for ByElapsedTime {
    type Parameters = Parameters;

    fn new(_: Parameters, flow: &FlowContext) -> ByElapsedTime {
        ByElapsedTime {
            clock: KernelClock::new(flow.hz),
            alpha: ONE,
            beta: BETA.0,
            rtt_min: 0,
            memory: None,
            before: None,
            adaptive: false,
            passed: 1,
            measured: (0, None),
            throughput: (0, 0),
            now: 0,
        }
    }

    fn observe(&mut self, window: &mut Window, ack: &AckEvent, state: State, _rtt: &RttEstimate) {
        self.now = self.clock.ticks(ack.now);
        let open = state == State::Open;
        if open {
            self.passed = ack.cumulative;
        }
        if let Some(rtt) = ack.rtt {
            self.measure_rtt(self.clock.ticks_of(rtt).into(), open);
        }
        self.measure_throughput(window, ack, state != State::Episode);
    }

    fn grow(&mut self, window: &mut Window, acked: u32, _ack: &AckEvent, _rtt: &RttEstimate) {
        if window.in_slow_start() {
            window.slow_start(acked);
            return;
        }
        if u64::from(window.credit) * self.alpha / ONE >= u64::from(window.cwnd) {
            window.cwnd += 1;
            window.credit = 0;
            self.find_alpha();
        } else {
            window.credit += self.passed;
        }
        self.passed = 1;
    }

    fn ssthresh(&mut self, cwnd: u32, event: &CongestionEvent) -> u32 {
        self.now = self.clock.ticks(event.now);
        self.find_beta();
        self.find_alpha();
        let (now, rtt_min) = (self.now, self.rtt_min);
        let memory = self.memory();
        if rtt_min > 0 && memory.rtt_max > rtt_min {
            memory.rtt_max = rtt_min + (memory.rtt_max - rtt_min) * 95 / 100;
        }
        let reached = *memory;
        memory.congested = now;
        self.before = Some(reached);
        (u64::from(cwnd) * self.beta / ONE) as u32
    }

    fn on_open(&mut self) {
        if self.before.take().is_some() {
            let now = self.now;
            self.memory().congested = now;
        }
    }

    fn undo(&mut self) {
        if let Some(before) = self.before.take() {
            self.memory = Some(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::testing::bottleneck::{calls, check_calls, flow, rtt_estimate};
    use proptest::prelude::*;

    /// At 100 ms the scale is 1. Two seconds after a congestion the factor is 1 + 10 + 1/4, rounded down; with beta = 1/2 it is alpha.
    #[test]
    fn growth_is_quadratic_after_a_second_and_scaled_by_the_rtt() {
        let factor = |elapsed, rtt_min| alpha(elapsed, 1000, rtt_min, 64) / ONE;
        assert_eq!([factor(1000, 100), factor(2000, 100), factor(5000, 100)], [1, 11, 45]);
        assert_eq!([factor(2000, 10), factor(2000, 50), factor(2000, 400)], [1, 5, 22]);
        assert_eq!(alpha(0, 1000, 100, 102), 2 * 26); // what a loss takes is 26/128 of the window
    }

    #[test]
    fn a_loss_leaves_the_share_of_the_path_within_bounds() {
        assert_eq!([beta(60, 80), beta(60, 61), beta(60, 200)], [96, 102, 64]);
    }

    #[test]
    fn a_fifth_more_or_less_is_steady() {
        assert_eq!([79, 80, 120, 121].map(|now| is_steady(now, 100)), [false, true, true, false]);
    }

    /// An RTT of 60 ms, then one of 70 ms. A late segment (`TCP_CA_Disorder`) hides it from the greatest RTT, but not from the throughput.
    #[test]
    fn the_greatest_rtt_is_that_of_segments_in_order() {
        for (state, greatest, measured) in [(State::Open, 70, 2), (State::Disorder, 60, 2), (State::Episode, 60, 0)] {
            let mut rules = ByElapsedTime::new(Parameters::default(), &FlowContext { hz: 1000, ..flow(1) });
            let (mut window, rtt) = (Window::new(10), rtt_estimate());
            for (state, milliseconds) in [(State::Open, 60), (state, 70)] {
                let ack = AckEvent { rtt: Some(Duration::from_millis(milliseconds)), ..AckEvent::PREDICTED };
                rules.observe(&mut window, &ack, state, &rtt);
            }
            assert_eq!((rules.memory().rtt_max, rules.measured.0), (greatest, measured), "{state:?}");
        }
    }

    proptest! {
        #[test]
        fn the_window_stays_finite_and_at_least_one(calls in calls()) {
            check_calls(LinuxHtcp::new(Parameters::default(), flow(1)), &calls)?;
        }
    }
}
