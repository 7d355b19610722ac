//! NSCC, network signal based congestion control: a window that follows the queueing delay and marks (Ultra Ethernet 1.0, section 3.6.13).
//!
//! Constants scale with the network. `a` is its bandwidth-delay product over that of 100 Gbit/s and 12 us. The target delay `T` is 0.75 of its round
//! trip with trimming, and one round trip without; `b = T / 12 us`. An ACK is not marked or marked, and has a delay below `T` or not:
//!
//! | | delay < T | delay >= T |
//! | --- | --- | --- |
//! | not marked | proportional increase (or fast increase) | fair increase |
//! | marked | nothing: the path changes | multiplicative decrease |

use super::{MessageSizes, NetworkEstimate, Parameters};
use crate::units::{Duration, Time};

/// The network to which the constants of the specification belong.
const REFERENCE_RTT: Duration = Duration::from_micros(12);
const REFERENCE_BYTES: f64 = 100e9 / 8.0 * 12e-6;
/// Below this delay a path counts as idle.
const IDLE_DELAY: Duration = Duration::from_micros(1);
/// Weight of a sample in the mean delay.
const DELAY_WEIGHT: f64 = 0.0125;
/// How strongly the decrease follows the excess of the delay, and the least that remains of a window.
const GAMMA: f64 = 0.8;
const LEAST_SHARE: f64 = 0.5;
/// Quick adapt needs a delay above this many targets, or a loss, and less than this share of the greatest window.
const ADAPT_TARGETS: f64 = 4.0;
const ADAPT_SHARE: f64 = 1.0 / 8.0;

/// The window of a sender. Delays are picoseconds, all else bytes.
#[derive(Debug, Clone)]
pub struct Nscc {
    /// `T`.
    target: f64,
    /// `4 MSS a b / T`, `5 MSS a`, `0.15 MSS a` and `0.25 a` of the specification.
    proportional: f64,
    fair: f64,
    eta: f64,
    fast: f64,
    /// Bytes and time after which [`Self::increase`] is added to the window.
    period_bytes: f64,
    period: Duration,
    network_rtt: Duration,
    least: f64,
    window: f64,
    /// Sum of `increase x acknowledged bytes`; divided by the window when it is added.
    increase: f64,
    /// Bytes acknowledged since the last addition.
    acknowledged: f64,
    last_eta: Time,
    mean_delay: f64,
    last_decrease: Time,
    /// Bytes acknowledged in succession without delay, and whether the window grows fast.
    undelayed: f64,
    grows_fast: bool,
    /// Quick adapt: bytes achieved since its last end; its next end; whether a packet was trimmed.
    achieved: f64,
    adapts_at: Time,
    has_lost: bool,
    /// Bytes that were in flight when quick adapt set the window, and how many of them are accounted for.
    to_ignore: f64,
    ignored: f64,
}

/// The state of the sender when its window reacts.
#[derive(Debug, Clone, Copy)]
pub struct Situation {
    /// The time.
    pub now: Time,
    /// Least round-trip time.
    pub base_rtt: Duration,
    /// The greatest window.
    pub most: f64,
    /// Bytes in flight.
    pub in_flight: f64,
}

impl Nscc {
    /// The window of a new message: the greatest one.
    pub fn new(parameters: &Parameters, network: &NetworkEstimate, sizes: &MessageSizes, most: f64) -> Nscc {
        let payload = f64::from(sizes.full - sizes.header);
        let bytes = network.rate.as_bps() / 8.0 * network.round_trip.as_secs();
        let a = bytes / REFERENCE_BYTES;
        let target = network.round_trip.0 as f64 * if parameters.trimming { 0.75 } else { 1.0 };
        let b = target / REFERENCE_RTT.0 as f64;
        Nscc {
            target,
            proportional: 4.0 * payload * a * b / target,
            fair: 5.0 * payload * a,
            eta: 0.15 * payload * a,
            fast: 0.25 * a,
            period_bytes: 8.0 * f64::from(sizes.full),
            period: network.round_trip,
            network_rtt: network.round_trip,
            least: f64::from(sizes.full),
            window: most,
            increase: 0.0,
            acknowledged: 0.0,
            last_eta: Time::ZERO,
            mean_delay: 0.0,
            last_decrease: Time::ZERO,
            undelayed: 0.0,
            grows_fast: false,
            achieved: 0.0,
            adapts_at: Time::ZERO,
            has_lost: false,
            to_ignore: 0.0,
            ignored: 0.0,
        }
    }

    /// The window, bytes.
    pub fn window(&self) -> f64 {
        self.window
    }

    /// The mean delay, picoseconds.
    pub fn mean_delay(&self) -> f64 {
        self.mean_delay
    }

    /// Adds a sample to the mean delay. If a packet without a mark had more than the target, its path was slow, not the network.
    pub fn sample(&mut self, delay: Duration, marked: bool, base_rtt: Duration) {
        let delay = delay.0 as f64;
        let counted = if !marked && delay > self.target { 0.25 * base_rtt.0 as f64 } else { delay };
        self.mean_delay += DELAY_WEIGHT * (counted - self.mean_delay);
    }

    /// Reacts to an ACK of this many bytes that have newly arrived. `delay` is the sample of the ACK, or [`Self::mean_delay`].
    pub fn on_ack(&mut self, at: &Situation, marked: bool, delay: f64, bytes: f64) {
        self.achieved += bytes;
        self.acknowledged += bytes;
        self.ignored += bytes;
        if self.quick_adapt(at, false, marked, delay) {
            return;
        }
        match (marked, delay >= self.target) {
            (false, true) => self.increase += self.fair * bytes,
            (false, false) => self.increase_in_proportion(delay, bytes),
            (true, true) => self.decrease(at),
            (true, false) => {}
        }
        self.clamp(at);
        if self.acknowledged > self.period_bytes || at.now - self.last_eta > self.period {
            self.window += self.increase / self.window;
            if at.now - self.last_eta >= self.period {
                self.window += self.eta;
                self.last_eta = at.now;
            }
            (self.increase, self.acknowledged) = (0.0, 0.0);
        }
        self.clamp(at);
    }

    /// Reacts to a trimmed packet of this many bytes, which loses the window its size unless `spares_window`.
    pub fn on_nack(&mut self, at: &Situation, bytes: f64, spares_window: bool) {
        self.ignored += bytes;
        self.sample(self.network_rtt, true, at.base_rtt);
        self.has_lost = true;
        if !self.quick_adapt(at, true, true, 0.0) && !spares_window {
            self.window -= bytes;
            self.clamp(at);
        }
    }

    /// Reacts to a timeout of a packet of this many bytes.
    pub fn on_timeout(&mut self, bytes: f64) {
        self.window = (self.window - bytes).max(self.least);
    }

    fn clamp(&mut self, at: &Situation) {
        self.window = self.window.max(self.least).min(at.most.max(self.least));
    }

    fn increase_in_proportion(&mut self, delay: f64, bytes: f64) {
        if delay < IDLE_DELAY.0 as f64 {
            self.undelayed += bytes;
            if self.undelayed > self.window || self.grows_fast {
                self.window += self.fast * bytes;
                self.grows_fast = true;
                return;
            }
        } else {
            self.undelayed = 0.0;
        }
        self.grows_fast = false;
        self.increase += self.proportional * bytes * (self.target - delay);
    }

    /// At most once a least round trip, if the mean delay exceeds the target.
    fn decrease(&mut self, at: &Situation) {
        (self.grows_fast, self.undelayed) = (false, 0.0);
        if self.mean_delay > self.target && at.now - self.last_decrease > at.base_rtt {
            let excess = (self.mean_delay - self.target) / self.mean_delay;
            self.window = (self.window * (1.0 - GAMMA * excess).max(LEAST_SHARE)).max(self.least);
            self.last_decrease = at.now;
        }
    }

    /// At the end of each least round trip and target delay: after a loss or a long delay, the window becomes the bytes that were achieved.
    /// Returns whether it did, or is still waiting for what was in flight then.
    fn quick_adapt(&mut self, at: &Situation, lost: bool, marked: bool, delay: f64) -> bool {
        let mut stops = false;
        if self.ignored < self.to_ignore && marked {
            stops = true;
        } else if at.now > self.adapts_at {
            let is_bad = self.has_lost || lost || delay > ADAPT_TARGETS * self.target;
            if self.adapts_at > Time::ZERO && is_bad && self.achieved < at.most * ADAPT_SHARE {
                self.window = self.achieved.max(self.least);
                (self.to_ignore, self.ignored) = (at.in_flight, 0.0);
                self.has_lost = false;
                stops = true;
            }
            self.achieved = 0.0;
            self.adapts_at = at.now + at.base_rtt + Duration(self.target as u64);
        }
        if stops {
            (self.increase, self.acknowledged) = (0.0, 0.0);
        }
        stops
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    const SIZES: MessageSizes = MessageSizes { packets: 500, full: 4160, last: 4160, header: 64 };

    /// The reference network: 100 Gbit/s and 12 us, so that a is 1 and b is 0.75.
    fn reference() -> (Nscc, Situation) {
        let network = NetworkEstimate {
            rate: Rate(100_000_000_000),
            round_trip: REFERENCE_RTT,
            timeout: Duration::from_micros(100),
        };
        let most = 1.5 * REFERENCE_BYTES;
        let now = Time::ZERO + Duration::from_micros(50);
        let at = Situation { now, base_rtt: REFERENCE_RTT, most, in_flight: most };
        (Nscc::new(&Parameters::default(), &network, &SIZES, most), at)
    }

    /// On the reference network: T = 9 us, 4 x 4096 x 0.75 / T a picosecond, 5 x 4096 and 0.15 x 4096.
    #[test]
    fn the_constants_are_those_of_the_specification() {
        let (nscc, _) = reference();
        assert_eq!(nscc.target, 9e6);
        assert!((nscc.proportional - 4.0 * 4096.0 * 0.75 / 9e6).abs() < 1e-12);
        assert!(
            (nscc.fair - 20480.0).abs() < 1e-9 && (nscc.eta - 614.4).abs() < 1e-9 && (nscc.fast - 0.25).abs() < 1e-12
        );
    }

    /// Window 100,000; 40,000 bytes at half the target add 4 MSS a b / 2 x 40,000 / 100,000 = 2457.6 bytes, and eta once a round trip.
    #[test]
    fn the_proportional_increase_follows_the_distance_from_the_target() {
        let (mut nscc, at) = reference();
        nscc.window = 100_000.0;
        nscc.on_ack(&at, false, 4.5e6, 40_000.0);
        assert!((nscc.window - (100_000.0 + 2457.6 + 614.4)).abs() < 1e-6, "{}", nscc.window);
    }

    /// Mean delay 18 us is twice the target: the window loses 0.8 x 0.5 of itself, once a round trip.
    #[test]
    fn the_decrease_follows_the_excess_once_a_round_trip() {
        let (mut nscc, at) = reference();
        (nscc.mean_delay, nscc.window, nscc.last_eta) = (18e6, 100_000.0, at.now);
        nscc.on_ack(&at, true, 18e6, 4160.0);
        assert!((nscc.window - 60_000.0).abs() < 1e-6);
        nscc.on_ack(&at, true, 18e6, 4160.0);
        assert!((nscc.window - 60_000.0).abs() < 1e-6);
    }

    /// A mark with little delay changes nothing: only the path is changed.
    #[test]
    fn a_mark_without_delay_changes_nothing() {
        let (mut nscc, at) = reference();
        (nscc.window, nscc.last_eta) = (100_000.0, at.now);
        nscc.on_ack(&at, true, 1e6, 4160.0);
        assert_eq!(nscc.window, 100_000.0);
    }

    /// After a loss, the window becomes what was achieved, if that is little, and ignores marks until what was in flight is accounted for.
    #[test]
    fn quick_adapt_takes_what_was_achieved() {
        let (mut nscc, at) = reference();
        nscc.on_ack(&at, false, 4.5e6, 4160.0); // begins the first span, of 12 + 9 us
        nscc.on_ack(&Situation { now: at.now + Duration::from_micros(10), ..at }, false, 4.5e6, 8320.0);
        let later = Situation { now: at.now + Duration::from_micros(22), ..at };
        nscc.on_nack(&later, 4160.0, false);
        assert_eq!(nscc.window, 8320.0);
        nscc.on_nack(&later, 4160.0, false);
        assert_eq!(nscc.window, 8320.0);
    }
}
