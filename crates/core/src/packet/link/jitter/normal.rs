//! Normal jitter, by the method of Box and Muller (1958).

use super::{Distribution, LONGEST};
use crate::rng::Stream;
use crate::units::Duration;

crate::parameters! {
    /// The mean and the spread.
    pub struct Parameters {
        /// Mean, before negative draws become 0.
        pub mean: Duration = Duration::from_millis(5);
        /// Standard deviation, before negative draws become 0.
        pub deviation: Duration = Duration::from_millis(1);
    }
    check is_possible
}

fn is_possible(parameters: &Parameters) -> Result<(), String> {
    super::check_duration("mean", parameters.mean)?;
    super::check_duration("deviation", parameters.deviation)
}

impl Distribution for Parameters {
    fn draw(&self, draws: Stream, index: u64) -> Duration {
        let (radius, angle) = (draws.exponential(2 * index, 1.0), draws.uniform(2 * index + 1));
        let normal = libm::sqrt(2.0 * radius) * libm::cos(std::f64::consts::TAU * angle);
        Duration::from_secs_f64(self.mean.as_secs() + self.deviation.as_secs() * normal).min(LONGEST)
    }

    fn longest(&self) -> Duration {
        LONGEST
    }
}
