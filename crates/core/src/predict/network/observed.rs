//! The law of a congestion control without a formula: the control itself runs over an ideal path, and its mean window is observed.
//!
//! The path acknowledges every window in one round trip. Events reduce the window at even distances, or at random packets. The queue grows from
//! nothing to twice its mean between even events, and is of any such length between random ones.

use super::ideal_path::{Acks, FEW, IdealPath};
use super::law::Balance;
use super::provided::{self, is_provided};
use crate::rng::{Purpose, Stream};
use crate::spec::StackSpec;
use crate::units::Duration;
use std::sync::OnceLock;

/// Events a round trip at which the window is observed; between them, its logarithm is linear in that of the events.
pub(super) const EVENTS: [f64; 10] = [3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 6e-2, 0.1, 0.2, 0.4, 0.8];
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
pub(super) const LEAST_REDUCTION: f64 = 0.02;
/// No window grows beyond it, segments.
pub(super) const GREATEST: f64 = 1e6;

/// The last but one of [`EVENTS`].
const LAST_PAIR: usize = EVENTS.len() - 2;

type Column = [Balance; EVENTS.len()];

/// ACKs of a round trip, instead of [`FEW`], of a control that comes with the scenario: its calls are expensive.
const FEWER: u32 = 2;
/// The same where events are rarer than [`RARE`], and windows large.
const FEWEST: u32 = 1;
/// Events a round trip.
const RARE: f64 = 0.02;
/// Where a control that comes with the scenario takes too many ACKs, the line goes through two points so far apart. Its few observations waver.
const APART: usize = 2;

/// A congestion control that can be observed.
#[derive(Debug)]
pub struct Observed {
    pub(super) stack: StackSpec,
    /// Whether queues mark instead of dropping.
    marked: bool,
    /// Whether it counts ACKs instead of the segments that they acknowledge.
    pub(super) counts_acks: OnceLock<bool>,
    /// By RTT, queue, and whether events come at random.
    columns: Vec<OnceLock<Column>>,
}

/// A path, and when its events come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    /// Events a round trip.
    pub(super) events: f64,
    pub(super) rtt_s: f64,
    /// The RTT without queue.
    pub(super) least_s: f64,
    /// Whether events come at random instead of at even distances.
    pub(super) random: bool,
    /// Whether as many ACKs arrive as the receiver sends, instead of [`FEW`].
    pub(super) all_acks: bool,
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
        Observed { stack: stack.clone(), marked, counts_acks: OnceLock::new(), columns }
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
        Self::on_line(column, [index, index + 1], events)
    }

    /// The balance on the line through two points.
    fn on_line(column: &Column, [one, other]: [usize; 2], events: f64) -> Balance {
        let part = (events / EVENTS[one]).ln() / (EVENTS[other] / EVENTS[one]).ln();
        let mut mean = Mean::default();
        // Beyond the first and last points the window goes on as between their neighbours.
        mean.add(column[one], 1.0 - part);
        mean.add(column[other], part);
        mean.balance()
    }

    fn column(&self, rtt: usize, queue: usize, random: bool) -> &Column {
        let index = (rtt * QUEUES.len() + queue) * 2 + usize::from(random);
        self.columns[index].get_or_init(|| {
            let is_provided = is_provided(&self.stack.congestion);
            let rtt_s = LEAST_RTT_S * libm::exp2(rtt as f64);
            let setting =
                Setting { events: 1.0, rtt_s, least_s: QUEUES[queue] * rtt_s, random, all_acks: self.counts_acks() };
            let mut found = [Balance { window: GREATEST, remaining: 1.0, mean_share: 1.0 }; EVENTS.len()];
            // ACKs that an observation would take, by the one of more frequent events.
            let mut expected = 0.0;
            for index in (0..EVENTS.len()).rev() {
                let events = EVENTS[index];
                let observed = self.observe_within(Setting { events, ..setting }, expected / events);
                expected = observed.map_or(f64::INFINITY, |(_, acks)| acks as f64 * events);
                let line = || {
                    let next = (index + 1).min(LAST_PAIR);
                    let other = if is_provided { (next + APART).min(EVENTS.len() - 1) } else { next + 1 };
                    Self::on_line(&found, [next, other], events)
                };
                found[index] = observed.map_or_else(line, |(balance, _)| balance);
            }
            // The solver needs a window that shrinks with the events, also where few observations make it waver.
            for index in 1..found.len() {
                found[index].window = found[index].window.min(0.999 * found[index - 1].window);
            }
            found
        })
    }

    /// As [`Self::observe`]; `None` also if a control that comes with the scenario is expected to take too many ACKs.
    fn observe_within(&self, setting: Setting, expected: f64) -> Option<(Balance, u64)> {
        let control = &self.stack.congestion;
        let most = provided::most_acks(control, setting.all_acks).filter(|_| is_provided(control));
        if most.is_some_and(|most| expected > most as f64) { None } else { self.observe(setting) }
    }

    /// Runs the control over the path: its balance, and the ACKs of the run. `None` if that takes too many.
    pub(super) fn observe(&self, setting: Setting) -> Option<(Balance, u64)> {
        let Setting { events, rtt_s, least_s, random, all_acks } = setting;
        let is_provided = is_provided(&self.stack.congestion);
        let most_acks = provided::most_acks(&self.stack.congestion, all_acks);
        let draws = Stream::new(1, Purpose::Loss, u64::from(random));
        let phases = Stream::new(1, Purpose::Jitter, u64::from(random));
        let acks = match (all_acks, is_provided) {
            (true, _) => Acks::All,
            (false, false) => Acks::Few(FEW),
            (false, true) => Acks::Few(if events < RARE { FEWEST } else { FEWER }),
        };
        let mut path = IdealPath::new(&self.stack, rtt_s, least_s, acks);
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
            let last_of_slow_start = if all_acks { 1 } else { 3 };
            let ends_slow_start = reduced <= 0.0 && rounds == last_of_slow_start;
            let event = (comes || ends_slow_start).then(|| path.congestion(self.marked));
            let phase = if random { phases.uniform(rounds) } else { due };
            path.round_trip = Duration::from_secs_f64(least_s + 2.0 * phase * (rtt_s - least_s));
            let recovers = comes || (ends_slow_start && is_provided);
            path.round(self.marked && recovers, !self.marked && recovers);
            if let Some((of, to)) = event {
                // Some reduce the window only with the ACKs of the recovery.
                let to = if is_provided { to.min(path.cwnd()) } else { to };
                if reduced >= FORGOTTEN {
                    happened += 1;
                    (before, after) = (before + of, after + to);
                }
                reduced += (of / to).ln().max(LEAST_REDUCTION);
            }
            if reduced >= FORGOTTEN {
                windows += path.window();
                observed += 1;
            }
            if path.window() >= GREATEST {
                let greatest = Balance { window: GREATEST, remaining: 1.0 - events, mean_share: 1.0 - events / 2.0 };
                return Some((greatest, path.acks));
            }
            if most_acks.is_some_and(|most| path.acks > most) || (is_provided && path.is_worn_out()) {
                return None;
            }
        }
        let window = windows / observed as f64;
        let remaining = (after / before).min(0.99);
        let mean_share = (window * f64::from(happened) / before).clamp(remaining, 1.0);
        Some((Balance { window, remaining, mean_share }, path.acks))
    }
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
