//! The sawtooth of a link: the sum of its flows' windows between two events, and its effect on utilisation and delay.

/// Number of points at which the sawtooth is evaluated.
const POINTS: u32 = 24;

/// The sum of the windows of a link's flows between two events.
pub struct Sawtooth {
    /// Mean RTT of the flows without the link's queue, seconds.
    pub idle_s: f64,
    /// The queue's limit, seconds.
    pub buffer_s: f64,
    /// Share of the sum that an event takes.
    pub drop: f64,
    /// Shape of the growth, from 0 for linear to 1/4 for CUBIC.
    pub curve: f64,
    /// Round trips of growth from one event to the next.
    pub rounds: f64,
}

/// Steps of a search for a peak: to 0.1 % of the limit.
const STEPS: u32 = 10;

impl Sawtooth {
    /// The sawtooth whose mean wait is `target_s`, or the one of the greatest peak if even that waits less. `with_peak` returns the one of a peak.
    pub fn holding(target_s: f64, greatest_s: f64, with_peak: impl Fn(f64) -> Sawtooth) -> Sawtooth {
        let (mut below, mut above) = (0.0, greatest_s);
        for _ in 0..STEPS {
            let peak_s = f64::midpoint(below, above);
            if with_peak(peak_s).means().1 < target_s { below = peak_s } else { above = peak_s }
        }
        with_peak(above)
    }

    /// Utilisation, and mean wait in seconds, over the time between two events.
    pub fn means(&self) -> (f64, f64) {
        let peak_s = self.idle_s + self.buffer_s;
        // The distance to the peak falls from 1: linearly as 1 - u, or for CUBIC as (1 - u)^3.
        let cubic = 4.0 * self.curve.clamp(0.0, 0.25);
        let (mut time, mut busy, mut wait) = (0.0, 0.0, 0.0);
        let growth = (0..POINTS).map(|point| ((f64::from(point) + 0.5) / f64::from(POINTS), 1.0 / f64::from(POINTS)));
        // The windows do not grow in a recovery, which takes one more round trip.
        for (u, weight) in growth.chain([(0.0, 1.0 / self.rounds.max(1.0))]) {
            let left = (1.0 - u) * (1.0 - cubic + cubic * (1.0 - u).powi(2));
            let window_s = peak_s * (1.0 - self.drop * left);
            let queue_s = (window_s - self.idle_s).max(0.0);
            // If growth counts round trips, it is slower while they are long.
            let slower = weight * (1.0 + queue_s / self.idle_s * (1.0 - cubic));
            time += slower;
            busy += slower * (window_s / self.idle_s).min(1.0);
            wait += slower * queue_s;
        }
        (busy / time, wait / busy)
    }
}
