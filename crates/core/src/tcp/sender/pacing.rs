//! The pacing rate.

use super::Sender;
use crate::units::{Rate, Time};

/// The factor of cwnd / SRTT at which a window-based sender paces, in slow start and after (`tcp_update_pacing_rate`).
const PACING_FACTORS: (f64, f64) = (2.0, 1.2);

impl Sender {
    /// Pacing holds the sender back only if the next segment is due later than the last one was sent.
    pub(super) fn last_stop(&self) -> Time {
        self.board.latest_sent()
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
        let paced = self.paced_window(cwnd);
        Some(Rate::from_bps(factor * paced * f64::from(self.options.wire_bytes) * 8.0 / smoothed.as_secs()))
    }
}
