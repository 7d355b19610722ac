//! A congestion control with a copy of its window and rate.
//!
//! The sender reads both for every segment. A copy within the sender's own state saves a virtual call and a cache line each time.

use super::{CongestionControl, Snapshot};
use crate::prefetch::prefetch_at;
use crate::tcp::events::AckEvent;
use crate::tcp::rtt::RttEstimate;
use crate::units::{Rate, Time};

/// The pacing rate of an unpaced flow.
const UNPACED: Rate = Rate(u64::MAX);

/// Window and rate between two events.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Output {
    /// Congestion window, segments.
    cwnd: f64,
    /// Whole segments of `cwnd`, at least one.
    window: u32,
    /// The pacing rate, or [`UNPACED`].
    pacing_rate: Rate,
}

impl Output {
    /// Those of a control now.
    pub fn of(control: &(impl CongestionControl + ?Sized)) -> Output {
        let cwnd = control.cwnd();
        Output { cwnd, window: (cwnd as u32).max(1), pacing_rate: control.pacing_rate().unwrap_or(UNPACED) }
    }
}

/// A congestion control and its latest output.
pub struct CachedControl {
    algorithm: Box<dyn Snapshot>,
    output: Output,
}

impl CachedControl {
    /// Takes ownership, because a change from elsewhere would make the copy stale.
    pub fn new(algorithm: Box<dyn Snapshot>) -> CachedControl {
        CachedControl { output: algorithm.output(), algorithm }
    }

    /// The algorithm.
    pub fn algorithm(&self) -> &dyn Snapshot {
        &*self.algorithm
    }

    /// Prefetches the algorithm's state.
    #[inline(always)]
    pub fn prefetch_algorithm(&self) {
        prefetch_at(&raw const *self.algorithm);
    }

    /// See [`CongestionControl::on_ack`].
    #[inline(always)]
    pub fn on_ack(&mut self, ack: &AckEvent, rtt: &RttEstimate) {
        self.algorithm.on_ack_with_output(ack, rtt, &mut self.output);
    }

    /// Calls the algorithm, and then copies its output.
    pub fn update(&mut self, call: impl FnOnce(&mut dyn Snapshot)) {
        call(&mut *self.algorithm);
        self.output = self.algorithm.output();
    }

    /// See [`Snapshot::min_quantum`].
    pub fn min_quantum(&mut self, now: Time) -> u32 {
        self.algorithm.min_quantum(now)
    }

    /// See [`CongestionControl::cwnd`].
    #[inline(always)]
    pub fn cwnd(&self) -> f64 {
        self.output.cwnd
    }

    /// Whole segments of the congestion window, at least one.
    #[inline(always)]
    pub fn window(&self) -> u32 {
        self.output.window
    }

    /// See [`CongestionControl::ssthresh`]. Rare enough for a virtual call.
    pub fn ssthresh(&self) -> f64 {
        self.algorithm.ssthresh()
    }

    /// See [`CongestionControl::pacing_rate`].
    #[inline(always)]
    pub fn pacing_rate(&self) -> Option<Rate> {
        (self.output.pacing_rate != UNPACED).then_some(self.output.pacing_rate)
    }
}
