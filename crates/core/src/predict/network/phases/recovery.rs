//! What senders lose after a change: waits after a time without a path, and growth to a larger window.
//!
//! A sender without ACKs sends only at its retransmission timeouts, and each is twice as long as the one before (RFC 6298, section 5.5). So after the path is
//! back, it waits for the next one.

use super::Phase;
use crate::predict::network::{FlowPrediction, WindowRange};

/// Mean wait of a sender that was without a path for `cut_s`; 0 without timeouts. They come at `timeout_s` times 1, 3, 7, and so on. The path comes back
/// anywhere between two of them: on a logarithmic scale, the next is 2^u times as far, with u between 0 and 1 at random.
pub fn wait_s(cut_s: f64, timeout_s: f64) -> f64 {
    let of_the_rest = if timeout_s > 0.0 { std::f64::consts::LOG2_E - 1.0 } else { 0.0 };
    if cut_s < timeout_s { timeout_s - cut_s } else { of_the_rest * (cut_s + timeout_s) }
}

/// The longest such wait.
pub fn longest_wait_s(cut_s: f64, timeout_s: f64) -> f64 {
    if timeout_s > 0.0 { timeout_s.max(cut_s + timeout_s) } else { 0.0 }
}

/// No wait: a timeout comes when the path does.
pub fn no_wait_s(_cut_s: f64, _timeout_s: f64) -> f64 {
    0.0
}

/// A flow without end that goes through phases.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sender {
    start_s: f64,
    /// How long it has got no ACK, seconds.
    silent_s: f64,
    /// Its prediction on the last path, and its window at the end of that phase, if it had one.
    before: Option<(FlowPrediction, f64)>,
}

impl Sender {
    /// Passes a phase. Returns the share of the phase's goodput that it has.
    fn pass(&mut self, phase: Phase, flow: &FlowPrediction, waits_s: fn(f64, f64) -> f64) -> f64 {
        let length_s = (phase.end_s - phase.begin_s.max(self.start_s)).max(0.0);
        if length_s <= 0.0 {
            return 1.0;
        }
        if flow.paths == 0 {
            self.silent_s += length_s;
            return 0.0;
        }
        let timeout_s = self.before.map_or(flow.timeout_s, |(before, _)| before.timeout_s);
        let wait_s = if self.silent_s > 0.0 { waits_s(self.silent_s, timeout_s).min(length_s) } else { 0.0 };
        let sends_s = length_s - wait_s;
        if sends_s <= 0.0 {
            self.silent_s += length_s;
            return 0.0;
        }
        // Slow start ends at the window that the reduction after a timeout leaves.
        let least = self.before.and_then(|(before, _)| before.sawtooth).map(|window| window.least);
        let window = self
            .before
            .map(|(_, window)| least.filter(|_| self.silent_s > 0.0).map_or(window, |least| least.min(window)));
        let (share, window) = match (window, flow.sawtooth) {
            (Some(from), Some(window)) => grown(from, flow.window, window, sends_s / flow.rtt_s),
            _ => (1.0, flow.window),
        };
        self.silent_s = 0.0;
        self.before = Some((*flow, window));
        share * sends_s / length_s
    }
}

/// Of a flow whose window grows `from` a size to its equilibrium, in this number of round trips: the mean window over that of the equilibrium, and the last
/// window. Growth ends at the greatest window. What it has above the mean there makes up for a part of what it has below.
fn grown(from: f64, mean: f64, window: WindowRange, round_trips: f64) -> (f64, f64) {
    if from >= window.least {
        return (1.0, mean);
    }
    let needs = (window.greatest - from) / window.growth;
    let grows = needs.min(round_trips);
    let last = from + grows * window.growth;
    let lacks = grows * (mean - f64::midpoint(from, last));
    let share = 1.0 - (lacks / (round_trips * mean)).clamp(0.0, 1.0);
    (share, if needs <= round_trips { mean } else { last })
}

/// Takes from the phases of a flow without end what it does not send after times without a path, and while it grows. Its interval has all waits, from
/// none to the longest, and growth at once.
pub fn apply(phases: &[Phase], of_phases: &mut [FlowPrediction], start_s: f64) {
    let new = Sender { start_s, silent_s: 0.0, before: None };
    let (mut mean, mut longest) = (new, new);
    for (phase, flow) in phases.iter().zip(of_phases) {
        let sends = mean.pass(*phase, flow, wait_s);
        let least = longest.pass(*phase, flow, longest_wait_s).min(sends);
        flow.common_bps = (flow.goodput_bps * (sends - least), flow.goodput_bps * (1.0 - sends));
        flow.goodput_bps *= sends;
        flow.interval_bps.0 *= least;
        flow.shares = flow.shares.map(|(link, bps)| (link, bps * sends));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::network::NO_PATH;
    use proptest::prelude::*;

    const FAST: FlowPrediction = FlowPrediction {
        goodput_bps: 1e6,
        interval_bps: (8e5, 1.1e6),
        rtt_s: 0.1,
        window: 10.0,
        timeout_s: 1.0,
        paths: 1,
        ..NO_PATH
    };
    const CUT: FlowPrediction = FlowPrediction { rtt_s: 0.1, window: 10.0, ..NO_PATH };

    #[test]
    fn a_window_that_grows_has_the_mean_of_its_line() {
        // From 10 to 40 segments in 30 of 100 round trips: 25 in the mean, then 30.
        let window = WindowRange { least: 20.0, greatest: 40.0, growth: 1.0 };
        assert_eq!(grown(10.0, 30.0, window, 100.0), (1.0 - 30.0 * 5.0 / 3000.0, 30.0));
        // 10 round trips are too few: from 10 to 20.
        assert_eq!(grown(10.0, 30.0, window, 10.0), (0.5, 20.0));
        assert_eq!(grown(20.0, 30.0, window, 10.0), (1.0, 30.0));
    }

    #[test]
    fn the_mean_of_the_waits_is_that_of_timeouts_that_double() {
        // Timeouts of 1 s with any error of up to a factor of two, after 20 s without a path.
        let next_s =
            |timeout_s: f64| (1..9).map(|power| timeout_s * (f64::from(1 << power) - 1.0)).find(|at_s| *at_s >= 20.0);
        let waits_s = (0..1000).map(|step| next_s(libm::exp2(f64::from(step) / 1000.0)).expect("one of nine") - 20.0);
        let mean_s = waits_s.sum::<f64>() / 1000.0;
        assert!((mean_s / wait_s(20.0, 1.5) - 1.0).abs() < 0.05, "{mean_s}");
    }

    #[test]
    fn a_path_that_is_back_before_the_timeout_costs_what_is_left_of_it() {
        let phases = [(0.0, 10.0), (10.0, 10.4), (10.4, 20.4)].map(|(begin_s, end_s)| Phase { begin_s, end_s });
        let mut flows = [FAST, CUT, FAST];
        apply(&phases, &mut flows, 0.0);
        assert_eq!(flows[0], FAST);
        // 0.6 of 10 s.
        assert!((flows[2].goodput_bps / 1e6 - 0.94).abs() < 1e-9, "{:?}", flows[2]);
        // At most 1.4 s.
        assert!((flows[2].interval_bps.0 / 8e5 - 0.86).abs() < 1e-9, "{:?}", flows[2]);
    }

    proptest! {
        #[test]
        fn no_wait_adds_goodput_and_without_a_cut_there_is_none(
            parts in proptest::collection::vec((0.0..10.0_f64, proptest::bool::weighted(0.7)), 1..12), start_s in 0.0..20.0_f64
        ) {
            let mut end_s = 0.0;
            let phases: Vec<Phase> = parts.iter().map(|(length_s, _)| {
                let begin_s = end_s;
                end_s += length_s;
                Phase { begin_s, end_s }
            }).collect();
            let before: Vec<FlowPrediction> = parts.iter().map(|(_, has_path)| if *has_path { FAST } else { CUT }).collect();
            let mut after = before.clone();
            apply(&phases, &mut after, start_s);
            let mut cut = false;
            for ((phase, before), after) in phases.iter().zip(&before).zip(&after) {
                prop_assert!(after.goodput_bps <= before.goodput_bps && after.goodput_bps >= 0.0);
                prop_assert!(after.interval_bps.0 <= after.goodput_bps && after.goodput_bps <= after.interval_bps.1.max(0.0));
                cut |= before.paths == 0 && phase.end_s > start_s.max(phase.begin_s);
                prop_assert!(cut || after == before, "{:?}", after);
            }
        }
    }
}
