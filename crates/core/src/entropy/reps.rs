//! REPS, recycled entropies (Bonato et al., arXiv 2407.21625): values that came back without a mark are used once more, the earliest first. If
//! none is fresh, a value is drawn. After a timeout the policy freezes: for a while it uses the ring again and again, because those paths work.

use super::{EntropyPolicy, Feedback};
use crate::rng::{Sequence, Stream};
use crate::units::{Duration, Time};

crate::parameters! {
    /// The ring of values, and how long it freezes.
    pub struct Parameters {
        /// Number of values.
        pub values: u32 = 64, in 1..=65_536;
        /// Values that are kept for use.
        pub kept: u32 = 8, in 1..=4_096;
        /// How long a frozen ring stays.
        pub freeze: Duration = Duration::from_millis(10);
        /// Values that are drawn after a frozen time, whatever came back.
        pub explored: u32 = 16, in 0..=65_536;
    }
}

/// A value in the ring.
#[derive(Debug, Clone, Copy)]
struct Entry {
    value: u32,
    fresh: bool,
}

/// The state of a flow.
#[derive(Debug, Clone)]
pub struct Reps {
    parameters: Parameters,
    draws: Sequence,
    /// The values that came back last, at most [`Parameters::kept`].
    ring: Vec<Entry>,
    /// Where the next value is written.
    head: usize,
    /// How many of the entries before the head are fresh.
    fresh: usize,
    /// Where a frozen ring is read.
    frozen_head: usize,
    /// Until when the ring is frozen, if it is.
    frozen_until: Option<Time>,
    /// Values that are still drawn after a frozen time.
    to_explore: u32,
}

impl Reps {
    /// A new flow, with an empty ring.
    pub fn new(parameters: Parameters, draws: Stream) -> Reps {
        Reps {
            parameters,
            draws: Sequence::new(draws),
            ring: Vec::new(),
            head: 0,
            fresh: 0,
            frozen_head: 0,
            frozen_until: None,
            to_explore: 0,
        }
    }

    fn draw(&mut self) -> u32 {
        self.draws.below(u64::from(self.parameters.values)) as u32
    }

    fn keep(&mut self, value: u32) {
        let entry = Entry { value, fresh: true };
        if self.ring.len() < self.parameters.kept as usize {
            self.ring.push(entry);
            self.fresh += 1;
        } else {
            self.fresh += usize::from(!self.ring[self.head].fresh);
            self.ring[self.head] = entry;
        }
        self.head = (self.head + 1) % self.parameters.kept as usize;
    }

    /// The earliest fresh value, which is not fresh any more.
    fn take_fresh(&mut self) -> Option<u32> {
        self.fresh = self.fresh.checked_sub(1)?;
        let kept = self.parameters.kept as usize;
        let entry = &mut self.ring[(self.head + kept - self.fresh - 1) % kept];
        entry.fresh = false;
        Some(entry.value)
    }

    /// The next value of a frozen ring; `None` if it is empty.
    fn take_frozen(&mut self) -> Option<u32> {
        let length = self.ring.len();
        let entry = self.ring.get_mut(self.frozen_head % length.max(1))?;
        self.fresh -= usize::from(entry.fresh);
        entry.fresh = false;
        self.frozen_head = (self.frozen_head + 1) % length;
        Some(entry.value)
    }
}

impl EntropyPolicy for Reps {
    fn next(&mut self, _now: Time) -> u32 {
        if self.to_explore > 0 {
            self.to_explore -= 1;
            return self.draw();
        }
        let kept = if self.frozen_until.is_some() { self.take_frozen() } else { self.take_fresh() };
        kept.unwrap_or_else(|| self.draw())
    }

    fn on_feedback(&mut self, now: Time, _round_trip: Duration, value: u32, feedback: Feedback) {
        if self.frozen_until.is_some_and(|until| now > until) {
            self.frozen_until = None;
            self.ring.clear();
            (self.head, self.fresh, self.frozen_head) = (0, 0, 0);
            self.to_explore = self.parameters.explored;
        }
        if feedback == Feedback::Good {
            self.keep(value);
        }
    }

    fn on_timeout(&mut self, now: Time) {
        if self.frozen_until.is_none() && self.to_explore == 0 {
            self.frozen_until = Some(now + self.parameters.freeze);
        }
    }
}
