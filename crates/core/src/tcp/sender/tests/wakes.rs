//! Deadlines of a sender, and the cheaper answers about them.

use super::*;

/// Applies a condition to each of these times in milliseconds.
fn which<const N: usize>(instants: [u64; N], mut is_so: impl FnMut(Time) -> bool) -> [bool; N] {
    instants.map(|at| is_so(ms(at)))
}

/// The first ACK arrives at 100 ms. SRTT is 100 ms, RTTVAR 50 ms and the RTO 300 ms. The RTO is at least 200 ms for any later samples.
#[test]
fn rfc6298_section_2_the_timer_is_not_due_before_the_rto() {
    let mut pair = Pair::new(json!({}));
    assert_eq!(which([1, 1000, 1001], |at| pair.sender.no_deadline_before(at)), [true, true, false]);
    assert!(!pair.sender.quiet_until(ms(1)), "the RTO is not bounded before a sample");
    pair.at(100).deliver([0]);
    assert_eq!(which([300, 301], |at| pair.sender.quiet_until(at)), [true, false]);
    assert_eq!(which([301, 400, 401], |at| pair.sender.no_deadline_before(at)), [true, true, false]);
}

#[test]
fn before_the_connection_stands_the_syns_timer_is_the_only_one() {
    let mut sender = Sender::new(&stack(json!({"handshake": true})), 1, Stream::new(1, Purpose::Congestion, 0));
    assert!(sender.poll_transmit(ms(0)).is_some());
    assert!(!sender.quiet_until(ms(1)) && !sender.is_paced_to(ms(2000)) && !sender.takes_bursts());
    assert_eq!(which([1000, 1001], |at| sender.no_deadline_before(at)), [true, false]);
    sender.on_established(ms(50), Some(0));
    assert!(sender.takes_bursts());
}

/// cwnd is 5 in slow start: two windows per RTT, a segment each 10 ms.
#[test]
fn a_paced_sender_is_due_at_its_next_segment_until_the_timer_may_be_due_too() {
    let mut pair = Pair::new(json!({"pacing": true, "initial_window": 4}));
    assert!(!pair.sender.is_paced_to(ms(50)) && !pair.sender.takes_bursts());
    assert_eq!(pair.at(100).deliver([0]), [(4, false)]);
    assert_eq!(which([109, 110, 299, 300], |at| pair.sender.is_paced_to(at)), [false, true, true, false]);
    assert_eq!(which([110, 111], |at| pair.sender.quiet_until(at)), [true, false]);
    assert_eq!(which([109, 110], |at| pair.sender.is_held_back(at)), [true, false]);
    assert_eq!(pair.at(110).send(), [(5, false)]);
    assert!(!pair.sender.is_paced_to(ms(120)), "the window is full");
    assert_eq!(pair.sender.deadline(), Some(ms(400)));
}

#[test]
fn after_an_ack_that_advances_there_is_a_least_rto_without_deadlines_or_the_detector_tells() {
    let quiet = |changes| {
        let sender = Pair::new(changes).sender;
        (sender.detector_learns(), [200, 201].map(|time| sender.stays_quiet_after_advance(Duration::from_millis(time))))
    };
    assert_eq!(quiet(json!({"detection": {"name": "dup-ack"}})), (false, [true, false]));
    assert_eq!(quiet(json!({"detection": {"name": "rack-tlp"}})), (true, [true, true]));
    assert_eq!(quiet(json!({"detection": {"name": "tcp-ba"}})), (false, [false, false]), "it may wait for a time");
    assert_eq!(
        quiet(json!({"detection": {"name": "rack-tlp"}, "congestion": {"name": "bbr"}})),
        (false, [false, false]),
        "BBR learns as well"
    );
}

/// Linux paces at twice the window per SRTT while cwnd is below half of ssthresh, and at 1.2 times after (`tcp_update_pacing_rate`). A
/// segment has 1040 bytes.
#[test]
fn the_pacing_rate_follows_slow_start_up_to_half_the_threshold() {
    let mut pair = Pair::new(json!({"pacing": true, "initial_window": 19}));
    assert_eq!(pair.sender.pacing_rate(), None, "no RTT");
    pair.at(100).deliver([0]);
    let windows_per_rtt = |pair: &Pair| pair.sender.pacing_rate().unwrap().0 as f64 * 0.1 / 8320.0 / pair.cwnd();
    assert!((windows_per_rtt(&pair) - 2.0).abs() < 1e-6);
    pair.time_out();
    pair.time_out();
    let mut factors = Vec::new();
    while pair.cwnd() < pair.sender.congestion.ssthresh() {
        factors.push((pair.cwnd(), windows_per_rtt(&pair)));
        let next = pair.sender.board.una();
        pair.now += Duration::from_millis(100);
        pair.deliver_as([next], true);
    }
    assert!(factors.iter().any(|(cwnd, _)| *cwnd == pair.sender.congestion.ssthresh() / 2.0), "{factors:?}");
    for (cwnd, factor) in factors {
        let expected = if cwnd < pair.sender.congestion.ssthresh() / 2.0 { 2.0 } else { 1.2 };
        assert!((factor - expected).abs() < 1e-6, "{factor} at {cwnd}");
    }
}

/// The tenth transmission is the first that pacing delays. SRTT is 100 ms and cwnd 7 in slow start: a pair every 100 / 7 ms.
#[test]
fn linux_paces_from_the_tenth_segment_on() {
    let mut pair = Pair::new(json!({"pacing": true, "follows": "linux", "initial_window": 4}));
    assert_eq!(pair.at(100).deliver([0, 1, 2]).len(), 6);
    assert_eq!((pair.sender.board.next(), pair.deliver([3])), (10, vec![]));
    let wait = (pair.sender.deadline().unwrap() - pair.now).as_secs();
    assert!((wait - 0.1 / 7.0).abs() < 1e-9, "{wait}");
}

/// Senders of one stack keep their settings once; no sender takes those of another stack, be it the switches or the timer that differ.
#[test]
fn only_senders_of_equal_settings_share_them() {
    let sender = |changes| Sender::new(&stack(changes), 1, Stream::new(1, Purpose::Congestion, 0));
    let mut common = None;
    let mut first = sender(json!({}));
    first.share_settings(&mut common);
    let mut same = sender(json!({}));
    same.share_settings(&mut common);
    assert!(std::sync::Arc::ptr_eq(&first.options, &same.options));
    for changes in [json!({"ecn": true}), json!({"min_rto": Duration::from_millis(300)})] {
        let mut other = sender(changes.clone());
        let (options, bounds) = (other.options.clone(), other.rtt.bounds_mut().clone());
        other.share_settings(&mut common);
        assert!(std::sync::Arc::ptr_eq(&other.options, &options) && *other.rtt.bounds_mut() == bounds, "{changes}");
        let mut alike = sender(changes);
        alike.share_settings(&mut common);
        assert!(std::sync::Arc::ptr_eq(&other.options, &alike.options));
    }
}

/// Pacing allows the next segment at 110 ms, but there is none.
#[test]
fn a_paced_sender_without_data_waits_for_the_timer_only() {
    let mut pair = Pair::new(json!({"pacing": true, "initial_window": 4}));
    pair.sender.close();
    pair.sender.write(ms(50), 1);
    assert_eq!(pair.at(100).deliver([0]), [(4, false)]);
    assert_eq!((pair.sender.deadline(), pair.sender.is_paced_to(ms(110))), (Some(ms(400)), false));
}
