//! RACK-TLP against RFC 8985, step by step.

use super::super::script::{Driver, ms, transfer};
use super::super::{DetectionSpec, dup_ack};
use super::*;

fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn detector() -> RackTlp {
    RackTlp::new(Parameters::default(), DetectorContext { sack: true, evidence: false, paths: 1 })
}

/// A flow whose SRTT and minimum RTT are 100 ms (RTTVAR 50 ms) at 100 ms, all acknowledged; then `times` of sending.
fn driver(times: &[u64]) -> Driver {
    let mut driver = Driver::of(&DetectionSpec::RackTlp(Parameters::default()), true);
    driver.send_new();
    driver.now = ms(100);
    driver.acknowledge(1, &[]);
    for at in times {
        driver.now = ms(*at);
        driver.send_new();
    }
    driver
}

#[test]
fn section_6_2_step_4_the_window_is_a_quarter_of_the_minimum_rtt_per_dsack_round_up_to_srtt() {
    assert_eq!(reordering_window(1, millis(100), millis(120)), millis(25));
    assert_eq!(reordering_window(3, millis(100), millis(120)), millis(75));
    assert_eq!(reordering_window(5, millis(100), millis(120)), millis(120));
}

#[test]
fn section_7_2_the_probe_waits_two_srtt_and_for_a_lone_segment_the_delayed_ack() {
    assert_eq!(probe_timeout(millis(100), 2, millis(200)), millis(200));
    assert_eq!(probe_timeout(millis(100), 1, millis(200)), millis(400));
}

#[test]
fn the_minimum_rtt_forgets_what_is_older_than_the_window() {
    let mut minimum = MinimumRtt::new(Duration::from_secs(10));
    assert_eq!(minimum.get(), None);
    for (at, rtt, least) in [(1, 50, 50), (4, 80, 50), (6, 90, 50), (11, 70, 70), (30, 95, 95)] {
        minimum.sample(ms(at * 1000), millis(rtt));
        assert_eq!(minimum.get(), Some(millis(least)), "at {at} s");
    }
}

#[test]
fn the_minimum_rtt_forgets_at_the_end_of_the_window_and_keeps_half_of_it() {
    let after = |at: u64, later: u64| {
        let mut minimum = MinimumRtt::new(Duration::from_secs(10));
        [(0, 50), (at, 70), (later, 90)].into_iter().for_each(|(at, rtt)| minimum.sample(ms(at * 1000), millis(rtt)));
        minimum.get()
    };
    assert_eq!(after(10, 11), Some(millis(70)), "50 is ten seconds old");
    assert_eq!(after(5, 9), Some(millis(50)));
    assert_eq!(after(5, 10), Some(millis(70)), "the second half began at five seconds");
}

/// Section 6.2: segment 1, sent at 100 ms, is lost; the next one is delivered at 210 ms, RTT 100 ms. The reordering timer
/// waits for 100 + RTT + min_RTT/4 = 225 ms.
#[test]
fn section_6_2_one_later_delivery_and_the_reordering_timer_make_a_loss() {
    let mut driver = driver(&[100, 110]);
    driver.now = ms(210);
    driver.acknowledge(1, &[(2, 3)]);
    assert_eq!(driver.deadline(), Some(ms(225)));
    driver.pass_until(ms(230));
    assert_eq!(driver.decisions[0].at, ms(225));
    assert_eq!(driver.decisions[0].lost, [1]);
    assert_eq!(driver.decisions[0].verdict, Verdict::of(Signal::Loss));
}

#[test]
fn a_loss_that_the_reordering_timer_finds_is_no_timeout_in_the_same_instant() {
    let mut driver = driver(&[100, 110]);
    driver.now = ms(210);
    driver.acknowledge(1, &[(2, 3)]);
    driver.now = ms(900); // both timers are due
    driver.serve(ms(225));
    assert_eq!(driver.decisions[0].verdict, Verdict::of(Signal::Loss));
    assert!(driver.deadline() > Some(ms(900)));
}

#[test]
fn section_6_2_step_5_the_timer_waits_for_the_latest_of_several() {
    let mut driver = driver(&[100, 104, 110]);
    driver.now = ms(210);
    driver.acknowledge(1, &[(3, 4)]);
    assert_eq!(driver.deadline(), Some(ms(229))); // 104 + 100 + 25
    driver.pass_until(ms(229));
    assert_eq!(driver.decisions[0].lost, [1, 2]);
}

#[test]
fn section_6_2_step_4_three_sacked_segments_end_the_wait_until_reordering_is_seen() {
    let mut driver = driver(&[100, 101, 102, 103]);
    for (now, segment) in [(201, 2), (202, 3)] {
        driver.now = ms(now);
        driver.acknowledge(1, &[(segment, segment + 1)]);
    }
    assert_eq!(driver.decisions, []);
    driver.now = ms(203);
    driver.acknowledge(1, &[(4, 5)]);
    assert_eq!((driver.decisions[0].at, &driver.decisions[0].lost[..]), (ms(203), &[1][..]));
}

#[test]
fn section_6_2_step_3_reordering_once_seen_keeps_the_wait() {
    let mut driver = driver(&[100, 101, 102, 103, 104]);
    driver.now = ms(203);
    driver.acknowledge(1, &[(4, 5)]);
    driver.now = ms(204);
    driver.acknowledge(1, &[(4, 5), (2, 3)]); // 2 after 4
    driver.now = ms(205);
    driver.acknowledge(1, &[(2, 6)]);
    assert_eq!(driver.decisions, []);
    // RACK.segment is 5, sent at 104, RTT 101: 1 is lost at 100 + 101 + 25.
    driver.pass_until(ms(300));
    assert_eq!((driver.decisions[0].at, &driver.decisions[0].lost[..]), (ms(226), &[1][..]));
}

#[test]
fn section_6_2_step_4_dsacks_widen_once_a_round_and_sixteen_recoveries_without_one_narrow() {
    let mut detector = detector();
    let mut board = Scoreboard::with_sending_order();
    (0..10).for_each(|_| _ = board.send_new(ms(0)));
    detector.on_spurious(ms(1), 0, &board);
    detector.on_spurious(ms(2), 0, &board);
    assert_eq!(detector.multiplier, 2);
    board.acknowledge(10, &[], ms(100));
    detector.on_spurious(ms(100), 0, &board);
    assert_eq!(detector.multiplier, 3);
    for recovery in 1..=16 {
        assert_eq!(detector.multiplier, 3, "recovery {recovery}");
        detector.follow_recovery(true);
        detector.follow_recovery(false);
    }
    assert_eq!(detector.multiplier, 1);
}

/// Section 6.2 step 2: an ACK of a retransmission sooner than the minimum RTT answers the original. It says nothing about
/// segments sent between the two.
#[test]
fn section_6_2_step_2_an_early_answer_to_a_retransmission_is_ignored() {
    let mut detector = detector();
    let retransmitted = |sent| Delivered::retransmission(5, sent);
    detector.min_rtt.sample(ms(0), millis(100));
    detector.update(ms(350), &retransmitted(ms(300)));
    assert_eq!((detector.newest, detector.rtt), ((Time::ZERO, 0), Duration::ZERO));
    detector.update(ms(400), &retransmitted(ms(300)));
    assert_eq!((detector.newest, detector.rtt), ((ms(300), 5), millis(100)));
}

/// If the same ACK delivers originals as well, the last of them represents it.
#[test]
fn section_6_2_step_2_what_was_sent_once_speaks_for_an_early_answer() {
    let mut detector = detector();
    detector.min_rtt.sample(ms(0), millis(100));
    let mut board = Scoreboard::with_sending_order();
    for at in [0, 10, 20] {
        board.send_new(ms(at));
    }
    board.mark_lost(0);
    board.retransmit(0, ms(300));
    detector.update(ms(320), &board.acknowledge(3, &[], ms(320)));
    assert_eq!((detector.newest, detector.rtt), ((ms(20), 2), millis(300)));
}

/// Segment 1 is retransmitted at 50 ms. One ACK delivers segments 0 to 5 at 160 ms. The last transmission is this retransmission, 110
/// ms ago. The highest segment was sent at 0 ms, and Linux takes its RTT. If the highest segment is the retransmission, there is no
/// difference.
#[test]
fn linux_takes_the_rtt_of_the_highest_segment_and_not_of_the_last_sent() {
    for (again, rtt_by_sequence, rtt) in [(1, false, 110), (1, true, 160), (5, false, 110), (5, true, 110)] {
        let parameters = Parameters { rtt_by_sequence, ..Parameters::default() };
        let mut detector = RackTlp::new(parameters, DetectorContext { sack: true, evidence: false, paths: 1 });
        detector.min_rtt.sample(ms(0), millis(100));
        let mut board = Scoreboard::with_sending_order();
        (0..6).for_each(|_| _ = board.send_new(ms(0)));
        board.mark_lost(again);
        board.retransmit(again, ms(50));
        detector.update(ms(160), &board.acknowledge(6, &[], ms(160)));
        assert_eq!((detector.newest, detector.rtt), ((ms(50), again), millis(rtt)), "{again}, {rtt_by_sequence}");
    }
}

#[test]
fn the_handshake_counts_for_the_minimum_rtt() {
    let mut detector = detector();
    detector.on_handshake(ms(0), millis(40));
    let mut board = Scoreboard::with_sending_order();
    board.send_new(ms(40));
    detector.update(ms(90), &board.acknowledge(1, &[], ms(90)));
    assert_eq!(detector.min_rtt.get(), Some(millis(40)));
}

/// A predicted ACK at 200 ms makes no segment lost. SRTT is 100 ms: no probe comes before two of them, and no timer before
/// the least RTO.
#[test]
fn after_a_predicted_ack_no_deadline_comes_before_two_srtt_or_the_least_rto() {
    for (least_rto, quiet) in [(200, 400), (150, 350)] {
        let mut detector = detector();
        let mut board = Scoreboard::with_sending_order();
        let mut rtt = RttEstimate::new(millis(least_rto), Duration::from_secs(60), Duration::from_secs(1));
        for at in [100, 110] {
            board.send_new(ms(at));
        }
        assert!(!detector.quiet_until(ms(0), &board, &rtt), "no RTT is known");
        rtt.sample(millis(100));
        board.pass_one_original(1, ms(200)).expect("a predicted ACK");
        assert_eq!(detector.on_predicted_ack(ms(200), ms(100), true, &board, &rtt), Some(ms(quiet)));
        assert_eq!(
            (detector.newest, detector.rtt, detector.min_rtt.get()),
            ((ms(100), 0), millis(100), Some(millis(100)))
        );
        assert_eq!([quiet, quiet + 1].map(|at| detector.quiet_until(ms(at), &board, &rtt)), [true, false]);
        detector.newest = (ms(150), 0); // a retransmission that was sent later was delivered before
        assert_eq!(detector.on_predicted_ack(ms(200), ms(100), true, &board, &rtt), None);
    }
}

/// Of six segments sent from 100 ms on, the first is lost and the last two are late. Section 7.2: no probe is scheduled during
/// recovery or while any segment is sacked. Afterwards a probe is scheduled again.
#[test]
fn section_7_2_no_probe_during_recovery() {
    let mut driver = driver(&[100, 101, 102, 103, 104, 105]);
    driver.now = ms(203);
    driver.acknowledge(1, &[(2, 5)]);
    driver.retransmit();
    driver.now = ms(303);
    driver.acknowledge(5, &[]);
    while driver.retransmit() {}
    assert_eq!((driver.board.sacked(), driver.board.lost(), driver.board.outstanding()), (0, 0, 2));
    assert_eq!(driver.deadline(), Some(ms(303) + driver.rtt.rto()));
    driver.now = ms(403);
    driver.acknowledge(7, &[]);
    (0..2).for_each(|_| driver.send_new());
    let probe = ms(403) + driver.rtt.smoothed().unwrap() * 2;
    assert!(probe < ms(403) + driver.rtt.rto());
    assert_eq!(driver.deadline(), Some(probe));
}

/// The third transmission of segment 3 arrives. RACK marks the lost retransmission too, without a timeout; duplicate ACKs
/// leave it to the retransmission timer.
#[test]
fn a_lost_retransmission_is_found_without_a_timeout() {
    let fate = |segment, nth| (segment != 3 || nth > 1).then_some(millis(80));
    let mut rack = Driver::of(&DetectionSpec::RackTlp(Parameters::default()), true);
    transfer(&mut rack, 60, 10, fate, 1_000);
    let lost: Vec<&[u32]> = rack.decisions.iter().map(|decision| &decision.lost[..]).collect();
    assert_eq!(lost, [&[3], &[3]]);
    assert!(rack.decisions.iter().all(|decision| decision.verdict.signal == Signal::Loss));
    let mut dup_ack = Driver::of(&DetectionSpec::DupAck(dup_ack::Parameters::default()), true);
    transfer(&mut dup_ack, 60, 10, fate, 1_000);
    assert!(dup_ack.decisions.iter().any(|decision| decision.verdict.signal == Signal::Timeout));
}

#[test]
fn section_7_2_the_probe_is_due_two_srtt_after_the_last_sending_and_not_after_the_timer() {
    assert_eq!(driver(&[100, 150]).deadline(), Some(ms(350)));
    assert_eq!(driver(&[100, 250]).deadline(), Some(ms(400))); // RTO: 100 + 100 + 4 * 50
}

/// RFC 8985 section 7.2: no probe in recovery or while segments are SACKed. Then the retransmission timer is next: 100 + 4 * 50
/// after the sending.
#[test]
fn section_7_2_no_probe_comes_while_segments_are_sacked_or_lost() {
    let mut rtt = RttEstimate::new(millis(200), Duration::from_secs(60), Duration::from_secs(1));
    rtt.sample(millis(100));
    let deadline = |change: fn(&mut Scoreboard)| {
        let mut board = Scoreboard::with_sending_order();
        for _ in 0..3 {
            board.send_new(ms(100));
        }
        change(&mut board);
        detector().deadline(&board, &rtt)
    };
    assert_eq!(deadline(|_| {}), Some(ms(300)));
    let sack = |board: &mut Scoreboard| {
        board.acknowledge(0, &[(1, 2)], ms(150));
    };
    assert_eq!(deadline(sack), Some(ms(400)));
    assert_eq!(deadline(|board| board.mark_lost(0)), Some(ms(400)));
}

/// The last segment is lost. The probe, a retransmission, repairs it. The first ACK beyond it claims the loss, because no
/// DSACK reported both copies (section 7.4.2).
#[test]
fn section_7_4_2_a_probe_that_repaired_a_loss_claims_it() {
    let mut driver = driver(&[100]);
    driver.pass_until(ms(400)); // min(100 + 2 * 100 + 200, RTO at 400)
    assert!(driver.decisions[0].verdict.probe);
    driver.probe(false);
    assert_eq!(driver.deadline(), Some(ms(700))); // one probe at a time: the timer, re-armed (section 7.3)
    driver.now = ms(500);
    driver.acknowledge(2, &[]);
    assert_eq!(driver.decisions.len(), 1);
    driver.send_new();
    driver.now = ms(600);
    driver.acknowledge(3, &[]);
    assert_eq!(driver.decisions[1].verdict, Verdict::of(Signal::Loss));
    assert_eq!(driver.decisions[1].lost, [0; 0]);
}

#[test]
fn section_7_4_2_a_probe_that_was_not_needed_claims_nothing() {
    for with_dsack in [true, false] {
        let mut driver = driver(&[100]);
        driver.pass_until(ms(400));
        driver.probe(false);
        driver.now = ms(401);
        driver.acknowledge(2, &[]); // the original's ACK was late
        driver.now = ms(500);
        if with_dsack {
            driver.detector.on_spurious(ms(500), 1, &driver.board);
        } else {
            driver.acknowledge(2, &[]); // a duplicate ACK without SACK
        }
        driver.send_new();
        driver.now = ms(600);
        driver.acknowledge(3, &[]);
        assert_eq!(driver.decisions.len(), 1, "with DSACK: {with_dsack}");
    }
}

#[test]
fn section_7_4_2_a_probe_of_new_data_claims_nothing() {
    let mut driver = driver(&[100]);
    driver.pass_until(ms(400));
    driver.probe(true);
    driver.now = ms(410);
    driver.acknowledge(2, &[]);
    driver.now = ms(500);
    driver.acknowledge(3, &[]);
    assert_eq!(driver.decisions.len(), 1);
}

/// New data follows the probe before its ACK. The probed segment, sent twice, shows that the probe was no new data.
#[test]
fn section_7_4_2_new_data_after_the_probe_is_not_the_probe() {
    let mut driver = driver(&[100]);
    driver.pass_until(ms(400));
    driver.probe(false);
    driver.now = ms(410);
    driver.send_new();
    driver.now = ms(500);
    driver.acknowledge(2, &[]);
    driver.now = ms(510);
    driver.acknowledge(3, &[]);
    assert_eq!(driver.decisions.last().map(|decision| decision.verdict), Some(Verdict::of(Signal::Loss)));
}

/// A probe of new data is answered by its own ACK. Until then no other probe is sent (section 7.3), and only the timer runs.
#[test]
fn section_7_3_one_probe_at_a_time() {
    let mut driver = driver(&[100]);
    driver.pass_until(ms(400));
    driver.probe(true);
    driver.now = ms(410);
    driver.acknowledge(2, &[]);
    assert_eq!(driver.deadline(), Some(ms(410) + driver.rtt.rto()));
    driver.now = ms(500);
    driver.acknowledge(3, &[]);
    (0..2).for_each(|_| driver.send_new());
    let probe = ms(500) + driver.rtt.smoothed().unwrap() * 2;
    assert!(probe < ms(500) + driver.rtt.rto());
    assert_eq!(driver.deadline(), Some(probe));
}

/// A whole tail is lost: the probe's SACK reveals it without a timeout.
#[test]
fn a_probe_turns_a_lost_tail_into_a_recovery() {
    let mut driver = Driver::of(&DetectionSpec::RackTlp(Parameters::default()), true);
    let fate = |segment: u32, nth| (!(25..30).contains(&segment) || nth > 0).then_some(millis(100));
    transfer(&mut driver, 30, 10, fate, 1_000);
    let signals: Vec<Verdict> = driver.decisions.iter().map(|decision| decision.verdict).collect();
    assert_eq!(signals, [Verdict { probe: true, ..Verdict::default() }, Verdict::of(Signal::Loss)]);
    assert_eq!(driver.decisions[1].lost, [25, 26, 27, 28]);
}

/// Section 6.3: when the retransmission timer expires, the first segment is lost. Others are lost if they are older than the
/// RTT and the reordering window; recent ones stay in flight.
#[test]
fn section_6_3_the_timer_spares_what_was_sent_lately() {
    let mut driver = driver(&[100, 120]);
    driver.pass_until(ms(320)); // the probe: 120 + 200
    driver.probe(true);
    driver.now = ms(590);
    driver.send_new();
    driver.pass_until(ms(620)); // the timer, re-armed with the probe: 320 + 300
    assert_eq!((driver.decisions[1].at, &driver.decisions[1].lost[..]), (ms(620), &[1, 2, 3][..]));
    assert_eq!(driver.decisions[1].verdict, Verdict::of(Signal::Timeout));
}
