//! The clock: the time, the end of the run, and the next events of the whole network.

use crate::spec::{LinkId, LossSpec};
use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// Something that happens to the network as a whole: it ends an epoch.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::packet) enum NetworkEvent {
    Fail(Vec<LinkId>),
    Repair(Vec<LinkId>),
    Reroute(usize),
    /// Wires lose packets in another way. This is the number of the change, which has random draws of its own.
    Impair(Vec<LinkId>, Option<LossSpec>, u32),
    /// The controller of a routing takes a sample of the links, or computes its routes.
    LinkState(usize),
    WarmedUp,
    Sample,
    Retire,
}

/// Virtual time. In epochs it goes back when the loop turns to another node. At one node, and from epoch to epoch, it never goes back.
pub struct Clock {
    now: Time,
    end: Time,
    events: u64,
    /// In the order of time; at one instant, in the order in which they were scheduled.
    network_events: VecDeque<(Time, NetworkEvent)>,
}

impl Clock {
    pub(in crate::packet) fn new(duration: Duration, network_events: VecDeque<(Time, NetworkEvent)>) -> Clock {
        Clock { now: Time::ZERO, end: Time::ZERO + duration, events: 0, network_events }
    }

    #[inline(always)]
    pub(in crate::packet) fn now(&self) -> Time {
        self.now
    }

    #[inline(always)]
    pub(in crate::packet) fn set(&mut self, now: Time) {
        self.now = now;
    }

    /// The end of the run.
    pub(in crate::packet) fn end(&self) -> Time {
        self.end
    }

    /// Events that the loop has processed.
    pub(in crate::packet) fn events(&self) -> u64 {
        self.events
    }

    #[inline(always)]
    pub(in crate::packet) fn count_events(&mut self, events: u64) {
        self.events += events;
    }

    pub(in crate::packet) fn schedule(&mut self, at: Time, event: NetworkEvent) {
        let position = self.network_events.partition_point(|(earlier, _)| *earlier <= at);
        self.network_events.insert(position, (at, event));
    }

    /// Time of the next network event; [`Time::NEVER`] if there is none.
    pub(in crate::packet) fn next_network_event(&self) -> Time {
        self.network_events.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// Time of the next network event that all partitions must know at once: any event except the retirement of flows.
    pub(in crate::packet) fn next_change(&self) -> Time {
        let is_change = |event: &NetworkEvent| !matches!(event, NetworkEvent::Retire);
        self.network_events.iter().find(|(_, event)| is_change(event)).map_or(Time::NEVER, |(at, _)| *at)
    }

    /// All network events that are scheduled, in the order of time.
    pub(in crate::packet) fn network_events(&self) -> impl Iterator<Item = &(Time, NetworkEvent)> {
        self.network_events.iter()
    }

    /// The next event of the network.
    #[cfg(test)]
    pub(in crate::packet) fn next_network_event_itself(&self) -> Option<&NetworkEvent> {
        self.network_events.front().map(|(_, event)| event)
    }

    /// Removes and returns the next network event, which happens now.
    pub(in crate::packet) fn take_network_event(&mut self) -> Option<NetworkEvent> {
        self.network_events.pop_front().map(|(_, event)| event)
    }
}
