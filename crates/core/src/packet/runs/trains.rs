//! Trains that come to an end: a receiver answers a train of data with as long a one of ACKs; a sender takes a train of ACKs, those together that
//! leave the whole segments of its window as they are, and lets out trains again.
//!
//! What a run has in registers comes here as values, and goes back so.

use super::{Course, Outlet};
use crate::packet::flow::Connection;
use crate::packet::line::{Line, Lines};
use crate::packet::packet::ACK;
use crate::packet::train::Train;
use crate::units::Time;

/// What has been taken of a train.
pub(super) struct Taken {
    /// So many packets.
    pub count: u32,
    /// The last of them.
    pub last: [u64; 3],
    /// What the end does next.
    pub then: Then,
}

/// What an end does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// It takes what comes next.
    GoesOn,
    /// It is asked for all that it has to send.
    Sends,
    /// It takes the last packet as any other: so far, that has only been taken out of the line.
    TakesLast,
}

impl Taken {
    fn new(train: &Train, count: u32, then: Then) -> Taken {
        Taken { count, last: train.packet(count - 1).words(), then }
    }
}

/// The train at the front of a line, as far as it comes before an instant; its first packet must.
fn first_train(lines: &Lines, line: &Line, before: Time) -> Train {
    let train = lines.first_train(line).expect("a train has been seen there");
    Train { count: train.count_before(before), ..train }
}

/// A train of data, in front of a line, comes to a receiver that acknowledges every segment at once.
#[inline(never)]
pub(super) fn deliver_data(
    lines: &mut Lines,
    line: Line,
    before: Time,
    connection: &mut Connection,
    course: Course,
    mut outlet: impl Outlet,
) -> Taken {
    let train = first_train(lines, &line, before);
    if !connection.receiver.is_undisturbed(train.first.segment()) {
        return Taken::new(&train, 1, Then::TakesLast);
    }
    let mut first = course.packet(train.first.segment() + 1, connection.acks_sent, ACK);
    first.arrives(train.first.arrival());
    outlet.send_train(Train { first, ..train }, course.sizes, lines);
    connection.acks_sent = connection.acks_sent.wrapping_add(train.count);
    connection.receiver.take_run(train.count);
    Taken::new(&train, train.count, Then::GoesOn)
}

/// A train of ACKs, in front of a line, comes to a sender whose detector learns from every ACK, or to one whose does not. No timer but that for
/// retransmissions can be due before the window's end while nothing disturbs it.
#[inline(never)]
pub(super) fn deliver_acks<const LEARNS: bool>(
    lines: &mut Lines,
    line: Line,
    before: Time,
    connection: &mut Connection,
    course: Course,
    window_end: Time,
    mut outlet: impl Outlet,
) -> Taken {
    let train = first_train(lines, &line, before);
    let Some(mut sender) = connection.sender.undisturbed::<LEARNS>(train.first.segment()) else {
        return Taken::new(&train, 1, Then::TakesLast);
    };
    // As long as each ACK lets out one segment, these make a train.
    let mut departing: Option<Train> = None;
    let departs = |departing: &mut Option<Train>, at: Time, (segment, number): (u32, u32), count: u32| match departing {
        Some(departing) => departing.count += count,
        None => {
            let mut first = course.packet(segment, number, 0);
            first.arrives(at);
            *departing = Some(Train { first, count, ..train });
        }
    };
    let mut taken = 0;
    let mut then = Then::GoesOn;
    while taken < train.count {
        let first = train.packet(taken).arrival();
        let next = sender.next();
        let in_turn = sender.pass_in_turn(first, train.gap, train.count - taken, window_end);
        if in_turn > 1 {
            departs(&mut departing, first, next, in_turn - 1);
        }
        taken += in_turn.max(1);
        let now = train.packet(taken - 1).arrival();
        if in_turn == 0 && !sender.pass(now, window_end) {
            then = Then::Sends;
            break;
        }
        let count = sender.to_send();
        if count == 1 {
            let sent = sender.send(now);
            departs(&mut departing, now, sent, 1);
        } else {
            if let Some(departing) = departing.take() {
                outlet.send_train(departing, course.sizes, lines);
            }
            for _ in 0..count {
                let (segment, number) = sender.send(now);
                let data = course.packet(segment, number, 0);
                outlet.send(now, data, course.sizes.of(&data), lines);
            }
        }
        sender.stop();
    }
    if let Some(departing) = departing {
        outlet.send_train(departing, course.sizes, lines);
    }
    Taken::new(&train, taken, then)
}
