//! The delayed ACK of RFC 1122 section 4.2.3.2 and RFC 5681 section 4.2: for every second segment or when a timer expires.
//! Segments that show a hole or fill one are acknowledged at once.

use super::{AckPolicy, Arrival, ReceiverContext, When};
use crate::units::{Duration, Time};

crate::parameters! {
    /// How long, and for how many segments, an ACK may wait.
    pub struct Parameters {
        /// Segments that one ACK answers (RFC 5681 section 4.2: 2).
        pub every: u32 = 2, in 1..=1_000;
        /// The longest wait of a segment for its ACK (RFC 1122 section 4.2.3.2: less than 500 ms; 200 ms is customary).
        pub timer: Duration = Duration::from_millis(200);
    }
}

/// Segments that wait for their ACK, and when the first of them must have it.
#[derive(Debug, Clone)]
pub struct Waiting {
    parameters: Parameters,
    segments: u32,
    deadline: Time,
}

impl Waiting {
    /// The state of a new flow: no segment waits for an ACK.
    pub fn new(parameters: Parameters) -> Waiting {
        Waiting { parameters, segments: 0, deadline: Time::ZERO }
    }

    /// Adds one more segment that waits, or that makes the ACK due.
    #[inline]
    pub fn add(&mut self, now: Time) -> When {
        if self.segments == 0 {
            self.deadline = now + self.parameters.timer;
        }
        self.segments += 1;
        if self.segments >= self.parameters.every { When::Now } else { When::By(self.deadline) }
    }

    /// Resets the state after an ACK of all waiting segments.
    pub fn clear(&mut self) {
        self.segments = 0;
    }
}

/// The policy's state.
#[derive(Debug, Clone)]
pub struct Delayed {
    waiting: Waiting,
}

impl Delayed {
    /// A flow that has not received yet.
    pub fn new(parameters: Parameters, _flow: ReceiverContext) -> Delayed {
        Delayed { waiting: Waiting::new(parameters) }
    }
}

impl AckPolicy for Delayed {
    #[inline]
    fn on_segment(&mut self, arrival: &Arrival) -> When {
        if arrival.in_order && !arrival.duplicate { self.waiting.add(arrival.now) } else { When::Now }
    }

    #[inline]
    fn on_ack_sent(&mut self, _now: Time) {
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Time {
        Time::ZERO + Duration::from_millis(milliseconds)
    }

    fn in_order(at: u64) -> Arrival {
        Arrival { now: ms(at), in_order: true, filled_hole: false, duplicate: false, push: false }
    }

    #[test]
    fn rfc5681_section_4_2_every_second_segment_or_the_timer_of_the_first() {
        let mut policy = Delayed::new(Parameters::default(), ReceiverContext::of_window(100));
        assert_eq!(policy.on_segment(&in_order(10)), When::By(ms(210)));
        assert_eq!(policy.on_segment(&in_order(50)), When::Now);
        policy.on_ack_sent(ms(50));
        assert_eq!(policy.on_segment(&in_order(60)), When::By(ms(260)));
        policy.on_ack_sent(ms(260)); // the timer, or data of the receiver's own
        assert_eq!(policy.on_segment(&in_order(300)), When::By(ms(500)));
    }

    #[test]
    fn a_later_segment_does_not_push_the_timer_back() {
        let parameters = Parameters { every: 4, ..Parameters::default() };
        let mut policy = Delayed::new(parameters, ReceiverContext::of_window(100));
        assert_eq!([10, 100, 150].map(|at| policy.on_segment(&in_order(at))), [When::By(ms(210)); 3]);
        assert_eq!(policy.on_segment(&in_order(160)), When::Now);
    }

    #[test]
    fn rfc5681_section_4_2_at_once_out_of_order_into_a_hole_and_again() {
        let mut policy = Delayed::new(Parameters::default(), ReceiverContext::of_window(100));
        let apart = Arrival { in_order: false, ..in_order(10) };
        for arrival in [apart, Arrival { filled_hole: true, ..apart }, Arrival { duplicate: true, ..apart }] {
            assert_eq!(policy.on_segment(&arrival), When::Now, "{arrival:?}");
            policy.on_ack_sent(ms(10));
        }
    }
}
