//! Uniform jitter.

use super::Distribution;
use crate::rng::Stream;
use crate::units::Duration;

crate::parameters! {
    /// The bound.
    pub struct Parameters {
        /// No packet is delayed longer.
        pub up_to: Duration = Duration::from_millis(5);
    }
    check is_possible
}

fn is_possible(parameters: &Parameters) -> Result<(), String> {
    super::check_duration("up_to", parameters.up_to)
}

impl Distribution for Parameters {
    fn draw(&self, draws: Stream, index: u64) -> Duration {
        Duration(draws.below(index, self.up_to.0 + 1))
    }

    fn longest(&self) -> Duration {
        self.up_to
    }
}
