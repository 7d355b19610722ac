//! The clock of a kernel: ticks (jiffies, HZ a second), and when a timer fires.

use crate::units::{Duration, Time};

/// A timer wheel has levels of 64 slots. Each level is eight times as coarse as the one before (`kernel/time/timer.c`).
const LEVEL_SLOTS: u64 = 64;
const LEVEL_SHIFT: u32 = 3;
const LEVELS: u32 = 9;

/// The clock of timestamps (`TCP_TS_HZ`).
pub const TIMESTAMP_TICK: Duration = Duration::from_millis(1);

/// Between answers to packets that are not acceptable (`tcp_invalid_ratelimit`).
const BETWEEN_ANSWERS: Duration = Duration::from_millis(500);

/// When a packet that is not acceptable was answered last (`last_oow_ack_time`).
#[derive(Debug, Clone, Copy, Default)]
pub struct LastAnswer(Option<Time>);

impl LastAnswer {
    /// Whether one may be answered now, and then records it (`tcp_oow_rate_limited`).
    pub fn allows(&mut self, now: Time) -> bool {
        let allows = self.0.is_none_or(|last| now - last >= BETWEEN_ANSWERS);
        if allows {
            self.0 = Some(now);
        }
        allows
    }
}

/// The timestamp of this instant, never zero.
#[inline]
pub fn timestamp(now: Time) -> u32 {
    (now.0 / TIMESTAMP_TICK.0 + 1) as u32
}

/// The RTT by an echoed timestamp, in whole ticks (`tcp_ack_update_rtt`). The segment with it was sent at `sent`.
pub fn round_trip_by_timestamp(sent: Time, now: Time) -> Duration {
    TIMESTAMP_TICK * u64::from((timestamp(now) - timestamp(sent)).max(1))
}

/// The clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelClock {
    /// The time between ticks.
    pub tick: Duration,
    /// Ticks a second.
    pub hz: u32,
}

impl KernelClock {
    /// A clock that ticks this number of times a second.
    pub fn new(hz: u32) -> KernelClock {
        KernelClock { tick: Duration::from_secs(1) / u64::from(hz), hz }
    }

    /// The ticks until this instant.
    #[inline]
    pub fn ticks(self, time: Time) -> u64 {
        time.0 / self.tick.0
    }

    /// The ticks of a span, rounded up.
    pub fn ticks_of(self, span: Duration) -> u32 {
        u32::try_from(span.0.div_ceil(self.tick.0)).unwrap_or(u32::MAX)
    }

    /// Time at which a timer fires that is started at `start` for a wait of `wait`. Both are in ticks: the start is rounded down, the
    /// wait up. A timer never fires early, so it fires at the next slot of its level.
    #[inline]
    pub fn expiry(self, start: Time, wait: Duration) -> Time {
        let wait = wait.0.div_ceil(self.tick.0);
        let level =
            (1..LEVELS).take_while(|level| wait >= (LEVEL_SLOTS - 1) << ((level - 1) * LEVEL_SHIFT)).count() as u32;
        let shift = level * LEVEL_SHIFT;
        let slot = ((self.ticks(start).saturating_add(wait) >> shift) + 1) << shift;
        Time(slot.saturating_mul(self.tick.0)).min(Time::NEVER)
    }
}

/// Expiry of a timer that is started at `start` and waits for `wait`: at a tick with a clock, otherwise exact.
#[inline]
pub fn expiry(clock: Option<KernelClock>, start: Time, wait: Duration) -> Time {
    clock.map_or(start + wait, |clock| clock.expiry(start, wait))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 250 Hz a tick has 4 ms. 40 ms are 10 ticks. They go from tick 2 (8 to 12 ms) to tick 12, and the timer fires one later. 300 ms
    /// are 75 ticks, from tick 2 to tick 77. The second level rounds that up to 80, or 320 ms. 63 ticks are the first of that level.
    #[test]
    fn a_timer_fires_at_the_next_slot_of_its_level() {
        let clock = KernelClock::new(250);
        let fires = |start, wait| clock.expiry(Time::ZERO + Duration::from_millis(start), Duration::from_millis(wait));
        let at = |milliseconds| Time::ZERO + Duration::from_millis(milliseconds);
        assert_eq!(fires(9, 40), at(52));
        assert_eq!(fires(9, 300), at(320));
        assert_eq!(fires(0, 62 * 4), at(63 * 4));
        assert_eq!(fires(0, 63 * 4), at(64 * 4));
        assert_eq!(fires(9, 41), at(56));
    }

    #[test]
    fn a_clock_rounds_instants_down_and_spans_up() {
        let clock = KernelClock::new(250);
        assert_eq!(clock.ticks(Time::ZERO + Duration::from_micros(7_999)), 1);
        assert_eq!(clock.ticks_of(Duration::from_micros(8_001)), 3);
    }
}
