//! Proportional rate reduction over a round trip, and controls without it.

use super::*;

/// Delivers segments 0 to 9, the first one marked. Returns the number of segments sent for each ACK.
fn sent_per_ack_after_a_mark(pair: &mut Pair) -> Vec<usize> {
    pair.now = ms(100);
    (0..10)
        .map(|segment| {
            let ack = pair.arrive(segment, false, segment == 0);
            pair.sender.on_ack(pair.now, &ack);
            pair.send().len()
        })
        .collect()
}

/// Ten are in flight and five allowed: every second ACK sends one segment, until the flight equals the window at the ninth. RFC
/// 6937 is for losses: nothing goes out before the flight has fallen below the window.
#[test]
fn rfc9937_after_a_mark_every_second_ack_sends() {
    let mut pair = Pair::new(json!({"ecn": true, "follows": "linux"}));
    assert_eq!(sent_per_ack_after_a_mark(&mut pair), [1, 0, 1, 0, 1, 0, 1, 0, 0, 1]);
    assert_eq!((pair.cwnd(), pair.sender.board.in_flight(), pair.sender.episode()), (5.0, 5, Episode::Reduction));
    let ack = Ack { ecn_echo: false, ..pair.at(200).arrive(10, false, false) }; // of the first segment sent since, with CWR
    pair.sender.on_ack(pair.now, &ack);
    assert_eq!(pair.sender.episode(), Episode::Open);
    let mut pair = Pair::new(json!({"ecn": true, "follows": "rfc"}));
    assert_eq!(sent_per_ack_after_a_mark(&mut pair), [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
    assert_eq!((pair.cwnd(), pair.sender.episode()), (5.0, Episode::Open));
}

/// The receiver allowed fewer segments than the window of 20, and then opens its own. Linux spreads the reduction to ten over the window,
/// not over the flight. Below ten, an ACK that advances sends one segment more than it delivers, also after a mark (`tcp_cwnd_reduction`).
#[test]
fn linux_reduces_from_its_window_after_a_mark() {
    for (allowed, sent) in [(12, [1, 0, 0, 1]), (8, [2, 2, 1, 1])] {
        let mut pair = Pair::idle(json!({
            "congestion": {"name": "linux-reno"}, "ecn": true, "follows": "linux", "initial_window": 20
        }));
        pair.sender.set_receive_window(allowed);
        pair.sender.write(Time::ZERO, 100);
        pair.send();
        pair.sender.set_receive_window(1000);
        pair.now = ms(100);
        let per_ack: Vec<usize> = (0..4)
            .map(|segment| {
                let ack = pair.arrive(segment, false, segment == 0);
                pair.sender.on_ack(pair.now, &ack);
                pair.send().len()
            })
            .collect();
        assert_eq!(per_ack, sent, "{allowed} in flight");
    }
}

#[test]
fn rfc9937_a_mark_of_the_last_segment_begins_no_reduction() {
    let mut pair = Pair::new(json!({"ecn": true, "follows": "linux"}));
    pair.sender.close();
    pair.at(100).deliver(0..9);
    let ack = pair.arrive(9, false, true);
    pair.sender.on_ack(pair.now, &ack);
    assert_eq!((pair.sender.episode(), pair.sender.board.outstanding()), (Episode::Open, 0));
    assert!(pair.cwnd() < 10.0);
}

#[test]
fn rfc3168_section_6_1_2_a_loss_during_the_reduction_reduces_no_more() {
    let mut pair = Pair::new(json!({"ecn": true, "follows": "linux"}));
    pair.now = ms(100);
    let ack = pair.arrive(0, false, true);
    pair.sender.on_ack(pair.now, &ack);
    pair.send();
    assert_eq!((pair.cwnd(), pair.sender.episode()), (5.0, Episode::Reduction));
    let sent = pair.deliver([2, 3, 4, 5]); // 1 is lost
    assert!(sent.contains(&(1, true)), "{sent:?}");
    assert_eq!((pair.cwnd(), pair.sender.episode()), (5.0, Episode::Recovery));
}

/// Vegas keeps its window below 7 segments where half of the RTT is queue: its target is 2 to 4 segments there. In a recovery it
/// grows as Reno does.
#[test]
fn vegas_goes_on_after_a_reduction_that_begins_no_recovery() {
    let mut marked = Pair::new(json!({"congestion": {"name": "linux-vegas"}, "ecn": true}));
    sent_per_ack_after_a_mark(&mut marked);
    let mut opened = Pair::idle(json!({"congestion": {"name": "linux-vegas"}, "handshake": true}));
    opened.sender.write(Time::ZERO, 100);
    for now in [ms(0), ms(1000)] {
        opened.sender.on_deadline(now);
        assert_eq!(opened.sender.poll_transmit(now), Some(Transmission::Syn));
    }
    opened.sender.on_established(ms(1100), None);
    opened.at(1100).send();
    for pair in [&mut marked, &mut opened] {
        pair.sender.write(pair.now, 1000);
        for round in 0..40 {
            // The first round trips take 100 ms, the others 200.
            pair.now += Duration::from_millis(if round < 4 { 100 } else { 200 });
            pair.deliver(pair.sender.board.una()..pair.sender.board.next());
        }
        assert!(pair.cwnd() < 7.0, "{}", pair.cwnd());
    }
}

/// DCTCP's estimate begins at one. The marked ACK ends the round trip before the flow, so that it falls to 960/1024 before the mark takes 4 of 10
/// segments (`dctcp_update_alpha`). The reduction has come to 9 when segment 1 is lost, and the loss halves that (`dctcp_react_to_loss`).
#[test]
fn rfc8257_section_3_5_dctcp_answers_a_loss_during_the_reduction_too() {
    let mut pair = Pair::new(json!({"congestion": {"name": "linux-dctcp"}, "ecn": true, "follows": "linux"}));
    pair.now = ms(100);
    let ack = pair.arrive(0, false, true);
    pair.sender.on_ack(pair.now, &ack);
    pair.send();
    assert_eq!((pair.cwnd(), pair.sender.episode()), (6.0, Episode::Reduction));
    pair.deliver([2, 3]); // 1 is lost
    assert_eq!((pair.sender.window(), pair.sender.episode()), (9, Episode::Reduction));
    pair.deliver([4]);
    assert_eq!((pair.cwnd(), pair.sender.episode()), (4.0, Episode::Recovery));
}

/// The estimate is zero at first. The marked ACK is the first of the flow, so that it ends a round trip in which all was marked. The estimate becomes 1/16,
/// and the window of ten shrinks by 1/32 of it.
#[test]
fn rfc8257_section_3_3_the_estimate_counts_a_mark_before_the_reduction() {
    let congestion = json!({"name": "dctcp", "initial_alpha": 0.0});
    let mut pair = Pair::new(json!({"congestion": congestion, "ecn": true}));
    let ack = pair.at(100).arrive(0, false, true);
    pair.sender.on_ack(pair.now, &ack);
    assert_eq!(pair.cwnd(), 10.0 * (1.0 - 1.0 / 32.0));
}

/// Seven of ten segments are lost. An ACK arrives that delivers nothing. RFC 6937 section 3.1 still allows one segment for it
/// (`limit = MAX(prr_delivered - prr_out, DeliveredData) + MSS`), RFC 9937 section 6.2 none.
#[test]
fn rfc6937_section_3_1_an_ack_that_delivers_nothing_sends_one_segment_and_by_rfc9937_none() {
    for (follows, sent) in [("rfc", 1), ("linux", 0)] {
        let mut pair = Pair::new(json!({"limited_transmit": false, "follows": follows}));
        pair.at(100).deliver([7, 8, 9]);
        assert_eq!((pair.sender.episode(), pair.sender.window()), (Episode::Recovery, pair.sender.board.in_flight()));
        let ack = Ack { sack: SackBlocks::new(None, &[(7, 10)]), ..cumulative_ack(0) };
        pair.sender.on_ack(pair.now, &ack);
        assert_eq!(pair.send().len(), sent, "{follows}");
    }
}

/// Below the threshold of 4, a SafeACK allows one segment more than it delivers; it advances and reports no further loss. By RFC
/// 6937, every ACK does. Seven of ten segments are lost: first the loss is detected, then retransmissions arrive, the third before
/// the second.
#[test]
fn rfc9937_section_6_2_only_a_safe_ack_sends_more_than_it_delivers() {
    for (follows, sent) in [("rfc", [2, 2, 2, 1]), ("linux", [1, 2, 1, 2])] {
        let mut pair = Pair::new(json!({"limited_transmit": false, "follows": follows}));
        let at_first = pair.at(100).deliver([7, 8, 9]).len();
        let [first, third, second] = [0, 2, 1].map(|segment| pair.at(200).deliver_as([segment], true).len());
        assert_eq!([at_first, first, third, second], sent, "{follows}");
        assert_eq!(pair.sender.congestion.ssthresh(), 4.0);
    }
}

/// BBR sets its window during recovery itself.
#[test]
fn a_congestion_control_that_owns_its_recovery_has_its_own_window_in_it() {
    for congestion in ["bbr", "bbr3"] {
        let mut pair = Pair::new(json!({"congestion": {"name": congestion}}));
        while pair.sender.board.next() < 10 {
            pair.time_out(); // paced
        }
        pair.now += Duration::from_millis(100);
        for segment in [0, 2, 3, 4, 5] {
            pair.deliver([segment]);
            assert_eq!(pair.sender.window(), pair.sender.congestion.window(), "{congestion} after {segment}");
        }
        assert_eq!(pair.sender.episode(), Episode::Recovery);
    }
}

/// CDG measures 40 ms and then 45 ms. It backs off without a loss, and the window of 20 shrinks to 14 over the next round trip.
#[test]
fn a_control_that_backs_off_reduces_the_window_as_after_a_mark() {
    let mut pair = Pair::new(json!({
        "follows": "linux", "congestion": {"name": "linux-cdg", "backoff_factor": 1e6, "hystart": false}, "hz": 1000
    }));
    pair.at(40).deliver([0]);
    pair.at(45).deliver(1..10);
    assert_eq!((pair.sender.episode(), pair.cwnd()), (Episode::Open, 20.0));
    pair.at(85).deliver([10]);
    assert_eq!((pair.sender.episode(), pair.cwnd()), (Episode::Reduction, 14.0));
    assert_eq!(pair.sender.window(), 20);
    pair.at(90).deliver(11..30);
    assert_eq!((pair.sender.window(), pair.sender.counters().retransmits), (14, 0));
}
