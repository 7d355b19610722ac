//! The sender of a connection: gives data to subflows, and remembers where each segment is.
//!
//! A subflow that times out may have lost its path. Its undelivered segments are then also sent on another subflow (RFC 8684 section 3.3.6).

use super::scheduler::{Scheduler, SchedulerChoice, Subflow, View};
use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// The data that a subflow carries.
#[derive(Debug, Clone, Default)]
struct Mapping {
    /// The data sequence numbers of its segments from `first` on.
    data: VecDeque<u32>,
    first: u32,
    /// Segments below are also given to other subflows.
    reinjected_below: u32,
}

/// The sending end of a connection, above its subflows.
pub struct DataSender {
    mappings: Vec<Mapping>,
    scheduler: Box<dyn Scheduler>,
    /// Segments that the application has written.
    written: u32,
    /// The next segment that no subflow has been given.
    next: u32,
    /// All before this segment is acknowledged at the data level.
    una: u32,
    /// The receive window from `una` on, segments.
    window: u32,
    /// Segments for another subflow than the one that timed out.
    again: VecDeque<(u32, usize)>,
    reinjections: u32,
    /// Since when nothing has been acknowledged, and whether an ACK has come since without data.
    since: Time,
    is_stalled: bool,
    longest_stall: Duration,
}

impl DataSender {
    /// A sender without data, with this receive window in segments.
    pub fn new(subflows: usize, scheduler: SchedulerChoice, window: u32) -> DataSender {
        DataSender {
            mappings: vec![Mapping::default(); subflows],
            scheduler: scheduler.build(),
            written: 0,
            next: 0,
            una: 0,
            window,
            again: VecDeque::new(),
            reinjections: 0,
            since: Time::ZERO,
            is_stalled: false,
            longest_stall: Duration::ZERO,
        }
    }

    /// Adds segments that the application writes.
    pub fn write(&mut self, segments: u32) {
        self.written = self.written.saturating_add(segments);
    }

    /// Ends the application's data. Segments that no subflow has been given are dropped.
    pub fn close(&mut self) {
        self.written = self.next;
    }

    /// Whether all that was written is acknowledged at the data level.
    pub fn is_done(&self) -> bool {
        self.una == self.written
    }

    /// The first segment that is not acknowledged at the data level.
    pub fn una(&self) -> u32 {
        self.una
    }

    /// The next segment that no subflow has been given.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Segments that were given to a second subflow.
    pub fn reinjections(&self) -> u32 {
        self.reinjections
    }

    /// The data sequence number of a subflow's segment that is not acknowledged.
    pub fn data_of(&self, subflow: usize, segment: u32) -> u32 {
        let Mapping { data, first, .. } = &self.mappings[subflow];
        data[(segment - first) as usize]
    }

    /// The subflow that sends a segment now, if there is one. The caller gives it one more segment.
    pub fn assign(&mut self, now: Time, subflows: &[Subflow]) -> Option<usize> {
        while self.again.front().is_some_and(|(data, _)| *data < self.una) {
            self.again.pop_front();
        }
        if let Some((data, from)) = self.again.front().copied() {
            let others = subflows.iter().enumerate().filter(|(index, subflow)| *index != from && subflow.has_room);
            if let Some((index, _)) = others.min_by_key(|(_, subflow)| subflow.srtt) {
                self.again.pop_front();
                self.reinjections += 1;
                return Some(self.map(index, data));
            }
        }
        if self.next == self.written {
            return None;
        }
        if self.next - self.una >= self.window {
            self.scheduler.on_window_closed();
            return None;
        }
        let view = View { now, subflows, unsent: self.written - self.next, window: self.window };
        let index = self.scheduler.choose(&view)?;
        if self.next == self.una {
            (self.since, self.is_stalled) = (now, false);
        }
        self.next += 1;
        Some(self.map(index, self.next - 1))
    }

    fn map(&mut self, subflow: usize, data: u32) -> usize {
        self.mappings[subflow].data.push_back(data);
        subflow
    }

    /// Processes an ACK of a subflow, which has delivered all segments before `una`, with the data acknowledgement that it carries.
    pub fn on_ack(&mut self, now: Time, subflow: usize, una: u32, data_ack: Option<u32>) {
        let mapping = &mut self.mappings[subflow];
        let passed = (una - mapping.first) as usize;
        mapping.data.drain(..passed);
        mapping.first = una;
        let Some(data_ack) = data_ack else { return };
        if data_ack > self.una {
            self.longest_stall = self.longest_stall(now);
            (self.una, self.since, self.is_stalled) = (data_ack, now, false);
        } else {
            self.is_stalled = self.una < self.next;
        }
    }

    /// The longest time in which nothing was acknowledged at the data level although an ACK came.
    pub fn longest_stall(&self, now: Time) -> Duration {
        if self.is_stalled { self.longest_stall.max(now - self.since) } else { self.longest_stall }
    }

    /// Forgets the stalls that have ended.
    pub fn forget_stalls(&mut self) {
        self.longest_stall = Duration::ZERO;
    }

    /// Sends what a subflow has not delivered, as `is_missing` says, on others, because it has timed out.
    pub fn on_timeout(&mut self, subflow: usize, is_missing: impl Fn(u32) -> bool) {
        let mapping = &mut self.mappings[subflow];
        let until = mapping.first + mapping.data.len() as u32;
        for segment in mapping.first.max(mapping.reinjected_below)..until {
            let data = mapping.data[(segment - mapping.first) as usize];
            if data >= self.una && is_missing(segment) {
                self.again.push_back((data, subflow));
            }
        }
        mapping.reinjected_below = until;
    }
}

#[cfg(test)]
mod tests {
    use super::super::scheduler::tests::subflow;
    use super::*;

    fn sender(written: u32, window: u32) -> DataSender {
        let mut sender = DataSender::new(2, SchedulerChoice::MinRtt, window);
        sender.write(written);
        sender
    }

    /// Both subflows get segments in the order of the data, until the receive window of 5 is full. A data acknowledgement opens it.
    #[test]
    fn the_receive_window_counts_the_data_of_all_subflows() {
        let mut sender = sender(9, 5);
        let (fast, slow, full) = (subflow(10, 3.0, 0), subflow(20, 3.0, 0), subflow(10, 3.0, 3));
        let assign = |sender: &mut DataSender, subflows: [Subflow; 2]| sender.assign(Time::ZERO, &subflows);
        let chosen: Vec<_> = (0..3).map(|_| assign(&mut sender, [fast, slow])).collect();
        assert_eq!(chosen, [Some(0); 3]);
        assert_eq!(assign(&mut sender, [full, slow]), Some(1));
        assert_eq!(assign(&mut sender, [full, slow]), Some(1));
        assert_eq!(assign(&mut sender, [fast, slow]), None, "the window is full");
        assert_eq!((sender.data_of(0, 2), sender.data_of(1, 0), sender.data_of(1, 1)), (2, 3, 4));
        sender.on_ack(Time::ZERO, 0, 1, Some(1));
        assert_eq!(assign(&mut sender, [fast, slow]), Some(0));
        assert_eq!(sender.data_of(0, 3), 5);
        assert_eq!(assign(&mut sender, [fast, slow]), None);
    }

    /// The first subflow times out with segments 0, 1 and 2; it had delivered 1. The others go to the second subflow, once.
    #[test]
    fn another_subflow_sends_what_a_timeout_left() {
        let mut sender = sender(4, 100);
        let (fast, slow, dead) = (subflow(10, 3.0, 0), subflow(20, 3.0, 0), subflow(10, 1.0, 1));
        (0..3).for_each(|_| assert_eq!(sender.assign(Time::ZERO, &[fast, slow]), Some(0)));
        for _ in 0..2 {
            sender.on_timeout(0, |segment| segment != 1);
        }
        assert_eq!(sender.assign(Time::ZERO, &[dead, slow]), Some(1));
        assert_eq!(sender.assign(Time::ZERO, &[dead, slow]), Some(1));
        assert_eq!(sender.assign(Time::ZERO, &[dead, slow]), Some(1));
        assert_eq!([0, 1, 2].map(|segment| sender.data_of(1, segment)), [0, 2, 3]);
        assert_eq!((sender.assign(Time::ZERO, &[dead, slow]), sender.reinjections()), (None, 2));
        assert!(!sender.is_done());
        sender.on_ack(Time::ZERO, 1, 3, Some(4));
        assert!(sender.is_done());
    }
}
