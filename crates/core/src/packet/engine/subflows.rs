//! Connections with subflows: packets and timers of subflows, which are flows behind all planned ones, reach the connection that they belong to.

use crate::mptcp::Parameters;
use crate::packet::engine::context::HostContext;
use crate::packet::engine::hosts::{FARTHEST_TIMER, Hosts};
use crate::packet::engine::{APPLICATION, EventLoop, RECEIVER, SENDER};
use crate::packet::hosts::flow::{Flow, FlowIdentity, FlowState, Writer};
use crate::packet::hosts::multipath::Multipath;
use crate::packet::link::packet::{ACK, Packet, SYN};
use crate::rng::{Purpose, Stream};
use crate::spec::StackSpec;
use crate::traffic::application::Application;
use crate::units::Time;

/// A connection, the identities of its subflows, and when its last byte was delivered.
struct Parts<'hosts> {
    connection: &'hosts mut Multipath,
    identities: &'hosts [Flow],
    end: &'hosts mut Time,
}

impl Parts<'_> {
    fn identity(&self, subflow: usize) -> &FlowIdentity {
        &self.identities[subflow].identity
    }
}

impl Hosts {
    /// The connection of a flow, if it has subflows and has not retired.
    fn parts(&mut self, flow: u32) -> Option<Parts<'_>> {
        let planned = self.planned().len();
        let (flows, subflows) = self.flows_mut().split_at_mut(planned);
        let Flow { state: FlowState::Multipath(connection), end, .. } = &mut flows[flow as usize] else { return None };
        let first = connection.first as usize - planned;
        let identities = &subflows[first..first + connection.subflows.len()];
        Some(Parts { connection, identities, end })
    }

    /// Both ends of a connection with subflows, without sending anything.
    pub(super) fn new_multipath<L: EventLoop>(
        &self,
        flow: u32,
        stack: &StackSpec,
        parameters: &Parameters,
        context: &HostContext<L>,
    ) -> Multipath {
        let (first, count) = self.subflows_of(flow);
        let seed = context.spec.seed;
        let draws = (first..first + count).map(|number| Stream::new(seed, Purpose::Congestion, u64::from(number)));
        let mut connection = Multipath::new(stack, parameters, first, draws);
        let group = &context.spec.traffic[self.identity(flow).group as usize];
        if group.application.writes_at_once() {
            connection.data.write(context.network.sizes(flow).segments());
        } else {
            let draws = Stream::new(seed, Purpose::Application, u64::from(flow));
            let application = Application::new(&group.application, stack.mss, draws);
            connection.writer = Some(Box::new(Writer::new(application, context.now())));
        }
        connection
    }

    /// Processes a packet of a subflow at one of its ends.
    pub(super) fn deliver_to_subflow<L: EventLoop>(&mut self, of: u32, words: [u64; 3], context: &mut HostContext<L>) {
        let packet = Packet::from_words(words);
        if packet.has(ACK) {
            self.deliver_subflow_ack(of, packet, context);
        } else {
            self.deliver_subflow_data(of, packet, context);
        }
    }

    fn deliver_subflow_data<L: EventLoop>(&mut self, of: u32, packet: Packet, context: &mut HostContext<L>) {
        let (flow, now) = (packet.flow(), context.now());
        let last_segment = context.network.sizes(of).last_segment;
        let Some(parts) = self.parts(of) else { return context.network.discard(packet) };
        let index = (flow - parts.connection.first) as usize;
        let identity = *parts.identity(index);
        let answer = if packet.has(SYN) {
            parts.connection.subflows[index].accept(now, &packet, context.network.pool_mut())
        } else {
            parts.connection.answer(index, now, packet, context.network.pool_mut())
        };
        let has_ended = parts.connection.delivered() > last_segment && *parts.end == Time::NEVER;
        if has_ended {
            *parts.end = now;
        }
        let receiver = &parts.connection.subflows[index];
        let (number, deadline) = (receiver.last_ack_number(), receiver.receiver.deadline());
        if let Some(answer) = answer {
            context.send(answer, number, &identity);
        }
        if let Some(deadline) = deadline {
            context.arm(flow, RECEIVER, deadline);
        }
        if has_ended {
            self.on_delivered(of, context);
        }
    }

    fn deliver_subflow_ack<L: EventLoop>(&mut self, of: u32, packet: Packet, context: &mut HostContext<L>) {
        let (flow, now) = (packet.flow(), context.now());
        let Some(parts) = self.parts(of) else { return context.network.discard(packet) };
        let index = (flow - parts.connection.first) as usize;
        if !packet.has(SYN) {
            parts.connection.take_ack(index, now, packet, context.network.pool_mut());
            return self.pump_subflows(of, 1 << index, context);
        }
        let opens = !parts.connection.is_established();
        let identity = *parts.identity(index);
        if let Some((ack, number)) = parts.connection.establish(index, now, packet, context.network.pool_mut()) {
            context.send(ack, number, &identity);
        }
        let (ready, count) = (parts.connection.ready_at(index), parts.connection.subflows.len());
        if ready > now {
            context.arm(flow, APPLICATION, ready);
        }
        self.pump_subflows(of, if opens { all(count) } else { 1 << index }, context);
    }

    /// Gives subflows what they may send, sends it, and sets their timers. Of the subflows without new data, those in `touched` have something to do.
    pub(super) fn pump_subflows<L: EventLoop>(&mut self, of: u32, mut touched: u64, context: &mut HostContext<L>) {
        let now = context.now();
        let last_segment = context.network.sizes(of).last_segment;
        let Some(mut parts) = self.parts(of) else { return };
        if !parts.connection.is_complete(last_segment) {
            let mut has_sent = true;
            while has_sent {
                while let Some(index) = parts.connection.assign(now) {
                    touched |= 1 << index;
                    parts.send_next(index, context);
                }
                // Retransmissions and handshakes; each subflow learns why it stops.
                has_sent = false;
                for index in members(touched) {
                    while parts.connection.may_open(index) && parts.send_next(index, context) {
                        has_sent = true;
                    }
                }
            }
            for index in members(touched) {
                let (flow, sender) = (parts.connection.first + index as u32, &parts.connection.subflows[index].sender);
                if !sender.quiet_until(context.event_loop.armed(flow, SENDER))
                    && let Some(deadline) = sender.deadline()
                {
                    context.arm(flow, SENDER, deadline.clamp(now, now + FARTHEST_TIMER));
                }
            }
            return;
        }
        parts.connection.subflows.iter_mut().for_each(|subflow| subflow.sender.release_memory());
        self.retire_later(of, context);
        self.on_acknowledged(of, context);
    }

    /// A timer of a subflow is due.
    pub(super) fn on_subflow_timer<L: EventLoop>(
        &mut self,
        of: u32,
        flow: u32,
        timer: u32,
        context: &mut HostContext<L>,
    ) {
        let now = context.now();
        let last_segment = context.network.sizes(of).last_segment;
        let Some(parts) = self.parts(of) else { return };
        let index = (flow - parts.connection.first) as usize;
        match timer {
            SENDER if parts.connection.is_complete(last_segment) => {}
            SENDER => {
                let sender = &parts.connection.subflows[index].sender;
                if sender.is_paced_to(now) {
                    return self.pump_subflows(of, 1 << index, context);
                }
                match sender.deadline() {
                    Some(deadline) if deadline <= now => {
                        parts.connection.on_deadline(index, now);
                        self.pump_subflows(of, 1 << index, context);
                    }
                    Some(deadline) => context.arm(flow, SENDER, deadline.min(now + FARTHEST_TIMER)),
                    None => {}
                }
            }
            RECEIVER => match parts.connection.subflows[index].receiver.deadline() {
                Some(deadline) if deadline <= now => {
                    let identity = *parts.identity(index);
                    let ack = parts.connection.delayed_ack(index, now, context.network.pool_mut());
                    context.send(ack, parts.connection.subflows[index].last_ack_number(), &identity);
                }
                Some(deadline) => context.arm(flow, RECEIVER, deadline),
                None => {}
            },
            _ => self.pump_subflows(of, 1 << index, context), // it is ready to send data
        }
    }
}

impl Parts<'_> {
    /// Sends the next packet that a subflow may send now. Returns whether there was one.
    fn send_next<L: EventLoop>(&mut self, index: usize, context: &mut HostContext<L>) -> bool {
        let now = context.now();
        let next = self.connection.next_packet(index, now, context.network.pool_mut());
        if let Some((packet, number)) = next {
            context.send(packet, number, self.identity(index));
        }
        next.is_some()
    }
}

/// All of this number of subflows, at most 32.
pub(super) fn all(count: usize) -> u64 {
    (1 << count) - 1
}

/// The indexes of the subflows in a set.
fn members(set: u64) -> impl Iterator<Item = usize> {
    (0..u64::BITS as usize).filter(move |index| set & 1 << index != 0)
}
