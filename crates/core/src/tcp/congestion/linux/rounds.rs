//! Round trips as Linux's Vegas measures them, for Vegas and YeAH: the least RTT of all, and that of the present round trip.

use crate::tcp::events::AckEvent;
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
    /// After the last ACK.
    outstanding: u32,
    /// Segments outstanding when the round trip began, and those acknowledged since.
    length: u32,
    passed: u32,
}

impl RoundTrips {
    /// Takes an ACK. No RTT is zero.
    pub fn on_ack(&mut self, ack: &AckEvent) {
        self.outstanding = ack.outstanding;
        self.passed += ack.cumulative;
        if let Some(rtt) = ack.rtt {
            let micros = rtt.0 / Duration::from_micros(1).0 + 1;
            self.base = Some(self.base.map_or(micros, |base| base.min(micros)));
            self.least = Some(self.least.map_or(micros, |least| least.min(micros)));
            self.samples += 1;
        }
    }

    /// Whether more is acknowledged than was outstanding when the round trip began.
    pub fn is_over(&self) -> bool {
        self.passed > self.length
    }

    /// Ends the round trip, and gives it if it had enough samples.
    pub fn end(&mut self) -> Option<RoundTrip> {
        let round = self.base.zip(self.least).map(|(base, least)| RoundTrip { base, least });
        let enough = self.samples > LEAST_SAMPLES;
        self.begin();
        round.filter(|_| enough)
    }

    /// Begins a round trip with the last recorded ACK.
    pub fn begin(&mut self) {
        (self.least, self.samples, self.passed, self.length) = (None, 0, 0, self.outstanding);
    }

    /// Forgets all measurements, because nothing was in flight.
    pub fn forget(&mut self) {
        *self = RoundTrips::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round trip of two outstanding segments is over with the third. Three samples are enough, and two are not.
    #[test]
    fn a_round_trip_passes_what_was_outstanding_and_has_three_samples() {
        let mut round_trips = RoundTrips::default();
        let mut take = |millis| {
            let rtt = Some(Duration::from_millis(millis));
            round_trips.on_ack(&AckEvent { rtt, outstanding: 2, ..AckEvent::PREDICTED });
            round_trips.is_over().then(|| round_trips.end())
        };
        assert_eq!(take(20), Some(None)); // nothing had been outstanding
        assert_eq!([take(32), take(30), take(31)], [None, None, Some(Some(RoundTrip { base: 20_001, least: 30_001 }))]);
    }
}
