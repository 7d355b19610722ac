//! Schedulers: which subflow sends the next segment of a connection.
//!
//! To add one: a file with its rule, and a line in [`SchedulerChoice`] and in [`SchedulerChoice::build`].

mod blest;
mod ecf;
mod min_rtt;

use crate::units::{Duration, Time};

crate::choice! {
    /// The scheduler of a connection.
    pub enum SchedulerChoice {
        /// Lowest RTT with room.
        MinRtt = "min-rtt",
        /// Blocking estimation (Ferlin, Alay, Mehani and Boreli 2016).
        Blest = "blest",
        /// Earliest completion first (Lim, Nahum, Towsley and Gibbens 2017).
        Ecf = "ecf",
    }
}

impl SchedulerChoice {
    /// The state of one connection.
    pub fn build(self) -> Box<dyn Scheduler> {
        match self {
            SchedulerChoice::MinRtt => Box::new(min_rtt::MinRtt),
            SchedulerChoice::Blest => Box::new(blest::Blest::default()),
            SchedulerChoice::Ecf => Box::new(ecf::Ecf::default()),
        }
    }
}

/// What schedulers see of a subflow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Subflow {
    /// Whether it would send a segment that it is given now.
    pub has_room: bool,
    /// Whether it is established, and no timeout is unanswered.
    pub works: bool,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// Its variation.
    pub rttvar: Duration,
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Segments that are not acknowledged.
    pub outstanding: u32,
}

/// What schedulers see of a connection that has data for a subflow.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The time.
    pub now: Time,
    /// The subflows.
    pub subflows: &'a [Subflow],
    /// Segments that no subflow has been given.
    pub unsent: u32,
    /// The receive window of the connection, segments.
    pub window: u32,
}

impl View<'_> {
    /// The subflow of the lowest RTT among those that `may`; the first of several.
    fn fastest(&self, may: impl Fn(&Subflow) -> bool) -> Option<usize> {
        let candidates = self.subflows.iter().enumerate().filter(|(_, subflow)| may(subflow));
        candidates.min_by_key(|(_, subflow)| subflow.srtt).map(|(index, _)| index)
    }
}

/// Chooses the subflow of each segment.
pub trait Scheduler: Send + Sync {
    /// The subflow that sends the next segment, one with room. `None` waits until another one has room.
    fn choose(&mut self, view: &View) -> Option<usize>;

    /// The receive window of the connection has held back data.
    fn on_window_closed(&mut self) {}
}

#[cfg(test)]
pub(in crate::mptcp) mod tests {
    use super::*;

    /// A subflow with this round trip (ms), window and number of outstanding segments.
    pub fn subflow(srtt_ms: u64, cwnd: f64, outstanding: u32) -> Subflow {
        Subflow {
            has_room: f64::from(outstanding) < cwnd,
            works: true,
            srtt: Duration::from_millis(srtt_ms),
            rttvar: Duration::ZERO,
            cwnd,
            outstanding,
        }
    }

    /// The choice for a connection with a receive window of 100 segments.
    pub fn choice(scheduler: &mut dyn Scheduler, subflows: &[Subflow], unsent: u32) -> Option<usize> {
        scheduler.choose(&View { now: Time::ZERO, subflows, unsent, window: 100 })
    }
}
