//! Values that came back without a mark, the earliest first; where there is none, as [`super::bitmap`].

use super::bitmap::{self, Bitmap};
use super::{EntropyPolicy, Feedback};
use crate::rng::Stream;
use crate::units::{Duration, Time};
use std::collections::VecDeque;

pub use super::bitmap::Parameters;

/// The state of a flow.
#[derive(Debug, Clone)]
pub struct Mixed {
    bitmap: Bitmap,
    came_back: VecDeque<u32>,
}

impl Mixed {
    /// A new flow.
    pub fn new(parameters: bitmap::Parameters, draws: Stream) -> Mixed {
        Mixed { bitmap: Bitmap::new(parameters, draws), came_back: VecDeque::new() }
    }
}

impl EntropyPolicy for Mixed {
    fn next(&mut self, now: Time) -> u32 {
        self.came_back.pop_front().unwrap_or_else(|| self.bitmap.next(now))
    }

    fn on_feedback(&mut self, now: Time, round_trip: Duration, value: u32, feedback: Feedback) {
        self.bitmap.on_feedback(now, round_trip, value, feedback);
        if feedback == Feedback::Good {
            self.came_back.push_back(value);
        }
    }
}
