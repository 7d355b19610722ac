//! Timestamps as Linux's receiver uses them: protection against wrapped sequence numbers (PAWS, RFC 7323 section 5).
//!
//! A segment is rejected if it is older than the segment that last moved the left edge of the window. After a retransmission, this applies to
//! all segments that were sent before it and take a slower path. Timestamps count milliseconds, and Linux tolerates one (`TCP_PAWS_WINDOW`).
//! Numbers of transmissions replace timestamps here, because they order segments in the same way. Only retransmissions carry the oldest
//! tolerated transmission. A segment sent once needs none: when it arrives at the left edge, all segments that overtook it have arrived
//! before.

use crate::tcp::kernel_clock::timestamp;
use crate::units::Time;

/// The timestamp of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamp {
    /// The number of its transmission.
    pub number: u32,
    /// The oldest transmission that is tolerated after this one; zero for a segment sent once.
    pub oldest: u32,
    /// The timestamp of the last ACK (TSecr); zero if the segment says none.
    pub echo: u32,
}

/// The timestamps of a connection (`ts_recent`).
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::tcp::receiver) struct Timestamps {
    recent: Option<u32>,
    oldest: u32,
    /// Whether the sender cannot know from its own record alone which transmission the next ACK echoes.
    in_doubt: bool,
}

/// The timestamps of an ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckTimestamps {
    /// When it was sent (TSval; see [`crate::tcp::kernel_clock::timestamp`]).
    pub sent: u32,
    /// The number of the transmission whose timestamp it echoes (TSecr), if that is known.
    pub echoed: Option<u32>,
}

impl Timestamps {
    /// Whether a segment is to be discarded.
    pub(in crate::tcp::receiver) fn rejects(&self, timestamp: Timestamp) -> bool {
        timestamp.number < self.oldest
    }

    /// Records that the next ACK says which transmission it echoes.
    pub(in crate::tcp::receiver) fn doubt(&mut self) {
        self.in_doubt = true;
    }

    /// The timestamps of an ACK that is sent now, if the sender needs them.
    pub(in crate::tcp::receiver) fn of_ack(&mut self, now: Time, has_blocks: bool) -> Option<AckTimestamps> {
        let is_needed = std::mem::take(&mut self.in_doubt) || has_blocks;
        is_needed.then(|| AckTimestamps { sent: timestamp(now), echoed: self.recent })
    }

    /// Records the timestamp of a segment at the left edge, which ACKs echo from then on. Returns `false`, without any change, if it is older
    /// than the last recorded one (RFC 7323 section 4.3).
    pub(in crate::tcp::receiver) fn take(&mut self, timestamp: Timestamp) -> bool {
        let is_newer = self.recent.is_none_or(|recent| timestamp.number >= recent);
        if is_newer {
            self.recent = Some(timestamp.number);
            self.oldest = self.oldest.max(timestamp.oldest);
        }
        is_newer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segment 0 is sent again as transmission 10, and 9 is of the same millisecond. Transmissions 1 to 8 are then too old.
    #[test]
    fn a_retransmission_makes_what_was_sent_before_it_too_old() {
        let mut timestamps = Timestamps::default();
        let original = |number| Timestamp { number, oldest: 0, echo: 0 };
        assert!(timestamps.take(original(0)) && !timestamps.rejects(original(1)));
        assert!(timestamps.take(Timestamp { number: 10, oldest: 9, echo: 0 }));
        assert!(timestamps.rejects(original(8)) && !timestamps.rejects(original(9)));
        assert!(!timestamps.take(original(9)), "the echo stays");
    }
}
