//! The sum of the windows of a link's flows between two events, and what it leaves of capacity and delay.

/// Points of the sawtooth.
const POINTS: u32 = 24;

/// The sum of the windows of a link's flows between two events.
pub struct Sawtooth {
    /// Mean RTT of the flows without the link's queue, seconds.
    pub idle_s: f64,
    /// The queue's limit, seconds.
    pub buffer_s: f64,
    /// What of the sum an event takes.
    pub drop: f64,
    /// From 0, growth is even, to 1/4, growth is CUBIC's.
    pub curve: f64,
}

impl Sawtooth {
    /// Utilisation and the mean wait in seconds, over the time from one event to the next.
    pub fn means(&self) -> (f64, f64) {
        let peak_s = self.idle_s + self.buffer_s;
        // The curve (1 - u)^k has the mean 1 / (k + 1): 1/2 for even growth, 1/4 for CUBIC's.
        let power = 1.0 / (0.5 - self.curve.clamp(0.0, 0.25)) - 1.0;
        let (mut time, mut busy, mut wait) = (0.0, 0.0, 0.0);
        for point in 0..POINTS {
            let u = (f64::from(point) + 0.5) / f64::from(POINTS);
            let window_s = peak_s * (1.0 - self.drop * (1.0 - u).powf(power));
            let queue_s = (window_s - self.idle_s).max(0.0);
            // Growth that counts round trips is slower when they are long.
            let slower = 1.0 + queue_s / self.idle_s * (1.0 - 4.0 * self.curve).clamp(0.0, 1.0);
            time += slower;
            busy += slower * (window_s / self.idle_s).min(1.0);
            wait += slower * queue_s;
        }
        (busy / time, wait / busy)
    }
}
