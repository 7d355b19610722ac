//! Marks every ECN-capable packet that finds a backlog at or above a threshold (DCTCP's queue, RFC 8257 section 3.1).

use super::{Arrival, Build, Decision, Discipline, OnArrival, Place};

crate::parameters! {
    /// The threshold.
    pub struct Parameters {
        /// Packets in the queue at and above which arriving packets are marked.
        pub mark: u32 = 65, in 0.0..=u32::MAX;
    }
}

impl Build for Parameters {
    fn build(&self, _place: Place) -> Discipline {
        Discipline::OnArrival(Box::new(*self))
    }

    fn marks(&self) -> bool {
        true
    }
}

impl OnArrival for Parameters {
    fn decide(&mut self, arrival: &Arrival) -> Decision {
        if arrival.ecn_capable && arrival.packets >= self.mark { Decision::Mark } else { Decision::Accept }
    }
}
