//! The hosts: what arrives is handed to a flow's sender or receiver, and what these send goes on its way.

use crate::packet::engine::{APPLICATION, Engine, EventLoop, RECEIVER, SENDER};
use crate::packet::forwarding::{END, Forwarding, RouteRef};
use crate::packet::hosts::flow::{Connection, Datagrams, FlowState, Writer};
use crate::packet::link::packet::{ACK, HAS_SACK, MARK, Packet, RETRANSMISSION, SYN, WINDOW_REDUCED};
use crate::rng::{Purpose, Stream};
use crate::spec::{ApplicationSpec, LinkId, NodeId, TransportSpec};
use crate::tcp::ack::ReceiverContext;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use crate::traffic::application::Application;
use crate::units::{Duration, Time};

/// A sender is woken after so long at the latest, and says then when it is really due: else the entry of its SYN's timer would
/// stand for a second beside that of the first, shorter, retransmission timeout.
const FARTHEST_TIMER: Duration = Duration::from_millis(200);

impl<L: EventLoop> Engine<L> {
    /// A packet has arrived at a node: it goes on, or has reached its host.
    #[inline(always)]
    pub(in crate::packet) fn forward(&mut self, mut packet: Packet, node: NodeId) {
        let at = packet.at();
        let next = if Forwarding::is_hop_by_hop(at) {
            match self.next_hop(packet.words(), node) {
                Some((next, at)) => {
                    packet.set_at(at);
                    next
                }
                None => return self.discard_on_the_way(packet),
            }
        } else {
            packet.set_at(at + 1);
            self.forwarding.next_on_route(at)
        };
        if next == END { self.deliver(packet) } else { L::offer(self, next, packet) }
    }

    /// The next link of a packet that goes hop by hop, [`END`] if it has arrived, and the word that it carries from here.
    #[inline(never)]
    fn next_hop(&mut self, words: [u64; 3], node: NodeId) -> Option<(LinkId, u32)> {
        let packet = Packet::from_words(words);
        let reverse = packet.has(ACK);
        let number = if packet.has(HAS_SACK) { self.pool.number(packet.number()) } else { packet.number() };
        let key = self.flows[packet.flow() as usize].identity.key(packet.flow(), reverse, number);
        let Some(next) = self.forwarding.next_hop(packet.at(), node, self.now, &key) else {
            self.without_route += 1;
            return None;
        };
        if next == END {
            return Some((END, packet.at()));
        }
        let at = Forwarding::sent_on(packet.at());
        self.expired += u64::from(at.is_none());
        Some((next, at?))
    }

    /// A packet leaves its host, the flow's sender or its receiver, on this way.
    #[inline(always)]
    pub(in crate::packet) fn send(&mut self, mut packet: Packet, number: u32, way: RouteRef) {
        #[cfg(test)]
        {
            self.at_hosts.0 += 1;
        }
        let next = if let RouteRef::Route(position) = way {
            packet.set_at(position + 1);
            self.forwarding.next_on_route(position)
        } else {
            match self.choose_way(packet.words(), way, number) {
                Some((next, at)) => {
                    packet.set_at(at);
                    next
                }
                None => return self.discard_on_the_way(packet),
            }
        };
        L::offer(self, next, packet);
    }

    /// The first link of a packet whose route is not settled, and where it goes after that.
    #[inline(never)]
    fn choose_way(&mut self, words: [u64; 3], way: RouteRef, number: u32) -> Option<(LinkId, u32)> {
        let packet = Packet::from_words(words);
        let key = self.flows[packet.flow() as usize].identity.key(packet.flow(), packet.has(ACK), number);
        let first = self.forwarding.start(way, self.now, &key).and_then(|at| {
            if Forwarding::is_hop_by_hop(at) {
                Some((self.forwarding.next_hop(at, key.src, self.now, &key)?, at))
            } else {
                Some((self.forwarding.next_on_route(at), at + 1))
            }
        });
        self.without_route += u64::from(first.is_none());
        first
    }

    #[inline(always)]
    pub(in crate::packet) fn deliver(&mut self, packet: Packet) {
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
            FlowState::Udp(datagrams) => datagrams.arrived += 1,
            FlowState::Finished(tally) => {
                if !packet.has(ACK | SYN) {
                    tally.receiver.arrivals += 1;
                    tally.receiver.duplicates += 1;
                }
                self.discard(packet);
            }
            FlowState::Pending | FlowState::Tcp(_) => self.discard(packet),
        }
    }

    #[inline(always)]
    fn deliver_data(&mut self, packet: Packet) {
        let flow = packet.flow();
        let state = &mut self.flows[flow as usize];
        let FlowState::Tcp(connection) = &mut state.activity else { return self.deliver_without_tcp(packet.words()) };
        let cumulative = if packet.has(SYN | RETRANSMISSION | MARK | WINDOW_REDUCED) {
            None
        } else {
            connection.receiver.take_ordinary(packet.segment())
        };
        let Some(cumulative) = cumulative else { return self.deliver_any_data(packet.words()) };
        if cumulative > self.sizes[flow as usize].last_segment && state.end == Time::NEVER {
            state.end = self.now;
        }
        let number = connection.number_ack();
        let way = state.identity.reverse;
        self.send(Packet::new(flow, cumulative, number, ACK), number, way);
    }

    #[inline(never)]
    fn deliver_any_data(&mut self, words: [u64; 3]) {
        let packet = Packet::from_words(words);
        let flow = packet.flow();
        let state = &mut self.flows[flow as usize];
        let FlowState::Tcp(connection) = &mut state.activity else { return };
        let last_segment = self.sizes[flow as usize].last_segment;
        let way = state.identity.reverse;
        if packet.has(SYN) {
            let number = connection.number_ack();
            return self.send(Packet::new(flow, 0, number, ACK | SYN), number, way);
        }
        let answer = connection.answer(self.now, words, last_segment, &mut self.pool);
        let number = connection.acks_sent.wrapping_sub(1);
        if connection.receiver.delivered() > last_segment && state.end == Time::NEVER {
            state.end = self.now;
        }
        let deadline = connection.receiver.deadline(); // an exact echo may owe another ACK
        if let Some(ack) = answer {
            self.send(ack, number, way);
        }
        if let Some(deadline) = deadline {
            L::arm(self, flow, RECEIVER, deadline);
        }
    }

    #[inline(always)]
    fn deliver_ack(&mut self, packet: Packet) {
        let flow = packet.flow();
        let FlowState::Tcp(connection) = &mut self.flows[flow as usize].activity else {
            return self.deliver_without_tcp(packet.words());
        };
        if packet.has(SYN) {
            connection.sender.on_established(self.now);
        } else {
            connection.take_ack(self.now, packet.words(), &mut self.pool);
        }
        self.pump(flow);
    }

    /// Sends all that the sender may send now, and sets its timer.
    #[inline]
    fn pump(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        let way = state.identity.forward;
        let FlowState::Tcp(connection) = &mut state.activity else { return };
        if let Some(burst) = connection.sender.poll_burst(self.now) {
            for index in 0..burst.count {
                let number = burst.number + index;
                self.send(Packet::new(flow, burst.segment + index, number, 0), number, way);
            }
        } else {
            self.pump_one_by_one(flow, way);
        }
        self.settle(flow);
    }

    /// The sender has sent all that it may: its timer is set, or the flow is done.
    #[inline(always)]
    pub(in crate::packet) fn settle(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        let FlowState::Tcp(connection) = &mut state.activity else { return };
        let last_segment = self.sizes[flow as usize].last_segment;
        if connection.sender.is_done() && connection.sender.scoreboard().una() > last_segment {
            connection.sender.give_back_room();
            self.retire_later(flow);
        } else if !connection.sender.quiet_until(self.order.armed(flow, SENDER))
            && let Some(deadline) = connection.sender.deadline()
        {
            L::arm(self, flow, SENDER, deadline.clamp(self.now, self.now + FARTHEST_TIMER));
        }
    }

    #[inline(never)]
    fn pump_one_by_one(&mut self, flow: u32, way: RouteRef) {
        loop {
            let FlowState::Tcp(connection) = &mut self.flows[flow as usize].activity else { return };
            let Some((packet, number)) = connection.next_packet(flow, self.now) else { break };
            self.send(packet, number, way);
            let FlowState::Tcp(connection) = &mut self.flows[flow as usize].activity else { return };
            if connection.sender.is_held_back(self.now) {
                break; // as a paced sender is after every segment
            }
        }
    }

    pub(in crate::packet) fn on_timer(&mut self, flow: u32, timer: u32) {
        match timer {
            SENDER => self.on_sender_timer(flow),
            RECEIVER => self.on_receiver_timer(flow),
            _ => self.on_application_timer(flow),
        }
    }

    fn on_sender_timer(&mut self, flow: u32) {
        let FlowState::Tcp(connection) = &mut self.flows[flow as usize].activity else { return };
        if connection.sender.is_paced_to(self.now) {
            return self.pump(flow);
        }
        match connection.sender.deadline() {
            Some(deadline) if deadline <= self.now => {
                connection.sender.on_deadline(self.now);
                self.pump(flow);
            }
            Some(deadline) => L::arm(self, flow, SENDER, deadline.min(self.now + FARTHEST_TIMER)),
            None => {}
        }
    }

    fn on_receiver_timer(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        let FlowState::Tcp(connection) = &mut state.activity else { return };
        match connection.receiver.deadline() {
            Some(deadline) if deadline <= self.now => {
                let ack = connection.receiver.on_deadline();
                let packet = connection.packet_of(flow, &ack, &mut self.pool);
                let number = connection.acks_sent.wrapping_sub(1);
                let way = state.identity.reverse;
                self.send(packet, number, way);
            }
            Some(deadline) => L::arm(self, flow, RECEIVER, deadline),
            None => {}
        }
    }

    fn on_application_timer(&mut self, flow: u32) {
        let now = self.now;
        let state = &mut self.flows[flow as usize];
        let stopped = now >= self.spec.traffic[state.identity.group as usize].stop();
        match &mut state.activity {
            FlowState::Pending | FlowState::Finished(_) => return,
            FlowState::Tcp(connection) => match &mut connection.writer {
                Some(writer) if !stopped => {
                    let segments = writer.write();
                    connection.sender.write(now, segments);
                }
                _ => connection.sender.close(),
            },
            FlowState::Udp(datagrams) if !stopped => {
                for _ in 0..datagrams.writer.write() {
                    self.send_datagram(flow);
                }
            }
            FlowState::Udp(_) => {}
        }
        if !stopped {
            self.arm_application(flow);
        }
        self.pump(flow);
    }

    fn send_datagram(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        let FlowState::Udp(datagrams) = &mut state.activity else { return };
        let number = datagrams.sent;
        datagrams.sent = number.wrapping_add(1);
        let packet = Packet::new(flow, number, number, 0);
        let way = state.identity.forward;
        self.send(packet, number, way);
    }

    fn arm_application(&mut self, flow: u32) {
        let state = &self.flows[flow as usize];
        let writes = match &state.activity {
            FlowState::Tcp(connection) => connection.writer.as_ref().and_then(|writer| writer.next()),
            FlowState::Udp(datagrams) => datagrams.writer.next(),
            FlowState::Pending | FlowState::Finished(_) => None,
        };
        let stop = self.spec.traffic[state.identity.group as usize].stop();
        let next = writes.unwrap_or(Time::NEVER).min(stop);
        if next < Time::NEVER {
            L::arm(self, flow, APPLICATION, next);
        }
    }

    /// The next flow in the order of starts starts now.
    pub(in crate::packet) fn start_next_flow(&mut self) {
        let flow = self.starts[self.started];
        self.started += 1;
        self.start_flow(flow);
    }

    pub(in crate::packet) fn start_flow(&mut self, flow: u32) {
        self.open_flow(flow);
        self.arm_application(flow);
        self.pump(flow);
    }

    /// Both ends of a flow are there, and nothing is sent yet.
    pub(in crate::packet) fn open_flow(&mut self, flow: u32) {
        let identity = self.flows[flow as usize].identity;
        let group = &self.spec.traffic[identity.group as usize];
        let draws = Stream::new(self.spec.seed, Purpose::Application, u64::from(flow));
        self.flows[flow as usize].activity = match group.transport {
            TransportSpec::Udp { packet } => {
                let application = Application::new(&group.application, packet, draws);
                FlowState::Udp(Box::new(Datagrams { writer: Writer::new(application, self.now), sent: 0, arrived: 0 }))
            }
            TransportSpec::Tcp { stack: stack_index } => {
                let stack = &self.spec.stacks[stack_index];
                let paths = self.forwarding.paths_of_flow(identity.forward, identity.src);
                let random = Stream::new(self.spec.seed, Purpose::Congestion, u64::from(flow));
                let mut sender = Sender::new(stack, paths, random);
                sender.share_settings(&mut self.common_settings[stack_index]);
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
                let receiver =
                    Receiver::new(stack.sack, stack.ack.build(ReceiverContext { window: stack.window_segments() }))
                        .with_echo(stack.ecn_echo);
                FlowState::Tcp(Box::new(Connection { sender, receiver, acks_sent: 0, writer }))
            }
        };
    }
}
