//! The order of sending, which differs from the order of segments where some were sent again.

use super::Scoreboard;
use super::segment::{IN_FLIGHT, Segment};
use crate::tcp::kernel_clock::{TIMESTAMP_TICK, timestamp};
use crate::tcp::room::push_with_little_room;
use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// [`Scoreboard::sent_since`] is asked for so much time at most.
const REMEMBERED: Duration = Duration(2 * TIMESTAMP_TICK.0);

/// A transmission that may still be in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmission {
    /// Which segment.
    pub segment: u32,
    /// When it was sent.
    pub sent: Time,
}

/// A retransmission.
#[derive(Debug, Clone, Copy)]
struct Again {
    number: u32,
    segment: u32,
    sent: Time,
    /// When the segment was sent before.
    sent_before: Time,
    /// Whether it is the first of its segment.
    is_first: bool,
}

/// Order of the transmissions in flight, for detectors that need it.
#[derive(Debug, Clone, Default)]
pub(super) struct SendingOrder {
    /// No segment below is in flight for the first time.
    original_hint: u32,
    /// Segments sent again, each once, in the order of their last sending; those not in flight any more leave it late.
    retransmissions: VecDeque<u32>,
    /// Recent retransmissions, delivered ones included, in the order of their sending.
    again: VecDeque<Again>,
    /// Retransmissions before those of `again`.
    forgotten: u32,
    /// Doubt about retransmissions for the next ACK; only for a sender that judges by evidence.
    pub(super) doubt: Option<Doubt>,
}

/// Conditions under which the delivery of a retransmitted segment gives no information about its last transmission, because
/// an earlier transmission may have arrived.
#[derive(Debug, Clone, Copy)]
pub struct Doubt {
    /// An answer sooner than this.
    pub least_rtt: Duration,
    /// When the segment was sent whose timestamp the ACK echoes. Segments that it passes and that were sent again later arrived before the
    /// retransmission.
    pub echoed: Time,
}

impl SendingOrder {
    /// Segments from here on may be in flight for the first time.
    pub(super) fn look_from(&mut self, segment: u32) {
        self.original_hint = segment;
    }

    /// Records that a segment is retransmitted, as transmission `number`; `before` is its record until then. All below `una` is acknowledged.
    pub(super) fn send_again(&mut self, segment: u32, before: Segment, now: Time, number: u32, una: u32) {
        while self.again.front().is_some_and(|again| again.segment < una && again.sent + REMEMBERED < now) {
            self.again.pop_front();
            self.forgotten += 1;
        }
        let is_first = !before.retransmitted();
        push_with_little_room(
            &mut self.again,
            Again { number, segment, sent: now, sent_before: before.sent(), is_first },
        );
        if before.retransmitted()
            && let Some(position) = self.retransmissions.iter().position(|other| *other == segment)
        {
            if before.sent() == now {
                return; // a timer expired at the instant of the last retransmission
            }
            self.retransmissions.remove(position);
        }
        push_with_little_room(&mut self.retransmissions, segment);
    }
}

impl Scoreboard {
    /// Sets the doubt about retransmissions for the next ACK; `None` after that ACK.
    pub fn doubt(&mut self, doubt: Option<Doubt>) {
        if let Some(order) = &mut self.order {
            order.doubt = doubt;
        }
    }

    /// Whether the delivery of this record shows how long its last transmission took, for a sender that judges by evidence.
    #[inline(always)]
    pub(super) fn is_evidence(&self, record: Segment, now: Time, passed: bool) -> bool {
        let Some(Doubt { least_rtt, echoed }) = self.order.as_ref().and_then(|order| order.doubt) else {
            return false;
        };
        !record.retransmitted()
            || (now - record.sent() >= least_rtt && !(passed && timestamp(echoed) < timestamp(record.sent())))
    }

    /// Whether a segment that was sent again is still in flight.
    fn is_again_in_flight(&self, segment: u32) -> bool {
        segment >= self.una && self.at(segment).state() == IN_FLIGHT
    }

    fn is_original(&self, segment: u32) -> bool {
        let record = self.at(segment);
        record.state() == IN_FLIGHT && !record.retransmitted()
    }

    /// Moves the hints past segments that are no longer in flight, so that walks in sending order start at the oldest.
    #[inline(never)]
    pub(super) fn pass_delivered_in_order(&mut self) {
        let Some(mut order) = self.order.take() else { return };
        while order.retransmissions.front().is_some_and(|front| !self.is_again_in_flight(*front)) {
            order.retransmissions.pop_front();
        }
        order.original_hint = order.original_hint.max(self.una);
        while order.original_hint < self.next() && !self.is_original(order.original_hint) {
            order.original_hint += 1;
        }
        self.order = Some(order);
    }

    /// Callers have chosen [`Self::with_sending_order`].
    fn sending_order(&self) -> &SendingOrder {
        self.order.as_ref().expect("a detector that asks for the order of sending says so")
    }

    /// How many transmissions there were from this instant on, at most two ticks of timestamps ago. If all that is outstanding was sent
    /// since, they count from its first segment on: what was acknowledged is of no interest.
    pub fn sent_since(&self, instant: Time) -> u32 {
        let records = self.segments.iter().rev().zip(1..);
        let originals = records.filter(|(record, _)| !record.retransmitted());
        // Of a segment that was sent again, the first transmission counts if that of a lower one does.
        let new = originals.take_while(|(record, _)| record.sent() >= instant).last().map_or(0, |(_, count)| count);
        let again = self.sending_order().again.iter().rev().take_while(|again| again.sent >= instant).count();
        new + again as u32
    }

    /// When an outstanding segment was first sent.
    pub fn first_sent(&self, segment: u32) -> Option<Time> {
        if !self.was_retransmitted(segment) {
            return Some(self.sent(segment));
        }
        let mut again = self.order.as_ref()?.again.iter();
        again.find(|again| again.segment == segment && again.is_first).map(|again| again.sent_before)
    }

    /// When the transmission with this number was sent: one of an outstanding segment, or a recent retransmission.
    pub fn sent_as(&self, number: u32) -> Option<Time> {
        let order = self.order.as_ref()?;
        let before = order.again.partition_point(|again| again.number < number);
        if let Some(again) = order.again.get(before).filter(|again| again.number == number) {
            return Some(again.sent);
        }
        let segment = number.checked_sub(order.forgotten + before as u32)?;
        if (self.una..self.next()).contains(&segment) { self.first_sent(segment) } else { None }
    }

    /// The transmissions in flight in the order of their sending, oldest first.
    ///
    /// # Panics
    /// Without [`Self::with_sending_order`].
    pub fn in_sending_order(&self) -> impl Iterator<Item = Transmission> + '_ {
        let order = self.sending_order();
        let transmission = |segment| Transmission { segment, sent: self.sent(segment) };
        let mut original = (order.original_hint.max(self.una)..self.next())
            .filter(|segment| self.is_original(*segment))
            .map(transmission)
            .peekable();
        let mut again = order
            .retransmissions
            .iter()
            .copied()
            .filter(|segment| self.is_again_in_flight(*segment))
            .map(transmission)
            .peekable();
        std::iter::from_fn(move || match (original.peek(), again.peek()) {
            (Some(first), Some(second)) if (second.sent, second.segment) < (first.sent, first.segment) => again.next(),
            (Some(_), _) => original.next(),
            (None, _) => again.next(),
        })
    }

    /// Sending time of the first outstanding segment, if it is in flight and no outstanding segment was retransmitted. Then
    /// it is the oldest in flight.
    #[inline(always)]
    pub fn first_in_order(&self) -> Option<Time> {
        self.segments
            .front()
            .filter(|first| self.repair.is_none() && first.state() == IN_FLIGHT)
            .map(|first| first.sent())
    }

    /// The oldest transmission in flight: the first of [`Self::in_sending_order`].
    #[inline]
    pub fn oldest_in_flight(&self) -> Option<Transmission> {
        match self.first_in_order() {
            Some(sent) => Some(Transmission { segment: self.una, sent }),
            None => self.find_oldest_in_flight(),
        }
    }

    #[inline(never)]
    fn find_oldest_in_flight(&self) -> Option<Transmission> {
        let order = self.sending_order();
        let first = order.original_hint.max(self.una);
        let transmission = |segment| Transmission { segment, sent: self.sent(segment) };
        let mut originals = first..self.next();
        let original = originals.find(|segment| self.is_original(*segment)).map(transmission);
        let again = order.retransmissions.iter().copied().find(|segment| self.is_again_in_flight(*segment));
        let again = again.map(transmission);
        match (original, again) {
            (Some(first), Some(second)) if (first.sent, first.segment) <= (second.sent, second.segment) => original,
            (_, Some(_)) => again,
            (_, None) => original,
        }
    }
}
