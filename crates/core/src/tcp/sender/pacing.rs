//! Pacing: its rate, and the segments that Linux sends at one instant.

use super::Sender;
use crate::spec::Follows;
use crate::units::{Duration, Rate, Time};

/// The factor of cwnd / SRTT at which a window-based sender paces, in slow start and after (as Linux does).
const PACING_FACTORS: (f64, f64) = (2.0, 1.2);

/// Segments of a connection before Linux begins to pace.
const UNPACED_SEGMENTS: u32 = 10;

/// Greatest number of bytes that Linux sends at one instant.
const MAX_QUANTUM_BYTES: u64 = 65_536;

/// Segments that Linux sends at one instant at this pacing rate (`tcp_tso_autosize`, Linux 5.18). The size is that of a 1024th of a
/// second. Short paths add 64 kB, halved for each 512 microseconds of the least RTT. `rate` counts payload, as Linux's does. `payload` is
/// a segment's, bytes. `minimum` is in segments.
fn quantum_segments(rate: Rate, payload: u32, min_rtt: Option<Duration>, minimum: u32) -> u32 {
    let by_rate = rate.0 / 8 / 1024;
    let halvings = min_rtt.map_or(u64::MAX, |rtt| rtt.0 / Duration::from_micros(512).0);
    let by_rtt = if halvings < 64 { MAX_QUANTUM_BYTES >> halvings } else { 0 };
    let bytes = (by_rate + by_rtt).min(MAX_QUANTUM_BYTES);
    (bytes as u32 / payload).max(minimum)
}

/// The segments that a sender that follows Linux sends at one instant.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Quantum {
    began: Time,
    /// When it was due.
    due: Time,
    /// Segments sent.
    segments: u32,
    /// Segments that it has at most.
    limit: u32,
}

impl Quantum {
    pub(super) fn has_room(&self, now: Time) -> bool {
        self.began == now && self.segments < self.limit
    }
}

impl Sender {
    /// Pacing holds the sender back only if the next segment is due later than the last one was sent.
    pub(super) fn last_stop(&self) -> Time {
        self.board.latest_sent()
    }

    /// When the segment after the current quantum may be sent. A segment takes `interval` at the pacing rate.
    pub(super) fn end_of_quantum(&mut self, now: Time, rate: Rate, interval: Duration) -> Time {
        let quantum = &mut self.linux.get_or_insert_default().quantum;
        if !quantum.has_room(now) {
            let minimum = self.congestion.min_quantum(now);
            let payload = self.options.payload;
            let rate = rate.share(payload, self.options.wire_bytes);
            let limit = match self.options.quanta {
                true => quantum_segments(rate, payload, self.rtt.minimum(), minimum),
                false => 1, // sk_gso_max_segs
            };
            *quantum = Quantum { began: now, due: self.next_send, segments: 0, limit };
        }
        quantum.segments += 1;
        if self.board.next_transmission() < UNPACED_SEGMENTS {
            return self.next_send.max(now);
        }
        let length = interval * u64::from(quantum.segments);
        let late = now - quantum.due.min(now);
        quantum.due.max(now) + (length - late.min(length / 2))
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
        let paced = match self.options.follows {
            Follows::Linux => cwnd.max(self.board.outstanding().into()), // (`tcp_update_pacing_rate`)
            Follows::Rfc | Follows::Ns2 => cwnd,
        };
        Some(Rate::from_bps(factor * paced * f64::from(self.options.wire_bytes) * 8.0 / smoothed.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With 1448 bytes of payload: 12,207 bytes are 1/1024 s of 100 Mbit/s, and 122,070 of 1 Gbit/s.
    #[test]
    fn a_quantum_is_a_millisecond_of_data_within_its_minimum_and_64_kb() {
        let segments = |rate, rtt_us| quantum_segments(Rate(rate), 1448, Some(Duration::from_micros(rtt_us)), 2);
        assert_eq!(segments(10_000_000, 40_000), 2);
        assert_eq!(segments(100_000_000, 40_000), 8);
        assert_eq!(segments(1_000_000_000, 40_000), 45);
        // 1 ms is one halving: 32,768 bytes more.
        assert_eq!(segments(100_000_000, 1_000), (12_207 + 32_768) / 1448);
        assert_eq!(quantum_segments(Rate(100_000_000), 1448, None, 2), 8);
        assert_eq!(quantum_segments(Rate(10_000_000), 1448, None, 5), 5);
    }
}
