//! When the retransmission timer starts.

use super::*;

/// Segment 1 is lost; 0 arrives at 500 ms, and 2, 3 and 4 follow 20 ms after one another. The third makes it lost.
fn retransmitted_at_560(changes: serde_json::Value) -> Pair {
    let mut pair = Pair::new(changes);
    pair.at(500).deliver([0]);
    for (at, segment) in [(520, 2), (540, 3)] {
        pair.at(at).deliver([segment]);
    }
    assert_eq!(pair.at(560).deliver([4]).first(), Some(&(1, true)));
    pair
}

#[test]
fn rfc6675_section_6_the_retransmission_of_the_first_segment_restarts_the_timer() {
    for (detection, sack) in [("dup-ack", true), ("dup-ack", false), ("rack-tlp", true)] {
        let pair = retransmitted_at_560(json!({"detection": {"name": detection}, "sack": sack}));
        assert_eq!(pair.sender.board.timer_start(), ms(560), "{detection}, SACK: {sack}");
    }
}

/// Linux (`tcp_xmit_retransmit_queue`) restarts the timer for the head of the queue only, but each time that it goes out.
#[test]
fn the_second_retransmission_of_the_first_segment_restarts_the_timer_that_of_a_later_segment_does_not() {
    let mut pair = retransmitted_at_560(json!({"detection": {"name": "rack-tlp"}, "initial_window": 20}));
    // 5 is lost as well.
    let sent = pair.at(580).deliver([6, 7, 8, 9, 10, 11]);
    assert!(sent.contains(&(5, true)), "{sent:?}");
    assert_eq!(pair.sender.board.timer_start(), ms(560));
    // The copy of 1 is lost: that of 5 arrives, which was sent later, and by 1/4 RTT or more.
    assert_eq!(pair.at(1300).deliver_as([5], true).first(), Some(&(1, true)));
    assert_eq!(pair.sender.board.timer_start(), ms(1300));
}

/// Without SACK, 0, 3 and 6 are lost. Only the first of two partial ACKs restarts the timer (RFC 6582 section 3.2 step 3); the ACK of
/// all restarts it as any that advances (RFC 6298 (5.3)). In Linux each of them does (`tcp_rearm_rto`).
#[test]
fn rfc6582_section_3_2_of_the_acks_of_a_recovery_the_first_and_the_last_restart_the_timer() {
    for (follows, after_second) in [("rfc", 200), ("linux", 300)] {
        let mut pair = Pair::new(json!({"sack": false, "limited_transmit": false, "follows": follows}));
        pair.at(100).deliver([1, 2, 4, 5, 7, 8, 9]);
        for (at, segment, started) in [(200, 0, 200), (300, 3, after_second), (400, 6, 400)] {
            pair.at(at).deliver_as([segment], true);
            assert_eq!(pair.sender.board.timer_start(), ms(started), "{follows}: the ACK at {at} ms");
        }
        assert_eq!(pair.sender.episode(), Episode::Open);
    }
}

/// Without SACK, an ACK that fills a hole delivers segments that had arrived long before: their age is no RTT (Karn's algorithm).
#[test]
fn rfc6298_section_3_without_sack_only_what_was_sent_once_gives_an_rtt() {
    let mut pair = Pair::new(json!({"sack": false, "limited_transmit": false}));
    pair.at(100).deliver([0]);
    assert_eq!((pair.sender.rtt.samples(), pair.sender.rtt.smoothed()), (1, Some(Duration::from_millis(100))));
    pair.at(150).deliver([2, 3, 4, 5, 6, 7, 8, 9]);
    pair.at(900).deliver_as([1], true);
    assert_eq!(pair.sender.rtt.samples(), 1);
}

/// With TCP-PR a segment may be outstanding for longer than an RTO of 200 ms. The sender is not idle then.
#[test]
fn rfc5681_section_4_1_a_sender_with_data_outstanding_is_not_idle() {
    let mut pair = Pair::new(json!({"detection": {"name": "tcp-pr"}}));
    pair.sender.close();
    pair.at(100).deliver(0..10);
    let cwnd = pair.cwnd();
    assert!(cwnd > 10.0 && pair.sender.rtt.rto() == Duration::from_millis(200));
    pair.sender.write(ms(110), 1);
    pair.at(110).send();
    pair.sender.write(ms(360), 1);
    assert_eq!((pair.sender.board.outstanding(), pair.cwnd()), (1, cwnd));
}

/// The only segment is late by one or two timeouts. Its original arrives, and DSACK reports each of its retransmissions. The last DSACK
/// undoes the first reduction.
#[test]
fn rfc3708_section_3_a_dsack_of_every_retransmission_takes_back_a_timeout_that_repeats() {
    for timeouts in [1, 2] {
        let mut pair = Pair::new(json!({"spurious": "dsack", "initial_window": 1}));
        pair.sender.close();
        (0..timeouts).for_each(|_| assert_eq!(pair.time_out(), [(0, true)]));
        assert_eq!((pair.sender.counters().timeouts, pair.sender.counters().recoveries), (timeouts, 1));
        pair.deliver([0]);
        for reported in 1..=timeouts {
            assert_eq!(pair.sender.counters().undone, 0);
            pair.deliver_as([0], true);
            assert_eq!(pair.sender.counters().undone, u64::from(reported == timeouts));
        }
    }
}
