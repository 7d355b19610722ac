//! Differences of Linux where packets are reordered, compared with worked numbers.

use super::*;
use crate::tcp::congestion::linux::LinuxControl;
use crate::tcp::events::AckEvent;
use crate::tcp::kernel_clock::timestamp;
use crate::tcp::receiver::AckTimestamps;
use std::sync::Mutex;

/// Ten segments at 0 ms over a path of 40 ms.
fn linux() -> Pair {
    Pair::new(json!({
        "follows": "linux", "congestion": {"name": "linux-reno"}, "detection": {"name": "rack-tlp"},
        "spurious": "eifel", "f_rto": true, "hz": 1000, "rto_granularity": Duration::from_millis(200)
    }))
}

/// With segmentation offload, Linux sends at least two paced segments at one instant, without it one.
#[test]
fn without_segmentation_offload_paced_segments_leave_one_by_one() {
    for (offload, at_once) in [(true, 2), (false, 1)] {
        let mut pair = Pair::new(json!({
            "follows": "linux", "congestion": {"name": "linux-reno"}, "pacing": true, "segmentation_offload": offload
        }));
        let sent = pair.at(40).deliver(0..10);
        assert_eq!(sent.len(), at_once, "{sent:?}");
    }
}

/// Segment 0 was behind segment 6 by seven segments, which is more than three: then the SACK of segment 2 grows the window as well.
/// What one buffer carried is sent again in one piece. A segment whose neighbour has arrived is a buffer of its own
/// (`tcp_match_skb_to_sack`, `tcp_xmit_retransmit_queue`), and new segments wait for their turn. The first buffer has half of the initial
/// window of 20 (`tcp_cwnd_test`). BBR then sends pairs.
#[test]
fn linux_sends_again_at_one_instant_what_one_buffer_carried() {
    let sent_after = |arrived: &[u32]| {
        let mut pair = Pair::new(json!({
            "congestion": {"name": "linux-bbr"}, "pacing": true, "follows": "linux", "initial_window": 20, "hz": 1000
        }));
        assert_eq!(pair.sender.scoreboard().next(), 10);
        pair.now = ms(100);
        let acks: Vec<Ack> = arrived.iter().map(|segment| pair.arrive(*segment, false, false)).collect();
        pair.sender.on_ack(pair.now, acks.last().unwrap());
        let mut sent = vec![pair.send()];
        sent.extend((0..2).map(|_| pair.time_out()));
        sent
    };
    let (new, again) = (|segment| (segment, false), |segment| (segment, true));
    let pairs = [vec![again(0), again(1)], vec![new(10), new(11)], vec![new(12), new(13)]];
    assert_eq!(sent_after(&[2, 3, 4, 5, 6, 7, 8, 9]), pairs);
    assert_eq!(sent_after(&[1, 3, 4, 5, 6, 7, 8, 9]), [vec![again(0)], vec![again(2)], vec![new(10), new(11)]]);
}

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

/// Three segments arrive before segment 0, which is retransmitted. Then its original arrives: the echoed timestamp is older than the
/// retransmission. Nothing else was retransmitted, so recovery ends and restores the window of ten, plus one.
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

/// Segment 0 is lost and retransmitted. The ACK of segment 12, which was sent later, overtakes its ACK. That ACK echoes no retransmission,
/// but it does not show that an original was late: the reduction stays.
#[test]
fn an_ack_of_later_data_does_not_take_a_reduction_back() {
    let mut pair = linux();
    pair.at(40).deliver(1..10);
    let sent = pair.send();
    assert!(sent.is_empty(), "{sent:?}");
    let next = pair.sender.scoreboard().next();
    assert!(next > 12, "{next}");
    pair.at(80);
    for segment in std::iter::once(0).chain(10..12) {
        pair.arrive(segment, segment == 0, false);
    }
    pair.deliver([12]);
    assert_eq!((pair.sender.episode(), pair.sender.counters().undone), (Episode::Open, 0));
    assert_eq!(pair.sender.congestion().ssthresh(), 5.0);
}

/// Segment 0 is sent again at 40 ms, and a segment of 42 ms at 84 ms. The repair of 0 ends the first recovery and begins the second, in
/// which the first retransmission is still that of 40 ms (`retrans_stamp`). Then the late original of 42 ms arrives. Its timestamp is
/// not older than 40 ms, so it takes no reduction back (`tcp_packet_delayed`).
#[test]
fn a_late_original_sent_after_the_first_retransmission_takes_no_reduction_back() {
    let mut pair = Pair::new(json!({
        "follows": "linux", "congestion": {"name": "linux-reno"}, "detection": {"name": "rack-tlp"}, "initial_window": 20,
        "spurious": "eifel", "f_rto": true, "hz": 1000, "rto_granularity": Duration::from_millis(200)
    }));
    pair.at(40).deliver(1..10);
    let late = pair.sender.scoreboard().next();
    pair.at(42).deliver(10..20);
    let end = pair.sender.scoreboard().next();
    assert!(end > late + 1, "{late} to {end}");
    let sent = pair.at(84).deliver((20..late).chain(late + 1..end));
    assert!(sent.contains(&(late, true)), "{sent:?}");
    pair.at(85).deliver_as([0], true);
    assert_eq!((pair.sender.scoreboard().una(), pair.sender.counters().recoveries), (late, 2));
    pair.at(86).deliver([late]);
    assert_eq!(pair.sender.counters().undone, 0);
}

/// Segment 0 is sent again at 40 ms. An ACK 5 ms later echoes some retransmission, but not this one: the least RTT is 40 ms. One 45 ms
/// later may.
#[test]
fn an_echo_that_comes_too_soon_gives_no_rtt() {
    for (at, samples) in [(45, 0), (85, 1)] {
        let mut pair = linux();
        pair.at(40).deliver([1, 2, 3]);
        let before = pair.sender.rtt().samples();
        pair.at(at).deliver_as([0], true);
        assert_eq!(pair.sender.rtt().samples() - before, samples, "{at} ms");
        assert_eq!(pair.sender.rtt().minimum(), Some(Duration::from_millis(40)));
    }
}

/// The second SYN is answered, and the window is still ten segments. After a third SYN the window is one segment, unless the first SYN is
/// answered after all. The RTT is that of the SYN that is answered.
#[test]
fn one_lost_syn_leaves_the_initial_window() {
    let window_after = |(tries, echoed)| {
        let changes = json!({"follows": "linux", "handshake": true, "congestion": {"name": "linux-reno"}, "detection": {"name": "rack-tlp"}});
        let mut sender = Sender::new(&stack(changes), 1, Stream::new(1, Purpose::Congestion, 0));
        sender.write(Time::ZERO, 100);
        let (mut now, mut sent) = (Time::ZERO, vec![Time::ZERO]);
        for _ in 1..tries {
            assert_eq!(sender.poll_transmit(now), Some(Transmission::Syn));
            now = sender.deadline().expect("the SYN's timer");
            sender.on_deadline(now);
            sent.push(now);
        }
        assert_eq!(sender.poll_transmit(now), Some(Transmission::Syn));
        now += Duration::from_millis(40);
        sender.on_established(now, Some(echoed));
        assert_eq!(sender.rtt().minimum(), Some(now - sent[echoed as usize]), "{tries} {echoed}");
        sender.congestion().cwnd()
    };
    let cases = [(1, 0), (2, 1), (2, 0), (3, 2), (3, 1), (3, 0)];
    assert_eq!(cases.map(window_after), [10.0, 10.0, 10.0, 1.0, 1.0, 10.0]);
}

/// Four of ten segments have arrived behind segment 0, and CUBIC's window is 7. The retransmission is lost too. Its timeout does not change
/// the threshold, with SACK and without. The same holds after a mark.
#[test]
fn a_timeout_within_a_reduction_reduces_no_further() {
    for changes in [json!({}), json!({"sack": false}), json!({"ecn": true})] {
        let mut stack =
            json!({"follows": "linux", "congestion": {"name": "linux-cubic"}, "detection": {"name": "dup-ack"}});
        stack.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let mut pair = Pair::new(stack);
        if changes == json!({"ecn": true}) {
            let mut ack = cumulative_ack(1);
            ack.ecn_echo = true;
            pair.at(40).sender.on_ack(ms(40), &ack);
        } else {
            pair.at(40).deliver([1, 2, 3, 4]);
        }
        assert_eq!(pair.sender.congestion().ssthresh(), 7.0, "{changes}");
        pair.time_out();
        assert_eq!((pair.sender.congestion().ssthresh(), pair.sender.counters().timeouts), (7.0, 1), "{changes}");
    }
}

/// Without SACK, Linux takes the third duplicate ACK for a loss, and a partial ACK for the next one (`tcp_newreno_mark_lost`). Segments 0
/// and 5 are lost.
#[test]
fn without_sack_rack_gives_way_to_duplicate_acks() {
    let mut pair = Pair::new(json!({
        "follows": "linux", "congestion": {"name": "linux-reno"}, "detection": {"name": "rack-tlp"}, "sack": false, "hz": 1000
    }));
    let sent = pair.at(40).deliver([1, 2]);
    assert!(!sent.iter().any(|(_, again)| *again), "{sent:?}");
    assert!(pair.deliver([3]).contains(&(0, true)));
    pair.deliver([4, 6, 7, 8, 9]);
    assert!(pair.at(80).deliver_as([0], true).contains(&(5, true)));
    assert_eq!((pair.sender.counters().timeouts, pair.sender.counters().retransmits), (0, 2));
}

/// At 250 Hz a second is 250 ticks, which the second level of timers rounds up to 256. The next timeout has 500 ticks, from tick 256 on.
/// The third level rounds up to 64 ticks from 504 on, so that it ends at tick 760.
#[test]
fn the_timer_of_a_syn_counts_ticks_of_the_kernels_clock() {
    let changes = json!({"follows": "linux", "handshake": true, "congestion": {"name": "linux-reno"}});
    let mut sender = Sender::new(&stack(changes), 1, Stream::new(1, Purpose::Congestion, 0));
    sender.write(Time::ZERO, 100);
    let mut now = Time::ZERO;
    for expiry in [1024, 3040] {
        assert_eq!(sender.poll_transmit(now), Some(Transmission::Syn));
        now = sender.deadline().expect("the SYN's timer");
        assert_eq!(now, ms(expiry));
        sender.on_deadline(now);
    }
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

/// A window of ten segments that records the RTTs of ACKs.
struct Recorder(Arc<Mutex<Vec<Option<Duration>>>>);

impl CongestionControl for Recorder {
    fn on_ack(&mut self, ack: &AckEvent, _rtt: &RttEstimate) {
        self.0.lock().unwrap().push(ack.rtt);
    }

    fn on_congestion(&mut self, _event: &CongestionEvent, _rtt: &RttEstimate) {}

    fn cwnd(&self) -> f64 {
        10.0
    }
}

impl LinuxControl for Recorder {}

/// Segment 0 is sent again at 40.1 ms, and its ACK comes 40.8 ms later. By timestamps in whole milliseconds that took 80 - 40 = 40 ms.
/// Linux's controls see it (`tcp_ack_update_rtt`: `rs->rtt_us`). By RFC 6298 and Karn's rule there is none.
#[test]
fn the_control_sees_the_rtt_of_a_retransmission_by_timestamp() {
    for (follows, seen) in [("linux", Some(Duration::from_millis(40))), ("rfc", None)] {
        let mut pair = Pair::idle(json!({"follows": follows, "hz": 1000}));
        let rtts = Arc::default();
        pair.sender.congestion = CachedControl::new(Box::new(Recorder(Arc::clone(&rtts))));
        pair.sender.write(Time::ZERO, 100);
        pair.send();
        pair.now = Time::ZERO + Duration::from_micros(40_100);
        assert!(pair.deliver(1..4).contains(&(0, true)));
        pair.now += Duration::from_micros(40_800);
        pair.deliver_as([0], true);
        assert_eq!(*rtts.lock().unwrap().last().unwrap(), seen, "{follows}");
    }
}

/// ACKs of 40 ms are overtaken by one of 45 ms. Their timestamps are older by more than one tick, so they are discarded. The first is answered,
/// by an ACK before the next new segment; others not within half a second (`tcp_oow_rate_limited`).
#[test]
fn an_ack_with_an_older_timestamp_than_the_newest_is_answered_once_in_half_a_second() {
    let mut pair = linux();
    let stamped = |cumulative, sent| Ack {
        timestamps: Some(AckTimestamps { sent: timestamp(ms(sent)), echoed: None }),
        ..cumulative_ack(cumulative)
    };
    pair.now = ms(45);
    pair.sender.on_ack(pair.now, &stamped(4, 45));
    pair.send();
    let mut answers = |now, ack: &Ack| {
        pair.now = ms(now);
        pair.sender.on_ack(pair.now, ack);
        std::iter::from_fn(|| pair.sender.poll_transmit(pair.now))
            .filter_map(|sent| if let Transmission::Answer { segment } = sent { Some(segment) } else { None })
            .collect::<Vec<_>>()
    };
    assert_eq!(answers(46, &stamped(2, 40)), [18], "four acknowledged, a window of 14");
    assert!(answers(47, &stamped(2, 40)).is_empty());
    assert!(answers(47, &stamped(2, 44)).is_empty(), "one tick older is no reason");
    assert_eq!(answers(546, &stamped(2, 40)), [18]);
}
