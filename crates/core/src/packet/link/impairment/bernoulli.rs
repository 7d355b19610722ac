//! Every packet is lost with the same probability, independently of the others.

use super::chance::Chance;
use super::{Build, LossModel};
use crate::parameters::Share;
use crate::rng::Stream;

crate::parameters! {
    /// The probability.
    pub struct Parameters {
        /// Share of packets lost; 1 is an outage.
        pub ratio: Share, in 0.0..=1.0;
    }
}

impl Build for Parameters {
    fn build(&self, losses: Stream, _states: Stream) -> Box<dyn LossModel> {
        Box::new(Bernoulli { chance: Chance::new(self.ratio), draws: losses, arrivals: 0 })
    }

    fn stationary_ratio(&self) -> f64 {
        self.ratio.0
    }
}

#[derive(Debug)]
struct Bernoulli {
    chance: Chance,
    draws: Stream,
    arrivals: u64,
}

impl LossModel for Bernoulli {
    fn is_lost(&mut self) -> bool {
        self.arrivals += 1;
        self.chance.hits(self.draws.bits(self.arrivals))
    }

    /// Draws for a dropped packet too, because each draw belongs to an arrival. So a change of the queue does not
    /// move the losses.
    fn on_dropped(&mut self) {
        self.arrivals += 1;
    }
}
