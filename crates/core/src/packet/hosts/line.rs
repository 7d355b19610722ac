//! The line of a host that sends messages, and its pacer of credit.

use crate::units::{Duration, Rate, Time};
use std::collections::VecDeque;

/// Serves the messages of a host in turn. A message gets the line for one packet. Control packets do not wait for their turn, but take its time.
#[derive(Debug, Clone)]
pub struct Line {
    rate: Rate,
    /// When it has transmitted all that it was given.
    free_at: Time,
    /// The messages that wait for it.
    pub waiting: VecDeque<u32>,
}

impl Line {
    /// A line that is free.
    pub fn new(rate: Rate) -> Line {
        Line { rate, free_at: Time::ZERO, waiting: VecDeque::new() }
    }

    /// Rate of the line.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// When it can take the next packet.
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// Takes a packet of this size.
    pub fn take(&mut self, now: Time, bytes: u32) {
        self.free_at = self.free_at.max(now) + self.rate.serialization_delay(u64::from(bytes));
    }
}

/// Grants the credit of a host in turn to the messages that it receives.
#[derive(Debug, Clone, Default)]
pub struct Pacer {
    /// When the next grant is due.
    pub next: Time,
    /// Messages that want credit.
    pub active: VecDeque<u32>,
    /// Messages that want none; they get grants if nobody else wants one.
    pub idle: VecDeque<u32>,
}

impl Pacer {
    /// The message that is served next.
    pub fn first(&self) -> Option<u32> {
        self.active.front().or(self.idle.front()).copied()
    }

    /// Removes the message that is served next. Returns whether it wants credit.
    pub fn take_first(&mut self) -> bool {
        let wants = self.active.pop_front().is_some();
        if !wants {
            self.idle.pop_front();
        }
        wants
    }

    /// Waits as long as a line of this rate needs for these bytes, before the next grant.
    pub fn wait(&mut self, now: Time, rate: Rate, share: f64, bytes: u64) {
        self.next = now + Duration((rate.serialization_delay(bytes).0 as f64 / share) as u64);
    }
}
