//! A link whose rate or delay varies: with a schedule of its rate, a schedule of its delay, jitter, or a shaper in front of a faster line.
//!
//! A packet has the delay of the instant when it departs. Without reordering it does not overtake the packet before it: if it would, it arrives a
//! picosecond after it. Events have the order of (time, kind, link), so no two packets of a link may arrive at the same instant. Departures cannot be
//! computed from arrivals here, so packets that have not departed are listed.

use super::Link;
use super::jitter::Jitter;
use super::schedule::{Capacity, Steps, delays, work};
use crate::packet::link::fifo::FifoStore;
use crate::packet::link::packet::Packet;
use crate::spec::{LinkId, LinkSpec, ScheduleSpec, ShaperKind, ShaperSpec};
use crate::units::{Duration, Rate, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// The schedules of a run, compiled once for all links that follow them.
pub struct Schedules(Vec<(Arc<Capacity>, Option<Arc<Steps>>)>);

impl Schedules {
    /// The schedules, which have passed [`ScheduleSpec::check`].
    pub fn new(specs: &[ScheduleSpec]) -> Schedules {
        let steps = |spec| matches!(spec, &ScheduleSpec::Steps { .. }).then(|| Arc::new(delays(spec)));
        Schedules(specs.iter().map(|spec| (Arc::new(Capacity::new(spec)), steps(spec))).collect())
    }
}

/// The varying properties of a link, and the state of its transmitter.
pub(super) struct Varying {
    capacity: Arc<Capacity>,
    delay: Arc<Steps>,
    jitter: Option<Jitter>,
    shaper: Option<Shaper>,
    /// The mean rate, at which [`Self::busy`] counts.
    mean: Rate,
    /// The departures and sizes of packets that had not departed when the link was looked at last, and their bytes.
    departures: VecDeque<(Time, u32)>,
    bytes: u64,
    /// The work that the transmitter is at when it has transmitted all packets. A shaper's bucket is full at the start, so the first work is its burst.
    at: u128,
    /// The work that no packet used before.
    unused: u128,
    /// When the latest packet arrives.
    last_arrival: Time,
    /// How many packets the last one has overtaken.
    overtaken: usize,
    /// When the first packet that waits for service is served.
    next_service: Time,
}

/// A token bucket in front of a line.
struct Shaper {
    kind: ShaperKind,
    /// The work for which the bucket holds tokens.
    burst: u128,
    line: Rate,
    /// When the line has transmitted all packets.
    free: Time,
}

impl Varying {
    /// `None` for a link of fixed rate and delay.
    pub fn new(spec: &LinkSpec, schedules: &Schedules, seed: u64, link: LinkId) -> Option<Box<Varying>> {
        let capacity = match spec.rate_schedule {
            Some(index) => schedules.0[index].0.clone(),
            None => Arc::new(Capacity::constant(spec.rate)),
        };
        let delay = spec.delay_schedule.and_then(|index| schedules.0[index].1.clone());
        spec.varies().then(|| {
            Box::new(Varying {
                capacity,
                delay: delay.unwrap_or_else(|| Arc::new(Steps::constant(spec.delay.0))),
                jitter: spec.jitter.clone().map(|spec| Jitter::new(spec, seed, link)),
                shaper: spec.shaper.map(|ShaperSpec { kind, burst, line }| Shaper {
                    kind,
                    burst: work(burst),
                    line,
                    free: Time::ZERO,
                }),
                mean: spec.rate,
                departures: VecDeque::new(),
                bytes: 0,
                at: 0,
                unused: 0,
                last_arrival: Time::ZERO,
                overtaken: 0,
                next_service: Time::ZERO,
            })
        })
    }

    /// Least time of a packet on the wire.
    pub fn least_delay(&self) -> Duration {
        Duration(self.delay.least())
    }

    /// Greatest time of a packet on the wire.
    pub fn longest_delay(&self) -> Duration {
        Duration(self.delay.greatest()) + self.jitter.as_ref().map_or(Duration::ZERO, Jitter::longest)
    }

    pub fn least_transmission(&self, bytes: u64) -> Duration {
        match &self.shaper {
            Some(shaper) => shaper.line.serialization_delay(bytes),
            None => self.capacity.least_transmission(bytes),
        }
    }

    /// All that the transmitter can transmit in a span of time and `earlier`, divided by the span; bit/s, rounded up.
    pub fn most_rate(&self, from: Time, to: Time, earlier: Duration) -> Rate {
        let most = self.capacity.work_by(to) - self.capacity.work_before(from - earlier) + self.burst();
        Rate(u64::try_from(most.div_ceil(u128::from((to - from).0.max(1)))).unwrap_or(u64::MAX))
    }

    /// Packets that have not departed, and their bytes.
    pub fn backlog(&mut self, now: Time) -> (u32, u64) {
        while let Some((departure, size)) = self.departures.front()
            && *departure <= now
        {
            self.bytes -= u64::from(*size);
            self.departures.pop_front();
        }
        (self.departures.len() as u32, self.bytes)
    }

    /// Packets that have not departed.
    pub fn undeparted(&self, now: Time) -> u32 {
        (self.departures.len() - self.departures.partition_point(|(departure, _)| *departure <= now)) as u32
    }

    /// Time that the transmitter would have needed, at its mean rate, for all that it has transmitted. Without a shaper it is [`Self::possible`] minus the
    /// idle time, so it never grows by more.
    pub fn busy(&self, now: Time) -> Duration {
        let all = self.work_before(now);
        self.at_mean_rate(all) - self.at_mean_rate(self.unused + all.saturating_sub(self.at))
    }

    /// Time that the transmitter would have needed for all that it could have transmitted. An opportunity at `now` does not count yet, because a packet
    /// that arrives now may use it.
    pub fn possible(&self, now: Time) -> Duration {
        self.at_mean_rate(self.capacity.work_before(now))
    }

    fn at_mean_rate(&self, work: u128) -> Duration {
        Duration((work / u128::from(self.mean.0)) as u64)
    }

    /// How many packets the last one has overtaken.
    pub fn overtaken(&self) -> usize {
        self.overtaken
    }

    /// The work that a shaper allows after its time.
    fn burst(&self) -> u128 {
        self.shaper.as_ref().map_or(0, |shaper| shaper.burst)
    }

    /// The work before an instant, a full bucket at the start included.
    fn work_before(&self, time: Time) -> u128 {
        self.capacity.work_before(time) + self.burst()
    }

    /// Records that the transmitter was idle until now, except for the work that a shaper still allows.
    fn be_idle(&mut self, now: Time) {
        let before = self.capacity.work_before(now);
        self.unused += before.saturating_sub(self.at);
        self.at = self.at.max(before);
    }

    /// Removes all packets.
    pub fn fail(&mut self, now: Time) {
        self.at = self.at.min(self.capacity.work_by(now) + self.burst());
        if let Some(shaper) = &mut self.shaper {
            shaper.free = shaper.free.min(now);
        }
        self.departures.clear();
        self.bytes = 0;
        self.last_arrival = Time::ZERO;
    }

    /// When a queue that decides at its service serves its first packet.
    pub fn next_service(&self) -> Time {
        self.next_service
    }

    /// Time at which a packet that arrives now leaves the queue.
    pub fn begins_at(&mut self, now: Time) -> Time {
        match &self.shaper {
            Some(Shaper { kind: ShaperKind::Tbf, free, .. }) => (*free).max(now),
            _ => self.begins_by_work(now),
        }
    }

    /// Time at which the transmitter begins a packet that arrives now, unless the bucket of a shaper must have its bytes.
    fn begins_by_work(&mut self, now: Time) -> Time {
        self.be_idle(now);
        let begin = match self.at.checked_sub(self.burst()) {
            Some(work) => self.capacity.begins(work),
            None => Time::ZERO,
        };
        self.shaper.as_ref().map_or(begin, |shaper| begin.max(shaper.free).max(now))
    }

    /// Determines when the next packet that waits is served, if it came by now.
    pub fn plan_service(&mut self, now: Time) {
        self.next_service = self.begins_at(now);
    }

    /// Transmits a packet after all packets before it. Returns when its transmission begins, when it departs, and when it arrives.
    fn transmit(&mut self, now: Time, size: u32) -> (Time, Time, Time) {
        let mut begin = self.begins_by_work(now);
        let (end, burst) = (self.at + work(u64::from(size)), self.burst());
        let mut departure = Time::ZERO;
        self.at = end;
        if end > burst {
            (departure, self.at) = self.capacity.ends(end - burst);
            self.at += burst;
        }
        if let Some(shaper) = &mut self.shaper {
            if shaper.kind == ShaperKind::Tbf {
                // The bucket has the bytes of a packet when a transmitter of its rate would have transmitted them.
                begin = begin.max(departure);
            }
            departure = begin + shaper.line.serialization_delay(u64::from(size));
            shaper.free = departure;
        }
        self.backlog(now);
        self.departures.push_back((departure, size));
        self.bytes += u64::from(size);
        let jitter = self.jitter.as_mut().map_or(Duration::ZERO, Jitter::draw);
        let own = departure + Duration(self.delay.value(departure)) + jitter;
        let arrival = if self.reorders() { own } else { own.max(Time(self.last_arrival.0 + 1)) };
        self.last_arrival = arrival;
        (begin, departure, arrival)
    }

    fn reorders(&self) -> bool {
        self.jitter.as_ref().is_some_and(Jitter::reorders)
    }
}

impl Link {
    /// [`Link::transmit`] for any link. A link that varies inserts the packet into the FIFO in front of packets that arrive later. Returns how
    /// long the packet waits.
    pub(super) fn transmit_on_any(
        &mut self,
        now: Time,
        mut packet: Packet,
        size: u32,
        fifos: &mut FifoStore,
    ) -> Duration {
        let Some(varying) = &mut self.varying else {
            let wait = self.busy_until - now;
            self.transmit(now, packet, size, fifos);
            return wait;
        };
        let (begin, departure, arrival) = varying.transmit(now, size);
        packet.set_arrival(arrival);
        varying.overtaken = fifos.insert(&mut self.fifo, packet);
        self.count_wait(begin - now);
        (self.busy_until, self.last_size) = (departure, size);
        self.counters.bytes += u64::from(size);
        begin - now
    }
}
