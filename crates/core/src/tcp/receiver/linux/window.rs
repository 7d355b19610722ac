//! The receive window of Linux, which grows with the data that the application reads (`net/ipv4/tcp_input.c`; "dynamic right-sizing" of Fisk
//! and Feng, 2001). Names in parentheses are those of its functions and variables.
//!
//! There are two steps. The buffer grows once per round trip, if more was read in it than in any before (`tcp_rcv_space_adjust`). The
//! receiver advertises more of it with every segment (`tcp_grow_window`). A hole stops reading, so that the buffer does not grow. The right
//! edge never moves back.
//!
//! The application reads at once. A segment takes as much memory as with an Ethernet driver without page fragments. Memory pressure and
//! rounding by the window scale are not modelled.

use crate::spec::StackSpec;
use crate::tcp::accecn::Feedback;
use crate::tcp::kernel_clock::{TIMESTAMP_TICK, timestamp};
use crate::units::{Duration, Time};

/// The window of the first buffer, bytes: half of `tcp_rmem[1]`.
const FIRST: u64 = 65_536;
/// The greatest window that a SYN-ACK can say, bytes: without a scale.
const UNSCALED: u64 = 65_535;
/// The first round trip counts as one in which this number of segments was read (`TCP_INIT_CWND`).
const FIRST_READ: u32 = 10;
/// Segments in the window besides those of two round trips.
const CUSHION: u64 = 16;
/// Memory of a segment besides its payload, bytes: 2304 for 1448.
const OVERHEAD: u64 = 856;
/// Memory is reckoned in steps of this number of bytes, until half of it holds a segment's payload.
const MEMORY_STEP: u64 = 128;
/// ACKs that say the greatest window before it is taken as known: they may be lost.
const REPEATS: u32 = 64;

/// The window and the timestamp that a packet of Linux carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Announcement {
    /// The window, whole segments from the cumulative acknowledgement on; zero on data.
    pub window: u32,
    /// When an ACK was sent (TSval); on data, the time of the last ACK (TSecr). See [`timestamp`].
    pub timestamp: u32,
    /// On an ACK, the number of the transmission whose timestamp it echoes (TSecr), if the ACK says it.
    pub echoed: Option<u32>,
    /// The counters of marks of an ACK (AccECN). Not only of Linux.
    pub accecn: Option<Feedback>,
    /// The packet's entropy value, or on an ACK that of the packet that it answers, if its flow has a policy. Of a subflow: the data sequence number,
    /// or on an ACK the data acknowledgement. Not only of Linux.
    pub value: Option<u32>,
}

/// The effect of a segment at the receiver.
pub(in crate::tcp::receiver) enum News {
    /// None: the segment was there already, or is beyond a hole without SACK.
    Nothing,
    /// It is one of this number of segments beyond a hole.
    Held { held: u32 },
    /// The segments from `from` to `to` can be read now, and this number of segments is beyond a hole.
    Passed { from: u32, to: u32, held: u32 },
}

/// The receive window of a connection.
#[derive(Debug, Clone, Copy)]
pub(in crate::tcp::receiver) struct ReceiveWindow {
    mss: u64,
    /// The greatest window, bytes: half of `tcp_rmem[2]`.
    greatest: u64,
    /// The window that the buffer has room for, bytes.
    room: u64,
    /// Part of this window that is advertised (`rcv_ssthresh`).
    open: u64,
    /// The segment behind the window.
    edge: u32,
    /// Number of ACKs that have announced the greatest window.
    said: u32,
    /// The round-trip time by timestamps (`rcv_rtt_est`).
    rtt: Option<Duration>,
    last_echo: u32,
    /// The round-trip time of the SYN-ACK (`srtt_us` of the receiver).
    handshake: Option<Duration>,
    /// The round trip that is measured: since when, from which segment on (`rcvq_space`).
    since: Option<Time>,
    from: u32,
    /// The most that was read in one, segments.
    most_read: u32,
    /// Arrival time of the last segment, and the number of segments that became readable with it. An ACK that is sent at once is sent before
    /// the application reads them.
    arrived: Time,
    unread: u32,
}

impl ReceiveWindow {
    /// The window of a connection; `None` if its greatest window does not exceed the first window.
    pub(in crate::tcp::receiver) fn of_stack(stack: &StackSpec) -> Option<ReceiveWindow> {
        let mss = u64::from(stack.mss);
        (stack.receive_window > FIRST).then(|| ReceiveWindow {
            mss,
            greatest: stack.receive_window.min(u64::from(u32::MAX) * mss),
            room: FIRST,
            open: FIRST.saturating_sub(mss).max(mss), // one segment is reserved (`tcp_init_buffer_space`)
            edge: (UNSCALED / mss).max(1) as u32,
            said: 0,
            rtt: None,
            last_echo: 0,
            handshake: None,
            since: None,
            from: 0,
            most_read: FIRST_READ,
            arrived: Time::ZERO,
            unread: 0,
        })
    }

    /// The segment behind the window.
    pub(in crate::tcp::receiver) fn edge(&self) -> u32 {
        self.edge
    }

    /// Processes an arrived segment. Returns whether the window grows.
    pub(in crate::tcp::receiver) fn on_segment(&mut self, now: Time, echo: u32, news: News) -> bool {
        self.measure_round_trip(now, echo);
        (self.arrived, self.unread) = (now, 0);
        match news {
            News::Nothing => false,
            News::Held { held } => self.grow(held - 1),
            News::Passed { from, to, held } => {
                self.unread = to - from;
                let grows = self.grow(held + self.unread);
                // The application reads segment by segment, all at this instant.
                self.read(now, from + 1);
                grows
            }
        }
    }

    /// (`tcp_rcv_rtt_measure_ts`, `tcp_rcv_rtt_update`) A lesser time counts at once, a greater one by an eighth.
    fn measure_round_trip(&mut self, now: Time, echo: u32) {
        if echo == 0 || echo == self.last_echo {
            return;
        }
        self.last_echo = echo;
        let sample = TIMESTAMP_TICK * u64::from(timestamp(now).saturating_sub(echo).max(1));
        self.rtt = Some(self.rtt.filter(|rtt| *rtt <= sample).map_or(sample, |rtt| rtt + (sample - rtt) / 8));
    }

    /// Records that the handshake has ended, and the round-trip time of its SYN-ACK. The first round trip begins (`tcp_init_buffer_space`).
    pub(in crate::tcp::receiver) fn establish(&mut self, now: Time, round_trip: Duration) {
        (self.handshake, self.since) = (Some(round_trip), Some(now));
    }

    /// The round-trip time that is known (`__tcp_ack_snd_check`).
    pub(in crate::tcp::receiver) fn round_trip(&self) -> Option<Duration> {
        self.rtt.map(|rtt| self.handshake.map_or(rtt, |handshake| rtt.min(handshake)))
    }

    /// Advertises two more segments if there is room, with `held` segments in the buffer (`tcp_grow_window`). All of the first buffer is
    /// advertised.
    fn grow(&mut self, held: u32) -> bool {
        if self.room == FIRST {
            return false;
        }
        let room = self.free(held).saturating_sub(self.open);
        self.open += room.min(2 * self.mss);
        room > 0
    }

    /// Bytes of window for which the buffer has room, with `held` segments in it (`tcp_space`).
    fn free(&self, held: u32) -> u64 {
        self.room.saturating_sub(u64::from(held) * (self.mss + OVERHEAD) / 2)
    }

    /// The window in whole segments, with `held` segments in the buffer (`__tcp_select_window`).
    fn window(&self, held: u32) -> u32 {
        (self.open.min(self.free(held)) / self.mss) as u32
    }

    /// Whether an ACK now, with `held` segments in the buffer, would announce no less than the last one, which acknowledged `last_ack`
    /// (`__tcp_ack_snd_check`).
    pub(in crate::tcp::receiver) fn moves_edge(&self, last_ack: u32, held: u32) -> bool {
        self.window(held + self.unread) >= self.edge.saturating_sub(last_ack)
    }

    /// Records that the application has read up to `next` (`tcp_rcv_space_adjust`).
    fn read(&mut self, now: Time, next: u32) {
        let since = *self.since.get_or_insert(now);
        if self.rtt.is_none_or(|rtt| now - since < rtt) {
            return;
        }
        let read = next - self.from;
        if read > self.most_read {
            self.room = self.room.max(self.wanted(read).min(self.greatest));
            self.most_read = read;
        }
        (self.since, self.from) = (Some(now), next);
    }

    /// The window for a sender that sent `read` segments in a round trip and sends as many more in the next as in this one.
    fn wanted(&self, read: u32) -> u64 {
        let (most_read, growth) = (u64::from(self.most_read), u64::from(read - self.most_read));
        let steady = (2 * u64::from(read) + CUSHION) * self.mss;
        let segments = (steady + 2 * (steady.saturating_mul(growth) / most_read)) / self.mss;
        segments * (self.mss + MEMORY_STEP * self.mss.div_ceil(MEMORY_STEP)) / 2
    }

    /// Returns the announcement for the ACK that is sent now, or `None` if earlier ACKs have announced the same window.
    pub(in crate::tcp::receiver) fn announce(
        &mut self,
        now: Time,
        cumulative: u32,
        next: u32,
        held: u32,
    ) -> Option<Announcement> {
        if self.said == REPEATS {
            self.edge = self.edge.max(next.saturating_add((self.open / self.mss) as u32));
            return None;
        }
        if held == 0 && self.greatest - self.open < (self.mss + OVERHEAD) / 2 + self.mss {
            self.said += 1;
        }
        let unread = if now == self.arrived { self.unread } else { 0 };
        self.edge = self.edge.max(next.saturating_add(self.window(held + unread)));
        let (window, read) = (self.edge - next, self.window(held));
        if read >= 2 * window && 2 * u64::from(window) * self.mss <= self.room {
            self.edge = next.saturating_add(read); // the application's reading sends another ACK (`tcp_cleanup_rbuf`)
        }
        Some(Announcement { window: self.edge - cumulative, timestamp: timestamp(now), ..Announcement::default() })
    }
}

#[cfg(test)]
mod tests;
