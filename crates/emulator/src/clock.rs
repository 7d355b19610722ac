//! The time of a run in real time: since it began, by the monotonic clock.

use anabranch_core::units::{Duration, Time};
use std::time::Instant;

const PICOSECONDS_PER_NANOSECOND: u64 = 1000;

/// When a run began.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Instant);

impl Clock {
    /// A run that begins at this instant.
    pub fn beginning(at: Instant) -> Clock {
        Clock(at)
    }

    /// The time since the beginning; zero before it.
    pub fn now(&self) -> Time {
        let passed = Instant::now().saturating_duration_since(self.0);
        Time(u64::try_from(passed.as_nanos()).map_or(Time::NEVER.0, |passed| passed * PICOSECONDS_PER_NANOSECOND))
    }

    /// How long it is until this time; zero if it has passed.
    pub fn until(&self, time: Time) -> std::time::Duration {
        let left = if time > self.now() { time - self.now() } else { Duration::ZERO };
        std::time::Duration::from_nanos(left.0 / PICOSECONDS_PER_NANOSECOND)
    }
}
