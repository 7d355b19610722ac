//! Swift: keeps the delay of a data center's paths at a target (Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the
//! Datacenter", SIGCOMM 2020).
//!
//! The window grows by a segment a round trip below the target (algorithm 1, line 7), and shrinks in proportion to the excess above it, at most once a
//! round trip (line 12). The target rises for small windows, so that many flows may share a queue (section 3.2.3, equations 1 and 2). Hosts have
//! no delay of their own here, so there is no window for endpoints; and a sender keeps at least one segment in flight, where the paper paces a part of one.

use crate::tcp::congestion::{CongestionControl, FlowContext};
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind};
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Time};

crate::parameters! {
    /// The target and the steps of the window. The paper names no value of the target, which belongs to a network.
    pub struct Parameters {
        /// Target of the round trip at a large window, that of the idle path included (`base_target` and the hops' part).
        pub base_target: Duration as "positive duration" = Duration::from_micros(25);
        /// How far the target rises for a window of `scaling_least` (`fs_range`).
        pub scaling: Duration = Duration::from_micros(100);
        /// Window from which the target rises no more as the window falls (`fs_min_cwnd`), segments.
        pub scaling_least: f64 = 0.1, in 0.001..=1_000_000.0;
        /// Window from which on the target is the least (`fs_max_cwnd`), segments.
        pub scaling_most: f64 = 100.0, in 0.001..=1_000_000.0;
        /// Segments by which the window grows in a round trip below the target (`ai`).
        pub increase: f64 = 1.0, in 0.001..=1_000.0;
        /// Share of the excess by which the window shrinks (`beta`).
        pub beta: f64 = 0.8, in 0.0..=1.0;
        /// The greatest share by which the window shrinks at once (`max_mdf`).
        pub most_decrease: f64 = 0.5, in 0.0..=0.99;
        /// Timeouts in succession after which the window is one segment (`RETX_RESET_THRESHOLD`).
        pub reset: u32 = 5, in 1..=100;
    }
    check is_ordered
}

fn is_ordered(parameters: &Parameters) -> Result<(), String> {
    let Parameters { scaling_least, scaling_most, .. } = *parameters;
    if scaling_least < scaling_most {
        return Ok(());
    }
    Err(format!("scaling_least {scaling_least} must be less than scaling_most {scaling_most}"))
}

/// The target of the round trip at a window, seconds (section 3.2.3, equations 1 and 2).
pub fn target(parameters: &Parameters, cwnd: f64) -> f64 {
    let range = parameters.scaling.as_secs();
    let root = |window: f64| 1.0 / window.sqrt();
    let alpha = range / (root(parameters.scaling_least) - root(parameters.scaling_most));
    let beta = -alpha * root(parameters.scaling_most);
    parameters.base_target.as_secs() + (alpha * root(cwnd) + beta).clamp(0.0, range)
}

/// What remains of the window at a delay above the target (algorithm 1, line 12).
pub fn remainder(parameters: &Parameters, delay: f64, target: f64) -> f64 {
    (1.0 - parameters.beta * (delay - target) / delay).max(1.0 - parameters.most_decrease)
}

/// Swift's state.
#[derive(Debug, Clone)]
pub struct Swift {
    parameters: Parameters,
    cwnd: f64,
    last_decrease: Time,
    timeouts: u32,
    /// The window before the last decrease after a loss.
    before_loss: f64,
}

impl Swift {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, flow: FlowContext) -> Swift {
        let cwnd = f64::from(flow.initial_window);
        Swift { parameters, cwnd, last_decrease: Time::ZERO, timeouts: 0, before_loss: cwnd }
    }

    fn can_decrease(&self, now: Time, rtt: &RttEstimate) -> bool {
        now - self.last_decrease >= rtt.smoothed().unwrap_or(Duration::ZERO)
    }

    fn decrease(&mut self, now: Time, remainder: f64) {
        self.cwnd = (self.cwnd * remainder).max(1.0);
        self.last_decrease = now;
    }
}

impl CongestionControl for Swift {
    fn on_ack(&mut self, ack: &AckEvent, rtt: &RttEstimate) {
        if ack.advanced {
            self.timeouts = 0;
        }
        let Some(delay) = ack.rtt else { return };
        let target = target(&self.parameters, self.cwnd);
        if delay.as_secs() < target {
            self.cwnd += self.parameters.increase / self.cwnd * f64::from(ack.growth);
        } else if self.can_decrease(ack.now, rtt) {
            self.decrease(ack.now, remainder(&self.parameters, delay.as_secs(), target));
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent, rtt: &RttEstimate) {
        self.before_loss = self.cwnd;
        if matches!(event.kind, CongestionKind::Timeout { .. }) {
            self.timeouts += 1;
            if self.timeouts >= self.parameters.reset {
                self.cwnd = 1.0;
                return;
            }
        }
        if self.can_decrease(event.now, rtt) {
            self.decrease(event.now, 1.0 - self.parameters.most_decrease);
        }
    }

    fn undo(&mut self) {
        self.cwnd = self.cwnd.max(self.before_loss);
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::testing::bottleneck::{Bench, Path, flow};

    /// At the greatest window of the scaling the target is the base; at the least one it is `scaling` more; and in between it follows the root.
    #[test]
    fn the_target_rises_as_the_window_falls() {
        let parameters = Parameters::default();
        let us = |cwnd| target(&parameters, cwnd) * 1e6;
        assert!((us(100.0) - 25.0).abs() < 1e-9 && (us(1000.0) - 25.0).abs() < 1e-9);
        assert!((us(0.1) - 125.0).abs() < 1e-9 && (us(0.01) - 125.0).abs() < 1e-9);
        // 1 / sqrt(0.1) = 3.1623, 1 / sqrt(100) = 0.1; at one segment (1 - 0.1) / 3.0623 of the range.
        assert!((us(1.0) - (25.0 + 100.0 * 0.9 / 3.062_277_66)).abs() < 1e-6);
    }

    /// Twice the target takes 0.8 / 2 of the window; ten times the target would take 0.72, and the limit is a half.
    #[test]
    fn the_decrease_follows_the_excess() {
        let parameters = Parameters::default();
        assert!((remainder(&parameters, 50.0, 25.0) - 0.6).abs() < 1e-12);
        assert_eq!(remainder(&parameters, 250.0, 25.0), 0.5);
    }

    /// On a path of 10 ms the queue keeps the round trip about the target of 15 ms, and the path is full.
    #[test]
    fn the_round_trip_stays_about_the_target() {
        let parameters =
            Parameters { base_target: Duration::from_millis(15), scaling: Duration::ZERO, ..Parameters::default() };
        let path = Path { rate: 10_000.0, delay: Duration::from_millis(10), buffer: 1e6, loss: 0.0 };
        let mut bench = Bench::new(Swift::new(parameters, flow(1)), path);
        bench.run(20.0);
        let observed = bench.run(10.0);
        assert!(observed.goodput / path.rate > 0.99, "{}", observed.goodput);
        assert!((0.012..0.0165).contains(&observed.mean_rtt), "{}", observed.mean_rtt);
    }
}
