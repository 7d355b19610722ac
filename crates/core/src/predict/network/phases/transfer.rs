//! The completion time of a flow that ends, in a run whose links or routes change.

use super::{Phase, recovery};
use crate::predict::network::solution::completion::Completion;
use crate::predict::network::{FlowPrediction, NO_PATH, ending};

/// A transfer that goes through phases. In each it has a constant rate: that at which all of it would complete if the phase lasted.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Transfer {
    /// When it starts or continues, seconds; when it is complete, if nothing is left.
    at_s: f64,
    /// The share of its bytes that is left.
    left: f64,
    /// Since when it has no path, seconds.
    cut_s: Option<f64>,
}

impl Transfer {
    fn new(start_s: f64) -> Transfer {
        Transfer { at_s: start_s, left: 1.0, cut_s: None }
    }

    /// Passes a phase in which all bytes take `needs_s`; `None` without a path. After a time without one, the sender waits for `waits_s(that time)`.
    fn pass(&mut self, phase: Phase, needs_s: Option<f64>, waits_s: impl Fn(f64) -> f64) {
        if self.left <= 0.0 || self.at_s >= phase.end_s {
            return;
        }
        self.at_s = self.at_s.max(phase.begin_s);
        let Some(needs_s) = needs_s else {
            self.cut_s.get_or_insert(self.at_s);
            self.at_s = phase.end_s;
            return;
        };
        if let Some(cut_s) = self.cut_s.take() {
            self.at_s += waits_s(self.at_s - cut_s);
        }
        let has_s = (phase.end_s - self.at_s).max(0.0);
        if has_s < self.left * needs_s {
            self.left -= has_s / needs_s;
            self.at_s = self.at_s.max(phase.end_s);
        } else {
            self.at_s += self.left * needs_s;
            self.left = 0.0;
        }
    }
}

/// The prediction of a flow with these bytes: it is that of each phase in turn. If it does not end in the run, its last rate goes on.
pub fn prediction(phases: &[Phase], of_phases: &[FlowPrediction], start_s: f64, bytes: u64) -> FlowPrediction {
    let last = of_phases.last().and_then(|flow| flow.completion);
    let times = |value: fn(&Completion) -> f64, waits: fn(f64, f64) -> f64| {
        let mut transfer = Transfer::new(start_s);
        for (phase, flow) in phases.iter().zip(of_phases) {
            let needs_s = flow.completion.as_ref().map(value);
            transfer.pass(*phase, needs_s, |cut_s| waits(cut_s, flow.timeout_s));
        }
        let needs_s = if transfer.left > 0.0 { last.as_ref().map_or(f64::INFINITY, value) } else { 0.0 };
        let more_s = if transfer.left > 0.0 { transfer.left * needs_s } else { 0.0 };
        transfer.at_s + more_s - start_s
    };
    let median_s = times(|times| times.median_s, recovery::wait_s);
    // The phases in which it may send.
    let used = || {
        let until_s = start_s + times(|times| times.high_s, recovery::longest_wait_s);
        let phases = phases.iter().zip(of_phases);
        phases
            .filter(move |(phase, flow)| phase.end_s > start_s && phase.begin_s < until_s && flow.completion.is_some())
    };
    let Some(longest) = used().map(|(_, flow)| flow).max_by(|one, other| one.goodput_bps.total_cmp(&other.goodput_bps))
    else {
        return NO_PATH;
    };
    let meets = used().filter_map(|(_, flow)| flow.completion).map(|times| times.meets).max().expect("a phase is used");
    let completion = Completion {
        median_s,
        low_s: times(|times| times.low_s, recovery::no_wait_s),
        high_s: times(|times| times.high_s, recovery::longest_wait_s),
        meets,
    };
    let most_bps = used().map(|(_, flow)| flow.most_bps).fold(0.0, f64::max);
    ending(*longest, completion, bytes, most_bps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn phases(ends_s: &[f64]) -> Vec<Phase> {
        let begins_s = std::iter::once(0.0).chain(ends_s.iter().copied());
        begins_s.zip(ends_s).map(|(begin_s, end_s)| Phase { begin_s, end_s: *end_s }).collect()
    }

    #[test]
    fn half_of_the_bytes_at_each_of_two_rates() {
        // 10 s at a rate of 1/20 a second, then at 1/40: 10 + 20 = 30 s, of which the cut takes 5 s and the wait 3 s.
        let mut transfer = Transfer::new(2.0);
        let needs_s = [Some(20.0), None, Some(40.0)];
        for (phase, needs_s) in phases(&[12.0, 17.0, 100.0]).into_iter().zip(needs_s) {
            transfer.pass(phase, needs_s, |cut_s| cut_s - 2.0);
        }
        assert_eq!(transfer, Transfer { at_s: 2.0 + 30.0 + 5.0 + 3.0, left: 0.0, cut_s: None });
    }

    proptest! {
        /// All bytes are sent at the rates of the phases, and none while there is no path.
        #[test]
        fn no_byte_is_lost_or_sent_twice(
            parts in proptest::collection::vec((0.0..10.0_f64, proptest::option::of(0.1..30.0_f64)), 1..12), start_s in 0.0..20.0_f64
        ) {
            let mut end_s = 0.0;
            let ends_s: Vec<f64> = parts.iter().map(|(length_s, _)| { end_s += length_s; end_s }).collect();
            let mut transfer = Transfer::new(start_s);
            let mut sent = 0.0;
            for (phase, (_, needs_s)) in phases(&ends_s).into_iter().zip(&parts) {
                let (before_s, left) = (transfer.at_s.max(phase.begin_s), transfer.left);
                transfer.pass(phase, *needs_s, |_| 0.0);
                prop_assert!(transfer.at_s >= start_s && transfer.left <= left);
                if let Some(needs_s) = needs_s {
                    sent += (transfer.at_s.min(phase.end_s) - before_s).max(0.0) * f64::from(u8::from(left > 0.0)) / needs_s;
                } else {
                    prop_assert_eq!(transfer.left, left);
                }
                prop_assert!(transfer.left <= 0.0 || transfer.at_s >= phase.end_s);
            }
            prop_assert!((sent + transfer.left - 1.0).abs() < 1e-9, "{} + {}", sent, transfer.left);
        }
    }
}
