//! CUBIC's window, RFC 9438: a cubic function of the time since the last congestion, and never below Reno's window.
//!
//! Slow start is the stack's choice ([`slow_start`](crate::tcp::congestion::slow_start); RFC 9438 section 4.10). The reduction uses the flight (flight_size),
//! at most cwnd (section 4.6). An ACK for n segments counts as n ACKs, so that delayed ACKs do not slow the curve. Growth is
//! capped at the target.

use super::{MIN_SSTHRESH, restart_window};
use crate::tcp::congestion::slow_start::SlowStart;
use crate::tcp::congestion::{CongestionControl, FlowContext};
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind};
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Time, at_least, at_most};

crate::parameters! {
    /// CUBIC's constants.
    pub struct Parameters {
        /// Aggressiveness of the cubic function, segments per cubic second (RFC 9438 section 5.1: 0.4).
        pub c: f64 = 0.4, in 0.0001..=1000.0;
        /// What remains of the window after a loss (RFC 9438 section 4.6: 0.7).
        pub beta: f64 = 0.7, in 0.01..=0.99;
        /// Whether to release bandwidth faster when the window shrinks from loss to loss (RFC 9438 section 4.7: on, but
        /// off where a flow is alone).
        pub fast_convergence: bool = true;
        /// Whether to have at least the window that Reno would have (RFC 9438 section 4.3: on).
        pub reno_friendly: bool = true;
        /// Whether that window grows by a whole segment per round trip once it is back at the window of the last loss
        /// (RFC 9438 section 4.3: on; Linux: off).
        pub reno_alpha_rises: bool = true;
    }
}

/// Window `t` seconds into congestion avoidance (RFC 9438 equation 1).
pub fn w_cubic(c: f64, t: f64, k: f64, w_max: f64) -> f64 {
    let distance = t - k;
    c * distance * distance * distance + w_max
}

/// Seconds until the window is back at `w_max` (RFC 9438 equation 2); zero if it is there already.
pub fn time_to_maximum(c: f64, w_max: f64, cwnd_epoch: f64) -> f64 {
    libm::cbrt((w_max - cwnd_epoch).max(0.0) / c)
}

/// Target of the window after the next round trip: at least `cwnd`, at most 1.5 times it (RFC 9438 section 4.2).
pub fn target(w_cubic: f64, cwnd: f64) -> f64 {
    at_most(at_least(w_cubic, cwnd), 1.5 * cwnd)
}

/// Segments per round trip that make an AIMD with this `beta` as fast as Reno (RFC 9438 section 4.3).
pub fn alpha_cubic(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

/// Reno's window after `segments_acked` more (RFC 9438 equation 4).
pub fn reno_estimate(w_est: f64, alpha: f64, segments_acked: f64, cwnd: f64) -> f64 {
    w_est + alpha * segments_acked / cwnd
}

/// The saturation point to remember at a congestion (RFC 9438 section 4.7).
pub fn saturation_point(cwnd: f64, w_max: f64, beta: f64, fast_convergence: bool) -> f64 {
    if fast_convergence && cwnd < w_max { cwnd * (1.0 + beta) / 2.0 } else { cwnd }
}

/// Average window under one loss in every 1/`p` packets, outside the Reno-friendly region (RFC 9438 equation 5).
pub fn average_window(c: f64, beta: f64, rtt: f64, p: f64) -> f64 {
    libm::sqrt(libm::sqrt(c * (3.0 + beta) / (4.0 * (1.0 - beta)) * libm::pow(rtt / p, 3.0)))
}

/// A congestion avoidance stage.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    start: Time,
    k: f64,
    w_est: f64,
}

/// State that a congestion changes and an undo restores (RFC 9438 section 4.9.2).
#[derive(Debug, Clone, Copy)]
struct Window {
    cwnd: f64,
    cwnd_prior: f64,
    ssthresh: f64,
    w_max: f64,
    epoch: Option<Epoch>,
    /// Whether the next congestion avoidance stage is the first after a timeout.
    after_timeout: bool,
}

/// CUBIC's state.
#[derive(Debug, Clone)]
pub struct Cubic {
    parameters: Parameters,
    /// [`alpha_cubic`] of the parameters.
    alpha: f64,
    slow_start: SlowStart,
    window: Window,
    before_reduction: Window,
    /// Until when the stage's time is accounted for.
    accounted: Time,
}

impl Cubic {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, flow: FlowContext) -> Cubic {
        let cwnd = f64::from(flow.initial_window);
        let window =
            Window { cwnd, cwnd_prior: 0.0, ssthresh: f64::INFINITY, w_max: 0.0, epoch: None, after_timeout: false };
        Cubic {
            parameters,
            alpha: alpha_cubic(parameters.beta),
            slow_start: SlowStart::new(flow.slow_start),
            window,
            before_reduction: window,
            accounted: Time::ZERO,
        }
    }

    /// Begins a stage at the present window. Without a saturation point above it the curve starts at its plateau, as
    /// after a timeout (section 4.8).
    #[cold]
    fn begin_epoch(&mut self, now: Time) {
        let window = &mut self.window;
        if window.after_timeout || window.w_max < window.cwnd {
            window.w_max = window.cwnd;
            window.after_timeout = false;
        }
        let k = time_to_maximum(self.parameters.c, window.w_max, window.cwnd);
        window.epoch = Some(Epoch { start: now, k, w_est: window.cwnd });
    }

    #[inline(always)]
    fn congestion_avoidance(&mut self, now: Time, segments_acked: f64, rtt: Duration) {
        let Parameters { c, reno_friendly, reno_alpha_rises, .. } = self.parameters;
        if self.window.epoch.is_none() {
            self.begin_epoch(now);
        }
        let Window { cwnd, cwnd_prior, w_max, .. } = self.window;
        let Some(epoch) = &mut self.window.epoch else { return };

        let alpha = if reno_alpha_rises && epoch.w_est >= cwnd_prior { 1.0 } else { self.alpha };
        epoch.w_est = reno_estimate(epoch.w_est, alpha, segments_acked, cwnd);
        let t = now.since(epoch.start).as_secs();
        self.window.cwnd = if reno_friendly && w_cubic(c, t, epoch.k, w_max) < epoch.w_est {
            at_least(epoch.w_est, cwnd)
        } else {
            let target = target(w_cubic(c, t + rtt.as_secs(), epoch.k, w_max), cwnd);
            at_most(cwnd + (target - cwnd) * segments_acked / cwnd, target)
        };
    }

    /// Keeps a span in which the window could not grow out of the stage's time (section 4.2).
    fn exclude(&mut self, span: Duration) {
        if let Some(epoch) = &mut self.window.epoch {
            epoch.start += span;
        }
    }
}

impl CongestionControl for Cubic {
    #[inline(always)] // with all that it calls: it is done for every ACK
    fn on_ack(&mut self, ack: &AckEvent, rtt: &RttEstimate) {
        if ack.delivered == 0 {
            return;
        }
        if ack.growth == 0 && ack.advanced && !ack.in_recovery {
            self.exclude(ack.now.since(self.accounted));
        }
        self.accounted = ack.now;
        let mut growth = ack.growth;
        if self.window.cwnd < self.window.ssthresh {
            let Window { cwnd, ssthresh, .. } = &mut self.window;
            growth = self.slow_start.on_ack(cwnd, ssthresh, ack);
        }
        if growth > 0 {
            self.congestion_avoidance(ack.now, f64::from(growth), rtt.smoothed().unwrap_or(Duration::ZERO));
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent, _rtt: &RttEstimate) {
        let Parameters { beta, fast_convergence, .. } = self.parameters;
        let timeout = matches!(event.kind, CongestionKind::Timeout { .. });
        if event.kind != (CongestionKind::Timeout { repeated: true }) {
            self.before_reduction = self.window;
            let Window { cwnd, w_max, .. } = self.window;
            let ssthresh = cwnd.min(f64::from(event.prior_in_flight.max(1))) * beta;
            self.window = Window {
                cwnd: if event.kind == CongestionKind::EcnEcho { ssthresh.max(1.0) } else { ssthresh.max(2.0) },
                cwnd_prior: cwnd,
                ssthresh: ssthresh.max(MIN_SSTHRESH),
                w_max: saturation_point(cwnd, w_max, beta, fast_convergence),
                epoch: None,
                after_timeout: timeout,
            };
        }
        if timeout {
            self.window.cwnd = 1.0; // RFC 5681 section 3.1: the loss window
            self.window.epoch = None;
        }
    }

    fn undo(&mut self) {
        if self.window.cwnd < self.window.cwnd_prior {
            self.window = self.before_reduction;
        }
    }

    fn on_idle(&mut self, now: Time, idle: Duration, initial_window: u32, rtt: &RttEstimate) {
        self.exclude(now.since(self.accounted));
        self.accounted = now;
        self.window.cwnd = restart_window(self.window.cwnd, f64::from(initial_window), idle, rtt.rto());
    }

    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::testing::bottleneck::{Bench, Path, calls, check_calls, flow};
    use crate::tcp::congestion::testing::ideal::{Ideal, RTT, near};
    use proptest::prelude::*;

    #[test]
    fn rfc9438_equation_2_from_1000_segments_takes_9_086_seconds() {
        near(time_to_maximum(0.4, 1000.0, 700.0), 9.086, 0.0005); // cbrt(300 / 0.4)
        assert_eq!(time_to_maximum(0.4, 10.0, 20.0), 0.0);
    }

    #[test]
    fn rfc9438_equation_1_starts_at_the_reduced_window_and_is_flat_at_k() {
        let k = time_to_maximum(0.4, 1000.0, 700.0);
        near(w_cubic(0.4, 0.0, k, 1000.0), 700.0, 1e-9);
        assert_eq!(w_cubic(0.4, k, k, 1000.0), 1000.0);
        near(w_cubic(0.4, k + 1.0, k, 1000.0), 1000.4, 1e-9);
    }

    #[test]
    fn rfc9438_section_4_2_bounds_the_target() {
        assert_eq!(target(90.0, 100.0), 100.0);
        assert_eq!(target(120.0, 100.0), 120.0);
        assert_eq!(target(500.0, 100.0), 150.0);
    }

    #[test]
    fn rfc9438_section_4_3_alpha_is_0_529_for_beta_0_7_and_1_for_reno() {
        near(alpha_cubic(0.7), 0.529, 0.0005);
        assert_eq!(alpha_cubic(0.5), 1.0);
    }

    #[test]
    fn rfc9438_section_4_7_fast_convergence_releases_15_percent_more() {
        near(saturation_point(100.0, 120.0, 0.7, true), 85.0, 1e-9);
        assert_eq!(saturation_point(100.0, 120.0, 0.7, false), 100.0);
        assert_eq!(saturation_point(120.0, 100.0, 0.7, true), 120.0);
    }

    #[test]
    fn rfc9438_table_1_average_windows() {
        for (p, expected) in [(1e-4, 187.0), (1e-5, 1054.0), (1e-6, 5926.0)] {
            near(average_window(0.4, 0.7, 0.1, p), expected, 0.5);
        }
    }

    fn ideal(parameters: Parameters) -> Ideal<Cubic> {
        Ideal::new(Cubic::new(parameters, flow(1)))
    }

    #[test]
    fn the_window_is_back_at_its_maximum_after_k() {
        let mut path = ideal(Parameters::default());
        path.grow_to(1000.0);
        path.congestion(CongestionKind::Loss);
        near(path.control.cwnd(), 700.0, 0.001);
        path.acks_for(9.086);
        near(path.control.cwnd(), 1000.0, 1.0);
        path.acks_for(3.0);
        near(path.control.cwnd(), 1000.0 + 0.4 * 27.0, 2.0); // convex: C t^3 beyond, at most one RTT ahead
    }

    const LONELY: Parameters =
        Parameters { c: 0.4, beta: 0.7, fast_convergence: false, reno_friendly: true, reno_alpha_rises: true };

    #[test]
    fn rfc9438_equation_5_average_window_within_5_percent() {
        // Near the fixed point, the windows approach it only with a cubic term, so a start 30 % off has an effect for hundreds
        // of losses. So the test starts at the model's W_max (appendix B: the average is (3 + beta) / 4 of it).
        for p in [1e-4, 3e-5, 1e-5] {
            let expected = average_window(0.4, 0.7, RTT.as_secs(), p);
            let w_max = expected * 4.0 / 3.7;
            near(ideal(LONELY).average(p, w_max, 40), expected, 0.05 * expected);
        }
    }

    #[test]
    fn rfc9438_equation_5_is_approached_from_above_and_below() {
        let expected = average_window(0.4, 0.7, RTT.as_secs(), 1e-4);
        let w_max = expected * 4.0 / 3.7;
        let unfriendly = Parameters { reno_friendly: false, ..LONELY };
        near(ideal(unfriendly).average(1e-4, 2.0 * w_max, 800), expected, 0.05 * expected);
        near(ideal(unfriendly).average(1e-4, 0.5 * w_max, 800), expected, 0.05 * expected);
    }

    #[test]
    fn rfc9438_equation_3_reno_friendly_average_window_within_5_percent() {
        // At p = 1e-3 and 0.1 s Reno's 38 exceed the cubic function's 33 (table 1).
        let expected = libm::sqrt(3.0 / 2.0 / 1e-3);
        near(ideal(LONELY).average(1e-3, expected, 400), expected, 0.05 * expected);
    }

    #[test]
    fn rfc9438_section_4_3_alpha_becomes_1_once_w_est_reaches_cwnd_prior() {
        for (reno_alpha_rises, then) in [(true, 10.0), (false, 5.29)] {
            let mut path = ideal(Parameters { c: 0.0001, reno_alpha_rises, ..Parameters::default() });
            path.grow_to(100.0);
            path.congestion(CongestionKind::Loss);
            path.acks_for(1.0);
            let slow = path.control.cwnd();
            path.acks_for(1.0);
            near(path.control.cwnd() - slow, 5.29, 0.4); // ten round trips of 0.529
            path.grow_to(101.0);
            path.acks_for(1.0);
            near(path.control.cwnd() - 101.0, then, 0.6); // ten round trips of 1, or of 0.529 as in Linux
        }
    }

    #[test]
    fn rfc9438_section_4_8_after_a_timeout_the_curve_starts_at_its_plateau() {
        let mut path = ideal(Parameters { reno_friendly: false, ..Parameters::default() });
        path.grow_to(1000.0);
        path.congestion(CongestionKind::Timeout { repeated: false });
        assert_eq!(path.control.cwnd(), 1.0);
        near(path.control.ssthresh(), 700.0, 0.001);
        path.congestion(CongestionKind::Timeout { repeated: true });
        near(path.control.ssthresh(), 700.0, 0.001);
        path.grow_to(700.0);
        path.acks_for(5.0);
        near(path.control.cwnd(), 700.0 + 0.4 * 125.0, 4.0);
    }

    #[test]
    fn rfc9438_section_4_2_idle_and_application_limited_times_do_not_count() {
        let grown_after = |pause: fn(&mut Ideal<Cubic>)| {
            let mut path = ideal(Parameters { reno_friendly: false, ..Parameters::default() });
            path.grow_to(1000.0);
            path.congestion(CongestionKind::Loss);
            path.acks_for(2.0);
            pause(&mut path);
            path.acks_for(2.0);
            path.control.cwnd()
        };
        let without = grown_after(|_| ());
        let application_limited = grown_after(|path| {
            (0..100).for_each(|_| {
                path.now += RTT;
                path.ack(0);
            })
        });
        let idle = grown_after(|path| {
            path.now += RTT; // less than an RTO: the window stays
            path.control.on_idle(path.now, RTT, 10, &path.rtt);
        });
        near(application_limited, without, 1.0);
        near(idle, without, 1.0);
    }

    #[test]
    fn rfc9438_section_4_6_ecn_may_reduce_to_one_segment_and_loss_to_two() {
        let mut path = ideal(Parameters::default());
        (0..20).for_each(|_| path.congestion(CongestionKind::EcnEcho));
        assert_eq!((path.control.cwnd(), path.control.ssthresh()), (1.0, 2.0));
        path.congestion(CongestionKind::Loss);
        assert_eq!((path.control.cwnd(), path.control.ssthresh()), (2.0, 2.0));
    }

    #[test]
    fn rfc9438_section_4_9_undo_continues_the_curve_unless_it_was_passed() {
        let mut path = ideal(Parameters::default());
        path.grow_to(1000.0);
        path.congestion(CongestionKind::Loss);
        path.acks_for(5.0);
        let before = path.control.window;
        path.congestion(CongestionKind::Loss);
        path.control.undo();
        assert_eq!(format!("{:?}", path.control.window), format!("{before:?}"));
        path.congestion(CongestionKind::Loss);
        path.grow_to(1010.0);
        let grown = path.control.cwnd();
        path.control.undo();
        assert_eq!(path.control.cwnd(), grown);
    }

    #[test]
    fn it_fills_a_path_with_a_queue_of_one_product() {
        let path = Path { rate: 1000.0, delay: Duration::from_millis(50), buffer: 50.0, loss: 0.0 };
        let mut bench = Bench::new(Cubic::new(Parameters::default(), flow(1)), path);
        bench.run(5.0);
        let goodput = bench.run(20.0).goodput;
        assert!(goodput > 0.98 * path.rate, "{goodput}");
    }

    proptest! {
        #[test]
        fn the_window_stays_finite_and_at_least_one(calls in calls()) {
            check_calls(Cubic::new(Parameters::default(), flow(1)), &calls)?;
        }
    }
}
