//! What Linux does otherwise where packets are reordered, by hand.

use super::*;

/// Ten segments at 0 ms over a path of 40 ms.
fn linux() -> Pair {
    Pair::new(json!({
        "follows": "linux", "congestion": {"name": "linux-reno"}, "detection": {"name": "rack-tlp"},
        "spurious": "eifel", "f_rto": true, "hz": 1000, "rto_granularity": Duration::from_millis(200)
    }))
}

/// Segment 0 was behind segment 6 by seven segments, which is more than three: then the SACK of segment 2 grows the window as well.
#[test]
fn after_reordering_beyond_three_segments_sack_blocks_alone_grow_the_window() {
    let mut pair = linux();
    pair.at(40).deliver([6]);
    assert_eq!(pair.sender.congestion().cwnd(), 10.0);
    pair.deliver([0]);
    assert_eq!(pair.sender.congestion().cwnd(), 11.0);
    pair.deliver([2]);
    assert_eq!(pair.sender.congestion().cwnd(), 12.0);
}

/// Segment 0 was behind segment 2 by three segments.
#[test]
fn reordering_by_three_segments_leaves_growth_to_the_cumulative_acknowledgement() {
    let mut pair = linux();
    pair.at(40).deliver([2, 0]);
    assert_eq!(pair.sender.congestion().cwnd(), 11.0);
    pair.deliver([4]);
    assert_eq!(pair.sender.congestion().cwnd(), 11.0);
}

/// Three segments arrive before segment 0, which is sent again. Then its original comes: the echoed timestamp is older than the
/// retransmission. Nothing else was sent again, so that recovery ends and the window of ten is back, plus one.
#[test]
fn a_late_original_ends_recovery_and_restores_the_window() {
    let mut pair = linux();
    let sent = pair.at(40).deliver([1, 2, 3]);
    assert!(sent.contains(&(0, true)), "{sent:?}");
    assert_eq!(pair.sender.congestion().cwnd(), 5.0);
    pair.at(45).deliver([0]);
    assert_eq!(pair.sender.counters().undone, 1);
    assert_eq!(pair.sender.congestion().cwnd(), 11.0);
}

/// The second SYN is answered, and the window is still ten segments; after a third SYN it is one.
#[test]
fn one_lost_syn_leaves_the_initial_window() {
    let window_after = |tries| {
        let changes = json!({"follows": "linux", "handshake": true, "congestion": {"name": "linux-reno"}, "detection": {"name": "rack-tlp"}});
        let mut sender = Sender::new(&stack(changes), 1, Stream::new(1, Purpose::Congestion, 0));
        sender.write(Time::ZERO, 100);
        let mut now = Time::ZERO;
        for _ in 1..tries {
            assert_eq!(sender.poll_transmit(now), Some(Transmission::Syn));
            now = sender.deadline().expect("the SYN's timer");
            sender.on_deadline(now);
        }
        assert_eq!(sender.poll_transmit(now), Some(Transmission::Syn));
        sender.on_established(now + Duration::from_millis(40));
        sender.congestion().cwnd()
    };
    assert_eq!([1, 2, 3].map(window_after), [10.0, 10.0, 1.0]);
}

/// Recovery of segment 0 ends with segment 11, the last one sent before it began. Segment 12, sent within it, is lost as well. The ACK
/// that ends the recovery finds segment 12 sent again and not delivered: the next recovery begins, with a reduction of its own.
#[test]
fn what_was_lost_within_a_recovery_begins_the_next_one_at_its_end() {
    let mut pair = linux();
    pair.at(40).deliver(1..10);
    assert_eq!(pair.sender.episode(), Episode::Recovery);
    let sent = pair.at(80).deliver([10, 11, 13]);
    assert!(sent.contains(&(12, true)), "{sent:?}");
    let before = pair.sender.congestion().ssthresh();
    pair.at(81).deliver_as([0], true);
    assert_eq!((pair.sender.counters().recoveries, pair.sender.episode()), (2, Episode::Recovery));
    assert!(pair.sender.congestion().ssthresh() < before);
}
