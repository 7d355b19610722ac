//! Pareto jitter that begins at 0 (the distribution of Lomax 1954).

use super::{Distribution, LONGEST};
use crate::rng::Stream;
use crate::units::Duration;

crate::parameters! {
    /// The mean and the tail.
    pub struct Parameters {
        /// Mean.
        pub mean: Duration = Duration::from_millis(1);
        /// The tail: the smaller, the more very long delays.
        pub shape: f64 = 3.0, in 1.01..=100.0;
    }
    check is_possible
}

fn is_possible(parameters: &Parameters) -> Result<(), String> {
    super::check_duration("mean", parameters.mean)
}

impl Distribution for Parameters {
    fn draw(&self, draws: Stream, index: u64) -> Duration {
        // A Pareto draw less its least value, which is (shape - 1) times the mean of the difference.
        let least = self.mean.as_secs() * (self.shape - 1.0);
        let pareto = draws.pareto(index, least * self.shape / (self.shape - 1.0), self.shape);
        Duration::from_secs_f64(pareto - least).min(LONGEST)
    }

    fn longest(&self) -> Duration {
        LONGEST
    }
}
