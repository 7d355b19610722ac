//! A congestion control with a copy of its window and rate.
//!
//! The sender reads both for every segment. A copy within the sender's own state saves a virtual call and a cache line each time.

use super::{CongestionControl, Snapshot};
use crate::prefetch::prefetch_at;
use crate::tcp::events::{AckEvent, CongestionEvent, Connection};
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Rate, Time};

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
    pub fn algorithm(&self) -> &dyn CongestionControl {
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

    /// See [`Snapshot::on_connection`].
    pub fn on_connection(&mut self, connection: &Connection<'_>) {
        self.algorithm.on_connection(connection);
    }

    /// See [`Snapshot::on_start`].
    pub fn on_start(&mut self) {
        self.algorithm.on_start();
        self.output = self.algorithm.output();
    }

    /// See [`CongestionControl::on_echo`].
    pub fn on_echo(&mut self, ack: &AckEvent) {
        self.algorithm.on_echo(ack);
    }

    /// See [`CongestionControl::on_congestion`].
    pub fn on_congestion(&mut self, event: &CongestionEvent, rtt: &RttEstimate) {
        self.algorithm.on_congestion(event, rtt);
        self.output = self.algorithm.output();
    }

    /// See [`CongestionControl::undo`].
    pub fn undo(&mut self) {
        self.algorithm.undo();
        self.output = self.algorithm.output();
    }

    /// See [`CongestionControl::on_recovered`].
    pub fn on_recovered(&mut self) {
        self.algorithm.on_recovered();
        self.output = self.algorithm.output();
    }

    /// See [`Snapshot::on_loss_in_reduction`].
    pub fn on_loss_in_reduction(&mut self, reached: u32) {
        self.algorithm.on_loss_in_reduction(reached);
        self.output = self.algorithm.output();
    }

    /// See [`Snapshot::on_reopened`].
    pub fn on_reopened(&mut self) {
        self.algorithm.on_reopened();
        self.output = self.algorithm.output();
    }

    /// See [`CongestionControl::on_established`].
    pub fn on_established(&mut self, now: Time, rtt: &RttEstimate) {
        self.algorithm.on_established(now, rtt);
        self.output = self.algorithm.output();
    }

    /// See [`CongestionControl::on_idle`].
    pub fn on_idle(&mut self, now: Time, idle: Duration, initial_window: u32, rtt: &RttEstimate) {
        self.algorithm.on_idle(now, idle, initial_window, rtt);
        self.output = self.algorithm.output();
    }

    /// See [`Snapshot::min_quantum`].
    pub fn min_quantum(&mut self, now: Time) -> u32 {
        self.algorithm.min_quantum(now)
    }

    /// See [`Snapshot::min_rto`].
    pub fn min_rto(&self) -> Option<Duration> {
        self.algorithm.min_rto()
    }

    /// See [`Snapshot::backs_off`].
    pub fn backs_off(&self) -> Option<bool> {
        self.algorithm.backs_off()
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
