//! The number of a flow's segments that wait in queues, from its RTT: the signal of Vegas and Compound.

use crate::tcp::events::AckEvent;
use crate::units::Duration;

/// Segments of a window that wait in queues: the difference of expected and actual rate, times the base RTT (Brakmo and Peterson
/// 1995, section III.B, Diff).
pub fn backlog(window: f64, base: Duration, rtt: Duration) -> f64 {
    if rtt > base { window * (1.0 - base.as_secs() / rtt.as_secs()) } else { 0.0 }
}

/// A round trip that has ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Round {
    /// Segments delivered in it.
    pub window: f64,
    /// Number of these segments that waited in queues.
    pub backlog: f64,
}

/// Measures round trips. The RTT of a round is the least in it, as in Linux, because a queue delays all its ACKs. The paper takes
/// the RTT of one distinguished segment.
#[derive(Debug, Clone, Default)]
pub struct Rounds {
    base: Option<Duration>,
    least: Option<Duration>,
    delivered: u32,
    whole: bool,
}

impl Rounds {
    /// Takes an ACK; gives the round that it ends, if that was seen from its beginning.
    pub fn on_ack(&mut self, ack: &AckEvent) -> Option<Round> {
        // The ACK that begins a round counts for the round before, as in Linux. In slow start, the first segment of a round finds
        // no queue made by its own flow. Its RTT would hide the queue that the other segments see.
        if let Some(rtt) = ack.rtt {
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        }
        let mut ended = None;
        if ack.round_start {
            if let (true, Some(base), Some(least)) = (self.whole, self.base, self.least) {
                let window = f64::from(self.delivered);
                ended = Some(Round { window, backlog: backlog(window, base, least) });
            }
            (self.least, self.delivered, self.whole) = (None, 0, true);
        }
        self.delivered += ack.delivered;
        ended
    }

    /// Discards the present round, because the window changed in it.
    pub fn discard(&mut self) {
        self.whole = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_window_waits_when_the_rtt_has_doubled() {
        let (base, rtt) = (Duration::from_millis(50), Duration::from_millis(100));
        assert_eq!(backlog(40.0, base, rtt), 20.0);
        assert_eq!(backlog(40.0, base, base), 0.0);
    }
}
