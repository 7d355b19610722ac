//! Slow start of RFC 5681 section 3.1.

crate::parameters! {
    /// Nothing to choose.
    pub struct Parameters {}
}

/// Appropriate byte counting in slow start: an ACK counts for at most two segments (RFC 3465 section 2.2, L = 2).
const LIMIT: u32 = 2;

/// Window after `growth` segments were acknowledged in slow start; stops at `ssthresh`. Also returns the segments that
/// remain for congestion avoidance.
pub fn grow(cwnd: f64, ssthresh: f64, growth: u32) -> (f64, u32) {
    let grown = cwnd + f64::from(growth.min(LIMIT));
    if grown <= ssthresh { (grown, 0) } else { (ssthresh.max(cwnd), (grown - ssthresh.max(cwnd)) as u32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc5681_section_3_1_slow_start_doubles_per_round_trip() {
        let cwnd = (0..10).fold(10.0, |cwnd, _| grow(cwnd, f64::INFINITY, 1).0);
        assert_eq!(cwnd, 20.0);
    }

    #[test]
    fn slow_start_stops_at_ssthresh_and_hands_the_rest_on() {
        assert_eq!(grow(9.0, 10.0, 2), (10.0, 1));
        assert_eq!(grow(8.0, 10.0, 2), (10.0, 0));
    }
}
