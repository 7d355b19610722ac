//! The law of a congestion control without a formula: the control runs over an ideal path, and its mean window is observed.
//!
//! The path acknowledges every window in one round trip. Events reduce the window at even distances or at random packets. Between even events, the queue
//! grows from zero to twice its mean. Between random events, its length is uniform in this range.

use super::ideal_path::{Acks, FEW, IdealPath};
use super::law::Balance;
use super::provided::{self, is_provided};
use crate::rng::{Purpose, Stream};
use crate::spec::StackSpec;
use crate::units::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

/// Events per round trip at which the window is observed. Between them, the logarithm of the window is interpolated linearly in the logarithm of the
/// events.
pub(super) const EVENTS: [f64; 10] = [3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 6e-2, 0.1, 0.2, 0.4, 0.8];
/// Least RTT of the observations, seconds. The others are its products with powers of two.
const LEAST_RTT_S: f64 = 1.0 / 1024.0;
const RTTS: usize = 11;
/// Ratios of the idle RTT to the mean RTT, at which the window is observed.
const QUEUES: [f64; 5] = [1.0, 0.75, 0.5, 0.3, 0.15];
/// The observation begins when events have reduced the window by this power of e in all. The window then no longer depends on its start.
const FORGOTTEN: f64 = 4.0;
/// Number of events observed after that, at even distances. [`RANDOM`] is the number of random events.
const EVEN: u32 = 10;
/// See [`EVEN`].
const RANDOM: u32 = 60;
/// Least reduction, in logarithms, that an event counts as.
pub(super) const LEAST_REDUCTION: f64 = 0.02;
/// Greatest window of an observation, segments.
pub(super) const GREATEST: f64 = 1e6;

/// Index of the last but one of [`EVENTS`].
const LAST_PAIR: usize = EVENTS.len() - 2;

/// The balance at each of [`EVENTS`], and the number of ACKs that its observation took, times the events. A point is observed when it is needed: the observation
/// of rare events takes the longest, and most paths have more frequent ones.
type Column = [OnceLock<(Balance, f64)>; EVENTS.len()];

/// Least ratio of two neighbouring windows. The solver needs a window that falls with more events, even if few observations make it noisy.
const LEAST_STEP: f64 = 1.0 / 0.999;

/// ACKs of a round trip for a control that comes with the scenario, instead of [`FEW`], because its calls are expensive.
const FEWER: u32 = 2;
/// The same where events are rarer than [`RARE`] and windows are large.
const FEWEST: u32 = 1;
/// Events a round trip.
const RARE: f64 = 0.02;
/// Distance of the two points for extrapolation, if a control that comes with the scenario takes too many ACKs. Its few observations are noisy, so
/// neighbours would be too close.
const APART: usize = 2;

/// A congestion control that can be observed.
#[derive(Debug)]
pub struct Observed {
    pub(super) stack: StackSpec,
    /// Whether queues mark packets instead of dropping them.
    marked: bool,
    /// Whether it counts ACKs instead of the segments that they acknowledge.
    pub(super) counts_acks: OnceLock<bool>,
    /// One per RTT, queue, and regular or random events.
    columns: Arc<Vec<Column>>,
}

/// The columns of stacks that were observed before in this process: predictions of one stack over many networks observe it once. A control that comes
/// with the scenario is not among them, because its file may change.
static KNOWN: Mutex<BTreeMap<String, Arc<Vec<Column>>>> = Mutex::new(BTreeMap::new());
/// Most entries of [`KNOWN`], some 50 kB each.
const MOST_KNOWN: usize = 100;

/// A path, and the rate of its events.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    /// Events a round trip.
    pub(super) events: f64,
    pub(super) rtt_s: f64,
    /// The RTT without queues.
    pub(super) least_s: f64,
    /// Whether events are random instead of at even distances.
    pub(super) random: bool,
    /// Whether the path sends as many ACKs as the receiver, instead of [`FEW`].
    pub(super) all_acks: bool,
}

impl PartialEq for Observed {
    fn eq(&self, other: &Observed) -> bool {
        self.stack.congestion == other.stack.congestion && self.marked == other.marked
    }
}

impl Observed {
    /// The control of a stack. With `marked`, its events are congestion marks.
    pub fn new(stack: &StackSpec, marked: bool) -> Observed {
        let columns = || Arc::new((0..RTTS * QUEUES.len() * 2).map(|_| Column::default()).collect());
        let observed = |columns| Observed { stack: stack.clone(), marked, counts_acks: OnceLock::new(), columns };
        if is_provided(&stack.congestion) {
            return observed(columns());
        }
        let nameless = StackSpec { name: String::new(), ..stack.clone() };
        let key = format!("{marked} {}", serde_json::to_string(&nameless).expect("a stack has no key that JSON lacks"));
        let mut known = KNOWN.lock().expect("no thread panics while it holds this lock");
        if known.len() >= MOST_KNOWN && !known.contains_key(&key) {
            return observed(columns());
        }
        observed(Arc::clone(known.entry(key).or_insert_with(columns)))
    }

    /// Balance at `events` per round trip of `rtt_s`. `idle_s` is the RTT without queues. `even` is 1 for even distances, 0 for random ones.
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
                        mean.add(self.at((rtt, queue, random), events), weight);
                    }
                }
            }
        }
        mean.balance()
    }

    /// Balance for the RTT and the queue of these indices, and for random events or not.
    fn at(&self, column: (usize, usize, bool), events: f64) -> Balance {
        let index = EVENTS.windows(2).position(|pair| events < pair[1]).unwrap_or(LAST_PAIR);
        let mut other = self.point(column, EVENTS.len() - 1).0;
        let mut one = other;
        for index in (index..EVENTS.len() - 1).rev() {
            other = one;
            one = self.point(column, index).0;
            one.window = one.window.max(LEAST_STEP * other.window);
        }
        Self::on_line([(index, one), (index + 1, other)], events)
    }

    /// The balance on the line through two points, each with its index.
    fn on_line([(one, first), (other, second)]: [(usize, Balance); 2], events: f64) -> Balance {
        let part = (events / EVENTS[one]).ln() / (EVENTS[other] / EVENTS[one]).ln();
        let mut mean = Mean::default();
        // Beyond the first and last points, the line of the nearest two points continues.
        mean.add(first, 1.0 - part);
        mean.add(second, part);
        mean.balance()
    }

    /// A point of a column. It needs the points of more frequent events only.
    fn point(&self, column: (usize, usize, bool), index: usize) -> (Balance, f64) {
        let (rtt, queue, random) = column;
        let points = &self.columns[(rtt * QUEUES.len() + queue) * 2 + usize::from(random)];
        *points[index].get_or_init(|| {
            let rtt_s = LEAST_RTT_S * libm::exp2(rtt as f64);
            let events = EVENTS[index];
            // Number of ACKs that this observation would take, estimated from the previous one, which has more frequent events.
            let expected = if index == EVENTS.len() - 1 { 0.0 } else { self.point(column, index + 1).1 / events };
            let all_acks = self.counts_acks();
            let setting = Setting { events, rtt_s, least_s: QUEUES[queue] * rtt_s, random, all_acks };
            let Some((balance, acks)) = self.observe_within(setting, expected) else {
                return (self.extrapolated(column, index), f64::INFINITY);
            };
            (balance, acks as f64 * events)
        })
    }

    /// The balance on the line through two points of more frequent events. Without two, the window is the greatest one.
    fn extrapolated(&self, column: (usize, usize, bool), index: usize) -> Balance {
        if index >= LAST_PAIR {
            return Balance { window: GREATEST, remaining: 1.0, mean_share: 1.0 };
        }
        let apart = if is_provided(&self.stack.congestion) { APART } else { 1 };
        let other = (index + 1 + apart).min(EVENTS.len() - 1);
        let point = |index| (index, self.point(column, index).0);
        Self::on_line([point(index + 1), point(other)], EVENTS[index])
    }

    /// As [`Self::observe`]. Also returns `None` if a control that comes with the scenario would probably take too many ACKs.
    fn observe_within(&self, setting: Setting, expected: f64) -> Option<(Balance, u64)> {
        let control = &self.stack.congestion;
        let most = provided::most_acks(control, setting.all_acks).filter(|_| is_provided(control));
        if most.is_some_and(|most| expected > most as f64) { None } else { self.observe(setting) }
    }

    /// Runs the control over the path. Returns its balance and the number of ACKs, or `None` if it takes too many ACKs.
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
            // Each packet is equally likely to be lost, so random events are more frequent where the window is large.
            let mean = if observed > 0 { windows / observed as f64 } else { path.window() };
            let likely = -libm::expm1(libm::log1p(-events) * path.window() / mean);
            let comes = if random { draws.uniform(rounds) < likely } else { due + events >= 1.0 };
            due = (due + events) % 1.0;
            rounds += 1;
            // The first event ends slow start, because its window is not used. If ACKs count, one round trip of slow start may multiply the window by
            // hundreds (Hybla).
            let last_of_slow_start = if all_acks { 1 } else { 3 };
            let ends_slow_start = reduced <= 0.0 && rounds == last_of_slow_start;
            let event = (comes || ends_slow_start).then(|| path.congestion(self.marked));
            let phase = if random { phases.uniform(rounds) } else { due };
            path.round_trip = Duration::from_secs_f64(least_s + 2.0 * phase * (rtt_s - least_s));
            let recovers = comes || (ends_slow_start && is_provided);
            path.round(self.marked && recovers, !self.marked && recovers);
            if let Some((of, to)) = event {
                // Some controls reduce the window only with the ACKs of the recovery.
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

/// A weighted mean of balances. Windows have their geometric mean.
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
