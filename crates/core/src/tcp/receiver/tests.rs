//! The receiver against the RFCs, and against a set of segments.

use super::super::ack::{AckSpec, ReceiverContext, delayed, immediate, quick_ack};
use super::*;
use crate::units::Duration;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn receiver() -> Receiver {
    Receiver::new(true, AckSpec::Immediate(immediate::Parameters::default()).build(ReceiverContext::of_window(100)))
}

/// A segment that is sent once.
fn data(segment: u32) -> DataSegment {
    DataSegment { segment, retransmission: false, marked: false, window_reduced: false, push: false, timestamp: None }
}

fn take(receiver: &mut Receiver, segment: u32) -> Ack {
    receiver.on_segment(Time(1), &data(segment)).expect("the immediate policy answers every segment")
}

#[test]
fn rfc2018_section_4_the_newest_block_comes_first() {
    let mut receiver = receiver();
    for segment in [0, 2, 4, 6] {
        take(&mut receiver, segment);
    }
    let ack = take(&mut receiver, 8);
    assert_eq!((ack.cumulative, ack.sack.held()), (1, &[(8, 9), (6, 7), (4, 5)][..]));
    assert_eq!(take(&mut receiver, 3).sack.held(), [(2, 5), (8, 9), (6, 7)]);
    assert_eq!(take(&mut receiver, 1).cumulative, 5);
}

#[test]
fn rfc2883_section_4_a_duplicate_is_reported_first() {
    let mut receiver = receiver();
    take(&mut receiver, 0);
    take(&mut receiver, 2);
    let ack = take(&mut receiver, 0);
    assert_eq!((ack.sack.duplicate(), ack.sack.held()), (Some((0, 1)), &[(2, 3)][..]));
    assert_eq!(take(&mut receiver, 3).sack.duplicate(), None);
}

/// Every second of many segments is lost, within the time for which Linux's receiver compresses ACKs. An ACK has three blocks. Each
/// held segment must be in one of them; otherwise the sender would take it for lost.
#[test]
fn a_compressed_ack_goes_before_it_lacks_a_block() {
    let parameters = quick_ack::Parameters {
        quick: 2,
        growing: 0,
        compression: Duration::from_millis(1),
        ..quick_ack::Parameters::default()
    };
    let policy = AckSpec::QuickAck(parameters).build(ReceiverContext::of_window(100));
    let mut receiver = Receiver::new(true, policy);
    let mut reported = BTreeSet::new();
    let mut answered = Vec::new();
    for segment in (0..10).chain((11..60).step_by(2)) {
        if let Some(ack) = receiver.on_segment(Time(u64::from(segment)), &data(segment)) {
            answered.push(segment);
            reported.extend(ack.sack.held().iter().flat_map(|(start, end)| *start..*end));
        }
    }
    // Three at once; then every second arrival brings the ACK of the two before it.
    assert_eq!(answered[answered.len() - 6..], [39, 43, 47, 51, 55, 59]);
    reported.extend(receiver.acknowledge(Time(60)).sack.held().iter().flat_map(|(start, end)| *start..*end));
    assert_eq!(reported, (11..60).step_by(2).collect());
}

/// Segments 10, 12, 14 and 16 are missing, and ACKs are compressed. A copy of 17 waits as well (`tcp_data_queue_ofo`). Linux's sender
/// recognises the copy only within the second block (`tcp_check_dsack`): not if 14 has joined two other blocks in the meantime.
#[test]
fn a_copy_of_a_held_segment_waits_in_linux_and_may_go_unnoticed() {
    let parameters = quick_ack::Parameters {
        quick: 2,
        growing: 0,
        compression: Duration::from_millis(1),
        ..quick_ack::Parameters::default()
    };
    let policy = AckSpec::QuickAck(parameters).build(ReceiverContext::of_window(100));
    let mut receiver = Receiver::new(true, policy).with_timestamps();
    let waits = |receiver: &mut Receiver, segment| receiver.on_segment(Time(1), &data(segment)).is_none();
    (0..10).chain([11, 13, 15]).for_each(|segment| _ = receiver.on_segment(Time(1), &data(segment)));
    assert!(waits(&mut receiver, 17) && waits(&mut receiver, 17));
    let seen = receiver.acknowledge(Time(2)).sack;
    assert_eq!((seen.duplicate(), seen.held()[0]), (Some((17, 18)), (17, 18)));
    assert!(waits(&mut receiver, 17) && waits(&mut receiver, 14));
    let unseen = receiver.acknowledge(Time(3)).sack;
    assert_eq!((unseen.duplicate(), &unseen.held()[..2]), (None, &[(17, 18), (13, 16)][..]));
}

#[test]
fn rfc4737_section_4_2_2_extent_counts_arrivals_since_the_first_later_segment() {
    let mut receiver = receiver();
    for segment in [0, 2, 3, 4, 1] {
        take(&mut receiver, segment);
    }
    let counters = receiver.counters();
    assert_eq!((counters.reordered, counters.reordering_extent_max), (1, 3));
}

fn take_marked(receiver: &mut Receiver, now: u64, segment: u32, marked: bool, window_reduced: bool) -> Option<Ack> {
    let data = DataSegment { segment, retransmission: false, marked, window_reduced, push: false, timestamp: None };
    receiver.on_segment(Time(now), &data)
}

#[test]
fn rfc3168_section_6_1_3_the_echo_lasts_until_it_is_answered() {
    let mut receiver = receiver();
    let echoes = [(false, false), (true, false), (false, false), (false, true), (false, false)]
        .into_iter()
        .zip(0..)
        .map(|((marked, answered), segment)| {
            take_marked(&mut receiver, 1, segment, marked, answered).expect("at once").ecn_echo
        })
        .collect::<Vec<_>>();
    assert_eq!(echoes, [false, true, true, false, false]);
}

#[test]
fn rfc8257_section_3_2_with_an_ack_per_segment_the_echo_is_the_mark() {
    let mut receiver = receiver().with_echo(EcnEcho::Exact, 1460);
    for (segment, marked) in [false, true, true, false, true, false, false].into_iter().enumerate() {
        let ack = take_marked(&mut receiver, 1, segment as u32, marked, false).expect("at once");
        assert_eq!((ack.cumulative, ack.ecn_echo), (segment as u32 + 1, marked));
    }
}

#[test]
fn rfc8257_section_3_2_where_marks_begin_or_end_an_ack_follows_at_once_after_that_of_the_segments_before() {
    let policy = AckSpec::Delayed(delayed::Parameters::default()).build(ReceiverContext::of_window(100));
    let mut receiver = Receiver::new(true, policy).with_echo(EcnEcho::Exact, 1460);
    let answer = |ack: Option<Ack>| ack.map(|ack| (ack.cumulative, ack.ecn_echo));
    // Two without marks are one ACK; the third waits, and the fourth, marked, sends it on its way with its own echo.
    assert_eq!(answer(take_marked(&mut receiver, 1, 0, false, false)), None);
    assert_eq!(answer(take_marked(&mut receiver, 2, 1, false, false)), Some((2, false)));
    assert_eq!(answer(take_marked(&mut receiver, 3, 2, false, false)), None);
    assert_eq!(answer(take_marked(&mut receiver, 4, 3, true, false)), Some((3, false)));
    assert_eq!(receiver.deadline(), Some(Time(4)));
    assert_eq!(answer(Some(receiver.acknowledge(Time(4)))), Some((4, true)));
    // No ACK is pending, so there is only that of the change.
    assert_eq!(answer(take_marked(&mut receiver, 5, 4, false, false)), Some((5, false)));
    // One beyond a hole wants its ACK at once: both go out.
    assert_eq!(answer(take_marked(&mut receiver, 6, 5, false, false)), None);
    assert_eq!(answer(take_marked(&mut receiver, 7, 7, true, false)), Some((6, false)));
    assert_eq!(receiver.deadline(), Some(Time(7)));
    assert_eq!(answer(Some(receiver.acknowledge(Time(7)))), Some((6, true)));
}

proptest! {
    /// In any order, with any duplicates: everything is delivered once and in order, and ACKs match the arrived segments.
    #[test]
    fn acks_tell_exactly_what_has_arrived(order in prop::collection::vec(0u32..60, 1..300)) {
        let mut receiver = receiver();
        let mut arrived = BTreeSet::new();
        for segment in order {
            let new = arrived.insert(segment);
            let ack = take(&mut receiver, segment);
            let expected = (0u32..).find(|index| !arrived.contains(index)).unwrap();
            prop_assert_eq!(ack.cumulative, expected);
            prop_assert_eq!(ack.sack.duplicate().is_some(), !new);
            for &(start, end) in ack.sack.held() {
                prop_assert!(start > ack.cumulative && start < end);
                prop_assert!((start..end).all(|index| arrived.contains(&index)));
                prop_assert!(!arrived.contains(&(start - 1)) && !arrived.contains(&end), "blocks are maximal");
            }
            if segment > expected {
                prop_assert!(ack.sack.held()[0].0 <= segment && segment < ack.sack.held()[0].1);
            }
        }
    }

    /// The fast paths, in order and beyond a hole, give the same results as the general path. One of two receivers has only the general
    /// path.
    #[test]
    fn a_predicted_segment_is_like_any(
        steps in prop::collection::vec((0u8..6, 0u32..80, 0u8..20), 1..200),
        sack: bool, exact: bool, delayed: bool,
    ) {
        let policy = if delayed {
            AckSpec::Delayed(delayed::Parameters::default())
        } else {
            AckSpec::Immediate(immediate::Parameters::default())
        };
        let echo = if exact { EcnEcho::Exact } else { EcnEcho::Classic };
        let build = || Receiver::new(sack, policy.build(ReceiverContext::of_window(100))).with_echo(echo, 1460);
        let (mut short, mut long) = (build(), build());
        let mut last = 0;
        for (step, (position, elsewhere, flags)) in steps.into_iter().enumerate() {
            let segment = match position {
                0 => elsewhere,
                1 | 2 => long.delivered(),
                _ => last + 1,
            };
            last = segment;
            let (retransmission, marked, window_reduced) = (flags == 19, flags >= 18, flags == 17);
            let data = DataSegment { segment, retransmission, marked, window_reduced, push: false, timestamp: None };
            let predicted = (flags < 17 && short.predicts(segment)).then(|| {
                short.on_predicted_burst(1);
                short.delivered()
            });
            let predicted = predicted.map(|cumulative| {
                let sack = SackBlocks::default();
                Ack { cumulative, sack, echoes_retransmission: false, timestamps: None, ecn_echo: false, accecn: None }
            });
            let held = || (predicted.is_none() && !marked && !window_reduced && short.take_next_held(segment)).then(|| {
                let (mut blocks, mut sack) = ([(0, 0); MAX_SACK_BLOCKS], SackBlocks::default());
                let length = short.write_blocks(&mut blocks);
                sack.fill(blocks, length, false);
                let echoes_retransmission = short.echoes_retransmission();
                Ack { cumulative: short.delivered(), sack, echoes_retransmission, timestamps: None, ecn_echo: false, accecn: None }
            });
            let by_a_short_path = predicted.or_else(held);
            let ack = long.on_segment(Time(step as u64), &data);
            match by_a_short_path {
                Some(expected) => prop_assert_eq!(ack, Some(expected)),
                None => prop_assert_eq!(ack, short.on_segment(Time(step as u64), &data)),
            }
            prop_assert_eq!(short.deadline(), long.deadline());
            prop_assert_eq!(short.counters(), long.counters());
        }
    }
}

/// Delivers a segment as a transmission with this number. After it, all transmissions before `oldest` are too old.
fn arrive(receiver: &mut Receiver, segment: u32, number: u32, oldest: u32) -> Ack {
    let timestamp = Some(Timestamp { number, oldest, echo: 0 });
    let data = DataSegment {
        segment,
        retransmission: oldest > 0,
        marked: false,
        window_reduced: false,
        push: false,
        timestamp,
    };
    receiver.on_segment(Time(1), &data).expect("acknowledged at once")
}

/// Linux answers a duplicate from before the window, but ignores its timestamp (`tcp_sequence`). The last segment before the window
/// touches it, so its timestamp counts.
#[test]
fn a_duplicate_from_before_the_window_makes_nothing_too_old() {
    let mut receiver = receiver().with_timestamps();
    (0..4).for_each(|segment| _ = arrive(&mut receiver, segment, segment, 0));
    let ack = arrive(&mut receiver, 1, 10, 10);
    assert_eq!((ack.sack.duplicate(), ack.echoes_retransmission), (Some((1, 2)), false));
    assert_eq!(arrive(&mut receiver, 4, 4, 0).cumulative, 5);
    assert!(arrive(&mut receiver, 4, 11, 11).echoes_retransmission);
    assert_eq!(arrive(&mut receiver, 5, 5, 0).cumulative, 5);
}

/// A duplicate takes the place of a block where a timestamp leaves room for three blocks (RFC 2018 section 3).
#[test]
fn a_duplicate_takes_the_place_of_a_block_beside_a_timestamp() {
    let mut receiver = receiver().with_timestamps();
    for segment in [0, 2, 4, 6] {
        arrive(&mut receiver, segment, segment, 0);
    }
    let ack = arrive(&mut receiver, 0, 10, 10);
    assert_eq!(ack.sack.all(), [(0, 1), (6, 7), (4, 5)]);
    assert_eq!(ack.sack.slots()[3], (0, 0));
}

/// RFC 9293 section 3.10.7.4: an ACK that stands before what is acknowledged is answered. Linux answers one in half a second.
#[test]
fn an_ack_of_the_sender_that_data_has_overtaken_is_answered_once_in_half_a_second() {
    let policy = AckSpec::QuickAck(quick_ack::Parameters::default()).build(ReceiverContext::of_window(100));
    let mut receiver = Receiver::new(true, policy);
    let at = |milliseconds| Time::ZERO + Duration::from_millis(milliseconds);
    assert!(!receiver.on_bare_ack(at(0), 0), "it comes first");
    receiver.on_segment(at(1), &data(0)).unwrap();
    assert!(receiver.on_bare_ack(at(2), 0));
    assert!(!receiver.on_bare_ack(at(501), 0));
    assert!(receiver.on_bare_ack(at(502), 0));
    assert!(!receiver.on_bare_ack(at(2000), 1), "it stands before the next segment");
}
