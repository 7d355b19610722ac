//! All values in turn, in an order drawn anew each round: what returns does not count.

use super::EntropyPolicy;
use super::rounds::Rounds;
use crate::rng::{Sequence, Stream};
use crate::units::Time;

crate::parameters! {
    /// How many values there are.
    pub struct Parameters {
        /// Number of values.
        pub values: u32 = 64, in 1..=65_536;
    }
}

/// The state of a flow.
#[derive(Debug, Clone)]
pub struct Oblivious {
    rounds: Rounds,
}

impl Oblivious {
    /// A new flow.
    pub fn new(parameters: Parameters, draws: Stream) -> Oblivious {
        Oblivious { rounds: Rounds::new(Sequence::new(draws), parameters.values) }
    }
}

impl EntropyPolicy for Oblivious {
    fn next(&mut self, _now: Time) -> u32 {
        self.rounds.next()
    }
}
