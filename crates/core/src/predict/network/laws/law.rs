//! The law of a congestion control: the mean window at which growth and reductions balance, as a function of its congestion events per round trip.

use super::observed::Observed;
use crate::spec::{Follows, StackSpec};
use crate::tcp::ack::AckSpec;
use crate::tcp::congestion::CongestionSpec;
use crate::tcp::congestion::choice::ControlSpec;
use crate::tcp::congestion::loss_based::cubic;

/// [`Law::at_random`] for additive increase and multiplicative decrease is this plus [`BY_DECREASE`] times the share of the window that an event takes.
/// Without recoveries, it would be 1 plus 1/3 of that share (Reno: 1.167, Ott, Kemperman, Mathis 1996). This and the next four values are fitted to the
/// packet engine.
const AT_RANDOM: f64 = 1.08;
/// See [`AT_RANDOM`].
const BY_DECREASE: f64 = 1.0 / 3.0;
/// [`Law::at_random`] for CUBIC's friendly region. Above the window of the last event, the window grows by a whole segment (RFC 9438 section 4.3), except
/// in Linux.
const CUBIC_AT_RANDOM: f64 = 1.0;
/// See [`CUBIC_AT_RANDOM`].
const LINUX_CUBIC_AT_RANDOM: f64 = 1.35;
/// Increase of that factor by recoveries, in which the window does not grow. It is multiplied by the events per round trip and by the share that an event
/// takes.
const RECOVERY: f64 = 2.4;
/// CUBIC's mean window with random losses, divided by its mean window with losses at even distances. Its curve grows with the third power of the distance.
const RANDOM_CUBIC: f64 = 2.3;

/// Fewer events per round trip count as none.
const LEAST_EVENTS: f64 = 1e-12;

/// What determines the rate of a congestion control.
#[derive(Debug, PartialEq)]
pub enum Response {
    /// The events that reduce its window, with a formula.
    Losses(Law),
    /// The events that reduce its window, observed because there is no formula.
    Observed(Box<Observed>),
    /// The same, where queues mark: its response to marks, and its response to losses.
    Marked(Box<[Observed; 2]>),
    /// The number of its segments that wait in queues (Vegas), and the law for events where queues are too short for them.
    Waiting(f64, Law),
    /// The bandwidth that it measures.
    Bbr(Bbr),
}

/// What distinguishes versions of BBR over several paths and over paths that lose packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bbr {
    /// Version 1, which ignores losses.
    Draft,
    /// Linux's version 1, which takes a rate with many losses for a policer's.
    Linux,
    /// Version 3, which bounds its flight where a round trip loses more than this share.
    Three { loss_threshold: f64 },
}

impl Response {
    /// The response of a stack; `None` if the model has none. With `marked`, queues mark its packets instead of dropping them.
    pub fn of(stack: &StackSpec, marked: bool) -> Option<Response> {
        if let Some(law) = Law::of(stack) {
            return Some(Response::Losses(law));
        }
        let observed = || {
            if marked {
                Response::Marked(Box::new([true, false].map(|marked| Observed::new(stack, marked))))
            } else {
                Response::Observed(Box::new(Observed::new(stack, false)))
            }
        };
        let ControlSpec::Named(control) = &stack.congestion else { return Some(observed()) };
        match control {
            CongestionSpec::Bbr(_) => Some(Response::Bbr(Bbr::Draft)),
            CongestionSpec::LinuxBbr(_) => Some(Response::Bbr(Bbr::Linux)),
            CongestionSpec::Bbr3(parameters) => {
                Some(Response::Bbr(Bbr::Three { loss_threshold: parameters.loss_threshold }))
            }
            // They answer delays that only a queue has, or marks of single packets.
            CongestionSpec::LinuxCdg(_) | CongestionSpec::Swift(_) | CongestionSpec::Prague(_) => None,
            CongestionSpec::Vegas(parameters) => {
                let law = Law::aimd(1.0, parameters.loss_remainder);
                Some(Response::Waiting(f64::midpoint(parameters.alpha, parameters.beta), law))
            }
            CongestionSpec::LinuxVegas(parameters) => {
                let law = Law::aimd(1.0, 0.5);
                Some(Response::Waiting(f64::midpoint(parameters.alpha.into(), parameters.beta.into()), law))
            }
            _ => Some(observed()),
        }
    }

    /// Balance for two event rates: events of links and random losses, both per round trip of `rtt_s`. `idle_s` is the RTT without queues. `even`
    /// describes the distances between events, as in [`Law::window`]. `None` for BBR, which ignores events.
    pub fn balance(&self, (of_links, at_random): (f64, f64), rtt_s: f64, idle_s: f64, even: f64) -> Option<Balance> {
        let events = (of_links + at_random).max(LEAST_EVENTS);
        match self {
            Response::Losses(law) | Response::Waiting(_, law) => Some(law.balance(events, rtt_s, even)),
            Response::Observed(observed) => Some(observed.balance(events, rtt_s, idle_s, even)),
            Response::Marked(laws) => {
                let [marks, losses] = &**laws;
                let marked = marks.balance(of_links.max(LEAST_EVENTS), rtt_s, idle_s, even);
                if at_random <= LEAST_EVENTS {
                    return Some(marked);
                }
                let lost = losses.balance(at_random, rtt_s, idle_s, 0.0);
                // The window's growth in a round trip balances the reductions by marks plus those by losses.
                let window = 1.0 / (1.0 / marked.window + 1.0 / lost.window);
                let share = at_random / events;
                let mean = |of_marks: f64, of_losses: f64| (1.0 - share) * of_marks + share * of_losses;
                Some(Balance {
                    window,
                    remaining: mean(marked.remaining, lost.remaining),
                    mean_share: mean(marked.mean_share, lost.mean_share),
                })
            }
            Response::Bbr(_) => None,
        }
    }
}

/// A window at which growth and reductions balance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Balance {
    /// The mean window, segments.
    pub window: f64,
    /// Ratio of the window after an event to the window before it.
    pub remaining: f64,
    /// Ratio of the mean window to the greatest one, for events at even distances.
    pub mean_share: f64,
}

/// A congestion control in congestion avoidance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law {
    /// Segments by which the window grows a round trip.
    pub increase: f64,
    /// Ratio of the window after an event to the window before it.
    pub remaining: f64,
    /// C of CUBIC's curve (RFC 9438 equation 1), if it has one.
    pub cubic: Option<f64>,
    /// Ratio of the greatest window to the mean window that balances it, for few random losses.
    pub at_random: f64,
}

impl Law {
    /// Additive increase, by `increase` segments a round trip, and multiplicative decrease.
    fn aimd(increase: f64, remaining: f64) -> Law {
        Law { increase, remaining, cubic: None, at_random: AT_RANDOM + BY_DECREASE * (1.0 - remaining) }
    }

    /// The law of a stack; `None` if the model has none.
    pub fn of(stack: &StackSpec) -> Option<Law> {
        let ControlSpec::Named(control) = &stack.congestion else { return None };
        let law = match control {
            CongestionSpec::LinuxReno(_) => Law::aimd(1.0, 0.5),
            CongestionSpec::Reno(parameters) | CongestionSpec::NewReno(parameters) => {
                Law::aimd(parameters.alpha, parameters.beta)
            }
            // The law of its region above the ramp-up, with the coarse growth up to the window of the last loss (Table I).
            CongestionSpec::Kikolo(parameters) => Law::aimd(1.0, parameters.beta_2),
            CongestionSpec::Cubic(parameters) => {
                let friendly = if parameters.reno_friendly { cubic::alpha_cubic(parameters.beta) } else { 0.0 };
                let at_random = CUBIC_AT_RANDOM;
                Law { increase: friendly, remaining: parameters.beta, cubic: Some(parameters.c), at_random }
            }
            CongestionSpec::LinuxCubic(parameters) => Law {
                increase: cubic::alpha_cubic(parameters.beta),
                remaining: parameters.beta,
                cubic: Some(parameters.c),
                at_random: LINUX_CUBIC_AT_RANDOM,
            },
            _ => return None,
        };
        // CUBIC's curve and RFC 3465 count segments; RFC 2581 counts ACKs.
        let counts_acks = stack.follows == Follows::Ns2 && law.cubic.is_none();
        let segments = if counts_acks { segments_per_ack(&stack.ack) } else { 1.0 };
        Some(Law { increase: law.increase / segments, ..law })
    }

    /// Mean window at `events` per round trip of `rtt_s`. `even` describes the distances between events, from 1 for equal distances to 0 for random ones.
    ///
    /// AIMD: growth by `increase` balances `(1 - remaining) events window`. CUBIC: the mean of its curve between two events (RFC 9438 equation 5) if it is
    /// greater. Random distances increase that mean, because some are long.
    pub fn window(&self, events: f64, rtt_s: f64, even: f64) -> f64 {
        let lost = 1.0 - self.remaining;
        let evenness = even * self.evenness() + (1.0 - even) * (self.at_random + RECOVERY * lost * events);
        let friendly = self.increase / (lost * evenness * events);
        let Some(c) = self.cubic else { return friendly };
        let between_s = rtt_s / events;
        let mean = (3.0 + self.remaining) / 4.0;
        let random = 1.0 + (RANDOM_CUBIC - 1.0) * (1.0 - even).sqrt();
        friendly.max(mean * c / lost * random * between_s.powi(3))
    }

    /// See [`Response::balance`].
    fn balance(&self, events: f64, rtt_s: f64, even: f64) -> Balance {
        Balance { window: self.window(events, rtt_s, even), remaining: self.remaining, mean_share: self.mean_share() }
    }

    fn mean_share(&self) -> f64 {
        if self.cubic.is_some() { (3.0 + self.remaining) / 4.0 } else { (1.0 + self.remaining) / 2.0 }
    }

    /// Ratio of a sawtooth's greatest window to its mean.
    fn evenness(&self) -> f64 {
        2.0 / (1.0 + self.remaining)
    }
}

/// Mean number of segments that an ACK acknowledges.
pub fn segments_per_ack(ack: &AckSpec) -> f64 {
    match ack {
        AckSpec::Immediate(_) => 1.0,
        AckSpec::Delayed(parameters) => f64::from(parameters.every),
        AckSpec::Stretch(parameters) => f64::from(parameters.segments),
        AckSpec::ModifiedDelayed(_) | AckSpec::QuickAck(_) => 2.0,
    }
}
