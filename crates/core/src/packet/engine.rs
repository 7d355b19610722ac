//! The event loop: one event per packet and link, in the order of (time, kind, index).
//!
//! At one instant, what happens to the network (failures, samples, starts) comes first, then arrivals by link, then timers
//! by flow. So before an ACK that arrives at t every timer due before t has fired. This loop is the oracle: a faster engine
//! must equal it, bit for bit.

use super::beside::{Beside, Pool};
use super::capturing::Captures;
use super::flow::{Activity, Connection, Datagrams, Flow, Writer};
use super::forwarding::{END, Forwarding};
use super::link::{Link, Offer};
use super::observe::Observations;
use super::packet::{ACK, BESIDE, LOST, MARK, Packet, PacketSizes, RETRANSMISSION, SYN, WINDOW_REDUCED};
use super::scheduler::{Timers, WinnerTree};
use super::table::Table;
use crate::rng::{Purpose, Stream};
use crate::spec::{ApplicationSpec, LinkId, RunSpec, TransportSpec};
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
            packet_hops: 0,
            without_route: 0,
            #[cfg(test)]
            at_hosts: (0, 0),
        };
        simulation.find_next_barrier();
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
            let timer = self.timers.first();
            let next = arrival.min(timer).min(self.next_barrier);
            if next > self.end || next == Time::NEVER {
                self.now = self.end;
                return false;
            }
            self.now = next;
            if self.next_barrier == next {
                self.on_barrier();
            } else if arrival == next {
                self.on_link(link);
            } else if let Some(timer) = self.timers.pop() {
                self.on_timer(timer / TIMERS_PER_FLOW, timer % TIMERS_PER_FLOW);
            }
        }
        true
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
                    gone.iter().for_each(|packet| self.discard(packet));
                    self.arrivals.set(link, None);
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

    #[inline]
    fn on_link(&mut self, link: LinkId) {
        let state = &mut self.links[link as usize];
        let packet = state.on_event(self.now, &self.sizes, &mut self.dropped);
        let node = state.dst;
        self.arrivals.set(link, state.next_event());
        let Some(mut packet) = packet else {
            while let Some(packet) = self.dropped.pop() {
                self.discard(&packet);
            }
            return;
        };
        self.packet_hops += 1;
        if packet.has(LOST) {
            self.links[link as usize].counters.losses += 1;
            return self.discard(&packet);
        }
        let next = if Forwarding::is_hop_by_hop(packet.at) {
            match self.next_hop(&packet, node) {
                Some(next) => next,
                None => return self.discard_without_route(&packet),
            }
        } else {
            let next = self.forwarding.next_on_route(packet.at);
            packet.at += 1;
            next
        };
        if next == END { self.deliver(packet) } else { self.offer(next, packet) }
    }

    fn next_hop(&mut self, packet: &Packet, node: u32) -> Option<LinkId> {
        let reverse = packet.has(ACK);
        let number = if packet.has(BESIDE) { self.pool.get(packet.number).number } else { packet.number };
        let key = self.flows[packet.flow as usize].identity.key(packet.flow, reverse, number);
        self.forwarding.next_hop(packet.at, node, self.now, &key)
    }

    fn discard(&mut self, packet: &Packet) {
        if packet.has(BESIDE) {
            self.pool.take(packet.number);
        }
    }

    fn discard_without_route(&mut self, packet: &Packet) {
        self.without_route += 1;
        self.discard(packet);
    }

    #[inline(always)]
    fn offer(&mut self, link: LinkId, packet: Packet) {
        if self.captures.any() {
            self.capture(link, packet);
        }
        match self.links[link as usize].offer(self.now, packet, &self.sizes) {
            Offer::Taken => {}
            Offer::Due(at) => self.arrivals.set(link, Some(at)),
            Offer::Dropped => self.discard(&packet),
        }
    }

    /// A packet leaves its host: the sender's, or the receiver's if it is an ACK.
    #[inline]
    fn send(&mut self, mut packet: Packet, number: u32) {
        #[cfg(test)]
        {
            self.at_hosts.0 += 1;
        }
        let identity = &self.flows[packet.flow as usize].identity;
        let reverse = packet.has(ACK);
        let way = if reverse { identity.reverse } else { identity.forward };
        let key = identity.key(packet.flow, reverse, number);
        let Some(at) = self.forwarding.start(way, self.now, &key) else { return self.discard_without_route(&packet) };
        let next = if Forwarding::is_hop_by_hop(at) {
            packet.at = at;
            match self.forwarding.next_hop(at, key.src, self.now, &key) {
                Some(next) => next,
                None => return self.discard_without_route(&packet),
            }
        } else {
            packet.at = at + 1;
            self.forwarding.next_on_route(at)
        };
        self.offer(next, packet);
    }

    #[inline]
    fn deliver(&mut self, packet: Packet) {
        #[cfg(test)]
        {
            self.at_hosts.1 += 1;
        }
        let flow = packet.flow;
        match &mut self.flows[flow as usize].activity {
            Activity::Pending => {}
            Activity::Finished(tally) => {
                if !packet.has(ACK | SYN) {
                    tally.receiver.arrivals += 1;
                    tally.receiver.duplicates += 1;
                }
                self.discard(&packet);
            }
            Activity::Udp(datagrams) => datagrams.arrived += 1,
            Activity::Tcp(_) => {
                if packet.has(ACK) {
                    self.deliver_ack(packet);
                } else {
                    self.deliver_data(packet);
                }
            }
        }
    }

    #[inline]
    fn deliver_data(&mut self, packet: Packet) {
        let flow = packet.flow;
        let state = &mut self.flows[flow as usize];
        let Activity::Tcp(connection) = &mut state.activity else { return };
        if packet.has(SYN) {
            let number = connection.acks_sent;
            connection.acks_sent += 1;
            return self.send(Packet::new(flow, 0, number, ACK | SYN), number);
        }
        let last_segment = self.sizes[flow as usize].last_segment;
        let data = DataSegment {
            segment: packet.segment,
            retransmission: packet.has(RETRANSMISSION),
            marked: packet.has(MARK),
            window_reduced: packet.has(WINDOW_REDUCED),
            last: packet.segment == last_segment,
        };
        let ack = connection.receiver.on_segment(self.now, &data);
        if state.end.is_none() && connection.receiver.delivered() > last_segment {
            state.end = Some(self.now);
        }
        match ack {
            Some(ack) => self.send_ack(flow, &ack),
            None => {
                if let Some(deadline) = connection.receiver.deadline() {
                    self.timers.arm(flow * TIMERS_PER_FLOW + RECEIVER, deadline);
                }
            }
        }
    }

    #[inline]
    fn send_ack(&mut self, flow: u32, ack: &Ack) {
        let Activity::Tcp(connection) = &mut self.flows[flow as usize].activity else { return };
        let number = connection.acks_sent;
        connection.acks_sent = number.wrapping_add(1);
        let mut packet = Packet::new(flow, ack.cumulative, number, ACK);
        if ack.echoes_retransmission {
            packet.flag(RETRANSMISSION);
        }
        if ack.ecn_echo {
            packet.flag(MARK);
        }
        if !ack.sack.all().is_empty() {
            packet.flag(BESIDE);
            packet.number = self.pool.put(Beside { sack: ack.sack, number });
        }
        self.send(packet, number);
    }

    #[inline]
    fn deliver_ack(&mut self, packet: Packet) {
        let flow = packet.flow;
        let sack = if packet.has(BESIDE) { self.pool.take(packet.number).sack } else { SackBlocks::default() };
        let Activity::Tcp(connection) = &mut self.flows[flow as usize].activity else { return };
        if packet.has(SYN) {
            connection.sender.on_established(self.now);
        } else {
            let ack = Ack {
                cumulative: packet.segment,
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
            let Activity::Tcp(connection) = &mut self.flows[flow as usize].activity else { return };
            match connection.sender.poll_transmit(self.now) {
                Some(Transmission::Data { segment, number, retransmission, window_reduced }) => {
                    let mut packet = Packet::new(flow, segment, number, 0);
                    if retransmission {
                        packet.flag(RETRANSMISSION);
                    }
                    if window_reduced {
                        packet.flag(WINDOW_REDUCED);
                    }
                    self.send(packet, number);
                }
                Some(Transmission::Syn) => {
                    // Each try has a number of its own, or all would be sprayed over one path.
                    let number = connection.sender.counters().timeouts as u32;
                    self.send(Packet::new(flow, 0, number, SYN), number);
                }
                None => break,
            }
        }
        let state = &mut self.flows[flow as usize];
        let Activity::Tcp(connection) = &mut state.activity else { return };
        if connection.sender.is_done() && state.end.is_some() {
            state.activity = Activity::Finished(Box::new(state.activity.tally()));
        } else if let Some(deadline) = connection.sender.deadline() {
            self.timers.arm(flow * TIMERS_PER_FLOW + SENDER, deadline.max(self.now));
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
            Some(deadline) => self.timers.arm(flow * TIMERS_PER_FLOW + SENDER, deadline),
            None => {}
        }
    }

    fn on_receiver_timer(&mut self, flow: u32) {
        let Activity::Tcp(connection) = &mut self.flows[flow as usize].activity else { return };
        match connection.receiver.deadline() {
            Some(deadline) if deadline <= self.now => {
                let ack = connection.receiver.on_deadline();
                self.send_ack(flow, &ack);
            }
            Some(deadline) => self.timers.arm(flow * TIMERS_PER_FLOW + RECEIVER, deadline),
            None => {}
        }
    }

    fn on_application_timer(&mut self, flow: u32) {
        let now = self.now;
        let state = &mut self.flows[flow as usize];
        let stopped = now >= state.identity.stop;
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
        let Activity::Udp(datagrams) = &mut self.flows[flow as usize].activity else { return };
        let number = datagrams.sent;
        datagrams.sent = number.wrapping_add(1);
        self.send(Packet::new(flow, number, number, 0), number);
    }

    fn arm_application(&mut self, flow: u32) {
        let state = &self.flows[flow as usize];
        let writes = match &state.activity {
            Activity::Tcp(connection) => connection.writer.as_ref().and_then(|writer| writer.next()),
            Activity::Udp(datagrams) => datagrams.writer.next(),
            Activity::Pending | Activity::Finished(_) => None,
        };
        let next = writes.unwrap_or(Time::NEVER).min(state.identity.stop);
        if next < Time::NEVER {
            self.timers.arm(flow * TIMERS_PER_FLOW + APPLICATION, next);
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
                        let segments = identity.bytes.map(|bytes| bytes.div_ceil(u64::from(stack.mss)));
                        sender.write(self.now, segments.map_or(u32::MAX, |segments| segments as u32));
                        None
                    }
                    _ => {
                        let application = Application::new(&group.application, stack.mss, draws);
                        Some(Box::new(Writer::new(application, self.now)))
                    }
                };
                let receiver = Receiver::new(stack.sack, stack.ack.build(ReceiverContext));
                Activity::Tcp(Box::new(Connection { sender, receiver, acks_sent: 0, writer }))
            }
        };
        self.arm_application(flow);
        self.pump(flow);
    }
}
