//! The clock: the time, the end of the run, and the next events of the whole network.

use crate::spec::{LinkId, LossSpec};
use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// The receiver of a finished flow answers duplicates for one to two times this long; then only its counters are kept.
pub(super) const TIME_WAIT: Duration = Duration::from_millis(100);

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
    /// In the order of time; at one instant, in the order in which they were scheduled, but for retirements and samples.
    network_events: VecDeque<(Time, NetworkEvent)>,
    /// Whether flows retire before a sample at the same instant. A flow is sampled once more after it has retired. So all partitions need one order, although
    /// they learn of the end of a flow at different times. It is the order in which one partition would schedule the two.
    retires_first: bool,
}

impl Clock {
    /// The clock of a run with this duration and interval of samples.
    pub(in crate::packet) fn new(
        duration: Duration,
        sample: Option<Duration>,
        network_events: VecDeque<(Time, NetworkEvent)>,
    ) -> Clock {
        let retires_first = sample.is_none_or(|interval| interval <= TIME_WAIT);
        Clock { now: Time::ZERO, end: Time::ZERO + duration, events: 0, network_events, retires_first }
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
        let comes_first = |other: &NetworkEvent| match (&event, other) {
            (NetworkEvent::Retire, NetworkEvent::Sample) => self.retires_first,
            (NetworkEvent::Sample, NetworkEvent::Retire) => !self.retires_first,
            _ => false,
        };
        let end = self.network_events.partition_point(|(earlier, _)| *earlier <= at);
        let begin = self.network_events.partition_point(|(earlier, _)| *earlier < at);
        let position = (begin..end).find(|index| comes_first(&self.network_events[*index].1)).unwrap_or(end);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Partitions learn of the end of a flow at different times.
    #[test]
    fn a_retirement_and_a_sample_of_one_instant_have_one_order() {
        let at = Time(7);
        for (interval_ms, first) in
            [(50, NetworkEvent::Retire), (100, NetworkEvent::Retire), (200, NetworkEvent::Sample)]
        {
            for events in [[NetworkEvent::Retire, NetworkEvent::Sample], [NetworkEvent::Sample, NetworkEvent::Retire]] {
                let sample = Some(Duration::from_millis(interval_ms));
                let known = VecDeque::from([(Time(6), NetworkEvent::WarmedUp), (at, NetworkEvent::Reroute(0))]);
                let mut clock = Clock::new(Duration::from_secs(1), sample, known);
                events.into_iter().for_each(|event| clock.schedule(at, event));
                let found: Vec<&NetworkEvent> = clock.network_events().map(|(_, event)| event).collect();
                assert_eq!(found[..2], [&NetworkEvent::WarmedUp, &NetworkEvent::Reroute(0)]);
                assert_eq!((found.len(), found[2]), (4, &first));
            }
        }
    }
}
