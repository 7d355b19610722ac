//! ACKs as rare as TACK's (Li et al., SIGCOMM 2020, equation 3): `min(bw / (L * MSS), beta / RTTmin)` a second. The receiver sends an ACK when
//! L segments have arrived and 1/beta of the least round trip has passed since the last ACK.
//!
//! TACK's receiver measures RTTmin with its sender's help. This receiver knows no RTT, so the interval RTTmin / beta is a parameter. TACK's
//! rich ACKs and its receiver-side loss detection are not modelled. Instead, a segment out of order is acknowledged at once. Without that,
//! ACKs with more SACK blocks wait as long as other ACKs.

use super::{AckPolicy, Arrival, ReceiverContext, When};
use crate::units::{Duration, Time};

crate::parameters! {
    /// How many segments and how much time lie between ACKs.
    pub struct Parameters {
        /// The least number of segments that one ACK answers (L; the paper: 2).
        pub segments: u32 = 2, in 1..=1_000_000;
        /// The least time between two ACKs (RTTmin / beta; the paper: beta = 4, so 10 ms suits an RTT of 40 ms).
        pub interval: Duration = Duration::from_millis(10);
        /// The longest wait of fewer than `segments` for their ACK (RFC 1122 section 4.2.3.2: less than 500 ms).
        pub timer: Duration = Duration::from_millis(200);
        /// Whether a segment out of order, into a hole or received before is answered at once (RFC 5681 section 4.2).
        pub out_of_order: bool = true;
    }
}

/// The policy's state.
#[derive(Debug, Clone)]
pub struct Stretch {
    parameters: Parameters,
    waiting: u32,
    /// Time at which the pending ACK is due.
    due: Time,
    /// The earliest time of the next ACK that counts segments.
    next: Time,
}

impl Stretch {
    /// A flow that has not received yet.
    pub fn new(parameters: Parameters, _flow: ReceiverContext) -> Stretch {
        Stretch { parameters, waiting: 0, due: Time::NEVER, next: Time::ZERO }
    }

    /// Time at which the ACK is due that acknowledges one more segment.
    fn add(&mut self, arrival: &Arrival) -> Time {
        let Parameters { segments, timer, out_of_order, .. } = self.parameters;
        self.waiting += 1;
        let apart = !arrival.in_order || arrival.duplicate;
        if out_of_order && apart {
            arrival.now
        } else if self.waiting >= segments {
            self.due.min(self.next.max(arrival.now))
        } else {
            self.due.min(arrival.now + timer)
        }
    }
}

impl AckPolicy for Stretch {
    fn on_segment(&mut self, arrival: &Arrival) -> When {
        self.due = self.add(arrival);
        if self.due <= arrival.now { When::Now } else { When::By(self.due) }
    }

    fn on_ack_sent(&mut self, now: Time) {
        self.next = now + self.parameters.interval;
        self.waiting = 0;
        self.due = Time::NEVER;
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

    fn policy(parameters: Parameters) -> Stretch {
        Stretch::new(parameters, ReceiverContext::of_window(100))
    }

    /// The ACKs' times for segments at these times, in order.
    fn acks(mut policy: Stretch, arrivals: impl IntoIterator<Item = u64>) -> Vec<Time> {
        let mut acks = Vec::new();
        let mut due = Time::NEVER;
        for at in arrivals {
            if due < ms(at) {
                policy.on_ack_sent(due);
                acks.push(due);
                due = Time::NEVER;
            }
            match policy.on_segment(&in_order(at)) {
                When::Now => {
                    policy.on_ack_sent(ms(at));
                    acks.push(ms(at));
                    due = Time::NEVER;
                }
                When::By(time) => due = due.min(time),
            }
        }
        acks
    }

    /// Equation 3: at a segment a millisecond, L = 2 allows 500 ACKs a second and 40 ms / 4 only 100.
    #[test]
    fn equation_3_a_fast_flow_is_acknowledged_by_time() {
        let times = acks(policy(Parameters::default()), 0..1000);
        assert_eq!(times.len(), 100);
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == Duration::from_millis(10)), "{times:?}");
    }

    /// Equation 3: at a segment in 20 ms, L = 2 allows 25 ACKs a second, less than the time's 100.
    #[test]
    fn equation_3_a_slow_flow_is_acknowledged_by_count() {
        let times = acks(policy(Parameters::default()), (0..1000).step_by(20));
        assert_eq!(times.len(), 25);
        assert_eq!(times[..3], [20, 60, 100].map(ms));
    }

    /// A segment waits for its ACK until 210 ms, but the receiver sends it at 11 ms, as for a change of marks. The next one may come at 21 ms.
    #[test]
    fn equation_3_counts_from_the_ack_that_was_sent() {
        let mut policy = policy(Parameters::default());
        policy.on_segment(&in_order(10));
        policy.on_ack_sent(ms(11));
        policy.on_segment(&in_order(11));
        assert_eq!(policy.on_segment(&in_order(12)), When::By(ms(21)));
    }

    #[test]
    fn a_lone_segment_waits_for_the_timer() {
        let mut policy = policy(Parameters::default());
        assert_eq!(policy.on_segment(&in_order(10)), When::By(ms(210)));
    }

    #[test]
    fn a_segment_out_of_order_is_answered_at_once_or_like_others() {
        let apart = Arrival { in_order: false, ..in_order(10) };
        assert_eq!(policy(Parameters::default()).on_segment(&apart), When::Now);
        let mut counting = policy(Parameters { out_of_order: false, ..Parameters::default() });
        assert_eq!(counting.on_segment(&apart), When::By(ms(210)));
        assert_eq!(counting.on_segment(&Arrival { now: ms(11), ..apart }), When::Now);
    }
}
