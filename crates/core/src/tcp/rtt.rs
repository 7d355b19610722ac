//! Round-trip time and retransmission timeout, RFC 6298.

mod linux;

use super::kernel_clock::{self, KernelClock};
use crate::histogram::Histogram;
use crate::units::{Duration, Time};
use linux::GreatestDeviation;
use std::sync::Arc;

/// Least margin of the timeout over the smoothed RTT (G of RFC 6298 (2.3)), unless a stack sets another one: a clock of 100 Hz. Without it,
/// the timeout of a steady path equals its RTT, and expires before ACKs that arrive in time.
pub const CLOCK_GRANULARITY: Duration = Duration::from_millis(10);

/// The initial timeout after a lost SYN (RFC 6298 (5.7)).
const TIMEOUT_AFTER_LOST_SYN: Duration = Duration::from_secs(3);

/// The bounds of the timeout, as in [`crate::spec::StackSpec`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeoutBounds {
    min_rto: Duration,
    max_rto: Duration,
    granularity: Duration,
    clock: Option<KernelClock>,
}

/// State that most estimates do not have. They check for it once.
#[derive(Debug, Clone, PartialEq, Default)]
struct Extension {
    /// With a clock: what the margin of the timeout follows, instead of the variation.
    deviation: Option<GreatestDeviation>,
    /// All samples, if they are recorded.
    recorded: Option<Histogram>,
}

/// SRTT, RTTVAR and RTO of one flow.
#[derive(Debug, Clone, PartialEq)]
pub struct RttEstimate {
    /// Before the first sample, the initial timeout.
    smoothed: Duration,
    variation: Duration,
    minimum: Duration,
    samples: u32,
    backoff: u32,
    /// Only with a clock, or while samples are recorded.
    extension: Option<Box<Extension>>,
    /// The bounds, shared by all flows of a stack.
    bounds: Arc<TimeoutBounds>,
}

impl RttEstimate {
    /// An estimate without samples; the three bounds are as in [`crate::spec::StackSpec`].
    pub fn new(min_rto: Duration, max_rto: Duration, initial_rto: Duration) -> RttEstimate {
        RttEstimate {
            smoothed: initial_rto,
            variation: Duration::ZERO,
            minimum: Duration(u64::MAX),
            samples: 0,
            backoff: 0,
            extension: None,
            bounds: Arc::new(TimeoutBounds { min_rto, max_rto, granularity: CLOCK_GRANULARITY, clock: None }),
        }
    }

    /// The estimate with another G of RFC 6298 (2.3).
    pub fn with_granularity(self, granularity: Duration) -> RttEstimate {
        RttEstimate { bounds: Arc::new(TimeoutBounds { granularity, ..*self.bounds }), ..self }
    }

    /// The estimate as a kernel with this clock computes it.
    pub fn with_clock(self, clock: KernelClock) -> RttEstimate {
        let bounds = Arc::new(TimeoutBounds { clock: Some(clock), ..*self.bounds });
        let extension = Extension { deviation: Some(GreatestDeviation::default()), recorded: None };
        RttEstimate { extension: Some(Box::new(extension)), bounds, ..self }
    }

    /// The kernel's clock, if it has one.
    pub fn clock(&self) -> Option<KernelClock> {
        self.bounds.clock
    }

    /// Time at which a timer fires that is started at `start` for the retransmission timeout.
    #[inline]
    pub fn expiry(&self, start: Time) -> Time {
        self.expiry_after(start, self.rto())
    }

    /// Time at which a timer fires that is started at `start` for this wait.
    #[inline]
    pub fn expiry_after(&self, start: Time, wait: Duration) -> Time {
        kernel_clock::expiry(self.bounds.clock, start, wait)
    }

    /// Sets the least timeout. With a clock it is the least margin over the smoothed RTT (`tcp_rto_min`), and the present margin falls to it.
    pub fn set_least_rto(&mut self, least: Duration) {
        let granularity = if self.deviation().is_some() { least } else { self.bounds.granularity };
        if (self.bounds.min_rto, self.bounds.granularity) != (least, granularity) {
            let bounds = Arc::make_mut(&mut self.bounds);
            (bounds.min_rto, bounds.granularity) = (least, granularity);
        }
    }

    /// The bounds of its timeout. Estimates with equal bounds may share them.
    pub(super) fn bounds_mut(&mut self) -> &mut Arc<TimeoutBounds> {
        &mut self.bounds
    }

    /// Takes a sample (RFC 6298 section 2: alpha = 1/8, beta = 1/4).
    pub fn sample(&mut self, rtt: Duration) {
        if self.extension.is_some() {
            self.sample_with_extension(rtt);
        } else {
            self.smooth(rtt);
        }
        self.samples = self.samples.saturating_add(1);
        self.backoff = 0; // section 5 and Karn's algorithm: only a new sample ends the backoff
    }

    #[inline(always)]
    fn smooth(&mut self, rtt: Duration) {
        if self.samples == 0 {
            self.smoothed = rtt;
            self.variation = rtt / 2;
            self.minimum = rtt;
        } else {
            let error = self.smoothed.0.abs_diff(rtt.0);
            self.variation = Duration(self.variation.0 - self.variation.0 / 4 + error / 4);
            self.smoothed = Duration(self.smoothed.0 - self.smoothed.0 / 8 + rtt.0 / 8);
            self.minimum = self.minimum.min(rtt);
        }
    }

    #[inline(never)]
    fn sample_with_extension(&mut self, rtt: Duration) {
        if let Some(recorded) = self.extension.as_mut().and_then(|extension| extension.recorded.as_mut()) {
            recorded.record(rtt);
        }
        if self.deviation().is_some() {
            self.sample_deviation(rtt);
        } else {
            self.smooth(rtt);
        }
    }

    fn deviation(&self) -> Option<&GreatestDeviation> {
        self.extension.as_ref()?.deviation.as_ref()
    }

    /// Records all samples from now on, and forgets those that are recorded.
    pub fn record_samples(&mut self) {
        self.extension.get_or_insert_default().recorded = Some(Histogram::default());
    }

    /// The samples, if they are recorded.
    pub fn recorded(&self) -> Option<&Histogram> {
        self.extension.as_ref()?.recorded.as_ref()
    }

    /// Call when the SYN had to be retransmitted: the path may be longer than the initial timeout. Until the first sample, the timeout is then
    /// at least 3 s (5.7).
    pub fn doubt_initial_timeout(&mut self) {
        debug_assert_eq!(self.samples, 0);
        self.smoothed = self.smoothed.max(TIMEOUT_AFTER_LOST_SYN);
    }

    /// Call after a sample: all segments below `una` are acknowledged, and `next` is the next to be sent. With a
    /// clock, the margin falls once per round trip.
    #[inline]
    pub fn follow_rounds(&mut self, una: u32, next: u32) {
        let least = self.bounds.granularity;
        if let Some(deviation) = self.extension.as_mut().and_then(|extension| extension.deviation.as_mut()) {
            deviation.follow_rounds(una, next, least);
        }
    }

    /// The smoothed RTT, if there is a sample.
    pub fn smoothed(&self) -> Option<Duration> {
        (self.samples > 0).then_some(self.smoothed)
    }

    /// The mean deviation, zero without a sample.
    pub fn variation(&self) -> Duration {
        self.variation
    }

    /// The least sample.
    pub fn minimum(&self) -> Option<Duration> {
        (self.samples > 0).then_some(self.minimum)
    }

    /// How many samples were taken.
    pub fn samples(&self) -> u32 {
        self.samples
    }

    /// The retransmission timeout with its backoff (sections 2.2, 2.3, 2.4, 5.5).
    pub fn rto(&self) -> Duration {
        let base = if self.samples == 0 {
            self.smoothed
        } else {
            let margin = self.deviation().map_or(self.variation * 4, |deviation| deviation.margin());
            (self.smoothed + margin.max(self.bounds.granularity)).max(self.bounds.min_rto)
        };
        Duration(base.0.saturating_mul(1 << self.backoff)).min(self.bounds.max_rto)
    }

    /// The estimate with a timeout that never expires, and no smoothed RTT.
    pub fn without_timeout(&self) -> RttEstimate {
        let never = Duration(u64::MAX);
        let samples = self.samples.max(1);
        let bounds = Arc::new(TimeoutBounds { min_rto: never, max_rto: never, ..*self.bounds });
        RttEstimate { smoothed: Duration::ZERO, samples, backoff: 0, bounds, ..self.clone() }
    }

    /// How often the timeout was doubled since the last sample.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Lower bound of the timeout, once there is a sample.
    pub fn least_rto(&self) -> Duration {
        self.bounds.min_rto.min(self.bounds.max_rto)
    }

    /// The bound of the timeout and its backoff (section 2.5).
    pub fn max_rto(&self) -> Duration {
        self.bounds.max_rto
    }

    /// Doubles the timeout after it expired (section 5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::tests::check_against_list;

    fn estimate() -> RttEstimate {
        RttEstimate::new(Duration::from_millis(200), Duration::from_secs(60), Duration::from_secs(1))
    }

    #[test]
    fn rfc6298_section_2_first_and_second_sample() {
        let mut rtt = estimate();
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        rtt.sample(Duration::from_millis(100));
        assert_eq!(rtt.rto(), Duration::from_millis(300)); // 100 + 4 * 50
        rtt.sample(Duration::from_millis(180));
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(110))); // 7/8 * 100 + 1/8 * 180
        assert_eq!(rtt.variation(), Duration::from_micros(57_500)); // 3/4 * 50 + 1/4 * 80
    }

    #[test]
    fn rfc6298_section_2_3_a_steady_path_has_a_timeout_above_its_rtt() {
        let mut rtt = estimate();
        for _ in 0..200 {
            rtt.sample(Duration::from_millis(300));
        }
        assert_eq!(rtt.rto(), rtt.smoothed().unwrap() + CLOCK_GRANULARITY);
    }

    #[test]
    fn rfc6298_section_5_backoff_doubles_up_to_the_maximum_and_ends() {
        let mut rtt = estimate();
        rtt.sample(Duration::from_millis(100));
        rtt.back_off();
        assert_eq!(rtt.rto(), Duration::from_millis(600));
        for _ in 0..20 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(60));
        rtt.sample(Duration::from_millis(100));
        assert_eq!(rtt.rto(), Duration::from_micros(250_000)); // RTTVAR 3/4 * 50: 100 + 4 * 37.5
    }

    /// With and without a clock, recorded samples change nothing else.
    #[test]
    fn recorded_samples_are_all_samples_since_then() {
        for plain in [estimate(), estimate().with_clock(KernelClock::new(250))] {
            let mut recording = plain.clone();
            let mut rtt = plain;
            rtt.sample(Duration::from_millis(7));
            recording.sample(Duration::from_millis(7));
            recording.record_samples();
            let mut samples: Vec<u64> = (1..200).map(|number| Duration::from_micros(number * number * 17).0).collect();
            for sample in &samples {
                rtt.sample(Duration(*sample));
                recording.sample(Duration(*sample));
                assert_eq!((recording.rto(), recording.smoothed()), (rtt.rto(), rtt.smoothed()));
            }
            check_against_list(recording.recorded().expect("samples are recorded"), &mut samples);
        }
    }
}
