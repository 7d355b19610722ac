//! The law of a congestion control without a formula: the control itself runs over an ideal path, and its mean window is observed.
//!
//! The path acknowledges every window in one round trip. Events reduce the window at even distances, or at random packets. The queue grows from
//! nothing to twice its mean between even events, and is of any such length between random ones.

use super::law::{Balance, segments_per_ack};
use crate::rng::{Purpose, Stream};
use crate::spec::{Follows, StackSpec};
use crate::tcp::congestion::cached_control::Snapshot;
use crate::tcp::congestion::choice::ControlSpec;
use crate::tcp::congestion::{CongestionSpec, FlowContext};
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind};
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Time};
use std::sync::OnceLock;

/// Events a round trip at which the window is observed; between them, its logarithm is linear in that of the events.
const EVENTS: [f64; 10] = [3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 6e-2, 0.1, 0.2, 0.4, 0.8];
/// RTTs at which it is observed, seconds: powers of two from this one on.
const LEAST_RTT_S: f64 = 1.0 / 1024.0;
const RTTS: usize = 11;
/// The least RTT over the mean one: how much of a round trip is no queue.
const QUEUES: [f64; 5] = [1.0, 0.75, 0.5, 0.3, 0.15];
/// The window has forgotten its start when events have reduced it by this power of e in all.
const FORGOTTEN: f64 = 4.0;
/// Events observed after that, at even distances and at random.
const EVEN: u32 = 10;
/// See [`EVEN`].
const RANDOM: u32 = 60;
/// An event that reduces less counts as this much.
const LEAST_REDUCTION: f64 = 0.02;
/// Most ACKs of a round trip, each of as many segments as needed, for a control that counts segments.
const ACKS: u32 = 4;
/// ACKs after which the observation of a control that counts ACKs is given up.
const MOST_ACKS: u64 = 500_000;
/// No window grows beyond it, segments.
const GREATEST: f64 = 1e6;

/// The last but one of [`EVENTS`].
const LAST_PAIR: usize = EVENTS.len() - 2;

type Column = [Balance; EVENTS.len()];

/// A congestion control that can be observed.
#[derive(Debug)]
pub struct Observed {
    stack: StackSpec,
    /// Whether queues mark instead of dropping.
    marked: bool,
    /// By RTT, queue, and whether events come at random.
    columns: Vec<OnceLock<Column>>,
}

impl PartialEq for Observed {
    fn eq(&self, other: &Observed) -> bool {
        self.stack.congestion == other.stack.congestion && self.marked == other.marked
    }
}

impl Observed {
    /// The control of a stack. `marked` tells whether its events are congestion marks.
    pub fn new(stack: &StackSpec, marked: bool) -> Observed {
        let columns = (0..RTTS * QUEUES.len() * 2).map(|_| OnceLock::new()).collect();
        Observed { stack: stack.clone(), marked, columns }
    }

    /// The balance at `events` a round trip of `rtt_s`, of which `idle_s` is no queue. `even` is 1 for even distances, 0 for random ones.
    pub fn balance(&self, events: f64, rtt_s: f64, idle_s: f64, even: f64) -> Balance {
        let octave = (rtt_s / LEAST_RTT_S).log2().clamp(0.0, (RTTS - 1) as f64);
        let share = (idle_s / rtt_s).clamp(QUEUES[QUEUES.len() - 1], 1.0);
        let queue = QUEUES.windows(2).position(|pair| share >= pair[1]).unwrap_or(0);
        let part = (QUEUES[queue] - share) / (QUEUES[queue] - QUEUES[queue + 1]);
        let rtt = (octave as usize).min(RTTS - 2);
        let mut mean = Mean::default();
        for (random, weight) in [(false, even), (true, 1.0 - even)] {
            for (rtt, weight) in
                [(rtt, weight * (1.0 + rtt as f64 - octave)), (rtt + 1, weight * (octave - rtt as f64))]
            {
                for (queue, weight) in [(queue, weight * (1.0 - part)), (queue + 1, weight * part)] {
                    if weight > 0.0 {
                        mean.add(self.at(self.column(rtt, queue, random), events), weight);
                    }
                }
            }
        }
        mean.balance()
    }

    fn at(&self, column: &Column, events: f64) -> Balance {
        let index = EVENTS.windows(2).position(|pair| events < pair[1]).unwrap_or(LAST_PAIR);
        Self::between(column, index, events)
    }

    /// The balance on the line through the point of this index and the next.
    fn between(column: &Column, index: usize, events: f64) -> Balance {
        let part = (events / EVENTS[index]).ln() / (EVENTS[index + 1] / EVENTS[index]).ln();
        let mut mean = Mean::default();
        // Beyond the first and last points the window goes on as between their neighbours.
        mean.add(column[index], 1.0 - part);
        mean.add(column[index + 1], part);
        mean.balance()
    }

    fn column(&self, rtt: usize, queue: usize, random: bool) -> &Column {
        let index = (rtt * QUEUES.len() + queue) * 2 + usize::from(random);
        self.columns[index].get_or_init(|| {
            let rtt_s = LEAST_RTT_S * libm::exp2(rtt as f64);
            let mut found = [Balance { window: GREATEST, remaining: 1.0, mean_share: 1.0 }; EVENTS.len()];
            for index in (0..EVENTS.len()).rev() {
                let observed = self.observe(EVENTS[index], rtt_s, QUEUES[queue] * rtt_s, random);
                found[index] =
                    observed.unwrap_or_else(|| Self::between(&found, (index + 1).min(LAST_PAIR), EVENTS[index]));
            }
            // The solver needs a window that shrinks with the events, also where few observations make it waver.
            for index in 1..found.len() {
                found[index].window = found[index].window.min(0.999 * found[index - 1].window);
            }
            found
        })
    }

    /// Runs the control over the path; `None` if that takes too many ACKs.
    fn observe(&self, events: f64, rtt_s: f64, least_s: f64, random: bool) -> Option<Balance> {
        let draws = Stream::new(1, Purpose::Loss, u64::from(random));
        let phases = Stream::new(1, Purpose::Jitter, u64::from(random));
        let mut path = IdealPath::new(&self.stack, rtt_s, least_s);
        let (mut due, mut rounds, mut reduced) = (0.0, 0_u64, 0.0);
        let (mut windows, mut before, mut after) = (0.0, 0.0, 0.0);
        let (mut happened, mut observed) = (0, 0_u64);
        while happened < if random { RANDOM } else { EVEN } {
            // At random, one packet is as likely as another to be lost: more events come where the window is large.
            let mean = if observed > 0 { windows / observed as f64 } else { path.window() };
            let likely = -libm::expm1(libm::log1p(-events) * path.window() / mean);
            let comes = if random { draws.uniform(rounds) < likely } else { due + events >= 1.0 };
            due = (due + events) % 1.0;
            rounds += 1;
            // The first event ends slow start, whose window says nothing. Where ACKs count, a round trip of it may multiply the window by hundreds (Hybla).
            let last_of_slow_start = if path.segments_per_ack.is_some() { 1 } else { 3 };
            if comes || (reduced <= 0.0 && rounds == last_of_slow_start) {
                let (of, to) = path.congestion(self.marked);
                if reduced >= FORGOTTEN {
                    happened += 1;
                    (before, after) = (before + of, after + to);
                }
                reduced += (of / to).ln().max(LEAST_REDUCTION);
            }
            let phase = if random { phases.uniform(rounds) } else { due };
            path.round_trip = Duration::from_secs_f64(least_s + 2.0 * phase * (rtt_s - least_s));
            path.round(self.marked && comes, !self.marked && comes);
            if reduced >= FORGOTTEN {
                windows += path.window();
                observed += 1;
            }
            if path.window() >= GREATEST {
                let greatest = Balance { window: GREATEST, remaining: 1.0 - events, mean_share: 1.0 - events / 2.0 };
                return Some(greatest);
            }
            if path.segments_per_ack.is_some() && path.acks > MOST_ACKS {
                return None;
            }
        }
        let window = windows / observed as f64;
        let remaining = (after / before).min(0.99);
        let mean_share = (window * f64::from(happened) / before).clamp(remaining, 1.0);
        Some(Balance { window, remaining, mean_share })
    }
}

/// Whether a control counts ACKs instead of the segments that they acknowledge.
fn counts_acks(control: &ControlSpec) -> bool {
    use CongestionSpec::{LinuxHighSpeed, LinuxHybla};
    matches!(control, ControlSpec::Named(LinuxHighSpeed(_) | LinuxHybla(_)))
}

/// A mean of balances: of their windows the geometric one.
#[derive(Default)]
struct Mean {
    log_window: f64,
    remaining: f64,
    mean_share: f64,
}

impl Mean {
    fn add(&mut self, balance: Balance, weight: f64) {
        self.log_window += weight * balance.window.ln();
        self.remaining += weight * balance.remaining;
        self.mean_share += weight * balance.mean_share;
    }

    fn balance(self) -> Balance {
        let window = self.log_window.exp().clamp(0.1, 1e9);
        let remaining = self.remaining.clamp(0.0, 0.99);
        Balance { window, remaining, mean_share: self.mean_share.clamp(remaining, 1.0) }
    }
}

/// A sender and a path without losses of its own.
struct IdealPath {
    control: Box<dyn Snapshot>,
    rtt: RttEstimate,
    round_trip: Duration,
    now: Time,
    /// Segments that the window grows by, for each acknowledged.
    counted: f64,
    /// Segments for each ACK, if the control counts ACKs.
    segments_per_ack: Option<f64>,
    /// ACKs until now.
    acks: u64,
}

impl IdealPath {
    fn new(stack: &StackSpec, rtt_s: f64, least_s: f64) -> IdealPath {
        let flow = FlowContext {
            initial_window: 10,
            slow_start: stack.slow_start,
            payload: stack.mss,
            wire_bytes: stack.mss + stack.header,
            hz: stack.hz,
            random: Stream::new(1, Purpose::Congestion, 0),
        };
        let segments_per_ack = segments_per_ack(&stack.ack);
        let counted = if stack.follows == Follows::Ns2 { 1.0 / segments_per_ack } else { 1.0 };
        let mut path = IdealPath {
            control: stack.congestion.build(flow),
            rtt: RttEstimate::new(stack.min_rto, stack.max_rto, stack.initial_rto),
            round_trip: Duration::from_secs_f64(least_s),
            now: Time::ZERO,
            counted,
            segments_per_ack: counts_acks(&stack.congestion).then_some(segments_per_ack),
            acks: 0,
        };
        path.round(false, false); // the least RTT
        path.round_trip = Duration::from_secs_f64(rtt_s);
        path
    }

    fn window(&self) -> f64 {
        self.control.cwnd().floor().max(1.0)
    }

    /// A round trip, in whose ACKs all of a window arrives.
    fn round(&mut self, marked: bool, in_recovery: bool) {
        let window = self.window() as u32;
        let acks = match self.segments_per_ack {
            Some(segments) => (f64::from(window) / segments).ceil() as u32,
            None => window.min(ACKS),
        };
        self.acks += u64::from(acks);
        let mut acknowledged = 0;
        for ack in 0..acks {
            let until = (u64::from(window) * u64::from(ack + 1) / u64::from(acks)) as u32;
            let delivered = until - acknowledged;
            acknowledged = until;
            self.now += self.round_trip.scale(1.0 / f64::from(acks));
            self.rtt.sample(self.round_trip);
            let growth = if in_recovery { 0 } else { (f64::from(delivered) * self.counted).round() as u32 };
            let event = AckEvent {
                now: self.now,
                delivered,
                cumulative: delivered,
                growth,
                prior_in_flight: window,
                in_flight: window - delivered,
                outstanding: window - delivered,
                rtt: Some(self.round_trip),
                round_start: ack == 0,
                in_recovery,
                ecn_echo: marked,
                ..AckEvent::PREDICTED
            };
            self.control.on_ack(&event, &self.rtt);
        }
        if in_recovery {
            self.control.on_recovered();
        }
    }

    /// An event; the window before and after.
    fn congestion(&mut self, marked: bool) -> (f64, f64) {
        let before = self.control.cwnd();
        let kind = if marked { CongestionKind::EcnEcho } else { CongestionKind::Loss };
        let event = CongestionEvent { now: self.now, kind, prior_in_flight: self.window() as u32 };
        self.control.on_congestion(&event, &self.rtt);
        (before, self.control.cwnd())
    }
}
