//! Every n-th packet that enters the queue is lost.

use super::{Build, LossModel};
use crate::rng::Stream;

crate::parameters! {
    /// The period.
    pub struct Parameters {
        /// Which packet is lost: every n-th.
        pub every: u32, in 1.0..=u32::MAX;
    }
}

impl Build for Parameters {
    fn build(&self, _losses: Stream, _states: Stream) -> Box<dyn LossModel> {
        Box::new(Periodic { every: self.every, until_next: self.every })
    }

    fn stationary_ratio(&self) -> f64 {
        1.0 / f64::from(self.every)
    }
}

#[derive(Debug)]
struct Periodic {
    every: u32,
    until_next: u32,
}

impl LossModel for Periodic {
    fn is_lost(&mut self) -> bool {
        self.until_next -= 1;
        let lost = self.until_next == 0;
        if lost {
            self.until_next = self.every;
        }
        lost
    }
}
