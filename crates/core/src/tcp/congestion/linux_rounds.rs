//! Round trips as Linux's Vegas measures them, for Vegas and YeAH: the least RTT of all, and that of the present round trip.

use crate::units::Duration;

/// Samples that a round trip needs more than: fewer may all be of delayed ACKs.
const LEAST_SAMPLES: u32 = 2;

/// RTTs in microseconds, of a round trip that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// The least ever.
    pub base: u64,
    /// The least in the round trip; at least `base`.
    pub least: u64,
}

/// The measurement.
#[derive(Debug, Clone, Default)]
pub struct RoundTrips {
    base: Option<u64>,
    least: Option<u64>,
    samples: u32,
}

impl RoundTrips {
    /// Takes an RTT. No RTT is zero.
    pub fn take(&mut self, rtt: Option<Duration>) {
        if let Some(rtt) = rtt {
            let micros = rtt.0 / Duration::from_micros(1).0 + 1;
            self.base = Some(self.base.map_or(micros, |base| base.min(micros)));
            self.least = Some(self.least.map_or(micros, |least| least.min(micros)));
            self.samples += 1;
        }
    }

    /// Ends a round trip and gives it, if it had enough samples.
    pub fn end(&mut self) -> Option<RoundTrip> {
        let enough = std::mem::take(&mut self.samples) > LEAST_SAMPLES;
        let least = self.least.take();
        let (base, least) = self.base.zip(least)?;
        enough.then_some(RoundTrip { base, least })
    }

    /// The present round trip begins anew.
    pub fn discard(&mut self) {
        (self.least, self.samples) = (None, 0);
    }

    /// Everything is forgotten, because nothing was in flight.
    pub fn forget(&mut self) {
        *self = RoundTrips::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_samples_are_no_round_trip_and_three_are() {
        let mut round_trips = RoundTrips::default();
        let mut round = |millis: &[u64]| {
            millis.iter().for_each(|rtt| round_trips.take(Some(Duration::from_millis(*rtt))));
            round_trips.end()
        };
        assert_eq!(round(&[20, 21]), None);
        assert_eq!(round(&[32, 30, 31]), Some(RoundTrip { base: 20_001, least: 30_001 }));
    }
}
