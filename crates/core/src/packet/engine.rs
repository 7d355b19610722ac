//! The event loop: one event per packet and link, in the order of (time, kind, index).
//!
//! At one instant, what happens to the network (failures, samples, starts) comes first, then arrivals by link, then timers
//! by flow. So before an ACK that arrives at t every timer due before t has fired. This loop is the oracle: a faster engine
//! must equal it, bit for bit.

use super::beside::{Beside, Pool};
use super::capturing::Captures;
use super::flow::{Activity, Connection, Datagrams, Flow, Writer};
use super::forwarding::{END, Forwarding, Way};
use super::link::{Link, Offer};
use super::observe::Observations;
use super::packet::{ACK, BESIDE, LOST, MARK, Packet, PacketSizes, RETRANSMISSION, SYN, WINDOW_REDUCED, flag_if};
use super::scheduler::{Timers, WinnerTree};
use super::table::Table;
use crate::rng::{Purpose, Stream};
use crate::spec::{ApplicationSpec, LinkId, NodeId, RunSpec, TransportSpec};
use crate::tcp::ack::ReceiverContext;
use crate::tcp::receiver::{Ack, DataSegment, Receiver, SackBlocks};
use crate::tcp::sender::{Sender, Transmission};
use crate::traffic::application::Application;
use crate::units::Time;
use std::collections::VecDeque;

/// Something that happens to the network as a whole, a barrier for everything else.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Control {
    Fail(Vec<LinkId>),
    Repair(Vec<LinkId>),
    Reroute(usize),
    WarmedUp,
    Sample,
}

/// The timers of a flow, by their place in its group of three.
const SENDER: u32 = 0;
const RECEIVER: u32 = 1;
const APPLICATION: u32 = 2;
const TIMERS_PER_FLOW: u32 = 3;

/// A run of the packet engine.
pub struct Simulation {
    pub(super) spec: RunSpec,
    pub(super) now: Time,
    end: Time,
    pub(super) links: Vec<Link>,
    arrivals: WinnerTree,
    timers: Timers,
    forwarding: Forwarding,
    pub(super) flows: Vec<Flow>,
    pub(super) sizes: Vec<PacketSizes>,
    /// Flows in the order of their start, and how many have started.
    starts: Vec<u32>,
    started: usize,
    controls: VecDeque<(Time, Control)>,
    pub(super) pool: Pool,
    dropped: Vec<Packet>,
    /// The earliest of the next control and the next start.
    next_barrier: Time,
    /// Arrivals before this instant come before any barrier or timer.
    arrivals_before: Time,
    packet_hops: u64,
    without_route: u64,
    /// Packets that hosts have sent, and those that have come to them.
    #[cfg(test)]
    pub(super) at_hosts: (u64, u64),
    pub(super) observations: Observations,
    pub(super) captures: Captures,
}

impl Simulation {
    pub(super) fn assemble(
        spec: RunSpec,
        links: Vec<Link>,
        forwarding: Forwarding,
        flows: Vec<Flow>,
        sizes: Vec<PacketSizes>,
        controls: VecDeque<(Time, Control)>,
    ) -> Simulation {
        let mut starts: Vec<u32> = (0..flows.len() as u32).collect();
        starts.sort_by_key(|flow| flows[*flow as usize].identity.start);
        let mut timers = Timers::default();
        timers.grow(flows.len() * TIMERS_PER_FLOW as usize);
        let mut simulation = Simulation {
            now: Time::ZERO,
            end: Time::ZERO + spec.duration,
            arrivals: WinnerTree::new(links.len()),
            observations: Observations::new(&spec),
            captures: Captures::new(&spec),
            spec,
            links,
            timers,
            forwarding,
            flows,
            sizes,
            starts,
            started: 0,
            controls,
            pool: Pool::default(),
            dropped: Vec::new(),
            next_barrier: Time::ZERO,
            arrivals_before: Time::ZERO,
            packet_hops: 0,
            without_route: 0,
            #[cfg(test)]
            at_hosts: (0, 0),
        };
        simulation.find_next_barrier();
        simulation.find_arrivals_before();
        simulation
    }

    /// Virtual time reached.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Packets that have crossed a link, lost ones included.
    pub fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    /// Packets that came to a node, or left their host, when no route led on: after links failed and routes followed.
    pub fn packets_without_route(&self) -> u64 {
        self.without_route
    }

    /// The flow samples since the last call.
    pub fn take_flow_series(&mut self) -> Table {
        self.observations.take_flow_series()
    }

    /// The link samples since the last call.
    pub fn take_link_series(&mut self) -> Table {
        self.observations.take_link_series()
    }

    /// Processes at most so many events; `false` once the run has ended.
    pub fn advance(&mut self, events: u64) -> bool {
        for _ in 0..events {
            let (arrival, link) = self.arrivals.first();
            if arrival < self.arrivals_before {
                self.now = arrival;
                self.on_link(link);
            } else if !self.on_barrier_or_timer() {
                return false;
            }
        }
        true
    }

    /// No link has an event before the next barrier or timer; `false` if these are not before the end either.
    #[cold]
    fn on_barrier_or_timer(&mut self) -> bool {
        let next = self.timers.first().min(self.next_barrier);
        let reach = self.arrivals.reach();
        if next > self.end.min(reach) || next == Time::NEVER {
            if reach >= self.end {
                self.now = self.end;
                return false;
            }
            self.arrivals.move_epoch(next, |link| {
                let link = &self.links[link as usize];
                (link.next_event(), link.second_arrival())
            });
        } else {
            self.now = next;
            if self.next_barrier == next {
                self.on_barrier();
            } else if let Some(timer) = self.timers.pop() {
                self.on_timer(timer / TIMERS_PER_FLOW, timer % TIMERS_PER_FLOW);
            }
        }
        self.find_arrivals_before();
        true
    }

    /// Arrivals go after the barriers of their instant and before its timers.
    fn find_arrivals_before(&mut self) {
        let last = self.timers.first().min(self.end).min(self.arrivals.reach());
        self.arrivals_before = self.next_barrier.min(Time(last.0 + 1));
    }

    #[inline]
    fn arm(&mut self, flow: u32, timer: u32, deadline: Time) {
        if self.timers.arm(flow * TIMERS_PER_FLOW + timer, deadline) {
            self.arrivals_before = self.arrivals_before.min(Time(deadline.0 + 1));
        }
    }

    fn find_next_barrier(&mut self) {
        let start = self.starts.get(self.started).map(|flow| self.flows[*flow as usize].identity.start);
        let control = self.controls.front().map(|(at, _)| *at);
        self.next_barrier = start.unwrap_or(Time::NEVER).min(control.unwrap_or(Time::NEVER));
    }

    fn on_barrier(&mut self) {
        if self.controls.front().is_some_and(|(at, _)| *at == self.now) {
            let (_, control) = self.controls.pop_front().expect("it was just looked at");
            self.on_control(control);
        } else {
            let flow = self.starts[self.started];
            self.started += 1;
            self.start_flow(flow);
        }
        self.find_next_barrier();
    }

    fn on_control(&mut self, control: Control) {
        match control {
            Control::Fail(links) => {
                for link in links {
                    let gone = self.links[link as usize].fail(self.now);
                    gone.into_iter().for_each(|packet| self.discard(packet));
                    self.arrivals.set(link, Time::NEVER);
                    self.arrivals.set_follower(link, Time::NEVER);
                    self.forwarding.set_up(link, false);
                }
            }
            Control::Repair(links) => {
                for link in links {
                    self.links[link as usize].repair(self.now);
                    self.forwarding.set_up(link, true);
                }
            }
            Control::Reroute(routing) => self.forwarding.reroute(routing),
            Control::WarmedUp => self.observations.on_warmed_up(&self.flows, &self.links),
            Control::Sample => {
                self.observations.on_sample(&self.spec, self.now, &self.flows, &self.links, &self.sizes);
                let interval = self.spec.sample.expect("samples are only scheduled with an interval");
                let next = self.now + interval;
                let position = self.controls.partition_point(|(at, _)| *at <= next);
                self.controls.insert(position, (next, Control::Sample));
            }
        }
    }

    #[inline(always)]
    fn on_link(&mut self, link: LinkId) {
        let state = &mut self.links[link as usize];
        if !state.is_plain() {
            return self.on_event_of_link(link);
        }
        self.arrivals.advance(link);
        let (packet, size) = state.on_arrival(&self.sizes);
        self.arrivals.set_follower(link, state.second_arrival());
        let node = state.dst;
        self.packet_hops += 1;
        self.forward(packet, size, node);
    }

    #[inline(never)]
    fn on_event_of_link(&mut self, link: LinkId) {
        let state = &mut self.links[link as usize];
        let event = state.on_event(self.now, &self.sizes, &mut self.dropped);
        self.arrivals.set(link, state.next_event());
        let Some((packet, size)) = event else { return self.discard_dropped() };
        self.packet_hops += 1;
        if packet.has(LOST) {
            state.counters.losses += 1;
            return self.discard(packet);
        }
        let node = state.dst;
        self.forward(packet, size, node);
    }

    /// A packet has arrived at a node: it goes on, or has reached its host.
    #[inline(always)]
    fn forward(&mut self, mut packet: Packet, size: u32, node: NodeId) {
        let at = packet.at();
        let next = if Forwarding::is_hop_by_hop(at) {
            match self.next_hop(packet.words(), node) {
                Some(next) => next,
                None => return self.discard_without_route(packet),
            }
        } else {
            packet.set_at(at + 1);
            self.forwarding.next_on_route(at)
        };
        if next == END { self.deliver(packet) } else { self.offer(next, packet, size) }
    }

    #[inline(never)]
    fn next_hop(&mut self, words: [u64; 3], node: NodeId) -> Option<LinkId> {
        let packet = Packet::from_words(words);
        let reverse = packet.has(ACK);
        let number = if packet.has(BESIDE) { self.pool.get(packet.number()).number } else { packet.number() };
        let key = self.flows[packet.flow() as usize].identity.key(packet.flow(), reverse, number);
        self.forwarding.next_hop(packet.at(), node, self.now, &key)
    }

    #[inline(always)]
    fn discard(&mut self, packet: Packet) {
        if packet.has(BESIDE) {
            self.pool.release(packet.number());
        }
    }

    #[cold]
    fn discard_dropped(&mut self) {
        while let Some(packet) = self.dropped.pop() {
            self.discard(packet);
        }
    }

    #[cold]
    fn discard_without_route(&mut self, packet: Packet) {
        self.without_route += 1;
        self.discard(packet);
    }

    #[inline(always)]
    fn offer(&mut self, link: LinkId, packet: Packet, size: u32) {
        let state = &mut self.links[link as usize];
        if !state.is_plain() {
            return self.offer_to_any(link, packet.words());
        }
        match state.offer(self.now, packet, size) {
            Offer::Taken => {}
            Offer::Due(at) => self.arrivals.set(link, at),
            Offer::Second(at) => self.arrivals.set_follower(link, at),
            Offer::Dropped => self.discard(packet),
        }
    }

    #[inline(never)]
    fn offer_to_any(&mut self, link: LinkId, words: [u64; 3]) {
        let packet = Packet::from_words(words);
        self.capture(link, packet);
        match self.links[link as usize].offer_to_any(self.now, packet, &self.sizes) {
            Offer::Taken | Offer::Second(_) => {}
            Offer::Due(at) => self.arrivals.set(link, at),
            Offer::Dropped => self.discard(packet),
        }
    }

    /// A packet of this size leaves its host, the flow's sender or its receiver, on this way.
    #[inline(always)]
    fn send(&mut self, mut packet: Packet, number: u32, way: Way, size: u32) {
        #[cfg(test)]
        {
            self.at_hosts.0 += 1;
        }
        let next = if let Way::Route(position) = way {
            packet.set_at(position + 1);
            self.forwarding.next_on_route(position)
        } else {
            match self.choose_way(packet.words(), way, number) {
                Some((next, at)) => {
                    packet.set_at(at);
                    next
                }
                None => return self.discard_without_route(packet),
            }
        };
        self.offer(next, packet, size);
    }

    /// The first link of a packet whose route is not settled, and where it goes after that.
    #[inline(never)]
    fn choose_way(&mut self, words: [u64; 3], way: Way, number: u32) -> Option<(LinkId, u32)> {
        let packet = Packet::from_words(words);
        let key = self.flows[packet.flow() as usize].identity.key(packet.flow(), packet.has(ACK), number);
        let at = self.forwarding.start(way, self.now, &key)?;
        if Forwarding::is_hop_by_hop(at) {
            let next = self.forwarding.next_hop(at, key.src, self.now, &key)?;
            Some((next, at))
        } else {
            Some((self.forwarding.next_on_route(at), at + 1))
        }
    }

    #[inline(always)]
    fn deliver(&mut self, packet: Packet) {
        #[cfg(test)]
        {
            self.at_hosts.1 += 1;
        }
        if packet.has(ACK) { self.deliver_ack(packet) } else { self.deliver_data(packet) }
    }

    #[inline(never)]
    fn deliver_without_tcp(&mut self, words: [u64; 3]) {
        let packet = Packet::from_words(words);
        match &mut self.flows[packet.flow() as usize].activity {
            Activity::Udp(datagrams) => datagrams.arrived += 1,
            Activity::Finished(tally) => {
                if !packet.has(ACK | SYN) {
                    tally.receiver.arrivals += 1;
                    tally.receiver.duplicates += 1;
                }
                self.discard(packet);
            }
            Activity::Pending | Activity::Tcp(_) => self.discard(packet),
        }
    }

    #[inline(always)]
    fn deliver_data(&mut self, packet: Packet) {
        let flow = packet.flow();
        let state = &mut self.flows[flow as usize];
        let Activity::Tcp(connection) = &mut state.activity else { return self.deliver_without_tcp(packet.words()) };
        let sizes = &self.sizes[flow as usize];
        let (last_segment, ack_size) = (sizes.last_segment, u32::from(sizes.header()));
        let way = state.identity.reverse;
        if packet.has(SYN) {
            let number = connection.number_ack();
            return self.send(Packet::new(flow, 0, number, ACK | SYN), number, way, ack_size);
        }
        let data = DataSegment {
            segment: packet.segment(),
            retransmission: packet.has(RETRANSMISSION),
            marked: packet.has(MARK),
            window_reduced: packet.has(WINDOW_REDUCED),
            last: packet.segment() == last_segment,
        };
        let ack = connection.receiver.on_segment(self.now, &data);
        if connection.receiver.delivered() > last_segment && state.end.is_none() {
            state.end = Some(self.now);
        }
        let deadline = connection.receiver.deadline();
        if let Some(ack) = ack {
            let number = connection.number_ack();
            self.send_ack(flow, &ack, number, way, ack_size);
        }
        if let Some(deadline) = deadline {
            self.arm(flow, RECEIVER, deadline);
        }
    }

    #[inline(always)]
    fn send_ack(&mut self, flow: u32, ack: &Ack, number: u32, way: Way, size: u32) {
        let mut flags = ACK | flag_if(RETRANSMISSION, ack.echoes_retransmission) | flag_if(MARK, ack.ecn_echo);
        let mut place = number;
        if !ack.sack.all().is_empty() {
            flags |= BESIDE;
            place = self.pool.put(Beside { sack: ack.sack, number });
        }
        self.send(Packet::new(flow, ack.cumulative, place, flags), number, way, size);
    }

    #[inline(always)]
    fn deliver_ack(&mut self, packet: Packet) {
        let flow = packet.flow();
        let Activity::Tcp(connection) = &mut self.flows[flow as usize].activity else {
            return self.deliver_without_tcp(packet.words());
        };
        if packet.has(SYN) {
            connection.sender.on_established(self.now);
        } else {
            let sack = if packet.has(BESIDE) { self.pool.take(packet.number()).sack } else { SackBlocks::default() };
            let ack = Ack {
                cumulative: packet.segment(),
                sack,
                echoes_retransmission: packet.has(RETRANSMISSION),
                ecn_echo: packet.has(MARK),
            };
            connection.sender.on_ack(self.now, &ack);
        }
        self.pump(flow);
    }

    /// Sends all that the sender may send now, and sets its timer.
    #[inline]
    fn pump(&mut self, flow: u32) {
        loop {
            let state = &mut self.flows[flow as usize];
            let way = state.identity.forward;
            let Activity::Tcp(connection) = &mut state.activity else { return };
            let Some(transmission) = connection.sender.poll_transmit(self.now) else { break };
            let (packet, number) = match transmission {
                Transmission::Data { segment, number, retransmission, window_reduced } => {
                    let flags = flag_if(RETRANSMISSION, retransmission) | flag_if(WINDOW_REDUCED, window_reduced);
                    (Packet::new(flow, segment, number, flags), number)
                }
                Transmission::Syn => {
                    // Each try has a number of its own, or all would be sprayed over one path.
                    let number = connection.sender.counters().timeouts as u32;
                    (Packet::new(flow, 0, number, SYN), number)
                }
            };
            let size = self.sizes[flow as usize].of(&packet);
            self.send(packet, number, way, size);
        }
        let state = &mut self.flows[flow as usize];
        let Activity::Tcp(connection) = &mut state.activity else { return };
        if connection.sender.is_done() && state.end.is_some() {
            state.activity = Activity::Finished(Box::new(state.activity.tally()));
        } else if let Some(deadline) = connection.sender.deadline() {
            self.arm(flow, SENDER, deadline.max(self.now));
        }
    }

    fn on_timer(&mut self, flow: u32, timer: u32) {
        match timer {
            SENDER => self.on_sender_timer(flow),
            RECEIVER => self.on_receiver_timer(flow),
            _ => self.on_application_timer(flow),
        }
    }

    fn on_sender_timer(&mut self, flow: u32) {
        let Activity::Tcp(connection) = &mut self.flows[flow as usize].activity else { return };
        match connection.sender.deadline() {
            Some(deadline) if deadline <= self.now => {
                connection.sender.on_deadline(self.now);
                self.pump(flow);
            }
            Some(deadline) => self.arm(flow, SENDER, deadline),
            None => {}
        }
    }

    fn on_receiver_timer(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        let Activity::Tcp(connection) = &mut state.activity else { return };
        match connection.receiver.deadline() {
            Some(deadline) if deadline <= self.now => {
                let ack = connection.receiver.on_deadline();
                let number = connection.number_ack();
                let way = state.identity.reverse;
                let size = u32::from(self.sizes[flow as usize].header());
                self.send_ack(flow, &ack, number, way, size);
            }
            Some(deadline) => self.arm(flow, RECEIVER, deadline),
            None => {}
        }
    }

    fn on_application_timer(&mut self, flow: u32) {
        let now = self.now;
        let state = &mut self.flows[flow as usize];
        let stopped = now >= self.spec.traffic[state.identity.group as usize].stop();
        match &mut state.activity {
            Activity::Pending | Activity::Finished(_) => return,
            Activity::Tcp(connection) => match &mut connection.writer {
                Some(writer) if !stopped => {
                    let segments = writer.write();
                    connection.sender.write(now, segments);
                }
                _ => connection.sender.close(),
            },
            Activity::Udp(datagrams) if !stopped => {
                for _ in 0..datagrams.writer.write() {
                    self.send_datagram(flow);
                }
            }
            Activity::Udp(_) => {}
        }
        if !stopped {
            self.arm_application(flow);
        }
        self.pump(flow);
    }

    fn send_datagram(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        let Activity::Udp(datagrams) = &mut state.activity else { return };
        let number = datagrams.sent;
        datagrams.sent = number.wrapping_add(1);
        let packet = Packet::new(flow, number, number, 0);
        let (way, size) = (state.identity.forward, self.sizes[flow as usize].of(&packet));
        self.send(packet, number, way, size);
    }

    fn arm_application(&mut self, flow: u32) {
        let state = &self.flows[flow as usize];
        let writes = match &state.activity {
            Activity::Tcp(connection) => connection.writer.as_ref().and_then(|writer| writer.next()),
            Activity::Udp(datagrams) => datagrams.writer.next(),
            Activity::Pending | Activity::Finished(_) => None,
        };
        let stop = self.spec.traffic[state.identity.group as usize].stop();
        let next = writes.unwrap_or(Time::NEVER).min(stop);
        if next < Time::NEVER {
            self.arm(flow, APPLICATION, next);
        }
    }

    fn start_flow(&mut self, flow: u32) {
        let identity = self.flows[flow as usize].identity;
        let group = &self.spec.traffic[identity.group as usize];
        let draws = Stream::new(self.spec.seed, Purpose::Application, u64::from(flow));
        self.flows[flow as usize].activity = match group.transport {
            TransportSpec::Udp { packet } => {
                let application = Application::new(&group.application, packet, draws);
                Activity::Udp(Box::new(Datagrams { writer: Writer::new(application, self.now), sent: 0, arrived: 0 }))
            }
            TransportSpec::Tcp { stack } => {
                let stack = &self.spec.stacks[stack];
                let paths = self.forwarding.alternatives(identity.forward, identity.src);
                let random = Stream::new(self.spec.seed, Purpose::Congestion, u64::from(flow));
                let mut sender = Sender::new(stack, paths, random);
                let writer = match group.application {
                    ApplicationSpec::Bulk { .. } | ApplicationSpec::ShortFlows { .. } => {
                        sender.write(self.now, self.sizes[flow as usize].segments());
                        None
                    }
                    _ => {
                        let application = Application::new(&group.application, stack.mss, draws);
                        Some(Box::new(Writer::new(application, self.now)))
                    }
                };
                let receiver = Receiver::new(stack.sack, stack.ack.build(ReceiverContext)).with_echo(stack.ecn_echo);
                Activity::Tcp(Box::new(Connection { sender, receiver, acks_sent: 0, writer }))
            }
        };
        self.arm_application(flow);
        self.pump(flow);
    }
}
