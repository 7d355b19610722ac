//! Every packet is lost with the same probability, independently of the others.

use super::LossModel;
use super::chance::{self, Chance};
use crate::rng::Stream;

#[derive(Debug)]
pub(super) struct Bernoulli {
    chance: Chance,
    draws: Stream,
    arrivals: u64,
}

impl Bernoulli {
    pub(super) fn new(ratio: f64, draws: Stream) -> Bernoulli {
        Bernoulli { chance: Chance::new(ratio), draws, arrivals: 0 }
    }
}

impl LossModel for Bernoulli {
    fn is_lost(&mut self) -> bool {
        self.arrivals += 1;
        self.chance.hits(self.draws.bits(self.arrivals))
    }
}

pub(super) fn check(ratio: f64) -> Result<(), String> {
    chance::check("ratio", ratio)
}
