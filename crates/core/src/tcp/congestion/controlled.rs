//! A congestion control and what it last said, so that a sender that asks after every segment need not call it.

use super::CongestionControl;
use crate::prefetch::prefetch_at;
use crate::tcp::events::{AckEvent, CongestionEvent};
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Rate};

/// The rate of what is not paced.
pub const UNPACED: Rate = Rate(u64::MAX);

/// What a congestion control has in force between two events.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InForce {
    /// Congestion window, segments.
    pub cwnd: f64,
    /// The whole segments of `cwnd`, at least one.
    pub window: u32,
    /// The rate to pace at, or [`UNPACED`].
    pub pacing_rate: Rate,
}

/// A congestion control that is asked anew only after something has happened to it.
pub struct Controlled {
    algorithm: Box<dyn CongestionControl>,
    in_force: InForce,
}

impl Controlled {
    /// Takes the algorithm over: nothing else may change it.
    pub fn new(algorithm: Box<dyn CongestionControl>) -> Controlled {
        Controlled { in_force: algorithm.in_force(), algorithm }
    }

    /// The algorithm.
    pub fn algorithm(&self) -> &dyn CongestionControl {
        &*self.algorithm
    }

    /// Asks for the algorithm's state.
    #[inline(always)]
    pub fn ask_for_algorithm(&self) {
        prefetch_at(&raw const *self.algorithm);
    }

    /// See [`CongestionControl::on_ack`].
    #[inline(always)]
    pub fn on_ack(&mut self, ack: &AckEvent, rtt: &RttEstimate) {
        self.algorithm.on_ack_in_force(ack, rtt, &mut self.in_force);
    }

    /// See [`CongestionControl::on_congestion`].
    pub fn on_congestion(&mut self, event: &CongestionEvent, rtt: &RttEstimate) {
        self.algorithm.on_congestion(event, rtt);
        self.in_force = self.algorithm.in_force();
    }

    /// See [`CongestionControl::undo`].
    pub fn undo(&mut self) {
        self.algorithm.undo();
        self.in_force = self.algorithm.in_force();
    }

    /// See [`CongestionControl::on_recovered`].
    pub fn on_recovered(&mut self) {
        self.algorithm.on_recovered();
        self.in_force = self.algorithm.in_force();
    }

    /// See [`CongestionControl::on_idle`].
    pub fn on_idle(&mut self, idle: Duration, initial_window: u32, rtt: &RttEstimate) {
        self.algorithm.on_idle(idle, initial_window, rtt);
        self.in_force = self.algorithm.in_force();
    }

    /// See [`CongestionControl::cwnd`].
    #[inline(always)]
    pub fn cwnd(&self) -> f64 {
        self.in_force.cwnd
    }

    /// The whole segments of the congestion window, at least one.
    #[inline(always)]
    pub fn window(&self) -> u32 {
        self.in_force.window
    }

    /// See [`CongestionControl::ssthresh`]; asked too seldom to be kept.
    pub fn ssthresh(&self) -> f64 {
        self.algorithm.ssthresh()
    }

    /// See [`CongestionControl::pacing_rate`].
    #[inline(always)]
    pub fn pacing_rate(&self) -> Option<Rate> {
        (self.in_force.pacing_rate != UNPACED).then_some(self.in_force.pacing_rate)
    }
}
