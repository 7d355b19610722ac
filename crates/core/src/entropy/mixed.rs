//! Values that came back without a mark, the earliest first; where there is none, as [`super::bitmap`].

use super::bitmap::{self, Bitmap};
use super::{EntropyContext, EntropyPolicy, Feedback};
use crate::units::Time;
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
    pub fn new(parameters: bitmap::Parameters, flow: EntropyContext) -> Mixed {
        Mixed { bitmap: Bitmap::new(parameters, flow), came_back: VecDeque::new() }
    }
}

impl EntropyPolicy for Mixed {
    fn next(&mut self, now: Time) -> u32 {
        self.came_back.pop_front().unwrap_or_else(|| self.bitmap.next(now))
    }

    fn on_feedback(&mut self, now: Time, value: u32, feedback: Feedback) {
        self.bitmap.on_feedback(now, value, feedback);
        if feedback == Feedback::Good {
            self.came_back.push_back(value);
        }
    }
}
