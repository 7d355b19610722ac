//! The margin that Linux adds to SRTT for its timeout: the greatest mean deviation of recent round trips (`tcp_rtt_estimator`).

use super::RttEstimate;
use crate::units::Duration;

/// The margin. All values are four times a mean deviation.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct GreatestDeviation {
    deviation: Duration,
    /// The greatest of this round trip.
    greatest: Duration,
    margin: Duration,
    /// This round trip ends when this segment is acknowledged.
    round_end: u32,
}

impl GreatestDeviation {
    pub(super) fn margin(&self) -> Duration {
        self.margin
    }

    /// Once per round trip, reduces the margin towards the greatest deviation of that round, which is at least `least`.
    #[inline(always)]
    pub(super) fn follow_rounds(&mut self, una: u32, next: u32, least: Duration) {
        if una > self.round_end {
            self.margin = Duration(self.margin.0 - self.margin.0.saturating_sub(self.greatest.0) / 4);
            self.round_end = next;
            self.greatest = least;
        }
    }
}

impl RttEstimate {
    /// Takes a sample: a falling RTT changes the deviation by an eighth of that of a rising one.
    #[inline(never)]
    pub(super) fn sample_deviation(&mut self, rtt: Duration) {
        let least = self.bounds.granularity;
        let Some(margin) = self.extension.as_mut().and_then(|extension| extension.deviation.as_mut()) else { return };
        if self.samples == 0 {
            (self.smoothed, self.minimum) = (rtt, rtt);
            margin.deviation = rtt * 2;
            margin.margin = margin.deviation.max(least);
            margin.greatest = margin.margin;
        } else {
            let error = self.smoothed.0.abs_diff(rtt.0);
            let share = margin.deviation.0 / 4;
            let grown =
                if rtt < self.smoothed && error > share { (error - share) / 8 } else { error.saturating_sub(share) };
            margin.deviation = Duration(margin.deviation.0 + grown - share.saturating_sub(error));
            self.smoothed = Duration(self.smoothed.0 - self.smoothed.0 / 8 + rtt.0 / 8);
            self.minimum = self.minimum.min(rtt);
            margin.greatest = margin.greatest.max(margin.deviation);
            margin.margin = margin.margin.max(margin.greatest);
        }
        self.variation = margin.deviation / 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::kernel_clock::KernelClock;

    /// 100 ms, then 180 ms: the deviation (times four) is 200 ms, then 3/4 * 200 + 80 = 230 ms. Then 60 ms: SRTT was 110 ms, the error of 50
    /// ms is less than 230 / 4 ms, and the deviation falls to 3/4 * 230 + 50 = 222.5 ms. Then 20 ms: SRTT was 103.75 ms. The error exceeds
    /// 55.625 ms by 28.125 ms, and an eighth of this counts.
    #[test]
    fn linux_grows_its_margin_at_once_and_shrinks_it_once_a_round_trip() {
        let (least, greatest) = (Duration::from_millis(200), Duration::from_secs(60));
        let mut rtt = RttEstimate::new(least, greatest, Duration::from_secs(1))
            .with_granularity(least)
            .with_clock(KernelClock::new(1000));
        let margin = |rtt: &RttEstimate| Duration(rtt.rto().0 - rtt.smoothed().unwrap().0);
        let mut take = |milliseconds, una| {
            rtt.sample(Duration::from_millis(milliseconds));
            rtt.follow_rounds(una, una + 10);
            margin(&rtt)
        };
        assert_eq!(take(100, 1), Duration::from_millis(200));
        assert_eq!(take(180, 2), Duration::from_millis(230));
        assert_eq!(take(60, 3), Duration::from_millis(230));
        assert_eq!(take(20, 4), Duration::from_millis(230));
        assert_eq!(rtt.variation() * 4, Duration::from_micros(222_500) + Duration(28_125_000_000 / 8));
        // A round trip whose greatest deviation counts 200 ms, the least: a quarter of the difference goes.
        let steady = |rtt: &mut RttEstimate| (0..40).for_each(|_| rtt.sample(rtt.smoothed().unwrap()));
        steady(&mut rtt);
        rtt.follow_rounds(12, 30);
        steady(&mut rtt);
        rtt.follow_rounds(31, 40);
        assert_eq!(margin(&rtt), Duration::from_micros(222_500));
    }
}
