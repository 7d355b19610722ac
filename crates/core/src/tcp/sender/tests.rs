//! The sender's branches of recovery, undo and pacing, one by one. The test delivers segments to a receiver and may lose its ACKs.

use super::super::ack::{AckSpec, ReceiverContext};
use super::super::detection::DetectionSpec;
use super::super::receiver::{DataSegment, Receiver};
use super::*;
use crate::rng::Purpose;
use crate::tcp::receiver::{Ack, SackBlocks};
use crate::units::{Duration, Rate};
use serde_json::json;

mod closing;
mod fast_paths;
mod linux;
mod push;
mod rate_samples;
mod reduction;
mod timer;
mod wakes;
mod window_use;

fn ms(milliseconds: u64) -> Time {
    Time::ZERO + Duration::from_millis(milliseconds)
}

fn stack(changes: serde_json::Value) -> StackSpec {
    let mut stack = json!({
        "name": "", "congestion": {"name": "newreno"}, "slow_start": {"name": "classic"},
        "detection": {"name": "dup-ack"}, "ack": {"name": "immediate"},
        "sack": true, "spurious": "none", "f_rto": false, "limited_transmit": true, "ecn": false, "pacing": false,
        "handshake": false, "mss": 1000, "header": 40, "initial_window": 10, "receive_window": 1_000_000_000,
        "min_rto": Duration::from_millis(200), "max_rto": Duration::from_secs(60),
        "initial_rto": Duration::from_secs(1)
    });
    stack.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    serde_json::from_value(stack).expect("a stack")
}

/// An ACK without SACK blocks and echoes.
fn cumulative_ack(cumulative: u32) -> Ack {
    Ack {
        cumulative,
        sack: SackBlocks::default(),
        echoes_retransmission: false,
        timestamps: None,
        ecn_echo: false,
        accecn: None,
    }
}

/// Both ends of a connection; the test is the network.
struct Pair {
    sender: Sender,
    receiver: Receiver,
    now: Time,
}

impl Pair {
    /// A sender that has a hundred segments to send, and has filled its window at 0 ms.
    fn new(changes: serde_json::Value) -> Pair {
        let mut pair = Pair::idle(changes);
        pair.sender.write(Time::ZERO, 100);
        pair.send();
        pair
    }

    /// A sender that has nothing to send.
    fn idle(changes: serde_json::Value) -> Pair {
        let stack = stack(changes);
        let ack: AckSpec = stack.ack;
        Pair {
            sender: Sender::new(&stack, 1, Stream::new(1, Purpose::Congestion, 0)),
            receiver: Receiver::new(stack.sack, ack.build(ReceiverContext::of_stack(&stack)))
                .with_echo(stack.ecn_echo, stack.mss),
            now: Time::ZERO,
        }
    }

    /// Sends all that may be sent: the segments, those sent again with `true`.
    fn send(&mut self) -> Vec<(u32, bool)> {
        std::iter::from_fn(|| self.sender.poll_transmit(self.now))
            .map(|transmission| match transmission {
                Transmission::Data { segment, retransmission, .. } => (segment, retransmission),
                Transmission::Syn => panic!("no handshake is asked for"),
                Transmission::Answer { .. } => panic!("no ACK is out of date"),
            })
            .collect()
    }

    fn at(&mut self, milliseconds: u64) -> &mut Pair {
        self.now = ms(milliseconds);
        self
    }

    fn arrive(&mut self, segment: u32, retransmission: bool, marked: bool) -> Ack {
        let data = DataSegment { segment, retransmission, marked, window_reduced: false, push: false, timestamp: None };
        self.receiver.on_segment(self.now, &data).expect("acknowledged at once")
    }

    /// Delivers these segments, and the ACK of each at once. Returns the segments sent then.
    fn deliver(&mut self, segments: impl IntoIterator<Item = u32>) -> Vec<(u32, bool)> {
        self.deliver_as(segments, false)
    }

    fn deliver_as(&mut self, segments: impl IntoIterator<Item = u32>, retransmission: bool) -> Vec<(u32, bool)> {
        let mut sent = Vec::new();
        for segment in segments {
            let ack = self.arrive(segment, retransmission, false);
            self.sender.on_ack(self.now, &ack);
            sent.extend(self.send());
        }
        sent
    }

    /// Delivers these segments, and only the ACK of the last one. Sends all that may be sent then.
    fn deliver_by_one_ack(&mut self, segments: impl IntoIterator<Item = u32>) {
        let acks = segments.into_iter().map(|segment| self.arrive(segment, false, false));
        let last = acks.last().expect("some segment");
        self.sender.on_ack(self.now, &last);
        self.send();
    }

    /// Advances to the deadline. Returns the segments sent then.
    fn time_out(&mut self) -> Vec<(u32, bool)> {
        self.now = self.sender.deadline().expect("data is outstanding");
        self.sender.on_deadline(self.now);
        self.send()
    }

    fn cwnd(&self) -> f64 {
        self.sender.congestion.cwnd()
    }
}

#[test]
fn rfc6298_section_5_7_the_backoff_ends_with_a_new_rtt_sample_and_not_before() {
    let mut pair = Pair::new(json!({"initial_window": 1}));
    assert_eq!(pair.time_out(), [(0, true)]); // at 1 s, the initial timeout
    assert_eq!(pair.time_out(), [(0, true)]); // doubled: at 3 s
    assert_eq!(pair.now, ms(3000));
    // The ACK of the retransmission gives no RTT sample (Karn's algorithm): new data still has a timeout of four seconds.
    assert_eq!(pair.at(3100).deliver_as([0], true), [(1, false), (2, false)]);
    assert_eq!(pair.sender.deadline(), Some(ms(3100 + 4000)));
    // The segment of new data gives an RTT of 100 ms: 100 + 4 * 50.
    pair.at(3200).deliver([1]);
    assert_eq!(pair.sender.deadline(), Some(ms(3200 + 300)));
    assert_eq!(pair.sender.counters().timeouts, 2);
}

#[test]
fn rfc5681_section_3_1_ssthresh_stays_when_a_retransmission_times_out_again() {
    let mut pair = Pair::new(json!({}));
    pair.time_out();
    assert_eq!((pair.sender.congestion.ssthresh(), pair.cwnd()), (5.0, 1.0));
    pair.time_out();
    assert_eq!(pair.sender.congestion.ssthresh(), 5.0);
    // An ACK in between makes the next timeout a new one: of 2 in flight (the floor of the threshold is 2).
    pair.now += Duration::from_millis(10);
    pair.deliver_as([0], true);
    pair.time_out();
    assert_eq!(pair.sender.congestion.ssthresh(), 2.0);
}

/// Every ACK acknowledges two segments. RFC 5681 adds two segments for it in slow start and 2 / cwnd after a loss; ns-2 adds one and
/// 1 / cwnd.
#[test]
fn rfc2581_section_3_1_growth_by_acks_ignores_how_many_segments_an_ack_passes() {
    for (follows, slow_start, segments) in [("rfc", 20.0, 2.0), ("ns-2", 15.0, 1.0)] {
        let mut pair = Pair::new(json!({"follows": follows}));
        (0..10).step_by(2).for_each(|first| pair.at(100).deliver_by_one_ack([first, first + 1]));
        assert_eq!(pair.cwnd(), slow_start, "{follows}");
        // 10 is lost; its retransmission repairs the window, which has halved to that of 20 or 15 in flight.
        let next = pair.sender.board.next();
        pair.at(200).deliver(11..next);
        pair.deliver_as([10], true);
        pair.deliver(next..pair.sender.board.next());
        let before = pair.cwnd();
        let next = pair.sender.board.next() - pair.sender.board.outstanding();
        pair.at(300).deliver_by_one_ack([next, next + 1]);
        assert_eq!(pair.cwnd(), before + segments / before, "{follows}");
    }
}

#[test]
fn rfc6582_section_3_2_without_sack_a_partial_ack_resends_the_next_hole() {
    let mut pair = Pair::new(json!({"sack": false, "limited_transmit": false}));
    // 0 and 4 are lost. The third duplicate ACK (from 1, 2, 3) resends 0.
    assert_eq!(pair.at(100).deliver([1, 2]), []);
    assert_eq!(pair.deliver([3]), [(0, true)]);
    assert_eq!(pair.sender.counters().recoveries, 1);
    pair.deliver([5, 6, 7, 8, 9]);
    // The retransmission fills the hole up to 4: a partial ACK, answered by 4 again, in the same episode.
    let sent = pair.at(200).deliver_as([0], true);
    assert_eq!(sent[0], (4, true));
    assert_eq!((pair.sender.counters().recoveries, pair.sender.counters().retransmits), (1, 2));
    assert!(matches!(pair.sender.phase, Phase::Fast { until: 10, .. }));
    pair.at(300).deliver_as([4], true);
    assert_eq!((pair.sender.phase, pair.cwnd()), (Phase::Open, pair.sender.congestion.ssthresh()));
}

#[test]
fn rfc6675_section_5_with_sack_all_holes_go_out_in_one_episode() {
    let mut pair = Pair::new(json!({}));
    // 0 and 4 are lost; limited transmit sends a new segment for each of the first two ACKs (RFC 3042).
    assert_eq!(pair.at(100).deliver([1, 2]), [(10, false), (11, false)]);
    assert_eq!(pair.deliver([3]), [(0, true)]);
    let sent = pair.deliver([5, 6, 7, 8, 9]);
    assert!(sent.contains(&(4, true)), "{sent:?}");
    assert_eq!((pair.sender.counters().recoveries, pair.sender.counters().retransmits), (1, 2));
    assert_eq!(pair.cwnd(), 5.0);
}

/// The ACK that ends recovery passes nine segments and newly reports one. RFC 5681 leaves it out of the growth; Linux counts the one
/// (`tcp_cong_avoid` after `tcp_end_cwnd_reduction`).
#[test]
fn the_ack_that_ends_recovery_grows_the_window_by_what_it_delivers_in_linux_and_by_nothing_else() {
    for (follows, cwnd, sack) in [("rfc", 4.0, true), ("linux", 4.25, true), ("linux", 4.25, false)] {
        let mut pair = Pair::new(json!({"follows": follows, "limited_transmit": false, "sack": sack}));
        pair.at(100).deliver([1, 2, 3, 4, 5, 6, 7, 8, 9]);
        pair.at(200).deliver_as([0], true);
        assert_eq!((pair.sender.phase, pair.cwnd()), (Phase::Open, cwnd), "{follows}, SACK: {sack}");
    }
}

#[test]
fn rfc3042_without_limited_transmit_nothing_new_goes_out_before_recovery() {
    let mut pair = Pair::new(json!({"limited_transmit": false}));
    assert_eq!(pair.at(100).deliver([1, 2]), []);
    assert_eq!(pair.deliver([3])[0], (0, true));
}

#[test]
fn rfc5682_section_3_1_step_3_b_an_original_that_arrives_after_the_timeout_makes_it_spurious() {
    let mut pair = Pair::new(json!({"f_rto": true}));
    assert_eq!(pair.time_out(), [(0, true)]);
    assert_eq!(pair.cwnd(), 1.0);
    // The originals were only late. 0's ACK (either copy's) allows new data (step 2.b), 1's is the proof.
    pair.now += Duration::from_millis(50);
    assert_eq!(pair.deliver([0]), [(10, false), (11, false)]);
    pair.deliver([1]);
    assert_eq!((pair.sender.counters().undone, pair.sender.phase), (1, Phase::Open));
    assert!(pair.cwnd() >= 10.0);
    assert_eq!(pair.sender.board.lost(), 0);
    assert_eq!(pair.sender.counters().retransmits, 1);
}

#[test]
fn rfc5682_section_3_1_step_2_a_a_duplicate_ack_after_the_timeout_ends_the_question() {
    let mut pair = Pair::new(json!({"f_rto": true}));
    pair.time_out();
    pair.now += Duration::from_millis(50);
    // A duplicate without news: the receiver got nothing new.
    pair.sender.on_ack(pair.now, &cumulative_ack(0));
    assert!(matches!(pair.sender.phase, Phase::Timeout { forward: ForwardRto::Off, .. }));
}

#[test]
fn rfc5682_section_3_1_step_3_a_new_data_sacked_first_means_that_the_old_was_lost() {
    let mut pair = Pair::new(json!({"f_rto": true}));
    pair.time_out();
    pair.now += Duration::from_millis(50);
    assert_eq!(pair.deliver_as([0], true), [(10, false), (11, false)]);
    pair.sender.on_ack(pair.now, &cumulative_ack(0)); // an ACK from before says nothing
    assert!(matches!(pair.sender.phase, Phase::Timeout { forward: ForwardRto::ProbingNew, .. }));
    let sent = pair.deliver([10]);
    assert_eq!(sent[0], (1, true), "the conventional recovery goes on");
    assert_eq!(pair.sender.counters().undone, 0);
    assert!(matches!(pair.sender.phase, Phase::Timeout { forward: ForwardRto::Off, .. }));
}

#[test]
fn rfc5682_section_2_1_without_sack_what_had_arrived_before_the_timeout_proves_nothing() {
    let mut pair = Pair::new(json!({"f_rto": true, "sack": false}));
    // 0 and 3 to 9 are lost: 1 and 2 make two duplicate ACKs, which is too few.
    pair.at(100).deliver([1, 2]);
    assert_eq!(pair.time_out(), [(0, true)]);
    // The retransmission's ACK passes 1 and 2 as well. They were not late: they had waited for 0.
    pair.now += Duration::from_millis(100);
    let sent = pair.deliver_as([0], true);
    assert_eq!(pair.sender.counters().undone, 0);
    assert!(sent.iter().all(|(_, again)| !again), "step 2.b: new data, {sent:?}");
    // It arrives beyond the hole: a duplicate ACK, step 3.a.
    pair.now += Duration::from_millis(100);
    let sent = pair.deliver([sent[0].0]);
    assert_eq!(sent[0], (3, true));
    assert_eq!(pair.sender.counters().undone, 0);
}

#[test]
fn rfc5682_section_2_1_without_sack_a_second_ack_that_advances_makes_the_timeout_spurious() {
    let mut pair = Pair::new(json!({"f_rto": true, "sack": false}));
    pair.time_out();
    pair.now += Duration::from_millis(50);
    assert_eq!(pair.deliver([0]), [(10, false), (11, false)]);
    pair.deliver([1]);
    assert_eq!((pair.sender.counters().undone, pair.sender.phase), (1, Phase::Open));
}

/// All is lost. F-RTO answers the first retransmission's ACK with new data, which is lost as well. A timeout within this recovery is
/// not questioned again: its answer lets lost segments go, not new data.
#[test]
fn rfc5682_step_1_a_timeout_in_the_recovery_from_another_is_not_questioned() {
    for sack in [true, false] {
        let mut pair = Pair::new(json!({"f_rto": true, "sack": sack}));
        assert_eq!(pair.time_out(), [(0, true)]);
        pair.now += Duration::from_millis(50);
        assert_eq!(pair.deliver_as([0], true), [(10, false), (11, false)]);
        assert_eq!(pair.time_out(), [(1, true)]);
        pair.now += Duration::from_millis(50);
        assert_eq!(pair.deliver_as([1], true), [(2, true), (3, true)], "SACK: {sack}");
    }
}

/// The retransmission of 0 is lost in fast recovery. With SACK, RecoveryPoint is above SND.UNA at the timeout. Without, only a recovery
/// from a timeout counts.
#[test]
fn rfc5682_section_3_1_step_1_with_sack_a_timeout_in_fast_recovery_is_not_questioned() {
    for (sack, asks) in [(true, false), (false, true)] {
        let mut pair = Pair::new(json!({"f_rto": true, "sack": sack}));
        pair.at(100).deliver([1, 2, 3]);
        assert_eq!(pair.sender.episode(), Episode::Recovery);
        assert_eq!(pair.time_out(), [(0, true)]);
        pair.now += Duration::from_millis(50);
        let sent = pair.deliver_as([0], true);
        assert_eq!(sent.iter().all(|(_, again)| !again), asks, "SACK: {sack}, {sent:?}");
    }
}

#[test]
fn rfc3708_when_every_retransmission_is_reported_as_a_duplicate_the_reduction_is_taken_back() {
    let mut pair = Pair::new(json!({"spurious": "dsack"}));
    // 0 and 1 are only late.
    pair.at(100).deliver([2, 3, 4]);
    pair.deliver([5, 6, 7]);
    assert_eq!((pair.sender.counters().recoveries, pair.sender.counters().retransmits), (1, 2));
    pair.at(120).deliver([0, 1, 8, 9]);
    assert_eq!(pair.cwnd(), 5.0);
    pair.at(200).deliver_as([0], true);
    assert_eq!(pair.sender.counters().undone, 0, "one of two");
    pair.deliver_as([1], true);
    assert_eq!(pair.sender.counters().undone, 1);
    assert!(pair.cwnd() >= 10.0);
}

#[test]
fn rfc3708_a_retransmission_that_was_needed_forbids_the_undo() {
    let mut pair = Pair::new(json!({"spurious": "dsack"}));
    // 0 is late, 1 is lost.
    pair.at(100).deliver([2, 3, 4, 5, 6, 7]);
    pair.at(120).deliver([0, 8, 9]);
    pair.at(200).deliver_as([0, 1], true);
    assert_eq!(pair.sender.counters().undone, 0);
    assert_eq!(pair.cwnd(), 5.0);
}

#[test]
fn rfc3522_an_echo_of_the_original_takes_the_reduction_back() {
    let mut pair = Pair::new(json!({"spurious": "eifel"}));
    pair.at(100).deliver([1, 2, 3]);
    assert_eq!(pair.cwnd(), 5.0);
    pair.at(120).deliver([0]);
    assert_eq!((pair.sender.counters().undone, pair.sender.phase), (1, Phase::Open));
    assert!(pair.cwnd() >= 10.0);
}

#[test]
fn rfc3522_an_echo_of_the_retransmission_confirms_the_loss() {
    let mut pair = Pair::new(json!({"spurious": "eifel"}));
    pair.at(100).deliver([1, 2, 3]);
    pair.at(200).deliver_as([0], true);
    // The late original changes nothing any more.
    pair.at(220).deliver([0]);
    assert_eq!(pair.sender.counters().undone, 0);
    assert_eq!(pair.cwnd(), 5.0);
}

#[test]
fn rfc3522_a_probe_after_the_episode_cannot_take_its_reduction_back() {
    for until_probe in [false, true] {
        let mut pair = Pair::new(json!({"spurious": "eifel", "detection": {"name": "rack-tlp"}}));
        pair.at(100).deliver(0..10);
        pair.sender.close();
        let (una, highest) = (pair.sender.board.una(), pair.sender.board.next() - 1);
        pair.sender.undo_until = if until_probe { highest } else { 5 }; // an episode that ended without an answer
        let before = pair.cwnd();
        pair.at(150).deliver(una..highest);
        assert_eq!(pair.time_out(), [(highest, true)], "a tail loss probe");
        pair.now += Duration::from_millis(5);
        pair.deliver([highest]); // its original was only late
        assert_eq!(pair.sender.counters().undone, 0);
        assert!(pair.cwnd() >= before);
    }
}

/// Segment 0 is so late that every detector retransmits it. Then the original arrives, and the retransmission after it. For every
/// detector, by ACKs or by time: DSACK and Eifel undo the reduction, and without them it stays.
#[test]
fn every_detector_combines_with_every_answer_to_a_spurious_retransmission() {
    for detection in DetectionSpec::describe() {
        for (spurious, undone) in [("none", 0), ("dsack", 1), ("eifel", 1)] {
            let name = detection.name;
            let mut pair = Pair::new(json!({"detection": {"name": name}, "spurious": spurious}));
            pair.sender.close();
            let before = pair.cwnd();
            let mut sent = pair.at(100).deliver(1..10);
            while sent.is_empty() {
                sent = pair.time_out();
            }
            assert_eq!(sent, [(0, true)], "{name}");
            assert!(pair.cwnd() < before, "{name}, {spurious}");
            pair.deliver([0]);
            pair.now += Duration::from_millis(50);
            pair.deliver_as([0], true);
            assert_eq!(pair.sender.counters().undone, undone, "{name}, {spurious}");
            assert_eq!(pair.cwnd() >= before, undone == 1, "{name}, {spurious}: {}", pair.cwnd());
        }
    }
}

/// Segments 0 and 4 are lost, and only one of five segments above 4 arrives before the timeout. The timeout is undone because 1 to 3
/// were late. The threshold detects the loss of 4 when three segments above it are sacked, long before the timer.
#[test]
fn rfc5682_after_a_timeout_taken_back_the_threshold_judges_what_it_had_not() {
    let mut pair = Pair::new(json!({"f_rto": true}));
    assert_eq!(pair.time_out(), [(0, true)]);
    pair.now += Duration::from_millis(50);
    pair.deliver_as([0], true);
    pair.deliver([1]);
    assert_eq!((pair.sender.counters().undone, pair.sender.phase), (1, Phase::Open));
    pair.deliver([2, 3, 5, 6]);
    assert_eq!(pair.sender.counters().retransmits, 1);
    let sent = pair.deliver([7]);
    assert!(sent.contains(&(4, true)), "{sent:?}");
    assert_eq!(pair.sender.counters().timeouts, 1);
}

/// RFC 4653 section 3.3: a careful sender sends a segment for every second report. It counts the loss as one of the whole window.
#[test]
fn rfc4653_a_careful_detector_withholds_every_second_segment_and_the_window_halves() {
    let mut pair = Pair::new(json!({"detection": {"name": "tcp-ncr"}, "initial_window": 12}));
    pair.now = ms(100);
    let per_ack: Vec<usize> = (1..12).map(|segment| pair.deliver([segment]).len()).collect();
    assert_eq!(per_ack, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    assert_eq!(pair.deliver([12]), [(0, true)]);
    assert_eq!((pair.cwnd(), pair.sender.counters().recoveries), (6.0, 1));
}

/// With nothing in flight no ACK would release a withheld segment. A lost segment is sent at once.
#[test]
fn a_detector_withholds_neither_the_only_segment_nor_a_retransmission() {
    let mut pair = Pair::new(json!({"initial_window": 4}));
    pair.at(100).deliver([0]);
    assert_eq!(pair.deliver([1, 2, 3]).len(), 6);
    pair.sender.withhold(100);
    assert_eq!(pair.deliver([4]).len(), 2, "the next verdict withholds nothing");
    pair.sender.withhold(100);
    assert_eq!(pair.sender.withheld, 100);
    let mut idle = Pair::new(json!({"initial_window": 4}));
    idle.sender.close();
    idle.at(100).deliver(0..4);
    idle.sender.write(ms(150), 1);
    idle.sender.withhold(100);
    assert_eq!(idle.at(150).send(), [(4, false)]);
    let mut lost = Pair::new(json!({}));
    lost.at(100).deliver([1, 2, 3]);
    lost.sender.withhold(100);
    assert_eq!(lost.sender.withheld, 0);
}

#[test]
fn rfc3168_section_6_1_2_the_window_shrinks_once_per_window_of_data() {
    let mut pair = Pair::new(json!({"ecn": true}));
    pair.now = ms(100);
    let mut carriers = Vec::new();
    let mut cwnds = vec![pair.cwnd()];
    // Segment 0 is marked; the receiver echoes it on every ACK until it sees CWR.
    for segment in 0..10 {
        let ack = pair.arrive(segment, false, segment == 0);
        assert!(ack.ecn_echo);
        pair.sender.on_ack(pair.now, &ack);
        while let Some(Transmission::Data { segment, window_reduced, .. }) = pair.sender.poll_transmit(pair.now) {
            if window_reduced {
                carriers.push(segment);
            }
        }
        cwnds.push(pair.cwnd());
    }
    // All ten were sent before the reduction, so that no CWR had reached the receiver: half of ten, and no less.
    assert_eq!(cwnds[1], 5.0);
    assert!(cwnds[1..].iter().all(|cwnd| *cwnd >= 5.0), "{cwnds:?}");
    assert_eq!(carriers, [10], "CWR goes with the first new segment");
    // 10 carries CWR: its ACK echoes no more, unless it is marked itself.
    pair.now = ms(200);
    let data = DataSegment {
        segment: 10,
        retransmission: false,
        marked: true,
        window_reduced: true,
        push: false,
        timestamp: None,
    };
    let ack = pair.receiver.on_segment(pair.now, &data).unwrap();
    let before = pair.cwnd();
    pair.sender.on_ack(pair.now, &ack);
    assert!(pair.cwnd() < before, "a mark in the next window is answered anew");
}

#[test]
fn rfc3168_section_6_1_2_a_loss_and_a_mark_of_one_window_are_one_congestion() {
    let mut pair = Pair::new(json!({"ecn": true}));
    pair.now = ms(100);
    // 0 is lost, 1 is marked after the loss was seen: the echo comes from the ACK of 9 on.
    pair.deliver([1, 2, 3]);
    assert_eq!(pair.cwnd(), 5.0);
    let mut carriers = Vec::new();
    for segment in 4..10 {
        let ack = pair.arrive(segment, false, segment == 9);
        pair.sender.on_ack(pair.now, &ack);
        while let Some(Transmission::Data { segment, window_reduced, .. }) = pair.sender.poll_transmit(pair.now) {
            carriers.extend(window_reduced.then_some(segment));
        }
    }
    pair.now = ms(200);
    let ack = pair.arrive(0, true, false);
    assert!(ack.ecn_echo, "no CWR has arrived yet");
    pair.sender.on_ack(pair.now, &ack);
    assert_eq!(pair.cwnd(), 5.0);
    assert_eq!(pair.sender.counters().recoveries, 1);
    assert_eq!(carriers.len(), 1, "the first new segment after the reduction carries CWR: {carriers:?}");
}

#[test]
fn without_ecn_no_segment_carries_cwr() {
    let mut pair = Pair::new(json!({}));
    pair.now = ms(100);
    for segment in 1..10 {
        let ack = pair.arrive(segment, false, false);
        pair.sender.on_ack(pair.now, &ack);
        while let Some(transmission) = pair.sender.poll_transmit(pair.now) {
            assert!(!matches!(transmission, Transmission::Data { window_reduced: true, .. }));
        }
    }
    assert_eq!(pair.sender.counters().recoveries, 1);
}

#[test]
fn pacing_wakes_the_sender_when_the_next_segment_is_due_and_not_before() {
    let mut pair = Pair::new(json!({"pacing": true, "initial_window": 4}));
    // No RTT yet: the initial window goes out at once.
    assert_eq!(pair.sender.board.next(), 4);
    let sent = pair.at(100).deliver([0]);
    // SRTT 100 ms, cwnd 5 in slow start: 2 * 5 segments per 100 ms, one every 10 ms.
    assert_eq!(sent, [(4, false)]);
    assert_eq!(pair.sender.deadline(), Some(ms(110)));
    pair.at(109);
    pair.sender.on_deadline(pair.now);
    assert_eq!(pair.send(), []);
    assert_eq!(pair.sender.deadline(), Some(ms(110)));
    assert_eq!(pair.time_out(), [(5, false)]);
    assert_eq!(pair.now, ms(110));
    // The window is full. Only the retransmission timer remains, 100 + 4 * 50 after the last progress.
    assert_eq!(pair.sender.deadline(), Some(ms(400)));
}

#[test]
fn a_quantum_of_linux_is_sent_at_once_and_a_late_one_halves_the_wait() {
    let mut pair = Pair::new(json!({"pacing": true, "follows": "linux", "initial_window": 19}));
    // SRTT 100 ms, cwnd 20 in slow start: 2 * 20 segments per 100 ms, a pair every 5 ms.
    assert_eq!(pair.at(100).deliver([0]), [(19, false), (20, false)]);
    assert_eq!(pair.deliver([1]), []);
    assert_eq!(pair.sender.deadline(), Some(Time::ZERO + Duration::from_micros(102_500)));
    assert_eq!(pair.time_out(), [(21, false), (22, false)]);
    // On time now, and cwnd 21: 2 / (2 * 21) of 100 ms later.
    assert_eq!(pair.deliver([2]), []);
    let wait = pair.sender.deadline().unwrap() - pair.now;
    assert!(wait > Duration::from_micros(4700) && wait < Duration::from_micros(4800), "{wait}");
}

/// In recovery the window is less than half of the 20 segments outstanding. Linux paces what is outstanding, if that is more
/// (`tcp_update_pacing_rate`): 1.2 times 20 packets of 1040 bytes in 100 ms.
#[test]
fn linux_paces_by_what_is_outstanding_while_that_exceeds_the_window() {
    let mut pair =
        Pair::new(json!({"pacing": true, "follows": "linux", "initial_window": 20, "limited_transmit": false}));
    pair.now = ms(100);
    for segment in [1, 2, 3] {
        let ack = pair.arrive(segment, false, false);
        pair.sender.on_ack(pair.now, &ack);
    }
    assert_eq!((pair.sender.episode(), pair.cwnd(), pair.sender.board.outstanding()), (Episode::Recovery, 9.0, 20));
    assert_eq!(pair.sender.pacing_rate(), Some(Rate(12 * 2 * 1040 * 8 * 10)));
}

/// SRTT 100 ms, cwnd 402 in slow start: 8040 segments of 1000 bytes a second, 7.9 in 1/1024 s. With headers they would be 8.2.
#[test]
fn a_quantum_of_linux_is_counted_in_payload() {
    let mut pair = Pair::idle(json!({"pacing": true, "follows": "linux", "initial_window": 400}));
    pair.sender.write(Time::ZERO, 1000);
    pair.send();
    pair.at(100).deliver_by_one_ack(0..4);
    assert_eq!(pair.cwnd(), 402.0);
    pair.deliver_by_one_ack(4..8);
    assert_eq!(pair.sender.board.next(), 400 + 7);
}

#[test]
fn an_application_that_leaves_the_window_open_does_not_make_it_grow() {
    let mut pair = Pair::new(json!({"congestion": {"name": "newreno"}}));
    pair.sender.close();
    pair.at(100).deliver(0..10);
    let grown = pair.cwnd();
    assert!(pair.sender.is_done());
    for round in 2..20 {
        pair.sender.write(ms(round * 100 - 50), 1);
        pair.at(round * 100 - 50).send();
        let next = pair.sender.board.una();
        pair.at(round * 100).deliver([next]);
    }
    assert_eq!(pair.cwnd(), grown);
}

#[test]
fn rfc5681_section_4_1_an_idle_time_of_more_than_an_rto_restarts_from_the_initial_window() {
    let mut pair = Pair::new(json!({}));
    pair.sender.close();
    pair.at(100).deliver(0..10);
    assert!(pair.cwnd() > 10.0);
    let before = pair.cwnd();
    pair.sender.write(ms(190), 1); // 190 ms after the last segment; the RTO is 200 ms, the least
    assert_eq!(pair.cwnd(), before);
    pair.sender.close();
    pair.sender.write(ms(2000), 1);
    assert_eq!(pair.cwnd(), 10.0);
}

#[test]
fn the_receive_window_bounds_what_is_outstanding_and_the_growth() {
    let mut pair = Pair::new(json!({"receive_window": 4000, "initial_window": 10}));
    assert_eq!(pair.sender.board.next(), 4);
    assert_eq!(pair.at(100).deliver([1, 2, 3]).iter().filter(|(_, again)| !again).count(), 0);
    let mut pair = Pair::new(json!({"receive_window": 4000, "initial_window": 10}));
    for segment in 0..50 {
        pair.at(100 + u64::from(segment)).deliver([segment]);
    }
    assert_eq!(pair.cwnd(), 10.0, "the receive window is the limit, not cwnd");
}

#[test]
fn rfc6298_section_5_7_a_syn_sent_twice_gives_no_rtt_and_its_timeout_doubles() {
    let stack = stack(json!({"handshake": true}));
    let mut sender = Sender::new(&stack, 1, Stream::new(1, Purpose::Congestion, 0));
    sender.write(Time::ZERO, 5);
    assert_eq!(sender.poll_transmit(Time::ZERO), Some(Transmission::Syn));
    assert_eq!(sender.poll_transmit(Time::ZERO), None);
    assert_eq!(sender.deadline(), Some(ms(1000)));
    sender.on_deadline(ms(1000));
    assert_eq!(sender.poll_transmit(ms(1000)), Some(Transmission::Syn));
    assert_eq!(sender.deadline(), Some(ms(3000)));
    sender.on_established(ms(1040), Some(1));
    assert_eq!((sender.rtt.samples(), sender.counters().timeouts), (0, 1));
    assert_eq!(sender.rtt.rto(), Duration::from_secs(3));
    assert!(matches!(sender.poll_transmit(ms(1040)), Some(Transmission::Data { segment: 0, .. })));
    assert_eq!(sender.poll_transmit(ms(1040)), None, "RFC 5681 section 3.1: one segment after a lost SYN");
    sender.on_established(ms(1050), Some(0)); // the other SYN-ACK
    assert_eq!(sender.rtt.samples(), 0);
}

/// One segment after a lost SYN. Linux forgives one of them. BBR's least window is four segments, from the first ACK on.
#[test]
fn rfc5681_section_3_1_bbr_begins_with_one_segment_after_a_lost_syn_too() {
    for (congestion, follows, lost) in
        [("newreno", "rfc", 1), ("bbr", "rfc", 1), ("bbr3", "rfc", 1), ("linux-bbr", "linux", 2)]
    {
        let mut pair =
            Pair::idle(json!({"congestion": {"name": congestion}, "follows": follows, "handshake": true, "hz": 1000}));
        pair.sender.write(Time::ZERO, 100);
        for _ in 0..lost {
            assert_eq!(pair.sender.poll_transmit(pair.now), Some(Transmission::Syn));
            pair.now = pair.sender.deadline().unwrap();
            pair.sender.on_deadline(pair.now);
        }
        assert_eq!(pair.sender.poll_transmit(pair.now), Some(Transmission::Syn));
        pair.now += Duration::from_millis(100);
        pair.sender.on_established(pair.now, Some(lost));
        assert_eq!((pair.sender.window(), pair.send()), (1, vec![(0, false)]), "{congestion}");
        pair.now += Duration::from_millis(100);
        pair.deliver([0]);
        assert!(pair.sender.window() <= 4, "{congestion}: {}", pair.sender.window());
    }
}

#[test]
fn the_last_ack_may_be_lost_and_the_flow_still_ends() {
    let mut pair = Pair::new(json!({}));
    pair.sender.close();
    pair.at(100).deliver(0..9);
    pair.arrive(9, false, false); // its ACK is lost
    assert!(!pair.sender.is_done());
    assert_eq!(pair.time_out(), [(9, true)]);
    pair.now += Duration::from_millis(100);
    pair.deliver_as([9], true);
    assert!(pair.sender.is_done());
    assert_eq!(pair.sender.deadline(), None);
}
