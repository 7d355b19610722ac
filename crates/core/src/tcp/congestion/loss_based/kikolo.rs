//! Kikolo: four states between ACKs and duplicate ACKs, and a window that grows and shrinks by its region (Kiryowa, Granelli and
//! Kliazovich, "TCP Kikolo for Performance Improvement in High-speed Networks in Presence of Packet Losses").
//!
//! The paper leaves the following open, or contradicts itself. These are our choices:
//! - Table I prints `cwnd + 1 + rho/cwnd` in the ramp-up region. The text adds `rho/cwnd`, and one more would be slow
//!   start: a parameter, by default the text.
//! - A third duplicate ACK leads from S3 to S1 by the text, to S0 by equations (1) to (4): a parameter.
//! - The ACK that leaves S0 adds nothing by section III.A.2, and grows the window by section III.A.1. We follow the former.
//! - How S2 switches between the coarse and the refined scheme: a parameter.
//! - The paper does not say where a reduction leaves ssthresh: at the reduced window, as in standard TCP, or at half of the
//!   window, as section II describes standard TCP. In both, no window is below ssthresh after slow start, so that Table I's first column
//!   would be for slow start only. It is not if ssthresh is the window at the loss, or if only the first loss and timeouts set
//!   it. These are two parameters, which hold after a timeout as well.
//! - A reduction happens once in a window of data, which is the sender's rule.
//!
//! The second duplicate ACK in a row is the paper's signal: a duplicate-ACK threshold of 2, as in the preset.

use super::{MIN_SSTHRESH, restart_window};
use crate::tcp::congestion::occupancy::{Occupancy, StateTime};
use crate::tcp::congestion::slow_start::SlowStart;
use crate::tcp::congestion::{CongestionControl, FlowContext};
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind};
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Time};

crate::choice! {
    /// Where a third duplicate ACK leads from S3.
    pub enum ThirdDuplicate {
        /// To S0, as the equilibrium equations have it.
        ToS0 = "s0",
        /// To S1, as the text has it.
        ToS1 = "s1",
    }
}

crate::choice! {
    /// How S2 switches between the coarse and the refined scheme.
    pub enum Alternation {
        /// Coarse until the window passes the one at which the last loss came, refined beyond.
        LastLoss = "last-loss",
        /// In turn, a round trip each.
        RoundTrip = "round-trip",
    }
}

crate::choice! {
    /// Growth by an ACK in the ramp-up region.
    pub enum RampUp {
        /// `rho/cwnd`, as the text has it.
        Text = "text",
        /// `1 + rho/cwnd`, as Table I prints it.
        Table = "table",
    }
}

crate::choice! {
    /// Where a reduction leaves ssthresh.
    pub enum Threshold {
        /// At the reduced window.
        Reduced = "reduced",
        /// At half of the window before.
        Half = "half",
        /// At the window before.
        Unreduced = "unreduced",
    }
}

crate::choice! {
    /// Which reductions set ssthresh.
    pub enum ThresholdBy {
        /// All.
        Every = "every",
        /// That of the first loss, and timeouts.
        First = "first",
    }
}

crate::parameters! {
    /// Kikolo's constants and readings.
    pub struct Parameters {
        /// Segments by which the window grows per round trip in the ramp-up region (rho: 4).
        pub rho: f64 = 4.0, in 0.0..=1000.0;
        /// The ramp-up region ends at 1 + gamma times ssthresh (gamma: 0.005).
        pub gamma: f64 = 0.005, in 0.0..=1000.0;
        /// What remains of the window after a loss in the ramp-up region, and share of the coarse growth that the refined
        /// scheme takes (beta_1: 0.85).
        pub beta_1: f64 = 0.85, in 0.01..=0.99;
        /// What remains of the window after a loss beyond the ramp-up region (beta_2: 0.75).
        pub beta_2: f64 = 0.75, in 0.01..=0.99;
        /// What remains of the window after a loss in slow start (beta_3: 0.95).
        pub beta_3: f64 = 0.95, in 0.01..=0.99;
        /// Where a third duplicate ACK leads from S3: s0 by equations (1) to (4), s1 by the text of section III.C.
        pub third_duplicate: ThirdDuplicate = ThirdDuplicate::ToS0;
        /// When S2 is refined: last-loss beyond the window of the last loss, round-trip every other round trip (section
        /// III.A does not say).
        pub alternation: Alternation = Alternation::LastLoss;
        /// Growth by an ACK in the ramp-up region: text for rho/cwnd, table for 1 + rho/cwnd, as Table I prints it.
        pub ramp_up: RampUp = RampUp::Text;
        /// Where a reduction leaves ssthresh: at the reduced window, at half of the window before (section II on standard
        /// TCP), or at that window (unreduced). The paper does not say.
        pub threshold: Threshold = Threshold::Reduced;
        /// Which reductions set ssthresh: every one, or only the first and those by timeouts. The paper does not say.
        pub threshold_by: ThresholdBy = ThresholdBy::Every;
    }
}

/// A column of Table I.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Region {
    /// Below ssthresh.
    SlowStart,
    /// From ssthresh to 1 + gamma times ssthresh.
    RampUp,
    /// Beyond.
    Additive,
}

/// The region that a window is in (Table I).
pub fn region(cwnd: f64, ssthresh: f64, gamma: f64) -> Region {
    if cwnd < ssthresh {
        Region::SlowStart
    } else if cwnd < (1.0 + gamma) * ssthresh {
        Region::RampUp
    } else {
        Region::Additive
    }
}

/// Window after `growth` segments were acknowledged outside slow start; `scheme` is 1 for the coarse, beta_1 for the
/// refined one (Table I).
pub fn increase(cwnd: f64, region: Region, parameters: &Parameters, scheme: f64, growth: u32) -> f64 {
    let growth = f64::from(growth);
    match (region, parameters.ramp_up) {
        (Region::RampUp, RampUp::Text) => cwnd + scheme * parameters.rho * growth / cwnd,
        (Region::RampUp, RampUp::Table) => cwnd + (1.0 + scheme * parameters.rho / cwnd) * growth,
        _ => cwnd + scheme * growth / cwnd,
    }
}

/// Factor of the window in a reduction (Table I, last row).
pub fn remainder(region: Region, parameters: &Parameters) -> f64 {
    match region {
        Region::SlowStart => parameters.beta_3,
        Region::RampUp => parameters.beta_1,
        Region::Additive => parameters.beta_2,
    }
}

/// The shares of time of S0 to S3 in equilibrium, with ACKs at the rate `lambda` and duplicate ACKs at the rate `mu`
/// (equations (1) to (4)).
///
/// Printed equation (2), `mu P(C,0) = (mu + lambda) P(C,1)`, contradicts the others unless the rates are equal. We read it as the
/// balance of S3, `mu P(L,1) = (mu + lambda) P(C,1)`.
pub fn equilibrium(lambda: f64, mu: f64) -> [f64; 4] {
    let ratio = lambda / mu;
    let shares = [1.0, lambda / (mu + lambda), ratio * ratio, ratio * lambda / (mu + lambda)];
    let total: f64 = shares.iter().sum();
    shares.map(|share| share / total)
}

/// A state of Figure 1: its level (C after a congestion signal, L after an ACK) and its phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// (C, 0): the start.
    S0,
    /// (L, 0).
    S1,
    /// (L, 1): where a flow without trouble stays.
    S2,
    /// (C, 1).
    S3,
}

const STATES: [State; 4] = [State::S0, State::S1, State::S2, State::S3];

impl State {
    /// After an ACK in sequence.
    pub fn on_ack(self) -> State {
        match self {
            State::S0 => State::S1,
            State::S1 | State::S2 | State::S3 => State::S2,
        }
    }

    /// After the second duplicate ACK in a row, the congestion signal.
    pub fn on_signal(self) -> State {
        match self {
            State::S0 | State::S1 => State::S0,
            State::S2 | State::S3 => State::S3,
        }
    }

    /// After one more duplicate ACK.
    pub fn on_third_duplicate(self, reading: ThirdDuplicate) -> State {
        match (self, reading) {
            (State::S3, ThirdDuplicate::ToS0) => State::S0,
            (State::S3, ThirdDuplicate::ToS1) => State::S1,
            _ => self,
        }
    }

    /// Whether the window grows with the ACK that leaves it: the step out of level C adds nothing.
    pub fn grows(self) -> bool {
        matches!(self, State::S1 | State::S2)
    }
}

/// State that a reduction changes and an undo restores.
#[derive(Debug, Clone, Copy)]
struct Window {
    cwnd: f64,
    ssthresh: f64,
    /// The window at which the last loss came.
    last_loss: f64,
}

/// Kikolo's state.
#[derive(Debug, Clone)]
pub struct Kikolo {
    parameters: Parameters,
    slow_start: SlowStart,
    window: Window,
    before_reduction: Window,
    occupancy: Occupancy<4>,
    /// Time of the last signal. Further events of the same ACK are not a third duplicate.
    signalled: Time,
    refined_round: bool,
}

impl Kikolo {
    /// A flow that has not sent yet.
    pub fn new(parameters: Parameters, flow: FlowContext) -> Kikolo {
        let window = Window { cwnd: f64::from(flow.initial_window), ssthresh: f64::INFINITY, last_loss: f64::INFINITY };
        Kikolo {
            parameters,
            slow_start: SlowStart::new(flow.slow_start),
            window,
            before_reduction: window,
            occupancy: Occupancy::new(["S0", "S1", "S2", "S3"]),
            signalled: Time::ZERO,
            refined_round: false,
        }
    }

    fn state(&self) -> State {
        STATES[self.occupancy.present()]
    }

    fn region(&self) -> Region {
        region(self.window.cwnd, self.window.ssthresh, self.parameters.gamma)
    }

    /// The factor of the scheme in force: S0 and S1 are coarse.
    fn scheme(&self) -> f64 {
        let refined = match self.parameters.alternation {
            Alternation::LastLoss => self.window.cwnd > self.window.last_loss,
            Alternation::RoundTrip => self.refined_round,
        };
        if self.state() == State::S2 && refined { self.parameters.beta_1 } else { 1.0 }
    }

    #[inline(always)]
    fn grow(&mut self, ack: &AckEvent) {
        let mut growth = ack.growth;
        if self.region() == Region::SlowStart {
            growth = self.slow_start.on_ack(&mut self.window.cwnd, &mut self.window.ssthresh, ack);
        }
        if growth > 0 && self.state().grows() {
            self.window.cwnd = increase(self.window.cwnd, self.region(), &self.parameters, self.scheme(), growth);
        }
    }
}

impl CongestionControl for Kikolo {
    #[inline(always)]
    fn on_ack(&mut self, ack: &AckEvent, _rtt: &RttEstimate) {
        let state = self.state();
        let next = if ack.advanced {
            self.refined_round ^= ack.round_start;
            self.grow(ack);
            state.on_ack()
        } else if ack.duplicate && ack.now > self.signalled {
            state.on_third_duplicate(self.parameters.third_duplicate)
        } else {
            state
        };
        self.occupancy.enter(next as usize, ack.now);
    }

    fn on_congestion(&mut self, event: &CongestionEvent, _rtt: &RttEstimate) {
        let cwnd = self.window.cwnd;
        let reduced = (cwnd * remainder(self.region(), &self.parameters)).max(MIN_SSTHRESH);
        if event.kind != (CongestionKind::Timeout { repeated: true }) {
            self.before_reduction = self.window;
            let is_first = self.window.last_loss.is_infinite();
            self.window.last_loss = cwnd;
            let is_timeout = matches!(event.kind, CongestionKind::Timeout { .. });
            if is_first || is_timeout || self.parameters.threshold_by == ThresholdBy::Every {
                self.window.ssthresh = match self.parameters.threshold {
                    Threshold::Reduced => reduced,
                    Threshold::Half => (cwnd / 2.0).max(MIN_SSTHRESH),
                    Threshold::Unreduced => cwnd.max(MIN_SSTHRESH),
                };
            }
        }
        let next = match event.kind {
            CongestionKind::Timeout { .. } => {
                self.window.cwnd = 1.0; // RFC 5681 section 3.1: the loss window
                self.state()
            }
            CongestionKind::Loss | CongestionKind::EcnEcho => {
                self.window.cwnd = reduced;
                self.signalled = event.now;
                self.state().on_signal()
            }
        };
        self.occupancy.enter(next as usize, event.now);
    }

    fn undo(&mut self) {
        let cwnd = self.window.cwnd.max(self.before_reduction.cwnd);
        self.window = Window { cwnd, ..self.before_reduction };
    }

    fn on_idle(&mut self, _now: Time, idle: Duration, initial_window: u32, rtt: &RttEstimate) {
        self.window.cwnd = restart_window(self.window.cwnd, f64::from(initial_window), idle, rtt.rto());
    }

    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    fn state_times(&self) -> &[StateTime] {
        self.occupancy.times()
    }
}

#[cfg(test)]
mod tests;
