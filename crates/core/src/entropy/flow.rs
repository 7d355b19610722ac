//! One value for all packets of a flow.

use super::EntropyPolicy;
use crate::rng::Stream;
use crate::units::Time;

crate::parameters! {
    /// No parameter: the flow and the switch's salt decide.
    pub struct Parameters {}
}

/// The policy has no state: each switch hashes the flow beside the value.
#[derive(Debug, Clone)]
pub struct Flow;

impl Flow {
    /// A new flow.
    pub fn new(_parameters: Parameters, _draws: Stream) -> Flow {
        Flow
    }
}

impl EntropyPolicy for Flow {
    fn next(&mut self, _now: Time) -> u32 {
        0
    }
}
