//! What keeps a sender from sending more, and for how long each of these limits has held.
//!
//! The limit changes only where the sender stops sending: from there to its next stop, time belongs to the limit that stopped it.
//! `tcp_chrono_start` measures the same for the receive window and the send buffer, and calls the rest busy time.

use super::Sender;
use crate::units::{Duration, Time};

/// What keeps a sender from sending another segment now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum LimitedBy {
    /// The receiver's window, while the congestion window has room.
    ReceiveWindow,
    /// The application, which has written no more.
    Application,
    /// The congestion window, or PRR's during recovery. Segments that a detector withholds count as in flight.
    CongestionWindow,
    /// The pacing of segments that all windows allow.
    Pacing,
    /// The connection is being set up, or all data of a flow that ends is sent and waits for acknowledgements.
    Peer,
    /// The flow has not begun, or all its data is acknowledged: its time is over.
    #[default]
    Nothing,
}

/// How many limits have a time.
const TIMED: usize = LimitedBy::Nothing as usize;

/// How long each limit has held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LimitTimes([Duration; TIMED]);

/// The shares of a flow's time in which each limit held. They sum to at most 1: the rest is the time of [`LimitedBy::Peer`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitShares {
    /// Of the receiver's window.
    pub receive_window: f64,
    /// Of the application.
    pub application: f64,
    /// Of the congestion window.
    pub congestion_window: f64,
    /// Of pacing.
    pub pacing: f64,
}

impl LimitTimes {
    /// The shares of the time since `earlier`; NaN if no time has passed.
    pub fn shares_since(&self, earlier: &LimitTimes) -> LimitShares {
        let times: [f64; TIMED] = std::array::from_fn(|limit| (self.0[limit] - earlier.0[limit]).as_secs());
        let whole: f64 = times.iter().sum();
        let share = |limit: LimitedBy| times[limit as usize] / whole;
        LimitShares {
            receive_window: share(LimitedBy::ReceiveWindow),
            application: share(LimitedBy::Application),
            congestion_window: share(LimitedBy::CongestionWindow),
            pacing: share(LimitedBy::Pacing),
        }
    }
}

/// The present limit, and the time of each.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LimitClock {
    present: LimitedBy,
    /// Whether the application closes the connection after its last write.
    pub(super) closes: bool,
    since: Time,
    times: LimitTimes,
}

impl LimitClock {
    /// Notes the limit that holds from now on.
    #[inline(always)]
    pub(super) fn enter(&mut self, limit: LimitedBy, now: Time) {
        if self.present != limit {
            self.change(limit, now);
        }
    }

    #[inline(never)]
    fn change(&mut self, limit: LimitedBy, now: Time) {
        self.times = self.times_until(now);
        (self.present, self.since) = (limit, now);
    }

    fn times_until(&self, now: Time) -> LimitTimes {
        let mut times = self.times;
        if let Some(time) = times.0.get_mut(self.present as usize) {
            *time = *time + (now - self.since);
        }
        times
    }
}

impl Sender {
    /// How long each limit has held it back until now.
    pub fn limit_times(&self, now: Time) -> LimitTimes {
        self.limits.times_until(now)
    }

    /// The limit of a sender that has sent all segments that are written and within the receiver's window.
    #[inline(always)]
    pub(super) fn limit_of_data(&self) -> LimitedBy {
        if self.receive_window < self.available - self.board.una() {
            LimitedBy::ReceiveWindow
        } else if !self.limits.closes {
            LimitedBy::Application
        } else if self.is_done() {
            LimitedBy::Nothing
        } else {
            LimitedBy::Peer
        }
    }

    /// Notes the limit of a sender that stops: its window is full, or else it may be paced.
    #[inline]
    pub(super) fn note_stop(&mut self, now: Time, is_full: bool) {
        let limit = match is_full {
            _ if !self.has_segment() => self.limit_of_data(),
            true => LimitedBy::CongestionWindow,
            false => LimitedBy::Pacing,
        };
        self.limits.enter(limit, now);
    }
}
