//! Lateness of packets that leave the emulator, relative to the times at which the packet engine would have delivered them.

use anabranch_core::units::Duration;

const PICOSECONDS_PER_MICROSECOND: u64 = 1_000_000;
/// Lateness of this many microseconds and more counts as this.
const CEILING: usize = 1_000_000;

/// Counts the packets of each lateness, in whole microseconds.
#[derive(Debug, Clone, Default)]
pub struct Lateness {
    packets_by_microsecond: Vec<u64>,
    packets: u64,
    sum: u128,
    greatest: Duration,
}

impl Lateness {
    /// Records that a packet left the emulator this long after it was due.
    pub fn record(&mut self, late: Duration) {
        let microseconds =
            usize::try_from(late.0 / PICOSECONDS_PER_MICROSECOND).map_or(CEILING, |late| late.min(CEILING));
        if microseconds >= self.packets_by_microsecond.len() {
            self.packets_by_microsecond.resize(microseconds + 1, 0);
        }
        self.packets_by_microsecond[microseconds] += 1;
        self.packets += 1;
        self.sum += u128::from(late.0);
        self.greatest = self.greatest.max(late);
    }

    /// Packets that have left.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Seconds; 0 if no packet has left.
    pub fn mean_s(&self) -> f64 {
        if self.packets == 0 { 0.0 } else { self.sum as f64 * 1e-12 / self.packets as f64 }
    }

    /// Seconds, rounded up to whole microseconds: this share of the packets left no later. 0 if no packet has left.
    pub fn quantile_s(&self, share: f64) -> f64 {
        let wanted = (self.packets as f64 * share).ceil() as u64;
        let mut counted = 0;
        let found = self.packets_by_microsecond.iter().position(|packets| {
            counted += packets;
            counted >= wanted
        });
        if self.packets == 0 { 0.0 } else { found.map_or(0.0, |microseconds| (microseconds + 1) as f64 * 1e-6) }
    }

    /// Seconds.
    pub fn greatest_s(&self) -> f64 {
        self.greatest.as_secs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_quantile_and_greatest_are_those_of_the_packets() {
        let mut lateness = Lateness::default();
        assert_eq!((lateness.mean_s(), lateness.quantile_s(0.99), lateness.greatest_s()), (0.0, 0.0, 0.0));
        // 1 to 100 microseconds, one packet each: the 99th percentile is 99 us, and 100 rounded up to a whole bucket's end.
        for microseconds in 1..=100 {
            lateness.record(Duration(microseconds * PICOSECONDS_PER_MICROSECOND));
        }
        assert!((lateness.mean_s() - 50.5e-6).abs() < 1e-12);
        assert!((lateness.quantile_s(0.99) - 100e-6).abs() < 1e-12);
        assert_eq!((lateness.packets(), lateness.greatest_s()), (100, 100e-6));
        lateness.record(Duration(u64::MAX));
        assert_eq!(lateness.packets(), 101);
    }
}
