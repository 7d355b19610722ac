//! All values in turn, but a value with a penalty is skipped; each skip costs one (Ultra Ethernet 1.0).

use super::rounds::Rounds;
use super::{EntropyPolicy, Feedback};
use crate::rng::{Sequence, Stream};
use crate::units::{Duration, Time};

crate::parameters! {
    /// The values and their penalties.
    pub struct Parameters {
        /// Number of values.
        pub values: u32 = 64, in 1..=65_536;
        /// Penalty of a value that came back with a mark.
        pub marked: u32 = 1, in 0..=255;
        /// Penalty of a value whose packet was trimmed.
        pub trimmed: u32 = 4, in 0..=255;
        /// The greatest penalty.
        pub most: u32 = 15, in 1..=255;
    }
}

/// The state of a flow.
#[derive(Debug, Clone)]
pub struct Bitmap {
    parameters: Parameters,
    rounds: Rounds,
    penalties: Box<[u8]>,
}

impl Bitmap {
    /// A new flow: no value has a penalty.
    pub fn new(parameters: Parameters, draws: Stream) -> Bitmap {
        let rounds = Rounds::new(Sequence::new(draws), parameters.values);
        Bitmap { parameters, rounds, penalties: vec![0; parameters.values as usize].into() }
    }
}

impl EntropyPolicy for Bitmap {
    /// Only the first value that is skipped loses one of its penalty, so that a flow whose values all have one is not without memory. If all have
    /// one, the next value is taken after a whole round.
    fn next(&mut self, _now: Time) -> u32 {
        let mut value = self.rounds.next();
        if self.penalties[value as usize] > 0 {
            self.penalties[value as usize] -= 1;
            for _ in 0..self.parameters.values {
                value = self.rounds.next();
                if self.penalties[value as usize] == 0 {
                    break;
                }
            }
        }
        value
    }

    fn on_feedback(&mut self, _now: Time, _round_trip: Duration, value: u32, feedback: Feedback) {
        let more = match feedback {
            Feedback::Good => return,
            Feedback::Marked => self.parameters.marked,
            Feedback::Trimmed => self.parameters.trimmed,
        };
        if let Some(penalty) = self.penalties.get_mut(value as usize) {
            *penalty = (u32::from(*penalty) + more).min(self.parameters.most) as u8;
        }
    }
}
