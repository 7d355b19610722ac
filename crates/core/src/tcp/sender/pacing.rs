//! Pacing: a rate, and trains of two segments at one instant if the stack wants them.

use super::Sender;
use crate::units::{Duration, Rate, Time};

/// The factor of cwnd / SRTT at which a window-based sender paces, in slow start and after (as Linux does).
const PACING_FACTORS: (f64, f64) = (2.0, 1.2);

/// The segments of a train, and how many of a connection go out before pacing begins (as Linux does).
const TRAIN_SEGMENTS: u32 = 2;
const UNPACED_SEGMENTS: u32 = 10;

/// Segments that a sender that paces in pairs sends at one instant.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Train {
    began: Time,
    /// When it was due.
    due: Time,
    segments: u32,
}

impl Train {
    pub(super) fn has_room(&self, now: Time) -> bool {
        self.began == now && (1..TRAIN_SEGMENTS).contains(&self.segments)
    }
}

impl Sender {
    /// Pacing holds the sender back only if the next segment is due later than the last one was sent.
    pub(super) fn last_stop(&self) -> Time {
        self.board.latest_sent()
    }

    /// When the segment after the train may go that the segment just sent belongs to.
    pub(super) fn end_of_train(&mut self, now: Time, interval: Duration) -> Time {
        let train = &mut self.seldom.get_or_insert_default().train;
        if !train.has_room(now) {
            *train = Train { began: now, due: self.next_send, segments: 0 };
        }
        train.segments += 1;
        if self.board.next_transmission() < UNPACED_SEGMENTS {
            return self.next_send.max(now);
        }
        let length = interval * u64::from(train.segments);
        let late = now - train.due.min(now);
        train.due.max(now) + (length - late.min(length / 2))
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
