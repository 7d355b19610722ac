//! Linux's delayed ACK (`net/ipv4/tcp_input.c`, `tcp_output.c`, `tcp_timer.c`). It begins with a number of quick ACKs, so that
//! slow start is not held back. Then it acknowledges every second segment, or when a timer ends that follows the distance of
//! segments (ATO).
//!
//! A mark whose echo begins causes two quick ACKs, and the sender's answer (CWR) one.
//!
//! Every segment that makes the receive window grow is answered at once, too (`tcp_grow_window`). A stack that follows Linux has
//! such a window ([`super::super::receiver`]). For others the policy assumes that it grows from the third round trip of an
//! initial window of ten on. Growth ends at the greatest window, or when slow start has lost a segment.
//!
//! This receiver never sends data. So it is never in interactive ("ping-pong") mode, which would end the quick ACKs. It measures
//! one RTT, that of its SYN-ACK. This RTT bounds its timer (`tcp_send_delayed_ack`) and gives its retransmission timeout. After a
//! pause of more than that timeout come quick ACKs again.
//!
//! Since Linux 4.18 a receiver compresses ACKs of segments out of order (`tcp_comp_sack_delay_ns`). It answers the first three at
//! once, and later ones together when a timer ends, or when one more would be of a third block. [`Parameters::compression`]
//! turns this on.

use super::{AckPolicy, Arrival, ReceiverContext, When};
use crate::tcp::kernel_clock::{self, KernelClock};
use crate::units::{Duration, Time};

crate::parameters! {
    /// How many quick ACKs, and how long an ACK may wait afterwards.
    pub struct Parameters {
        /// The greatest number of quick ACKs (`TCP_MAX_QUICKACKS`); at most half the window's segments, and two at least.
        pub quick: u32 = 16, in 2..=1_000_000;
        /// The shortest wait of a segment for its ACK (`TCP_ATO_MIN`).
        pub min_timer: Duration = Duration::from_millis(40);
        /// The longest wait of a segment for its ACK (`TCP_DELACK_MAX`).
        pub max_timer: Duration = Duration::from_millis(200);
        /// How many segments, each by two, take the receive window from 64 KB to its greatest size (half of 6 MB, `tcp_rmem`). A stack
        /// that follows Linux knows its window, and ignores this.
        pub growing: u32 = 1055, in 0..=1_000_000;
        /// How long ACKs of segments out of order may wait for more of them (Linux: 1 ms, and 0.1 ms of slack). Stacks that follow
        /// Linux wait 5 % of a shorter RTT, and the slack. Zero answers each at once.
        pub compression: Duration = Duration::ZERO;
    }
}

/// ACKs with the same cumulative acknowledgement that are never compressed (`TCP_FASTRETRANS_THRESH`).
const UNCOMPRESSED: u32 = 3;
/// Quick ACKs after the mark that begins an echo.
const MARK_QUICK_ACKS: u32 = 2;
/// Greatest number of segments that wait for a compressed ACK (`tcp_comp_sack_nr`).
const MOST_COMPRESSED: u32 = 44;

/// The receiver's retransmission timeout before it knows an RTT (`TCP_TIMEOUT_INIT`).
const INITIAL_TIMEOUT: Duration = Duration::from_secs(1);

/// The timer may fire this much later (`tcp_comp_sack_slack_ns`).
const COMPRESSION_SLACK: Duration = Duration::from_micros(100);

/// Segments of the first two round trips: the receive window does not grow until more than ten arrived in one.
const NOT_GROWING: u32 = 30;

/// How many segments get a quick ACK (`tcp_incr_quickack`): half the window's, two at least, `most` at most.
pub fn quick_acks(window: u32, most: u32) -> u32 {
    (window / 2).max(2).min(most)
}

/// The ATO after a segment that came `distance` after the one before (`tcp_event_data_recv`), for distances up to the ATO.
pub fn follow(ato: Duration, distance: Duration, min_timer: Duration) -> Duration {
    ato / 2 + distance.max(min_timer / 2)
}

/// The policy's state.
#[derive(Debug, Clone)]
pub struct QuickAck {
    parameters: Parameters,
    window: u32,
    /// Quick ACKs left.
    quick: u32,
    /// The receiver's retransmission timeout.
    timeout: Duration,
    /// The longest wait of a segment for its ACK.
    longest: Duration,
    /// The timer for the next delayed ACK (ATO), unbounded; `None` before the first segment.
    ato: Option<Duration>,
    /// When the last segment in order arrived, or the first of all; `None` before.
    last_arrival: Option<Time>,
    /// Segments that have arrived in order before the first one out of order, and whether that one has come.
    arrived: u32,
    lost: bool,
    /// A segment waits for its ACK.
    timer_runs: bool,
    /// ACKs since the cumulative acknowledgement moved that could have been compressed (`dup_ack_counter`), at most [`UNCOMPRESSED`].
    repeated: u32,
    /// Number of these segments that wait for a common ACK (`compressed_ack`).
    compressed: u32,
    /// The longest wait of an ACK that is compressed.
    compression: Duration,
    /// The clock in whose ticks the timer of a delayed ACK counts.
    clock: Option<KernelClock>,
    /// The least that the retransmission timeout exceeds the RTT.
    rto_margin: Duration,
}

impl QuickAck {
    /// A flow that has not received yet.
    pub fn new(parameters: Parameters, flow: ReceiverContext) -> QuickAck {
        let knows_window = flow.clock.is_some();
        let growing = if knows_window { 0 } else { parameters.growing };
        QuickAck {
            parameters: Parameters { growing, ..parameters },
            window: flow.window,
            quick: 0,
            timeout: INITIAL_TIMEOUT,
            longest: parameters.max_timer,
            ato: None,
            last_arrival: None,
            arrived: 0,
            lost: false,
            timer_runs: false,
            repeated: 0,
            compressed: 0,
            compression: parameters.compression,
            clock: flow.clock,
            rto_margin: flow.rto_margin,
        }
    }

    fn be_quick(&mut self) {
        self.quick = self.quick.max(quick_acks(self.window, self.parameters.quick));
    }

    /// Whether this segment would make a receive window grow that is not modelled.
    fn grows(&mut self, arrival: &Arrival) -> bool {
        self.lost |= !arrival.in_order;
        self.arrived = self.arrived.saturating_add(1);
        !self.lost && self.arrived > NOT_GROWING && self.arrived - NOT_GROWING <= self.parameters.growing
    }

    /// Whether the ACK of this segment waits for others (`__tcp_ack_snd_check`).
    fn compresses(&mut self, arrival: &Arrival) -> bool {
        if arrival.in_order || arrival.filled_hole {
            self.repeated = 0;
            return false;
        }
        if self.quick > 0 || self.compressed >= MOST_COMPRESSED || self.parameters.compression == Duration::ZERO {
            return false;
        }
        self.repeated += 1;
        if self.repeated <= UNCOMPRESSED {
            return false;
        }
        self.repeated = UNCOMPRESSED;
        self.compressed += 1;
        true
    }

    fn observe(&mut self, now: Time) {
        let min_timer = self.parameters.min_timer;
        let before = self.last_arrival.replace(now).unwrap_or(now);
        match self.ato {
            None => {
                self.be_quick();
                self.ato = Some(min_timer);
            }
            Some(ato) => {
                let distance = now - before;
                if distance <= min_timer / 2 || distance < ato {
                    self.ato = Some(follow(ato, distance, min_timer).min(self.timeout));
                } else if distance > self.timeout {
                    self.be_quick();
                }
            }
        }
    }
}

impl AckPolicy for QuickAck {
    fn on_segment(&mut self, arrival: &Arrival) -> When {
        self.last_arrival.get_or_insert(arrival.now);
        if arrival.duplicate {
            self.be_quick(); // tcp_data_queue: a retransmission, so the sender lacks ACKs
            self.ato = Some(self.parameters.min_timer);
        } else if arrival.in_order || arrival.filled_hole {
            self.observe(arrival.now);
        }
        if self.grows(arrival) {
            self.quick = self.quick.max(1);
        }
        if self.compresses(arrival) {
            return When::By(arrival.now + self.compression);
        }
        self.timer_runs = !self.timer_runs && self.quick == 0 && arrival.in_order && !arrival.push;
        if !self.timer_runs {
            return When::Now;
        }
        let wait = self.ato.unwrap_or(self.parameters.min_timer).min(self.longest);
        When::By(kernel_clock::expiry(self.clock, arrival.now, wait))
    }

    fn on_window_growth(&mut self) {
        self.quick |= 1; // tcp_grow_window
    }

    fn on_echo_change(&mut self, begins: bool) {
        let most = if begins { MARK_QUICK_ACKS } else { 1 }; // __tcp_ecn_check_ce, tcp_ecn_accept_cwr
        self.quick = self.quick.max(quick_acks(self.window, most));
        self.ato = self.ato.map(|_| self.parameters.min_timer);
    }

    fn on_handshake(&mut self, round_trip: Duration) {
        self.longest = self.parameters.max_timer.min(round_trip.max(self.parameters.min_timer));
        self.timeout = round_trip + self.rto_margin.max(round_trip * 2); // tcp_rtt_estimator
    }

    fn on_round_trip(&mut self, round_trip: Duration) {
        self.compression = self.parameters.compression.min(round_trip / 20 + COMPRESSION_SLACK);
    }

    fn is_compressing(&self) -> bool {
        self.compressed > 0
    }

    fn on_repeated(&mut self) {
        self.repeated = u32::from(self.quick == 0); // __tcp_ack_snd_check
    }

    fn on_unanswered(&mut self) {
        self.compressed = 0;
    }

    fn on_ack_sent(&mut self, _now: Time) {
        self.compressed = 0;
        if std::mem::take(&mut self.timer_runs) {
            // tcp_delack_timer_handler: the second segment did not come in time.
            self.ato = self.ato.map(|ato| (ato * 2).min(self.timeout));
        }
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = Some(self.parameters.min_timer); // tcp_dec_quickack_mode
            }
        }
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

    /// Takes a segment and answers at once if the policy says so.
    fn take(policy: &mut QuickAck, arrival: Arrival) -> When {
        let when = policy.on_segment(&arrival);
        if when == When::Now {
            policy.on_ack_sent(arrival.now);
        }
        when
    }

    /// A policy whose quick ACKs are used up, after segments at 0, 1, ... 15 ms.
    fn delaying(growing: u32) -> QuickAck {
        let parameters = Parameters { growing, ..Parameters::default() };
        let mut policy = QuickAck::new(parameters, ReceiverContext::of_window(44));
        for at in 0..16 {
            assert_eq!(take(&mut policy, in_order(at)), When::Now);
        }
        policy
    }

    #[test]
    fn quick_acks_are_half_the_window_two_at_least_and_sixteen_at_most() {
        assert_eq!([1, 5, 10, 44].map(|window| quick_acks(window, 16)), [2, 2, 5, 16]);
    }

    #[test]
    fn ato_halves_towards_the_distance_of_segments_and_40_ms_at_least() {
        let millis = Duration::from_millis;
        assert_eq!(follow(millis(40), millis(1), millis(40)), millis(40));
        assert_eq!(follow(millis(80), millis(30), millis(40)), millis(70));
        assert_eq!(follow(millis(160), millis(20), millis(40)), millis(100));
    }

    #[test]
    fn sixteen_quick_acks_then_every_second_segment() {
        let mut policy = delaying(0);
        assert_eq!(take(&mut policy, in_order(16)), When::By(ms(56)));
        assert_eq!(take(&mut policy, in_order(17)), When::Now);
        assert_eq!(take(&mut policy, in_order(18)), When::By(ms(58)));
    }

    /// A mark at 17 ms begins an echo: its segment and the next one are answered at once. So is the segment at 20 ms, which announces the
    /// sender's answer.
    #[test]
    fn a_mark_and_its_answer_are_acknowledged_at_once() {
        let mut policy = delaying(0);
        assert_eq!(take(&mut policy, in_order(16)), When::By(ms(56)));
        policy.on_echo_change(true);
        assert_eq!([17, 18].map(|at| take(&mut policy, in_order(at))), [When::Now; 2]);
        assert_eq!(take(&mut policy, in_order(19)), When::By(ms(59)));
        policy.on_echo_change(false);
        assert_eq!(take(&mut policy, in_order(20)), When::Now);
        assert_eq!(take(&mut policy, in_order(21)), When::By(ms(61)));
    }

    /// After the first sixteen segments, every second segment is answered at once. From the 31st on, every segment is, until one
    /// arrives out of order.
    #[test]
    fn segments_that_make_the_window_grow_are_answered_at_once() {
        let quick_of = |policy: &mut QuickAck, times: std::ops::Range<u64>| {
            times.filter(|at| take(policy, in_order(*at)) == When::Now).count()
        };
        let mut policy = delaying(1055);
        assert_eq!(quick_of(&mut policy, 16..30), 7);
        assert_eq!(quick_of(&mut policy, 30..100), 70);
        take(&mut policy, Arrival { in_order: false, ..in_order(100) });
        take(&mut policy, Arrival { in_order: false, filled_hole: true, ..in_order(101) });
        assert_eq!(quick_of(&mut policy, 102..122), 10);
    }

    #[test]
    fn the_window_stops_growing_at_its_greatest_size() {
        let mut policy = delaying(10);
        let quick = (16..60).filter(|at| take(&mut policy, in_order(*at)) == When::Now).count();
        assert_eq!(quick, 7 + 10 + 10); // of 14 before the growth, in the growth, of 20 behind it
    }

    #[test]
    fn a_timer_that_ends_before_the_second_segment_doubles_the_next_one() {
        let mut policy = delaying(0);
        assert_eq!(take(&mut policy, in_order(16)), When::By(ms(56)));
        policy.on_ack_sent(ms(56)); // at 56 ms: ATO 80 ms
        // 60 ms later: 80 / 2 + 60 = 100 ms.
        assert_eq!(take(&mut policy, in_order(76)), When::By(ms(176)));
        policy.on_ack_sent(ms(176)); // ATO 200 ms
        assert_eq!(take(&mut policy, in_order(376)), When::By(ms(576)));
        policy.on_ack_sent(ms(576)); // ATO 400 ms, of which an ACK waits 200 at most
        assert_eq!(take(&mut policy, in_order(876)), When::By(ms(1076)));
    }

    #[test]
    fn a_pause_longer_than_the_timeout_brings_quick_acks_back() {
        let mut policy = delaying(0);
        assert_eq!(take(&mut policy, in_order(1016)), When::Now);
        for at in 1017..1032 {
            assert_eq!(take(&mut policy, in_order(at)), When::Now);
        }
        assert!(matches!(take(&mut policy, in_order(1032)), When::By(_)));
    }

    /// Linux 6.1 does so where the RTT is 6 ms: after a retransmission timeout of its sender, it answers 16 segments at once.
    #[test]
    fn the_rtt_of_the_syn_ack_gives_the_timeout() {
        let mut policy = delaying(0);
        policy.on_handshake(Duration::from_millis(6));
        assert_eq!(take(&mut policy, in_order(15 + 206)), When::By(ms(221 + 40)));
        policy.on_ack_sent(ms(221 + 40));
        assert_eq!(take(&mut policy, in_order(221 + 207)), When::Now);
        let answered = (0..20).take_while(|at| take(&mut policy, in_order(429 + at)) == When::Now).count();
        assert_eq!(answered, 15);
        policy.on_handshake(Duration::from_millis(150));
        assert_eq!(policy.timeout, Duration::from_millis(450)); // SRTT and twice as much, which is 4 RTTVAR
    }

    #[test]
    fn the_rtt_of_the_syn_ack_bounds_the_timer_but_40_ms_remain() {
        for (round_trip, longest) in [(6, 40), (80, 80), (300, 200)] {
            let mut policy = delaying(0);
            policy.on_handshake(Duration::from_millis(round_trip));
            policy.ato = Some(Duration::from_millis(400));
            assert_eq!(take(&mut policy, in_order(17)), When::By(ms(17 + longest)));
        }
    }

    #[test]
    fn at_once_out_of_order_into_a_hole_and_at_the_end_of_the_data() {
        let apart = Arrival { in_order: false, ..in_order(16) };
        for arrival in [apart, Arrival { filled_hole: true, ..apart }, Arrival { push: true, ..in_order(16) }] {
            assert_eq!(take(&mut delaying(0), arrival), When::Now, "{arrival:?}");
        }
    }

    /// The first three segments out of order are answered at once. Later ones are answered together, 1 ms after the first of them.
    /// When the cumulative acknowledgement advances, this starts again. The 45th waiting segment triggers the ACK.
    #[test]
    fn acks_out_of_order_are_compressed_after_three() {
        let parameters = Parameters { compression: Duration::from_millis(1), ..Parameters::default() };
        let mut policy = QuickAck { parameters, compression: parameters.compression, ..delaying(0) };
        let apart = |at| Arrival { in_order: false, ..in_order(at) };
        for _ in 0..2 {
            assert_eq!([20, 21, 22].map(|at| take(&mut policy, apart(at))), [When::Now; 3]);
            assert_eq!(take(&mut policy, apart(23)), When::By(ms(24)));
            policy.on_ack_sent(ms(24));
            assert_eq!(take(&mut policy, apart(25)), When::By(ms(26)));
            assert_eq!(take(&mut policy, Arrival { filled_hole: true, ..apart(26) }), When::Now);
        }
        (0..3).for_each(|_| _ = take(&mut policy, apart(30)));
        let waiting = (0..60).take_while(|_| take(&mut policy, apart(30)) != When::Now).count();
        assert_eq!(waiting, 44);
    }

    /// The ACK of a filled hole counts as one of the three if it does not move the right edge.
    #[test]
    fn a_filled_hole_before_another_may_count_as_a_repeated_ack() {
        let parameters = Parameters { compression: Duration::from_millis(1), ..Parameters::default() };
        let mut policy = QuickAck { parameters, compression: parameters.compression, ..delaying(0) };
        let apart = |at| Arrival { in_order: false, ..in_order(at) };
        for counts in [false, true] {
            policy.on_segment(&Arrival { filled_hole: true, ..apart(20) });
            if counts {
                policy.on_repeated();
            }
            let at_once = (21..30).take_while(|at| take(&mut policy, apart(*at)) == When::Now).count();
            assert_eq!(at_once, if counts { 2 } else { 3 });
        }
    }

    /// 5 % of an RTT of 10 ms are 0.5 ms, and 5 % of 40 ms are more than 1 ms.
    #[test]
    fn compressed_acks_wait_a_twentieth_of_a_short_round_trip() {
        let parameters = Parameters { compression: Duration::from_micros(1100), ..Parameters::default() };
        let mut policy = QuickAck { parameters, ..delaying(0) };
        for (round_trip_ms, wait_us) in [(10, 600), (40, 1100)] {
            policy.on_round_trip(Duration::from_millis(round_trip_ms));
            let waits: Vec<When> =
                (0..4).map(|_| take(&mut policy, Arrival { in_order: false, ..in_order(20) })).collect();
            assert_eq!(waits[3], When::By(ms(20) + Duration::from_micros(wait_us)));
            take(&mut policy, Arrival { in_order: false, filled_hole: true, ..in_order(21) });
        }
    }

    /// 40 ms are ten ticks at 250 Hz, and a timer fires in the tick behind.
    #[test]
    fn the_timer_counts_ticks_of_the_kernels_clock() {
        let mut policy = QuickAck { clock: Some(KernelClock::new(250)), ..delaying(0) };
        assert_eq!(take(&mut policy, in_order(18)), When::By(ms(60)));
    }

    /// A segment that makes the window grow sets the lowest bit of the count: none becomes one, and 16 become 17.
    #[test]
    fn a_window_that_grows_keeps_the_quick_acks() {
        let mut policy = delaying(0);
        for at in 16..26 {
            policy.on_window_growth();
            assert_eq!(take(&mut policy, in_order(at)), When::Now);
        }
        assert!(matches!(take(&mut policy, in_order(26)), When::By(_)), "one quick ACK each");
        policy.on_segment(&Arrival { duplicate: true, in_order: false, ..in_order(27) });
        policy.on_window_growth();
        let quick = (28..60).take_while(|at| take(&mut policy, in_order(*at)) == When::Now).count();
        assert_eq!(quick, 17);
    }

    #[test]
    fn a_duplicate_brings_quick_acks_back() {
        let mut policy = delaying(0);
        take(&mut policy, Arrival { duplicate: true, in_order: false, ..in_order(16) });
        for at in 17..32 {
            assert_eq!(take(&mut policy, in_order(at)), When::Now);
        }
        assert!(matches!(take(&mut policy, in_order(32)), When::By(_)));
    }
}
