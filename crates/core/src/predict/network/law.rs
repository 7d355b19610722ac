//! How a congestion control balances growth and reductions: its mean window by the congestion events that it has a round trip.

use crate::spec::{Follows, StackSpec};
use crate::tcp::ack::AckSpec;
use crate::tcp::congestion::choice::ControlSpec;
use crate::tcp::congestion::{CongestionSpec, cubic};

/// The greatest window over the mean one that balances it, of losses at random. They come the more often the larger the window, 1.167 (Ott, Kemperman,
/// Mathis 1996); the rest is what recovery costs.
const RANDOM_EVENNESS: f64 = 1.28;
/// CUBIC's mean window with losses at random, over that with as many at even distances: its curve grows with the third power of a distance.
const RANDOM_CUBIC: f64 = 2.3;

/// How a congestion control determines its rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Response {
    /// By the events that reduce its window.
    Losses(Law),
    /// By the bandwidth that it measures.
    Bbr,
}

impl Response {
    /// The response of a stack; `None` if the model has none.
    pub fn of(stack: &StackSpec) -> Option<Response> {
        match &stack.congestion {
            ControlSpec::Named(CongestionSpec::Bbr(_)) => Some(Response::Bbr),
            _ => Law::of(stack).map(Response::Losses),
        }
    }
}

/// A congestion control in congestion avoidance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law {
    /// Segments by which the window grows a round trip.
    pub increase: f64,
    /// What remains of the window after an event.
    pub remaining: f64,
    /// C of CUBIC's curve (RFC 9438 equation 1), if it has one.
    pub cubic: Option<f64>,
}

impl Law {
    /// The law of a stack; `None` if the model has none.
    pub fn of(stack: &StackSpec) -> Option<Law> {
        let ControlSpec::Named(control) = &stack.congestion else { return None };
        let aimd = |increase, remaining| Law { increase, remaining, cubic: None };
        let law = match control {
            CongestionSpec::Reno(_) | CongestionSpec::LinuxReno(_) => aimd(1.0, 0.5),
            CongestionSpec::NewReno(parameters) => aimd(parameters.alpha, parameters.beta),
            // Beyond the ramp-up region, and coarse up to the window of the last loss (Table I).
            CongestionSpec::Kikolo(parameters) => aimd(1.0, parameters.beta_2),
            CongestionSpec::Cubic(parameters) => {
                let friendly = if parameters.reno_friendly { cubic::alpha_cubic(parameters.beta) } else { 0.0 };
                Law { increase: friendly, remaining: parameters.beta, cubic: Some(parameters.c) }
            }
            CongestionSpec::LinuxCubic(parameters) => Law {
                increase: cubic::alpha_cubic(parameters.beta),
                remaining: parameters.beta,
                cubic: Some(parameters.c),
            },
            _ => return None,
        };
        // CUBIC's curve and RFC 3465 count segments; RFC 2581 counts ACKs.
        let counts_acks = stack.follows == Follows::Ns2 && law.cubic.is_none();
        let segments = if counts_acks { segments_per_ack(&stack.ack) } else { 1.0 };
        Some(Law { increase: law.increase / segments, ..law })
    }

    /// The mean window at `events` a round trip of `rtt_s`. `even` tells the distances of events: 1, all the same, to 0, at random.
    ///
    /// AIMD: growth of `increase` balances `(1 - remaining) events window`. CUBIC: the mean of its curve from one event to the next (RFC 9438
    /// equation 5), if that is more; long distances at random make it more still.
    pub fn window(&self, events: f64, rtt_s: f64, even: f64) -> f64 {
        let lost = 1.0 - self.remaining;
        let evenness = even * self.evenness() + (1.0 - even) * RANDOM_EVENNESS;
        let friendly = self.increase / (lost * evenness * events);
        let Some(c) = self.cubic else { return friendly };
        let between_s = rtt_s / events;
        let mean = (3.0 + self.remaining) / 4.0;
        let random = 1.0 + (RANDOM_CUBIC - 1.0) * (1.0 - even).sqrt();
        friendly.max(random * mean * c * between_s.powi(3) / lost)
    }

    /// The mean window over the greatest, when events come at even distances.
    pub fn mean_share(&self) -> f64 {
        if self.cubic.is_some() { (3.0 + self.remaining) / 4.0 } else { (1.0 + self.remaining) / 2.0 }
    }

    /// What a sawtooth's greatest window is over its mean.
    pub fn evenness(&self) -> f64 {
        2.0 / (1.0 + self.remaining)
    }
}

/// Segments that an ACK acknowledges, in the long run.
pub fn segments_per_ack(ack: &AckSpec) -> f64 {
    match ack {
        AckSpec::Immediate(_) => 1.0,
        AckSpec::Delayed(parameters) => f64::from(parameters.every),
        AckSpec::Stretch(parameters) => f64::from(parameters.segments),
        AckSpec::ModifiedDelayed(_) | AckSpec::QuickAck(_) => 2.0,
    }
}
