//! The persist timer: probes of a window that the receiver has closed (RFC 9293 section 3.8.6.1).

use super::rtt::RttEstimate;
use crate::units::{Duration, Time};

/// Probes of a closed window.
#[derive(Debug, Clone, Copy, Default)]
pub struct PersistTimer {
    /// When the window was found closed, or the last probe was sent.
    since: Option<Time>,
    probes: u32,
}

/// Waiting time for the probe that follows `probes` others: the retransmission timeout, doubled for each of them, and
/// bounded.
pub fn wait(timeout: Duration, probes: u32, longest: Duration) -> Duration {
    Duration(timeout.0.saturating_mul(1 << probes.min(16))).min(longest)
}

impl PersistTimer {
    /// Whether data waits for a closed window, with nothing outstanding whose acknowledgement could open it.
    pub fn update(&mut self, now: Time, is_closed: bool) {
        match (is_closed, self.since) {
            (true, None) => self.since = Some(now),
            (false, Some(_)) => *self = PersistTimer::default(),
            _ => {}
        }
    }

    /// When to probe.
    pub fn deadline(&self, rtt: &RttEstimate) -> Option<Time> {
        self.since.map(|since| since + wait(rtt.rto(), self.probes, rtt.max_rto()))
    }

    /// Records that a probe was sent.
    pub fn on_probe(&mut self, now: Time) {
        self.since = Some(now);
        self.probes += 1;
    }

    /// Probes sent since the window closed.
    pub fn probes(&self) -> u32 {
        self.probes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc9293_section_3_8_6_1_the_first_probe_after_a_timeout_then_twice_as_long_each() {
        let rtt = RttEstimate::new(Duration::from_millis(300), Duration::from_secs(60), Duration::from_millis(300));
        let mut timer = PersistTimer::default();
        let at = |milliseconds| Time::ZERO + Duration::from_millis(milliseconds);
        timer.update(at(100), true);
        for (probe, due) in [400, 1000, 2200].into_iter().enumerate() {
            timer.update(at(due), true);
            assert_eq!(timer.deadline(&rtt), Some(at(due)), "probe {probe}");
            timer.on_probe(at(due));
        }
        timer.update(at(2300), false);
        assert_eq!((timer.deadline(&rtt), timer.probes()), (None, 0));
        assert_eq!(wait(Duration::from_secs(3), 9, Duration::from_secs(60)), Duration::from_secs(60));
    }
}
