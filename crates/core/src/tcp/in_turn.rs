//! ACKs that come in turn: each passes the next segment of a flow that nothing disturbs, a gap after the one before. A flow whose window is full, and
//! stays as large as it is, lets out one segment for each; so a sender takes them together, and asks whoever learns from them once.

use super::events::AckEvent;
use super::rtt::RttEstimate;
use super::scoreboard::Segment;
use crate::units::{Duration, Time};
use std::slice;

/// When such ACKs come, and when what they pass was sent.
#[derive(Debug, Clone)]
pub struct AcksInTurn<'board> {
    segments: slice::Iter<'board, Segment>,
    next: Time,
    gap: Duration,
}

impl<'board> AcksInTurn<'board> {
    /// The first comes at this time; they pass these segments.
    pub(super) fn new(segments: &'board [Segment], first: Time, gap: Duration) -> AcksInTurn<'board> {
        AcksInTurn { segments: segments.iter(), next: first, gap }
    }

    /// How many are to come.
    pub fn count(&self) -> u32 {
        self.segments.len() as u32
    }

    /// So many of them, as many as are to come at the most.
    pub fn first(&self, count: u32) -> AcksInTurn<'board> {
        AcksInTurn { segments: self.segments.as_slice()[..count as usize].iter(), ..*self }
    }

    /// When the next comes.
    pub fn next_arrival(&self) -> Time {
        self.next
    }

    /// When the segment that one of them passes was sent.
    pub fn sent(&self, index: u32) -> Option<Time> {
        self.segments.as_slice().get(index as usize).map(|segment| segment.sent())
    }
}

impl Iterator for AcksInTurn<'_> {
    /// When it comes, and when what it passes was sent.
    type Item = (Time, Time);

    #[inline(always)]
    fn next(&mut self) -> Option<(Time, Time)> {
        let sent = self.segments.next()?.sent();
        let now = self.next;
        self.next = now + self.gap;
        Some((now, sent))
    }
}

/// What each of them is to a congestion control: [`AckEvent::ORDINARY`] with its times and counts, of a flow whose window was full.
#[derive(Debug, Clone)]
pub struct EventsInTurn<'board> {
    acks: AcksInTurn<'board>,
    event: AckEvent,
    una: u32,
    round_end: u32,
}

impl<'board> EventsInTurn<'board> {
    /// Everything before `una` is acknowledged, as many segments as the window has are in flight.
    pub(super) fn new(acks: AcksInTurn<'board>, una: u32, window: u32, round_end: u32) -> EventsInTurn<'board> {
        let event = AckEvent { growth: 1, in_flight: window - 1, prior_in_flight: window, ..AckEvent::ORDINARY };
        EventsInTurn { acks, event, una, round_end }
    }

    /// The window that was full.
    #[inline(always)]
    pub fn window(&self) -> u32 {
        self.event.prior_in_flight
    }

    /// The next comes, and the estimate takes its RTT, but does not count it.
    #[inline(always)]
    pub fn next(&mut self, rtt: &mut RttEstimate) -> Option<&AckEvent> {
        let (now, sent) = self.acks.next()?;
        let event = &mut self.event;
        event.now = now;
        event.rtt = Some(now - sent);
        rtt.smooth(now - sent);
        self.una += 1;
        event.round_start = self.una > self.round_end;
        if event.round_start {
            self.round_end = self.una + event.in_flight;
        }
        Some(event)
    }

    /// How far it came.
    #[inline(always)]
    pub fn progress(&self) -> Progress {
        Progress { una: self.una, round_end: self.round_end }
    }
}

/// How far such ACKs have come.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// The first segment that none has passed.
    pub una: u32,
    /// Where the round trip ends that is under way.
    pub round_end: u32,
}
