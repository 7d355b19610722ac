//! Tests of the scoreboard as a whole.

use super::*;
use crate::units::Duration;
use proptest::prelude::*;

fn ms(milliseconds: u64) -> Time {
    Time::ZERO + Duration::from_millis(milliseconds)
}

fn board_of(segments: u64) -> Scoreboard {
    let mut board = Scoreboard::with_sending_order();
    for index in 0..segments {
        board.send_new(ms(index));
    }
    board
}

#[test]
fn a_hole_is_in_flight_and_what_lies_above_it_is_sacked() {
    let mut board = board_of(5);
    let delivered = board.acknowledge(1, &[(2, 4)], ms(100));
    assert_eq!((board.una(), board.in_flight(), board.sacked(), board.sacked_end()), (1, 2, 2, 4));
    assert_eq!((delivered.count, delivered.cumulative, delivered.newest()), (3, 1, Some((ms(3), 3))));
    assert_eq!(delivered.oldest_rtt(), Some(Duration::from_millis(100)));
    assert_eq!(delivered.newest_rtt(), Some(Duration::from_millis(97)));
    board.check();
}

#[test]
fn a_retransmitted_segment_gives_no_rtt_and_moves_to_the_end_of_the_sending_order() {
    let mut board = board_of(3);
    board.mark_lost(0);
    assert_eq!(board.next_lost(), Some(0));
    assert_eq!(board.retransmit(0, ms(50)), 3);
    let order: Vec<u32> = board.in_sending_order().map(|transmission| transmission.segment).collect();
    assert_eq!(order, [1, 2, 0]);
    let delivered = board.acknowledge(1, &[], ms(90));
    assert_eq!(delivered.oldest_rtt(), None);
    assert!(delivered.any_retransmitted);
}

#[test]
fn blocks_of_one_ack_are_no_reordering_among_themselves() {
    let mut board = board_of(9);
    assert!(!board.acknowledge(0, &[(7, 8), (3, 4)], ms(100)).reordered); // the ACK of 3 was lost or delayed
    assert!(board.acknowledge(0, &[(5, 6), (7, 8), (3, 4)], ms(101)).reordered);
}

#[test]
fn a_segment_retransmitted_twice_in_one_instant_is_in_flight_once() {
    let mut board = board_of(3);
    board.mark_lost(0);
    board.retransmit(0, ms(50));
    board.mark_all_lost();
    assert_eq!(board.retransmit(0, ms(50)), 4);
    board.check();
    assert_eq!(board.sent(0), ms(50));
}

#[test]
fn a_window_that_was_cut_gives_back_its_room_and_forgets_nothing() {
    let mut board = board_of(1000);
    board.acknowledge(990, &[(995, 996)], ms(2000));
    board.shrink();
    assert!(board.segments.capacity() < 40);
    assert_eq!((board.una(), board.next(), board.sent(999)), (990, 1000, ms(999)));
    assert!(board.is_sacked(995));
    board.check();
}

/// Ten segments are in flight, and five duplicate ACKs arrive: five remain. The hole is one of them. Each of the others may be a
/// segment that a duplicate ACK reported.
#[test]
fn without_sack_only_the_hole_is_lost_beside_what_duplicate_acks_stand_for() {
    let mut board = board_of(10);
    (0..5).for_each(|_| board.count_duplicate());
    board.mark_lost(0);
    assert_eq!(board.in_flight(), 4);
    (1..4).for_each(|segment| board.mark_lost(segment));
    assert_eq!(board.in_flight(), 4);
}

#[test]
fn duplicate_acks_stand_for_no_more_than_is_in_flight_when_all_is_marked_one_by_one() {
    let mut board = board_of(4);
    (0..3).for_each(|_| board.count_duplicate());
    (0..4).for_each(|segment| board.mark_lost(segment));
    board.retransmit(0, ms(50));
    assert_eq!(board.in_flight(), 1);
}

proptest! {
    /// The short path of a predicted ACK has the same effect as the long one.
    #[test]
    fn a_predicted_ack_is_like_any(steps in prop::collection::vec((0u8..6, 0u32..20, 0u32..4), 1..200)) {
        let mut board = Scoreboard::with_sending_order();
        for (index, (action, position, length)) in steps.into_iter().enumerate() {
            let now = ms(index as u64);
            let segment = board.una() + position;
            let mut other = board.clone();
            match action {
                0 | 1 => for _ in 0..length { board.send_new(now); other.send_new(now); },
                2 | 3 => {
                    let cumulative = board.una() + action as u32 / 3 + length / 3;
                    let delivered = other.acknowledge(cumulative, &[], now);
                    match board.pass_one_original(cumulative, now) {
                        Some(sent) => {
                            prop_assert_eq!(delivered.newest(), Some((sent, board.una() - 1)));
                            prop_assert_eq!((delivered.count, delivered.cumulative), (1, 1));
                        }
                        None => _ = board.acknowledge(cumulative, &[], now),
                    }
                }
                4 => {
                    board.acknowledge(board.una(), &[(segment, segment + length)], now);
                    other.acknowledge(other.una(), &[(segment, segment + length)], now);
                }
                _ => if segment < board.next() {
                    board.mark_lost(segment);
                    if let Some(lost) = board.next_lost().filter(|_| length > 1) { board.retransmit(lost, now); }
                    other = board.clone();
                },
            }
            prop_assert_eq!(format!("{board:?}"), format!("{other:?}"));
        }
    }

    /// An ACK that lengthens the newest block is taken as by a record that has forgotten which blocks it knows.
    #[test]
    fn a_block_that_grows_is_like_any(steps in prop::collection::vec((0u8..10, 0u32..20, 1u32..4), 1..200)) {
        let mut board = Scoreboard::with_sending_order();
        let mut blocks: Vec<Range> = Vec::new();
        for (index, (action, position, length)) in steps.into_iter().enumerate() {
            let now = ms(index as u64);
            let segment = board.una() + position;
            let mut cumulative = board.una();
            match action {
                0..3 => for _ in 0..length { board.send_new(now); },
                3 if segment < board.next() => board.mark_lost(segment),
                3 => if let Some(lost) = board.next_lost() { _ = board.retransmit(lost, now); },
                4 => blocks.insert(0, (segment, segment + length)),
                5 => cumulative += length,
                _ => if let Some(newest) = blocks.first_mut() { newest.1 += 1; },
            }
            blocks.truncate(3);
            let mut forgetful = board.clone();
            forgetful.repair.iter_mut().for_each(|last| **last = Default::default());
            let expected = forgetful.acknowledge(cumulative, &blocks, now);
            prop_assert_eq!(board.acknowledge(cumulative, &blocks, now), expected);
            prop_assert_eq!((board.in_flight(), board.sacked(), board.lost()), (forgetful.in_flight(), forgetful.sacked(), forgetful.lost()));
            prop_assert_eq!(board.sacked_end(), forgetful.sacked_end());
            for count in 1..5 {
                let sacked = (board.una()..board.next()).rev().filter(|segment| board.is_sacked(*segment));
                prop_assert_eq!(board.sacked_from_above(count), sacked.clone().nth(count as usize - 1));
            }
            board.check();
        }
    }

    /// For any sending, acknowledging, marking and retransmitting: the counters equal a recount, and the sending order has
    /// exactly the segments in flight.
    #[test]
    fn counters_equal_a_recount(steps in prop::collection::vec((0u8..7, 0u32..40, 0u32..8), 1..200)) {
        let mut board = Scoreboard::with_sending_order();
        for (index, (action, position, length)) in steps.into_iter().enumerate() {
            let now = ms(index as u64 / 3);
            let segment = board.una() + position;
            match action {
                6 => board.unmark_lost(),
                0 | 1 => for _ in 0..length { board.send_new(now); },
                2 => _ = board.acknowledge(board.una() + length, &[], now),
                3 => _ = board.acknowledge(board.una(), &[(segment, segment + length)], now),
                4 => if segment < board.next() { board.mark_lost(segment) },
                _ => if let Some(lost) = board.next_lost() { board.retransmit(lost, now); },
            }
            board.check();
        }
    }
}

/// Ten segments, the first three of which are sent again, the third after the others' ACK: transmissions 10, 11 and 12. The original of
/// segment 3 is transmission 3, and of the same millisecond.
#[test]
fn retransmissions_that_have_arrived_count_among_those_sent_since() {
    let at = |microseconds| Time::ZERO + Duration::from_micros(microseconds);
    let mut board = Scoreboard::with_sending_order();
    board.send_burst(at(100), 10);
    for segment in [0, 1] {
        board.mark_lost(segment);
        board.retransmit(segment, at(200));
    }
    board.acknowledge(2, &[], at(300));
    board.mark_lost(2);
    board.retransmit(2, at(300));
    assert_eq!(board.next_transmission() - board.sent_since(Time::ZERO), 3);
    assert_eq!(board.sent_since(at(150)), 3);
    assert_eq!(board.sent_since(at(250)), 1);
}

/// Four segments; 1 is sent again as transmission 4, then 4 is new as transmission 5, and 1 is sent again as 6.
#[test]
fn a_transmission_is_found_by_its_number() {
    let at = |milliseconds| Time::ZERO + Duration::from_millis(milliseconds);
    let mut board = Scoreboard::with_sending_order();
    board.send_burst(at(10), 4);
    board.mark_lost(1);
    assert_eq!(board.retransmit(1, at(20)), 4);
    assert_eq!(board.send_new(at(30)), 5);
    board.mark_lost(1);
    assert_eq!(board.retransmit(1, at(40)), 6);
    let sent: Vec<_> = (0..8).map(|number| board.sent_as(number)).collect();
    let times = [10, 10, 10, 10, 20, 30, 40].map(|time| Some(at(time)));
    assert_eq!(sent, [&times[..], &[None]].concat());
    board.acknowledge(2, &[], at(50));
    assert_eq!((board.sent_as(1), board.sent_as(2), board.sent_as(6)), (None, Some(at(10)), Some(at(40))));
}
