//! How long the packets of a flow took from their host to the other.

use crate::histogram::Histogram;
use crate::packet::link::packet::{ACK, Packet, SYN, TRIMMED};
use crate::uet::packets::REQUEST;
use crate::units::{Duration, Time};

/// Whether the delay of a packet counts: of data, but not of a message's request or of data whose payload a queue has cut.
#[inline(always)]
pub fn counts(packet: &Packet) -> bool {
    const _: () = assert!(TRIMMED == SYN);
    !packet.has(ACK | SYN) && packet.segment() != REQUEST
}

/// The one-way delays of the data packets that have arrived.
#[derive(Debug, Clone, Default)]
pub struct Delays {
    /// All of them.
    pub histogram: Histogram,
    /// That of the last packet.
    last: Option<Duration>,
    /// Interarrival jitter, picoseconds.
    jitter: f64,
}

impl Delays {
    /// Records a packet that arrives now.
    pub fn record(&mut self, sent: Time, now: Time) {
        let delay = now - sent;
        self.histogram.record(delay);
        if let Some(last) = self.last.replace(delay) {
            // RFC 3550 section 6.4.1: J += (|D| - J) / 16, where D is the difference of two transit times.
            self.jitter += (delay.0.abs_diff(last.0) as f64 - self.jitter) / 16.0;
        }
    }

    /// The interarrival jitter in seconds (RFC 3550 section 6.4.1); NaN before the second packet.
    pub fn jitter_s(&self) -> f64 {
        if self.histogram.count() < 2 { f64::NAN } else { self.jitter * 1e-12 }
    }
}

/// Figures about delays in seconds. NaN is unknown.
#[derive(Debug, Clone, Copy)]
pub struct DelayFigures {
    /// Mean one-way delay.
    pub mean: f64,
    /// Its median, 95th and 99th percentile.
    pub percentiles: [f64; 3],
    /// The greatest one.
    pub greatest: f64,
    /// Interarrival jitter.
    pub jitter: f64,
    /// Median, 95th and 99th percentile of the RTT samples.
    pub round_trips: [f64; 3],
}

impl DelayFigures {
    /// Those of a flow whose delays are not recorded.
    pub const UNKNOWN: DelayFigures = DelayFigures {
        mean: f64::NAN,
        percentiles: [f64::NAN; 3],
        greatest: f64::NAN,
        jitter: f64::NAN,
        round_trips: [f64::NAN; 3],
    };

    /// Those of these delays and RTT samples.
    pub fn new(one_way: &Delays, round_trips: Option<&Histogram>) -> DelayFigures {
        DelayFigures {
            mean: one_way.histogram.mean_s(),
            percentiles: one_way.histogram.percentiles_s(),
            greatest: one_way.histogram.greatest_s(),
            jitter: one_way.jitter_s(),
            round_trips: round_trips.map_or([f64::NAN; 3], Histogram::percentiles_s),
        }
    }
}

/// What is recorded of a flow if a run asks for delays.
#[derive(Debug, Clone, Default)]
pub struct FlowDelays {
    /// Of its data.
    pub one_way: Delays,
    /// Of a flow that has retired: the RTT samples of its sender.
    pub round_trips: Histogram,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Transits of 10, 26, 10 and 10 ms: the jitter is 16 / 16 = 1 ms, then 1 + 15 / 16, then 15/16 of that.
    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let mut delays = Delays::default();
        let mut jitters = Vec::new();
        for (sent, transit) in [(0, 10), (20, 26), (40, 10), (60, 10)] {
            let sent = Time::ZERO + Duration::from_millis(sent);
            delays.record(sent, sent + Duration::from_millis(transit));
            jitters.push(delays.jitter_s() * 1e3);
        }
        assert!(jitters[0].is_nan());
        let exact = [1.0, 1.0 + 15.0 / 16.0, (1.0 + 15.0 / 16.0) * 15.0 / 16.0];
        assert!(jitters[1..].iter().zip(exact).all(|(found, exact)| (found - exact).abs() < 1e-9), "{jitters:?}");
    }
}
