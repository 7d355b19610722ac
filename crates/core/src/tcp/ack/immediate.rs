//! An ACK for every segment.

use super::{AckPolicy, Arrival, ReceiverContext, When};

crate::parameters! {
    /// Nothing to choose.
    pub struct Parameters {}
}

/// The policy has no state.
#[derive(Debug, Clone)]
pub struct Immediate;

impl Immediate {
    /// The policy for any flow.
    pub fn new(_parameters: Parameters, _flow: ReceiverContext) -> Immediate {
        Immediate
    }
}

impl AckPolicy for Immediate {
    #[inline]
    fn on_segment(&mut self, _arrival: &Arrival) -> When {
        When::Now
    }

    fn is_immediate(&self) -> bool {
        true
    }
}
