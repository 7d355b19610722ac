//! The delayed ACK that Lee, Park and Choi modified for packets that overtake each other. It counts segments out of order like
//! others, so that reordering alone makes few duplicate ACKs.
//!
//! The paper acknowledges a retransmitted segment at once while duplicate ACKs are outstanding. A receiver cannot see that a
//! segment is a retransmission. This one assumes it if a segment fills the first hole while later data is queued.
//! A segment that it has already is one for certain, but repairs nothing, and waits like others.

use super::delayed::Waiting;
use super::{AckPolicy, Arrival, ReceiverContext, When};
use crate::units::Time;

pub use super::delayed::Parameters;

/// The policy's state.
#[derive(Debug, Clone)]
pub struct ModifiedDelayed {
    waiting: Waiting,
}

impl ModifiedDelayed {
    /// A flow that has not received yet.
    pub fn new(parameters: Parameters, _flow: ReceiverContext) -> ModifiedDelayed {
        ModifiedDelayed { waiting: Waiting::new(parameters) }
    }
}

impl AckPolicy for ModifiedDelayed {
    #[inline]
    fn on_segment(&mut self, arrival: &Arrival) -> When {
        if arrival.filled_hole { When::Now } else { self.waiting.add(arrival.now) }
    }

    #[inline]
    fn on_ack_sent(&mut self, _now: Time) {
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Duration, Time};

    fn ms(milliseconds: u64) -> Time {
        Time::ZERO + Duration::from_millis(milliseconds)
    }

    fn out_of_order(at: u64) -> Arrival {
        Arrival { now: ms(at), in_order: false, filled_hole: false, duplicate: false, push: false }
    }

    #[test]
    fn every_second_segment_whatever_the_order() {
        let mut policy = ModifiedDelayed::new(Parameters::default(), ReceiverContext::of_window(100));
        assert_eq!(policy.on_segment(&out_of_order(10)), When::By(ms(210)));
        assert_eq!(policy.on_segment(&out_of_order(11)), When::Now);
        policy.on_ack_sent(ms(11));
        let in_order = Arrival { in_order: true, ..out_of_order(12) };
        assert_eq!(policy.on_segment(&in_order), When::By(ms(212)));
        assert_eq!(policy.on_segment(&out_of_order(13)), When::Now);
    }

    #[test]
    fn at_once_for_the_first_hole() {
        let mut policy = ModifiedDelayed::new(Parameters::default(), ReceiverContext::of_window(100));
        let filling = Arrival { filled_hole: true, ..out_of_order(10) };
        assert_eq!(policy.on_segment(&filling), When::Now);
        policy.on_ack_sent(ms(10));
        assert_eq!(policy.on_segment(&out_of_order(11)), When::By(ms(211)));
    }
}
