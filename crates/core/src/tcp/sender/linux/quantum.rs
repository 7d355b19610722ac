//! The segments that Linux sends at one instant when it paces.

use super::LinuxState;
use crate::tcp::sender::Sender;
use crate::units::{Duration, Rate, Time};

/// Segments of a connection before Linux begins to pace.
const UNPACED_SEGMENTS: u32 = 10;

/// Greatest number of bytes that Linux sends at one instant.
const MAX_QUANTUM_BYTES: u64 = 65_536;

/// Greatest number of bytes in a buffer of Linux's socket (`tcp_xmit_size_goal`).
const MAX_BUFFER_BYTES: u32 = 65_536 - 1 - 320;

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

/// The segments of one buffer (`sk_buff`), which a sender that follows Linux sends at one instant. They are consecutive, and either all
/// new or all retransmissions of what one buffer carried before.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::tcp::sender) struct Quantum {
    began: Time,
    /// When it was due.
    due: Time,
    /// Segments sent.
    segments: u32,
    /// Segments that it has at most.
    limit: u32,
    /// The segment behind those sent.
    next: u32,
    /// For retransmissions: when the last segment was sent before.
    before: Option<Time>,
}

impl Quantum {
    fn has_room(&self, now: Time) -> bool {
        self.began == now && self.segments < self.limit
    }
}

/// A segment that is about to be sent.
#[derive(Debug, Clone, Copy)]
pub(in crate::tcp::sender) struct Outgoing {
    pub(in crate::tcp::sender) segment: u32,
    /// For a retransmission: when the segment was last sent.
    pub(in crate::tcp::sender) before: Option<Time>,
    /// Whether it is in the same buffer as the last segment that was sent.
    pub(in crate::tcp::sender) is_joined: bool,
}

impl Sender {
    /// Describes the new segment that is sent next (`tcp_write_xmit`). The socket's buffers are full but the last.
    pub(in crate::tcp::sender) fn outgoing_new(&self, now: Time) -> Outgoing {
        let segment = self.board.next();
        let is_joined = self.open_quantum(now).is_some_and(|quantum| {
            quantum.before.is_none()
                && quantum.next == segment
                && !segment.is_multiple_of((MAX_BUFFER_BYTES / self.options.payload).max(1))
        });
        Outgoing { segment, before: None, is_joined }
    }

    /// Describes a retransmission that is sent next (`tcp_xmit_retransmit_queue`). SACK blocks split buffers (`tcp_match_skb_to_sack`), and
    /// nothing joins them again.
    pub(in crate::tcp::sender) fn outgoing_again(&self, now: Time, segment: u32) -> Outgoing {
        let before = Some(self.board.sent(segment));
        let is_joined = self.board.is_joined(segment)
            && self.open_quantum(now).is_some_and(|quantum| quantum.before == before && quantum.next == segment);
        Outgoing { segment, before, is_joined }
    }

    /// Whether the next segment, new or sent again, is in the same buffer as the last one sent.
    pub(in crate::tcp::sender) fn continues_quantum(&mut self, now: Time, sends_again: bool) -> bool {
        if self.open_quantum(now).is_none() {
            return false;
        }
        let segment = if sends_again { self.board.next_lost() } else { None };
        segment.map_or_else(|| self.outgoing_new(now), |segment| self.outgoing_again(now, segment)).is_joined
    }

    /// The quantum, if it has room for another segment now.
    fn open_quantum(&self, now: Time) -> Option<&Quantum> {
        self.linux.as_ref().map(|linux| &linux.quantum).filter(|quantum| quantum.has_room(now))
    }

    /// Whether a segment may be sent before it is due, in the buffer of the last one.
    #[inline(always)]
    pub(in crate::tcp::sender) fn may_continue_quantum(&self) -> bool {
        self.linux.is_some()
    }

    /// The window that the pacing rate spreads over a round trip: in Linux at least what is outstanding (`tcp_update_pacing_rate`).
    #[inline(always)]
    pub(in crate::tcp::sender) fn paced_window(&self, cwnd: f64) -> f64 {
        if self.linux.is_some() { cwnd.max(self.board.outstanding().into()) } else { cwnd }
    }

    /// When the next segment may be sent, after one that takes `interval` at the pacing rate.
    #[inline(always)]
    pub(in crate::tcp::sender) fn next_paced(
        &mut self,
        now: Time,
        rate: Rate,
        interval: Duration,
        sent: Outgoing,
    ) -> Time {
        if self.linux.is_some() {
            self.end_of_quantum(now, rate, interval, sent)
        } else {
            self.next_send.max(now) + interval
        }
    }

    /// When the segment after the current quantum may be sent, to which this one is added. A segment takes `interval` at the pacing rate.
    fn end_of_quantum(&mut self, now: Time, rate: Rate, interval: Duration, sent: Outgoing) -> Time {
        let half_window = self.window() / 2;
        let Some(LinuxState { quantum, .. }) = self.linux.as_deref_mut() else { return now };
        if !sent.is_joined {
            let minimum = self.congestion.min_quantum(now);
            let payload = self.options.payload;
            let rate = rate.share(payload, self.options.wire_bytes);
            let limit = match self.options.quanta {
                true => quantum_segments(rate, payload, self.rtt.minimum(), minimum),
                false => 1, // sk_gso_max_segs
            };
            // New segments fill at most half of the window (`tcp_cwnd_test`).
            let limit = if sent.before.is_none() { limit.min(half_window.max(1)) } else { limit };
            *quantum = Quantum { began: now, due: self.next_send, segments: 0, limit, next: 0, before: None };
        }
        quantum.segments += 1;
        (quantum.next, quantum.before) = (sent.segment + 1, sent.before);
        if self.board.next_transmission() < UNPACED_SEGMENTS {
            return self.next_send.max(now);
        }
        let length = interval * u64::from(quantum.segments);
        let late = now - quantum.due.min(now);
        quantum.due.max(now) + (length - late.min(length / 2))
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
