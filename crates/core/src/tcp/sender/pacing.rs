//! Pacing: its rate, and Linux's pairs of segments at one instant.

use super::Sender;
use crate::units::{Duration, Rate, Time};

/// The factor of cwnd / SRTT at which a window-based sender paces, in slow start and after (as Linux does).
const PACING_FACTORS: (f64, f64) = (2.0, 1.2);

/// Segments of a pair, and segments of a connection before pacing begins (Linux).
const PAIR_SEGMENTS: u32 = 2;
const UNPACED_SEGMENTS: u32 = 10;

/// Segments that a sender that paces in pairs sends at one instant.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PacedPair {
    began: Time,
    /// When it was due.
    due: Time,
    segments: u32,
}

impl PacedPair {
    pub(super) fn has_room(&self, now: Time) -> bool {
        self.began == now && (1..PAIR_SEGMENTS).contains(&self.segments)
    }
}

impl Sender {
    /// Pacing holds the sender back only if the next segment is due later than the last one was sent.
    pub(super) fn last_stop(&self) -> Time {
        self.board.latest_sent()
    }

    /// When the segment after the current pair may be sent.
    pub(super) fn end_of_pair(&mut self, now: Time, interval: Duration) -> Time {
        let pair = &mut self.linux.get_or_insert_default().pair;
        if !pair.has_room(now) {
            *pair = PacedPair { began: now, due: self.next_send, segments: 0 };
        }
        pair.segments += 1;
        if self.board.next_transmission() < UNPACED_SEGMENTS {
            return self.next_send.max(now);
        }
        let length = interval * u64::from(pair.segments);
        let late = now - pair.due.min(now);
        pair.due.max(now) + (length - late.min(length / 2))
    }

    /// Pacing rate, if the congestion control or the stack paces.
    #[inline]
    pub fn pacing_rate(&self) -> Option<Rate> {
        let given = self.congestion.pacing_rate();
        if given.is_some() || !self.options.pacing {
            return given;
        }
        let smoothed = self.rtt.smoothed()?;
        let cwnd = self.congestion.cwnd();
        let factor = if cwnd < self.congestion.ssthresh() / 2.0 { PACING_FACTORS.0 } else { PACING_FACTORS.1 };
        Some(Rate::from_bps(factor * cwnd * f64::from(self.options.wire_bytes) * 8.0 / smoothed.as_secs()))
    }
}
