//! The window of a Linux control: whole segments, credit towards the next segment, and a restart after
//! idling.

use crate::tcp::rtt::RttEstimate;
use crate::units::Duration;

/// Returns the window after `acked` segments in slow start, without a limit for one ACK, and the segments that remain
/// for congestion avoidance.
pub fn slow_start(cwnd: u32, ssthresh: u32, acked: u32) -> (u32, u32) {
    let grown = cwnd.saturating_add(acked).min(ssthresh.max(cwnd));
    (grown, acked - (grown - cwnd))
}

/// Window after an idle time: halved for every timeout in it, but not below the initial window.
pub fn restart_window(cwnd: u32, initial_window: u32, idle: Duration, timeout: Duration) -> u32 {
    let halvings = idle.0.saturating_sub(1).checked_div(timeout.0).unwrap_or(0);
    let halved = cwnd.checked_shr(u32::try_from(halvings).unwrap_or(u32::MAX)).unwrap_or(0);
    halved.max(cwnd.min(initial_window))
}

/// Greater than any window.
pub const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// A window that grows by whole segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow-start threshold, segments.
    pub ssthresh: u32,
    /// Segments acknowledged towards the next increase.
    pub credit: u32,
}

impl Window {
    /// A flow that has not sent yet.
    pub fn new(initial_window: u32) -> Window {
        Window { cwnd: initial_window, ssthresh: NO_THRESHOLD, credit: 0 }
    }

    /// Whether the window is in slow start.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Counts `acked` segments in slow start; returns the segments that remain for congestion avoidance.
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let rest;
        (self.cwnd, rest) = slow_start(self.cwnd, self.ssthresh, acked);
        rest
    }

    /// Counts `acked` segments in congestion avoidance; every `per_increase` of them add one to the window.
    pub fn grow(&mut self, per_increase: u32, acked: u32) {
        if self.credit >= per_increase {
            self.credit = 0;
            self.cwnd += 1;
        }
        self.credit += acked;
        if self.credit >= per_increase {
            self.cwnd += self.credit / per_increase;
            self.credit %= per_increase;
        }
    }

    /// Counts `acked` segments as Reno does.
    pub fn grow_as_reno(&mut self, acked: u32) {
        let rest = if self.in_slow_start() { self.slow_start(acked) } else { acked };
        if rest > 0 {
            self.grow(self.cwnd, rest);
        }
    }

    /// Three quarters of the window, which a threshold remembers where nothing was lost.
    pub fn three_quarters(&self) -> u32 {
        (self.cwnd >> 1) + (self.cwnd >> 2)
    }

    /// A loss or a congestion mark; after a timeout the window is one segment.
    pub fn reduce(&mut self, ssthresh: u32, timeout: bool) {
        self.ssthresh = ssthresh.max(2);
        self.cwnd = if timeout { 1 } else { self.ssthresh };
        self.credit = 0;
    }

    /// The threshold that an undo or a restart returns to (`tcp_current_ssthresh`).
    pub fn remembered_threshold(&self) -> u32 {
        self.ssthresh.max(self.three_quarters())
    }

    /// After an idle time; the threshold remembers three quarters of the window.
    pub fn restart(&mut self, idle: Duration, initial_window: u32, rtt: &RttEstimate) {
        let cwnd = restart_window(self.cwnd, initial_window, idle, rtt.rto());
        if idle > rtt.rto() {
            self.ssthresh = self.remembered_threshold();
        }
        self.cwnd = cwnd;
    }

    /// The threshold in the form of [`ssthresh`](crate::tcp::congestion::CongestionControl::ssthresh).
    pub fn threshold(&self) -> f64 {
        if self.ssthresh == NO_THRESHOLD { f64::INFINITY } else { f64::from(self.ssthresh) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_adds_what_one_ack_passes_up_to_the_threshold() {
        assert_eq!(slow_start(10, NO_THRESHOLD, 4), (14, 0));
        assert_eq!(slow_start(10, 12, 4), (12, 2));
        assert_eq!(slow_start(10, 7, 4), (10, 4));
    }

    #[test]
    fn congestion_avoidance_adds_a_segment_for_a_window_of_them() {
        let mut window = Window::new(10);
        (0..4).for_each(|_| window.grow(10, 2));
        assert_eq!(window.cwnd, 10);
        window.grow(10, 2);
        assert_eq!(window.cwnd, 11);
        window.grow(11, 33);
        assert_eq!(window.cwnd, 14);
    }

    #[test]
    fn an_idle_time_halves_the_window_for_every_timeout() {
        let (millis, timeout) = (Duration::from_millis, Duration::from_millis(300));
        let after = |idle| restart_window(36, 10, millis(idle), timeout);
        assert_eq!([300, 301, 601, 2000].map(after), [36, 18, 10, 10]);
        assert_eq!(restart_window(4, 10, millis(2000), timeout), 4);
    }
}
