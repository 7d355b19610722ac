//! Marks every ECN-capable packet that finds a backlog at or above a threshold (DCTCP's queue, RFC 8257 section 3.1).

use super::{Arrival, Decision, OnArrival};

/// The state of one queue.
#[derive(Debug, Clone, Copy)]
pub struct EcnThreshold {
    /// The threshold, packets.
    pub mark: u32,
}

impl OnArrival for EcnThreshold {
    fn decide(&mut self, arrival: &Arrival) -> Decision {
        if arrival.ecn_capable && arrival.packets >= self.mark { Decision::Mark } else { Decision::Accept }
    }
}
